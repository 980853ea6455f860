/* SPDX-License-Identifier: Apache-2.0 */
#include "server/prepare.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/namespaces.h"
#include "server/reaper.h"
#include "server/role.h"
#include "store/acl_table.h"
#include "store/quota.h"
#include "wire/path.h"

void prepare_init(struct prepare *p, struct tree *tree)
{
    p->tree = tree;
    strbuf_init(&p->path, STRBUF_NO_LIMIT);
    strbuf_init(&p->acl, STRBUF_NO_LIMIT);
    strbuf_init(&p->members, STRBUF_NO_LIMIT);
}

void prepare_fini(struct prepare *p)
{
    pending_fini(&p->pending);
    strbuf_fini(&p->path);
    strbuf_fini(&p->acl);
    strbuf_fini(&p->members);
}

static int check_quota(struct prepare *p, struct bytes path, int64_t bytes, int64_t count)
{
    int rc = quota_check(p->quota, path, bytes, count);

    if (rc == PAWL_ERR_QUOTA_EXCEEDED && p->namespaces != NULL) {
        namespaces_over_quota(p->namespaces, path);
    }
    return rc;
}

static bool allowed(const struct prepare *p, const struct author *who, uint32_t acl, int32_t perm)
{
    return auth_allows(who->identity, p->auth, tree_acls(p->tree), acl, perm);
}

static int32_t next_version(int32_t version)
{
    return (int32_t)((uint32_t)version + 1);
}

/* ---- create ---- */

static bool prepare_is_sequential(int32_t flags)
{
    return flags == CREATE_SEQUENTIAL || flags == CREATE_EPHEMERAL_SEQUENTIAL ||
           flags == CREATE_TTL_SEQUENTIAL;
}

static bool is_ttl(int32_t flags)
{
    return flags == CREATE_TTL_FLAG || flags == CREATE_TTL_SEQUENTIAL;
}

