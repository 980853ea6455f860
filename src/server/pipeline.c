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
#include "server/read.h"
#include "wire/utf8.h"

/* c->parked is a queue of what waits on a connection, oldest first:
 *
 *   int length | bytes | long when     a request frame, to be executed when it is at the head
 *   int -1                             a write in flight, or what a sync waits for
 *   int -2 | int xid                   a request that is refused when it is at the head
 *
 * It is empty, or its head is a write in flight. A connection that closes looks at it no more. */
enum { WRITE_MARK = -1, REFUSED_MARK = -2 };

static void park_mark(struct connection *c)
{
    jute_write_int(&c->parked, WRITE_MARK);
    c->n_in_flight++;
}

static void park_frame(struct server *s, struct connection *c, struct bytes frame)
{
    jute_write_buffer(&c->parked, frame);
    jute_write_long(&c->parked, s->now_us);
    ASSERT(!c->parked.failed);
    c->n_parked++;
    s->n_outstanding++;
}

static void park_refusal(struct server *s, struct connection *c, int32_t xid)
{
    jute_write_int(&c->parked, REFUSED_MARK);
    jute_write_int(&c->parked, xid);
    c->n_parked++;
    s->n_outstanding++;
}

static bool nothing_waits(const struct connection *c)
{
    return c->parked_at == c->parked.len;
}

/* Large requests count until the connection has no write in flight. */
static void settle_large(struct server *s, struct connection *c)
{
    if (c->n_in_flight == 0) {
        s->large_bytes -= c->large_bytes;
        c->large_bytes = 0;
    }
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

static void execute(struct server *s, struct connection *c, struct bytes frame, int64_t latency_us)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r);
    int32_t type = jute_read_int(&r);
    size_t before = c->out.len;

    read_execute(s, c, xid, type, r);
    pipeline_count_reply(s, c, c->out.len - before);
    pipeline_count_latency(s, c, op_find(type), xid, latency_us);
    connection_touch(s, c);
}

static void execute_now(struct server *s, struct connection *c, struct bytes frame)
{
    execute(s, c, frame, 0);
}

static void reply_header_only(struct server *s, struct connection *c, int32_t xid, int64_t zxid,
                              int err)
{
    size_t before = c->out.len;

    reply_end(&c->out, reply_begin(&c->out, xid, zxid, err));
    pipeline_count_reply(s, c, c->out.len - before);
    connection_touch(s, c);
}

static void refuse_throttled(struct server *s, struct connection *c, int32_t xid)
{
    reply_header_only(s, c, xid, s->applied_zxid, PAWL_ERR_THROTTLED_OP);
}

/* Answers what is at the head of the queue; false when that is a write in flight. */
static bool answer_parked(struct server *s, struct connection *c, struct jute_reader *r)
{
    struct jute_reader ahead = *r;
    int32_t mark = jute_read_int(&ahead);
    struct bytes frame;

    if (mark == WRITE_MARK) {
        return false;
    }
    c->n_parked--;
    s->n_outstanding--;
    if (mark == REFUSED_MARK) {
        *r = ahead;
        refuse_throttled(s, c, jute_read_int(r));
        return true;
    }
    frame = jute_read_buffer(r);
    execute(s, c, frame, s->now_us - jute_read_long(r));
    return true;
}

void pipeline_write_done(struct server *s, struct connection *c)
{
    struct jute_reader r =
        jute_reader_of(bytes_of(c->parked.data + c->parked_at, c->parked.len - c->parked_at));

    c->n_in_flight--;
    settle_large(s, c);
    if (c->state != CONNECTION_SERVING) {
        return;
    }
    ASSERT(jute_read_int(&r) == WRITE_MARK);
    while (jute_left(&r) > 0 && c->state == CONNECTION_SERVING && answer_parked(s, c, &r)) {
    }
    c->parked_at = (size_t)(r.at - c->parked.data);
    if (nothing_waits(c)) {
        strbuf_clear(&c->parked);
        c->parked_at = 0;
    } else if (c->parked_at > 65536 && c->parked_at > c->parked.len / 2) {
        memmove(c->parked.data, c->parked.data + c->parked_at, c->parked.len - c->parked_at);
        c->parked.len -= c->parked_at;
        c->parked_at = 0;
    }
    pipeline_resume(s, c); /* with nothing of its own in flight it need not wait for others */
}

