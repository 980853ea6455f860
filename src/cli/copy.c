/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - cp and mv: a subtree under another name, as one transaction.
 *
 * What was read is what must still be there when the transaction is done: every node of the source
 * is in it with its version, to be checked (cp) or deleted (mv). A node that came below the source
 * meanwhile keeps mv from deleting its parent. So nobody's change is lost, and nobody sees half of
 * a tree. Servers do not tell which nodes are containers or have a TTL: copies are persistent. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/subtree.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "wire/path.h"

/* What a server takes in one request, unless its jute.maxbuffer says otherwise, less what its
 * transaction may be longer. */
enum { TRANSACTION_LIMIT_BYTES = 1000000, OP_BYTES = 40, ACL_BYTES = 12 };

struct copying {
    struct cli *cli;
    const char *from, *to;
    struct subtree tree;
    struct pawl_acls acls; /* of all that is made; none: as at the source */
    bool is_move;
    struct pawl_multi *multi;
    size_t bytes; /* what it takes, about */
    const char *chroot;
};

static const struct pawl_acls *acls_for(const struct copying *c, const struct subtree_node *node)
{
    return c->acls.n > 0 ? &c->acls : &node->acls->acls;
}

static void count_op(struct copying *c, const char *path)
{
    c->bytes += OP_BYTES + strlen(c->chroot) + strlen(path);
}

static void count_content(struct copying *c, struct pawl_bytes data, const struct pawl_acls *acls)
{
    c->bytes += data.len;
    for (size_t i = 0; i < acls->n; i++) {
        c->bytes += ACL_BYTES + strlen(acls->items[i].scheme) + strlen(acls->items[i].id);
    }
}

static void add_new(struct copying *c, const struct subtree_node *node)
{
    char *path = subtree_path(node, c->to);
    struct pawl_create request = {
        .size = sizeof(request), .path = path, .data = node->data, .acls = *acls_for(c, node)};

    pawl_multi_create(c->multi, &request);
    count_op(c, path);
    count_content(c, node->data, &request.acls);
    free(path);
}

static void add_old(struct copying *c, const struct subtree_node *node)
{
    char *path = subtree_path(node, c->from);
    struct pawl_delete request = {
        .size = sizeof(request), .path = path, .only_if = pawl_version(node->stat.version)};

    if (c->is_move) {
        pawl_multi_delete(c->multi, &request);
    } else {
        pawl_multi_check(c->multi, path, node->stat.version);
    }
    count_op(c, path);
    free(path);
}

/* The n-th operation is about the n-th node's copy, and behind those about the sources, from the
 * last to the first. */
static void add_all(struct copying *c)
{
    for (size_t i = 0; i < c->tree.n; i++) {
        add_new(c, &c->tree.nodes[i]);
    }
    for (size_t i = c->tree.n; i > 0; i--) {
        add_old(c, &c->tree.nodes[i - 1]);
    }
}

/* ---- what came of it ---- */

static int report_source(struct copying *c, const char *path, int err)
{
    const char *what = err == PAWL_ERR_NOT_EMPTY ? "a node was made below it"
                       : err == PAWL_ERR_NO_NODE ? "it was removed"
                                                 : "it was changed";

    if (err != PAWL_ERR_NOT_EMPTY && err != PAWL_ERR_NO_NODE && err != PAWL_ERR_BAD_VERSION) {
        return cli_report(c->cli, path, err);
    }
    cli_error(c->cli, "%s: %s meanwhile, and nothing was %s; try again", path, what,
              c->is_move ? "moved" : "copied");
    return EXIT_CONFLICT;
}

static int report_copy(struct copying *c, const char *path, int err)
{
    if (err == PAWL_ERR_NO_NODE) {
        cli_error(c->cli, "%s: its parent does not exist; make it with pawl create -p", path);
        return EXIT_NO_NODE;
    }
    return cli_report(c->cli, path, err);
}

static int report_failure(struct copying *c, const struct pawl_reply *reply)
{
    size_t i = 0, n = c->tree.n;
    char *path;
    int status;

    while (i < reply->n_results && reply->results[i]->err != reply->err) {
        i++;
    }
    if (reply->outcome != PAWL_OUTCOME_REFUSED || i >= 2 * n || i >= reply->n_results) {
        return cli_check(c->cli, c->to, reply);
    }
    if (i < n) {
        path = subtree_path(&c->tree.nodes[i], c->to);
        status = report_copy(c, path, reply->err);
    } else {
        path = subtree_path(&c->tree.nodes[2 * n - 1 - i], c->from);
        status = report_source(c, path, reply->err);
    }
    free(path);
    return status;
}

