/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios_lock.c - stories about the queue under a lock. */
#include <stdio.h>
#include <string.h>

#include "pawl/error.h"
#include "recipes/lock/lock.h"
#include "server/server.h"
#include "sim/scenarios_recipes.h"
#include "store/tree.h"

static void two_parties(struct world *w, struct party *a, struct party *b, int lost_percent)
{
    *a = party_of(w, 100);
    *b = party_of(w, lost_percent);
    party_make_lock(a, PAWL_DOUBT_STOP);
    party_make_lock(b, PAWL_DOUBT_STOP);
}

/* Wherever it ends: nothing is left. */
static void all_free(struct party *a, struct party *b)
{
    pawl_lock_free(a->lock);
    if (b != NULL) {
        pawl_lock_free(b->lock);
    }
    UNTIL(n_nodes() <= 0 && world_n_watches(the_world) == 0);
}

/* What is granted is a node of the session that we have. */
static void expect_own_node(const struct party *p)
{
    char path[128];

    pawl_grant_path(pawl_lock_grant(p->lock), path, sizeof(path));
    EXPECT(owner_of(path) == world_session(p->m));
}

/* R-01, CURATOR-604: the waiter has a new session, its old node is still listed, and is first. */
static void waiter_does_not_claim_the_node_of_its_old_session(struct world *w)
{
    struct party holder, waiter;
    int64_t old;

    two_parties(w, &holder, &waiter, 30);
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&waiter, -1);
    UNTIL(n_nodes() == 2);
    old = world_session(waiter.m);
    world_cut_off(waiter.m, 60000, 60000);
    UNTIL(waiter.m->e->core->state == PAWL_STATE_LOST);
    party_release(&holder);
    EXPECT(n_nodes() == 1); /* the waiter's old one */
    waiter.m->cut_off_until_ms = 0;
    UNTIL(is_connected(waiter.m));
    EXPECT(world_session(waiter.m) != old && !party_holds(&waiter));
    UNTIL(party_holds(&waiter));
    expect_own_node(&waiter);
    party_release(&waiter);
    all_free(&holder, &waiter);
}

static struct party *first, *second;

static void never_both(void *unused)
{
    (void)unused;
    EXPECT(!party_holds(first) || !party_holds(second));
}

/* R-02, CURATOR-206: the holder is cut off beyond its session. An answer that comes late does not
 * prolong it: what counts is when the question was sent. */
static void holder_knows_before_another_is_granted(struct world *w)
{
    struct party holder, waiter;

    two_parties(w, &holder, &waiter, 100);
    pawl_lock_free(holder.lock);
    party_make_lock(&holder, PAWL_DOUBT_GO_ON);
    first = &holder;
    second = &waiter;
    w->check = never_both;
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&waiter, -1);
    UNTIL(n_nodes() == 2);
    UNTIL(holder.m->e->core->heartbeat != NULL);
    world_freeze(holder.m, TO_CLIENT, SESSION_MS / 4);
    world_run(w, 50); /* it has been heard */
    world_cut_off(holder.m, 60000, SESSION_MS / 4);
    UNTIL(party_holds(&waiter));
    EXPECT(holder.state == PAWL_GRANT_IN_DOUBT || holder.state == PAWL_GRANT_LOST);
    w->check = NULL;
    holder.m->cut_off_until_ms = 0;
    UNTIL(holder.state == PAWL_GRANT_LOST);
    party_release(&holder);
    party_release(&waiter);
    all_free(&holder, &waiter);
}

/* R-02 again: away, not cut off. It comes back after the other was granted, and asks. */
static void holder_that_was_away_does_not_hold(struct world *w,
                                               void (*go_away)(struct machine *m, int64_t ms))
{
    struct party holder, waiter;

    two_parties(w, &holder, &waiter, 100);
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&waiter, -1);
    first = &holder;
    second = &waiter;
    w->check = never_both;
    go_away(holder.m, 3 * SESSION_MS);
    UNTIL(party_holds(&waiter));
    EXPECT(holder.state == PAWL_GRANT_CERTAIN); /* it knows nothing yet, but its clock does */
    UNTIL(holder.state == PAWL_GRANT_LOST);
    w->check = NULL;
    party_release(&holder);
    party_release(&waiter);
    all_free(&holder, &waiter);
}

static void holder_whose_process_was_stopped(struct world *w)
{
    holder_that_was_away_does_not_hold(w, world_pause);
}

/* Its wall clock stands still as well, so that only one clock tells. */
static void sleep_without_wall_clock(struct machine *m, int64_t ms)
{
    world_sleep(m, ms);
    m->clocks.wall_ahead_ms -= ms;
}

static void holder_whose_computer_slept(struct world *w)
{
    holder_that_was_away_does_not_hold(w, sleep_without_wall_clock);
}

