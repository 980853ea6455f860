/* SPDX-License-Identifier: Apache-2.0 */
/* users_rwlock.c - readers and writers. */
#include "pawl/error.h"
#include "pawl/rwlock.h"
#include "sim/recipe_sim.h"

enum { READ, WRITE };

struct half {
    struct pawl_lock *lock;
    int depth, n_waiting;
    int told; /* the grant's last state */
};

struct reader_writer {
    struct pawl_rwlock *rw;
    struct half halves[2];
};

static void changed(struct pawl_grant *g, enum pawl_grant_state state, void *user)
{
    struct user *u = user;
    struct reader_writer *x = u->own;
    int i = x->rw != NULL && g == pawl_lock_grant(x->halves[WRITE].lock) ? WRITE : READ;

    if (user_lives(u)) {
        sim_grant_changed(u, &x->halves[i].told, (int)state);
    }
}

static void make(struct user *u)
{
    struct sim *s = u->sim;
    struct reader_writer *x = u->own;
    struct pawl_lock_options o = {.size = sizeof(o),
                                  .doubt = sim_chance(s, 2) ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP,
                                  .on_grant = changed,
                                  .on_grant_arg = u};

    *x = (struct reader_writer){0};
    if (pawl_rwlock_new(user_client(u), s->things[u->thing].path, &o, &x->rw) != 0) {
        world_violated("user %d could not make a read/write lock", u->id);
    }
    x->halves[READ].lock = pawl_rwlock_reader(x->rw);
    x->halves[WRITE].lock = pawl_rwlock_writer(x->rw);
}

static struct half *half_of(struct reader_writer *x, const void *lock)
{
    return x->rw == NULL                   ? NULL
           : lock == x->halves[READ].lock  ? &x->halves[READ]
           : lock == x->halves[WRITE].lock ? &x->halves[WRITE]
                                           : NULL;
}

static bool is_expected(const struct user *u, const struct asked *asked, const struct half *h,
                        int err)
{
    switch (err) {
    case PAWL_OK:
        return true;
    case PAWL_ERR_OPERATION_TIMEOUT:
        return asked->timeout_ms >= 0 && sim_now_ms(u->sim) >= asked->since_ms + asked->timeout_ms;
    case PAWL_ERR_CANCELLED:
        return asked->may_cancel || h == NULL;
    case PAWL_ERR_LOST:
    case PAWL_ERR_WOULD_DEADLOCK:
        return asked->detail != 0; /* something was held when it was asked for */
    default:
        return false;
    }
}

/* A writer's token is larger than any before, a reader's than any writer's. */
static void granted(struct user *u, struct reader_writer *x, const struct half *h)
{
    struct thing *t = &u->sim->things[u->thing];
    const struct pawl_grant *g = pawl_lock_grant(h->lock);
    bool writes = h == &x->halves[WRITE];
    uint64_t token = pawl_grant_token(g);

    u->sim->n_done++;
    if (!user_holds(u, g)) {
        return;
    }
    if (writes ? token <= t->last_token : (int64_t)token < t->number) {
        world_violated("user %d got token %llu too late", u->id, (unsigned long long)token);
    }
    t->last_token = token > t->last_token ? token : t->last_token;
    t->number = writes ? (int64_t)token : t->number;
}

static void acquired(struct pawl_lock *lock, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct reader_writer *x = u->own;
    struct half *h;

    if (!asked_told(asked, err)) {
        return;
    }
    h = half_of(x, lock);
    if (!is_expected(u, asked, h, err)) {
        world_violated("user %d: %s ended with %s", u->id, asked->what, pawl_error_name(err));
    }
    if (h == NULL) {
        return;
    }
    h->n_waiting--;
    if (err == 0 && h->depth++ == 0) {
        h->told = PAWL_GRANT_CERTAIN;
        granted(u, x, h);
    }
}

static void released(struct pawl_lock *lock, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;

    if (asked_told(asked, err) && err != 0 && err != PAWL_ERR_LOST &&
        !(err == PAWL_ERR_CANCELLED && half_of(u->own, lock) == NULL)) {
        world_violated("user %d: release ended with %s", u->id, pawl_error_name(err));
    }
}

static void acquire(struct user *u, int i)
{
    static const int timeouts[] = {-1, -1, -1, 0, 100, 1000, 5000};
    struct reader_writer *x = u->own;
    struct half *h = &x->halves[i];
    struct asked *asked = asked_new(u, i == READ ? "acquire read" : "acquire write", h->lock,
                                    timeouts[sim_below(u->sim, 7)]);
    int rc;

    asked->detail = x->halves[READ].depth + x->halves[WRITE].depth + x->halves[READ].n_waiting;
    rc = pawl_lock_acquire_async(h->lock, asked->timeout_ms, acquired, asked);
    if ((rc == PAWL_ERR_WOULD_DEADLOCK || rc == PAWL_ERR_LOST) && i == WRITE &&
        x->halves[READ].depth > 0) {
        asked_drop(asked);
    } else if (rc != 0) {
        world_violated("user %d: acquire said %s", u->id, pawl_error_name(rc));
    } else {
        h->n_waiting++;
    }
}

