/* SPDX-License-Identifier: Apache-2.0 */
/* locks_gc.c - nodes in the queues of locks that belong to nobody.
 *
 * A place in a queue is an ephemeral node and goes with its session. One that is not ephemeral,
 * copied or restored or made by hand, stays for ever, and whoever is behind it waits for ever. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "look/places.h"

struct orphan {
    char *path;
    int32_t version;
    int64_t since_ms;
};

struct collecting {
    struct cli *cli;
    struct orphan *items;
    size_t n;
};

static int collect(const struct walk_node *node, void *arg)
{
    struct collecting *c = arg;

    if (node->depth > 0 && node->has_stat && node->stat.ephemeral_owner == 0 &&
        node->stat.n_children == 0 && place_is_queued(node->name)) {
        c->items = must_realloc(c->items, (c->n + 1) * sizeof(*c->items));
        c->items[c->n++] = (struct orphan){.path = must_strdup(node->path),
                                           .version = node->stat.version,
                                           .since_ms = node->stat.ctime};
    }
    return EXIT_OK;
}

static void print_orphan(const struct cli *cli, const struct orphan *o, bool is_removed)
{
    char since[40];

    text_time(o->since_ms, since, sizeof(since));
    if (cli->json) {
        json_open(NULL, '{');
        json_text("path", o->path);
        json_number("since", o->since_ms);
        json_bool("removed", is_removed);
        json_close('{');
    } else {
        printf("%s since %s ", is_removed ? "removed" : "left", since);
        text_line(pawl_str(o->path));
    }
}

/* On standard error: what is printed may be for a program. Only "y" is a yes. */
static bool is_wanted(const struct orphan *o)
{
    char *line = NULL;
    size_t size = 0;
    bool is_yes;

    text_message(stderr, o->path);
    fputs(" belongs to no session: remove it? [y/N] ", stderr);
    cli_wait(STDIN_FILENO);
    is_yes = cli_signal() == 0 && getline(&line, &size, stdin) > 0 &&
             tolower((unsigned char)line[0]) == 'y';
    free(line);
    return is_yes;
}

/* One that has changed since it was looked at is somebody's. */
static int remove_orphan(struct cli *cli, const struct orphan *o)
{
    struct pawl_reply *reply = NULL;
    int status;

    pawl_delete(cli->client, PAWL_DELETE(.path = o->path, .only_if = pawl_version(o->version)),
                &reply);
    status = cli_check(cli, o->path, reply);
    pawl_reply_free(reply);
    return status;
}

static int deal_with(struct cli *cli, const struct args *args, const struct orphan *o)
{
    bool is_removed = !args_has(args, 'n') && (args_has(args, 'y') || is_wanted(o));
    int status = is_removed ? remove_orphan(cli, o) : EXIT_OK;

    if (status == EXIT_OK) {
        print_orphan(cli, o, is_removed);
    }
    return status;
}

static int run_gc(struct cli *cli, const struct args *args)
{
    struct collecting c = {.cli = cli};
    struct walk walk = {.cli = cli, .visit = collect, .arg = &c};
    int status = walk_tree(&walk, args->n_words > 0 ? args->words[0] : "/");

    setvbuf(stdin, NULL, _IONBF, 0); /* what is not read yet has to be seen by poll() */
    if (cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; i < c.n; i++) {
        int here =
            cli_signal() == 0 ? deal_with(cli, args, &c.items[i]) : EXIT_SIGNAL + cli_signal();

        status = status == EXIT_OK ? here : status;
        free(c.items[i].path);
    }
    if (cli->json) {
        json_close('[');
    }
    free(c.items);
    return status;
}

static const struct option_spec gc_options[] = {{'n', "dry-run", NULL, "remove nothing"},
                                                {'y', "yes", NULL, "remove without asking"},
                                                {0, NULL, NULL, NULL}};

const struct command command_locks_gc = {
    .name = "locks gc",
    .synopsis = "[-n | -y] [PATH]",
    .summary = "find places in queues that belong to no session, and remove them if you want",
    .options = gc_options,
    .min_words = 0,
    .max_words = 1,
    .run = run_gc};
