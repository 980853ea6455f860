/* SPDX-License-Identifier: Apache-2.0 */
/* An epoch that ends while everybody serves: both sides of zab_turn.c. */
#include "lib/quorum_fixture.h"
#include "lib/test.h"
#include "quorum/zab.h"

#define E1 INT64_C(0x100000000)
#define E2 INT64_C(0x200000000)
#define E3 INT64_C(0x300000000)

enum { LEADER = 7, LAST_COUNTER = 6 };

/* ---- a leader ---- */

static void ack(struct quorum_fixture *f, link_id link, int64_t zxid)
{
    fixture_packet(f, link, PACKET_ACK, zxid, BYTES_NULL);
}

/* Ours say that they can; Java's do not. */
static void ack_epoch(struct quorum_fixture *f, link_id link, int32_t current, bool is_ours)
{
    uint8_t data[8];

    store_u32(data, (uint32_t)current);
    memcpy(data + 4, TURN_MARK, 4);
    fixture_packet(f, link, PACKET_ACK_EPOCH, 0, bytes_of(data, is_ours ? 8 : 4));
}

static void join(struct quorum_fixture *f, link_id link, int32_t type, int64_t sid, bool is_ours)
{
    fixture_link(f, QUORUM_IN_LINK_UP, link);
    fixture_info(f, link, type, 0, sid);
    if (sid == 1) {
        fixture_saved(f, EPOCH_ACCEPTED, 1);
    }
    ack_epoch(f, link, 0, is_ours);
    if (sid == 1) {
        fixture_saved(f, EPOCH_CURRENT, 1);
    }
    ack(f, link, E1);
    ack(f, link, E1); /* behind UPTODATE */
}

/* Member 3 leads 1 on link 11, 2 on link 12 and observer 4 on link 14. */
static void leading(struct quorum_fixture *f, bool are_ours)
{
    quorum_fixture_init(f, 3, 3, 2);
    f->options.last_counter = LAST_COUNTER;
    quorum_fixture_start(f, 0, 0, NULL);
    quorum_fixture_elect_self(f);
    join(f, 11, PACKET_FOLLOWER_INFO, 1, true);
    join(f, 12, PACKET_FOLLOWER_INFO, 2, true);
    join(f, 14, PACKET_OBSERVER_INFO, 4, are_ours);
}

static void keep_up(struct quorum_fixture *f)
{
    fixture_wait(f, TICK_US / 2);
}

static void write_to_disk(struct quorum_fixture *f, int64_t zxid)
{
    fixture_propose(f, zxid);
    fixture_zxid(f, QUORUM_IN_LOG_DURABLE, zxid);
}

static bool did(struct quorum_fixture *f, const char *text)
{
    return strstr(strbuf_cstr(&f->got), text) != NULL;
}

/* ... and has named epoch 2 to all of them. */
static void naming(struct quorum_fixture *f)
{
    leading(f, true);
    for (int i = 1; i <= 4; i++) {
        write_to_disk(f, E1 + i);
        ack(f, 11, E1 + i);
    }
    keep_up(f);
    assert_true(did(f, "SAVE_EPOCH accepted 2\n"));
    fixture_saved(f, EPOCH_ACCEPTED, 2);
    assert_did(f, "SEND link 11 LEADERINFO 0x200000000\n"
                  "SEND link 12 LEADERINFO 0x200000000\n"
                  "SEND link 14 LEADERINFO 0x200000000\n");
}

static void not_before_it_is_near_the_end(void **state)
{
    struct quorum_fixture f;

    (void)state;
    leading(&f, true);
    for (int i = 1; i <= 3; i++) {
        write_to_disk(&f, E1 + i);
        ack(&f, 11, E1 + i);
    }
    keep_up(&f);
    assert_false(did(&f, "SAVE_EPOCH"));
    quorum_fixture_fini(&f);
}

