/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quorum_fixture.h"
#include "lib/test.h"

#define E1         INT64_C(0x100000000)
#define E2         INT64_C(0x200000000)

#define CANNOT_CUT "CLOSE link 7: what it would cut off cannot be\nDIAL m2\n"

enum { LEADER = 7 }; /* the link */

/* Member 1 of three follows member 2, at `zxid` of epoch `epoch`. */
static void elected(struct quorum_fixture *f, int64_t zxid, int64_t epoch)
{
    quorum_fixture_init(f, 1, 3, 2);
    quorum_fixture_start(f, zxid, epoch, NULL);
    quorum_fixture_elect(f, 2);
    assert_did(f, "DIAL m2\n");
}

static void from_leader(struct quorum_fixture *f, int32_t type, int64_t zxid)
{
    fixture_packet(f, LEADER, type, zxid,
                   type == PACKET_PROPOSAL || type == PACKET_INFORM ? bytes_str("payload")
                                                                    : BYTES_NULL);
}

/* Member 1 at 1:5 has promised epoch 2. */
static void joining(struct quorum_fixture *f)
{
    elected(f, E1 + 5, 1);
    fixture_dialled(f, LEADER, 2);
    from_leader(f, PACKET_LEADER_INFO, E2);
    fixture_saved(f, EPOCH_ACCEPTED, 2);
    assert_did(f, "SEND link 7 ACKEPOCH 0x100000005 current 1\n");
}

/* ... and serves, having had nothing to catch up with. */
static void serving(struct quorum_fixture *f)
{
    joining(f);
    from_leader(f, PACKET_DIFF, E1 + 5);
    from_leader(f, PACKET_NEW_LEADER, E2);
    fixture_saved(f, EPOCH_CURRENT, 2);
    from_leader(f, PACKET_UP_TO_DATE, -1);
    assert_did(f, "SERVE following m2 epoch 2\n"
                  "SEND link 7 ACK 0x200000000\n");
}

static void a_first_epoch_step_by_step(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_dialled(&f, LEADER, 2);
    assert_did(&f, "SEND link 7 FOLLOWERINFO 0x0 m1\n");
    from_leader(&f, PACKET_LEADER_INFO, E1);
    assert_did(&f, "SAVE_EPOCH accepted 1\n"); /* P1: before the promise */
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x0 current 0\n");
    from_leader(&f, PACKET_DIFF, 0);
    assert_did(&f, "");
    from_leader(&f, PACKET_NEW_LEADER, E1);
    assert_did(&f, "SAVE_EPOCH current 1\n"); /* P3: before the ack */
    fixture_saved(&f, EPOCH_CURRENT, 1);
    assert_did(&f, "SEND link 7 ACK 0x100000000\n");
    from_leader(&f, PACKET_UP_TO_DATE, -1);
    assert_did(&f, "SERVE following m2 epoch 1\n"
                   "SEND link 7 ACK 0x100000000\n");
    quorum_fixture_fini(&f);
}

/* 6.8: what came with the DIFF is on disk, then currentEpoch, then the ack; nothing before it. */
static void at_newleader_the_history_is_on_disk_before_the_epoch_before_the_ack(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    from_leader(&f, PACKET_DIFF, E1 + 7);
    from_leader(&f, PACKET_PROPOSAL, E1 + 6);
    assert_did(&f, "APPEND 0x100000006 7 bytes\n");
    from_leader(&f, PACKET_COMMIT, E1 + 6);
    assert_did(&f, "COMMIT 0x100000006\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 6);
    assert_did(&f, ""); /* on disk, but no ack before NEWLEADER's */
    from_leader(&f, PACKET_PROPOSAL, E1 + 7);
    from_leader(&f, PACKET_COMMIT, E1 + 7);
    from_leader(&f, PACKET_NEW_LEADER, E2);
    assert_did(&f, ""); /* P2 */
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 7);
    assert_did(&f, "SAVE_EPOCH current 2\n");
    fixture_saved(&f, EPOCH_CURRENT, 2);
    assert_did(&f, "SEND link 7 ACK 0x200000000\n");
    quorum_fixture_fini(&f);
}

