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
    assert_int_equal(s->waiting.n, 0);
    assert_int_equal(server_outstanding(s), 0);
    assert_true(list_empty(&s->paused));
    assert_int_equal(s->large_bytes, 0);
    assert_int_equal(s->proposer->prepare.pending.records.count, 0);
    assert_int_equal(s->proposer->prepare.pending.digest, tree_digest(s->tree));
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

static bool sync_takes_its_time(struct role *r, const struct submission *q)
{
    (void)r;
    (void)q;
    return true;
}

/* Whoever agreed upon a write agreed upon all that its client asked before: a leader's word about
 * the sync may come later. */
static void a_write_behind_a_sync_answers_the_sync_first(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    f.role.sync = sync_takes_its_time;
    burst_init(&b);
    burst_add(&b, fixture_path_request(OP_SYNC, "/"));
    burst_add(&b, fixture_create_request("/a", "1", 0));
    burst_add(&b, fixture_path_request(OP_SYNC, "/"));
    burst_send(&b, &f, c);
    server_commit(f.server, journal_first(&f.journal)->payload);
    journal_pop(&f.journal);
    assert_string_equal(fixture_trace(&f, c), "1 OK @1\n2 OK @2\n");
    server_synced(f.server); /* nobody waits for that any more */
    assert_string_equal(fixture_trace(&f, c), "");
    server_synced(f.server);
    assert_string_equal(fixture_trace(&f, c), "3 OK @2\n");
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

/* ---- the session's order ---- */

/* Recipes look for their node exactly so: create, lose the link, come back, list. */
static void a_resumed_session_sees_what_it_has_in_flight(void **state)
{
    struct connect_response response;
    struct server_fixture f;
    struct connection *c;
    struct burst b;
    int64_t id;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    id = c->session_id;
    f.hold = true;
    burst_init(&b);
    burst_add(&b, fixture_create_request("/a", "", 0));
    burst_send(&b, &f, c);
    server_disconnect(f.server, c);
    c = fixture_resume(&f, id, 10000, &response);
    assert_int_equal(response.session_id, id);
    burst_init(&b);
    b.xid = 1;
    burst_get(&b, "/a");
    burst_add(&b, (struct request){.type = OP_PING});
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "2 OK @2\n-2 OK @2\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

static void so_does_one_that_is_resumed_again_and_again(void **state)
{
    struct connect_response response;
    struct connection *c, *links[3];
    struct server_fixture f;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    links[0] = fixture_client(&f, 10000);
    f.hold = true;
    for (int i = 0; i < 3; i++) { /* each writes, and one of them waits for a read, too */
        burst_init(&b);
        burst_add(&b, fixture_create_request(i == 0 ? "/0" : i == 1 ? "/1" : "/2", "", 0));
        burst_get(&b, "/0");
        burst_send(&b, &f, links[i]);
        c = fixture_resume(&f, links[i]->session_id, 10000, &response);
        assert_int_equal(links[i]->state, CONNECTION_CLOSING);
        if (i < 2) {
            links[i + 1] = c;
        }
    }
    burst_init(&b);
    burst_get(&b, "/2");
    burst_send(&b, &f, c);
    fixture_commit_one(&f);
    fixture_commit_one(&f);
    assert_string_equal(fixture_trace(&f, c), "");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @4\n");
    for (int i = 0; i < 3; i++) {
        server_disconnect(f.server, links[i]);
    }
    assert_idle(f.server);
    fixture_fini(&f);
}

static void a_resumed_session_waits_for_its_own_writes_only(void **state)
{
    struct connect_response response;
    struct connection *c, *other;
    struct server_fixture f;
    struct burst b;
    int64_t id;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    id = c->session_id;
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_send(&b, &f, other);
    server_disconnect(f.server, c);
    c = fixture_resume(&f, id, 10000, &response);
    burst_init(&b);
    burst_get(&b, "/");
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n");
    fixture_fini(&f);
}

/* A watch set again on the new link compares with what the client has seen: its own write counts.
 */
static void watches_are_set_again_behind_what_is_in_flight(void **state)
{
    static const uint8_t path[] = "\0\0\0\2/a";
    struct request again = {.type = OP_SET_WATCHES, .relative_zxid = 2, .n_watch_lists = 3};
    struct connect_response response;
    struct server_fixture f;
    struct connection *c;
    struct burst b;
    int64_t id;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    id = c->session_id;
    fixture_create(&f, c, "/a", "", 0);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/a");
    burst_send(&b, &f, c);
    c = fixture_resume(&f, id, 10000, &response);
    again.watches[0].count = 1;
    again.watches[0].elements = bytes_of(path, sizeof(path) - 1);
    burst_init(&b);
    burst_add(&b, again);
    burst_send(&b, &f, c);
    assert_string_equal(fixture_trace(&f, c), "");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "changed /a @-1\n1 OK @3\n");
    fixture_fini(&f);
}

static void a_request_is_checked_with_the_credentials_that_it_came_with(void **state)
{
    struct request auth = {
        .type = OP_AUTH, .scheme = bytes_str("digest"), .data = bytes_str("bob:pw")};
    static const uint8_t mine[] = "\0\0\0\1\0\0\0\x1f\0\0\0\4auth\0\0\0\0";
    struct request create = fixture_create_request("/a", "", 0);
    struct server_fixture f;
    struct connection *owner, *c;
    struct burst b;

    (void)state;
    fixture_init(&f, NULL);
    owner = fixture_client(&f, 10000);
    fixture_request(&f, owner, &auth, NULL);
    create.acl = (struct acl_list){1, bytes_of(mine + 4, sizeof(mine) - 5)};
    assert_int_equal(fixture_request(&f, owner, &create, NULL).err, PAWL_OK);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_get(&b, "/a");
    burst_add(&b, auth);
    burst_get(&b, "/a");
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "3 OK @0\n1 OK @4\n2 NO_AUTH @4\n4 OK @4\n");
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
    assert_true(c->input != INPUT_OPEN);
    assert_int_equal(server_outstanding(f.server), 4);
    fixture_commit_all(&f);
    f.hold = false;
    fixture_ping(&f, c);
    assert_int_equal(c->input, INPUT_OPEN);
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
    assert_true(c->input != INPUT_OPEN);
    fixture_commit_one(&f);
    server_resume(f.server);
    assert_true(server_outstanding(f.server) > 2);
    assert_int_equal(c->input, INPUT_OPEN);
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
    assert_true(c->input != INPUT_OPEN);
    fixture_advance(&f, 1000);
    fixture_commit_one(&f);
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
    assert_true(c->input != INPUT_OPEN);
    assert_true(c->out.len < 1000);
    for (int i = 0; i < 20 && c->input != INPUT_OPEN; i++) {
        fixture_take(&f, c);
    }
    assert_int_equal(c->input, INPUT_OPEN);
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
    for (int i = 0; i < 50 && c->input == INPUT_OPEN; i++) {
        fixture_send(&f, c, strbuf_bytes(&frame));
    }
    assert_true(c->input != INPUT_OPEN);
    assert_true(parked_bytes(&c->parked) < 500000);
    f.hold = false;
    fixture_commit_all(&f);
    assert_idle(f.server);
    strbuf_fini(&frame);
    free(filler);
    fixture_fini(&f);
}

