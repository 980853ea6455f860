/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - one call of the user that waits for its end: a blocked caller's, or a callback's.
 *
 * A recipe puts a struct ask first in a struct of its own, made with ask_new(), and gives it to
 * ask_block() or ask_post(), which begin a step, start it and wait, or do not wait. The recipe ends
 * it, once, with ask_end(), in whatever step it comes to that: `done` of the user runs after that.
 * Each answer to come that uses it holds a reference.
 *
 * Nobody waits for ever: when its time is up, or when the client has closed and every answer that
 * was still to come has been given, the ask is given up here, whatever its recipe does meanwhile.
 * A recipe that pauses before it tries something again need not think of it. */
#ifndef PAWL_RECIPES_CORE_ASK_H
#define PAWL_RECIPES_CORE_ASK_H

#include "recipes/core/recipe.h"

struct ask {
    struct list link; /* for the recipe's use */
    struct recipe *r; /* a reference */
    int refs;
    int err;
    bool ended;
    bool is_try;         /* was given no time: ends instead of waiting */
    bool only_waits;     /* see ask_only_wait() */
    bool graced;         /* see ask_grace() */
    bool is_change;      /* what it did is told, also if the recipe has been freed by then */
    int64_t deadline_ms; /* 0: none */
    struct timer timer;
    struct observer closed;
    struct waiter *waiter;
    struct note note;
    void (*tell)(struct ask *a); /* calls the user; not a step */
    int (*start)(struct ask *a); /* a step; an error: it has not begun, and is not told */
    /* A step: it is not waited for any longer (OPERATION_TIMEOUT, CLOSING, WOULD_DEADLOCK). Ends it
     * with that, or, if it is about to end by itself, does not. NULL: ask_end(). */
    void (*give_up)(struct ask *a, int err);
    void (*drop)(struct ask *a); /* frees what it holds besides itself; NULL: nothing */
};

/* `size` bytes, which begin with a struct ask; NULL: no memory. */
void *ask_new(size_t size, int (*start)(struct ask *a));

/* Both take `a` over (NULL: NO_MEMORY), and `r` may be NULL (BAD_ARGUMENTS). `take` reads the
 * result, in the step that ended it. */
int ask_block(struct recipe *r, struct ask *a, int timeout_ms,
              void (*take)(struct ask *a, void *out), void *out);
int ask_post(struct recipe *r, struct ask *a, int timeout_ms);

/* For one that asks for nothing, but waits for what the recipe does anyway: `a` is in the caller's
 * memory, and where nobody may wait `start` may still end it at once. */
int ask_only_wait(struct recipe *r, struct ask *a, int (*start)(struct ask *a), int timeout_ms);

/* For one that a recipe asks of another, inside a step: nobody waits, `tell` is NULL. With an error
 * it is gone. */
int ask_inside(struct recipe *r, struct ask *a, int timeout_ms);

void ask_ref(struct ask *a);
void ask_unref(struct ask *a);

/* The first time counts. */
void ask_end(struct ask *a, int err);
void ask_end_all(struct list *asks, int err);

/* As when its time is up, for another reason. */
void ask_give_up(struct ask *a, int err);

/* For give_up() of one whose request is underway: on a link that is alive the answer is about to
 * come, and a little later is better than in doubt. True: it has this time now; once, and only if
 * it is given up because its time is up. */
bool ask_grace(struct ask *a, int err);

/* As recipe_left_ms(). */
int ask_left_ms(const struct ask *a);

#endif
