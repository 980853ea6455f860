/* SPDX-License-Identifier: Apache-2.0 */
/* Members that agree: real servers, real quorums, and clients of each of them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/ensemble_fixture.h"
#include "lib/member_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "member/member_internal.h"
#include "pawl/error.h"
#include "store/acl_table.h"
#include "store/snapshot_taker.h"

/* All that are up have the same tree, sessions included. */
static void expect_equal_trees(struct ensemble_fixture *f)
{
    char *first = NULL;

    assert_int_equal(f->diverged_zxid, 0);
    for (size_t i = 0; i < f->n_nodes; i++) {
        char *text;

        if (f->nodes[i].member == NULL) {
            continue;
        }
        text = ensemble_node_state(&f->nodes[i]);
        if (first == NULL) {
            first = text;
        } else {
            assert_string_equal(text, first);
            free(text);
        }
    }
    free(first);
}

static bool has(const struct ensemble_node *n, const char *path)
{
    return tree_find(ensemble_node_server(n)->tree, bytes_str(path)) != 0;
}

/* Its outcome: what `c` has been sent since it was last looked at. */
static const char *ask(struct ensemble_node *n, struct connection *c, struct request q)
{
    n->fixture->next_xid = 0;
    ensemble_send(n, c, &q);
    ensemble_fixture_settle(n->fixture);
    return ensemble_trace(n, c);
}

static void writes_of_everybodys_clients_are_answered_from_what_is_committed(void **state)
{
    struct ensemble_node *leader, *follower;
    struct connection *a, *b, *c;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 1);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    a = ensemble_client(leader, 10000);
    b = ensemble_client(follower, 10000);
    c = ensemble_client(&f.nodes[3], 10000);
    assert_int_equal(ensemble_node_server(&f.nodes[3])->role->kind, ROLE_OBSERVER);
    assert_string_equal(ask(leader, a, fixture_create_request("/a", "", 0)), "1 OK\n");
    assert_string_equal(ask(follower, b, fixture_create_request("/a/b", "", 0)), "1 OK\n");
    assert_string_equal(ask(&f.nodes[3], c, fixture_create_request("/a/c", "", 0)), "1 OK\n");
    assert_string_equal(ask(follower, b, fixture_create_request("/a", "", 0)), "1 NODE_EXISTS\n");
    assert_string_equal(ask(follower, b, fixture_path_request(OP_DELETE, "/x")), "1 NO_NODE\n");
    assert_string_equal(ask(follower, b, fixture_path_request(OP_GET_DATA, "/a/c")), "1 OK\n");
    assert_null(ensemble_node_server(follower)->proposer);
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

static void a_learner_keeps_the_order_of_each_session(void **state)
{
    struct request get = fixture_path_request(OP_GET_DATA, "/a");
    struct request create = fixture_create_request("/a", "", 0);
    struct request set = fixture_set_request("/a", "x", -1);
    struct request sync = fixture_path_request(OP_SYNC, "/");
    struct ensemble_node *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    f.next_xid = 0;
    ensemble_send(follower, c, &get);
    assert_string_equal(ensemble_trace(follower, c), "1 NO_NODE\n");
    ensemble_send(follower, c, &create);
    ensemble_send(follower, c, &get);
    ensemble_send(follower, c, &sync);
    ensemble_send(follower, c, &get);
    ensemble_send(follower, c, &set);
    ensemble_send(follower, c, &sync);
    assert_string_equal(ensemble_trace(follower, c), ""); /* all of it behind the create */
    ensemble_fixture_settle(&f);
    assert_string_equal(ensemble_trace(follower, c), "2 OK\n3 OK\n4 OK\n5 OK\n6 OK\n7 OK\n");
    assert_true(list_empty(&ensemble_node_server(follower)->syncs));
    assert_int_equal(server_outstanding(ensemble_node_server(follower)), 0);
    ensemble_fixture_fini(&f);
}

static void a_sync_sees_what_others_have_written(void **state)
{
    struct request sync = fixture_path_request(OP_SYNC, "/");
    struct ensemble_node *leader;
    struct ensemble_fixture f;
    struct connection *writer, *reader;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    writer = ensemble_client(leader, 10000);
    reader = ensemble_client(leader, 10000);
    assert_string_equal(ask(leader, reader, sync), "1 OK\n");
    f.next_xid = 0;
    ensemble_send(leader, writer, &(struct request){.type = OP_PING});
    ensemble_send(leader, reader, &sync);
    assert_string_equal(ensemble_trace(leader, reader), ""); /* it may lead no more */
    ensemble_fixture_settle(&f);
    assert_string_equal(ensemble_trace(leader, reader), "2 OK\n");
    ensemble_fixture_fini(&f);
}

static void watches_fire_where_they_were_set(void **state)
{
    struct request watch = fixture_path_request(OP_EXISTS, "/a");
    struct ensemble_node *leader, *follower;
    struct connection *writer, *watcher;
    struct ensemble_fixture f;

    (void)state;
    watch.watch = true;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    writer = ensemble_client(leader, 10000);
    watcher = ensemble_client(follower, 10000);
    assert_string_equal(ask(follower, watcher, watch), "1 NO_NODE\n");
    assert_string_equal(ask(leader, writer, fixture_create_request("/a", "", 0)), "1 OK\n");
    assert_string_equal(ensemble_trace(follower, watcher), "created /a\n");
    ensemble_fixture_fini(&f);
}

