/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.h - a blocked caller, on its stack. */
#ifndef PAWL_CLIENT_WAITER_H
#define PAWL_CLIENT_WAITER_H

#include "base/list.h"
#include "os/thread.h"

struct engine;

struct waiter {
    struct list link; /* in engine.waiters */
    struct condition cond;
    bool done;
    bool cancelled; /* ends without being done: pawl_client_interrupt() */
    bool deaf;      /* that does not concern it */
    bool receiving; /* in recv() without the lock ... */
    int fd;         /* ... of this */
    bool kickable;  /* somebody else than the driver may end its wait */
    int doomed_fd;  /* to be closed by the driver: the link went while it was receiving */
};

void waiter_init(struct waiter *w);
void waiter_fini(struct waiter *w);

/* Waits until waiter_finish() has been called for it; false: the deadline (0: none) came first.
 * Lock held. */
bool waiter_wait(struct engine *e, struct waiter *w, int64_t deadline_ms);
void waiter_finish(struct engine *e, struct waiter *w);

/* All that listen end, since the handle was interrupted. */
void waiter_cancel_all(struct engine *e);

/* Somebody else may make the next turn. */
void waiter_wake_all(struct engine *e);

#endif
