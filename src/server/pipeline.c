/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/four_letter.h"
#include "server/handshake.h"
#include "server/missed.h"
#include "server/read.h"
#include "server/sasl_gate.h"
#include "wire/utf8.h"

/* What is at the head of c->parked and ready is answered at once, unless the client must first read
 * what it has, or has had its share of this turn. A connection that closes looks at the queue no
 * more.
 *
 * A read shows nothing of a later write of its session: when that one is about to be applied, what
 * is parked before it is answered, whatever the limits (pipeline_before_write). So that this is
 * never much, a write is not taken while long answers are due before it (input_obstacle). */

/* What serving costs is counted in bytes moved, about half a nanosecond each: of a request besides
 * its bytes and those of its answer. Read.c and auth.c add what they go through, the latter by way
 * of the identity. */
enum { REQUEST_UNITS = 64, SASL_UNITS = 128 << 10 };

static void park_frame(struct server *s, struct connection *c, struct bytes frame)
{
    parked_push(&c->parked, &(struct parked_request){.frame = frame,
                                                     .n_auth_ids = c->identity.n_ids,
                                                     .when_us = s->now_us,
                                                     .answer = read_expected_bytes(s, frame)});
    s->n_parked++;
}

/* Large requests count until the connection has no write in flight. */
static void settle_large(struct server *s, struct connection *c)
{
    if (c->parked.n_in_flight == 0) {
        s->large_bytes -= c->large_bytes;
        c->large_bytes = 0;
    }
}

/* ---- obstacles ---- */

static void charge(const struct server *s, struct connection *c, size_t units)
{
    if (c->turn != s->turn) {
        c->turn = s->turn;
        c->spent = 0;
    }
    c->spent += (int64_t)units;
}

/* Why nothing more can be done for `c` now. */
static enum connection_input share_obstacle(const struct server *s, const struct connection *c)
{
    const struct limit_options *o = &s->options.limits;

    if (c->state == CONNECTION_JOINING) {
        return INPUT_JOINING;
    }
    if ((int64_t)connection_unread(c) > o->output_pause_bytes) {
        return INPUT_OUTPUT;
    }
    if (o->turn_units > 0 && c->turn == s->turn && c->spent >= o->turn_units) {
        return INPUT_TURN;
    }
    return INPUT_OPEN;
}

/* Why nothing can be executed for `c` now: nothing while a setWatches2 is. */
static enum connection_input obstacle(const struct server *s, const struct connection *c)
{
    enum connection_input why = share_obstacle(s, c);

    return why == INPUT_OPEN && c->missed != NULL ? INPUT_TURN : why;
}

static bool is_write(struct bytes frame)
{
    const struct op *op = frame.len < 8 ? NULL : op_find((int32_t)load_u32(frame.data + 4));

    return op != NULL && op->kind == OP_KIND_WRITE;
}

/* Why `frame`, which has been received, cannot be taken now. */
static enum connection_input input_obstacle(const struct server *s, const struct connection *c,
                                            struct bytes frame)
{
    const struct limit_options *o = &s->options.limits;
    bool busy = c->parked.n_in_flight + c->parked.n_requests > 0;
    enum connection_input why = obstacle(s, c);
    int64_t n_outstanding;

    if (why != INPUT_OPEN || !busy) {
        return why;
    }
    n_outstanding = server_outstanding(s);
    if (n_outstanding > o->outstanding_limit ||
        (o->throttle_requests > 0 && n_outstanding >= o->throttle_requests) ||
        (int64_t)parked_bytes(&c->parked) > o->output_pause_bytes ||
        (o->in_flight_bytes > 0 && c->in_flight_bytes > o->in_flight_bytes) ||
        (c->parked.answers > o->output_pause_bytes && is_write(frame))) {
        return INPUT_COMMITS;
    }
    return INPUT_OPEN;
}

/* ---- answering ---- */

void pipeline_count_reply(struct server *s, struct connection *c, size_t bytes)
{
    metrics_response(&s->stats, (int64_t)bytes - 4);
    c->stats.sent++;
}

