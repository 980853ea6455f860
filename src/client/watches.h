/* SPDX-License-Identifier: Apache-2.0 */
/* watches.h - who watches which path, by the server's names.
 *
 * One-shot watchers leave when they are told; persistent ones stay. When a session ends all are
 * told so and go. */
#ifndef PAWL_CLIENT_WATCHES_H
#define PAWL_CLIENT_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "client/item.h"

/* In the order of setWatches2. */
enum watcher_kind {
    WATCHER_DATA,
    WATCHER_EXIST,
    WATCHER_CHILD,
    WATCHER_PERSISTENT,
    WATCHER_RECURSIVE,
    N_WATCHER_KINDS,
    WATCHER_NONE = N_WATCHER_KINDS,
};

struct watches {
    struct map paths;
    struct list all;   /* the same, in the order in which they came */
    struct list stale; /* those nobody watches any more, while the server still does */
    size_t n_watchers;
};

/* NO_MEMORY or 0. */
int watches_init(struct watches *w);
void watches_fini(struct watches *w);

/* 0, also when that one is there already, or NO_MEMORY. A recipe's is held while it is there, and
 * on until the event that takes it out has been told. */
int watches_add(struct watches *w, enum watcher_kind table, struct bytes path,
                const struct event_target *target);

/* Whether `mask` (bits of tables) at `path` has any watcher, or the given one. */
bool watches_has(const struct watches *w, unsigned mask, struct bytes path,
                 const struct event_target *target);

/* How many watchers in the tables of `mask` are left at `path` beside `target`, not counting those
 * of whom `leaves` (NULL: none) says that they are going, too. */
typedef bool (*watcher_leaves_fn)(enum watcher_kind table, const struct event_target *target,
                                  void *arg);
size_t watches_others(const struct watches *w, unsigned mask, struct bytes path,
                      const struct event_target *target, watcher_leaves_fn leaves, void *arg);

/* The tables whose watches a server before 3.9 keeps in the same place as those of `mask`: removing
 * one removes them all. */
unsigned watches_same_place(unsigned mask);

/* Whether somebody at `path` waits for its children beside a recursive watch. A server before 3.9
 * sets that one in the place of the other's, and it does not tell that children changed; set behind
 * it, a one-shot watch of the children is no loss for it. */
bool watches_wait_beside(const struct watches *w, struct bytes path);

/* For those persistent watchers inside the library that a one-shot watch, newly set in table `by`
 * at their own path, may have cost their watch: a server before 3.9 keeps one mode per path and
 * session, the last one asked for. NO_MEMORY; nobody: *out is NULL. */
enum { EVENT_SHADOWED = 100, EVENT_CAUGHT_UP }; /* types beside those of enum pawl_event_type */
int watches_shadow(const struct watches *w, enum watcher_kind by, struct bytes path,
                   struct event_item **out);

bool event_target_same(const struct event_target *a, const struct event_target *b);

/* Takes those out whom the event concerns. `*out` stays NULL when it concerns nobody. */
int watches_fire(struct watches *w, enum pawl_event_type type, struct bytes path, int64_t zxid,
                 struct event_item **out);

/* Takes out the given watcher, or all (`target` NULL), of the tables in `mask`. `stays`: not from
 * the server, where others at that path need what they share. When the last of those has gone the
 * path is stale. */
int watches_remove(struct watches *w, unsigned mask, struct bytes path,
                   const struct event_target *target, bool stays, struct event_item **out);

/* Some have stayed on the server. */
bool watches_are_left(const struct watches *w, struct bytes path);

/* A path that is stale, or null; and it is not any more: its watches are removed, or all of them
 * went with the connection. */
struct bytes watches_stale(const struct watches *w);
void watches_not_stale(struct watches *w, struct bytes path);
void watches_none_stale(struct watches *w);

/* Takes out everything at one path and tells why; NULL in `*out` when nothing is left. */
int watches_end(struct watches *w, enum pawl_state why, struct event_item **out);

/* What is sent for them on a new link. */
struct watches_sent {
    unsigned n;       /* requests, each with an answer */
    unsigned n_asked; /* of them with watches that stay: they ask whether all is told (request.h) */
};

/* Appends the setWatches and setWatches2 requests, with headers and frame lengths, each of about
 * 128 KiB of paths. */
struct watches_sent watches_encode(const struct watches *w, int64_t zxid, struct strbuf *out);

/* They have been answered. Appends an event for each path with watches that stay: PAWL_EVENT_GAP,
 * some changes may not have been told; or all have, which is EVENT_CAUGHT_UP and said to recipes
 * only. NO_MEMORY or 0. */
int watches_answered(const struct watches *w, bool told, struct list *items);

#endif
