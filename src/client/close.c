/* SPDX-License-Identifier: Apache-2.0 */
/* close.c - the end of a handle: its session ended, or left to somebody else. */
#include <stdlib.h>

#include "client/blob.h"
#include "client/engine.h"
#include "client/handle.h"
#include "client/local.h"
#include "client/plan.h"

enum { MOST_EXTRA_BYTES = 65536 };

/* One last request; waits for its answer, and so for all before it, within the deadline. */
static void ask_last(struct engine *e, int32_t op, const struct request *q, int64_t deadline_ms)
{
    struct call *call = call_new(op);
    struct waiter w;

    if (call == NULL || e->core->link != LINK_READY || engine_submit(e, call, q) != 0) {
        call_free(call);
        return;
    }
    waiter_init(&w);
    w.deaf = true;
    call->waiter = &w;
    engine_settle(e, machine_now_ms());
    if (waiter_wait(e, &w, deadline_ms)) {
        call_free(call);
    } else {
        engine_abandon(e, call);
    }
    waiter_fini(&w);
}

/* Asks the server to end the session. */
static void end_session(struct engine *e, int64_t deadline_ms)
{
    struct request q = {0};

    if (!e->core->link_read_only) {
        ask_last(e, OP_CLOSE_SESSION, &q, deadline_ms);
    }
}

/* What is in flight may make a place in a queue, or give one back: the next handle should know.
 * What is not answered in time goes into the blob as work to do. */
static void await_answers(struct engine *e, int64_t deadline_ms)
{
    struct request q = {.path = bytes_str("/")};

    if (e->core->n_calls > 0 && !e->closing && !dispatch_would_deadlock(e)) {
        ask_last(e, OP_EXISTS, &q, deadline_ms);
    }
}

/* The lock is held; afterwards it is not, and the handle is gone. */
static void shut_handle(struct engine *e, int64_t deadline_ms)
{
    bool in_callback = dispatch_is_current(e);
    bool is_ours = in_callback && e->settings.mode == PAWL_DISPATCH_THREAD;
    struct local *local = e->local;
    bool have_ended;

    e->local = NULL;
    plan_fail_all(e, PAWL_ERR_CLOSING); /* every answer comes before the news that we have closed */
    core_shut(e->core, PAWL_ERR_CLOSING);
    engine_settle(e, machine_now_ms());
    e->stop = true;
    machine_wake(e);
    condition_broadcast(&e->dispatch.filled);
    condition_broadcast(&e->state_changed);
    if (!in_callback && e->settings.mode != PAWL_DISPATCH_THREAD) {
        dispatch_run(e);
    }
    while (!is_ours && (e->threads.n_running > 0 || (e->dispatch.running && !in_callback)) &&
           machine_now_ms() < deadline_ms) {
        engine_wait_until(e, &e->threads.ended, deadline_ms);
    }
    have_ended = e->threads.n_running == 0;
    engine_unlock(e);
    threads_leave(e, have_ended);
    engine_unref(e);
    local_close(local);
}

/* In a forked child there is nobody to say goodbye to, and the lock may be held for ever: only the
 * child's descriptors are given back. */
static void close_in_child(struct pawl_client *c)
{
    if (!c->is_view) {
        link_forget(c->e);
        machine_close(&c->e->machine);
    }
}

void pawl_client_close_within(struct pawl_client *c, int timeout_ms)
{
    int64_t limit = timeout_ms < 0 ? INT32_MAX : timeout_ms;
    int64_t deadline = machine_now_ms() + limit;
    struct engine *e;

    if (c == NULL) {
        return;
    }
    if (handle_check(c) != 0) {
        close_in_child(c);
        return;
    }
    e = c->e;
    if (c->is_view) {
        handle_free(c);
        engine_unref(e);
        return;
    }
    engine_lock(e);
    if (e->closing) { /* closed twice, perhaps by a callback and its caller: once is enough */
        engine_unlock(e);
        return;
    }
    e->closing = true;
    end_session(e, deadline - limit / 4); /* the rest of the time is for the callbacks */
    shut_handle(e, deadline);
}

void pawl_client_close(struct pawl_client *c)
{
    pawl_client_close_within(c, c == NULL ? 0 : c->e->settings.close_timeout_ms);
}

int pawl_client_detach(struct pawl_client *c, struct pawl_bytes extra, void **blob, size_t *len)
{
    int rc = handle_check(c);
    struct engine *e;
    struct strbuf b;

    if (rc != 0 || c->is_view || extra.len > MOST_EXTRA_BYTES) {
        return rc != 0 ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    e = c->e;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    engine_lock(e);
    await_answers(e, machine_now_ms() + e->settings.close_timeout_ms / 2);
    blob_write(e, bytes_of(extra.data, extra.len), &b);
    rc = e->closing                  ? PAWL_ERR_CLOSING
         : b.failed                  ? PAWL_ERR_NO_MEMORY
         : !e->core->session_is_real ? PAWL_ERR_INVALID_STATE
                                     : local_detach(&e->core->hosts, e->core->session_id);
    if (rc != 0) {
        engine_unlock(e);
        strbuf_fini(&b);
        return rc;
    }
    *blob = b.data;
    *len = b.len;
    e->closing = true;
    shut_handle(e, machine_now_ms() + e->settings.close_timeout_ms);
    return 0;
}
