/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/prepare.h"

enum { WATCH_OWN_AFTER_MS = 50, IDENTITY_BYTES = 256 };

/* ---- holders ---- */

static void settled(struct contender *c, int err);
static void revoked(struct contender *c);

static struct holder *new_holder(struct pawl_lock *l, pthread_t thread)
{
    struct holder *h = calloc(1, sizeof(*h));

    if (h == NULL) {
        return NULL;
    }
    h->lock = l;
    h->thread = thread;
    list_init(&h->acquires);
    contender_init(&h->contender, &l->r, &l->contender);
    h->contender.settled = settled;
    h->contender.revoked = l->o.on_revoke == NULL ? NULL : revoked;
    h->contender.grant.doubt = l->o.doubt;
    h->contender.grant.fn = l->o.on_grant;
    h->contender.grant.arg = l->o.on_grant_arg;
    list_push_back(&l->holders, &h->link);
    return h;
}

static void free_holder(struct holder *h)
{
    list_remove(&h->link);
    contender_fini(&h->contender);
    free(h);
}

struct holder *lock_holder(const struct pawl_lock *l, pthread_t thread)
{
    struct list *item;

    list_for_each (item, &l->holders) {
        struct holder *h = container_of(item, struct holder, link);

        if (l->o.owner == PAWL_OWNER_HANDLE || pthread_equal(h->thread, thread) != 0) {
            return h;
        }
    }
    return NULL;
}

/* A thread's holder goes with its last level; the handle's stays, since its grant does. A note
 * about the grant that is still to end keeps it, too: the next release or free will find it. */
static void drop_if_unused(struct holder *h)
{
    if (h->lock->o.owner == PAWL_OWNER_THREAD && h->depth == 0 && list_empty(&h->acquires) &&
        h->contender.state == CONTENDER_IDLE && h->n_ending == 0 &&
        h->contender.grant.n_notes == 0) {
        free_holder(h);
    }
}

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

/* A try has failed; others may have come meanwhile who want to wait. */
static int end_tries(struct holder *h)
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

static void settled(struct contender *c, int err)
{
    struct holder *h = container_of(c, struct holder, contender);

    if (err == PAWL_ERR_OPERATION_TIMEOUT) {
        err = end_tries(h);
        if (err == 0) {
            drop_if_unused(h);
            return;
        }
    }
    end_all(h, err);
    drop_if_unused(h);
}

