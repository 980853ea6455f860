/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - the inside of <pawl/cache.h>.
 *
 *   cache_node.c   what is handed out: immutable nodes
 *   cache_tree.c   entries: what we know of each path; the hash table over them
 *   cache_tell.c   events on their way to the listeners
 *   cache_apply.c  what an answer changes in the tree
 *   cache_read.c   reading: the queue, batches, answers
 *   cache_watch.c  watches, reconnects: what has to be read
 *   cache.c        life, and questions
 *
 * All of it rests on the order within one connection: the event of a change comes before any answer
 * that shows the change, and an answer that comes later shows nothing older. At most one read and
 * one listing of a node are under way at a time, so answers about a node never overtake each other.
 *
 * An entry exists while anything is known or awaited of its path: a node, a read, a watch,
 * children. When nothing is, it goes, except for the root. */
#ifndef PAWL_RECIPES_CACHE_CACHE_H
#define PAWL_RECIPES_CACHE_CACHE_H

#include "base/map.h"
#include "pawl/cache.h"
#include "recipes/core/ask.h"

/* An event on its way. It lies in the node it is about, so that telling needs no memory. */
struct tell {
    struct list link;   /* in pawl_cache.tells */
    uint8_t type;       /* enum pawl_cache_event_type; 0: not on its way */
    struct node *other; /* CHANGED: the old one */
};

/* What users see, in one block with its path and data. */
struct node {
    struct pawl_node pub;
    _Atomic int refs;
    struct tell born, died;
    char bytes[];
};

/* What has to be asked of the server about an entry. */
enum want {
    WANT_READ,   /* its data and Stat */
    WANT_LIST,   /* its children */
    WANT_EXISTS, /* the root, when it is not there: a watch for its creation */
    N_WANTS,
};

/* How far each of these is.
 *
 *           wanted            sent              it changed meanwhile (only READ)
 *   IDLE -----------> QUEUED -------> ASKED ------------------------> OUTDATED
 *    ^ ^                |             |   ^                              |  |
 *    | +---- it went ---+             |   +----------- it went ----------+  |
 *    |                                |                                     |
 *    +-- answered, or not to be had --+---- answered: wanted once more -----+
 *
 * The answer to one that is ASKED or OUTDATED is still to come, whatever happens: at most one about
 * each, so that they cannot overtake each other. What is not to be had now is wanted again. */
enum question_state {
    QUESTION_IDLE,
    QUESTION_QUEUED,
    QUESTION_ASKED,
    QUESTION_OUTDATED, /* asked, but what is answered may be older than what an event told */
};

struct entry {
    struct map_entry in_map;
    struct list siblings; /* in parent->children */
    struct list children;
    struct list queue; /* in pawl_cache.queue while a question is QUEUED */
    struct entry *parent;
    struct node *node;    /* as told; NULL: not there, not read yet, or hidden */
    int64_t listed_pzxid; /* the Stat's when its children were listed; 0: they were not */
    int64_t changed_zxid; /* OUTDATED: of the event that told; -1: the server did not say */
    uint32_t depth;
    uint32_t mark;              /* of the last listing that it was in */
    uint8_t questions[N_WANTS]; /* enum question_state; moved by cache_read.c only */
    bool fetch : 1;             /* its data have changed: comparing is not enough */
    bool pinned : 1;            /* an answer about it is being applied */
    bool verify : 1;            /* events may have been missed: see whether it is still the same */
    bool live : 1;              /* made under our eyes: no listing is needed to know its children */
    bool partial : 1;           /* there was no room for some of its children (max_nodes) */
    bool hidden : 1;            /* not selected itself */
    bool barren : 1;            /* nothing below it is selected, or it is deep enough */
    bool data_watch : 1;        /* one-shot; of a get, or of an exists */
    bool child_watch : 1;
    uint32_t name_len;
    char name[];
};

struct listener_of_cache {
    struct list link;
    pawl_cache_fn fn;
    void *arg;
    bool removed;
};

struct pawl_cache {
    struct recipe r;
    struct pawl_cache_options o;
    int depth; /* -1: no limit */
    char *base;
    size_t base_len; /* 0 for "/" */
    struct observer observer;
    struct timer pause; /* set: what has failed for now is tried again then */
    bool observing;

    /* cache_tree.c */
    struct entry *root;
    struct map entries;
    size_t n_nodes, n_bytes;
    uint32_t mark;
    bool incomplete; /* max_nodes was in the way */
    struct strbuf path;

    /* cache_read.c */
    struct list queue;  /* struct entry */
    size_t n_out;       /* nodes asked for, not answered */
    int n_batches;      /* in how many requests of several */
    size_t batch_limit; /* nodes in one request */
    bool paused;

    /* cache_watch.c */
    struct step_watch watcher; /* of all of its watches */
    bool one_shot;
    bool watched;     /* the persistent one is set */
    bool asking;      /* ... is asked for, perhaps once more */
    bool shadowed;    /* ... may have been replaced by somebody's one-shot watch */
    bool modes_apart; /* that does not happen: the server is of 3.9: its events say their zxid */
    bool catching_up; /* there was no link: that it tells again has not been heard yet */
    bool caught_up;   /* that has been heard, RESYNCED not been told */
    bool forgot;      /* something that was told, or the watches that would have: compare */
    bool initialised, resyncing;
    int closed;             /* why nothing is tried any more; 0: it is */
    struct entry *sweep_at; /* freed: whose one-shot watches are removed next */
    int n_sweeping;
    struct list waiting; /* struct ask: who waits for it to be initialised */

