/* SPDX-License-Identifier: Apache-2.0 */
#include "os/local_hosting.h"

#include <stdatomic.h>
#include <stddef.h>

static const struct local_hosting *_Atomic known;

void local_hosting_set(const struct local_hosting *hosting)
{
    atomic_store(&known, hosting);
}

const struct local_hosting *local_hosting_get(void)
{
    return atomic_load(&known);
}
