/* SPDX-License-Identifier: Apache-2.0 */
/* step_watch.h - a recipe's watch, which keeps its owner alive by itself.
 *
 * The core counts it: from the moment an answer sets it until the event that ends it has been told
 * (it fired, it was removed, the session or the client ended) its holder is held. So a recipe
 * neither takes nor gives references for events, and need not know which answers set a watch: not
 * every one that carries an error leaves it unset.
 *
 *     step_watch_init(&b->watch, event, b, ref, unref, b);
 *     pawl_get_async(client, path, &b->watch.ask, looked, b);
 *
 * One may be set on several paths; each of them counts. */
#ifndef PAWL_CLIENT_STEP_WATCH_H
#define PAWL_CLIENT_STEP_WATCH_H

#include <stdbool.h>

#include "pawl/types.h"

struct step_watch {
    struct pawl_watch ask; /* for calls inside a step that set or remove it */
    pawl_event_fn fn;      /* a step */
    void *arg;
    void (*ref)(void *holder);
    void (*unref)(void *holder);
    void *holder;
    unsigned n_set;
};

void step_watch_init(struct step_watch *w, pawl_event_fn fn, void *arg, void (*ref)(void *holder),
                     void (*unref)(void *holder), void *holder);

/* Its event is still to be told. */
static inline bool step_watch_is_set(const struct step_watch *w)
{
    return w->n_set > 0;
}

/* ---- internal to the client ---- */

/* Whose watch it is; `watch` was given to a call inside a step. */
struct step_watch *step_watch_of(const struct pawl_watch *watch);

void step_watch_gained(struct step_watch *w);

/* `n_ended` of those that were set end with this event. */
void step_watch_tell(struct step_watch *w, const struct pawl_event *event, unsigned n_ended);

#endif
