/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as people write them, and what is none. */
#define _POSIX_C_SOURCE 200809L
#include "cli/files/when.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/test.h"

#define DAY_MS    INT64_C(86400000)
#define MINUTE_MS INT64_C(60000)

/* 2026-11-15T00:00:00Z */
#define DAY INT64_C(1794700800000)

static void use_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static void assert_zxid(const char *text, int64_t expected)
{
    int64_t zxid = -2;

    assert_true(zxid_parse(text, &zxid));
    assert_true(zxid == expected);
}

static void zxids(void **state)
{
    static const char *const bad[] = {"",
                                      "0x",
                                      "x",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "12a",
                                      "0x1g",
                                      "0x-1",
                                      "0x 1",
                                      "a",
                                      "1.5",
                                      "0x10000000000000000",
                                      "18446744073709551616"};
    int64_t zxid = -2;

    (void)state;
    assert_zxid("0", 0);
    assert_zxid("31", 31);
    assert_zxid("0x1f", 31);
    assert_zxid("0X1F", 31);
    assert_zxid("0x100000000", INT64_C(0x100000000));
    assert_zxid("0xffffffffffffffff", -1); /* ids of sessions are written like this as well */
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(zxid_parse(bad[i], &zxid));
        assert_true(zxid == -2);
    }
}

static void assert_time(const char *text, int64_t from, int64_t to)
{
    struct span span;

    assert_true(time_parse(text, &span));
    assert_true(span.from == from);
    assert_true(span.to == to);
}

static void a_time_is_all_of_what_it_names(void **state)
{
    int64_t at = DAY + 14 * 60 * MINUTE_MS + 30 * MINUTE_MS;

    (void)state;
    use_zone("UTC0");
    assert_time("2026-11-15", DAY, DAY + DAY_MS - 1);
    assert_time("2026-11-15Z", DAY, DAY + DAY_MS - 1);
    assert_time("2026-11-15 14:30", at, at + MINUTE_MS - 1);
    assert_time("2026-11-15T14:30Z", at, at + MINUTE_MS - 1);
    assert_time("2026-11-15 14:30:05", at + 5000, at + 5999);
    assert_time("2026-11-15T14:30:05.1", at + 5100, at + 5100);
    assert_time("2026-11-15T14:30:05.123Z", at + 5123, at + 5123);
    assert_time("2026-11-15T14:30:05.123999Z", at + 5123, at + 5123);
    assert_time("2024-02-29Z", INT64_C(1709164800000), INT64_C(1709164800000) + DAY_MS - 1);
}

static void seconds_since_1970(void **state)
{
    (void)state;
    assert_time("@0", 0, 999);
    assert_time("@1794700800", DAY, DAY + 999);
    assert_time("@1794700800.5", DAY + 500, DAY + 500);
}

static void a_time_is_of_the_local_zone(void **state)
{
    (void)state;
    use_zone("XXX-5:30");
    assert_time("2026-11-15", DAY - 330 * MINUTE_MS, DAY - 330 * MINUTE_MS + DAY_MS - 1);
    assert_time("2026-11-15Z", DAY, DAY + DAY_MS - 1);
    use_zone("UTC0");
}

/* Two days of the year have another number of hours. */
static void a_day_is_as_long_as_it_is(void **state)
{
    const int64_t spring = INT64_C(1774738800000), autumn = INT64_C(1792879200000);

    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    assert_time("2026-03-29", spring, spring + 23 * 60 * MINUTE_MS - 1);
    assert_time("2026-10-25", autumn, autumn + 25 * 60 * MINUTE_MS - 1);
    assert_time("2026-12-31", INT64_C(1798671600000), INT64_C(1798671600000) + DAY_MS - 1);
    use_zone("UTC0");
}

static void what_is_no_time(void **state)
{
    static const char *const bad[] = {
        "",
        "Z",
        "@",
        "@-1",
        "@1.",
        "@1.x",
        "@1 ",
        "@99999999999999999999",
        "@9223372036854775807",
        "yesterday",
        "2026",
        "2026-11",
        "2026-13-01",
        "2026-00-01",
        "2026-11-31",
        "2026-02-29",
        "2026-02-30T10:00Z",
        "2026-11-15 ",
        "2026-11-15x",
        "2026-11-15 14",
        "2026-11-15 24:00",
        "2026-11-15 14:60",
        "2026-11-15 14:30.5",
        "2026-11-15 14:30:05.",
        "2026-11-15 14:30:05,5",
        "2026-11-15 14:30:05ZZ",
        "2026-11-15  14:30",
        " 2026-11-15",
        "2026-11-15T14:30:05.00000000000000000000000000000000000000000000000"};
    struct span span;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (time_parse(bad[i], &span)) {
            fail_msg("'%s' was taken for a time", bad[i]);
        }
    }
}

static void assert_zxid_span(const char *text, int64_t from, int64_t to)
{
    struct span span;

    assert_true(zxid_span_parse(text, &span));
    assert_true(span.from == from);
    assert_true(span.to == to);
}

static void ranges(void **state)
{
    static const char *const bad[] = {"", "5..3", "x..", "..x", "1...2", "1..2..3", "1.2"};
    struct span span = {-2, -2};
    char text[200];

    (void)state;
    assert_zxid_span("5", 5, 5);
    assert_zxid_span("0x3..5", 3, 5);
    assert_zxid_span("5..5", 5, 5);
    assert_zxid_span("3..", 3, INT64_MAX);
    assert_zxid_span("..3", INT64_MIN, 3);
    assert_zxid_span("..", INT64_MIN, INT64_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(zxid_span_parse(bad[i], &span));
    }
    memset(text, '0', sizeof(text));
    strcpy(text + sizeof(text) - 5, "1..2");
    assert_false(zxid_span_parse(text, &span));
    assert_true(span.from == -2 && span.to == -2);
}

static void ranges_of_times(void **state)
{
    struct span span;

    (void)state;
    use_zone("UTC0");
    assert_true(time_span_parse("2026-11-15..2026-11-16", &span));
    assert_true(span.from == DAY && span.to == DAY + 2 * DAY_MS - 1);
    assert_true(time_span_parse("..@1", &span));
    assert_true(span.from == INT64_MIN && span.to == 1999);
    assert_false(time_span_parse("2026-11-16..2026-11-15", &span));
}

static void a_time_is_told_from_a_zxid(void **state)
{
    (void)state;
    assert_true(looks_like_time("2026-11-15"));
    assert_true(looks_like_time("@5"));
    assert_false(looks_like_time("0x5"));
    assert_false(looks_like_time("end"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zxids),
        cmocka_unit_test(a_time_is_all_of_what_it_names),
        cmocka_unit_test(seconds_since_1970),
        cmocka_unit_test(a_time_is_of_the_local_zone),
        cmocka_unit_test(a_day_is_as_long_as_it_is),
        cmocka_unit_test(what_is_no_time),
        cmocka_unit_test(ranges),
        cmocka_unit_test(ranges_of_times),
        cmocka_unit_test(a_time_is_told_from_a_zxid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
