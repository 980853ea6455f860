/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/vote.h"

#include <inttypes.h>

#include "lib/test.h"
#include "lib/vectors.h"

struct counts {
    int hellos;
    int notifications;
    bool seen[MEMBER_OBSERVING + 1];
};

static void check_hello(const struct quorum_message *m)
{
    struct hello h = {0}, ignored;
    char expected[128];
    struct strbuf again;
    size_t used = 0;

    assert_int_equal(hello_read(m->bytes, &h, &used), STREAM_WHOLE);
    assert_int_equal(used, m->bytes.len);
    snprintf(expected, sizeof(expected), "INIT ver=%d sid=%" PRId64 " addr=%.*s", h.version,
             h.server_id, (int)h.addresses.len, (const char *)h.addresses.data);
    assert_string_equal(m->meaning, expected);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    hello_write(&again, &h);
    assert_bytes_equal(strbuf_bytes(&again), m->bytes);
    strbuf_fini(&again);
    for (size_t len = 0; len < m->bytes.len; len++) {
        assert_int_equal(hello_read(bytes_of(m->bytes.data, len), &ignored, &used), STREAM_SHORT);
    }
}

static void check_meaning(const char *meaning, size_t len, const struct notification *n)
{
    static const char *const states[] = {"LOOKING", "FOLLOWING", "LEADING", "OBSERVING"};
    char expected[256], zxid[32];

    if (n->zxid == INT64_MIN) {
        snprintf(zxid, sizeof(zxid), "-0x8000000000000000");
    } else {
        snprintf(zxid, sizeof(zxid), "0x%" PRIx64, n->zxid);
    }
    snprintf(expected, sizeof(expected),
             "NOTIF len=%zu state=%s leader=%" PRId64 " zxid=%s electEpoch=%" PRId64
             " peerEpoch=%" PRId64 " ver=%d cfg=b'server.1=",
             len, states[n->state], n->leader, zxid, n->election_epoch, n->peer_epoch, n->version);
    assert_memory_equal(meaning, expected, strlen(expected));
}

static void check_notification(const struct quorum_message *m, struct counts *counts)
{
    struct notification n;
    struct bytes payload;
    struct strbuf again;
    size_t used;

    assert_int_equal(notification_frame(m->bytes, &payload, &used), STREAM_WHOLE);
    assert_int_equal(used, m->bytes.len);
    assert_true(notification_read(payload, &n));
    check_meaning(m->meaning, payload.len, &n);
    assert_true(bytes_starts_with(n.config, "server.1=127.0.0.1:22221:22231:participant"));
    counts->seen[n.state] = true;
    strbuf_init(&again, STRBUF_NO_LIMIT);
    notification_write(&again, &n);
    assert_bytes_equal(strbuf_bytes(&again), m->bytes);
    strbuf_fini(&again);
}

static void check_message(const struct quorum_message *m, void *arg)
{
    struct counts *counts = arg;

    if (strncmp(m->meaning, "INIT ", 5) == 0) {
        check_hello(m);
        counts->hellos++;
    } else if (strncmp(m->meaning, "NOTIF ", 6) == 0) {
        check_notification(m, counts);
        counts->notifications++;
    }
}

static void recorded_elections_survive_both_directions(void **state)
{
    static const char *const files[] = {"election-cold-start", "observer-join-election",
                                        "init-multi-address", "sync-diff"};
    struct counts counts = {0};
    char path[512];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(files); i++) {
        snprintf(path, sizeof(path), VECTORS "/quorum/%s.txt", files[i]);
        vectors_quorum(path, check_message, &counts);
    }
    assert_int_equal(counts.hellos, 16);
    assert_int_equal(counts.notifications, 30);
    assert_true(counts.seen[MEMBER_LOOKING]);
    assert_true(counts.seen[MEMBER_FOLLOWING]);
    assert_true(counts.seen[MEMBER_LEADING]);
}

static void a_hello_of_3_4_is_the_id_alone(void **state)
{
    uint8_t bytes[12] = {0, 0, 0, 0, 0, 0, 0, 3, 'm', 'o', 'r', 'e'};
    struct hello h;
    size_t used;

    (void)state;
    assert_int_equal(hello_read(bytes_of(bytes, sizeof(bytes)), &h, &used), STREAM_WHOLE);
    assert_int_equal(used, 8);
    assert_int_equal(h.version, HELLO_3_4);
    assert_int_equal(h.server_id, 3);
    assert_true(bytes_is_null(h.addresses));
}

static void hellos_that_cannot_be_are_bad(void **state)
{
    static const int32_t lengths[] = {0, -1, HELLO_ADDRESS_BYTES + 1, INT32_MAX, INT32_MIN};
    uint8_t bytes[20] = {0};
    struct hello h;
    size_t used;

    (void)state;
    store_u64(bytes, (uint64_t)-65534);
    assert_int_equal(hello_read(bytes_of(bytes, 8), &h, &used), STREAM_BAD);
    store_u64(bytes, (uint64_t)HELLO_ONE_ADDRESS);
    for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
        store_u32(bytes + 16, (uint32_t)lengths[i]);
        assert_int_equal(hello_read(bytes_of(bytes, 20), &h, &used), STREAM_BAD);
    }
    store_u32(bytes + 16, HELLO_ADDRESS_BYTES);
    assert_int_equal(hello_read(bytes_of(bytes, 20), &h, &used), STREAM_SHORT);
}

