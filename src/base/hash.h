/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - hash functions for in-memory tables; nothing on disk or on the wire depends on them. */
#ifndef PAWL_BASE_HASH_H
#define PAWL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes at a time, by 64x64->128 multiplication. */
static inline uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const uint8_t *p = data;
    uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15u);
    uint64_t word;

    while (len >= 8) {
        memcpy(&word, p, 8);
        h = hash_mix(h ^ word, 0xa0761d6478bd642fu);
        p += 8;
        len -= 8;
    }
    if (len > 0) {
        word = 0;
        memcpy(&word, p, len);
        h = hash_mix(h ^ word, 0xe7037ed1a0b428dbu);
    }
    return hash_mix(h, 0x8ebc6af09c88c6e3u);
}

#endif
