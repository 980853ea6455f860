/* SPDX-License-Identifier: Apache-2.0 */
/* cache_tree.c - entries, found by (parent, name). */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "recipes/cache/cache.h"

static uint64_t entry_hash(const struct entry *parent, const char *name, size_t len)
{
    return hash_bytes(name, len, hash_u64((uintptr_t)parent));
}

struct entry *cache_tree_find_child(const struct pawl_cache *c, const struct entry *e,
                                    const char *name, size_t len)
{
    struct map_entry *m = map_first(&c->entries, entry_hash(e, name, len));

    while (m != NULL) {
        struct entry *x = container_of(m, struct entry, in_map);

        if (x->parent == e && x->name_len == len && memcmp(x->name, name, len) == 0) {
            return x;
        }
        m = map_next(m);
    }
    return NULL;
}

static struct entry *new_entry(struct pawl_cache *c, struct entry *parent, const char *name,
                               size_t len)
{
    struct entry *e = calloc(1, sizeof(*e) + len + 1);

    if (e == NULL) {
        return NULL;
    }
    e->parent = parent;
    e->depth = parent == NULL ? 0 : parent->depth + 1;
    e->barren = c->depth >= 0 && e->depth >= (uint32_t)c->depth;
    e->name_len = (uint32_t)len;
    memcpy(e->name, name, len);
    list_init(&e->children);
    list_init(&e->siblings);
    list_init(&e->queue);
    map_insert(&c->entries, &e->in_map, entry_hash(parent, name, len));
    if (parent != NULL) {
        list_push_back(&parent->children, &e->siblings);
    }
    return e;
}

static void free_entry(struct pawl_cache *c, struct entry *e)
{
    map_remove(&c->entries, &e->in_map);
    list_remove(&e->siblings);
    list_remove(&e->queue);
    cache_node_unref(e->node);
    free(e);
}

/* ---- paths ---- */

const char *cache_tree_path(struct pawl_cache *c, const struct entry *e)
{
    size_t len = c->base_len;
    const struct entry *x;

    if (e == c->root) {
        return c->base;
    }
    for (x = e; x != c->root; x = x->parent) {
        len += x->name_len + 1;
    }
    strbuf_clear(&c->path);
    if (!strbuf_reserve(&c->path, len + 1)) {
        return NULL;
    }
    c->path.data[len] = '\0';
    for (x = e; x != c->root; x = x->parent) {
        len -= x->name_len;
        memcpy(c->path.data + len, x->name, x->name_len);
        c->path.data[--len] = '/';
    }
    memcpy(c->path.data, c->base, c->base_len);
    return (const char *)c->path.data;
}

/* What follows the base: "" for itself, "/a/b" below it; NULL: it is elsewhere. */
static const char *below_base(const struct pawl_cache *c, const char *path)
{
    if (strcmp(path, c->base) == 0) {
        return "";
    }
    if (strncmp(path, c->base, c->base_len) != 0 || path[c->base_len] != '/') {
        return NULL;
    }
    return path + c->base_len;
}

struct entry *cache_tree_find(const struct pawl_cache *c, const char *path)
{
    const char *at = path == NULL ? NULL : below_base(c, path);
    struct entry *e = at == NULL ? NULL : c->root;

    while (e != NULL && *at == '/') {
        size_t len = strcspn(++at, "/");

        e = cache_tree_find_child(c, e, at, len);
        at += len;
    }
    return e;
}

/* ---- adding ---- */

static void select_entry(struct pawl_cache *c, struct entry *e)
{
    const char *path = c->o.select == NULL ? NULL : cache_tree_path(c, e);
    int selected =
        path == NULL ? PAWL_SELECT_NODE | PAWL_SELECT_BELOW : c->o.select(path, c->o.select_arg);

    e->hidden = (selected & PAWL_SELECT_NODE) == 0 ||
                (e == c->root && (c->o.flags & PAWL_CACHE_NO_ROOT) != 0);
    e->barren = e->barren || (selected & PAWL_SELECT_BELOW) == 0;
}

