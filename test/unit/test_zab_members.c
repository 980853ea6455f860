/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quorum_fixture.h"
#include "lib/test.h"
#include "quorum/zab.h"

#define E1 INT64_C(0x100000000)

/* Lists as proposals: their text is the payload. */
#define SERVER(n) "server." #n "=127.0.0.1:2222" #n ":2223" #n ":participant\n"
#define LIST(...) bytes_str(__VA_ARGS__)

static bool list_of(struct bytes payload, struct bytes *text)
{
    *text = payload;
    return bytes_starts_with(payload, "server.") || bytes_starts_with(payload, "broken");
}

static void ack(struct quorum_fixture *f, link_id link, int64_t zxid)
{
    fixture_packet(f, link, PACKET_ACK, zxid, BYTES_NULL);
}

static void config_saved(struct quorum_fixture *f)
{
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_CONFIG_SAVED});
}

static void propose(struct quorum_fixture *f, int64_t zxid, struct bytes payload)
{
    fixture_step(f,
                 &(struct quorum_input){.kind = QUORUM_IN_PROPOSE, .zxid = zxid, .bytes = payload});
}

static void join(struct quorum_fixture *f, link_id link, int64_t sid)
{
    fixture_link(f, QUORUM_IN_LINK_UP, link);
    fixture_info(f, link, PACKET_FOLLOWER_INFO, 0, sid);
}

/* Member 3 of three is elected, and member 1 has promised its epoch. */
static void uniting(struct quorum_fixture *f)
{
    quorum_fixture_init(f, 3, 3, 0);
    f->options.config_of = list_of;
    quorum_fixture_start(f, 0, 0, NULL);
    quorum_fixture_elect_self(f);
    join(f, 11, 1);
    fixture_saved(f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(f, 11, 0, 0);
}

/* It leads, 1 and 4 follow, which is in no list. */
static void active(struct quorum_fixture *f)
{
    uniting(f);
    fixture_saved(f, EPOCH_CURRENT, 1);
    config_saved(f);
    ack(f, 11, E1);
    join(f, 14, 4);
    fixture_ack_epoch(f, 14, 0, 0);
    ack(f, 14, E1);
    assert_int_equal(quorum_status(f->quorum).n_synced_non_voting, 1);
}

static void a_first_leader_gives_its_list_a_version(void **state)
{
    struct quorum_fixture f;

    (void)state;
    uniting(&f);
    assert_did(&f, "SAVE_CONFIG 0x100000000: 1 2 3\n"
                   "SAVE_EPOCH current 1\n"
                   "SEND link 11 DIFF 0x0\n"
                   "SEND link 11 NEWLEADER 0x100000000\n");
    ack(&f, 11, E1);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    assert_did(&f, ""); /* P10: the list is not on disk */
    config_saved(&f);
    assert_did(&f, "ACTIVATE 0x100000000: 1 2 3\n"
                   "LEAD epoch 1\n"
                   "SEND link 11 UPTODATE -1\n");
    assert_int_equal(quorum_active_config(f.quorum)->version, E1);
    assert_false(quorum_is_changing(f.quorum));
    quorum_fixture_fini(&f);
}

static void a_list_that_does_not_change_has_none(void **state)
{
    struct quorum_fixture f;

    (void)state;
    quorum_fixture_init(&f, 3, 3, 0);
    quorum_fixture_start(&f, 0, 0, NULL);
    quorum_fixture_elect_self(&f);
    join(&f, 11, 1);
    fixture_saved(&f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(&f, 11, 0, 0);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    ack(&f, 11, E1);
    propose(&f, E1 + 1, LIST(SERVER(3) "version=100000001")); /* only a transaction here */
    assert_did(&f, "APPEND 0x100000001 60 bytes\n"
                   "SEND link 11 PROPOSAL 0x100000001 60 bytes\n");
    assert_int_equal(quorum_active_config(f.quorum)->version, 0);
    quorum_fixture_fini(&f);
}

static void both_lists_have_to_have_it(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    propose(&f, E1 + 1, bytes_str("before"));
    propose(&f, E1 + 2, LIST(SERVER(3) SERVER(4) "version=100000002"));
    assert_true(quorum_is_changing(f.quorum));
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 2);
    ack(&f, 11, E1 + 1);
    assert_did(&f, "SEND link 11 COMMIT 0x100000001\n" /* the new one is not asked for it */
                   "SEND link 14 COMMIT 0x100000001\n"
                   "COMMIT 0x100000001\n");
    config_saved(&f);
    ack(&f, 11, E1 + 2);
    assert_did(&f, ""); /* a quorum of the old one */
    ack(&f, 14, E1 + 2);
    assert_did(&f, "SEND link 11 COMMITANDACTIVATE 0x100000002 8 bytes\n"
                   "SEND link 14 COMMITANDACTIVATE 0x100000002 8 bytes\n"
                   "COMMIT 0x100000002\n"
                   "ACTIVATE 0x100000002: 3 4\n");
    propose(&f, E1 + 3, bytes_str("behind"));
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 3);
    ack(&f, 11, E1 + 3);
    assert_did(&f, ""); /* it has no vote any more */
    ack(&f, 14, E1 + 3);
    assert_int_equal(quorum_status(f.quorum).committed_zxid, E1 + 3);
    quorum_fixture_fini(&f);
}