/* A node of `len` bytes, so that reading it is much. */
static void make_large(struct server_fixture *f, struct connection *c, const char *path, size_t len)
{
    char *data = must_zalloc(len + 1);

    memset(data, 'x', len);
    assert_int_equal(fixture_create(f, c, path, data, 0), PAWL_OK);
    free(data);
}

static void parked_reads_stop_at_the_output_limit_and_go_on_when_the_client_has_read(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct burst b;
    int n = 0;

    (void)state;
    o.limits.output_pause_bytes = 100000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    make_large(&f, c, "/a", 50000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    for (int i = 0; i < 400; i++) {
        burst_get(&b, "/a");
    }
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_true(c->out.len < 200000);
    while (c->out.len > 0) {
        struct jute_reader r = jute_reader_of(fixture_take(&f, c));

        for (; jute_left(&r) > 0; n++) {
            struct jute_reader frame = jute_reader_of(jute_read_buffer(&r));

            assert_int_equal(reply_header_read(&frame).xid, n + 1);
        }
        assert_true(c->out.len < 200000);
    }
    assert_int_equal(n, 401);
    assert_idle(f.server);
    fixture_fini(&f);
}

/* Neither may a read show a write that was asked for after it, nor may its answer be late. */
static void a_write_does_not_overtake_reads_whose_answers_are_long(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    o.limits.output_pause_bytes = 100000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    make_large(&f, c, "/a", 70000);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_get(&b, "/a");
    burst_get(&b, "/a");
    burst_get(&b, "/a");
    burst_set(&b, "/a");
    burst_get(&b, "/a");
    burst_send(&b, &f, c);
    assert_int_equal(f.server->proposer->zxid, 3); /* the second write is not taken yet */
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @3\n2 OK @3\n3 OK @3\n");
    assert_string_equal(fixture_trace(&f, c), "4 OK @3\n");
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "5 OK @4\n6 OK @4\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

/* A share that ends in the middle of the queue does not let a write pass the reads before it. */
static void reads_are_answered_before_a_later_write_of_their_session_is_applied(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    o.limits.turn_units = 300;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    fixture_turn(&f);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    burst_get(&b, "/");
    burst_send(&b, &f, c);
    for (int i = 0; i < 4; i++) {
        fixture_turn(&f);
        burst_init(&b);
        b.xid = 2 + i;
        burst_get(&b, "/");
        burst_send(&b, &f, c);
    }
    fixture_turn(&f);
    burst_init(&b);
    b.xid = 6;
    burst_set(&b, "/");
    burst_get(&b, "/");
    burst_send(&b, &f, c);
    fixture_turn(&f);
    fixture_commit_one(&f);
    assert_int_equal(c->input, INPUT_TURN); /* it has answered some of them */
    assert_true(c->parked.n_requests > 1);
    fixture_commit_all(&f);
    fixture_turn(&f);
    assert_string_equal(fixture_trace(&f, c),
                        "1 OK @2\n2 OK @2\n3 OK @2\n4 OK @2\n5 OK @2\n6 OK @2\n7 OK @3\n8 OK @3\n");
    assert_idle(f.server);
    fixture_fini(&f);
}

/* Bytes that are no request yet do not end the waiting of what is. */
static void half_a_frame_changes_nothing_for_those_that_wait(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    o.limits.turn_units = 1000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    fixture_turn(&f);
    f.hold = true;
    burst_init(&b);
    burst_set(&b, "/");
    for (int i = 0; i < 10; i++) {
        burst_get(&b, "/");
    }
    burst_send(&b, &f, c);
    fixture_commit_all(&f);
    assert_int_equal(c->input, INPUT_TURN);
    fixture_send(&f, c, bytes_of("\0\0\0\x8", 4));
    assert_int_equal(c->input, INPUT_TURN);
    for (int i = 0; i < 10; i++) {
        fixture_turn(&f);
    }
    assert_int_equal(c->parked.n_requests, 0);
    assert_int_equal(c->input, INPUT_OPEN);
    fixture_fini(&f);
}

static void what_one_client_has_in_flight_is_limited(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct burst b;

    (void)state;
    o.limits.in_flight_bytes = 1000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    f.hold = true;
    burst_init(&b);
    for (int i = 0; i < 100; i++) {
        burst_set(&b, "/");
    }
    burst_send(&b, &f, c);
    assert_int_equal(c->input, INPUT_COMMITS);
    assert_true(c->in_flight_bytes < 1200);
    while (c->input != INPUT_OPEN) {
        fixture_commit_all(&f);
        assert_true(c->in_flight_bytes < 1200);
    }
    fixture_commit_all(&f);
    assert_int_equal(f.server->applied_zxid, 101);
    assert_int_equal(c->in_flight_bytes, 0);
    assert_idle(f.server);
    fixture_fini(&f);
}

static void what_one_client_has_in_watches_is_limited(void **state)
{
    struct server_options o = fixture_options();
    struct connection *c, *other;
    struct server_fixture f;
    char path[32];
    int n = 0;

    (void)state;
    o.limits.watch_bytes = 10000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    fixture_get(&f, other, "/", true);
    for (; c->state == CONNECTION_SERVING; n++) {
        snprintf(path, sizeof(path), "/missing%d", n);
        assert_int_equal(fixture_exists(&f, c, path, true), PAWL_ERR_NO_NODE);
        assert_true(n < 200);
    }
    assert_true(n > 50);
    server_disconnect(f.server, c);
    assert_int_equal(watch_count(&f.server->watches), 1);
    assert_true(other->watch_bytes > 0);
    fixture_fini(&f);
}

/* ---- shares ---- */

static size_t n_replies(struct server_fixture *f, struct connection *c)
{
    struct jute_reader r = jute_reader_of(fixture_take(f, c));
    size_t n = 0;

    for (; jute_left(&r) > 0; n++) {
        jute_read_buffer(&r);
    }
    return n;
}

/* One packet of a greedy client; a polite one is served after each turn of it. */
static void expect_shares(struct server_fixture *f, struct burst *b, size_t n_asked, size_t share)
{
    struct connection *greedy = fixture_client(f, 10000), *polite = fixture_client(f, 10000);
    size_t n, total = 0;

    burst_send(b, f, greedy);
    for (;; fixture_turn(f)) {
        fixture_commit_all(f);
        n = n_replies(f, greedy);
        total += n;
        assert_true(n <= share);
        assert_int_equal(fixture_ping(f, polite), PAWL_OK);
        if (greedy->input == INPUT_OPEN) {
            break;
        }
        assert_true(n > 0);
    }
    assert_int_equal(total, n_asked);
    assert_true(n_asked > 4 * share);
    assert_idle(f->server);
    server_disconnect(f->server, greedy);
    server_disconnect(f->server, polite);
}

static void a_greedy_client_gets_its_share_of_a_turn_and_no_more(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct burst b;

    (void)state;
    o.limits.turn_units = 10000;
    fixture_init(&f, &o);
    burst_init(&b);
    for (int i = 0; i < 1000; i++) {
        burst_get(&b, "/");
    }
    expect_shares(&f, &b, 1000, 10000 / 64);
    burst_init(&b);
    burst_set(&b, "/"); /* the same behind a write */
    for (int i = 0; i < 999; i++) {
        burst_get(&b, "/");
    }
    expect_shares(&f, &b, 1000, 10000 / 64);
    fixture_fini(&f);
}

/* A request counts for what it costs, not for its length. */
static void a_costly_request_counts_for_what_it_costs(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    char path[32];
    struct burst b;

    (void)state;
    o.limits.turn_units = 20000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), i < 2 ? "/%d" : "/%d/%d", i & 1, i);
        assert_int_equal(fixture_create(&f, c, path, "", 0), PAWL_OK);
    }
    server_disconnect(f.server, c);
    burst_init(&b);
    for (int i = 0; i < 600; i++) { /* in turns, so that the last count is of no use */
        burst_add(&b, fixture_path_request(OP_GET_ALL_CHILDREN_NUMBER, i & 1 ? "/1" : "/0"));
    }
    expect_shares(&f, &b, 600, 20000 / (49 * 16) + 1);
    fixture_fini(&f);
}