static void release(struct user *u, int i)
{
    struct reader_writer *x = u->own;
    struct half *h = &x->halves[i];
    struct asked *asked = asked_new(u, i == READ ? "release read" : "release write", h->lock, -1);
    int rc = pawl_lock_release_async(h->lock, released, asked);

    if (rc == PAWL_ERR_LOST) { /* of an inner level */
        asked_drop(asked);
    } else if (rc != 0) {
        world_violated("user %d: release said %s", u->id, pawl_error_name(rc));
    }
    h->depth--;
    if (h->depth == 0) {
        h->told = PAWL_GRANT_NONE;
    }
}

static void free_rwlock(struct user *u)
{
    struct reader_writer *x = u->own;
    struct pawl_rwlock *rw = x->rw;

    world_note(u->id, "free", 0);
    x->rw = NULL;
    pawl_rwlock_free(rw);
    *x = (struct reader_writer){0};
}

static void cancel(struct user *u, int i)
{
    struct reader_writer *x = u->own;
    struct list *item;

    world_note(u->id, "cancel", i);
    list_for_each (item, &u->sim->asked) {
        struct asked *asked = container_of(item, struct asked, link);

        asked->may_cancel = asked->may_cancel || asked->handle == x->halves[i].lock;
    }
    pawl_lock_cancel(x->halves[i].lock);
}

static void act_in_trouble(struct user *u)
{
    struct sim *s = u->sim;
    struct reader_writer *x = u->own;
    struct half *r = &x->halves[READ], *w = &x->halves[WRITE];

    if (sim_chance(s, 40)) {
        free_rwlock(u);
    } else if (r->n_waiting + w->n_waiting > 0) {
        if (sim_chance(s, 30)) {
            cancel(u, r->n_waiting > 0 ? READ : WRITE);
        } else if (w->depth + r->depth > 0 && sim_chance(s, 4)) {
            release(u, w->depth > 0 ? WRITE : READ);
        } else if (sim_chance(s, 40)) {
            acquire(u, (int)sim_below(s, 2));
        }
    } else if (w->depth > 0 && sim_chance(s, 3)) {
        acquire(u, sim_chance(s, 4) ? WRITE : READ);
    } else if (w->depth + r->depth == 0) {
        acquire(u, sim_chance(s, 3) ? WRITE : READ);
    } else if (sim_chance(s, 8)) {
        acquire(u, (int)sim_below(s, 2));
    } else {
        release(u, w->depth > 0 && (r->depth == 0 || sim_chance(s, 2)) ? WRITE : READ);
    }
}

static void act(struct user *u)
{
    struct reader_writer *x = u->own;

    if (x->rw == NULL) {
        make(u);
    }
    if (!u->sim->calm) {
        act_in_trouble(u);
    } else if (x->halves[WRITE].depth > 0) {
        release(u, WRITE);
    } else if (x->halves[READ].depth > 0) {
        release(u, READ);
    }
}

static bool is_idle(const struct user *u)
{
    const struct reader_writer *x = u->own;

    return x->halves[READ].depth + x->halves[READ].n_waiting + x->halves[WRITE].depth +
               x->halves[WRITE].n_waiting ==
           0;
}

/* A writer and nobody else, or readers. */
static void check(struct sim *s)
{
    const struct user *reader[MAX_THINGS] = {NULL}, *writer[MAX_THINGS] = {NULL}, *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct reader_writer *x = u->own;
        bool reads = x->rw != NULL && user_holds(u, pawl_lock_grant(x->halves[READ].lock));
        bool writes = x->rw != NULL && user_holds(u, pawl_lock_grant(x->halves[WRITE].lock));
        const struct user *r = reader[u->thing], *w = writer[u->thing];

        if ((writes && (r != NULL || w != NULL)) || (reads && w != NULL)) {
            world_violated("user %d %s while user %d %s", u->id, writes ? "writes" : "reads",
                           w != NULL ? w->id : r->id, w != NULL ? "writes" : "reads");
        }
        reader[u->thing] = reads ? u : r;
        writer[u->thing] = writes ? u : w;
    }
}

const struct kind rwlock_kind = {
    .name = "rwlock",
    .user_bytes = sizeof(struct reader_writer),
    .act = act,
    .is_idle = is_idle,
    .free = free_rwlock,
    .check = check,
};
