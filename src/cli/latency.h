/* SPDX-License-Identifier: Apache-2.0 */
/* latency.h - how long things took: percentiles, and a picture of them.
 *
 * Each power of two of microseconds is split into 16 equal parts, so a time is known to 6 %, and
 * the whole is an array. What takes longer than 2^35 us, nine hours, has one slot for all. */
#ifndef PAWL_CLI_LATENCY_H
#define PAWL_CLI_LATENCY_H

#include <stdint.h>

enum { LATENCY_PARTS = 16, LATENCY_POWERS = 32, LATENCY_SLOTS = LATENCY_PARTS * LATENCY_POWERS };

struct latency {
    uint64_t n;
    uint64_t sum_us, max_us;
    uint64_t slots[LATENCY_SLOTS];
};

void latency_add(struct latency *l, uint64_t us);
void latency_merge(struct latency *into, const struct latency *from);

/* The time within which `share` (0 to 1) of them were done, rounded up within its slot but never
 * above the longest; 0: there were none. */
uint64_t latency_at(const struct latency *l, double share);

/* A line for each power of two from 16 us on that occurs: up to when, how many, and a bar. */
void latency_print(const struct latency *l);

#endif
