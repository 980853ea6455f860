/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/core/ask.h"

#include <stdlib.h>

#include "base/assert.h"

enum { GRACE_MS = 200 };

static void ask_run_note(void *ask)
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

/* ---- giving up ---- */

void ask_give_up(struct ask *a, int err)
{
    ASSERT(!a->ended);
    if (a->give_up != NULL) {
        a->give_up(a, err);
    } else {
        ask_end(a, err);
    }
}

bool ask_grace(struct ask *a, int err)
{
    if (a->graced || err != PAWL_ERR_OPERATION_TIMEOUT) {
        return false;
    }
    a->graced = true;
    timer_set(a->r->e, &a->timer, machine_now_ms() + GRACE_MS);
    return true;
}

static void ask_too_late(void *ask)
{
    ask_give_up(ask, PAWL_ERR_OPERATION_TIMEOUT);
}

/* Whatever was on its way has been answered by now. */
static void ask_state_changed(enum pawl_state state, void *ask)
{
    struct ask *a = ask;

    if (state == PAWL_STATE_CLOSED) {
        ask_ref(a);
        ask_give_up(a, PAWL_ERR_CLOSING);
        ASSERT(a->ended);
        ask_unref(a);
    }
}

static void ask_stop_waiting(struct ask *a)
{
    timer_clear(a->r->e, &a->timer);
    observer_remove(&a->closed);
}

/* ---- life ---- */

static void ask_init(struct ask *a, int (*start)(struct ask *a))
{
    *a = (struct ask){.start = start, .refs = 1};
    list_init(&a->link);
    list_init(&a->closed.link);
    timer_init(&a->timer, ask_too_late, a);
    note_init(&a->note, ask_run_note, a);
}

void *ask_new(size_t size, int (*start)(struct ask *a))
{
    struct ask *a = calloc(1, size);

    if (a != NULL) {
        ask_init(a, start);
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

    ASSERT(a->refs > 0);
    if (--a->refs > 0) {
        return;
    }
    if (a->drop != NULL) {
        a->drop(a);
    }
    if (!a->only_waits) { /* else it is the caller's */
        free(a);
    }
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
    ask_stop_waiting(a);
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

int ask_left_ms(const struct ask *a)
{
    return recipe_left_ms(a->deadline_ms);
}

/* ---- beginning ---- */

/* One who has no time at all still gets an answer, and has the client's patience for that. After
 * the client has closed nothing would end one that waits. */
static int ask_begin(struct ask *a, struct recipe *r, int timeout_ms)
{
    int64_t patience = timeout_ms == 0 ? r->timeout_ms : timeout_ms;
    int rc;

    ASSERT(a->r == NULL);
    a->r = r;
    recipe_ref(r);
    a->is_try = timeout_ms == 0;
    if (patience >= 0) {
        a->deadline_ms = machine_now_ms() + patience;
        timer_set(r->e, &a->timer, a->deadline_ms);
    }
    observer_add(r->e, &a->closed, ask_state_changed, a);
    rc = a->start(a);
    if (rc == 0 && !a->ended && r->e->core->closed) {
        ask_give_up(a, PAWL_ERR_CLOSING);
    }
    return rc;
}

static void ask_forget(struct ask *a)
{
    if (a->r != NULL) {
        ask_stop_waiting(a);
    }
    ask_unref(a);
}

static int ask_begin_step(struct recipe *r, struct ask *a)
{
    int rc = a == NULL && r != NULL ? PAWL_ERR_NO_MEMORY : recipe_begin(r);

    if (rc != 0 && a != NULL) {
        ask_forget(a);
    }
    return rc;
}

static int ask_wait(struct recipe *r, struct ask *a, int timeout_ms)
{
    bool would_deadlock = dispatch_would_deadlock(r->e);
    int rc;

    if (would_deadlock && !a->only_waits) {
        return PAWL_ERR_WOULD_DEADLOCK;
    }
    rc = ask_begin(a, r, timeout_ms);
    if (rc == 0 && !a->ended) {
        if (would_deadlock) {
            ask_give_up(a, PAWL_ERR_WOULD_DEADLOCK);
        } else {
            step_wait(r->e, a->waiter, 0); /* its own timer ends it */
        }
        if (!a->ended) {
            ask_give_up(a, PAWL_ERR_CANCELLED); /* the handle was interrupted */
        }
    }
    ASSERT(rc != 0 || a->ended);
    if (rc == 0 && r->freed && !a->is_change) {
        a->err = PAWL_ERR_CANCELLED; /* it was freed between the end and us: as ask_run_note() */
    }
    return rc != 0 ? rc : a->err;
}

int ask_block(struct recipe *r, struct ask *a, int timeout_ms,
              void (*take)(struct ask *a, void *out), void *out)
{
    struct engine *e;
    struct waiter w;
    int rc = ask_begin_step(r, a);

    if (rc != 0) {
        return rc;
    }
    e = r->e;
    waiter_init(&w);
    a->waiter = &w;
    rc = ask_wait(r, a, timeout_ms);
    if (a->ended && take != NULL && out != NULL) {
        take(a, out);
    }
    a->waiter = NULL;
    waiter_fini(&w);
    ASSERT(!a->only_waits || a->refs == 1);
    ask_forget(a); /* and with it the recipe, if it was freed meanwhile */
    step_end(e);
    return rc;
}

int ask_only_wait(struct recipe *r, struct ask *a, int (*start)(struct ask *a), int timeout_ms)
{
    ask_init(a, start);
    a->only_waits = true;
    return ask_block(r, a, timeout_ms, NULL, NULL);
}

int ask_inside(struct recipe *r, struct ask *a, int timeout_ms)
{
    int rc = ask_begin(a, r, timeout_ms);

    if (rc != 0) {
        ask_forget(a);
    }
    return rc;
}

int ask_post(struct recipe *r, struct ask *a, int timeout_ms)
{
    int rc = ask_begin_step(r, a);

    if (rc != 0) {
        return rc;
    }
    ask_ref(a);
    rc = ask_begin(a, r, timeout_ms);
    if (rc != 0) {
        ask_stop_waiting(a);
        a->refs--;                       /* the one it was born with */
    } else if (a->ended && r->e->stop) { /* nobody is left to tell it */
        rc = a->err != 0 ? a->err : PAWL_ERR_CLOSING;
    }
    ask_unref(a);
    recipe_end(r);
    return rc;
}