static void a_long_acl_is_gone_through_once_for_all_requests_of_a_client(void **state)
{
    struct request create = fixture_create_request("/a", "", 0);
    struct server_fixture f;
    struct connection *c;
    struct strbuf acl;
    struct burst b;
    int64_t before;

    (void)state;
    fixture_init(&f, NULL);
    strbuf_init(&acl, STRBUF_NO_LIMIT);
    jute_write_int(&acl, 10000);
    for (int i = 0; i < 10000; i++) {
        char ip[32];

        snprintf(ip, sizeof(ip), "10.0.%d.%d", i / 256, i % 256);
        acl_entry_write(&acl, &(struct acl_entry){31, bytes_str("ip"), bytes_str(ip)});
    }
    create.acl = (struct acl_list){10000, bytes_of(acl.data + 4, acl.len - 4)};
    c = fixture_client(&f, 10000);
    assert_int_equal(fixture_request(&f, c, &create, NULL).err, PAWL_OK);
    fixture_turn(&f);
    before = c->spent;
    burst_init(&b);
    for (int i = 0; i < 100; i++) {
        burst_get(&b, "/a");
    }
    burst_send(&b, &f, c);
    assert_true(c->spent >= 16 * (int64_t)acl.len);
    assert_true(c->spent < 17 * (int64_t)acl.len + before);
    assert_string_equal(strrchr(fixture_trace(&f, c), 'N'), "NO_AUTH @2\n");
    strbuf_fini(&acl);
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
        cmocka_unit_test(a_write_behind_a_sync_answers_the_sync_first),
        cmocka_unit_test(who_waits_for_a_sync_may_go),
        cmocka_unit_test(a_read_waits_for_the_writes_of_its_own_connection_only),
        cmocka_unit_test(the_event_of_ones_own_write_comes_before_its_reply),
        cmocka_unit_test(a_watch_set_behind_a_write_in_flight_does_not_fire_for_it),
        cmocka_unit_test(a_write_that_cannot_be_decoded_keeps_its_place_and_takes_no_zxid),
        cmocka_unit_test(ping_and_sync_keep_their_place),
        cmocka_unit_test(auth_is_answered_at_once_even_behind_a_write),
        cmocka_unit_test(frames_may_come_byte_by_byte),
        cmocka_unit_test(a_resumed_session_sees_what_it_has_in_flight),
        cmocka_unit_test(so_does_one_that_is_resumed_again_and_again),
        cmocka_unit_test(a_resumed_session_waits_for_its_own_writes_only),
        cmocka_unit_test(watches_are_set_again_behind_what_is_in_flight),
        cmocka_unit_test(a_request_is_checked_with_the_credentials_that_it_came_with),
        cmocka_unit_test(parked_reads_stop_at_the_output_limit_and_go_on_when_the_client_has_read),
        cmocka_unit_test(a_write_does_not_overtake_reads_whose_answers_are_long),
        cmocka_unit_test(reads_are_answered_before_a_later_write_of_their_session_is_applied),
        cmocka_unit_test(half_a_frame_changes_nothing_for_those_that_wait),
        cmocka_unit_test(what_one_client_has_in_flight_is_limited),
        cmocka_unit_test(what_one_client_has_in_watches_is_limited),
        cmocka_unit_test(a_greedy_client_gets_its_share_of_a_turn_and_no_more),
        cmocka_unit_test(a_costly_request_counts_for_what_it_costs),
        cmocka_unit_test(a_long_acl_is_gone_through_once_for_all_requests_of_a_client),
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
