/* SPDX-License-Identifier: Apache-2.0 */
#include "client/step.h"

#include "base/assert.h"
#include "client/driver.h"
#include "client/handle.h"
#include "client/plan.h"
#include "client/requests.h"

int step_begin(struct pawl_client *c)
{
    int rc = handle_check(c);

    if (rc != 0) {
        return rc;
    }
    engine_ref(c->e);
    engine_lock(c->e);
    ASSERT(!c->e->inside);
    c->e->inside = true;
    return 0;
}

void step_end(struct engine *e)
{
    e->inside = false;
    engine_settle(e, machine_now_ms());
    engine_unlock(e);
    engine_unref(e);
}

bool step_withdraw(struct engine *e, pawl_reply_fn done, void *arg)
{
    struct call *call = requests_find(e->core, done, arg);
    bool is_touched = call != NULL && call->plan != NULL && call->plan->touched;

    if (call == NULL) {
        return plan_withdraw_paused(e, done, arg);
    }
    if (call->place == CALL_QUEUED && !requests_is_underway(e->core, call)) {
        requests_withdraw(e->core, call);
        return is_touched;
    }
    if (call->plan != NULL) {
        plan_is_last_attempt(call->plan);
    }
    return true;
}

bool step_wait(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    bool done;

    w->kickable = true;
    e->inside = false;
    driver_claim(e, w);
    engine_settle(e, machine_now_ms());
    done = waiter_wait(e, w, deadline_ms);
    e->inside = true;
    return done;
}