static void holder_whose_virtual_machine_was_stopped(struct world *w)
{
    holder_that_was_away_does_not_hold(w, world_stop);
}

/* The create is executed; its answer does not come back. */
static void lose_the_answer_to_the_create(struct party *p)
{
    EXPECT(world_create(the_world, "/a") == 0 && world_create(the_world, "/a/lock") == 0);
    world_run(the_world, 100);
    party_acquire(p, -1);
    world_freeze(p->m, TO_CLIENT, FOR_EVER);
    UNTIL(n_nodes() == 1);
}

/* R-03, CURATOR-498: answer lost, session dead here, but not yet there. */
static void node_of_a_dead_session_is_replaced(struct world *w)
{
    struct party p = party_of(w, 30);

    party_make_lock(&p, PAWL_DOUBT_STOP);
    lose_the_answer_to_the_create(&p);
    world_cut_off(p.m, 60000, 60000);
    UNTIL(p.m->e->core->state == PAWL_STATE_LOST);
    EXPECT(n_nodes() == 1);
    p.m->cut_off_until_ms = 0;
    UNTIL(party_holds(&p));
    expect_own_node(&p);
    UNTIL(n_nodes() == 1);
    party_release(&p);
    all_free(&p, NULL);
}

/* R-04, CURATOR-45: answer lost, caller gone: the node goes, too, while the session lives on. */
static void node_of_a_cancelled_create_is_removed(struct world *w)
{
    struct process_options o = {.session_ms = SESSION_MS, .name_space = "a"};
    struct party p = {.m = world_start(w, &o)};
    int64_t session;

    UNTIL(is_connected(p.m));
    EXPECT(pawl_lock_new(p.m->client, "/lock", NULL, &p.lock) == 0);
    session = world_session(p.m);
    lose_the_answer_to_the_create(&p);
    pawl_lock_cancel(p.lock);
    UNTIL(p.n_told == 1);
    EXPECT(p.err == PAWL_ERR_CANCELLED);
    UNTIL(n_nodes() == 0);
    EXPECT(world_session(p.m) == session);
    all_free(&p, NULL);
}

/* R-09, CURATOR-527: the one ahead goes between our listing and our watch. */
static void release_before_the_watch_is_set_is_seen(struct world *w)
{
    struct party holder, waiter;

    two_parties(w, &holder, &waiter, 100);
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&waiter, -1);
    world_freeze(waiter.m, TO_CLIENT, 400);
    UNTIL(n_nodes() == 2);
    party_release(&holder);
    EXPECT(waiter.n_told == 0);
    world_run(w, 600);
    EXPECT(party_holds(&waiter));
    party_release(&waiter);
    all_free(&holder, &waiter);
}

/* ---- a server that lags ---- */

static const struct sim_link *fresh_link; /* of which there was no sync yet */

/* Until it was told to catch up, the second server has an empty folder. */
static bool lag(struct sim_link *l, struct bytes frame, struct strbuf *reply)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r), type = jute_read_int(&r);
    size_t start;

    if (l != fresh_link || xid == 0) {
        return false;
    }
    if (type == OP_SYNC) {
        fresh_link = NULL;
        return false;
    }
    if (type != OP_GET_CHILDREN && type != OP_GET_CHILDREN2) {
        return false;
    }
    start = reply_begin(reply, xid, 0, PAWL_OK);
    jute_write_int(reply, 0);
    if (type == OP_GET_CHILDREN2) {
        stat_write(reply, &(struct stat_record){0});
    }
    reply_end(reply, start);
    return true;
}

/* the search for a node whose creation was not answered asks a server that has not seen it.
 */
static void search_on_a_lagging_server_finds_the_node(struct world *w)
{
    struct party p = party_of(w, 100);
    uint64_t link;

    party_make_lock(&p, PAWL_DOUBT_STOP);
    lose_the_answer_to_the_create(&p);
    link = p.m->e->link.number;
    UNTIL(p.m->e->link.number != link && p.m->socket != NULL);
    fresh_link = p.m->socket;
    w->intercept = lag;
    UNTIL(party_holds(&p));
    w->intercept = NULL;
    EXPECT(fresh_link == NULL && n_nodes() == 1);
    expect_own_node(&p);
    party_release(&p);
    all_free(&p, NULL);
}

/* ---- numbers ---- */

/* As after two thousand million nodes in this folder. */
static void set_counter(struct world *w, const char *path, int32_t cversion)
{
    struct server *s = member_server(w->server.member);
    struct tree *const trees[] = {s->tree, w->server.replica};

    for (int i = 0; i < 2; i++) {
        znode_id id = tree_find(trees[i], bytes_str(path));
        struct stat_record stat;

        tree_stat(trees[i], id, &stat);
        tree_set_child_stat(trees[i], id, cversion, stat.pzxid);
    }
    s->proposer->prepare.pending.digest = tree_digest(s->tree);
}

