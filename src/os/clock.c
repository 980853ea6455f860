/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/clock.h"

#include <time.h>

#include "base/assert.h"

static int64_t read_us(clockid_t clock)
{
    struct timespec t;

    ASSERT(clock_gettime(clock, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_monotonic_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_monotonic_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}
