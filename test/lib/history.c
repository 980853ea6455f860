/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/history.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/prng.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/acl_table.h"
#include "store/apply.h"
#include "wire/txn.h"

enum { N_SESSIONS = 3, N_TOP = 6, N_BELOW = 4, DATA_MAX = 24 << 10 };

const struct tree_options history_tree_options = {.extended_types = true};

struct moment {
    size_t end; /* of the payloads up to here */
    uint64_t state;
};

struct history {
    struct prng prng;
    struct tree *tree;
    struct strbuf payloads;
    struct moment *moments; /* by zxid; 0 is the beginning */
    size_t n;
    struct strbuf scratch;
    uint8_t data[DATA_MAX];
};

/* ---- states ---- */

/* Everything of one node, as a number. */
static uint64_t node_state(const struct tree *t, znode_id id, struct strbuf *scratch)
{
    struct bytes data = tree_data(t, id);
    struct stat_record stat;
    uint64_t hash;

    strbuf_clear(scratch);
    tree_path(t, id, scratch);
    jute_write_int(scratch, bytes_is_null(data) ? -1 : 0);
    strbuf_append_bytes(scratch, acl_table_get(tree_acls(t), tree_acl(t, id)));
    tree_stat(t, id, &stat);
    stat_write(scratch, &stat);
    hash = hash_bytes(scratch->data, scratch->len, (uint64_t)tree_owner(t, id));
    return data.len == 0 ? hash : hash_bytes(data.data, data.len, hash);
}

static uint64_t state_of(const struct tree *t)
{
    uint64_t sum = tree_digest(t);
    struct strbuf scratch;

    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    for (znode_id id = 1; id < tree_walk_limit(t); id++) {
        if (tree_exists(t, id)) {
            sum += node_state(t, id, &scratch);
        }
    }
    for (int64_t id = 1; id <= N_SESSIONS; id++) {
        sum = hash_u64(sum ^ (tree_session_get(t, id, NULL) ? 1 : 2));
    }
    strbuf_fini(&scratch);
    return sum;
}

void history_expect(const struct history *h, const struct tree *tree, int64_t zxid)
{
    tree_check(tree);
    assert_in_range(zxid, 0, h->n);
    assert_int_equal(state_of(tree), h->moments[zxid].state);
}

struct bytes history_payload(const struct history *h, int64_t zxid)
{
    size_t start = h->moments[zxid - 1].end;

    ASSERT(zxid > 0 && (size_t)zxid <= h->n);
    return bytes_of(h->payloads.data + start, h->moments[zxid].end - start);
}

/* ---- operations that make sense on the tree as it is ---- */

static uint64_t pick(struct history *h, uint64_t n)
{
    return prng_below(&h->prng, n);
}

/* Mostly small; now and then several sectors, or larger than what is written in one piece; and
 * often all zero, which looks like a sector that was lost. */
static struct bytes some_data(struct history *h)
{
    uint64_t kind = pick(h, 20);
    size_t len = (size_t)pick(h, kind == 0 ? DATA_MAX : kind < 4 ? 2000 : 60);
    int filler = pick(h, 3) == 0 ? 0 : (int)('a' + pick(h, 26));

    if (kind == 5) {
        return BYTES_NULL;
    }
    memset(h->data, filler, sizeof(h->data));
    return bytes_of(h->data, len);
}

static const char *some_path(struct history *h, char *out)
{
    uint64_t top = pick(h, N_TOP);

    if (pick(h, 3) == 0) {
        sprintf(out, "/n%d", (int)top);
    } else {
        sprintf(out, "/n%d/c%d", (int)top, (int)pick(h, N_BELOW));
    }
    return out;
}

static struct acl_list some_acl(struct history *h)
{
    static const uint8_t open[] = "\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone";
    static const uint8_t other[] = "\0\0\0\1\0\0\0\2ip\0\0\0\7"
                                   "1.2.3.4";
    bool is_open = pick(h, 4) != 0;

    /* apply takes the count that stands before the elements */
    strbuf_clear(&h->scratch);
    jute_write_int(&h->scratch, 1);
    strbuf_append(&h->scratch, is_open ? open : other,
                  is_open ? sizeof(open) - 1 : sizeof(other) - 1);
    return (struct acl_list){1, bytes_of(h->scratch.data + 4, h->scratch.len - 4)};
}

static int32_t next_cversion(const struct history *h, struct bytes path)
{
    size_t len = path.len;
    struct stat_persisted p;
    znode_id parent;

    while (path.data[len - 1] != '/') {
        len--;
    }
    parent = tree_find(h->tree, bytes_of(path.data, len > 1 ? len - 1 : 1));
    if (parent == 0) {
        return -1;
    }
    tree_persisted(h->tree, parent, &p);
    return p.cversion + 1;
}

static bool may_have_children(const struct history *h, struct bytes path)
{
    const char *slash = strrchr((const char *)path.data + 1, '/');
    znode_id parent;

    if (slash == NULL) {
        return true;
    }
    parent = tree_find(h->tree, bytes_of(path.data, (size_t)(slash - (const char *)path.data)));
    return parent != 0 && tree_owner_kind(h->tree, tree_owner(h->tree, parent)) != OWNER_SESSION;
}

