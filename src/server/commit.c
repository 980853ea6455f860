/* SPDX-License-Identifier: Apache-2.0 */
#include "server/commit.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/handshake.h"
#include "server/pipeline.h"
#include "store/txn_batch.h"
#include "wire/path.h"

/* ---- watches ---- */

/* Of an event: header, type, state and the length of its path. */
enum { EVENT_BYTES = 28 };

static void commit_fire(struct server *s, enum event_type type, struct bytes path, uint32_t acl)
{
    static const enum summary_id told[] = {
        [EVENT_CREATED] = SUMMARY_NODE_CREATED_WATCH_COUNT,
        [EVENT_DELETED] = SUMMARY_NODE_DELETED_WATCH_COUNT,
        [EVENT_DATA_CHANGED] = SUMMARY_NODE_CHANGED_WATCH_COUNT,
        [EVENT_CHILDREN_CHANGED] = SUMMARY_NODE_CHILDREN_WATCH_COUNT,
    };
    size_t n = watch_fire(&s->watches, type, path, acl, s->applied_zxid);

    if (n > 0) {
        metrics_observe(&s->stats, told[type], (int64_t)n);
        s->stats.packets_sent += n;
        s->stats.watch_bytes += n * (EVENT_BYTES + path.len);
    }
}

static void fire_parent(struct server *s, struct bytes path)
{
    struct bytes parent = path_parent(path);
    znode_id id = tree_find(s->tree, parent);

    if (id != 0) {
        commit_fire(s, EVENT_CHILDREN_CHANGED, parent, tree_acl(s->tree, id));
    }
}

/* The node's own event comes before its parent's. */
static void on_change(const struct change *change, void *arg)
{
    static const enum event_type types[] = {
        [CHANGE_CREATED] = EVENT_CREATED,
        [CHANGE_DELETED] = EVENT_DELETED,
        [CHANGE_DATA] = EVENT_DATA_CHANGED,
    };
    struct server *s = arg;

    namespaces_write(&s->stats.namespaces, change->path, change->bytes);
    if (s->watches.paths.count == 0) {
        return;
    }
    commit_fire(s, types[change->kind], change->path, change->acl);
    if (change->kind != CHANGE_DATA) {
        fire_parent(s, change->path);
    }
}

void commit_init(struct server *s)
{
    s->apply.on_change = on_change;
    s->apply.arg = s;
    s->n_results = 16;
    s->results = must_alloc(s->n_results * sizeof(*s->results));
}

/* ---- replies ---- */

static bool replies_with_stat(int32_t type)
{
    return type == TXN_CREATE2 || type == TXN_CREATE_CONTAINER || type == TXN_CREATE_TTL ||
           type == TXN_SET_DATA || type == TXN_SET_ACL;
}

static bool replies_with_path(int32_t type)
{
    return type == TXN_CREATE || type == TXN_CREATE2 || type == TXN_CREATE_CONTAINER ||
           type == TXN_CREATE_TTL;
}

static void write_body(struct strbuf *out, const struct txn_op *op, const struct apply_result *r)
{
    if (replies_with_path(op->type)) {
        jute_write_buffer(out, op->path);
    }
    if (replies_with_stat(op->type)) {
        stat_write(out, &r->stat);
    }
}

static int32_t result_type(int32_t type)
{
    return type == TXN_CREATE_CONTAINER || type == TXN_CREATE_TTL ? OP_CREATE2 : type;
}

static bool any_failed(const struct server *s, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (s->results[i].err != PAWL_OK) {
            return true;
        }
    }
    return false;
}

/* The header says success even when the multi failed: the outcome stands in the results. */
static void write_multi(struct server *s, const struct proposal *p, const struct txn *txn,
                        struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    bool failed = any_failed(s, txn->op.n_multi);
    struct txn_op op;

    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        txn_multi_next(&r, &op);
        if (p->is_create2 != NULL && p->is_create2[i]) {
            op.type = TXN_CREATE2;
        }
        if (failed) {
            multi_header_write(out, &(struct multi_header){-1, false, s->results[i].err});
            jute_write_int(out, s->results[i].err);
        } else {
            multi_header_write(out, &(struct multi_header){result_type(op.type), false, 0});
            write_body(out, &op, &s->results[i]);
        }
    }
    multi_header_write(out, &(struct multi_header){-1, true, -1});
}

