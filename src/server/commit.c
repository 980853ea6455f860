/* SPDX-License-Identifier: Apache-2.0 */
#include "server/commit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/handshake.h"
#include "server/pipeline.h"
#include "wire/path.h"

/* So far apart are no clocks that anybody looks after, and nothing takes so long. */
enum { CLOCKS_APART_MS = 10000 };

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

/* The node's own event comes before its parent's. */
static void on_change(const struct change *change, void *arg)
{
    struct server *s = arg;

    namespaces_write(&s->stats.namespaces, change->path, change->bytes);
    changes_add(&s->changes, s->applied_zxid, change);
    if (s->audit.line != NULL && s->ending_session != 0 && change->kind == CHANGE_DELETED) {
        audit_ephemeral(s, s->ending_session, change->path);
    }
    if (s->watches.paths.count == 0) {
        return;
    }
    commit_fire(s, watch_event_of(change->kind), change->path, change->acl);
    if (change->kind != CHANGE_DATA) {
        commit_fire(s, EVENT_CHILDREN_CHANGED, path_parent(change->path), change->parent_acl);
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
           type == TXN_SET_DATA || type == TXN_SET_ACL || type == TXN_RECONFIG;
}

static bool replies_with_path(int32_t type)
{
    return type == TXN_CREATE || type == TXN_CREATE2 || type == TXN_CREATE_CONTAINER ||
           type == TXN_CREATE_TTL;
}

/* `type` is what was asked for, which may be more than the transaction says. */
static void write_body(struct strbuf *out, int32_t type, const struct txn_op *op,
                       const struct apply_result *r)
{
    if (replies_with_path(type)) {
        jute_write_buffer(out, op->path);
    }
    if (type == TXN_RECONFIG) {
        jute_write_buffer(out, op->data);
    }
    if (replies_with_stat(type)) {
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
static void write_multi(struct server *s, const struct waiting *w, const struct txn *txn,
                        struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    bool failed = any_failed(s, txn->op.n_multi);
    struct txn_op op;

    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        txn_multi_next(&r, &op);
        if (w->is_create2 != NULL && w->is_create2[i]) {
            op.type = TXN_CREATE2;
        }
        if (failed) {
            multi_header_write(out, &(struct multi_header){-1, false, s->results[i].err});
            jute_write_int(out, s->results[i].err);
        } else {
            multi_header_write(out, &(struct multi_header){result_type(op.type), false, 0});
            write_body(out, op.type, &op, &s->results[i]);
        }
    }
    multi_header_write(out, &(struct multi_header){-1, true, -1});
}

static void commit_reply(struct server *s, const struct waiting *w, const struct txn *txn)
{
    struct strbuf *out = &w->connection->out;
    bool is_multi = txn->op.type == TXN_MULTI;
    int err = is_multi ? PAWL_OK : s->results[0].err;
    size_t start = reply_begin(out, w->xid, txn->header.zxid, err);

    if (is_multi) {
        write_multi(s, w, txn, out);
    } else if (err == PAWL_OK) {
        write_body(out, w->type, &txn->op, &s->results[0]);
    }
    reply_end(out, start);
}

/* ---- sessions ---- */

static void session_opened(struct server *s, const struct txn *txn)
{
    struct session *session = session_find(&s->sessions, txn->header.client_id);

    if (session == NULL) {
        server_add_session(s, txn->header.client_id, txn->op.timeout_ms);
    } else if (session->local) { /* whoever had it made: the tree has it now */
        server_make_global(s, session);
    }
}

static void session_closed(struct server *s, int64_t session_id)
{
    struct session *session = session_find(&s->sessions, session_id);

    if (session != NULL) {
        server_end_session(s, session);
    }
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

static void answer_write(struct server *s, struct waiting *w, const struct txn *txn)
{
    struct connection *c = w->connection;
    size_t before = c->out.len;

    if (txn->op.type == TXN_ERROR && txn->op.err == PAWL_ERR_SESSION_MOVED) {
        connection_close_after_flush(s, c); /* it is another connection's now: not a word here */
        return;
    }
    commit_reply(s, w, txn);
    pipeline_count_reply(s, c, c->out.len - before);
    pipeline_count_latency(s, c, op_find(w->type), w->xid, s->now_us - w->received_us);
    connection_touch(s, c);
}

static void commit_answer(struct server *s, struct waiting *w, const struct txn *txn)
{
    struct connection *c = w->connection;

    if (w->type == OP_CREATE_SESSION) {
        pipeline_count_latency(s, c, op_find(w->type), w->xid, s->now_us - w->received_us);
        handshake_session_created(s, c);
        return;
    }
    if (c->state == CONNECTION_SERVING) {
        answer_write(s, w, txn);
    }
    if (w->type != OP_CLOSE_SESSION) {
        pipeline_write_done(s, c);
    }
}

/* It is on its way no more. */
static void settle_waiting(struct waiting *w)
{
    struct connection *c = w->connection;

    if (w->session != NULL && w->session->newest == w) {
        w->session->newest = NULL;
    }
    if (c != NULL) {
        list_remove(&w->of_connection);
        c->in_flight_bytes -= w->bytes;
        ASSERT(c->in_flight_bytes >= 0);
    }
}

/* A leader stamps its transactions, and who serves learns of each at once: a large difference is
 * one of the clocks. Nothing here depends on them being equal, but times of nodes do. */
static void compare_clocks(struct server *s, const struct txn *txn)
{
    int64_t ahead_ms = txn->header.time_ms - s->wall_ms;
    int64_t apart_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;

    if (apart_ms < CLOCKS_APART_MS || s->clocks_told || !role_serves(s->role) ||
        role_leads(s->role)) {
        return;
    }
    s->clocks_told = true;
    log_warn("the leader's clock is %" PRId64 " s %s this server's: node times come from the "
             "leader, and jump when another server leads; set the clocks",
             apart_ms / 1000, ahead_ms > 0 ? "ahead of" : "behind");
}

/* An epoch has so many transactions; a warning when a quarter of them is left, and whenever that is
 * halved. */
static void warn_of_zxids(struct server *s, int64_t zxid)
{
    int64_t left = server_zxids_left(zxid);

    if (zxid >> 32 != s->zxids.epoch) {
        s->zxids.epoch = zxid >> 32;
        s->zxids.warn_below = SERVER_LAST_COUNTER / 4;
    }
    if (left >= s->zxids.warn_below || !role_serves(s->role)) {
        return;
    }
    s->zxids.warn_below = left / 2;
    log_warn("%" PRId64 " transactions are left in epoch %" PRId64 " (zxid 0x%" PRIx64 "). Then "
             "the next one begins in place; in an ensemble with a member of Apache's the leader "
             "steps down for it, and all clients connect again. A restart of the leader begins a "
             "new epoch at a time of your choice",
             left, s->zxids.epoch, (uint64_t)zxid);
}

static void count_commit(struct server *s, const struct txn *txn)
{
    s->stats.commit_count++;
    warn_of_zxids(s, txn->header.zxid);
    compare_clocks(s, txn);
    metrics_observe(&s->stats, SUMMARY_PROPAGATION_LATENCY, s->wall_ms - txn->header.time_ms);
    if (role_serves(s->role) && digest_log_wants(txn->header.zxid)) {
        digest_log_append(&s->digests, txn->header.zxid, tree_digest(s->tree));
    }
}

static void log_difference(struct server *s, const struct txn *txn)
{
    char text[512];

    strbuf_clear(&s->differs);
    txn_describe(&s->differs, txn);
    snprintf(text, sizeof(text),
             "the tree differs from the leader's after transaction 0x%" PRIx64
             " (%s): its digest is %" PRIx64 " here, %" PRIx64 " there",
             (uint64_t)txn->header.zxid, strbuf_cstr(&s->differs), tree_digest(s->tree),
             (uint64_t)txn->digest);
    if (s->diverged_zxid != 0) {
        log_error("%s", text);
    } else {
        log_limited(LOG_INFO, "%s; it is not served yet", text);
    }
}

/* Who made the transaction knew the tree after it. Until a learner serves, a difference may go by
 * itself: the snapshot of an Apache leader has some of what was to be sent behind it already. All
 * of that comes before UPTODATE; so who takes up a role looks at the last difference (ensemble.c),
 * and from then on there must be none. */
static void compare_digests(struct server *s, const struct txn *txn)
{
    if (!txn->has_digest || !s->options.with_digest || s->diverged_zxid != 0) {
        return;
    }
    s->differs_zxid = 0;
    if ((uint64_t)txn->digest == tree_digest(s->tree)) {
        return;
    }
    s->differs_zxid = txn->header.zxid;
    if (role_serves(s->role)) {
        s->diverged_zxid = txn->header.zxid;
        s->stats.digest_mismatches_count++;
    }
    log_difference(s, txn);
}

static void commit_apply(struct server *s, const struct txn *txn)
{
    make_room_for_results(s, txn);
    s->applied_zxid = txn->header.zxid;
    s->results[0] = (struct apply_result){0};
    if (s->proposer != NULL) {
        proposer_apply(s->proposer, txn);
    }
    s->ending_session = txn->op.type == TXN_CLOSE_SESSION ? txn->header.client_id : 0;
    apply_txn(&s->apply, txn, s->results, s->n_results);
    if (s->proposer != NULL) {
        proposer_applied(s->proposer, txn->header.zxid);
    } else {
        compare_digests(s, txn);
    }
}

void server_commit(struct server *s, struct bytes payload)
{
    enum txn_decoded rc;
    struct waiting *w;
    struct txn txn;

    rc = txn_read(payload, &txn);
    ASSERT(rc == TXN_OK);
    ASSERT(txn.header.zxid > s->applied_zxid);
    w = waiting_take(&s->waiting, &txn.header);
    if (w != NULL && w->connection != NULL) {
        pipeline_before_write(s, w);
    }
    commit_apply(s, &txn);
    if (txn.op.type == TXN_CREATE_SESSION) {
        session_opened(s, &txn);
    }
    if (w != NULL) {
        if (w->audit != NULL) {
            audit_applied(s, w->audit, &txn);
        }
        settle_waiting(w);
        if (w->connection != NULL) {
            commit_answer(s, w, &txn);
        }
    }
    if (txn.op.type == TXN_CLOSE_SESSION) {
        session_closed(s, txn.header.client_id);
    }
    count_commit(s, &txn);
    if (role_leads(s->role) &&
        (txn.op.type == TXN_CREATE_SESSION || txn.op.type == TXN_CLOSE_SESSION)) {
        handshake_ask_again(s);
    }
    if (w != NULL) {
        pipeline_applied(s, w);
        waiting_free(&s->waiting, w);
    }
}
