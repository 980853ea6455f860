/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble.h - an ensemble on simulated time, network and disks, by seed.
 *
 *     plan      what will go wrong and what clients ask, made from the seed before anything runs
 *       |
 *     world     time, members that start, stop and pause, their clocks; carries out the plan
 *      / \
 *  mesh   disk  what lies between members and below them
 *      \ /
 *     member    a toy: a quorum, a history for a tree, clients that write numbers
 *       |
 *     judge     looks at every input and every effect and ends the run when a rule is broken
 *
 * One member is one struct quorum (src/quorum), the real one. Members, disks and clients of another
 * kind can be put in the toy's place: world, mesh and plan know a member only by struct
 * sim_member's calls. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_H
#define PAWL_TEST_SIM_ENSEMBLE_H

#include <setjmp.h>

#include "quorum/config.h"
#include "sim_ensemble_disk.h"
#include "sim_ensemble_judge.h"
#include "sim_ensemble_mesh.h"
#include "sim_ensemble_plan.h"
#include "sim_ensemble_toy.h"

enum { SIM_MEMBERS = MESH_MEMBERS };

/* A process on a machine. */
struct sim_member {
    struct world *world;
    int index;
    bool runs;
    uint64_t life;                             /* events of an earlier one do not concern it */
    int64_t paused_until_us;                   /* not in the past: it is */
    int64_t clock_ahead_us, clock_per_million; /* its clock: that much ahead, and faster */
    int64_t woken_at_us;                       /* the time for which it has a wake-up */
    uint64_t n_effects;                        /* carried out so far */
    int64_t effects_to_crash;                  /* before its so many-th effect from now; 0: none */
    bool crash_power;
    int64_t crash_until_us;
    const char *crash_before; /* the first effect whose trace has this; NULL: none */
    struct toy toy;
};

/* An item of the plan that has begun, with the member that it meant then. */
struct begun_item {
    struct begun_item *next;
    struct plan_item item;
};

struct world {
    uint64_t seed;
    const struct plan *plan;
    int64_t now_us;
    struct event_queue events;
    struct mesh mesh;
    struct prng random; /* of disks */
    struct quorum_config config;
    struct sim_member members[SIM_MEMBERS];
    int n_members;
    struct begun_item *begun;
    bool is_quiet; /* no more trouble */
    struct judge judge;
    uint64_t n_events, n_steps;

    /* What is printed, and where: NULL: nothing. */
    void (*line)(void *arg, const char *text);
    void *line_arg;

    /* How a run ends when something is not as it has to be. */
    jmp_buf *end;
    char why[256];
};

/* Made, nobody started yet. `plan` stays the caller's. */
void world_init(struct world *w, const struct plan *plan);
void world_fini(struct world *w);

/* The next event; false: none is due before `limit_us`, which is the time now. */
bool world_step(struct world *w, int64_t limit_us);

/* A rule is broken: does not return, the run ends. */
_Noreturn void world_violated(struct world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void world_print(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- what the plan asks for ---- */

enum crash_kind { CRASH_KILLED, CRASH_POWER, CRASH_DISK };

/* It begins now, and ends by itself where it has a duration. */
void world_plan(struct world *w, const struct plan_item *item);
void world_end(struct world *w, const struct plan_item *item); /* where it has a duration */
void world_start(struct world *w, int member);
/* Starts again at `until_us`; FOR_EVER: not by itself. */
void world_crash(struct world *w, int member, enum crash_kind kind, int64_t until_us);
#define FOR_EVER INT64_MAX
/* Trouble is over: what lasts is ended, whoever is down starts. */
void world_calm(struct world *w);

/* ---- for members ---- */

struct sim_member *world_member(struct world *w, int64_t sid);
int64_t member_sid(const struct sim_member *m);
bool member_is_paused(const struct sim_member *m);
int64_t member_now_us(const struct sim_member *m); /* by its own clock */
/* It is called by its clock; an earlier wake-up stays. */
void member_wake_at(struct sim_member *m, int64_t its_us);
/* Looks for jobs of its disk. */
void member_serve_disk(struct sim_member *m);
/* Calls toy_snapshot_due() some time. */
void member_walks_later(struct sim_member *m, uint64_t link);
/* Calls toy_snapshot_sent() when it has left. */
void member_sends_snapshot(struct sim_member *m, uint64_t link, struct bytes snapshot);
/* One more effect is about to be carried out; false: it crashes before. */
bool member_may_do(struct sim_member *m);

/* All members that run serve in one epoch, nothing is under way, and all have the same. */
bool world_is_settled(struct world *w);
bool world_all_run(const struct world *w);

#endif
