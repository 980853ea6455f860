/* SPDX-License-Identifier: Apache-2.0 */
/* cache_watch.c - what makes the cache read: watches, and connections that come back.
 *
 * A persistent watch is asked for before anything is read, and again in every new session. Some
 * servers tell it also what happened while there was no link: then only that is read. After any
 * other reconnect everything is compared. One-shot watches are renewed by each read. In the same
 * session the server tells what they missed; in a new one all are gone, and everything is compared
 * and watched again. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/prepare.h"
#include "recipes/cache/cache.h"

enum { PAUSE_MS = 200, MAX_SWEEPING = 128 };

/* ---- trouble for now ---- */

void cache_watch_pause(struct pawl_cache *c)
{
    if (!c->paused && !c->r.freed && !c->closed) {
        c->paused = true;
        timer_set(c->r.e, &c->pause, machine_now_ms() + PAUSE_MS);
    }
}

void cache_watch_forgot(struct pawl_cache *c)
{
    c->forgot = true;
    cache_watch_pause(c);
}

void cache_watch_pause_over(void *cache)
{
    struct pawl_cache *c = cache;

    c->paused = false;
    cache_watch_start(c);
    if (c->forgot) {
        c->forgot = false;
        cache_watch_resync(c);
    }
    cache_read_pump(c);
}

/* ---- the persistent watch ---- */

static void watch_is_set(struct pawl_cache *c)
{
    c->watched = true;
    c->catching_up = false;
    if (c->r.freed) {
        cache_watch_stop(c);
        return;
    }
    cache_watch_start(c);
    cache_watch_resync(c);
    cache_read_pump(c);
}

static void watch_asked(const struct pawl_reply *reply, void *cache)
{
    struct pawl_cache *c = cache;

    c->asking = false;
    if (recipe_was_done(reply)) {
        watch_is_set(c);
    } else if (!c->r.freed) {
        if (reply->err == PAWL_ERR_UNIMPLEMENTED) {
            c->one_shot = true; /* a server before 3.6 */
            cache_watch_resync(c);
        } else if (!cache_is_over(c, reply->err)) {
            cache_watch_pause(c);
        }
        cache_read_pump(c);
    }
    recipe_unref(&c->r);
}

/* A server before 3.9 keeps one mode per path and session, the last one asked for: a recursive
 * watch of another cache must not become a plain one. The other way round does no harm. When it is
 * somebody's one-shot watch that came last, ours is asked for again. */
static enum pawl_watch_mode mode_for(struct pawl_cache *c)
{
    bool recursive = !c->root->barren;

    strbuf_clear(&c->path);
    if (prepare_append_path(c->r.client, &c->path, c->base) == 0) {
        recursive = recursive || watches_has(&c->r.e->core->watches, 1u << WATCHER_RECURSIVE,
                                             strbuf_bytes(&c->path), NULL);
    }
    return recursive ? PAWL_WATCH_RECURSIVE : PAWL_WATCH_PERSISTENT;
}

void cache_watch_start(struct pawl_cache *c)
{
    int rc;

    if (c->one_shot || c->asking || c->closed || (c->watched && !c->shadowed)) {
        return;
    }
    rc = pawl_watch_async(c->r.client, c->base, mode_for(c), &c->watcher.ask, watch_asked, c);
    if (rc == 0) {
        c->asking = true;
        c->shadowed = false;
        recipe_ref(&c->r);
    } else if (!cache_is_over(c, rc)) {
        cache_watch_pause(c);
    }
}

/* ---- one-shot watches ---- */

static void sweep(struct pawl_cache *c);

static void unwatched(const struct pawl_reply *reply, void *cache)
{
    struct pawl_cache *c = cache;

    (void)reply;
    c->n_sweeping--;
    sweep(c);
    recipe_unref(&c->r);
}

static void entry_unwatch(struct pawl_cache *c, const struct entry *e)
{
    const char *path = cache_tree_path(c, e);

    if (path != NULL && pawl_unwatch_async(c->r.client, path, PAWL_WATCHES_ANY | PAWL_WATCHES_LOCAL,
                                           &c->watcher.ask, unwatched, c) == 0) {
        c->n_sweeping++;
        recipe_ref(&c->r);
    }
}

