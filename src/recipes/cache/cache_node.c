/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/cache/cache.h"

struct node *cache_node_new(const char *path, size_t name_at, const struct pawl_stat *stat,
                            const struct pawl_bytes *data)
{
    size_t path_size = strlen(path) + 1, len = data == NULL ? 0 : data->len;
    struct node *n = malloc(sizeof(*n) + path_size + len + 1);
    char *bytes;

    if (n == NULL) {
        return NULL;
    }
    memcpy(n->bytes, path, path_size);
    bytes = n->bytes + path_size;
    if (len > 0) {
        memcpy(bytes, data->data, len);
    }
    bytes[len] = '\0';
    n->pub = (struct pawl_node){
        .path = n->bytes,
        .name = n->bytes + name_at,
        .data = {data == NULL || data->data == NULL ? NULL : bytes, len},
        .has_data = data != NULL,
        .stat = *stat,
    };
    atomic_init(&n->refs, 1);
    n->born = n->died = (struct tell){.type = 0};
    return n;
}

struct node *cache_node_ref(struct node *n)
{
    if (n != NULL) {
        atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    }
    return n;
}

void cache_node_unref(struct node *n)
{
    if (n != NULL && atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1) {
        ASSERT(n->born.type == 0 && n->died.type == 0);
        free(n);
    }
}

static struct node *node_of(const struct pawl_node *n)
{
    return n == NULL ? NULL : container_of((struct pawl_node *)(uintptr_t)n, struct node, pub);
}

const struct pawl_node *pawl_node_ref(const struct pawl_node *n)
{
    cache_node_ref(node_of(n));
    return n;
}

void pawl_node_unref(const struct pawl_node *n)
{
    cache_node_unref(node_of(n));
}

/* ---- several ---- */

struct pawl_nodes *cache_nodes_new(size_t room)
{
    struct pawl_nodes *nodes = malloc(sizeof(*nodes) + room * sizeof(nodes->items[0]));

    if (nodes != NULL) {
        *nodes = (struct pawl_nodes){(const struct pawl_node *const *)(nodes + 1), 0};
    }
    return nodes;
}

void cache_nodes_add(struct pawl_nodes *nodes, struct node *n)
{
    const struct pawl_node **items = (const struct pawl_node **)(nodes + 1);

    items[nodes->n++] = &cache_node_ref(n)->pub;
}

static int by_name(const void *a, const void *b)
{
    const struct pawl_node *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

void cache_nodes_sort(struct pawl_nodes *nodes)
{
    qsort(nodes + 1, nodes->n, sizeof(nodes->items[0]), by_name);
}

void pawl_nodes_free(struct pawl_nodes *nodes)
{
    for (size_t i = 0; nodes != NULL && i < nodes->n; i++) {
        pawl_node_unref(nodes->items[i]);
    }
    free(nodes);
}
