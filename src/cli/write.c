/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - the commands that change nodes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/remove.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "look/base64.h"
#include "wire/path.h"

static bool version_of(const struct args *args, struct cli *cli, struct pawl_condition *out)
{
    int64_t version = 0;

    if (!args_has(args, 'v')) {
        return true;
    }
    if (!args_number(args, cli, 'v', -1, INT32_MAX, &version)) {
        return false;
    }
    *out = pawl_version(version);
    return true;
}

static int print_stat_of(const struct cli *cli, const struct args *args, const struct pawl_reply *r)
{
    if (cli->json) {
        json_stat(NULL, &r->stat);
    } else if (args_has(args, 's')) {
        text_stat(&r->stat);
    }
    return EXIT_OK;
}

/* ---- set ---- */

static int decoded_data(const struct cli *cli, const char *text, struct strbuf *input,
                        struct pawl_bytes *out)
{
    if (!base64_decode(text, input)) {
        cli_error(cli, "'%s' is no base64", text);
        return EXIT_USAGE;
    }
    *out = (struct pawl_bytes){input->len > 0 ? (const void *)input->data : "", input->len};
    return EXIT_OK;
}

static int run_set(struct cli *cli, const struct args *args)
{
    struct pawl_set request = {.size = sizeof(request), .path = args->words[0]};
    struct pawl_reply *reply = NULL;
    struct strbuf input;
    int status;

    if (!version_of(args, cli, &request.only_if)) {
        return EXIT_USAGE;
    }
    strbuf_init(&input, INPUT_LIMIT_BYTES);
    status = args_has(args, 'b') ? decoded_data(cli, args->words[1], &input, &request.data)
                                 : input_data(cli, args->words[1], &input, &request.data);
    if (status == EXIT_OK) {
        pawl_set(cli->client, &request, &reply);
        status = cli_check(cli, args->words[0], reply);
    }
    if (status == EXIT_OK) {
        print_stat_of(cli, args, reply);
    }
    pawl_reply_free(reply);
    strbuf_fini(&input);
    return status;
}

static const struct option_spec set_options[] = {
    {'v', "version", "NUMBER", "only if the node has this version"},
    {'s', "stat", NULL, "print its stat afterwards"},
    {'b', "base64", NULL, "DATA are base64"},
    {0, NULL, NULL, NULL}};

const struct command command_set = {.name = "set",
                                    .synopsis = "[-v VERSION] [-s] [-b] PATH DATA",
                                    .summary =
                                        "replace the data of a node; DATA - is standard input",
                                    .options = set_options,
                                    .min_words = 2,
                                    .max_words = 2,
                                    .run = run_set};

/* ---- create ---- */

static const struct option_spec create_options[] = {
    {'e', "ephemeral", NULL, "it lives until this command, or the shell, is ended"},
    {'s', "sequential", NULL, "the server appends a number to the name"},
    {'c', "container", NULL, "the server removes it some time after its last child"},
    {'t', "ttl", "DURATION", "the server removes it when unchanged and childless for so long"},
    {'p', "parents", NULL, "make missing parents"},
    {'a', "acl", "ACL", "who may do what: SCHEME:ID:PERMS,..."},
    {0, NULL, NULL, NULL}};

/* False: the combination does not exist, which was reported. */
static bool mode_of(const struct args *args, struct cli *cli, enum pawl_mode *out)
{
    bool e = args_has(args, 'e'), s = args_has(args, 's'), c = args_has(args, 'c');
    bool t = args_has(args, 't');

    if (c && (e || s || t)) {
        cli_error(cli, "a container is neither ephemeral nor sequential and has no TTL");
        return false;
    }
    if (t && e) {
        cli_error(cli, "an ephemeral node has no TTL: it goes with its session");
        return false;
    }
    *out = t   ? (s ? PAWL_MODE_TTL_SEQUENTIAL : PAWL_MODE_TTL)
           : c ? PAWL_MODE_CONTAINER
           : e ? (s ? PAWL_MODE_EPHEMERAL_SEQUENTIAL : PAWL_MODE_EPHEMERAL)
               : (s ? PAWL_MODE_SEQUENTIAL : PAWL_MODE_PERSISTENT);
    return true;
}

/* A number alone is milliseconds, as zkCli.sh has it. */
static bool ttl_of(const struct args *args, struct cli *cli, int64_t *out_ms)
{
    enum { TTL_BITS = 40 }; /* so long a server can keep */
    const char *text = args_text(args, 't');
    int ttl_ms = 0;

    if (text != NULL && text[strspn(text, "0123456789")] == '\0') {
        return args_number(args, cli, 't', 1, (INT64_C(1) << TTL_BITS) - 1, out_ms);
    }
    if (!args_duration(args, cli, 't', &ttl_ms)) {
        return false;
    }
    *out_ms = ttl_ms;
    return true;
}

