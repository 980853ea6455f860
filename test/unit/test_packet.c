/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/packet.h"

#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"
#include "wire/ops.h"
#include "wire/request.h"
#include "wire/txn.h"

enum { LIMIT = 1 << 20 };

static void check_txn(struct bytes payload, int64_t zxid)
{
    struct txn t;

    assert_int_equal(txn_read(payload, &t), TXN_OK);
    assert_int_equal(t.header.zxid, zxid);
}

static void check_learner_info(const struct packet *p, struct strbuf *again, const char *meaning)
{
    struct learner_info info;
    char expected[128];

    assert_true(learner_info_read(p->data, &info));
    assert_true(info.has_server_id);
    snprintf(expected, sizeof(expected), "LearnerInfo sid=%lld proto=0x%x cfg=0x%llx",
             (long long)info.server_id, info.protocol_version, (long long)info.config_version);
    assert_non_null(strstr(meaning, expected));
    learner_info_write(again, &info);
}

static void check_request(const struct packet *p, struct strbuf *again)
{
    struct forwarded_request q;
    struct request body;
    struct jute_reader r;

    assert_true(forwarded_request_read(p->data, &q));
    assert_int_equal(p->zxid, -1);
    r = jute_reader_of(q.body);
    assert_non_null(op_find(q.op));
    assert_true(request_read(op_find(q.op), &r, &body));
    assert_int_equal(p->auth.count, q.op == OP_CREATE_SESSION ? -1 : 1);
    if (p->auth.count == 1) {
        struct id_entry id;

        r = jute_reader_of(p->auth.elements);
        id = id_entry_read(&r);
        assert_str_view(id.scheme, "ip");
        assert_str_view(id.id, "127.0.0.1");
    }
    forwarded_request_write(again, &q);
}

static void check_activation(const struct packet *p, struct strbuf *again)
{
    struct activation a;

    assert_true(activation_read(p->data, &a));
    assert_in_range(a.leader, 1, 4);
    if (p->type == PACKET_INFORM_AND_ACTIVATE) {
        check_txn(a.txn, p->zxid);
    } else {
        assert_int_equal(a.txn.len, 0);
    }
    activation_write(again, &a);
}

static void check_revalidate(const struct packet *p, bool to_leader, struct strbuf *again)
{
    struct jute_reader r = jute_reader_of(p->data);
    struct revalidation v;
    struct session_touch t;

    if (to_leader) {
        t = session_touch_read(&r);
        assert_int_equal(t.timeout_ms, 6000);
        session_touch_write(again, &t);
    } else {
        assert_true(revalidation_read(p->data, &v));
        assert_true(v.valid);
        revalidation_write(again, &v);
    }
}

static void check_ping(const struct packet *p, struct strbuf *again)
{
    struct jute_reader r = jute_reader_of(p->data);

    while (jute_left(&r) > 0) {
        struct session_touch t = session_touch_read(&r);

        assert_false(r.failed);
        assert_true(t.timeout_ms >= 4000);
        session_touch_write(again, &t);
    }
}

/* Decodes the data of a packet by its type and encodes it again; false for those with none. */
static bool check_data(const struct packet *p, const struct quorum_message *m, struct strbuf *again)
{
    int32_t number;

    switch (p->type) {
    case PACKET_FOLLOWER_INFO:
    case PACKET_OBSERVER_INFO:
        check_learner_info(p, again, m->meaning);
        return true;
    case PACKET_LEADER_INFO:
        assert_true(packet_int_read(p->data, &number));
        assert_int_equal(number, QUORUM_PROTOCOL_VERSION);
        jute_write_int(again, number);
        return true;
    case PACKET_ACK_EPOCH:
        assert_true(packet_int_read(p->data, &number));
        assert_in_range(number + 1, 0, 3);
        jute_write_int(again, number);
        return true;
    case PACKET_REQUEST:
        check_request(p, again);
        return true;
    case PACKET_PROPOSAL:
    case PACKET_INFORM:
        check_txn(p->data, p->zxid);
        strbuf_append_bytes(again, p->data);
        return true;
    case PACKET_COMMIT_AND_ACTIVATE:
    case PACKET_INFORM_AND_ACTIVATE:
        check_activation(p, again);
        return true;
    case PACKET_REVALIDATE:
        check_revalidate(p, m->from_dialler, again);
        return true;
    case PACKET_PING:
        check_ping(p, again);
        return m->from_dialler; /* the leader's has no data */
    case PACKET_NEW_LEADER:
        assert_true(bytes_starts_with(p->data, "server."));
        strbuf_append_bytes(again, p->data);
        return true;
    default:
        assert_true(bytes_is_null(p->data));
        return false;
    }
}

