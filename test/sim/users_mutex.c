/* SPDX-License-Identifier: Apache-2.0 */
/* users_mutex.c - those who lock what is not re-entrant. */
#include "pawl/error.h"
#include "pawl/semaphore.h"
#include "sim/recipe_sim.h"

struct mutex_user {
    struct pawl_mutex *mutex;
    int n_waiting;
    bool has; /* it was told so, and has not released */
};

static void mutex_make(struct user *u)
{
    struct mutex_user *x = u->own;
    struct pawl_semaphore_options o = {
        .size = sizeof(o), .doubt = sim_chance(u->sim, 2) ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP};

    *x = (struct mutex_user){0};
    if (pawl_mutex_new(user_client(u), u->sim->things[u->thing].path, &o, &x->mutex) != 0) {
        world_violated("user %d could not make a mutex", u->id);
    }
}

static void mutex_acquired(struct pawl_mutex *m, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct mutex_user *x = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (!asked_may_end(asked, err, m != x->mutex)) {
        world_violated("user %d: acquire ended with %s", u->id, pawl_error_name(err));
    }
    if (m != x->mutex) {
        return; /* freed meanwhile */
    }
    x->n_waiting--;
    if (err == 0) {
        x->has = true;
        sim_granted(u, pawl_mutex_grant(m));
    }
}

static void mutex_acquire(struct user *u)
{
    static const int timeouts[] = {-1, -1, -1, 0, 100, 1000, 5000};
    struct mutex_user *x = u->own;
    struct asked *asked = asked_new(u, "acquire", x->mutex, timeouts[sim_below(u->sim, 7)]);
    int rc = pawl_mutex_acquire_async(x->mutex, asked->timeout_ms, mutex_acquired, asked);

    if (rc != 0) {
        world_violated("user %d: acquire said %s", u->id, pawl_error_name(rc));
    }
    x->n_waiting++;
}

static void mutex_released(struct pawl_mutex *m, int err, void *arg)
{
    struct asked *asked = arg;
    const struct mutex_user *x = asked->user->own;

    if (asked_told(asked, err) && err != 0 && err != PAWL_ERR_LOST &&
        !(err == PAWL_ERR_CANCELLED && m != x->mutex)) {
        world_violated("user %d: release ended with %s", asked->user->id, pawl_error_name(err));
    }
}

static void mutex_release(struct user *u)
{
    struct mutex_user *x = u->own;
    struct asked *asked = asked_new(u, "release", x->mutex, -1);
    int rc = pawl_mutex_release_async(x->mutex, mutex_released, asked);

    if (rc != 0) {
        world_violated("user %d: release said %s", u->id, pawl_error_name(rc));
    }
    x->has = false;
}

static void mutex_free(struct user *u)
{
    struct mutex_user *x = u->own;
    struct pawl_mutex *m = x->mutex;

    *x = (struct mutex_user){0};
    pawl_mutex_free(m);
}

static void mutex_act(struct user *u)
{
    struct sim *s = u->sim;
    struct mutex_user *x = u->own;

    if (x->mutex == NULL) {
        mutex_make(u);
    }
    if (!s->calm && sim_chance(s, 40)) {
        mutex_free(u);
    } else if (x->has) {
        if (s->calm || !sim_chance(s, 4)) {
            mutex_release(u);
        }
    } else if (x->n_waiting > 0) {
        if (!s->calm && sim_chance(s, 30)) {
            asked_cancel_all(u, x->mutex);
            pawl_mutex_cancel(x->mutex);
        }
    } else if (!s->calm) {
        mutex_acquire(u);
    }
}

static bool mutex_is_idle(const struct user *u)
{
    const struct mutex_user *x = u->own;

    return !x->has && x->n_waiting == 0;
}

static const struct pawl_grant *mutex_grant(const struct user *u)
{
    const struct mutex_user *x = u->own;

    return x->mutex != NULL && pawl_mutex_held(x->mutex) ? pawl_mutex_grant(x->mutex) : NULL;
}

static void mutex_check(struct sim *s)
{
    sim_check_one_holder(s, mutex_grant);
}

const struct kind mutex_kind = {
    .name = "mutex",
    .user_bytes = sizeof(struct mutex_user),
    .act = mutex_act,
    .is_idle = mutex_is_idle,
    .free = mutex_free,
    .check = mutex_check,
    .mixes_compression = true,
};