static bool create_request(const struct args *args, struct cli *cli, struct pawl_create *out)
{
    *out = (struct pawl_create){.size = sizeof(*out), .path = args->words[0]};
    if (!mode_of(args, cli, &out->mode) || !ttl_of(args, cli, &out->ttl_ms)) {
        return false;
    }
    out->flags = args_has(args, 'p') ? PAWL_OP_PARENTS : 0;
    /* The third word is where zkCli.sh has it. */
    return cli_acls(cli, args->n_words > 2 ? args->words[2] : args_text(args, 'a'), &out->acls);
}

static void print_created(const struct cli *cli, const struct pawl_reply *reply)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_text("path", reply->path);
        json_stat("stat", &reply->stat);
        json_close('{');
    } else {
        text_line(pawl_str(reply->path));
    }
    fflush(stdout);
}

static void create_on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    (void)c;
    if (state == PAWL_STATE_LOST) {
        eventfd_write(*(const int *)arg, 1);
    }
}

/* Until a signal comes, or the session is gone and the node with it. */
static int hold_session(struct cli *cli, const struct pawl_reply *created)
{
    int lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int64_t session_id = created->stat.ephemeral_owner;

    pawl_client_add_listener(cli->client, create_on_state, &lost_fd);
    if (pawl_client_session_id(cli->client) == session_id) { /* else it was lost before that */
        cli_wait(lost_fd);
    }
    pawl_client_remove_listener(cli->client, create_on_state, &lost_fd);
    close(lost_fd);
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    cli_error(cli, "%s: session 0x%" PRIx64 " has ended, and the node with it", created->path,
              (uint64_t)session_id);
    return EXIT_LOST;
}

static int run_create(struct cli *cli, const struct args *args)
{
    struct pawl_create request;
    struct pawl_reply *reply = NULL;
    struct strbuf input;
    int status;

    if (!create_request(args, cli, &request)) {
        return EXIT_USAGE;
    }
    strbuf_init(&input, INPUT_LIMIT_BYTES);
    status = input_data(cli, args->n_words > 1 ? args->words[1] : NULL, &input, &request.data);
    if (status == EXIT_OK) {
        pawl_create(cli->client, &request, &reply);
        if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
            cli_error(cli, "%s: its parent does not exist; -p makes it", args->words[0]);
            status = EXIT_NO_NODE;
        } else {
            status = cli_check(cli, args->words[0], reply);
        }
    }
    if (status == EXIT_OK) {
        print_created(cli, reply);
    }
    if (status == EXIT_OK && args_has(args, 'e') && cli->shell == NULL) {
        status = hold_session(cli, reply);
    }
    pawl_reply_free(reply);
    text_acls_free(&request.acls);
    strbuf_fini(&input);
    return status;
}

const struct command command_create = {
    .name = "create",
    .synopsis = "[-e] [-s] [-c] [-t TTL] [-p] [-a ACL] PATH [DATA]",
    .summary = "make a node and print its name; DATA - is standard input",
    .options = create_options,
    .min_words = 1,
    .max_words = 3,
    .run = run_create};

/* ---- rm ---- */

/* What the answer means when nothing else is to be tried. */
static int report_rm(const struct cli *cli, const struct args *args, const struct pawl_reply *reply)
{
    const char *path = args->words[0];
    int err = reply != NULL ? reply->err : PAWL_ERR_NO_MEMORY;

    if (err == PAWL_ERR_NO_NODE && args_has(args, 'f')) {
        return EXIT_OK;
    }
    if (err == PAWL_ERR_NOT_EMPTY) {
        cli_error(cli, "%s: %s; -r removes what is below, too", path, pawl_strerror(err));
        return EXIT_CONFLICT;
    }
    if (err == PAWL_ERR_BAD_ARGUMENTS && path_is_valid(bytes_str(path))) {
        cli_error(cli, "%s: the root and what is in /zookeeper are the server's own", path);
        return EXIT_USAGE;
    }
    return cli_check(cli, path, reply);
}

