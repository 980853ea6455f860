/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quorum_fixture.h"
#include "lib/test.h"

#define E1 INT64_C(0x100000000)

static void ack(struct quorum_fixture *f, link_id link, int64_t zxid)
{
    fixture_packet(f, link, PACKET_ACK, zxid, BYTES_NULL);
}

static void pong(struct quorum_fixture *f, link_id link)
{
    fixture_packet(f, link, PACKET_PING, E1, bytes_of("", 0));
}

static void join(struct quorum_fixture *f, link_id link, int64_t sid, int32_t type)
{
    fixture_link(f, QUORUM_IN_LINK_UP, link);
    fixture_info(f, link, type, 0, sid);
    if (quorum_status(f->quorum).accepted_epoch == 0) {
        fixture_saved(f, EPOCH_ACCEPTED, 1);
    }
    fixture_ack_epoch(f, link, E1, 0);
    if (quorum_status(f->quorum).current_epoch == 0) {
        fixture_saved(f, EPOCH_CURRENT, 1);
    }
    ack(f, link, E1);
}

/* Member 3 of three leads 1 and 2, on links 11 and 12, and an observer on 14. */
static void active(struct quorum_fixture *f)
{
    quorum_fixture_init(f, 3, 3, 1);
    quorum_fixture_start(f, 0, 0, NULL);
    quorum_fixture_elect_self(f);
    fixture_link(f, QUORUM_IN_LINK_UP, 11);
    fixture_info(f, 11, PACKET_FOLLOWER_INFO, 0, 1);
    fixture_saved(f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(f, 11, 0, 0);
    fixture_saved(f, EPOCH_CURRENT, 1);
    ack(f, 11, E1);
    join(f, 12, 2, PACKET_FOLLOWER_INFO);
    join(f, 14, 4, PACKET_OBSERVER_INFO);
    assert_int_equal(quorum_status(f->quorum).n_learners, 3);
}

static void sync_of(struct quorum_fixture *f, link_id link)
{
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_SYNC, .link = link});
}

static void a_sync_is_answered_when_a_quorum_has_answered_a_later_ping(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    sync_of(&f, 0);
    assert_did(&f, "SEND link 11 PING 0x100000000\n"
                   "SEND link 12 PING 0x100000000\n");
    pong(&f, 11);
    assert_did(&f, "RECEIVED link 11 m1 PING 0x100000000 0 bytes\n"
                   "SYNCED\n");
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n");
    quorum_fixture_fini(&f);
}

static void answers_to_earlier_pings_prove_nothing(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_wait(&f, TICK_US / 2);
    sync_of(&f, 11);
    assert_did(&f, "SEND link 11 PING 0x100000000\n"
                   "SEND link 12 PING 0x100000000\n");
    pong(&f, 11);
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n");
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n"
                   "SEND link 11 SYNC 0x0\n");
    quorum_fixture_fini(&f);
}

static void a_sync_is_marked_if_that_is_asked_for(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_SYNC, .link = 11, .marked = true});
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n"
                   "SEND link 11 SYNC 0x0 4 bytes\n");
    quorum_fixture_fini(&f);
}

static void an_observer_proves_nothing(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_wait(&f, TICK_US / 2);
    sync_of(&f, 0);
    pong(&f, 14);
    assert_did(&f, "RECEIVED link 14 m4 PING 0x100000000 0 bytes\n");
    quorum_fixture_fini(&f);
}

static void what_was_proposed_before_is_committed_first(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_propose(&f, E1 + 1);
    sync_of(&f, 12);
    pong(&f, 11);
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n");
    fixture_propose(&f, E1 + 2); /* this one it need not wait for */
    ack(&f, 11, E1 + 1);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n"
                   "SEND link 12 COMMIT 0x100000001\n"
                   "SEND link 14 INFORM 0x100000001 7 bytes\n"
                   "COMMIT 0x100000001\n"
                   "SEND link 12 SYNC 0x0\n");
    quorum_fixture_fini(&f);
}

