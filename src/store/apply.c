/* SPDX-License-Identifier: Apache-2.0 */
#include "store/apply.h"

#include "base/assert.h"
#include "pawl/error.h"
#include "store/acl_table.h"
#include "store/quota.h"
#include "wire/path.h"

static void report_change(struct apply *a, const struct change *change)
{
    if (a->on_change != NULL) {
        a->on_change(change, a->arg);
    }
}

/* The parent's counters only ever grow, so that replay over a later state converges. */
static void raise_parent(struct apply *a, znode_id parent, int32_t cversion, int64_t zxid)
{
    struct stat_persisted p;

    tree_persisted(a->tree, parent, &p);
    if (cversion == -1) {
        cversion = (int32_t)((uint32_t)p.cversion + 1);
    }
    if (cversion > p.cversion) {
        tree_set_child_stat(a->tree, parent, cversion, zxid);
    }
}

static int64_t owner_of(const struct txn_header *h, const struct txn_op *op)
{
    switch (op->type) {
    case TXN_CREATE_CONTAINER:
        return OWNER_CONTAINER;
    case TXN_CREATE_TTL:
        return OWNER_TTL_MARK | op->ttl_ms;
    default:
        return op->ephemeral ? h->client_id : 0;
    }
}

static uint32_t take_acl(struct apply *a, const struct acl_list *acl)
{
    struct strbuf null_list;
    uint32_t id;

    if (acl->count < 0) { /* null: everybody may do everything, and it is stored as it came */
        strbuf_init(&null_list, 4);
        jute_write_int(&null_list, -1);
        id = acl_table_take(tree_acls(a->tree), strbuf_bytes(&null_list));
        strbuf_fini(&null_list);
        return id;
    }
    /* In its frame the count stands right before the elements. */
    return acl_table_take(tree_acls(a->tree),
                          bytes_of(acl->elements.data - 4, acl->elements.len + 4));
}

/* Only replay gets here: the snapshot was already ahead of this transaction. */
static int create_again(struct apply *a, const struct txn_header *h, const struct txn_op *op,
                        znode_id parent, znode_id id)
{
    struct stat_persisted p;
    uint32_t acl = take_acl(a, &op->acl);

    tree_persisted(a->tree, id, &p);
    tree_set_acl(a->tree, id, acl, p.aversion);
    acl_table_release(tree_acls(a->tree), acl);
    if (op->type == TXN_CREATE) {
        raise_parent(a, parent, op->parent_cversion, h->zxid);
    }
    return PAWL_ERR_NODE_EXISTS;
}

static int create_node(struct apply *a, const struct txn_header *h, const struct txn_op *op,
                       struct stat_record *stat)
{
    struct stat_persisted s = {
        .czxid = h->zxid,
        .mzxid = h->zxid,
        .pzxid = h->zxid,
        .ctime = h->time_ms,
        .mtime = h->time_ms,
        .ephemeral_owner = owner_of(h, op),
    };
    znode_id parent, id;
    uint32_t acl;

