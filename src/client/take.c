/* SPDX-License-Identifier: Apache-2.0 */
#include "client/take.h"

#include <string.h>

void take_struct(void *to, size_t to_size, const void *from)
{
    size_t size;

    memset(to, 0, to_size);
    if (from == NULL) {
        return;
    }
    memcpy(&size, from, sizeof(size));
    memcpy(to, from, size < to_size ? size : to_size);
}
