/* SPDX-License-Identifier: Apache-2.0 */
/* hist.h - latencies, kept so that percentiles can be asked for afterwards.
 *
 * Log-linear, like HdrHistogram: every power of two is split into 64 equal buckets, so a value is
 * known to about 1.6 % whatever its size, recording is a shift and an increment, and the whole
 * thing is a fixed array. */
#ifndef PAWL_BENCH_HIST_H
#define PAWL_BENCH_HIST_H

#include <stdint.h>

enum {
    HIST_SUB_BITS = 6,
    HIST_SUB = 1 << HIST_SUB_BITS,
    HIST_MAX_BITS = 42, /* over an hour in nanoseconds; longer ones land in the last bucket */
    HIST_BUCKETS = (HIST_MAX_BITS - HIST_SUB_BITS + 1) * HIST_SUB
};

struct hist {
    uint64_t count;
    uint64_t max_ns;
    uint64_t buckets[HIST_BUCKETS];
};

void hist_clear(struct hist *h);

/* The value below which `quantile` (0..1) of what was recorded lies; 0 if nothing was. */
uint64_t hist_quantile_ns(const struct hist *h, double quantile);

static inline unsigned hist_index(uint64_t value)
{
    unsigned shift;

    if (value < HIST_SUB) {
        return (unsigned)value;
    }
    shift = 63U - (unsigned)__builtin_clzll(value) - HIST_SUB_BITS;
    if (shift > HIST_MAX_BITS - HIST_SUB_BITS - 1) {
        return HIST_BUCKETS - 1;
    }
    return (shift << HIST_SUB_BITS) + (unsigned)(value >> shift);
}

static inline void hist_record(struct hist *h, uint64_t value_ns)
{
    h->count++;
    h->buckets[hist_index(value_ns)]++;
    if (value_ns > h->max_ns) {
        h->max_ns = value_ns;
    }
}

#endif