/* P10, the leader's own: it counts when both are on disk. */
static void a_list_in_the_log_alone_is_not_enough(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    propose(&f, E1 + 1, LIST(SERVER(3) "version=100000001"));
    ack(&f, 11, E1 + 1);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    assert_did(&f, "");
    config_saved(&f);
    assert_int_equal(quorum_status(f.quorum).committed_zxid, E1 + 1);
    quorum_fixture_fini(&f);
}

static void who_leads_without_a_seat_names_another(void **state)
{
    struct quorum_fixture f;

    (void)state;
    active(&f);
    propose(&f, E1 + 1, LIST(SERVER(1) SERVER(4) "version=100000001"));
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    config_saved(&f);
    ack(&f, 11, E1 + 1);
    ack(&f, 14, E1 + 1);
    assert_true(strstr(strbuf_cstr(&f.got), "COMMITANDACTIVATE 0x100000001 8 bytes") != NULL);
    assert_true(strstr(strbuf_cstr(&f.got), "STOP: ") != NULL);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 1);
    assert_did(&f, "DIAL m1\n"); /* the first of those that have most */
    assert_int_equal(quorum_status(f.quorum).role, MEMBER_FOLLOWING);
    quorum_fixture_fini(&f);
}

static void it_can_be_asked_whether_a_list_could_be_committed(void **state)
{
    struct quorum_config next;
    struct quorum_fixture f;
    struct strbuf why;

    (void)state;
    active(&f);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_true(quorum_config_read(&next, LIST(SERVER(1) SERVER(4) SERVER(5) "version=0"), &why));
    assert_true(quorum_could_commit(f.quorum, &next));
    quorum_config_fini(&next);
    assert_true(quorum_config_read(&next, LIST(SERVER(4) SERVER(5) "version=0"), &why));
    assert_false(quorum_could_commit(f.quorum, &next));
    quorum_config_fini(&next);
    strbuf_fini(&why);
    quorum_fixture_fini(&f);
}

/* --- learners --- */

enum { LEADER = 7 };

/* Member 1 of three follows 2, which leads epoch 1, up to its NEWLEADER with this list. */
static void receiving(struct quorum_fixture *f, struct bytes list)
{
    quorum_fixture_init(f, 1, 3, 0);
    f->options.config_of = list_of;
    quorum_fixture_start(f, 0, 0, NULL);
    quorum_fixture_elect(f, 2);
    fixture_dialled(f, LEADER, 2);
    fixture_packet(f, LEADER, PACKET_LEADER_INFO, E1, BYTES_NULL);
    fixture_saved(f, EPOCH_ACCEPTED, 1);
    fixture_packet(f, LEADER, PACKET_DIFF, 0, BYTES_NULL);
    fixture_packet(f, LEADER, PACKET_NEW_LEADER, E1, list);
}

