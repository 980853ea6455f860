/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quorum_fixture.h"
#include "lib/test.h"
#include "quorum/zab.h"

#define E1 INT64_C(0x100000000)

/* Member 3 of three, elected, at `zxid` of epoch `epoch`. */
static void elected(struct quorum_fixture *f, int64_t zxid, int64_t epoch)
{
    quorum_fixture_init(f, 3, 3, 2);
    quorum_fixture_start(f, zxid, epoch, NULL);
    quorum_fixture_elect_self(f);
}

static void connect(struct quorum_fixture *f, link_id link, int64_t sid, int64_t accepted)
{
    fixture_link(f, QUORUM_IN_LINK_UP, link);
    assert_did(f, "");
    fixture_info(f, link, PACKET_FOLLOWER_INFO, accepted, sid);
}

static void observer_connects(struct quorum_fixture *f, link_id link, int64_t sid)
{
    fixture_link(f, QUORUM_IN_LINK_UP, link);
    fixture_info(f, link, PACKET_OBSERVER_INFO, 0, sid);
}

static void ack(struct quorum_fixture *f, link_id link, int64_t zxid)
{
    fixture_packet(f, link, PACKET_ACK, zxid, BYTES_NULL);
}

/* Epoch 1, fresh members: member 1 on link 11 is synchronised, and the leader active. */
static void active(struct quorum_fixture *f)
{
    elected(f, 0, 0);
    connect(f, 11, 1, 0);
    fixture_saved(f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(f, 11, 0, 0);
    fixture_saved(f, EPOCH_CURRENT, 1);
    ack(f, 11, E1);
    assert_did(f, "LEAD epoch 1\n"
                  "SEND link 11 UPTODATE -1\n");
    ack(f, 11, E1);
    assert_did(f, "");
}

/* Epoch `epoch` after a first one, with the same member on link 21. */
static void active_again(struct quorum_fixture *f, int64_t epoch)
{
    quorum_fixture_elect_self(f);
    connect(f, 21, 1, 1);
    fixture_saved(f, EPOCH_ACCEPTED, epoch);
    fixture_ack_epoch(f, 21, 0, 0);
    fixture_saved(f, EPOCH_CURRENT, epoch);
    ack(f, 21, zxid_make(epoch, 0));
    assert_true(quorum_status(f->quorum).serving);
}

static bool did(struct quorum_fixture *f, const char *text)
{
    return strstr(strbuf_cstr(&f->got), text) != NULL;
}

/* The leader lives for some ticks, and `link` answers its pings. */
static void fixture_keep_up(struct quorum_fixture *f, link_id link, int ticks)
{
    for (int i = 0; i < 2 * ticks; i++) {
        fixture_wait(f, TICK_US / 2);
        fixture_packet(f, link, PACKET_PING, E1, bytes_of("", 0));
    }
}

/* Member 2 joins an active leader on link 12. */
static void join(struct quorum_fixture *f, link_id link, int64_t sid, int64_t zxid)
{
    connect(f, link, sid, 0);
    fixture_ack_epoch(f, link, zxid, 0);
    ack(f, link, E1);
}

static void a_first_epoch_step_by_step(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    assert_did(&f, "LISTEN\n");
    connect(&f, 11, 1, 0);
    assert_did(&f, "SAVE_EPOCH accepted 1\n");
    connect(&f, 12, 2, 0); /* waits: nobody may hear of an epoch that is not on disk (P1) */
    assert_did(&f, "");
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    assert_did(&f, "SEND link 11 LEADERINFO 0x100000000\n"
                   "SEND link 12 LEADERINFO 0x100000000\n");
    fixture_ack_epoch(&f, 11, 0, 0);
    assert_did(&f, "SAVE_EPOCH current 1\n"
                   "SEND link 11 DIFF 0x0\n"
                   "SEND link 11 NEWLEADER 0x100000000\n");
    fixture_ack_epoch(&f, 12, 0, 0);
    assert_did(&f, "SEND link 12 DIFF 0x0\n"
                   "SEND link 12 NEWLEADER 0x100000000\n");
    ack(&f, 11, E1); /* we ourselves do not count before currentEpoch is on disk (P3) */
    assert_did(&f, "");
    fixture_saved(&f, EPOCH_CURRENT, 1);
    assert_did(&f, "LEAD epoch 1\n"
                   "SEND link 11 UPTODATE -1\n");
    ack(&f, 12, E1);
    assert_did(&f, "SEND link 12 UPTODATE -1\n");
    quorum_fixture_fini(&f);
}

static void a_single_voter_leads_alone(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 1, 1, 0);
    quorum_fixture_start(&f, 0, 0, NULL);
    while (quorum_status(f.quorum).role == MEMBER_LOOKING) {
        fixture_wait(&f, quorum_next_us(f.quorum) - f.now_us);
    }
    assert_did(&f, "LISTEN\n"
                   "SAVE_EPOCH accepted 1\n");
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    assert_did(&f, "SAVE_EPOCH current 1\n");
    fixture_saved(&f, EPOCH_CURRENT, 1);
    assert_did(&f, "LEAD epoch 1\n");
    fixture_propose(&f, E1 + 1);
    assert_did(&f, "APPEND 0x100000001 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    assert_did(&f, "COMMIT 0x100000001\n");
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_SYNC});
    assert_did(&f, "SYNCED\n");
    quorum_fixture_fini(&f);
}

