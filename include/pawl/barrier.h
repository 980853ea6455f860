/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.h - waiting together: a gate that one opens for all, and a room that all enter and leave
 * at the same time.
 *
 *     struct pawl_double_barrier *b;
 *
 *     check(pawl_double_barrier_new(client, "/jobs/42/step", 5, &b), "double barrier");
 *     if (pawl_double_barrier_enter(b, 60000) == PAWL_OK) {
 *         // all five are here
 *         check(pawl_double_barrier_leave(b, 60000), "leave");
 *     }
 *     pawl_double_barrier_free(b);
 *
 * The nodes of Curator's DistributedBarrier and DistributedDoubleBarrier: C and Java processes wait
 * at the same barrier. Who waits is not disturbed by a connection or session that breaks: it goes
 * on waiting in the next one, and is never let through by the break itself. */
#ifndef PAWL_BARRIER_H
#define PAWL_BARRIER_H

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the barrier ---- */

/* Up while the node at its path exists, whoever made it. One that was never raised holds nobody. */
struct pawl_barrier;

PAWL_API int pawl_barrier_new(struct pawl_client *c, const char *path, struct pawl_barrier **out);

/* The barrier stays as it is. Each `done` that has not run yet gets CANCELLED. */
PAWL_API void pawl_barrier_free(struct pawl_barrier *b);

/* `done` is called once, with how it ended. */
typedef void (*pawl_barrier_fn)(struct pawl_barrier *b, int err, void *arg);

/* Both within the client's timeout; it may be up, or down, already. */
PAWL_API int pawl_barrier_raise(struct pawl_barrier *b);
PAWL_API int pawl_barrier_raise_async(struct pawl_barrier *b, pawl_barrier_fn done, void *arg);
PAWL_API int pawl_barrier_lift(struct pawl_barrier *b);
PAWL_API int pawl_barrier_lift_async(struct pawl_barrier *b, pawl_barrier_fn done, void *arg);

/* Waits until it is not up; up to timeout_ms, -1: for ever, 0: just looks. OPERATION_TIMEOUT: it is
 * still up. Any number of threads may wait on one handle. */
PAWL_API int pawl_barrier_wait(struct pawl_barrier *b, int timeout_ms);
PAWL_API int pawl_barrier_wait_async(struct pawl_barrier *b, int timeout_ms, pawl_barrier_fn done,
                                     void *arg);

/* ---- the double barrier ---- */

/* One member. It opens when `members` of them are there at one moment (they are checked in the
 * transaction that opens it), and is over when all have left or died. Members that come while it is
 * open are let in at once. A handle can go through it again and again. */
struct pawl_double_barrier;

PAWL_API int pawl_double_barrier_new(struct pawl_client *c, const char *path, int members,
                                     struct pawl_double_barrier **out);

/* Who waits to enter or is inside leaves, in the background. */
PAWL_API void pawl_double_barrier_free(struct pawl_double_barrier *b);

typedef void (*pawl_double_barrier_fn)(struct pawl_double_barrier *b, int err, void *arg);

/* Waits until enough are there. OPERATION_TIMEOUT: they were not in time, and we do not count as a
 * member any more. INVALID_STATE: this handle is entering, inside or leaving already. */
PAWL_API int pawl_double_barrier_enter(struct pawl_double_barrier *b, int timeout_ms);
PAWL_API int pawl_double_barrier_enter_async(struct pawl_double_barrier *b, int timeout_ms,
                                             pawl_double_barrier_fn done, void *arg);

/* Waits until all the others leave, too. In each case we have left, except for INVALID_STATE: we
 * were not inside. OPERATION_TIMEOUT: somebody was inside still. LOST: our session had ended or our
 * node been deleted while we were inside: the others may have left without us. */
PAWL_API int pawl_double_barrier_leave(struct pawl_double_barrier *b, int timeout_ms);
PAWL_API int pawl_double_barrier_leave_async(struct pawl_double_barrier *b, int timeout_ms,
                                             pawl_double_barrier_fn done, void *arg);

#ifdef __cplusplus
}
#endif

#endif
