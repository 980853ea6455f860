/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a copy of a node, of its children or of a whole subtree, kept up to date.
 *
 *     static void changed(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg);
 *
 *     const struct pawl_node *n;
 *     struct pawl_cache *c;
 *
 *     check(pawl_cache_new(client, "/config", PAWL_DEPTH_TREE,
 *                          PAWL_CACHE_OPTIONS(.on_event = changed), &c), "cache");
 *     check(pawl_cache_wait(c, 10000), "wait");
 *     n = pawl_cache_get(c, "/config/limits");
 *     if (n != NULL) {
 *         use(n->data);
 *         pawl_node_unref(n);
 *     }
 *     pawl_cache_free(c);
 *
 * One cache for what Curator has four of: depth 0 is its NodeCache, 1 its PathChildrenCache (see
 * PAWL_CACHE_NO_ROOT), PAWL_DEPTH_TREE its TreeCache and CuratorCache. The path need not exist; the
 * cache never creates a node. It lives on one persistent watch where the server has those (3.6 and
 * up), else on a pair of one-shot watches per node; which of them makes no difference to events.
 *
 * PROMISES
 *
 * The cache converges: when the server's nodes stay as they are, the cache becomes equal to them,
 * whatever happened to the link or the session meanwhile. It may lag behind the server and skip
 * what was there only for a moment, but it does not go back in time.
 *
 * Events tell each difference between what the cache held before and what it holds now, once: of
 * one node in the order of its changes, of a parent before that of its children, and for deletions
 * after it. A node that was deleted and made again is reported as DELETED and CREATED even if
 * nobody saw it missing. INITIALISED comes once, when all that was there at the beginning has been
 * read.
 *
 * After a reconnect only what may have changed is read again: lists whose parent shows it, data
 * whose node shows it. RESYNCED reports when that is done.
 *
 * Nodes are handed out as references: they do not change, and live until given back, also when the
 * cache has moved on or is gone.
 *
 * Memory is bounded by `max_nodes` and `max_bytes` and by the slowest listener: when some thousand
 * events wait for it, reading pauses. */
#ifndef PAWL_CACHE_H
#define PAWL_CACHE_H

#include <stdbool.h>

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_cache;

/* ---- nodes ---- */

struct pawl_node {
    const char *path;
    const char *name;       /* the last part of the path */
    struct pawl_bytes data; /* a NUL, not counted, follows */
    bool has_data;          /* false: not kept; pawl_get() has it */
    struct pawl_stat stat;  /* when its data were read: what it shows of children may be old */
};

PAWL_API const struct pawl_node *pawl_node_ref(const struct pawl_node *n);
PAWL_API void pawl_node_unref(const struct pawl_node *n);

struct pawl_nodes {
    const struct pawl_node *const *items;
    size_t n;
};

PAWL_API void pawl_nodes_free(struct pawl_nodes *nodes); /* with the references in it */

/* ---- events ---- */

enum pawl_cache_event_type {
    PAWL_CACHE_EVENT_CREATED = 1, /* new_node */
    PAWL_CACHE_EVENT_CHANGED,     /* old_node, new_node */
    PAWL_CACHE_EVENT_DELETED,     /* old_node */
    PAWL_CACHE_EVENT_INITIALISED, /* once: all that was there has been reported */
    PAWL_CACHE_EVENT_STALE,       /* after INITIALISED: the link is down; the cache is as it was */
    PAWL_CACHE_EVENT_RESYNCED,    /* ... and up to date again */
    PAWL_CACHE_EVENT_ERROR /* err, path: that node cannot be read, or not be kept (TOO_LARGE) */
};

struct pawl_cache_event {
    enum pawl_cache_event_type type;
    const struct pawl_node *old_node, *new_node; /* lent; pawl_node_ref() to keep one */
    const char *path;                            /* of the node; NULL when it is about none */
    int err;
};

/* Runs like all callbacks. May free the cache. */
typedef void (*pawl_cache_fn)(struct pawl_cache *c, const struct pawl_cache_event *event,
                              void *arg);

