/* SPDX-License-Identifier: Apache-2.0 */
/* multilock.c - one acquire after the other, and back again when one fails. */
#include "pawl/multilock.h"

#include <stdlib.h>
#include <string.h>

#include "recipes/core/ask.h"
#include "recipes/lock/lock.h"

struct pawl_multilock {
    struct recipe r;
    struct pawl_lock **locks; /* a reference to each: they may be freed before us */
    size_t n;
    struct list acquires; /* struct ask: that wait */
};

/* An acquire of all. */
struct round {
    struct ask ask;
    struct pawl_multilock *m;
    uint64_t thread;
    size_t n_held;          /* the first so many are ours */
    struct acquire acquire; /* of the next one */
    pawl_multilock_fn done;
    void *arg;
};

/* A release of all: one acquire (which is what a release is, too) for each. */
struct undoing {
    struct ask ask;
    struct pawl_multilock *m;
    uint64_t thread;
    size_t n_open; /* confirmations to come */
    int err;
    pawl_multilock_fn done;
    void *arg;
    struct unlock {
        struct acquire acquire;
        struct undoing *all;
    } unlocks[];
};

/* ---- acquiring ---- */

static void undo(struct round *t)
{
    bool ended;

    while (t->n_held > 0) {
        lock_release(t->m->locks[--t->n_held], t->thread, NULL, &ended);
    }
}

static void end_round(struct round *t, int err)
{
    if (err != 0) {
        undo(t);
    }
    ask_end(&t->ask, err);
}

static void acquired(struct acquire *a, int err);

/* A try has no time for any of them; the others share one deadline, which the ask keeps. */
static void next(struct round *t)
{
    struct pawl_lock *l;
    int rc;

    if (t->n_held == t->m->n) {
        end_round(t, 0);
        return;
    }
    l = t->m->locks[t->n_held];
    lock_acquire_init(&t->acquire, l);
    t->acquire.step = acquired;
    rc = lock_start(l, t->thread, &t->acquire, t->ask.is_try ? 0 : -1);
    if (rc != 0) {
        end_round(t, rc);
    }
}

static void acquired(struct acquire *a, int err)
{
    struct round *t = container_of(a, struct round, acquire);

    if (err != 0) {
        end_round(t, err);
    } else {
        t->n_held++;
        next(t);
    }
}

static int start_round(struct ask *a)
{
    struct round *t = container_of(a, struct round, ask);

    list_push_back(&t->m->acquires, &a->link);
    next(t);
    return 0;
}

/* The acquire that waits is ended, and takes the round with it. */
static void stop_round(struct ask *a, int err)
{
    lock_stop(&container_of(a, struct round, ask)->acquire, err);
}

/* Freed after all were acquired and before anybody was told: he believes that he has none. */
static void tell_round(struct ask *a)
{
    struct round *t = container_of(a, struct round, ask);

    if (a->err == PAWL_ERR_CANCELLED) {
        while (t->n_held > 0) {
            pawl_lock_release_async(t->m->locks[--t->n_held], NULL, NULL);
        }
    }
    t->done(t->m, a->err, t->arg);
}

static struct round *new_round(struct pawl_multilock *m)
{
    struct round *t = ask_new(sizeof(*t), start_round);

    if (t != NULL) {
        t->m = m;
        t->thread = recipe_thread();
        t->ask.give_up = stop_round;
    }
    return t;
}

/* The same for one who is blocked. */
static void take_round(struct ask *a, void *unused)
{
    (void)unused;
    if (a->err == PAWL_ERR_CANCELLED) {
        undo(container_of(a, struct round, ask));
    }
}

int pawl_multilock_acquire(struct pawl_multilock *m, int timeout_ms)
{
    struct round *t = new_round(m);

    return ask_block(m == NULL ? NULL : &m->r, t == NULL ? NULL : &t->ask, timeout_ms, take_round,
                     m);
}

static bool has_threads(const struct pawl_multilock *m)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->locks[i]->o.owner == PAWL_OWNER_THREAD) {
            return true;
        }
    }
    return false;
}

