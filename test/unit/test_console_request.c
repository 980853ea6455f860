/* SPDX-License-Identifier: Apache-2.0 */
#include "console/request.h"

#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

static void a_cookie_by_its_name(void **state)
{
    char value[8];

    (void)state;
    assert_true(request_cookie("a=1; pawl=xyz; b=2", "pawl", value, sizeof(value)));
    assert_string_equal(value, "xyz");
    assert_true(request_cookie("pawl=", "pawl", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_false(request_cookie("xpawl=1; pawlx=2; pawl", "pawl", value, sizeof(value)));
    assert_false(request_cookie("pawl=12345678", "pawl", value, sizeof(value))); /* too long */
    assert_false(request_cookie("", "pawl", value, sizeof(value)));
}

static void bodies_are_one_flat_object(void **state)
{
    static const char *const bad[] = {"",     "[]",          "1",      "{\"a\":1,\"a\":2}",
                                      "{}{}", "{\"a\":1}\"", "{\"a\"", "[[[[[[[[[[[[[[[[[[]]"};
    json_t *body = request_object(bytes_str("{\"a\": \"[[[[[[[[[[[[\\\"[[[[\"}"));

    (void)state;
    assert_string_equal(request_text(body, "a"), "[[[[[[[[[[[[\"[[[[");
    assert_null(request_text(body, "b"));
    json_decref(body);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(request_object(bytes_str(bad[i])));
    }
    assert_true(request_is_json("application/json"));
    assert_true(request_is_json("Application/JSON; charset=utf-8"));
    assert_false(request_is_json("application/jsonp"));
    assert_false(request_is_json("text/plain"));
    assert_false(request_is_json(NULL));
}

static void numbers_within_bounds(void **state)
{
    static const char *const bad[] = {"",   "x",  "1x", " 1",
                                      "+1", "11", "-1", "99999999999999999999"};
    int64_t n = 7;

    (void)state;
    assert_true(request_number(NULL, 0, 10, 3, &n));
    assert_int_equal(n, 3);
    assert_true(request_number("10", 0, 10, 3, &n));
    assert_int_equal(n, 10);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(request_number(bad[i], 0, 10, 3, &n));
    }
}

static void data_are_base64_or_text(void **state)
{
    static const char *const bad[] = {"{}", "{\"data\": \"%\"}", "{\"data\": \"\", \"text\": \"\"}",
                                      "{\"data\": 1}"};
    json_t *body = request_object(bytes_str("{\"data\": \"AAE=\"}"));
    struct strbuf out;

    (void)state;
    strbuf_init(&out, 100);
    assert_true(request_data(body, &out));
    assert_bytes_equal(strbuf_bytes(&out), bytes_of("\0\1", 2));
    json_decref(body);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        body = request_object(bytes_str(bad[i]));
        assert_false(request_data(body, &out));
        json_decref(body);
    }
    strbuf_fini(&out);
}

static void acls(void **state)
{
    json_t *good =
        json_loads("[{\"scheme\":\"world\",\"id\":\"anyone\",\"perms\":\"ra\"}]", 0, NULL);
    json_t *bad = json_loads("[{\"scheme\":\"world\",\"id\":\"anyone\",\"perms\":\"q\"}]", 0, NULL);
    struct pawl_acls list;

    (void)state;
    assert_true(request_acls(good, 1, &list));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.items[0].perms, PAWL_PERM_READ | PAWL_PERM_ADMIN);
    free((void *)list.items);
    assert_false(request_acls(good, 0, &list));
    assert_false(request_acls(bad, 1, &list));
    assert_false(request_acls(NULL, 1, &list));
    json_decref(good);
    json_decref(bad);
}

static void members(void **state)
{
    struct request_member m;

    (void)state;
    assert_true(request_member(bytes_str("server.3=a.org:2888:3888:observer;2181"), &m));
    assert_int_equal(m.id, 3);
    assert_string_equal(m.host, "a.org");
    assert_int_equal(m.port, 2181);
    assert_true(m.is_observer);
    assert_true(request_member(bytes_str("server.1=a:2888:3888:participant;0.0.0.0:2182"), &m));
    assert_string_equal(m.host, "a");
    assert_int_equal(m.port, 2182);
    assert_false(m.is_observer);
    assert_true(request_member(bytes_str("server.1=[::1]:2888:3888;[::2]:2183"), &m));
    assert_string_equal(m.host, "::2");
    assert_int_equal(m.port, 2183);
    assert_true(request_member(bytes_str("server.1=a:2888:3888"), &m));
    assert_int_equal(m.port, 0);
    assert_false(request_member(bytes_str("version=100000000"), &m));
    assert_false(request_member(bytes_str("server.x=a:1:2"), &m));
    assert_false(request_member(bytes_str("server.1=:1:2"), &m));
    assert_false(request_member(bytes_str("server.1="), &m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_by_its_name),
        cmocka_unit_test(bodies_are_one_flat_object),
        cmocka_unit_test(numbers_within_bounds),
        cmocka_unit_test(data_are_base64_or_text),
        cmocka_unit_test(acls),
        cmocka_unit_test(members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
