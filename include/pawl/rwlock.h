/* SPDX-License-Identifier: Apache-2.0 */
/* rwlock.h - many readers or one writer, across processes and machines.
 *
 *     struct pawl_rwlock *rw;
 *
 *     check(pawl_rwlock_new(client, "/files/prices", NULL, &rw), "rwlock");
 *     if (pawl_lock_acquire(pawl_rwlock_reader(rw), 10000) == PAWL_OK) {
 *         // read while pawl_lock_held(pawl_rwlock_reader(rw))
 *         check(pawl_lock_release(pawl_rwlock_reader(rw)), "release");
 *     }
 *     pawl_rwlock_free(rw);
 *
 * The same queue of nodes as Curator's InterProcessReadWriteLock: C and Java processes share one.
 * Each half is a pawl_lock (lock.h), re-entrant, with a grant and a token of its own. First come,
 * first served, whatever they want: a reader behind a writer who waits waits, too, so nobody
 * starves. A release wakes the one behind it, or the readers that are behind a writer.
 *
 * Downgrading: who holds write may acquire read, at once, and then release write. No writer who
 * waits gets between (as in Curator since 5.5.0): the node of the read lock takes the place of that
 * of the write lock. Let the acquire of read end before write is released; else the read lock may
 * have to queue.
 *
 * Upgrading is not possible: who holds read and asks for write would wait for itself. It is
 * refused at once with PAWL_ERR_WOULD_DEADLOCK (with LOST if the read lock is lost, but was not
 * released yet). "Who" is the handle, or the thread (PAWL_OWNER_THREAD).
 *
 * The tokens: a writer's is larger than those of all who held before it, writers and readers. For
 * that a read lock that was downgraded from write has the token of the write lock. */
#ifndef PAWL_RWLOCK_H
#define PAWL_RWLOCK_H

#include "pawl/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_rwlock;

/* `options` are those of both halves (NULL: all defaults). BAD_ARGUMENTS for what a read/write lock
 * has not: a marker, permits or a driver of one's own. Nothing is sent. */
PAWL_API int pawl_rwlock_new(struct pawl_client *c, const char *path,
                             const struct pawl_lock_options *options, struct pawl_rwlock **out);

/* Both halves, as pawl_lock_free(). */
PAWL_API void pawl_rwlock_free(struct pawl_rwlock *rw);

/* Borrowed, and valid as long as the rwlock. A try (a timeout of 0) for read fails if there is a
 * writer, holding or waiting; one for write, if there is anybody. */
PAWL_API struct pawl_lock *pawl_rwlock_reader(struct pawl_rwlock *rw);
PAWL_API struct pawl_lock *pawl_rwlock_writer(struct pawl_rwlock *rw);

/* Who holds or waits: pawl_participants() (grant.h); "__READ__" or "__WRIT__" in the name shows for
 * what. */

#ifdef __cplusplus
}
#endif

#endif
