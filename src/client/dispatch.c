/* SPDX-License-Identifier: Apache-2.0 */
#include "client/dispatch.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/note.h"
#include "client/reply.h"
#include "client/step_watch.h"

void dispatch_init(struct dispatch *d)
{
    list_init(&d->inbox);
    condition_init(&d->filled);
    condition_init(&d->callback_done);
}

void dispatch_fini(struct dispatch *d)
{
    struct list *item;

    while ((item = list_pop_front(&d->inbox)) != NULL) {
        free(container_of(item, struct item, link));
    }
    condition_fini(&d->filled);
    condition_fini(&d->callback_done);
}

/* Who has made a node that nobody can tell him of would never remove it. */
void dispatch_call(struct call *call)
{
    struct pawl_reply *reply = reply_of(call, false);
    struct pawl_reply no_memory = {.err = PAWL_ERR_NO_MEMORY, .outcome = call->outcome};
    char path[512];

    if ((reply == NULL || reply->err == PAWL_ERR_NO_MEMORY) &&
        reply_made_path(call, path, sizeof(path))) {
        no_memory.path = path;
    }
    call->done(reply == NULL || no_memory.path != NULL ? &no_memory : reply, call->arg);
    pawl_reply_free(reply);
    call_free(call);
}

void dispatch_event(const struct event_item *event, const struct event_target *target)
{
    const char *path = event->path + target->strip;
    struct pawl_event e = {.type = event->type,
                           .state = event->state,
                           .zxid = event->zxid,
                           .path = *path == '\0' ? "/" : path};

    if (target->step != NULL) {
        step_watch_tell(target->step, &e, target->n_ended);
    } else {
        target->fn(&e, target->arg);
    }
}

static void dispatch_run_event(struct event_item *e)
{
    for (size_t i = 0; i < e->n_targets; i++) {
        dispatch_event(e, &e->targets[i]);
    }
    free(e);
}

static void dispatch_run_item(struct engine *e, struct item *item)
{
    switch (item->kind) {
    case ITEM_CALL:
        dispatch_call((struct call *)item);
        break;
    case ITEM_EVENT:
        dispatch_run_event((struct event_item *)item);
        break;
    case ITEM_STATE:
        listeners_tell(e, ((struct state_item *)item)->state);
        free(item);
        break;
    case ITEM_NOTE:
        note_run(e, (struct note *)item);
        break;
    }
}

bool dispatch_is_current(const struct engine *e)
{
    return e->dispatch.running && thread_is_current(e->dispatch.thread);
}

bool dispatch_would_deadlock(const struct engine *e)
{
    return e->settings.mode == PAWL_DISPATCH_EXTERNAL && dispatch_is_current(e);
}

void dispatch_wake(struct engine *e)
{
    if (list_empty(&e->dispatch.inbox)) {
        return;
    }
    if (e->dispatch.asleep) {
        e->dispatch.asleep = false;
        condition_signal(&e->dispatch.filled);
    }
    if (!e->machine.in_turn) {
        dispatch_tell_loop(e);
    }
}

/* Makes its descriptor readable. */
void dispatch_tell_loop(struct engine *e)
{
    if (e->settings.mode == PAWL_DISPATCH_EXTERNAL && !list_empty(&e->dispatch.inbox)) {
        machine_wake(e);
    }
}

int dispatch_run(struct engine *e)
{
    struct list batch, *link;
    int n = 0;

    if (e->dispatch.running) {
        return 0; /* inside a callback already */
    }
    list_init(&batch);
    e->dispatch.running = true;
    e->dispatch.thread = thread_current();
    while (!list_empty(&e->dispatch.inbox)) {
        list_splice(&batch, &e->dispatch.inbox);
        e->reader.callbacks_ms = e->reader.is_on ? machine_now_ms() : 0;
        engine_unlock(e);
        while ((link = list_pop_front(&batch)) != NULL) {
            dispatch_run_item(e, container_of(link, struct item, link));
            n++;
        }
        engine_lock(e);
    }
    e->dispatch.running = false;
    if (e->stop) {
        condition_broadcast(&e->threads.ended); /* close waits for callbacks */
    }
    return n;
}

void *dispatch_thread_main(void *engine)
{
    struct engine *e = engine;

    logging_use(&e->log_target);
    engine_lock(e);
    while (!e->stop || !list_empty(&e->dispatch.inbox)) {
        if (list_empty(&e->dispatch.inbox)) {
            if (reader_read(e)) {
                continue;
            }
            e->dispatch.asleep = true;
            condition_wait(&e->dispatch.filled, &e->lock, -1);
            e->dispatch.asleep = false;
            continue;
        }
        dispatch_run(e);
    }
    threads_end(e);
    return NULL;
}

/* ---- waiting for callbacks ---- */

struct barrier {
    struct engine *e;
    struct condition passed;
    bool done;
    int refs; /* guarded by the engine's lock: he who waits and the callback */
};

/* With the lock. */
static void barrier_unref(struct barrier *b)
{
    if (--b->refs == 0) {
        condition_fini(&b->passed);
        free(b);
    }
}

static void barrier_passed(const struct pawl_reply *reply, void *arg)
{
    struct barrier *b = arg;
    struct engine *e = b->e;

    (void)reply;
    engine_lock(e);
    b->done = true;
    condition_signal(&b->passed);
    barrier_unref(b);
    engine_unlock(e);
}

static struct barrier *barrier_new(struct engine *e)
{
    struct barrier *b = malloc(sizeof(*b));

    if (b != NULL) {
        *b = (struct barrier){.e = e, .refs = 2};
        condition_init(&b->passed);
    }
    return b;
}

void dispatch_barrier(struct engine *e, int64_t deadline_ms)
{
    struct call *call = call_new(0);
    struct barrier *b = call == NULL ? NULL : barrier_new(e);

    if (b == NULL || e->settings.mode != PAWL_DISPATCH_THREAD || dispatch_is_current(e) ||
        e->stop) {
        call_free(call);
        free(b);
        return;
    }
    call->err = PAWL_ERR_NOTHING;
    call->done = barrier_passed;
    call->arg = b;
    list_push_back(&e->dispatch.inbox, &call->item.link);
    dispatch_wake(e);
    reader_tell(e);
    while (!b->done && (deadline_ms == 0 || machine_now_ms() < deadline_ms)) {
        engine_wait_until(e, &b->passed, deadline_ms);
    }
    barrier_unref(b);
}
