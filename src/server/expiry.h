/* SPDX-License-Identifier: Apache-2.0 */
/* expiry.h - which sessions are due to expire, and when.
 *
 * Deadlines are rounded up to whole buckets: a tick expires a batch, a ping that stays in its
 * bucket costs nothing, and a session may live up to one bucket too long, never too short. */
#ifndef PAWL_SERVER_EXPIRY_H
#define PAWL_SERVER_EXPIRY_H

#include <stdint.h>

#include "base/list.h"
#include "base/map.h"

struct expiry {
    int64_t bucket_ms;
    int64_t next_ms;    /* no bucket is due before this */
    struct map buckets; /* by deadline */
};

/* Carried by whatever can expire. All zero: not in the queue. */
struct expiry_item {
    struct list link;
    int64_t deadline_ms; /* 0: not in a bucket */
};

void expiry_init(struct expiry *x, int64_t bucket_ms, int64_t now_ms);
void expiry_fini(struct expiry *x);

/* Notes that `item` was heard from at `now_ms`. Adds it if it is new here. Cannot fail. */
void expiry_touch(struct expiry *x, struct expiry_item *item, int64_t now_ms, int64_t timeout_ms);
void expiry_remove(struct expiry *x, struct expiry_item *item);

/* Takes out one item that is due at `now_ms`, oldest bucket first, or returns NULL. */
struct expiry_item *expiry_pop_due(struct expiry *x, int64_t now_ms);

/* Every bucket in order of its deadline, empty ones left out. */
typedef void (*expiry_bucket_fn)(int64_t deadline_ms, const struct list *items, void *arg);
void expiry_each(const struct expiry *x, expiry_bucket_fn fn, void *arg);

#endif