void pipeline_count_latency(struct server *s, struct connection *c, const struct op *op,
                            int32_t xid, int64_t latency_us)
{
    bool is_read = op == NULL || op->kind == OP_KIND_READ;
    int64_t ms = latency_us / 1000;

    if (is_read) {
        metrics_observe(&s->stats, SUMMARY_READ_LATENCY, ms);
    } else {
        metrics_observe(&s->stats, SUMMARY_UPDATE_LATENCY, ms);
    }
    c->stats.last_op = op;
    if (xid >= 0) {
        c->stats.last_cxid = xid;
    }
    c->stats.last_zxid = s->applied_zxid;
    c->stats.last_response_ms = server_now_ms(s);
    c->stats.last_latency_ms = ms;
    c->stats.total_latency_ms += ms;
    if (c->stats.n_latencies++ == 0 || ms < c->stats.min_latency_ms) {
        c->stats.min_latency_ms = ms;
    }
    if (ms > c->stats.max_latency_ms) {
        c->stats.max_latency_ms = ms;
    }
}

static void note_answer(struct connection *c, size_t bytes)
{
    c->largest_answer = bytes > c->largest_answer ? bytes : c->largest_answer;
}

static void limit_watches(struct server *s, struct connection *c)
{
    int64_t limit = s->options.limits.watch_bytes;

    if (limit > 0 && (int64_t)c->watch_bytes > limit) {
        log_limited(LOG_WARN,
                    "client /%s:%u has set watches of %zu bytes, the limit is %" PRId64
                    "; the connection is closed",
                    c->peer.ip, c->peer.port, c->watch_bytes, limit);
        connection_close_after_flush(s, c);
    }
}

/* Nobody else has to agree. */
static void close_local(struct server *s, struct connection *c, int32_t xid)
{
    ASSERT(c->session->local);
    reply_end(&c->out, reply_begin(&c->out, xid, s->applied_zxid, PAWL_OK));
    server_end_session(s, c->session);
}

static void answer_missed(struct server *s, struct connection *c)
{
    int64_t latency_us = s->now_us - c->missed->since_us;
    int32_t xid = c->missed->xid;
    size_t before = c->out.len;

    missed_answer(s, c);
    pipeline_count_reply(s, c, c->out.len - before);
    pipeline_count_latency(s, c, op_find(OP_SET_WATCHES2), xid, latency_us);
}

/* Goes on telling what `c` missed, as far as it may now; then its setWatches2 is answered. */
static void go_on_missed(struct server *s, struct connection *c)
{
    enum connection_input why = INPUT_OPEN;

    while (c->missed != NULL && (why = share_obstacle(s, c)) == INPUT_OPEN) {
        size_t before = c->out.len;
        int64_t units = missed_tell_some(s, c);

        if (c->missed->is_over) {
            answer_missed(s, c);
        }
        charge(s, c, (size_t)units + c->out.len - before + identity_take_cost(&c->identity));
        connection_touch(s, c);
    }
    if (c->missed != NULL) {
        connection_set_input(s, c, why);
    }
}

static void execute_read(struct server *s, struct connection *c, struct bytes frame,
                         int64_t latency_us)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r);
    int32_t type = jute_read_int(&r);
    size_t before = c->out.len;

    charge(s, c, REQUEST_UNITS + frame.len);
    if (type == OP_CLOSE_SESSION) {
        close_local(s, c, xid);
    } else {
        read_execute(s, c, xid, type, r);
    }
    charge(s, c, c->out.len - before + identity_take_cost(&c->identity));
    note_answer(c, c->out.len - before);
    if (c->missed != NULL) {
        go_on_missed(s, c);
    } else {
        pipeline_count_reply(s, c, c->out.len - before);
        pipeline_count_latency(s, c, op_find(type), xid, latency_us);
    }
    limit_watches(s, c);
    connection_touch(s, c);
}