/* Java's learners take commits and syncs for answers to their requests in their order. */
static void a_sync_is_answered_before_what_came_after_it(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    sync_of(&f, 11); /* a round begins */
    fixture_propose(&f, E1 + 1);
    sync_of(&f, 12); /* too late for it */
    sync_of(&f, 0);
    fixture_propose(&f, E1 + 2);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 2);
    ack(&f, 12, E1 + 2);
    assert_did(&f, "SEND link 11 SYNC 0x0\n"
                   "SEND link 11 PING 0x100000002\n"
                   "SEND link 12 PING 0x100000002\n"
                   "SEND link 11 COMMIT 0x100000001\n"
                   "SEND link 12 COMMIT 0x100000001\n"
                   "SEND link 14 INFORM 0x100000001 7 bytes\n"
                   "COMMIT 0x100000001\n"
                   "SEND link 12 SYNC 0x0\n"
                   "SYNCED\n"
                   "SEND link 11 COMMIT 0x100000002\n"
                   "SEND link 12 COMMIT 0x100000002\n"
                   "SEND link 14 INFORM 0x100000002 7 bytes\n"
                   "COMMIT 0x100000002\n");
    pong(&f, 11);
    assert_did(&f, "RECEIVED link 11 m1 PING 0x100000000 0 bytes\n"); /* each is answered once */
    quorum_fixture_fini(&f);
}

static void an_ack_of_a_later_proposal_is_as_good_as_a_ping(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_propose(&f, E1 + 1);
    sync_of(&f, 0);
    fixture_propose(&f, E1 + 2);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 2);
    ack(&f, 11, E1 + 1); /* was proposed before the sync came */
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n"
                   "SEND link 12 COMMIT 0x100000001\n"
                   "SEND link 14 INFORM 0x100000001 7 bytes\n"
                   "COMMIT 0x100000001\n");
    ack(&f, 11, E1 + 2);
    assert_did(&f, "SYNCED\n"
                   "SEND link 11 COMMIT 0x100000002\n"
                   "SEND link 12 COMMIT 0x100000002\n"
                   "SEND link 14 INFORM 0x100000002 7 bytes\n"
                   "COMMIT 0x100000002\n");
    quorum_fixture_fini(&f);
}

static void syncs_that_come_during_a_round_share_the_next_one(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    sync_of(&f, 0);
    sync_of(&f, 11);
    assert_did(&f, "");
    sync_of(&f, 0);
    assert_did(&f, "");
    pong(&f, 11);
    assert_did(&f, "RECEIVED link 11 m1 PING 0x100000000 0 bytes\n"
                   "SYNCED\n"
                   "SEND link 11 PING 0x100000000\n"
                   "SEND link 12 PING 0x100000000\n");
    pong(&f, 12); /* still the first round's */
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n");
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n"
                   "SEND link 11 SYNC 0x0\n"
                   "SYNCED\n");
    quorum_fixture_fini(&f);
}

static void who_has_gone_is_not_answered(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    sync_of(&f, 11);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 11);
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n");
    sync_of(&f, 12);
    pong(&f, 12);
    assert_did(&f, "RECEIVED link 12 m2 PING 0x100000000 0 bytes\n"
                   "SEND link 12 SYNC 0x0\n");
    quorum_fixture_fini(&f);
}

static void a_leader_without_a_quorum_answers_nothing(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 11);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 12);
    sync_of(&f, 0);
    assert_did(&f, "");
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 14: no longer leading\n"
                   "STOP: not enough learners are left\n");
    quorum_fixture_fini(&f);
}

static void many_syncs_are_answered_in_their_order(void **state)
{
    struct quorum_fixture f;
    size_t answered = 0;

    (void)state;
    active(&f);
    for (int i = 0; i < 500; i++) {
        sync_of(&f, 0);
    }
    for (int round = 0; round < 2; round++) {
        pong(&f, 11);
        for (size_t i = 0; i < f.effects.count; i++) {
            answered += f.effects.items[i].kind == QUORUM_DO_SYNCED;
        }
    }
    assert_int_equal(answered, 500);
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sync_is_answered_when_a_quorum_has_answered_a_later_ping),
        cmocka_unit_test(answers_to_earlier_pings_prove_nothing),
        cmocka_unit_test(a_sync_is_marked_if_that_is_asked_for),
        cmocka_unit_test(an_observer_proves_nothing),
        cmocka_unit_test(what_was_proposed_before_is_committed_first),
        cmocka_unit_test(a_sync_is_answered_before_what_came_after_it),
        cmocka_unit_test(an_ack_of_a_later_proposal_is_as_good_as_a_ping),
        cmocka_unit_test(syncs_that_come_during_a_round_share_the_next_one),
        cmocka_unit_test(who_has_gone_is_not_answered),
        cmocka_unit_test(a_leader_without_a_quorum_answers_nothing),
        cmocka_unit_test(many_syncs_are_answered_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