static void addresses_are_taken_one_by_one(void **state)
{
    struct bytes rest = bytes_str("127.0.0.1:3888|[::1]:3889|host.example:65535");
    struct hello_address a;

    (void)state;
    assert_true(hello_next_address(&rest, &a));
    assert_str_view(a.host, "127.0.0.1");
    assert_int_equal(a.port, 3888);
    assert_true(hello_next_address(&rest, &a));
    assert_str_view(a.host, "::1");
    assert_int_equal(a.port, 3889);
    assert_true(hello_next_address(&rest, &a));
    assert_str_view(a.host, "host.example");
    assert_int_equal(a.port, 65535);
    assert_false(hello_next_address(&rest, &a));
    assert_int_equal(rest.len, 0);
}

static void malformed_addresses_are_refused(void **state)
{
    static const char *const texts[] = {
        "",      "host",     ":3888", "host:",      "host:x",  "host:1x", "[::1",
        "[::1]", "[::1]x:1", "[]:1",  "host:65536", "|host:1", "host:-1", "a:99999999999999999999"};
    struct hello_address a;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        struct bytes rest = bytes_str(texts[i]);

        if (hello_next_address(&rest, &a)) {
            fail_msg("\"%s\" was taken for an address", texts[i]);
        }
        assert_int_equal(rest.len, strlen(texts[i]));
    }
}

static void frames_have_their_bounds(void **state)
{
    uint8_t bytes[8] = {0};
    struct bytes payload;
    size_t used;

    (void)state;
    assert_int_equal(notification_frame(bytes_of(bytes, 3), &payload, &used), STREAM_SHORT);
    assert_int_equal(notification_frame(bytes_of(bytes, 4), &payload, &used), STREAM_BAD);
    store_u32(bytes, NOTIFICATION_BYTES_MAX + 1);
    assert_int_equal(notification_frame(bytes_of(bytes, 4), &payload, &used), STREAM_BAD);
    store_u32(bytes, NOTIFICATION_BYTES_MAX);
    assert_int_equal(notification_frame(bytes_of(bytes, 4), &payload, &used), STREAM_SHORT);
    store_u32(bytes, 0xffffffff);
    assert_int_equal(notification_frame(bytes_of(bytes, 4), &payload, &used), STREAM_BAD);
    store_u32(bytes, 4);
    assert_int_equal(notification_frame(bytes_of(bytes, 8), &payload, &used), STREAM_WHOLE);
    assert_int_equal(payload.len, 4);
}

/* A notification of version 2 to be cut and changed; its configuration is eight bytes long. */
static struct strbuf some_notification(void)
{
    struct notification n = {.state = MEMBER_FOLLOWING,
                             .leader = 3,
                             .zxid = 0x500000001,
                             .election_epoch = 4,
                             .peer_epoch = 6,
                             .version = 2,
                             .config = bytes_str("version=")};
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    notification_write(&b, &n);
    return b;
}

static void old_notifications_go_by_their_length(void **state)
{
    struct strbuf b = some_notification();
    struct notification n;

    (void)state;
    assert_true(notification_read(bytes_of(b.data + 4, 28), &n));
    assert_int_equal(n.peer_epoch, 5); /* of the zxid */
    assert_int_equal(n.version, 0);
    assert_true(notification_read(bytes_of(b.data + 4, 40), &n));
    assert_int_equal(n.peer_epoch, 6);
    assert_int_equal(n.version, 0); /* whatever it says */
    assert_true(bytes_is_null(n.config));
    for (size_t len = 0; len < b.len - 4; len++) {
        bool whole = len == 28 || len == 40;

        assert_int_equal(notification_read(bytes_of(b.data + 4, len), &n), whole);
    }
    strbuf_fini(&b);
}

static void an_old_notification_is_written_in_40_bytes(void **state)
{
    struct notification n = {.leader = 3, .peer_epoch = 6}, back;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    notification_write(&b, &n);
    assert_int_equal(b.len, 4 + 40);
    assert_true(notification_read(bytes_of(b.data + 4, 40), &back));
    assert_int_equal(back.leader, 3);
    assert_int_equal(back.peer_epoch, 6);
    strbuf_fini(&b);
}

static void states_and_lengths_that_cannot_be_are_dropped(void **state)
{
    struct strbuf b = some_notification();
    struct bytes payload = bytes_of(b.data + 4, b.len - 4);
    struct notification n;

    (void)state;
    assert_true(notification_read(payload, &n));
    store_u32(b.data + 4, 4);
    assert_false(notification_read(payload, &n));
    store_u32(b.data + 4, 0xffffffff);
    assert_false(notification_read(payload, &n));
    store_u32(b.data + 4, MEMBER_LOOKING);
    store_u32(b.data + 4 + 40, 0xffffffff); /* the configuration's length */
    assert_false(notification_read(payload, &n));
    store_u32(b.data + 4 + 40, 9);
    assert_false(notification_read(payload, &n));
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_elections_survive_both_directions),
        cmocka_unit_test(a_hello_of_3_4_is_the_id_alone),
        cmocka_unit_test(hellos_that_cannot_be_are_bad),
        cmocka_unit_test(addresses_are_taken_one_by_one),
        cmocka_unit_test(malformed_addresses_are_refused),
        cmocka_unit_test(frames_have_their_bounds),
        cmocka_unit_test(old_notifications_go_by_their_length),
        cmocka_unit_test(an_old_notification_is_written_in_40_bytes),
        cmocka_unit_test(states_and_lengths_that_cannot_be_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