static void the_new_epoch_is_behind_all_accepted_ones(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, E1 + 5, 1);
    connect(&f, 11, 1, 6);
    assert_did(&f, "SAVE_EPOCH accepted 7\n");
    quorum_fixture_fini(&f);
}

static void observers_and_strangers_never_count(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    observer_connects(&f, 14, 4);
    assert_did(&f, "");
    connect(&f, 15, 5, 0); /* an observer of the list that runs as a participant */
    assert_did(&f, "");
    connect(&f, 19, 9, 0); /* in no list */
    assert_did(&f, "");
    fixture_link(&f, QUORUM_IN_LINK_UP, 12);
    fixture_info(&f, 12, PACKET_OBSERVER_INFO, 0, 2); /* a voter of the list that observes */
    assert_did(&f, "");
    connect(&f, 11, 1, 0);
    assert_did(&f, "SAVE_EPOCH accepted 1\n");
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(&f, 14, 0, 0);
    fixture_ack_epoch(&f, 15, 0, 0);
    fixture_ack_epoch(&f, 19, 0, 0);
    fixture_ack_epoch(&f, 12, 0, 0);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void a_promise_given_before_does_not_count(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    connect(&f, 11, 1, 0);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(&f, 11, 0, -1);
    assert_did(&f, "");
    connect(&f, 12, 2, 0);
    fixture_ack_epoch(&f, 12, 0, 0); /* and then all are synchronised */
    assert_did(&f, "SAVE_EPOCH current 1\n"
                   "SEND link 11 DIFF 0x0\n"
                   "SEND link 11 NEWLEADER 0x100000000\n"
                   "SEND link 12 DIFF 0x0\n"
                   "SEND link 12 NEWLEADER 0x100000000\n");
    quorum_fixture_fini(&f);
}

static void a_follower_that_is_ahead_is_closed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, E1 + 5, 1);
    connect(&f, 11, 1, 1);
    fixture_saved(&f, EPOCH_ACCEPTED, 2);
    fixture_ack_epoch(&f, 11, E1 + 6, 1);
    assert_did(&f, "CLOSE link 11: is ahead of this leader\n");
    connect(&f, 12, 1, 1);
    fixture_ack_epoch(&f, 12, 3, 2); /* by its epoch */
    assert_did(&f, "CLOSE link 12: is ahead of this leader\n");
    connect(&f, 13, 1, 1);
    fixture_ack_epoch(&f, 13, E1 + 5, 1);
    assert_did(&f, "SAVE_EPOCH current 2\n"
                   "SEND link 13 DIFF 0x100000005\n"
                   "SEND link 13 NEWLEADER 0x200000000\n");
    quorum_fixture_fini(&f);
}

static void who_has_accepted_a_later_epoch_makes_us_start_over(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    connect(&f, 12, 2, 4);
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 11: no longer leading\n"
                   "CLOSE link 12: no longer leading\n"
                   "STOP: a voter has accepted a later epoch\n");
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    quorum_fixture_elect_self(&f);
    connect(&f, 21, 1, 1);
    assert_did(&f, "SAVE_EPOCH accepted 5\n"); /* it is remembered */
    quorum_fixture_fini(&f);
}

