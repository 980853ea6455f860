/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenarios_recipes.h"

#include <stdio.h>
#include <string.h>

#include "pawl/error.h"
#include "recipes/core/grant.h"
#include "store/tree.h"

/* ---- parties ---- */

bool is_connected(const struct machine *m)
{
    enum pawl_state s = m->e->core->state;

    return s == PAWL_STATE_CONNECTED || s == PAWL_STATE_RECONNECTED;
}

struct party party_of(struct world *w, int lost_percent)
{
    struct process_options o = {.session_ms = SESSION_MS, .lost_percent = lost_percent};
    struct party p = {.m = world_start(w, &o)};

    UNTIL(is_connected(p.m));
    return p;
}

static void changed(struct pawl_grant *g, enum pawl_grant_state state, void *party)
{
    struct party *p = party;

    (void)g;
    world_note(p->m->id, "grant", (int64_t)state);
    EXPECT(p->n_grants > 0); /* not before it was granted */
    p->state = state;
}

void party_make_lock(struct party *p, enum pawl_doubt doubt)
{
    struct pawl_lock_options o = {
        .size = sizeof(o), .doubt = doubt, .on_grant = changed, .on_grant_arg = p};

    EXPECT(pawl_lock_new(p->m->client, "/a/lock", &o, &p->lock) == 0);
}

static void told(struct pawl_lock *l, int err, void *party)
{
    struct party *p = party;

    (void)l;
    world_note(p->m->id, "told", err);
    p->n_told++;
    p->err = err;
    if (err == 0) {
        p->n_grants++;
        p->state = PAWL_GRANT_CERTAIN;
    }
}

void party_acquire(struct party *p, int timeout_ms)
{
    world_note(p->m->id, "acquire", timeout_ms);
    EXPECT(pawl_lock_acquire_async(p->lock, timeout_ms, told, p) == 0);
}

static void released(struct pawl_lock *l, int err, void *done)
{
    (void)l;
    EXPECT(err == 0 || err == PAWL_ERR_LOST);
    *(bool *)done = true;
}

void party_release(struct party *p)
{
    bool done = false;

    world_note(p->m->id, "release", 0);
    EXPECT(pawl_lock_release_async(p->lock, released, &done) == 0);
    UNTIL(done);
}

bool party_holds(const struct party *p)
{
    struct machine *running = the_world->running;
    bool held;

    the_world->running = p->m;
    held = !machine_is_stopped(p->m) && pawl_lock_held(p->lock);
    the_world->running = running;
    return held;
}

/* ---- the tree ---- */

int n_nodes(void)
{
    return world_n_children(the_world, "/a/lock");
}

int64_t owner_of(const char *path)
{
    struct tree *t = world_tree(the_world);
    znode_id id = tree_find(t, bytes_str(path));

    return id == 0 ? 0 : tree_owner(t, id);
}

/* ---- telling them ---- */

static int tell(const struct scenario *all, const char *name, bool verbose)
{
    int n = 0;

    for (const struct scenario *s = all; s->name != NULL; s++) {
        char replay[64];
        struct world *w;

        if (name != NULL && strcmp(name, s->name) != 0) {
            continue;
        }
        snprintf(replay, sizeof(replay), "--scenario %s", s->name);
        w = world_new(1, 20, verbose);
        w->latency_ms = 5;
        w->replay = replay;
        world_note(-1, s->name, 0);
        s->tell(w);
        world_free(w);
        n++;
    }
    return n;
}

bool scenarios_run(const char *name, bool verbose)
{
    int n = tell(lock_scenarios, name, verbose) + tell(other_scenarios, name, verbose) +
            tell(barrier_scenarios, name, verbose) + tell(session_scenarios, name, verbose);

    if (n == 0) {
        fprintf(stderr, "no such scenario: %s\n", name);
        return false;
    }
    printf("%d scenarios: all as they should be\n", n);
    return true;
}