static void reply_header_only(struct server *s, struct connection *c, int32_t xid, int64_t zxid,
                              int err)
{
    size_t before = c->out.len;

    reply_end(&c->out, reply_begin(&c->out, xid, zxid, err));
    pipeline_count_reply(s, c, c->out.len - before);
    connection_touch(s, c);
}

/* In its turn: behind what is in flight. */
static void refuse_request(struct server *s, struct connection *c, int32_t xid, int err)
{
    if (parked_is_empty(&c->parked)) {
        reply_header_only(s, c, xid, s->applied_zxid, err);
        return;
    }
    parked_push(&c->parked, &(struct parked_request){.frame = BYTES_NULL, .xid = xid, .err = err});
    s->n_parked++;
}

/* With the credentials that were in force when it came. */
static void answer_parked(struct server *s, struct connection *c)
{
    struct parked_request r;

    parked_pop(&c->parked, &r);
    s->n_parked--;
    if (bytes_is_null(r.frame)) {
        reply_header_only(s, c, r.xid, s->applied_zxid, r.err);
        return;
    }
    c->identity.n_in_force = r.n_auth_ids;
    execute_read(s, c, r.frame, s->now_us - r.when_us);
    c->identity.n_in_force = c->identity.n_ids;
}

/* Answers what is at the head of the queue and can be answered. */
static void answer_queue(struct server *s, struct connection *c)
{
    while (c->state == CONNECTION_SERVING && parked_is_ready(&c->parked)) {
        enum connection_input why = obstacle(s, c);

        if (why != INPUT_OPEN) {
            connection_set_input(s, c, why);
            break;
        }
        answer_parked(s, c);
    }
    parked_tidy(&c->parked);
}

static void consume_buffered(struct server *s, struct connection *c);

static void pipeline_go_on(struct server *s, struct connection *c)
{
    go_on_missed(s, c);
    answer_queue(s, c);
    if (c->input != INPUT_OPEN && obstacle(s, c) == INPUT_OPEN) {
        consume_buffered(s, c);
    }
    connection_check(c);
}

/* Beyond this much it cannot be the client's need any more; see input_obstacle(). */
static bool answers_are_too_many(const struct server *s, const struct connection *c)
{
    return (int64_t)connection_unread(c) >
           s->options.limits.output_limit_bytes + (int64_t)c->largest_answer;
}

static void answer_all_ready(struct server *s, struct connection *c)
{
    while (c->state == CONNECTION_SERVING && parked_is_ready(&c->parked)) {
        if (answers_are_too_many(s, c)) {
            log_limited(LOG_WARN, "client /%s:%u asks for more than it reads; dropped", c->peer.ip,
                        c->peer.port);
            connection_drop(s, c);
            return;
        }
        answer_parked(s, c);
    }
}

void pipeline_write_done(struct server *s, struct connection *c)
{
    parked_mark_done(&c->parked);
    settle_large(s, c);
    if (c->state == CONNECTION_SERVING) {
        pipeline_go_on(s, c); /* with nothing of its own in flight it need not wait for others */
    }
}

void pipeline_sent(struct server *s, struct connection *c)
{
    /* Until it has taken more we would not hear it; but who takes its answers is there. */
    if (c->session != NULL && obstacle(s, c) == INPUT_OUTPUT) {
        tracker_touch(&s->tracker, c->session, server_now_ms(s));
        c->heard_us = s->attended_us;
    }
    if (c->input != INPUT_OPEN) {
        pipeline_go_on(s, c);
    }
}

/* ---- waiting for writes of others ---- */

/* A sync is answered when everything is applied that was agreed upon when it came, also of others:
 * the role knows when that is. What a resumed session asks is answered when all is applied that the
 * session has on its way, though it came over links that are gone: the order is the session's. Each
 * of these is a mark in its connection's queue, like a write. */
struct wait {
    struct list of_target; /* in the waits of a write, or the syncs of the server */
    struct list of_connection;
    struct connection *connection; /* NULL: nobody waits any more; only of a sync */
    int64_t order;                 /* as that of writes */
    bool is_sync;
    int64_t sync_zxid; /* the newest transaction that was made here when it came */
};