static void serving(struct quorum_fixture *f)
{
    receiving(f, LIST(SERVER(1) SERVER(2) SERVER(3) "version=100000000"));
    config_saved(f);
    fixture_saved(f, EPOCH_CURRENT, 1);
    fixture_packet(f, LEADER, PACKET_UP_TO_DATE, -1, BYTES_NULL);
}

static void activate(struct quorum_fixture *f, int64_t zxid, int64_t leader)
{
    uint8_t bytes[8];

    store_u64(bytes, (uint64_t)leader);
    fixture_packet(f, LEADER, PACKET_COMMIT_AND_ACTIVATE, zxid, bytes_of(bytes, sizeof bytes));
}

static void the_list_of_a_leader_is_saved_and_then_taken(void **state)
{
    struct quorum_fixture f;

    (void)state;
    receiving(&f, LIST(SERVER(1) SERVER(2) SERVER(3) "version=100000000"));
    assert_did(&f, "SAVE_CONFIG 0x100000000: 1 2 3\n");
    config_saved(&f);
    assert_did(&f, "SAVE_EPOCH current 1\n");
    fixture_saved(&f, EPOCH_CURRENT, 1);
    assert_did(&f, "SEND link 7 ACK 0x100000000\n");
    fixture_packet(&f, LEADER, PACKET_UP_TO_DATE, -1, BYTES_NULL);
    assert_did(&f, "ACTIVATE 0x100000000: 1 2 3\n"
                   "SERVE following m2 epoch 1\n"
                   "SEND link 7 ACK 0x100000000\n");
    quorum_fixture_fini(&f);
}

static void a_list_that_cannot_be_read_ends_the_role(void **state)
{
    struct quorum_fixture f;

    (void)state;
    receiving(&f, bytes_str("no list"));
    assert_true(strstr(strbuf_cstr(&f.got), "STOP: NEWLEADER with a list") != NULL);
    quorum_fixture_fini(&f);
    serving(&f);
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E1 + 1, bytes_str("broken"));
    assert_true(strstr(strbuf_cstr(&f.got), "STOP: a new list of members that") != NULL);
    quorum_fixture_fini(&f);
}

static void a_proposed_list_is_acked_when_it_is_saved(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E1 + 1, bytes_str("before"));
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E1 + 2,
                   LIST(SERVER(1) SERVER(2) "version=100000002"));
    assert_did(&f, "SAVE_CONFIG 0x100000002: 1 2\n"
                   "APPEND 0x100000002 103 bytes\n");
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 2);
    assert_did(&f, "SEND link 7 ACK 0x100000001\n");
    config_saved(&f);
    assert_did(&f, "SEND link 7 ACK 0x100000002\n");
    fixture_packet(&f, LEADER, PACKET_COMMIT, E1 + 1, BYTES_NULL);
    activate(&f, E1 + 2, 2);
    assert_did(&f, "COMMIT 0x100000002\n"
                   "ACTIVATE 0x100000002: 1 2\n");
    quorum_fixture_fini(&f);
}

static void the_designated_one_is_followed_without_an_election(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E1 + 1,
                   LIST(SERVER(1) SERVER(3) "version=100000001"));
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    config_saved(&f);
    activate(&f, E1 + 1, 3);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 1);
    assert_did(&f, "DIAL m3\n");
    assert_int_equal(quorum_status(f.quorum).leader, 3);
    quorum_fixture_fini(&f);
}

static void who_is_designated_leads(void **state)
{
    struct quorum_fixture f;

    (void)state;
    serving(&f);
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E1 + 1, LIST(SERVER(1) "version=100000001"));
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    config_saved(&f);
    activate(&f, E1 + 1, 1);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E1 + 1);
    assert_did(&f, "LISTEN\n"
                   "SAVE_EPOCH accepted 2\n");
    assert_int_equal(quorum_status(f.quorum).role, MEMBER_LEADING);
    quorum_fixture_fini(&f);
}

static void tell_list(struct quorum_fixture *f, int64_t from, struct bytes list)
{
    struct notification n = {.state = MEMBER_LOOKING,
                             .leader = from,
                             .election_epoch = 1,
                             .version = NOTIFICATION_VERSION,
                             .config = list};
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    notification_write(&b, &n);
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_NOTIFICATION,
                                           .sid = from,
                                           .bytes = bytes_of(b.data + 4, b.len - 4)});
    strbuf_fini(&b);
}

