/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tree.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "store/acl_table.h"
#include "store/digest.h"
#include "store/znode.h"

/* ---- slots: a free one holds the number of the next free one, shifted, with the low bit set ----
 */

static struct znode *slot_free(znode_id next)
{
    return (struct znode *)((uintptr_t)next << 1 | 1);
}

static bool slot_is_free(const struct znode *n)
{
    return ((uintptr_t)n & 1) != 0;
}

static znode_id slot_take(struct tree *t)
{
    znode_id id = t->first_free;

    if (id != 0) {
        t->first_free = (znode_id)((uintptr_t)t->nodes[id] >> 1);
        return id;
    }
    if (t->n_slots == t->slot_capacity) {
        ASSERT(t->slot_capacity < UINT32_MAX / 2);
        t->slot_capacity *= 2;
        t->nodes = must_realloc(t->nodes, t->slot_capacity * sizeof(*t->nodes));
    }
    return t->n_slots++;
}

static void slot_give(struct tree *t, znode_id id)
{
    t->nodes[id] = slot_free(t->first_free);
    t->first_free = id;
}

/* ---- blocks ---- */

static size_t block_size(size_t name_len, uint32_t data_len)
{
    return offsetof(struct znode, bytes) + name_len + (data_len == NULL_DATA ? 0 : data_len);
}

static uint32_t stored_len(struct bytes data)
{
    ASSERT(data.len < NULL_DATA);
    return bytes_is_null(data) ? NULL_DATA : (uint32_t)data.len;
}

static void fill_data(struct znode *n, struct bytes data)
{
    n->data_len = stored_len(data);
    if (data.len > 0) {
        memcpy(n->bytes + n->name_len, data.data, data.len);
    }
}

static struct znode_more *more_of(struct tree *t, struct znode *n)
{
    if (n->more == NULL) {
        n->more = must_zalloc(sizeof(*n->more));
        n->more->pzxid = n->czxid;
        t->block_bytes += sizeof(*n->more);
    }
    return n->more;
}

/* ---- owners ---- */

enum owner_kind tree_owner_kind(const struct tree *t, int64_t owner)
{
    if (owner == 0) {
        return OWNER_NONE;
    }
    if (owner == OWNER_CONTAINER) {
        return OWNER_IS_CONTAINER;
    }
    if (!t->options.extended_types) {
        return OWNER_SESSION;
    }
    if ((uint64_t)owner >> 56 == 0xff || (t->options.emulate_353_ttl && owner < 0)) {
        return OWNER_IS_TTL;
    }
    return OWNER_SESSION;
}

int64_t tree_ttl(const struct tree *t, int64_t owner)
{
    if (t->options.emulate_353_ttl && ((uint64_t)owner >> 56) != 0xff) {
        return owner & 0x0fffffffffffffff;
    }
    return owner & TTL_MAX_MS;
}

static struct owner *tree_owner_find(const struct tree *t, int64_t session_id)
{
    struct map_entry *e = map_first(&t->owners, hash_u64((uint64_t)session_id));

    while (e != NULL && container_of(e, struct owner, entry)->session_id != session_id) {
        e = map_next(e);
    }
    return e == NULL ? NULL : container_of(e, struct owner, entry);
}

static znode_id *owned_head(struct tree *t, int64_t owner)
{
    struct owner *o;

    if (tree_owner_kind(t, owner) != OWNER_SESSION) {
        return &t->first_reapable;
    }
    o = tree_owner_find(t, owner);
    if (o == NULL) {
        o = must_zalloc(sizeof(*o));
        o->session_id = owner;
        map_insert(&t->owners, &o->entry, hash_u64((uint64_t)owner));
    }
    return &o->first;
}

static void owned_link(struct tree *t, znode_id id)
{
    struct znode_more *more = node_at(t, id)->more;
    znode_id *head = owned_head(t, more->owner);

    more->owned_prev = 0;
    more->owned_next = *head;
    if (*head != 0) {
        node_at(t, *head)->more->owned_prev = id;
    }
    *head = id;
    if (tree_owner_kind(t, more->owner) == OWNER_SESSION) {
        t->n_ephemerals++;
    }
}

