/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h - what every recipe has: a view of the client, a life, a way to tell its user.
 *
 * A recipe lives under the engine's lock, as a set of steps (client/step.h). It is kept alive by
 * references: the user's, given back by the recipe's _free(), and one for every answer or note that
 * is still to come. Watches hold theirs by themselves (client/step_watch.h). After _free() the user
 * is told nothing more. */
#ifndef PAWL_RECIPES_CORE_RECIPE_H
#define PAWL_RECIPES_CORE_RECIPE_H

#include "client/step.h"

struct recipe {
    struct pawl_client
        *client; /* a view of our own: no timeout, retries as long as it makes sense */
    struct engine *e;
    int timeout_ms; /* the user's, for blocking calls; -1: none */
    int refs;
    bool freed;                        /* by the user */
    int n_calling;                     /* callbacks of the user that run now */
    void (*destroy)(struct recipe *r); /* the last reference is gone; lock held */
};

/* BAD_ARGUMENTS, FORKED, NO_MEMORY, CLOSING. `destroy` frees the whole recipe and calls
 * recipe_fini(). */
int recipe_init(struct recipe *r, struct pawl_client *c, void (*destroy)(struct recipe *r));
void recipe_fini(struct recipe *r);

/* The same in a new struct of `size` bytes, zero but for the recipe that it begins with. */
int recipe_new(size_t size, struct pawl_client *c, void (*destroy)(struct recipe *r),
               struct recipe **out);

void recipe_ref(struct recipe *r);
void recipe_unref(struct recipe *r);

/* Every public function of a recipe is recipe_begin(), a step, recipe_end(). An error: no step. */
int recipe_begin(struct recipe *r);
void recipe_end(struct recipe *r);

/* The user's _free(): `shut` (NULL: nothing) is a last step, then callbacks that run are waited for
 * (not from inside one), then his reference is gone. */
void recipe_free(struct recipe *r, void (*shut)(struct recipe *r));

/* A look from outside, without a step: the lock and nothing else. */
int recipe_look(const struct recipe *r);
void recipe_looked(const struct recipe *r);

/* A note, which holds a reference, tells the user something:
 *
 *     recipe_note_begin(r);           the lock is held
 *     if (!r->freed && ...) {
 *         recipe_calling(r);          ... is not
 *         r->fn(...);
 *         recipe_called(r);           ... is held again
 *     }
 *     recipe_note_end(r);             the note's reference is gone, and so may be the recipe */
void recipe_note_begin(struct recipe *r);
void recipe_calling(struct recipe *r);
void recipe_called(struct recipe *r);
void recipe_note_end(struct recipe *r);

/* Posts it with a reference, if it is not posted yet. Not on a client that has closed: nobody is
 * left to run it. */
void recipe_post(struct recipe *r, struct note *n);

/* A watch that holds the recipe. */
void recipe_watch_init(struct recipe *r, struct step_watch *w, pawl_event_fn fn, void *arg);

/* If it is set it goes, and its event tells so. Without memory it stays until it has another one.
 * `kinds`: PAWL_WATCHES_... */
void recipe_unwatch(struct recipe *r, struct step_watch *w, const char *path, int kinds);

/* The server has done it, also when there was no memory for its answer, or it could not be
 * unpacked. */
static inline bool recipe_was_done(const struct pawl_reply *reply)
{
    return reply->outcome == PAWL_OUTCOME_DONE;
}

/* The step waits for `w` up to `timeout_ms` (-1: for ever); OPERATION_TIMEOUT, WOULD_DEADLOCK. */
int recipe_wait(struct recipe *r, struct waiter *w, int64_t timeout_ms);

/* How much time is left until a deadline, for a request of its own: -1: no limit (the deadline is
 * 0); never 0. */
int recipe_left_ms(int64_t deadline_ms);

/* Whether the client is closed, or its only session over: trying again is of no use. */
bool recipe_is_over(const struct recipe *r, int err);

/* The calling thread, and never another: a pthread_t is given anew when its thread has ended. */
uint64_t recipe_thread(void);

/* "a/b" of two parts; the root's slash is not doubled. The caller frees it; NULL: no memory. */
char *recipe_join(const char *parent, const char *name);

/* Copies; NULL: no memory. An empty one is not NULL. */
char *recipe_copy(const char *text);

#endif
