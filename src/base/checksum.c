/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checksum.h"

#include <string.h>
#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

__extension__ typedef unsigned __int128 wide;

/* "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Gopal et al., Intel,
 * 2009): the message is folded 128 bits at a time with precomputed powers of x modulo the
 * polynomial, then reduced to 64 and by Barrett's method to 32 bits. All constants bit-reflected.
 */
#define FOLD_64_LOW  0x0154442bd4 /* x^(4*128+32) */
#define FOLD_64_HIGH 0x01c6e41596 /* x^(4*128-32) */
#define FOLD_16_LOW  0x01751997d0 /* x^(128+32) */
#define FOLD_16_HIGH 0x00ccaa009e /* x^(128-32) */
#define REDUCE_64    0x0163cd6124
#define POLYNOMIAL   0x01db710641
#define BARRETT      0x01f7011641

#define CLMUL        __attribute__((target("pclmul,sse4.1,ssse3")))

CLMUL static inline __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

CLMUL static inline __m128i fold(__m128i sum, __m128i keys, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(sum, keys, 0x00);
    __m128i high = _mm_clmulepi64_si128(sum, keys, 0x11);

    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

CLMUL static uint32_t reduce(__m128i sum)
{
    const __m128i keys16 = _mm_set_epi64x(FOLD_16_HIGH, FOLD_16_LOW);
    const __m128i keys64 = _mm_set_epi64x(0, REDUCE_64);
    const __m128i barrett = _mm_set_epi64x(BARRETT, POLYNOMIAL);
    const __m128i mask = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i t = _mm_clmulepi64_si128(sum, keys16, 0x10);

    sum = _mm_xor_si128(_mm_srli_si128(sum, 8), t);
    t = _mm_srli_si128(sum, 4);
    sum = _mm_clmulepi64_si128(_mm_and_si128(sum, mask), keys64, 0x00);
    sum = _mm_xor_si128(sum, t);
    t = _mm_clmulepi64_si128(_mm_and_si128(sum, mask), barrett, 0x10);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, mask), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, t), 1);
}

/* Sixteen bytes of it from `len` on: an index for a shuffle that moves a block by so many bytes
 * towards its end, and zeros before; from 16 + `len` on, towards its beginning. */
static const uint8_t moves[48] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                  128, 128, 128, 128, 0,   1,   2,   3,   4,   5,   6,   7,
                                  8,   9,   10,  11,  12,  13,  14,  15,  128, 128, 128, 128,
                                  128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128};

/* The same for a mask: the last `len` bytes. */
static const uint8_t last_bytes[32] = {[16] = 255, 255, 255, 255, 255, 255, 255, 255,
                                       255,        255, 255, 255, 255, 255, 255, 255};

/* `len` more bytes, 1 to 15, that end at `end`; the sixteen before `end` may be read. The sum and
 * they are folded as two blocks, of which the first begins with zeros. */
CLMUL static inline __m128i fold_rest(__m128i sum, __m128i keys16, const uint8_t *end, size_t len)
{
    __m128i rest = _mm_and_si128(load(end - 16), load(last_bytes + len));
    __m128i first = _mm_shuffle_epi8(sum, load(moves + len));
    __m128i second = _mm_shuffle_epi8(sum, load(moves + 16 + len));

    return fold(first, keys16, _mm_or_si128(second, rest));
}

/* 16 bytes or more; `crc` goes in and comes out inverted. */
CLMUL static uint32_t crc_blocks(uint32_t crc, const uint8_t *p, size_t len)
{
    const __m128i keys16 = _mm_set_epi64x(FOLD_16_HIGH, FOLD_16_LOW);
    const __m128i keys64 = _mm_set_epi64x(FOLD_64_HIGH, FOLD_64_LOW);
    const uint8_t *end = p + len;
    __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));
    __m128i b, c, d;

    p += 16;
    if (len >= 128) { /* four sums beside each other */
        b = load(p);
        c = load(p + 16);
        d = load(p + 32);
        for (p += 48; end - p >= 64; p += 64) {
            a = fold(a, keys64, load(p));
            b = fold(b, keys64, load(p + 16));
            c = fold(c, keys64, load(p + 32));
            d = fold(d, keys64, load(p + 48));
        }
        a = fold(fold(fold(a, keys16, b), keys16, c), keys16, d);
    }
    for (; end - p >= 16; p += 16) {
        a = fold(a, keys16, load(p));
    }
    if (p < end) {
        a = fold_rest(a, keys16, end, (size_t)(end - p));
    }
    return reduce(a);
}

/* The last `len` bytes of a word of sixteen, from 1 to 15; zeros before them. */
static inline wide load_tail(const uint8_t *p, size_t len)
{
    uint64_t first = 0, last = 0;

    if (len >= 8) {
        memcpy(&first, p, 8);
        memcpy(&last, p + len - 8, 8);
        return (wide)first << 8 * (16 - len) | (wide)last << 64;
    }
    if (len >= 4) {
        memcpy(&first, p, 4);
        memcpy(&last, p + len - 4, 4);
        return (wide)first << 8 * (16 - len) | (wide)last << 96;
    }
    for (size_t i = 0; i < len; i++) {
        last |= (uint64_t)p[i] << 8 * i;
    }
    return (wide)last << 8 * (16 - len);
}

/* Zeros before a message do not change its sum, if what came before is added where it begins: a
 * short rest is one block. Inverted as above. */
