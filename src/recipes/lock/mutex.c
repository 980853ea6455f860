/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.c - a semaphore with one lease, and that lease. */
#include <stdlib.h>

#include "client/take.h"
#include "recipes/lock/semaphore.h"

struct pawl_mutex {
    struct pawl_semaphore s; /* first: they are freed as one */
    struct pawl_lease *lease;
};

static struct pawl_mutex *mutex_of(struct pawl_semaphore *s)
{
    return container_of(s, struct pawl_mutex, s);
}

/* ---- acquiring ---- */

/* One that is still here was lost, or there would be no other. */
static void granted(struct taking *t)
{
    struct pawl_mutex *m = mutex_of(t->s);

    if (m->lease != NULL) {
        contender_stop(&m->lease->contender);
        lease_drop(m->lease);
    }
    m->lease = t->leases[0];
}

static struct taking *new_taking(struct pawl_mutex *m)
{
    struct taking *t = m == NULL ? NULL : taking_new(&m->s, 1);

    if (t != NULL) {
        t->granted = granted;
    }
    return t;
}

int pawl_mutex_acquire(struct pawl_mutex *m, int timeout_ms)
{
    struct taking *t = new_taking(m);

    return ask_block(m == NULL ? NULL : &m->s.r, t == NULL ? NULL : &t->ask, timeout_ms, NULL,
                     NULL);
}

static void tell_acquired(struct ask *a)
{
    struct taking *t = container_of(a, struct taking, ask);

    t->mutex_done(mutex_of(t->s), a->err, t->arg);
}

int pawl_mutex_acquire_async(struct pawl_mutex *m, int timeout_ms, pawl_mutex_fn done, void *arg)
{
    struct taking *t;

    if (m == NULL || done == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    t = new_taking(m);
    if (t != NULL) {
        t->mutex_done = done;
        t->arg = arg;
        t->ask.tell = tell_acquired;
    }
    return ask_post(&m->s.r, t == NULL ? NULL : &t->ask, timeout_ms);
}

void pawl_mutex_cancel(struct pawl_mutex *m)
{
    pawl_semaphore_cancel(m == NULL ? NULL : &m->s);
}

/* ---- releasing ---- */

struct release {
    struct ask ask;
    struct pawl_mutex *m;
    pawl_mutex_fn done;
    void *arg;
};

/* The lease is not the mutex's any more before it is given back: who acquires the mutex meanwhile
 * has his own. */
static int start_release(struct ask *a)
{
    struct pawl_mutex *m = container_of(a, struct release, ask)->m;
    struct pawl_lease *lease = m->lease;

    if (lease == NULL) {
        return PAWL_ERR_NOT_HELD;
    }
    m->lease = NULL;
    lease_give_back(lease, a);
    return 0;
}

static void tell_released(struct ask *a)
{
    struct release *x = container_of(a, struct release, ask);

    x->done(x->m, a->err, x->arg);
}

static struct release *new_release(struct pawl_mutex *m, pawl_mutex_fn done, void *arg)
{
    struct release *x = ask_new(sizeof(*x), start_release);

    if (x != NULL) {
        x->m = m;
        x->done = done;
        x->arg = arg;
        x->ask.tell = done == NULL ? NULL : tell_released;
    }
    return x;
}

int pawl_mutex_release(struct pawl_mutex *m)
{
    struct release *x = new_release(m, NULL, NULL);

    return ask_block(m == NULL ? NULL : &m->s.r, x == NULL ? NULL : &x->ask,
                     m == NULL ? 0 : m->s.r.timeout_ms, NULL, NULL);
}

int pawl_mutex_release_async(struct pawl_mutex *m, pawl_mutex_fn done, void *arg)
{
    struct release *x = new_release(m, done, arg);

    return ask_post(m == NULL ? NULL : &m->s.r, x == NULL ? NULL : &x->ask, -1);
}

/* ---- life, questions ---- */

int pawl_mutex_new(struct pawl_client *c, const char *path,
                   const struct pawl_semaphore_options *options, struct pawl_mutex **out)
{
    struct pawl_semaphore_options o;
    struct pawl_semaphore *s;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    take_struct(&o, sizeof(o), options);
    o.max_leases = 1;
    o.count = NULL;
    rc = semaphore_make(sizeof(struct pawl_mutex), c, path, &o, &s);
    if (rc == 0) {
        *out = mutex_of(s);
    }
    return rc;
}

void pawl_mutex_free(struct pawl_mutex *m)
{
    pawl_semaphore_free(m == NULL ? NULL : &m->s);
}

struct pawl_grant *pawl_mutex_grant(const struct pawl_mutex *m)
{
    struct pawl_grant *g;

    if (m == NULL || recipe_look(&m->s.r) != 0) {
        return NULL;
    }
    g = m->lease == NULL ? NULL : &m->lease->contender.grant;
    recipe_looked(&m->s.r);
    return g;
}

/* The lock of the engine may be taken twice by one thread: the lease does not go meanwhile. */
bool pawl_mutex_held(const struct pawl_mutex *m)
{
    bool held;

    if (m == NULL || recipe_look(&m->s.r) != 0) {
        return false;
    }
    held = m->lease != NULL && pawl_grant_held(&m->lease->contender.grant);
    recipe_looked(&m->s.r);
    return held;
}

uint64_t pawl_mutex_token(const struct pawl_mutex *m)
{
    uint64_t token;

    if (m == NULL || recipe_look(&m->s.r) != 0) {
        return 0;
    }
    token = m->lease == NULL ? 0 : pawl_grant_token(&m->lease->contender.grant);
    recipe_looked(&m->s.r);
    return token;
}