/* ---- the cache ---- */

enum pawl_cache_depth { PAWL_DEPTH_TREE = -1, PAWL_DEPTH_NODE = 0, PAWL_DEPTH_CHILDREN = 1 };

enum pawl_cache_flags {
    PAWL_CACHE_NO_DATA = 1,    /* keep no data; events carry them all the same */
    PAWL_CACHE_COMPRESSED = 2, /* data are gzipped; DATA_INCONSISTENCY is reported of those not */
    PAWL_CACHE_NO_ROOT = 4,    /* only what is below the path, not the node itself */
    PAWL_CACHE_ONE_SHOT = 8    /* one-shot watches, also where there are persistent ones */
};

enum pawl_select { PAWL_SELECT_NODE = 1, PAWL_SELECT_BELOW = 2 };

/* Which nodes to keep: PAWL_SELECT_NODE, PAWL_SELECT_BELOW (what is below it), both or none (0).
 * Always the same for the same path. Called inside the library: must be quick, must not call it. */
typedef int (*pawl_select_fn)(const char *path, void *arg);

struct pawl_cache_options {
    size_t size; /* sizeof(struct pawl_cache_options) */
    int flags;   /* PAWL_CACHE_... */
    pawl_cache_fn on_event;
    void *on_event_arg;
    pawl_select_fn select; /* NULL: everything */
    void *select_arg;
    /* So many nodes at most (0: no limit). Those beyond are not kept: ERROR reports TOO_LARGE when
     * that begins, and everything is looked at again when an eighth has been deleted. */
    size_t max_nodes;
    /* So many bytes of data at most (0: no limit). Nodes beyond are kept without data. */
    size_t max_bytes;
};
#define PAWL_CACHE_OPTIONS(...) PAWL_SIZED(pawl_cache_options, __VA_ARGS__)
PAWL_SIZED_TYPE(cache_options)

/* `options` NULL: all defaults. It begins to read at once. BAD_ARGUMENTS, NO_MEMORY, CLOSING. */
PAWL_API int pawl_cache_new(struct pawl_client *c, const char *path, int depth,
                            const struct pawl_cache_options *options, struct pawl_cache **out);

/* Its watches go, on the server, too. No listener runs any more when it returns, unless it was
 * called from one. */
PAWL_API void pawl_cache_free(struct pawl_cache *c);

/* Waits until all that was there at the beginning has been read; at once ever after. -1: for ever.
 * OPERATION_TIMEOUT, CLOSING, WOULD_DEADLOCK, CANCELLED (it was freed meanwhile), SESSION_EXPIRED
 * (PAWL_CLIENT_ONE_SESSION). */
PAWL_API int pawl_cache_wait(struct pawl_cache *c, int timeout_ms);

/* The node at `path`, or NULL: not there, not selected, not read yet. Give it back. */
PAWL_API const struct pawl_node *pawl_cache_get(const struct pawl_cache *c, const char *path);

/* The children of `path`, by name; none: n is 0. Free it. */
PAWL_API int pawl_cache_children(const struct pawl_cache *c, const char *path,
                                 struct pawl_nodes **out);

/* All nodes, each before those below it. */
PAWL_API int pawl_cache_nodes(const struct pawl_cache *c, struct pawl_nodes **out);

PAWL_API size_t pawl_cache_size(const struct pawl_cache *c);  /* nodes */
PAWL_API size_t pawl_cache_bytes(const struct pawl_cache *c); /* of data kept */

/* Compares everything with the server, as after a reconnect; RESYNCED reports when it is done.
 * Never needed for the cache to be right. */
PAWL_API int pawl_cache_refresh(struct pawl_cache *c);

/* More listeners, for what comes from now on. Removing waits until none of its calls runs any
 * more, except from inside a callback. */
PAWL_API int pawl_cache_add_listener(struct pawl_cache *c, pawl_cache_fn fn, void *arg);
PAWL_API void pawl_cache_remove_listener(struct pawl_cache *c, pawl_cache_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif
