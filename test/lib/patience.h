/* SPDX-License-Identifier: Apache-2.0 */
/* patience.h - how tests wait: until something is so, and as long as a busy machine may need.
 *
 * Include lib/test.h before. */
#ifndef PAWL_TEST_PATIENCE_H
#define PAWL_TEST_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { SOON_S = 60, SOON_MS = SOON_S * 1000 };

static inline int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* For calls that are to be quick because somebody is woken: who is forgotten looks by itself once
 * a second. A busy machine makes some of them as slow, so a test counts them among many calls, and
 * waits for a time when they are few. */
static inline bool was_forgotten(int64_t began_ms)
{
    return now_ms() - began_ms >= 500;
}

/* Leaves the machine to those who are waited for. */
static inline void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Polls what cannot be waited for. */
#define wait_until(condition)                                            \
    for (int64_t until_ms_ = now_ms() + SOON_MS; !(condition); rest()) { \
        if (now_ms() >= until_ms_) {                                     \
            fail_msg("waited %d s for " #condition, (int)SOON_S);        \
        }                                                                \
    }

#endif
