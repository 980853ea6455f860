/* SPDX-License-Identifier: Apache-2.0 */
/* What the passing of time does to sessions and connections: src/server/tick.c. */
#include <stdlib.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "server/pipeline.h"

enum { TIMEOUT_MS = 4000 };

static struct server_options attentive(void)
{
    struct server_options o = fixture_options();

    o.attention_ms = 250;
    return o;
}

/* The clock goes on by `ms` and nobody looks at anything. */
static void be_away(struct server_fixture *f, int64_t ms)
{
    f->now_us += ms * 1000;
    f->wall_ms += ms;
    server_set_time(f->server, f->now_us, f->wall_ms);
}

static void tick_for(struct server_fixture *f, int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        fixture_advance(f, 100);
    }
}

/* ---- sessions ---- */

static void the_time_that_the_server_was_away_is_given_back(void **state)
{
    struct server_options o = attentive();
    struct connect_response response;
    struct server_fixture f;
    struct connection *c;
    int64_t id;

    (void)state;
    fixture_init(&f, &o);
    c = fixture_client(&f, TIMEOUT_MS);
    id = c->session_id;
    for (int i = 0; i < 3; i++) {
        be_away(&f, 10 * TIMEOUT_MS);
        fixture_advance(&f, 1);
    }
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    server_disconnect(f.server, c); /* also for those who come back on a new link */
    be_away(&f, 10 * TIMEOUT_MS);
    fixture_advance(&f, 1);
    tick_for(&f, TIMEOUT_MS / 2);
    fixture_resume(&f, id, TIMEOUT_MS, &response);
    assert_int_equal(response.session_id, id);
    tick_for(&f, TIMEOUT_MS + 2100); /* but silence is silence */
    assert_int_equal(tree_n_sessions(f.server->tree), 0);
    fixture_fini(&f);
}

/* A turn took long; this client's ping arrived after its socket was looked at. */
static void silence_is_judged_as_of_the_last_look(void **state)
{
    struct server_fixture f;
    struct connection *c;
    int64_t looked_us;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, TIMEOUT_MS);
    looked_us = f.now_us;
    be_away(&f, 10 * TIMEOUT_MS);
    server_tick(f.server, looked_us);
    assert_int_equal(fixture_in_flight(&f), 0);
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    server_tick(f.server, f.now_us);
    assert_int_equal(fixture_in_flight(&f), 0);
    fixture_fini(&f);
}

/* Its pings may lie where we do not look, because we do not. */
static void whoever_is_not_read_from_is_not_silent(void **state)
{
    struct server_options o = fixture_options();
    struct request set = fixture_set_request("/", "x", -1);
    struct server_fixture f;
    struct connection *c;
    struct strbuf frames;

    (void)state;
    o.limits.outstanding_limit = 1;
    fixture_init(&f, &o);
    c = fixture_client(&f, TIMEOUT_MS);
    f.hold = true;
    strbuf_init(&frames, STRBUF_NO_LIMIT);
    for (int i = 1; i < 5; i++) {
        fixture_frame(&frames, i, &set);
    }
    fixture_send(&f, c, strbuf_bytes(&frames));
    strbuf_fini(&frames);
    assert_int_equal(c->input, INPUT_COMMITS);
    tick_for(&f, 5 * TIMEOUT_MS); /* the disk takes its time */
    while (fixture_in_flight(&f) > 0) {
        fixture_commit_all(&f);
    }
    f.hold = false;
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    tick_for(&f, TIMEOUT_MS + 2100);
    assert_int_equal(tree_n_sessions(f.server->tree), 0);
    fixture_fini(&f);
}

/* ---- those who do not read ---- */

/* A client whose answers are longer than it may leave unread. */
static struct connection *asks_for_much(struct server_fixture *f)
{
    struct connection *c = fixture_client(f, TIMEOUT_MS);
    struct request get = fixture_path_request(OP_GET_DATA, "/a");
    char *data = must_zalloc(500001);
    struct strbuf frame;

    memset(data, 'x', 500000);
    assert_int_equal(fixture_create(f, c, "/a", data, 0), PAWL_OK);
    free(data);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 99, &get);
    fixture_frame(&frame, 100, &get);
    fixture_send(f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    assert_true(connection_unread(c) > 500000);
    return c;
}

static struct server_options small_output(void)
{
    struct server_options o = fixture_options();

    o.limits.output_pause_bytes = 10000;
    o.limits.output_limit_bytes = 100000;
    return o;
}

static void who_reads_a_long_answer_slowly_may_take_its_time(void **state)
{
    struct server_options o = small_output();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, &o);
    c = asks_for_much(&f);
    while (connection_unread(c) > 10000) { /* for minutes, and its pings are not read meanwhile */
        c->out_at += 5000;
        server_sent(f.server, c);
        tick_for(&f, 1000);
        assert_int_equal(c->state, CONNECTION_SERVING);
    }
    fixture_take(&f, c);
    assert_int_equal(fixture_ping(&f, c), PAWL_OK);
    fixture_fini(&f);
}

static void who_takes_nothing_of_too_much_is_dropped(void **state)
{
    struct server_options o = small_output();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.max_session_timeout_ms = 1000000;
    fixture_init(&f, &o);
    c = asks_for_much(&f);
    c->session->timeout_ms = 1000000; /* not for its silence */
    tracker_touch(&f.server->tracker, c->session, server_now_ms(f.server));
    tick_for(&f, 9000);
    assert_int_equal(c->state, CONNECTION_SERVING);
    tick_for(&f, 2000);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_int_equal(connection_unread(c), 0);
    fixture_fini(&f);
}

/* Answers wait for the reader, events do not: those have a limit of their own. */
static void unread_events_beside_a_long_answer_are_limited(void **state)
{
    struct server_options o = small_output();
    struct server_fixture f;
    struct connection *c;
    char path[200];

    (void)state;
    fixture_init(&f, &o);
    c = asks_for_much(&f);
    memset(path, 'p', sizeof(path));
    while (connection_unread(c) <= c->largest_answer + 90000) {
        event_write(&c->out, EVENT_CREATED, bytes_of(path, sizeof(path)), 1);
    }
    fixture_advance(&f, 100);
    assert_int_equal(c->state, CONNECTION_SERVING);
    while (connection_unread(c) <= c->largest_answer + 100000) {
        event_write(&c->out, EVENT_CREATED, bytes_of(path, sizeof(path)), 1);
    }
    fixture_advance(&f, 100);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

/* The last words of a connection, such as a long `dump`, on a slow link. */
static void the_last_answer_of_a_connection_may_take_as_long_as_it_is_read(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_connect(&f);
    fixture_send(&f, c, bytes_str("envi"));
    assert_int_equal(c->state, CONNECTION_CLOSING);
    while (connection_unread(c) > 20) {
        tick_for(&f, 1900);
        assert_true(connection_unread(c) > 0);
        c->out_at += 20;
        server_sent(f.server, c);
    }
    tick_for(&f, 2300);
    assert_int_equal(connection_unread(c), 0); /* given up */
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_that_the_server_was_away_is_given_back),
        cmocka_unit_test(silence_is_judged_as_of_the_last_look),
        cmocka_unit_test(whoever_is_not_read_from_is_not_silent),
        cmocka_unit_test(who_reads_a_long_answer_slowly_may_take_its_time),
        cmocka_unit_test(who_takes_nothing_of_too_much_is_dropped),
        cmocka_unit_test(unread_events_beside_a_long_answer_are_limited),
        cmocka_unit_test(the_last_answer_of_a_connection_may_take_as_long_as_it_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
