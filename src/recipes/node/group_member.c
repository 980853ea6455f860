/* SPDX-License-Identifier: Apache-2.0 */
/* group_member.c - a persistent ephemeral node for ourselves, and a cache of all of them. */
#include <stdlib.h>
#include <string.h>

#include "client/prepare.h"
#include "client/take.h"
#include "pawl/group.h"
#include "recipes/cache/cache.h"

struct pawl_group {
    struct pawl_group_options o;
    struct pawl_persistent_node *self; /* NULL: we only look on */
    struct pawl_cache *cache;
    char *base, *path; /* of our node */
    char *data;        /* ours, as we know it: for the time before the server has it */
    size_t data_len;
    struct lock lock; /* guards data */
};

static void told(struct pawl_cache *c, const struct pawl_cache_event *event, void *group)
{
    struct pawl_group *g = group;

    (void)c;
    g->o.on_event(g, event, g->o.on_event_arg); /* and it may be gone now */
}

static void free_group(struct pawl_group *g)
{
    lock_fini(&g->lock);
    free(g->base);
    free(g->path);
    free(g->data);
    free(g);
}

static int keep_data(struct pawl_group *g, struct pawl_bytes data)
{
    char *copy = malloc(data.len + 1);

    if (copy == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (data.len > 0) {
        memcpy(copy, data.data, data.len);
    }
    lock_take(&g->lock);
    free(g->data);
    g->data = copy;
    g->data_len = data.len;
    lock_give(&g->lock);
    return 0;
}

static int make_parts(struct pawl_group *g, struct pawl_client *c)
{
    struct pawl_cache_options cache = {.size = sizeof(cache),
                                       .flags = PAWL_CACHE_NO_ROOT,
                                       .on_event = g->o.on_event == NULL ? NULL : told,
                                       .on_event_arg = g};
    struct pawl_persistent_options node = {
        .size = sizeof(node), .mode = PAWL_MODE_EPHEMERAL, .data = g->o.data};
    int rc = cache_new(c, g->base, PAWL_DEPTH_CHILDREN, &cache, &g->cache);

    if (rc == 0 && g->path != NULL) {
        rc = pawl_persistent_node_new(c, g->path, &node, &g->self);
    }
    return rc;
}

static int group_fill(struct pawl_group *g, const char *path, const char *id)
{
    g->base = recipe_copy(path);
    g->path = id == NULL || g->base == NULL ? NULL : recipe_join(path, id);
    if (g->base == NULL || (id != NULL && g->path == NULL)) {
        return PAWL_ERR_NO_MEMORY;
    }
    return take_is_data(g->o.data) ? keep_data(g, g->o.data) : PAWL_ERR_BAD_ARGUMENTS;
}

int pawl_group_join(struct pawl_client *c, const char *path, const char *id,
                    const struct pawl_group_options *options, struct pawl_group **out)
{
    struct pawl_group *g;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false) ||
        (id != NULL && (*id == '\0' || strchr(id, '/') != NULL))) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    g = calloc(1, sizeof(*g));
    if (g == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    lock_init(&g->lock);
    TAKE(g->o, options);
    rc = group_fill(g, path, id);
    rc = rc != 0 ? rc : make_parts(g, c);
    if (rc != 0) {
        pawl_group_leave(g);
        return rc;
    }
    *out = g;
    cache_start(g->cache); /* and a listener may have left the group by now */
    return 0;
}

void pawl_group_leave(struct pawl_group *g)
{
    if (g != NULL) {
        pawl_cache_free(g->cache);
        pawl_persistent_node_free(g->self);
        free_group(g);
    }
}

int pawl_group_wait(struct pawl_group *g, int timeout_ms)
{
    int64_t end = machine_now_ms() + timeout_ms, left;
    int rc = g == NULL ? PAWL_ERR_BAD_ARGUMENTS : 0;

    if (rc == 0 && g->self != NULL) {
        rc = pawl_persistent_node_wait(g->self, timeout_ms);
    }
    left = timeout_ms < 0 ? -1 : end - machine_now_ms();
    return rc != 0 ? rc : pawl_cache_wait(g->cache, timeout_ms < 0 ? -1 : left < 0 ? 0 : (int)left);
}

/* Ourselves, when the cache has not heard of us. */
static int add_self(const struct pawl_group *given, struct pawl_nodes **nodes)
{
    struct pawl_group *g = (struct pawl_group *)(uintptr_t)given;
    struct pawl_nodes *old = *nodes, *more = cache_nodes_new(old->n + 1);
    struct pawl_stat stat = {0};
    struct pawl_bytes data;
    struct node *n;

    lock_take(&g->lock);
    data = (struct pawl_bytes){g->data, g->data_len};
    n = cache_node_new(g->path, (size_t)(strrchr(g->path, '/') + 1 - g->path), &stat, &data);
    lock_give(&g->lock);
    if (n == NULL || more == NULL) {
        cache_node_unref(n);
        free(more);
        return PAWL_ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < old->n; i++) {
        cache_nodes_add(
            more, container_of((struct pawl_node *)(uintptr_t)old->items[i], struct node, pub));
    }
    cache_nodes_add(more, n);
    cache_node_unref(n);
    cache_nodes_sort(more);
    pawl_nodes_free(old);
    *nodes = more;
    return 0;
}

int pawl_group_members(const struct pawl_group *g, struct pawl_nodes **out)
{
    struct pawl_nodes *nodes;
    int rc = g == NULL ? PAWL_ERR_BAD_ARGUMENTS : pawl_cache_children(g->cache, g->base, &nodes);
    bool found = false;

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < nodes->n && g->path != NULL; i++) {
        found = found || strcmp(nodes->items[i]->path, g->path) == 0;
    }
    if (g->path != NULL && !found) {
        rc = add_self(g, &nodes);
    }
    if (rc != 0) {
        pawl_nodes_free(nodes);
        return rc;
    }
    *out = nodes;
    return 0;
}

int pawl_group_set(struct pawl_group *g, struct pawl_bytes data)
{
    bool good = g != NULL && g->self != NULL && take_is_data(data);
    int rc = good ? keep_data(g, data) : PAWL_ERR_BAD_ARGUMENTS;

    return rc != 0 ? rc : pawl_persistent_node_set(g->self, data);
}