/* Anybody can claim it: one by one, a leader would be deposed for ever. */
static void a_later_epoch_makes_us_start_over_once_in_a_while(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    connect(&f, 12, 2, 4);
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    active_again(&f, 5);
    connect(&f, 22, 2, 7);
    assert_did(&f, "CLOSE link 22: has accepted a later epoch, and has to wait\n");
    fixture_keep_up(&f, 21, INIT_LIMIT);
    connect(&f, 23, 2, 8);
    assert_true(did(&f, "STOP: a voter has accepted a later epoch\n"));
    fixture_zxid(&f, QUORUM_IN_STOPPED, 0);
    active_again(&f, 9);
    fixture_keep_up(&f, 21, INIT_LIMIT);
    connect(&f, 24, 2, 10); /* twice as long */
    assert_did(&f, "CLOSE link 24: has accepted a later epoch, and has to wait\n");
    fixture_keep_up(&f, 21, INIT_LIMIT);
    connect(&f, 25, 2, 10);
    assert_true(did(&f, "STOP: a voter has accepted a later epoch\n"));
    quorum_fixture_fini(&f);
}

static void a_member_that_connects_again_has_one_link(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    connect(&f, 11, 1, 0);
    connect(&f, 12, 1, 0);
    assert_did(&f, "CLOSE link 11: the same member has connected again\n");
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    assert_did(&f, "SEND link 12 LEADERINFO 0x100000000\n");
    quorum_fixture_fini(&f);
}

/* Whoever reaches the port could otherwise take the place of a member that is sound. */
static void who_is_served_keeps_its_place(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    connect(&f, 12, 1, 1);
    assert_did(&f, "SEND link 11 PING 0x100000000\n"
                   "CLOSE link 12: has the id of a member that is here\n");
    observer_connects(&f, 13, 1);
    assert_did(&f, "SEND link 11 PING 0x100000000\n"
                   "CLOSE link 13: has the id of a member that is here\n");
    connect(&f, 14, 1, 4); /* nor is its epoch believed */
    assert_did(&f, "SEND link 11 PING 0x100000000\n"
                   "CLOSE link 14: has the id of a member that is here\n");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 11);
    connect(&f, 15, 1, 1);
    assert_did(&f, "SEND link 15 LEADERINFO 0x100000000\n");
    quorum_fixture_fini(&f);
}

/* Its file is damaged, or it is no member; if it counted, few more would be left. */
static void an_epoch_that_cannot_be_is_refused(void **state)
{
    static const int64_t claimed[] = {EPOCH_LEAP_MAX + 1, INT32_MAX, INT32_MAX - 1};
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    for (size_t i = 0; i < 3; i++) {
        connect(&f, 11 + i, 1, claimed[i]);
        assert_true(did(&f, "has accepted an epoch that cannot be\n"));
    }
    connect(&f, 17, 1, 0x80000000); /* as zxids these are negative */
    assert_did(&f, "CLOSE link 17: expected who it is\n");
    connect(&f, 18, 1, 0xffffffff);
    assert_did(&f, "CLOSE link 18: expected who it is\n");
    connect(&f, 19, 1, 0);
    assert_did(&f, "SAVE_EPOCH accepted 1\n");
    quorum_fixture_fini(&f);
}

static void a_leap_does_not_depose_a_leader(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    connect(&f, 12, 2, EPOCH_LEAP_MAX + 2);
    assert_did(&f, "CLOSE link 12: has accepted an epoch that cannot be\n");
    connect(&f, 13, 2, EPOCH_LEAP_MAX + 1); /* as far as it may be */
    assert_true(did(&f, "STOP: a voter has accepted a later epoch\n"));
    quorum_fixture_fini(&f);
}

static void ids_and_roles_that_are_not_configured_disturb_nobody(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    connect(&f, 12, 9, 70); /* in no list: it sees itself that this epoch is over for it */
    assert_did(&f, "SEND link 12 LEADERINFO 0x100000000\n");
    connect(&f, 13, 4, 70); /* an observer that runs as a follower */
    assert_did(&f, "SEND link 13 LEADERINFO 0x100000000\n");
    fixture_link(&f, QUORUM_IN_LINK_UP, 14);
    fixture_info(&f, 14, PACKET_OBSERVER_INFO, 70, 2); /* a voter that runs as an observer */
    assert_did(&f, "SEND link 14 LEADERINFO 0x100000000\n");
    fixture_propose(&f, E1 + 1);
    assert_did(&f, "APPEND 0x100000001 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x100000001 7 bytes\n");
    quorum_fixture_fini(&f);
}