/* A Java leader sends these; ours holds them back. */
static void proposals_around_newleader_are_acked_after_uptodate(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    from_leader(&f, PACKET_DIFF, E1 + 6);
    from_leader(&f, PACKET_PROPOSAL, E1 + 6);
    from_leader(&f, PACKET_COMMIT, E1 + 6);
    from_leader(&f, PACKET_PROPOSAL, E2 + 1); /* not committed */
    from_leader(&f, PACKET_NEW_LEADER, E2);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 1);
    fixture_saved(&f, EPOCH_CURRENT, 2);
    assert_did(&f, "SEND link 7 ACK 0x200000000\n");
    from_leader(&f, PACKET_COMMIT, E2 + 1); /* 4394: before UPTODATE */
    assert_did(&f, "COMMIT 0x200000001\n");
    from_leader(&f, PACKET_PROPOSAL, E2 + 2);
    assert_did(&f, "APPEND 0x200000002 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 2);
    assert_did(&f, "");
    from_leader(&f, PACKET_PING, E2 + 2); /* not answered before UPTODATE */
    assert_did(&f, "");
    from_leader(&f, PACKET_UP_TO_DATE, -1);
    assert_did(&f, "SERVE following m2 epoch 2\n"
                   "SEND link 7 ACK 0x200000000\n"
                   "SEND link 7 ACK 0x200000002\n");
    quorum_fixture_fini(&f);
}

static void a_promise_that_was_given_before_is_minus_one(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, E1 + 5, 1);
    fixture_dialled(&f, LEADER, 2);
    assert_did(&f, "SEND link 7 FOLLOWERINFO 0x100000000 m1\n");
    from_leader(&f, PACKET_LEADER_INFO, E1);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x100000005 current -1\n");
    from_leader(&f, PACKET_DIFF, E1 + 5);
    from_leader(&f, PACKET_NEW_LEADER, E1);
    assert_did(&f, "SEND link 7 ACK 0x100000000\n"); /* currentEpoch is saved already */
    quorum_fixture_fini(&f);
}

static void an_epoch_that_is_over_is_not_followed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, E2 + 5, 2);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E1);
    assert_did(&f, "CLOSE link 7: no longer following\n"
                   "STOP: the leader's epoch is over\n");
    quorum_fixture_fini(&f);
}

static void a_truncated_log_is_waited_for(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    from_leader(&f, PACKET_TRUNC, E1 + 3);
    assert_did(&f, "TRUNCATE 0x100000003\n");
    fixture_zxid(&f, QUORUM_IN_TRUNCATED, E1 + 3);
    assert_did(&f, "");
    assert_int_equal(quorum_status(f.quorum).last_zxid, E1 + 3);
    from_leader(&f, PACKET_PROPOSAL, E1 + 4);
    assert_did(&f, "APPEND 0x100000004 7 bytes\n");
    from_leader(&f, PACKET_COMMIT, E1 + 4);
    from_leader(&f, PACKET_NEW_LEADER, E2);
    assert_did(&f, "");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 4);
    assert_did(&f, "SAVE_EPOCH current 2\n");
    quorum_fixture_fini(&f);
}

static void a_snapshot_is_waited_for_and_what_it_has_is_passed_over(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    from_leader(&f, PACKET_SNAP, E1 + 9);
    assert_did(&f, "LOAD_SNAPSHOT link 7 0x100000009\n");
    fixture_wait(&f, 100 * TICK_US); /* however long it takes */
    assert_did(&f, "");
    fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 9);
    assert_did(&f, "");
    from_leader(&f, PACKET_PROPOSAL, E1 + 9);
    from_leader(&f, PACKET_COMMIT, E1 + 9);
    assert_did(&f, "");
    from_leader(&f, PACKET_PROPOSAL, E1 + 10);
    assert_did(&f, "APPEND 0x10000000a 7 bytes\n");
    from_leader(&f, PACKET_COMMIT, E1 + 10);
    assert_did(&f, "COMMIT 0x10000000a\n");
    from_leader(&f, PACKET_NEW_LEADER, E2);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 10);
    fixture_saved(&f, EPOCH_CURRENT, 2);
    assert_did(&f, "SEND link 7 ACK 0x200000000\n");
    quorum_fixture_fini(&f);
}

