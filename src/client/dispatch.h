/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - runs the application's callbacks, one at a time, in order, without the lock. */
#ifndef PAWL_CLIENT_DISPATCH_H
#define PAWL_CLIENT_DISPATCH_H

#include "client/call.h"
#include "os/thread.h"

struct engine;

struct dispatch {
    struct list inbox; /* struct item: to be run */
    struct condition filled;
    bool asleep;
    int n_pollers; /* in pawl_client_dispatch() */
    bool running;
    struct thread thread; /* while running */
    struct condition callback_done;
};

void dispatch_init(struct dispatch *d);
void dispatch_fini(struct dispatch *d); /* frees what was not run: of a handle that did not open */

void *dispatch_thread_main(void *engine);

/* Runs what is in the inbox; the lock is released meanwhile. Returns how many. */
int dispatch_run(struct engine *e);

/* The calling thread runs a callback. */
bool dispatch_is_current(const struct engine *e);

/* A blocking call made now would wait for itself. */
bool dispatch_would_deadlock(const struct engine *e);

/* Whoever is to run what has been put into the inbox is told. _tell_loop(): after turns made for a
 * blocking call, callbacks that came up meanwhile are the loop's. */
void dispatch_wake(struct engine *e);
void dispatch_tell_loop(struct engine *e);

/* Returns when every callback that was due before has run; at once on the thread that runs them. */
void dispatch_barrier(struct engine *e, int64_t deadline_ms);

void dispatch_call(struct call *call); /* its callback; frees it */
void dispatch_event(const struct event_item *event, const struct event_target *target);

#endif
