/* SPDX-License-Identifier: Apache-2.0 */
/* lock_use.c - acquiring and releasing, and telling who asked for it. */
#include <stdlib.h>

#include "recipes/lock/lock.h"

/* ---- telling ---- */

/* Exactly once, whatever happens: also to him who has freed the lock meanwhile. */
static void run_done(void *acquire)
{
    struct acquire *a = acquire;
    struct pawl_lock *l = a->lock;

    recipe_note_begin(&l->r);
    if (l->r.freed) {
        a->err = PAWL_ERR_CANCELLED;
    }
    recipe_calling(&l->r);
    a->done(l, a->err, a->arg);
    recipe_called(&l->r);
    free(a);
    recipe_note_end(&l->r);
}

void lock_acquire_init(struct acquire *a, struct pawl_lock *l)
{
    *a = (struct acquire){.lock = l};
    list_init(&a->link);
}

static struct acquire *new_acquire(struct pawl_lock *l, pawl_lock_fn done, void *arg)
{
    struct acquire *a = calloc(1, sizeof(*a));

    if (a != NULL) {
        lock_acquire_init(a, l);
        a->done = done;
        a->arg = arg;
        note_init(&a->note, run_done, a);
    }
    return a;
}

static void tell_done(struct acquire *a, int err)
{
    a->err = err;
    if (a->waiter != NULL) {
        waiter_finish(a->lock->r.e, a->waiter);
    } else if (a->step != NULL) {
        a->step(a, err);
    } else if (a->done == NULL || a->lock->r.e->stop) {
        free(a); /* nobody asks, or nobody is left to be told: see pawl_lock_release_async() */
    } else {
        recipe_post(&a->lock->r, &a->note);
    }
}

/* ---- acquiring ---- */

static void end_acquire(struct acquire *a, int err)
{
    struct holder *h = a->holder;

    list_remove(&a->link);
    timer_clear(a->lock->r.e, &a->timer);
    if (err == 0) {
        h->depth++;
    }
    h->n_ending++;
    tell_done(a, err);
    h->n_ending--;
}

static void end_all(struct holder *h, int err)
{
    while (!list_empty(&h->acquires)) {
        end_acquire(container_of(h->acquires.next, struct acquire, link), err);
    }
}

/* A try has failed, or the lock has gone again; others may want to wait. */
static int lock_end_tries(struct holder *h)
{
    struct list tries, *item, *next;

    list_init(&tries);
    for (item = h->acquires.next; item != &h->acquires; item = next) {
        next = item->next;
        if (container_of(item, struct acquire, link)->is_try) {
            list_remove(item);
            list_push_back(&tries, item);
        }
    }
    h->n_ending++;
    while (!list_empty(&tries)) {
        end_acquire(container_of(tries.next, struct acquire, link), PAWL_ERR_OPERATION_TIMEOUT);
    }
    h->n_ending--;
    return list_empty(&h->acquires) || h->contender.state != CONTENDER_IDLE
               ? 0
               : contender_start(&h->contender, false);
}

/* One who is told may give it back at once: it is not there for the others then. */
static void grant_all(struct holder *h)
{
    while (!list_empty(&h->acquires) && h->contender.state == CONTENDER_HELD) {
        end_acquire(container_of(h->acquires.next, struct acquire, link), 0);
    }
}

void lock_settled(struct contender *c, int err)
{
    struct holder *h = container_of(c, struct holder, contender);

    if (err == 0) {
        grant_all(h);
    }
    if (err == PAWL_ERR_OPERATION_TIMEOUT || err == 0) {
        err = lock_end_tries(h);
    }
    if (err != 0) {
        end_all(h, err);
    }
    lock_drop_if_unused(h);
}

/* Nobody waits any more: out of the queue. */
static void stop_if_unwanted(struct holder *h)
{
    if (list_empty(&h->acquires) && h->depth == 0) {
        contender_stop(&h->contender);
        lock_drop_if_unused(h);
    }
}

