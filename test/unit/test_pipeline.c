/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pipeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

enum { UNKNOWN_OP = 99 };

/* Several requests, sent in one piece. */
struct burst {
    struct strbuf bytes;
    int32_t xid;
};

static void burst_init(struct burst *b)
{
    strbuf_init(&b->bytes, STRBUF_NO_LIMIT);
    b->xid = 0;
}

static void burst_add(struct burst *b, struct request q)
{
    fixture_frame(&b->bytes, q.type == OP_PING ? XID_PING : ++b->xid, &q);
}

static void burst_set(struct burst *b, const char *path)
{
    burst_add(b, fixture_set_request(path, "x", -1));
}

static void burst_get(struct burst *b, const char *path)
{
    burst_add(b, fixture_path_request(OP_GET_DATA, path));
}

static void burst_send(struct burst *b, struct server_fixture *f, struct connection *c)
{
    fixture_send(f, c, strbuf_bytes(&b->bytes));
    strbuf_fini(&b->bytes);
}

/* What must be true when nothing is in flight and nobody waits. */
static void assert_idle(const struct server *s)
{
    assert_true(list_empty(&s->in_flight));
    assert_int_equal(s->n_outstanding, 0);
    assert_true(list_empty(&s->paused));
    assert_int_equal(s->large_bytes, 0);
    assert_int_equal(s->prepare.pending.records.count, 0);
    assert_int_equal(s->prepare.pending.digest, tree_digest(s->tree));
}

/* ---- order ---- */

static void replies_come_in_the_order_of_the_requests(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_get(&b, "/");
    burst_add(&b, fixture_create_request("/a", "1", 0));
    burst_get(&b, "/a");
    burst_add(&b, fixture_path_request(OP_DELETE, "/missing"));
    burst_get(&b, "/missing");
    burst_set(&b, "/a");
    burst_get(&b, "/a");
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "1 OK @1\n");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "2 OK @2\n"
                                              "3 OK @2\n"
                                              "4 NO_NODE @3\n"
                                              "5 NO_NODE @3\n"
                                              "6 OK @4\n"
                                              "7 OK @4\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

/* Or a client whose link broke would be told that what it sent on it was not executed. */
static void a_sync_waits_for_whatever_is_in_flight(void **state)
{
    struct server_fixture f;
    struct connection *writer, *reader;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    writer = fixture_client(&f, 10000);
    reader = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_add(&b, fixture_create_request("/a", "1", 0));
    burst_send(&b, &f, writer);
    server_disconnect(f.server, writer);
    burst_init(&b);
    burst_add(&b, fixture_path_request(OP_SYNC, "/"));
    burst_get(&b, "/a");
    burst_send(&b, &f, reader);
    assert_string_equal(fixture_trace(&f, reader), "");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, reader), "1 OK @3\n"
                                                   "2 OK @3\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

static void who_waits_for_a_sync_may_go(void **state)
{
    struct server_fixture f;
    struct connection *writer, *reader;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    writer = fixture_client(&f, 10000);
    reader = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_add(&b, fixture_create_request("/a", "1", 0));
    burst_send(&b, &f, writer);
    burst_init(&b);
    burst_add(&b, fixture_path_request(OP_SYNC, "/"));
    burst_send(&b, &f, reader);
    server_disconnect(f.server, reader);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, writer), "1 OK @3\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

static void a_read_waits_for_the_writes_of_its_own_connection_only(void **state)
{
    struct server_fixture f;
    struct connection *writer, *reader;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    writer = fixture_client(&f, 10000);
    reader = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_add(&b, fixture_create_request("/a", "", 0));
    burst_get(&b, "/a");
    burst_send(&b, &f, writer);
    burst_init(&b);
    burst_get(&b, "/a");
    burst_send(&b, &f, reader);
    assert_string_equal(fixture_trace(&f, writer), "");
    assert_string_equal(fixture_trace(&f, reader), "1 NO_NODE @2\n");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, writer), "1 OK @3\n2 OK @3\n");
    fixture_fini(&f);
}

