/* SPDX-License-Identifier: Apache-2.0 */
/* semaphore.h - so many at a time, across processes and machines; and a mutex made of it.
 *
 *     struct pawl_semaphore *s;
 *     struct pawl_lease *lease;
 *
 *     check(pawl_semaphore_new(client, "/licences", PAWL_SEMAPHORE_OPTIONS(.max_leases = 3), &s),
 *           "semaphore");
 *     if (pawl_semaphore_acquire(s, 10000, &lease) == PAWL_OK) {
 *         // work while pawl_grant_held(pawl_lease_grant(lease))
 *         check(pawl_lease_release(lease), "release");
 *     }
 *     pawl_semaphore_free(s);
 *
 * The same nodes as Curator's InterProcessSemaphoreV2: C and Java processes share one. Who wants a
 * lease queues in PATH/locks; whose turn it is makes its node in PATH/leases and waits there until
 * there are no more nodes than leases. First come, first served; a lease that comes back wakes one.
 *
 * PROMISES
 *
 * Never are more leases held than there may be: a holder that is cut off knows, by its grant
 * (grant.h), before the server gives its lease away. All who share a semaphore must have the same
 * number, or the same shared count.
 *
 * An acquire whose connection or session breaks begins again by itself. Whatever way it ends, it
 * leaves neither a lease nor a place in the queue behind.
 *
 * Several leases at once come all or none, and without anybody getting between: two who want two of
 * three each do not starve each other (Curator's acquire them one by one, and can). */
#ifndef PAWL_SEMAPHORE_H
#define PAWL_SEMAPHORE_H

#include "pawl/grant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_semaphore;
struct pawl_lease;

struct pawl_semaphore_options {
    size_t size;    /* sizeof(struct pawl_semaphore_options) */
    int max_leases; /* at least 1; with `count` at least 0, the number it begins with */
    /* A node with the number of leases, four bytes, big-endian, as Curator's SharedCount has it. It
     * is made if there is none; a change of it counts at once, but takes no lease away from
     * anybody. NULL: the number is fixed. */
    const char *count;
    struct pawl_bytes data; /* of lease nodes; default: address, host, process, program and time */
    enum pawl_doubt doubt;
    pawl_grant_fn on_grant; /* for each lease */
    void *on_grant_arg;
};
#define PAWL_SEMAPHORE_OPTIONS(...) PAWL_SIZED(pawl_semaphore_options, __VA_ARGS__)
PAWL_SIZED_TYPE(semaphore_options)

/* Nothing is sent. */
PAWL_API int pawl_semaphore_new(struct pawl_client *c, const char *path,
                                const struct pawl_semaphore_options *options,
                                struct pawl_semaphore **out);

/* Leases that are still out are given back, in the background, and freed with it. on_grant does not
 * run any more when it returns, unless it was called from there. Each `done` that has not run yet
 * gets CANCELLED. */
PAWL_API void pawl_semaphore_free(struct pawl_semaphore *s);

/* Waits up to timeout_ms; -1: for ever; 0: a try, which also fails when somebody else is just
 * acquiring. OPERATION_TIMEOUT: no lease. CANCELLED, CLOSING: there will be none.
 * DATA_INCONSISTENCY: the shared count is no number. */
PAWL_API int pawl_semaphore_acquire(struct pawl_semaphore *s, int timeout_ms,
                                    struct pawl_lease **out);

/* `n` of them, all or none; `out` has room for `n`. BAD_ARGUMENTS: more than there will ever be. */
PAWL_API int pawl_semaphore_acquire_n(struct pawl_semaphore *s, size_t n, int timeout_ms,
                                      struct pawl_lease **out);

/* `done` is called once, with how it ended. The array is lent until it returns; the leases are
 * yours. */
typedef void (*pawl_semaphore_fn)(struct pawl_semaphore *s, int err,
                                  struct pawl_lease *const *leases, size_t n, void *arg);
PAWL_API int pawl_semaphore_acquire_async(struct pawl_semaphore *s, size_t n, int timeout_ms,
                                          pawl_semaphore_fn done, void *arg);

/* Ends all acquires that wait with CANCELLED. From any thread. */
PAWL_API void pawl_semaphore_cancel(struct pawl_semaphore *s);

/* The data of leases from now on. */
PAWL_API int pawl_semaphore_set_data(struct pawl_semaphore *s, struct pawl_bytes data);

/* Who holds a lease; at most the last of them may still be waiting for it. Who waits is below
 * PATH/locks (pawl_participants()). */
PAWL_API int pawl_semaphore_participants(struct pawl_semaphore *s, struct pawl_participants **out);

/* Valid as long as the lease. Its token is the number of the transaction that made the lease. */
PAWL_API struct pawl_grant *pawl_lease_grant(struct pawl_lease *lease);

/* Gives it back, from any thread, and waits (as long as the client's timeout) for the server to
 * confirm. LOST: it had not been ours to the end. OPERATION_TIMEOUT: not confirmed yet, goes on in
 * the background. In each of these cases the handle is gone; with NO_MEMORY or WOULD_DEADLOCK
 * nothing was done. */
PAWL_API int pawl_lease_release(struct pawl_lease *lease);

typedef void (*pawl_release_fn)(int err, void *arg);
PAWL_API int pawl_lease_release_async(struct pawl_lease *lease, pawl_release_fn done, void *arg);

/* ---- a mutex that is not re-entrant ---- */

/* A semaphore with one lease, as a lock: Curator's InterProcessSemaphoreMutex. Whoever has the
 * handle may release it, from any thread; who acquires it twice waits for itself, until its time
 * is over. It does not exclude a pawl_lock on the same path.
 *
 *     check(pawl_mutex_new(client, "/jobs/nightly", NULL, &m), "mutex");
 *     if (pawl_mutex_acquire(m, 10000) == PAWL_OK) {
 *         ...
 *         check(pawl_mutex_release(m), "release");
 *     }
 *     pawl_mutex_free(m); */
struct pawl_mutex;

/* `options` NULL: all defaults; max_leases and count do not count. */
PAWL_API int pawl_mutex_new(struct pawl_client *c, const char *path,
                            const struct pawl_semaphore_options *options, struct pawl_mutex **out);
PAWL_API void pawl_mutex_free(struct pawl_mutex *m);

/* As pawl_semaphore_acquire(). One that was lost may be acquired again without being released. */
PAWL_API int pawl_mutex_acquire(struct pawl_mutex *m, int timeout_ms);

typedef void (*pawl_mutex_fn)(struct pawl_mutex *m, int err, void *arg);
PAWL_API int pawl_mutex_acquire_async(struct pawl_mutex *m, int timeout_ms, pawl_mutex_fn done,
                                      void *arg);
PAWL_API void pawl_mutex_cancel(struct pawl_mutex *m);

/* As pawl_lease_release(); NOT_HELD: nothing was done. */
PAWL_API int pawl_mutex_release(struct pawl_mutex *m);
PAWL_API int pawl_mutex_release_async(struct pawl_mutex *m, pawl_mutex_fn done, void *arg);

PAWL_API bool pawl_mutex_held(const struct pawl_mutex *m);
PAWL_API uint64_t pawl_mutex_token(const struct pawl_mutex *m);

/* Valid until it is released; NULL when there is none. */
PAWL_API struct pawl_grant *pawl_mutex_grant(const struct pawl_mutex *m);

#ifdef __cplusplus
}
#endif

#endif