    if (!path_has_slash_no_nul(op->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    parent = tree_find(a->tree, path_parent(op->path));
    if (parent == 0) {
        return PAWL_ERR_NO_NODE;
    }
    id = tree_find(a->tree, op->path);
    if (id != 0) {
        return create_again(a, h, op, parent, id);
    }
    raise_parent(a, parent, op->parent_cversion, h->zxid);
    acl = take_acl(a, &op->acl);
    id = tree_add(a->tree, parent, path_name(op->path), op->data, acl, &s);
    if (a->quota != NULL) {
        quota_created(a->quota, op->path, (int64_t)op->data.len);
    }
    tree_stat(a->tree, id, stat);
    report_change(a, &(struct change){CHANGE_CREATED, op->path, acl, tree_acl(a->tree, parent),
                                      op->data.len});
    return PAWL_OK;
}

/* Replay over a fuzzy snapshot may meet children that come later in the log. */
static void apply_remove_below(struct apply *a, znode_id top)
{
    znode_id at = top, next;

    while ((next = tree_first_child(a->tree, at)) != 0 || at != top) {
        if (next == 0) {
            next = tree_parent(a->tree, at);
            tree_remove(a->tree, at);
        }
        at = next;
    }
}

static int apply_delete_node(struct apply *a, struct bytes path, int64_t zxid)
{
    struct stat_persisted p;
    znode_id parent, id;
    int64_t len;
    uint32_t acl;

    if (!path_has_slash_no_nul(path) || path.len <= 1) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    parent = tree_find(a->tree, path_parent(path));
    if (parent == 0) {
        return PAWL_ERR_NO_NODE;
    }
    tree_persisted(a->tree, parent, &p);
    if (zxid > p.pzxid) {
        tree_set_child_stat(a->tree, parent, p.cversion, zxid);
    }
    id = tree_find(a->tree, path);
    if (id == 0) {
        return PAWL_ERR_NO_NODE;
    }
    acl = tree_acl(a->tree, id);
    len = (int64_t)tree_data(a->tree, id).len;
    acl_table_ref(tree_acls(a->tree), acl);
    apply_remove_below(a, id);
    tree_remove(a->tree, id);
    if (a->quota != NULL) {
        quota_deleted(a->quota, path, len);
    }
    report_change(a, &(struct change){CHANGE_DELETED, path, acl, tree_acl(a->tree, parent), 0});
    acl_table_release(tree_acls(a->tree), acl);
    return PAWL_OK;
}

static int set_data(struct apply *a, const struct txn_header *h, const struct txn_op *op,
                    struct stat_record *stat)
{
    znode_id id = tree_find(a->tree, op->path);
    int64_t old_len;

    if (id == 0) {
        return PAWL_ERR_NO_NODE;
    }
    old_len = (int64_t)tree_data(a->tree, id).len;
    tree_set_data(a->tree, id, op->data, h->zxid, h->time_ms, op->version);
    if (a->quota != NULL) {
        quota_data_changed(a->quota, op->path, (int64_t)op->data.len - old_len);
    }
    tree_stat(a->tree, id, stat);
    report_change(
        a, &(struct change){CHANGE_DATA, op->path, tree_acl(a->tree, id), ACL_OPEN, op->data.len});
    return PAWL_OK;
}

static int set_acl(struct apply *a, const struct txn_op *op, struct stat_record *stat)
{
    znode_id id = tree_find(a->tree, op->path);
    uint32_t acl;

    if (id == 0) {
        return PAWL_ERR_NO_NODE;
    }
    acl = take_acl(a, &op->acl);
    tree_set_acl(a->tree, id, acl, op->version);
    acl_table_release(tree_acls(a->tree), acl);
    tree_stat(a->tree, id, stat);
    return PAWL_OK;
}

/* A name that no transaction could have made is left where it is. */
static void delete_ephemerals(struct apply *a, int64_t session_id, int64_t zxid)
{
    struct strbuf path;
    znode_id id;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    while ((id = tree_first_ephemeral(a->tree, session_id)) != 0) {
        strbuf_clear(&path);
        tree_path(a->tree, id, &path);
        if (apply_delete_node(a, strbuf_bytes(&path), zxid) != PAWL_OK) {
            break;
        }
    }
    strbuf_fini(&path);
}

static void close_session(struct apply *a, const struct txn_header *h, const struct txn_op *op)
{
    struct jute_reader r = jute_reader_of(op->deleted.elements);

    tree_session_remove(a->tree, h->client_id);
    for (int32_t i = 0; i < op->deleted.count; i++) {
        apply_delete_node(a, jute_read_buffer(&r), h->zxid);
    }
    delete_ephemerals(a, h->client_id, h->zxid);
}

static int apply_op(struct apply *a, const struct txn_header *h, const struct txn_op *op,
                    struct stat_record *stat)
{
    switch (op->type) {
    case TXN_CREATE:
    case TXN_CREATE2:
    case TXN_CREATE_CONTAINER:
    case TXN_CREATE_TTL:
        return create_node(a, h, op, stat);
    case TXN_DELETE:
    case TXN_DELETE_CONTAINER:
        return apply_delete_node(a, op->path, h->zxid);
    case TXN_SET_DATA:
    case TXN_RECONFIG:
        return set_data(a, h, op, stat);
    case TXN_SET_ACL:
        return set_acl(a, op, stat);
    case TXN_CREATE_SESSION:
        tree_session_put(a->tree, h->client_id, op->timeout_ms);
        return PAWL_OK;
    case TXN_CLOSE_SESSION:
        close_session(a, h, op);
        return PAWL_OK;
    case TXN_ERROR:
        return op->err;
    default: /* check */
        return PAWL_OK;
    }
}

static bool multi_failed(const struct txn_op *op)
{
    struct jute_reader r = jute_reader_of(op->multi);
    struct txn_op nested;

    for (int32_t i = 0; i < op->n_multi; i++) {
        txn_multi_next(&r, &nested);
        if (nested.type == TXN_ERROR) {
            return true;
        }
    }
    return false;
}

static void apply_multi(struct apply *a, const struct txn *txn, struct apply_result *results,
                        size_t n_results)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    bool failed = multi_failed(&txn->op);
    struct apply_result scratch;
    struct apply_result *result;
    struct txn_op op;

    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        result = results != NULL && (size_t)i < n_results ? &results[i] : &scratch;
        *result = (struct apply_result){0};
        if (txn_multi_next(&r, &op) != TXN_OK) {
            result->err = PAWL_ERR_MARSHALLING;
        } else if (failed) {
            result->err = op.type == TXN_ERROR ? op.err : PAWL_OK;
        } else {
            result->err = apply_op(a, &txn->header, &op, &result->stat);
        }
    }
}

void apply_txn(struct apply *a, const struct txn *txn, struct apply_result *results,
               size_t n_results)
{
    struct apply_result scratch = {0};
    struct apply_result *result = results != NULL && n_results > 0 ? results : &scratch;

    ASSERT(a->tree != NULL);
    ASSERT(results != NULL || n_results == 0);
    if (txn->op.type == TXN_MULTI) {
        apply_multi(a, txn, results, n_results);
        return;
    }
    result->err = apply_op(a, &txn->header, &txn->op, &result->stat);
}
