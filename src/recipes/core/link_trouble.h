/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAWL_RECIPES_CORE_LINK_TROUBLE_H
#define PAWL_RECIPES_CORE_LINK_TROUBLE_H

#include <stdbool.h>

#include "pawl/error.h"

/* The link went and took the answer along; what was asked may be asked again at once, since calls
 * wait for the link. */
static inline bool is_link_trouble(int err)
{
    return err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_SESSION_EXPIRED ||
           err == PAWL_ERR_SESSION_MOVED;
}

#endif