static void owned_unlink(struct tree *t, znode_id id)
{
    struct znode_more *more = node_at(t, id)->more;
    znode_id *head = owned_head(t, more->owner);
    struct owner *o;

    if (more->owned_prev != 0) {
        node_at(t, more->owned_prev)->more->owned_next = more->owned_next;
    } else {
        ASSERT(*head == id);
        *head = more->owned_next;
    }
    if (more->owned_next != 0) {
        node_at(t, more->owned_next)->more->owned_prev = more->owned_prev;
    }
    if (tree_owner_kind(t, more->owner) == OWNER_SESSION) {
        t->n_ephemerals--;
        o = tree_owner_find(t, more->owner);
        if (o->first == 0) {
            map_remove(&t->owners, &o->entry);
            free(o);
        }
    }
}

/* ---- digest ---- */

static void get_persisted(const struct znode *n, struct stat_persisted *out)
{
    *out = (struct stat_persisted){
        .czxid = n->czxid,
        .mzxid = n->mzxid,
        .ctime = n->ctime,
        .mtime = n->mtime,
        .version = n->version,
        .aversion = n->aversion,
        .cversion = n->more == NULL ? 0 : n->more->cversion,
        .ephemeral_owner = n->more == NULL ? 0 : n->more->owner,
        .pzxid = n->more == NULL ? n->czxid : n->more->pzxid,
    };
}

static struct bytes data_of(const struct znode *n)
{
    return n->data_len == NULL_DATA ? BYTES_NULL : bytes_of(n->bytes + n->name_len, n->data_len);
}

static uint32_t path_len_of(const struct tree *t, znode_id id)
{
    uint32_t len = id == ROOT_ID ? 1 : 0;

    for (znode_id at = id; at != ROOT_ID; at = node_at(t, at)->parent) {
        len += node_at(t, at)->name_len + 1u;
    }
    return len;
}

static bool is_as_foreseen(const struct tree *t, znode_id id, const struct foreseen_digest *f)
{
    const struct znode *n = node_at(t, id);
    const struct znode_more *more = n->more;

    return n->mzxid == f->mzxid && n->version == f->version && n->aversion == f->aversion &&
           (more == NULL ? n->czxid : more->pzxid) == f->pzxid &&
           (more == NULL ? 0 : more->cversion) == f->cversion && data_of(n).len == f->data_len &&
           path_len_of(t, id) == f->path_len;
}

static uint32_t computed_digest(const struct tree *t, znode_id id, struct strbuf *path)
{
    const struct znode *n = node_at(t, id);
    struct stat_persisted s;

    strbuf_clear(path);
    tree_path(t, id, path);
    get_persisted(n, &s);
    return node_digest(strbuf_bytes(path), data_of(n), &s);
}

static uint32_t digest_of(struct tree *t, znode_id id)
{
    for (size_t i = 0; i < t->n_foreseen; i++) {
        if (is_as_foreseen(t, id, &t->foreseen[i])) {
            ASSERT(!t->check_foreseen || t->foreseen[i].digest == computed_digest(t, id, &t->path));
            return t->foreseen[i].digest;
        }
    }
    return computed_digest(t, id, &t->path);
}

static void redigest(struct tree *t, znode_id id)
{
    struct znode *n = node_at(t, id);

    if (t->options.no_digest) {
        return;
    }
    t->digest -= n->digest;
    n->digest = digest_of(t, id);
    t->digest += n->digest;
}

void tree_foresee(struct tree *t, const struct foreseen_digest *list, size_t n, bool check)
{
    t->foreseen = list;
    t->n_foreseen = n;
    t->check_foreseen = check;
}

/* ---- life ---- */

struct tree *tree_new(const struct tree_options *options)
{
    struct tree *t = must_zalloc(sizeof(*t));

