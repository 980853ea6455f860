/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/request.h"

#include "admin/health.h"
#include "http/origin.h"
#include "lib/test.h"

static void an_authorization_is_a_scheme_and_the_rest(void **state)
{
    struct bytes scheme, data;

    (void)state;
    assert_true(request_authorization("digest bob:a b", &scheme, &data));
    assert_bytes_equal(scheme, bytes_str("digest"));
    assert_bytes_equal(data, bytes_str("bob:a b"));
    assert_true(request_authorization("ip", &scheme, &data));
    assert_bytes_equal(scheme, bytes_str("ip"));
    assert_int_equal(data.len, 0);
    assert_false(request_authorization("", &scheme, &data));
    assert_false(request_authorization(" digest bob:x", &scheme, &data));
}

static void names_that_others_can_have_are_not_plain(void **state)
{
    static const char *const plain[] = {"localhost",   "LocalHost:8080", "127.0.0.1",
                                        "127.0.0.1:1", "[::1]:8080",     "10.1.2.3:8080"};
    static const char *const others[] = {
        "",
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "[evil.example]",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxx"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(plain); i++) {
        assert_true(origin_host_is_plain(plain[i]));
    }
    for (size_t i = 0; i < TEST_COUNT(others); i++) {
        assert_false(origin_host_is_plain(others[i]));
    }
}

static void pages_of_other_sites_are_foreign(void **state)
{
    (void)state;
    assert_false(origin_is_foreign("localhost:8080", NULL, NULL)); /* curl */
    assert_false(origin_is_foreign("localhost:8080", "http://localhost:8080", "same-origin"));
    assert_false(origin_is_foreign("localhost:8080", NULL, "none")); /* typed in */
    assert_true(origin_is_foreign("localhost:8080", NULL, "cross-site"));
    assert_true(origin_is_foreign("localhost:8080", NULL, "same-site"));
    assert_true(origin_is_foreign("localhost:8080", "http://evil.example", NULL));
    assert_true(origin_is_foreign("localhost:8080", "http://localhost:8081", NULL));
    assert_true(origin_is_foreign("localhost:8080", "null", NULL));
    assert_true(origin_is_foreign(NULL, "http://localhost", NULL));
}

static void assert_percentage(const char *body, const char *wrong, int value)
{
    int out = -1;
    const char *said = request_percentage(bytes_str(body), &out);

    if (wrong == NULL) {
        assert_null(said);
        assert_int_equal(out, value);
    } else {
        assert_non_null(said);
        assert_string_equal(said, wrong);
    }
}

static void a_percentage_is_a_whole_number_up_to_100(void **state)
{
    (void)state;
    assert_percentage("{\"percentage\": 0}", NULL, 0);
    assert_percentage(" {\"percentage\" : 100, \"more\" : []} ", NULL, 100);
    assert_percentage("", "Request body is required", 0);
    assert_percentage("{}", "Missing required field: percentage", 0);
    assert_percentage("{\"percentage\": 101}", "Percentage must be between 0 and 100", 0);
    assert_percentage("{\"percentage\": -1}", "Percentage must be between 0 and 100", 0);
    assert_percentage("{\"percentage\": 0.5}", "Percentage must be between 0 and 100", 0);
    assert_percentage("{\"percentage\": \"5\"}", "Percentage must be between 0 and 100", 0);
    for (const char *const *bad = (const char *const[]){"[1]", "50", "{", "{\"percentage\": 1",
                                                        "{\"percentage\":1}x", NULL};
         *bad != NULL; bad++) {
        assert_percentage(*bad,
                          "Invalid JSON or failed to read request body: an object is expected", 0);
    }
}

static void a_long_is_decimal_and_nothing_else(void **state)
{
    int64_t value;

    (void)state;
    assert_true(request_long("306", &value));
    assert_int_equal(value, 306);
    assert_true(request_long("-9223372036854775808", &value));
    assert_true(value == INT64_MIN);
    assert_true(request_long("+1", &value));
    assert_false(request_long("9223372036854775808", &value));
    assert_false(request_long("", &value));
    assert_false(request_long(" 1", &value));
    assert_false(request_long("1 ", &value));
    assert_false(request_long("0x10", &value));
    assert_false(request_long("--1", &value));
}

/* ---- health ---- */

static void assert_health(const struct host_health *h, int64_t now_us, bool live, bool ready,
                          const char *reason)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    assert_int_equal(health_live(h, now_us, &out), live);
    strbuf_clear(&out);
    assert_int_equal(health_ready(h, now_us, &out), ready);
    assert_non_null(strstr(strbuf_cstr(&out), reason));
    assert_non_null(strstr(strbuf_cstr(&out), ready ? "\nready\n" : "\nnot ready\n"));
    strbuf_fini(&out);
}

static void health_says_why_not(void **state)
{
    struct host_health h = {.turned_us = 1000000, .role = ROLE_FOLLOWER, .takes_clients = true};

    (void)state;
    assert_health(NULL, 0, true, false, "[-] loading: the data folder is being read");
    assert_health(&h, 1100000, true, true, "[+] serving: as follower");
    assert_health(&h, 0, true, true, "[+] loop: it turned 0 ms ago");
    assert_health(&h, 1000000 + HEALTH_STUCK_US, false, false,
                  "[-] loop: it turned 30000 ms ago\n[+] serving");
    h.role = ROLE_NONE;
    assert_health(&h, 1100000, true, false, "[-] serving: it looks for a leader");
    h.role = ROLE_READ_ONLY;
    assert_health(&h, 1100000, true, false, "[-] serving: it finds no leader");
    h.role = ROLE_LEADER;
    h.takes_clients = false;
    assert_health(&h, 1100000, true, false, "leaderServes=no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_authorization_is_a_scheme_and_the_rest),
        cmocka_unit_test(names_that_others_can_have_are_not_plain),
        cmocka_unit_test(pages_of_other_sites_are_foreign),
        cmocka_unit_test(a_percentage_is_a_whole_number_up_to_100),
        cmocka_unit_test(a_long_is_decimal_and_nothing_else),
        cmocka_unit_test(health_says_why_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
