/* SPDX-License-Identifier: Apache-2.0 */
#include "server/namespaces.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

void namespaces_init(struct namespaces *n)
{
    map_init(&n->by_name);
    list_init(&n->all);
    n->last = NULL;
}

void namespaces_fini(struct namespaces *n)
{
    struct list *item;

    while ((item = list_pop_front(&n->all)) != NULL) {
        free(container_of(item, struct namespace, link));
    }
    map_fini(&n->by_name);
}

void namespaces_reset(struct namespaces *n)
{
    struct list *item;

    list_for_each (item, &n->all) {
        struct namespace *row = container_of(item, struct namespace, link);

        summary_reset(&row->reads);
        summary_reset(&row->writes);
        row->n_over_quota = 0;
    }
}

struct bytes namespace_name(struct bytes path)
{
    const uint8_t *slash;
    size_t len;

    if (path.len < 2) {
        return BYTES_NULL;
    }
    slash = memchr(path.data + 1, '/', path.len - 1);
    len = slash == NULL ? path.len - 1 : (size_t)(slash - path.data) - 1;
    return len > NAMESPACE_NAME_BYTES ? BYTES_NULL : bytes_of(path.data + 1, len);
}

static bool is_named(const struct namespace *row, struct bytes name)
{
    return row->len == name.len && memcmp(row->name, name.data, name.len) == 0;
}

static struct namespace *add_row(struct namespaces *n, struct bytes name, uint64_t hash)
{
    struct namespace *row = must_zalloc(sizeof(*row) + name.len);

    summary_init(&row->reads);
    summary_init(&row->writes);
    row->len = name.len;
    memcpy(row->name, name.data, name.len);
    map_insert(&n->by_name, &row->entry, hash);
    list_push_back(&n->all, &row->link);
    return row;
}

static struct namespace *find_row(struct namespaces *n, struct bytes name)
{
    uint64_t hash = hash_bytes(name.data, name.len, 0);

    for (struct map_entry *e = map_first(&n->by_name, hash); e != NULL; e = map_next(e)) {
        struct namespace *row = container_of(e, struct namespace, entry);

        if (is_named(row, name)) {
            return row;
        }
    }
    return n->by_name.count < NAMESPACES_MAX ? add_row(n, name, hash) : NULL;
}

struct namespace *namespaces_find(struct namespaces *n, struct bytes path)
{
    struct bytes name = namespace_name(path);
    struct namespace *row = name.len == 0 ? NULL : find_row(n, name);

    if (row != NULL) {
        n->last = row;
    }
    return row;
}

void namespaces_over_quota(struct namespaces *n, struct bytes path)
{
    struct namespace *row = namespaces_at(n, path);

    if (row != NULL) {
        row->n_over_quota++;
    }
}
