/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the commands that look at nodes and change nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/event.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "look/base64.h"

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};

/* ---- -w: a watch ---- */

#define WATCH_OPTION_SPEC                                                                         \
    {                                                                                             \
        'w', "watch", NULL, "tell of the next change: the shell when it comes, pawl waits for it" \
    }

static const struct pawl_watch *watch_wanted(const struct args *args)
{
    return args_has(args, 'w') ? events_watch() : NULL;
}

/* The end of a command that may have set one. */
static int end_watched(struct cli *cli, const struct args *args, int status)
{
    bool is_single = cli->shell == NULL;

    return status == EXIT_OK && is_single && args_has(args, 'w') ? events_wait(cli) : status;
}

/* ---- lists ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in order; the array is the caller's, the names are the reply's. */
static const char **sorted(const struct pawl_strings *names)
{
    const char **copy = must_alloc((names->n + 1) * sizeof(*copy));

    if (names->n > 0) {
        memcpy(copy, names->items, names->n * sizeof(*copy));
    }
    qsort(copy, names->n, sizeof(*copy), by_name);
    return copy;
}

/* Paths as lines, or as one list. */
struct listing {
    const struct cli *cli;
    bool has_begun;
};

static int print_path(const struct walk_node *node, void *arg)
{
    struct listing *l = arg;

    if (!l->cli->json) {
        text_line(pawl_str(node->path));
        return EXIT_OK;
    }
    if (!l->has_begun) {
        json_open(NULL, '[');
        l->has_begun = true;
    }
    json_text(NULL, node->path);
    return EXIT_OK;
}

static int list_all(struct cli *cli, const char *path)
{
    struct listing listing = {.cli = cli};
    struct walk w = {.cli = cli, .visit = print_path, .arg = &listing};
    int status = walk_tree(&w, path);

    if (listing.has_begun) {
        json_close('[');
    }
    return status;
}

static void print_list(const struct cli *cli, const struct pawl_reply *reply, bool with_stat)
{
    const char **names = sorted(&reply->children);

    if (cli->json) {
        json_open(NULL, '{');
        json_open("children", '[');
    }
    for (size_t i = 0; i < reply->children.n; i++) {
        if (cli->json) {
            json_text(NULL, names[i]);
        } else {
            text_line(pawl_str(names[i]));
        }
    }
    if (cli->json) {
        json_close('[');
        json_stat("stat", &reply->stat);
        json_close('{');
    } else if (with_stat) {
        text_stat(&reply->stat);
    }
    free(names);
}

static int run_ls(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct pawl_reply *reply;
    int status;

    if (args_has(args, 'R') && args_has(args, 'w')) {
        cli_error(cli, "-w is for one node; see pawl watch");
        return EXIT_USAGE;
    }
    if (args_has(args, 'R')) {
        return list_all(cli, path);
    }
    pawl_children(cli->client, path, watch_wanted(args), &reply);
    status = cli_check_read(cli, path, reply);
    if (status == EXIT_OK) {
        print_list(cli, reply, args_has(args, 's'));
    }
    pawl_reply_free(reply);
    return end_watched(cli, args, status);
}

static const struct option_spec ls_options[] = {
    {'R', "recursive", NULL, "the whole paths of everything below, too"},
    {'s', "stat", NULL, "and the stat of the node itself"},
    WATCH_OPTION_SPEC,
    {0, NULL, NULL, NULL}};

const struct command command_ls = {.name = "ls",
                                   .synopsis = "[-R] [-s] [-w] [PATH]",
                                   .summary = "list the children of a node, one per line",
                                   .options = ls_options,
                                   .max_words = 1,
                                   .run = run_ls};

const struct command command_ls2 = {.name = "ls2",
                                    .also_means = 's',
                                    .synopsis = "[PATH]",
                                    .summary = "list the children of a node, and its stat (ls -s)",
                                    .options = ls_options,
                                    .max_words = 1,
                                    .run = run_ls};

