/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdlib.h>

#include "lib/test.h"

static void set_key(uint64_t first, uint64_t second)
{
    hash_set_key((uint64_t[HASH_KEY_WORDS]){first << 32, second, first ^ second, second << 7, 5});
}

/* The definition in hash.c, a digit at a time: (x * y + z) modulo 2^61 - 1. */
static uint64_t multiply_add(uint64_t x, uint64_t y, uint64_t z)
{
    const uint64_t prime = (UINT64_C(1) << 61) - 1;
    uint64_t sum = 0;

    for (int bit = 63; bit >= 0; bit--) {
        sum = sum * 2 % prime;
        sum = (sum + (y >> bit & 1) * (x % prime)) % prime;
    }
    return (sum + z) % prime;
}

static uint64_t polynomial(uint64_t point, const uint8_t *data, size_t len, uint64_t salt)
{
    uint64_t sum = multiply_add(multiply_add(1, point, salt >> 32), point, salt & UINT32_MAX);
    size_t at = 0;

    do {
        size_t n = len - at < 7 ? len - at : 7;
        uint64_t word = len - at <= 7 ? UINT64_C(1) << 8 * n : 0;

        for (size_t i = 0; i < n; i++) {
            word |= (uint64_t)data[at + i] << 8 * i;
        }
        sum = multiply_add(sum, point, word);
        at += n;
    } while (at < len);
    return sum;
}

/* With a factor of 2^64 the linear function is the identity, and what is behind it can be undone:
 * there remains the polynomial's value, if not reduced all the way. */
static uint64_t value_of(uint64_t hash)
{
    uint64_t inverse = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < 6; i++) { /* Newton's method, modulo 2^64 */
        inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
    }
    hash ^= hash >> 29 ^ hash >> 58;
    hash *= inverse;
    return hash ^ hash >> 32;
}

static void it_is_a_polynomial_in_the_key(void **state)
{
    const uint64_t salts[] = {0, 7, UINT64_C(0xfedcba9876543210), UINT64_MAX};
    const uint64_t points[] = {0, 3, UINT64_C(0x0123456789abcdef), UINT64_MAX >> 4};
    const uint64_t prime = (UINT64_C(1) << 61) - 1;
    uint8_t data[80];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(255 - i * 7 % 256);
    }
    for (size_t i = 0; i < 16; i++) {
        uint64_t point = points[i / 4], salt = salts[i % 4];

        hash_set_key((uint64_t[HASH_KEY_WORDS]){point << 4, 0, 1, 0, 0});
        for (size_t len = 0; len <= 70; len++) {
            assert_true(value_of(hash_bytes(data + i % 8, len, salt)) % prime ==
                        polynomial(point, data + i % 8, len, salt));
        }
    }
}

static void the_value_goes_through_a_linear_function(void **state)
{
    (void)state;
    /* (a * x + b) / 2^64: a sum of the halves, and the carry out of the lower one */
    hash_set_key((uint64_t[HASH_KEY_WORDS]){0, UINT64_MAX, 0, 0, 0});
    assert_true(value_of(hash_u64(5)) == 4);
    hash_set_key((uint64_t[HASH_KEY_WORDS]){0, UINT64_MAX, 0, 5, 0});
    assert_true(value_of(hash_u64(5)) == 5);
    hash_set_key((uint64_t[HASH_KEY_WORDS]){0, 0, 3, UINT64_MAX, 9});
    assert_true(value_of(hash_u64(5)) == 24);
}

static void zeros_and_ends_tell_strings_apart(void **state)
{
    static const uint8_t zeros[24];

    (void)state;
    set_key(11, 12);
    for (size_t a = 0; a < sizeof(zeros); a++) {
        for (size_t b = 0; b < a; b++) {
            assert_true(hash_bytes(zeros, a, 0) != hash_bytes(zeros, b, 0));
        }
    }
    assert_true(hash_bytes("\1", 1, 0) != hash_bytes("", 0, 0));
    assert_true(hash_bytes("", 0, 1) != hash_bytes("", 0, UINT64_C(1) << 32));
}

enum { NUMBERED = 100000, SLOTS = 1 << 17 };

/* How far one has to look in a table with linear probing, at worst, for names in a row. */
static size_t longest_probe(void)
{
    bool *taken = calloc(SLOTS, sizeof(*taken));
    size_t longest = 0;
    char name[32];

    for (int i = 0; i < NUMBERED; i++) {
        size_t at = hash_bytes(name, (size_t)snprintf(name, sizeof(name), "n-%010d", i), 1);
        size_t n = 0;

        for (; taken[(at + n) % SLOTS]; n++) {
        }
        taken[(at + n) % SLOTS] = true;
        longest = n > longest ? n : longest;
    }
    free(taken);
    return longest;
}

static void numbered_names_do_not_cluster(void **state)
{
    (void)state;
    for (uint64_t key = 1; key < 6; key++) {
        set_key(key * 0x9e3779b97f4a7c15u, key * 0xbf58476d1ce4e5b9u);
        assert_in_range(longest_probe(), 1, 400); /* some 150 to 200 if it were drawn by lot */
    }
}

static void pieces_hash_as_the_whole(void **state)
{
    char text[64] = "/some/where/deep/in/the/tree/with/a/name/that/is/long";
    struct hash_stream s;
    size_t len = strlen(text);

    (void)state;
    for (size_t piece = 1; piece < 20; piece++) {
        hash_stream_begin(&s, 9);
        for (size_t at = 0; at < len; at += piece) {
            hash_stream_add(&s, text + at, at + piece < len ? piece : len - at);
            assert_true(hash_stream_value(&s) ==
                        hash_bytes(text, at + piece < len ? at + piece : len, 9));
        }
    }
}

enum { CHOSEN = 64, MASK = 4095 };

/* Whoever knows the key finds as many names for one bucket as he likes. */
static void choose(char names[CHOSEN][16])
{
    int n = 0;

    for (int i = 0; n < CHOSEN; i++) {
        snprintf(names[n], 16, "n%d", i);
        n += (hash_bytes(names[n], strlen(names[n]), 0) & MASK) == 0 ? 1 : 0;
    }
}

static void names_chosen_for_one_key_are_scattered_under_another(void **state)
{
    static char names[CHOSEN][16];
    static bool taken[MASK + 1];
    int n_buckets = 0;

    (void)state;
    set_key(1, 2);
    choose(names);
    set_key(1, 3);
    for (int i = 0; i < CHOSEN; i++) {
        size_t bucket = hash_bytes(names[i], strlen(names[i]), 0) & MASK;

        n_buckets += taken[bucket] ? 0 : 1;
        taken[bucket] = true;
    }
    assert_true(n_buckets > CHOSEN / 2);
}

static void numbers_are_keyed_too(void **state)
{
    uint64_t before;

    (void)state;
    set_key(1, 2);
    before = hash_u64(7);
    set_key(5, 2);
    assert_true(hash_u64(7) != before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_polynomial_in_the_key),
        cmocka_unit_test(the_value_goes_through_a_linear_function),
        cmocka_unit_test(zeros_and_ends_tell_strings_apart),
        cmocka_unit_test(numbered_names_do_not_cluster),
        cmocka_unit_test(pieces_hash_as_the_whole),
        cmocka_unit_test(names_chosen_for_one_key_are_scattered_under_another),
        cmocka_unit_test(numbers_are_keyed_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