void lock_stop(struct acquire *a, int err)
{
    struct holder *h = a->holder;

    end_acquire(a, err);
    stop_if_unwanted(h);
}

static void too_late(void *acquire)
{
    lock_stop(acquire, PAWL_ERR_OPERATION_TIMEOUT);
}

static int enter_queue(struct holder *h, int timeout_ms)
{
    struct pawl_lock *l = h->lock;
    int rc = l->admit == NULL ? 0 : l->admit(h);

    if (rc == 0 && h->contender.state == CONTENDER_IDLE) {
        rc = contender_start(&h->contender, timeout_ms == 0);
    } else if (rc == 0 && timeout_ms == 0) {
        rc = PAWL_ERR_OPERATION_TIMEOUT; /* another acquire of this handle waits in the queue */
    }
    return rc;
}

/* A try that gets no answer has the client's patience. */
int lock_start(struct pawl_lock *l, uint64_t thread, struct acquire *a, int timeout_ms)
{
    int patience_ms = timeout_ms == 0 ? l->r.timeout_ms : timeout_ms;
    struct holder *h = lock_holder(l, thread);
    int rc;

    if (l->r.freed) {
        return PAWL_ERR_CANCELLED;
    }
    h = h != NULL ? h : lock_new_holder(l, thread);
    if (h == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    a->holder = h;
    a->is_try = timeout_ms == 0;
    timer_init(&a->timer, too_late, a);
    list_push_back(&h->acquires, &a->link);
    if (h->depth > 0) {
        end_acquire(a, h->contender.grant.state == PAWL_GRANT_LOST ? PAWL_ERR_LOST : 0);
        lock_drop_if_unused(h);
        return 0;
    }
    rc = enter_queue(h, timeout_ms);
    if (rc != 0) {
        list_remove(&a->link);
        lock_drop_if_unused(h);
        return rc;
    }
    if (patience_ms >= 0) {
        timer_set(l->r.e, &a->timer, machine_now_ms() + patience_ms);
    }
    return 0;
}

/* Whoever waits holds a reference: it may be freed meanwhile. */
static void end_waiting(struct pawl_lock *l)
{
    struct engine *e = l->r.e;

    recipe_unref(&l->r);
    step_end(e);
}

int pawl_lock_acquire(struct pawl_lock *l, int timeout_ms)
{
    struct acquire a;
    struct waiter w;
    int rc = recipe_begin(l == NULL ? NULL : &l->r);

    if (rc != 0) {
        return rc;
    }
    if (dispatch_would_deadlock(l->r.e)) {
        recipe_end(&l->r);
        return PAWL_ERR_WOULD_DEADLOCK;
    }
    recipe_ref(&l->r);
    waiter_init(&w);
    lock_acquire_init(&a, l);
    a.waiter = &w;
    rc = lock_start(l, recipe_thread(), &a, timeout_ms);
    if (rc == 0) {
        recipe_wait(&l->r, &w, -1); /* its own timer ends it */
        if (!w.done) {
            lock_stop(&a, PAWL_ERR_CANCELLED); /* the handle was interrupted */
        }
        rc = a.err == 0 && l->r.freed ? PAWL_ERR_CANCELLED : a.err;
    }
    waiter_fini(&w);
    end_waiting(l);
    return rc;
}

int pawl_lock_acquire_async(struct pawl_lock *l, int timeout_ms, pawl_lock_fn done, void *arg)
{
    struct acquire *a;
    int rc = recipe_begin(l == NULL ? NULL : &l->r);

    if (rc != 0) {
        return rc;
    }
    a = done == NULL || l->o.owner == PAWL_OWNER_THREAD ? NULL : new_acquire(l, done, arg);
    if (a == NULL) {
        rc = done == NULL || l->o.owner == PAWL_OWNER_THREAD ? PAWL_ERR_BAD_ARGUMENTS
                                                             : PAWL_ERR_NO_MEMORY;
    } else {
        rc = lock_start(l, recipe_thread(), a, timeout_ms);
        if (rc == PAWL_ERR_OPERATION_TIMEOUT) { /* an outcome like others, told like others */
            tell_done(a, rc);
            rc = 0;
        } else if (rc != 0) {
            free(a);
        }
    }
    recipe_end(&l->r);
    return rc;
}

void lock_cancel_all(struct pawl_lock *l)
{
    struct list *item, *next;

    for (item = l->holders.next; item != &l->holders; item = next) {
        struct holder *h = container_of(item, struct holder, link);

        next = item->next;
        end_all(h, PAWL_ERR_CANCELLED);
        stop_if_unwanted(h);
    }
}

void pawl_lock_cancel(struct pawl_lock *l)
{
    if (l != NULL && recipe_begin(&l->r) == 0) {
        lock_cancel_all(l);
        recipe_end(&l->r);
    }
}

/* ---- releasing ---- */

static void released(void *acquire, int err)
{
    struct acquire *a = acquire;

    if (a->lock == NULL) {
        free(a); /* who waited for it has gone */
        return;
    }
    tell_done(a, err);
}

int lock_release(struct pawl_lock *l, uint64_t thread, struct acquire *a, bool *ended)
{
    struct holder *h = lock_holder(l, thread);
    bool lost;

    *ended = true;
    if (h == NULL || h->depth == 0) {
        return PAWL_ERR_NOT_HELD;
    }
    lost = h->contender.grant.state == PAWL_GRANT_LOST;
    if (--h->depth == 0) {
        *ended = lost;
        contender_release(&h->contender, lost || a == NULL ? NULL : released, a);
        lock_drop_if_unused(h);
    }
    return lost ? PAWL_ERR_LOST : 0;
}

/* It is not on the stack: the answer may come after the caller has lost patience. */
int pawl_lock_release(struct pawl_lock *l)
{
    struct acquire *a;
    struct waiter w;
    bool ended;
    int rc = recipe_begin(l == NULL ? NULL : &l->r);

    if (rc != 0) {
        return rc;
    }
    a = new_acquire(l, NULL, NULL);
    if (a == NULL || dispatch_would_deadlock(l->r.e)) {
        rc = a == NULL ? PAWL_ERR_NO_MEMORY : PAWL_ERR_WOULD_DEADLOCK;
        free(a);
        recipe_end(&l->r);
        return rc;
    }
    recipe_ref(&l->r);
    waiter_init(&w);
    a->waiter = &w;
    rc = lock_release(l, recipe_thread(), a, &ended);
    if (!ended && recipe_wait(&l->r, &w, l->r.timeout_ms) != 0) {
        a->lock = NULL;
        rc = PAWL_ERR_OPERATION_TIMEOUT;
    } else {
        rc = rc != 0 ? rc : a->err;
        free(a);
    }
    waiter_fini(&w);
    end_waiting(l);
    return rc;
}

int pawl_lock_release_async(struct pawl_lock *l, pawl_lock_fn done, void *arg)
{
    struct acquire *a;
    bool ended;
    int rc = recipe_begin(l == NULL ? NULL : &l->r);

    if (rc != 0) {
        return rc;
    }
    a = new_acquire(l, l->r.e->stop ? NULL : done, arg);
    rc = a == NULL ? PAWL_ERR_NO_MEMORY : lock_release(l, recipe_thread(), a, &ended);
    if (a != NULL && rc == PAWL_ERR_NOT_HELD) {
        free(a);
    } else if (a != NULL) {
        rc = l->r.e->stop ? PAWL_ERR_CLOSING : 0; /* released all the same, with its session */
        if (ended) {
            tell_done(a, rc);
        }
    }
    recipe_end(&l->r);
    return rc;
}