static struct wait *wait_push(struct server *s, struct connection *c, struct list *target)
{
    struct wait *w = must_alloc(sizeof(*w));

    *w = (struct wait){.connection = c, .order = ++s->waiting.last_order};
    list_push_back(target, &w->of_target);
    list_push_back(&c->waits, &w->of_connection);
    parked_push_mark(&c->parked);
    return w;
}

/* Nobody is held up by it any more. A sync's place is kept: the role will answer it. */
static void wait_settle(struct wait *w)
{
    list_remove(&w->of_connection);
    w->connection = NULL;
    if (!w->is_sync) {
        list_remove(&w->of_target);
        free(w);
    }
}

static void wait_is_over(struct server *s, struct wait *w)
{
    struct connection *c = w->connection;

    ASSERT(c->state == CONNECTION_SERVING);
    wait_settle(w);
    pipeline_write_done(s, c);
}

/* What `c` waits for, and came before its write number `order`, is over: whoever agreed upon that
 * write agreed upon everything before it, and leads. */
void pipeline_before_write(struct server *s, const struct waiting *write)
{
    struct connection *c = write->connection;

    ASSERT(c->missed == NULL); /* nothing is taken behind a setWatches2 before it is answered */
    while (!list_empty(&c->waits)) {
        struct wait *w = container_of(c->waits.next, struct wait, of_connection);

        if (w->order > write->order) {
            break;
        }
        wait_settle(w);
        parked_mark_done(&c->parked);
    }
    answer_all_ready(s, c);
    ASSERT(c->state != CONNECTION_SERVING ||
           !parked_is_empty(&c->parked)); /* the mark of the write */
}

static void answer_or_park(struct server *s, struct connection *c, struct bytes frame)
{
    if (parked_is_empty(&c->parked)) {
        execute_read(s, c, frame, 0);
    } else {
        park_frame(s, c, frame);
    }
}

static void handle_sync(struct server *s, struct connection *c, int32_t xid, struct bytes frame)
{
    struct request q = {.type = OP_SYNC};
    struct submission submission = {.identity = &c->identity,
                                    .session = c->session,
                                    .session_id = c->session_id,
                                    .xid = xid,
                                    .request = &q,
                                    .body = bytes_of(frame.data + 8, frame.len - 8)};
    struct wait *w;

    if (!s->role->sync(s->role, &submission)) {
        answer_or_park(s, c, frame);
        return;
    }
    w = wait_push(s, c, &s->syncs);
    w->is_sync = true;
    w->sync_zxid = s->proposer != NULL ? s->proposer->zxid : INT64_MAX;
    park_frame(s, c, frame);
}

int64_t server_sync_zxid(const struct server *s)
{
    return list_empty(&s->syncs) ? INT64_MAX
                                 : container_of(s->syncs.next, struct wait, of_target)->sync_zxid;
}

void server_synced(struct server *s)
{
    struct wait *w = container_of(s->syncs.next, struct wait, of_target);

    ASSERT(!list_empty(&s->syncs));
    list_remove(&w->of_target);
    w->is_sync = false;
    if (w->connection == NULL) {
        free(w);
    } else {
        wait_is_over(s, w);
    }
}

void pipeline_applied(struct server *s, struct waiting *write)
{
    while (!list_empty(&write->waits)) {
        wait_is_over(s, container_of(write->waits.next, struct wait, of_target));
    }
}

void pipeline_forget(struct connection *c)
{
    while (!list_empty(&c->waits)) {
        wait_settle(container_of(c->waits.next, struct wait, of_connection));
    }
}

void pipeline_fini(struct server *s)
{
    struct list *item;

    while ((item = list_pop_front(&s->syncs)) != NULL) {
        free(container_of(item, struct wait, of_target));
    }
}

/* ---- requests ---- */

