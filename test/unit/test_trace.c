/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/trace.h"

#include "lib/test.h"

static void check_input(const struct quorum_input *in, const char *line)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    trace_input(&out, in);
    assert_string_equal(strbuf_cstr(&out), line);
    strbuf_fini(&out);
}

static void check_effect(const struct quorum_effect *e, const char *line)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    trace_effect(&out, e);
    assert_string_equal(strbuf_cstr(&out), line);
    strbuf_fini(&out);
}

#define INPUT(line, ...)  check_input(&(struct quorum_input){__VA_ARGS__}, line)
#define EFFECT(line, ...) check_effect(&(struct quorum_effect){__VA_ARGS__}, line)

static void inputs_as_lines(void **state)
{
    const struct packet ack = {PACKET_ACK, 0x100000005, BYTES_NULL, {-1, BYTES_NULL}};
    uint8_t number[4] = {0xff, 0xff, 0xff, 0xff};
    const struct packet promise = {
        PACKET_ACK_EPOCH, 0x100000005, bytes_of(number, 4), {-1, BYTES_NULL}};

    (void)state;
    INPUT("START 0x100000005 accepted 2 current 1", .kind = QUORUM_IN_START, .zxid = 0x100000005,
          .accepted_epoch = 2, .current_epoch = 1);
    INPUT("START 0x100000005 accepted 2 current 1 deaf", .kind = QUORUM_IN_START,
          .zxid = 0x100000005, .accepted_epoch = 2, .current_epoch = 1, .deaf = true);
    INPUT("START 0x1 accepted 1 current 0 diverged", .kind = QUORUM_IN_START, .zxid = 1,
          .accepted_epoch = 1, .diverged = true);
    INPUT("START 0x1 accepted 1 current 0 damaged", .kind = QUORUM_IN_START, .zxid = 1,
          .accepted_epoch = 1, .damaged = true);
    INPUT("TICK", .kind = QUORUM_IN_TICK);
    INPUT("REFUSED m2", .kind = QUORUM_IN_REFUSED, .sid = 2);
    INPUT("NOTIFICATION m2 3 bytes", .kind = QUORUM_IN_NOTIFICATION, .sid = 2,
          .bytes = bytes_str("bad"));
    INPUT("LINK_UP link 3", .kind = QUORUM_IN_LINK_UP, .link = 3, .sid = SID_NOBODY);
    INPUT("LINK_UP link 3 m2", .kind = QUORUM_IN_LINK_UP, .link = 3, .sid = 2);
    INPUT("LINK_DOWN link 3", .kind = QUORUM_IN_LINK_DOWN, .link = 3);
    INPUT("DIAL_FAILED m2", .kind = QUORUM_IN_DIAL_FAILED, .sid = 2);
    INPUT("LISTEN_FAILED", .kind = QUORUM_IN_LISTEN_FAILED);
    INPUT("HEARS", .kind = QUORUM_IN_HEARS);
    INPUT("PACKET link 3 ACK 0x100000005", .kind = QUORUM_IN_PACKET, .link = 3, .packet = &ack);
    INPUT("PACKET link 3 ACKEPOCH 0x100000005 current -1", .kind = QUORUM_IN_PACKET, .link = 3,
          .packet = &promise);
    INPUT("LOG_DURABLE 0x1", .kind = QUORUM_IN_LOG_DURABLE, .zxid = 1);
    INPUT("EPOCH_SAVED accepted 2", .kind = QUORUM_IN_EPOCH_SAVED, .which = EPOCH_ACCEPTED,
          .epoch = 2);
    INPUT("TRUNCATED 0x1", .kind = QUORUM_IN_TRUNCATED, .zxid = 1);
    INPUT("SNAPSHOT_LOADED 0x1", .kind = QUORUM_IN_SNAPSHOT_LOADED, .zxid = 1);
    INPUT("LOAD_FAILED", .kind = QUORUM_IN_LOAD_FAILED);
    INPUT("SNAPSHOT_SENT link 3", .kind = QUORUM_IN_SNAPSHOT_SENT, .link = 3);
    INPUT("SNAPSHOT_SENT link 3 0x1", .kind = QUORUM_IN_SNAPSHOT_SENT, .link = 3, .zxid = 1);
    INPUT("LOG_SENT link 3", .kind = QUORUM_IN_LOG_SENT, .link = 3);
    INPUT("LOG_TRIMMED 0x1", .kind = QUORUM_IN_LOG_TRIMMED, .zxid = 1);
    INPUT("STOPPED 0x1", .kind = QUORUM_IN_STOPPED, .zxid = 1);
    INPUT("PROPOSE 0x1 4 bytes", .kind = QUORUM_IN_PROPOSE, .zxid = 1, .bytes = bytes_str("abcd"));
    INPUT("FORWARD ACK 0x100000005", .kind = QUORUM_IN_FORWARD, .packet = &ack);
    INPUT("ANSWER link 3 ACK 0x100000005", .kind = QUORUM_IN_ANSWER, .link = 3, .packet = &ack);
    INPUT("SYNC link 3", .kind = QUORUM_IN_SYNC, .link = 3);
    INPUT("SYNC self", .kind = QUORUM_IN_SYNC);
    INPUT("RESIGN", .kind = QUORUM_IN_RESIGN);
}