static void a_newer_configuration_is_refused(void **state)
{
    struct quorum_fixture f;
    uint8_t data[20] = {0};

    (void)state;
    elected(&f, 0, 0);
    fixture_link(&f, QUORUM_IN_LINK_UP, 11);
    data[7] = 1;
    data[9] = 1;
    data[19] = 1;
    fixture_packet(&f, 11, PACKET_FOLLOWER_INFO, 0, bytes_of(data, sizeof data));
    assert_did(&f, "CLOSE link 11: has a newer configuration\n");
    quorum_fixture_fini(&f);
}

static void what_comes_out_of_turn_ends_the_link(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_link(&f, QUORUM_IN_LINK_UP, 11);
    ack(&f, 11, 1);
    assert_did(&f, "CLOSE link 11: expected who it is\n");
    connect(&f, 12, 2, 0);
    ack(&f, 12, 1); /* before LEADERINFO */
    assert_did(&f, "CLOSE link 12: speaks out of turn\n");
    connect(&f, 13, 1, 0);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    ack(&f, 13, 1);
    assert_did(&f, "CLOSE link 13: expected its promise for the epoch\n");
    connect(&f, 14, 1, 0);
    fixture_ack_epoch(&f, 14, 0, 0);
    fixture_packet(&f, 14, PACKET_REQUEST, -1, BYTES_NULL);
    assert_did(&f, "CLOSE link 14: expected its ack of NEWLEADER\n");
    quorum_fixture_fini(&f);
}

static void an_early_ack_of_a_proposal_is_not_that_of_newleader(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    connect(&f, 11, 1, 0);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(&f, 11, 0, 0);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    ack(&f, 11, 0x0000000a);
    assert_did(&f, "");
    ack(&f, 11, E1);
    assert_did(&f, "LEAD epoch 1\n"
                   "SEND link 11 UPTODATE -1\n");
    quorum_fixture_fini(&f);
}

/* --- broadcast --- */

static void a_write_step_by_step(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_propose(&f, E1 + 1);
    assert_did(&f, "APPEND 0x100000001 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x100000001 7 bytes\n");
    ack(&f, 11, E1 + 1); /* we do not have it on disk ourselves (P4) */
    assert_did(&f, "");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n"
                   "COMMIT 0x100000001\n");
    quorum_fixture_fini(&f);
}

static void others_may_be_a_quorum_before_our_disk(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    join(&f, 12, 2, 0);
    fixture_propose(&f, E1 + 1);
    ack(&f, 11, E1 + 1);
    assert_did(&f, "");
    ack(&f, 12, E1 + 1);
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n"
                   "SEND link 12 COMMIT 0x100000001\n"
                   "COMMIT 0x100000001\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void commits_are_in_order_and_an_ack_is_for_all_before_it(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_propose(&f, E1 + 1);
    fixture_propose(&f, E1 + 2);
    fixture_propose(&f, E1 + 3);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 3);
    assert_did(&f, "");
    ack(&f, 11, E1 + 2);
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n"
                   "SEND link 11 COMMIT 0x100000002\n"
                   "COMMIT 0x100000002\n");
    ack(&f, 11, E1 + 2);
    assert_did(&f, "");
    ack(&f, 11, E1 + 3);
    assert_did(&f, "SEND link 11 COMMIT 0x100000003\n"
                   "COMMIT 0x100000003\n");
    quorum_fixture_fini(&f);
}

static void observers_are_informed_and_strangers_do_not_count(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    observer_connects(&f, 14, 4);
    fixture_ack_epoch(&f, 14, E1, 0);
    assert_did(&f, "SEND link 14 DIFF 0x100000000\n"
                   "SEND link 14 NEWLEADER 0x100000000\n");
    ack(&f, 14, E1);
    join(&f, 19, 9, E1);
    fixture_propose(&f, E1 + 1);
    assert_did(&f, "APPEND 0x100000001 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x100000001 7 bytes\n"
                   "SEND link 19 PROPOSAL 0x100000001 7 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    ack(&f, 19, E1 + 1);
    assert_did(&f, "");
    ack(&f, 14, E1 + 1); /* it was not even sent to it */
    assert_did(&f, "CLOSE link 14: acks what it was not sent\n"
                   "LINK_GONE link 14 m4\n");
    observer_connects(&f, 24, 4);
    fixture_ack_epoch(&f, 24, E1, -1);
    ack(&f, 24, E1);
    ack(&f, 11, E1 + 1);
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n"
                   "SEND link 19 COMMIT 0x100000001\n"
                   "SEND link 24 INFORM 0x100000001 7 bytes\n"
                   "COMMIT 0x100000001\n");
    quorum_fixture_fini(&f);
}

