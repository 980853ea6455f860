/* SPDX-License-Identifier: Apache-2.0 */
/* queue_items.h - what is in a node of a queue: Curator's ItemSerializer, byte for byte.
 *
 *     00 01 00 01  { 01  length32  bytes } ...  02
 *
 * Integers are big-endian. What stands behind the 02 is not looked at, as in Curator. */
#ifndef PAWL_RECIPES_QUEUE_QUEUE_ITEMS_H
#define PAWL_RECIPES_QUEUE_QUEUE_ITEMS_H

#include "base/strbuf.h"
#include "pawl/types.h"

void queue_items_write(struct strbuf *out, const struct pawl_bytes *items, size_t n);

/* How many there are, or CORRUPT. After this the calls below cannot fail on the same bytes. */
int queue_items_check(struct bytes node, size_t *n);

/* The item that begins at `*at`, which moves behind it; false: there is no more. Begin with
 * QUEUE_ITEMS_FIRST. */
enum { QUEUE_ITEMS_FIRST = 4 };
bool queue_items_next(struct bytes node, size_t *at, struct pawl_bytes *item);

/* A node with the items that begin at `at`. */
void queue_items_rest(struct bytes node, size_t at, struct strbuf *out);

#endif
