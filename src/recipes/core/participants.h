/* SPDX-License-Identifier: Apache-2.0 */
/* participants.h - the inside of pawl_participants(). */
#ifndef PAWL_RECIPES_CORE_PARTICIPANTS_H
#define PAWL_RECIPES_CORE_PARTICIPANTS_H

#include "pawl/grant.h"

/* For recipes, whose own view of the client has no timeout; -1: none. Blocks: not in a step. */
int participants_read(struct pawl_client *c, const char *path, int timeout_ms,
                      struct pawl_participants **out);

#endif
