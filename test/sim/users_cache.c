/* SPDX-License-Identifier: Apache-2.0 */
/* users_cache.c - those who change nodes, and those who keep copies. */
#include <stdio.h>
#include <string.h>

#include "pawl/cache.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

enum { MAX_DEPTH = 2 };

struct keeper {
    struct pawl_cache *cache;
    int depth;
    int n_nodes; /* by events */
    int n_asked;
    bool initialised;
};

static void told(struct pawl_cache *c, const struct pawl_cache_event *e, void *user)
{
    struct user *u = user;
    struct keeper *k = u->own;

    (void)c;
    if (!user_lives(u)) {
        return;
    }
    switch (e->type) {
    case PAWL_CACHE_EVENT_CREATED:
        k->n_nodes++;
        break;
    case PAWL_CACHE_EVENT_DELETED:
        k->n_nodes--;
        break;
    case PAWL_CACHE_EVENT_INITIALISED:
        if (k->initialised) {
            world_violated("user %d: initialised twice", u->id);
        }
        k->initialised = true;
        break;
    case PAWL_CACHE_EVENT_CHANGED:
        if (strcmp(e->old_node->path, e->new_node->path) != 0 ||
            e->new_node->stat.mzxid < e->old_node->stat.mzxid) {
            world_violated("user %d: %s went back in time", u->id, e->path);
        }
        break;
    case PAWL_CACHE_EVENT_ERROR:
        world_violated("user %d: cache says %s of %s", u->id, pawl_error_name(e->err), e->path);
    default:
        break;
    }
    world_note(u->id, "cache", (int64_t)e->type);
    u->sim->n_done++;
}

static void make(struct user *u)
{
    static const int depths[] = {PAWL_DEPTH_TREE, PAWL_DEPTH_TREE, PAWL_DEPTH_NODE,
                                 PAWL_DEPTH_CHILDREN};
    struct sim *s = u->sim;
    struct keeper *k = u->own;
    struct pawl_cache_options o = {.size = sizeof(o),
                                   .flags = sim_chance(s, 3) ? PAWL_CACHE_ONE_SHOT : 0,
                                   .on_event = told,
                                   .on_event_arg = u};
    int n_asked = k->n_asked;

    *k = (struct keeper){.depth = depths[sim_below(s, 4)], .n_asked = n_asked};
    if (pawl_cache_new(user_client(u), s->things[u->thing].path, k->depth, &o, &k->cache) != 0) {
        world_violated("user %d could not make a cache", u->id);
    }
}

static void changed(const struct pawl_reply *reply, void *arg)
{
    struct asked *asked = arg;
    struct keeper *k = asked->user->own;

    if (asked_told(asked, reply->err)) {
        k->n_asked--;
    }
}

/* A node of a small tree: made, changed or deleted. */
static void change(struct user *u)
{
    struct sim *s = u->sim;
    struct keeper *k = u->own;
    struct pawl_client *c = user_client(u);
    struct asked *asked = asked_new(u, "change", NULL, -1);
    char path[64], data[16];
    int at = snprintf(path, sizeof(path), "%s", s->things[u->thing].path), rc;

    for (int depth = (int)sim_below(s, MAX_DEPTH + 1); depth > 0; depth--) {
        at += snprintf(path + at, sizeof(path) - (size_t)at, "/%c", (int)('a' + sim_below(s, 4)));
    }
    snprintf(data, sizeof(data), "%lld", (long long)sim_below(s, 1000000));
    switch (sim_below(s, 3)) {
    case 0:
        rc = pawl_create_async(
            c, PAWL_CREATE(.path = path, .data = {data, strlen(data)}, .flags = PAWL_OP_PARENTS),
            changed, asked);
        break;
    case 1:
        rc =
            pawl_set_async(c, PAWL_SET(.path = path, .data = {data, strlen(data)}), changed, asked);
        break;
    default:
        rc = pawl_delete_async(
            c, PAWL_DELETE(.path = path, .flags = sim_chance(s, 4) ? PAWL_OP_CHILDREN_TOO : 0),
            changed, asked);
        break;
    }
    if (rc != 0) {
        world_violated("user %d: change said %s", u->id, pawl_error_name(rc));
    }
    k->n_asked++;
}

