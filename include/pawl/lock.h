/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - one at a time, across processes and machines.
 *
 *     struct pawl_lock *l;
 *
 *     check(pawl_lock_new(client, "/jobs/backup", NULL, &l), "lock");
 *     if (pawl_lock_acquire(l, 10000) == PAWL_OK) {
 *         // work while pawl_lock_held(l), fence with pawl_lock_token(l)
 *         check(pawl_lock_release(l), "release");
 *     }
 *     pawl_lock_free(l);
 *
 * The same queue of nodes as Curator's InterProcessMutex: C and Java processes share one lock.
 * First come, first served; each waiter watches only the one ahead, so a release wakes one (with
 * `permits` as many as those ahead: whichever of them goes the next in line gets it). An
 * uncontended acquire is one round trip to the server.
 *
 * A waiter whose connection or session breaks queues again by itself; a node whose creation was not
 * answered is found again or removed; a release goes on in the background until the server has
 * confirmed it or the session is dead. What is granted is a grant (grant.h): it knows when it ends.
 *
 * Re-entrant: who holds it may acquire it again, at no cost, and releases it as many times. */
#ifndef PAWL_LOCK_H
#define PAWL_LOCK_H

#include "pawl/grant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_lock;

/* Who counts as one and the same holder. */
enum pawl_owner {
    PAWL_OWNER_HANDLE = 0, /* the handle: whatever threads use it share the lock */
    PAWL_OWNER_THREAD      /* the thread, as in Java: threads contend with each other, and only the
                            * one that acquired may release. Blocking calls only. One that ends
                            * without releasing leaves it held until the handle is freed */
};

/* Asked, by somebody else, to give the lock up: when convenient, or never. */
typedef void (*pawl_revoke_fn)(struct pawl_lock *l, void *arg);

/* Who holds, and who watches whom: for locks of another kind in the same queue (Curator's
 * LockInternalsDriver). Called inside the library: must be quick, must not call it. */
struct pawl_lock_driver {
    /* The part of a node's name that decides its place, or NULL: what is behind the last marker. */
    const char *(*order_key)(const char *name, const char *marker, void *arg);
    /* `names` in order, `own` the index of ours: true if it holds; otherwise `*watch` becomes the
     * index of the node without which we may hold. NULL: the first `permits` hold. */
    bool (*holds)(const struct pawl_strings *names, size_t own, size_t *watch, void *arg);
    void *arg;
};

struct pawl_lock_options {
    size_t size; /* sizeof(struct pawl_lock_options) */
    enum pawl_owner owner;
    enum pawl_doubt doubt;
    /* Wait so long before taking the lock after a holder who did not release it: time for it to
     * notice. Only for those who waited when it died: who comes later knows nothing of it. All
     * contenders should have the same; a holder without it, or Curator's, counts as one
     * who did not release. */
    int delay_ms;
    struct pawl_bytes data; /* of our node; default: address, host, process, program and time */
    pawl_grant_fn on_grant;
    void *on_grant_arg;
    pawl_revoke_fn on_revoke; /* makes it revocable; its node then has no data, as in Curator */
    void *on_revoke_arg;
    const char *marker; /* default "lock-" */
    int permits;        /* so many hold it at a time; default 1 (Curator's old semaphore) */
    const struct pawl_lock_driver *driver;
};
#define PAWL_LOCK_OPTIONS(...) PAWL_SIZED(pawl_lock_options, __VA_ARGS__)
PAWL_SIZED_TYPE(lock_options)

/* The marker of kazoo's Lock: to share a lock with Python. */
#define PAWL_MARKER_KAZOO "__lock__"

/* `options` NULL: all defaults. Nothing is sent. */
PAWL_API int pawl_lock_new(struct pawl_client *c, const char *path,
                           const struct pawl_lock_options *options, struct pawl_lock **out);

/* Releases it if need be, in the background. on_grant and on_revoke do not run any more when it
 * returns, unless it was called from one. Each `done` that has not run yet gets CANCELLED. */
PAWL_API void pawl_lock_free(struct pawl_lock *l);

/* Waits up to timeout_ms; -1: for ever; 0: a try, which costs one read if somebody else holds it,
 * and waits for no more than an answer (as long as the client's timeout).
 * OPERATION_TIMEOUT: not ours. CANCELLED, CLOSING: it will not be. LOST: ours was lost: release it
 * first. NODE_EXISTS: the server has given out all numbers of this node, 2147483648 of them; it
 * counts anew when nobody holds or waits and the node has been deleted, which servers do after a
 * minute. */
PAWL_API int pawl_lock_acquire(struct pawl_lock *l, int timeout_ms);

/* `done` is called once, with how it ended. */
typedef void (*pawl_lock_fn)(struct pawl_lock *l, int err, void *arg);
PAWL_API int pawl_lock_acquire_async(struct pawl_lock *l, int timeout_ms, pawl_lock_fn done,
                                     void *arg);

/* Ends all acquires that wait on this handle with CANCELLED. From any thread. */
PAWL_API void pawl_lock_cancel(struct pawl_lock *l);

/* One level; the last gives the lock back, and waits (as long as the client's timeout) for the
 * server to confirm. LOST: it had not been ours to the end. OPERATION_TIMEOUT: not confirmed yet,
 * goes on in the background. NOT_HELD, NO_MEMORY, WOULD_DEADLOCK, FORKED: nothing was done. In each
 * other case it is released. */
PAWL_API int pawl_lock_release(struct pawl_lock *l);
PAWL_API int pawl_lock_release_async(struct pawl_lock *l, pawl_lock_fn done, void *arg);

/* Shortcuts to the grant of the calling owner. */
PAWL_API bool pawl_lock_held(const struct pawl_lock *l);
PAWL_API uint64_t pawl_lock_token(const struct pawl_lock *l);

/* The grant of the handle, valid as long as it; with PAWL_OWNER_THREAD that of the calling thread,
 * until it has released, or NULL. */
PAWL_API struct pawl_grant *pawl_lock_grant(const struct pawl_lock *l);

/* How many times the calling owner has acquired it. */
PAWL_API int pawl_lock_depth(const struct pawl_lock *l);

/* Asks whoever made the node at `path` (see pawl_participants()) to give up. */
PAWL_API int pawl_lock_revoke(struct pawl_client *c, const char *path);

#ifdef __cplusplus
}
#endif

#endif
