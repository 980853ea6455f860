/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.h - traffic by top-level znode: "app" for everything at or below /app. */
#ifndef PAWL_SERVER_NAMESPACES_H
#define PAWL_SERVER_NAMESPACES_H

#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/map.h"
#include "server/summary.h"
#include "wire/records.h"

/* Names that are longer have no row: all who ask for metrics would be sent them, six times. */
enum { NAMESPACES_MAX = 256, NAMESPACE_NAME_BYTES = 256 };

struct namespace
{
    struct map_entry entry;
    struct list link;
    struct summary reads, writes; /* bytes */
    uint64_t n_over_quota;
    size_t len;
    uint8_t name[];
};

struct namespaces {
    struct map by_name;
    struct list all;        /* in the order they were first seen */
    struct namespace *last; /* the one asked for last: mostly the next one too */
};

void namespaces_init(struct namespaces *n);
void namespaces_fini(struct namespaces *n);
void namespaces_reset(struct namespaces *n);

/* The top-level name of `path`; null for "/", and if it is too long. */
struct bytes namespace_name(struct bytes path);

/* The row `path` belongs to; NULL where there is no name, and when there are so many rows already
 * that another would only be a burden to those who read them. */
struct namespace *namespaces_find(struct namespaces *n, struct bytes path);

static inline struct namespace *namespaces_at(struct namespaces *n, struct bytes path)
{
    struct namespace *last = n->last;

    if (last != NULL && path.len > last->len &&
        (path.len == last->len + 1 || path.data[last->len + 1] == '/') &&
        memcmp(path.data + 1, last->name, last->len) == 0) {
        return last;
    }
    return namespaces_find(n, path);
}

/* What ZooKeeper counts for a read and for a write of so many bytes at `path`. */
static inline void namespaces_read(struct namespaces *n, struct bytes path, size_t bytes)
{
    struct namespace *row = namespaces_at(n, path);

    if (row != NULL) {
        summary_add(&row->reads, (int64_t)(path.len + bytes + STAT_BYTES));
    }
}

static inline void namespaces_write(struct namespaces *n, struct bytes path, size_t bytes)
{
    struct namespace *row = namespaces_at(n, path);

    if (row != NULL) {
        summary_add(&row->writes, (int64_t)(path.len + bytes));
    }
}

void namespaces_over_quota(struct namespaces *n, struct bytes path);

#endif
