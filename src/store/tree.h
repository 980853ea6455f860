/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - the znodes.
 *
 * Every node is one block of memory (fixed part, name, data) reached through a 32-bit id; a table
 * from id to block lets the block move when its data grows. One open-addressed index finds a child
 * by (parent, name), so a path is looked up component by component and no path is stored. Siblings
 * are linked by id. What few nodes have (children, an owner, their counters) stands in a part of
 * its own.
 *
 * Two trees that applied the same transactions have the same digest. Only apply.c, snapshot_read.c
 * and quota.c (its statistics) change a tree; everybody else reads. One thread owns it.
 *
 * The root's path is "/" here; files and digests call it "". */
#ifndef PAWL_STORE_TREE_H
#define PAWL_STORE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/records.h"

struct tree;
struct acl_table;
struct snapshot_walk;

typedef uint32_t znode_id; /* 0: none */

/* Marks in the stored owner. */
#define OWNER_CONTAINER ((int64_t)INT64_MIN)
#define OWNER_TTL_MARK  ((int64_t)0xff00000000000000u)
#define TTL_MAX_MS      ((int64_t)0xffffffffff)

enum owner_kind { OWNER_NONE, OWNER_SESSION, OWNER_IS_CONTAINER, OWNER_IS_TTL };

struct tree_options {
    bool extended_types; /* TTL nodes are recognised */
    bool emulate_353_ttl;
    bool no_digest; /* digest.enabled=false */
};

/* A tree with nothing but the root. */
struct tree *tree_new(const struct tree_options *options);
void tree_free(struct tree *t);

/* /zookeeper, /zookeeper/quota and /zookeeper/config, those that are missing. */
void tree_add_system_nodes(struct tree *t);

/* What the digest of a node will be when a transaction has been applied, computed by whoever made
 * the transaction, and what the node will be by then. */
struct foreseen_digest {
    int64_t zxid; /* of the transaction */
    int64_t mzxid, pzxid;
    int32_t version, cversion, aversion;
    uint32_t path_len, data_len;
    uint32_t digest;
};

/* The changes from here on are those of one operation, to nodes whose paths differ in length: the
 * digest of one that comes out as foreseen is taken from the list instead of being computed again;
 * with `check` it is computed as well, and must be the same. `n` 0 ends it. */
void tree_foresee(struct tree *t, const struct foreseen_digest *list, size_t n, bool check);

/* ---- reading ---- */

/* The node at `path`, or 0. Odd paths are simply not found; "" is an alias of "/". */
znode_id tree_find(const struct tree *t, struct bytes path);
znode_id tree_child(const struct tree *t, znode_id parent, struct bytes name); /* 0: no such */
znode_id tree_parent(const struct tree *t, znode_id id);                       /* 0 for the root */

/* Views, good until the node changes. */
struct bytes tree_data(const struct tree *t, znode_id id);
struct bytes tree_name(const struct tree *t, znode_id id);
void tree_path(const struct tree *t, znode_id id, struct strbuf *out); /* appends */

uint32_t tree_acl(const struct tree *t, znode_id id);
int32_t tree_n_children(const struct tree *t, znode_id id);
void tree_stat(const struct tree *t, znode_id id, struct stat_record *out);
void tree_persisted(const struct tree *t, znode_id id, struct stat_persisted *out);
int64_t tree_owner(const struct tree *t, znode_id id); /* the stored one */
enum owner_kind tree_owner_kind(const struct tree *t, int64_t owner);
int64_t tree_ttl(const struct tree *t, int64_t owner);

/* What a client is shown of a stored Stat. */
void tree_show_stat(const struct tree *t, const struct stat_persisted *p, int32_t n_children,
                    size_t data_len, struct stat_record *out);

/* Children, in no order; 0 at the end. */
znode_id tree_first_child(const struct tree *t, znode_id id);
znode_id tree_next_sibling(const struct tree *t, znode_id id);

/* The node after `at` in a walk over everything below `top`, depth first; 0 at the end. The walk
 * begins with `at` equal to `top`. */