/* As if four thousand million writes had been made. */
static void use_up(struct quorum *q, int64_t last)
{
    history_fini(&q->history);
    history_begin(&q->history, last);
    recent_clear(&q->recent);
    q->durable = last;
    q->committed = last;
}

static void an_epoch_ends_before_its_last_zxid(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    use_up(f.quorum, E1 + 0xfffffffd);
    fixture_propose(&f, E1 + 0xfffffffe);
    assert_did(&f, "APPEND 0x1fffffffe 7 bytes\n"
                   "SEND link 11 PROPOSAL 0x1fffffffe 7 bytes\n");
    fixture_propose(&f, E1 + 0xffffffff);
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 11: no longer leading\n"
                   "STOP: the zxids of this epoch are used up\n");
    fixture_propose(&f, E1 + 0x100000000); /* made in the same turn: nobody gets it */
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

static void what_others_ask_is_handed_up(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_packet(&f, 11, PACKET_REQUEST, -1, bytes_str("0123456789abcdef"));
    assert_did(&f, "RECEIVED link 11 m1 REQUEST -1 16 bytes\n");
    fixture_packet(&f, 11, PACKET_REVALIDATE, -1, bytes_str("0123456789ab"));
    assert_did(&f, "RECEIVED link 11 m1 REVALIDATE -1 12 bytes\n");
    fixture_packet(&f, 11, 77, -1, BYTES_NULL);
    assert_did(&f, "");
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 11);
    assert_did(&f, "LINK_GONE link 11 m1\n");
    quorum_fixture_fini(&f);
}

static void an_answer_goes_to_who_asked_if_it_is_still_there(void **state)
{
    struct quorum_fixture f;
    struct packet answer = {.type = PACKET_REVALIDATE, .zxid = -1, .data = bytes_str("012345678")};

    (void)state;
    active(&f);
    fixture_step(&f,
                 &(struct quorum_input){.kind = QUORUM_IN_ANSWER, .link = 11, .packet = &answer});
    assert_did(&f, "SEND link 11 REVALIDATE -1 9 bytes\n");
    fixture_step(&f,
                 &(struct quorum_input){.kind = QUORUM_IN_ANSWER, .link = 99, .packet = &answer});
    assert_did(&f, "");
    quorum_fixture_fini(&f);
}

/* --- time --- */

static void pong(struct quorum_fixture *f, link_id link, int64_t zxid)
{
    fixture_packet(f, link, PACKET_PING, zxid, bytes_of("", 0));
}

static void learners_are_pinged_every_half_tick(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    assert_int_equal(quorum_next_us(f.quorum), f.now_us + TICK_US / 2);
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "SEND link 11 PING 0x100000000\n");
    pong(&f, 11, E1);
    assert_did(&f, "RECEIVED link 11 m1 PING 0x100000000 0 bytes\n");
    pong(&f, 11, E1);
    assert_did(&f, "CLOSE link 11: answers what was not asked\n"
                   "LINK_GONE link 11 m1\n");
    quorum_fixture_fini(&f);
}

static void who_is_silent_for_sync_limit_is_closed_and_without_a_quorum_we_stop(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    join(&f, 12, 2, 0);
    for (int i = 0; i < 2 * SYNC_LIMIT; i++) {
        fixture_wait(&f, TICK_US / 2);
        assert_did(&f, "SEND link 11 PING 0x100000000\n"
                       "SEND link 12 PING 0x100000000\n");
        pong(&f, 12, E1);
    }
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "CLOSE link 11: silent for syncLimit\n"
                   "LINK_GONE link 11 m1\n"
                   "SEND link 12 PING 0x100000000\n");
    fixture_wait(&f, SYNC_LIMIT * TICK_US);
    assert_did(&f, "CLOSE link 12: silent for syncLimit\n"
                   "LINK_GONE link 12 m2\n"
                   "UNLISTEN\n"
                   "STOP: not enough learners are left\n");
    quorum_fixture_fini(&f);
}

