/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quorum_fixture.h"
#include "lib/test.h"

#define E1 INT64_C(0x100000000)
#define E2 INT64_C(0x200000000)
#define E3 INT64_C(0x300000000)

static void connect(struct quorum_fixture *f, link_id link, int64_t sid, int32_t type)
{
    fixture_link(f, QUORUM_IN_LINK_UP, link);
    fixture_info(f, link, type, 2, sid);
}

static void ack(struct quorum_fixture *f, link_id link, int64_t zxid)
{
    fixture_packet(f, link, PACKET_ACK, zxid, BYTES_NULL);
}

/* Member 3 of three has 1:5..1:9 and 2:1..2:2 above a snapshot of 1:4, and leads epoch 3. */
static void leading(struct quorum_fixture *f)
{
    struct history h;

    history_begin(&h, E1 + 4);
    for (int64_t i = 5; i <= 9; i++) {
        history_append(&h, E1 + i);
    }
    history_append(&h, E2 + 1);
    history_append(&h, E2 + 2);
    quorum_fixture_start(f, E2 + 2, 2, &h);
    history_fini(&h);
    quorum_fixture_elect_self(f);
    connect(f, 11, 1, PACKET_FOLLOWER_INFO);
    fixture_saved(f, EPOCH_ACCEPTED, 3);
    assert_did(f, "SEND link 11 LEADERINFO 0x300000000\n");
}

static void active(struct quorum_fixture *f)
{
    leading(f);
    fixture_ack_epoch(f, 11, E2 + 2, 2);
    fixture_saved(f, EPOCH_CURRENT, 3);
    ack(f, 11, E3);
    assert_did(f, "LEAD epoch 3\n"
                  "SEND link 11 UPTODATE -1\n");
}

static void write(struct quorum_fixture *f, int64_t zxid)
{
    fixture_propose(f, zxid);
    fixture_zxid(f, QUORUM_IN_LOG_DURABLE, zxid);
    ack(f, 11, zxid);
}

