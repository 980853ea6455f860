/* SPDX-License-Identifier: Apache-2.0 */
#include "client/reader.h"

#include "client/driver.h"
#include "client/engine.h"

enum { PATIENCE_MS = 5 };

void reader_init(struct reader *r)
{
    *r = (struct reader){0};
    waiter_init(&r->waiter);
    r->waiter.kickable = true;
}

void reader_fini(struct reader *r)
{
    waiter_fini(&r->waiter);
}

/* A blocked caller reads faster for himself, and without answers to come there is nothing to read.
 */
static bool reader_may_read(const struct engine *e)
{
    return !e->stop && e->core->n_calls > 0 && list_empty(&e->waiters) &&
           driver_can_be(e, &e->reader.waiter);
}

bool reader_read(struct engine *e)
{
    struct reader *r = &e->reader;
    int64_t now = machine_now_ms();

    if (!reader_may_read(e)) {
        if (r->is_on) {
            r->is_on = false;
            engine_settle(e, now);
        }
        return !list_empty(&e->dispatch.inbox);
    }
    if (!r->is_on) {
        r->is_on = true;
        r->look_ms = now + PATIENCE_MS;
    }
    e->driver = &r->waiter;
    r->waiter.done = false;
    engine_settle(e, now); /* sends what the callbacks asked for */
    if (!r->waiter.done) {
        driver_run(e, &r->waiter, 0);
    }
    driver_pass_on(e, &r->waiter);
    return true;
}

void reader_tell(struct engine *e)
{
    struct waiter *w = &e->reader.waiter;

    if (e->driver == w && (!list_empty(&e->dispatch.inbox) || e->core->n_calls == 0)) {
        w->done = true;
        if (w->receiving) {
            machine_kick(e);
        }
    }
}

/* A callback takes its time: reading and sending are the I/O thread's again. */
void reader_watch(struct engine *e, int64_t now_ms)
{
    struct reader *r = &e->reader;

    if (!r->is_on) {
        return;
    }
    if (e->driver != &r->waiter && now_ms - r->callbacks_ms >= PATIENCE_MS) {
        r->is_on = false;
    }
    r->look_ms = now_ms + PATIENCE_MS;
}

int64_t reader_next_ms(const struct engine *e)
{
    return e->reader.is_on ? e->reader.look_ms : INT64_MAX;
}
