/* SPDX-License-Identifier: Apache-2.0 */
#include "server/handshake.h"

#include <stdlib.h>

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"

static const uint8_t no_password[PASSWORD_BYTES];

static struct connect_request new_session(int32_t timeout_ms)
{
    return (struct connect_request){.timeout_ms = timeout_ms,
                                    .password = bytes_of(no_password, PASSWORD_BYTES),
                                    .has_read_only = true};
}

static struct bytes say(struct server_fixture *f, struct connection *c,
                        const struct connect_request *r)
{
    struct strbuf frame;

    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, r);
    fixture_send(f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    return fixture_take(f, c);
}

static struct connect_response response_of(struct bytes answer)
{
    struct connect_response r;

    assert_true(answer.len >= 40);
    assert_int_equal(load_u32(answer.data), answer.len - 4);
    assert_true(connect_response_read(bytes_of(answer.data + 4, answer.len - 4), &r));
    return r;
}

/* ---- new sessions ---- */

static void a_new_session_is_answered_when_it_is_committed(void **state)
{
    struct connect_request r = new_session(10000);
    struct connect_response response;
    struct server_fixture f;
    struct connection *c;
    uint8_t password[PASSWORD_BYTES];

    (void)state;
    fixture_init(&f, NULL);
    f.hold = true;
    c = fixture_connect(&f);
    assert_int_equal(say(&f, c, &r).len, 0);
    assert_int_equal(c->state, CONNECTION_JOINING);
    fixture_commit_all(&f);
    assert_int_equal(c->state, CONNECTION_SERVING);
    response = response_of(fixture_take(&f, c));
    assert_int_equal(response.timeout_ms, 10000);
    session_password(response.session_id, password);
    assert_memory_equal(response.password, password, PASSWORD_BYTES);
    assert_true(tree_session_get(f.server->tree, response.session_id, NULL));
    fixture_fini(&f);
}

static void negotiates(const char *row, void *arg)
{
    struct server_fixture *f = arg;
    char *end;
    struct connect_request r = new_session((int32_t)strtol(row, &end, 10));
    struct connection *c = fixture_connect(f);

    assert_int_equal(response_of(say(f, c, &r)).timeout_ms, strtol(end, NULL, 10));
}

static void the_timeout_is_negotiated_as_recorded(void **state)
{
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    assert_int_equal(vectors_table(VECTORS "/client.txt", "timeout-negotiation", negotiates, &f),
                     9);
    fixture_fini(&f);
}

static void a_client_without_the_read_only_byte_gets_none(void **state)
{
    struct connect_request r = new_session(10000);
    struct server_fixture f;
    struct connection *c;

    (void)state;
    r.has_read_only = false;
    fixture_init(&f, NULL);
    c = fixture_connect(&f);
    assert_int_equal(say(&f, c, &r).len, 40);
    fixture_fini(&f);
}

static void a_null_or_empty_password_will_do_for_a_new_session(void **state)
{
    struct bytes passwords[] = {BYTES_NULL, bytes_str("")};
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct connect_request r = new_session(10000);
        struct connection *c = fixture_connect(&f);

        r.password = passwords[i];
        assert_true(response_of(say(&f, c, &r)).session_id != 0);
    }
    fixture_fini(&f);
}

