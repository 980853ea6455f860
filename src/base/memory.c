/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

void *must_alloc(size_t size)
{
    void *p = malloc(size);

    ASSERT(p != NULL || size == 0);
    return p;
}

void *must_zalloc(size_t size)
{
    void *p = calloc(1, size);

    ASSERT(p != NULL || size == 0);
    return p;
}

void *must_realloc(void *p, size_t size)
{
    p = realloc(p, size);
    ASSERT(p != NULL || size == 0);
    return p;
}

char *must_copy_string(struct bytes b)
{
    char *copy = must_alloc(b.len + 1);

    if (b.len > 0) {
        memcpy(copy, b.data, b.len);
    }
    copy[b.len] = '\0';
    return copy;
}

char *must_strdup(const char *s)
{
    return must_copy_string(bytes_str(s));
}