static void a_link_that_breaks_during_the_snapshot_leaves_the_old_history(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    from_leader(&f, PACKET_SNAP, E1 + 9);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    assert_did(&f, "STOP: the link to the leader is lost\n");
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 5);
    assert_int_equal(quorum_status(f.quorum).last_zxid, E1 + 5);
    quorum_fixture_fini(&f);

    joining(&f); /* or it was loaded just then */
    from_leader(&f, PACKET_SNAP, E1 + 9);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 9);
    assert_did(&f, "");
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 9);
    assert_int_equal(quorum_status(f.quorum).last_zxid, E1 + 9);
    quorum_fixture_fini(&f);
}

/* --- broadcast --- */

static void a_write_step_by_step(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_PROPOSAL, E2 + 1);
    assert_did(&f, "APPEND 0x200000001 7 bytes\n"); /* P4: no ack yet */
    from_leader(&f, PACKET_PROPOSAL, E2 + 2);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 2);
    assert_did(&f, "SEND link 7 ACK 0x200000001\n"
                   "SEND link 7 ACK 0x200000002\n");
    from_leader(&f, PACKET_COMMIT, E2 + 1);
    assert_did(&f, "COMMIT 0x200000001\n");
    from_leader(&f, PACKET_PROPOSAL, E2 + 3);
    from_leader(&f, PACKET_COMMIT, E2 + 2);
    from_leader(&f, PACKET_COMMIT, E2 + 3); /* before our own disk */
    assert_did(&f, "COMMIT 0x200000003\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 3);
    assert_did(&f, "SEND link 7 ACK 0x200000003\n");
    quorum_fixture_fini(&f);
}

static void an_observer_logs_and_applies_but_acks_nothing(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 4, 3, 1);
    quorum_fixture_start(&f, E1 + 5, 1, NULL);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, LEADER, 2);
    assert_did(&f, "SEND link 7 OBSERVERINFO 0x100000000 m4\n");
    from_leader(&f, PACKET_LEADER_INFO, E2);
    fixture_saved(&f, EPOCH_ACCEPTED, 2);
    from_leader(&f, PACKET_DIFF, E1 + 6);
    from_leader(&f, PACKET_PROPOSAL, E1 + 6);
    from_leader(&f, PACKET_COMMIT, E1 + 6);
    from_leader(&f, PACKET_INFORM, E1 + 7);
    assert_did(&f, "APPEND 0x100000007 7 bytes\n"
                   "COMMIT 0x100000007\n");
    from_leader(&f, PACKET_NEW_LEADER, E2);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 7);
    fixture_saved(&f, EPOCH_CURRENT, 2);
    from_leader(&f, PACKET_UP_TO_DATE, -1);
    assert_did(&f, "SERVE observing m2 epoch 2\n"
                   "SEND link 7 ACK 0x200000000\n");
    from_leader(&f, PACKET_INFORM, E2 + 1);
    assert_did(&f, "APPEND 0x200000001 7 bytes\n"
                   "COMMIT 0x200000001\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 1);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void an_activation_is_a_commit(void **state)
{
    struct quorum_fixture f;
    uint8_t designated[8 + 3] = {0, 0, 0, 0, 0, 0, 0, 2, 'a', 'b', 'c'};

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_PROPOSAL, E2 + 1);
    fixture_packet(&f, LEADER, PACKET_COMMIT_AND_ACTIVATE, E2 + 1, bytes_of(designated, 8));
    assert_did(&f, "COMMIT 0x200000001\n");
    fixture_packet(&f, LEADER, PACKET_INFORM_AND_ACTIVATE, E2 + 2, bytes_of(designated, 11));
    assert_did(&f, "APPEND 0x200000002 3 bytes\n"
                   "COMMIT 0x200000002\n");
    fixture_packet(&f, LEADER, PACKET_COMMIT_AND_ACTIVATE, E2 + 3, bytes_of(designated, 7));
    assert_did(&f, "CLOSE link 7: no longer following\n"
                   "STOP: an activation that cannot be read\n");
    quorum_fixture_fini(&f);
}

