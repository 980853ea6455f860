/* SPDX-License-Identifier: Apache-2.0 */
#include "server/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/strbuf.h"

void summary_reset(struct summary *x)
{
    x->min = INT64_MAX;
    x->max = INT64_MIN;
    x->sum = 0;
    x->count = 0;
}

void summary_init(struct summary *x)
{
    summary_reset(x);
    x->sample = NULL;
}

void summary_fini(struct summary *x)
{
    free(x->sample);
    x->sample = NULL;
}

void summary_keep(struct summary *x, size_t slot, int64_t value)
{
    if (x->sample == NULL) {
        x->sample = must_zalloc(SUMMARY_SAMPLE_SIZE * sizeof(*x->sample));
    }
    x->sample[slot] = value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int64_t summary_min(const struct summary *x)
{
    return x->count == 0 ? 0 : x->min;
}

int64_t summary_max(const struct summary *x)
{
    return x->count == 0 ? 0 : x->max;
}

/* ---- percentiles ---- */

/* Milliseconds are small numbers: counting them is ten times as fast as comparing them, and all of
 * this happens while clients wait. */
enum { COUNTED_BELOW = 4096 };

static void sort_by_counting(uint32_t *values, size_t n)
{
    uint16_t counts[COUNTED_BELOW] = {0};
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        counts[values[i]]++;
    }
    for (uint32_t value = 0; at < n; value++) {
        for (uint16_t k = counts[value]; k > 0; k--) {
            values[at++] = value;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int64_t percentile(const uint32_t *sorted, size_t n, double q)
{
    double position = q * (double)(n + 1);
    size_t i = (size_t)position;
    double value;

    if (i < 1) {
        return sorted[0];
    }
    if (i >= n) {
        return sorted[n - 1];
    }
    value = sorted[i - 1] + (position - (double)i) * ((double)sorted[i] - (double)sorted[i - 1]);
    return (int64_t)(value + 0.5);
}

void summary_percentiles(const struct summary *x, const double *q, size_t n, int64_t *out)
{
    size_t kept = x->count < SUMMARY_SAMPLE_SIZE ? (size_t)x->count : SUMMARY_SAMPLE_SIZE;
    uint32_t *sorted;

    if (kept == 0) {
        memset(out, 0, n * sizeof(*out));
        return;
    }
    sorted = must_alloc(kept * sizeof(*sorted));
    memcpy(sorted, x->sample, kept * sizeof(*sorted));
    if (x->min >= 0 && x->max < COUNTED_BELOW) {
        sort_by_counting(sorted, kept);
    } else {
        qsort(sorted, kept, sizeof(*sorted), by_value);
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = percentile(sorted, kept, q[i]);
    }
    free(sorted);
}

/* ---- decimals ---- */

/* Digits d of d * 10^-4, without the zeros at the end: "d1.d2..." times ten to an exponent. */
static void print_scientific(struct strbuf *out, uint64_t units)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, units);
    int exponent = len - 1 - 4;

    while (len > 1 && digits[len - 1] == '0') {
        len--;
    }
    strbuf_printf(out, "%c.%.*sE%d", digits[0], len > 1 ? len - 1 : 1, len > 1 ? digits + 1 : "0",
                  exponent);
}

/* `units` ten-thousandths, as Double.toString() would have it. */
static void print_units(struct strbuf *out, uint64_t units)
{
    char fraction[8];
    int len = 4;

    if ((units > 0 && units < 10) || units >= (uint64_t)10000000 * 10000) {
        print_scientific(out, units);
        return;
    }
    snprintf(fraction, sizeof(fraction), "%04u", (unsigned)(units % 10000));
    while (len > 1 && fraction[len - 1] == '0') {
        len--;
    }
    strbuf_printf(out, "%" PRIu64 ".%.*s", units / 10000, len, fraction);
}

void summary_print_average(struct strbuf *out, int64_t sum, uint64_t count)
{
    __int128_t doubled;
    uint64_t magnitude;

    if (count == 0) {
        strbuf_append_str(out, "0.0");
        return;
    }
    if (sum < 0) {
        strbuf_append_str(out, "-");
    }
    magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    doubled = (__int128_t)magnitude * 20000 / count;
    print_units(out, (uint64_t)((doubled + 1) / 2));
}

void summary_print_ratio(struct strbuf *out, double ratio)
{
    print_units(out, (uint64_t)(ratio * 10000 + 0.5));
}
