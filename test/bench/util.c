/* SPDX-License-Identifier: Apache-2.0 */
#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fputs("bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void *must_calloc(size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size);

    if (p == NULL) {
        die("out of memory");
    }
    return p;
}

uint64_t process_cpu_ns(pid_t pid)
{
    char path[64];
    char line[1024];
    const char *after_name;
    unsigned long user, system;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f == NULL || fgets(line, sizeof(line), f) == NULL) {
        die("cannot read %s: the server is gone", path);
    }
    fclose(f);
    /* The name may contain anything, blanks and brackets too: count fields from its last bracket.
     */
    after_name = strrchr(line, ')');
    if (after_name == NULL ||
        sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system) != 2) {
        die("cannot understand %s", path);
    }
    return (uint64_t)(user + system) * (1000000000U / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t own_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

long process_rss_kb(pid_t pid)
{
    char path[64];
    char line[256];
    long kb = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    if (f == NULL) {
        return -1;
    }
    while (kb < 0 && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "VmRSS: %ld", &kb) == 1) {
            break;
        }
    }
    fclose(f);
    return kb;
}