static void write_touches(void *host, struct strbuf *out)
{
    int *n = host;

    for (; *n > 0; (*n)--) {
        session_touch_write(out, &(struct session_touch){*n, 1000});
    }
}

static void a_ping_is_answered_with_the_sessions_heard_from(void **state)
{
    struct quorum_fixture f;
    int n_touches = 2;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_PING, E2 + 9);
    assert_did(&f, "SEND link 7 PING 0x200000009 0 bytes\n"); /* empty, not null */
    quorum_fixture_fini(&f);

    quorum_fixture_init(&f, 1, 3, 0);
    f.options.touches = write_touches;
    f.options.host = &n_touches;
    quorum_fixture_start(&f, 0, 0, NULL);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E1);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    from_leader(&f, PACKET_DIFF, 0);
    from_leader(&f, PACKET_NEW_LEADER, E1);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    from_leader(&f, PACKET_UP_TO_DATE, -1);
    from_leader(&f, PACKET_PING, E1);
    assert_did(&f, "SEND link 7 PING 0x100000000 24 bytes\n");
    from_leader(&f, PACKET_PING, E1);
    assert_did(&f, "SEND link 7 PING 0x100000000 0 bytes\n");
    quorum_fixture_fini(&f);
}

static void requests_go_up_and_answers_come_down_in_order(void **state)
{
    struct quorum_fixture f;
    struct packet request = {
        .type = PACKET_REQUEST, .zxid = -1, .data = bytes_str("request"), .auth.count = 0};

    (void)state;
    serving(&f);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_FORWARD, .packet = &request});
    assert_did(&f, "SEND link 7 REQUEST -1 7 bytes\n");
    assert_int_equal(f.effects.items[0].packet.auth.count, 0);
    from_leader(&f, PACKET_SYNC, 0);
    assert_did(&f, "RECEIVED link 7 m2 SYNC 0x0\n");
    fixture_packet(&f, LEADER, PACKET_REVALIDATE, -1, bytes_str("012345678"));
    assert_did(&f, "RECEIVED link 7 m2 REVALIDATE -1 9 bytes\n");
    from_leader(&f, 99, 0);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

/* --- what must not be --- */

static void assert_leaves(struct quorum_fixture *f, const char *reason)
{
    char lines[200];

    snprintf(lines, sizeof lines, "CLOSE link 7: no longer following\nSTOP: %s\n", reason);
    assert_did(f, lines);
    quorum_fixture_fini(f);
}

static void a_hole_between_proposals_is_not_accepted(void **state)
{
    static const int64_t wrong[] = {E2 + 3, E2 + 1, E1 + 6, E2 + (INT64_C(1) << 32) + 1, -1, 0};
    struct quorum_fixture f;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        serving(&f);
        from_leader(&f, PACKET_PROPOSAL, E2 + 1);
        from_leader(&f, PACKET_PROPOSAL, wrong[i]);
        if (wrong[i] == 0) { /* as if it was in a snapshot */
            assert_did(&f, "");
            quorum_fixture_fini(&f);
            continue;
        }
        assert_leaves(&f, "a proposal does not follow the one before");
    }
    serving(&f);
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E2 + 1, BYTES_NULL);
    assert_leaves(&f, "a proposal without content");
}

static void a_commit_out_of_order_is_not_accepted(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_PROPOSAL, E2 + 1);
    from_leader(&f, PACKET_PROPOSAL, E2 + 2);
    from_leader(&f, PACKET_COMMIT, E2 + 2);
    assert_leaves(&f, "a commit out of order");
    serving(&f);
    from_leader(&f, PACKET_COMMIT, E2 + 1);
    assert_leaves(&f, "a commit out of order");
    serving(&f);
    from_leader(&f, PACKET_COMMIT, E1 + 5); /* was in the log when we came */
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void what_comes_out_of_turn_ends_it(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_DIFF, 0);
    assert_leaves(&f, "the leader did not name its epoch");
    joining(&f);
    from_leader(&f, PACKET_PROPOSAL, E1 + 6);
    assert_leaves(&f, "the leader did not say how to synchronise");
    joining(&f);
    from_leader(&f, PACKET_SNAP, E2 + E1);
    assert_leaves(&f, "the leader's snapshot is of a later epoch");
    joining(&f);
    from_leader(&f, PACKET_DIFF, E1 + 5);
    from_leader(&f, PACKET_UP_TO_DATE, -1);
    assert_leaves(&f, "UPTODATE out of turn");
    joining(&f);
    from_leader(&f, PACKET_DIFF, E1 + 5);
    from_leader(&f, PACKET_NEW_LEADER, E1);
    assert_leaves(&f, "NEWLEADER of another epoch, or out of turn");
    serving(&f);
    from_leader(&f, PACKET_NEW_LEADER, E2);
    assert_leaves(&f, "NEWLEADER of another epoch, or out of turn");
    serving(&f);
    from_leader(&f, PACKET_UP_TO_DATE, -1); /* only this is harmless */
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

