/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/quorum.h"

#include "lib/quorum_fixture.h"
#include "lib/test.h"
#include "quorum/trace.h"

#define E1 INT64_C(0x100000000)

static void resign(struct quorum_fixture *f)
{
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
}

static void starts_with(struct quorum_fixture *f, int64_t zxid, int64_t accepted, int64_t current)
{
    quorum_fixture_init(f, 1, 3, 0);
    f->quorum = quorum_new(&f->options);
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                           .zxid = zxid,
                                           .accepted_epoch = accepted,
                                           .current_epoch = current});
}

static void a_start_is_a_vote(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, E1 + 5, 2, 1);
    assert_int_equal(f.effects.count, 2);
    assert_int_equal(f.effects.items[0].kind, QUORUM_DO_NOTIFY);
    assert_int_equal(quorum_status(f.quorum).role, MEMBER_LOOKING);
    assert_int_equal(quorum_status(f.quorum).accepted_epoch, 2);
    quorum_fixture_fini(&f);
}

/* T5: a crash while it was synchronised, or a folder of a server that stood alone. */
static void epochs_behind_the_log_are_saved_before_the_first_vote(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, 3 * E1 + 5, 3, 1);
    assert_did(&f, "SAVE_EPOCH current 3\n");
    assert_int_equal(f.effects.count, 1);
    fixture_saved(&f, EPOCH_CURRENT, 3);
    assert_int_equal(f.effects.items[0].kind, QUORUM_DO_NOTIFY);
    quorum_fixture_fini(&f);

    starts_with(&f, E1 + 5, 0, 0);
    assert_did(&f, "SAVE_EPOCH accepted 1\n"
                   "SAVE_EPOCH current 1\n");
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    assert_int_equal(f.effects.count, 0);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    assert_int_equal(f.effects.items[0].kind, QUORUM_DO_NOTIFY);
    quorum_fixture_fini(&f);

    starts_with(&f, E1 + 5, 1, 4);
    assert_did(&f, "SAVE_EPOCH accepted 4\n");
    fixture_saved(&f, EPOCH_ACCEPTED, 4);
    assert_int_equal(f.effects.items[0].kind, QUORUM_DO_NOTIFY);
    quorum_fixture_fini(&f);
}

static void a_link_without_a_role_is_closed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, 0, 0, 0);
    fixture_link(&f, QUORUM_IN_LINK_UP, 5);
    assert_did(&f, "CLOSE link 5: not wanted any more\n");
    fixture_packet(&f, 5, PACKET_ACK, 1, BYTES_NULL);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 5);
    assert_did(&f, "");
    resign(&f); /* from nothing */
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void what_was_under_way_is_answered_before_stopped(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, 0, 0, 0);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, 7, 2);
    fixture_packet(&f, 7, PACKET_LEADER_INFO, E1, BYTES_NULL);
    assert_did(&f, "SAVE_EPOCH accepted 1\n");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 7);
    assert_did(&f, "STOP: the link to the leader is lost\n");
    assert_true(quorum_status(f.quorum).stopping);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    assert_did(&f, "");
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    assert_int_equal(quorum_status(f.quorum).accepted_epoch, 1);
    assert_false(quorum_status(f.quorum).stopping);
    quorum_fixture_fini(&f);
}

/* One role that ends in vain. */
static void try_in_vain(struct quorum_fixture *f)
{
    quorum_fixture_elect(f, 2);
    resign(f);
    assert_did(f, "STOP: asked to\n");
    fixture_zxid(f, QUORUM_IN_STOPPED, 0);
}

static void roles_in_vain_take_longer_and_longer_rests(void **state)
{
    struct quorum_fixture f;
    int64_t rest_us = 0;

    (void)state;
    starts_with(&f, 0, 0, 0);
    try_in_vain(&f);
    assert_true(f.effects.count > 0); /* the first time at once */
    for (int i = 0; i < 10; i++) {
        int64_t next_us;

        try_in_vain(&f);
        assert_int_equal(f.effects.count, 0);
        next_us = quorum_next_us(f.quorum);
        assert_true(next_us - f.now_us >= rest_us);
        rest_us = next_us - f.now_us;
        fixture_wait(&f, rest_us - 1);
        assert_int_equal(f.effects.count, 0);
        fixture_wait(&f, 1);
        assert_true(f.effects.count > 0);
    }
    assert_int_equal(rest_us, 1000 * 1000);
    quorum_fixture_fini(&f);
}

static void who_has_served_looks_for_a_leader_at_once(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, 0, 0, 0);
    try_in_vain(&f);
    quorum_fixture_elect(&f, 2);
    fixture_dialled(&f, 7, 2);
    fixture_packet(&f, 7, PACKET_LEADER_INFO, E1, BYTES_NULL);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_packet(&f, 7, PACKET_DIFF, 0, BYTES_NULL);
    fixture_packet(&f, 7, PACKET_NEW_LEADER, E1, BYTES_NULL);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    fixture_packet(&f, 7, PACKET_UP_TO_DATE, -1, BYTES_NULL);
    assert_true(quorum_status(f.quorum).serving);
    assert_int_equal(quorum_status(f.quorum).leader, 2);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 7);
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    assert_true(f.effects.count > 0);
    quorum_fixture_fini(&f);
}