    t->options = *options;
    t->slot_capacity = 1024;
    t->nodes = must_alloc(t->slot_capacity * sizeof(*t->nodes));
    t->nodes[0] = slot_free(0);
    t->n_slots = 1;
    t->acls = acl_table_new();
    map_init(&t->owners);
    map_init(&t->sessions);
    strbuf_init(&t->path, STRBUF_NO_LIMIT);
    t->last_parent = must_zalloc(sizeof(*t->last_parent));
    index_init(t);
    tree_add(t, 0, bytes_str(""), bytes_str(""), ACL_OPEN, &(struct stat_persisted){0});
    ASSERT(t->count == 1);
    return t;
}

void tree_free(struct tree *t)
{
    struct map_entry *e;
    size_t at = 0;

    if (t == NULL) {
        return;
    }
    for (znode_id id = 1; id < t->n_slots; id++) {
        if (!slot_is_free(t->nodes[id])) {
            free(t->nodes[id]->more);
            free(t->nodes[id]);
        }
    }
    while ((e = map_drain(&t->owners, &at)) != NULL) {
        free(container_of(e, struct owner, entry));
    }
    at = 0;
    while ((e = map_drain(&t->sessions, &at)) != NULL) {
        free(container_of(e, struct session_row, entry));
    }
    map_fini(&t->owners);
    map_fini(&t->sessions);
    strbuf_fini(&t->path);
    index_fini(t);
    free(t->last_parent);
    acl_table_free(t->acls);
    free(t->nodes);
    free(t);
}

static znode_id ensure(struct tree *t, znode_id parent, const char *name, uint32_t acl,
                       int32_t aversion)
{
    znode_id id = index_find(t, parent, (const uint8_t *)name, strlen(name));
    struct stat_persisted s = {.aversion = aversion};

    if (id == 0) {
        acl_table_ref(t->acls, acl);
        id = tree_add(t, parent, bytes_str(name), bytes_str(""), acl, &s);
    }
    return id;
}

void tree_add_system_nodes(struct tree *t)
{
    static const uint8_t world_read[] = "\0\0\0\1\0\0\0\1\0\0\0\5world\0\0\0\6anyone";
    uint32_t read_only = acl_table_take(t->acls, bytes_of(world_read, sizeof(world_read) - 1));
    znode_id zookeeper = ensure(t, ROOT_ID, "zookeeper", ACL_OPEN, 0);

    ensure(t, zookeeper, "quota", ACL_OPEN, 0);
    ensure(t, zookeeper, "config", read_only, -1);
    acl_table_release(t->acls, read_only);
}

/* ---- reading ---- */

/* `path` is without the first '/'. */
static znode_id walk_down(const struct tree *t, struct bytes path)
{
    const uint8_t *p = path.data, *slash, *end = path.data + path.len;
    znode_id id = ROOT_ID;

    for (; id != 0; p = slash + 1) {
        slash = memchr(p, '/', (size_t)(end - p));
        if (slash == NULL) {
            return index_find(t, id, p, (size_t)(end - p));
        }
        id = index_find(t, id, p, (size_t)(slash - p));
    }
    return 0;
}

static znode_id find_parent(const struct tree *t, struct bytes path)
{
    struct last_parent *last = t->last_parent;
    znode_id id;

    if (last->id != 0 && last->len == path.len && memcmp(last->path, path.data, path.len) == 0) {
        return last->id;
    }
    id = walk_down(t, path);
    if (id != 0 && path.len <= LAST_PARENT_BYTES) {
        last->id = id;
        last->len = (uint32_t)path.len;
        memcpy(last->path, path.data, path.len);
    }
    return id;
}

znode_id tree_find(const struct tree *t, struct bytes path)
{
    const uint8_t *name;
    znode_id parent = ROOT_ID;

    if (bytes_is_null(path)) {
        return 0;
    }
    if (path.len <= 1) {
        return path.len == 0 || path.data[0] == '/' ? ROOT_ID : 0;
    }
    if (path.data[0] != '/') {
        return 0;
    }
    name = bytes_last(path, '/') + 1;
    if (name > path.data + 1) {
        parent = find_parent(t, bytes_of(path.data + 1, (size_t)(name - path.data) - 2));
    }
    return parent == 0 ? 0 : index_find(t, parent, name, (size_t)(path.data + path.len - name));
}

