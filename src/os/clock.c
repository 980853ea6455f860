/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/clock.h"

#include <time.h>

#include "base/assert.h"

static int64_t read_us(clockid_t clock)
{
    struct timespec t;
    int rc;

    rc = clock_gettime(clock, &t);
    ASSERT(rc == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Linux and some BSDs count sleep in CLOCK_BOOTTIME; on macOS CLOCK_MONOTONIC counts it and
 * CLOCK_UPTIME_RAW does not. */
#if defined(CLOCK_BOOTTIME)
enum { COUNTS_SLEEP = CLOCK_BOOTTIME };
#else
enum { COUNTS_SLEEP = CLOCK_MONOTONIC };
#endif
#if defined(CLOCK_UPTIME_RAW)
enum { SKIPS_SLEEP = CLOCK_UPTIME_RAW };
#else
enum { SKIPS_SLEEP = CLOCK_MONOTONIC };
#endif

int64_t clock_boot_ms(void)
{
    return read_us(COUNTS_SLEEP) / 1000;
}

int64_t clock_monotonic_ms(void)
{
    return read_us(SKIPS_SLEEP) / 1000;
}

int64_t clock_monotonic_us(void)
{
    return read_us(SKIPS_SLEEP);
}

int64_t clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}