static void the_event_of_ones_own_write_comes_before_its_reply(void **state)
{
    struct server_fixture f;
    struct connection *c, *other;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    fixture_create(&f, c, "/a", "", 0);
    fixture_get(&f, c, "/a", true);
    fixture_get(&f, other, "/a", true);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/a");
    burst_get(&b, "/a");
    burst_send(&b, &f, c);
    burst_init(&b);
    burst_get(&b, "/a");
    burst_send(&b, &f, other);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "changed /a @4\n1 OK @4\n2 OK @4\n");
    /* The reply shows the old data, so it comes first. */
    assert_string_equal(fixture_trace(&f, other), "1 OK @3\nchanged /a @4\n");
    fixture_fini(&f);
}

static void a_watch_set_behind_a_write_in_flight_does_not_fire_for_it(void **state)
{
    struct request watch = fixture_path_request(OP_GET_DATA, "/a");
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/a", "", 0);
    f.hold = true;
    watch.watch = true;
    burst_init(&b);
    burst_set(&b, "/a");
    burst_add(&b, watch);
    burst_set(&b, "/a");
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @3\n2 OK @3\nchanged /a @4\n3 OK @4\n");
    fixture_fini(&f);
}

static void a_write_that_cannot_be_decoded_keeps_its_place_and_takes_no_zxid(void **state)
{
    static const uint8_t bad[] = "\0\0\0\x0c\0\0\0\2\0\0\0\5\0\0\0\7"; /* setData, cut short */
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    strbuf_append(&b.bytes, bad, sizeof(bad) - 1);
    b.xid++;
    burst_set(&b, "/");
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n2 MARSHALLING @2\n3 OK @3\n");
    fixture_fini(&f);
}

static void ping_and_sync_keep_their_place(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_add(&b, (struct request){.type = OP_PING});
    burst_add(&b, fixture_path_request(OP_SYNC, "/any"));
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n-2 OK @2\n2 OK @2\n");
    fixture_fini(&f);
}

static void auth_is_answered_at_once_even_behind_a_write(void **state)
{
    struct request auth = {
        .type = OP_AUTH, .scheme = bytes_str("digest"), .data = bytes_str("bob:pw")};
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_add(&b, auth);
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "2 OK @0\n");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n");
    fixture_fini(&f);
}

/* ---- frames ---- */

static void frames_may_come_byte_by_byte(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    burst_init(&b);
    burst_set(&b, "/");
    burst_get(&b, "/");
    for (size_t i = 0; i < b.bytes.len; i++) {
        fixture_send(&f, c, bytes_of(b.bytes.data + i, 1));
    }
    strbuf_fini(&b.bytes);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n2 OK @2\n");
    fixture_fini(&f);
}

static void a_frame_of_the_limit_is_taken_and_one_above_it_closes(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf frame;
    uint8_t *filler = must_zalloc(0x100000);

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    jute_write_int(&frame, 0xfffff);
    jute_write_int(&frame, 1);
    jute_write_int(&frame, OP_PING);
    strbuf_append(&frame, filler, 0xfffff - 8);
    fixture_send(&f, c, strbuf_bytes(&frame));
    assert_string_equal(fixture_trace(&f, c), "-2 OK @1\n");
    fixture_send(&f, c, bytes_of("\0\x10\0\0", 4)); /* decided on these four alone */
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_string_equal(fixture_trace(&f, c), "");
    strbuf_fini(&frame);
    free(filler);
    fixture_fini(&f);
}

static void a_frame_too_short_for_a_header_closes(void **state)
{
    for (uint8_t len = 0; len < 8; len++) {
        uint8_t bytes[12] = {0, 0, 0, len};
        struct server_fixture f;
        struct connection *c;

        (void)state;
        fixture_init(&f, NULL);
        c = fixture_client(&f, 10000);
        fixture_send(&f, c, bytes_of(bytes, 4u + len));
        assert_int_equal(c->state, CONNECTION_CLOSING);
        assert_string_equal(fixture_trace(&f, c), "");
        fixture_fini(&f);
    }
}

/* ---- the end of a connection ---- */

