/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pending.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "store/acl_table.h"
#include "store/digest.h"

struct record {
    struct map_entry entry;
    struct list link;      /* in by_zxid */
    int64_t zxid;          /* of the transaction that touched it last */
    struct node_view view; /* holds a use of view.acl while it exists */
    uint32_t path_len;
    uint8_t path[];
};

/* Of so many transactions one has its digests computed again when it is applied: a difference
 * between what is prepared and what is applied is found here, not only by learners. */
enum { CHECKED_EVERY = 16 };

/* What a record was before a multi touched it. */
struct undo {
    struct list link;
    struct record *record;
    struct list *behind; /* where it stood; NULL: the record was new */
    int64_t zxid;
    struct node_view view;
};

void pending_init(struct pending_table *t, struct tree *tree, int64_t zxid, bool with_digest)
{
    *t = (struct pending_table){.tree = tree, .applied_zxid = zxid, .with_digest = with_digest};
    list_init(&t->by_zxid);
    t->digest = tree_digest(tree);
    map_init(&t->records);
    list_init(&t->undo);
}

static void hold(struct pending_table *t, const struct node_view *v)
{
    if (v->exists) {
        acl_table_ref(tree_acls(t->tree), v->acl);
    }
}

static void pending_let_go(struct pending_table *t, const struct node_view *v)
{
    if (v->exists) {
        acl_table_release(tree_acls(t->tree), v->acl);
    }
}

void pending_fini(struct pending_table *t)
{
    struct map_entry *e;
    size_t at = 0;

    while ((e = map_drain(&t->records, &at)) != NULL) {
        struct record *r = container_of(e, struct record, entry);

        pending_let_go(t, &r->view);
        free(r);
    }
    map_fini(&t->records);
    free(t->digests.items);
}

/* ---- digests ---- */

static struct foreseen_digest *next_digest(struct pending_digests *d)
{
    size_t n = d->end - d->first;

    if (d->end == d->capacity && d->first > n) {
        memcpy(d->items, d->items + d->first, n * sizeof(*d->items));
        d->first = 0;
        d->end = n;
    }
    if (d->end == d->capacity) {
        d->capacity = d->capacity == 0 ? 64 : d->capacity * 2;
        d->items = must_realloc(d->items, d->capacity * sizeof(*d->items));
    }
    return &d->items[d->end++];
}

static void foresee(struct pending_table *t, int64_t zxid, struct bytes path,
                    const struct node_view *v)
{
    const struct stat_persisted *s = &v->stat;

    if (t->in_multi) {
        return;
    }
    *next_digest(&t->digests) = (struct foreseen_digest){.zxid = zxid,
                                                         .mzxid = s->mzxid,
                                                         .pzxid = s->pzxid,
                                                         .version = s->version,
                                                         .cversion = s->cversion,
                                                         .aversion = s->aversion,
                                                         .path_len = (uint32_t)path.len,
                                                         .data_len = (uint32_t)v->data_len,
                                                         .digest = v->digest};
}

void pending_apply(struct pending_table *t, int64_t zxid)
{
    struct pending_digests *d = &t->digests;
    size_t n = 0;

    while (d->first + n < d->end && d->items[d->first + n].zxid == zxid) {
        n++;
    }
    tree_foresee(t->tree, d->items + d->first, n, zxid % CHECKED_EVERY == 0);
}

static void forget_digests(struct pending_table *t, int64_t zxid)
{
    struct pending_digests *d = &t->digests;

    tree_foresee(t->tree, NULL, 0, false);
    while (d->first < d->end && d->items[d->first].zxid <= zxid) {
        d->first++;
    }
    if (d->first == d->end) {
        d->first = d->end = 0;
    }
}

static uint64_t hash_path(struct bytes path)
{
    return hash_bytes(path.data, path.len, 3);
}

static struct record *pending_find(const struct pending_table *t, struct bytes path, uint64_t hash)
{
    for (struct map_entry *e = map_first(&t->records, hash); e != NULL; e = map_next(e)) {
        struct record *r = container_of(e, struct record, entry);

        if (r->path_len == path.len && memcmp(r->path, path.data, path.len) == 0) {
            return r;
        }
    }
    return NULL;
}

void node_view_of(const struct tree *tree, struct bytes path, struct node_view *out)
{
    znode_id id = tree_find(tree, path);

    *out = (struct node_view){0};
    if (id == 0) {
        return;
    }
    out->exists = true;
    tree_persisted(tree, id, &out->stat);
    out->n_children = tree_n_children(tree, id);
    out->acl = tree_acl(tree, id);
    out->data_len = (int64_t)tree_data(tree, id).len;
    out->digest = tree_node_digest(tree, id);
}

void pending_look(const struct pending_table *t, struct bytes path, struct node_view *out)
{
    uint64_t hash = hash_path(path);
    const struct record *r = pending_find(t, path, hash);

    if (r != NULL) {
        *out = r->view;
    } else {
        node_view_of(t->tree, path, out);
    }
    out->hash = hash;
}

