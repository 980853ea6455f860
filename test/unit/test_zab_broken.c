/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule that quorum/ keeps, broken on purpose (base/broken.h): what the rule forbids is seen
 * then, and never otherwise. */
#include "base/broken.h"

#include "lib/quorum_fixture.h"
#include "lib/test.h"

#define E1 INT64_C(0x100000000)
#define E2 INT64_C(0x200000000)

static bool did(const struct quorum_fixture *f, enum quorum_effect_kind kind, int32_t type)
{
    for (size_t i = 0; i < f->effects.count; i++) {
        if (f->effects.items[i].kind == kind && f->effects.items[i].packet.type == type) {
            return true;
        }
    }
    return false;
}

static void leader_packet(struct quorum_fixture *f, int32_t type, int64_t zxid)
{
    fixture_packet(f, 7, type, zxid, type == PACKET_PROPOSAL ? bytes_str("payload") : BYTES_NULL);
}

/* Member 1 follows 2, at 1:5, and has been told epoch 2. */
static void invited(struct quorum_fixture *f)
{
    quorum_fixture_init(f, 1, 3, 0);
    quorum_fixture_start(f, E1 + 5, 1, NULL);
    quorum_fixture_elect(f, 2);
    fixture_dialled(f, 7, 2);
    leader_packet(f, PACKET_LEADER_INFO, E2);
}

static void following(struct quorum_fixture *f)
{
    invited(f);
    fixture_saved(f, EPOCH_ACCEPTED, 2);
    leader_packet(f, PACKET_DIFF, E1 + 5);
    leader_packet(f, PACKET_NEW_LEADER, E2);
    fixture_saved(f, EPOCH_CURRENT, 2);
    leader_packet(f, PACKET_UP_TO_DATE, -1);
}

/* Member 5 of five leads; `n` others are connected, on links 11, 12, ... */
static void elected(struct quorum_fixture *f, int n)
{
    quorum_fixture_init(f, 5, 5, 0);
    quorum_fixture_start(f, 0, 0, NULL);
    quorum_fixture_elect_self(f);
    for (int i = 1; i <= n; i++) {
        fixture_link(f, QUORUM_IN_LINK_UP, (link_id)(10 + i));
        fixture_info(f, (link_id)(10 + i), PACKET_FOLLOWER_INFO, 0, i);
    }
}

static void uniting(struct quorum_fixture *f)
{
    elected(f, 2);
    fixture_saved(f, EPOCH_ACCEPTED, 1);
    fixture_ack_epoch(f, 11, 0, 0);
    fixture_ack_epoch(f, 12, 0, 0);
}

static void leading(struct quorum_fixture *f)
{
    uniting(f);
    fixture_saved(f, EPOCH_CURRENT, 1);
    fixture_packet(f, 11, PACKET_ACK, E1, BYTES_NULL);
    fixture_packet(f, 12, PACKET_ACK, E1, BYTES_NULL);
}

static bool promises_before_it_is_saved(void)
{
    struct quorum_fixture f;
    bool seen;

    invited(&f);
    seen = did(&f, QUORUM_DO_SEND, PACKET_ACK_EPOCH);
    quorum_fixture_fini(&f);
    elected(&f, 2);
    assert_int_equal(did(&f, QUORUM_DO_SEND, PACKET_LEADER_INFO), seen);
    quorum_fixture_fini(&f);
    return seen;
}

static bool takes_the_epoch_before_its_history_is_on_disk(void)
{
    struct quorum_fixture f;
    bool seen;

    invited(&f);
    fixture_saved(&f, EPOCH_ACCEPTED, 2);
    leader_packet(&f, PACKET_DIFF, E1 + 6);
    leader_packet(&f, PACKET_PROPOSAL, E1 + 6);
    leader_packet(&f, PACKET_NEW_LEADER, E2);
    seen = did(&f, QUORUM_DO_SAVE_EPOCH, 0);
    quorum_fixture_fini(&f);
    return seen;
}

static bool acks_newleader_before_the_epoch_is_saved(void)
{
    struct quorum_fixture f;
    bool seen;

    invited(&f);
    fixture_saved(&f, EPOCH_ACCEPTED, 2);
    leader_packet(&f, PACKET_DIFF, E1 + 5);
    leader_packet(&f, PACKET_NEW_LEADER, E2);
    seen = did(&f, QUORUM_DO_SEND, PACKET_ACK);
    quorum_fixture_fini(&f);
    uniting(&f);
    fixture_packet(&f, 11, PACKET_ACK, E1, BYTES_NULL);
    fixture_packet(&f, 12, PACKET_ACK, E1, BYTES_NULL);
    assert_int_equal(did(&f, QUORUM_DO_LEAD, 0), seen);
    quorum_fixture_fini(&f);
    return seen;
}