static void what_is_older_than_memory_comes_from_the_files(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    leading(&f);
    fixture_ack_epoch(&f, 11, E1 + 7, 1);
    assert_did(&f, "SAVE_EPOCH current 3\n"
                   "SEND link 11 DIFF 0x200000002\n"
                   "SEND_LOG link 11 0x100000008 0x200000002\n"
                   "SEND link 11 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

static void memory_and_files_meet_without_a_hole(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    write(&f, E3 + 1);
    write(&f, E3 + 2);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E2 + 1, 2);
    assert_did(&f, "SEND link 12 DIFF 0x300000002\n"
                   "SEND_LOG link 12 0x200000002 0x200000002\n"
                   "SEND link 12 PROPOSAL 0x300000001 7 bytes\n"
                   "SEND link 12 COMMIT 0x300000001\n"
                   "SEND link 12 PROPOSAL 0x300000002 7 bytes\n"
                   "SEND link 12 COMMIT 0x300000002\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 12);
    connect(&f, 13, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 13, E3 + 1, -1);
    assert_did(&f, "SEND link 13 DIFF 0x300000002\n"
                   "SEND link 13 PROPOSAL 0x300000002 7 bytes\n"
                   "SEND link 13 COMMIT 0x300000002\n"
                   "SEND link 13 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

static void memory_is_bounded_by_what_is_committed_and_on_disk(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    f.options.recent_bytes = 0;
    active(&f);
    write(&f, E3 + 1);
    write(&f, E3 + 2);
    fixture_propose(&f, E3 + 3); /* nowhere on disk */
    fixture_propose(&f, E3 + 4);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E2 + 2, 2);
    assert_did(&f, "SEND link 12 DIFF 0x300000002\n"
                   "SEND_LOG link 12 0x300000001 0x300000002\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E3 + 3);
    ack(&f, 11, E3 + 3);
    ack(&f, 12, E3); /* what was committed meanwhile, and only then it takes part */
    assert_did(&f, "SEND_LOG link 12 0x300000003 0x300000003\n");
    fixture_propose(&f, E3 + 5);
    assert_did(&f, "APPEND 0x300000005 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x300000005 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E3 + 4);
    ack(&f, 11, E3 + 4);
    fixture_link(&f, QUORUM_IN_LOG_SENT, 12); /* more of it meanwhile */
    assert_did(&f, "SEND_LOG link 12 0x300000004 0x300000004\n");
    fixture_link(&f, QUORUM_IN_LOG_SENT, 12);
    assert_did(&f, "SEND link 12 UPTODATE -1\n"
                   "SEND link 12 PROPOSAL 0x300000005 7 bytes\n");
    fixture_link(&f, QUORUM_IN_LOG_SENT, 12); /* of what was sent before NEWLEADER */
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

/* 3.6.3 to 3.9.2 fail on proposals before NEWLEADER whose commit comes before UPTODATE. */
static void what_is_not_committed_is_held_back_until_uptodate(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    fixture_propose(&f, E3 + 1);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E2 + 2, 2);
    assert_did(&f, "SEND link 12 DIFF 0x200000002\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    fixture_propose(&f, E3 + 2);
    assert_did(&f, "APPEND 0x300000002 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x300000002 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E3 + 2);
    ack(&f, 11, E3 + 1);
    assert_did(&f, "SEND link 11 COMMIT 0x300000001\n"
                   "COMMIT 0x300000001\n");
    ack(&f, 12, E3);
    assert_did(&f, "SEND link 12 PROPOSAL 0x300000001 7 bytes\n"
                   "SEND link 12 COMMIT 0x300000001\n"
                   "SEND link 12 UPTODATE -1\n"
                   "SEND link 12 PROPOSAL 0x300000002 7 bytes\n");
    ack(&f, 12, E3 + 2);
    assert_did(&f, "SEND link 11 COMMIT 0x300000002\n"
                   "SEND link 12 COMMIT 0x300000002\n"
                   "COMMIT 0x300000002\n");
    quorum_fixture_fini(&f);
}

static void an_observer_gets_pairs_before_uptodate_and_informs_after(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 14, 4, PACKET_OBSERVER_INFO);
    fixture_ack_epoch(&f, 14, E2 + 2, 2);
    write(&f, E3 + 1);
    fixture_propose(&f, E3 + 2);
    ack(&f, 14, E3);
    assert_did(&f, "SEND link 14 PROPOSAL 0x300000001 7 bytes\n"
                   "SEND link 14 COMMIT 0x300000001\n"
                   "SEND link 14 UPTODATE -1\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E3 + 2);
    ack(&f, 11, E3 + 2);
    assert_did(&f, "SEND link 11 COMMIT 0x300000002\n"
                   "SEND link 14 INFORM 0x300000002 7 bytes\n"
                   "COMMIT 0x300000002\n");
    quorum_fixture_fini(&f);
}

static void a_snapshot_is_sent_for_as_long_as_it_takes(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E1 + 2, 1);
    assert_did(&f, "SEND link 12 SNAP 0x300000000\n"
                   "SEND_SNAPSHOT link 12 0x300000000\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    for (int i = 0; i < 4 * INIT_LIMIT; i++) {
        fixture_wait(&f, TICK_US / 2);
        assert_did(&f, "SEND link 11 PING 0x300000000\n"); /* 12 could not hear it */
        fixture_packet(&f, 11, PACKET_PING, E3, bytes_of("", 0));
    }
    fixture_link(&f, QUORUM_IN_SNAPSHOT_SENT, 12);
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "SEND link 11 PING 0x300000000\n"
                   "SEND link 12 PING 0x300000000\n");
    fixture_packet(&f, 11, PACKET_PING, E3, bytes_of("", 0));
    ack(&f, 12, E3);
    assert_did(&f, "SEND link 12 UPTODATE -1\n");
    /* The PING from before UPTODATE is not answered, one from after it is. */
    fixture_wait(&f, TICK_US / 2);
    fixture_packet(&f, 12, PACKET_PING, E3, bytes_of("", 0));
    assert_did(&f, "RECEIVED link 12 m2 PING 0x300000000 0 bytes\n");
    fixture_packet(&f, 12, PACKET_PING, E3, bytes_of("", 0));
    assert_did(&f, "CLOSE link 12: answers what was not asked\n"
                   "LINK_GONE link 12 m2\n");
    quorum_fixture_fini(&f);
}

/* The walk of the tree began later than it was asked for. */
static void what_a_snapshot_has_already_is_not_sent_again(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E1 + 2, 1);
    write(&f, E3 + 1);
    write(&f, E3 + 2);
    fixture_step(
        &f, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_SENT, .link = 12, .zxid = E3 + 1});
    ack(&f, 12, E3);
    assert_did(&f, "SEND link 12 PROPOSAL 0x300000002 7 bytes\n"
                   "SEND link 12 COMMIT 0x300000002\n"
                   "SEND link 12 UPTODATE -1\n");
    quorum_fixture_fini(&f);
}

static void who_gets_a_snapshot_without_end_is_no_quorum(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E1 + 2, 1);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 11);
    fixture_wait(&f, (INIT_LIMIT + SYNC_LIMIT) * TICK_US);
    assert_did(&f, "");
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 12: no longer leading\n"
                   "STOP: not enough learners are left\n");
    quorum_fixture_fini(&f);
}