/* Java's leader names its epoch's beginning if nothing of the epoch is committed yet. */
static void a_log_is_cut_at_records_only(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_PROPOSAL, E2 + 1);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 1);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = LEADER});
    fixture_zxid(&f, QUORUM_IN_STOPPED, E2 + 1);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E2);
    from_leader(&f, PACKET_TRUNC, E2);
    assert_did(&f, CANNOT_CUT);
    quorum_fixture_fini(&f);
}

/* Member 1 at 1:5 was ordered by the leader of epoch 2 to forget what is behind 1:3, and cannot. */
static void uncut(struct quorum_fixture *f)
{
    joining(f);
    from_leader(f, PACKET_TRUNC, E1 + 3);
    assert_did(f, "TRUNCATE 0x100000003\n");
    fixture_zxid(f, QUORUM_IN_TRUNCATED, E1 + 5);
    assert_did(f, CANNOT_CUT);
}

static void a_history_that_cannot_be_cut_is_replaced_as_a_whole(void **state)
{
    struct quorum_fixture f;

    (void)state;
    uncut(&f);
    assert_int_equal(quorum_status(f.quorum).last_zxid, E1 + 5); /* nothing is lost before that */
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E2);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x0 current -1\n"); /* which is no promise */
    from_leader(&f, PACKET_SNAP, E1 + 3);
    assert_did(&f, "LOAD_SNAPSHOT link 7 0x100000003\n");
    fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 3);
    from_leader(&f, PACKET_NEW_LEADER, E2);
    assert_did(&f, "SAVE_EPOCH current 2\n");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 3);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E2);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x100000003 current -1\n");
    quorum_fixture_fini(&f);
}

static void who_asked_for_everything_takes_nothing_less(void **state)
{
    static const int32_t less[] = {PACKET_DIFF, PACKET_TRUNC};
    struct quorum_fixture f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uncut(&f);
        fixture_dialled(&f, LEADER, 2);
        from_leader(&f, PACKET_LEADER_INFO, E2);
        from_leader(&f, less[i], E1 + 3);
        assert_leaves(&f, "the leader was asked for its whole tree, and sends something else");
    }
}

/* Its quorum may need us: it has to know of what we have. */
static void a_leader_of_another_epoch_is_told_what_we_have(void **state)
{
    struct quorum_fixture f;

    (void)state;
    uncut(&f);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 5);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E2 + E1);
    fixture_saved(&f, EPOCH_ACCEPTED, 3);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x100000005 current 1\n");
    quorum_fixture_fini(&f);
}

/* Member 1 at 1:5, whose tree was found to differ, follows member 2. */
static void diverged(struct quorum_fixture *f, int64_t accepted)
{
    quorum_fixture_init(f, 1, 3, 2);
    f->quorum = quorum_new(&f->options);
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                           .zxid = E1 + 5,
                                           .accepted_epoch = accepted,
                                           .current_epoch = 1,
                                           .diverged = true});
    quorum_fixture_elect(f, 2);
    fixture_dialled(f, LEADER, 2);
    from_leader(f, PACKET_LEADER_INFO, E2);
}

