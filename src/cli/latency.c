/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/latency.h"

#include <inttypes.h>
#include <stdio.h>

/* Below LATENCY_PARTS each microsecond has a slot; above, each sixteenth of a power of two. */
static unsigned slot_of(uint64_t us)
{
    unsigned power, slot;

    if (us < LATENCY_PARTS) {
        return (unsigned)us;
    }
    power = 63u - (unsigned)__builtin_clzll(us);
    slot = (power - 3) * LATENCY_PARTS + (unsigned)(us >> (power - 4)) - LATENCY_PARTS;
    return slot < LATENCY_SLOTS ? slot : LATENCY_SLOTS - 1;
}

/* The largest time that goes into a slot. */
static uint64_t top_of(unsigned slot)
{
    unsigned power = slot / LATENCY_PARTS + 3;
    uint64_t part = slot % LATENCY_PARTS;

    return slot < LATENCY_PARTS ? slot : ((LATENCY_PARTS + part + 1) << (power - 4)) - 1;
}

void latency_add(struct latency *l, uint64_t us)
{
    l->n++;
    l->sum_us += us;
    l->max_us = us > l->max_us ? us : l->max_us;
    l->slots[slot_of(us)]++;
}

void latency_merge(struct latency *into, const struct latency *from)
{
    into->n += from->n;
    into->sum_us += from->sum_us;
    into->max_us = from->max_us > into->max_us ? from->max_us : into->max_us;
    for (unsigned i = 0; i < LATENCY_SLOTS; i++) {
        into->slots[i] += from->slots[i];
    }
}

uint64_t latency_at(const struct latency *l, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)l->n), seen = 0;

    for (unsigned i = 0; i < LATENCY_SLOTS; i++) {
        seen += l->slots[i];
        if (seen > wanted || (seen == l->n && seen > 0)) {
            uint64_t top = i < LATENCY_SLOTS - 1 ? top_of(i) : UINT64_MAX;

            return top < l->max_us ? top : l->max_us;
        }
    }
    return 0;
}

/* ---- the picture ---- */

enum { BAR_WIDTH = 50 };

static void print_time(uint64_t us)
{
    if (us < 10000) {
        printf("%7" PRIu64 "us", us);
    } else if (us < 10000000) {
        printf("%7" PRIu64 "ms", us / 1000);
    } else {
        printf("%8" PRIu64 "s", us / 1000000);
    }
}

static uint64_t count_power(const struct latency *l, unsigned power)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < LATENCY_PARTS; i++) {
        n += l->slots[power * LATENCY_PARTS + i];
    }
    return n;
}

void latency_print(const struct latency *l)
{
    uint64_t most = 1, n;

    for (unsigned p = 0; p < LATENCY_POWERS; p++) {
        n = count_power(l, p);
        most = n > most ? n : most;
    }
    for (unsigned p = 0; p < LATENCY_POWERS; p++) {
        n = count_power(l, p);
        if (n == 0) {
            continue;
        }
        fputs("  up to ", stdout);
        print_time(top_of((p + 1) * LATENCY_PARTS - 1) + 1);
        printf(" %10" PRIu64 " ", n);
        for (uint64_t i = 0; i < (n * BAR_WIDTH + most - 1) / most; i++) {
            putchar('#');
        }
        putchar('\n');
    }
}