static void who_does_not_ack_newleader_in_time_is_closed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E2 + 2, 2);
    for (int i = 0; i < 2 * INIT_LIMIT; i++) {
        fixture_wait(&f, TICK_US / 2);
        fixture_packet(&f, 11, PACKET_PING, E3, bytes_of("", 0));
    }
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "CLOSE link 12: silent for initLimit\n"
                   "SEND link 11 PING 0x300000000\n");
    quorum_fixture_fini(&f);
}

static void the_end_of_a_deposed_leader_is_cut_or_replaced(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E2 + 5, 2);
    assert_did(&f, "SEND link 12 TRUNC 0x200000002\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 12);
    write(&f, E3 + 1); /* now that would be a TRUNC across epochs */
    connect(&f, 13, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 13, E2 + 5, 2);
    assert_did(&f, "SEND link 13 SNAP 0x300000001\n"
                   "SEND_SNAPSHOT link 13 0x300000001\n"
                   "SEND link 13 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

static void a_log_is_sent_for_as_long_as_it_takes(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E1 + 6, 1);
    assert_did(&f, "SEND link 12 DIFF 0x200000002\n"
                   "SEND_LOG link 12 0x100000007 0x200000002\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    for (int i = 0; i < 4 * INIT_LIMIT; i++) {
        fixture_wait(&f, TICK_US / 2);
        assert_did(&f, "SEND link 11 PING 0x300000000\n");
        fixture_packet(&f, 11, PACKET_PING, E3, bytes_of("", 0));
    }
    fixture_link(&f, QUORUM_IN_LOG_SENT, 12);
    assert_did(&f, "");
    ack(&f, 12, E3);
    assert_did(&f, "SEND link 12 UPTODATE -1\n");
    quorum_fixture_fini(&f);
}

static void purged_files_are_not_counted_on(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    leading(&f);
    fixture_zxid(&f, QUORUM_IN_LOG_TRIMMED, E1 + 8);
    fixture_ack_epoch(&f, 11, E1 + 7, 1);
    assert_did(&f, "SAVE_EPOCH current 3\n"
                   "SEND link 11 SNAP 0x200000002\n"
                   "SEND_SNAPSHOT link 11 0x200000002\n"
                   "SEND link 11 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

/* Files are named after their first record: before an epoch's first one nothing is. */
static void who_has_all_that_was_purged_needs_no_snapshot(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    leading(&f);
    fixture_zxid(&f, QUORUM_IN_LOG_TRIMMED, E2);
    fixture_ack_epoch(&f, 11, E1 + 9, 1);
    assert_did(&f, "SAVE_EPOCH current 3\n"
                   "SEND link 11 DIFF 0x200000002\n"
                   "SEND_LOG link 11 0x200000001 0x200000002\n"
                   "SEND link 11 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

/* A snapshot takes its time, and the files of what was committed meanwhile may be gone. */
static void who_was_overtaken_by_the_purge_starts_over(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E1 + 2, 1);
    write(&f, E3 + 1);
    write(&f, E3 + 2);
    fixture_zxid(&f, QUORUM_IN_LOG_TRIMMED, E3 + 1);
    ack(&f, 12, E3);
    assert_did(&f, "CLOSE link 12: what it lacks is no longer in the log\n");
    quorum_fixture_fini(&f);
}

static void what_is_proposed_is_not_purged(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    active(&f);
    write(&f, E3 + 1);
    fixture_propose(&f, E3 + 2);
    fixture_zxid(&f, QUORUM_IN_LOG_TRIMMED, E3 + 2);
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, E3 + 1, -1);
    assert_did(&f, "SEND link 12 DIFF 0x300000001\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

static void an_observer_too_many_waits_for_its_snapshot(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 11);
    active(&f);
    for (link_id i = 4; i <= 14; i++) {
        connect(&f, 10 + i, (int64_t)i, PACKET_OBSERVER_INFO);
        fixture_ack_epoch(&f, 10 + i, 0, 0);
    }
    assert_did(&f, "CLOSE link 24: too many snapshots are being sent\n");
    connect(&f, 12, 2, PACKET_FOLLOWER_INFO);
    fixture_ack_epoch(&f, 12, 0, 0); /* not a voter */
    assert_did(&f, "SEND link 12 SNAP 0x300000000\n"
                   "SEND_SNAPSHOT link 12 0x300000000\n"
                   "SEND link 12 NEWLEADER 0x300000000\n");
    fixture_link(&f, QUORUM_IN_SNAPSHOT_SENT, 12);
    fixture_link(&f, QUORUM_IN_SNAPSHOT_SENT, 14);
    connect(&f, 34, 14, PACKET_OBSERVER_INFO);
    fixture_ack_epoch(&f, 34, 0, 0);
    assert_did(&f, "SEND link 34 SNAP 0x300000000\n"
                   "SEND_SNAPSHOT link 34 0x300000000\n"
                   "SEND link 34 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

static void snapshots_for_all_when_so_configured(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 1);
    f.options.always_snapshot = true;
    leading(&f);
    fixture_ack_epoch(&f, 11, E2 + 2, 2);
    assert_did(&f, "SAVE_EPOCH current 3\n"
                   "SEND link 11 SNAP 0x200000002\n"
                   "SEND_SNAPSHOT link 11 0x200000002\n"
                   "SEND link 11 NEWLEADER 0x300000000\n");
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_older_than_memory_comes_from_the_files),
        cmocka_unit_test(memory_and_files_meet_without_a_hole),
        cmocka_unit_test(memory_is_bounded_by_what_is_committed_and_on_disk),
        cmocka_unit_test(what_is_not_committed_is_held_back_until_uptodate),
        cmocka_unit_test(an_observer_gets_pairs_before_uptodate_and_informs_after),
        cmocka_unit_test(a_snapshot_is_sent_for_as_long_as_it_takes),
        cmocka_unit_test(what_a_snapshot_has_already_is_not_sent_again),
        cmocka_unit_test(who_gets_a_snapshot_without_end_is_no_quorum),
        cmocka_unit_test(who_does_not_ack_newleader_in_time_is_closed),
        cmocka_unit_test(the_end_of_a_deposed_leader_is_cut_or_replaced),
        cmocka_unit_test(a_log_is_sent_for_as_long_as_it_takes),
        cmocka_unit_test(purged_files_are_not_counted_on),
        cmocka_unit_test(who_has_all_that_was_purged_needs_no_snapshot),
        cmocka_unit_test(who_was_overtaken_by_the_purge_starts_over),
        cmocka_unit_test(what_is_proposed_is_not_purged),
        cmocka_unit_test(an_observer_too_many_waits_for_its_snapshot),
        cmocka_unit_test(snapshots_for_all_when_so_configured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