CLMUL static uint32_t crc_tail(uint32_t crc, const uint8_t *p, size_t len)
{
    wide block = load_tail(p, len) ^ (wide)crc << 8 * (16 - len);
    uint32_t sum =
        reduce(_mm_set_epi64x((long long)(uint64_t)(block >> 64), (long long)(uint64_t)block));

    return len >= 4 ? sum : sum ^ crc >> 8 * len;
}

/* ---- Adler-32 ----
 *
 * Two sums modulo 65521: `low` of the bytes, and `high` of all that `low` has been. A block of n
 * bytes adds n times the `low` from before it to `high`, and its bytes times n, n - 1, ... 1. The
 * vectors hold parts of the two sums, to be added up at the end; nothing overflows 32 bits within
 * ADLER_STRETCH bytes (zlib's NMAX). */
#define SSSE3 __attribute__((target("ssse3")))

enum { ADLER_PRIME = 65521, ADLER_STRETCH = 5552 / 32 * 32 };

struct adler {
    __m128i low, high;
};

SSSE3 static inline __m128i weighed(__m128i block, __m128i weights)
{
    return _mm_madd_epi16(_mm_maddubs_epi16(block, weights), _mm_set1_epi16(1));
}

SSSE3 static inline void adler_32_bytes(struct adler *a, const uint8_t *p)
{
    const __m128i first =
        _mm_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17);
    const __m128i second = _mm_setr_epi8(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(p + 16));

    a->high = _mm_add_epi32(a->high, _mm_slli_epi32(a->low, 5));
    a->high = _mm_add_epi32(a->high, _mm_add_epi32(weighed(x, first), weighed(y, second)));
    a->low = _mm_add_epi32(a->low, _mm_add_epi32(_mm_sad_epu8(x, _mm_setzero_si128()),
                                                 _mm_sad_epu8(y, _mm_setzero_si128())));
}

/* The last `len` bytes of `block`, from 1 to 16; those before them are 0 and count for nothing. */
SSSE3 static inline void adler_block(struct adler *a, __m128i block, size_t len)
{
    const __m128i weights = _mm_setr_epi8(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    __m128i times = _mm_mul_epu32(a->low, _mm_set1_epi32((int)len));

    a->high = _mm_add_epi32(a->high, _mm_add_epi32(times, weighed(block, weights)));
    a->low = _mm_add_epi32(a->low, _mm_sad_epu8(block, _mm_setzero_si128()));
}

/* Fewer than 32 bytes; `before` of those in front of them may be read. */
SSSE3 static inline void adler_rest(struct adler *a, const uint8_t *p, size_t len, size_t before)
{
    wide few;

    if (len >= 16) {
        adler_block(a, _mm_loadu_si128((const __m128i *)(const void *)p), 16);
        p += 16;
        len -= 16;
        before += 16;
    }
    if (len > 0 && before >= 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(p + len - 16));

        adler_block(a,
                    _mm_and_si128(
                        block, _mm_loadu_si128((const __m128i *)(const void *)(last_bytes + len))),
                    len);
    } else if (len > 0) {
        few = load_tail(p, len);
        adler_block(a, _mm_set_epi64x((long long)(uint64_t)(few >> 64), (long long)(uint64_t)few),
                    len);
    }
}

SSSE3 static inline uint32_t sum_of_parts(__m128i parts)
{
    parts = _mm_add_epi32(parts, _mm_shuffle_epi32(parts, 0x4e));
    parts = _mm_add_epi32(parts, _mm_shuffle_epi32(parts, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(parts);
}

/* At most ADLER_STRETCH bytes. */
SSSE3 static uint32_t adler_stretch(uint32_t sum, const uint8_t *p, size_t len)
{
    struct adler a = {_mm_cvtsi32_si128((int)(sum & 0xffff)), _mm_cvtsi32_si128((int)(sum >> 16))};
    size_t at = 0;

    for (; len - at >= 32; at += 32) {
        adler_32_bytes(&a, p + at);
    }
    adler_rest(&a, p + at, len - at, at);
    return sum_of_parts(a.high) % ADLER_PRIME << 16 | sum_of_parts(a.low) % ADLER_PRIME;
}

uint32_t checksum_adler32(uint32_t sum, const void *data, size_t len)
{
    const uint8_t *p = data;

    if (!__builtin_cpu_supports("ssse3")) {
        return len == 0 ? sum : (uint32_t)adler32_z(sum, p, len);
    }
    for (; len > ADLER_STRETCH; len -= ADLER_STRETCH, p += ADLER_STRETCH) {
        sum = adler_stretch(sum, p, ADLER_STRETCH);
    }
    return len == 0 ? sum : adler_stretch(sum, p, len);
}

uint32_t checksum_crc32(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;

    if (!__builtin_cpu_supports("pclmul")) {
        return len == 0 ? crc : (uint32_t)crc32(crc, p, (uInt)len);
    }
    if (len >= 16) {
        return ~crc_blocks(~crc, p, len);
    }
    return len == 0 ? crc : ~crc_tail(~crc, p, len);
}

#else

uint32_t checksum_adler32(uint32_t sum, const void *data, size_t len)
{
    return len == 0 ? sum : (uint32_t)adler32_z(sum, data, len);
}

uint32_t checksum_crc32(uint32_t crc, const void *data, size_t len)
{
    return len == 0 ? crc : (uint32_t)crc32(crc, data, (uInt)len);
}

#endif
