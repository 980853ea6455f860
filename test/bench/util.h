/* SPDX-License-Identifier: Apache-2.0 */
/* util.h - clock, CPU and memory of a process, and giving up with a sentence. */
#ifndef PAWL_BENCH_UTIL_H
#define PAWL_BENCH_UTIL_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Allocates zeroed memory or dies: a load generator has nothing to fall back on. */
void *must_calloc(size_t n, size_t size);

/* CPU time, user and system, that process `pid` has used so far. */
uint64_t process_cpu_ns(pid_t pid);

/* The same of this process. */
uint64_t own_cpu_ns(void);

long process_rss_kb(pid_t pid);

static inline uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

#endif
