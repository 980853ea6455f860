/* SPDX-License-Identifier: Apache-2.0 */
/* users_semaphore.c - those who take leases. */
#include "pawl/error.h"
#include "pawl/semaphore.h"
#include "sim/recipe_sim.h"

enum { MAX_LEASES = 4, MAX_HELD = 8 };

struct taker {
    struct pawl_semaphore *semaphore;
    struct pawl_lease *leases[MAX_HELD];
    int n_leases, n_waiting;
};

static void make(struct user *u)
{
    struct sim *s = u->sim;
    struct taker *t = u->own;
    struct pawl_semaphore_options o = {.size = sizeof(o),
                                       .max_leases = (int)s->things[u->thing].number,
                                       .doubt =
                                           sim_chance(s, 2) ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP};

    *t = (struct taker){0};
    if (pawl_semaphore_new(user_client(u), s->things[u->thing].path, &o, &t->semaphore) != 0) {
        world_violated("user %d could not make a semaphore", u->id);
    }
}

static bool is_expected(const struct user *u, const struct asked *asked, int err)
{
    const struct taker *t = u->own;

    switch (err) {
    case PAWL_OK:
        return true;
    case PAWL_ERR_OPERATION_TIMEOUT:
        return asked->timeout_ms >= 0 && sim_now_ms(u->sim) >= asked->since_ms + asked->timeout_ms;
    case PAWL_ERR_CANCELLED:
        return asked->may_cancel || asked->handle != t->semaphore;
    default:
        return false;
    }
}

static void acquired(struct pawl_semaphore *s, int err, struct pawl_lease *const *leases, size_t n,
                     void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct taker *t = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (!is_expected(u, asked, err) || (err == 0) != (n > 0) ||
        (err == 0 && (int64_t)n != asked->detail)) {
        world_violated("user %d: acquire ended with %s and %zu leases", u->id, pawl_error_name(err),
                       n);
    }
    if (s != t->semaphore) {
        return; /* freed meanwhile */
    }
    t->n_waiting--;
    u->sim->n_done += err == 0;
    for (size_t i = 0; i < n; i++) {
        t->leases[t->n_leases++] = leases[i];
    }
}

static void released(int err, void *arg)
{
    struct asked *asked = arg;
    const struct taker *t = asked->user->own;

    if (asked_told(asked, err) && err != 0 && err != PAWL_ERR_LOST &&
        !(err == PAWL_ERR_CANCELLED && asked->handle != t->semaphore)) {
        world_violated("user %d: release ended with %s", asked->user->id, pawl_error_name(err));
    }
}

static void acquire(struct user *u)
{
    static const int timeouts[] = {-1, -1, -1, 0, 100, 1000, 5000};
    struct sim *s = u->sim;
    struct taker *t = u->own;
    struct asked *asked = asked_new(u, "acquire", t->semaphore, timeouts[sim_below(s, 7)]);
    int rc;

    asked->detail = sim_chance(s, 3) ? 1 + sim_below(s, s->things[u->thing].number) : 1;
    rc = pawl_semaphore_acquire_async(t->semaphore, (size_t)asked->detail, asked->timeout_ms,
                                      acquired, asked);
    if (rc != 0) {
        world_violated("user %d: acquire said %s", u->id, pawl_error_name(rc));
    }
    t->n_waiting++;
}

static void release(struct user *u)
{
    struct taker *t = u->own;
    int i = (int)sim_below(u->sim, t->n_leases);
    struct pawl_lease *lease = t->leases[i];
    struct asked *asked = asked_new(u, "release", t->semaphore, -1);
    int rc;

    t->leases[i] = t->leases[--t->n_leases];
    rc = pawl_lease_release_async(lease, released, asked);
    if (rc != 0) {
        world_violated("user %d: release said %s", u->id, pawl_error_name(rc));
    }
}

static void cancel(struct user *u)
{
    struct taker *t = u->own;
    struct list *item;

    world_note(u->id, "cancel", 0);
    list_for_each (item, &u->sim->asked) {
        struct asked *asked = container_of(item, struct asked, link);

        asked->may_cancel = asked->may_cancel || asked->handle == t->semaphore;
    }
    pawl_semaphore_cancel(t->semaphore);
}

static void free_semaphore(struct user *u)
{
    struct taker *t = u->own;
    struct pawl_semaphore *s = t->semaphore;

    world_note(u->id, "free", 0);
    *t = (struct taker){0};
    pawl_semaphore_free(s);
}

static void act(struct user *u)
{
    struct sim *s = u->sim;
    struct taker *t = u->own;

    if (t->semaphore == NULL) {
        make(u);
    }
    if (!s->calm && sim_chance(s, 40)) {
        free_semaphore(u);
    } else if (t->n_leases > 0 && (s->calm || !sim_chance(s, 4))) {
        release(u);
    } else if (!s->calm && t->n_waiting > 0 && sim_chance(s, 30)) {
        cancel(u);
    } else if (!s->calm && t->n_leases == 0 && (t->n_waiting == 0 || sim_chance(s, 30)) &&
               t->n_waiting < 2) {
        acquire(u);
    }
}

static bool is_idle(const struct user *u)
{
    const struct taker *t = u->own;

    return t->n_leases == 0 && t->n_waiting == 0;
}

/* Never more than there are. */
static void check(struct sim *s)
{
    int64_t n_held[MAX_THINGS] = {0};
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct taker *t = u->own;

        for (int i = 0; i < t->n_leases; i++) {
            n_held[u->thing] += user_holds(u, pawl_lease_grant(t->leases[i]));
        }
        if (n_held[u->thing] > s->things[u->thing].number) {
            world_violated("%lld leases of %lld are held", (long long)n_held[u->thing],
                           (long long)s->things[u->thing].number);
        }
    }
}

static void begin(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].number = 1 + sim_below(s, MAX_LEASES);
    }
}

const struct kind semaphore_kind = {
    .name = "semaphore",
    .user_bytes = sizeof(struct taker),
    .begin = begin,
    .act = act,
    .is_idle = is_idle,
    .free = free_semaphore,
    .check = check,
};
