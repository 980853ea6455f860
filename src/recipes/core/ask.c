/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/core/ask.h"

#include <stdlib.h>

#include "base/assert.h"

static void run(void *ask)
{
    struct ask *a = ask;
    struct recipe *r = a->r;

    recipe_note_begin(r);
    if (r->freed && !a->is_change) {
        a->err = PAWL_ERR_CANCELLED;
    }
    recipe_calling(r);
    a->tell(a);
    recipe_called(r);
    recipe_ref(r); /* the ask's own goes with it */
    ask_unref(a);
    recipe_note_end(r);
}

static void too_late(void *ask)
{
    struct ask *a = ask;

    if (a->too_late != NULL) {
        a->too_late(a);
    } else {
        ask_end(a, PAWL_ERR_OPERATION_TIMEOUT);
    }
}

void *ask_new(size_t size, int (*start)(struct ask *a))
{
    struct ask *a = calloc(1, size);

    if (a != NULL) {
        a->start = start;
        a->refs = 1;
        list_init(&a->link);
        timer_init(&a->timer, too_late, a);
        note_init(&a->note, run, a);
    }
    return a;
}

void ask_ref(struct ask *a)
{
    a->refs++;
}

void ask_unref(struct ask *a)
{
    struct recipe *r = a->r;

    if (--a->refs > 0) {
        return;
    }
    if (a->drop != NULL) {
        a->drop(a);
    }
    free(a);
    if (r != NULL) {
        recipe_unref(r);
    }
}

/* The reference that it was born with goes when the user has been told. */
void ask_end(struct ask *a, int err)
{
    if (a->ended) {
        return;
    }
    a->ended = true;
    a->err = err;
    list_remove(&a->link);
    timer_clear(a->r->e, &a->timer);
    if (a->waiter != NULL) {
        waiter_finish(a->r->e, a->waiter);
    } else if (a->tell != NULL && !a->r->e->stop) {
        note_post(a->r->e, &a->note);
    } else {
        ask_unref(a);
    }
}

void ask_end_all(struct list *asks, int err)
{
    while (!list_empty(asks)) {
        ask_end(container_of(asks->next, struct ask, link), err);
    }
}

bool ask_watch_is_set(struct recipe *r, const struct pawl_reply *reply, const char *path,
                      pawl_event_fn fn, void *arg)
{
    struct pawl_watch watch = {.fn = fn, .arg = arg};
    int rc;

    if (reply->err != PAWL_ERR_NO_MEMORY) {
        return reply->err == 0;
    }
    rc = pawl_unwatch_async(r->client, path, PAWL_WATCHES_DATA | PAWL_WATCHES_LOCAL, &watch, NULL,
                            NULL);
    return rc == 0 || (rc != PAWL_ERR_NO_WATCHER && recipe_was_done(reply));
}

int ask_left_ms(const struct ask *a)
{
    return recipe_left_ms(a->deadline_ms);
}

/* One who has no time at all still gets an answer, and has the client's patience for that. */
static int begin(struct ask *a, struct recipe *r, int timeout_ms)
{
    int64_t patience = timeout_ms == 0 ? r->timeout_ms : timeout_ms;

    a->r = r;
    recipe_ref(r);
    a->is_try = timeout_ms == 0;
    if (patience >= 0) {
        a->deadline_ms = machine_now_ms() + patience;
        timer_set(r->e, &a->timer, a->deadline_ms);
    }
    return a->start(a);
}

static void forget(struct ask *a)
{
    if (a->r != NULL) {
        timer_clear(a->r->e, &a->timer);
    }
    ask_unref(a);
}

static int begin_step(struct recipe *r, struct ask *a)
{
    int rc = a == NULL && r != NULL ? PAWL_ERR_NO_MEMORY : recipe_begin(r);

    if (rc != 0 && a != NULL) {
        forget(a);
    }
    return rc;
}

int ask_block(struct recipe *r, struct ask *a, int timeout_ms,
              void (*take)(struct ask *a, void *out), void *out)
{
    struct engine *e;
    struct waiter w;
    int rc = begin_step(r, a);

    if (rc != 0) {
        return rc;
    }
    e = r->e;
    waiter_init(&w);
    a->waiter = &w;
    rc = dispatch_would_deadlock(r->e) ? PAWL_ERR_WOULD_DEADLOCK : begin(a, r, timeout_ms);
    if (rc == 0) {
        recipe_wait(r, &w, -1); /* its own timer ends it */
        ASSERT(a->ended);
        rc = a->err;
        if (take != NULL && out != NULL) {
            take(a, out);
        }
    }
    a->waiter = NULL;
    waiter_fini(&w);
    forget(a); /* and with it the recipe, if it was freed meanwhile */
    step_end(e);
    return rc;
}

int ask_inside(struct recipe *r, struct ask *a, int timeout_ms)
{
    int rc = begin(a, r, timeout_ms);

    if (rc != 0) {
        forget(a);
    }
    return rc;
}

int ask_post(struct recipe *r, struct ask *a, int timeout_ms)
{
    int rc = begin_step(r, a);

    if (rc != 0) {
        return rc;
    }
    ask_ref(a);
    rc = begin(a, r, timeout_ms);
    if (rc != 0) {
        timer_clear(r->e, &a->timer);
        a->refs--;                       /* the one it was born with */
    } else if (a->ended && r->e->stop) { /* nobody is left to tell it */
        rc = a->err != 0 ? a->err : PAWL_ERR_CLOSING;
    }
    ask_unref(a);
    recipe_end(r);
    return rc;
}