/* Many observers do not ask for the new leader all at once. */
static void an_observer_may_pause_before_it_looks(void **state)
{
    struct quorum_fixture f;
    int64_t rest_us;

    (void)state;
    quorum_fixture_init(&f, 4, 3, 1);
    f.options.observer_pause_ms = 500;
    quorum_fixture_start(&f, 0, 0, NULL);
    try_in_vain(&f);
    assert_int_equal(f.effects.count, 0);
    rest_us = quorum_next_us(f.quorum) - f.now_us;
    assert_in_range(rest_us, 1, 500 * 1000);
    fixture_wait(&f, rest_us);
    assert_true(f.effects.count > 0);
    quorum_fixture_fini(&f);
}

static void assert_votes(struct quorum_fixture *f, const char *expected)
{
    struct strbuf got;

    strbuf_init(&got, STRBUF_NO_LIMIT);
    assert_true(f->effects.count > 0);
    trace_effect(&got, &f->effects.items[0]);
    assert_string_equal(strbuf_cstr(&got), expected);
    strbuf_fini(&got);
}

/* The port was ours, and then it was not: the others have to elect another one. */
static void who_cannot_listen_does_not_stand_until_it_can(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, 0, 0, 0);
    quorum_fixture_elect_self(&f);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_LISTEN_FAILED});
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 2");
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_HEARS});
    assert_votes(&f, "NOTIFY m2 LOOKING for m1 0x0 epoch 0 round 2");
    quorum_fixture_fini(&f);
}

/* Perhaps nobody can: packets to its port may be dropped on the way. */
static void whom_nobody_comes_to_follow_lets_another_lead_for_a_while(void **state)
{
    struct quorum_fixture f;

    (void)state;
    starts_with(&f, 0, 0, 0);
    quorum_fixture_elect_self(&f);
    fixture_wait(&f, INIT_LIMIT * TICK_US);
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 2");
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_HEARS});
    assert_int_equal(f.effects.count, 0); /* that is no reason */
    assert_true(quorum_next_us(f.quorum) <= f.now_us + 2 * TICK_US);
    fixture_wait(&f, 2 * TICK_US - 1);
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 0"); /* again */
    fixture_wait(&f, 1);
    assert_votes(&f, "NOTIFY m2 LOOKING for m1 0x0 epoch 0 round 2");
    fixture_wait(&f, TICK_US);
    assert_true(quorum_next_us(f.quorum) > f.now_us);
    quorum_fixture_elect_self(&f);
    quorum_fixture_fini(&f);
}

/* Its port can be reached: the others were too slow, or have another leader. */
static void whom_a_voter_came_to_follow_stands_again_at_once(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 1, 5, 0);
    f.quorum = quorum_new(&f.options);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START});
    quorum_fixture_elect_self(&f);
    fixture_link(&f, QUORUM_IN_LINK_UP, 7);
    fixture_info(&f, 7, PACKET_FOLLOWER_INFO, 0, 2);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 7);
    fixture_wait(&f, INIT_LIMIT * TICK_US);
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    assert_votes(&f, "NOTIFY m2 LOOKING for m1 0x0 epoch 0 round 2");
    quorum_fixture_fini(&f);
}

/* Its tree would be everybody's. Neither a free port nor another election changes that. */
static void who_has_diverged_does_not_stand(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 1, 3, 0);
    f.quorum = quorum_new(&f.options);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                            .zxid = E1 + 5,
                                            .accepted_epoch = 1,
                                            .current_epoch = 1,
                                            .deaf = true,
                                            .diverged = true});
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 1");
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_HEARS});
    assert_int_equal(f.effects.count, 0);
    quorum_fixture_elect(&f, 2);
    resign(&f);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 5);
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 8");
    quorum_fixture_fini(&f);
}

/* It does not know what a leader would have to have: not even one with more gets its vote. But whom
 * a quorum follows it follows. */
static void who_is_damaged_votes_for_nobody(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 1, 3, 0);
    f.quorum = quorum_new(&f.options);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                            .zxid = E1 + 5,
                                            .accepted_epoch = 1,
                                            .current_epoch = 1,
                                            .damaged = true});
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 1");
    for (int64_t sid = 2; sid <= 3; sid++) {
        quorum_fixture_hear(&f, sid,
                            (struct notification){.state = MEMBER_LOOKING,
                                                  .leader = 3,
                                                  .zxid = 2 * E1 + 9,
                                                  .peer_epoch = 2,
                                                  .election_epoch = 1});
        assert_int_equal(f.effects.count, 0);
    }
    fixture_wait(&f, 3 * TICK_US);
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 1");
    assert_int_equal(quorum_status(f.quorum).role, MEMBER_LOOKING);
    quorum_fixture_elect(&f, 2);
    assert_int_equal(quorum_status(f.quorum).role, MEMBER_FOLLOWING);
    resign(&f);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 5);
    assert_votes(&f, "NOTIFY m2 LOOKING for nobody round 8");
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_a_vote),
        cmocka_unit_test(epochs_behind_the_log_are_saved_before_the_first_vote),
        cmocka_unit_test(a_link_without_a_role_is_closed),
        cmocka_unit_test(what_was_under_way_is_answered_before_stopped),
        cmocka_unit_test(roles_in_vain_take_longer_and_longer_rests),
        cmocka_unit_test(who_has_served_looks_for_a_leader_at_once),
        cmocka_unit_test(an_observer_may_pause_before_it_looks),
        cmocka_unit_test(who_cannot_listen_does_not_stand_until_it_can),
        cmocka_unit_test(whom_nobody_comes_to_follow_lets_another_lead_for_a_while),
        cmocka_unit_test(whom_a_voter_came_to_follow_stands_again_at_once),
        cmocka_unit_test(who_has_diverged_does_not_stand),
        cmocka_unit_test(who_is_damaged_votes_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
