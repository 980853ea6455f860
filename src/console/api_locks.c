/* SPDX-License-Identifier: Apache-2.0 */
/* api_locks.c - every lock, semaphore, latch and queue of a subtree, found by the names of its
 * nodes: who holds, who waits for whom, whether they wait in a circle, and what is nobody's. */
#include <stdlib.h>
#include <string.h>

#include <pawl/lock.h>

#include "base/memory.h"
#include "console/call.h"
#include "console/request.h"
#include "console/wander.h"
#include "look/places.h"
#include "look/wait_graph.h"
#include "os/clock.h"

/* Of one request: what is beyond is named as left out. */
enum {
    FOLDERS_MAX = 20000,
    RECIPES_MAX = 500,
    QUEUE_MAX = 1000, /* of one lock: longer ones are counted only */
    SHOWN_MAX = 100,
    DATA_MAX = 512, /* of one place */
    SCAN_MS = 4000,
};

struct scan {
    struct call *call;
    json_t *recipes;
    struct wait_graph graph;
    char *paths[RECIPES_MAX]; /* which the graph points to */
    size_t n_paths;
    int64_t n_folders, n_orphans;
    bool is_cut_short;
};

static json_t *json_of_place(const struct lock_queue *q, size_t i)
{
    const struct pawl_participant *p = q->items[i];
    struct bytes data = {p->data.data, p->data.len < DATA_MAX ? p->data.len : DATA_MAX};
    struct strbuf why;
    json_t *place;
    size_t ahead;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    wait_explain(q, i, &why);
    place =
        json_pack("{s:o, s:b, s:o, s:o, s:I, s:o, s:b, s:b, s:o}", "path", json_of_text(p->path),
                  "holds", lock_queue_holds(q, i), "session", json_of_hex((uint64_t)p->session_id),
                  "token", json_of_hex(p->token), "since", (json_int_t)p->since_ms, "data",
                  json_of_bytes(data), "orphan", p->session_id == 0, "reader",
                  lock_queue_is_reader(q, i), "why", json_of_bytes(strbuf_bytes(&why)));
    if (lock_queue_behind(q, i, &ahead)) {
        json_object_set_new(place, "behind", json_of_hex((uint64_t)q->items[ahead]->session_id));
    }
    strbuf_fini(&why);
    return place;
}

static void put_queue(struct scan *s, json_t *recipe, const struct lock_queue *q)
{
    json_t *places = json_array();
    int64_t n_holders = 0;

    for (size_t i = 0; i < q->n; i++) {
        n_holders += lock_queue_holds(q, i);
        s->n_orphans += q->items[i]->session_id == 0;
        if (i < SHOWN_MAX) {
            json_array_append_new(places, json_of_place(q, i));
        }
    }
    json_object_set_new(recipe, "places", places);
    json_object_set_new(recipe, "n_holders", json_integer(n_holders));
    json_object_set_new(recipe, "n_waiters", json_integer((json_int_t)q->n - n_holders));
}

static bool is_short(const struct pawl_strings *names)
{
    return names->n <= QUEUE_MAX;
}

static void add_recipe(struct scan *s, const char *path, enum place_kind kind,
                       const struct pawl_strings *names)
{
    json_t *recipe = json_object();
    struct lock_queue q;

    json_object_set_new(recipe, "path", json_of_text(path));
    json_object_set_new(recipe, "kind", json_string(place_kind_name(kind)));
    json_object_set_new(recipe, "n_children", json_integer((json_int_t)names->n));
    if (kind != PLACE_QUEUE && is_short(names) &&
        lock_queue_read(s->call->client, path, &q) == PAWL_OK) {
        s->paths[s->n_paths] = must_strdup(path);
        wait_graph_add(&s->graph, s->paths[s->n_paths++], &q);
        put_queue(s, recipe, &q);
        lock_queue_fini(&q);
    }
    json_array_append_new(s->recipes, recipe);
}

