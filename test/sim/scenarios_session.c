/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios_session.c - stories about whose node it is, and about what happens twice.
 *
 * Several rules stand behind each other here, so that no run of the real thing shows when one of
 * them is missing. Where that is so the story changes what the first of them would have kept in
 * order, and looks whether the next one notices. */
#include <stdio.h>

#include "pawl/error.h"
#include "recipes/core/attempt.h"
#include "recipes/lock/lock.h"
#include "sim/scenarios_recipes.h"

static struct contender *contender_of(const struct party *p)
{
    return &container_of(p->lock->holders.next, struct holder, link)->contender;
}

static void free_all(struct party *a, struct party *b)
{
    pawl_lock_free(a->lock);
    if (b != NULL) {
        pawl_lock_free(b->lock);
    }
    UNTIL(n_nodes() <= 0 && world_n_watches(the_world) == 0);
}

/* It is its turn, but with a node that it made in another session: that may go at any moment. */
static void claim_needs_a_node_of_our_session(struct world *w)
{
    struct party holder = party_of(w, 100), waiter = party_of(w, 100);
    int64_t token;

    party_make_lock(&holder, PAWL_DOUBT_STOP);
    party_make_lock(&waiter, PAWL_DOUBT_STOP);
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&waiter, -1);
    UNTIL(contender_of(&waiter)->state == CONTENDER_WAITING);
    token = contender_of(&waiter)->attempt->token;
    contender_of(&waiter)->attempt->session_id++;
    party_release(&holder);
    UNTIL(waiter.n_told == 1);
    EXPECT(waiter.err == 0 && party_holds(&waiter));
    EXPECT((int64_t)pawl_lock_token(waiter.lock) > token); /* of a new node */
    EXPECT(pawl_lock_grant(waiter.lock)->session_id == world_session(waiter.m));
    party_release(&waiter);
    free_all(&holder, &waiter);
}

/* Asked at any moment, and when the link is back: with another session there is nothing to hold. */
static void grant_of_another_session_is_not_held(struct world *w)
{
    struct party p = party_of(w, 100);
    struct pawl_grant *g;

    party_make_lock(&p, PAWL_DOUBT_STOP);
    party_acquire(&p, -1);
    UNTIL(party_holds(&p));
    g = pawl_lock_grant(p.lock);
    g->session_id++;
    EXPECT(!pawl_grant_held(g) && pawl_grant_certain_ms(g) == 0);
    world_cut(p.m, BOTH_WAYS);
    UNTIL(p.state == PAWL_GRANT_IN_DOUBT);
    UNTIL(p.state != PAWL_GRANT_IN_DOUBT);
    EXPECT(p.state == PAWL_GRANT_LOST);
    party_release(&p);
    free_all(&p, NULL);
}

/* ---- calls ---- */

struct answer {
    int n_told, err;
    enum pawl_outcome outcome;
    char path[128];
};

static void answered(const struct pawl_reply *reply, void *answer)
{
    struct answer *a = answer;

    a->n_told++;
    a->err = reply->err;
    a->outcome = reply->outcome;
    snprintf(a->path, sizeof(a->path), "%s", reply->path == NULL ? "" : reply->path);
}

static struct pawl_client *patient(struct pawl_client *c)
{
    struct pawl_retry retry = {.kind = PAWL_RETRY_FOREVER, .pause_ms = 100};
    struct pawl_view_options o = {.size = sizeof(o), .timeout_ms = -1, .retry = &retry};
    struct pawl_client *view;

    EXPECT(pawl_client_view(c, &o, &view) == 0);
    return view;
}

static void make_folder(struct world *w)
{
    EXPECT(world_create(w, "/a") == 0 && world_create(w, "/a/lock") == 0);
    world_run(w, 100);
}

/* The answer is lost and the session given up here, while the server still has it, and the node:
 * which goes with it, so what the caller gets must be another one. */
static void protected_create_adopts_no_dying_node(struct world *w)
{
    struct party p = party_of(w, 1);
    struct pawl_client *c = patient(p.m->client);
    struct answer a = {0};
    int64_t old;

    make_folder(w);
    EXPECT(
        pawl_create_async(c,
                          PAWL_CREATE(.path = "/a/lock/x", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                      .flags = PAWL_OP_PROTECTED),
                          answered, &a) == 0);
    world_freeze(p.m, TO_CLIENT, FOR_EVER);
    UNTIL(n_nodes() == 1);
    old = world_session(p.m);
    world_cut_off(p.m, 60000, 60000);
    UNTIL(p.m->e->core->state == PAWL_STATE_LOST && p.m->socket != NULL);
    p.m->cut_off_until_ms = 0;
    p.m->socket->up_at_ms = world_now_ms(w) + 1; /* soon, and not when it has lost patience */
    UNTIL(is_connected(p.m));
    EXPECT(world_session(p.m) != old && n_nodes() == 1);
    UNTIL(a.n_told == 1);
    EXPECT(a.err == 0 && owner_of(a.path) == world_session(p.m));
    world_run(w, 3 * SESSION_MS);
    EXPECT(n_nodes() == 1 && owner_of(a.path) == world_session(p.m));
    pawl_client_close(c);
}

/* Done, but not answered: a second time would be a second time. */
static void multi_is_not_repeated(struct world *w)
{
    struct party p = party_of(w, 100);
    struct pawl_client *c = patient(p.m->client);
    struct pawl_multi *m = pawl_multi_new(c);
    struct answer a = {0};

    make_folder(w);
    pawl_multi_create(m, PAWL_CREATE(.path = "/a/lock/x", .mode = PAWL_MODE_SEQUENTIAL));
    EXPECT(pawl_multi_run_async(c, m, answered, &a) == 0);
    pawl_multi_free(m);
    world_freeze(p.m, TO_CLIENT, FOR_EVER);
    UNTIL(n_nodes() == 1);
    world_cut(p.m, BOTH_WAYS);
    UNTIL(a.n_told == 1);
    EXPECT(a.err == PAWL_ERR_CONNECTION_LOSS && a.outcome == PAWL_OUTCOME_UNKNOWN);
    UNTIL(is_connected(p.m));
    world_run(w, 1000);
    EXPECT(n_nodes() == 1);
    pawl_client_close(c);
}

const struct scenario session_scenarios[] = {
    {"claim_needs_a_node_of_our_session", claim_needs_a_node_of_our_session},
    {"grant_of_another_session_is_not_held", grant_of_another_session_is_not_held},
    {"protected_create_adopts_no_dying_node", protected_create_adopts_no_dying_node},
    {"multi_is_not_repeated", multi_is_not_repeated},
    {NULL, NULL},
};
