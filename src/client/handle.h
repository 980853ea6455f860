/* SPDX-License-Identifier: Apache-2.0 */
/* handle.h - what the application holds: an engine seen with a prefix, a timeout and a retry
 * policy.
 */
#ifndef PAWL_CLIENT_HANDLE_H
#define PAWL_CLIENT_HANDLE_H

#include <stdbool.h>

#include "pawl/client.h"

struct engine;

struct pawl_client {
    struct engine *e;
    bool is_view;
    int timeout_ms; /* -1: none */
    struct pawl_retry retry;
    char *prefix; /* chroot and namespace */
    size_t prefix_len, chroot_len;
};

/* FORKED, BAD_ARGUMENTS or 0. */
int handle_check(const struct pawl_client *c);

/* `name_space` NULL: as `like` has it, if there is one. BAD_ARGUMENTS, NO_MEMORY. */
int handle_new(struct engine *e, const char *name_space, const struct pawl_client *like,
               struct pawl_client **out);
void handle_free(struct pawl_client *c); /* NULL is allowed */

#endif
