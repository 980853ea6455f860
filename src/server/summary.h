/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - what a stream of values came to: minimum, maximum, sum, count, and percentiles from a
 * uniform sample (Vitter's algorithm R). */
#ifndef PAWL_SERVER_SUMMARY_H
#define PAWL_SERVER_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

enum { SUMMARY_SAMPLE_SIZE = 4096 };

struct strbuf;

struct summary {
    int64_t min, max, sum;
    uint64_t count;
    uint32_t *sample; /* NULL until the first value is kept */
};

void summary_init(struct summary *x);
void summary_fini(struct summary *x);
void summary_reset(struct summary *x);

static inline void summary_add(struct summary *x, int64_t value)
{
    x->sum += value;
    x->count++;
    if (value < x->min) {
        x->min = value;
    }
    if (value > x->max) {
        x->max = value;
    }
}

void summary_keep(struct summary *x, size_t slot, int64_t value);

/* After summary_add(): keeps the value with the probability it deserves. No division: the dice are
 * a linear congruence, its upper half scaled to the count. */
static inline void summary_sample(struct summary *x, int64_t value, uint64_t *dice)
{
    uint64_t slot = x->count - 1;

    if (slot >= SUMMARY_SAMPLE_SIZE) {
        *dice = *dice * 6364136223846793005u + 1442695040888963407u;
        slot = (uint64_t)((__uint128_t)(*dice >> 32) * x->count >> 32);
    }
    if (slot < SUMMARY_SAMPLE_SIZE) {
        summary_keep(x, (size_t)slot, value);
    }
}

/* 0 when there was no value. */
int64_t summary_min(const struct summary *x);
int64_t summary_max(const struct summary *x);

/* Percentiles `q[i]` (0.5, 0.99) into `out[i]`, interpolated and rounded as ZooKeeper's are. */
void summary_percentiles(const struct summary *x, const double *q, size_t n, int64_t *out);

/* Averages and ratios are shown with up to four decimals, as Java prints a double of such a value:
 * "0.0", "1.7602", "5.0E-4", "1.25E7". */
void summary_print_average(struct strbuf *out, int64_t sum, uint64_t count);
void summary_print_ratio(struct strbuf *out, double ratio);

#endif
