/* SPDX-License-Identifier: Apache-2.0 */
/* users_multilock.c - those who need all of the things at once. */
#include "pawl/error.h"
#include "pawl/multilock.h"
#include "sim/recipe_sim.h"

enum { AT_REST, WAITING, HAVING, GIVING_BACK };

struct collector {
    struct pawl_lock *locks[MAX_THINGS];
    struct pawl_multilock *all;
    int state;
};

static void collector_make(struct user *u)
{
    struct collector *x = u->own;
    struct sim *s = u->sim;
    struct pawl_lock_options o = {.size = sizeof(o)};

    *x = (struct collector){0};
    for (int i = 0; i < s->n_things; i++) {
        if (pawl_lock_new(user_client(u), s->things[i].path, &o, &x->locks[i]) != 0) {
            world_violated("user %d could not make a lock", u->id);
        }
    }
    if (pawl_multilock_new(x->locks, (size_t)s->n_things, &x->all) != 0) {
        world_violated("user %d could not make a multilock", u->id);
    }
}

/* All or none: who was refused has nothing, now or soon. */
static void collector_acquired(struct pawl_multilock *m, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct collector *x = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (!asked_may_end(asked, err, m != x->all)) {
        world_violated("user %d: acquire of all ended with %s", u->id, pawl_error_name(err));
    }
    if (m != x->all) {
        return;
    }
    x->state = err == 0 ? HAVING : AT_REST;
    for (int i = 0; i < u->sim->n_things; i++) {
        if (pawl_lock_depth(x->locks[i]) != (err == 0)) {
            world_violated("user %d was told %s with lock %d at depth %d", u->id,
                           pawl_error_name(err), i, pawl_lock_depth(x->locks[i]));
        }
    }
    u->sim->n_done += err == 0;
}

static void collector_acquire(struct user *u)
{
    static const int timeouts[] = {-1, -1, 0, 1000, 5000};
    struct collector *x = u->own;
    struct asked *asked = asked_new(u, "acquire", x->all, timeouts[sim_below(u->sim, 5)]);
    int rc = pawl_multilock_acquire_async(x->all, asked->timeout_ms, collector_acquired, asked);

    if (rc != 0) {
        world_violated("user %d: acquire of all said %s", u->id, pawl_error_name(rc));
    }
    x->state = WAITING;
}

static void collector_released(struct pawl_multilock *m, int err, void *arg)
{
    struct asked *asked = arg;
    struct collector *x = asked->user->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (err != 0 && err != PAWL_ERR_LOST && !(err == PAWL_ERR_CANCELLED && m != x->all)) {
        world_violated("user %d: release of all ended with %s", asked->user->id,
                       pawl_error_name(err));
    }
    if (m == x->all) {
        x->state = AT_REST;
    }
}

static void collector_release(struct user *u)
{
    struct collector *x = u->own;
    struct asked *asked = asked_new(u, "release", x->all, -1);
    int rc = pawl_multilock_release_async(x->all, collector_released, asked);

    if (rc != 0) {
        world_violated("user %d: release of all said %s", u->id, pawl_error_name(rc));
    }
    x->state = GIVING_BACK;
}

static void collector_free(struct user *u)
{
    struct collector old = *(struct collector *)u->own;

    *(struct collector *)u->own = (struct collector){0};
    pawl_multilock_free(old.all);
    for (int i = 0; i < u->sim->n_things; i++) {
        pawl_lock_free(old.locks[i]);
    }
}

static void collector_act(struct user *u)
{
    struct sim *s = u->sim;
    struct collector *x = u->own;

    if (x->all == NULL) {
        collector_make(u);
    }
    if (!s->calm && sim_chance(s, 40)) {
        collector_free(u);
    } else if (x->state == HAVING && (s->calm || !sim_chance(s, 4))) {
        collector_release(u);
    } else if (x->state == WAITING && !s->calm && sim_chance(s, 30)) {
        asked_cancel_all(u, x->all);
        pawl_multilock_cancel(x->all);
    } else if (x->state == AT_REST && !s->calm) {
        collector_acquire(u);
    }
}

static bool collector_is_idle(const struct user *u)
{
    return ((const struct collector *)u->own)->state == AT_REST;
}

/* No lock has two holders; and who has all of them has each. */
static void collector_check(struct sim *s)
{
    struct user *u;

    for (int i = 0; i < s->n_things; i++) {
        const struct user *holder = NULL;

        for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
            const struct collector *x = u->own;

            if (x->all == NULL || !user_holds(u, pawl_lock_grant(x->locks[i]))) {
                continue;
            }
            if (holder != NULL) {
                world_violated("users %d and %d hold lock %d", holder->id, u->id, i);
            }
            holder = u;
        }
    }
}

const struct kind multilock_kind = {
    .name = "multilock",
    .user_bytes = sizeof(struct collector),
    .act = collector_act,
    .is_idle = collector_is_idle,
    .free = collector_free,
    .check = collector_check,
    .mixes_compression = true,
};