znode_id tree_next_below(const struct tree *t, znode_id top, znode_id at);

/* Ephemeral nodes of a session; 0 at the end. */
znode_id tree_first_ephemeral(const struct tree *t, int64_t session_id);
znode_id tree_next_ephemeral(const struct tree *t, znode_id id);

typedef void (*tree_session_fn)(int64_t session_id, void *arg);
void tree_each_ephemeral_owner(const struct tree *t, tree_session_fn fn, void *arg);

/* Container and TTL nodes: 0 at the end. */
znode_id tree_first_reapable(const struct tree *t);
znode_id tree_next_reapable(const struct tree *t, znode_id id);

int64_t tree_count(const struct tree *t);                    /* nodes, the root included */
int64_t tree_descendants(const struct tree *t, znode_id id); /* walks */
int64_t tree_n_ephemerals(const struct tree *t);
int64_t tree_approximate_data_size(const struct tree *t); /* bytes of paths and data */
size_t tree_memory(const struct tree *t);

struct acl_table *tree_acls(const struct tree *t);

/* The digest of the whole tree, version 2 of ZooKeeper's; every change below keeps it true. */
uint64_t tree_digest(const struct tree *t);
uint32_t tree_node_digest(const struct tree *t, znode_id id);

/* ---- sessions, as transactions made them: id -> timeout ---- */

void tree_session_put(struct tree *t, int64_t id, int32_t timeout_ms);
bool tree_session_remove(struct tree *t, int64_t id);
bool tree_session_get(const struct tree *t, int64_t id, int32_t *timeout_ms);
size_t tree_n_sessions(const struct tree *t);
typedef void (*tree_session_timeout_fn)(int64_t id, int32_t timeout_ms, void *arg);
void tree_each_session(const struct tree *t, tree_session_timeout_fn fn, void *arg);

/* ---- changing: apply.c, snapshot_read.c, quota.c; tree_set_config() by members ---- */

/* A new node under `parent`. `acl` is an id of the ACL table, of which one use is taken. The
 * caller has made sure that the name is new. The parent's own Stat is left alone. */
znode_id tree_add(struct tree *t, znode_id parent, struct bytes name, struct bytes data,
                  uint32_t acl, const struct stat_persisted *s);

/* Takes a node without children out; its Stat's parent is left alone. */
void tree_remove(struct tree *t, znode_id id);

void tree_set_data(struct tree *t, znode_id id, struct bytes data, int64_t mzxid, int64_t mtime,
                   int32_t version);
/* Data alone, nothing of the Stat: quota statistics. */
void tree_replace_data(struct tree *t, znode_id id, struct bytes data);
/* /zookeeper/config of a member: its version is always -1, and mzxid tells how new it is. */
void tree_set_config(struct tree *t, struct bytes text, int64_t mzxid, int64_t mtime);
void tree_set_acl(struct tree *t, znode_id id, uint32_t acl, int32_t aversion);
void tree_set_child_stat(struct tree *t, znode_id id, int32_t cversion, int64_t pzxid);
void tree_set_persisted(struct tree *t, znode_id id, const struct stat_persisted *s);

/* ---- a snapshot in progress ---- */

/* Called before a node changes or goes, if the walk has not reached it. At most one at a time. */
typedef void (*tree_before_change_fn)(struct tree *t, znode_id id, void *arg);

/* From here to tree_walk_end(): every node that exists now is unvisited, every node added later
 * counts as visited, and `before_change` is told of each unvisited one about to change. */
void tree_walk_begin(struct tree *t, tree_before_change_fn before_change, void *arg);
bool tree_walk_visited(const struct tree *t, znode_id id);
void tree_walk_mark(struct tree *t, znode_id id);
znode_id tree_walk_limit(const struct tree *t); /* ids run from 1 to below this */
bool tree_exists(const struct tree *t, znode_id id);

/* Every node must be visited by then. */
void tree_walk_end(struct tree *t);

/* What must be true between any two calls; walks everything, for tests. */
void tree_check(const struct tree *t);

#endif