static void a_leader_goes_on_in_the_next_epoch(void **state)
{
    struct quorum_fixture f;

    (void)state;
    naming(&f);
    write_to_disk(&f, E1 + 5); /* nothing waits for it */
    ack_epoch(&f, 11, 1, true);
    assert_did(&f, "");
    ack_epoch(&f, 12, 1, true);
    assert_did(&f, "");
    ack_epoch(&f, 14, 1, true);
    assert_did(&f, "TURN epoch 2\n");
    fixture_propose(&f, E1 + 6); /* made before the member has heard of it; not on disk yet */
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_TURN, .epoch = 2});
    assert_did(&f, "SEND link 11 NEWLEADER 0x200000000\n"
                   "SEND link 12 NEWLEADER 0x200000000\n");
    fixture_propose(&f, E2 + 1);
    assert_did(&f, "APPEND 0x200000001 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x200000001 7 bytes\n"
                   "SEND link 12 PROPOSAL 0x200000001 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 6); /* P2, then P3 */
    assert_did(&f, "SAVE_EPOCH current 2\n");
    ack(&f, 11, E1 + 5);
    ack(&f, 11, E1 + 6);
    assert_did(&f, "SEND link 11 COMMIT 0x100000006\n"
                   "SEND link 12 COMMIT 0x100000006\n"
                   "SEND link 14 INFORM 0x100000006 7 bytes\n"
                   "COMMIT 0x100000006\n");
    ack(&f, 11, E2);
    ack(&f, 11, E2 + 1);
    assert_did(&f, ""); /* our own is not on disk */
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 1);
    assert_did(&f, ""); /* and of no epoch that is */
    fixture_saved(&f, EPOCH_CURRENT, 2);
    assert_did(&f, "SEND link 11 COMMIT 0x200000001\n"
                   "SEND link 12 COMMIT 0x200000001\n"
                   "SEND link 14 NEWLEADER 0x200000000\n"
                   "SEND link 14 INFORM 0x200000001 7 bytes\n"
                   "COMMIT 0x200000001\n");
    assert_true(quorum_status(f.quorum).serving);
    assert_int_equal(quorum_status(f.quorum).current_epoch, 2);
    quorum_fixture_fini(&f);
}

/* Two followers have it and the leader's disk is slow: they are a quorum. */
static void it_needs_a_quorum_not_the_leader(void **state)
{
    struct quorum_fixture f;

    (void)state;
    naming(&f);
    ack_epoch(&f, 11, 1, true);
    ack_epoch(&f, 12, 1, true);
    ack_epoch(&f, 14, 1, true);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_TURN, .epoch = 2});
    fixture_propose(&f, E2 + 1);
    ack(&f, 11, E2);
    ack(&f, 11, E2 + 1);
    ack(&f, 12, E2);
    ack(&f, 12, E2 + 1);
    assert_true(did(&f, "COMMIT 0x200000001\n"));
    quorum_fixture_fini(&f);
}

static void newcomers_wait_until_it_is_done(void **state)
{
    struct quorum_fixture f;

    (void)state;
    naming(&f);
    fixture_link(&f, QUORUM_IN_LINK_UP, 15);
    fixture_info(&f, 15, PACKET_OBSERVER_INFO, 2, 5);
    assert_did(&f, "CLOSE link 15: a new epoch is about to begin here: it has to come again\n");
    ack_epoch(&f, 11, 1, true);
    ack_epoch(&f, 12, 1, true);
    ack_epoch(&f, 14, 1, true);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_TURN, .epoch = 2});
    fixture_saved(&f, EPOCH_CURRENT, 2);
    ack(&f, 11, E2);
    fixture_link(&f, QUORUM_IN_LINK_UP, 16);
    fixture_info(&f, 16, PACKET_OBSERVER_INFO, 2, 5);
    assert_did(&f, "SEND link 16 LEADERINFO 0x200000000\n");
    fixture_packet(&f, 16, PACKET_ACK_EPOCH, E1 + 4, bytes_of("\377\377\377\377turn", 8));
    assert_did(&f, "SEND link 16 DIFF 0x100000004\n" /* the tree is what it was */
                   "SEND link 16 NEWLEADER 0x200000000\n");
    quorum_fixture_fini(&f);
}

static void one_who_goes_is_not_waited_for_unless_it_was_needed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    naming(&f);
    ack_epoch(&f, 11, 1, true);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 12);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 14);
    keep_up(&f);
    assert_true(did(&f, "TURN epoch 2\n"));
    quorum_fixture_fini(&f);
    naming(&f);
    ack_epoch(&f, 14, 1, true); /* no voter */
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 11);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 12);
    keep_up(&f);
    assert_false(did(&f, "TURN"));
    quorum_fixture_fini(&f);
}

