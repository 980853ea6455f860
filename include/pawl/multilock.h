/* SPDX-License-Identifier: Apache-2.0 */
/* multilock.h - several locks as one: all of them, or none.
 *
 *     struct pawl_lock *both[] = {from_account, to_account};
 *     struct pawl_multilock *m;
 *
 *     check(pawl_multilock_new(both, 2, &m), "multilock");
 *     if (pawl_multilock_acquire(m, 10000) == PAWL_OK) {
 *         // work while pawl_multilock_held(m)
 *         check(pawl_multilock_release(m), "release");
 *     }
 *     pawl_multilock_free(m);
 *
 * Curator's InterProcessMultiLock. They are acquired in the order given, one after the other,
 * within one time for all; if one fails those before it are given back in reverse, and nothing is
 * held. Whoever takes several of the same locks must give them in the same order, or they may wait
 * for each other until their time is over.
 *
 * Any pawl_lock will do, also the halves of a read/write lock. They are borrowed, must belong to
 * one client (views of it count as the same), and each has its own grant and token. */
#ifndef PAWL_MULTILOCK_H
#define PAWL_MULTILOCK_H

#include "pawl/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_multilock;

/* BAD_ARGUMENTS: none, or of several clients. */
PAWL_API int pawl_multilock_new(struct pawl_lock *const *locks, size_t n,
                                struct pawl_multilock **out);

/* Ends acquires that wait, as cancelling does. What is held stays held: the locks are yours. */
PAWL_API void pawl_multilock_free(struct pawl_multilock *m);

/* As pawl_lock_acquire(): the first error that one of them gave, and then none is held by this
 * call; those that were are given back in the background. */
PAWL_API int pawl_multilock_acquire(struct pawl_multilock *m, int timeout_ms);

/* `done` is called once, with how it ended. Not with locks that are owned by threads. */
typedef void (*pawl_multilock_fn)(struct pawl_multilock *m, int err, void *arg);
PAWL_API int pawl_multilock_acquire_async(struct pawl_multilock *m, int timeout_ms,
                                          pawl_multilock_fn done, void *arg);

/* Ends all acquires that wait with CANCELLED. From any thread. */
PAWL_API void pawl_multilock_cancel(struct pawl_multilock *m);

/* One level of each, in reverse order, whatever becomes of the others. 0, or the first error there
 * was: those of pawl_lock_release(). */
PAWL_API int pawl_multilock_release(struct pawl_multilock *m);
PAWL_API int pawl_multilock_release_async(struct pawl_multilock *m, pawl_multilock_fn done,
                                          void *arg);

/* May we act as the holder of all of them, now? */
PAWL_API bool pawl_multilock_held(const struct pawl_multilock *m);

#ifdef __cplusplus
}
#endif

#endif