static int check_create_mode(const struct prepare *p, const struct request *q)
{
    if (q->flags < CREATE_PERSISTENT || q->flags > CREATE_TTL_SEQUENTIAL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (is_ttl(q->flags) && !p->extended_types) {
        return PAWL_ERR_UNIMPLEMENTED;
    }
    if (is_ttl(q->flags) ? q->ttl_ms < 1 || q->ttl_ms > TTL_MAX_MS : q->ttl_ms >= 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    /* Java logs a createTTL with other flags and dies when it applies it. */
    if (q->type == OP_CREATE_TTL && !is_ttl(q->flags)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return PAWL_OK;
}

/* The test of create and delete. A path that is null cannot be looked at at all. */
static int check_weakly(struct bytes path)
{
    if (bytes_is_null(path)) {
        return PAWL_ERR_MARSHALLING;
    }
    return path_has_slash_no_nul(path) ? PAWL_OK : PAWL_ERR_BAD_ARGUMENTS;
}

/* A transaction that the log could not be read with again must never get there. */
static bool fits_log(const struct prepare *p, size_t len)
{
    return p->limits->max_txn_bytes == 0 || (int64_t)len <= p->limits->max_txn_bytes;
}

/* What a transaction has beside path, data and ACL: header, lengths, flags, a sequence number, the
 * digest. */
enum { TXN_REST_BYTES = 128 };

/* With `auth` in it a list may grow much larger than it was in the request. */
static int fix_acl(struct prepare *p, const struct author *who, const struct request *q)
{
    int rc;

    strbuf_clear(&p->acl);
    rc = auth_fix_acl(who->identity, p->auth, &q->acl, &p->acl);
    if (rc == PAWL_OK && !fits_log(p, TXN_REST_BYTES + q->path.len + q->data.len + p->acl.len)) {
        return PAWL_ERR_INVALID_ACL;
    }
    return rc;
}

static struct acl_list fixed_acl(const struct prepare *p)
{
    struct jute_reader r = jute_reader_of(strbuf_bytes(&p->acl));

    return acl_list_read(&r);
}

static struct bytes final_path(struct prepare *p, const struct request *q,
                               const struct node_view *parent)
{
    if (!prepare_is_sequential(q->flags)) {
        return q->path;
    }
    strbuf_clear(&p->path);
    strbuf_append_bytes(&p->path, q->path);
    strbuf_printf(&p->path, "%010d", parent->stat.cversion);
    return strbuf_bytes(&p->path);
}

static int64_t new_owner(const struct author *who, const struct request *q)
{
    if (q->type == OP_CREATE_CONTAINER) {
        return OWNER_CONTAINER;
    }
    if (q->type == OP_CREATE_TTL) {
        return OWNER_TTL_MARK | q->ttl_ms;
    }
    return q->flags == CREATE_EPHEMERAL || q->flags == CREATE_EPHEMERAL_SEQUENTIAL ? who->session_id
                                                                                   : 0;
}

/* The child and its parent as they will be. */
static void create_pending(struct prepare *p, struct author *who, const struct txn_op *op,
                           int64_t owner, int64_t wall_ms, struct node_view *parent)
{
    struct node_view child = {
        .exists = true,
        .stat = {.czxid = who->zxid,
                 .mzxid = who->zxid,
                 .pzxid = who->zxid,
                 .ctime = wall_ms,
                 .mtime = wall_ms,
                 .ephemeral_owner = owner},
        .data_len = (int64_t)op->data.len,
        .acl = acl_table_take(tree_acls(p->tree), strbuf_bytes(&p->acl)),
    };

    parent->n_children++;
    if (op->parent_cversion > parent->stat.cversion) {
        parent->stat.cversion = op->parent_cversion;
        parent->stat.pzxid = who->zxid;
    }
    pending_set(&p->pending, who->zxid, path_parent(op->path), parent, NULL);
    pending_set(&p->pending, who->zxid, op->path, &child, &op->data);
    acl_table_release(tree_acls(p->tree), child.acl);
}

static int prepare_create(struct prepare *p, struct author *who, const struct request *q,
                          int64_t wall_ms, struct txn_op *op)
{
    struct node_view parent, child;
    int64_t owner = new_owner(who, q);
    bool ephemeral = owner == who->session_id && owner != 0;
    int rc = check_create_mode(p, q);

    if (rc == PAWL_OK && ephemeral) {
        rc = who->ephemerals_refused;
    }
    if (rc == PAWL_OK) {
        rc = check_weakly(q->path);
    }
    if (rc == PAWL_OK) {
        rc = fix_acl(p, who, q);
    }
    if (rc != PAWL_OK) {
        return rc;
    }
    pending_look(&p->pending, path_parent(q->path), &parent);
    if (!parent.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (!allowed(p, who, parent.acl, PERM_CREATE)) {
        return PAWL_ERR_NO_AUTH;
    }
    op->path = final_path(p, q, &parent);
    if (!path_is_valid(op->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    pending_look(&p->pending, op->path, &child);
    if (child.exists) {
        return PAWL_ERR_NODE_EXISTS;
    }
    if (tree_owner_kind(p->tree, parent.stat.ephemeral_owner) == OWNER_SESSION) {
        return PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS;
    }
    if (p->enforce_quota) {
        rc = check_quota(p, op->path, (int64_t)q->data.len, 1);
        if (rc != PAWL_OK) {
            return rc;
        }
    }
    op->type = q->type;
    op->data = q->data;
    op->acl = fixed_acl(p);
    op->parent_cversion = next_version(parent.stat.cversion);
    op->ttl_ms = q->ttl_ms;
    op->ephemeral = ephemeral;
    who->n_ephemerals += ephemeral ? 1 : 0;
    create_pending(p, who, op, owner, wall_ms, &parent);
    return PAWL_OK;
}

/* ---- delete ---- */

static bool is_system_node(struct bytes path)
{
    return bytes_equal_str(path, "/") || bytes_equal_str(path, "/zookeeper") ||
           bytes_equal_str(path, "/zookeeper/quota") || bytes_equal_str(path, "/zookeeper/config");
}

static void delete_pending(struct prepare *p, struct author *who, struct bytes path,
                           struct node_view *node)
{
    struct node_view parent;
    int64_t zxid = who->zxid;

    node->exists = false;
    pending_set(&p->pending, who->zxid, path, node, NULL);
    pending_look(&p->pending, path_parent(path), &parent);
    parent.n_children--;
    if (zxid > parent.stat.pzxid) {
        parent.stat.pzxid = zxid;
    }
    pending_set(&p->pending, who->zxid, path_parent(path), &parent, NULL);
}

static int prepare_delete(struct prepare *p, struct author *who, const struct request *q,
                          struct txn_op *op)
{
    struct node_view parent, node;
    int rc = check_weakly(q->path);

    if (rc != PAWL_OK || is_system_node(q->path)) {
        return rc != PAWL_OK ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    pending_look(&p->pending, path_parent(q->path), &parent);
    if (!parent.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (!allowed(p, who, parent.acl, PERM_DELETE)) {
        return PAWL_ERR_NO_AUTH;
    }
    pending_look(&p->pending, q->path, &node);
    if (!node.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (q->version != -1 && q->version != node.stat.version) {
        return PAWL_ERR_BAD_VERSION;
    }
    if (node.n_children > 0) {
        return PAWL_ERR_NOT_EMPTY;
    }
    op->type = TXN_DELETE;
    op->path = q->path;
    delete_pending(p, who, q->path, &node);
    return PAWL_OK;
}

/* The reaper's: no session, no version. It went by what the tree had; a child, a change or another
 * node of that name that came meanwhile makes it fail silently. */
static int prepare_delete_container(struct prepare *p, struct author *who, const struct request *q,
                                    int64_t wall_ms, struct txn_op *op)
{
    struct node_view node;

    if (!path_has_slash_no_nul(q->path) || is_system_node(q->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    pending_look(&p->pending, q->path, &node);
    if (!node.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (node.n_children > 0) {
        return PAWL_ERR_NOT_EMPTY;
    }
    if (!reaper_is_due(p->tree, &node.stat, node.n_children, p->reap_never_used_ms, wall_ms)) {
        return PAWL_ERR_BAD_VERSION;
    }
    op->type = TXN_DELETE_CONTAINER;
    op->path = q->path;
    delete_pending(p, who, q->path, &node);
    return PAWL_OK;
}

/* ---- setData, setACL, check ---- */

static int prepare_set_data(struct prepare *p, struct author *who, const struct request *q,
                            int64_t wall_ms, struct txn_op *op)
{
    struct node_view node;
    int rc;

    if (!path_is_valid(q->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    pending_look(&p->pending, q->path, &node);
    if (!node.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (!allowed(p, who, node.acl, PERM_WRITE)) {
        return PAWL_ERR_NO_AUTH;
    }
    if (p->enforce_quota) {
        rc = check_quota(p, q->path, (int64_t)q->data.len - node.data_len, 0);
        if (rc != PAWL_OK) {
            return rc;
        }
    }
    if (q->version != -1 && q->version != node.stat.version) {
        return PAWL_ERR_BAD_VERSION;
    }
    node.stat.version = next_version(node.stat.version);
    node.stat.mzxid = who->zxid;
    node.stat.mtime = wall_ms;
    node.data_len = (int64_t)q->data.len;
    op->type = TXN_SET_DATA;
    op->path = q->path;
    op->data = q->data;
    op->version = node.stat.version;
    pending_set(&p->pending, who->zxid, q->path, &node, &q->data);
    return PAWL_OK;
}

static int prepare_set_acl(struct prepare *p, struct author *who, const struct request *q,
                           struct txn_op *op)
{
    struct node_view node;
    int rc;

    if (!path_is_valid(q->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = fix_acl(p, who, q);
    if (rc != PAWL_OK) {
        return rc;
    }
    pending_look(&p->pending, q->path, &node);
    if (!node.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (!allowed(p, who, node.acl, PERM_ADMIN)) {
        return PAWL_ERR_NO_AUTH;
    }
    if (q->version != -1 && q->version != node.stat.aversion) {
        return PAWL_ERR_BAD_VERSION;
    }
    node.stat.aversion = next_version(node.stat.aversion);
    node.acl = acl_table_take(tree_acls(p->tree), strbuf_bytes(&p->acl));
    op->type = TXN_SET_ACL;
    op->path = q->path;
    op->acl = fixed_acl(p);
    op->version = node.stat.aversion;
    pending_set(&p->pending, who->zxid, q->path, &node, NULL);
    acl_table_release(tree_acls(p->tree), node.acl);
    return PAWL_OK;
}

static int prepare_check(struct prepare *p, struct author *who, const struct request *q,
                         struct txn_op *op)
{
    struct node_view node;

    if (!path_is_valid(q->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    pending_look(&p->pending, q->path, &node);
    if (!node.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (!allowed(p, who, node.acl, PERM_READ)) {
        return PAWL_ERR_NO_AUTH;
    }
    if (q->version != -1 && q->version != node.stat.version) {
        return PAWL_ERR_BAD_VERSION;
    }
    op->type = TXN_CHECK;
    op->path = q->path;
    op->version = next_version(node.stat.version);
    return PAWL_OK;
}

/* ---- reconfig ---- */

/* Before anybody is asked for permission, as in Java. */
static int make_members(struct prepare *p, const struct author *who, const struct request *q)
{
    if (!p->reconfig_enabled) {
        return PAWL_ERR_RECONFIG_DISABLED;
    }
    if (p->role->change_members == NULL) { /* a server that stands alone has no list */
        return PAWL_ERR_UNIMPLEMENTED;
    }
    if (p->reconfig_zxid > p->pending.applied_zxid) { /* perhaps before the quorum knows */
        return PAWL_ERR_RECONFIG_IN_PROGRESS;
    }
    strbuf_clear(&p->members);
    return p->role->change_members(p->role, q, who->zxid, &p->members);
}

static int prepare_reconfig(struct prepare *p, struct author *who, const struct request *q,
                            int64_t wall_ms, struct txn_op *op)
{
    struct node_view node;
    int rc = make_members(p, who, q);

    if (rc != PAWL_OK) {
        return rc;
    }
    op->type = TXN_RECONFIG;
    op->path = bytes_str("/zookeeper/config");
    op->data = strbuf_bytes(&p->members);
    op->version = -1;
    pending_look(&p->pending, op->path, &node);
    if (!node.exists) {
        return PAWL_ERR_NO_NODE;
    }
    if (!allowed(p, who, node.acl, PERM_WRITE)) {
        return PAWL_ERR_NO_AUTH;
    }
    if (!fits_log(p, TXN_REST_BYTES + op->path.len + op->data.len)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    node.stat.version = -1;
    node.stat.mzxid = who->zxid;
    node.stat.mtime = wall_ms;
    node.data_len = (int64_t)op->data.len;
    pending_set(&p->pending, who->zxid, op->path, &node, &op->data);
    p->reconfig_zxid = who->zxid;
    return PAWL_OK;
}

/* ---- one operation ---- */

static int prepare_op(struct prepare *p, struct author *who, const struct request *q,
                      int64_t wall_ms, struct txn_op *op)
{
    *op = (struct txn_op){0};
    switch (q->type) {
    case OP_CREATE:
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
    case OP_CREATE_TTL:
        return prepare_create(p, who, q, wall_ms, op);
    case OP_DELETE:
        return prepare_delete(p, who, q, op);
    case OP_DELETE_CONTAINER:
        return prepare_delete_container(p, who, q, wall_ms, op);
    case OP_SET_DATA:
        return prepare_set_data(p, who, q, wall_ms, op);
    case OP_SET_ACL:
        return prepare_set_acl(p, who, q, op);
    case OP_CHECK:
        return prepare_check(p, who, q, op);
    default:
        ASSERT(q->type == OP_RECONFIG);
        return prepare_reconfig(p, who, q, wall_ms, op);
    }
}

static void prepare_write_header(struct strbuf *out, const struct author *who, int64_t wall_ms,
                                 int32_t type)
{
    struct txn_header h = {who->session_id, who->xid, who->zxid, wall_ms, type};

    txn_header_write(out, &h);
}

void prepare_error(const struct author *who, int err, int64_t wall_ms, struct strbuf *out)
{
    prepare_write_header(out, who, wall_ms, TXN_ERROR);
    jute_write_int(out, err);
}

static void prepare_write_digest(struct prepare *p, struct strbuf *out)
{
    if (p->pending.with_digest) {
        txn_digest_write(out, (int64_t)p->pending.digest);
    }
}

static void prepare_single(struct prepare *p, struct author *who, const struct request *q,
                           int64_t wall_ms, struct strbuf *out)
{
    struct txn_op op;
    int rc = prepare_op(p, who, q, wall_ms, &op);

    if (rc != PAWL_OK) {
        prepare_error(who, rc, wall_ms, out);
        return;
    }
    prepare_write_header(out, who, wall_ms, op.type);
    txn_op_write(out, &op);
    prepare_write_digest(p, out);
}

/* ---- multi ---- */

static void write_nested(struct strbuf *out, const struct txn_op *op)
{
    size_t length_at;

    jute_write_int(out, op->type);
    length_at = out->len;
    jute_write_int(out, 0);
    txn_op_write(out, op);
    jute_patch_int(out, length_at, (int32_t)(out->len - length_at - 4));
}

/* Servers before 3.7.2 and 3.8.2 drop a nested create2 and all behind it without a word when they
 * replay it. As a plain create everybody understands it; only the answer differs, and who answers
 * knows what was asked for (waiting.c). */
static void log_as_create(struct txn_op *op)
{
    if (op->type == TXN_CREATE2) {
        op->type = TXN_CREATE;
    }
}

/* One operation after the other, each in the form the log has it. PAWL_OK, what the first that
 * failed came to, or PAWL_ERR_MARSHALLING: then it is not an operation's failure but the request's.
 */
static int prepare_nested(struct prepare *p, struct author *who, struct bytes multi,
                          int64_t wall_ms, struct strbuf *out, int32_t *n)
{
    struct jute_reader r = jute_reader_of(multi);
    size_t start = out->len;
    enum multi_step step;
    struct request nested;
    struct txn_op op;
    int rc = PAWL_OK;

    for (*n = 0; (step = multi_next(&r, false, &nested)) == MULTI_OP; ++*n) {
        if (rc == PAWL_OK && nested.type != OP_CREATE_TTL && is_ttl(nested.flags)) {
            return PAWL_ERR_MARSHALLING; /* asks for a TTL and has no place for it */
        }
        if (rc != PAWL_OK) { /* an earlier one failed: not attempted */
            op = (struct txn_op){.type = TXN_ERROR, .err = PAWL_ERR_RUNTIME_INCONSISTENCY};
        } else if ((rc = prepare_op(p, who, &nested, wall_ms, &op)) != PAWL_OK) {
            op = (struct txn_op){.type = TXN_ERROR, .err = rc};
        }
        log_as_create(&op);
        write_nested(out, &op);
        if (!fits_log(p, out->len - start + TXN_HEADER_BYTES + 4 + TXN_DIGEST_BYTES)) {
            return PAWL_ERR_MARSHALLING;
        }
    }
    return step == MULTI_END ? rc : PAWL_ERR_MARSHALLING;
}

static void prepare_multi(struct prepare *p, struct author *who, const struct request *q,
                          int64_t wall_ms, struct strbuf *out)
{
    size_t start = out->len, count_at;
    int32_t n;
    int rc;

    prepare_write_header(out, who, wall_ms, TXN_MULTI);
    count_at = out->len;
    jute_write_int(out, 0);
    pending_multi_begin(&p->pending);
    rc = prepare_nested(p, who, q->multi, wall_ms, out, &n);
    if (rc == PAWL_OK) {
        pending_multi_keep(&p->pending);
    } else {
        pending_multi_rollback(&p->pending);
        who->n_ephemerals = 0;
    }
    if (rc == PAWL_ERR_MARSHALLING) {
        out->len = start;
        prepare_error(who, rc, wall_ms, out);
        return;
    }
    jute_patch_int(out, count_at, n);
    prepare_write_digest(p, out);
}

/* ---- sessions ---- */

static void prepare_create_session(struct prepare *p, const struct author *who, int32_t timeout_ms,
                                   int64_t wall_ms, struct strbuf *out)
{
    prepare_write_header(out, who, wall_ms, TXN_CREATE_SESSION);
    jute_write_int(out, timeout_ms);
    prepare_write_digest(p, out);
}

struct closing {
    struct prepare *prepare;
    struct author *who;
    struct strbuf paths; /* encoded strings */
    int32_t count;
};

static void note_path(struct bytes path, void *arg)
{
    struct closing *closing = arg;

    jute_write_buffer(&closing->paths, path);
    closing->count++;
}

/* The session's ephemeral nodes in the tree that no transaction in flight deletes. */
static void note_tree_ephemerals(struct closing *closing)
{
    struct prepare *p = closing->prepare;
    struct node_view node;
    znode_id id = tree_first_ephemeral(p->tree, closing->who->session_id);

    for (; id != 0; id = tree_next_ephemeral(p->tree, id)) {
        strbuf_clear(&p->path);
        tree_path(p->tree, id, &p->path);
        pending_look(&p->pending, strbuf_bytes(&p->path), &node);
        if (node.exists && node.stat.ephemeral_owner == closing->who->session_id &&
            path_has_slash_no_nul(strbuf_bytes(&p->path))) { /* or nothing can delete it */
            note_path(strbuf_bytes(&p->path), closing);
        }
    }
}

static void delete_noted(struct closing *closing)
{
    struct jute_reader r = jute_reader_of(strbuf_bytes(&closing->paths));
    struct node_view node;
    struct bytes path;

    for (int32_t i = 0; i < closing->count; i++) {
        path = jute_read_buffer(&r);
        pending_look(&closing->prepare->pending, path, &node);
        delete_pending(closing->prepare, closing->who, path, &node);
    }
}

static void prepare_close_session(struct prepare *p, struct author *who, int64_t wall_ms,
                                  struct strbuf *out)
{
    struct closing closing = {.prepare = p, .who = who};
    struct session *s = session_find(p->sessions, who->session_id);

    strbuf_init(&closing.paths, STRBUF_NO_LIMIT);
    note_tree_ephemerals(&closing);
    if (s != NULL && s->ephemeral_zxid > p->pending.applied_zxid) {
        pending_each_ephemeral(&p->pending, who->session_id, note_path, &closing);
    }
    delete_noted(&closing);
    prepare_write_header(out, who, wall_ms, TXN_CLOSE_SESSION);
    if (p->close_session_txn && fits_log(p, TXN_REST_BYTES + closing.paths.len)) {
        jute_write_int(out, closing.count);
        strbuf_append_bytes(out, strbuf_bytes(&closing.paths));
    }
    /* A list that is too long is left out: whoever applies it knows the nodes of the session. Then
     * nothing may follow the header, or it would be taken for the list. */
    if (!p->close_session_txn || out->len > TXN_HEADER_BYTES) {
        prepare_write_digest(p, out);
    }
    strbuf_fini(&closing.paths);
}

void prepare_txn(struct prepare *p, struct author *who, const struct request *q, int64_t wall_ms,
                 struct strbuf *out)
{
    ASSERT(who->identity != NULL);
    switch (q->type) {
    case OP_CREATE_SESSION:
        prepare_create_session(p, who, q->timeout_ms, wall_ms, out);
        break;
    case OP_MULTI:
        prepare_multi(p, who, q, wall_ms, out);
        break;
    case OP_CLOSE_SESSION:
        prepare_close_session(p, who, wall_ms, out);
        break;
    default:
        prepare_single(p, who, q, wall_ms, out);
        break;
    }
    ASSERT(!out->failed);
}