static void begin_digest(struct pending_table *t, struct bytes path, struct node_view *v,
                         const struct bytes *data)
{
    struct bytes stored;

    if (data != NULL) {
        v->digest_begun = node_digest_begin(path, *data);
    } else if (!v->has_digest_begun) { /* never touched here, so the tree has its data */
        stored = tree_data(t->tree, tree_find(t->tree, path));
        v->digest_begun = node_digest_begin(path, stored);
    }
    v->has_digest_begun = true;
}

/* The tree's digest as it will be: the node's old share goes, its new one comes. */
static void update_digest(struct pending_table *t, int64_t zxid, struct bytes path,
                          struct node_view *v, const struct bytes *data)
{
    if (!t->with_digest || !node_has_digest(path)) {
        return;
    }
    t->digest -= v->digest;
    v->digest = 0;
    if (v->exists) {
        begin_digest(t, path, v, data);
        v->digest = node_digest_end(v->digest_begun, &v->stat);
        t->digest += v->digest;
        foresee(t, zxid, path, v);
    } else {
        v->has_digest_begun = false;
    }
}

static void note_undo(struct pending_table *t, struct record *r, bool is_new)
{
    struct undo *u;

    if (!t->in_multi) {
        return;
    }
    u = must_alloc(sizeof(*u));
    u->record = r;
    u->behind = is_new ? NULL : r->link.prev;
    u->zxid = r->zxid;
    u->view = r->view;
    hold(t, &u->view);
    list_push_back(&t->undo, &u->link);
}

static struct record *add_record(struct pending_table *t, struct bytes path, uint64_t hash)
{
    struct record *r = must_alloc(sizeof(*r) + path.len);

    r->zxid = 0;
    r->view = (struct node_view){0};
    r->path_len = (uint32_t)path.len;
    memcpy(r->path, path.data, path.len);
    list_init(&r->link);
    map_insert(&t->records, &r->entry, hash);
    return r;
}

void pending_set(struct pending_table *t, int64_t zxid, struct bytes path, struct node_view *view,
                 const struct bytes *data)
{
    uint64_t hash = view->hash == 0 ? hash_path(path) : view->hash;
    struct record *r = pending_find(t, path, hash);
    bool is_new = r == NULL;

    update_digest(t, zxid, path, view, data);
    if (is_new) {
        r = add_record(t, path, hash);
    }
    note_undo(t, r, is_new);
    hold(t, view);
    pending_let_go(t, &r->view);
    r->view = *view;
    ASSERT(zxid >= r->zxid);
    r->zxid = zxid;
    list_remove(&r->link);
    list_push_back(&t->by_zxid, &r->link);
}

static void drop_record(struct pending_table *t, struct record *r)
{
    list_remove(&r->link);
    pending_let_go(t, &r->view);
    map_remove(&t->records, &r->entry);
    free(r);
}

static struct record *oldest_record(const struct pending_table *t)
{
    return list_empty(&t->by_zxid) ? NULL : container_of(t->by_zxid.next, struct record, link);
}

void pending_applied(struct pending_table *t, int64_t zxid)
{
    struct record *r;

    ASSERT(zxid >= t->applied_zxid);
    t->applied_zxid = zxid;
    forget_digests(t, zxid);
    while ((r = oldest_record(t)) != NULL && r->zxid <= zxid) {
        drop_record(t, r);
    }
    if (t->with_digest && t->records.count == 0) {
        ASSERT(t->digest == tree_digest(t->tree));
    }
}

void pending_multi_begin(struct pending_table *t)
{
    ASSERT(!t->in_multi && list_empty(&t->undo));
    t->in_multi = true;
    t->undo_digest = t->digest;
}

void pending_multi_keep(struct pending_table *t)
{
    struct list *item;

    while ((item = list_pop_front(&t->undo)) != NULL) {
        struct undo *u = container_of(item, struct undo, link);

        pending_let_go(t, &u->view);
        free(u);
    }
    t->in_multi = false;
}

/* From the newest to the oldest: so each finds the list as it left it. */
static void take_back(struct pending_table *t, struct undo *u)
{
    struct record *r = u->record;

    if (u->behind == NULL) {
        drop_record(t, r);
        return;
    }
    pending_let_go(t, &r->view);
    r->view = u->view;
    hold(t, &r->view);
    r->zxid = u->zxid;
    list_remove(&r->link);
    list_insert_behind(u->behind, &r->link);
}

void pending_multi_rollback(struct pending_table *t)
{
    while (!list_empty(&t->undo)) {
        struct undo *u = container_of(t->undo.prev, struct undo, link);

        list_remove(&u->link);
        take_back(t, u);
        pending_let_go(t, &u->view);
        free(u);
    }
    t->digest = t->undo_digest;
    t->in_multi = false;
}

void pending_each_ephemeral(const struct pending_table *t, int64_t session_id, pending_path_fn fn,
                            void *arg)
{
    struct list *item;

    list_for_each (item, &t->by_zxid) { /* events show the order, so not that of the table */
        const struct record *r = container_of(item, struct record, link);
        struct bytes path = bytes_of(r->path, r->path_len);
        znode_id id;

        if (!r->view.exists || r->view.stat.ephemeral_owner != session_id) {
            continue;
        }
        id = tree_find(t->tree, path);
        if (id == 0 || tree_owner(t->tree, id) != session_id) {
            fn(path, arg);
        }
    }
}