static void expect_name(const struct party *p, const char *end)
{
    char path[128];

    pawl_grant_path(pawl_lock_grant(p->lock), path, sizeof(path));
    EXPECT(strlen(path) > strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0);
}

/* From 2147483647 on they are negative, on servers up to 3.5: the counter is moved by hand. */
static void queue_stays_in_order_when_numbers_wrap(struct world *w)
{
    static const char *const ends[] = {"lock-2147483646", "lock-2147483647", "lock--2147483648",
                                       "lock--2147483647"};
    struct party p[4];

    EXPECT(world_create(w, "/a") == 0 && world_create(w, "/a/lock") == 0);
    for (int i = 0; i < 4; i++) {
        p[i] = party_of(w, 100);
        party_make_lock(&p[i], PAWL_DOUBT_STOP);
        set_counter(w, "/a/lock", (int32_t)((uint32_t)INT32_MAX - 1 + (uint32_t)i));
        party_acquire(&p[i], -1);
        UNTIL(n_nodes() == i + 1);
    }
    for (int i = 0; i < 4; i++) {
        UNTIL(party_holds(&p[i]));
        expect_name(&p[i], ends[i]);
        world_run(w, 200);
        for (int k = i + 1; k < 4; k++) {
            EXPECT(!party_holds(&p[k]));
        }
        party_release(&p[i]);
    }
    for (int i = 0; i < 4; i++) {
        pawl_lock_free(p[i].lock);
    }
    UNTIL(n_nodes() == 0 && world_n_watches(w) == 0);
}

/* From 3.6 on they stay at 2147483647: who has the same number as another has no place. */
static void two_with_the_last_number_do_not_both_hold(struct world *w)
{
    struct party one, two;

    EXPECT(world_create(w, "/a") == 0 && world_create(w, "/a/lock") == 0);
    set_counter(w, "/a/lock", INT32_MAX);
    two_parties(w, &one, &two, 100);
    party_acquire(&one, -1);
    UNTIL(party_holds(&one));
    expect_name(&one, "lock-2147483647");
    party_acquire(&two, -1);
    UNTIL(two.n_told == 1);
    EXPECT(two.err == PAWL_ERR_NODE_EXISTS && party_holds(&one));
    party_release(&one);
    UNTIL(n_nodes() == 0);
    EXPECT(world_delete(w, "/a/lock") == 0);
    party_acquire(&two, -1);
    UNTIL(party_holds(&two));
    expect_name(&two, "lock-0000000000");
    party_release(&two);
    all_free(&one, &two);
}

/* ---- R-27 for a lock ---- */

static void holder_learns_at_once_that_its_node_was_deleted(struct world *w)
{
    struct party p = party_of(w, 100);
    char path[128];

    party_make_lock(&p, PAWL_DOUBT_STOP);
    party_acquire(&p, -1);
    UNTIL(party_holds(&p));
    world_run(w, 200);
    pawl_grant_path(pawl_lock_grant(p.lock), path, sizeof(path));
    EXPECT(world_delete(w, path) == 0);
    world_run(w, 50);
    EXPECT(p.state == PAWL_GRANT_LOST && !party_holds(&p));
    party_release(&p);
    all_free(&p, NULL);
}

/* ---- found by seeds ---- */

/* A try and an untimed acquire on one handle: the try fails, the other goes on waiting. */
static void failed_try_does_not_end_the_acquire_that_joined_it(struct world *w)
{
    struct party holder, waiter;

    two_parties(w, &holder, &waiter, 100);
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&waiter, 0);
    party_acquire(&waiter, -1);
    UNTIL(waiter.n_told == 1);
    EXPECT(waiter.err == PAWL_ERR_OPERATION_TIMEOUT);
    world_run(w, 200);
    EXPECT(waiter.n_told == 1);
    party_release(&holder);
    UNTIL(party_holds(&waiter));
    party_release(&waiter);
    all_free(&holder, &waiter);
}

static bool delete_what_was_found;

/* Between "it is there" and "its Stat" somebody deletes it. */
static bool delete_at_exists(struct sim_link *l, struct bytes frame, struct strbuf *reply)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r), type = jute_read_int(&r);
    char path[128];
    struct bytes b;

    (void)l;
    (void)reply;
    if (xid > 0 && type == OP_EXISTS && delete_what_was_found) {
        delete_what_was_found = false;
        b = jute_read_buffer(&r);
        snprintf(path, sizeof(path), "%.*s", (int)b.len, (const char *)b.data);
        EXPECT(world_delete(the_world, path) == 0);
    }
    return false;
}

