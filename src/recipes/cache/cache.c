/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/prepare.h"
#include "client/take.h"

enum { BATCH_LIMIT = 128 };

/* ---- waiting ---- */

bool cache_is_over(struct pawl_cache *c, int err)
{
    if (!recipe_is_over(&c->r, err)) {
        return false;
    }
    c->closed = err;
    ask_end_all(&c->waiting, err);
    return true;
}

static int cache_start_wait(struct ask *a)
{
    struct pawl_cache *c = container_of(a->r, struct pawl_cache, r);

    if (c->initialised || c->closed != 0) {
        ask_end(a, c->initialised ? 0 : c->closed);
    } else if (a->is_try) {
        ask_end(a, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        list_push_back(&c->waiting, &a->link);
    }
    return 0;
}

int pawl_cache_wait(struct pawl_cache *c, int timeout_ms)
{
    struct ask a;

    return ask_only_wait(c == NULL ? NULL : &c->r, &a, cache_start_wait, timeout_ms);
}

/* ---- questions ---- */

const struct pawl_node *pawl_cache_get(const struct pawl_cache *c, const char *path)
{
    const struct entry *e;
    struct node *n;

    if (c == NULL || path == NULL || recipe_look(&c->r) != 0) {
        return NULL;
    }
    e = cache_tree_find(c, path);
    n = e == NULL ? NULL : cache_node_ref(e->node);
    recipe_looked(&c->r);
    return n == NULL ? NULL : &n->pub;
}

static size_t count_children(const struct entry *e)
{
    struct list *item;
    size_t n = 0;

    list_for_each (item, &e->children) {
        n++;
    }
    return n;
}

int pawl_cache_children(const struct pawl_cache *c, const char *path, struct pawl_nodes **out)
{
    const struct entry *e;
    struct pawl_nodes *nodes;
    struct list *item;
    int rc = c == NULL || path == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&c->r);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    e = cache_tree_find(c, path);
    nodes = cache_nodes_new(e == NULL ? 0 : count_children(e));
    if (nodes != NULL && e != NULL) {
        list_for_each (item, &e->children) {
            struct entry *x = container_of(item, struct entry, siblings);

            if (x->node != NULL) {
                cache_nodes_add(nodes, x->node);
            }
        }
    }
    recipe_looked(&c->r);
    if (nodes == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    cache_nodes_sort(nodes);
    *out = nodes;
    return 0;
}

int pawl_cache_nodes(const struct pawl_cache *c, struct pawl_nodes **out)
{
    struct pawl_nodes *nodes;
    int rc = c == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&c->r);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    nodes = cache_nodes_new(c->n_nodes);
    for (struct entry *e = nodes == NULL ? NULL : c->root; e != NULL;
         e = cache_tree_next(c->root, e)) {
        if (e->node != NULL) {
            cache_nodes_add(nodes, e->node);
        }
    }
    recipe_looked(&c->r);
    if (nodes == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    *out = nodes;
    return 0;
}

static size_t look_at(const struct pawl_cache *c, const size_t *number)
{
    size_t n;

    if (recipe_look(&c->r) != 0) {
        return 0;
    }
    n = *number;
    recipe_looked(&c->r);
    return n;
}

size_t pawl_cache_size(const struct pawl_cache *c)
{
    return c == NULL ? 0 : look_at(c, &c->n_nodes);
}

size_t pawl_cache_bytes(const struct pawl_cache *c)
{
    return c == NULL ? 0 : look_at(c, &c->n_bytes);
}

int pawl_cache_refresh(struct pawl_cache *c)
{
    int rc = recipe_begin(c == NULL ? NULL : &c->r);

    if (rc == 0) {
        cache_watch_compare_all(c);
        cache_read_pump(c);
        recipe_end(&c->r);
    }
    return rc;
}

/* ---- life ---- */

static void cache_destroy(struct recipe *r)
{
    struct pawl_cache *c = container_of(r, struct pawl_cache, r);

    ASSERT(c->n_out == 0);
    cache_tell_fini(c);
    cache_tree_fini(c);
    recipe_fini(r);
    free(c->base);
    free(c);
}

static int cache_fill(struct pawl_cache *c, const char *path)
{
    int rc;

    c->base = recipe_copy(path);
    if (c->base == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    c->base_len = strcmp(path, "/") == 0 ? 0 : strlen(path);
    rc = cache_tree_init(c);
    if (rc == 0 && c->o.on_event != NULL) {
        rc = cache_tell_add(c, c->o.on_event, c->o.on_event_arg);
    }
    return rc;
}

int cache_new(struct pawl_client *client, const char *path, int depth,
              const struct pawl_cache_options *options, struct pawl_cache **out)
{
    struct pawl_cache *c = calloc(1, sizeof(*c));
    int rc = c == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&c->r, client, cache_destroy);

    if (rc != 0) {
        free(c);
        return rc;
    }
    take_struct(&c->o, sizeof(c->o), options);
    c->depth = depth;
    c->one_shot = (c->o.flags & PAWL_CACHE_ONE_SHOT) != 0;
    c->batch_limit = BATCH_LIMIT;
    list_init(&c->queue);
    list_init(&c->waiting);
    recipe_watch_init(&c->r, &c->watcher, cache_watch_changed, c);
    timer_init(&c->pause, cache_watch_pause_over, c);
    cache_tell_init(c);
    rc = cache_fill(c, path);
    if (rc != 0) {
        cache_destroy(&c->r);
        return rc;
    }
    *out = c;
    return 0;
}

static void cache_shut(struct recipe *r)
{
    struct pawl_cache *c = container_of(r, struct pawl_cache, r);

    if (c->observing) {
        observer_remove(&c->observer);
    }
    timer_clear(c->r.e, &c->pause);
    ask_end_all(&c->waiting, PAWL_ERR_CANCELLED);
    cache_watch_stop(c);
    for (struct entry *e = c->root; e != NULL; e = cache_tree_next(c->root, e)) {
        cache_node_unref(e->node);
        e->node = NULL;
        e->verify = false;
    }
}

void cache_start(struct pawl_cache *c)
{
    struct engine *e = c->r.e;

    if (recipe_begin(&c->r) != 0) {
        return;
    }
    observer_add(e, &c->observer, cache_watch_state, c);
    c->observing = true;
    cache_watch_start(c);
    if (c->one_shot) {
        cache_watch_resync(c);
        cache_read_pump(c);
    }
    step_end(e); /* a listener may have freed it by now */
}

static bool cache_options_are_good(const struct pawl_cache_options *options)
{
    const int known =
        PAWL_CACHE_NO_DATA | PAWL_CACHE_COMPRESSED | PAWL_CACHE_NO_ROOT | PAWL_CACHE_ONE_SHOT;
    struct pawl_cache_options o;

    TAKE(o, options);
    return (o.flags & ~known) == 0;
}

int pawl_cache_new(struct pawl_client *client, const char *path, int depth,
                   const struct pawl_cache_options *options, struct pawl_cache **out)
{
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (client == NULL || out == NULL || !prepare_is_good_path(path, false) ||
        depth < PAWL_DEPTH_TREE || !take_is_good(options) || !cache_options_are_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = cache_new(client, path, depth, options, out);
    if (rc == 0) {
        cache_start(*out);
    }
    return rc;
}

void pawl_cache_free(struct pawl_cache *c)
{
    recipe_free(c == NULL ? NULL : &c->r, cache_shut);
}