static void free_cache(struct user *u)
{
    struct keeper *k = u->own;
    struct pawl_cache *c = k->cache;

    world_note(u->id, "free", 0);
    k->cache = NULL;
    pawl_cache_free(c);
}

static void act(struct user *u)
{
    struct sim *s = u->sim;
    struct keeper *k = u->own;

    if (k->cache == NULL) {
        make(u);
    } else if (!s->calm && sim_chance(s, 60)) {
        free_cache(u);
    } else if (!s->calm && k->n_asked < 3) {
        change(u);
    }
}

/* ---- equal ---- */

static int depth_of(const char *path, size_t base_len)
{
    int n = 0;

    for (const char *at = path + base_len; *at != '\0'; at++) {
        n += *at == '/';
    }
    return n;
}

static bool is_same(struct sim *s, znode_id id, const struct pawl_node *n)
{
    struct bytes data = sim_plain(s, tree_data(world_tree(s->w), id));
    struct stat_record stat;

    tree_stat(world_tree(s->w), id, &stat);
    return n->stat.czxid == stat.czxid && n->stat.mzxid == stat.mzxid &&
           bytes_equal(data, bytes_of(n->data.data, n->data.len));
}

/* Whether the copy is the tree. */
static bool equals(const struct user *u)
{
    const struct keeper *k = u->own;
    struct sim *s = u->sim;
    struct tree *t = world_tree(s->w);
    const char *base = s->things[u->thing].path;
    znode_id top = tree_find(t, bytes_str(base)), at = top;
    struct strbuf path;
    bool same = true;
    int n = 0;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (; same && at != 0; at = tree_next_below(t, top, at)) {
        const struct pawl_node *node;

        strbuf_clear(&path);
        tree_path(t, at, &path);
        if (k->depth >= 0 && depth_of(strbuf_cstr(&path), strlen(base)) > k->depth) {
            continue;
        }
        node = pawl_cache_get(k->cache, strbuf_cstr(&path));
        same = node != NULL && is_same(s, at, node);
        if (node != NULL) {
            pawl_node_unref(node);
        }
        n++;
    }
    strbuf_fini(&path);
    return same && (size_t)n == pawl_cache_size(k->cache) && k->n_nodes == n && k->initialised;
}

static bool is_idle(const struct user *u)
{
    const struct keeper *k = u->own;

    return k->n_asked == 0 && k->cache != NULL && equals(u);
}

static void explain(struct user *u)
{
    const struct keeper *k = u->own;
    struct pawl_nodes *nodes;

    printf("user %d of process %d: depth %d, %d asked, %s, %zu nodes, %d by events\n", u->id,
           u->process->machine->id, k->depth, k->n_asked,
           k->initialised ? "initialised" : "not initialised", pawl_cache_size(k->cache),
           k->n_nodes);
    if (pawl_cache_nodes(k->cache, &nodes) == 0) {
        for (size_t i = 0; i < nodes->n; i++) {
            znode_id id = tree_find(world_tree(u->sim->w), bytes_str(nodes->items[i]->path));

            printf("  %s %s\n", nodes->items[i]->path,
                   id == 0                                ? "is not there"
                   : is_same(u->sim, id, nodes->items[i]) ? "is the same"
                                                          : "differs");
        }
        pawl_nodes_free(nodes);
    }
}

const struct kind cache_kind = {
    .name = "cache",
    .user_bytes = sizeof(struct keeper),
    .act = act,
    .is_idle = is_idle,
    .explain = explain,
    .free = free_cache,
    .no_compression = true,
};
