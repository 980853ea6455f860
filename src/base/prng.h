/* SPDX-License-Identifier: Apache-2.0 */
/* prng.h - xoshiro256**: random numbers from a seed, the same everywhere. Not for secrets. */
#ifndef PAWL_BASE_PRNG_H
#define PAWL_BASE_PRNG_H

#include <stdint.h>

struct prng {
    uint64_t state[4];
};

void prng_seed(struct prng *p, uint64_t seed);
uint64_t prng_next(struct prng *p);

/* Uniform in [0, n); 0 when n is 0. */
uint64_t prng_below(struct prng *p, uint64_t n);

#endif