static int print_branch(const struct walk_node *node, void *arg)
{
    (void)arg;
    printf("%*s", 2 * node->depth, "");
    text_line(pawl_str(node->name));
    return EXIT_OK;
}

static int run_tree(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct walk w = {.cli = cli, .visit = print_branch};

    if (cli->json) {
        return list_all(cli, path);
    }
    return walk_tree(&w, path);
}

const struct command command_tree = {.name = "tree",
                                     .synopsis = "[PATH]",
                                     .summary = "show everything below a node, indented",
                                     .options = no_options,
                                     .max_words = 1,
                                     .run = run_tree};

static int run_count(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct pawl_reply *reply;
    int status;

    pawl_count_all_children(cli->client, path, &reply);
    status = cli_check_read(cli, path, reply);
    if (status == EXIT_OK && cli->json) {
        json_open(NULL, '{');
        json_number("count", reply->number);
        json_close('{');
    } else if (status == EXIT_OK) {
        printf("%" PRId64 "\n", reply->number);
    }
    pawl_reply_free(reply);
    return status;
}

const struct command command_count = {.name = "count",
                                      .also = "getAllChildrenNumber",
                                      .synopsis = "[PATH]",
                                      .summary = "count the nodes below a node, at any depth",
                                      .options = no_options,
                                      .max_words = 1,
                                      .run = run_count};

/* ---- one node ---- */

static void print_node(const struct cli *cli, const struct pawl_reply *reply, bool with_stat)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_data("data", reply->data);
        json_stat("stat", &reply->stat);
        json_close('{');
        return;
    }
    text_data(reply->data);
    if (with_stat) {
        fputs(isatty(STDOUT_FILENO) ? "" : "\n", stdout); /* as zkCli.sh has it */
        text_stat(&reply->stat);
    }
}

static void print_base64(struct pawl_bytes data)
{
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    base64_encode(data, &text);
    puts(strbuf_cstr(&text));
    strbuf_fini(&text);
}

/* As hexdump -C has it: where, sixteen bytes, and what of them can be printed. */
static void print_hex(struct pawl_bytes data)
{
    const unsigned char *p = data.data;

    for (size_t at = 0; at < data.len; at += 16) {
        size_t n = data.len - at < 16 ? data.len - at : 16;

        printf("%08zx ", at);
        for (size_t i = 0; i < 16; i++) {
            fputs(i % 8 == 0 ? " " : "", stdout);
            printf(i < n ? "%02x " : "   ", i < n ? p[at + i] : 0);
        }
        printf(" |");
        for (size_t i = 0; i < n; i++) {
            putchar(p[at + i] >= 0x20 && p[at + i] < 0x7f ? p[at + i] : '.');
        }
        puts("|");
    }
    printf("%08zx\n", data.len);
}

static int run_get(struct cli *cli, const struct args *args)
{
    bool as_base64 = args_has(args, 'b'), as_hex = args_has(args, 'x');
    struct pawl_reply *reply;
    int status;

    if ((as_base64 && as_hex) || ((as_base64 || as_hex) && cli->json)) {
        cli_error(cli, "one of -b, -x and --json");
        return EXIT_USAGE;
    }
    pawl_get(cli->client, args->words[0], watch_wanted(args), &reply);
    status = cli_check_read(cli, args->words[0], reply);
    if (status == EXIT_OK && (as_base64 || as_hex)) {
        (as_base64 ? print_base64 : print_hex)(reply->data);
    }
    if (status == EXIT_OK && (as_base64 || as_hex) && args_has(args, 's')) {
        text_stat(&reply->stat);
    } else if (status == EXIT_OK && !as_base64 && !as_hex) {
        print_node(cli, reply, args_has(args, 's'));
    }
    pawl_reply_free(reply);
    return end_watched(cli, args, status);
}

static const struct option_spec get_options[] = {{'s', "stat", NULL, "and its stat"},
                                                 WATCH_OPTION_SPEC,
                                                 {'b', "base64", NULL, "as base64"},
                                                 {'x', "hex", NULL, "as hexadecimal numbers"},
                                                 {0, NULL, NULL, NULL}};

