/* SPDX-License-Identifier: Apache-2.0 */
#include "client/finish.h"

#include "client/driver.h"
#include "client/engine.h"
#include "client/handle.h"
#include "client/plan.h"
#include "client/reply.h"
#include "client/step_watch.h"

static int add_plan(const struct pawl_client *c, struct prepared *p)
{
    struct plan *plan;

    if (c->retry.kind == PAWL_RETRY_NONE && p->flags == 0) {
        return 0;
    }
    plan = plan_new(p->call, p->kind, &p->q);
    if (plan == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    plan->flags = p->flags;
    plan->retry = c->retry;
    plan->chroot_len = c->chroot_len;
    memcpy(plan->id, p->id, sizeof(plan->id));
    return 0;
}

static int fail_blocking(int rc, struct pawl_reply **out)
{
    if (out != NULL) {
        *out = reply_error(rc, PAWL_OUTCOME_REFUSED);
    }
    return rc;
}

int64_t finish_deadline(int timeout_ms)
{
    return timeout_ms < 0 ? 0 : machine_now_ms() + timeout_ms;
}

/* With the lock: submits, waits, gives up. */
static int submit_and_wait(struct engine *e, struct prepared *p, struct waiter *w,
                           enum pawl_outcome *outcome)
{
    int64_t deadline = finish_deadline(p->timeout_ms);
    int rc;

    *outcome = PAWL_OUTCOME_REFUSED;
    if (dispatch_would_deadlock(e)) {
        return PAWL_ERR_WOULD_DEADLOCK;
    }
    if (atomic_load(&e->interrupted)) {
        return PAWL_ERR_CANCELLED;
    }
    p->call->waiter = w;
    rc = engine_submit(e, p->call, &p->q);
    if (rc != 0) {
        return rc;
    }
    driver_claim(e, w);
    engine_settle(e, machine_now_ms());
    if (waiter_wait(e, w, deadline)) {
        return 0;
    }
    *outcome = engine_abandon(e, p->call);
    engine_settle(e, machine_now_ms());
    p->call = NULL;
    return w->cancelled ? PAWL_ERR_CANCELLED : PAWL_ERR_OPERATION_TIMEOUT;
}

static int wait_for_answer(struct pawl_client *c, struct prepared *p, struct pawl_reply **out)
{
    struct engine *e = c->e;
    struct pawl_reply *reply;
    enum pawl_outcome outcome;
    struct waiter w;
    int rc;

    waiter_init(&w);
    engine_ref(e);
    p->call->began_us = e->settings.metric == NULL ? 0 : machine_now_us();
    engine_lock(e);
    rc = submit_and_wait(e, p, &w, &outcome);
    engine_unlock(e);
    waiter_fini(&w);
    engine_unref(e);
    if (rc != 0) {
        reply = reply_error(rc, outcome);
    } else {
        reply = reply_of(p->call, true);
        rc = reply == NULL ? PAWL_ERR_NO_MEMORY : reply->err;
    }
    if (p->call != NULL) {
        call_free(p->call);
        p->call = NULL;
    }
    if (out != NULL) {
        *out = reply;
    } else {
        pawl_reply_free(reply);
    }
    return rc;
}

/* `rc` is what preparing came to. */
int finish_wait(struct pawl_client *c, int rc, struct prepared *p, struct pawl_reply **out)
{
    if (rc == 0) {
        rc = add_plan(c, p);
    }
    if (rc != 0) {
        if (p->call != NULL) {
            call_free(p->call);
        }
        prepare_end(p);
        return fail_blocking(rc, out);
    }
    rc = wait_for_answer(c, p, out);
    prepare_end(p);
    return rc;
}

static void ignore(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    (void)arg;
}

/* Inside a step the watch is a recipe's. */
static void take_step_watch(struct call *call)
{
    struct pawl_watch watch = {call->target.fn, call->target.arg};

    if (call->inside && call->watch_table != WATCHER_NONE) {
        call->target.step = step_watch_of(&watch);
    }
}

int finish_async(struct pawl_client *c, int rc, struct prepared *p, pawl_reply_fn done, void *arg)
{
    struct call *call = p->call;

    if (rc == 0) {
        rc = add_plan(c, p);
    }
    if (rc == 0) {
        struct engine *e = c->e;

        call->done = done == NULL ? ignore : done;
        call->arg = arg;
        call->deadline_ms = finish_deadline(p->timeout_ms);
        call->began_us = e->settings.metric == NULL ? 0 : machine_now_us();
        engine_lock(e);
        call->inside = e->inside;
        take_step_watch(call);
        rc = engine_submit(e, call, &p->q);
        if (rc == 0 && !e->inside) {
            engine_submitted(e); /* what a step asks for is sent at its end, all at once */
        }
        engine_unlock(e);
    }
    if (rc != 0 && call != NULL) {
        call_free(call);
    }
    prepare_end(p);
    return rc;
}
