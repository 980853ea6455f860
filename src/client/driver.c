/* SPDX-License-Identifier: Apache-2.0 */
#include "client/driver.h"

#include "client/engine.h"

enum { DRIVER_BYTES = 4096 };

bool driver_can_be(const struct engine *e, const struct waiter *w)
{
    return (e->driver == NULL || e->driver == w) && link_stands(&e->link) &&
           e->core->link == LINK_READY;
}

void driver_claim(struct engine *e, struct waiter *w)
{
    if (e->settings.mode != PAWL_DISPATCH_EXTERNAL && e->driver == NULL && driver_can_be(e, w)) {
        e->driver = w;
    }
}

/* Received into memory of our own, since the core's may go with its link meanwhile. */
static void driver_receive(struct engine *e, struct waiter *w, int64_t left_ms)
{
    uint64_t link = e->link.number;
    uint8_t data[DRIVER_BYTES];
    long n = machine_receive(e, w, left_ms, data, sizeof(data));
    int64_t now = machine_now_ms();

    if (e->link.number != link) {
        return;
    }
    if (n > 0) {
        link_feed(e, now, data, (size_t)n);
    } else if (n < 0) {
        engine_link_failed(e, now);
    }
    if (n == (long)sizeof(data)) {
        link_read(e, now);
    }
    engine_settle(e, now);
}

void driver_run(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    uint64_t link = e->link.number;

    e->driver = w;
    link_arm(e);
    while (!w->done && !w->cancelled && e->link.number == link) {
        int64_t left = deadline_ms == 0 ? INT32_MAX : deadline_ms - machine_now_ms();

        if (left <= 0) {
            break;
        }
        driver_receive(e, w, left);
    }
}

void driver_pass_on(struct engine *e, const struct waiter *w)
{
    struct list *item;

    if (e->driver != w) {
        return;
    }
    e->driver = NULL;
    list_for_each (item, &e->waiters) {
        struct waiter *next = container_of(item, struct waiter, link);

        if (next != w && !next->done) {
            e->driver = next;
            condition_signal(&next->cond);
            break;
        }
    }
    link_arm(e);
}
