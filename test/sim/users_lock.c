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

    switch (err) {
    case PAWL_OK:
        return true;
    case PAWL_ERR_OPERATION_TIMEOUT:
        return asked->timeout_ms >= 0 && sim_now_ms(u->sim) >= asked->since_ms + asked->timeout_ms;
    case PAWL_ERR_CANCELLED:
        return asked->may_cancel || asked->handle != l->lock;
    case PAWL_ERR_LOST:
        return l->depth > 0;
    default:
        return false;
    }
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
        sim_granted(u, pawl_lock_grant(lock));
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
    struct asked *asked = asked_new(u, "acquire", l->lock, timeouts[sim_below(u->sim, 7)]);
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
    struct list *item;

    world_note(u->id, "cancel", 0);
    list_for_each (item, &u->sim->asked) {
        struct asked *asked = container_of(item, struct asked, link);

        asked->may_cancel = asked->may_cancel || asked->handle == l->lock;
    }
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
    if (!s->calm && sim_chance(s, 40)) {
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

    return l->depth == 0 && l->n_waiting == 0;
}

/* Never two. */
static void check(struct sim *s)
{
    const struct user *holder[MAX_THINGS] = {NULL};
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct locker *l = u->own;

        if (l->lock == NULL || !user_holds(u, pawl_lock_grant(l->lock))) {
            continue;
        }
        if (holder[u->thing] != NULL) {
            world_violated("users %d and %d hold %s at the same time", holder[u->thing]->id, u->id,
                           s->things[u->thing].path);
        }
        holder[u->thing] = u;
    }
}

static void begin(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].number = sim_chance(s, 4); /* with a delay after a holder's death */
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
};
