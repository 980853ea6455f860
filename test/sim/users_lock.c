/* SPDX-License-Identifier: Apache-2.0 */
/* users_lock.c - those who lock. */
#include "pawl/error.h"
#include "pawl/lock.h"
#include "sim/recipe_sim.h"

struct locker {
    struct pawl_lock *lock;
    int depth, n_waiting;
    bool cancelled; /* its acquires may end so */
    int told;       /* the grant's last state */
};

static void changed(struct pawl_grant *g, enum pawl_grant_state state, void *user)
{
    struct user *u = user;
    struct locker *l = u->own;

    (void)g;
    if (user_lives(u)) {
        sim_grant_changed(u, &l->told, (int)state);
    }
}

static void make(struct user *u)
{
    struct sim *s = u->sim;
    struct locker *l = u->own;
    struct pawl_lock_options o = {.size = sizeof(o),
                                  .doubt = sim_chance(s, 2) ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP,
                                  .delay_ms = s->things[u->thing].number != 0 ? 200 : 0,
                                  .permits = (int)s->things[u->thing].maybe,
                                  .on_grant = changed,
                                  .on_grant_arg = u};

    *l = (struct locker){0};
    if (pawl_lock_new(user_client(u), s->things[u->thing].path, &o, &l->lock) != 0) {
        world_violated("user %d could not make a lock", u->id);
    }
}

static bool is_expected(const struct user *u, const struct asked *asked, int err)
{
    const struct locker *l = u->own;

    return err == PAWL_ERR_LOST ? l->depth > 0
                                : asked_may_end(asked, err, asked->handle != l->lock);
}

static void acquired(struct pawl_lock *lock, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct locker *l = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (!is_expected(u, asked, err)) {
        world_violated("user %d: acquire ended with %s", u->id, pawl_error_name(err));
    }
    if (lock != l->lock) {
        return; /* freed meanwhile */
    }
    l->n_waiting--;
    if (err == 0 && l->depth++ == 0) {
        l->told = PAWL_GRANT_CERTAIN;
        if (u->sim->things[u->thing].maybe == 1) {
            sim_granted(u, pawl_lock_grant(lock));
        }
        u->takes_up = false;
    }
}

static void released(struct pawl_lock *lock, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    const struct locker *l = u->own;

    if (asked_told(asked, err) && err != 0 && err != PAWL_ERR_LOST &&
        !(err == PAWL_ERR_CANCELLED && lock != l->lock)) {
        world_violated("user %d: release ended with %s", u->id, pawl_error_name(err));
    }
}

static void acquire(struct user *u)
{
    static const int timeouts[] = {-1, -1, -1, 0, 100, 1000, 5000};
    struct locker *l = u->own;
    int timeout_ms = u->takes_up ? -1 : timeouts[sim_below(u->sim, 7)];
    struct asked *asked = asked_new(u, "acquire", l->lock, timeout_ms);
    int rc = pawl_lock_acquire_async(l->lock, asked->timeout_ms, acquired, asked);

    if (rc != 0) {
        world_violated("user %d: acquire said %s", u->id, pawl_error_name(rc));
    }
    l->n_waiting++;
}

static void release(struct user *u)
{
    struct locker *l = u->own;
    struct asked *asked = asked_new(u, "release", l->lock, -1);
    int rc = pawl_lock_release_async(l->lock, released, asked);

    if (rc == PAWL_ERR_LOST) { /* of an inner level */
        asked_drop(asked);
    } else if (rc != 0) {
        world_violated("user %d: release said %s", u->id, pawl_error_name(rc));
    }
    l->depth--;
    if (l->depth == 0) {
        l->told = PAWL_GRANT_NONE;
    }
}

static void cancel(struct user *u)
{
    struct locker *l = u->own;

    asked_cancel_all(u, l->lock);
    pawl_lock_cancel(l->lock);
}

static void free_lock(struct user *u)
{
    struct locker *l = u->own;
    struct pawl_lock *lock = l->lock;

    world_note(u->id, "free", 0);
    l->lock = NULL;
    pawl_lock_free(lock);
    *l = (struct locker){0};
}

static void act(struct user *u)
{
    struct sim *s = u->sim;
    struct locker *l = u->own;

    if (l->lock == NULL) {
        make(u);
    }
    if (u->takes_up && l->depth == 0) {
        if (l->n_waiting == 0) {
            acquire(u); /* whatever it had before: it must not be left behind */
        }
    } else if (!s->calm && sim_chance(s, 40)) {
        free_lock(u);
    } else if (l->depth > 0) {
        if (!s->calm && sim_chance(s, 8)) {
            acquire(u);
        } else if (s->calm || !sim_chance(s, 4)) {
            release(u);
        }
    } else if (l->n_waiting > 0) {
        if (!s->calm && sim_chance(s, 30)) {
            cancel(u);
        } else if (!s->calm && sim_chance(s, 30)) {
            acquire(u);
        }
    } else if (!s->calm) {
        acquire(u);
    }
}

static bool is_idle(const struct user *u)
{
    const struct locker *l = u->own;

    return l->depth == 0 && l->n_waiting == 0 && !u->takes_up;
}

/* Never more than may. */
static void check(struct sim *s)
{
    int n_holders[MAX_THINGS] = {0};
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct locker *l = u->own;

        if (l->lock == NULL || !user_holds(u, pawl_lock_grant(l->lock))) {
            continue;
        }
        if (++n_holders[u->thing] > s->things[u->thing].maybe) {
            world_violated("user %d and %d others hold %s at the same time", u->id,
                           n_holders[u->thing] - 1, s->things[u->thing].path);
        }
    }
}

/* things[].number: with a delay after a holder's death; .maybe: how many may hold it at a time. */
static void begin(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].number = sim_chance(s, 4);
        s->things[i].maybe = sim_chance(s, 4) ? 2 + sim_below(s, 2) : 1;
    }
}

const struct kind lock_kind = {
    .name = "lock",
    .user_bytes = sizeof(struct locker),
    .begin = begin,
    .act = act,
    .is_idle = is_idle,
    .free = free_lock,
    .check = check,
    .bears_refusals = true,
    .can_be_handed_over = true,
    .mixes_compression = true,
};