const struct command command_get = {.name = "get",
                                    .synopsis = "[-s] [-w] [-b | -x] PATH",
                                    .summary = "print the data of a node, as they are",
                                    .options = get_options,
                                    .min_words = 1,
                                    .max_words = 1,
                                    .run = run_get};

static int run_stat(struct cli *cli, const struct args *args)
{
    struct pawl_reply *reply;
    int status;

    pawl_exists(cli->client, args->words[0], watch_wanted(args), &reply);
    status = cli_check_read(cli, args->words[0], reply);
    if (status == EXIT_OK && cli->json) {
        json_stat(NULL, &reply->stat);
    } else if (status == EXIT_OK) {
        text_stat(&reply->stat);
    }
    pawl_reply_free(reply);
    return end_watched(cli, args, status);
}

static const struct option_spec stat_options[] = {WATCH_OPTION_SPEC, {0, NULL, NULL, NULL}};

const struct command command_stat = {.name = "stat",
                                     .synopsis = "[-w] PATH",
                                     .summary = "print what the server knows of a node",
                                     .options = stat_options,
                                     .min_words = 1,
                                     .max_words = 1,
                                     .run = run_stat};

/* "No" is an answer, not an error: nothing is reported. */
static int run_exists(struct cli *cli, const struct args *args)
{
    struct pawl_reply *reply;
    bool is_there, is_missing;
    int status = EXIT_NO;

    pawl_exists(cli->client, args->words[0], NULL, &reply);
    is_there = reply != NULL && reply->err == PAWL_OK;
    is_missing = reply != NULL && reply->err == PAWL_ERR_NO_NODE;
    if (is_there || !is_missing) {
        status = cli_check_read(cli, args->words[0], reply);
    }
    if (cli->json && (is_there || is_missing)) {
        json_open(NULL, '{');
        json_bool("exists", is_there);
        json_close('{');
    }
    pawl_reply_free(reply);
    return status;
}

const struct command command_exists = {.name = "exists",
                                       .synopsis = "PATH",
                                       .summary =
                                           "exit with 0 if there is such a node, with 1 if not",
                                       .options = no_options,
                                       .min_words = 1,
                                       .max_words = 1,
                                       .run = run_exists};

static int run_acl_get(struct cli *cli, const struct args *args)
{
    struct pawl_reply *reply;
    char perms[TEXT_PERMS_BYTES];
    int status;

    pawl_get_acl(cli->client, args->words[0], &reply);
    status = cli_check_read(cli, args->words[0], reply);
    if (status == EXIT_OK && cli->json) {
        json_acls(NULL, &reply->acls);
    }
    for (size_t i = 0; status == EXIT_OK && !cli->json && i < reply->acls.n; i++) {
        const struct pawl_acl *acl = &reply->acls.items[i];

        text_perms(acl->perms, perms);
        text_escaped(pawl_str(acl->scheme));
        putchar(':');
        text_escaped(pawl_str(acl->id));
        printf(":%s\n", perms);
    }
    if (status == EXIT_OK && args_has(args, 's') && !cli->json) {
        text_stat(&reply->stat);
    }
    pawl_reply_free(reply);
    return status;
}

static const struct option_spec acl_get_options[] = {{'s', "stat", NULL, "and its stat"},
                                                     {0, NULL, NULL, NULL}};

const struct command command_acl_get = {.name = "acl get",
                                        .also = "getAcl",
                                        .synopsis = "[-s] PATH",
                                        .summary = "print who may do what, as SCHEME:ID:PERMS",
                                        .options = acl_get_options,
                                        .min_words = 1,
                                        .max_words = 1,
                                        .run = run_acl_get};

/* ---- the session and the server ---- */

static int run_sync(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct pawl_reply *reply;
    int status;

    pawl_sync(cli->client, path, &reply);
    status = cli_check_read(cli, path, reply);
    pawl_reply_free(reply);
    return status;
}

