/* SPDX-License-Identifier: Apache-2.0 */
/* mirror.c - makes one subtree like another, of one server or of two.
 *
 * Both are read, and what differs is written, node by node: a tree may be larger than any
 * transaction. Each write counts only if its node is as it was read, so nobody's change is written
 * over unseen. Whatever ends it, the next run goes on from there: what is equal already is left
 * alone. Ephemeral nodes are their sessions' and are neither copied nor removed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/subtree.h"
#include "cli/text.h"
#include "wire/path.h"

struct mirroring {
    struct cli *cli;
    const char *to;
    struct subtree source, target;
    bool is_dry, removes, with_acls;
    int64_t n_created, n_changed, n_removed, n_equal, n_extra;
};

/* ---- what is told ---- */

enum { IN_DATA = 1, IN_ACL = 2 };

static void tell(const struct mirroring *m, char mark, const char *path, int what)
{
    static const char *const names[] = {['-'] = "removed", ['+'] = "created", ['!'] = "changed"};

    if (m->cli->json) {
        json_open(NULL, '{');
        json_text(m->is_dry ? "would_be" : "was", names[(int)mark]);
        json_text("path", path);
        if (mark == '!') {
            json_bool("data", (what & IN_DATA) != 0);
            json_bool("acl", (what & IN_ACL) != 0);
        }
        json_close('{');
        return;
    }
    printf("%c ", mark);
    text_escaped(pawl_str(path));
    puts(what == IN_ACL ? " (acl)" : what == (IN_ACL | IN_DATA) ? " (data, acl)" : "");
}

static void sum_up(const struct mirroring *m)
{
    if (m->cli->json) {
        json_open(NULL, '{');
        json_bool("dry_run", m->is_dry);
        json_number("created", m->n_created);
        json_number("changed", m->n_changed);
        json_number("removed", m->n_removed);
        json_number("equal", m->n_equal);
        json_number("only_there", m->n_extra);
        json_close('{');
        return;
    }
    printf("%s%" PRId64 " created, %" PRId64 " changed, %" PRId64 " removed, %" PRId64 " equal",
           m->is_dry ? "would be: " : "", m->n_created, m->n_changed, m->n_removed, m->n_equal);
    if (m->n_extra > 0) {
        printf(", %" PRId64 " only there%s", m->n_extra,
               m->removes ? " (of sessions)" : "; --delete removes them");
    }
    putchar('\n');
}

/* ---- one node ---- */

/* For a change that has been asked for, in `reply`. */
static int done(const struct mirroring *m, const char *path, struct pawl_reply *reply)
{
    int status = cli_check(m->cli, path, reply);

    pawl_reply_free(reply);
    return status;
}

static int create(struct mirroring *m, const struct subtree_node *from)
{
    char *path = subtree_path(from, m->to);
    struct pawl_create request = {.size = sizeof(request), .path = path, .data = from->data};
    struct pawl_reply *reply;
    int status = EXIT_OK;

    if (m->with_acls) {
        request.acls = from->acls->acls;
    }
    if (!m->is_dry) {
        pawl_create(m->cli->client, &request, &reply);
        status = done(m, path, reply);
    }
    if (status == EXIT_OK) {
        m->n_created++;
        tell(m, '+', path, 0);
    }
    free(path);
    return status;
}

static bool has_same_acls(const struct pawl_acls *a, const struct pawl_acls *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        if (a->items[i].perms != b->items[i].perms ||
            strcmp(a->items[i].scheme, b->items[i].scheme) != 0 ||
            strcmp(a->items[i].id, b->items[i].id) != 0) {
            return false;
        }
    }
    return a->n == b->n;
}

