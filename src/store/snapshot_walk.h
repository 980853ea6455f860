/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_walk.h - the tree as it is at one zxid, encoded bit by bit while it goes on changing.
 *
 * What comes out is the middle of a snapshot file (snapshot_format.h): sessions, ACLs, nodes and
 * the end. The file puts its header before and its seals behind that, a learner's stream other
 * things; each of those who want it is a taker (snapshot_taker.h).
 *
 * Beginning takes the sessions, the ACLs and the digest at once; the nodes follow in slices,
 * between which transactions may be applied. A node that is about to change before the walk has
 * come to it is encoded first, in its old form; a node made later is left out. So the result is the
 * tree of exactly one moment, at the cost of one bit per node, without a copy and without a fork.
 *
 * Belongs to the thread that owns the tree. */
#ifndef PAWL_STORE_SNAPSHOT_WALK_H
#define PAWL_STORE_SNAPSHOT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/snapshot_taker.h"

struct tree;
struct snapshot_walk;

enum { SNAPSHOT_CHUNK_BYTES = 256 << 10 };

/* `zxid` is that of the last transaction applied. One walk of a tree at a time. */
struct snapshot_walk *snapshot_walk_begin(struct tree *tree, int64_t zxid);

/* Encodes up to `budget_nodes` nodes, and stops once they have made `budget_bytes`; true when all
 * are done. */
bool snapshot_walk_step(struct snapshot_walk *w, size_t budget_nodes, size_t budget_bytes);
bool snapshot_walk_is_done(const struct snapshot_walk *w);

/* Somebody who gets all of it, and is dropped when it lags by more than `limit_bytes`; SIZE_MAX:
 * never. Before the first step only. The caller frees it, before or after the walk. */
struct snapshot_taker *snapshot_walk_join(struct snapshot_walk *w, size_t limit_bytes);

/* False: nobody wants it any more. */
bool snapshot_walk_is_wanted(const struct snapshot_walk *w);

/* What the taker that is furthest behind has not taken yet: the walk can wait for it. */
size_t snapshot_walk_lag(const struct snapshot_walk *w);

/* Of snapshot_taker.h. */
size_t snapshot_walk_drop_slow(struct snapshot_walk *w, size_t lag_bytes, uint64_t least_bytes);

int64_t snapshot_walk_zxid(const struct snapshot_walk *w);
uint64_t snapshot_walk_digest(const struct snapshot_walk *w);

/* Also gives up a walk that is not done: its takers are LEFT. NULL is allowed. */
void snapshot_walk_free(struct snapshot_walk *w);

#endif
