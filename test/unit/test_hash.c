/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "lib/test.h"

/* SipHash by its definition, with any number of rounds. */
static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t *v, int n)
{
    for (int i = 0; i < n; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t siphash(int c, int d, const uint64_t key[2], const uint8_t *data, size_t len)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};

    for (size_t i = 0; i <= len / 8; i++) {
        uint64_t word = i == len / 8 ? (uint64_t)len << 56 : 0;

        for (size_t k = 0; k < 8 && i * 8 + k < len; k++) {
            word |= (uint64_t)data[i * 8 + k] << 8 * k;
        }
        v[3] ^= word;
        rounds(v, c);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static const uint64_t published_key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

static void it_is_siphash_of_the_salt_and_the_bytes(void **state)
{
    uint8_t data[8 + 64];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)i;
    }
    /* The example in the paper that describes it, of 15 bytes: our definition is the right one. */
    assert_true(siphash(2, 4, published_key, data, 15) == 0xa129ca6149be45e5u);
    hash_set_key(published_key[0], published_key[1]);
    for (size_t len = 0; len <= 64; len++) {
        assert_true(hash_bytes(data + 8, len, 0x0706050403020100u) ==
                    siphash(1, 3, published_key, data, 8 + len));
    }
    assert_true(hash_u64(0x0706050403020100u) == siphash(1, 3, published_key, data, 8));
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
    hash_set_key(1, 2);
    choose(names);
    hash_set_key(1, 3);
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
    hash_set_key(1, 2);
    before = hash_u64(7);
    hash_set_key(5, 2);
    assert_true(hash_u64(7) != before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_siphash_of_the_salt_and_the_bytes),
        cmocka_unit_test(pieces_hash_as_the_whole),
        cmocka_unit_test(names_chosen_for_one_key_are_scattered_under_another),
        cmocka_unit_test(numbers_are_keyed_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