znode_id tree_child(const struct tree *t, znode_id parent, struct bytes name)
{
    return index_find(t, parent, name.data, name.len);
}

znode_id tree_parent(const struct tree *t, znode_id id)
{
    return node_at(t, id)->parent;
}

struct bytes tree_data(const struct tree *t, znode_id id)
{
    return data_of(node_at(t, id));
}

struct bytes tree_name(const struct tree *t, znode_id id)
{
    return node_name(node_at(t, id));
}

void tree_path(const struct tree *t, znode_id id, struct strbuf *out)
{
    const struct znode *n;
    size_t len = 0, start = out->len;
    uint8_t *end;

    if (id == ROOT_ID) {
        strbuf_append_str(out, "/");
        return;
    }
    for (znode_id at = id; at != ROOT_ID; at = node_at(t, at)->parent) {
        len += node_at(t, at)->name_len + 1u;
    }
    if (!strbuf_reserve(out, len)) {
        return;
    }
    end = out->data + start + len;
    for (znode_id at = id; at != ROOT_ID; at = n->parent) {
        n = node_at(t, at);
        end -= n->name_len;
        memcpy(end, n->bytes, n->name_len);
        *--end = '/';
    }
    out->len += len;
}

uint32_t tree_acl(const struct tree *t, znode_id id)
{
    return node_at(t, id)->acl;
}

int32_t tree_n_children(const struct tree *t, znode_id id)
{
    const struct znode_more *more = node_at(t, id)->more;

    return more == NULL ? 0 : more->n_children;
}

int64_t tree_owner(const struct tree *t, znode_id id)
{
    const struct znode_more *more = node_at(t, id)->more;

    return more == NULL ? 0 : more->owner;
}

void tree_persisted(const struct tree *t, znode_id id, struct stat_persisted *out)
{
    get_persisted(node_at(t, id), out);
}

void tree_show_stat(const struct tree *t, const struct stat_persisted *p, int32_t n_children,
                    size_t data_len, struct stat_record *out)
{
    bool shown = tree_owner_kind(t, p->ephemeral_owner) == OWNER_SESSION;

    *out = (struct stat_record){
        .czxid = p->czxid,
        .mzxid = p->mzxid,
        .ctime = p->ctime,
        .mtime = p->mtime,
        .version = p->version,
        .cversion = (int32_t)((uint32_t)p->cversion * 2u - (uint32_t)n_children),
        .aversion = p->aversion,
        .ephemeral_owner = shown ? p->ephemeral_owner : 0,
        .data_length = (int32_t)data_len,
        .n_children = n_children,
        .pzxid = p->pzxid,
    };
}

void tree_stat(const struct tree *t, znode_id id, struct stat_record *out)
{
    struct stat_persisted p;

    tree_persisted(t, id, &p);
    tree_show_stat(t, &p, tree_n_children(t, id), tree_data(t, id).len, out);
}

znode_id tree_first_child(const struct tree *t, znode_id id)
{
    const struct znode_more *more = node_at(t, id)->more;

    return more == NULL ? 0 : more->first_child;
}

znode_id tree_next_sibling(const struct tree *t, znode_id id)
{
    return node_at(t, id)->next;
}

znode_id tree_first_ephemeral(const struct tree *t, int64_t session_id)
{
    const struct owner *o = tree_owner_find(t, session_id);

    return o == NULL ? 0 : o->first;
}

znode_id tree_next_ephemeral(const struct tree *t, znode_id id)
{
    return node_at(t, id)->more->owned_next;
}

void tree_each_ephemeral_owner(const struct tree *t, tree_session_fn fn, void *arg)
{
    struct map_entry *e;

    map_for_each (e, &t->owners) {
        fn(container_of(e, struct owner, entry)->session_id, arg);
    }
}

