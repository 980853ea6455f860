/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/failing_memory.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static _Atomic long left = LONG_MAX; /* until the first that fails; negative: have failed */
static _Atomic long how_many;

void failing_memory_arm(long n, long count)
{
    atomic_store(&how_many, count);
    atomic_store(&left, n);
}

bool failing_memory_disarm(void)
{
    return atomic_exchange(&left, LONG_MAX) < 0;
}

static bool fails(void)
{
    long n = atomic_fetch_sub(&left, 1);

    return n <= 0 && -n < atomic_load(&how_many);
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}
