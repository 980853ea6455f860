/* SPDX-License-Identifier: Apache-2.0 */
/* take.h - structs that the application hands in, each with its size first. */
#ifndef PAWL_CLIENT_TAKE_H
#define PAWL_CLIENT_TAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "pawl/types.h"

/* Whether its size was set; one that is not there (NULL) is good. For BAD_ARGUMENTS otherwise. */
bool take_is_good(const void *from);

/* A copy of what is good. It may come from an older header: what that did not have is zero. */
void take_struct(void *to, size_t to_size, const void *from);
#define TAKE(local, given) take_struct(&(local), sizeof(local), given)

/* What has a length has something there; an ACL is whole. For BAD_ARGUMENTS otherwise. */
bool take_is_data(struct pawl_bytes data);
bool take_is_acls(struct pawl_acls acls);

#endif
