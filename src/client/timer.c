/* SPDX-License-Identifier: Apache-2.0 */
#include "client/timer.h"

#include "client/engine.h"

void timer_init(struct timer *t, void (*fn)(void *arg), void *arg)
{
    heap_node_init(&t->node);
    t->fn = fn;
    t->arg = arg;
}

void timer_set(struct engine *e, struct timer *t, int64_t due_ms)
{
    heap_remove(&e->timers, &t->node);
    heap_insert(&e->timers, &t->node, due_ms);
}

void timer_clear(struct engine *e, struct timer *t)
{
    heap_remove(&e->timers, &t->node);
}

int64_t timers_next_ms(const struct engine *e)
{
    return e->timers.root == NULL || e->stop ? INT64_MAX : e->timers.root->key;
}

void timers_run_due(struct engine *e, int64_t now_ms)
{
    while (timers_next_ms(e) <= now_ms) {
        struct timer *t = container_of(e->timers.root, struct timer, node);

        heap_remove(&e->timers, &t->node);
        e->inside = true;
        t->fn(t->arg);
        e->inside = false;
    }
}