/* Whether there is anything below, and whether the version is as it should be, is tried out. */
static int run_rm(struct cli *cli, const struct args *args)
{
    struct pawl_delete request = {.size = sizeof(request), .path = args->words[0]};
    struct pawl_reply *reply;
    int status;

    if (!version_of(args, cli, &request.only_if)) {
        return EXIT_USAGE;
    }
    pawl_delete(cli->client, &request, &reply);
    if (reply != NULL && reply->err == PAWL_ERR_NOT_EMPTY && args_has(args, 'r')) {
        status = remove_subtree(cli, args->words[0], request.only_if);
        status = status == EXIT_NO_NODE && args_has(args, 'f') ? EXIT_OK : status;
    } else {
        status = report_rm(cli, args, reply);
    }
    pawl_reply_free(reply);
    return status;
}

static const struct option_spec rm_options[] = {
    {'r', "recursive", NULL, "with everything below"},
    {'f', "force", NULL, "a node that does not exist is no error"},
    {'v', "version", "NUMBER", "only if the node has this version"},
    {0, NULL, NULL, NULL}};

const struct command command_rm = {.name = "rm",
                                   .also = "delete",
                                   .synopsis = "[-r] [-f] [-v VERSION] PATH",
                                   .summary = "remove a node",
                                   .options = rm_options,
                                   .min_words = 1,
                                   .max_words = 1,
                                   .run = run_rm};

/* How many go with one request is ours to know: -b is understood, for scripts that have it. */
static int run_deleteall(struct cli *cli, const struct args *args)
{
    int64_t batch;

    return args_number(args, cli, 'b', 1, INT32_MAX, &batch) ? run_rm(cli, args) : EXIT_USAGE;
}

static const struct option_spec deleteall_options[] = {
    {'r', "recursive", NULL, "always so"},
    {'f', "force", NULL, "a node that does not exist is no error"},
    {'v', "version", "NUMBER", "only if the node has this version"},
    {'b', "batch", "NUMBER", "has no effect; zkCli.sh has it"},
    {0, NULL, NULL, NULL}};

const struct command command_deleteall = {.name = "deleteall",
                                          .also = "rmr",
                                          .also_means = 'r',
                                          .synopsis = "[-f] [-v VERSION] PATH",
                                          .summary = "remove a node with everything below (rm -r)",
                                          .options = deleteall_options,
                                          .min_words = 1,
                                          .max_words = 1,
                                          .run = run_deleteall};

/* ---- acl set ---- */

static int set_acl(struct cli *cli, const struct args *args, const struct pawl_set_acl *request)
{
    struct pawl_reply *reply;
    int status;

    pawl_set_acl(cli->client, request, &reply);
    status = cli_check(cli, request->path, reply);
    if (status == EXIT_OK) {
        print_stat_of(cli, args, reply);
    }
    pawl_reply_free(reply);
    return status;
}

struct acl_setting {
    struct cli *cli;
    const struct args *args;
    struct pawl_set_acl request;
};

static int set_acl_of_node(const struct walk_node *node, void *arg)
{
    struct acl_setting *s = arg;
    int status;

    s->request.path = node->path;
    status = set_acl(s->cli, s->args, &s->request);
    return status == EXIT_NO_NODE && node->depth > 0 ? EXIT_OK : status; /* gone meanwhile */
}

static int run_acl_set(struct cli *cli, const struct args *args)
{
    struct acl_setting s = {
        .cli = cli, .args = args, .request = {.size = sizeof(s.request), .path = args->words[0]}};
    struct walk w = {.cli = cli, .visit = set_acl_of_node, .arg = &s};
    int status;

    if (args_has(args, 'R') && args_has(args, 'v')) {
        cli_error(cli, "-v is the version of one node, -R is for many");
        return EXIT_USAGE;
    }
    if (!version_of(args, cli, &s.request.only_if) ||
        !cli_acls(cli, args->words[1], &s.request.acls)) {
        return EXIT_USAGE;
    }
    status = args_has(args, 'R') ? walk_tree(&w, args->words[0]) : set_acl(cli, args, &s.request);
    text_acls_free(&s.request.acls);
    return status;
}

static const struct option_spec acl_set_options[] = {
    {'v', "version", "NUMBER", "only if the ACL has this version"},
    {'s', "stat", NULL, "print its stat afterwards"},
    {'R', "recursive", NULL, "of everything below, too"},
    {0, NULL, NULL, NULL}};

const struct command command_acl_set = {.name = "acl set",
                                        .also = "setAcl",
                                        .synopsis = "[-v VERSION | -R] [-s] PATH ACL",
                                        .summary = "say who may do what: SCHEME:ID:PERMS,...",
                                        .options = acl_set_options,
                                        .min_words = 2,
                                        .max_words = 2,
                                        .run = run_acl_set};
