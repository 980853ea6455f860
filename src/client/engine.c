/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - carries out what the core wishes and hands out what it yields; moves no byte itself.
 */
#include "client/engine.h"

#include <stdlib.h>

#include "base/assert.h"
#include "client/handle.h"
#include "client/handout.h"
#include "client/local.h"
#include "client/plan.h"
#include "client/sasl_options.h"
#include "client/timer.h"
#include "os/entropy.h"
#include "sasl/exchange.h"
#include "sasl/login.h"
#include "tls/tls.h"

enum {
    SLICE_MS = 1000, /* what a condition waits for stands still while the machine sleeps */
    JUMP_MS = 100,   /* by less the wall clock is just being corrected */
};

/* ---- life ---- */

static void engine_log(enum log_level level, const char *line, void *arg)
{
    struct engine *e = arg;

    e->settings.log((enum pawl_log_level)level, line, e->settings.log_arg);
}

static void engine_seed(struct engine *e, uint64_t seed)
{
    e->seeded = seed != 0;
    if (seed == 0 && !machine_random(&seed, sizeof(seed))) {
        seed = (uint64_t)machine_now_us();
    }
    prng_seed(&e->random, seed);
}

static void engine_set(struct engine *e, const struct pawl_client_options *o)
{
    e->settings = (struct settings){
        .mode = o->dispatch,
        .close_timeout_ms = o->close_timeout_ms,
        .flags = o->flags,
        .acl_provider = o->acl_provider,
        .acl_provider_arg = o->acl_provider_arg,
        .metric = o->metric,
        .metric_arg = o->metric_arg,
        .log = o->log,
        .log_arg = o->log_arg,
    };
    e->log_target = (struct log_target){.sink = o->log == NULL ? NULL : engine_log,
                                        .arg = e,
                                        .level = (enum log_level)o->log_level};
}

struct engine *engine_new(const struct pawl_client_options *o)
{
    struct engine *e = calloc(1, sizeof(*e));

    entropy_key_tables();
    if (e == NULL) {
        return NULL;
    }
    lock_init(&e->lock);
    condition_init(&e->state_changed);
    list_init(&e->waiters);
    list_init(&e->delayed);
    list_init(&e->observers);
    reader_init(&e->reader);
    places_init(&e->places);
    threads_init(&e->threads);
    dispatch_init(&e->dispatch);
    listeners_init(&e->listeners);
    atomic_init(&e->refs, 1);
    e->link.fd = e->machine.poll_fd = e->machine.wake_fd = e->machine.kick_fd = -1;
    e->machine.alarm_fd = -1;
    e->machine.alarm_ms = INT64_MAX;
    e->machine.asleep = o->dispatch == PAWL_DISPATCH_EXTERNAL;
    e->n_forks = thread_forks();
    engine_set(e, o);
    engine_seed(e, o->seed);
    return e;
}

static void engine_free(struct engine *e)
{
    link_close(e);
    machine_close(&e->machine);
    listeners_fini(&e->listeners);
    dispatch_fini(&e->dispatch);
    threads_fini(&e->threads);
    places_fini(&e->places);
    reader_fini(&e->reader);
    core_free(e->core);
    local_close(e->local);
    tls_context_unref(e->tls.context);
    free(e->tls.name);
    sasl_exchange_free(e->sasl.exchange);
    sasl_login_unref(e->sasl.login);
    handle_free(e->face);
    free(e->settings.acl_store);
    condition_fini(&e->state_changed);
    lock_fini(&e->lock);
    free(e);
}

void engine_ref(struct engine *e)
{
    atomic_fetch_add(&e->refs, 1);
}

void engine_unref(struct engine *e)
{
    int before = atomic_fetch_sub(&e->refs, 1);

    ASSERT(before > 0);
    if (before == 1) {
        engine_free(e);
    }
}

void engine_lock(struct engine *e)
{
    lock_take(&e->lock);
}

void engine_unlock(struct engine *e)
{
    lock_give(&e->lock);
}

void engine_wait_until(struct engine *e, struct condition *c, int64_t deadline_ms)
{
    int64_t left = deadline_ms - machine_now_ms();

    if (deadline_ms == 0) {
        condition_wait(c, &e->lock, -1);
    } else {
        condition_wait(c, &e->lock, left < 0 ? 0 : left < SLICE_MS ? left : SLICE_MS);
    }
}

void *engine_thread_main(void *engine)
{
    struct engine *e = engine;

    logging_use(&e->log_target);
    engine_lock(e);
    while (!e->stop) {
        machine_turn(e, -1);
    }
    threads_end(e);
    return NULL;
}

/* ---- calls ---- */

int engine_submit(struct engine *e, struct call *call, const struct request *q)
{
    if (e->closing && call->op != OP_CLOSE_SESSION) {
        return PAWL_ERR_CLOSING;
    }
    call->attempts = 1;
    return call->plan != NULL ? plan_submit(e, call) : requests_submit(e->core, call, q);
}

enum pawl_outcome engine_abandon(struct engine *e, struct call *call)
{
    enum pawl_outcome outcome;
    bool touched = false;

    call->waiter = NULL;
    if (call->plan != NULL && plan_abandon(e, call, &touched)) {
        call_free(call);
        return touched ? PAWL_OUTCOME_UNKNOWN : PAWL_OUTCOME_NOT_SENT;
    }
    outcome = requests_abandon(e->core, call);
    return touched ? PAWL_OUTCOME_UNKNOWN : outcome;
}

