/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pawl/error.h"
#include "sim/sim_world.h"
#include "wire/ops.h"

typedef unsigned long long hex; /* for printing */

void witness_init(struct witness *w)
{
    *w = (struct witness){.calls = must_zalloc(WITNESS_CALLS * sizeof(struct witness_call))};
    strbuf_init(&w->sent, STRBUF_NO_LIMIT);
    strbuf_init(&w->heard, STRBUF_NO_LIMIT);
}

void witness_fini(struct witness *w)
{
    strbuf_fini(&w->sent);
    strbuf_fini(&w->heard);
    free(w->calls);
}

void witness_dials(struct machine *m)
{
    strbuf_clear(&m->witness.sent);
    strbuf_clear(&m->witness.heard);
    m->witness.has_greeted = m->witness.is_greeted = false;
    m->witness.first = m->witness.n = 0;
    for (int i = 0; i < WITNESS_WATCHES; i++) {
        m->witness.watches[i].is_set = false; /* until it asks for it again */
    }
}

/* ---- what is known of sessions and transactions ---- */

static struct seen_session *find_session(struct world *w, int64_t id)
{
    for (int i = w->n_sessions - 1; i >= 0; i--) {
        if (w->sessions[i].id == id) {
            return &w->sessions[i];
        }
    }
    return NULL;
}

void witness_hands_over(struct world *w, int64_t session)
{
    struct seen_session *s = find_session(w, session);

    if (s != NULL) {
        s->was_handed_over = true;
    }
}

