/* SPDX-License-Identifier: Apache-2.0 */
/* lock_queue.h - who holds a lock or a lease of a semaphore, who waits, and for whom. */
#ifndef PAWL_LOOK_LOCK_QUEUE_H
#define PAWL_LOOK_LOCK_QUEUE_H

#include <stdbool.h>

#include <pawl/grant.h>

struct lock_queue {
    bool is_semaphore;
    size_t n;
    const struct pawl_participant **items;     /* holders first, then in order */
    size_t n_leases;                           /* of a semaphore: the first of `items` have them */
    struct pawl_participants *places, *leases; /* which own the items */
};

/* PAWL_OK: lock_queue_fini() when done. Nobody there: n is 0. */
int lock_queue_read(struct pawl_client *c, const char *path, struct lock_queue *out);
void lock_queue_fini(struct lock_queue *q);

/* Of a read/write lock: shares it with other readers. */
bool lock_queue_is_reader(const struct lock_queue *q, size_t i);

bool lock_queue_holds(const struct lock_queue *q, size_t i);

/* Of a lock: whether `i` cannot hold it before `ahead` has gone. Readers before the first writer
 * share a read/write lock. Who waits for a lease waits for nobody in particular. */
bool lock_queue_excludes(const struct lock_queue *q, size_t ahead, size_t i);

/* The nearest one ahead of `i` that excludes it. False: there is none. */
bool lock_queue_behind(const struct lock_queue *q, size_t i, size_t *ahead);

#endif
