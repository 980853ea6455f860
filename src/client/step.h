/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - what recipes are made of: steps inside the engine.
 *
 * A recipe is a state machine under the engine's lock. Whatever happens to it is a step: an answer,
 * an event of a watch, a change of the connection's state (observer.h), a timer (timer.h), a call
 * of the user's. A step runs with the lock held, in the order in which the server answered, and
 * never inside another. It makes asynchronous calls of client.h, whose answers and events are steps
 * again, and posts notes (note.h) to the user, which run like every callback: later, without the
 * lock, on the thread of callbacks.
 *
 * So a recipe has no lock of its own, a caller who waits for it carries it forward himself while he
 * reads from the socket, and the simulator drives the same code. */
#ifndef PAWL_CLIENT_STEP_H
#define PAWL_CLIENT_STEP_H

#include "client/engine.h"
#include "client/note.h"
#include "client/observer.h"
#include "client/step_watch.h"
#include "client/timer.h"

/* Begins a step on behalf of the user: takes the lock. FORKED or BAD_ARGUMENTS: it does not. */
int step_begin(struct pawl_client *c);

/* Sends what the step asked for and gives the lock back. */
void step_end(struct engine *e);

/* Nothing more is sent for the call that is to be answered to `done` with `arg`. If it waits, in
 * the queue or in a pause between two attempts, it ends with OPERATION_TIMEOUT (NOT_SENT, unless an
 * earlier attempt may have been executed); if it is underway its answer ends it, whatever that is.
 * False: it is certain that it never has been nor will be executed. */
bool step_withdraw(struct engine *e, pawl_reply_fn done, void *arg);

/* The user waits, within a step that he began, for somebody to call waiter_finish(). False: the
 * deadline (0: none) came first. Whether that would be for ever is for the caller to look at before
 * (dispatch_would_deadlock()). */
bool step_wait(struct engine *e, struct waiter *w, int64_t deadline_ms);

#endif
