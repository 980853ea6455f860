/* SPDX-License-Identifier: Apache-2.0 */
/* external.c - driven by somebody else's loop, or with callbacks run by the caller. */
#include "client/engine.h"
#include "client/handle.h"

int pawl_client_interest(struct pawl_client *c, int *fd, short *events, int *timeout_ms)
{
    int rc = handle_check(c);
    struct engine *e;
    int64_t wait;

    if (rc != 0 || c->e->settings.mode != PAWL_DISPATCH_EXTERNAL) {
        return rc != 0 ? rc : PAWL_ERR_INVALID_STATE;
    }
    e = c->e;
    engine_lock(e);
    wait = list_empty(&e->dispatch.inbox) ? engine_wait_ms(e, machine_now_ms()) : 0;
    machine_interest(e, fd, events);
    *timeout_ms = wait > INT32_MAX ? INT32_MAX : (int)wait;
    engine_unlock(e);
    return 0;
}

/* The turn itself never blocks; the descriptor has said what there is, and epoll says it again. */
int pawl_client_process(struct pawl_client *c, short revents)
{
    int rc = handle_check(c);
    struct engine *e;

    (void)revents;
    if (rc != 0 || c->e->settings.mode != PAWL_DISPATCH_EXTERNAL) {
        return rc != 0 ? rc : PAWL_ERR_INVALID_STATE;
    }
    e = c->e;
    engine_ref(e);
    engine_lock(e);
    if (dispatch_is_current(e)) {
        rc = PAWL_ERR_WOULD_DEADLOCK;
    } else {
        e->machine.has_loop = true;
        e->machine.loop = thread_current();
        if (!e->machine.in_turn) { /* else a thread that waits for its answer does what there is */
            machine_turn(e, 0);
        }
        dispatch_run(e);
        if (!e->stop) {
            engine_settle(e, machine_now_ms());
        }
    }
    engine_unlock(e);
    engine_unref(e);
    return rc;
}

int pawl_client_dispatch(struct pawl_client *c, int timeout_ms)
{
    int64_t deadline = machine_now_ms() + (timeout_ms < 0 ? INT32_MAX : timeout_ms);
    int rc = handle_check(c);
    struct engine *e;

    if (rc != 0 || c->e->settings.mode != PAWL_DISPATCH_POLLED) {
        return rc != 0 ? rc : PAWL_ERR_INVALID_STATE;
    }
    e = c->e;
    engine_ref(e);
    engine_lock(e);
    e->dispatch.n_pollers++;
    while (list_empty(&e->dispatch.inbox) && !e->stop && !e->dispatch.running &&
           machine_now_ms() < deadline) {
        e->dispatch.asleep = true;
        engine_wait_until(e, &e->dispatch.filled, deadline);
    }
    e->dispatch.asleep = --e->dispatch.n_pollers > 0; /* another one may still sleep */
    rc = dispatch_run(e);
    engine_unlock(e);
    engine_unref(e);
    return rc;
}
