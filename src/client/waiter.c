/* SPDX-License-Identifier: Apache-2.0 */
#include "client/waiter.h"

#include "client/driver.h"
#include "client/engine.h"

enum { LOOP_MS = 10 };

void waiter_init(struct waiter *w)
{
    *w = (struct waiter){.doomed_fd = -1};
    list_init(&w->link);
    condition_init(&w->cond);
}

void waiter_fini(struct waiter *w)
{
    condition_fini(&w->cond);
}

static bool waiter_is_over(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    w->cancelled = w->cancelled || (!w->deaf && atomic_load(&e->interrupted));
    return w->done || w->cancelled || (deadline_ms != 0 && machine_now_ms() >= deadline_ms);
}

/* Without threads of ours: a turn, but one thread at a time, since he who waits in epoll does not
 * notice that somebody else has taken his answer. Callbacks are the loop's: it is given a moment to
 * see that there are some before our turn takes the wake-up away from it. */
static void waiter_turn(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    bool is_loop = !e->machine.has_loop || thread_is_current(e->machine.loop);
    int64_t left = deadline_ms == 0 ? INT32_MAX : deadline_ms - machine_now_ms();

    if (e->machine.in_turn) {
        engine_wait_until(e, &w->cond, deadline_ms);
        return;
    }
    if (!is_loop && !list_empty(&e->dispatch.inbox)) {
        machine_wake(e);
        engine_wait_until(e, &w->cond, machine_now_ms() + (left < LOOP_MS ? left : LOOP_MS));
    }
    if (!w->done && !e->machine.in_turn) {
        machine_turn(e, left < 0 ? 0 : left);
    }
}

/* On its own: drives, or sleeps until somebody has its answer. */
static void waiter_go_on(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    if (e->settings.mode == PAWL_DISPATCH_EXTERNAL) {
        waiter_turn(e, w, deadline_ms);
    } else if (driver_can_be(e, w)) {
        driver_run(e, w, deadline_ms);
    } else {
        if (e->driver == w) {
            e->driver = NULL; /* there is no link to read from */
            link_arm(e);
        }
        engine_wait_until(e, &w->cond, deadline_ms);
    }
}

bool waiter_wait(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    const struct log_target *before = logging_used();

    logging_use(&e->log_target);
    list_push_back(&e->waiters, &w->link);
    if (!w->done && !waiter_is_over(e, w, 0)) { /* once also without any time */
        waiter_go_on(e, w, deadline_ms);
    }
    while (!waiter_is_over(e, w, deadline_ms)) {
        waiter_go_on(e, w, deadline_ms);
    }
    list_remove(&w->link);
    driver_pass_on(e, w);
    dispatch_tell_loop(e);
    logging_use(before);
    return w->done;
}

void waiter_finish(struct engine *e, struct waiter *w)
{
    w->done = true;
    if (e->driver != w || !w->receiving) {
        condition_signal(&w->cond);
    } else if (w->kickable) {
        machine_kick(e);
    }
    if (e->settings.mode == PAWL_DISPATCH_EXTERNAL && e->machine.in_turn && e->machine.asleep) {
        machine_wake(e); /* he may be the one who sleeps in it */
    }
}

void waiter_cancel_all(struct engine *e)
{
    struct list *item;

    list_for_each (item, &e->waiters) {
        struct waiter *w = container_of(item, struct waiter, link);

        w->cancelled = !w->deaf;
        condition_signal(&w->cond);
        if (e->driver == w && w->receiving && w->kickable) {
            machine_kick(e);
        }
    }
}

void waiter_wake_all(struct engine *e)
{
    struct list *item;

    list_for_each (item, &e->waiters) {
        condition_signal(&container_of(item, struct waiter, link)->cond);
    }
}
