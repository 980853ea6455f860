/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - carries out what the core wishes and hands out what it yields; moves no byte itself.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "client/step.h"
#include "os/clock.h"

static void measure(struct engine *e, const struct call *call)
{
    const struct op *op = op_find(call->op);
    struct pawl_metric m = {
        .op = op == NULL ? "?" : op->name,
        .err = call->err,
        .outcome = call->outcome,
        .took_us = call->began_us == 0 ? 0 : clock_monotonic_us() - call->began_us,
        .bytes_in = call->body.len,
        .attempts = call->attempts,
    };

    e->metric(&m, e->metric_arg);
}

static void call_done(struct engine *e, struct call *call)
{
    if (e->metric != NULL) {
        measure(e, call);
    }
    if (call->inside) {
        e->inside = true;
        dispatch_call(call);
        e->inside = false;
    } else if (call->waiter != NULL) {
        call->waiter->done = true;
        if (e->driver != call->waiter || !call->waiter->receiving) {
            pthread_cond_signal(&call->waiter->cond);
        }
    } else if (call->done == NULL) {
        call_free(call);
    } else {
        list_push_back(&e->inbox, &call->item.link);
    }
}

/* Each goes back into the list before it is told, so that it can leave. */
static void tell_observers(struct engine *e, enum pawl_state state)
{
    struct list all, *item;

    list_init(&all);
    list_splice(&all, &e->observers);
    e->inside = true;
    while ((item = list_pop_front(&all)) != NULL) {
        struct observer *o = container_of(item, struct observer, link);

        list_push_back(&e->observers, item);
        o->fn(state, o->arg);
    }
    e->inside = false;
}

static void state_changed(struct engine *e, enum pawl_state state, int64_t now_ms)
{
    if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED ||
        (state == PAWL_STATE_LOST && e->core->options.one_session)) {
        plan_hurry(e, now_ms); /* the link is there again, or never will be */
    }
    tell_observers(e, state);
    pthread_cond_broadcast(&e->state_changed);
}

/* Tells the recipes among those who watch; true: others are left. */
static bool tell_inside(struct engine *e, struct event_item *event)
{
    size_t n = 0;

    e->inside = true;
    for (size_t i = 0; i < event->n_targets; i++) {
        if (event->targets[i].inside) {
            dispatch_event(event, &event->targets[i]);
        } else {
            event->targets[n++] = event->targets[i];
        }
    }
    e->inside = false;
    event->n_targets = n;
    return n > 0;
}

static void hand_out(struct engine *e, int64_t now_ms)
{
    struct item *item;

    while ((item = core_next_item(e->core)) != NULL) {
        struct call *call = (struct call *)item;

        if (item->kind == ITEM_CALL) {
            if (call->plan == NULL || !plan_step(e, call, now_ms)) {
                call_done(e, call);
            }
            continue;
        }
        if (item->kind == ITEM_EVENT && !tell_inside(e, (struct event_item *)item)) {
            free(item);
            continue;
        }
        if (item->kind == ITEM_STATE) {
            state_changed(e, ((struct state_item *)item)->state, now_ms);
        }
        list_push_back(&e->inbox, &item->link);
    }
    if (!list_empty(&e->inbox) && e->dispatch_asleep) {
        e->dispatch_asleep = false;
        pthread_cond_signal(&e->inbox_filled);
    }
    reader_tell(e);
    if (!list_empty(&e->inbox) && e->mode == PAWL_DISPATCH_EXTERNAL && !e->in_turn) {
        engine_wake(e); /* makes the descriptor readable: somebody has to run them */
    }
}

static bool carry_out(struct engine *e, int64_t now_ms)
{
    struct core *c = e->core;
    bool any = c->want_drop || c->want_link || c->want_probe;

    if (c->want_drop) {
        c->want_drop = false;
        link_close(e);
    }
    if (c->want_link) {
        c->want_link = false;
        link_start(e, now_ms);
    }
    if (c->want_probe) {
        c->want_probe = false;
        link_probe(e);
    }
    return any;
}

static int64_t next_ms(const struct engine *e)
{
    int64_t t = core_next_ms(e->core), p = plan_next_ms(e), s = timers_next_ms(e);

    t = p < t ? p : t;
    t = s < t ? s : t;
    t = e->own_reads && e->watch_ms < t ? e->watch_ms : t;
    return e->dialing && e->dial_limit_ms < t ? e->dial_limit_ms : t;
}

/* Whoever settles may have given the I/O thread something to do sooner than it knows. */
void engine_settle(struct engine *e, int64_t now_ms)
{
    ASSERT(!e->inside);
    do {
        while (carry_out(e, now_ms)) {
        }
        link_flush(e, now_ms);
        hand_out(e, now_ms);
    } while (e->core->want_drop || e->core->want_link || !list_empty(&e->core->items) ||
             (e->fd >= 0 && !e->dialing && !e->write_blocked && core_output(e->core).len > 0));
    link_arm(e);
    if (e->io_asleep && next_ms(e) < e->sleep_until_ms) {
        engine_wake(e);
    }
}

/* With nothing else under way it is sent at once. Otherwise the I/O thread is told to, once for
 * many; and also when it sleeps longer than the new call's deadline allows. */
void engine_submitted(struct engine *e)
{
    bool at_once = e->core->n_calls <= 1 && e->core->link == LINK_READY && !e->write_blocked;

    if (e->own_reads && engine_is_dispatcher(e)) {
        return; /* sent when its callbacks have run, all at once; or soon, by the I/O thread */
    }
    if (at_once) {
        engine_settle(e, engine_now_ms());
    }
    if (!at_once && e->io_asleep &&
        (e->core->link == LINK_READY || next_ms(e) < e->sleep_until_ms)) {
        engine_wake(e);
    }
}

int64_t engine_wait_ms(struct engine *e, int64_t now_ms)
{
    int64_t t = next_ms(e);

    e->sleep_until_ms = t;
    return t == INT64_MAX ? -1 : t <= now_ms ? 0 : t - now_ms;
}

/* A callback takes its time: reading and sending are the I/O thread's again. */
static void watch_reader(struct engine *e, int64_t now_ms)
{
    if (!e->own_reads) {
        return;
    }
    if (e->driver != &e->reader && now_ms - e->callbacks_ms >= OWN_READS_MS) {
        e->own_reads = false;
    }
    e->watch_ms = now_ms + OWN_READS_MS;
}

void engine_tick(struct engine *e, int64_t now_ms)
{
    core_tick(e->core, now_ms);
    plan_run_due(e, now_ms);
    watch_reader(e, now_ms);
    timers_run_due(e, now_ms);
    if (e->dialing && now_ms >= e->dial_limit_ms && !e->core->want_drop) {
        link_next_address(e, now_ms);
    }
    engine_settle(e, now_ms);
}
