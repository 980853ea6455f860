/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the word cons, as Apache's server prints it. */
#include "look/cons.h"

#include "lib/test.h"

static bool parse(const char *line, struct cons *out)
{
    return cons_parse(line, strlen(line), out);
}

static void a_session(void **state)
{
    struct cons c;

    (void)state;
    assert_true(parse(" /127.0.0.1:57426[1](queued=0,recved=213,sent=214,sid=0x100000f0bc60000,"
                      "lop=GETD,est=1794709447229,to=30000,lcxid=0xd4,lresp=1027690)",
                      &c));
    assert_bytes_equal(bytes_of(c.client, c.client_len), bytes_str("127.0.0.1:57426"));
    assert_true(c.session_id == 0x100000f0bc60000);
    assert_true(c.since_ms == 1794709447229);
    assert_int_equal(c.timeout_ms, 30000);
    assert_int_equal(c.received, 213);
    assert_int_equal(c.answered_ms, 1027690);
    assert_true(parse("/[0:0:0:0:0:0:0:1]:5[1](sid=0x1)", &c));
    assert_bytes_equal(bytes_of(c.client, c.client_len), bytes_str("[0:0:0:0:0:0:0:1]:5"));
    assert_int_equal(c.timeout_ms, -1);
    assert_int_equal(c.answered_ms, -1);
}

static void what_is_none(void **state)
{
    static const char *const lines[] = {" /127.0.0.1:54654[0](queued=0,recved=1,sent=0)",
                                        "",
                                        "/",
                                        "/(",
                                        "/()",
                                        "/a(sid=0x)",
                                        "/a(sid=)",
                                        "/a(sid=0x1",
                                        "sid=0x1",
                                        "/a(xsid=0x1)",
                                        "/a(sid=0xg)"};
    struct cons c;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(lines); i++) {
        assert_false(parse(lines[i], &c));
    }
}

static void numbers_that_are_too_long(void **state)
{
    struct cons c;

    (void)state;
    assert_true(parse("/a(to=99999999999999999999999,sid=0x1,est=x,recved=-1)", &c));
    assert_int_equal(c.timeout_ms, -1);
    assert_int_equal(c.since_ms, -1);
    assert_int_equal(c.received, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session),
        cmocka_unit_test(what_is_none),
        cmocka_unit_test(numbers_that_are_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
