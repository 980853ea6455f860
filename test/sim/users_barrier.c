/* SPDX-License-Identifier: Apache-2.0 */
/* users_barrier.c - those who wait for others: at a gate, and in a room that all enter and leave.
 */
#include <stdio.h>

#include "base/memory.h"
#include "pawl/barrier.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

/* ---- the gate ---- */

struct waiter_at_gate {
    struct pawl_barrier *barrier;
    int n_asked;
    int64_t busy_since_ms; /* a look that is under way serves those who come meanwhile, too */
};

/* Transactions, not yet applied, after which the gate was open: several may be applied at once. */
struct openings {
    int64_t zxids[1024];
    int n;
};

static void gate_begin(struct sim *s)
{
    s->own = must_zalloc(MAX_THINGS * sizeof(struct openings));
}

static void gate_changed(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        struct openings *o = &((struct openings *)s->own)[i];

        if (tree_find(world_truth(s->w), bytes_str(s->things[i].path)) == 0 && o->n < 1024) {
            o->zxids[o->n++] = world_truth_zxid(s->w);
        }
    }
}

/* things[].number is when it was last open for those who read, on any server: one that is behind
 * the others shows what was, without a lie. */
static void gate_check(struct sim *s)
{
    int64_t first = world_oldest_zxid(s->w), last = world_applied_zxid(s->w);

    for (int i = 0; i < s->n_things; i++) {
        struct openings *o = &((struct openings *)s->own)[i];
        int left = 0;

        if (world_somewhere_lacks(s->w, s->things[i].path)) {
            s->things[i].number = sim_now_ms(s);
        }
        for (int k = 0; k < o->n; k++) {
            if (o->zxids[k] <= last) {
                s->things[i].number = sim_now_ms(s);
            }
            if (o->zxids[k] > first) {
                o->zxids[left++] = o->zxids[k];
            }
        }
        o->n = left;
    }
}

static void gate_done(struct pawl_barrier *b, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct waiter_at_gate *x = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    gate_check(u->sim);
    x->n_asked -= b == x->barrier;
    if (err == PAWL_ERR_CANCELLED           ? b == x->barrier
        : err == PAWL_ERR_OPERATION_TIMEOUT ? asked->timeout_ms < 0
                                            : err != 0) {
        world_violated("user %d: %s ended with %s", u->id, asked->what, pawl_error_name(err));
    }
    if (err == 0 && asked->detail == 0) {
        u->sim->n_done++;
    }
    if (err == 0 && asked->detail == 0 &&
        tree_find(world_tree(u->sim->w), bytes_str(u->sim->things[u->thing].path)) != 0 &&
        u->sim->things[u->thing].number < x->busy_since_ms) {
        world_violated("user %d was let through a gate that was never open", u->id);
    }
}

static void gate_free(struct user *u)
{
    struct waiter_at_gate *x = u->own;
    struct pawl_barrier *b = x->barrier;

    *x = (struct waiter_at_gate){0};
    pawl_barrier_free(b);
}

static void gate_ask(struct user *u, int what)
{
    static const char *const words[] = {"wait", "raise", "lift"};
    static const int timeouts[] = {-1, -1, 0, 500, 3000};
    struct waiter_at_gate *x = u->own;
    int timeout = what == 0 ? timeouts[sim_below(u->sim, 5)] : 100000; /* the client's own */
    struct asked *asked = asked_new(u, words[what], x->barrier, timeout);
    int rc;

    asked->detail = what;
    x->busy_since_ms = x->n_asked == 0 ? sim_now_ms(u->sim) : x->busy_since_ms;
    rc = what == 0   ? pawl_barrier_wait_async(x->barrier, timeout, gate_done, asked)
         : what == 1 ? pawl_barrier_raise_async(x->barrier, gate_done, asked)
                     : pawl_barrier_lift_async(x->barrier, gate_done, asked);
    if (rc != 0) {
        world_violated("user %d: %s said %s", u->id, words[what], pawl_error_name(rc));
    }
    x->n_asked++;
}

static void gate_act(struct user *u)
{
    struct sim *s = u->sim;
    struct waiter_at_gate *x = u->own;
    const char *path = s->things[u->thing].path;

    if (x->barrier == NULL && pawl_barrier_new(user_client(u), path, &x->barrier) != 0) {
        world_violated("user %d could not make a barrier", u->id);
    }
    if (s->calm) { /* a raise that was on its way may come after a lift */
        if (tree_find(world_tree(s->w), bytes_str(path)) != 0 && x->n_asked < 10) {
            gate_ask(u, 2);
        }
    } else if (sim_chance(s, 40)) {
        gate_free(u);
    } else if (x->n_asked < 3) {
        gate_ask(u, sim_chance(s, 3) ? 1 + (int)sim_below(s, 2) : 0);
    }
}

static bool gate_is_idle(const struct user *u)
{
    return ((const struct waiter_at_gate *)u->own)->n_asked == 0;
}

const struct kind barrier_kind = {
    .name = "barrier",
    .user_bytes = sizeof(struct waiter_at_gate),
    .begin = gate_begin,
    .act = gate_act,
    .is_idle = gate_is_idle,
    .free = gate_free,
    .check = gate_check,
    .changed = gate_changed,
    .no_robbers = true,
};

/* ---- the room ---- */

enum { OUTSIDE, ENTERING, INSIDE, LEAVING };

