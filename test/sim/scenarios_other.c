/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios_other.c - stories about leases, leaders and items. */
#include <stdio.h>
#include <string.h>

#include "pawl/election.h"
#include "pawl/error.h"
#include "pawl/group.h"
#include "pawl/queue.h"
#include "pawl/semaphore.h"
#include "recipes/core/grant.h"
#include "sim/scenarios_recipes.h"
#include "store/tree.h"

/* ---- semaphores ---- */

struct taker {
    struct machine *m;
    struct pawl_semaphore *s;
    struct pawl_lease *lease;
    int n_told, err;
};

static struct taker taker_of(struct world *w)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 1};
    struct taker t = {.m = party_of(w, 100).m};

    EXPECT(pawl_semaphore_new(t.m->client, "/a/semaphore", &o, &t.s) == 0);
    return t;
}

static void told(struct pawl_semaphore *s, int err, struct pawl_lease *const *leases, size_t n,
                 void *taker)
{
    struct taker *t = taker;

    (void)s;
    t->n_told++;
    t->err = err;
    t->lease = n > 0 ? leases[0] : NULL;
}

static void ignore(int err, void *arg)
{
    (void)err;
    (void)arg;
}

static void take(struct taker *t)
{
    EXPECT(pawl_semaphore_acquire_async(t->s, 1, -1, told, t) == 0);
}

static int n_leases(void)
{
    return world_n_children(the_world, "/a/semaphore/leases");
}

/* R-16, CURATOR-315: the link breaks, or the caller gives up, between the lease's creation and its
 * success. */
static void lease_whose_creation_was_not_answered_is_not_lost(struct world *w)
{
    struct taker one = taker_of(w), two = taker_of(w);

    for (int round = 0; round < 2; round++) {
        take(&one);
        UNTIL(world_n_children(w, "/a/semaphore/locks") > 0);
        UNTIL(one.m->e->core->n_calls == 0 || n_leases() > 0);
        world_freeze(one.m, TO_CLIENT, FOR_EVER);
        world_run(w, 100);
        world_cut(one.m, BOTH_WAYS);
        if (round == 0) {
            pawl_semaphore_cancel(one.s);
        }
        UNTIL(one.n_told == round + 1);
        EXPECT(one.err == (round == 0 ? PAWL_ERR_CANCELLED : PAWL_OK) || one.err == PAWL_OK);
        if (one.lease != NULL) {
            EXPECT(pawl_lease_release_async(one.lease, ignore, NULL) == 0);
        }
        UNTIL(n_leases() <= 0);
        take(&two);
        UNTIL(two.n_told == round + 1);
        EXPECT(two.err == 0 && pawl_grant_held(pawl_lease_grant(two.lease)));
        EXPECT(pawl_lease_release_async(two.lease, ignore, NULL) == 0);
        UNTIL(n_leases() == 0);
    }
    pawl_semaphore_free(one.s);
    pawl_semaphore_free(two.s);
    UNTIL(world_n_watches(w) == 0 && tree_n_ephemerals(world_tree(w)) == 0);
}

/* ---- latches ---- */

struct candidate {
    struct machine *m;
    struct pawl_latch *latch;
    bool leads;
    int n_leader;
    int64_t lost_ms;
};

static void on_leader(struct pawl_latch *l, uint64_t token, void *candidate)
{
    struct candidate *c = candidate;

    (void)l;
    (void)token;
    c->leads = true;
    c->n_leader++;
}

static void on_lost(struct pawl_latch *l, void *candidate)
{
    struct candidate *c = candidate;

    (void)l;
    c->leads = false;
    c->lost_ms = world_now_ms(the_world);
}

static void join(struct candidate *c, struct world *w, int lost_percent)
{
    struct pawl_latch_options o = {
        .size = sizeof(o), .id = "x", .on_leader = on_leader, .on_lost = on_lost, .arg = c};

    *c = (struct candidate){.m = party_of(w, lost_percent).m};
    EXPECT(pawl_latch_new(c->m->client, "/a/lock", &o, &c->latch) == 0);
    EXPECT(pawl_latch_start(c->latch) == 0);
}

/* R-25, CURATOR-696: the leader has a new session; its old node is still there, and first. */
static void leader_does_not_lead_by_the_node_of_its_old_session(struct world *w)
{
    struct candidate one, two;
    int64_t old;

    join(&one, w, 30);
    UNTIL(one.leads);
    old = world_session(one.m);
    join(&two, w, 100);
    UNTIL(n_nodes() == 2);
    world_cut_off(one.m, 60000, 60000);
    UNTIL(one.m->e->core->state == PAWL_STATE_LOST);
    EXPECT(n_nodes() == 2 && !pawl_latch_is_leader(one.latch));
    one.m->cut_off_until_ms = 0;
    UNTIL(is_connected(one.m));
    EXPECT(world_session(one.m) != old);
    UNTIL(two.leads);
    EXPECT(!pawl_latch_is_leader(one.latch) && one.n_leader == 1);
    pawl_latch_free(two.latch);
    UNTIL(one.leads);
    EXPECT(pawl_latch_grant(one.latch)->session_id == world_session(one.m));
    pawl_latch_free(one.latch);
    UNTIL(n_nodes() == 0 && world_n_watches(w) == 0);
}

