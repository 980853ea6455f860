/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - which connection wants to hear of which path.
 *
 * One record per (connection, path) with a bit for each kind: the kinds are independent of each
 * other, as from ZooKeeper 3.9 on. Standard ones go when they fire, the others stay. A change is
 * told to a connection once, whatever number of its watches match. */
#ifndef PAWL_SERVER_WATCH_H
#define PAWL_SERVER_WATCH_H

#include "base/map.h"
#include "server/connection.h"
#include "store/apply.h"
#include "wire/reply.h"

enum watch_kind {
    WATCH_DATA = 1,       /* exists, getData: created, deleted, data changed; fires once */
    WATCH_CHILD = 2,      /* getChildren: deleted, children changed; fires once */
    WATCH_PERSISTENT = 4, /* both of the above, stays */
    WATCH_RECURSIVE = 8,  /* the path and all below it, without children changed; stays */
    WATCH_ANY = 15,
};

struct watch_table {
    struct map paths; /* struct watched, by path */
    struct map pairs; /* struct watch, by connection and path */
    size_t n_recursive;
    size_t n_kinds; /* bits set in all records */
    uint64_t serial;
    /* Asked before an event goes out; false: it is swallowed. */
    bool (*may_see)(struct server *s, struct connection *c, uint32_t acl);
    struct server *server;
};

void watch_table_init(struct watch_table *t);
void watch_table_fini(struct watch_table *t);

void watch_add(struct watch_table *t, struct connection *c, struct bytes path,
               enum watch_kind kind);

/* The same for one that stays, in number `round` of the client's requests to have its watches
 * again: one that was not here yet has missed something. */
void watch_add_again(struct watch_table *t, struct connection *c, struct bytes path,
                     enum watch_kind kind, uint32_t round);

/* Whether `c` would have been told by one that came in that round. `above`: look also for recursive
 * ones above the path. */
bool watch_missed(const struct watch_table *t, const struct connection *c, uint32_t round,
                  enum event_type type, struct bytes path, bool above);

/* What the watches at its own path are told of a change. */
enum event_type watch_event_of(enum change_kind kind);

/* Kinds of `kinds` that `c` has at exactly `path`. */
unsigned watch_kinds(const struct watch_table *t, const struct connection *c, struct bytes path);

/* Takes them away; false when there were none. */
bool watch_remove(struct watch_table *t, struct connection *c, struct bytes path, unsigned kinds);
void watch_remove_all(struct watch_table *t, struct connection *c);

/* A change at `path`, whose ACL is `acl`, by transaction `zxid`. The parent's part of a creation or
 * deletion is a call of its own with EVENT_CHILDREN_CHANGED. Returns how many were told. */
size_t watch_fire(struct watch_table *t, enum event_type type, struct bytes path, uint32_t acl,
                  int64_t zxid);

size_t watch_count(const struct watch_table *t); /* kinds, over all connections and paths */

/* Every record, by path: an order that tells nothing of the table's key. */
typedef void (*watch_row_fn)(struct bytes path, const struct connection *c, unsigned kinds,
                             void *arg);
void watch_each(const struct watch_table *t, watch_row_fn fn, void *arg);
void watch_each_of(const struct connection *c, watch_row_fn fn, void *arg);

#endif
