/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - recipes by the names of their nodes: ours, Curator's and kazoo's.
 *
 *   _c_UUID-lock-0000000007, UUID__lock__0000000007       a lock, a selector or an election
 *   _c_UUID__READ__0000000007, __WRIT__, __rlock__        a lock for readers and writers
 *   _c_UUID-lease-0000000007 in leases, beside locks      a semaphore
 *   _c_UUID-latch-0000000007                              a leader latch
 *   queue-0000000007, qn-0000000007, entry-100-0000000007 a queue */
#ifndef PAWL_LOOK_PLACES_H
#define PAWL_LOOK_PLACES_H

#include <stdbool.h>

#include <pawl/types.h>

enum place_kind { NO_PLACE, PLACE_LOCK, PLACE_RWLOCK, PLACE_SEMAPHORE, PLACE_LATCH, PLACE_QUEUE };

/* Of one name. */
enum place_kind place_of(const char *name);

/* A place in the queue of those who want the same: not an item of a queue. */
bool place_is_queued(const char *name);

/* What a node with such children is. */
enum place_kind places_of(const struct pawl_strings *children);

/* "lock", "semaphore"; "" of NO_PLACE. */
const char *place_kind_name(enum place_kind kind);

#endif