/* ---- sync ---- */

/* Answered when all is applied that was in flight when it came, also of others: a client whose link
 * broke asks on the next one whether the write that it sent on the first was executed. */
struct sync {
    struct list link; /* in server.syncs */
    struct connection *connection;
    int64_t zxid;
};

static void handle_sync(struct server *s, struct connection *c, struct bytes frame)
{
    struct sync *y = must_alloc(sizeof(*y));

    *y = (struct sync){.connection = c, .zxid = s->proposed_zxid};
    list_push_back(&s->syncs, &y->link);
    park_mark(c);
    park_frame(s, c, frame);
}

void pipeline_applied(struct server *s)
{
    while (!list_empty(&s->syncs)) {
        struct sync *y = container_of(s->syncs.next, struct sync, link);
        struct connection *c = y->connection;

        if (y->zxid > s->applied_zxid) {
            return;
        }
        list_remove(&y->link);
        free(y);
        pipeline_write_done(s, c);
    }
}

void pipeline_forget(struct server *s, const struct connection *c)
{
    struct list *item, *next;

    for (item = s->syncs.next; item != &s->syncs; item = next) {
        struct sync *y = container_of(item, struct sync, link);

        next = item->next;
        if (y->connection == c) {
            list_remove(item);
            free(y);
        }
    }
}

/* ---- requests ---- */

/* auth and sasl are the connection's business: answered at once, whatever else is waiting. */
static bool handle_link_op(struct server *s, struct connection *c, int32_t xid, const struct op *op,
                           struct jute_reader r)
{
    struct request q;
    size_t start;
    int rc;

    if (op->code == OP_SASL) { /* no SASL login here: a null token, and the connection stays */
        if (!request_read(op, &r, &q) || bytes_is_null(q.data)) {
            return false;
        }
        start = reply_begin(&c->out, xid, 0, PAWL_OK);
        jute_write_buffer(&c->out, BYTES_NULL);
        reply_end(&c->out, start);
        connection_touch(s, c);
        return true;
    }
    if (!request_read(op, &r, &q)) {
        return false;
    }
    rc = auth_add(c, &s->options.auth, q.scheme, q.data);
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

static void handle_write(struct server *s, struct connection *c, int32_t xid, const struct op *op,
                         struct bytes frame, struct jute_reader body)
{
    struct request q;

    if (!request_read(op, &body, &q)) {
        if (nothing_waits(c)) {
            execute_now(s, c, frame);
        } else {
            park_frame(s, c, frame);
        }
        return;
    }
    q.path = utf8_repaired(q.path, &s->repaired);
    park_mark(c);
    server_submit(s, c, xid, &q, c->session_id);
}

/* False: the connection cannot go on. */
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
        if (op->kind == OP_KIND_LINK) {
            return handle_link_op(s, c, xid, op, r);
        }
    }
    if (!auth_is_sufficient(c, &s->options.auth)) {
        reply_header_only(s, c, xid, 0, PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH);
        connection_close_after_flush(s, c);
        return true;
    }
    if (c->session == NULL || !session_touch(&s->sessions, c->session, server_now_ms(s))) {
        return true; /* a closing session's requests are dropped without a word */
    }
    if (waited_too_long(s, c, type)) {
        s->stats.throttled_ops++;
        if (nothing_waits(c)) {
            refuse_throttled(s, c, xid);
        } else {
            park_refusal(s, c, xid);
        }
        return true;
    }
    if (op != NULL && op->kind == OP_KIND_WRITE) {
        handle_write(s, c, xid, op, frame, r);
    } else if (type == OP_SYNC && !list_empty(&s->in_flight)) {
        handle_sync(s, c, frame);
    } else if (nothing_waits(c)) {
        execute_now(s, c, frame);
    } else {
        park_frame(s, c, frame);
    }
    return true;
}

