/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - a node that stays, and a group of those who are there.
 *
 *     struct pawl_group *g;
 *     struct pawl_nodes *members;
 *
 *     check(pawl_group_join(client, "/workers", "worker-7", NULL, &g), "join");
 *     // ...
 *     check(pawl_group_members(g, &members), "members"); // ourselves included
 *     pawl_nodes_free(members);
 *     pawl_group_leave(g);
 *
 * A persistent node is made again whenever it is gone: when somebody deletes it, and when the
 * session that it belonged to has ended. It differs from a plain ephemeral node by that alone. Data
 * that others write into it are left alone; what we write is used for later re-creations, too. The
 * same nodes as Curator's PersistentNode, PersistentTtlNode and GroupMember make.
 *
 * What is promised: while the client is connected and the server lets us, there is exactly one
 * node, under the same name for ever, soon after any trouble. Never two of ours: a creation whose
 * answer was lost is found again. (An unprotected sequential node cannot be found again, and may
 * leave a second one behind: use `is_protected` with sequential modes.) */
#ifndef PAWL_GROUP_H
#define PAWL_GROUP_H

#include <stdbool.h>

#include "pawl/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a node that stays ---- */

struct pawl_persistent_node;

enum pawl_persistent_state {
    PAWL_PERSISTENT_ABSENT = 0, /* not made yet, or gone and on its way back */
    PAWL_PERSISTENT_THERE,      /* as far as the server has reported */
    PAWL_PERSISTENT_FAILED      /* cannot be made: see `err` (NO_AUTH, NO_NODE, ...). Tried again
                                 * only by pawl_persistent_node_set() and in a new session */
};

/* Called when the state has changed; how things stand, when it changed faster than callbacks run.
 * */
typedef void (*pawl_persistent_fn)(struct pawl_persistent_node *n, enum pawl_persistent_state state,
                                   int err, void *arg);

struct pawl_persistent_options {
    size_t size; /* sizeof(struct pawl_persistent_options) */
    /* Any. PAWL_MODE_PERSISTENT is 0: say PAWL_MODE_EPHEMERAL when you mean it. A node of
     * PAWL_MODE_TTL has a child `touch` that is written every ttl_ms / 2, so that the node lives as
     * long as we do and its own watchers are left in peace; it is not deleted by _free(), but by
     * the server ttl_ms later. */
    enum pawl_mode mode;
    int64_t ttl_ms;
    bool is_protected;      /* the name carries an id (PAWL_OP_PROTECTED) */
    bool no_parents;        /* fail with NO_NODE instead of making missing parents, as containers */
    struct pawl_bytes data; /* default: address, host, process, program and time */
    struct pawl_acls acls;  /* none: the client's default */
    pawl_persistent_fn on_change;
    void *on_change_arg;
};
#define PAWL_PERSISTENT_OPTIONS(...) PAWL_SIZED(pawl_persistent_options, __VA_ARGS__)
PAWL_SIZED_TYPE(persistent_options)

/* `options` NULL: all defaults. The node is made in the background. */
PAWL_API int pawl_persistent_node_new(struct pawl_client *c, const char *path,
                                      const struct pawl_persistent_options *options,
                                      struct pawl_persistent_node **out);

/* Deletes the node (not one of PAWL_MODE_TTL), in the background until that is confirmed; also one
 * whose creation is still under way. on_change does not run any more when it returns, unless it was
 * called from it. */
PAWL_API void pawl_persistent_node_free(struct pawl_persistent_node *n);

/* Waits until the node is there; -1: for ever. OPERATION_TIMEOUT, CLOSING, CANCELLED (it was freed
 * meanwhile), SESSION_EXPIRED (PAWL_CLIENT_ONE_SESSION), or why it failed. */
PAWL_API int pawl_persistent_node_wait(struct pawl_persistent_node *n, int timeout_ms);

/* New data, now and for later re-creations. Returns at once: written in the background, again and
 * again until the server has taken it. */
PAWL_API int pawl_persistent_node_set(struct pawl_persistent_node *n, struct pawl_bytes data);

/* The name that was made, copied; empty while there was none. It stays the same afterwards. */
PAWL_API void pawl_persistent_node_path(const struct pawl_persistent_node *n, char *out,
                                        size_t size);

/* `err` may be NULL. */
PAWL_API enum pawl_persistent_state pawl_persistent_node_state(const struct pawl_persistent_node *n,
                                                               int *err);

/* ---- a group ---- */

struct pawl_group;

/* Somebody came, went, or changed its data: `event` is of the cache of members (cache.h). */
typedef void (*pawl_group_fn)(struct pawl_group *g, const struct pawl_cache_event *event,
                              void *arg);

struct pawl_group_options {
    size_t size;            /* sizeof(struct pawl_group_options) */
    struct pawl_bytes data; /* ours; default: address, host, process, program and time */
    pawl_group_fn on_event;
    void *on_event_arg;
};
#define PAWL_GROUP_OPTIONS(...) PAWL_SIZED(pawl_group_options, __VA_ARGS__)
PAWL_SIZED_TYPE(group_options)

/* Becomes the member `id`, a name without '/'. `id` NULL: only looks on. Two with the same id are
 * one member: the second takes its place when the first has gone. */
PAWL_API int pawl_group_join(struct pawl_client *c, const char *path, const char *id,
                             const struct pawl_group_options *options, struct pawl_group **out);

/* Frees it; our node goes. on_event does not run any more when it returns, unless it was called
 * from it. */
PAWL_API void pawl_group_leave(struct pawl_group *g);

/* Waits until we are in, and until all who were there are known; -1: for ever. */
PAWL_API int pawl_group_wait(struct pawl_group *g, int timeout_ms);

/* Who is there, by name, with their data. We are always among them, as in Curator, also while our
 * node is not there yet; our stat is zero then. Free it. */
PAWL_API int pawl_group_members(const struct pawl_group *g, struct pawl_nodes **out);

/* New data for our node. */
PAWL_API int pawl_group_set(struct pawl_group *g, struct pawl_bytes data);

#ifdef __cplusplus
}
#endif

#endif
