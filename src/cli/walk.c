/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Still to be visited, the next one last: a tree may be deeper than our stack. */
struct ahead {
    struct place {
        char *path;
        int depth;
    } * items;
    size_t n, capacity;
};

static void ahead_add(struct ahead *a, char *path, int depth)
{
    if (a->n == a->capacity) {
        a->capacity = 2 * a->capacity + 64;
        a->items = must_realloc(a->items, a->capacity * sizeof(*a->items));
    }
    a->items[a->n++] = (struct place){.path = path, .depth = depth};
}

char *path_joined(const char *parent, const char *name)
{
    size_t len = strlen(parent), size = len + strlen(name) + 2;
    char *path = must_alloc(size);

    snprintf(path, size, "%s%s%s", parent, len > 0 && parent[len - 1] == '/' ? "" : "/", name);
    return path;
}

static int by_name_backwards(const void *a, const void *b)
{
    return strcmp(*(const char *const *)b, *(const char *const *)a);
}

static void add_children(struct ahead *a, const struct place *parent,
                         const struct pawl_strings *names)
{
    const char **sorted = must_alloc((names->n + 1) * sizeof(*sorted));

    if (names->n > 0) {
        memcpy(sorted, names->items, names->n * sizeof(*sorted));
    }
    qsort(sorted, names->n, sizeof(*sorted), by_name_backwards);
    for (size_t i = 0; i < names->n; i++) {
        ahead_add(a, path_joined(parent->path, sorted[i]), parent->depth + 1);
    }
    free(sorted);
}

/* What is known of one node. Either reply may be NULL: not asked for. */
struct look {
    struct walk_node node;
    struct pawl_reply *first, *children;
    bool is_gone;
};

/* True: the answer can be used. False: the node is gone, or may not be read, or `*status`. */
static bool is_answered(const struct walk *w, struct look *l, const struct pawl_reply *reply,
                        int *status)
{
    int err = reply != NULL ? reply->err : PAWL_ERR_NO_MEMORY;

    if (err == PAWL_OK) {
        return true;
    }
    if (l->node.depth > 0 && err == PAWL_ERR_NO_NODE) {
        l->is_gone = true;
        return false;
    }
    *status = cli_check(w->cli, l->node.path, reply);
    if (l->node.depth > 0 && err == PAWL_ERR_NO_AUTH) {
        l->node.is_readable = false;
    }
    return false;
}

static bool may_have_children(const struct walk *w, const struct walk_node *node)
{
    return !w->is_limited || node->depth < w->max_depth;
}

/* Servers before 3.9 show the stat of any node to everybody. */
static void look_at_closed(const struct walk *w, struct look *l)
{
    pawl_reply_free(l->first);
    l->node.data = (struct pawl_bytes){0};
    pawl_exists(w->cli->client, l->node.path, NULL, &l->first);
    l->is_gone = l->first != NULL && l->first->err == PAWL_ERR_NO_NODE;
    l->node.has_stat = l->first != NULL && l->first->err == PAWL_OK;
    if (l->node.has_stat) {
        l->node.stat = l->first->stat;
    }
}

/* One request where one will do: a list of children has the stat of the parent with it, and data
 * have the number of children. */
static int look_at(const struct walk *w, struct look *l)
{
    struct pawl_client *c = w->cli->client;
    const char *path = l->node.path;
    bool wants_children = may_have_children(w, &l->node);
    int status = EXIT_OK;

    l->node.is_readable = true;
    if (w->with_data) {
        pawl_get(c, path, NULL, &l->first);
    } else if (!wants_children) {
        pawl_exists(c, path, NULL, &l->first);
    } else {
        pawl_children(c, path, NULL, &l->first);
    }
    if (is_answered(w, l, l->first, &status)) {
        l->node.has_stat = true;
        l->node.stat = l->first->stat;
        l->node.data = l->first->data;
        if (w->with_data && wants_children && l->node.stat.n_children > 0) {
            pawl_children(c, path, NULL, &l->children);
            is_answered(w, l, l->children, &status);
        }
    }
    if (!l->node.is_readable) {
        look_at_closed(w, l);
    }
    return status;
}

static int walk_step(const struct walk *w, const struct place *place, struct ahead *ahead,
                     bool *is_refused)
{
    struct look l = {.node = {.path = place->path, .depth = place->depth}};
    int status = look_at(w, &l);
    const struct pawl_reply *list = w->with_data ? l.children : l.first;

    l.node.name = place->depth > 0 ? strrchr(place->path, '/') + 1 : place->path;
    if (!l.node.is_readable) {
        *is_refused = true;
        status = EXIT_OK;
    }
    if (status == EXIT_OK && !l.is_gone) {
        status = w->visit(&l.node, w->arg);
        if (list != NULL && l.node.is_readable && may_have_children(w, &l.node)) {
            add_children(ahead, place, &list->children);
        }
    }
    pawl_reply_free(l.first);
    pawl_reply_free(l.children);
    return status;
}

int walk_tree(const struct walk *w, const char *top)
{
    struct ahead ahead = {0};
    bool is_refused = false;
    int status = EXIT_OK;

    ahead_add(&ahead, must_strdup(top), 0);
    while (ahead.n > 0) {
        struct place place = ahead.items[--ahead.n];

        if (status == EXIT_OK && !ferror(stdout)) {
            status = walk_step(w, &place, &ahead, &is_refused);
        }
        free(place.path);
    }
    free(ahead.items);
    return status == EXIT_OK && is_refused ? EXIT_REFUSED : status;
}
