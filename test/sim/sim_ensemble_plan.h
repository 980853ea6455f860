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

enum trouble_kind {
    TROUBLE_WRITE,      /* a: clients of that member; amount: so many writes */
    TROUBLE_SYNC,       /* a: a client of it asks for a sync */
    TROUBLE_REVALIDATE, /* a: a session comes to it */
    TROUBLE_CRASH, /* a, power, amount: before its so many-th effect from now, 0: at once; for_us */
    TROUBLE_PAUSE, /* a, for_us */
    TROUBLE_BLOCK, /* a, b, for_us: nothing passes from a to b */
    TROUBLE_CUT,   /* a, b, for_us: nothing passes between them */
    TROUBLE_SPLIT, /* set, for_us: nothing passes between its members and the others ... */
    TROUBLE_BRIDGE,     /* set, a, for_us: ... but a reaches all */
    TROUBLE_RESET,      /* a, b: their connections end */
    TROUBLE_SLOW_DISK,  /* a, for_us */
    TROUBLE_SYNC_FAILS, /* a: its next sync does, and the process ends */
    TROUBLE_DISK_FULL,  /* a, for_us */
    TROUBLE_CLOCK,      /* a, amount: its clock jumps forward, in microseconds */
    TROUBLE_PURGE,      /* a: takes a snapshot, the log before it goes */
    TROUBLE_RESIGN,     /* a: leaves its role */
    TROUBLE_STRANGER,   /* a, for_us: somebody else has its quorum port, unless it holds it; power:
                           and nobody is let in there, else all are, and hear nothing */
    TROUBLE_DROPS,      /* a, for_us: connections to its quorum port come to nothing */
    TROUBLE_DIVERGE,    /* a, for_us: it finds that its tree is not the others', and stops; only if
                           it serves one, and the others are enough to lead without it */
    TROUBLE_DAMAGE,     /* a, for_us, amount: it ends, and so many of its records or fewer are left;
                           only if the others are enough without it */
    TROUBLE_RUIN, /* set, for_us: all lose power at once, and of those in the set a part of the
                     history is lost; if the others are no quorum, nobody may lead any more */
    TROUBLE_LIST, /* a: if it leads: set and amount, the voters and observers from now on */
    N_TROUBLES,
};

enum { TROUBLE_LEADER = -1 }; /* instead of a member: who leads when it begins */

struct trouble_item {
    int64_t at_us;
    enum trouble_kind kind;
    int a, b; /* indexes of members; a may be TROUBLE_LEADER */
    uint32_t set;
    int64_t for_us; /* < 0: until something else ends it */
    int64_t amount;
    bool power;
};

struct trouble_plan {
    uint64_t seed;
    int n_voters, n_observers;
    int n_groups; /* 0: majority */
    int groups[MESH_MEMBERS];
    int64_t weights[MESH_MEMBERS];
    bool lists_change; /* then n_voters and n_observers are only how many servers there are */
    uint32_t first_voters, first_observers; /* of the first list; others are in none */
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
    struct trouble_item *items;
    size_t n, capacity;
};

/* `n_voters` 0: by the seed. */
void trouble_plan_make(struct trouble_plan *p, uint64_t seed, int n_voters);
/* With a RUIN of a majority in it. */
void trouble_plan_make_ruined(struct trouble_plan *p, uint64_t seed, int n_voters);
/* For real members, whose clients are somebody else's: no calls. */
void trouble_plan_make_real(struct trouble_plan *p, uint64_t seed, int n_voters);
/* Nothing but a fair ensemble. */
void trouble_plan_init(struct trouble_plan *p, int n_voters, int n_observers);
void trouble_plan_fini(struct trouble_plan *p);
void trouble_plan_add(struct trouble_plan *p, struct trouble_item item);
void trouble_plan_copy(struct trouble_plan *to,
                       const struct trouble_plan *from); /* without its items */

void trouble_item_write(const struct trouble_item *i, struct strbuf *out);

#endif
