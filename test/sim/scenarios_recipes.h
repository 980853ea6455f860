/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios_recipes.h - stories with names, told move by move in a simulated world. R-xx are those
 * of Curator's history; the others are what seeds have found. */
#ifndef PAWL_TEST_SCENARIOS_RECIPES_H
#define PAWL_TEST_SCENARIOS_RECIPES_H

#include "pawl/lock.h"
#include "sim/sim_world.h"

struct scenario {
    const char *name;
    void (*tell)(struct world *w);
};

/* The last has no name. */
extern const struct scenario lock_scenarios[], other_scenarios[], barrier_scenarios[],
    session_scenarios[];

/* NULL: all. False: there is none of this name. A failure does not return. */
bool scenarios_run(const char *name, bool verbose);

/* ---- for stories ---- */

#define SESSION_MS 10000

/* Somebody with a client and a lock on "/a/lock". */
struct party {
    struct machine *m;
    struct pawl_lock *lock;
    int n_told, err, n_grants;
    enum pawl_grant_state state;
};

#define EXPECT(what)                                                \
    do {                                                            \
        if (!(what)) {                                              \
            world_violated("%s:%d: %s", __FILE__, __LINE__, #what); \
        }                                                           \
    } while (0)

/* Time passes until it is so. */
#define UNTIL(what)                                           \
    do {                                                      \
        int64_t limit_ = world_now_ms(the_world) + 60000;     \
        while (!(what) && world_now_ms(the_world) < limit_) { \
            world_step(the_world, limit_);                    \
        }                                                     \
        EXPECT(what);                                         \
    } while (0)

struct party party_of(struct world *w, int lost_percent);
void party_make_lock(struct party *p, enum pawl_doubt doubt);
void party_acquire(struct party *p, int timeout_ms);
void party_release(struct party *p); /* and waits */
bool party_holds(const struct party *p);
bool is_connected(const struct machine *m);
int n_nodes(void); /* below "/a/lock" */

/* Of the node, by the server. */
int64_t owner_of(const char *path);

#endif
