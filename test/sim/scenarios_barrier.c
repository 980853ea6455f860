/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios_barrier.c - stories about gates and rooms. */
#include "pawl/barrier.h"
#include "pawl/error.h"
#include "sim/scenarios_recipes.h"

/* ---- gates ---- */

struct passenger {
    struct machine *m;
    struct pawl_barrier *gate;
    int n_told, n_passed, err;
};

static struct passenger passenger_of(struct world *w)
{
    struct passenger p = {.m = party_of(w, 100).m};

    EXPECT(pawl_barrier_new(p.m->client, "/gate", &p.gate) == 0);
    return p;
}

static void passed(struct pawl_barrier *b, int err, void *passenger)
{
    struct passenger *p = passenger;

    (void)b;
    p->n_told++;
    p->n_passed += err == 0;
    p->err = err;
}

static void wait_at_gate(struct passenger *p, int timeout_ms)
{
    EXPECT(pawl_barrier_wait_async(p->gate, timeout_ms, passed, p) == 0);
}

/* Seed 900030415: the answer to a look that was sent before the gate was raised comes late, and who
 * had asked has gone. It says nothing to him who came since. */
static void late_answer_opens_no_gate(struct world *w)
{
    struct passenger p = passenger_of(w);

    world_freeze(p.m, TO_CLIENT, 1000);
    wait_at_gate(&p, 100);
    UNTIL(p.n_told == 1);
    EXPECT(p.err == PAWL_ERR_OPERATION_TIMEOUT);
    EXPECT(world_create(w, "/gate") == 0);
    wait_at_gate(&p, -1);
    world_run(w, 3000);
    EXPECT(p.n_told == 1);
    EXPECT(world_delete(w, "/gate") == 0);
    UNTIL(p.n_told == 2);
    EXPECT(p.err == 0);
    pawl_barrier_free(p.gate);
    UNTIL(world_n_watches(w) == 0);
}

/* A try is answered by a look of its own, also while another waits and the news that the gate was
 * lifted is on its way. */
static void try_at_a_gate_does_not_trust_an_old_look(struct world *w)
{
    struct passenger p = passenger_of(w);

    EXPECT(world_create(w, "/gate") == 0);
    wait_at_gate(&p, -1);
    UNTIL(world_n_watches(w) == 1);
    world_run(w, 100);
    world_freeze(p.m, TO_CLIENT, 100);
    EXPECT(world_delete(w, "/gate") == 0);
    wait_at_gate(&p, 0);
    UNTIL(p.n_told == 2);
    EXPECT(p.n_passed == 2);
    pawl_barrier_free(p.gate);
    UNTIL(world_n_watches(w) == 0);
}

/* ---- rooms ---- */

struct guest {
    struct machine *m;
    struct pawl_double_barrier *room;
    int n_told, err;
};

static struct guest guest_of(struct world *w, int members)
{
    struct guest g = {.m = party_of(w, 100).m};

    EXPECT(pawl_double_barrier_new(g.m->client, "/room", members, &g.room) == 0);
    return g;
}

static void guest_told(struct pawl_double_barrier *b, int err, void *guest)
{
    struct guest *g = guest;

    (void)b;
    g->n_told++;
    g->err = err;
}

/* A request of this kind is on its way to the server. */
static bool has_sent(const struct machine *m, int32_t op)
{
    const struct list *item;

    for (item = m->e->core->sent.next; item != &m->e->core->sent; item = item->next) {
        if (container_of(item, struct call, item.link)->op == op) {
            return true;
        }
    }
    return false;
}

/* What removes the `ready` of a dead round is late: by then another has removed it, the room is
 * open, and the other one has left. */
