/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_sim_effects.c - a crash between any two effects.
 *
 * The life has everything in it that moves: an election, writes, a leader that goes and comes back,
 * a snapshot, an observer. It is lived once in peace to count the effects of each member; then once
 * for every member, every effect and every kind of crash. */
#include <inttypes.h>

#include "quorum_sim.h"

enum { MS_US = 1000, N_OBSERVERS = 1 };

static void add(struct trouble_plan *p, int64_t at_ms, enum trouble_kind kind, int a,
                int64_t amount)
{
    trouble_plan_add(
        p, (struct trouble_item){.at_us = at_ms * MS_US, .kind = kind, .a = a, .amount = amount});
}

static void add_writes(struct trouble_plan *p, int64_t at_ms)
{
    for (int i = 0; i < p->n_voters + p->n_observers; i++) {
        add(p, at_ms + i, TROUBLE_WRITE, i, 3);
        add(p, at_ms + 2 + i, TROUBLE_SYNC, i, 1);
    }
}

static void make_life(struct trouble_plan *p, int n_voters)
{
    trouble_plan_init(p, n_voters, N_OBSERVERS);
    p->recent_bytes = 16;
    p->jitter_us = p->disk_jitter_us = 500;
    p->trouble_us = 4000 * MS_US;
    add_writes(p, 500);
    trouble_plan_add(p, (struct trouble_item){.at_us = 510 * MS_US,
                                              .kind = TROUBLE_CRASH,
                                              .a = TROUBLE_LEADER,
                                              .power = true,
                                              .for_us = 700 * MS_US});
    add_writes(p, 1000);
    add(p, 1050, TROUBLE_PURGE, TROUBLE_LEADER, 1);
    add_writes(p, 2000);
    add(p, 2001, TROUBLE_RESIGN, TROUBLE_LEADER, 1);
    add_writes(p, 3000);
}

static bool crash_at(int n_voters, const struct trouble_item *crash, struct totals *t)
{
    char why[SIM_WHY_BYTES];
    struct trouble_plan p;
    bool good;

    make_life(&p, n_voters);
    trouble_plan_add(&p, *crash);
    good = sim_run(&p, NULL, t, why);
    if (!good) {
        printf("m%d %s before its effect %" PRId64 ", back %s: %s\n", crash->a + 1,
               crash->power ? "without power" : "killed", crash->amount,
               crash->for_us == 0 ? "at once" : "late", why);
    }
    trouble_plan_fini(&p);
    return good;
}

static bool crash_everywhere(int n_voters, int member, uint64_t n_effects, struct totals *t)
{
    for (uint64_t k = 1; k <= n_effects; k++) {
        for (int kind = 0; kind < 4; kind++) { /* it comes back at once, or late */
            struct trouble_item crash = {.kind = TROUBLE_CRASH,
                                         .a = member,
                                         .power = kind % 2 == 1,
                                         .amount = (int64_t)k,
                                         .for_us = kind < 2 ? 0 : 5000 * MS_US};

            if (!crash_at(n_voters, &crash, t)) {
                return false;
            }
        }
    }
    return true;
}

int sim_every_effect(int n_voters)
{
    struct trouble_item none = {.kind = TROUBLE_RESET, .a = 0, .b = 1};
    struct totals t = {0}, peace = {0};
    double begun = sim_now_s();

    if (!crash_at(n_voters, &none, &peace)) {
        return 1;
    }
    for (int i = 0; i < n_voters + N_OBSERVERS; i++) {
        if (!crash_everywhere(n_voters, i, peace.effects[i], &t)) {
            return 1;
        }
    }
    sim_print_totals(&t, sim_now_s() - begun);
    return 0;
}
