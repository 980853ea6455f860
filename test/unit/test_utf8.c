/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/utf8.h"

#include "lib/test.h"
#include "lib/vectors.h"

#define R "efbfbd" /* U+FFFD */

/* What `new String(bytes, UTF_8).getBytes(UTF_8)` gives on Java 17. */
static const struct {
    const char *bytes;
    const char *java;
} cases[] = {
    {"2f61", "2f61"},
    {"2fc3a9", "2fc3a9"},
    {"2fe4b8ad", "2fe4b8ad"},
    {"f09f9880", "f09f9880"},
    {"2fff", "2f" R},
    {"80", R},
    {"c0af", R R},
    {"c328", R "28"},
    {"c3", R},
    {"e080af", R R R},
    {"e4b8", R},
    {"e4b82f", R "2f"},
    {"eda080", R}, /* a surrogate is one character */
    {"eda0bdedb880", R R},
    {"f09f98", R},
    {"f09f2f", R "2f"},
    {"f0808080", R R R R},
    {"f4908080", R R R R},
    {"f5808080", R R R R},
    {"f888808080", R R R R R},
};

static void malformed_bytes_are_read_as_java_reads_them(void **state)
{
    uint8_t bytes[64], java[64];
    struct strbuf scratch;

    (void)state;
    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        struct bytes input = bytes_of(bytes, vectors_hex(cases[i].bytes, bytes, sizeof(bytes)));
        struct bytes expected = bytes_of(java, vectors_hex(cases[i].java, java, sizeof(java)));

        assert_bytes_equal(utf8_repaired(input, &scratch), expected);
    }
    strbuf_fini(&scratch);
}

static void one_bad_byte_is_found_wherever_it_is(void **state)
{
    struct strbuf scratch;

    (void)state;
    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    for (size_t len = 1; len < 30; len++) {
        for (size_t at = 0; at < len; at++) {
            uint8_t text[30] = "abcdefghijklmnopqrstuvwxyzabc";

            text[at] = 0xff;
            assert_int_equal(utf8_repaired(bytes_of(text, len), &scratch).len, len + 2);
        }
    }
    strbuf_fini(&scratch);
}

static void what_is_well_formed_is_not_copied(void **state)
{
    struct bytes input = bytes_str("/services/caf\xc3\xa9/\xe4\xb8\xad");
    struct strbuf scratch;

    (void)state;
    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    assert_ptr_equal(utf8_repaired(input, &scratch).data, input.data);
    assert_true(bytes_is_null(utf8_repaired(BYTES_NULL, &scratch)));
    assert_int_equal(scratch.len, 0);
    strbuf_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_bytes_are_read_as_java_reads_them),
        cmocka_unit_test(one_bad_byte_is_found_wherever_it_is),
        cmocka_unit_test(what_is_well_formed_is_not_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