znode_id tree_first_reapable(const struct tree *t)
{
    return t->first_reapable;
}

znode_id tree_next_reapable(const struct tree *t, znode_id id)
{
    return node_at(t, id)->more->owned_next;
}

int64_t tree_count(const struct tree *t)
{
    return t->count;
}

znode_id tree_next_below(const struct tree *t, znode_id top, znode_id at)
{
    znode_id next = tree_first_child(t, at);

    while (next == 0 && at != top) {
        next = tree_next_sibling(t, at);
        at = node_at(t, at)->parent;
    }
    return next;
}

int64_t tree_descendants(const struct tree *t, znode_id id)
{
    int64_t n = 0;

    if (id == ROOT_ID) {
        return t->count - 1;
    }
    for (znode_id at = tree_next_below(t, id, id); at != 0; at = tree_next_below(t, id, at)) {
        n++;
    }
    return n;
}

int64_t tree_n_ephemerals(const struct tree *t)
{
    return t->n_ephemerals;
}

int64_t tree_approximate_data_size(const struct tree *t)
{
    return t->data_size;
}

size_t tree_memory(const struct tree *t)
{
    return t->block_bytes + t->slot_capacity * sizeof(*t->nodes) +
           ((size_t)t->index_mask + 1) * sizeof(*t->index);
}

struct acl_table *tree_acls(const struct tree *t)
{
    return t->acls;
}

uint64_t tree_digest(const struct tree *t)
{
    return t->digest;
}

uint32_t tree_node_digest(const struct tree *t, znode_id id)
{
    return node_at(t, id)->digest;
}

/* ---- sessions ---- */

static struct session_row *session_find(const struct tree *t, int64_t id)
{
    struct map_entry *e = map_first(&t->sessions, hash_u64((uint64_t)id));

    while (e != NULL && container_of(e, struct session_row, entry)->id != id) {
        e = map_next(e);
    }
    return e == NULL ? NULL : container_of(e, struct session_row, entry);
}

void tree_session_put(struct tree *t, int64_t id, int32_t timeout_ms)
{
    struct session_row *row = session_find(t, id);

    if (row == NULL) {
        row = must_zalloc(sizeof(*row));
        row->id = id;
        map_insert(&t->sessions, &row->entry, hash_u64((uint64_t)id));
    }
    row->timeout_ms = timeout_ms;
}

bool tree_session_remove(struct tree *t, int64_t id)
{
    struct session_row *row = session_find(t, id);

    if (row == NULL) {
        return false;
    }
    map_remove(&t->sessions, &row->entry);
    free(row);
    return true;
}

bool tree_session_get(const struct tree *t, int64_t id, int32_t *timeout_ms)
{
    const struct session_row *row = session_find(t, id);

    if (row != NULL && timeout_ms != NULL) {
        *timeout_ms = row->timeout_ms;
    }
    return row != NULL;
}

size_t tree_n_sessions(const struct tree *t)
{
    return t->sessions.count;
}

void tree_each_session(const struct tree *t, tree_session_timeout_fn fn, void *arg)
{
    struct map_entry *e;

    map_for_each (e, &t->sessions) {
        const struct session_row *row = container_of(e, struct session_row, entry);

        fn(row->id, row->timeout_ms, arg);
    }
}

/* ---- changing ---- */

static void tell_before_change(struct tree *t, znode_id id)
{
    if (t->walking && !tree_walk_visited(t, id)) {
        t->before_change(t, id, t->before_change_arg);
    }
}

static void link_child(struct tree *t, znode_id parent, znode_id id)
{
    struct znode_more *more = more_of(t, node_at(t, parent));
    struct znode *n = node_at(t, id);

    n->prev = 0;
    n->next = more->first_child;
    if (n->next != 0) {
        node_at(t, n->next)->prev = id;
    }
    more->first_child = id;
    more->n_children++;
}

