/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/prng.h"
#include "lib/test.h"

enum { BYTES = 1024 };

static void fill(uint8_t *data, uint64_t seed)
{
    struct prng prng;

    prng_seed(&prng, seed);
    for (size_t i = 0; i < BYTES; i++) {
        data[i] = (uint8_t)prng_next(&prng);
    }
}

static void equals_zlib_at_every_length_and_offset(void **state)
{
    uint8_t data[BYTES];

    (void)state;
    fill(data, 1);
    for (size_t offset = 0; offset < 17; offset++) {
        for (size_t len = 0; len + offset <= BYTES; len++) {
            assert_int_equal(checksum_crc32(0, data + offset, len),
                             (uint32_t)crc32(0, data + offset, (uInt)len));
        }
    }
}

static void adler_equals_zlib_at_every_length_and_offset(void **state)
{
    uint8_t data[BYTES];

    (void)state;
    fill(data, 3);
    for (size_t offset = 0; offset < 17; offset++) {
        for (size_t len = 0; len + offset <= BYTES; len++) {
            assert_int_equal(checksum_adler32(1, data + offset, len),
                             (uint32_t)adler32(1, data + offset, (uInt)len));
        }
    }
}

/* The largest sums there are, over more than one reduction, from any sum before. */
static void adler_of_long_runs_of_255_does_not_overflow(void **state)
{
    enum { LONG = 40000 };
    uint8_t *data = malloc(LONG);
    uint32_t before = (uint32_t)65520 << 16 | 65520;

    (void)state;
    memset(data, 255, LONG);
    for (size_t len = 5400; len < 5700; len++) {
        assert_int_equal(checksum_adler32(before, data, len),
                         (uint32_t)adler32(before, data, (uInt)len));
    }
    assert_int_equal(checksum_adler32(1, data, LONG), (uint32_t)adler32(1, data, LONG));
    free(data);
}

static void adler_goes_on_from_an_earlier_sum(void **state)
{
    uint8_t data[BYTES];
    uint32_t whole;

    (void)state;
    fill(data, 4);
    whole = checksum_adler32(1, data, BYTES);
    for (size_t cut = 0; cut <= BYTES; cut++) {
        uint32_t first = checksum_adler32(1, data, cut);

        assert_int_equal(checksum_adler32(first, data + cut, BYTES - cut), whole);
    }
}

static void goes_on_from_an_earlier_sum(void **state)
{
    uint8_t data[BYTES];
    uint32_t whole;

    (void)state;
    fill(data, 2);
    whole = checksum_crc32(0, data, BYTES);
    for (size_t cut = 0; cut <= BYTES; cut++) {
        uint32_t first = checksum_crc32(0, data, cut);

        assert_int_equal(checksum_crc32(first, data + cut, BYTES - cut), whole);
    }
}

static void knows_the_check_value_of_crc32(void **state)
{
    (void)state;
    assert_int_equal(checksum_crc32(0, "123456789", 9), 0xcbf43926);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_zlib_at_every_length_and_offset),
        cmocka_unit_test(goes_on_from_an_earlier_sum),
        cmocka_unit_test(adler_equals_zlib_at_every_length_and_offset),
        cmocka_unit_test(adler_of_long_runs_of_255_does_not_overflow),
        cmocka_unit_test(adler_goes_on_from_an_earlier_sum),
        cmocka_unit_test(knows_the_check_value_of_crc32),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
