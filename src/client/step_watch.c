/* SPDX-License-Identifier: Apache-2.0 */
#include "client/step_watch.h"

#include <stddef.h>

#include "base/assert.h"

/* The mark by which a recipe's watch is known; the core tells it by step_watch_tell(). */
static void is_told_by_the_core(const struct pawl_event *event, void *watch)
{
    (void)event;
    (void)watch;
    ASSERT(false);
}

void step_watch_init(struct step_watch *w, pawl_event_fn fn, void *arg, void (*ref)(void *holder),
                     void (*unref)(void *holder), void *holder)
{
    *w = (struct step_watch){.ask = {.fn = is_told_by_the_core, .arg = w},
                             .fn = fn,
                             .arg = arg,
                             .ref = ref,
                             .unref = unref,
                             .holder = holder};
}

struct step_watch *step_watch_of(const struct pawl_watch *watch)
{
    ASSERT(watch->fn == is_told_by_the_core);
    return watch->arg;
}

void step_watch_gained(struct step_watch *w)
{
    w->n_set++;
    w->ref(w->holder);
}

/* It may go with its holder's last reference. */
void step_watch_tell(struct step_watch *w, const struct pawl_event *event, unsigned n_ended)
{
    void (*unref)(void *holder) = w->unref;
    void *holder = w->holder;

    ASSERT(w->n_set >= n_ended);
    w->n_set -= n_ended;
    w->fn(event, w->arg);
    for (; n_ended > 0; n_ended--) {
        unref(holder);
    }
}
