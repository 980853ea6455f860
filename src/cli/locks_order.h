/* SPDX-License-Identifier: Apache-2.0 */
/* locks_order.h - who in the queue of a lock waits for whom. */
#ifndef PAWL_CLI_LOCKS_ORDER_H
#define PAWL_CLI_LOCKS_ORDER_H

#include <stdbool.h>

#include <pawl/grant.h>

/* Whether `i`, which is behind `ahead`, cannot hold the lock before that has gone. Readers before
 * the first writer share a read/write lock. */
bool locks_excludes(const struct pawl_participants *all, size_t ahead, size_t i);

/* The nearest one ahead of `i` that excludes it. False: there is none, `i` holds the lock. */
bool locks_waits_behind(const struct pawl_participants *all, size_t i, size_t *ahead);

#endif