/* ---- frames ---- */

static bool must_wait(const struct server *s, const struct connection *c)
{
    const struct limit_options *o = &s->options.limits;
    bool busy = c->n_in_flight + c->n_parked > 0;

    if (c->state == CONNECTION_JOINING) {
        return true;
    }
    if ((int64_t)(c->parked.len - c->parked_at) > o->output_pause_bytes) {
        return true;
    }
    return (busy && s->n_outstanding > o->outstanding_limit) ||
           (busy && o->throttle_requests > 0 && s->n_outstanding >= o->throttle_requests) ||
           (int64_t)(c->out.len - c->out_at) > o->output_pause_bytes;
}

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

static void pause_input(struct server *s, struct connection *c)
{
    if (!c->paused) {
        c->paused = true;
        list_push_back(&s->paused, &c->paused_link);
        s->stats.request_throttle_wait_count++;
        connection_touch(s, c);
    }
    if (c->waiting_since_us == 0) {
        c->waiting_since_us = s->now_us;
    }
}

/* How much of `bytes` was taken. */
static size_t consume(struct server *s, struct connection *c, struct bytes bytes)
{
    size_t at = 0;

    while (bytes.len - at >= 4 && c->state != CONNECTION_CLOSING) {
        int32_t len = (int32_t)load_u32(bytes.data + at);

        if (c->state == CONNECTION_JOINING) { /* good or bad: its turn is after the handshake */
            pause_input(s, c);
            return at;
        }
        if (c->state == CONNECTION_FRESH && four_letter_is_known((uint32_t)len)) {
            return at + four_letter_answer(s, c, bytes_of(bytes.data + at, bytes.len - at));
        }
        if (len < 0 || len > s->options.limits.max_buffer_bytes) {
            refuse_frame(s, c, len);
            break;
        }
        if (bytes.len - at - 4 < (size_t)len) {
            break;
        }
        if (must_wait(s, c)) {
            pause_input(s, c);
            return at;
        }
        handle_frame(s, c, bytes_of(bytes.data + at + 4, (size_t)len));
        at += 4 + (size_t)len;
    }
    if (c->paused) {
        c->paused = false;
        list_remove(&c->paused_link);
        connection_touch(s, c);
    }
    c->waiting_since_us = 0;
    return c->state == CONNECTION_CLOSING ? bytes.len : at;
}

static void consume_buffered(struct server *s, struct connection *c)
{
    size_t taken = consume(s, c, strbuf_bytes(&c->in));

    if (taken > 0) {
        memmove(c->in.data, c->in.data + taken, c->in.len - taken);
        c->in.len -= taken;
    }
    if (c->in.len == 0) {
        strbuf_trim(&c->in, 0);
    }
}

void pipeline_receive(struct server *s, struct connection *c, struct bytes bytes)
{
    size_t taken;

    if (c->state == CONNECTION_CLOSING) {
        return;
    }
    if (c->in.len > 0) {
        strbuf_append_bytes(&c->in, bytes);
        ASSERT(!c->in.failed);
        consume_buffered(s, c);
        return;
    }
    taken = consume(s, c, bytes);
    strbuf_append(&c->in, bytes.data + taken, bytes.len - taken);
    ASSERT(!c->in.failed);
}

void pipeline_resume(struct server *s, struct connection *c)
{
    if (c->paused && !must_wait(s, c)) {
        consume_buffered(s, c);
    }
}

void pipeline_session_ready(struct server *s, struct connection *c)
{
    bool was_joining = c->state == CONNECTION_JOINING;

    c->state = CONNECTION_SERVING;
    connection_touch(s, c);
    /* A session is resumed while its handshake is being consumed: that loop goes on by itself. */
    if (was_joining && c->in.len > 0) {
        consume_buffered(s, c);
    }
}
