/* SPDX-License-Identifier: Apache-2.0 */
/* users_latch.c - those who want to lead. */
#include "pawl/election.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"

struct candidate {
    struct pawl_latch *latch;
    bool told; /* that it leads */
    bool was_leader;
};

static void leads(struct pawl_latch *l, uint64_t token, void *user)
{
    struct user *u = user;
    struct candidate *c = u->own;

    if (!user_lives(u)) {
        return;
    }
    world_note(u->id, "leader", (int64_t)token);
    if (c->told || token != pawl_grant_token(pawl_latch_grant(l))) {
        world_violated("user %d was told twice that it leads, or with another token", u->id);
    }
    c->told = true;
    c->was_leader = true;
    u->wake_ms = sim_now_ms(u->sim) + sim_below(u->sim, u->sim->think_ms);
    u->sim->n_done++;
}

static void lost(struct pawl_latch *l, void *user)
{
    struct user *u = user;
    struct candidate *c = u->own;

    (void)l;
    if (!user_lives(u)) {
        return;
    }
    world_note(u->id, "not leader", 0);
    if (!c->told) {
        world_violated("user %d lost what it never had", u->id);
    }
    c->told = false;
}

static void failed(struct pawl_latch *l, int err, void *user)
{
    const struct user *u = user;

    (void)l;
    if (user_lives(u) && !sim_may_be_refused(u->sim, err)) {
        world_violated("user %d: latch says %s", u->id, pawl_error_name(err));
    }
}

static void start(struct user *u)
{
    struct candidate *c = u->own;
    struct pawl_latch_options o = {.size = sizeof(o),
                                   .id = "somebody",
                                   .doubt =
                                       sim_chance(u->sim, 2) ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP,
                                   .on_leader = leads,
                                   .on_lost = lost,
                                   .on_error = failed,
                                   .arg = u};

    *c = (struct candidate){0};
    if (pawl_latch_new(user_client(u), u->sim->things[u->thing].path, &o, &c->latch) != 0 ||
        pawl_latch_start(c->latch) != 0) {
        world_violated("user %d could not start a latch", u->id);
    }
    world_note(u->id, "start", 0);
}

static void free_latch(struct user *u)
{
    struct candidate *c = u->own;
    struct pawl_latch *l = c->latch;

    world_note(u->id, "free", 0);
    c->latch = NULL;
    pawl_latch_free(l);
    c->told = false;
}

/* Calm: who has led for a moment goes; each comes to it. */
static void act(struct user *u)
{
    struct candidate *c = u->own;
    struct sim *s = u->sim;

    if (c->latch == NULL) {
        if (!s->calm || u->takes_up) {
            u->takes_up = false;
            start(u);
        }
    } else if (s->calm ? c->told && pawl_latch_is_leader(c->latch)
                       : sim_chance(s, c->told ? 4 : 30)) {
        if (sim_chance(s, 3)) {
            pawl_latch_close(c->latch, PAWL_LATCH_CLOSE_SILENT);
        }
        free_latch(u);
    }
}

static bool is_idle(const struct user *u)
{
    return ((const struct candidate *)u->own)->latch == NULL && !u->takes_up;
}

/* At most one. */
static void check(struct sim *s)
{
    const struct user *leader[MAX_THINGS] = {NULL};
    struct user *u;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        const struct candidate *c = u->own;

        s->w->running = u->process->machine; /* by its clocks, and not by somebody else's */
        if (c->latch == NULL || !user_holds(u, pawl_latch_grant(c->latch)) ||
            !pawl_latch_is_leader(c->latch)) {
            continue;
        }
        if (leader[u->thing] != NULL) {
            world_violated("users %d and %d lead at the same time", leader[u->thing]->id, u->id);
        }
        leader[u->thing] = u;
    }
}

const struct kind latch_kind = {
    .name = "latch",
    .user_bytes = sizeof(struct candidate),
    .act = act,
    .is_idle = is_idle,
    .free = free_latch,
    .check = check,
    .bears_refusals = true,
    .can_be_handed_over = true,
    .mixes_compression = true,
};
