/* SPDX-License-Identifier: Apache-2.0 */
/* cache_apply.c - what an answer changes in the tree, and what is told of it. */
#include <stdlib.h>
#include <string.h>

#include "client/gzip.h"
#include "recipes/cache/cache.h"

/* ---- a node ---- */

static size_t kept_bytes(const struct node *n)
{
    return n == NULL ? 0 : n->pub.data.len;
}

static void apply_replace(struct pawl_cache *c, struct entry *e, struct node *n)
{
    c->n_bytes = c->n_bytes - kept_bytes(e->node) + kept_bytes(n);
    c->n_nodes += n != NULL ? 1 : 0;
    c->n_nodes -= e->node != NULL ? 1 : 0;
    cache_node_unref(e->node);
    e->node = n;
}

static bool may_keep(const struct pawl_cache *c, const struct entry *e, size_t len)
{
    size_t others = c->n_bytes - kept_bytes(e->node);

    return (c->o.flags & PAWL_CACHE_NO_DATA) == 0 &&
           (c->o.max_bytes == 0 || others + len <= c->o.max_bytes);
}

/* The event carries data also when the cache does not keep them. False: no memory. */
static bool publish(struct pawl_cache *c, struct entry *e, const struct pawl_stat *stat,
                    const struct pawl_bytes *data)
{
    const char *path = cache_tree_path(c, e);
    size_t name_at = path == NULL ? 0 : (size_t)(strrchr(path, '/') + 1 - path);
    bool keep = data != NULL && may_keep(c, e, data->len);
    struct node *n = path == NULL ? NULL : cache_node_new(path, name_at, stat, data);
    struct node *kept = n;

    if (n != NULL && !keep && data != NULL) {
        kept = cache_node_new(path, name_at, stat, NULL);
    }
    if (n == NULL || kept == NULL) {
        cache_node_unref(n);
        return false;
    }
    cache_tell_born(c, n, e->node);
    if (kept != n) {
        cache_node_unref(n);
    }
    apply_replace(c, e, kept);
    return true;
}

static int apply_unpack(const struct pawl_cache *c, const struct pawl_bytes *data, uint8_t **out,
                        size_t *len)
{
    *out = NULL;
    if ((c->o.flags & PAWL_CACHE_COMPRESSED) == 0 || data->data == NULL ||
        (c->r.e->settings.flags & PAWL_CLIENT_COMPRESS) != 0) {
        return 0;
    }
    return gzip_unpack(bytes_of(data->data, data->len), INT32_MAX, out, len);
}

/* Data that are not what they should be: the node is kept without. */
static bool publish_unpacked(struct pawl_cache *c, struct entry *e, const struct pawl_stat *stat,
                             const struct pawl_bytes *data)
{
    struct pawl_bytes plain = data == NULL ? (struct pawl_bytes){NULL, 0} : *data;
    uint8_t *unpacked = NULL;
    size_t len;
    int rc = data == NULL ? 0 : apply_unpack(c, data, &unpacked, &len);
    bool done;

    if (unpacked != NULL) {
        plain = (struct pawl_bytes){unpacked, len};
    }
    if (rc != 0) {
        cache_tell_error(c, cache_tree_path(c, e), rc);
    }
    done = publish(c, e, stat, rc != 0 || data == NULL ? NULL : &plain);
    free(unpacked);
    return done;
}

/* Whether the list of its children has to be read. With a persistent watch events tell of
 * children, too, so a list is read once, and again after events may have been missed. */
static void look_below(struct pawl_cache *c, struct entry *e, const struct pawl_stat *stat)
{
    if (e->barren) {
        return;
    }
    if (c->one_shot) {
        if (!e->child_watch || e->listed_pzxid == 0 || (e->verify && e->partial)) {
            cache_read_want(c, e, WANT_LIST);
        }
        return;
    }
    if (e->live) {
        e->listed_pzxid = stat->czxid;
    } else if (e->listed_pzxid == 0 && stat->n_children == 0 && list_empty(&e->children)) {
        e->listed_pzxid = stat->pzxid;
    } else if (e->listed_pzxid == 0 ||
               (e->verify && (e->partial || e->listed_pzxid != stat->pzxid))) {
        cache_read_want(c, e, WANT_LIST);
    }
}

/* Zxids tell, not versions: a node made again may have the version of the old one. */
void cache_apply_node(struct pawl_cache *c, struct entry *e, const struct pawl_stat *stat,
                      const struct pawl_bytes *data)
{
    const struct pawl_stat *old = e->node == NULL ? NULL : &e->node->pub.stat;
    bool again = old != NULL && old->czxid != stat->czxid;
    bool same = old != NULL && !again && old->mzxid == stat->mzxid;

    if (again) {
        bool live = e->live;

        cache_apply_gone(c, e); /* it is pinned */
        e->live = live;
    }
    if (!same && !publish_unpacked(c, e, stat, data)) {
        cache_read_want(c, e, WANT_READ);
        cache_watch_pause(c);
        return;
    }
    look_below(c, e, stat);
    e->live = e->verify = false;
}

/* ---- going ---- */

void cache_apply_gone(struct pawl_cache *c, struct entry *e)
{
    struct entry *next;

    for (struct entry *x = cache_tree_deepest(e); x != NULL; x = cache_tree_next_up(e, x)) {
        cache_read_cancel(x);
        x->listed_pzxid = 0;
        x->live = x->verify = x->partial = false;
        if (x->node != NULL) {
            cache_tell_died(c, x->node);
            apply_replace(c, x, NULL);
        }
    }
    for (struct entry *x = cache_tree_deepest(e); x != e; x = next) {
        next = cache_tree_next_up(e, x);
        cache_tree_drop_if_unused(c, x);
    }
    cache_tree_settle(c, e);
}

/* ---- children ---- */

static void take_name(struct pawl_cache *c, struct entry *e, const char *name)
{
    struct entry *x = cache_tree_find_child(c, e, name, strlen(name));

    if (x == NULL) {
        x = cache_tree_add_child(c, e, name, strlen(name));
    }
    if (x == NULL) {
        return;
    }
    x->mark = c->mark;
    if (x->node == NULL && (!x->hidden || x->listed_pzxid == 0)) {
        cache_read_want(c, x, x->hidden ? WANT_LIST : WANT_READ);
    }
}

/* What is not in the list is gone. */
void cache_apply_children(struct pawl_cache *c, struct entry *e, const struct pawl_reply *reply)
{
    struct list *item, *next;

    c->mark++;
    e->partial = false;
    for (size_t i = 0; i < reply->children.n; i++) {
        take_name(c, e, reply->children.items[i]);
    }
    for (item = e->children.next; item != &e->children; item = next) {
        struct entry *x = container_of(item, struct entry, siblings);

        next = item->next;
        if (x->mark != c->mark) {
            cache_apply_gone(c, x);
        }
    }
    e->listed_pzxid = c->forgot ? 0 : reply->stat.pzxid; /* without memory it is not complete */
    e->verify = e->verify && !e->hidden;
}