static void who_answers_pings_but_acks_nothing_is_closed(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    join(&f, 12, 2, 0);
    fixture_propose(&f, E1 + 1);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    ack(&f, 12, E1 + 1);
    for (int i = 0; i < 2 * SYNC_LIMIT; i++) {
        fixture_wait(&f, TICK_US / 2);
        pong(&f, 11, E1 + 1);
        pong(&f, 12, E1 + 1);
    }
    fixture_wait(&f, TICK_US / 2);
    assert_did(&f, "CLOSE link 11: has not acked a proposal for syncLimit\n"
                   "LINK_GONE link 11 m1\n"
                   "SEND link 12 PING 0x100000001\n");
    quorum_fixture_fini(&f);
}

static void each_phase_has_its_limit(void **state)
{
    struct quorum_fixture f;

    (void)state;
    elected(&f, 0, 0);
    fixture_wait(&f, INIT_LIMIT * TICK_US);
    assert_did(&f, "UNLISTEN\n"
                   "STOP: no quorum has connected within initLimit\n");
    quorum_fixture_fini(&f);

    elected(&f, 0, 0);
    connect(&f, 11, 1, 0);
    fixture_wait(&f, 3 * INIT_LIMIT * TICK_US); /* our own disk may take its time */
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_wait(&f, INIT_LIMIT * TICK_US);
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 11: no longer leading\n"
                   "STOP: no quorum has accepted the epoch within initLimit\n");
    quorum_fixture_fini(&f);

    elected(&f, 0, 0);
    connect(&f, 11, 1, 0);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(&f, 11, 0, 0);
    fixture_wait(&f, INIT_LIMIT * TICK_US);
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 11: no longer leading\n"
                   "STOP: no quorum was synchronised within initLimit\n");
    quorum_fixture_fini(&f);
}

static void after_stop_nothing_happens_until_stopped(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    fixture_propose(&f, E1 + 1);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
    assert_did(&f, "UNLISTEN\n"
                   "CLOSE link 11: no longer leading\n"
                   "STOP: asked to\n");
    ack(&f, 11, E1 + 1);
    assert_int_equal(f.effects.count, 0);
    fixture_link(&f, QUORUM_IN_LINK_UP, 31);
    assert_did(&f, "CLOSE link 31: not wanted any more\n");
    fixture_wait(&f, 100 * TICK_US);
    assert_int_equal(f.effects.count, 0); /* no vote either */
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 1);
    assert_int_equal(f.effects.count, 2); /* a vote to each of the others */
    assert_int_equal(f.effects.items[0].kind, QUORUM_DO_NOTIFY);
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_epoch_step_by_step),
        cmocka_unit_test(a_single_voter_leads_alone),
        cmocka_unit_test(the_new_epoch_is_behind_all_accepted_ones),
        cmocka_unit_test(observers_and_strangers_never_count),
        cmocka_unit_test(a_promise_given_before_does_not_count),
        cmocka_unit_test(a_follower_that_is_ahead_is_closed),
        cmocka_unit_test(who_has_accepted_a_later_epoch_makes_us_start_over),
        cmocka_unit_test(a_later_epoch_makes_us_start_over_once_in_a_while),
        cmocka_unit_test(a_member_that_connects_again_has_one_link),
        cmocka_unit_test(who_is_served_keeps_its_place),
        cmocka_unit_test(an_epoch_that_cannot_be_is_refused),
        cmocka_unit_test(a_leap_does_not_depose_a_leader),
        cmocka_unit_test(ids_and_roles_that_are_not_configured_disturb_nobody),
        cmocka_unit_test(a_newer_configuration_is_refused),
        cmocka_unit_test(what_comes_out_of_turn_ends_the_link),
        cmocka_unit_test(an_early_ack_of_a_proposal_is_not_that_of_newleader),
        cmocka_unit_test(a_write_step_by_step),
        cmocka_unit_test(others_may_be_a_quorum_before_our_disk),
        cmocka_unit_test(commits_are_in_order_and_an_ack_is_for_all_before_it),
        cmocka_unit_test(observers_are_informed_and_strangers_do_not_count),
        cmocka_unit_test(an_epoch_ends_before_its_last_zxid),
        cmocka_unit_test(what_others_ask_is_handed_up),
        cmocka_unit_test(an_answer_goes_to_who_asked_if_it_is_still_there),
        cmocka_unit_test(learners_are_pinged_every_half_tick),
        cmocka_unit_test(who_is_silent_for_sync_limit_is_closed_and_without_a_quorum_we_stop),
        cmocka_unit_test(who_answers_pings_but_acks_nothing_is_closed),
        cmocka_unit_test(each_phase_has_its_limit),
        cmocka_unit_test(after_stop_nothing_happens_until_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
