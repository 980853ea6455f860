/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - whatever `pawl lock` holds for its command: a lock, several as one, the read or write
 * side of one, or a lease of a semaphore. */
#ifndef PAWL_CLI_HELD_H
#define PAWL_CLI_HELD_H

#include <pawl/multilock.h>
#include <pawl/rwlock.h>
#include <pawl/semaphore.h>

enum held_kind { HELD_LOCK, HELD_READ, HELD_WRITE, HELD_LEASE };

enum { HELD_PATHS_MAX = 64 };

struct held {
    enum held_kind kind;
    size_t n;
    struct pawl_lock *locks[HELD_PATHS_MAX]; /* those of a rwlock are lent */
    struct pawl_rwlock *rwlocks[HELD_PATHS_MAX];
    struct pawl_multilock *all; /* of `locks` */
    struct pawl_semaphore *semaphore;
    struct pawl_lease *lease;
    void (*done)(int err, void *arg);
    void *done_arg;
};

/* 0, or an error; held_free() in either case. `permits` counts for HELD_LEASE, which has one path.
 */
int held_new(struct held *h, struct pawl_client *c, enum held_kind kind, const char *const *paths,
             size_t n, int permits);
void held_free(struct held *h);

/* `done` is called once, on the thread of callbacks, unless this fails. */
int held_acquire(struct held *h, int timeout_ms, void (*done)(int err, void *arg), void *arg);

/* After `done` was called with PAWL_OK. The shortest time of all that is held. */
int64_t held_certain_ms(const struct held *h);

/* Something of it is gone for good. */
bool held_is_lost(const struct held *h);

/* The grant of the first path. */
struct pawl_grant *held_grant(const struct held *h);

int held_release(struct held *h);

#endif
