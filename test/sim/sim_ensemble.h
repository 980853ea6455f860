/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble.h - an ensemble on simulated time, network and disks, by seed.
 *
 *     plan      what will go wrong and what clients ask, made from the seed before anything runs
 *       |
 *     cluster   time, members that start, stop and pause, their clocks; carries out the plan
 *      / \
 *  mesh   disk  what lies between members and below them
 *      \ /
 *     carrier   of a member: its quorum, and what that asks for
 *       |
 *     body      tree and clients: a toy with numbers, or a real member
 *       |
 *     judge     looks at every input and every effect and ends the run when a rule is broken
 *
 * The quorums (src/quorum) are real in any case; cluster, mesh, plan and judge know nothing of the
 * bodies. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_H
#define PAWL_TEST_SIM_ENSEMBLE_H

#include <setjmp.h>

#include "quorum/config.h"
#include "sim_ensemble_carrier.h"
#include "sim_ensemble_disk.h"
#include "sim_ensemble_judge.h"
#include "sim_ensemble_mesh.h"
#include "sim_ensemble_plan.h"
#include "sim_ensemble_toy.h"

enum { SIM_MEMBERS = MESH_MEMBERS };

struct real;

/* A process on a machine. */
struct sim_member {
    struct cluster *cluster;
    int index;
    bool runs;
    uint64_t life;                             /* events of an earlier one do not concern it */
    int64_t paused_until_us;                   /* not in the past: it is */
    int64_t clock_ahead_us, clock_per_million; /* its clock: that much ahead, and faster */
    int64_t wall_ahead_ms;                     /* its wall clock */
    int64_t woken_at_us;                       /* the time for which it has a wake-up */
    uint64_t n_effects;                        /* carried out so far */
    int64_t effects_to_crash;                  /* before its so many-th effect from now; 0: none */
    bool crash_power;
    int64_t crash_until_us;
    const char *crash_before; /* the first effect whose trace has this; NULL: none */
    struct sim_carrier carrier;
    struct toy toy;    /* the body; or */
    struct real *real; /* NULL: it does not run */
};

/* An item of the plan that has begun, with the member that it meant then. */
struct begun_item {
    struct begun_item *next;
    struct trouble_item item;
};

struct cluster {
    uint64_t seed;
    const struct trouble_plan *plan;
    const struct sim_body *body; /* of all members */
    void *body_arg;              /* what the bodies share */
    int64_t now_us;
    struct sim_queue events;
    struct mesh mesh;
    struct prng random; /* of disks */
    struct quorum_config config;
    struct sim_member members[SIM_MEMBERS];
    int n_members;
    struct begun_item *begun;
    bool is_quiet;  /* no more trouble */
    bool is_ruined; /* of a majority a part of the history is lost: nobody may lead */
    struct judge judge;
    /* Somebody has delivered it, who serves: everybody will. NULL: nobody is told. */
    void (*committed)(struct cluster *w, int64_t zxid, uint64_t value);
    uint64_t n_events, n_steps;

    /* What is printed, and where: NULL: nothing. */
    void (*line)(void *arg, const char *text);
    void *line_arg;

    /* How a run ends when something is not as it has to be: one of the two. */
    jmp_buf *end;
    void (*failed)(struct cluster *w); /* does not return */
    char why[256];
};

/* Made, nobody started yet. `plan` stays the caller's. */
void cluster_init(struct cluster *w, const struct trouble_plan *plan, const struct sim_body *body);
void cluster_fini(struct cluster *w);

/* The next event; false: none is due before `limit_us`, which is the time now. */
bool cluster_step(struct cluster *w, int64_t limit_us);

/* A rule is broken: does not return, the run ends. */
_Noreturn void cluster_violated(struct cluster *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cluster_print(struct cluster *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- what the plan asks for ---- */

enum crash_kind { CRASH_KILLED, CRASH_POWER, CRASH_DISK };

/* It begins now, and ends by itself where it has a duration. */
void cluster_begin(struct cluster *w, const struct trouble_item *item);
void cluster_end(struct cluster *w, const struct trouble_item *item); /* where it has a duration */
void cluster_start(struct cluster *w, int member);
/* Starts again at `until_us`; NOT_BY_ITSELF: not by itself. */
void cluster_crash(struct cluster *w, int member, enum crash_kind kind, int64_t until_us);
#define NOT_BY_ITSELF INT64_MAX
/* Trouble is over: what lasts is ended, whoever is down starts. */
void cluster_calm(struct cluster *w);

/* ---- for members ---- */

struct sim_member *cluster_member(struct cluster *w, int64_t sid);
int64_t sim_member_sid(const struct sim_member *m);
bool sim_member_is_paused(const struct sim_member *m);
int64_t sim_member_now_us(const struct sim_member *m); /* by its own clock */
/* It is called by its clock; an earlier wake-up stays. */
void sim_member_wake_at(struct sim_member *m, int64_t its_us);
/* Looks for jobs of its disk. */
void sim_member_serve_disk(struct sim_member *m);
/* Calls sim_carrier_snapshot_due() some time. */
void sim_member_walks_later(struct sim_member *m, uint64_t link);
/* Calls sim_carrier_snapshot_sent() when it has left. */
void sim_member_sends_snapshot(struct sim_member *m, uint64_t link, struct bytes snapshot);
/* One more effect is about to be carried out; false: it crashes before. */
bool sim_member_may_do(struct sim_member *m);

/* All members that run serve in one epoch, nothing is under way, and all have the same. */
bool cluster_is_settled(struct cluster *w);
bool cluster_all_run(const struct cluster *w);

#endif
