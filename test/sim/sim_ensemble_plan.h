/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_plan.h - what a run will be: the ensemble, its trouble, and what clients ask.
 *
 * All of it is made from the seed before anything runs, as a list in the order of time. A run that
 * fails can be tried again with some of the items left out: that is how it is made shorter. An item
 * has a line of text, which is also how a scenario asks for it. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_PLAN_H
#define PAWL_TEST_SIM_ENSEMBLE_PLAN_H

#include "base/strbuf.h"
#include "sim_ensemble_mesh.h"

enum plan_kind {
    PLAN_WRITE,      /* a: clients of that member; amount: so many writes */
    PLAN_SYNC,       /* a: a client of it asks for a sync */
    PLAN_REVALIDATE, /* a: a session comes to it */
    PLAN_CRASH,  /* a, power, amount: before its so many-th effect from now, 0: at once; for_us */
    PLAN_PAUSE,  /* a, for_us */
    PLAN_BLOCK,  /* a, b, for_us: nothing passes from a to b */
    PLAN_CUT,    /* a, b, for_us: nothing passes between them */
    PLAN_SPLIT,  /* set, for_us: nothing passes between its members and the others ... */
    PLAN_BRIDGE, /* set, a, for_us: ... but a reaches all */
    PLAN_RESET,  /* a, b: their connections end */
    PLAN_SLOW_DISK,  /* a, for_us */
    PLAN_SYNC_FAILS, /* a: its next sync does, and the process ends */
    PLAN_DISK_FULL,  /* a, for_us */
    PLAN_CLOCK,      /* a, amount: its clock jumps forward, in microseconds */
    PLAN_PURGE,      /* a: takes a snapshot, the log before it goes */
    PLAN_RESIGN,     /* a: leaves its role */
    N_PLAN_KINDS,
};

enum { PLAN_LEADER = -1 }; /* instead of a member: who leads when it begins */

struct plan_item {
    int64_t at_us;
    enum plan_kind kind;
    int a, b; /* indexes of members; a may be PLAN_LEADER */
    uint32_t set;
    int64_t for_us; /* < 0: until something else ends it */
    int64_t amount;
    bool power;
};

struct plan {
    uint64_t seed;
    int n_voters, n_observers;
    int n_groups; /* 0: majority */
    int groups[MESH_MEMBERS];
    int64_t weights[MESH_MEMBERS];
    int64_t tick_ms, init_limit, sync_limit;
    size_t recent_bytes;
    bool always_snapshot;
    int64_t counter_limit; /* an epoch has no more transactions than this; 0: as usual */
    int64_t latency_us, jitter_us, slow_us;
    int one_in_slow;
    int64_t disk_us, disk_jitter_us;
    int64_t clock_per_million[MESH_MEMBERS]; /* how much faster a clock is */
    int64_t trouble_us;                      /* then it ends */
    bool without_luck;                       /* a crash leaves no more than what is certain */
    struct plan_item *items;
    size_t n, capacity;
};

/* `n_voters` 0: by the seed. */
void plan_make(struct plan *p, uint64_t seed, int n_voters);
/* Nothing but a fair ensemble. */
void plan_init(struct plan *p, int n_voters, int n_observers);
void plan_fini(struct plan *p);
void plan_add(struct plan *p, struct plan_item item);
void plan_copy(struct plan *to, const struct plan *from); /* without its items */

void plan_item_write(const struct plan_item *i, struct strbuf *out);

#endif
