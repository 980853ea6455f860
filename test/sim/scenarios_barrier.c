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

const struct scenario barrier_scenarios[] = {
    {"late_answer_opens_no_gate", late_answer_opens_no_gate},
    {"try_at_a_gate_does_not_trust_an_old_look", try_at_a_gate_does_not_trust_an_old_look},
    {NULL, NULL},
};
