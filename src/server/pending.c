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
    struct list link; /* in owner->pending */
    struct proposal *owner;
    struct node_view view; /* holds a use of view.acl while it exists */
    uint32_t path_len;
    uint8_t path[];
};

/* What a record was before a multi touched it. */
struct undo {
    struct list link;
    struct record *record;
    struct proposal *owner; /* NULL: the record was new */
    struct node_view view;
};

void pending_init(struct pending_table *t, struct tree *tree, bool with_digest)
{
    *t = (struct pending_table){.tree = tree, .with_digest = with_digest};
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

void pending_look(const struct pending_table *t, struct bytes path, struct node_view *out)
{
    const struct record *r = t->records.count == 0 ? NULL : pending_find(t, path, hash_path(path));
    znode_id id;

    if (r != NULL) {
        *out = r->view;
        return;
    }
    *out = (struct node_view){0};
    id = tree_find(t->tree, path);
    if (id == 0) {
        return;
    }
    out->exists = true;
    tree_persisted(t->tree, id, &out->stat);
    out->n_children = tree_n_children(t->tree, id);
    out->acl = tree_acl(t->tree, id);
    out->data_len = (int64_t)tree_data(t->tree, id).len;
    out->digest = tree_node_digest(t->tree, id);
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
static void update_digest(struct pending_table *t, struct bytes path, struct node_view *v,
                          const struct bytes *data)
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
    u->owner = is_new ? NULL : r->owner;
    u->view = r->view;
    hold(t, &u->view);
    list_push_back(&t->undo, &u->link);
}

static struct record *add_record(struct pending_table *t, struct bytes path, uint64_t hash)
{
    struct record *r = must_alloc(sizeof(*r) + path.len);

    r->owner = NULL;
    r->view = (struct node_view){0};
    r->path_len = (uint32_t)path.len;
    memcpy(r->path, path.data, path.len);
    list_init(&r->link);
    map_insert(&t->records, &r->entry, hash);
    return r;
}

void pending_set(struct pending_table *t, struct proposal *proposal, struct bytes path,
                 struct node_view *view, const struct bytes *data)
{
    uint64_t hash = hash_path(path);
    struct record *r = pending_find(t, path, hash);
    bool is_new = r == NULL;

    update_digest(t, path, view, data);
    if (is_new) {
        r = add_record(t, path, hash);
    }
    note_undo(t, r, is_new);
    hold(t, view);
    pending_let_go(t, &r->view);
    r->view = *view;
    r->owner = proposal;
    list_remove(&r->link);
    list_push_back(&proposal->pending, &r->link);
}

static void drop_record(struct pending_table *t, struct record *r)
{
    list_remove(&r->link);
    pending_let_go(t, &r->view);
    map_remove(&t->records, &r->entry);
    free(r);
}

void pending_applied(struct pending_table *t, struct proposal *proposal)
{
    while (!list_empty(&proposal->pending)) {
        drop_record(t, container_of(proposal->pending.next, struct record, link));
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

static void take_back(struct pending_table *t, struct undo *u)
{
    struct record *r = u->record;

    if (u->owner == NULL) {
        drop_record(t, r);
        return;
    }
    pending_let_go(t, &r->view);
    r->view = u->view;
    hold(t, &r->view);
    r->owner = u->owner;
    list_remove(&r->link);
    list_push_back(&u->owner->pending, &r->link);
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
    struct map_entry *e;

    map_for_each (e, &t->records) {
        const struct record *r = container_of(e, struct record, entry);
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
