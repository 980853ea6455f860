/* SPDX-License-Identifier: Apache-2.0 */
/* znode.h - how a node lies in memory; for tree.c and children.c only. */
#ifndef PAWL_STORE_ZNODE_H
#define PAWL_STORE_ZNODE_H

#include "base/map.h"
#include "store/tree.h"

/* What only some nodes have. Without it: no children ever, pzxid = czxid, no owner. */
struct znode_more {
    int64_t owner;
    int64_t pzxid;
    int32_t cversion;
    int32_t n_children;
    znode_id first_child;
    znode_id owned_prev, owned_next; /* among the nodes of one session, or of the reapable ones */
};

struct znode {
    znode_id parent, prev, next; /* siblings; 0 ends the list */
    uint32_t acl;
    int64_t czxid, mzxid, ctime, mtime;
    int32_t version, aversion;
    uint32_t digest;
    uint32_t data_len; /* NULL_DATA: null */
    struct znode_more *more;
    uint32_t name_len : 31;
    uint32_t mark : 1; /* equal to the tree's parity: visited by the walk */
    uint8_t bytes[];   /* name, then data */
};

#define NULL_DATA UINT32_MAX

struct index_slot {
    uint32_t hash;
    znode_id id; /* 0: free */
};

struct owner {
    struct map_entry entry;
    int64_t session_id;
    znode_id first;
};

struct session_row {
    struct map_entry entry;
    int64_t id;
    int32_t timeout_ms;
};

/* The parent that was looked up last: requests come in runs under one. It is right as long as the
 * node is there, since no node moves, and none goes before its children. */
enum { LAST_PARENT_BYTES = 255 };
struct last_parent {
    znode_id id; /* 0: none */
    uint32_t len;
    uint8_t path[LAST_PARENT_BYTES]; /* without the first '/' */
};

struct tree {
    struct tree_options options;
    struct znode **nodes; /* by id; a free slot holds the next free one, see slot_free() */
    znode_id n_slots;     /* in use so far, slot 0 included */
    znode_id slot_capacity;
    znode_id first_free;
    struct last_parent *last_parent; /* reading a tree remembers, too */
    struct index_slot *index;
    uint32_t index_mask;
    int64_t count;
    int64_t n_ephemerals;
    int64_t data_size;
    size_t block_bytes;
    uint64_t digest;
    const struct foreseen_digest *foreseen;
    size_t n_foreseen;
    bool check_foreseen;
    struct acl_table *acls;
    struct map owners;
    znode_id first_reapable;
    struct map sessions;
    struct strbuf path; /* scratch for digests */
    uint32_t parity;
    bool walking;
    tree_before_change_fn before_change;
    void *before_change_arg;
};

enum { ROOT_ID = 1 };

static inline struct znode *node_at(const struct tree *t, znode_id id)
{
    return t->nodes[id];
}

static inline struct bytes node_name(const struct znode *n)
{
    return bytes_of(n->bytes, n->name_len);
}

/* children.c: the index of (parent, name) */
void index_init(struct tree *t);
void index_fini(struct tree *t);
void index_insert(struct tree *t, znode_id id);
void index_remove(struct tree *t, znode_id id);
znode_id index_find(const struct tree *t, znode_id parent, const uint8_t *name, size_t len);

#endif