/* The node that is made instead has the name that counts; else it would block the queue for ever.
 */
static void node_that_was_found_and_deleted_is_made_again(struct world *w)
{
    struct party p = party_of(w, 100);

    party_make_lock(&p, PAWL_DOUBT_STOP);
    lose_the_answer_to_the_create(&p);
    delete_what_was_found = true;
    w->intercept = delete_at_exists;
    UNTIL(party_holds(&p));
    w->intercept = NULL;
    EXPECT(!delete_what_was_found && n_nodes() == 1);
    expect_own_node(&p);
    party_release(&p);
    all_free(&p, NULL);
}

/* The create is in flight on the server's slow disk when its link breaks: the search on the next
 * link must not say that it is not there. */
static void search_waits_for_what_is_in_flight(struct world *w)
{
    struct party p = party_of(w, 100);

    party_make_lock(&p, PAWL_DOUBT_STOP);
    EXPECT(world_create(w, "/a") == 0 && world_create(w, "/a/lock") == 0);
    world_run(w, 100);
    party_acquire(&p, -1);
    w->durable_at_ms = world_now_ms(w) + 2000;
    UNTIL(w->server.appended_zxid > w->server.durable_zxid);
    world_cut(p.m, BOTH_WAYS);
    UNTIL(party_holds(&p));
    EXPECT(n_nodes() == 1);
    party_release(&p);
    all_free(&p, NULL);
}

static bool asked_for_a_watch;

static bool see_get(struct sim_link *l, struct bytes frame, struct strbuf *reply)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r), type = jute_read_int(&r);

    (void)l;
    (void)reply;
    asked_for_a_watch = asked_for_a_watch || (xid > 0 && type == OP_GET_DATA);
    return false;
}

/* Two handles of one client come to wait for the same node: one does not know yet that its own has
 * been deleted. It gives up while the other's request for the watch is on its way; the server has
 * one watch for both. */
static void watch_that_another_is_about_to_need_stays(struct world *w)
{
    struct party holder, one, two;
    struct strbuf path;
    struct tree *t = world_tree(w);
    znode_id folder, at;

    two_parties(w, &holder, &one, 100);
    two = (struct party){.m = one.m};
    party_make_lock(&two, PAWL_DOUBT_STOP);
    party_acquire(&holder, -1);
    UNTIL(party_holds(&holder));
    party_acquire(&one, -1);
    UNTIL(world_n_watches(w) == 2); /* with the holder's own */
    party_acquire(&two, -1);
    UNTIL(n_nodes() == 3 && world_n_watches(w) == 3);
    world_run(w, 100);
    strbuf_init(&path, STRBUF_NO_LIMIT);
    folder = tree_find(t, bytes_str("/a/lock"));
    for (at = tree_first_child(t, folder); at != 0; at = tree_next_sibling(t, at)) {
        struct bytes name = tree_name(t, at);

        if (((const char *)name.data)[name.len - 1] == '1') { /* ...0000000001 */
            strbuf_clear(&path);
            tree_path(t, at, &path);
        }
    }
    asked_for_a_watch = false;
    w->intercept = see_get;
    EXPECT(world_delete(w, strbuf_cstr(&path)) == 0);
    strbuf_fini(&path);
    UNTIL(asked_for_a_watch);
    w->intercept = NULL;
    pawl_lock_cancel(one.lock);
    world_run(w, 1000);
    party_release(&holder);
    UNTIL(party_holds(&two));
    party_release(&two);
    pawl_lock_free(two.lock);
    all_free(&holder, &one);
}

const struct scenario lock_scenarios[] = {
    {"R-01", waiter_does_not_claim_the_node_of_its_old_session},
    {"R-02", holder_knows_before_another_is_granted},
    {"R-02-stopped", holder_whose_process_was_stopped},
    {"R-02-asleep", holder_whose_computer_slept},
    {"R-02-frozen", holder_whose_virtual_machine_was_stopped},
    {"R-03", node_of_a_dead_session_is_replaced},
    {"R-04", node_of_a_cancelled_create_is_removed},
    {"R-09", release_before_the_watch_is_set_is_seen},
    {"R-12", search_on_a_lagging_server_finds_the_node},
    {"R-27-lock", holder_learns_at_once_that_its_node_was_deleted},
    {"wrap", queue_stays_in_order_when_numbers_wrap},
    {"last-number", two_with_the_last_number_do_not_both_hold},
    {"try-joined", failed_try_does_not_end_the_acquire_that_joined_it},
    {"found-deleted", node_that_was_found_and_deleted_is_made_again},
    {"in-flight", search_waits_for_what_is_in_flight},
    {"shared-watch", watch_that_another_is_about_to_need_stays},
    {NULL, NULL},
};
