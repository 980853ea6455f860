/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - what recipes are made of: steps inside the engine.
 *
 * A recipe is a state machine under the engine's lock. Whatever happens to it is a step: an answer,
 * an event of a watch, a change of the connection's state, a timer, a call of the user's. A step
 * runs with the lock held, in the order in which the server answered, and never inside another. It
 * makes asynchronous calls of client.h, whose answers and events are steps again, and posts notes
 * to the user, which run like every callback: later, without the lock, on the thread of callbacks.
 *
 * So a recipe has no lock of its own, a caller who waits for it carries it forward himself while he
 * reads from the socket, and the simulator drives the same code. */
#ifndef PAWL_CLIENT_STEP_H
#define PAWL_CLIENT_STEP_H

#include "base/heap.h"
#include "client/internal.h"

/* Begins a step on behalf of the user: takes the lock. FORKED or BAD_ARGUMENTS: it does not. */
int step_begin(struct pawl_client *c);

/* Sends what the step asked for and gives the lock back. */
void step_end(struct engine *e);

/* ---- time ---- */

struct timer {
    struct heap_node node;
    void (*fn)(void *arg); /* a step */
    void *arg;
};

void timer_init(struct timer *t, void (*fn)(void *arg), void *arg);
void timer_set(struct engine *e, struct timer *t, int64_t due_ms); /* again: moves it */
void timer_clear(struct engine *e, struct timer *t);

/* Internal to the client. */
int64_t timers_next_ms(const struct engine *e);
void timers_run_due(struct engine *e, int64_t now_ms);

/* ---- the connection's state ---- */

/* Told before the application's listeners are. */
struct observer {
    struct list link;
    void (*fn)(enum pawl_state state, void *arg); /* a step */
    void *arg;
};

void observer_add(struct engine *e, struct observer *o, void (*fn)(enum pawl_state, void *),
                  void *arg);
void observer_remove(struct observer *o);

/* ---- notes ---- */

/* Something to tell the user. Posted again before it ran it runs once: it tells how things stand.
 */
struct note {
    struct item item;
    bool posted;
    void (*fn)(void *arg); /* not a step: without the lock. The note may go meanwhile */
    void *arg;
};

void note_init(struct note *n, void (*fn)(void *arg), void *arg);
void note_post(struct engine *e, struct note *n);

/* ---- waiting ---- */

/* The user waits, within a step that he began, for somebody to call waiter_finish(). False: the
 * deadline (0: none) came first. WOULD_DEADLOCK is for the caller to look at before. */
bool step_wait(struct engine *e, struct waiter *w, int64_t deadline_ms);
void waiter_finish(struct engine *e, struct waiter *w);

/* Whether the calling thread must not wait: it runs callbacks in a mode without threads. */
bool step_would_deadlock(const struct engine *e);

#endif
