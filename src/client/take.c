/* SPDX-License-Identifier: Apache-2.0 */
#include "client/take.h"

#include <string.h>

#include "base/assert.h"

enum { MOST_BYTES = 4096 }; /* more is memory that nobody has set */

static size_t take_size(const void *from)
{
    size_t size;

    memcpy(&size, from, sizeof(size));
    return size;
}

bool take_is_good(const void *from)
{
    return from == NULL || (take_size(from) > sizeof(size_t) && take_size(from) <= MOST_BYTES);
}

void take_struct(void *to, size_t to_size, const void *from)
{
    size_t size;

    ASSERT(take_is_good(from));
    memset(to, 0, to_size);
    if (from != NULL) {
        size = take_size(from);
        memcpy(to, from, size < to_size ? size : to_size);
    }
}
