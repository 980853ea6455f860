/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_sim.h - one run of an ensemble by its plan, and how runs add up. */
#ifndef PAWL_TEST_QUORUM_SIM_H
#define PAWL_TEST_QUORUM_SIM_H

#include <stdio.h>

#include "sim_ensemble_plan.h"

enum { SIM_WHY_BYTES = 256 };

struct totals {
    uint64_t runs, events, steps, answered, failed, committed, epochs, turns;
    uint64_t stopped;               /* for good, as it has to be */
    uint64_t effects[MESH_MEMBERS]; /* of each member, in the last run */
    int64_t simulated_us, longest_quiet_us;
};

/* False: a rule was broken, `why` says which. What the run had is then left where it is: the
 * program ends soon, and not by returning from main. `trace` NULL: none. */
bool sim_run(const struct trouble_plan *plan, FILE *trace, struct totals *t,
             char why[SIM_WHY_BYTES]);

/* A short life of an ensemble, again and again, with a crash of each member before each of its
 * effects. Not 0: a rule was broken, which is printed. */
int sim_every_effect(int n_voters);

void sim_print_totals(const struct totals *t, double seconds);
double sim_now_s(void);

#endif
