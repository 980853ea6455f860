/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c - a polynomial, and a pairwise independent function of its value.
 *
 * Salt and bytes are the coefficients of a polynomial modulo the prime 2^61 - 1, of which the key
 * has the point: 1, the two halves of the salt, words of seven bytes, and the rest (one to seven
 * bytes, none if there are none) with a 1 above it. Different inputs are different polynomials, and
 * those agree in at most as many of the 2^60 points as their degree.
 *
 * Of the value x the key has the linear function (a * x + b) / 2^64 modulo 2^64, with a and b of
 * 128 bits: for two different x all pairs of results are equally likely (Dietzfelbinger, 1996), so
 * any bits of it will do as the number of a bucket. A fixed bijection behind it changes nothing of
 * that, and takes names that are numbered off the straight line on which a linear function leaves
 * them, which is where linear probing is bad. */
#include "base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"

#define PRIME ((UINT64_C(1) << 61) - 1)

/* 60 bits, so that a sum below 2^63 stays below 2^63: see hash_word(). */
enum { POINT_SHIFT = 4, WORD_BYTES = 7 };

static struct {
    uint64_t point;
    uint64_t factor_low, factor_high;
    uint64_t addend_low, addend_high;
} the_key = {0x0736f6d657073657u, 0x646f72616e646f6du, 0x6c7967656e657261u, 0x7465646279746573u,
             0x243f6a8885a308d3u};
static atomic_bool the_key_stands;

void hash_set_key(const uint64_t key[HASH_KEY_WORDS])
{
    ASSERT(!atomic_load(&the_key_stands));
    the_key.point = key[0] >> POINT_SHIFT;
    the_key.factor_low = key[1];
    the_key.factor_high = key[2];
    the_key.addend_low = key[3];
    the_key.addend_high = key[4];
}

void hash_fix_key(void)
{
    if (!atomic_load_explicit(&the_key_stands, memory_order_relaxed)) {
        atomic_store(&the_key_stands, true);
    }
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

static inline uint64_t multiply(uint64_t x, uint64_t y, uint64_t *high)
{
    wide product = (wide)x * y;

    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
}
#else
static inline uint64_t multiply(uint64_t x, uint64_t y, uint64_t *high)
{
    uint64_t low = (x & UINT32_MAX) * (y & UINT32_MAX);
    uint64_t cross = (x >> 32) * (y & UINT32_MAX) + (low >> 32);
    uint64_t other = (x & UINT32_MAX) * (y >> 32) + (cross & UINT32_MAX);

    *high = (x >> 32) * (y >> 32) + (cross >> 32) + (other >> 32);
    return other << 32 | (low & UINT32_MAX);
}
#endif

/* sum * point + word, not reduced all the way: the product is below 2^123, so its upper part is
 * below 2^62, its lower one below 2^61, and a word below 2^57. */
static inline uint64_t hash_word(uint64_t sum, uint64_t word)
{
    uint64_t high;
    uint64_t low = multiply(sum, the_key.point, &high);

    return (low & PRIME) + (high << 3 | low >> 61) + word;
}

static inline uint64_t hash_start(uint64_t salt)
{
    return hash_word(the_key.point + (salt >> 32), salt & UINT32_MAX);
}

static inline uint64_t scatter(uint64_t x)
{
    uint64_t high;
    uint64_t low = multiply(x, the_key.factor_low, &high);

    high += x * the_key.factor_high + the_key.addend_high;
    high += low + the_key.addend_low < low ? 1 : 0;
    high = (high ^ high >> 32) * 0x9e3779b97f4a7c15u;
    return high ^ high >> 29;
}

static inline uint64_t hash_end(uint64_t sum, uint64_t tail, unsigned tail_len)
{
    return scatter(hash_word(sum, tail | UINT64_C(1) << 8 * tail_len));
}

/* At most seven bytes, the first one lowest. */
static inline uint64_t load_short(const uint8_t *p, size_t len)
{
    uint64_t word = 0;

    if (len >= 4) {
        word = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
        p += len - 4;
        return word |
               ((uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24)
                   << 8 * (len - 4);
    }
    for (size_t i = 0; i < len; i++) {
        word |= (uint64_t)p[i] << 8 * i;
    }
    return word;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t salt)
{
    const uint8_t *p = data;
    uint64_t sum = hash_start(salt);
    size_t left = len;

    for (; left > WORD_BYTES; left -= WORD_BYTES, p += WORD_BYTES) {
        sum = hash_word(sum, bytes_load_8(p) & UINT64_MAX >> 8);
    }
    if (len > WORD_BYTES) { /* the bytes before the rest may be read, too */
        return hash_end(sum, bytes_load_8(p + left - 8) >> 8 * (8 - left), (unsigned)left);
    }
    return hash_end(sum, load_short(p, left), (unsigned)left);
}

uint64_t hash_u64(uint64_t x)
{
    return scatter(x);
}

void hash_stream_begin(struct hash_stream *s, uint64_t salt)
{
    *s = (struct hash_stream){.sum = hash_start(salt)};
}

void hash_stream_add(struct hash_stream *s, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++) {
        if (s->tail_len == WORD_BYTES) { /* a full rest is a word only if something follows */
            s->sum = hash_word(s->sum, s->tail);
            s->tail = 0;
            s->tail_len = 0;
        }
        s->tail |= (uint64_t)p[i] << 8 * s->tail_len++;
    }
}

uint64_t hash_stream_value(const struct hash_stream *s)
{
    return hash_end(s->sum, s->tail, s->tail_len);
}
