/* SPDX-License-Identifier: Apache-2.0 */
/* txn.c - several operations as one transaction, an operation per line:
 *
 *   check -v 3 /config              only if it exists, with -v in this version
 *   set /config "new data"
 *   create -s /history/entry- ""
 *   rm /config/old */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/line.h"
#include "cli/text.h"
#include "wire/path.h"

/* One line of the transaction. */
struct step {
    int line;
    const struct operation *op;
    struct line_words words;
    struct args args;
};

struct operation {
    const char *name, *also;
    const char *synopsis;
    const struct option_spec *options;
    int min_words, max_words;
    bool (*add)(struct cli *cli, const struct args *args, struct pawl_multi *m);
};

struct txn {
    struct cli *cli;
    struct step *steps;
    size_t n;
    struct pawl_multi *multi;
};

/* ---- the operations ---- */

static bool version_of(const struct args *args, const struct cli *cli, int64_t *out)
{
    *out = -1;
    return args_number(args, cli, 'v', -1, INT32_MAX, out);
}

static bool add_create(struct cli *cli, const struct args *args, struct pawl_multi *m)
{
    struct pawl_create request = {.size = sizeof(request), .path = args->words[0]};
    int ttl_ms = 0;
    bool is_sequential = args_has(args, 's'), is_container = args_has(args, 'c');

    if (!args_duration(args, cli, 't', &ttl_ms) ||
        !cli_acls(cli, args_text(args, 'a'), &request.acls)) {
        return false;
    }
    if (is_container && (is_sequential || args_has(args, 't'))) {
        cli_error(cli, "a container is not sequential and has no TTL");
        text_acls_free(&request.acls);
        return false;
    }
    request.ttl_ms = ttl_ms;
    request.data = args->n_words > 1 ? pawl_str(args->words[1]) : (struct pawl_bytes){0};
    request.mode = args_has(args, 't') ? (is_sequential ? PAWL_MODE_TTL_SEQUENTIAL : PAWL_MODE_TTL)
                   : is_container      ? PAWL_MODE_CONTAINER
                   : is_sequential     ? PAWL_MODE_SEQUENTIAL
                                       : PAWL_MODE_PERSISTENT;
    pawl_multi_create(m, &request);
    text_acls_free(&request.acls);
    return true;
}

static bool add_set(struct cli *cli, const struct args *args, struct pawl_multi *m)
{
    struct pawl_set request = {
        .size = sizeof(request), .path = args->words[0], .data = pawl_str(args->words[1])};
    int64_t version;

    if (!version_of(args, cli, &version)) {
        return false;
    }
    request.only_if = pawl_version(version);
    pawl_multi_set(m, &request);
    return true;
}

static bool add_rm(struct cli *cli, const struct args *args, struct pawl_multi *m)
{
    struct pawl_delete request = {.size = sizeof(request), .path = args->words[0]};
    int64_t version;

    if (!version_of(args, cli, &version)) {
        return false;
    }
    request.only_if = pawl_version(version);
    pawl_multi_delete(m, &request);
    return true;
}

static bool add_check(struct cli *cli, const struct args *args, struct pawl_multi *m)
{
    int64_t version;

    if (!version_of(args, cli, &version)) {
        return false;
    }
    pawl_multi_check(m, args->words[0], (int32_t)version);
    return true;
}

static const struct option_spec create_options[] = {{'s', "sequential", NULL, ""},
                                                    {'c', "container", NULL, ""},
                                                    {'t', "ttl", "DURATION", ""},
                                                    {'a', "acl", "ACL", ""},
                                                    {0, NULL, NULL, NULL}};
static const struct option_spec version_options[] = {{'v', "version", "NUMBER", ""},
                                                     {0, NULL, NULL, NULL}};

static const struct operation operations[] = {
    {"create", "create", "[-s] [-c] [-t TTL] [-a ACL] PATH [DATA]", create_options, 1, 2,
     add_create},
    {"set", "set", "[-v VERSION] PATH DATA", version_options, 2, 2, add_set},
    {"rm", "delete", "[-v VERSION] PATH", version_options, 1, 1, add_rm},
    {"check", "check", "[-v VERSION] PATH", version_options, 1, 1, add_check}};

/* ---- reading ---- */

static const struct operation *operation_called(const char *name)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(operations[i].name, name) == 0 || strcmp(operations[i].also, name) == 0) {
            return &operations[i];
        }
    }
    return NULL;
}

/* The step is the transaction's from here on, whether it is a good one or not. */
static struct step *new_step(struct txn *t, int line, struct line_words words)
{
    t->steps = must_realloc(t->steps, (t->n + 1) * sizeof(*t->steps));
    t->steps[t->n] = (struct step){.line = line, .words = words};
    return &t->steps[t->n++];
}

/* "/queue/": the server appends the whole name. */
static bool is_prefix(const struct step *s)
{
    return s->op->options == create_options && args_has(&s->args, 's');
}

