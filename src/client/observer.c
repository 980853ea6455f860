/* SPDX-License-Identifier: Apache-2.0 */
#include "client/observer.h"

#include "client/engine.h"

void observer_add(struct engine *e, struct observer *o, void (*fn)(enum pawl_state, void *),
                  void *arg)
{
    o->fn = fn;
    o->certain = NULL;
    o->arg = arg;
    list_push_back(&e->observers, &o->link);
}

void observer_remove(struct observer *o)
{
    list_remove(&o->link);
}

/* Each goes back into the list before it is told, so that it can leave. NULL: of certainty. */
static void tell(struct engine *e, const enum pawl_state *state)
{
    struct list all, *item;

    list_init(&all);
    list_splice(&all, &e->observers);
    e->inside = true;
    while ((item = list_pop_front(&all)) != NULL) {
        struct observer *o = container_of(item, struct observer, link);

        list_push_back(&e->observers, item);
        if (state != NULL) {
            o->fn(*state, o->arg);
        } else if (o->certain != NULL) {
            o->certain(o->arg);
        }
    }
    e->inside = false;
}

void observers_tell(struct engine *e, enum pawl_state state)
{
    tell(e, &state);
}

void observers_tell_certain(struct engine *e)
{
    tell(e, NULL);
}
