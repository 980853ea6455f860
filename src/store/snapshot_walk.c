/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot_walk.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "store/acl_table.h"
#include "store/snapshot_format.h"
#include "store/tree.h"
#include "wire/records.h"

struct snapshot_walk {
    struct tree *tree;
    int64_t zxid;
    uint64_t digest;
    znode_id next;
    znode_id end; /* ids from here on are of later nodes */
    bool done;
    bool stepped;
    struct strbuf out;  /* the chunk being filled */
    struct strbuf path; /* of the node being encoded */
    znode_id parent;    /* whose path `path` starts with, 0: nobody's */
    size_t parent_len;
    struct list takers;
    uint64_t n_bytes; /* of nodes encoded so far */
};

/* ---- chunks ---- */

static void start_chunk(struct snapshot_walk *w)
{
    strbuf_init(&w->out, STRBUF_NO_LIMIT);
    w->out.data = must_alloc(SNAPSHOT_CHUNK_BYTES + SNAPSHOT_CHUNK_BYTES / 8);
    w->out.capacity = SNAPSHOT_CHUNK_BYTES + SNAPSHOT_CHUNK_BYTES / 8;
}

static void end_chunk(struct snapshot_walk *w)
{
    ASSERT(!w->out.failed); /* out of memory */
    snapshot_takers_give(&w->takers, w->out.data, w->out.len);
    w->out = (struct strbuf){0};
}

/* ---- what comes before the nodes ---- */

static void encode_session(int64_t id, int32_t timeout_ms, void *arg)
{
    struct strbuf *out = arg;

    jute_write_long(out, id);
    jute_write_int(out, timeout_ms);
}

static void encode_acl(uint32_t id, struct bytes encoded, void *arg)
{
    struct strbuf *out = arg;

    jute_write_long(out, id);
    strbuf_append_bytes(out, encoded);
}

static void encode_head(struct snapshot_walk *w)
{
    const struct acl_table *acls = tree_acls(w->tree);
    struct strbuf *out = &w->out;

    jute_write_int(out, (int32_t)tree_n_sessions(w->tree));
    tree_each_session(w->tree, encode_session, out);
    jute_write_int(out, (int32_t)acl_table_count(acls));
    acl_table_each(acls, encode_acl, out);
}

/* ---- nodes ---- */

/* Siblings mostly come one after the other: the path of their parent is kept. */
static struct bytes walk_path_of(struct snapshot_walk *w, znode_id id)
{
    znode_id parent = tree_parent(w->tree, id);

    if (parent == 0) {
        return bytes_str("");
    }
    if (parent != w->parent) {
        strbuf_clear(&w->path);
        if (tree_parent(w->tree, parent) != 0) {
            tree_path(w->tree, parent, &w->path);
        }
        w->parent = parent;
        w->parent_len = w->path.len;
    }
    w->path.len = w->parent_len;
    strbuf_append(&w->path, "/", 1);
    strbuf_append_bytes(&w->path, tree_name(w->tree, id));
    return strbuf_bytes(&w->path);
}

static void encode_node(struct snapshot_walk *w, znode_id id)
{
    uint32_t acl = tree_acl(w->tree, id);
    struct stat_persisted s;
    size_t before;

    if (w->out.data == NULL) {
        start_chunk(w);
    }
    before = w->out.len;
    tree_persisted(w->tree, id, &s);
    jute_write_buffer(&w->out, walk_path_of(w, id));
    jute_write_buffer(&w->out, tree_data(w->tree, id));
    jute_write_long(&w->out, acl == ACL_OPEN ? SNAPSHOT_OPEN_ACL : (int64_t)acl);
    stat_persisted_write(&w->out, &s);
    tree_walk_mark(w->tree, id);
    w->n_bytes += w->out.len - before;
    if (w->out.len >= SNAPSHOT_CHUNK_BYTES) {
        end_chunk(w);
    }
}

