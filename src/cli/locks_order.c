/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/locks_order.h"

#include <string.h>

static bool is_reader(const struct pawl_participants *all, size_t i)
{
    return strstr(all->items[i]->path, "__READ__") != NULL;
}

bool locks_excludes(const struct pawl_participants *all, size_t ahead, size_t i)
{
    return ahead < i && !(is_reader(all, ahead) && is_reader(all, i));
}

bool locks_waits_behind(const struct pawl_participants *all, size_t i, size_t *ahead)
{
    for (size_t before = i; before-- > 0;) {
        if (locks_excludes(all, before, i)) {
            *ahead = before;
            return true;
        }
    }
    return false;
}