/* It is as good as others when it comes to what a quorum has, and says so in its promise. */
static void who_has_diverged_promises_and_then_takes_a_whole_tree_only(void **state)
{
    static const int32_t less[] = {PACKET_DIFF, PACKET_TRUNC};
    struct quorum_fixture f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        diverged(&f, 1);
        fixture_saved(&f, EPOCH_ACCEPTED, 2);
        assert_did(&f, "SEND link 7 ACKEPOCH 0x100000005 current 1\n");
        from_leader(&f, less[i], E1 + 5);
        assert_did(&f, "CLOSE link 7: the tree has diverged, and nothing but a whole one mends it\n"
                       "DIAL m2\n");
        fixture_dialled(&f, LEADER, 2);
        from_leader(&f, PACKET_LEADER_INFO, E2);
        assert_did(&f, "SEND link 7 ACKEPOCH 0x0 current -1\n");
        from_leader(&f, PACKET_SNAP, E1 + 5);
        assert_did(&f, "LOAD_SNAPSHOT link 7 0x100000005\n");
        fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 5);
        from_leader(&f, PACKET_NEW_LEADER, E2);
        fixture_saved(&f, EPOCH_CURRENT, 2);
        from_leader(&f, PACKET_UP_TO_DATE, -1);
        assert_did(&f, "SERVE following m2 epoch 2\n"
                       "SEND link 7 ACK 0x200000000\n");
        quorum_fixture_fini(&f);
    }
}

/* The promise was given in a former life: what it says now counts for nothing. */
static void who_has_diverged_asks_at_once_where_it_has_promised(void **state)
{
    struct quorum_fixture f;

    (void)state;
    diverged(&f, 2);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x0 current -1\n");
    from_leader(&f, PACKET_SNAP, E1 + 7);
    assert_did(&f, "LOAD_SNAPSHOT link 7 0x100000007\n");
    quorum_fixture_fini(&f);
}

static void who_has_diverged_and_was_sent_a_tree_anyway_takes_it(void **state)
{
    struct quorum_fixture f;

    (void)state;
    diverged(&f, 1);
    fixture_saved(&f, EPOCH_ACCEPTED, 2);
    from_leader(&f, PACKET_SNAP, E1 + 7);
    assert_did(&f, "LOAD_SNAPSHOT link 7 0x100000007\n");
    fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 7);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 7);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, LEADER, 2);
    from_leader(&f, PACKET_LEADER_INFO, E2);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x100000007 current -1\n"); /* like any other now */
    from_leader(&f, PACKET_DIFF, E1 + 7);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

/* What it has lost it may have acked: neither in a new epoch nor in one that it has promised before
 * does its promise count, and nothing less than the whole tree makes it a member. */
static void who_is_damaged_promises_nothing_and_takes_a_whole_tree(void **state)
{
    struct quorum_fixture f;

    (void)state;
    for (int64_t accepted = 1; accepted <= 2; accepted++) {
        quorum_fixture_init(&f, 1, 3, 2);
        f.quorum = quorum_new(&f.options);
        fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                                .zxid = E1 + 5,
                                                .accepted_epoch = accepted,
                                                .current_epoch = 1,
                                                .damaged = true});
        quorum_fixture_elect(&f, 2);
        fixture_dialled(&f, LEADER, 2);
        from_leader(&f, PACKET_LEADER_INFO, E2);
        if (accepted == 1) {
            assert_did(&f, "SAVE_EPOCH accepted 2\n");
            fixture_saved(&f, EPOCH_ACCEPTED, 2);
        }
        assert_did(&f, "SEND link 7 ACKEPOCH 0x0 current -1\n");
        from_leader(&f, PACKET_SNAP, E1 + 9);
        assert_did(&f, "LOAD_SNAPSHOT link 7 0x100000009\n");
        fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 9);
        from_leader(&f, PACKET_NEW_LEADER, E2);
        fixture_saved(&f, EPOCH_CURRENT, 2);
        assert_did(&f, "SEND link 7 ACK 0x200000000\n");
        quorum_fixture_fini(&f);
    }
}

static void who_is_damaged_takes_no_part_of_a_history(void **state)
{
    static const int32_t less[] = {PACKET_DIFF, PACKET_TRUNC};
    struct quorum_fixture f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        quorum_fixture_init(&f, 1, 3, 2);
        f.quorum = quorum_new(&f.options);
        fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                                .zxid = 0,
                                                .accepted_epoch = 2,
                                                .current_epoch = 1,
                                                .damaged = true});
        quorum_fixture_elect(&f, 2);
        fixture_dialled(&f, LEADER, 2);
        from_leader(&f, PACKET_LEADER_INFO, E2);
        from_leader(&f, less[i], E1 + 5);
        assert_int_equal(quorum_status(f.quorum).stopping, true);
        quorum_fixture_fini(&f);
    }
}

