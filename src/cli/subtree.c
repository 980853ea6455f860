/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/subtree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/walk.h"

/* The reading of one subtree. */
struct reading {
    struct cli *cli;
    struct subtree *tree;
    enum ephemerals ephemerals;
    const char *without_acls;
};

bool acls_are_masked(const struct pawl_acls *acls)
{
    for (size_t i = 0; i < acls->n; i++) {
        const char *colon = strchr(acls->items[i].id, ':');

        if (strcmp(acls->items[i].scheme, "digest") == 0 && colon != NULL &&
            strcmp(colon, ":x") == 0) {
            return true;
        }
    }
    return false;
}

/* `*is_gone`: deleted meanwhile. */
static int read_acls(struct reading *r, const char *path, struct pawl_reply **out, bool *is_gone)
{
    int status;

    pawl_get_acl(r->cli->client, path, out);
    *is_gone = *out != NULL && (*out)->err == PAWL_ERR_NO_NODE;
    status = *is_gone ? EXIT_OK : cli_check_read(r->cli, path, *out);
    if (status == EXIT_OK && !*is_gone && acls_are_masked(&(*out)->acls)) {
        cli_error(r->cli,
                  "%s: its ACL is shown to its administrators only; give credentials with --auth, "
                  "or %s",
                  path, r->without_acls);
        status = EXIT_REFUSED;
    }
    return status;
}

static struct pawl_bytes copied(struct pawl_bytes data)
{
    void *copy = NULL;

    if (data.data != NULL) {
        copy = must_alloc(data.len + 1);
        memcpy(copy, data.data, data.len);
    }
    return (struct pawl_bytes){copy, data.len};
}

static void keep(struct reading *r, const struct walk_node *node, struct pawl_reply *acls)
{
    struct subtree *t = r->tree;
    const char *below = node->path + (strcmp(t->top, "/") == 0 ? 0 : strlen(t->top));

    if (t->n == t->capacity) {
        t->capacity = 2 * t->capacity + 64;
        t->nodes = must_realloc(t->nodes, t->capacity * sizeof(*t->nodes));
    }
    t->nodes[t->n++] = (struct subtree_node){.below = must_strdup(node->depth > 0 ? below : ""),
                                             .data = copied(node->data),
                                             .stat = node->stat,
                                             .acls = acls};
}

static int read_node(const struct walk_node *node, void *arg)
{
    struct reading *r = arg;
    struct pawl_reply *acls = NULL;
    bool is_gone = false;
    int status = EXIT_OK;

    if (!node->is_readable) {
        return EXIT_REFUSED; /* which was reported */
    }
    if (node->stat.ephemeral_owner != 0 && r->ephemerals != EPHEMERALS_TOO) {
        if (r->ephemerals == EPHEMERALS_LEFT_OUT && node->depth > 0) {
            return EXIT_OK;
        }
        cli_error(r->cli, "%s belongs to session 0x%" PRIx64 ", and cannot be anywhere else",
                  node->path, (uint64_t)node->stat.ephemeral_owner);
        return EXIT_REFUSED;
    }
    if (r->without_acls != NULL) {
        status = read_acls(r, node->path, &acls, &is_gone);
    }
    if (status == EXIT_OK && !is_gone) {
        keep(r, node, acls);
    } else {
        pawl_reply_free(acls);
    }
    return status;
}

int subtree_read(struct subtree *t, struct cli *cli, const char *top, enum ephemerals ephemerals,
                 const char *without_acls)
{
    struct reading r = {
        .cli = cli, .tree = t, .ephemerals = ephemerals, .without_acls = without_acls};
    struct walk w = {.cli = cli, .visit = read_node, .arg = &r, .with_data = true};
    int status;

    *t = (struct subtree){.top = must_strdup(top)};
    status = walk_tree(&w, top);
    if (status == EXIT_OK && t->n == 0) { /* removed meanwhile */
        status = cli_report(cli, top, PAWL_ERR_NO_NODE);
    }
    return status;
}

void subtree_fini(struct subtree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->nodes[i].below);
        free((void *)(uintptr_t)t->nodes[i].data.data);
        pawl_reply_free(t->nodes[i].acls);
    }
    free(t->nodes);
    free(t->top);
    *t = (struct subtree){0};
}

char *subtree_path(const struct subtree_node *node, const char *top)
{
    if (node->below[0] == '\0') {
        return must_strdup(top);
    }
    return path_joined(top, node->below + 1);
}

int subtree_order(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b) {
        return 0;
    }
    if (*a == '\0' || *b == '\0') {
        return *a == '\0' ? -1 : 1;
    }
    if (*a == '/' || *b == '/') {
        return *a == '/' ? -1 : 1;
    }
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

bool subtree_same_data(const struct subtree_node *a, const struct subtree_node *b)
{
    return (a->data.data == NULL) == (b->data.data == NULL) && a->data.len == b->data.len &&
           (a->data.len == 0 || memcmp(a->data.data, b->data.data, a->data.len) == 0);
}
