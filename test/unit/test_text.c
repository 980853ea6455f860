/* SPDX-License-Identifier: Apache-2.0 */
/* What may be sent to a terminal as it is. */
#include "cli/text.h"

#include "lib/test.h"

static size_t plain(const char *text)
{
    return text_plain((const unsigned char *)text, strlen(text));
}

static void characters(void **state)
{
    (void)state;
    assert_int_equal(plain("a"), 1);
    assert_int_equal(plain(" ~"), 1);
    assert_int_equal(plain("\xc3\xa4x"), 2);
    assert_int_equal(plain("\xc2\xa0"), 2);
    assert_int_equal(plain("\xe2\x82\xac"), 3);
    assert_int_equal(plain("\xf0\x9f\x98\x80"), 4);
}

static void what_a_terminal_obeys(void **state)
{
    (void)state;
    for (unsigned char c = 1; c < 0x20; c++) {
        assert_int_equal(text_plain(&c, 1), 0);
    }
    assert_int_equal(plain("\x7f"), 0);
    assert_int_equal(plain("\x1b[31m"), 0);
    assert_int_equal(plain("\xc2\x80"), 0);
    assert_int_equal(plain("\xc2\x9b"), 0); /* the same as ESC [ */
    assert_int_equal(plain("\xc2\x9f"), 0);
}

/* Written longer than need be, a control character would slip through. */
static void what_is_no_character(void **state)
{
    static const char *const bytes[] = {"\x9b",
                                        "\x80",
                                        "\xff",
                                        "\xc0\x9b",
                                        "\xc1\xbf",
                                        "\xe0\x82\x9b",
                                        "\xe0\x9f\xbf",
                                        "\xf0\x80\x82\x9b",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf5\x80\x80\x80",
                                        "\xc3",
                                        "\xe2\x82",
                                        "\xf0\x9f\x98",
                                        "\xe2x\xac",
                                        "\xe2\x82x"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bytes); i++) {
        assert_int_equal(plain(bytes[i]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters),
        cmocka_unit_test(what_a_terminal_obeys),
        cmocka_unit_test(what_is_no_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
