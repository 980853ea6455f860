/* SPDX-License-Identifier: Apache-2.0 */
#include "hist.h"

#include <string.h>

void hist_clear(struct hist *h)
{
    memset(h, 0, sizeof(*h));
}

/* The largest value that lands in bucket `i`: the inverse of hist_index(). */
static uint64_t bucket_top(unsigned i)
{
    unsigned shift;

    if (i < 2 * HIST_SUB) {
        return i;
    }
    shift = (i >> HIST_SUB_BITS) - 1;
    return (((uint64_t)(i & (HIST_SUB - 1)) + HIST_SUB + 1) << shift) - 1;
}

uint64_t hist_quantile_ns(const struct hist *h, double quantile)
{
    uint64_t wanted = (uint64_t)((double)h->count * quantile);
    uint64_t seen = 0;
    unsigned i;

    if (h->count == 0) {
        return 0;
    }
    if (wanted >= h->count) {
        return h->max_ns;
    }
    for (i = 0; i < HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > wanted) {
            return bucket_top(i) < h->max_ns ? bucket_top(i) : h->max_ns;
        }
    }
    return h->max_ns;
}