/* A full disk: the old history stays, and the leader is left alone for longer each time. */
static void a_snapshot_that_cannot_be_kept_is_asked_for_again_later(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    for (int s = 1; s <= 64; s *= 2) {
        int64_t rest_us = (s < 32 ? s : 32) * INT64_C(1000000);

        from_leader(&f, PACKET_SNAP, E1 + 9);
        fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_LOAD_FAILED});
        assert_did(&f, "CLOSE link 7: no longer following\n"
                       "STOP: the leader's snapshot cannot be taken over\n");
        assert_int_equal(quorum_status(f.quorum).last_zxid, E1 + 5);
        fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 5);
        assert_int_equal(quorum_next_us(f.quorum), f.now_us + rest_us);
        fixture_wait(&f, rest_us);
        quorum_fixture_elect(&f, 2);
        fixture_dialled(&f, LEADER, 2);
        from_leader(&f, PACKET_LEADER_INFO, E2);
    }
    from_leader(&f, PACKET_SNAP, E1 + 9);
    fixture_zxid(&f, QUORUM_IN_SNAPSHOT_LOADED, E1 + 9);
    assert_int_equal(quorum_status(f.quorum).last_zxid, E1 + 9);
    quorum_fixture_fini(&f);
}

/* --- links and time --- */

static void a_refused_leader_is_dialled_again_for_a_second(void **state)
{
    struct quorum_fixture f;
    int n_dials = 1;

    (void)state;
    elected(&f, 0, 0);
    for (;;) {
        fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = 2});
        if (f.effects.count > 0) {
            break;
        }
        fixture_wait(&f, quorum_next_us(f.quorum) - f.now_us);
        assert_did(&f, "DIAL m2\n");
        n_dials++;
    }
    assert_did(&f, "STOP: the leader cannot be reached\n");
    assert_in_range(f.now_us, 1000 * 1000, 1200 * 1000);
    assert_in_range(n_dials, 10, 20);
    quorum_fixture_fini(&f);
}

static void a_leader_that_hangs_up_before_it_speaks_is_dialled_again(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_dialled(&f, LEADER, 2);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    assert_did(&f, "");
    fixture_wait(&f, quorum_next_us(f.quorum) - f.now_us);
    assert_did(&f, "DIAL m2\n");
    while (f.now_us < 1000 * 1000) { /* but not for ever */
        fixture_dialled(&f, LEADER, 2);
        fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
        fixture_wait(&f, quorum_next_us(f.quorum) - f.now_us);
        assert_did(&f, "DIAL m2\n");
    }
    fixture_dialled(&f, LEADER, 2);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    assert_did(&f, "STOP: the leader cannot be reached\n");
    quorum_fixture_fini(&f);
}

static void a_dial_without_an_answer_ends_after_its_limit(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_wait(&f, INIT_LIMIT * TICK_US - 1);
    assert_did(&f, "");
    fixture_wait(&f, 1);
    assert_did(&f, "STOP: nothing was heard of the leader for too long\n");
    fixture_dialled(&f, LEADER, 2); /* too late */
    assert_did(&f, "CLOSE link 7: not wanted any more\n");
    quorum_fixture_fini(&f);
}