/* Two changes are in its history, and neither was active here. Somebody says that the first is. */
static void of_two_lists_only_the_one_that_is_told_becomes_active(void **state)
{
    struct quorum_config next;
    struct quorum_fixture f;
    struct strbuf why;

    (void)state;
    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_true(quorum_config_read(&next, LIST(SERVER(1) "version=100000009"), &why));
    quorum_fixture_init(&f, 1, 3, 0);
    f.options.config_of = list_of;
    f.quorum = quorum_new(&f.options);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                            .zxid = E1 + 9,
                                            .accepted_epoch = 1,
                                            .current_epoch = 1,
                                            .next = &next,
                                            .next_is_saved = true});
    tell_list(&f, 2, LIST(SERVER(1) SERVER(2) "version=100000005"));
    assert_did(&f, "ACTIVATE 0x100000005: 1 2\n"
                   "SAVE_CONFIG 0x100000009: 1\n");
    assert_true(quorum_is_changing(f.quorum));
    tell_list(&f, 2, LIST(SERVER(1) SERVER(2) "version=100000004")); /* older: nothing */
    assert_int_equal(quorum_active_config(f.quorum)->version, E1 + 5);
    quorum_config_fini(&next);
    strbuf_fini(&why);
    quorum_fixture_fini(&f);
}

/* Apache's leader sends what it has proposed since NEWLEADER ahead of UPTODATE. */
static void what_is_proposed_before_the_end_is_not_taken_with_it(void **state)
{
    struct quorum_fixture f;

    (void)state;
    receiving(&f, LIST(SERVER(1) SERVER(2) SERVER(3) "version=100000000"));
    config_saved(&f);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    fixture_packet(&f, LEADER, PACKET_PROPOSAL, E1 + 1, LIST(SERVER(1) "version=100000001"));
    fixture_packet(&f, LEADER, PACKET_UP_TO_DATE, -1, BYTES_NULL);
    assert_did(&f, "SERVE following m2 epoch 1\n"
                   "SEND link 7 ACK 0x100000000\n");
    assert_true(quorum_is_changing(f.quorum));
    quorum_fixture_fini(&f);
}

/* Its record was lost with the power, its file was not: nobody has been told of it. */
static void a_list_that_the_log_does_not_have_is_forgotten(void **state)
{
    struct quorum_config next;
    struct quorum_fixture f;
    struct strbuf why;

    (void)state;
    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_true(quorum_config_read(&next, LIST(SERVER(1) "version=100000005"), &why));
    quorum_fixture_init(&f, 1, 3, 0);
    f.options.config_of = list_of;
    f.quorum = quorum_new(&f.options);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                            .zxid = E1 + 4,
                                            .accepted_epoch = 1,
                                            .current_epoch = 1,
                                            .next = &next,
                                            .next_is_saved = true});
    assert_did(&f, "SAVE_CONFIG none\n");
    assert_false(quorum_is_changing(f.quorum));
    quorum_config_fini(&next);
    strbuf_fini(&why);
    quorum_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_leader_gives_its_list_a_version),
        cmocka_unit_test(a_list_that_does_not_change_has_none),
        cmocka_unit_test(both_lists_have_to_have_it),
        cmocka_unit_test(a_list_in_the_log_alone_is_not_enough),
        cmocka_unit_test(who_leads_without_a_seat_names_another),
        cmocka_unit_test(it_can_be_asked_whether_a_list_could_be_committed),
        cmocka_unit_test(the_list_of_a_leader_is_saved_and_then_taken),
        cmocka_unit_test(a_list_that_cannot_be_read_ends_the_role),
        cmocka_unit_test(a_proposed_list_is_acked_when_it_is_saved),
        cmocka_unit_test(the_designated_one_is_followed_without_an_election),
        cmocka_unit_test(who_is_designated_leads),
        cmocka_unit_test(a_list_that_the_log_does_not_have_is_forgotten),
        cmocka_unit_test(of_two_lists_only_the_one_that_is_told_becomes_active),
        cmocka_unit_test(what_is_proposed_before_the_end_is_not_taken_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