static void an_unknown_operation_in_the_middle_of_a_pipeline_ends_only_its_connection(void **state)
{
    struct server_fixture f;
    struct connection *c, *other;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_add(&b, (struct request){.type = UNKNOWN_OP});
    burst_get(&b, "/");
    burst_set(&b, "/");
    burst_get(&b, "/");
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @3\n2 UNIMPLEMENTED @-1\n");
    assert_int_equal(c->state, CONNECTION_CLOSING);
    server_disconnect(f.server, c);
    assert_idle(f.server);
    f.hold = false;
    assert_int_equal(fixture_ping(&f, other), PAWL_OK);
    fixture_fini(&f);
}

static void a_closing_connection_may_still_have_writes_and_reads_waiting(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_get(&b, "/");
    burst_set(&b, "/");
    strbuf_append(&b.bytes, "\xff\xff\xff\xff", 4); /* a length that is none */
    burst_send(&b, &f, c);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "");
    assert_int_equal(f.server->applied_zxid, 3); /* executed all the same */
    server_disconnect(f.server, c);
    assert_idle(f.server);
    fixture_fini(&f);
}

static void writes_of_a_connection_that_is_gone_are_executed_all_the_same(void **state)
{
    struct server_fixture f;
    struct connection *c, *other;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_add(&b, fixture_create_request("/a", "", 0));
    burst_get(&b, "/a");
    burst_add(&b, fixture_create_request("/a/b", "", CREATE_EPHEMERAL));
    burst_send(&b, &f, c);
    server_disconnect(f.server, c);
    fixture_commit_all(&f);
    assert_idle(f.server);
    f.hold = false;
    assert_int_equal(fixture_exists(&f, other, "/a/b", false), PAWL_OK);
    fixture_fini(&f);
}

static void requests_behind_a_closed_session_are_dropped_without_a_word(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_add(&b, fixture_create_request("/e", "", CREATE_EPHEMERAL));
    burst_get(&b, "/e");
    burst_add(&b, (struct request){.type = OP_CLOSE_SESSION});
    burst_get(&b, "/");
    burst_set(&b, "/");
    burst_add(&b, (struct request){.type = UNKNOWN_OP});
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n2 OK @2\n3 OK @3\n");
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_int_equal(tree_find(f.server->tree, bytes_str("/e")), 0);
    assert_int_equal(tree_n_sessions(f.server->tree), 0);
    assert_null(c->session);
    server_disconnect(f.server, c);
    assert_idle(f.server);
    fixture_fini(&f);
}

/* ---- limits ---- */

static struct server_options few_outstanding(int64_t limit)
{
    struct server_options o = fixture_options();

    o.limits.outstanding_limit = limit;
    return o;
}

static void above_the_outstanding_limit_a_connection_is_not_read(void **state)
{
    struct server_options o = few_outstanding(3);
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    for (int i = 0; i < 10; i++) {
        burst_set(&b, "/");
    }
    burst_send(&b, &f, c);
    assert_true(c->paused);
    assert_int_equal(f.server->n_outstanding, 4);
    fixture_commit_all(&f);
    f.hold = false;
    fixture_ping(&f, c);
    assert_false(c->paused);
    assert_int_equal(f.server->applied_zxid, 11);
    assert_idle(f.server);
    fixture_fini(&f);
}

/* However busy the server is with others, who has nothing in flight is served. */
static void a_connection_goes_on_once_its_own_writes_are_done(void **state)
{
    struct server_options o = few_outstanding(2);
    struct connection *c, *others[8];
    struct server_fixture f;
    struct burst b;

    (void)state;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    for (int i = 0; i < 8; i++) {
        others[i] = fixture_client(&f, 10000);
    }
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_send(&b, &f, c);
    for (int i = 0; i < 8; i++) {
        burst_init(&b);
        burst_set(&b, "/");
        burst_send(&b, &f, others[i]);
    }
    burst_init(&b);
    b.xid = 1;
    burst_get(&b, "/");
    burst_send(&b, &f, c);
    assert_true(c->paused);
    server_commit(f.server, container_of(f.server->in_flight.next, struct proposal, link));
    server_resume(f.server);
    assert_true(f.server->n_outstanding > 2);
    assert_false(c->paused);
    assert_string_equal(fixture_trace(&f, c), "1 OK @10\n2 OK @10\n");
    fixture_fini(&f);
}

