/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_walk.h - the tree as it is at one zxid, encoded bit by bit while it goes on changing.
 *
 * Beginning takes the sessions, the ACLs and the digest at once; the nodes follow in slices,
 * between which transactions may be applied. A node that is about to change before the walk has
 * come to it is encoded first, in its old form; a node made later is left out. So the result is the
 * tree of exactly one moment, at the cost of one bit per node, without a copy and without a fork.
 *
 * Belongs to the thread that owns the tree. What it encodes is handed over in chunks to the thread
 * that writes the file, see snapshot_write.h. */
#ifndef PAWL_STORE_SNAPSHOT_WALK_H
#define PAWL_STORE_SNAPSHOT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct tree;
struct snapshot_walk;

enum { SNAPSHOT_CHUNK_BYTES = 256 << 10 };

/* A stretch of the file. Whoever takes it frees it. */
struct snapshot_chunk {
    struct list link;
    size_t len;
    uint8_t *data;
};
void snapshot_chunk_free(struct snapshot_chunk *chunk);

/* `zxid` is that of the last transaction applied. One walk of a tree at a time. */
struct snapshot_walk *snapshot_walk_begin(struct tree *tree, int64_t zxid);

/* Encodes up to `budget_nodes` nodes, and stops once they have made `budget_bytes`; true when all
 * are done. */
bool snapshot_walk_step(struct snapshot_walk *w, size_t budget_nodes, size_t budget_bytes);
bool snapshot_walk_is_done(const struct snapshot_walk *w);

/* The next chunk that is full (or, once done, what is left), or NULL. */
struct snapshot_chunk *snapshot_walk_take(struct snapshot_walk *w);

/* Encoded and not taken yet: when the writer lags, the walk can wait. */
size_t snapshot_walk_pending(const struct snapshot_walk *w);

int64_t snapshot_walk_zxid(const struct snapshot_walk *w);
uint64_t snapshot_walk_digest(const struct snapshot_walk *w);

/* Also gives up a walk that is not done. NULL is allowed. */
void snapshot_walk_free(struct snapshot_walk *w);

#endif
