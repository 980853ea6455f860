/* SPDX-License-Identifier: Apache-2.0 */
#include "client/listener.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/handle.h"

struct listener {
    struct list link;
    pawl_state_fn fn;
    void *arg;
    bool removed; /* but still running, or to be skipped */
};

void listeners_init(struct listeners *l)
{
    list_init(&l->all);
    l->calling = NULL;
}

void listeners_fini(struct listeners *l)
{
    struct list *item;

    while ((item = list_pop_front(&l->all)) != NULL) {
        free(container_of(item, struct listener, link));
    }
}

int listeners_add(struct engine *e, pawl_state_fn fn, void *arg)
{
    struct listener *l = malloc(sizeof(*l));

    if (l == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    *l = (struct listener){.fn = fn, .arg = arg};
    list_push_back(&e->listeners.all, &l->link);
    return 0;
}

/* Those added while it runs are not told of this one; those removed are skipped. */
void listeners_tell(struct engine *e, enum pawl_state state)
{
    struct list *item, *last, *next;

    engine_lock(e);
    last = e->listeners.all.prev;
    for (item = e->listeners.all.next; item != &e->listeners.all; item = next) {
        struct listener *l = container_of(item, struct listener, link);
        bool is_last = item == last;

        if (!l->removed) {
            e->listeners.calling = l;
            engine_unlock(e);
            l->fn(e->face, state, l->arg);
            engine_lock(e);
            e->listeners.calling = NULL;
            condition_broadcast(&e->dispatch.callback_done);
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
    engine_unlock(e);
}

int pawl_client_add_listener(struct pawl_client *c, pawl_state_fn fn, void *arg)
{
    int rc = handle_check(c);

    if (rc != 0 || fn == NULL) {
        return rc != 0 ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    engine_lock(c->e);
    rc = listeners_add(c->e, fn, arg);
    engine_unlock(c->e);
    return rc;
}

static struct listener *listeners_find(struct engine *e, pawl_state_fn fn, const void *arg)
{
    struct list *item;

    list_for_each (item, &e->listeners.all) {
        struct listener *l = container_of(item, struct listener, link);

        if (l->fn == fn && l->arg == arg && !l->removed) {
            return l;
        }
    }
    return NULL;
}

/* While listeners are being called their list is the dispatcher's: it frees what is removed. */
void pawl_client_remove_listener(struct pawl_client *c, pawl_state_fn fn, void *arg)
{
    struct listener *l;
    struct engine *e;

    if (handle_check(c) != 0) {
        return;
    }
    e = c->e;
    engine_lock(e);
    l = listeners_find(e, fn, arg);
    if (l != NULL && e->listeners.calling == NULL) {
        list_remove(&l->link);
        free(l);
    } else if (l != NULL) {
        l->removed = true;
        while (e->listeners.calling == l && !dispatch_is_current(e)) {
            condition_wait(&e->dispatch.callback_done, &e->lock, -1);
        }
    }
    engine_unlock(e);
}