static void unlink_child(struct tree *t, znode_id id)
{
    struct znode *n = node_at(t, id);
    struct znode_more *more = node_at(t, n->parent)->more;

    if (n->prev != 0) {
        node_at(t, n->prev)->next = n->next;
    } else {
        ASSERT(more->first_child == id);
        more->first_child = n->next;
    }
    if (n->next != 0) {
        node_at(t, n->next)->prev = n->prev;
    }
    more->n_children--;
}

/* Path and data of a node, as zk_approximate_data_size counts them. */
static int64_t counted_size(struct tree *t, znode_id id)
{
    size_t len = 0;

    for (znode_id at = id; at != ROOT_ID; at = node_at(t, at)->parent) {
        len += node_at(t, at)->name_len + 1u;
    }
    return (int64_t)(len + tree_data(t, id).len);
}

static void set_stat(struct tree *t, struct znode *n, const struct stat_persisted *s)
{
    n->czxid = s->czxid;
    n->mzxid = s->mzxid;
    n->ctime = s->ctime;
    n->mtime = s->mtime;
    n->version = s->version;
    n->aversion = s->aversion;
    if (n->more != NULL || s->cversion != 0 || s->pzxid != s->czxid || s->ephemeral_owner != 0) {
        more_of(t, n)->cversion = s->cversion;
        n->more->pzxid = s->pzxid;
        n->more->owner = s->ephemeral_owner;
    }
}

znode_id tree_add(struct tree *t, znode_id parent, struct bytes name, struct bytes data,
                  uint32_t acl, const struct stat_persisted *s)
{
    size_t size = block_size(name.len, stored_len(data));
    struct znode *n = must_alloc(size);
    znode_id id = slot_take(t);

    ASSERT(parent == 0 || tree_exists(t, parent)); /* 0: this is the root */
    ASSERT(acl_table_known(t->acls, acl));
    /* Not the whole struct: a block with a short name ends before the struct's padding does. */
    memset(n, 0, offsetof(struct znode, bytes));
    n->parent = parent;
    n->acl = acl;
    n->mark = t->parity & 1u;
    ASSERT(name.len < INT32_MAX);
    n->name_len = (uint32_t)name.len & INT32_MAX;
    if (name.len > 0) {
        memcpy(n->bytes, name.data, name.len);
    }
    fill_data(n, data);
    t->nodes[id] = n;
    t->block_bytes += size;
    t->count++;
    set_stat(t, n, s);
    if (parent != 0) {
        link_child(t, parent, id);
        index_insert(t, id);
    }
    if (s->ephemeral_owner != 0) {
        owned_link(t, id);
    }
    t->data_size += counted_size(t, id);
    redigest(t, id);
    return id;
}

void tree_remove(struct tree *t, znode_id id)
{
    struct znode *n = node_at(t, id);

    ASSERT(tree_exists(t, id));
    ASSERT(id != ROOT_ID);
    ASSERT(n->more == NULL || n->more->n_children == 0);
    tell_before_change(t, id);
    if (id == t->last_parent->id) {
        t->last_parent->id = 0;
    }
    t->data_size -= counted_size(t, id);
    t->digest -= n->digest;
    if (n->more != NULL && n->more->owner != 0) {
        owned_unlink(t, id);
    }
    index_remove(t, id);
    unlink_child(t, id);
    acl_table_release(t->acls, n->acl);
    t->block_bytes -= block_size(n->name_len, n->data_len);
    t->block_bytes -= n->more == NULL ? 0 : sizeof(*n->more);
    t->count--;
    free(n->more);
    free(n);
    slot_give(t, id);
}

static void change_data(struct tree *t, znode_id id, struct bytes data)
{
    struct znode *n = node_at(t, id);
    size_t old_size = block_size(n->name_len, n->data_len);
    size_t new_size = block_size(n->name_len, stored_len(data));

    t->data_size += (int64_t)data.len - (int64_t)data_of(n).len;
    if (new_size != old_size) {
        n = must_realloc(n, new_size);
        t->nodes[id] = n;
        t->block_bytes += new_size - old_size;
    }
    fill_data(n, data);
}

