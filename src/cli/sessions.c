/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - who is connected, and which nodes go with whom. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "cli/words.h"
#include "look/cons.h"

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};

/* ---- sessions ---- */

static void json_if_known(const char *name, int64_t value)
{
    if (value >= 0) {
        json_number(name, value);
    }
}

static void print_session(const struct cli *cli, const char *server, const struct cons *c)
{
    struct pawl_bytes client = {c->client, c->client_len};
    char since[40] = "-";

    if (cli->json) {
        json_open(NULL, '{');
        json_hex("session", c->session_id);
        json_data("client", client);
        json_text("server", server);
        json_if_known("since", c->since_ms);
        json_if_known("timeout_ms", c->timeout_ms);
        json_if_known("received", c->received);
        json_if_known("sent", c->sent);
        json_if_known("queued", c->queued);
        json_close('{');
        return;
    }
    if (c->since_ms >= 0) {
        text_time(c->since_ms, since, sizeof(since));
    }
    printf("0x%" PRIx64 " since %s timeout %" PRId64 "ms received %" PRId64 " server %s client ",
           c->session_id, since, c->timeout_ms, c->received, server);
    text_line(client);
}

static void print_sessions(const char *server, struct pawl_bytes answer, bool is_one_of_many,
                           void *arg)
{
    const char *at = answer.data, *end = at + answer.len;

    (void)is_one_of_many;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        struct cons c;

        if (len > 0 && cons_parse(at, len, &c)) {
            print_session(arg, server, &c);
        }
        at += len + 1;
    }
}

static int run_sessions(struct cli *cli, const struct args *args)
{
    (void)args;
    return words_ask_all(cli, "cons", print_sessions, cli);
}

const struct command command_sessions = {
    .name = "sessions",
    .synopsis = "",
    .summary = "list the sessions that are connected to each server of the list",
    .options = no_options,
    .opens_itself = true,
    .run = run_sessions};

/* ---- ephemerals ---- */

struct owned {
    const struct cli *cli;
    bool is_limited; /* to the session */
    uint64_t session_id;
};

static int print_if_ephemeral(const struct walk_node *node, void *arg)
{
    const struct owned *o = arg;
    uint64_t owner = node->has_stat ? (uint64_t)node->stat.ephemeral_owner : 0;
    char since[40];

    if (owner == 0 || (o->is_limited && owner != o->session_id)) {
        return EXIT_OK;
    }
    if (o->cli->json) {
        json_open(NULL, '{');
        json_hex("session", owner);
        json_text("path", node->path);
        json_number("since", node->stat.ctime);
        json_close('{');
        return EXIT_OK;
    }
    text_time(node->stat.ctime, since, sizeof(since));
    printf("0x%" PRIx64 " since %s ", owner, since);
    text_line(pawl_str(node->path));
    return EXIT_OK;
}

static int run_ephemerals(struct cli *cli, const struct args *args)
{
    struct owned o = {.cli = cli, .is_limited = args_has(args, 'o')};
    struct walk w = {.cli = cli, .visit = print_if_ephemeral, .arg = &o};
    char *end;

    if (o.is_limited) {
        o.session_id = strtoull(args_text(args, 'o'), &end, 16);
        if (end == args_text(args, 'o') || *end != '\0') {
            cli_error(cli, "--owner: '%s' is no session such as 0x1000001", args_text(args, 'o'));
            return EXIT_USAGE;
        }
    }
    return walk_tree(&w, args->n_words > 0 ? args->words[0] : "/");
}

static const struct option_spec ephemerals_options[] = {
    {'o', "owner", "SESSION", "only those of this session"},
    {0, NULL, NULL, NULL}};

const struct command command_ephemerals = {
    .name = "ephemerals",
    .synopsis = "[-o SESSION] [PATH]",
    .summary = "list the ephemeral nodes at and below a node, with their sessions",
    .options = ephemerals_options,
    .max_words = 1,
    .run = run_ephemerals};
