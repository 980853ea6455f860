/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - runs the application's callbacks, one at a time, in order, without the lock. */
#include <stdlib.h>

#include "client/step.h"

void call_free(struct call *call)
{
    plan_free(call->plan);
    chunk_unref(call->chunk);
    free(call->path);
    free(call);
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

    target->fn(&e, target->arg);
}

static void run_event(struct event_item *e)
{
    for (size_t i = 0; i < e->n_targets; i++) {
        dispatch_event(e, &e->targets[i]);
    }
    free(e);
}

static void run_note(struct engine *e, struct note *n)
{
    pthread_mutex_lock(&e->lock);
    n->posted = false;
    pthread_mutex_unlock(&e->lock);
    n->fn(n->arg);
}

/* Those added while it runs are not told of this one; those removed are skipped. */
static void run_state(struct engine *e, struct state_item *s)
{
    struct list *item, *last, *next;

    pthread_mutex_lock(&e->lock);
    last = e->listeners.prev;
    for (item = e->listeners.next; item != &e->listeners; item = next) {
        struct listener *l = container_of(item, struct listener, link);
        bool is_last = item == last;

        if (!l->removed) {
            e->calling = l;
            pthread_mutex_unlock(&e->lock);
            l->fn(e->face, s->state, l->arg);
            pthread_mutex_lock(&e->lock);
            e->calling = NULL;
            pthread_cond_broadcast(&e->callback_done);
        }
        next = item->next;
        if (l->removed) {
            list_remove(item);
            free(l);
        }
        if (is_last) {
            break;
        }
    }
    pthread_mutex_unlock(&e->lock);
    free(s);
}

static void run_item(struct engine *e, struct item *item)
{
    switch (item->kind) {
    case ITEM_CALL:
        dispatch_call((struct call *)item);
        break;
    case ITEM_EVENT:
        run_event((struct event_item *)item);
        break;
    case ITEM_STATE:
        run_state(e, (struct state_item *)item);
        break;
    case ITEM_NOTE:
        run_note(e, (struct note *)item);
        break;
    }
}

bool engine_is_dispatcher(const struct engine *e)
{
    return e->dispatching && pthread_equal(e->dispatcher, pthread_self()) != 0;
}

int dispatch_run(struct engine *e)
{
    struct list batch, *link;
    int n = 0;

    if (e->dispatching) {
        return 0; /* inside a callback already */
    }
    list_init(&batch);
    e->dispatching = true;
    e->dispatcher = pthread_self();
    while (!list_empty(&e->inbox)) {
        list_splice(&batch, &e->inbox);
        e->callbacks_ms = e->own_reads ? engine_now_ms() : 0;
        pthread_mutex_unlock(&e->lock);
        while ((link = list_pop_front(&batch)) != NULL) {
            run_item(e, container_of(link, struct item, link));
            n++;
        }
        pthread_mutex_lock(&e->lock);
    }
    e->dispatching = false;
    if (e->stop) {
        pthread_cond_broadcast(&e->thread_ended); /* close waits for callbacks */
    }
    return n;
}

void *dispatch_thread_main(void *engine)
{
    struct engine *e = engine;

    logging_use(&e->log_target);
    pthread_mutex_lock(&e->lock);
    while (!e->stop || !list_empty(&e->inbox)) {
        if (list_empty(&e->inbox)) {
            if (reader_read(e)) {
                continue;
            }
            e->dispatch_asleep = true;
            pthread_cond_wait(&e->inbox_filled, &e->lock);
            e->dispatch_asleep = false;
            continue;
        }
        dispatch_run(e);
    }
    engine_thread_ends(e);
    return NULL;
}