static void commit_reply(struct server *s, const struct proposal *p, const struct txn *txn)
{
    struct strbuf *out = &p->connection->out;
    bool is_multi = txn->op.type == TXN_MULTI;
    int err = is_multi ? PAWL_OK : s->results[0].err;
    size_t start = reply_begin(out, p->xid, p->zxid, err);

    if (is_multi) {
        write_multi(s, p, txn, out);
    } else if (err == PAWL_OK) {
        write_body(out, &txn->op, &s->results[0]);
    }
    reply_end(out, start);
}

/* ---- sessions ---- */

static void session_closed(struct server *s, const struct proposal *p)
{
    struct session *session = p->session;
    struct connection *c;

    if (session == NULL) {
        return;
    }
    c = session->connection;
    if (c != NULL) {
        c->session = NULL;
        connection_close_after_flush(s, c);
    }
    session_remove(&s->sessions, session);
}

/* ---- commit ---- */

static void make_room_for_results(struct server *s, const struct txn *txn)
{
    size_t needed = txn->op.n_multi > 1 ? (size_t)txn->op.n_multi : 1;

    if (needed > s->n_results) {
        s->n_results = needed;
        s->results = must_realloc(s->results, needed * sizeof(*s->results));
    }
}

static void commit_answer(struct server *s, struct proposal *p, const struct txn *txn)
{
    struct connection *c = p->connection;

    if (p->type == OP_CREATE_SESSION) {
        pipeline_count_latency(s, c, op_find(p->type), p->xid, s->now_us - p->received_us);
        handshake_session_created(s, c);
        return;
    }
    if (c->state == CONNECTION_SERVING) {
        size_t before = c->out.len;

        commit_reply(s, p, txn);
        pipeline_count_reply(s, c, c->out.len - before);
        pipeline_count_latency(s, c, op_find(p->type), p->xid, s->now_us - p->received_us);
        connection_touch(s, c);
    }
    if (p->type != OP_CLOSE_SESSION) {
        pipeline_write_done(s, c);
    }
}

/* The session has this write in flight no more. */
static void settle_session(struct proposal *p)
{
    struct session *session = p->session;

    if (session == NULL) {
        return;
    }
    ASSERT(session->id == p->session_id);
    session->n_pending_ephemerals -= p->n_ephemerals;
    ASSERT(session->n_pending_ephemerals >= 0);
    if (session->newest == p) {
        session->newest = NULL;
    }
}

static void settle_connection(struct proposal *p)
{
    struct connection *c = p->connection;

    list_remove(&p->of_connection);
    c->in_flight_bytes -= p->bytes;
    ASSERT(c->in_flight_bytes >= 0);
}

static void count_commit(struct server *s, const struct txn *txn)
{
    s->stats.commit_count++;
    metrics_observe(&s->stats, SUMMARY_PROPAGATION_LATENCY, s->wall_ms - txn->header.time_ms);
    if (digest_log_wants(txn->header.zxid)) {
        digest_log_append(&s->digests, txn->header.zxid, tree_digest(s->tree));
    }
}

static void read_own_txn(const struct proposal *p, struct txn *out)
{
    enum txn_decoded rc = txn_read(p->payload, out);

    ASSERT(rc == TXN_OK);
    ASSERT(out->header.zxid == p->zxid);
}

void server_commit(struct server *s, struct proposal *p)
{
    struct txn txn;

    ASSERT(s->in_flight.next == &p->link);
    ASSERT(p->zxid > s->applied_zxid);
    read_own_txn(p, &txn);
    make_room_for_results(s, &txn);
    if (p->connection != NULL) {
        pipeline_before_write(s, p->connection);
    }
    list_remove(&p->link);
    ASSERT(s->n_outstanding > 0);
    s->n_outstanding--;
    s->applied_zxid = p->zxid;
    s->results[0] = (struct apply_result){0};
    apply_txn(&s->apply, &txn, s->results, s->n_results);
    pending_applied(&s->prepare.pending, p);
    ASSERT(list_empty(&p->pending));
    settle_session(p);
    if (p->connection != NULL) {
        settle_connection(p);
        commit_answer(s, p, &txn);
    }
    if (txn.op.type == TXN_CLOSE_SESSION) {
        session_closed(s, p);
    }
    count_commit(s, &txn);
    pipeline_applied(s, p);
    proposal_free(p);
}
