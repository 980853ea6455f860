/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/files/record_text.h"
#include "cli/json.h"
#include "cli/text.h"
#include "store/acl_table.h"

/* ---- in order ---- */

static void push(struct tree_walk *w, znode_id id)
{
    if (w->n == w->capacity) {
        w->capacity = w->capacity * 2 + 64;
        w->stack = must_realloc(w->stack, w->capacity * sizeof(*w->stack));
    }
    w->stack[w->n++] = id;
}

/* The last name first, so that the first one is taken first. */
static int compare_names(const void *a, const void *b, void *arg)
{
    const struct tree *tree = arg;

    return bytes_order(tree_name(tree, *(const znode_id *)b),
                       tree_name(tree, *(const znode_id *)a));
}

static void push_children(struct tree_walk *w)
{
    size_t first = w->n;

    for (znode_id c = tree_first_child(w->tree, w->id); c != 0; c = tree_next_sibling(w->tree, c)) {
        push(w, c);
    }
    if (w->n > first + 1) {
        qsort_r(w->stack + first, w->n - first, sizeof(*w->stack), compare_names,
                (void *)(uintptr_t)w->tree);
    }
}

bool tree_walk_from(struct tree_walk *w, const struct tree *tree, const char *top)
{
    znode_id id = tree_find(tree, bytes_str(top));

    *w = (struct tree_walk){.tree = tree};
    strbuf_init(&w->path, STRBUF_NO_LIMIT);
    if (id != 0) {
        push(w, id);
    }
    return id != 0;
}

bool tree_walk_next(struct tree_walk *w)
{
    if (w->id != 0) {
        push_children(w);
    }
    w->id = w->n > 0 ? w->stack[--w->n] : 0;
    strbuf_clear(&w->path);
    if (w->id != 0) {
        tree_path(w->tree, w->id, &w->path);
    }
    return w->id != 0;
}

void tree_walk_fini(struct tree_walk *w)
{
    free(w->stack);
    strbuf_fini(&w->path);
}

/* ---- one node ---- */

void tree_client_stat(const struct tree *tree, znode_id id, struct pawl_stat *out)
{
    struct stat_record s;

    tree_stat(tree, id, &s);
    *out = (struct pawl_stat){.czxid = s.czxid,
                              .mzxid = s.mzxid,
                              .ctime = s.ctime,
                              .mtime = s.mtime,
                              .version = s.version,
                              .cversion = s.cversion,
                              .aversion = s.aversion,
                              .ephemeral_owner = s.ephemeral_owner,
                              .data_length = s.data_length,
                              .n_children = s.n_children,
                              .pzxid = s.pzxid};
}

static struct acl_list acls_of(const struct tree *tree, znode_id id)
{
    struct jute_reader r = jute_reader_of(acl_table_get(tree_acls(tree), tree_acl(tree, id)));

    return acl_list_read(&r);
}

void tree_node_json(const struct tree *tree, znode_id id, struct strbuf *path)
{
    struct acl_list acls = acls_of(tree, id);
    struct pawl_stat stat;

    tree_client_stat(tree, id, &stat);
    json_data("path", shown(strbuf_bytes(path)));
    json_data("data", shown(tree_data(tree, id)));
    acl_list_json("acl", &acls);
    json_stat("stat", &stat);
}

/* ---- two trees ---- */

/* As a walk meets them: what is below a node comes before its next sister, whatever she is called.
 */
static int compare_paths(struct bytes a, struct bytes b)
{
    size_t i = 0;

    while (i < a.len && i < b.len && a.data[i] == b.data[i]) {
        i++;
    }
    if (i == a.len || i == b.len) {
        return (a.len > b.len) - (a.len < b.len);
    }
    if (a.data[i] == '/' || b.data[i] == '/') {
        return a.data[i] == '/' ? -1 : 1;
    }
    return a.data[i] < b.data[i] ? -1 : 1;
}

enum { DATA_DIFFERS = 1, ACL_DIFFERS = 2, STAT_DIFFERS = 4 };

static bool has_same_stat(const struct stat_persisted *a, const struct stat_persisted *b)
{
    return a->czxid == b->czxid && a->mzxid == b->mzxid && a->ctime == b->ctime &&
           a->mtime == b->mtime && a->version == b->version && a->cversion == b->cversion &&
           a->aversion == b->aversion && a->ephemeral_owner == b->ephemeral_owner &&
           a->pzxid == b->pzxid;
}

static int what_differs(const struct tree_walk *a, const struct tree_walk *b)
{
    struct stat_persisted left, right;
    int what = 0;

    tree_persisted(a->tree, a->id, &left);
    tree_persisted(b->tree, b->id, &right);
    if (!bytes_equal(tree_data(a->tree, a->id), tree_data(b->tree, b->id))) {
        what |= DATA_DIFFERS;
    }
    if (!bytes_equal(acl_table_get(tree_acls(a->tree), tree_acl(a->tree, a->id)),
                     acl_table_get(tree_acls(b->tree), tree_acl(b->tree, b->id)))) {
        what |= ACL_DIFFERS;
    }
    return what | (has_same_stat(&left, &right) ? 0 : STAT_DIFFERS);
}

static void tell_difference(const struct cli *cli, char mark, int what, const struct tree_walk *w)
{
    static const char *const names[] = {['-'] = "removed", ['+'] = "added", ['!'] = "changed"};
    static const char *const parts[] = {"data", "acl", "stat"};
    const char *between = " (";

    if (cli->json) {
        json_open(NULL, '{');
        json_text("difference", names[(int)mark]);
        json_data("path", shown(strbuf_bytes(&w->path)));
        json_open("in", '[');
        for (int i = 0; i < 3; i++) {
            if (what & 1 << i) {
                json_text(NULL, parts[i]);
            }
        }
        json_close('[');
        json_close('{');
        return;
    }
    printf("%c ", mark);
    text_escaped(shown(strbuf_bytes(&w->path)));
    for (int i = 0; i < 3; i++) {
        if (what & 1 << i) {
            printf("%s%s", between, parts[i]);
            between = ", ";
        }
    }
    puts(what != 0 ? ")" : "");
}

static int compare_walks(const struct cli *cli, struct tree_walk *a, struct tree_walk *b)
{
    bool has_a = tree_walk_next(a), has_b = tree_walk_next(b);
    int status = EXIT_OK;

    while ((has_a || has_b) && !ferror(stdout)) {
        int order = !has_a   ? 1
                    : !has_b ? -1
                             : compare_paths(strbuf_bytes(&a->path), strbuf_bytes(&b->path));
        int what = order == 0 ? what_differs(a, b) : 0;

        if (order != 0 || what != 0) {
            status = EXIT_NO;
            tell_difference(cli, order < 0 ? '-' : order > 0 ? '+' : '!', what, order > 0 ? b : a);
        }
        has_a = order <= 0 ? tree_walk_next(a) : has_a;
        has_b = order >= 0 ? tree_walk_next(b) : has_b;
    }
    return status;
}

int trees_compare(const struct cli *cli, const struct tree *left, const struct tree *right,
                  const char *top)
{
    struct tree_walk a, b;
    bool has_a = tree_walk_from(&a, left, top), has_b = tree_walk_from(&b, right, top);
    int status = EXIT_NO_NODE;

    if (has_a || has_b) {
        status = compare_walks(cli, &a, &b);
    } else {
        cli_error(cli, "%s: there is no such node in either", top);
    }
    tree_walk_fini(&a);
    tree_walk_fini(&b);
    return status;
}
