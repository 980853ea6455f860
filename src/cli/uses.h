/* SPDX-License-Identifier: Apache-2.0 */
/* uses.h - whether a path is used in one way only.
 *
 * A plain lock, a read/write lock and a semaphore can stand at one path, and none of them excludes
 * another: whoever finds one there does not hold what it thinks it does. */
#ifndef PAWL_CLI_USES_H
#define PAWL_CLI_USES_H

#include "cli/held.h"

/* PAWL_OK: looked at; `*other` is what `path` is used as besides `kind`, or NULL. A path that does
 * not exist is not used at all. An error: it is not known. */
int uses_find_other(struct pawl_client *c, const char *path, enum held_kind kind,
                    const char **other);

#endif
