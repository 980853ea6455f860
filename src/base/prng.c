/* SPDX-License-Identifier: Apache-2.0 */
#include "base/prng.h"

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

void prng_seed(struct prng *p, uint64_t seed)
{
    for (int i = 0; i < 4; i++) { /* splitmix64, so that a small seed fills all four words */
        uint64_t z = seed += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        p->state[i] = z ^ z >> 31;
    }
}

uint64_t prng_next(struct prng *p)
{
    uint64_t *s = p->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t prng_below(struct prng *p, uint64_t n)
{
    return n == 0 ? 0 : (uint64_t)((__uint128_t)prng_next(p) * n >> 64);
}