/* At the end: entry by entry, a bounded number under way. Entries stay until all is done. */
static void sweep(struct pawl_cache *c)
{
    while (c->sweep_at != NULL && c->n_sweeping < MAX_SWEEPING) {
        if (c->sweep_at->data_watch || c->sweep_at->child_watch) {
            entry_unwatch(c, c->sweep_at);
        }
        c->sweep_at = cache_tree_next(c->root, c->sweep_at);
    }
}

void cache_watch_gained(struct pawl_cache *c, struct entry *e, enum want by)
{
    ASSERT(c->one_shot);
    if (by == WANT_LIST) {
        e->child_watch = true;
    } else {
        e->data_watch = true;
    }
    if (c->r.freed) {
        entry_unwatch(c, e);
    }
}

/* An event ends the watches that it concerns. */
static void watches_ended(struct entry *e, bool data, bool child)
{
    e->data_watch = e->data_watch && !data;
    e->child_watch = e->child_watch && !child;
}

/* ---- events ---- */

static void changed(struct pawl_cache *c, struct entry *e, const struct pawl_event *event)
{
    /* Not after a reconnect, unless it is said which transaction that was: it may be the news for
     * somebody else's one-shot watch of the same path, and the node, with children, be there for
     * long. */
    bool is_old = c->resyncing || (c->catching_up && event->zxid < 0);
    bool born = event->type == PAWL_EVENT_CREATED && !c->one_shot && !is_old;

    e->live = e->live || born;
    if (e->hidden) {
        if (born && e->listed_pzxid == 0) {
            e->listed_pzxid = -1; /* it is there; its children will be told */
        } else if (c->one_shot || e->listed_pzxid == 0) {
            cache_read_want(c, e, WANT_LIST);
        }
    } else if (cache_read_is_asked(e, WANT_READ)) {
        cache_read_outdated(e, event->zxid);
    } else {
        e->fetch = true;
        cache_read_want(c, e, WANT_READ);
    }
}

/* A node that changes and is not known could not be read, or not be kept, before: perhaps now. */
static void node_event(struct pawl_cache *c, const struct pawl_event *event)
{
    bool is_there = event->type == PAWL_EVENT_CREATED || event->type == PAWL_EVENT_DATA_CHANGED;
    struct entry *e = is_there ? cache_tree_add(c, event->path) : cache_tree_find(c, event->path);

    if (e == NULL) {
        return;
    }
    switch (event->type) {
    case PAWL_EVENT_CREATED:
    case PAWL_EVENT_DATA_CHANGED:
        changed(c, e, event);
        break;
    case PAWL_EVENT_DELETED:
        cache_apply_gone(c, e);
        if (e == c->root && c->one_shot) {
            cache_read_want(c, e, WANT_EXISTS);
        }
        break;
    case PAWL_EVENT_CHILDREN_CHANGED:
        if (c->one_shot && !e->barren) {
            cache_read_want(c, e, WANT_LIST);
        }
        break;
    default:
        break;
    }
}

/* The watch itself has ended: with its session, or because we took it away. */
static void watch_ended(struct pawl_cache *c, const char *path)
{
    struct entry *e = cache_tree_find(c, path);

    if (c->watched) {
        c->watched = c->catching_up = false;
    } else if (e != NULL) {
        watches_ended(e, true, true);
    }
}

/* The watch is set again on a new link. What was missed has been told, in front of this; or nobody
 * knows what it was. What was to be compared before is so once more. */
static void caught_up(struct pawl_cache *c, bool told)
{
    c->catching_up = false;
    c->caught_up = true;
    if (!told || c->resyncing || !c->initialised) {
        cache_watch_resync(c);
    }
    cache_read_pump(c);
}