static void some_create(struct history *h, struct txn_header *header, struct txn_op *op)
{
    static const int32_t types[] = {TXN_CREATE, TXN_CREATE2, TXN_CREATE_CONTAINER, TXN_CREATE_TTL};

    op->type = types[pick(h, 4)];
    op->data = some_data(h);
    op->acl = some_acl(h);
    op->parent_cversion = next_cversion(h, op->path);
    op->ttl_ms = 1000 + (int64_t)pick(h, 1000);
    header->client_id = 1 + (int64_t)pick(h, N_SESSIONS);
    op->ephemeral = pick(h, 3) == 0 && tree_session_get(h->tree, header->client_id, NULL);
}

/* Something that is possible for the node at `op->path`. */
static void some_change(struct history *h, struct txn_header *header, struct txn_op *op)
{
    znode_id id = tree_find(h->tree, op->path);
    struct stat_persisted p;

    if (id == 0) {
        if (may_have_children(h, op->path)) {
            some_create(h, header, op);
        } else {
            op->type = TXN_ERROR;
            op->err = PAWL_ERR_NO_NODE;
        }
        return;
    }
    tree_persisted(h->tree, id, &p);
    if (tree_first_child(h->tree, id) == 0 && pick(h, 3) == 0) {
        op->type = TXN_DELETE;
    } else if (pick(h, 6) == 0) {
        op->type = TXN_SET_ACL;
        op->acl = some_acl(h);
        op->version = p.aversion + 1;
    } else {
        op->type = TXN_SET_DATA;
        op->data = some_data(h);
        op->version = p.version + 1;
    }
}

static void session_change(struct history *h, struct txn_header *header, struct txn_op *op)
{
    header->client_id = 1 + (int64_t)pick(h, N_SESSIONS);
    if (tree_session_get(h->tree, header->client_id, NULL)) {
        op->type = TXN_CLOSE_SESSION;
        op->deleted = (struct string_list){.count = -1};
    } else {
        op->type = TXN_CREATE_SESSION;
        op->timeout_ms = 4000;
    }
}

/* Two changes of different nodes in one. */
static void put_multi(struct history *h, struct txn_header *header, struct strbuf *out)
{
    char first[64], second[64];
    struct txn_op ops[2];
    size_t mark;

    header->type = TXN_MULTI;
    txn_header_write(out, header);
    jute_write_int(out, 2);
    some_path(h, first);
    do {
        some_path(h, second);
    } while (strncmp(first, second, 3) == 0);
    for (size_t i = 0; i < 2; i++) {
        ops[i] = (struct txn_op){.path = bytes_str(i == 0 ? first : second)};
        some_change(h, header, &ops[i]);
        if (ops[i].type == TXN_SET_ACL) { /* not inside a multi */
            ops[i].type = TXN_CHECK;
        }
        ops[i].parent_cversion = -1;
        ops[i].ephemeral = false;
        jute_write_int(out, ops[i].type);
        mark = out->len;
        jute_write_int(out, 0);
        txn_op_write(out, &ops[i]);
        jute_patch_int(out, mark, (int32_t)(out->len - mark - 4));
    }
}

static void put_single(struct history *h, struct txn_header *header, struct strbuf *out)
{
    struct txn_op op = {0};
    char path[64];

    if (pick(h, 8) == 0) {
        session_change(h, header, &op);
    } else {
        op.path = bytes_str(some_path(h, path));
        some_change(h, header, &op);
    }
    header->type = op.type;
    txn_header_write(out, header);
    txn_op_write(out, &op);
}

static void add_txn(struct history *h, int64_t zxid)
{
    struct txn_header header = {.cxid = 7, .zxid = zxid, .time_ms = 1000000 + zxid};
    struct apply apply = {.tree = h->tree};
    size_t start = h->payloads.len;
    struct txn txn;

    if (pick(h, 8) == 0) {
        put_multi(h, &header, &h->payloads);
    } else {
        put_single(h, &header, &h->payloads);
    }
    ASSERT(!h->payloads.failed);
    ASSERT(txn_read(bytes_of(h->payloads.data + start, h->payloads.len - start), &txn) == TXN_OK);
    apply_txn(&apply, &txn, NULL, 0);
    if (header.type != TXN_ERROR) {
        txn_digest_write(&h->payloads, (int64_t)tree_digest(h->tree));
    }
    h->moments[zxid] = (struct moment){h->payloads.len, state_of(h->tree)};
}

struct history *history_new(uint64_t seed, size_t n_txns)
{
    struct history *h = must_zalloc(sizeof(*h));

    prng_seed(&h->prng, seed);
    h->tree = tree_new(&history_tree_options);
    tree_add_system_nodes(h->tree);
    strbuf_init(&h->payloads, STRBUF_NO_LIMIT);
    strbuf_init(&h->scratch, STRBUF_NO_LIMIT);
    h->moments = must_zalloc((n_txns + 1) * sizeof(*h->moments));
    h->n = n_txns;
    h->moments[0].state = state_of(h->tree);
    for (int64_t zxid = 1; (size_t)zxid <= n_txns; zxid++) {
        add_txn(h, zxid);
    }
    return h;
}

void history_free(struct history *h)
{
    tree_free(h->tree);
    strbuf_fini(&h->payloads);
    strbuf_fini(&h->scratch);
    free(h->moments);
    free(h);
}