/* In the log a nested create2 is a create; the answer has the Stat all the same. */
static void a_learner_answers_what_its_client_asked_for(void **state)
{
    struct request nested = fixture_create_request("/a", "", 0);
    struct ensemble_node *follower;
    struct ensemble_fixture f;
    struct connection *c;
    struct strbuf ops;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    nested.type = OP_CREATE2;
    multi_header_write(&ops, &(struct multi_header){OP_CREATE2, false, -1});
    request_write(&ops, op_find(OP_CREATE2), &nested);
    multi_header_write(&ops, &(struct multi_header){-1, true, -1});
    ensemble_send(follower, c, &(struct request){.type = OP_MULTI, .multi = strbuf_bytes(&ops)});
    ensemble_fixture_settle(&f);
    /* length, header, header of the result, path, Stat, end */
    assert_int_equal(connection_unread(c), 4 + 16 + 9 + 4 + 2 + STAT_BYTES + 9);
    strbuf_fini(&ops);
    ensemble_fixture_fini(&f);
}

static void a_commit_may_come_before_our_own_disk(void **state)
{
    struct ensemble_node *leader, *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    follower->hold = true;
    assert_string_equal(ask(follower, c, fixture_create_request("/a", "", 0)), "1 OK\n");
    assert_true(has(follower, "/a"));
    ensemble_node_release(follower);
    leader->hold = true; /* nor is the leader's needed */
    assert_string_equal(ask(follower, c, fixture_create_request("/b", "", 0)), "1 OK\n");
    follower->hold = true; /* but two are */
    assert_string_equal(ask(follower, c, fixture_create_request("/c", "", 0)), "");
    assert_false(has(leader, "/c"));
    ensemble_node_release(leader);
    assert_string_equal(ensemble_trace(follower, c), "1 OK\n");
    ensemble_node_release(follower);
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

static uint64_t n_of(const struct ensemble_node *n, enum summary_id id)
{
    return ensemble_node_server(n)->stats.summaries[id].count;
}

static void it_is_counted_how_long_nobody_was_served(void **state)
{
    struct ensemble_node *leader, *next;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 1);
    leader = ensemble_fixture_elect(&f);
    assert_int_equal(quorum_status(leader->quorum).n_diffs, 3);
    assert_int_equal(quorum_status(leader->quorum).n_snapshots, 0);
    for (size_t i = 0; i < f.n_nodes; i++) {
        struct ensemble_node *n = &f.nodes[i];

        assert_int_equal(n_of(n, SUMMARY_ELECTION_TIME), 1);
        assert_int_equal(n_of(n, SUMMARY_UNAVAILABLE_TIME), 1);
        assert_int_equal(n_of(n, SUMMARY_LEADER_UNAVAILABLE_TIME), n == leader);
        assert_int_equal(n_of(n, SUMMARY_OBSERVER_SYNC_TIME), i == 3);
        assert_int_equal(n_of(n, SUMMARY_FOLLOWER_SYNC_TIME), i < 3 && n != leader);
    }
    ensemble_node_crash(leader);
    ensemble_fixture_settle(&f);
    next = ensemble_fixture_elect(&f);
    assert_int_equal(n_of(next, SUMMARY_ELECTION_TIME), 2);
    assert_int_equal(n_of(next, SUMMARY_LEADER_UNAVAILABLE_TIME), 1);
    ensemble_fixture_fini(&f);
}

static int64_t sum_of(const struct ensemble_node *n, enum summary_id id)
{
    return ensemble_node_server(n)->stats.summaries[id].sum;
}

/* Each role counts the stages that Apache's of that role does (mntr.*.txt of the recorded words).
 */
static void each_role_counts_how_long_its_stages_of_a_write_take(void **state)
{
    struct ensemble_node *leader;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 1);
    leader = ensemble_fixture_elect(&f);
    c = ensemble_client(leader, 60000); /* one transaction, the second is the node's */
    ask(leader, c, fixture_create_request("/a", "", 0));
    for (size_t i = 0; i < f.n_nodes; i++) {
        struct ensemble_node *n = &f.nodes[i];

        assert_int_equal(n_of(n, SUMMARY_PROPOSAL_LATENCY), n == leader || i == 3 ? 0 : 2);
        assert_int_equal(n_of(n, SUMMARY_PROPOSAL_ACK_CREATION_LATENCY), i == 3 ? 0 : 2);
        assert_int_equal(n_of(n, SUMMARY_QUORUM_ACK_LATENCY), n == leader ? 2 : 0);
        assert_int_equal(n_of(n, SUMMARY_COMMIT_PROPAGATION_LATENCY), n == leader ? 0 : 2);
    }
    ensemble_fixture_fini(&f);
}