const struct command command_sync = {
    .name = "sync",
    .synopsis = "[PATH]",
    .summary = "wait until the server has all that was acknowledged before",
    .options = no_options,
    .max_words = 1,
    .run = run_sync};

static int run_whoami(struct cli *cli, const struct args *args)
{
    struct pawl_reply *reply;
    int status;

    (void)args;
    pawl_whoami(cli->client, &reply);
    status = cli_check_read(cli, "whoami", reply);
    if (status == EXIT_OK && cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; status == EXIT_OK && i < reply->ids.n; i++) {
        if (cli->json) {
            json_open(NULL, '{');
            json_text("scheme", reply->ids.items[i].scheme);
            json_text("id", reply->ids.items[i].id);
            json_close('{');
        } else {
            text_escaped(pawl_str(reply->ids.items[i].scheme));
            putchar(':');
            text_line(pawl_str(reply->ids.items[i].id));
        }
    }
    if (status == EXIT_OK && cli->json) {
        json_close('[');
    }
    pawl_reply_free(reply);
    return status;
}

const struct command command_whoami = {.name = "whoami",
                                       .synopsis = "",
                                       .summary = "print who the server takes us for",
                                       .options = no_options,
                                       .run = run_whoami};

/* Where clients find it: HOST:PORT behind the ; of "server.1=host:2888:3888:participant;HOST:PORT".
 * A port alone is on the host of the quorum. */
static void print_client_address(const char *line, size_t len, bool is_first)
{
    const char *end = line + len, *equals = memchr(line, '=', len);
    const char *semicolon = memchr(line, ';', len), *colon;

    if (strncmp(line, "server.", 7) != 0 || equals == NULL || semicolon == NULL) {
        return;
    }
    putchar(is_first ? ' ' : ',');
    if (memchr(semicolon, ':', (size_t)(end - semicolon)) == NULL) {
        colon = equals[1] == '[' ? memchr(equals, ']', (size_t)(semicolon - equals))
                                 : memchr(equals, ':', (size_t)(semicolon - equals));
        colon = colon != NULL && *colon == ']' ? colon + 1 : colon;
        printf("%.*s:", colon != NULL ? (int)(colon - equals - 1) : 0, equals + 1);
    }
    printf("%.*s", (int)(end - semicolon - 1), semicolon + 1);
}

/* "100000000 host:2181,host:2182": the version, and how to connect. */
static void print_client_addresses(struct pawl_bytes data)
{
    char *text = must_copy_string(bytes_of(data.data, data.len));
    const char *version = strstr(text, "version=");
    bool is_first = true;

    printf("%.*s", version != NULL ? (int)strcspn(version + 8, "\n") : 0,
           version != NULL ? version + 8 : "");
    for (const char *line = text; *line != '\0'; line += line[0] == '\n') {
        size_t len = strcspn(line, "\n");

        print_client_address(line, len, is_first);
        is_first = is_first && strncmp(line, "server.", 7) != 0;
        line += len;
    }
    putchar('\n');
    free(text);
}

static int run_config(struct cli *cli, const struct args *args)
{
    struct pawl_reply *reply;
    int status;

    pawl_config(cli->client, watch_wanted(args), &reply);
    status = cli_check_read(cli, "/zookeeper/config", reply);
    if (status == EXIT_OK && args_has(args, 'c') && !cli->json) {
        print_client_addresses(reply->data);
    } else if (status == EXIT_OK) {
        print_node(cli, reply, args_has(args, 's'));
    }
    pawl_reply_free(reply);
    return end_watched(cli, args, status);
}

static const struct option_spec config_options[] = {
    {'c', "clients", NULL, "the version, and the servers as -s takes them"},
    {'s', "stat", NULL, "and its stat"},
    WATCH_OPTION_SPEC,
    {0, NULL, NULL, NULL}};

const struct command command_config = {.name = "config",
                                       .synopsis = "[-c] [-s] [-w]",
                                       .summary = "print the members of the ensemble",
                                       .options = config_options,
                                       .run = run_config};
