/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

static void a_connection_goes_through_its_states(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_connect(&f);
    assert_int_equal(c->state, CONNECTION_FRESH);
    c->session_id = 1;
    connection_move(f.server, c, CONNECTION_JOINING);
    assert_ptr_equal(server_next_touched(f.server), c);
    connection_close_after_flush(f.server, c);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_ptr_equal(server_next_touched(f.server), c);
    connection_close_after_flush(f.server, c); /* once is enough */
    assert_null(server_next_touched(f.server));
    fixture_fini(&f);
}

static void who_waits_is_on_the_list_and_the_io_side_is_told(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    connection_set_input(f.server, c, INPUT_TURN);
    assert_int_equal(f.server->n_want_turn, 1);
    assert_ptr_equal(server_next_touched(f.server), c);
    connection_set_input(f.server, c, INPUT_OUTPUT); /* still waits: nothing to do for the link */
    assert_int_equal(f.server->n_want_turn, 0);
    assert_null(server_next_touched(f.server));
    assert_false(list_empty(&f.server->paused));
    connection_set_input(f.server, c, INPUT_OPEN);
    assert_true(list_empty(&f.server->paused));
    assert_ptr_equal(server_next_touched(f.server), c);
    connection_check(c);
    fixture_fini(&f);
}

static void closing_ends_all_waiting(void **state)
{
    struct request sync = fixture_path_request(OP_SYNC, "/");
    struct request set = fixture_set_request("/", "x", -1);
    struct server_fixture f;
    struct connection *c, *writer;
    struct strbuf frame;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    writer = fixture_client(&f, 10000);
    f.hold = true;
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 1, &set);
    fixture_send(&f, writer, strbuf_bytes(&frame));
    strbuf_clear(&frame);
    fixture_frame(&frame, 1, &sync);
    fixture_send(&f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    assert_false(list_empty(&c->waits));
    connection_set_input(f.server, c, INPUT_TURN);
    connection_close_after_flush(f.server, c);
    assert_true(list_empty(&c->waits));
    assert_true(list_empty(&f.server->paused));
    assert_int_equal(f.server->n_want_turn, 0);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_goes_through_its_states),
        cmocka_unit_test(who_waits_is_on_the_list_and_the_io_side_is_told),
        cmocka_unit_test(closing_ends_all_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
