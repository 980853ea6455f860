/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_sending.c - what goes out to learners between packets: parts of the log, snapshots. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/carrier_internal.h"
#include "pawl/error.h"
#include "store/snapshot_taker.h"
#include "wire/jute.h"

/* Something that is sent to a learner in the place that it has between packets. */
struct sending {
    struct list link;
    struct carrier *carrier;
    link_id to;
    stream_id stream;
    struct log_reading *reading; /* a part of the log, or else */
    bool is_snapshot;
    int64_t zxid;                 /* the last of the part; the snapshot, or a later one */
    struct snapshot_taker *taker; /* NULL: the walk has not begun */
    bool is_ended;
};

/* ---- what goes out between packets ---- */

static void sending_free(struct sending *s)
{
    list_remove(&s->link);
    if (s->reading != NULL) {
        log_reading_stop(s->reading);
    }
    snapshot_taker_free(s->taker);
    free(s);
}

static struct sending *find_sending(struct carrier *c, stream_id stream)
{
    struct list *item;

    list_for_each (item, &c->sendings) {
        struct sending *s = container_of(item, struct sending, link);

        if (s->stream == stream) {
            return s;
        }
    }
    return NULL;
}

static struct sending *sending_new(struct carrier *c, link_id to)
{
    stream_id stream = quorum_net_stream(c->net, to);
    struct sending *s;

    if (stream == 0) {
        return NULL; /* the link is gone, and the quorum will hear of it */
    }
    s = must_zalloc(sizeof(*s));
    s->carrier = c;
    s->to = to;
    s->stream = stream;
    list_push_back(&c->sendings, &s->link);
    return s;
}

static void sending_end(struct sending *s)
{
    s->is_ended = true;
    quorum_net_stream_end(s->carrier->net, s->stream);
}

void carrier_drop_sendings(struct carrier *c, link_id to)
{
    struct list *item, *next;

    for (item = c->sendings.next; item != &c->sendings; item = next) {
        struct sending *s = container_of(item, struct sending, link);

        next = item->next;
        if (s->to == to) {
            sending_free(s);
        }
    }
}

/* It comes again, and must not be referred to these files again. */
static void on_log_unreadable(struct sending *s, const struct log_result *result)
{
    struct carrier *c = s->carrier;
    int64_t zxid = s->zxid;

    if (result->rc == PAWL_ERR_CLOSING) {
        return;
    }
    log_error("a learner cannot be brought up to date from the log, and gets a snapshot: %s",
              result->error);
    quorum_net_drop(c->net, s->to, "the log cannot be read for it");
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LOG_TRIMMED, .zxid = zxid});
}

/* A part of the log. */
static void on_log_piece(void *arg, struct bytes packets, bool is_last,
                         const struct log_result *result)
{
    struct sending *s = arg;
    struct carrier *c = s->carrier;

    if (result->rc != PAWL_OK) {
        on_log_unreadable(s, result);
        return;
    }
    if (packets.len > 0) {
        quorum_net_stream_write(c->net, s->stream, packets);
    }
    if (is_last) {
        sending_end(s);
    } else if (quorum_net_stream_pending(c->net, s->stream) < STREAM_ROOM_BYTES) {
        log_reading_next(s->reading);
    }
}

void carrier_send_log(struct carrier *c, const struct quorum_effect *e)
{
    struct sending *s = sending_new(c, e->link);

    if (s != NULL) {
        s->zxid = e->zxid;
        carrier_hand_over(c);
        s->reading = log_reading_start(c->options.jobs, e->from, e->zxid, on_log_piece, s);
    }
}

/* The tree. */
void carrier_send_snapshot(struct carrier *c, const struct quorum_effect *e)
{
    struct sending *s = sending_new(c, e->link);

    if (s != NULL) {
        s->is_snapshot = true;
        s->zxid = e->zxid;
        carrier_step_member(c,
                            &(struct member_input){.kind = MEMBER_WANT_SNAPSHOT, .link = e->link});
    }
}

static struct sending *find_snapshot(struct carrier *c, link_id to)
{
    struct list *item;

    list_for_each (item, &c->sendings) {
        struct sending *s = container_of(item, struct sending, link);

        if (s->to == to && s->is_snapshot) {
            return s;
        }
    }
    return NULL;
}

/* The packet before the stream tells of which moment it is: that at which the walk began. (Between
 * epochs the tree has a later name than its last transaction.) */
void carrier_snapshot(struct carrier *c, link_id link, struct snapshot_taker *taker, int64_t zxid)
{
    struct packet snap = {.type = PACKET_SNAP, .auth.count = -1};
    struct sending *s = find_snapshot(c, link);

    if (s == NULL) {
        snapshot_taker_free(taker);
        return;
    }
    ASSERT(s->taker == NULL);
    s->taker = taker;
    s->zxid = zxid > s->zxid ? zxid : s->zxid;
    snap.zxid = s->zxid;
    strbuf_clear(&c->scratch);
    packet_write(&c->scratch, &snap);
    quorum_net_stream_write(c->net, s->stream, strbuf_bytes(&c->scratch));
    log_info("a snapshot of 0x%" PRIx64 " is sent to %s", (uint64_t)snap.zxid,
             quorum_net_peer(c->net, link));
}

static void send_signature(struct sending *s)
{
    struct carrier *c = s->carrier;

    strbuf_clear(&c->scratch);
    jute_write_str(&c->scratch, SNAPSHOT_SIGNATURE);
    quorum_net_stream_write(c->net, s->stream, strbuf_bytes(&c->scratch));
    sending_end(s);
}

static void send_chunks(struct sending *s)
{
    struct carrier *c = s->carrier;
    struct snapshot_chunk *chunk;

    if (s->taker->state == TAKER_LATE || s->taker->state == TAKER_LEFT) {
        quorum_net_drop(c->net, s->to,
                        s->taker->state == TAKER_LATE ? "it is too slow for a snapshot"
                                                      : "the snapshot for it was given up");
        return;
    }
    while (quorum_net_stream_pending(c->net, s->stream) < STREAM_ROOM_BYTES &&
           (chunk = snapshot_taker_take(s->taker)) != NULL) {
        quorum_net_stream_write(c->net, s->stream, bytes_of(chunk->data, chunk->len));
        snapshot_chunk_free(chunk);
    }
    if (s->taker->state == TAKER_WHOLE && s->taker->pending == 0) {
        send_signature(s);
    }
}

void carrier_room(void *arg, stream_id stream)
{
    struct sending *s = find_sending(arg, stream);

    if (s != NULL && !s->is_ended && s->reading != NULL) {
        log_reading_next(s->reading);
    }
}

void carrier_sent(void *arg, stream_id stream)
{
    struct carrier *c = arg;
    struct sending *s = find_sending(c, stream);
    struct quorum_input in = {0};

    if (s != NULL) {
        in.kind = s->is_snapshot ? QUORUM_IN_SNAPSHOT_SENT : QUORUM_IN_LOG_SENT;
        in.link = s->to;
        in.zxid = s->is_snapshot ? s->zxid : 0;
        sending_free(s);
        carrier_do(c, &in);
    }
}

void carrier_go_on_sending(struct carrier *c)
{
    struct list *item, *next;

    for (item = c->sendings.next; item != &c->sendings; item = next) {
        struct sending *s = container_of(item, struct sending, link);

        next = item->next;
        if (s->taker != NULL && !s->is_ended) {
            send_chunks(s);
        }
    }
}

void carrier_drop_all_sendings(struct carrier *c)
{
    while (!list_empty(&c->sendings)) {
        sending_free(container_of(c->sendings.next, struct sending, link));
    }
}