/* somebody deletes the leader's node. */
static void leader_learns_at_once_that_its_node_was_deleted(struct world *w)
{
    struct candidate one, two;
    char path[128];
    int64_t then;

    join(&one, w, 100);
    UNTIL(one.leads);
    join(&two, w, 100);
    UNTIL(n_nodes() == 2);
    world_run(w, 200);
    pawl_grant_path(pawl_latch_grant(one.latch), path, sizeof(path));
    EXPECT(world_delete(w, path) == 0);
    then = world_now_ms(w);
    UNTIL(two.leads);
    UNTIL(!one.leads);
    EXPECT(one.lost_ms <= then + 50);
    UNTIL(n_nodes() == 2); /* it queues again, behind */
    pawl_latch_free(two.latch);
    UNTIL(one.leads);
    pawl_latch_free(one.latch);
    UNTIL(n_nodes() == 0 && world_n_watches(w) == 0);
}

/* ---- items ---- */

struct queued {
    struct machine *m;
    struct pawl_simple_queue *q;
    int n_told, err;
    int64_t told_ms;
    char text[16];
};

static struct queued queued_of(struct world *w)
{
    struct queued i = {.m = party_of(w, 100).m};

    EXPECT(pawl_simple_queue_new(i.m->client, "/a/items", &i.q) == 0);
    EXPECT(pawl_simple_queue_offer(i.q, (struct pawl_bytes){"x", 1}) == 0);
    return i;
}

static void item_taken(struct pawl_simple_queue *q, int err, struct pawl_bytes data, void *item)
{
    struct queued *i = item;

    (void)q;
    i->n_told++;
    i->err = err;
    i->told_ms = world_now_ms(the_world);
    snprintf(i->text, sizeof(i->text), "%.*s", (int)data.len, (const char *)data.data);
}

static int n_items(void)
{
    return world_n_children(the_world, "/a/items");
}

/* The server has taken it out, and its answer is on its way when the link falls silent. */
static int64_t take_unanswered(struct queued *i, int64_t silent_ms)
{
    int64_t then = world_now_ms(the_world);

    EXPECT(pawl_simple_queue_take_async(i->q, 500, item_taken, i) == 0);
    UNTIL(n_items() <= 0);
    world_freeze(i->m, TO_CLIENT, silent_ms);
    UNTIL(i->n_told == 1);
    EXPECT(i->err == PAWL_ERR_CONNECTION_LOSS && i->text[0] == '\0');
    return i->told_ms - then;
}

/* Its time is up long before the link counts as dead; and the item, when it turns out to be ours,
 * belongs to nobody. */
static void take_ends_in_time_and_puts_back(struct world *w)
{
    struct queued i = queued_of(w);
    int64_t took_ms = take_unanswered(&i, 1500);

    EXPECT(took_ms >= 500 && took_ms < 750);
    UNTIL(n_items() == 1);
    EXPECT(pawl_simple_queue_take_async(i.q, 0, item_taken, &i) == 0);
    UNTIL(i.n_told == 2);
    EXPECT(i.err == 0 && i.text[0] == 'x');
    pawl_simple_queue_free(i.q);
}

/* The answer never comes: the user has been told that it may be gone, and it is. */
static void take_in_doubt_says_so(struct world *w)
{
    struct queued i = queued_of(w);

    take_unanswered(&i, FOR_EVER);
    UNTIL(!is_connected(i.m)); /* it has lost patience with the link */
    UNTIL(is_connected(i.m));
    world_run(w, 1000);
    EXPECT(n_items() <= 0 && i.n_told == 1); /* the container may be gone, too */
    pawl_simple_queue_free(i.q);
}

/* ---- nodes that stay ---- */

static struct pawl_persistent_node *node_of(struct machine *m, const char *data)
{
    struct pawl_persistent_options o = {
        .size = sizeof(o), .mode = PAWL_MODE_EPHEMERAL, .data = {data, strlen(data)}};
    struct pawl_persistent_node *n = NULL;

    EXPECT(pawl_persistent_node_new(m->client, "/a/node", &o, &n) == 0);
    return n;
}

static bool node_has(const char *data)
{
    struct tree *t = world_tree(the_world);
    znode_id id = tree_find(t, bytes_str("/a/node"));

    return id != 0 && bytes_equal(tree_data(t, id), bytes_str(data));
}

/* The answer to a set is lost with the link, and the handle is freed before it is repeated. */
static void freed_node_writes_no_more(struct world *w)
{
    struct machine *m = party_of(w, 100).m;
    struct pawl_persistent_node *first = node_of(m, "first"), *second;

    UNTIL(node_has("first"));
    world_run(w, 100); /* it is watched */
    world_freeze(m, TO_SERVER, FOR_EVER);
    EXPECT(pawl_persistent_node_set(first, (struct pawl_bytes){"late", 4}) == 0);
    UNTIL(!is_connected(m));
    pawl_persistent_node_free(first);
    second = node_of(m, "second");
    UNTIL(is_connected(m));
    UNTIL(node_has("second"));
    world_run(w, 3 * SESSION_MS);
    EXPECT(node_has("second"));
    pawl_persistent_node_free(second);
}

const struct scenario other_scenarios[] = {
    {"freed_node_writes_no_more", freed_node_writes_no_more},
    {"R-16", lease_whose_creation_was_not_answered_is_not_lost},
    {"R-25", leader_does_not_lead_by_the_node_of_its_old_session},
    {"take_ends_in_time_and_puts_back", take_ends_in_time_and_puts_back},
    {"take_in_doubt_says_so", take_in_doubt_says_so},
    {"R-27", leader_learns_at_once_that_its_node_was_deleted},
    {NULL, NULL},
};