void tree_set_data(struct tree *t, znode_id id, struct bytes data, int64_t mzxid, int64_t mtime,
                   int32_t version)
{
    struct znode *n;

    ASSERT(tree_exists(t, id));
    tell_before_change(t, id);
    change_data(t, id, data);
    n = node_at(t, id);
    n->mzxid = mzxid;
    n->mtime = mtime;
    n->version = version;
    redigest(t, id);
}

void tree_replace_data(struct tree *t, znode_id id, struct bytes data)
{
    ASSERT(tree_exists(t, id));
    tell_before_change(t, id);
    change_data(t, id, data);
    redigest(t, id);
}

void tree_set_config(struct tree *t, struct bytes text, int64_t mzxid, int64_t mtime)
{
    tree_set_data(t, tree_find(t, bytes_str("/zookeeper/config")), text, mzxid, mtime, -1);
}

void tree_set_acl(struct tree *t, znode_id id, uint32_t acl, int32_t aversion)
{
    struct znode *n = node_at(t, id);

    ASSERT(tree_exists(t, id));
    ASSERT(acl_table_known(t->acls, acl));
    tell_before_change(t, id);
    acl_table_ref(t->acls, acl);
    acl_table_release(t->acls, n->acl);
    n->acl = acl;
    n->aversion = aversion;
    redigest(t, id);
}

void tree_set_child_stat(struct tree *t, znode_id id, int32_t cversion, int64_t pzxid)
{
    struct znode_more *more;

    tell_before_change(t, id);
    more = more_of(t, node_at(t, id));
    more->cversion = cversion;
    more->pzxid = pzxid;
    redigest(t, id);
}

void tree_set_persisted(struct tree *t, znode_id id, const struct stat_persisted *s)
{
    struct znode *n = node_at(t, id);

    tell_before_change(t, id);
    if (n->more != NULL && n->more->owner != 0) {
        owned_unlink(t, id);
    }
    set_stat(t, n, s);
    if (s->ephemeral_owner != 0) {
        owned_link(t, id);
    }
    redigest(t, id);
}

/* ---- a walk ---- */

void tree_walk_begin(struct tree *t, tree_before_change_fn fn, void *arg)
{
    ASSERT(!t->walking);
    t->walking = true;
    t->parity ^= 1;
    t->before_change = fn;
    t->before_change_arg = arg;
}

bool tree_walk_visited(const struct tree *t, znode_id id)
{
    return node_at(t, id)->mark == t->parity;
}

void tree_walk_mark(struct tree *t, znode_id id)
{
    node_at(t, id)->mark = t->parity & 1u;
}

znode_id tree_walk_limit(const struct tree *t)
{
    return t->n_slots;
}

bool tree_exists(const struct tree *t, znode_id id)
{
    return id > 0 && id < t->n_slots && !slot_is_free(t->nodes[id]);
}

void tree_walk_end(struct tree *t)
{
    ASSERT(t->walking);
    t->walking = false;
}

/* ---- check ---- */

static void check_node(const struct tree *t, znode_id id)
{
    const struct znode *n = node_at(t, id);
    int32_t n_children = 0;

    for (znode_id c = tree_first_child(t, id); c != 0; c = node_at(t, c)->next) {
        ASSERT(node_at(t, c)->parent == id);
        n_children++;
    }
    ASSERT(n_children == tree_n_children(t, id));
    if (id != ROOT_ID) {
        ASSERT(index_find(t, n->parent, n->bytes, n->name_len) == id);
    }
}

void tree_check(const struct tree *t)
{
    struct strbuf path;
    uint64_t digest = 0;
    int64_t count = 0;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (znode_id id = 1; id < t->n_slots; id++) {
        if (tree_exists(t, id)) {
            check_node(t, id);
            ASSERT(t->options.no_digest || node_at(t, id)->digest == computed_digest(t, id, &path));
            digest += node_at(t, id)->digest;
            count++;
        }
    }
    strbuf_fini(&path);
    ASSERT(count == t->count);
    ASSERT(digest == t->digest);
}