static void who_has_seen_the_future_is_closed_without_a_word(void **state)
{
    struct connect_request r = new_session(10000);
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    fixture_client(&f, 10000);
    r.last_zxid_seen = 1;
    c = fixture_connect(&f);
    assert_int_not_equal(say(&f, c, &r).len, 0);
    r.last_zxid_seen = 3;
    c = fixture_connect(&f);
    assert_int_equal(say(&f, c, &r).len, 0);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

static void a_request_cut_short_closes(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_connect(&f);
    fixture_send(&f, c, bytes_of("\0\0\0\4\0\0\0\0", 8));
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_int_equal(c->out.len, 0);
    fixture_fini(&f);
}

static void without_a_token_there_is_no_session(void **state)
{
    struct server_options o = fixture_options();
    struct connect_request r = new_session(10000);
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.limits.throttle_tokens = 2;
    o.limits.throttle_fill_ms = 1000;
    o.limits.throttle_fill_count = 1;
    fixture_init(&f, &o);
    fixture_client(&f, 10000);
    fixture_client(&f, 10000);
    c = fixture_connect(&f);
    assert_int_equal(say(&f, c, &r).len, 0);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_advance(&f, 1000);
    fixture_client(&f, 10000);
    fixture_fini(&f);
}

static void requests_sent_behind_the_handshake_wait_for_the_session(void **state)
{
    struct connect_request r = new_session(10000);
    struct request get = fixture_path_request(OP_GET_DATA, "/");
    struct server_fixture f;
    struct connection *c;
    struct strbuf bytes;

    (void)state;
    fixture_init(&f, NULL);
    f.hold = true;
    c = fixture_connect(&f);
    strbuf_init(&bytes, STRBUF_NO_LIMIT);
    fixture_connect_frame(&bytes, &r);
    fixture_frame(&bytes, 1, &get);
    fixture_send(&f, c, strbuf_bytes(&bytes));
    strbuf_fini(&bytes);
    assert_true(c->input != INPUT_OPEN);
    assert_int_equal(c->out.len, 0);
    fixture_commit_all(&f);
    assert_int_equal(c->input, INPUT_OPEN);
    assert_int_equal(c->out.len, 41 + 4 + 16 + 4 + 68);
    fixture_fini(&f);
}

/* The length is looked at when its turn comes: behind the answer to the handshake. */
static void nonsense_behind_the_handshake_is_looked_at_after_the_answer(void **state)
{
    struct connect_request r = new_session(10000);
    struct server_fixture f;
    struct connection *c;
    struct strbuf bytes;

    (void)state;
    fixture_init(&f, NULL);
    f.hold = true;
    c = fixture_connect(&f);
    strbuf_init(&bytes, STRBUF_NO_LIMIT);
    fixture_connect_frame(&bytes, &r);
    jute_write_int(&bytes, -1);
    fixture_send(&f, c, strbuf_bytes(&bytes));
    strbuf_fini(&bytes);
    assert_int_equal(c->state, CONNECTION_JOINING);
    fixture_commit_all(&f);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_true(response_of(fixture_take(&f, c)).session_id != 0);
    fixture_fini(&f);
}

static void a_client_that_leaves_before_its_session_is_there_leaves_it_to_expire(void **state)
{
    struct connect_request r = new_session(10000);
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    f.hold = true;
    c = fixture_connect(&f);
    say(&f, c, &r);
    server_disconnect(f.server, c);
    fixture_commit_all(&f);
    assert_int_equal(tree_n_sessions(f.server->tree), 1);
    f.hold = false;
    fixture_advance(&f, 13000);
    assert_int_equal(tree_n_sessions(f.server->tree), 0);
    assert_int_equal(f.server->sessions.sessions.count, 0);
    fixture_fini(&f);
}

static void a_session_that_expires_before_it_is_committed_is_not_valid(void **state)
{
    struct connect_request r = new_session(4000);
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    f.hold = true;
    c = fixture_connect(&f);
    say(&f, c, &r);
    fixture_advance(&f, 7000);
    fixture_commit_all(&f);
    assert_int_equal(response_of(fixture_take(&f, c)).timeout_ms, 0);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_int_equal(f.server->sessions.sessions.count, 0);
    fixture_fini(&f);
}

/* ---- resuming ---- */

static void a_session_is_resumed_with_its_password_and_a_new_timeout(void **state)
{
    struct connect_response response;
    struct server_fixture f;
    struct connection *c;
    int64_t id;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    id = c->session_id;
    server_disconnect(f.server, c);
    c = fixture_resume(&f, id, 20000, &response);
    assert_int_equal(response.session_id, id);
    assert_int_equal(response.timeout_ms, 20000);
    fixture_advance(&f, 15000);
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    fixture_fini(&f);
}

static void a_wrong_password_or_an_unknown_session_is_not_valid(void **state)
{
    struct connect_request r = new_session(10000);
    struct connect_response response;
    struct server_fixture f;
    struct connection *live, *c;

    (void)state;
    fixture_init(&f, NULL);
    live = fixture_client(&f, 10000);
    r.session_id = live->session_id;
    c = fixture_connect(&f);
    response = response_of(say(&f, c, &r));
    assert_int_equal(response.timeout_ms, 0);
    assert_int_equal(response.session_id, 0);
    assert_memory_equal(response.password, no_password, PASSWORD_BYTES);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    /* A stranger does not cut a live client off. */
    assert_int_equal(fixture_ping(&f, live), PAWL_OK);
    c = fixture_resume(&f, 0x1234, 10000, &response);
    assert_int_equal(response.timeout_ms, 0);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

static void resuming_closes_the_older_connection(void **state)
{
    struct request set = fixture_set_request("/", "x", -1);
    struct connect_response response;
    struct server_fixture f;
    struct connection *older, *newer;
    struct strbuf frame;

    (void)state;
    fixture_init(&f, NULL);
    older = fixture_client(&f, 10000);
    f.hold = true;
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 1, &set);
    fixture_send(&f, older, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    newer = fixture_resume(&f, older->session_id, 10000, &response);
    assert_int_equal(response.session_id, older->session_id);
    assert_int_equal(older->state, CONNECTION_CLOSING);
    assert_null(older->session);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, older), "");
    server_disconnect(f.server, older);
    f.hold = false;
    assert_int_equal(fixture_ping(&f, newer), PAWL_OK);
    fixture_fini(&f);
}

