/* SPDX-License-Identifier: Apache-2.0 */
/* pending.h - the tree as it will be when everything in flight has been applied.
 *
 * A write is checked against this, so that pipelined writes see each other. A node that some
 * transaction in flight changes has a record here; all others are as the tree has them. A record
 * belongs to the last transaction that touched it and goes when that one is applied.
 *
 * The digest of each node after each transaction is known here, and handed to the tree when the
 * transaction is applied, so that it is computed once. */
#ifndef PAWL_SERVER_PENDING_H
#define PAWL_SERVER_PENDING_H

#include "base/list.h"
#include "base/map.h"
#include "store/tree.h"

/* The digests of nodes after transactions in flight, the oldest first. */
struct pending_digests {
    struct foreseen_digest *items;
    size_t first, end, capacity;
};

struct pending_table {
    struct tree *tree;
    struct map records;
    struct list by_zxid;  /* the same records: who was touched last stands last */
    int64_t applied_zxid; /* the tree has everything up to here */
    uint64_t digest;      /* of the tree as it will be */
    bool with_digest;
    struct pending_digests digests; /* of transactions that are no multi */
    struct list undo; /* newest last; filled between multi_begin and keep or rollback */
    uint64_t undo_digest;
    bool in_multi;
};

/* What is known of one node. A copy: filled by pending_look(), changed, given to pending_set(). */
struct node_view {
    uint64_t hash; /* of its path, if pending_look() filled it; 0: not known */
    bool exists;
    struct stat_persisted stat;
    int32_t n_children;
    uint32_t acl;
    int64_t data_len;
    uint32_t digest;
    uint32_t digest_begun; /* over path and data; see node_digest_begin() */
    bool has_digest_begun;
};

/* A node as the tree has it now. */
void node_view_of(const struct tree *tree, struct bytes path, struct node_view *out);

void pending_init(struct pending_table *t, struct tree *tree, int64_t zxid, bool with_digest);
void pending_fini(struct pending_table *t);

void pending_look(const struct pending_table *t, struct bytes path, struct node_view *out);

/* From now on the node is like `view` (which was looked up at the same path, or made anew), by
 * transaction `zxid`, which is not older than any before. `data`, if not NULL, is its new data. */
void pending_set(struct pending_table *t, int64_t zxid, struct bytes path, struct node_view *view,
                 const struct bytes *data);

/* Transaction `zxid`, which is one operation on a node, is applied between this and
 * pending_applied(): the tree gets its digests from here. */
void pending_apply(struct pending_table *t, int64_t zxid);

/* Everything up to `zxid` has been applied: what it touched last is in the tree now. */
void pending_applied(struct pending_table *t, int64_t zxid);

/* A multi: everything set between begin and rollback is taken back. */
void pending_multi_begin(struct pending_table *t);
void pending_multi_keep(struct pending_table *t);
void pending_multi_rollback(struct pending_table *t);

/* Ephemeral nodes of `session_id` that exist only here so far. */
typedef void (*pending_path_fn)(struct bytes path, void *arg);
void pending_each_ephemeral(const struct pending_table *t, int64_t session_id, pending_path_fn fn,
                            void *arg);

#endif
