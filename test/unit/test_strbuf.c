/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include "lib/test.h"

static void it_grows_as_it_is_filled(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (int i = 0; i < 10000; i++) {
        strbuf_append(&b, "x", 1);
    }
    assert_int_equal(b.len, 10000);
    assert_false(b.failed);
    assert_int_equal(strlen(strbuf_cstr(&b)), 10000);
    strbuf_fini(&b);
}

static void the_limit_is_exact(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 100);
    for (int i = 0; i < 100; i++) {
        strbuf_append(&b, "x", 1);
    }
    assert_false(b.failed);
    strbuf_append(&b, "x", 1);
    assert_true(b.failed);
    assert_int_equal(b.len, 100);
    strbuf_fini(&b);
}

static void after_a_failure_nothing_more_gets_in(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 100);
    strbuf_append_str(&b, "begin ");
    strbuf_append(&b, (char[200]){0}, 200);
    assert_true(b.failed);
    strbuf_append_str(&b, "end"); /* would fit */
    strbuf_printf(&b, "%d", 1);
    assert_int_equal(b.len, 6);
    strbuf_clear(&b);
    strbuf_append_str(&b, "anew");
    assert_false(b.failed);
    assert_str_view(strbuf_bytes(&b), "anew");
    strbuf_fini(&b);
}

static void a_length_that_overflows_fails(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_append_str(&b, "abc");
    assert_false(strbuf_reserve(&b, SIZE_MAX - 1));
    assert_true(b.failed);
    assert_int_equal(b.len, 3);
    strbuf_fini(&b);
}

static void text_is_formatted_behind_what_is_there(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_append_str(&b, "zxid ");
    strbuf_printf(&b, "0x%x of %s", 255, "log.1");
    assert_string_equal(strbuf_cstr(&b), "zxid 0xff of log.1");
    assert_int_equal(b.len, strlen("zxid 0xff of log.1"));
    strbuf_fini(&b);
}

static void an_empty_one_has_an_empty_string(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    assert_string_equal(strbuf_cstr(&b), "");
    strbuf_fini(&b);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    assert_string_equal(strbuf_cstr(&b), "");
    assert_int_equal(b.len, 0);
    strbuf_fini(&b);
}

static void memory_is_given_back_when_asked(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_append(&b, (char[5000]){0}, 5000);
    strbuf_trim(&b, 100); /* not empty: kept */
    assert_int_equal(b.len, 5000);
    strbuf_clear(&b);
    strbuf_trim(&b, 100000);
    assert_true(b.capacity >= 5000);
    strbuf_trim(&b, 100);
    assert_int_equal(b.capacity, 0);
    strbuf_append_str(&b, "usable");
    assert_str_view(strbuf_bytes(&b), "usable");
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_as_it_is_filled),
        cmocka_unit_test(the_limit_is_exact),
        cmocka_unit_test(after_a_failure_nothing_more_gets_in),
        cmocka_unit_test(a_length_that_overflows_fails),
        cmocka_unit_test(text_is_formatted_behind_what_is_there),
        cmocka_unit_test(an_empty_one_has_an_empty_string),
        cmocka_unit_test(memory_is_given_back_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