/* Who had promised it before may have done so to somebody else. */
static void a_promise_given_before_does_not_count(void **state)
{
    struct quorum_fixture f;

    (void)state;
    naming(&f);
    ack_epoch(&f, 11, -1, true);
    ack_epoch(&f, 12, 1, true);
    ack_epoch(&f, 14, 1, true);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void with_one_of_javas_the_leader_resigns_at_the_end(void **state)
{
    struct quorum_fixture f;

    (void)state;
    leading(&f, false);
    for (int i = 1; i <= LAST_COUNTER; i++) {
        write_to_disk(&f, E1 + i);
        ack(&f, 11, E1 + i);
        keep_up(&f);
        assert_false(did(&f, "SAVE_EPOCH"));
    }
    quorum_fixture_fini(&f);
}

/* ---- a learner ---- */

static void from_leader(struct quorum_fixture *f, int32_t type, int64_t zxid)
{
    fixture_packet(f, LEADER, type, zxid,
                   type == PACKET_PROPOSAL || type == PACKET_INFORM ? bytes_str("payload")
                                                                    : BYTES_NULL);
}

/* Member 1 serves in epoch 2 of leader 2, at 1:5. */
static void serving(struct quorum_fixture *f)
{
    quorum_fixture_init(f, 1, 3, 2);
    quorum_fixture_start(f, E1 + 5, 1, NULL);
    quorum_fixture_elect(f, 2);
    fixture_dialled(f, LEADER, 2);
    from_leader(f, PACKET_LEADER_INFO, E2);
    fixture_saved(f, EPOCH_ACCEPTED, 2);
    from_leader(f, PACKET_DIFF, E1 + 5);
    from_leader(f, PACKET_NEW_LEADER, E2);
    fixture_saved(f, EPOCH_CURRENT, 2);
    from_leader(f, PACKET_UP_TO_DATE, -1);
}

static void a_learner_has_all_before_it_on_disk_then_the_epoch_then_it_acks(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_LEADER_INFO, E3);
    assert_did(&f, "SAVE_EPOCH accepted 3\n");
    from_leader(&f, PACKET_PROPOSAL, E2 + 1);
    assert_did(&f, "APPEND 0x200000001 7 bytes\n");
    fixture_saved(&f, EPOCH_ACCEPTED, 3);
    assert_did(&f, "SEND link 7 ACKEPOCH 0x200000001 current 2\n");
    from_leader(&f, PACKET_NEW_LEADER, E3);
    assert_did(&f, ""); /* P2 */
    from_leader(&f, PACKET_PROPOSAL, E3 + 1);
    assert_did(&f, "APPEND 0x300000001 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E3 + 1);
    assert_did(&f, "SAVE_EPOCH current 3\n"
                   "SEND link 7 ACK 0x200000001\n"); /* P3: of the new epoch nothing yet */
    fixture_saved(&f, EPOCH_CURRENT, 3);
    assert_did(&f, "SEND link 7 ACK 0x300000000\n"
                   "SEND link 7 ACK 0x300000001\n");
    from_leader(&f, PACKET_COMMIT, E2 + 1);
    from_leader(&f, PACKET_COMMIT, E3 + 1);
    assert_did(&f, "COMMIT 0x300000001\n");
    assert_true(quorum_status(f.quorum).serving);
    quorum_fixture_fini(&f);
}

static void what_cannot_follow_is_not_followed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    from_leader(&f, PACKET_LEADER_INFO, E2); /* promised before */
    assert_true(did(&f, "STOP: the leader names an epoch that cannot follow\n"));
    quorum_fixture_fini(&f);
    serving(&f);
    from_leader(&f, PACKET_NEW_LEADER, E3); /* not promised */
    assert_true(did(&f, "STOP: NEWLEADER of another epoch, or out of turn\n"));
    quorum_fixture_fini(&f);
    serving(&f);
    from_leader(&f, PACKET_LEADER_INFO, E3);
    from_leader(&f, PACKET_NEW_LEADER, E3); /* not on disk */
    assert_true(did(&f, "STOP: NEWLEADER of another epoch, or out of turn\n"));
    quorum_fixture_fini(&f);
    serving(&f);
    from_leader(&f, PACKET_LEADER_INFO, E3);
    fixture_saved(&f, EPOCH_ACCEPTED, 3);
    from_leader(&f, PACKET_PROPOSAL, E3 + 1); /* before NEWLEADER */
    assert_true(did(&f, "STOP: a proposal does not follow the one before\n"));
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_before_it_is_near_the_end),
        cmocka_unit_test(a_leader_goes_on_in_the_next_epoch),
        cmocka_unit_test(it_needs_a_quorum_not_the_leader),
        cmocka_unit_test(newcomers_wait_until_it_is_done),
        cmocka_unit_test(one_who_goes_is_not_waited_for_unless_it_was_needed),
        cmocka_unit_test(a_promise_given_before_does_not_count),
        cmocka_unit_test(with_one_of_javas_the_leader_resigns_at_the_end),
        cmocka_unit_test(a_learner_has_all_before_it_on_disk_then_the_epoch_then_it_acks),
        cmocka_unit_test(what_cannot_follow_is_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