static void effects_as_lines(void **state)
{
    const struct packet commit = {PACKET_COMMIT, 0x100000005, BYTES_NULL, {-1, BYTES_NULL}};

    (void)state;
    EFFECT("LISTEN", .kind = QUORUM_DO_LISTEN);
    EFFECT("UNLISTEN", .kind = QUORUM_DO_UNLISTEN);
    EFFECT("DIAL m2", .kind = QUORUM_DO_DIAL, .sid = 2);
    EFFECT("CLOSE link 3: why", .kind = QUORUM_DO_CLOSE, .link = 3, .reason = "why");
    EFFECT("SEND link 4 COMMIT 0x100000005", .kind = QUORUM_DO_SEND, .link = 4, .packet = commit);
    EFFECT("SEND_LOG link 4 0x1 0x2", .kind = QUORUM_DO_SEND_LOG, .link = 4, .from = 1, .zxid = 2);
    EFFECT("SEND_SNAPSHOT link 4 0x2", .kind = QUORUM_DO_SEND_SNAPSHOT, .link = 4, .zxid = 2);
    EFFECT("LOAD_SNAPSHOT link 4 0x2", .kind = QUORUM_DO_LOAD_SNAPSHOT, .link = 4, .zxid = 2);
    EFFECT("TRUNCATE 0x2", .kind = QUORUM_DO_TRUNCATE, .zxid = 2);
    EFFECT("SAVE_EPOCH current 2", .kind = QUORUM_DO_SAVE_EPOCH, .which = EPOCH_CURRENT,
           .epoch = 2);
    EFFECT("APPEND 0x2 3 bytes", .kind = QUORUM_DO_APPEND, .zxid = 2, .bytes = bytes_str("abc"));
    EFFECT("COMMIT 0x2", .kind = QUORUM_DO_COMMIT, .zxid = 2);
    EFFECT("LEAD epoch 3", .kind = QUORUM_DO_LEAD, .epoch = 3);
    EFFECT("SERVE following m2 epoch 3", .kind = QUORUM_DO_SERVE, .role = MEMBER_FOLLOWING,
           .sid = 2, .epoch = 3);
    EFFECT("SERVE observing m2 epoch 3", .kind = QUORUM_DO_SERVE, .role = MEMBER_OBSERVING,
           .sid = 2, .epoch = 3);
    EFFECT("STOP: why", .kind = QUORUM_DO_STOP, .reason = "why");
    EFFECT("RECEIVED link 4 m2 COMMIT 0x100000005", .kind = QUORUM_DO_RECEIVED, .link = 4, .sid = 2,
           .packet = commit);
    EFFECT("SYNCED", .kind = QUORUM_DO_SYNCED);
    EFFECT("LINK_GONE link 4 m2", .kind = QUORUM_DO_LINK_GONE, .link = 4, .sid = 2);
}

static void a_vote_is_told_in_words(void **state)
{
    struct notification n = {.state = MEMBER_FOLLOWING,
                             .leader = 2,
                             .zxid = 0x100000005,
                             .election_epoch = 4,
                             .peer_epoch = 1,
                             .version = NOTIFICATION_VERSION,
                             .config = bytes_of("", 0)};
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    notification_write(&b, &n);
    EFFECT("NOTIFY m1 FOLLOWING for m2 0x100000005 epoch 1 round 4", .kind = QUORUM_DO_NOTIFY,
           .sid = 1, .bytes = strbuf_bytes(&b));
    strbuf_clear(&b);
    n = (struct notification){.state = MEMBER_LOOKING,
                              .leader = INT64_MIN,
                              .zxid = INT64_MIN,
                              .election_epoch = 1,
                              .peer_epoch = INT64_MIN,
                              .version = NOTIFICATION_VERSION,
                              .config = bytes_of("", 0)};
    notification_write(&b, &n);
    INPUT("NOTIFICATION m4 LOOKING for nobody round 1", .kind = QUORUM_IN_NOTIFICATION, .sid = 4,
          .bytes = bytes_of(b.data + 4, b.len - 4));
    strbuf_fini(&b);
}

static void a_step_has_time_and_member(void **state)
{
    struct quorum_effect items[] = {{.kind = QUORUM_DO_COMMIT, .zxid = 0x100000005},
                                    {.kind = QUORUM_DO_SYNCED}};
    struct quorum_effects effects = {items, 2, 2};
    struct quorum_input in = {.kind = QUORUM_IN_LOG_DURABLE, .zxid = 0x100000005};
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    trace_step(&out, 61250999, 2, &in, &effects);
    assert_string_equal(strbuf_cstr(&out), "61.250 m2 < LOG_DURABLE 0x100000005\n"
                                           "61.250 m2 > COMMIT 0x100000005\n"
                                           "61.250 m2 > SYNCED\n");
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_as_lines),
        cmocka_unit_test(effects_as_lines),
        cmocka_unit_test(a_vote_is_told_in_words),
        cmocka_unit_test(a_step_has_time_and_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