static int write_change(struct mirroring *m, const struct subtree_node *from,
                        const struct subtree_node *to, const char *path, int what)
{
    struct pawl_reply *reply;
    int status = EXIT_OK;

    if (what & IN_DATA) {
        pawl_set(
            m->cli->client,
            PAWL_SET(.path = path, .data = from->data, .only_if = pawl_version(to->stat.version)),
            &reply);
        status = done(m, path, reply);
    }
    if (status == EXIT_OK && (what & IN_ACL)) {
        pawl_set_acl(m->cli->client,
                     PAWL_SET_ACL(.path = path, .acls = from->acls->acls,
                                  .only_if = pawl_version(to->stat.aversion)),
                     &reply);
        status = done(m, path, reply);
    }
    return status;
}

static int change(struct mirroring *m, const struct subtree_node *from,
                  const struct subtree_node *to)
{
    int what = subtree_same_data(from, to) ? 0 : IN_DATA;
    char *path;
    int status = EXIT_OK;

    if (m->with_acls && !has_same_acls(&from->acls->acls, &to->acls->acls)) {
        what |= IN_ACL;
    }
    if (what == 0) {
        m->n_equal++;
        return EXIT_OK;
    }
    path = subtree_path(to, m->to);
    if (!m->is_dry) {
        status = write_change(m, from, to, path, what);
    }
    if (status == EXIT_OK) {
        m->n_changed++;
        tell(m, '!', path, what);
    }
    free(path);
    return status;
}

static int remove_node(struct mirroring *m, const struct subtree_node *to)
{
    char *path = subtree_path(to, m->to);
    struct pawl_reply *reply;
    int status = EXIT_OK;

    if (!m->is_dry) {
        pawl_delete(m->cli->client,
                    PAWL_DELETE(.path = path, .only_if = pawl_version(to->stat.version)), &reply);
        status = done(m, path, reply);
    }
    if (status == EXIT_OK) {
        m->n_removed++;
        tell(m, '-', path, 0);
    }
    free(path);
    return status;
}

/* ---- all of them ---- */

static bool is_ephemeral(const struct subtree_node *node)
{
    return node->stat.ephemeral_owner != 0;
}