/* Places have no children: who has some is looked at instead of them. */
static int scan_folder(struct scan *s, struct wander *w, const char *path)
{
    const struct pawl_reply *reply;
    enum place_kind kind;
    int err = wander_enter(w, &reply);

    if (err != PAWL_OK) {
        return err == PAWL_ERR_NO_NODE || err == PAWL_ERR_NO_AUTH ? PAWL_OK : err;
    }
    kind = places_of(&reply->children);
    if (kind != NO_PLACE) {
        add_recipe(s, path, kind, &reply->children);
        wander_leave(w);
    }
    return PAWL_OK;
}

static int scan(struct scan *s, struct wander *w)
{
    int64_t end_ms = clock_monotonic_ms() + SCAN_MS;
    const char *path;
    int err = PAWL_OK;

    while (err == PAWL_OK && (path = wander_next(w)) != NULL) {
        if (s->n_folders == FOLDERS_MAX || json_array_size(s->recipes) == RECIPES_MAX ||
            clock_monotonic_ms() > end_ms) {
            s->is_cut_short = true;
            break;
        }
        s->n_folders++;
        err = scan_folder(s, w, path);
    }
    return err;
}

static json_t *json_of_edges(const struct wait_graph *g)
{
    enum { EDGES_MAX = 2000 };
    json_t *edges = json_array();

    for (size_t i = 0; i < g->n && i < EDGES_MAX; i++) {
        const struct wait_edge *e = &g->edges[i];

        json_array_append_new(edges, json_pack("{s:o, s:o, s:o, s:b}", "from",
                                               json_of_hex((uint64_t)e->from), "to",
                                               json_of_hex((uint64_t)e->to), "lock",
                                               json_of_text(e->lock), "circle", e->is_in_circle));
    }
    return edges;
}

void api_locks(struct call *c)
{
    const char *top = call_path(c);
    struct scan s = {.call = c};
    struct wander w;
    int err;

    if (top == NULL) {
        return;
    }
    s.recipes = json_array();
    wander_begin(&w, c->client, top, NULL);
    err = scan(&s, &w);
    wander_fini(&w);
    json_object_set_new(c->out, "recipes", s.recipes);
    json_object_set_new(c->out, "in_circles",
                        json_integer((json_int_t)wait_graph_find_circles(&s.graph)));
    json_object_set_new(c->out, "edges", json_of_edges(&s.graph));
    json_object_set_new(c->out, "n_orphans", json_integer(s.n_orphans));
    json_object_set_new(c->out, "n_looked_at", json_integer(s.n_folders));
    json_object_set_new(c->out, "cut_short", json_boolean(s.is_cut_short));
    if (err != PAWL_OK) {
        call_fail_with(c, top, err);
    }
    for (size_t i = 0; i < s.n_paths; i++) {
        free(s.paths[i]);
    }
    wait_graph_fini(&s.graph);
}

/* ---- what can be done about them ---- */

/* The path in the body, of a place in a queue. */
static const char *place_path(struct call *c)
{
    const char *path = request_text(c->body, "path");

    if (!request_path(path) || !place_is_queued(strrchr(path, '/') + 1)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "path must be that of a place in the queue of a lock");
        return NULL;
    }
    return path;
}

void api_revoke(struct call *c)
{
    const char *path = place_path(c);
    struct pawl_reply reply = {0};

    if (path != NULL) {
        reply.err = pawl_lock_revoke(c->client, path);
        call_note_change(c, "asks for the release of", path, &reply);
        call_check(c, path, &reply);
    }
}

/* One that belongs to a session, or has changed since it was looked at, is somebody's. */
void api_remove_orphan(struct call *c)
{
    const char *path = place_path(c);
    struct pawl_reply *seen = NULL, *reply = NULL;

    if (path == NULL) {
        return;
    }
    pawl_exists(c->client, path, NULL, &seen);
    if (call_check(c, path, seen)) {
        if (seen->stat.ephemeral_owner != 0) {
            call_fail(c, 409, "NOT_ORPHAN", "%.300s belongs to a session", path);
        } else {
            pawl_delete(c->client,
                        PAWL_DELETE(.path = path, .only_if = pawl_version(seen->stat.version)),
                        &reply);
            call_note_change(c, "removes", path, reply);
            call_check(c, path, reply);
        }
    }
    pawl_reply_free(seen);
    pawl_reply_free(reply);
}