static bool read_step(struct txn *t, struct step *s)
{
    struct cli *cli = t->cli;
    int n_used;

    s->op = operation_called(s->words.items[0]);
    if (s->op == NULL) {
        cli_error(cli, "'%s' is none of create, set, rm and check", s->words.items[0]);
        return false;
    }
    if (!args_parse(&s->args, cli, s->op->options, s->words.n - 1, s->words.items + 1, true,
                    &n_used)) {
        return false;
    }
    if (s->args.n_words < s->op->min_words || s->args.n_words > s->op->max_words) {
        cli_error(cli, "usage: %s %s", s->op->name, s->op->synopsis);
        return false;
    }
    if (!path_is_valid(bytes_str(s->args.words[0])) && !is_prefix(s)) {
        cli_report(cli, s->args.words[0], PAWL_ERR_BAD_ARGUMENTS);
        return false;
    }
    return s->op->add(cli, &s->args, t->multi);
}

/* What is wrong is reported with the number of its line. */
static bool read_line(struct txn *t, int number, const char *line)
{
    struct line_words words;
    bool is_good;

    if (!line_split(line, &words)) {
        t->cli->line = number;
        cli_error(t->cli, "a quote is not closed, or an escape is none of \\n \\t \\xHH \\\\ \\\"");
        return false;
    }
    if (words.n == 0) {
        line_words_free(&words);
        return true;
    }
    t->cli->line = number;
    is_good = read_step(t, new_step(t, number, words));
    t->cli->line = 0;
    return is_good;
}

static bool read_lines(struct txn *t, struct strbuf *text)
{
    char *at = (char *)(uintptr_t)strbuf_cstr(text);
    int number = 0;

    if (memchr(at, '\0', text->len) != NULL) {
        cli_error(t->cli, "there is a NUL in it: operations are text");
        return false;
    }
    while (at != NULL && *at != '\0') {
        char *newline = strchr(at, '\n');

        if (newline != NULL) {
            *newline = '\0';
        }
        if (!read_line(t, ++number, at)) {
            return false;
        }
        at = newline != NULL ? newline + 1 : NULL;
    }
    if (t->n == 0) {
        cli_error(t->cli, "there is no operation in it");
    }
    return t->n > 0;
}

/* ---- what came of it ---- */

static void print_result(const struct cli *cli, const struct step *s, const struct pawl_reply *r)
{
    const char *path = r->path != NULL ? r->path : s->args.words[0];

    if (cli->json) {
        json_open(NULL, '{');
        json_text("op", s->op->name);
        json_text("path", path);
        json_close('{');
    } else if (strcmp(s->op->name, "create") == 0) {
        text_line(pawl_str(path));
    }
}

static int report_failure(struct txn *t, const struct pawl_reply *reply)
{
    size_t i = 0;
    int status;

    while (i < reply->n_results && reply->results[i]->err != reply->err) {
        i++;
    }
    if (reply->outcome != PAWL_OUTCOME_REFUSED || i >= t->n || i >= reply->n_results) {
        return cli_check(t->cli, "the transaction", reply);
    }
    t->cli->line = t->steps[i].line;
    status = cli_report(t->cli, t->steps[i].args.words[0], reply->err);
    t->cli->line = 0;
    return status;
}

static int run_steps(struct txn *t)
{
    struct pawl_reply *reply;
    int status = EXIT_OK;

    pawl_multi_run(t->cli->client, t->multi, &reply);
    if (reply == NULL) {
        status = cli_check(t->cli, "the transaction", reply);
    } else if (reply->err != PAWL_OK) {
        status = report_failure(t, reply);
    }
    for (size_t i = 0; status == EXIT_OK && i < reply->n_results; i++) {
        print_result(t->cli, &t->steps[i], reply->results[i]);
    }
    pawl_reply_free(reply);
    return status;
}

static void txn_free(struct txn *t)
{
    for (size_t i = 0; i < t->n; i++) {
        args_fini(&t->steps[i].args);
        line_words_free(&t->steps[i].words);
    }
    free(t->steps);
    pawl_multi_free(t->multi);
}

static int run_txn(struct cli *cli, const struct args *args)
{
    struct txn t = {.cli = cli, .multi = pawl_multi_new(cli->client)};
    struct strbuf text;
    int status;

    strbuf_init(&text, INPUT_LIMIT_BYTES);
    status = input_read(cli, args->n_words > 0 ? args->words[0] : "-", &text);
    if (status == EXIT_OK) {
        status = read_lines(&t, &text) ? run_steps(&t) : EXIT_USAGE;
    }
    txn_free(&t);
    strbuf_fini(&text);
    return status;
}

static const struct option_spec txn_options[] = {{0, NULL, NULL, NULL}};

const struct command command_txn = {
    .name = "txn",
    .synopsis = "[FILE]",
    .summary = "do the operations of a file (create, set, rm, check), all or none of them",
    .options = txn_options,
    .max_words = 1,
    .run = run_txn};
