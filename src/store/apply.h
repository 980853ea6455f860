/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - a transaction changes the tree: the one place that does.
 *
 * Nothing here depends on anything but the transaction and the tree, so every replica ends up with
 * the same. Each change is reported to `on_change` right after it was made, in order; watches and
 * replies are somebody else's business. During replay over a fuzzy snapshot a transaction may meet
 * its own effects; the rules of ZooKeeper make that converge, and errors of single operations are
 * ignored there. */
#ifndef PAWL_STORE_APPLY_H
#define PAWL_STORE_APPLY_H

#include "store/tree.h"
#include "wire/txn.h"

struct quota;

enum change_kind { CHANGE_CREATED, CHANGE_DELETED, CHANGE_DATA };

/* Lent until the callback returns; called right after the change. For CHANGE_DELETED `acl` is the
 * one the node had, still usable during the call. */
struct change {
    enum change_kind kind;
    struct bytes path;
    uint32_t acl;
    uint32_t parent_acl; /* created, deleted: of the node above */
    size_t bytes;        /* of the new data */
};
typedef void (*change_fn)(const struct change *change, void *arg);

struct apply {
    struct tree *tree;
    struct quota *quota; /* usage accounting; NULL: none */
    change_fn on_change; /* NULL during recovery */
    void *arg;
};

/* What one operation came to: PAWL_OK or why it did nothing, and the node's Stat right after it
 * (creates, setData, setACL). */
struct apply_result {
    int err;
    struct stat_record stat;
};

/* Applies one transaction. `results`, if not NULL, gets one entry per operation of a multi, and one
 * for any other transaction; `n_results` says how many there is room for. */
void apply_txn(struct apply *a, const struct txn *txn, struct apply_result *results,
               size_t n_results);

#endif