static void a_link_that_nobody_wants_is_closed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_dialled(&f, 8, 3); /* of an earlier leader */
    assert_did(&f, "CLOSE link 8: not wanted any more\n");
    fixture_dialled(&f, LEADER, 2);
    fixture_dialled(&f, 9, 2);
    assert_did(&f, "CLOSE link 9: not wanted any more\n");
    fixture_packet(&f, 9, PACKET_DIFF, 0, BYTES_NULL); /* and not listened to */
    assert_did(&f, "");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 9);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void a_leader_may_be_silent_for_init_limit_then_for_sync_limit(void **state)
{
    struct quorum_fixture f;

    (void)state;
    joining(&f);
    fixture_wait(&f, INIT_LIMIT * TICK_US - 1);
    assert_did(&f, "");
    from_leader(&f, PACKET_DIFF, E1 + 5);
    fixture_wait(&f, INIT_LIMIT * TICK_US);
    assert_leaves(&f, "nothing was heard of the leader for too long");
    serving(&f);
    fixture_wait(&f, SYNC_LIMIT * TICK_US - 1);
    assert_did(&f, "");
    from_leader(&f, PACKET_PING, E2);
    fixture_wait(&f, SYNC_LIMIT * TICK_US - 1);
    assert_did(&f, "");
    fixture_wait(&f, 1);
    assert_leaves(&f, "nothing was heard of the leader for too long");
}

static void after_a_lost_leader_the_vote_has_all_that_is_logged(void **state)
{
    struct quorum_fixture f;
    struct strbuf line;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_PROPOSAL, E2 + 1);
    from_leader(&f, PACKET_PROPOSAL, E2 + 2);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, LEADER);
    assert_did(&f, "STOP: the link to the leader is lost\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 2);
    assert_did(&f, "");
    assert_int_equal(f.effects.count, 0);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E2 + 2);
    strbuf_init(&line, STRBUF_NO_LIMIT);
    trace_effect(&line, &f.effects.items[0]);
    assert_string_equal(strbuf_cstr(&line), "NOTIFY m2 LOOKING for m1 0x200000002 epoch 2 round 8");
    strbuf_fini(&line);
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_epoch_step_by_step),
        cmocka_unit_test(at_newleader_the_history_is_on_disk_before_the_epoch_before_the_ack),
        cmocka_unit_test(proposals_around_newleader_are_acked_after_uptodate),
        cmocka_unit_test(a_promise_that_was_given_before_is_minus_one),
        cmocka_unit_test(an_epoch_that_is_over_is_not_followed),
        cmocka_unit_test(a_truncated_log_is_waited_for),
        cmocka_unit_test(a_snapshot_is_waited_for_and_what_it_has_is_passed_over),
        cmocka_unit_test(a_link_that_breaks_during_the_snapshot_leaves_the_old_history),
        cmocka_unit_test(a_write_step_by_step),
        cmocka_unit_test(an_observer_logs_and_applies_but_acks_nothing),
        cmocka_unit_test(an_activation_is_a_commit),
        cmocka_unit_test(a_ping_is_answered_with_the_sessions_heard_from),
        cmocka_unit_test(requests_go_up_and_answers_come_down_in_order),
        cmocka_unit_test(a_hole_between_proposals_is_not_accepted),
        cmocka_unit_test(a_commit_out_of_order_is_not_accepted),
        cmocka_unit_test(what_comes_out_of_turn_ends_it),
        cmocka_unit_test(a_log_is_cut_at_records_only),
        cmocka_unit_test(a_history_that_cannot_be_cut_is_replaced_as_a_whole),
        cmocka_unit_test(who_asked_for_everything_takes_nothing_less),
        cmocka_unit_test(a_leader_of_another_epoch_is_told_what_we_have),
        cmocka_unit_test(who_has_diverged_promises_and_then_takes_a_whole_tree_only),
        cmocka_unit_test(who_has_diverged_asks_at_once_where_it_has_promised),
        cmocka_unit_test(who_has_diverged_and_was_sent_a_tree_anyway_takes_it),
        cmocka_unit_test(who_is_damaged_promises_nothing_and_takes_a_whole_tree),
        cmocka_unit_test(who_is_damaged_takes_no_part_of_a_history),
        cmocka_unit_test(a_snapshot_that_cannot_be_kept_is_asked_for_again_later),
        cmocka_unit_test(a_refused_leader_is_dialled_again_for_a_second),
        cmocka_unit_test(a_leader_that_hangs_up_before_it_speaks_is_dialled_again),
        cmocka_unit_test(a_dial_without_an_answer_ends_after_its_limit),
        cmocka_unit_test(a_link_that_nobody_wants_is_closed),
        cmocka_unit_test(a_leader_may_be_silent_for_init_limit_then_for_sync_limit),
        cmocka_unit_test(after_a_lost_leader_the_vote_has_all_that_is_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