static void a_handshake_that_resumes_may_come_in_pieces(void **state)
{
    uint8_t password[PASSWORD_BYTES];
    struct connect_request r = new_session(10000);
    struct request get = fixture_path_request(OP_GET_DATA, "/");
    struct server_fixture f;
    struct connection *c;
    struct strbuf bytes;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    r.session_id = c->session_id;
    session_password(r.session_id, password);
    r.password = bytes_of(password, PASSWORD_BYTES);
    strbuf_init(&bytes, STRBUF_NO_LIMIT);
    fixture_connect_frame(&bytes, &r);
    fixture_frame(&bytes, 1, &get);
    for (size_t cut = 1; cut < bytes.len; cut++) {
        c = fixture_connect(&f);
        fixture_send(&f, c, bytes_of(bytes.data, cut));
        fixture_send(&f, c, bytes_of(bytes.data + cut, bytes.len - cut));
        assert_int_equal(c->state, CONNECTION_SERVING);
        assert_int_equal(fixture_take(&f, c).len, 41 + 4 + 16 + 4 + 68);
        assert_int_equal(c->in.len, 0);
    }
    strbuf_fini(&bytes);
    fixture_fini(&f);
}

/* Whoever knows an id knows its password; the session must not end up with two connections. */
static void a_session_resumed_while_it_is_being_created_belongs_to_the_newcomer(void **state)
{
    struct connect_request r = new_session(4000);
    struct server_fixture f;
    struct connection *c, *newcomer;

    (void)state;
    fixture_init(&f, NULL);
    f.hold = true;
    c = fixture_connect(&f);
    say(&f, c, &r);
    newcomer = fixture_ask_to_resume(&f, c->session_id, 4000);
    assert_int_equal(fixture_take(&f, newcomer).len, 0); /* it is not on disk yet */
    fixture_commit_all(&f);
    assert_int_equal(response_of(fixture_take(&f, newcomer)).timeout_ms, 4000);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_ptr_equal(newcomer->session->connection, newcomer);
    f.hold = false;
    fixture_advance(&f, 7000); /* it expires: nobody may hold on to it */
    assert_null(c->session);
    assert_null(newcomer->session);
    fixture_fini(&f);
}

/* And who is told so finds none of its nodes any more. */
static void a_closing_session_cannot_be_resumed(void **state)
{
    struct request close = {.type = OP_CLOSE_SESSION};
    struct server_fixture f;
    struct connection *c, *late, *gone;
    struct strbuf frame;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 1, &close);
    fixture_send(&f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    late = fixture_ask_to_resume(&f, c->session_id, 10000);
    gone = fixture_ask_to_resume(&f, c->session_id, 10000);
    assert_int_equal(late->state, CONNECTION_JOINING);
    assert_int_equal(fixture_take(&f, late).len, 0);
    server_disconnect(f.server, gone);
    fixture_commit_all(&f);
    assert_int_equal(response_of(fixture_take(&f, late)).timeout_ms, 0);
    assert_int_equal(late->state, CONNECTION_CLOSING);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n");
    fixture_fini(&f);
}

static void credentials_and_watches_stay_with_the_older_connection(void **state)
{
    struct request auth = {
        .type = OP_AUTH, .scheme = bytes_str("digest"), .data = bytes_str("bob:pw")};
    struct connect_response response;
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_request(&f, c, &auth, NULL);
    fixture_get(&f, c, "/", true);
    c = fixture_resume(&f, c->session_id, 10000, &response);
    assert_true(list_empty(&c->watches));
    assert_ptr_equal(c->identity.ids.next->next, &c->identity.ids); /* its address, nothing else */
    fixture_fini(&f);
}

static void who_never_says_anything_is_shown_out(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_connect(&f);
    fixture_advance(&f, 9900);
    assert_int_equal(c->state, CONNECTION_FRESH);
    fixture_advance(&f, 10100);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_session_is_answered_when_it_is_committed),
        cmocka_unit_test(the_timeout_is_negotiated_as_recorded),
        cmocka_unit_test(a_client_without_the_read_only_byte_gets_none),
        cmocka_unit_test(a_null_or_empty_password_will_do_for_a_new_session),
        cmocka_unit_test(who_has_seen_the_future_is_closed_without_a_word),
        cmocka_unit_test(a_request_cut_short_closes),
        cmocka_unit_test(without_a_token_there_is_no_session),
        cmocka_unit_test(requests_sent_behind_the_handshake_wait_for_the_session),
        cmocka_unit_test(nonsense_behind_the_handshake_is_looked_at_after_the_answer),
        cmocka_unit_test(a_client_that_leaves_before_its_session_is_there_leaves_it_to_expire),
        cmocka_unit_test(a_session_that_expires_before_it_is_committed_is_not_valid),
        cmocka_unit_test(a_session_is_resumed_with_its_password_and_a_new_timeout),
        cmocka_unit_test(a_wrong_password_or_an_unknown_session_is_not_valid),
        cmocka_unit_test(resuming_closes_the_older_connection),
        cmocka_unit_test(a_handshake_that_resumes_may_come_in_pieces),
        cmocka_unit_test(a_session_resumed_while_it_is_being_created_belongs_to_the_newcomer),
        cmocka_unit_test(a_closing_session_cannot_be_resumed),
        cmocka_unit_test(credentials_and_watches_stay_with_the_older_connection),
        cmocka_unit_test(who_never_says_anything_is_shown_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