/* Nobody waits any more: out of the queue. */
static void stop_if_unwanted(struct holder *h)
{
    if (list_empty(&h->acquires) && h->depth == 0) {
        contender_stop(&h->contender);
        drop_if_unused(h);
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

int lock_start(struct pawl_lock *l, pthread_t thread, struct acquire *a, int timeout_ms)
{
    struct holder *h = lock_holder(l, thread);
    int rc;

    if (l->r.freed) {
        return PAWL_ERR_CANCELLED;
    }
    h = h != NULL ? h : new_holder(l, thread);
    if (h == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    a->holder = h;
    a->is_try = timeout_ms == 0;
    timer_init(&a->timer, too_late, a);
    list_push_back(&h->acquires, &a->link);
    if (h->depth > 0) {
        end_acquire(a, h->contender.grant.state == PAWL_GRANT_LOST ? PAWL_ERR_LOST : 0);
        drop_if_unused(h);
        return 0;
    }
    rc = enter_queue(h, timeout_ms);
    if (rc != 0) {
        list_remove(&a->link);
        drop_if_unused(h);
        return rc;
    }
    if (timeout_ms > 0) {
        timer_set(l->r.e, &a->timer, recipe_now_ms() + timeout_ms);
    }
    return 0;
}

int pawl_lock_acquire(struct pawl_lock *l, int timeout_ms)
{
    struct acquire a = {.lock = l};
    struct waiter w;
    int rc = recipe_begin(l == NULL ? NULL : &l->r);

    if (rc != 0) {
        return rc;
    }
    if (step_would_deadlock(l->r.e)) {
        recipe_end(&l->r);
        return PAWL_ERR_WOULD_DEADLOCK;
    }
    waiter_init(&w);
    a.waiter = &w;
    list_init(&a.link);
    rc = lock_start(l, pthread_self(), &a, timeout_ms);
    if (rc == 0) {
        recipe_wait(&l->r, &w, -1); /* its own timer ends it */
        rc = a.err;
    }
    waiter_fini(&w);
    recipe_end(&l->r);
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
        rc = lock_start(l, pthread_self(), a, timeout_ms);
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

static void cancel_all(struct pawl_lock *l)
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
        cancel_all(l);
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

int lock_release(struct pawl_lock *l, pthread_t thread, struct acquire *a, bool *ended)
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
        drop_if_unused(h);
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
    if (a == NULL || step_would_deadlock(l->r.e)) {
        rc = a == NULL ? PAWL_ERR_NO_MEMORY : PAWL_ERR_WOULD_DEADLOCK;
        free(a);
        recipe_end(&l->r);
        return rc;
    }
    waiter_init(&w);
    a->waiter = &w;
    rc = lock_release(l, pthread_self(), a, &ended);
    if (!ended && recipe_wait(&l->r, &w, l->r.timeout_ms) != 0) {
        a->lock = NULL;
        rc = PAWL_ERR_OPERATION_TIMEOUT;
    } else {
        rc = rc != 0 ? rc : a->err;
        free(a);
    }
    waiter_fini(&w);
    recipe_end(&l->r);
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
    rc = a == NULL ? PAWL_ERR_NO_MEMORY : lock_release(l, pthread_self(), a, &ended);
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

/* ---- revocation ---- */

static void tell_revoked(void *lock)
{
    struct pawl_lock *l = lock;

    recipe_note_begin(&l->r);
    if (!l->r.freed) {
        recipe_calling(&l->r);
        l->o.on_revoke(l, l->o.on_revoke_arg);
        recipe_called(&l->r);
    }
    recipe_note_end(&l->r);
}

static void revoked(struct contender *c)
{
    struct pawl_lock *l = container_of(c, struct holder, contender)->lock;

    recipe_post(&l->r, &l->revoke_note);
}

int pawl_lock_revoke(struct pawl_client *c, const char *path)
{
    return pawl_set(c, PAWL_SET(.path = path, .data = {"__REVOKE__", 10}), NULL);
}

/* ---- life ---- */

static void destroy(struct recipe *r)
{
    struct pawl_lock *l = container_of(r, struct pawl_lock, r);

    while (!list_empty(&l->holders)) {
        free_holder(container_of(l->holders.next, struct holder, link));
    }
    recipe_fini(r);
    free(l->base);
    free(l->marker);
    free(l->data);
    free(l);
}

static bool driver_holds(const struct contender *c, const struct pawl_strings *names, size_t own,
                         size_t *watch)
{
    const struct pawl_lock_driver *d = ((const struct pawl_lock *)c->o.rule_arg)->o.driver;

    return d->holds(names, own, watch, d->arg);
}

static const char *driver_key(const struct contender *c, const char *name)
{
    const struct pawl_lock_driver *d = ((const struct pawl_lock *)c->o.rule_arg)->o.driver;

    return d->order_key(name, c->o.marker, d->arg);
}

/* Curator's revocable lock has a node without data. */
static int take_data(struct pawl_lock *l)
{
    size_t len = l->o.data.len;

    l->data = calloc(1, len > IDENTITY_BYTES ? len : IDENTITY_BYTES);
    if (l->data == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (l->o.on_revoke != NULL) {
        len = 0;
    } else if (l->o.data.data != NULL) {
        memcpy(l->data, l->o.data.data, len);
    } else {
        identity_text(l->data, IDENTITY_BYTES);
        len = strlen(l->data);
    }
    l->contender.data = (struct pawl_bytes){l->data, len};
    return 0;
}

static int fill(struct pawl_lock *l, const char *path)
{
    l->base = recipe_copy(path);
    l->marker = recipe_copy(l->o.marker == NULL ? "lock-" : l->o.marker);
    if (l->base == NULL || l->marker == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    l->contender = (struct contender_options){
        .base = l->base,
        .marker = l->marker,
        .revocable = l->o.on_revoke != NULL,
        .permits = l->o.permits > 0 ? l->o.permits : 1,
        .delay_ms = l->o.delay_ms,
        .watch_own_after_ms = WATCH_OWN_AFTER_MS,
        .rule_arg = l,
    };
    if (l->o.driver != NULL) {
        l->rule = (struct contender_rule){
            .holds = l->o.driver->holds == NULL ? NULL : driver_holds,
            .order_key = l->o.driver->order_key == NULL ? NULL : driver_key,
        };
        l->contender.rule = &l->rule;
    }
    return take_data(l);
}

int lock_new(struct pawl_client *c, const char *path, const struct pawl_lock_options *options,
             struct pawl_lock **out)
{
    struct pawl_lock *l = calloc(1, sizeof(*l));
    int rc = l == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&l->r, c, destroy);

    if (rc != 0) {
        free(l);
        return rc;
    }
    prepare_take_struct(&l->o, sizeof(l->o), options);
    list_init(&l->holders);
    note_init(&l->revoke_note, tell_revoked, l);
    rc = fill(l, path);
    if (rc == 0 && l->o.owner == PAWL_OWNER_HANDLE && new_holder(l, pthread_self()) == NULL) {
        rc = PAWL_ERR_NO_MEMORY;
    }
    if (rc != 0) {
        destroy(&l->r);
        return rc;
    }
    *out = l;
    return 0;
}

void lock_set_rule(struct pawl_lock *l, const char *also, const struct contender_rule *rule)
{
    struct list *item;

    l->contender.also = also;
    l->contender.rule = rule;
    list_for_each (item, &l->holders) {
        container_of(item, struct holder, link)->contender.o = l->contender;
    }
}

int pawl_lock_new(struct pawl_client *c, const char *path, const struct pawl_lock_options *options,
                  struct pawl_lock **out)
{
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return lock_new(c, path, options, out);
}

static void shut(struct recipe *r)
{
    struct pawl_lock *l = container_of(r, struct pawl_lock, r);
    struct list *item;

    cancel_all(l);
    list_for_each (item, &l->holders) {
        struct holder *h = container_of(item, struct holder, link);

        h->depth = 0;
        contender_stop(&h->contender);
    }
}

void lock_free(struct pawl_lock *l)
{
    recipe_free(l == NULL ? NULL : &l->r, shut);
}

void pawl_lock_free(struct pawl_lock *l)
{
    if (l != NULL && l->owner == NULL) {
        lock_free(l);
    }
}

/* ---- questions ---- */

struct pawl_grant *pawl_lock_grant(const struct pawl_lock *l)
{
    struct holder *h;

    if (l == NULL || recipe_look(&l->r) != 0) {
        return NULL;
    }
    h = lock_holder(l, pthread_self());
    recipe_looked(&l->r);
    return h == NULL ? NULL : &h->contender.grant;
}

bool pawl_lock_held(const struct pawl_lock *l)
{
    return pawl_grant_held(pawl_lock_grant(l));
}

uint64_t pawl_lock_token(const struct pawl_lock *l)
{
    return pawl_grant_token(pawl_lock_grant(l));
}

int pawl_lock_depth(const struct pawl_lock *l)
{
    struct holder *h;
    int depth;

    if (l == NULL || recipe_look(&l->r) != 0) {
        return 0;
    }
    h = lock_holder(l, pthread_self());
    depth = h == NULL ? 0 : h->depth;
    recipe_looked(&l->r);
    return depth;
}
