/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - the threads of a handle: none, one for I/O, and one for callbacks. */
#ifndef PAWL_CLIENT_THREADS_H
#define PAWL_CLIENT_THREADS_H

#include "os/thread.h"

struct engine;

struct threads {
    int n_running;
    struct condition ended;
    struct thread started[2]; /* to be joined */
    int n_started;
};

void threads_init(struct threads *t);
void threads_fini(struct threads *t);

/* SYSTEM or 0. Lock held. */
int threads_start(struct engine *e);

/* By a thread as its last act: gives the lock and its reference back. */
void threads_end(struct engine *e);

/* Joined by whoever closes, so that afterwards nothing of the library runs any more; or left to
 * themselves when that is one of them or there is no time. Without the lock. */
void threads_leave(struct engine *e, bool have_ended);

#endif
