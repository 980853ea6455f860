/* SPDX-License-Identifier: Apache-2.0 */
/* multi.h - several operations as one, for recipes. */
#ifndef PAWL_CLIENT_MULTI_H
#define PAWL_CLIENT_MULTI_H

#include "pawl/client.h"

/* pawl_multi_check() of a path as `c` sees it, whatever view the multi is for. */
void multi_check_of(struct pawl_multi *m, const struct pawl_client *c, const char *path);

#endif