/* The disk of a follower is slow: the other two agree without it. Then the leader's is, too. */
static void a_stage_that_waits_for_a_disk_is_as_long_as_that(void **state)
{
    struct ensemble_node *leader, *slow;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    slow = ensemble_fixture_follower(&f);
    c = ensemble_client(leader, 60000);
    slow->hold = true;
    assert_string_equal(ask(leader, c, fixture_create_request("/a", "", 0)), "1 OK\n");
    ensemble_fixture_pass(&f, 300);
    ensemble_node_release(slow); /* long after it was applied there */
    assert_int_equal(sum_of(slow, SUMMARY_COMMIT_PROPAGATION_LATENCY), 0);
    assert_int_equal(sum_of(slow, SUMMARY_PROPOSAL_ACK_CREATION_LATENCY), 300);
    assert_int_equal(sum_of(leader, SUMMARY_QUORUM_ACK_LATENCY), 0);
    slow->hold = leader->hold = true;
    assert_string_equal(ask(leader, c, fixture_create_request("/b", "", 0)), "");
    ensemble_fixture_pass(&f, 200);
    ensemble_node_release(leader);
    assert_int_equal(sum_of(leader, SUMMARY_QUORUM_ACK_LATENCY), 200);
    assert_int_equal(sum_of(leader, SUMMARY_PROPOSAL_ACK_CREATION_LATENCY), 200);
    assert_int_equal(sum_of(slow, SUMMARY_PROPOSAL_LATENCY), 0);
    assert_int_equal(sum_of(slow, SUMMARY_COMMIT_PROPAGATION_LATENCY), 200);
    ensemble_node_release(slow);
    assert_int_equal(sum_of(slow, SUMMARY_PROPOSAL_ACK_CREATION_LATENCY), 500);
    ensemble_fixture_fini(&f);
}

/* Between the time stamp and the commit the clock says that much has gone by. */
static void clocks_that_are_apart_are_noticed(void **state)
{
    struct request create = fixture_create_request("/a", "", 0);
    struct ensemble_node *leader, *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(leader, 10000);
    ensemble_send(leader, c, &create);
    f.wall_ms += 9000;
    ensemble_fixture_settle(&f);
    assert_false(ensemble_node_server(follower)->clocks_told);
    ensemble_send(leader, c, &create);
    f.wall_ms -= 20000;
    ensemble_fixture_settle(&f);
    assert_true(ensemble_node_server(follower)->clocks_told);
    assert_false(ensemble_node_server(leader)->clocks_told);
    ensemble_fixture_fini(&f);
}

/* ---- sessions ---- */