/* Has the source this node? The source's nodes are in order. */
static bool is_in(const struct subtree *tree, const char *below)
{
    size_t low = 0, high = tree->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = subtree_order(tree->nodes[middle].below, below);

        if (order == 0) {
            return true;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

/* Does a node of a session lie below? Then it has to stay, and so have those above it. */
static bool has_ephemeral_below(const struct subtree *tree, size_t i)
{
    size_t len = strlen(tree->nodes[i].below);

    for (size_t j = i + 1;
         j < tree->n && strncmp(tree->nodes[j].below, tree->nodes[i].below, len) == 0 &&
         tree->nodes[j].below[len] == '/';
         j++) {
        if (is_ephemeral(&tree->nodes[j])) {
            return true;
        }
    }
    return false;
}

/* The children before their parents: from the end. */
static int remove_extra(struct mirroring *m)
{
    int status = EXIT_OK;

    for (size_t i = m->target.n; i > 0 && status == EXIT_OK; i--) {
        const struct subtree_node *node = &m->target.nodes[i - 1];

        if (is_in(&m->source, node->below)) {
            continue;
        }
        if (!m->removes || is_ephemeral(node) || has_ephemeral_below(&m->target, i - 1)) {
            m->n_extra++;
        } else {
            status = remove_node(m, node);
        }
    }
    return status;
}

static int write_all(struct mirroring *m)
{
    size_t j = 0;
    int status = EXIT_OK;

    for (size_t i = 0; i < m->source.n && status == EXIT_OK; i++) {
        const struct subtree_node *from = &m->source.nodes[i];

        while (j < m->target.n && subtree_order(m->target.nodes[j].below, from->below) < 0) {
            j++;
        }
        if (j == m->target.n || subtree_order(m->target.nodes[j].below, from->below) != 0) {
            status = create(m, from);
        } else if (is_ephemeral(&m->target.nodes[j])) {
            cli_error(m->cli, "%s%s is a session's there, and stays as it is", m->to, from->below);
            status = EXIT_CONFLICT;
        } else {
            status = change(m, from, &m->target.nodes[j]);
        }
    }
    return status == EXIT_OK ? remove_extra(m) : status;
}

/* ---- reading ---- */

static const char *without_acls(const struct mirroring *m)
{
    return m->with_acls ? "leave ACLs out with -A" : NULL;
}

/* The server's own nodes are no part of a tree. */
static void drop_system_nodes(const struct cli *cli, struct subtree *t)
{
    size_t n = 0;

    if (strcmp(t->top, "/") != 0 || cli_chroot(cli)[0] != '\0') {
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (path_is_within(bytes_str(t->nodes[i].below), bytes_str("/zookeeper"))) {
            free(t->nodes[i].below);
            free((void *)(uintptr_t)t->nodes[i].data.data);
            pawl_reply_free(t->nodes[i].acls);
        } else {
            t->nodes[n++] = t->nodes[i];
        }
    }
    t->n = n;
}

static int read_target(struct mirroring *m)
{
    struct pawl_reply *reply;
    int status;

    pawl_exists(m->cli->client, m->to, NULL, &reply);
    if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
        pawl_reply_free(reply);
        return EXIT_OK; /* all of it is new */
    }
    status = done(m, m->to, reply);
    if (status == EXIT_OK) {
        status = subtree_read(&m->target, m->cli, m->to, EPHEMERALS_TOO, without_acls(m));
    }
    if (status == EXIT_OK) {
        drop_system_nodes(m->cli, &m->target);
    }
    return status;
}

static int read_both(struct mirroring *m, const char *from, const char *servers)
{
    int status = subtree_read(&m->source, m->cli, from, EPHEMERALS_LEFT_OUT, without_acls(m));

    if (status == EXIT_OK) {
        drop_system_nodes(m->cli, &m->source);
    }
    if (status == EXIT_OK && servers != NULL) {
        status = cli_change_server(m->cli, servers);
    }
    return status == EXIT_OK ? read_target(m) : status;
}

static int run_mirror(struct cli *cli, const struct args *args)
{
    const char *from = args->words[0], *servers = args_text(args, 't');
    struct mirroring m = {.cli = cli,
                          .to = args->words[args->n_words - 1],
                          .is_dry = args_has(args, 'n'),
                          .removes = args_has(args, 'd'),
                          .with_acls = !args_has(args, 'A')};
    bool is_same_server = servers == NULL || strcmp(servers, cli->servers) == 0;
    int status;

    if (is_same_server && (path_is_within(bytes_str(from), bytes_str(m.to)) ||
                           path_is_within(bytes_str(m.to), bytes_str(from)))) {
        cli_error(cli,
                  "%s and %s are one in the other; name another path, or another server with "
                  "-t",
                  from, m.to);
        return EXIT_USAGE;
    }
    status = read_both(&m, from, servers);
    if (status == EXIT_OK) {
        status = write_all(&m);
        sum_up(&m);
        if (status != EXIT_OK) {
            cli_error(cli, "not all was done; the same again goes on from there");
        }
    }
    subtree_fini(&m.source);
    subtree_fini(&m.target);
    return status;
}

static const struct option_spec mirror_options[] = {
    {'n', "dry-run", NULL, "only say what would be done"},
    {'d', "delete", NULL, "remove what the first subtree does not have"},
    {'t', "to", "SERVERS",
     "the second subtree is on these; without a second path at the same place"},
    {'A', "no-acls", NULL, "leave ACLs as they are; new nodes have the default"},
    {0, NULL, NULL, NULL}};

const struct command command_mirror = {
    .name = "mirror",
    .synopsis = "[-n] [-d] [-A] [-t SERVERS] PATH [PATH]",
    .summary = "make the second subtree like the first, here or on another server",
    .options = mirror_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_mirror};
