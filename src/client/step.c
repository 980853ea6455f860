/* SPDX-License-Identifier: Apache-2.0 */
#include "client/step.h"

#include "base/assert.h"

int step_begin(struct pawl_client *c)
{
    int rc = client_check(c);

    if (rc != 0) {
        return rc;
    }
    engine_ref(c->e);
    pthread_mutex_lock(&c->e->lock);
    ASSERT(!c->e->inside);
    c->e->inside = true;
    return 0;
}

void step_end(struct engine *e)
{
    e->inside = false;
    engine_settle(e, engine_now_ms());
    pthread_mutex_unlock(&e->lock);
    engine_unref(e);
}

/* ---- time ---- */

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

/* ---- the connection's state ---- */

void observer_add(struct engine *e, struct observer *o, void (*fn)(enum pawl_state, void *),
                  void *arg)
{
    o->fn = fn;
    o->arg = arg;
    list_push_back(&e->observers, &o->link);
}

void observer_remove(struct observer *o)
{
    list_remove(&o->link);
}

/* ---- notes ---- */

void note_init(struct note *n, void (*fn)(void *arg), void *arg)
{
    *n = (struct note){.item = {.kind = ITEM_NOTE}, .fn = fn, .arg = arg};
    list_init(&n->item.link);
}

void note_post(struct engine *e, struct note *n)
{
    if (!n->posted) {
        n->posted = true;
        list_push_back(&e->inbox, &n->item.link);
    }
}

/* ---- waiting ---- */

bool step_would_deadlock(const struct engine *e)
{
    return e->mode == PAWL_DISPATCH_EXTERNAL && engine_is_dispatcher(e);
}

bool step_wait(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    bool done;

    w->kickable = true;
    e->inside = false;
    waiter_claim(e, w);
    engine_settle(e, engine_now_ms());
    done = waiter_wait(e, w, deadline_ms);
    e->inside = true;
    return done;
}

void waiter_finish(struct engine *e, struct waiter *w)
{
    w->done = true;
    if (e->driver == w && w->receiving) {
        engine_kick(e);
    } else {
        pthread_cond_signal(&w->cond);
    }
    if (e->mode == PAWL_DISPATCH_EXTERNAL && e->in_turn && e->io_asleep) {
        engine_wake(e); /* he may be the one who sleeps in it */
    }
}