static bool is_packet(const char *meaning)
{
    char name[32];

    assert_int_equal(sscanf(meaning, "%31s", name), 1);
    for (int32_t type = PACKET_REQUEST; type <= PACKET_INFORM_AND_ACTIVATE; type++) {
        if (strcmp(name, packet_type_name(type)) == 0) {
            return true;
        }
    }
    return false;
}

struct counts {
    int n;
    bool seen[PACKET_INFORM_AND_ACTIVATE + 1];
};

static void check_whole(const struct packet *p, const struct quorum_message *m)
{
    struct strbuf again;
    size_t start;

    strbuf_init(&again, STRBUF_NO_LIMIT);
    packet_write(&again, p);
    assert_bytes_equal(strbuf_bytes(&again), m->bytes);
    strbuf_clear(&again);
    start = packet_begin(&again, p->type, p->zxid);
    if (check_data(p, m, &again)) {
        packet_end(&again, start, &p->auth);
        assert_bytes_equal(strbuf_bytes(&again), m->bytes);
    }
    strbuf_fini(&again);
}

static void check_message(const struct quorum_message *m, void *arg)
{
    struct counts *counts = arg;
    struct packet p;
    size_t used = 0;

    if (!is_packet(m->meaning)) {
        return;
    }
    assert_int_equal(packet_read(m->bytes, LIMIT, &p, &used), STREAM_WHOLE);
    assert_int_equal(used, m->bytes.len);
    assert_memory_equal(m->meaning, packet_type_name(p.type), strlen(packet_type_name(p.type)));
    check_whole(&p, m);
    for (size_t len = 0; len < m->bytes.len; len++) {
        assert_int_equal(packet_read(bytes_of(m->bytes.data, len), LIMIT, &p, &used), STREAM_SHORT);
    }
    counts->n++;
    counts->seen[p.type] = true;
}

static void recorded_packets_survive_both_directions(void **state)
{
    static const char *const files[] = {"broadcast", "observer-master",  "reconfig",
                                        "sync-diff", "sync-first-epoch", "sync-snap-epoch-crossing",
                                        "sync-trunc"};
    struct counts counts = {0};
    char path[512];

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(files); i++) {
        snprintf(path, sizeof(path), VECTORS "/quorum/%s.txt", files[i]);
        vectors_quorum(path, check_message, &counts);
    }
    assert_int_equal(counts.n, 300);
    for (int type = PACKET_REQUEST; type <= PACKET_INFORM_AND_ACTIVATE; type++) {
        if (!counts.seen[type]) {
            fail_msg("no recorded %s", packet_type_name(type));
        }
    }
}

static void packets_follow_each_other(void **state)
{
    struct packet ack = {.type = PACKET_ACK, .zxid = 7, .auth = {.count = -1}}, p;
    struct strbuf b;
    size_t used;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    packet_write(&b, &ack);
    ack.zxid = 8;
    packet_write(&b, &ack);
    assert_int_equal(packet_read(strbuf_bytes(&b), LIMIT, &p, &used), STREAM_WHOLE);
    assert_int_equal(used, 20);
    assert_int_equal(p.zxid, 7);
    assert_int_equal(packet_read(bytes_of(b.data + used, b.len - used), LIMIT, &p, &used),
                     STREAM_WHOLE);
    assert_int_equal(p.zxid, 8);
    strbuf_fini(&b);
}

static void lengths_that_cannot_be_are_bad_at_once(void **state)
{
    static const uint32_t lengths[] = {0xfffffffe, 0x80000000, LIMIT + 1, 0x7fffffff};
    uint8_t head[16] = {0, 0, 0, PACKET_PROPOSAL};
    struct packet p;
    size_t used;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
        store_u32(head + 12, lengths[i]);
        assert_int_equal(packet_read(bytes_of(head, 16), LIMIT, &p, &used), STREAM_BAD);
    }
    store_u32(head + 12, LIMIT);
    assert_int_equal(packet_read(bytes_of(head, 16), LIMIT, &p, &used), STREAM_SHORT);
}