/* auth and sasl are the connection's business: answered at once, whatever else is waiting. */
static bool handle_link_op(struct server *s, struct connection *c, int32_t xid, const struct op *op,
                           struct jute_reader r)
{
    struct request q;
    int rc;

    if (!request_read(op, &r, &q) || (op->code == OP_SASL && bytes_is_null(q.data))) {
        return false;
    }
    if (op->code == OP_SASL) {
        charge(s, c, SASL_UNITS);
        sasl_receive(s, c, xid, q.data);
        return true;
    }
    rc = auth_add(&c->identity, &s->options.auth, q.scheme, q.data);
    reply_header_only(s, c, xid, 0, rc);
    if (rc != PAWL_OK) {
        s->stats.auth_failed++;
        connection_close_after_flush(s, c);
    }
    return true;
}

static void count_large(struct server *s, struct connection *c, size_t len)
{
    s->large_bytes += (int64_t)len;
    c->large_bytes += (int64_t)len;
}

/* A request that waited too long in front of a stalled server is not executed. */
static bool waited_too_long(const struct server *s, const struct connection *c, int32_t type)
{
    int64_t limit_ms = s->options.limits.throttled_op_ms;

    return limit_ms > 0 && c->waiting_since_us != 0 && type != OP_PING &&
           type != OP_CLOSE_SESSION && s->now_us - c->waiting_since_us > limit_ms * 1000;
}

static bool is_ephemeral(const struct request *q)
{
    return (q->type == OP_CREATE || q->type == OP_CREATE2) &&
           (q->flags == CREATE_EPHEMERAL || q->flags == CREATE_EPHEMERAL_SEQUENTIAL);
}

/* Whether it asks for a node that goes with its session. */
static bool needs_global_session(const struct request *q)
{
    struct jute_reader r = jute_reader_of(q->multi);
    struct request of_multi;

    if (q->type != OP_MULTI) {
        return is_ephemeral(q);
    }
    while (multi_next(&r, false, &of_multi) == MULTI_OP) {
        if (is_ephemeral(&of_multi)) {
            return true;
        }
    }
    return false;
}

/* What becomes of a local session that asks for an ephemeral node; false: it stays what it is, and
 * the request is refused. Of a multi the one operation is, by who prepares it. */
static bool suits_local_session(struct server *s, struct connection *c, const struct request *q)
{
    if (!c->session->local || !needs_global_session(q)) {
        return true;
    }
    if (s->options.upgrade_sessions) {
        server_upgrade(s, c);
        return true;
    }
    return q->type == OP_MULTI;
}

static void handle_write(struct server *s, struct connection *c, int32_t xid, const struct op *op,
                         struct bytes frame, struct jute_reader body)
{
    struct request q;

    if (!request_read(op, &body, &q)) {
        answer_or_park(s, c, frame);
        return;
    }
    if (!suits_local_session(s, c, &q)) {
        refuse_request(s, c, xid, PAWL_ERR_EPHEMERAL_ON_LOCAL_SESSION);
        return;
    }
    q.path = utf8_repaired(q.path, &s->repaired);
    parked_push_mark(&c->parked);
    server_submit(s, c, xid, &q, bytes_of(frame.data + 8, frame.len - 8));
    charge(s, c, REQUEST_UNITS + 2 * frame.len + identity_take_cost(&c->identity));
}

static bool is_for_agreement(const struct connection *c, const struct op *op)
{
    return op != NULL && op->kind == OP_KIND_WRITE &&
           !(op->code == OP_CLOSE_SESSION && c->session->local);
}

/* The two that are accepted inside a multi only count as writes here, as in ZooKeeper. */
static bool needs_leader(const struct connection *c, const struct op *op)
{
    return is_for_agreement(c, op) || (op != NULL && (op->code == OP_SYNC || op->code == OP_CHECK ||
                                                      op->code == OP_DELETE_CONTAINER));
}