    /* cache_tell.c */
    struct list tells;
    size_t n_tells;
    bool telling, throttled;
    struct tell initialised_tell, stale_tell, resynced_tell;
    struct list listeners; /* struct listener_of_cache */
    struct note note;
};

/* ---- cache_node.c ---- */

/* NULL: no memory. `data` NULL: it is not kept. */
struct node *cache_node_new(const char *path, size_t name_at, const struct pawl_stat *stat,
                            const struct pawl_bytes *data);
struct node *cache_node_ref(struct node *n);
void cache_node_unref(struct node *n);

struct pawl_nodes *cache_nodes_new(size_t room);
void cache_nodes_add(struct pawl_nodes *nodes, struct node *n);
void cache_nodes_sort(struct pawl_nodes *nodes);

/* ---- cache_tree.c ---- */

int cache_tree_init(struct pawl_cache *c);
void cache_tree_fini(struct pawl_cache *c);

/* The entry of a path; NULL: there is none. */
struct entry *cache_tree_find(const struct pawl_cache *c, const char *path);

/* The same, made if need be with those above it. NULL: too deep, not selected, no room (that is
 * told), or no memory (the cache then looks at everything again later). */
struct entry *cache_tree_add(struct pawl_cache *c, const char *path);
struct entry *cache_tree_find_child(const struct pawl_cache *c, const struct entry *e,
                                    const char *name, size_t len);
struct entry *cache_tree_add_child(struct pawl_cache *c, struct entry *e, const char *name,
                                   size_t len);

/* Frees it, and those above it, if nothing is known or awaited of it. */
void cache_tree_settle(struct pawl_cache *c, struct entry *e);

bool cache_tree_drop_if_unused(struct pawl_cache *c,
                               struct entry *e); /* the same without those above */

/* Its path, in memory that is good until the next call; NULL: no memory. */
const char *cache_tree_path(struct pawl_cache *c, const struct entry *e);

/* Each before those below it; NULL after the last. `top` is not left. */
struct entry *cache_tree_next(const struct entry *top, struct entry *e);

/* Each after those below it. cache_tree_deepest(top) comes first, `top` last. */
struct entry *cache_tree_deepest(struct entry *e);
struct entry *cache_tree_next_up(const struct entry *top, struct entry *e);

/* ---- cache_tell.c ---- */

void cache_tell_born(struct pawl_cache *c, struct node *n, struct node *old);
void cache_tell_died(struct pawl_cache *c, struct node *n);
void cache_tell_error(struct pawl_cache *c, const char *path, int err);
void cache_tell_cache(struct pawl_cache *c, struct tell *t, enum pawl_cache_event_type type);
int cache_tell_add(struct pawl_cache *c, pawl_cache_fn fn, void *arg);
void cache_tell_init(struct pawl_cache *c);
void cache_tell_fini(struct pawl_cache *c);

/* ---- cache_apply.c ---- */

/* The server has this node, with these data (NULL: they are as they were). */
void cache_apply_node(struct pawl_cache *c, struct entry *e, const struct pawl_stat *stat,
                      const struct pawl_bytes *data);
void cache_apply_children(struct pawl_cache *c, struct entry *e, const struct pawl_reply *reply);

/* The node is not there any more, nor what was below it. The entry may be freed. */
void cache_apply_gone(struct pawl_cache *c, struct entry *e);

/* ---- cache_read.c ---- */

/* Nothing happens when it is queued or under way already. */
void cache_read_want(struct pawl_cache *c, struct entry *e, enum want want);

/* The node went: what is only queued is not asked, nor anything once more. */
void cache_read_cancel(struct entry *e);

/* The node, whose READ is under way, changed at `zxid` (-1: the server did not say). */
void cache_read_outdated(struct entry *e, int64_t zxid);

bool cache_read_is_asked(const struct entry *e, enum want want); /* its answer is still to come */
bool cache_read_is_idle(const struct entry *e);                  /* nothing queued, nor asked */

/* Sends what is queued, as far as there is room; when nothing is left, that is told. At the end of
 * every step. */
void cache_read_pump(struct pawl_cache *c);

/* ---- cache_watch.c ---- */

void cache_watch_start(struct pawl_cache *c);
void cache_watch_resync(struct pawl_cache *c);
void cache_watch_compare_all(
    struct pawl_cache *c); /* the same, also where the watch would have told */
void cache_watch_stop(struct pawl_cache *c);
void cache_watch_changed(const struct pawl_event *event,
                         void *cache); /* of every watch of the cache */
void cache_watch_state(enum pawl_state state, void *cache);
void cache_watch_pause(struct pawl_cache *c);  /* something failed for now */
void cache_watch_forgot(struct pawl_cache *c); /* the same, and all has to be compared then */
void cache_watch_pause_over(void *cache);

/* An answer says that a one-shot watch was set. */
void cache_watch_gained(struct pawl_cache *c, struct entry *e, enum want by);

/* ---- cache.c ---- */

/* pawl_cache_new() in two steps: no listener runs before the second. */
int cache_new(struct pawl_client *client, const char *path, int depth,
              const struct pawl_cache_options *options, struct pawl_cache **out);
void cache_start(struct pawl_cache *c);

/* True: the client is closed, or its only session over; nothing is tried any more. */
bool cache_is_over(struct pawl_cache *c, int err);

#endif