static void an_endless_auth_list_is_bad(void **state)
{
    struct packet p = {.type = PACKET_REQUEST, .auth = {.count = INT32_MAX}};
    struct strbuf b;
    size_t used;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    packet_write(&b, &p);
    assert_int_equal(packet_read(strbuf_bytes(&b), 64, &p, &used), STREAM_SHORT);
    for (int i = 0; i < 20; i++) {
        jute_write_int(&b, 0);
    }
    assert_int_equal(packet_read(strbuf_bytes(&b), 64, &p, &used), STREAM_BAD);
    strbuf_fini(&b);
}

static void old_learners_say_less_of_themselves(void **state)
{
    struct learner_info info = {.server_id = 5, .protocol_version = 0x10000, .config_version = 9};
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    learner_info_write(&b, &info);
    assert_int_equal(b.len, 20);
    assert_true(learner_info_read(bytes_of(b.data, 12), &info)); /* 3.4 */
    assert_int_equal(info.protocol_version, 0x10000);
    assert_int_equal(info.config_version, 0);
    assert_true(learner_info_read(bytes_of(b.data, 8), &info));
    assert_int_equal(info.server_id, 5);
    assert_int_equal(info.protocol_version, 0);
    assert_true(learner_info_read(BYTES_NULL, &info));
    assert_false(info.has_server_id);
    assert_false(learner_info_read(bytes_of(b.data, 7), &info));
    strbuf_fini(&b);
}

static void data_that_is_too_short_is_refused(void **state)
{
    static const uint8_t zeroes[32];
    struct forwarded_request q;
    struct activation a;
    struct revalidation v;
    int32_t number;

    (void)state;
    assert_false(packet_int_read(BYTES_NULL, &number));
    assert_false(packet_int_read(bytes_of(zeroes, 3), &number));
    assert_false(activation_read(bytes_of(zeroes, 7), &a));
    assert_false(revalidation_read(bytes_of(zeroes, 8), &v));
    assert_false(forwarded_request_read(bytes_of(zeroes, 15), &q));
    assert_true(forwarded_request_read(bytes_of(zeroes, 16), &q));
    assert_int_equal(q.body.len, 0);
}

static void other_types_are_unknown(void **state)
{
    (void)state;
    assert_string_equal(packet_type_name(0), "UNKNOWN");
    assert_string_equal(packet_type_name(20), "UNKNOWN");
    assert_string_equal(packet_type_name(-1), "UNKNOWN");
}

static void check_auth(const struct quorum_message *m, void *arg)
{
    struct quorum_auth a;
    struct strbuf again;
    size_t used;
    int *n = arg;

    if (m->bytes.len < 16 || load_u64(m->bytes.data) != (uint64_t)QUORUM_AUTH_MAGIC) {
        return;
    }
    assert_int_equal(quorum_auth_read(m->bytes, LIMIT, &a, &used), STREAM_WHOLE);
    assert_int_equal(used, m->bytes.len);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    quorum_auth_write(&again, &a);
    assert_bytes_equal(strbuf_bytes(&again), m->bytes);
    for (size_t len = 0; len < m->bytes.len; len++) {
        assert_int_equal(quorum_auth_read(bytes_of(m->bytes.data, len), LIMIT, &a, &used),
                         STREAM_SHORT);
    }
    again.data[0] ^= 1;
    assert_int_equal(quorum_auth_read(strbuf_bytes(&again), LIMIT, &a, &used), STREAM_BAD);
    strbuf_fini(&again);
    (*n)++;
}

static void recorded_sasl_packets_survive_both_directions(void **state)
{
    int n = 0;

    (void)state;
    vectors_quorum(VECTORS "/quorum/sasl-digest-md5.txt", check_auth, &n);
    assert_int_equal(n, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_packets_survive_both_directions),
        cmocka_unit_test(packets_follow_each_other),
        cmocka_unit_test(lengths_that_cannot_be_are_bad_at_once),
        cmocka_unit_test(an_endless_auth_list_is_bad),
        cmocka_unit_test(old_learners_say_less_of_themselves),
        cmocka_unit_test(data_that_is_too_short_is_refused),
        cmocka_unit_test(other_types_are_unknown),
        cmocka_unit_test(recorded_sasl_packets_survive_both_directions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