/* False: the connection cannot go on. */
/* One in a while, for talkers.h. What cannot be decoded is about no path. */
static void look_at_request(struct server *s, const struct connection *c, const struct op *op,
                            struct jute_reader r)
{
    struct request q;
    bool known = op->kind != OP_KIND_LINK && request_read(op, &r, &q);

    talkers_note(&s->talkers, op, known ? q.path : BYTES_NULL, bytes_str(c->peer.ip));
}

static bool handle_request(struct server *s, struct connection *c, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r);
    int32_t type = jute_read_int(&r);
    const struct op *op = op_find(type);

    if (r.failed) {
        return false;
    }
    s->stats.packets_received++;
    c->stats.received++;
    if (op != NULL) {
        s->stats.ops[op_index(op)]++;
        if (talkers_want(&s->talkers)) {
            look_at_request(s, c, op, r);
        }
        if (op->kind == OP_KIND_LINK) {
            return handle_link_op(s, c, xid, op, r);
        }
    }
    if (!auth_is_sufficient(&c->identity, &s->options.auth)) {
        reply_header_only(s, c, xid, 0, PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH);
        connection_close_after_flush(s, c);
        return true;
    }
    if (c->session == NULL || !tracker_touch(&s->tracker, c->session, server_now_ms(s))) {
        return true; /* a closing session's requests are dropped without a word */
    }
    if (waited_too_long(s, c, type)) {
        s->stats.throttled_ops++;
        refuse_request(s, c, xid, PAWL_ERR_THROTTLED_OP);
        return true;
    }
    if (s->role->kind == ROLE_READ_ONLY && needs_leader(c, op)) {
        refuse_request(s, c, xid, PAWL_ERR_NOT_READ_ONLY);
    } else if (is_for_agreement(c, op)) {
        handle_write(s, c, xid, op, frame, r);
    } else if (type == OP_SYNC) {
        handle_sync(s, c, xid, frame);
    } else {
        answer_or_park(s, c, frame);
    }
    return true;
}

/* ---- frames ---- */

static void refuse_frame(struct server *s, struct connection *c, int32_t len)
{
    log_limited(LOG_WARN,
                "Len error. A message from /%s:%u with advertised length of %" PRId32
                " is either a malformed message or too large to process (length is greater than "
                "jute.maxbuffer=%" PRId64 "); the connection is closed",
                c->peer.ip, c->peer.port, len, s->options.limits.max_buffer_bytes);
    connection_close_after_flush(s, c);
}

static bool large_request_fits(struct server *s, struct connection *c, size_t len)
{
    const struct limit_options *o = &s->options.limits;

    if (o->large_threshold < 0 || (int64_t)len <= o->large_threshold) {
        return true;
    }
    if (s->large_bytes + (int64_t)len > o->large_max_bytes) {
        s->stats.large_requests_rejected++;
        log_limited(LOG_WARN,
                    "large request of %zu bytes from /%s refused: %" PRId64
                    " bytes of large requests are in flight",
                    len, c->peer.ip, s->large_bytes);
        return false;
    }
    count_large(s, c, len);
    return true;
}

static void handle_frame(struct server *s, struct connection *c, struct bytes frame)
{
    s->stats.bytes_received_count += frame.len + 4;
    if (!large_request_fits(s, c, frame.len)) {
        connection_close_after_flush(s, c);
        return;
    }
    if (c->state == CONNECTION_FRESH) {
        handshake_receive(s, c, frame);
    } else if (!handle_request(s, c, frame)) {
        log_limited(LOG_WARN, "a request from /%s:%u cannot be decoded; the connection is closed",
                    c->peer.ip, c->peer.port);
        connection_close_after_flush(s, c);
    }
    settle_large(s, c);
}

static void pause_input(struct server *s, struct connection *c, enum connection_input why)
{
    ASSERT(why != INPUT_OPEN);
    if (c->input == INPUT_OPEN && why != INPUT_TURN) {
        s->stats.request_throttle_wait_count++;
    }
    connection_set_input(s, c, why);
    if (c->waiting_since_us == 0) {
        c->waiting_since_us = s->now_us;
    }
}

