/* SPDX-License-Identifier: Apache-2.0 */
/* semaphore.h - the inside of <pawl/semaphore.h>.
 *
 * One acquire:
 *
 *           the number is known        our turn        a lease node, and not more than the number
 *   COUNT ---------------------> LOCK ----------> LEASE --------------------------------> end
 *                                  ^               |  ^                |
 *                                  |               |  +--- one more ---+
 *                                  +---------------+
 *                     the place in the queue or the lease node is gone: from the beginning
 *
 * Both are contenders: the lock that of a plain lock, a lease one with a rule of its own, which
 * counts. Whoever is at LEASE holds the lock, so only he adds leases, and what he counts cannot
 * grow behind his back. */
#ifndef PAWL_RECIPES_LOCK_SEMAPHORE_H
#define PAWL_RECIPES_LOCK_SEMAPHORE_H

#include "client/beacon.h"
#include "pawl/semaphore.h"
#include "recipes/core/ask.h"
#include "recipes/core/contender.h"

/* The number of leases. */
struct lease_count {
    char *path; /* NULL: fixed */
    int32_t max;
    bool known;
    bool asking;             /* an answer is on its way: what we know may be old */
    struct step_watch watch; /* tells of changes */
};

struct pawl_semaphore {
    struct recipe r;
    struct pawl_semaphore_options o;
    char *locks, *leases; /* paths */
    char identity[IDENTITY_BYTES];
    void *data;
    size_t data_len;
    struct lease_count count;
    struct list takings; /* struct taking, by its ask */
    struct list out;     /* struct pawl_lease */
    struct list dead;    /* given back, but somebody may still be told of them */
};

struct pawl_lease {
    struct list link;
    struct pawl_semaphore *s;
    struct taking *taking; /* NULL: it is the user's */
    struct contender contender;
    uint8_t data[];
};

enum taking_state { TAKING_COUNT, TAKING_LOCK, TAKING_LEASE, TAKING_ENDED };

/* One acquire. */
struct taking {
    struct ask ask;
    struct pawl_semaphore *s;
    enum taking_state state;
    struct contender lock;
    size_t n, n_held;
    struct pawl_lease **leases;        /* the first n_held are held, the next one may be wanted */
    void (*granted)(struct taking *t); /* a step: takes the leases over; NULL: the user does */
    pawl_semaphore_fn done;
    pawl_mutex_fn mutex_done; /* of a mutex, instead */
    void *arg;
};

/* `size` bytes, which begin with the semaphore. */
int semaphore_make(size_t size, struct pawl_client *c, const char *path,
                   const struct pawl_semaphore_options *o, struct pawl_semaphore **out);
struct taking *taking_new(struct pawl_semaphore *s, size_t n);

/* Steps. */
void taking_go_on(struct taking *t); /* at COUNT: the number is known */
void taking_end(struct taking *t, int err);
void semaphore_poke(struct pawl_semaphore *s);                 /* the number has changed */
void lease_give_back(struct pawl_lease *lease, struct ask *a); /* `a` ends when it is confirmed */
void lease_drop(struct pawl_lease *lease);                     /* frees it; it is not held */

/* semaphore_count.c */
int count_want(struct pawl_semaphore *s); /* until it is known; an error: it will not be */
bool count_is_sure(const struct pawl_semaphore *s);
void count_shut(struct pawl_semaphore *s);
void count_changed(const struct pawl_event *event, void *semaphore); /* of its watch */

#endif