/* The node, after those above it that were not encoded yet: the file wants parents first. */
static void visit(struct snapshot_walk *w, znode_id id)
{
    znode_id above[64];
    size_t n = 0;

    while (id != 0 && !tree_walk_visited(w->tree, id) && n < sizeof(above) / sizeof(above[0])) {
        above[n++] = id;
        id = tree_parent(w->tree, id);
    }
    if (id != 0 && !tree_walk_visited(w->tree, id)) { /* deeper than 64 below the last one */
        visit(w, id);
    }
    while (n > 0) {
        encode_node(w, above[--n]);
    }
}

static void walk_before_change(struct tree *t, znode_id id, void *arg)
{
    (void)t;
    visit(arg, id);
}

static void walk_finish(struct snapshot_walk *w)
{
    if (w->out.data == NULL) {
        start_chunk(w);
    }
    jute_write_str(&w->out, "/");
    end_chunk(w);
    snapshot_takers_end(&w->takers, TAKER_WHOLE);
    tree_walk_end(w->tree);
    w->done = true;
}

/* The next walk takes what this one has not visited for visited, so nothing may be left. */
static void walk_give_up(struct snapshot_walk *w)
{
    for (znode_id id = w->next; id < w->end; id++) {
        if (tree_exists(w->tree, id)) {
            tree_walk_mark(w->tree, id);
        }
    }
    snapshot_takers_end(&w->takers, TAKER_LEFT);
    tree_walk_end(w->tree);
}

/* ---- public ---- */

struct snapshot_walk *snapshot_walk_begin(struct tree *tree, int64_t zxid)
{
    struct snapshot_walk *w = must_zalloc(sizeof(*w));

    w->tree = tree;
    w->zxid = zxid;
    w->digest = tree_digest(tree);
    w->next = 1;
    w->end = tree_walk_limit(tree);
    strbuf_init(&w->path, STRBUF_NO_LIMIT);
    list_init(&w->takers);
    start_chunk(w);
    encode_head(w);
    tree_walk_begin(tree, walk_before_change, w);
    return w;
}

bool snapshot_walk_step(struct snapshot_walk *w, size_t budget_nodes, size_t budget_bytes)
{
    uint64_t began = w->n_bytes;
    znode_id id;

    ASSERT(w->next <= w->end);
    w->stepped = true;
    if (w->done) {
        return true;
    }
    for (; w->next < w->end && budget_nodes > 0 && w->n_bytes - began < budget_bytes;
         budget_nodes--) {
        id = w->next++;
        if (tree_exists(w->tree, id) && !tree_walk_visited(w->tree, id)) {
            visit(w, id);
        }
    }
    if (w->next == w->end) {
        walk_finish(w);
    }
    return w->done;
}

bool snapshot_walk_is_done(const struct snapshot_walk *w)
{
    return w->done;
}

struct snapshot_taker *snapshot_walk_join(struct snapshot_walk *w, size_t limit_bytes)
{
    ASSERT(!w->stepped && w->n_bytes == 0);
    return snapshot_taker_new(&w->takers, limit_bytes);
}

bool snapshot_walk_is_wanted(const struct snapshot_walk *w)
{
    return !list_empty(&w->takers);
}

size_t snapshot_walk_lag(const struct snapshot_walk *w)
{
    return snapshot_takers_lag(&w->takers);
}

size_t snapshot_walk_drop_slow(struct snapshot_walk *w, size_t lag_bytes, uint64_t least_bytes)
{
    return snapshot_takers_drop_slow(&w->takers, lag_bytes, least_bytes);
}

int64_t snapshot_walk_zxid(const struct snapshot_walk *w)
{
    return w->zxid;
}

uint64_t snapshot_walk_digest(const struct snapshot_walk *w)
{
    return w->digest;
}

void snapshot_walk_free(struct snapshot_walk *w)
{
    if (w == NULL) {
        return;
    }
    if (!w->done) {
        walk_give_up(w);
    }
    strbuf_fini(&w->out);
    strbuf_fini(&w->path);
    free(w);
}