/* Whether a frame of `len` may follow; -1 is none either. */
static bool length_is_good(const struct server *s, int32_t len)
{
    return len >= 0 && len <= s->options.limits.max_buffer_bytes;
}

/* Takes whole frames from the front of `bytes`; how much it took. */
static size_t consume_frames(struct server *s, struct connection *c, struct bytes bytes)
{
    size_t at = 0;

    while (bytes.len - at >= 4 && c->state != CONNECTION_CLOSING) {
        int32_t len = (int32_t)load_u32(bytes.data + at);
        enum connection_input why;
        struct bytes frame;

        if (c->state == CONNECTION_JOINING) { /* good or bad: its turn is after the handshake */
            pause_input(s, c, INPUT_JOINING);
            return at;
        }
        if (c->state == CONNECTION_FRESH && four_letter_is_known((uint32_t)len)) {
            four_letter_answer(s, c, bytes_of(bytes.data + at, bytes.len - at));
            break;
        }
        if (!length_is_good(s, len)) {
            refuse_frame(s, c, len);
            break;
        }
        if (bytes.len - at - 4 < (size_t)len) {
            break;
        }
        frame = bytes_of(bytes.data + at + 4, (size_t)len);
        why = input_obstacle(s, c, frame);
        if (why != INPUT_OPEN) {
            pause_input(s, c, why);
            return at;
        }
        handle_frame(s, c, frame);
        at += 4 + (size_t)len;
    }
    /* Else what goes first pauses by itself. */
    if (!parked_is_ready(&c->parked) && c->missed == NULL) {
        connection_set_input(s, c, INPUT_OPEN);
    }
    c->waiting_since_us = 0;
    return c->state == CONNECTION_CLOSING ? bytes.len : at;
}

static void consume_buffered(struct server *s, struct connection *c)
{
    size_t taken = consume_frames(s, c, strbuf_bytes(&c->in));

    ASSERT(taken <= c->in.len);
    if (taken > 0) {
        memmove(c->in.data, c->in.data + taken, c->in.len - taken);
        c->in.len -= taken;
    }
    if (c->in.len == 0) {
        strbuf_clear(&c->in);
        strbuf_trim(&c->in, 0);
    }
}

void pipeline_receive(struct server *s, struct connection *c, struct bytes bytes)
{
    size_t taken;

    if (c->state == CONNECTION_CLOSING) {
        return;
    }
    c->heard_us = s->attended_us;
    if (c->in.len > 0) {
        strbuf_append_bytes(&c->in, bytes);
        ASSERT(!c->in.failed);
        consume_buffered(s, c);
    } else {
        taken = consume_frames(s, c, bytes);
        strbuf_append(&c->in, bytes.data + taken, bytes.len - taken);
        ASSERT(!c->in.failed);
    }
    connection_check(c);
}

void pipeline_session_ready(struct server *s, struct connection *c)
{
    connection_move(s, c, CONNECTION_SERVING);
    if (c->session->newest != NULL) {
        wait_push(s, c, &c->session->newest->waits);
    }
    if (c->input != INPUT_OPEN) { /* else its handshake is being consumed: that loop goes on */
        pipeline_go_on(s, c);
    }
}

/* ---- turns ---- */

void server_resume(struct server *s)
{
    struct list *item, *next;

    if (server_outstanding(s) > s->options.limits.outstanding_limit) {
        return;
    }
    for (item = s->paused.next; item != &s->paused; item = next) {
        next = item->next;
        pipeline_go_on(s, container_of(item, struct connection, paused_link));
    }
}

void server_turn(struct server *s)
{
    struct list *item, *next;

    s->turn++;
    if (s->n_want_turn == 0) {
        return;
    }
    for (item = s->paused.next; item != &s->paused; item = next) {
        struct connection *c = container_of(item, struct connection, paused_link);

        next = item->next;
        if (c->input == INPUT_TURN) {
            pipeline_go_on(s, c);
        }
    }
}