/* ---- effects ---- */

static bool engine_carry_out(struct engine *e, int64_t now_ms)
{
    struct core *c = e->core;
    bool any = c->want_drop || c->want_link || c->want_sasl || c->want_probe;

    if (c->want_drop) {
        c->want_drop = false;
        link_close(e);
    }
    if (c->want_link) {
        c->want_link = false;
        link_start(e, now_ms);
    }
    if (c->want_sasl) {
        c->want_sasl = false;
        sasl_options_step(e, now_ms);
    }
    if (c->want_probe) {
        c->want_probe = false;
        link_probe(e);
    }
    return any;
}

static int64_t engine_next_ms(const struct engine *e)
{
    const int64_t all[] = {core_next_ms(e->core), plan_next_ms(e), timers_next_ms(e),
                           reader_next_ms(e),
                           link_is_dialing(&e->link) ? e->link.dial_limit_ms : INT64_MAX};
    int64_t t = INT64_MAX;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        t = all[i] < t ? all[i] : t;
    }
    return t;
}

/* Whoever settles may have given the I/O thread something to do sooner than it knows. */
void engine_settle(struct engine *e, int64_t now_ms)
{
    ASSERT(!e->inside);
    do {
        while (engine_carry_out(e, now_ms)) {
        }
        link_flush(e, now_ms);
        handout_items(e, now_ms);
    } while (e->core->want_drop || e->core->want_link || !list_empty(&e->core->items) ||
             (e->link.state == SOCKET_WRITABLE && requests_output(e->core).len > 0));
    link_arm(e);
    if (e->machine.asleep && engine_next_ms(e) < e->machine.sleep_until_ms) {
        machine_wake(e);
    }
}

int64_t engine_wait_ms(struct engine *e, int64_t now_ms)
{
    int64_t t = engine_next_ms(e);

    e->machine.sleep_until_ms = t;
    return t == INT64_MAX ? -1 : t <= now_ms ? 0 : t - now_ms;
}

/* ---- time ---- */

/* A virtual machine that was stopped from outside goes on with all its clocks where they were; only
 * the wall clock, set anew, tells of it. What it jumps ahead by has passed for everybody else. */
static void engine_watch_clocks(struct engine *e)
{
    int64_t before = machine_now_ms(), offset = machine_wall_ms() - before, jump;

    if (machine_now_ms() - before > JUMP_MS / 10) {
        return; /* we were kept from reading both at once */
    }
    jump = e->knows_wall ? offset - e->wall_offset_ms : 0;
    e->knows_wall = true;
    e->wall_offset_ms = offset;
    if (jump >= JUMP_MS) {
        core_jumped(e->core, before, jump);
    }
}

int64_t engine_certain_ms(struct engine *e)
{
    engine_watch_clocks(e);
    if (core_next_ms(e->core) == 0 && e->machine.asleep) {
        machine_wake(e);
    }
    return core_certain_ms(e->core, machine_now_ms());
}

void engine_want_certain(struct engine *e)
{
    e->core->keep_until_ms = machine_now_ms() + e->core->timeout_ms;
    if (e->machine.asleep && core_next_ms(e->core) < e->machine.sleep_until_ms) {
        machine_wake(e);
    }
}

void engine_tick(struct engine *e, int64_t now_ms)
{
    engine_watch_clocks(e);
    if (atomic_load(&e->interrupted)) {
        waiter_cancel_all(e);
        condition_broadcast(&e->state_changed);
    }
    core_tick(e->core, now_ms);
    plan_run_due(e, now_ms);
    reader_watch(e, now_ms);
    timers_run_due(e, now_ms);
    if (link_is_dialing(&e->link) && now_ms >= e->link.dial_limit_ms && !e->core->want_drop) {
        link_next_address(e, now_ms);
    }
    engine_settle(e, now_ms);
}

/* With nothing else under way it is sent at once. Otherwise the I/O thread is told to, once for
 * many; and also when it sleeps longer than the new call's deadline allows. */
void engine_submitted(struct engine *e)
{
    bool at_once =
        e->core->n_calls <= 1 && e->link.state != SOCKET_FULL && e->core->link == LINK_READY;

    if (e->reader.is_on && dispatch_is_current(e)) {
        return; /* sent when its callbacks have run, all at once; or soon, by the I/O thread */
    }
    if (at_once) {
        engine_settle(e, machine_now_ms());
    }
    if (!at_once && e->machine.asleep &&
        (e->core->link == LINK_READY || engine_next_ms(e) < e->machine.sleep_until_ms)) {
        machine_wake(e);
    }
}

/* ---- the link ---- */

void engine_link_failed(struct engine *e, int64_t now_ms)
{
    link_close(e);
    core_link_down(e->core, now_ms);
}

void engine_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n)
{
    uint64_t link = e->link.number;

    while (n > 0 && e->link.number == link && e->core->link != LINK_NONE) {
        uint8_t *at;
        size_t room = core_room(e->core, &at);

        if (room == 0) {
            engine_link_failed(e, now_ms);
            return;
        }
        room = room < n ? room : n;
        memcpy(at, data, room);
        core_received(e->core, now_ms, room);
        data += room;
        n -= room;
    }
}