void cache_watch_changed(const struct pawl_event *event, void *cache)
{
    struct pawl_cache *c = cache;
    struct entry *e;

    c->modes_apart = c->modes_apart || event->zxid >= 0;
    if ((int)event->type == EVENT_SHADOWED) {
        c->shadowed = !c->modes_apart;
        if (!c->r.freed) {
            cache_watch_start(c);
        }
    } else if (event->type == PAWL_EVENT_GAP || (int)event->type == EVENT_CAUGHT_UP) {
        caught_up(c, event->type != PAWL_EVENT_GAP);
    } else if (event->type == PAWL_EVENT_SESSION) {
        watch_ended(c, event->path);
    } else if (event->type == PAWL_EVENT_WATCH_REMOVED) {
        watch_ended(c, event->path);
        if (!c->r.freed) { /* by somebody else, who removed all at that path */
            cache_watch_forgot(c);
        }
    } else {
        e = c->one_shot ? cache_tree_find(c, event->path) : NULL;
        if (e != NULL) {
            watches_ended(e, event->type != PAWL_EVENT_CHILDREN_CHANGED,
                          event->type == PAWL_EVENT_CHILDREN_CHANGED ||
                              event->type == PAWL_EVENT_DELETED);
        }
        if (!c->r.freed) {
            node_event(c, event);
            cache_read_pump(c);
        }
    }
}

/* ---- connections ---- */

/* One-shot watches that are still set: the server tells what they missed. */
static bool is_watched(const struct pawl_cache *c, const struct entry *e)
{
    return c->one_shot && (e->hidden || e->data_watch) &&
           (e->barren || (e->child_watch && e->listed_pzxid != 0 && !e->partial));
}

static void resync_entry(struct pawl_cache *c, struct entry *e)
{
    e->live = false;
    if (e->hidden) {
        cache_read_want(c, e, WANT_LIST);
        return;
    }
    e->verify = e->node != NULL; /* also by an answer that is under way: what it says of children */
    if (!cache_read_is_asked(e, WANT_READ) && !cache_read_is_asked(e, WANT_EXISTS)) {
        cache_read_want(c, e, WANT_READ);
    }
}

/* What is under way now will be answered after the link, and the watch, came back. The root is
 * always read: its answer comes behind what the server tells of one-shot watches. */
void cache_watch_resync(struct pawl_cache *c)
{
    if (c->r.freed) {
        return;
    }
    c->resyncing = true;
    for (struct entry *e = c->root; e != NULL; e = cache_tree_next(c->root, e)) {
        if (e == c->root || !is_watched(c, e)) {
            resync_entry(c, e);
        }
    }
}

void cache_watch_compare_all(struct pawl_cache *c)
{
    cache_watch_resync(c);
    for (struct entry *e = c->root; e != NULL && c->one_shot; e = cache_tree_next(c->root, e)) {
        resync_entry(c, e);
        if (!e->barren) {
            cache_read_want(c, e, WANT_LIST);
        }
    }
}

static void link_back(struct pawl_cache *c)
{
    c->modes_apart = false;
    if (c->one_shot) {
        cache_watch_resync(c);
    } else { /* if it is set, caught_up() follows */
        cache_watch_start(c);
    }
    cache_read_pump(c);
}

void cache_watch_state(enum pawl_state state, void *cache)
{
    struct pawl_cache *c = cache;

    switch (state) {
    case PAWL_STATE_CONNECTED:
    case PAWL_STATE_RECONNECTED:
    case PAWL_STATE_READ_ONLY:
        link_back(c);
        break;
    case PAWL_STATE_SUSPENDED:
        c->catching_up = c->watched;
        if (c->initialised) {
            cache_tell_cache(c, &c->stale_tell, PAWL_CACHE_EVENT_STALE);
        }
        break;
    case PAWL_STATE_LOST:
        (void)cache_is_over(c, PAWL_ERR_SESSION_EXPIRED);
        break;
    case PAWL_STATE_CLOSED:
        (void)cache_is_over(c, PAWL_ERR_CLOSING);
        break;
    default:
        break;
    }
}

/* ---- the end ---- */

void cache_watch_stop(struct pawl_cache *c)
{
    if (c->watched) {
        recipe_unwatch(&c->r, &c->watcher, c->base, PAWL_WATCHES_ANY);
    }
    c->sweep_at = c->one_shot ? c->root : NULL;
    sweep(c);
}
