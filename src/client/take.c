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

bool take_is_data(struct pawl_bytes data)
{
    return data.data != NULL || data.len == 0;
}

bool take_is_acls(struct pawl_acls acls)
{
    if (acls.items == NULL) {
        return acls.n == 0;
    }
    for (size_t i = 0; i < acls.n; i++) {
        if (acls.items[i].scheme == NULL || acls.items[i].id == NULL) {
            return false;
        }
    }
    return true;
}
