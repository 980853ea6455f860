/* SPDX-License-Identifier: Apache-2.0 */
#include "client/handout.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/observer.h"
#include "client/plan.h"
#include "client/timer.h"

static void handout_measure(struct engine *e, const struct call *call)
{
    const struct op *op = op_find(call->op);
    struct pawl_metric m = {
        .op = op == NULL ? "?" : op->name,
        .err = call->err,
        .outcome = call->outcome,
        .took_us = call->began_us == 0 ? 0 : machine_now_us() - call->began_us,
        .bytes_in = call->body.len,
        .attempts = call->attempts,
    };

    e->settings.metric(&m, e->settings.metric_arg);
}

static void handout_call(struct engine *e, struct call *call)
{
    if (e->settings.metric != NULL) {
        handout_measure(e, call);
    }
    if (call->inside) {
        e->inside = true;
        dispatch_call(call);
        e->inside = false;
    } else if (call->waiter != NULL) {
        waiter_finish(e, call->waiter);
    } else if (call->done == NULL) {
        call_free(call);
    } else {
        list_push_back(&e->dispatch.inbox, &call->item.link);
    }
}

static void handout_state(struct engine *e, enum pawl_state state, int64_t now_ms)
{
    if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED ||
        (state == PAWL_STATE_LOST && e->core->options.one_session)) {
        plan_hurry(e, now_ms); /* the link is there again, or never will be */
    }
    observers_tell(e, state);
    condition_broadcast(&e->state_changed);
}

/* Tells the recipes among those who watch; true: others are left. */
static bool handout_inside(struct engine *e, struct event_item *event)
{
    size_t n = 0;

    e->inside = true;
    for (size_t i = 0; i < event->n_targets; i++) {
        if (event->targets[i].step != NULL) {
            dispatch_event(event, &event->targets[i]);
        } else {
            event->targets[n++] = event->targets[i];
        }
    }
    e->inside = false;
    event->n_targets = n;
    return n > 0;
}

void handout_items(struct engine *e, int64_t now_ms)
{
    struct item *item;

    if (e->core->certain_again) {
        e->core->certain_again = false;
        observers_tell_certain(e);
    }
    while ((item = core_next_item(e->core)) != NULL) {
        struct call *call = (struct call *)item;

        if (item->kind == ITEM_CALL) {
            if (call->plan == NULL || !plan_step(e, call, now_ms)) {
                handout_call(e, call);
            }
            continue;
        }
        if (item->kind == ITEM_EVENT && !handout_inside(e, (struct event_item *)item)) {
            free(item);
            continue;
        }
        if (item->kind == ITEM_STATE) {
            handout_state(e, ((struct state_item *)item)->state, now_ms);
        }
        list_push_back(&e->dispatch.inbox, &item->link);
    }
    dispatch_wake(e);
    reader_tell(e);
}