static bool acks_before_it_is_on_disk(void)
{
    struct quorum_fixture f;
    bool seen;

    following(&f);
    leader_packet(&f, PACKET_PROPOSAL, E2 + 1);
    seen = did(&f, QUORUM_DO_SEND, PACKET_ACK);
    quorum_fixture_fini(&f);
    leading(&f);
    fixture_propose(&f, E1 + 1);
    fixture_packet(&f, 11, PACKET_ACK, E1 + 1, BYTES_NULL);
    fixture_packet(&f, 12, PACKET_ACK, E1 + 1, BYTES_NULL);
    assert_int_equal(did(&f, QUORUM_DO_COMMIT, 0), seen);
    quorum_fixture_fini(&f);
    return seen;
}

static bool votes_with_less_than_it_acked(void)
{
    struct quorum_fixture f;
    struct notification n;
    struct bytes frame;

    following(&f);
    leader_packet(&f, PACKET_PROPOSAL, E2 + 1);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E2 + 1);
    fixture_link(&f, QUORUM_IN_LINK_DOWN, 7);
    fixture_zxid(&f, QUORUM_IN_STOPPED, E2 + 1);
    frame = f.effects.items[0].bytes;
    assert_true(notification_read(bytes_of(frame.data + 4, frame.len - 4), &n));
    quorum_fixture_fini(&f);
    return n.zxid < E2 + 1;
}

static bool half_is_enough(void)
{
    struct quorum_fixture f;
    bool seen;

    leading(&f);
    fixture_propose(&f, E1 + 1);
    fixture_packet(&f, 11, PACKET_ACK, E1 + 1, BYTES_NULL);
    fixture_zxid(&f, QUORUM_IN_LOG_DURABLE, E1 + 1);
    seen = did(&f, QUORUM_DO_COMMIT, 0);
    quorum_fixture_fini(&f);
    return seen;
}

static bool serves_before_a_quorum_has_its_history(void)
{
    struct quorum_fixture f;
    bool seen;

    uniting(&f);
    fixture_packet(&f, 11, PACKET_ACK, E1, BYTES_NULL);
    fixture_saved(&f, EPOCH_CURRENT, 1);
    seen = did(&f, QUORUM_DO_LEAD, 0);
    quorum_fixture_fini(&f);
    return seen;
}

static bool truncates_across_epochs(void)
{
    struct history h;

    history_begin(&h, E1 + 4);
    return history_plan(&h, E2 + 1, E1 + 4, E1 + 4).kind == SYNC_TRUNC;
}

static bool answers_a_sync_at_once(void)
{
    struct quorum_fixture f;
    bool seen;

    leading(&f);
    fixture_step(&f, &(struct quorum_input){.kind = QUORUM_IN_SYNC});
    seen = did(&f, QUORUM_DO_SYNCED, 0);
    quorum_fixture_fini(&f);
    return seen;
}

static void a_broken_rule_is_seen(void **state)
{
    static const struct {
        enum broken_rule rule;
        const char *name;
        bool (*seen)(void);
    } rows[] = {
        {BROKEN_P1, "P1", promises_before_it_is_saved},
        {BROKEN_P2, "P2", takes_the_epoch_before_its_history_is_on_disk},
        {BROKEN_P3, "P3", acks_newleader_before_the_epoch_is_saved},
        {BROKEN_P4, "P4", acks_before_it_is_on_disk},
        {BROKEN_P9, "P9", votes_with_less_than_it_acked},
        {BROKEN_QUORUM_COUNT, "QUORUM_COUNT", half_is_enough},
        {BROKEN_NEWLEADER_ACK, "NEWLEADER_ACK", serves_before_a_quorum_has_its_history},
        {BROKEN_TRUNC_ACROSS_EPOCHS, "TRUNC_ACROSS_EPOCHS", truncates_across_epochs},
        {BROKEN_SYNC_CONFIRMATION, "SYNC_CONFIRMATION", answers_a_sync_at_once},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        print_message("    %s\n", rows[i].name);
        broken_rule = BROKEN_NONE;
        assert_false(rows[i].seen());
        broken_rule = rows[i].rule;
        assert_true(rows[i].seen());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_rule_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