int pawl_multilock_acquire_async(struct pawl_multilock *m, int timeout_ms, pawl_multilock_fn done,
                                 void *arg)
{
    struct round *t;

    if (m == NULL || done == NULL || has_threads(m)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    t = new_round(m);
    if (t == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    t->ask.tell = tell_round;
    t->done = done;
    t->arg = arg;
    return ask_post(&m->r, &t->ask, timeout_ms);
}

static void multilock_cancel_all(struct pawl_multilock *m)
{
    while (!list_empty(&m->acquires)) {
        stop_round(container_of(m->acquires.next, struct ask, link), PAWL_ERR_CANCELLED);
    }
}

void pawl_multilock_cancel(struct pawl_multilock *m)
{
    if (m != NULL && recipe_begin(&m->r) == 0) {
        multilock_cancel_all(m);
        recipe_end(&m->r);
    }
}

/* ---- releasing ---- */

/* The answer that is missing holds a reference; the last one ends it. */
static void one_open_less(struct undoing *u, int err)
{
    u->err = u->err != 0 ? u->err : err;
    if (--u->n_open == 0) {
        ask_end(&u->ask, u->err);
    }
    ask_unref(&u->ask);
}

static void unlocked(struct acquire *a, int err)
{
    one_open_less(container_of(a, struct unlock, acquire)->all, err);
}

/* All are sent at once, in reverse order, which is the order in which the server gets them. */
static int start_undoing(struct ask *a)
{
    struct undoing *u = container_of(a, struct undoing, ask);
    struct pawl_multilock *m = u->m;

    u->n_open = m->n;
    for (size_t i = m->n; i-- > 0;) {
        struct unlock *each = &u->unlocks[i];
        bool ended;
        int rc;

        lock_acquire_init(&each->acquire, m->locks[i]);
        each->acquire.step = unlocked;
        each->all = u;
        ask_ref(&u->ask);
        rc = lock_release(m->locks[i], u->thread, &each->acquire, &ended);
        if (ended) {
            one_open_less(u, rc);
        }
    }
    return 0;
}

static void tell_undoing(struct ask *a)
{
    struct undoing *u = container_of(a, struct undoing, ask);

    u->done(u->m, a->err, u->arg);
}

static struct undoing *new_undoing(struct pawl_multilock *m, pawl_multilock_fn done, void *arg)
{
    struct undoing *u =
        ask_new(sizeof(*u) + (m == NULL ? 0 : m->n) * sizeof(u->unlocks[0]), start_undoing);

    if (u != NULL) {
        u->m = m;
        u->thread = recipe_thread();
        u->done = done;
        u->arg = arg;
        u->ask.tell = done == NULL ? NULL : tell_undoing;
    }
    return u;
}

int pawl_multilock_release(struct pawl_multilock *m)
{
    struct undoing *u = new_undoing(m, NULL, NULL);

    return ask_block(m == NULL ? NULL : &m->r, u == NULL ? NULL : &u->ask,
                     m == NULL ? 0 : m->r.timeout_ms, NULL, NULL);
}

int pawl_multilock_release_async(struct pawl_multilock *m, pawl_multilock_fn done, void *arg)
{
    struct undoing *u = new_undoing(m, done, arg);

    return ask_post(m == NULL ? NULL : &m->r, u == NULL ? NULL : &u->ask, -1);
}

/* ---- life ---- */

static void multilock_destroy(struct recipe *r)
{
    struct pawl_multilock *m = container_of(r, struct pawl_multilock, r);

    for (size_t i = 0; i < m->n; i++) {
        recipe_unref(&m->locks[i]->r);
    }
    recipe_fini(r);
    free(m->locks);
    free(m);
}

static bool are_of_one_client(struct pawl_lock *const *locks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (locks[i] == NULL || locks[i]->r.e != locks[0]->r.e) {
            return false;
        }
    }
    return n > 0;
}

static int multilock_make(struct pawl_lock *const *locks, size_t n, struct pawl_multilock **out)
{
    struct pawl_multilock *m = calloc(1, sizeof(*m));
    struct pawl_lock **copy = calloc(n, sizeof(struct pawl_lock *));
    int rc = PAWL_ERR_NO_MEMORY;

    if (m != NULL && copy != NULL) {
        rc = recipe_init(&m->r, locks[0]->r.client, multilock_destroy);
    }
    if (rc != 0) {
        free(m);
        free(copy);
        return rc;
    }
    memcpy(copy, locks, n * sizeof(struct pawl_lock *));
    m->locks = copy;
    m->n = n;
    m->r.timeout_ms = locks[0]->r.timeout_ms;
    list_init(&m->acquires);
    for (size_t i = 0; i < n; i++) {
        recipe_ref(&copy[i]->r);
    }
    *out = m;
    return 0;
}

int pawl_multilock_new(struct pawl_lock *const *locks, size_t n, struct pawl_multilock **out)
{
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (locks == NULL || out == NULL || !are_of_one_client(locks, n)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_begin(&locks[0]->r);
    if (rc == 0) {
        rc = multilock_make(locks, n, out);
        recipe_end(&locks[0]->r);
    }
    return rc;
}

static void multilock_shut(struct recipe *r)
{
    multilock_cancel_all(container_of(r, struct pawl_multilock, r));
}

void pawl_multilock_free(struct pawl_multilock *m)
{
    recipe_free(m == NULL ? NULL : &m->r, multilock_shut);
}

bool pawl_multilock_held(const struct pawl_multilock *m)
{
    bool held = m != NULL;

    for (size_t i = 0; held && i < m->n; i++) {
        held = pawl_lock_held(m->locks[i]);
    }
    return held;
}