static void only_the_leader_ends_sessions_and_hears_of_all(void **state)
{
    struct ensemble_node *leader, *follower;
    struct connection *silent, *alive;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    silent = ensemble_client(follower, 4000);
    alive = ensemble_client(follower, 4000);
    ask(follower, silent, fixture_create_request("/silent", "", CREATE_EPHEMERAL));
    ask(follower, alive, fixture_create_request("/alive", "", CREATE_EPHEMERAL));
    for (int i = 0; i < 12; i++) {
        ensemble_fixture_pass(&f, 1000);
        ask(follower, alive, (struct request){.type = OP_PING});
    }
    assert_int_equal(silent->state, CONNECTION_CLOSING);
    assert_int_equal(alive->state, CONNECTION_SERVING);
    for (size_t i = 0; i < 3; i++) {
        assert_false(has(&f.nodes[i], "/silent"));
        assert_true(has(&f.nodes[i], "/alive"));
    }
    assert_int_equal(ensemble_node_server(leader)->stats.stale_sessions_expired, 1);
    assert_int_equal(ensemble_node_server(follower)->stats.stale_sessions_expired, 0);
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

static void a_session_moves_and_its_old_link_writes_no_more(void **state)
{
    struct ensemble_node *leader, *to, *from;
    struct connection *old, *fresh;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    from = ensemble_fixture_follower(&f);
    to = from + 1 == leader ? from + 2 : from + 1;
    assert_int_equal(ensemble_node_server(to)->role->kind, ROLE_FOLLOWER);
    old = ensemble_client(from, 10000);
    ask(from, old, fixture_create_request("/e", "", CREATE_EPHEMERAL));
    fresh = ensemble_resume(to, old->session_id, 10000);
    assert_int_equal(fresh->state, CONNECTION_JOINING); /* the leader is asked */
    ensemble_fixture_settle(&f);
    assert_int_equal(fresh->state, CONNECTION_SERVING);
    ensemble_disconnect(to, fresh);
    fresh = ensemble_resume(to, old->session_id, 10000);
    ensemble_fixture_settle(&f);
    assert_int_equal(fresh->state, CONNECTION_SERVING);
    assert_string_equal(ask(from, old, fixture_create_request("/x", "", 0)), "");
    assert_int_equal(old->state, CONNECTION_CLOSING);
    assert_false(has(leader, "/x"));
    /* And to the leader itself, whose clients ask nobody. */
    old = ensemble_resume(leader, fresh->session_id, 10000);
    assert_int_equal(old->state, CONNECTION_SERVING);
    ask(to, fresh, fixture_create_request("/y", "", 0));
    assert_int_equal(fresh->state, CONNECTION_CLOSING);
    ensemble_trace(leader, old);
    assert_string_equal(ask(leader, old, fixture_create_request("/z", "", 0)), "1 OK\n");
    assert_true(has(leader, "/e"));
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

/* The network has swallowed the end of its old link. */
static void a_link_whose_client_has_gone_elsewhere_is_closed_in_the_end(void **state)
{
    struct ensemble_node *leader, *from;
    struct connection *old, *fresh;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    from = ensemble_fixture_follower(&f);
    old = ensemble_client(from, 4000);
    fresh = ensemble_resume(leader, old->session_id, 4000);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(old->state, i < 4 ? CONNECTION_SERVING : old->state);
        ensemble_fixture_pass(&f, 1000);
        ask(leader, fresh, fixture_path_request(OP_EXISTS, "/"));
    }
    assert_int_equal(old->state, CONNECTION_CLOSING);
    assert_int_equal(fresh->state, CONNECTION_SERVING);
    ensemble_fixture_fini(&f);
}

/* The newer one may be gone when the answer comes, and the leader takes for ours what either sends.
 */
static void the_older_link_is_closed_before_the_leader_is_asked(void **state)
{
    struct ensemble_node *follower;
    struct connection *old, *fresh;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    old = ensemble_client(follower, 4000);
    fresh = ensemble_resume(follower, old->session_id, 4000);
    assert_int_equal(fresh->state, CONNECTION_JOINING);
    assert_int_equal(old->state, CONNECTION_CLOSING);
    ensemble_fixture_fini(&f);
}

static void a_session_that_is_gone_is_refused_everywhere(void **state)
{
    struct ensemble_node *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_resume(follower, 0x1234, 10000);
    ensemble_fixture_settle(&f);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    c = ensemble_client(follower, 10000);
    assert_string_equal(ask(follower, c, (struct request){.type = OP_CLOSE_SESSION}), "1 OK\n");
    assert_int_equal(c->state, CONNECTION_CLOSING);
    c = ensemble_resume(follower, c->session_id, 10000);
    ensemble_fixture_settle(&f);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    ensemble_fixture_fini(&f);
}

/* Its end is proposed: nobody is told of it before it is certain. */
static void a_session_that_is_being_closed_is_dead_when_that_is_committed(void **state)
{
    struct request end = {.type = OP_CLOSE_SESSION};
    struct ensemble_node *leader, *follower;
    struct connection *c, *again;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(leader, 10000);
    for (size_t i = 0; i < f.n_nodes; i++) {
        f.nodes[i].hold = true;
    }
    ensemble_send(leader, c, &end);
    ensemble_fixture_settle(&f);
    again = ensemble_resume(follower, c->session_id, 10000);
    ensemble_fixture_settle(&f);
    assert_int_equal(again->state, CONNECTION_JOINING);
    for (size_t i = 0; i < f.n_nodes; i++) {
        ensemble_node_release(&f.nodes[i]);
    }
    ensemble_fixture_settle(&f);
    assert_int_equal(again->state, CONNECTION_CLOSING);
    ensemble_fixture_fini(&f);
}

static void what_a_learners_client_may_is_judged_by_its_ids(void **state)
{
    static const uint8_t acl[] = "\0\0\0\1\0\0\0\x1f\0\0\0\4auth\0\0\0\0";
    struct request create = fixture_create_request("/mine", "", 0);
    struct request auth = {
        .type = OP_AUTH, .scheme = bytes_str("digest"), .data = bytes_str("bob:pw")};
    struct ensemble_node *follower;
    struct connection *bob, *eve;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    bob = ensemble_client(follower, 10000);
    eve = ensemble_client(follower, 10000);
    create.acl = (struct acl_list){1, bytes_of(acl + 4, sizeof(acl) - 5)};
    assert_string_equal(ask(follower, eve, create), "1 INVALID_ACL\n"); /* nothing to show */
    ensemble_send(follower, bob, &auth);
    ensemble_trace(follower, bob);
    assert_string_equal(ask(follower, bob, create), "1 OK\n");
    assert_string_equal(ask(follower, eve, fixture_set_request("/mine", "x", -1)), "1 NO_AUTH\n");
    assert_string_equal(ask(follower, bob, fixture_set_request("/mine", "x", -1)), "1 OK\n");
    ensemble_fixture_fini(&f);
}

/* ---- changes ---- */

static void nothing_that_was_answered_is_lost_with_its_leader(void **state)
{
    struct ensemble_node *leader, *next;
    struct ensemble_fixture f;
    struct connection *c;
    int64_t session_id;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    c = ensemble_client(leader, 10000);
    session_id = c->session_id;
    assert_string_equal(ask(leader, c, fixture_create_request("/a", "", CREATE_EPHEMERAL)),
                        "1 OK\n");
    ensemble_node_crash(leader);
    next = ensemble_fixture_elect(&f);
    assert_ptr_not_equal(next, leader);
    c = ensemble_resume(next, session_id, 10000);
    ensemble_fixture_settle(&f);
    assert_int_equal(c->state, CONNECTION_SERVING);
    ensemble_trace(next, c);
    assert_string_equal(ask(next, c, fixture_create_request("/b", "", 0)), "1 OK\n");
    ensemble_node_start(leader);
    ensemble_fixture_elect(&f);
    assert_true(has(leader, "/a"));
    assert_true(has(leader, "/b"));
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

/* A leader dies with a proposal that only its own log has: when it comes back, it is cut. */
static void what_a_leader_had_alone_does_not_come_back(void **state)
{
    struct request q = fixture_create_request("/lost", "", 0);
    struct ensemble_node *leader;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    c = ensemble_client(leader, 10000);
    ensemble_send(leader, c, &q);
    assert_int_equal(leader->asked_zxid, leader->appended_zxid); /* it is on its disk, */
    ensemble_node_lose_packets(leader);                          /* and nowhere else */
    ensemble_node_crash(leader);
    ensemble_fixture_elect(&f);
    c = ensemble_client(ensemble_fixture_leader(&f), 10000);
    ask(ensemble_fixture_leader(&f), c, fixture_create_request("/kept", "", 0));
    ensemble_node_start(leader);
    ensemble_fixture_elect(&f);
    assert_true(has(leader, "/kept"));
    assert_false(has(leader, "/lost"));
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

static void who_leaves_its_role_closes_its_clients_and_serves_again(void **state)
{
    struct quorum_input resign = {.kind = QUORUM_IN_RESIGN};
    struct ensemble_node *leader, *follower;
    struct connection *c, *fresh;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    ask(follower, c, fixture_create_request("/e", "", CREATE_EPHEMERAL));
    ensemble_node_do(leader, &resign);
    ensemble_fixture_settle(&f);
    ensemble_fixture_elect(&f);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fresh = ensemble_resume(follower, c->session_id, 10000);
    ensemble_disconnect(follower, c);
    ensemble_fixture_settle(&f);
    assert_int_equal(fresh->state, CONNECTION_SERVING);
    ensemble_trace(follower, fresh);
    assert_string_equal(ask(follower, fresh, fixture_path_request(OP_DELETE, "/e")), "1 OK\n");
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

/* One epoch after the other ends under three clients: none of them notices. */
static void epochs_end_while_everybody_is_served(void **state)
{
    struct ensemble_node *leader, *nodes[3];
    struct connection *clients[3];
    struct ensemble_fixture f;
    uint64_t n_looks;

    (void)state;
    ensemble_fixture_init_ending(&f, 3, 1, 20);
    leader = ensemble_fixture_elect(&f);
    n_looks = ensemble_node_server(leader)->stats.looking_count;
    nodes[0] = leader;
    nodes[1] = ensemble_fixture_follower(&f);
    nodes[2] = &f.nodes[3]; /* the observer */
    for (int i = 0; i < 3; i++) {
        clients[i] = ensemble_client(nodes[i], 10000);
    }
    ask(leader, clients[0], fixture_create_request("/a", "", 0));
    for (int i = 0; i < 100; i++) {
        struct request q = fixture_create_request("/a/", "x", CREATE_SEQUENTIAL);

        assert_string_equal(ask(nodes[i % 3], clients[i % 3], q), "1 OK\n");
        ensemble_fixture_pass(&f, 500);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(clients[i]->state, CONNECTION_SERVING);
    }
    assert_ptr_equal(ensemble_fixture_leader(&f), leader);
    assert_true(zxid_epoch(ensemble_node_server(leader)->applied_zxid) > 5);
    assert_true(leader->current_epoch > 5);
    assert_int_equal(ensemble_node_server(leader)->stats.looking_count, n_looks);
    expect_equal_trees(&f);
    ensemble_node_crash(nodes[1]); /* what they have on disk is as good as ever */
    ensemble_node_start(nodes[1]);
    ensemble_fixture_elect(&f);
    assert_ptr_equal(ensemble_fixture_leader(&f), leader);
    ensemble_node_crash(leader);
    ensemble_fixture_elect(&f);
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

static void a_late_member_gets_what_it_missed(void **state)
{
    struct ensemble_node *leader, *late;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 1);
    leader = ensemble_fixture_elect(&f);
    late = ensemble_fixture_follower(&f);
    c = ensemble_client(leader, 10000);
    ask(leader, c, fixture_create_request("/a", "", 0));
    ensemble_node_crash(late);
    for (int i = 0; i < 20; i++) {
        ask(leader, c, fixture_create_request("/a/", "x", CREATE_SEQUENTIAL));
    }
    ensemble_node_start(late);
    ensemble_fixture_elect(&f);
    expect_equal_trees(&f);
    ensemble_node_crash(late);
    strbuf_clear(&late->log); /* a new disk: the whole tree is sent */
    late->accepted_epoch = late->current_epoch = 0;
    ensemble_node_start(late);
    ensemble_fixture_elect(&f);
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

static struct strbuf all_of(struct snapshot_taker *t)
{
    struct snapshot_chunk *chunk;
    struct strbuf b;

    assert_int_equal(t->state, TAKER_WHOLE);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    while ((chunk = snapshot_taker_take(t)) != NULL) {
        strbuf_append(&b, chunk->data, chunk->len);
        snapshot_chunk_free(chunk);
    }
    return b;
}

static void slice(struct ensemble_node *n)
{
    member_step(n->member, n->fixture->now_us, n->fixture->wall_ms,
                &(struct member_input){.kind = MEMBER_SNAPSHOT_SLICE}, &n->effects);
}

static void want(struct ensemble_node *n, uint64_t link)
{
    member_step(n->member, n->fixture->now_us, n->fixture->wall_ms,
                &(struct member_input){.kind = MEMBER_WANT_SNAPSHOT, .link = link}, &n->effects);
}

/* One walk for all who came before it began, the next one for those behind. */
static void learners_share_a_walk_of_the_tree(void **state)
{
    struct ensemble_node *leader;
    struct ensemble_fixture f;
    struct strbuf one, two;
    struct connection *c;
    char path[16];

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    c = ensemble_client(leader, 10000);
    for (int i = 0; i < 1200; i++) { /* several slices */
        snprintf(path, sizeof(path), "/n%d", i);
        ask(leader, c, fixture_create_request(path, "data", 0));
    }
    want(leader, 1);
    want(leader, 2);
    assert_int_equal(leader->n_takers, 2);
    slice(leader);
    want(leader, 3);
    assert_int_equal(leader->n_takers, 2);
    ask(leader, c, fixture_set_request("/n1100", "changed", -1));
    while (leader->n_takers < 3) {
        assert_true(member_is_snapshotting(leader->member));
        slice(leader);
    }
    while (member_is_snapshotting(leader->member)) {
        slice(leader);
    }
    one = all_of(leader->takers[0]);
    two = all_of(leader->takers[1]);
    assert_true(one.len > 1200 * 60);
    assert_true(bytes_equal(strbuf_bytes(&one), strbuf_bytes(&two)));
    assert_int_equal(leader->taken_zxid[2], leader->taken_zxid[0] + 1);
    strbuf_fini(&two);
    two = all_of(leader->takers[2]);
    assert_int_equal(two.len, one.len + strlen("changed") - strlen("data"));
    strbuf_fini(&one);
    strbuf_fini(&two);
    ensemble_fixture_fini(&f);
}

/* A tree of 20 MiB, and the leader's walk of it for the learner of link 1, which has taken nothing
 * yet: the walk waits for it. */
static struct ensemble_node *walking(struct ensemble_fixture *f)
{
    static char data[100001];
    struct ensemble_node *leader;
    struct connection *c;
    char path[16];

    memset(data, 'x', sizeof(data) - 1);
    ensemble_fixture_init(f, 3, 0);
    leader = ensemble_fixture_elect(f);
    c = ensemble_client(leader, 10000);
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "/n%d", i);
        ask(leader, c, fixture_create_request(path, data, 0));
    }
    want(leader, 1);
    while (member_is_snapshotting(leader->member)) {
        slice(leader);
    }
    assert_int_equal(leader->takers[0]->state, TAKER_WALKING);
    return leader;
}

/* So much time passes, and the learner takes so much of what there is for it each second. */
static void take_slowly(struct ensemble_node *leader, int seconds, int chunks)
{
    for (int s = 0; s < seconds; s++) {
        for (int i = 0; i < chunks; i++) {
            snapshot_chunk_free(snapshot_taker_take(leader->takers[0]));
        }
        ensemble_fixture_pass(leader->fixture, 1000);
        while (member_is_snapshotting(leader->member)) {
            slice(leader);
        }
    }
}

static void a_learner_that_is_stalled_delays_nobody_for_long(void **state)
{
    struct ensemble_node *leader;
    struct ensemble_fixture f;

    (void)state;
    leader = walking(&f);
    take_slowly(leader, 60, 0);
    assert_int_equal(leader->takers[0]->state, TAKER_WALKING); /* nobody waits */
    want(leader, 2);
    assert_int_equal(leader->n_takers, 1);
    take_slowly(leader, 20, 3); /* less than 1 MiB each second */
    assert_int_equal(leader->takers[0]->state, TAKER_LATE);
    assert_int_equal(leader->n_takers, 2);
    ensemble_fixture_fini(&f);
}

static void a_learner_that_reads_on_is_waited_for(void **state)
{
    struct ensemble_node *leader;
    struct ensemble_fixture f;

    (void)state;
    leader = walking(&f);
    want(leader, 2);
    take_slowly(leader, 30, 5);
    assert_int_equal(leader->takers[0]->state, TAKER_WHOLE);
    assert_int_equal(leader->n_takers, 2);
    ensemble_fixture_fini(&f);
}

static void our_own_snapshot_waits_for_a_learners_walk_but_not_for_ever(void **state)
{
    struct ensemble_node *leader;
    struct ensemble_fixture f;

    (void)state;
    leader = walking(&f);
    member_step(leader->member, f.now_us, f.wall_ms,
                &(struct member_input){.kind = MEMBER_SNAPSHOT}, &leader->effects);
    assert_false(leader->effects.snapshot_begun);
    ensemble_fixture_pass(&f, 20000);
    assert_int_equal(leader->takers[0]->state, TAKER_LATE);
    slice(leader);
    assert_true(leader->effects.snapshot_begun);
    ensemble_fixture_fini(&f);
}

/* ---- trouble ---- */

static void a_tree_that_is_not_the_leaders_is_shown_to_nobody(void **state)
{
    struct ensemble_node *leader, *follower;
    struct connection *c, *reader;
    struct ensemble_fixture f;
    struct tree *tree;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(leader, 10000);
    reader = ensemble_client(follower, 10000);
    ask(leader, c, fixture_create_request("/a", "", 0));
    tree = ensemble_node_server(follower)->tree;
    tree_set_data(tree, tree_find(tree, bytes_str("/a")), bytes_str("bad"), 1, 1, 1);
    assert_string_equal(ask(leader, c, fixture_create_request("/b", "", 0)), "1 OK\n");
    assert_int_equal(f.diverged_zxid, ensemble_node_server(leader)->applied_zxid);
    assert_string_equal(strbuf_cstr(&ensemble_node_server(follower)->differs), "create on /b");
    assert_int_equal(reader->state, CONNECTION_CLOSING);
    assert_false(role_serves(ensemble_node_server(follower)->role));
    ensemble_fixture_fini(&f);
}

static void copy_data(struct ensemble_node *to, struct ensemble_node *from, const char *path)
{
    const struct tree *source = ensemble_node_server(from)->tree;
    struct tree *tree = ensemble_node_server(to)->tree;
    znode_id id = tree_find(source, bytes_str(path));
    struct stat_persisted stat;

    tree_persisted(source, id, &stat);
    tree_set_data(tree, tree_find(tree, bytes_str(path)), tree_data(source, id), stat.mzxid,
                  stat.mtime, stat.version);
}

/* A follower that has been away while its leader wrote, and has just come back. */
static struct ensemble_node *come_back(struct ensemble_fixture *f)
{
    struct ensemble_node *leader = ensemble_fixture_elect(f);
    struct ensemble_node *follower = ensemble_fixture_follower(f);
    struct connection *c = ensemble_client(leader, 10000);

    ask(leader, c, fixture_create_request("/a", "old", 0));
    ask(leader, c, fixture_create_request("/b", "old", 0));
    ensemble_node_crash(follower);
    ask(leader, c, fixture_set_request("/a", "new", -1));
    ask(leader, c, fixture_set_request("/b", "new", -1));
    ensemble_node_start(follower);
    return follower;
}

/* The snapshot of an Apache leader has some of what it sends behind it. */
static void a_tree_that_is_ahead_of_its_log_is_the_leaders_in_the_end(void **state)
{
    struct ensemble_node *follower;
    struct ensemble_fixture f;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    follower = come_back(&f);
    copy_data(follower, ensemble_fixture_leader(&f), "/b");
    ensemble_fixture_elect(&f);
    assert_int_equal(ensemble_node_server(follower)->stats.digest_mismatches_count, 0);
    expect_equal_trees(&f);
    ensemble_fixture_fini(&f);
}

/* Nothing of it may come from the answers to PINGs, which tell the same. */
static void a_forwarded_sync_is_a_sign_of_life(void **state)
{
    struct request sync = fixture_path_request(OP_SYNC, "/");
    struct ensemble_node *leader, *follower;
    struct strbuf untold;
    struct ensemble_fixture f;
    struct session *session;
    struct connection *c;
    int64_t deadline_ms;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    session = session_find(&ensemble_node_server(leader)->sessions, c->session_id);
    ensemble_fixture_pass(&f, 6000);
    deadline_ms = session->expiry.deadline_ms;
    ensemble_send(follower, c, &sync);
    strbuf_init(&untold, STRBUF_NO_LIMIT);
    tracker_take_heard(&ensemble_node_server(follower)->tracker, &untold);
    ensemble_fixture_settle(&f);
    assert_true(session->expiry.deadline_ms >= deadline_ms + 2000); /* rounded to ticks */
    strbuf_fini(&untold);
    ensemble_fixture_fini(&f);
}

/* The path in the answer to a sync, the next one that waits for `c`. */
static const char *answered_path(struct ensemble_node *n, struct connection *c)
{
    struct jute_reader r =
        jute_reader_of(bytes_of(c->out.data + c->out_at, c->out.len - c->out_at));
    static char path[64];
    struct bytes answer;

    r = jute_reader_of(jute_read_buffer(&r));
    reply_header_read(&r);
    answer = jute_read_buffer(&r);
    assert_true(!r.failed && answer.len < sizeof(path));
    snprintf(path, sizeof(path), "%.*s", (int)answer.len, (const char *)answer.data);
    ensemble_trace(n, c);
    return path;
}

static const char *sign_taken(struct ensemble_node *n, struct connection *c)
{
    struct request sync = fixture_path_request(OP_SYNC, SIGN_OF_LIFE);

    ensemble_send(n, c, &sync);
    ensemble_fixture_settle(n->fixture);
    return answered_path(n, c);
}

static void whoever_is_led_by_us_takes_a_sign_of_life(void **state)
{
    struct request sync = fixture_path_request(OP_SYNC, "/");
    struct ensemble_node *leader, *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 1);
    leader = ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    assert_string_equal(ask(follower, c, sync), "1 OK\n");
    assert_false(ensemble_node_server(follower)->role->counts_requests); /* Java's say no more */
    assert_string_equal(sign_taken(follower, c), SIGN_OF_LIFE_TAKEN);
    assert_string_equal(sign_taken(follower, c), SIGN_OF_LIFE_TAKEN);
    c = ensemble_client(leader, 10000);
    assert_string_equal(sign_taken(leader, c), SIGN_OF_LIFE_TAKEN);
    c = ensemble_client(&f.nodes[3], 10000);
    assert_string_equal(sign_taken(&f.nodes[3], c), SIGN_OF_LIFE_TAKEN);
    ensemble_fixture_fini(&f);
}

/* Apache's leader answers without a mark: the path comes back as it is. */
static void a_leader_that_does_not_mark_takes_no_sign_of_life(void **state)
{
    struct request sign = fixture_path_request(OP_SYNC, SIGN_OF_LIFE);
    struct packet unmarked = {.type = PACKET_SYNC, .auth.count = -1};
    struct ensemble_node *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    c = ensemble_client(follower, 10000);
    ensemble_send(follower, c, &sign);
    role_learner_receive(follower->member, &unmarked);
    assert_string_equal(answered_path(follower, c), SIGN_OF_LIFE);
    ensemble_fixture_fini(&f);
}

static void who_differs_when_synchronisation_has_ended_serves_nobody(void **state)
{
    struct ensemble_node *follower;
    struct ensemble_fixture f;
    struct tree *tree;
    int64_t last;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    follower = come_back(&f);
    last = ensemble_node_server(ensemble_fixture_leader(&f))->applied_zxid;
    tree = ensemble_node_server(follower)->tree;
    tree_set_data(tree, tree_find(tree, bytes_str("/")), bytes_str("bad"), 1, 1, 1);
    for (int i = 0; i < 1000 && f.diverged_zxid == 0; i++) {
        ensemble_fixture_pass(&f, 10);
    }
    assert_int_equal(f.diverged_zxid, last); /* not at a later one */
    assert_false(role_serves(ensemble_node_server(follower)->role));
    ensemble_fixture_fini(&f);
}

static void clients_find_the_list_of_members(void **state)
{
    struct ensemble_fixture f;
    struct stat_record stat;
    struct strbuf wanted;

    (void)state;
    strbuf_init(&wanted, STRBUF_NO_LIMIT);
    ensemble_fixture_init(&f, 3, 1);
    ensemble_fixture_elect(&f);
    quorum_config_write(&f.config, &wanted);
    for (size_t i = 0; i < f.n_nodes; i++) {
        const struct tree *tree = ensemble_node_server(&f.nodes[i])->tree;
        znode_id id = tree_find(tree, bytes_str("/zookeeper/config"));

        assert_true(bytes_equal(tree_data(tree, id), strbuf_bytes(&wanted)));
        tree_stat(tree, id, &stat);
        assert_int_equal(stat.version, -1);
        assert_int_equal(stat.mzxid, f.config.version);
    }
    ensemble_fixture_fini(&f);
    strbuf_fini(&wanted);
}

static void who_has_no_leader_serves_nobody(void **state)
{
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init(&f, 3, 0);
    c = ensemble_resume(&f.nodes[0], 0, 10000);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    ensemble_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_of_everybodys_clients_are_answered_from_what_is_committed),
        cmocka_unit_test(a_learner_keeps_the_order_of_each_session),
        cmocka_unit_test(a_sync_sees_what_others_have_written),
        cmocka_unit_test(watches_fire_where_they_were_set),
        cmocka_unit_test(a_learner_answers_what_its_client_asked_for),
        cmocka_unit_test(a_commit_may_come_before_our_own_disk),
        cmocka_unit_test(each_role_counts_how_long_its_stages_of_a_write_take),
        cmocka_unit_test(a_stage_that_waits_for_a_disk_is_as_long_as_that),
        cmocka_unit_test(clocks_that_are_apart_are_noticed),
        cmocka_unit_test(it_is_counted_how_long_nobody_was_served),
        cmocka_unit_test(only_the_leader_ends_sessions_and_hears_of_all),
        cmocka_unit_test(a_session_moves_and_its_old_link_writes_no_more),
        cmocka_unit_test(a_link_whose_client_has_gone_elsewhere_is_closed_in_the_end),
        cmocka_unit_test(the_older_link_is_closed_before_the_leader_is_asked),
        cmocka_unit_test(a_session_that_is_gone_is_refused_everywhere),
        cmocka_unit_test(a_session_that_is_being_closed_is_dead_when_that_is_committed),
        cmocka_unit_test(what_a_learners_client_may_is_judged_by_its_ids),
        cmocka_unit_test(nothing_that_was_answered_is_lost_with_its_leader),
        cmocka_unit_test(what_a_leader_had_alone_does_not_come_back),
        cmocka_unit_test(who_leaves_its_role_closes_its_clients_and_serves_again),
        cmocka_unit_test(epochs_end_while_everybody_is_served),
        cmocka_unit_test(a_late_member_gets_what_it_missed),
        cmocka_unit_test(learners_share_a_walk_of_the_tree),
        cmocka_unit_test(a_learner_that_is_stalled_delays_nobody_for_long),
        cmocka_unit_test(a_learner_that_reads_on_is_waited_for),
        cmocka_unit_test(our_own_snapshot_waits_for_a_learners_walk_but_not_for_ever),
        cmocka_unit_test(a_tree_that_is_not_the_leaders_is_shown_to_nobody),
        cmocka_unit_test(a_tree_that_is_ahead_of_its_log_is_the_leaders_in_the_end),
        cmocka_unit_test(a_forwarded_sync_is_a_sign_of_life),
        cmocka_unit_test(whoever_is_led_by_us_takes_a_sign_of_life),
        cmocka_unit_test(a_leader_that_does_not_mark_takes_no_sign_of_life),
        cmocka_unit_test(who_differs_when_synchronisation_has_ended_serves_nobody),
        cmocka_unit_test(clients_find_the_list_of_members),
        cmocka_unit_test(who_has_no_leader_serves_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