static void late_removal_shuts_no_room(struct world *w, int32_t late_op)
{
    struct guest slow = guest_of(w, 2), quick = guest_of(w, 2);

    EXPECT(world_create(w, "/room") == 0 && world_create(w, "/room/ready") == 0);
    EXPECT(pawl_double_barrier_enter_async(slow.room, -1, guest_told, &slow) == 0);
    UNTIL(has_sent(slow.m, late_op));
    world_freeze(slow.m, TO_SERVER, 2000);
    EXPECT(pawl_double_barrier_enter_async(quick.room, -1, guest_told, &quick) == 0);
    UNTIL(quick.n_told == 1);
    EXPECT(quick.err == 0);
    EXPECT(pawl_double_barrier_leave_async(quick.room, 1000, guest_told, &quick) == 0);
    UNTIL(quick.n_told == 2);
    UNTIL(slow.n_told == 1);
    EXPECT(slow.err == 0); /* it was counted */
    world_run(w, 3000);
    EXPECT(world_n_children(w, "/room") == 2); /* itself, and ready */
    EXPECT(pawl_double_barrier_leave_async(slow.room, -1, guest_told, &slow) == 0);
    UNTIL(slow.n_told == 2);
    EXPECT(slow.err == 0 && world_n_children(w, "/room") <= 0);
    pawl_double_barrier_free(slow.room);
    pawl_double_barrier_free(quick.room);
    UNTIL(world_n_watches(w) == 0);
}

static void enter_both(struct guest *a, struct guest *b)
{
    EXPECT(pawl_double_barrier_enter_async(a->room, -1, guest_told, a) == 0);
    EXPECT(pawl_double_barrier_enter_async(b->room, -1, guest_told, b) == 0);
    UNTIL(a->n_told == 1 && b->n_told == 1);
    EXPECT(a->err == 0 && b->err == 0);
}

/* One has left and waits for the other, who dies: what closes the room behind them is late, and the
 * next two are inside by then. */
static void late_closing_shuts_no_room(struct world *w, int32_t late_op)
{
    static struct guest a, b, c, d; /* he who died is told at the end of the world */
    struct guest *leaver = &a, *other = &b;

    a = guest_of(w, 2);
    b = guest_of(w, 2);
    c = guest_of(w, 2);
    d = guest_of(w, 2);
    enter_both(&a, &b);
    EXPECT(pawl_double_barrier_leave_async(a.room, -1, guest_told, &a) == 0);
    world_run(w, 200);
    if (world_n_children(w, "/room") == 3) { /* the lower name stays until it is alone */
        leaver = &b;
        other = &a;
        EXPECT(pawl_double_barrier_leave_async(b.room, -1, guest_told, &b) == 0);
    }
    world_kill(other->m);
    UNTIL(has_sent(leaver->m, OP_SET_DATA));
    UNTIL(has_sent(leaver->m, late_op));
    world_freeze(leaver->m, TO_SERVER, 2000);
    enter_both(&c, &d);
    UNTIL(leaver->n_told == 2);
    world_run(w, 3000);
    EXPECT(leaver->err == 0 && world_n_children(w, "/room") == 3);
    EXPECT(pawl_double_barrier_leave_async(c.room, -1, guest_told, &c) == 0);
    EXPECT(pawl_double_barrier_leave_async(d.room, -1, guest_told, &d) == 0);
    UNTIL(c.n_told == 2 && d.n_told == 2);
    EXPECT(c.err == 0 && d.err == 0 && world_n_children(w, "/room") <= 0);
    pawl_double_barrier_free(a.room);
    pawl_double_barrier_free(b.room);
    pawl_double_barrier_free(c.room);
    pawl_double_barrier_free(d.room);
    UNTIL(world_n_watches(w) == 0);
}

static void late_mark_of_a_leaver_shuts_no_room(struct world *w)
{
    late_closing_shuts_no_room(w, OP_SET_DATA);
}

static void late_delete_of_a_leaver_shuts_no_room(struct world *w)
{
    late_closing_shuts_no_room(w, OP_DELETE);
}

static void late_mark_shuts_no_room(struct world *w)
{
    late_removal_shuts_no_room(w, OP_SET_DATA);
}

static void late_delete_shuts_no_room(struct world *w)
{
    late_removal_shuts_no_room(w, OP_DELETE);
}

const struct scenario barrier_scenarios[] = {
    {"late_mark_of_a_leaver_shuts_no_room", late_mark_of_a_leaver_shuts_no_room},
    {"late_delete_of_a_leaver_shuts_no_room", late_delete_of_a_leaver_shuts_no_room},
    {"late_mark_shuts_no_room", late_mark_shuts_no_room},
    {"late_delete_shuts_no_room", late_delete_shuts_no_room},
    {"late_answer_opens_no_gate", late_answer_opens_no_gate},
    {"try_at_a_gate_does_not_trust_an_old_look", try_at_a_gate_does_not_trust_an_old_look},
    {NULL, NULL},
};