static void a_request_that_waited_too_long_is_refused_in_its_place(void **state)
{
    struct server_options o = few_outstanding(1);
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    o.limits.throttled_op_ms = 500;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    for (int i = 0; i < 4; i++) {
        burst_set(&b, "/");
    }
    burst_send(&b, &f, c);
    assert_true(c->paused);
    fixture_advance(&f, 1000);
    server_commit(f.server, container_of(f.server->in_flight.next, struct proposal, link));
    server_resume(f.server);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n"
                                              "2 OK @3\n"
                                              "3 THROTTLED_OP @3\n"
                                              "4 THROTTLED_OP @3\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

static void who_does_not_read_its_answers_is_not_asked_for_more(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    o.limits.output_pause_bytes = 500;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    burst_init(&b);
    for (int i = 0; i < 20; i++) {
        burst_get(&b, "/");
    }
    burst_send(&b, &f, c);
    assert_true(c->paused);
    assert_true(c->out.len < 1000);
    for (int i = 0; i < 20 && c->paused; i++) {
        fixture_take(&f, c);
    }
    assert_false(c->paused);
    assert_idle(f.server);
    fixture_fini(&f);
}

static void what_waits_behind_a_write_is_limited(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct strbuf frame;
    uint8_t *filler = must_zalloc(100000);
    struct burst b;

    (void)state;
    o.limits.output_pause_bytes = 300000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_send(&b, &f, c);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    jute_write_int(&frame, 100008);
    jute_write_int(&frame, 2);
    jute_write_int(&frame, OP_PING);
    strbuf_append(&frame, filler, 100000);
    for (int i = 0; i < 50 && !c->paused; i++) {
        fixture_send(&f, c, strbuf_bytes(&frame));
    }
    assert_true(c->paused);
    assert_true(c->parked.len < 500000);
    f.hold = false;
    fixture_commit_all(&f);
    assert_idle(f.server);
    strbuf_fini(&frame);
    free(filler);
    fixture_fini(&f);
}

static void what_has_been_sent_does_not_stay_in_memory(void **state)
{
    struct server_fixture f;
    struct connection *c, *writer;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    writer = fixture_client(&f, 10000);
    for (int i = 0; i < 30000; i++) { /* a client always one event behind */
        fixture_get(&f, writer, "/", false);
        fixture_exists(&f, writer, "/", false);
        event_write(&c->out, EVENT_CREATED, bytes_str("/some/path/of/some/length"), 1);
        c->out_at = c->out.len - 1;
        server_sent(f.server, c);
    }
    assert_true(c->out.len < 300000);
    fixture_fini(&f);
}

static void a_large_request_counts_until_it_is_committed(void **state)
{
    struct server_options o = fixture_options();
    char data[600] = {0};
    struct server_fixture f;
    struct connection *a, *b;
    struct burst burst;

    (void)state;
    o.limits.large_threshold = 400;
    o.limits.large_max_bytes = 1000;
    fixture_init(&f, &o);
    a = fixture_client(&f, 10000);
    b = fixture_client(&f, 10000);
    memset(data, 'x', sizeof(data) - 1);
    f.hold = true;
    burst_init(&burst);
    burst_add(&burst, fixture_set_request("/", data, -1));
    burst_send(&burst, &f, a);
    assert_true(f.server->large_bytes > 600);
    burst_init(&burst);
    burst_add(&burst, fixture_set_request("/", data, -1));
    burst_send(&burst, &f, b);
    assert_int_equal(b->state, CONNECTION_CLOSING);
    fixture_commit_all(&f);
    server_disconnect(f.server, b);
    assert_idle(f.server);
    burst_init(&burst);
    burst_add(&burst, fixture_set_request("/", data, -1));
    burst_send(&burst, &f, a);
    assert_int_equal(a->state, CONNECTION_SERVING);
    server_disconnect(f.server, a);
    assert_int_equal(f.server->large_bytes, 0);
    fixture_fini(&f);
}

/* A small request must not be able to ask for more than there is memory. */
static void a_multi_read_is_refused_when_its_reply_would_be_too_large(void **state)
{
    struct request nested = fixture_path_request(OP_GET_DATA, "/a");
    struct request q = {.type = OP_MULTI_READ};
    struct server_options o = fixture_options();
    char *data = must_zalloc(100001);
    struct strbuf ops;
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.limits.output_limit_bytes = 5000000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    memset(data, 'x', 100000);
    assert_int_equal(fixture_create(&f, c, "/a", data, 0), PAWL_OK);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    for (int i = 0; i < 1000; i++) {
        multi_header_write(&ops, &(struct multi_header){OP_GET_DATA, false, -1});
        request_write(&ops, op_find(OP_GET_DATA), &nested);
    }
    multi_header_write(&ops, &(struct multi_header){-1, true, -1});
    q.multi = strbuf_bytes(&ops);
    assert_int_equal(fixture_request(&f, c, &q, NULL).err, PAWL_ERR_MARSHALLING);
    assert_true(c->out.capacity < 20000000);
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    strbuf_fini(&ops);
    free(data);
    fixture_fini(&f);
}

static void enforced_authentication_shows_the_door_to_all_but_auth(void **state)
{
    struct request auth = {
        .type = OP_AUTH, .scheme = bytes_str("digest"), .data = bytes_str("bob:pw")};
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.auth.enforced_schemes = "sasl,digest";
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    assert_int_equal(fixture_request(&f, c, &auth, NULL).err, PAWL_OK);
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    c = fixture_client(&f, 10000);
    assert_int_equal(fixture_ping(&f, c), PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

static void a_failed_authentication_is_answered_and_closes(void **state)
{
    struct request auth = {.type = OP_AUTH, .scheme = bytes_str("nobody"), .data = bytes_str("x")};
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    burst_init(&b);
    burst_add(&b, auth);
    burst_get(&b, "/");
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "1 AUTH_FAILED @0\n");
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_come_in_the_order_of_the_requests),
        cmocka_unit_test(a_sync_waits_for_whatever_is_in_flight),
        cmocka_unit_test(who_waits_for_a_sync_may_go),
        cmocka_unit_test(a_read_waits_for_the_writes_of_its_own_connection_only),
        cmocka_unit_test(the_event_of_ones_own_write_comes_before_its_reply),
        cmocka_unit_test(a_watch_set_behind_a_write_in_flight_does_not_fire_for_it),
        cmocka_unit_test(a_write_that_cannot_be_decoded_keeps_its_place_and_takes_no_zxid),
        cmocka_unit_test(ping_and_sync_keep_their_place),
        cmocka_unit_test(auth_is_answered_at_once_even_behind_a_write),
        cmocka_unit_test(frames_may_come_byte_by_byte),
        cmocka_unit_test(a_frame_of_the_limit_is_taken_and_one_above_it_closes),
        cmocka_unit_test(a_frame_too_short_for_a_header_closes),
        cmocka_unit_test(an_unknown_operation_in_the_middle_of_a_pipeline_ends_only_its_connection),
        cmocka_unit_test(a_closing_connection_may_still_have_writes_and_reads_waiting),
        cmocka_unit_test(writes_of_a_connection_that_is_gone_are_executed_all_the_same),
        cmocka_unit_test(requests_behind_a_closed_session_are_dropped_without_a_word),
        cmocka_unit_test(above_the_outstanding_limit_a_connection_is_not_read),
        cmocka_unit_test(a_connection_goes_on_once_its_own_writes_are_done),
        cmocka_unit_test(a_request_that_waited_too_long_is_refused_in_its_place),
        cmocka_unit_test(who_does_not_read_its_answers_is_not_asked_for_more),
        cmocka_unit_test(what_waits_behind_a_write_is_limited),
        cmocka_unit_test(what_has_been_sent_does_not_stay_in_memory),
        cmocka_unit_test(a_large_request_counts_until_it_is_committed),
        cmocka_unit_test(a_multi_read_is_refused_when_its_reply_would_be_too_large),
        cmocka_unit_test(enforced_authentication_shows_the_door_to_all_but_auth),
        cmocka_unit_test(a_failed_authentication_is_answered_and_closes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