static bool is_full(struct pawl_cache *c, struct entry *parent)
{
    if (c->o.max_nodes == 0 || c->entries.count < c->o.max_nodes) {
        return false;
    }
    parent->partial = true;
    if (!c->incomplete) {
        c->incomplete = true;
        cache_tell_error(c, cache_tree_path(c, parent), PAWL_ERR_TOO_LARGE);
    }
    return true;
}

struct entry *cache_tree_add_child(struct pawl_cache *c, struct entry *e, const char *name,
                                   size_t len)
{
    struct entry *x;

    if (e->barren || is_full(c, e)) {
        return NULL;
    }
    x = new_entry(c, e, name, len);
    if (x == NULL) {
        cache_watch_forgot(c);
        return NULL;
    }
    select_entry(c, x);
    if (x->hidden && x->barren) {
        free_entry(c, x);
        return NULL;
    }
    return x;
}

/* Those above it have been told before it. Should one be missing all the same, it is read, too. */
struct entry *cache_tree_add(struct pawl_cache *c, const char *path)
{
    const char *at = below_base(c, path);
    struct entry *e = at == NULL ? NULL : c->root;

    while (e != NULL && *at == '/') {
        size_t len = strcspn(++at, "/");
        struct entry *x = cache_tree_find_child(c, e, at, len);

        at += len;
        if (x == NULL) {
            x = cache_tree_add_child(c, e, at - len, len);
            if (x != NULL && *at != '\0') {
                cache_read_want(c, x, x->hidden ? WANT_LIST : WANT_READ);
            }
        }
        e = x;
    }
    return e;
}

/* ---- going ---- */

/* A hidden one whose children have been listed is there, only not to be seen. */
static bool is_unused(const struct pawl_cache *c, const struct entry *e)
{
    return e != c->root && e->node == NULL && cache_read_is_idle(e) && !e->pinned &&
           !e->data_watch && !e->child_watch && list_empty(&e->children) &&
           !(e->hidden && e->listed_pzxid != 0);
}

bool cache_tree_drop_if_unused(struct pawl_cache *c, struct entry *e)
{
    bool unused = is_unused(c, e);

    if (unused) {
        free_entry(c, e);
    }
    return unused;
}

void cache_tree_settle(struct pawl_cache *c, struct entry *e)
{
    struct entry *parent;

    do {
        parent = e->parent;
    } while (cache_tree_drop_if_unused(c, e) && (e = parent) != NULL);
}

/* ---- walking; without recursion, since a path may have very many parts ---- */

struct entry *cache_tree_next(const struct entry *top, struct entry *e)
{
    if (!list_empty(&e->children)) {
        return container_of(e->children.next, struct entry, siblings);
    }
    while (e != top && e->siblings.next == &e->parent->children) {
        e = e->parent;
    }
    return e == top ? NULL : container_of(e->siblings.next, struct entry, siblings);
}

struct entry *cache_tree_deepest(struct entry *e)
{
    while (!list_empty(&e->children)) {
        e = container_of(e->children.next, struct entry, siblings);
    }
    return e;
}

struct entry *cache_tree_next_up(const struct entry *top, struct entry *e)
{
    if (e == top) {
        return NULL;
    }
    if (e->siblings.next != &e->parent->children) {
        return cache_tree_deepest(container_of(e->siblings.next, struct entry, siblings));
    }
    return e->parent;
}

/* ---- life ---- */

int cache_tree_init(struct pawl_cache *c)
{
    strbuf_init(&c->path, STRBUF_NO_LIMIT);
    if (!map_try_init(&c->entries)) {
        return PAWL_ERR_NO_MEMORY;
    }
    c->root = new_entry(c, NULL, "", 0);
    if (c->root == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    select_entry(c, c->root);
    return 0;
}

void cache_tree_fini(struct pawl_cache *c)
{
    struct entry *next;

    for (struct entry *e = c->root == NULL ? NULL : cache_tree_deepest(c->root); e != NULL;
         e = next) {
        next = cache_tree_next_up(c->root, e);
        free_entry(c, e);
    }
    map_fini(&c->entries);
    strbuf_fini(&c->path);
}
