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

#define CLMUL        __attribute__((target("pclmul,sse4.1")))

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

/* `len` is a multiple of 16 and not 0; `crc` goes in and comes out inverted. */
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
    for (; p < end; p += 16) {
        a = fold(a, keys16, load(p));
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

uint32_t checksum_crc32(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    size_t blocks = len & ~(size_t)15;

    if (!__builtin_cpu_supports("pclmul")) {
        return len == 0 ? crc : (uint32_t)crc32(crc, p, (uInt)len);
    }
    crc = ~crc;
    if (blocks > 0) {
        crc = crc_blocks(crc, p, blocks);
    }
    if (len > blocks) {
        crc = crc_tail(crc, p + blocks, len - blocks);
    }
    return ~crc;
}

#else

uint32_t checksum_crc32(uint32_t crc, const void *data, size_t len)
{
    return len == 0 ? crc : (uint32_t)crc32(crc, data, (uInt)len);
}

#endif