static int run_transaction(struct copying *c)
{
    struct pawl_reply *reply;
    int status = EXIT_OK;

    pawl_multi_run(c->cli->client, c->multi, &reply);
    if (reply == NULL || reply->err != PAWL_OK) {
        status = reply == NULL ? cli_check(c->cli, c->to, reply) : report_failure(c, reply);
    } else if (c->cli->json) {
        json_open(NULL, '{');
        json_text("path", c->to);
        json_number("nodes", (int64_t)c->tree.n);
        json_close('{');
    }
    pawl_reply_free(reply);
    return status;
}

/* ---- the commands ---- */

static int copy_all(struct copying *c, enum ephemerals ephemerals)
{
    int status = subtree_read(&c->tree, c->cli, c->from, ephemerals,
                              c->acls.n == 0 ? "another ACL with -a" : NULL);

    if (status != EXIT_OK) {
        return status;
    }
    c->multi = pawl_multi_new(c->cli->client);
    add_all(c);
    if (c->bytes > TRANSACTION_LIMIT_BYTES) {
        cli_error(c->cli,
                  "%s: %zu nodes, %zu bytes: more than the %d that go into one transaction; %s the "
                  "nodes below it one by one",
                  c->from, c->tree.n, c->bytes, TRANSACTION_LIMIT_BYTES,
                  c->is_move ? "move" : "copy");
        status = EXIT_REFUSED;
    } else {
        status = run_transaction(c);
    }
    pawl_multi_free(c->multi);
    return status;
}

static bool are_apart(const struct cli *cli, const char *from, const char *to)
{
    if (!path_is_valid(bytes_str(from)) || !path_is_valid(bytes_str(to))) {
        cli_report(cli, path_is_valid(bytes_str(from)) ? to : from, PAWL_ERR_BAD_ARGUMENTS);
        return false;
    }
    if (path_is_within(bytes_str(to), bytes_str(from))) {
        cli_error(cli, "%s is %s or below it: a tree cannot be inside itself", to, from);
        return false;
    }
    return true;
}

static int run_copying(struct cli *cli, const struct args *args, bool is_move,
                       enum ephemerals ephemerals)
{
    struct copying c = {.cli = cli,
                        .from = args->words[0],
                        .to = args->words[1],
                        .is_move = is_move,
                        .chroot = cli_chroot(cli)};
    int status;

    if (!are_apart(cli, c.from, c.to) || !cli_acls(cli, args_text(args, 'a'), &c.acls)) {
        return EXIT_USAGE;
    }
    status = copy_all(&c, ephemerals);
    subtree_fini(&c.tree);
    text_acls_free(&c.acls);
    return status;
}

static int run_cp(struct cli *cli, const struct args *args)
{
    return run_copying(cli, args, false,
                       args_has(args, 'E') ? EPHEMERALS_LEFT_OUT : EPHEMERALS_REFUSED);
}

static int run_mv(struct cli *cli, const struct args *args)
{
    return run_copying(cli, args, true, EPHEMERALS_REFUSED);
}

static const struct option_spec cp_options[] = {
    {'a', "acl", "ACL", "who may do what with the copies; without it as with the originals"},
    {'E', "without-ephemerals", NULL, "leave ephemeral nodes out"},
    {0, NULL, NULL, NULL}};

const struct command command_cp = {.name = "cp",
                                   .synopsis = "[-a ACL] [-E] FROM TO",
                                   .summary =
                                       "copy a node with everything below it, as one transaction",
                                   .options = cp_options,
                                   .min_words = 2,
                                   .max_words = 2,
                                   .run = run_cp};

static const struct option_spec mv_options[] = {
    {'a', "acl", "ACL", "who may do what with them there; without it as before"},
    {0, NULL, NULL, NULL}};

const struct command command_mv = {
    .name = "mv",
    .synopsis = "[-a ACL] FROM TO",
    .summary = "move a node with everything below it, at once or not at all",
    .options = mv_options,
    .min_words = 2,
    .max_words = 2,
    .run = run_mv};