struct member_of_room {
    struct pawl_double_barrier *barrier;
    int state;
    int64_t since_ms;
};

static znode_id find_ready(struct sim *s, int thing)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/ready", s->things[thing].path);
    return tree_find(world_truth(s->w), bytes_str(path));
}

/* things[].number is how many must be there; .maybe when it was last open, 0 before; .last_token
 * whether it is. */
static void room_changed(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        struct thing *t = &s->things[i];
        znode_id folder = tree_find(world_truth(s->w), bytes_str(t->path));
        bool is_open = find_ready(s, i) != 0;

        if (is_open && t->last_token == 0 && t->n_restarts == s->w->n_restarts &&
            tree_n_children(world_truth(s->w), folder) - 1 < t->number) {
            world_violated("%s opened for %d of %lld", t->path,
                           tree_n_children(world_truth(s->w), folder) - 1, (long long)t->number);
        }
        t->maybe = is_open || t->last_token != 0 ? sim_now_ms(s) : t->maybe;
        t->last_token = is_open;
        t->n_restarts = s->w->n_restarts; /* which may have undone what closed it */
    }
}

static int n_entering(struct sim *s, int thing)
{
    struct user *u;
    int n = 0;

    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        n += u->thing == thing && ((const struct member_of_room *)u->own)->state == ENTERING;
    }
    return n;
}

static void entered(struct pawl_double_barrier *b, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct thing *t = &u->sim->things[u->thing];
    struct member_of_room *x = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (err == PAWL_ERR_CANCELLED           ? b == x->barrier
        : err == PAWL_ERR_OPERATION_TIMEOUT ? asked->timeout_ms < 0
                                            : err != 0) {
        world_violated("user %d: enter ended with %s", u->id, pawl_error_name(err));
    }
    if (err == 0 && t->last_token == 0 && t->maybe < asked->since_ms) {
        world_violated("user %d was let into a room that was never open", u->id);
    }
    if (b == x->barrier) {
        x->state = err == 0 ? INSIDE : OUTSIDE;
        u->sim->n_done += err == 0;
    }
}

static void left(struct pawl_double_barrier *b, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct member_of_room *x = u->own;

    if (!asked_told(asked, err)) {
        return;
    }
    if (err == PAWL_ERR_CANCELLED           ? b == x->barrier
        : err == PAWL_ERR_OPERATION_TIMEOUT ? asked->timeout_ms < 0
                                            : err != 0 && err != PAWL_ERR_LOST) {
        world_violated("user %d: leave ended with %s", u->id, pawl_error_name(err));
    }
    x->state = b == x->barrier ? OUTSIDE : x->state;
}

static void room_free(struct user *u)
{
    struct member_of_room *x = u->own;
    struct pawl_double_barrier *b = x->barrier;

    world_note(u->id, "free", 0);
    *x = (struct member_of_room){0};
    pawl_double_barrier_free(b);
}

static void room_ask(struct user *u, bool enter)
{
    static const int timeouts[] = {-1, -1, -1, 500, 5000};
    struct member_of_room *x = u->own;
    int timeout = u->sim->calm ? -1 : timeouts[sim_below(u->sim, 5)];
    struct asked *asked = asked_new(u, enter ? "enter" : "leave", x->barrier, timeout);
    int rc;

    x->state = enter ? ENTERING : LEAVING;
    x->since_ms = sim_now_ms(u->sim);
    rc = enter ? pawl_double_barrier_enter_async(x->barrier, timeout, entered, asked)
               : pawl_double_barrier_leave_async(x->barrier, timeout, left, asked);
    if (rc != 0) {
        world_violated("user %d: %s said %s", u->id, asked->what, pawl_error_name(rc));
    }
}

/* Calm: if there are enough they get in; if not, they go. */
static void act_calmly(struct user *u)
{
    struct member_of_room *x = u->own;
    int64_t since = u->sim->calm_ms > x->since_ms ? u->sim->calm_ms : x->since_ms;

    if (x->state == INSIDE) {
        room_ask(u, false);
    } else if (x->state == ENTERING && sim_now_ms(u->sim) > since + 15000) {
        if (n_entering(u->sim, u->thing) >= u->sim->things[u->thing].number) {
            world_violated("user %d is not let in, though all are there", u->id);
        }
        room_free(u);
    }
}

static void room_act(struct user *u)
{
    struct sim *s = u->sim;
    struct member_of_room *x = u->own;

    if (x->barrier == NULL &&
        pawl_double_barrier_new(user_client(u), s->things[u->thing].path,
                                (int)s->things[u->thing].number, &x->barrier) != 0) {
        world_violated("user %d could not make a double barrier", u->id);
    }
    if (s->calm) {
        act_calmly(u);
    } else if (sim_chance(s, 60)) {
        room_free(u);
    } else if (x->state == OUTSIDE || x->state == INSIDE) {
        room_ask(u, x->state == OUTSIDE);
    }
}

static bool room_is_idle(const struct user *u)
{
    return ((const struct member_of_room *)u->own)->state == OUTSIDE;
}

static void room_begin(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].number = 2 + sim_below(s, 3);
    }
}

const struct kind double_barrier_kind = {
    .name = "double-barrier",
    .user_bytes = sizeof(struct member_of_room),
    .begin = room_begin,
    .act = room_act,
    .is_idle = room_is_idle,
    .free = room_free,
    .changed = room_changed,
    .no_robbers = true,
};
