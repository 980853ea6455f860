/* SPDX-License-Identifier: Apache-2.0 */
/* wander.h - a walk over a subtree that can be ended at any node and gone on with later.
 *
 * Parents come before their children, children by name. Where it stood is a path, and nothing is
 * kept meanwhile: who goes on behind /a/b lists the parents of that path again. Nodes that are gone
 * or closed to us are left out. */
#ifndef PAWL_CONSOLE_WANDER_H
#define PAWL_CONSOLE_WANDER_H

#include <stdbool.h>

#include <pawl/client.h>

struct wander_folder {
    char *path;
    struct pawl_reply *reply; /* which owns the names */
    const char **names;       /* in order */
    size_t n, next;
};

struct wander {
    struct pawl_client *client;
    struct wander_folder *folders; /* from the top to where we are */
    size_t n, capacity;
    char *path; /* of the last node, or the top that is to come */
    bool is_begun;
};

/* Begins at `top`, or behind `after`, which is `top` or below it, and whose children come next.
 * wander_fini() when done. */
void wander_begin(struct wander *w, struct pawl_client *client, const char *top, const char *after);
void wander_fini(struct wander *w);

/* The next node; NULL: that was all. It is lent until the next call. */
const char *wander_next(struct wander *w);

/* The children of the node that was given last are to come next. PAWL_OK, or why it cannot be
 * listed. `children` is lent until the next call of wander_next(). */
int wander_enter(struct wander *w, const struct pawl_reply **children);

/* They are not to come after all. */
void wander_leave(struct wander *w);

#endif