static const struct seen_txn *find_txn(const struct world *w, int64_t zxid)
{
    size_t first = 0, n = w->n_txns;

    while (n > 0) {
        size_t half = n / 2;

        if (w->txns[first + half].zxid < zxid) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first < w->n_txns && w->txns[first].zxid == zxid ? &w->txns[first] : NULL;
}

/* A server that stands alone may have lost what was not on its disk. */
static void note_txn(struct world *w, const struct txn *txn)
{
    while (w->n_txns > 0 && w->txns[w->n_txns - 1].zxid >= txn->header.zxid) {
        w->n_txns--;
    }
    if (w->n_txns == w->txns_capacity) {
        w->txns_capacity = w->txns_capacity == 0 ? 1024 : 2 * w->txns_capacity;
        w->txns = must_realloc(w->txns, w->txns_capacity * sizeof(w->txns[0]));
    }
    w->txns[w->n_txns++] =
        (struct seen_txn){txn->header.zxid, txn->header.client_id, txn->header.cxid};
}

static void check_owner(struct world *w, const struct txn_op *op, int64_t zxid)
{
    bool makes = op->type == TXN_CREATE || op->type == TXN_CREATE2;

    if (makes && op->ephemeral && find_session(w, w->txns[w->n_txns - 1].session) == NULL) {
        world_violated("dead: 0x%llx makes an ephemeral node for nobody", (hex)zxid);
    }
}

/* An error has done nothing, and may be the answer to what came too late. */
static bool does_what_a_client_asked(const struct txn *txn)
{
    return txn->op.type != TXN_ERROR && txn->header.type != TXN_CREATE_SESSION &&
           txn->header.type != TXN_CLOSE_SESSION && txn->header.cxid > 0;
}

void witness_wrote(struct world *w, const struct txn *txn)
{
    struct seen_session *session = find_session(w, txn->header.client_id);

    note_txn(w, txn);
    check_owner(w, &txn->op, txn->header.zxid);
    if (session == NULL || !does_what_a_client_asked(txn)) {
        return;
    }
    if (w->cluster != NULL && !tree_session_get(world_truth(w), session->id, NULL)) {
        world_violated("dead: 0x%llx is of session %llx, which has ended", (hex)txn->header.zxid,
                       (hex)session->id);
    }
    if (w->cluster != NULL && !session->was_handed_over && txn->header.cxid <= session->last_cxid) {
        world_violated("order: 0x%llx of session %llx has cxid %d, behind %d",
                       (hex)txn->header.zxid, (hex)session->id, (int)txn->header.cxid,
                       (int)session->last_cxid);
    }
    session->last_cxid = txn->header.cxid;
}

/* ---- frames ---- */

typedef void (*frame_fn)(struct machine *m, struct bytes frame);

static void each_frame(struct machine *m, struct strbuf *partial, struct bytes b, frame_fn fn)
{
    size_t at = 0, len;

    strbuf_append_bytes(partial, b);
    while (partial->len - at >= 4 && partial->len - at - 4 >= load_u32(partial->data + at)) {
        len = load_u32(partial->data + at);
        fn(m, bytes_of(partial->data + at + 4, len));
        at += 4 + len;
    }
    memmove(partial->data, partial->data + at, partial->len - at);
    partial->len -= at;
}

/* ---- requests ---- */

static void copy_path(char out[WITNESS_PATH_BYTES], struct bytes path)
{
    bool fits = !bytes_is_null(path) && path.len < WITNESS_PATH_BYTES;

    snprintf(out, WITNESS_PATH_BYTES, "%.*s", fits ? (int)path.len : 0, (const char *)path.data);
}

static struct witness_watch *find_watch(struct witness *w, const char *path)
{
    for (int i = 0; i < WITNESS_WATCHES; i++) {
        if (strcmp(w->watches[i].path, path) == 0) {
            return &w->watches[i];
        }
    }
    return NULL;
}

static void forget_watch(struct witness *w, const char *path)
{
    struct witness_watch *watch = path[0] == '\0' ? NULL : find_watch(w, path);

    if (watch != NULL) {
        watch->path[0] = '\0';
    }
}

/* Other kinds of watches on a path change who is told what. */
static bool changes_watches(int32_t op)
{
    return op == OP_ADD_WATCH || op == OP_REMOVE_WATCHES || op == OP_CHECK_WATCHES;
}

/* Those that the client still wants are set on its new link. */
static void watches_set_again(struct witness *w, const struct string_list *paths)
{
    struct jute_reader r = jute_reader_of(paths->elements);
    char path[WITNESS_PATH_BYTES];
    struct witness_watch *watch;

    for (int32_t i = 0; i < paths->count; i++) {
        copy_path(path, jute_read_buffer(&r));
        watch = path[0] == '\0' ? NULL : find_watch(w, path);
        if (watch != NULL) {
            watch->is_set = true;
        }
    }
}

static void sent_frame(struct machine *m, struct bytes frame)
{
    struct witness *w = &m->witness;
    struct jute_reader r = jute_reader_of(frame);
    struct witness_call call = {.truth_zxid = world_truth_zxid(the_world)};
    const struct op *op;
    struct request q = {0};

    if (!w->has_greeted) {
        w->has_greeted = true;
        return;
    }
    call.xid = jute_read_int(&r);
    call.op = jute_read_int(&r);
    op = op_find(call.op);
    if (op != NULL && request_read(op, &r, &q)) {
        copy_path(call.path, q.path);
        call.watch = q.watch;
        watches_set_again(w, &q.watches[0]);
    }
    if (call.xid <= 0 || w->n == WITNESS_CALLS) {
        return; /* answered in no order */
    }
    if (changes_watches(call.op)) {
        forget_watch(w, call.path);
    }
    w->calls[(w->first + w->n++) % WITNESS_CALLS] = call;
}

void witness_sends(struct machine *m, struct bytes b)
{
    each_frame(m, &m->witness.sent, b, sent_frame);
}

/* ---- answers ---- */

static void greeted(struct machine *m, struct bytes frame)
{
    struct witness *w = &m->witness;
    struct connect_response c;

    w->is_greeted = true;
    if (!connect_response_read(frame, &c) || c.session_id == w->session) {
        return;
    }
    w->session = c.session_id;
    memset(w->watches, 0, sizeof(w->watches));
}

static void event_came(struct machine *m, struct jute_reader *r)
{
    struct event e = event_read(r);
    char path[WITNESS_PATH_BYTES];

    copy_path(path, e.path);
    if (e.type != EVENT_CHILDREN_CHANGED) {
        forget_watch(&m->witness, path);
    }
}

static void check_zxid(struct machine *m, const struct reply_header *h)
{
    struct seen_session *s = find_session(the_world, m->witness.session);

    if (h->zxid > world_truth_zxid(the_world) && (h->zxid & UINT32_MAX) != 0) {
        world_violated("read: client %d was told 0x%llx, which nobody has delivered", m->id,
                       (hex)h->zxid);
    }
    if (s == NULL || h->zxid <= 0) {
        return;
    }
    if (h->zxid < s->last_zxid) {
        world_violated("back: client %d is shown 0x%llx behind 0x%llx", m->id, (hex)h->zxid,
                       (hex)s->last_zxid);
    }
    s->last_zxid = h->zxid;
}

static void check_write(struct machine *m, const struct witness_call *call, int64_t zxid)
{
    const struct seen_txn *txn = find_txn(the_world, zxid);

    if (txn == NULL || txn->session != m->witness.session || txn->cxid != call->xid) {
        world_violated("write: client %d was told that %d was done at 0x%llx, which is not so",
                       m->id, (int)call->xid, (hex)zxid);
    }
}

static void check_data(struct machine *m, const struct witness_call *call, struct jute_reader *r)
{
    struct witness *w = &m->witness;
    struct witness_watch *watch;
    struct stat_record stat;

    jute_read_buffer(r);
    stat = stat_read(r);
    watch = call->path[0] == '\0' ? NULL : find_watch(w, call->path);
    if (watch != NULL && watch->is_set && stat.mzxid != watch->mzxid && the_world->profile == 0) {
        world_violated("event: client %d is shown %s of 0x%llx before the event for it", m->id,
                       call->path, (hex)stat.mzxid);
    }
    if (watch == NULL && call->watch && call->path[0] != '\0') {
        watch = find_watch(w, "");
        if (watch != NULL) {
            memcpy(watch->path, call->path, sizeof(watch->path));
        }
    }
    if (watch != NULL) {
        watch->is_set = watch->is_set || call->watch;
        watch->mzxid = stat.mzxid;
    }
}

static void answered(struct machine *m, const struct reply_header *h, struct jute_reader *r)
{
    struct witness *w = &m->witness;
    const struct witness_call *call = &w->calls[w->first];
    const struct op *op;

    if (w->n == 0 || call->xid != h->xid) {
        world_violated("order: client %d is answered %d, and waits for %d", m->id, (int)h->xid,
                       w->n == 0 ? 0 : (int)call->xid);
    }
    op = op_find(call->op);
    if (call->op == OP_SYNC && h->err == 0 && h->zxid < call->truth_zxid) {
        world_violated("sync: client %d is shown 0x%llx, others were shown 0x%llx before", m->id,
                       (hex)h->zxid, (hex)call->truth_zxid);
    }
    if (op != NULL && op->kind == OP_KIND_WRITE && h->err == 0) {
        check_write(m, call, h->zxid);
    }
    if (call->op == OP_GET_DATA && h->err == 0) {
        check_data(m, call, r);
    } else if (changes_watches(call->op)) { /* which an answer before this one may have set */
        forget_watch(w, call->path);
    }
    w->first = (w->first + 1) % WITNESS_CALLS;
    w->n--;
}

static void heard_frame(struct machine *m, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);
    struct reply_header h;

    if (!m->witness.is_greeted) {
        greeted(m, frame);
        return;
    }
    h = reply_header_read(&r);
    if (h.xid == XID_EVENT) {
        event_came(m, &r);
        return;
    }
    check_zxid(m, &h);
    if (h.xid > 0) {
        answered(m, &h, &r);
    }
}

void witness_hears(struct machine *m, struct bytes b)
{
    each_frame(m, &m->witness.heard, b, heard_frame);
}
