/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/carrier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/logging.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "daemon/txnlog_thread.h"
#include "os/clock.h"
#include "os/socket.h"
#include "pawl/error.h"
#include "quorum/trace.h"
#include "store/epoch.h"
#include "store/snapshot_stream.h"
#include "store/snapshot_taker.h"
#include "store/tree.h"
#include "wire/txn.h"

enum { SPOOL_BYTES = 4 << 20 }; /* of a snapshot that are not on disk yet: reading waits */

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

/* A leader's snapshot that comes in. */
struct loading {
    link_id link; /* 0: none */
    int64_t zxid;
    struct snapshot_stream stream;
    struct log_spool *spool; /* NULL: all of it has come, and it is being put in its place */
    bool is_held;
};

/* An input that came while effects were carried out. */
struct kept_input {
    struct list link;
    struct quorum_input in;
    struct packet packet;
    struct strbuf bytes;
};

struct carrier {
    struct carrier_options options;
    struct quorum *quorum;
    struct quorum_effects effects;
    struct quorum_net *net;
    uv_timer_t timer;
    bool is_stepping;
    bool is_closing;
    struct list kept;
    struct list sendings;
    struct loading loading;
    link_id packet_link; /* of the input that is being worked on */
    link_id held;        /* until a truncation is done */
    struct strbuf scratch;
};

static void carrier_fail(struct carrier *c, int code, const char *what, const char *why)
{
    char text[LOG_ERROR_BYTES + 128];

    snprintf(text, sizeof(text), "%s: %s", what, why);
    c->options.member.fail(c->options.member.arg, code, text);
}

/* ---- time ---- */

static void on_carrier_timer(uv_timer_t *timer)
{
    carrier_do(timer->data, &(struct quorum_input){.kind = QUORUM_IN_TICK});
}

static void carrier_plan(struct carrier *c)
{
    int64_t next_us = quorum_next_us(c->quorum);
    int64_t most_ms = c->options.quorum.tick_ms / 2, left_ms;

    left_ms = next_us == INT64_MAX ? most_ms : (next_us - clock_monotonic_us() + 999) / 1000;
    left_ms = left_ms < 0 ? 0 : left_ms > most_ms ? most_ms : left_ms;
    uv_update_time(c->options.loop);
    uv_timer_start(&c->timer, on_carrier_timer, (uint64_t)left_ms, 0);
}

/* ---- jobs of the log ---- */

struct job_note {
    struct carrier *carrier;
    enum quorum_epoch which;
    int64_t number;
};

static struct job_note *note_new(struct carrier *c, enum quorum_epoch which, int64_t number)
{
    struct job_note *note = must_zalloc(sizeof(*note));

    *note = (struct job_note){.carrier = c, .which = which, .number = number};
    return note;
}

/* What was answered, and whether anybody may still act upon it. */
static bool note_take(struct job_note *note, const struct log_result *result, struct job_note *out)
{
    *out = *note;
    free(note);
    return result->rc != PAWL_ERR_CLOSING && !out->carrier->is_closing;
}

static void on_epoch_saved(void *arg, struct log_result *result)
{
    struct job_note note;

    if (!note_take(arg, result, &note)) {
        return;
    }
    if (result->rc != PAWL_OK) {
        carrier_fail(note.carrier, result->rc, "an epoch cannot be saved", result->error);
        return;
    }
    carrier_do(note.carrier, &(struct quorum_input){.kind = QUORUM_IN_EPOCH_SAVED,
                                                    .which = note.which,
                                                    .epoch = note.number});
}

static void save_epoch(struct carrier *c, const struct quorum_effect *e)
{
    const char *file = e->which == EPOCH_ACCEPTED ? EPOCH_ACCEPTED_FILE : EPOCH_CURRENT_FILE;

    c->options.member.hand_over(c->options.member.arg);
    log_save_epoch(c->options.jobs, file, e->epoch, on_epoch_saved,
                   note_new(c, e->which, e->epoch));
}

static void on_truncated(void *arg, struct log_result *result)
{
    struct job_note note;
    struct carrier *c;
    link_id held;

    if (!note_take(arg, result, &note)) {
        tree_free(result->tree);
        return;
    }
    c = note.carrier;
    if (result->rc != PAWL_OK) {
        carrier_fail(c, result->rc, "the log cannot be cut as the leader asks", result->error);
        return;
    }
    log_info("the history was cut behind 0x%" PRIx64 ", as the leader ordered",
             (uint64_t)note.number);
    c->options.member.replace(c->options.member.arg, result->tree, note.number);
    held = c->held;
    c->held = 0;
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_TRUNCATED, .zxid = note.number});
    quorum_net_resume(c->net, held);
}

static void truncate_history(struct carrier *c, int64_t zxid)
{
    ASSERT(c->held == 0 && c->packet_link != 0);
    c->held = c->packet_link;
    quorum_net_hold(c->net, c->held);
    c->options.member.hand_over(c->options.member.arg);
    log_truncate(c->options.jobs, zxid, on_truncated, note_new(c, 0, zxid));
}

/* ---- a leader's snapshot ---- */

static void on_snapshot_loaded(void *arg, struct log_result *result)
{
    struct job_note note;
    struct carrier *c;
    link_id link;

    if (!note_take(arg, result, &note)) {
        tree_free(result->tree);
        return;
    }
    c = note.carrier;
    link = c->loading.link;
    c->loading = (struct loading){0};
    if (result->rc == PAWL_ERR_CORRUPT) {
        log_error("the leader's snapshot is refused: %s", result->error);
        quorum_net_drop(c->net, link, "its snapshot makes no tree");
        return;
    }
    if (result->rc != PAWL_OK) {
        carrier_fail(c, result->rc, "the leader's snapshot cannot be kept", result->error);
        return;
    }
    c->options.member.replace(c->options.member.arg, result->tree, note.number);
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_LOADED, .zxid = note.number});
    quorum_net_resume(c->net, link);
}

static void load_snapshot(struct carrier *c, const struct quorum_effect *e)
{
    ASSERT(c->loading.link == 0);
    c->options.member.hand_over(c->options.member.arg);
    c->loading = (struct loading){
        .link = e->link, .zxid = e->zxid, .spool = log_spool_start(c->options.jobs, e->zxid)};
    snapshot_stream_init(&c->loading.stream, c->options.jobs->recovery.limit_bytes, 0);
    quorum_net_divert(c->net, e->link);
}

static void finish_loading(struct carrier *c)
{
    struct loading *l = &c->loading;

    log_info("the leader's snapshot 0x%" PRIx64 " has come, %" PRIu64 " bytes", (uint64_t)l->zxid,
             l->stream.body_bytes);
    quorum_net_hold(c->net, l->link);
    log_spool_finish(l->spool, on_snapshot_loaded, note_new(c, 0, l->zxid));
    l->spool = NULL;
}

static enum stream_read on_carrier_diverted(void *arg, link_id link, struct bytes bytes,
                                            size_t *used, const char **reason)
{
    struct carrier *c = arg;
    struct loading *l = &c->loading;
    enum stream_read found;
    size_t body;

    ASSERT(l->link == link && l->spool != NULL);
    found = snapshot_stream_feed(&l->stream, bytes, used, &body);
    *reason = l->stream.reason;
    if (found == STREAM_BAD) {
        return found;
    }
    if (body > 0) {
        log_spool_write(l->spool, bytes_of(bytes.data, body));
    }
    if (found == STREAM_WHOLE) {
        finish_loading(c);
    } else if (log_spool_backlog(l->spool) > SPOOL_BYTES) {
        l->is_held = true;
        quorum_net_hold(c->net, link);
    }
    return found;
}

/* The disk has caught up. */
static void continue_loading(struct carrier *c)
{
    struct loading *l = &c->loading;

    if (l->is_held && l->spool != NULL && log_spool_backlog(l->spool) < SPOOL_BYTES / 2) {
        l->is_held = false;
        quorum_net_resume(c->net, l->link);
    }
}

/* Half of one is thrown away. One that is whole is about to be the history, and is waited for. */
static void drop_loading(struct carrier *c)
{
    if (c->loading.spool != NULL) {
        log_spool_stop(c->loading.spool);
        c->loading = (struct loading){0};
    }
}

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

static void drop_sendings(struct carrier *c, link_id to)
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
    quorum_net_stream_write(c->net, s->stream, packets);
    if (is_last) {
        sending_end(s);
    } else if (quorum_net_stream_pending(c->net, s->stream) < STREAM_ROOM_BYTES) {
        log_reading_next(s->reading);
    }
}

static void send_log(struct carrier *c, const struct quorum_effect *e)
{
    struct sending *s = sending_new(c, e->link);

    if (s != NULL) {
        s->zxid = e->zxid;
        c->options.member.hand_over(c->options.member.arg);
        s->reading = log_reading_start(c->options.jobs, e->from, e->zxid, on_log_piece, s);
    }
}

/* The tree. */
static void send_snapshot(struct carrier *c, const struct quorum_effect *e)
{
    struct sending *s = sending_new(c, e->link);

    if (s != NULL) {
        s->is_snapshot = true;
        s->zxid = e->zxid;
        c->options.member.want_snapshot(c->options.member.arg, e->link);
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

static void on_carrier_room(void *arg, stream_id stream)
{
    struct sending *s = find_sending(arg, stream);

    if (s != NULL && !s->is_ended && s->reading != NULL) {
        log_reading_next(s->reading);
    }
}

static void on_carrier_sent(void *arg, stream_id stream)
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

/* ---- links ---- */

static void on_carrier_up(void *arg, link_id link, int64_t sid)
{
    carrier_do(arg, &(struct quorum_input){.kind = QUORUM_IN_LINK_UP, .link = link, .sid = sid});
}

static void on_carrier_down(void *arg, link_id link)
{
    struct carrier *c = arg;

    drop_sendings(c, link);
    if (c->loading.link == link) {
        drop_loading(c);
    }
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = link});
}

static void on_carrier_dial_failed(void *arg, int64_t sid)
{
    carrier_do(arg, &(struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = sid});
}

/* The quorum logs what a leader proposes without looking into it; nothing is logged that could not
 * be applied. */
static bool carries_no_txn(const struct packet *packet)
{
    struct txn txn;

    if (packet->type != PACKET_PROPOSAL && packet->type != PACKET_INFORM) {
        return false;
    }
    return txn_read(packet->data, &txn) != TXN_OK || txn.header.zxid != packet->zxid;
}

static void on_carrier_packet(void *arg, link_id link, const struct packet *packet)
{
    struct carrier *c = arg;

    if (carries_no_txn(packet)) {
        quorum_net_drop(c->net, link, "it proposed what is no transaction of that zxid");
        return;
    }
    c->packet_link = link;
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_PACKET, .link = link, .packet = packet});
    c->packet_link = 0;
}

static size_t addresses_of(const struct carrier *c, int64_t sid, struct net_address *out,
                           size_t max)
{
    const struct quorum_config *config = c->options.quorum.config;
    int index = quorum_config_find(config, sid);
    size_t n = 0;

    for (; index >= 0 && n < max && n < config->member[index].n_addresses; n++) {
        const struct quorum_address *a = &config->member[index].address[n];

        out[n] = (struct net_address){.host = a->host, .port = a->quorum_port};
    }
    return n;
}

enum { ADDRESSES_MAX = 8 };

static void carrier_listen(struct carrier *c)
{
    struct net_address own[ADDRESSES_MAX];
    size_t n = addresses_of(c, c->options.quorum.sid, own, ADDRESSES_MAX);

    if (quorum_net_listen(c->net, own, n) != PAWL_OK) {
        log_error("as leader this server has to listen on its quorum port, and cannot: another "
                  "server has to lead");
        carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LISTEN_FAILED});
    }
}

static void carrier_dial(struct carrier *c, int64_t sid)
{
    struct net_address to[ADDRESSES_MAX];
    size_t n = addresses_of(c, sid, to, ADDRESSES_MAX);

    quorum_net_dial(c->net, sid, to, n);
}

/* ---- the end of a role ---- */

static void on_role_flushed(void *arg, struct log_result *result)
{
    struct job_note note;
    struct carrier *c;

    if (!note_take(arg, result, &note)) {
        return;
    }
    c = note.carrier;
    ASSERT(result->rc == PAWL_OK);
    c->options.member.catch_up(c->options.member.arg);
    txnlog_thread_open_log(c->options.jobs->thread);
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_STOPPED,
                                         .zxid = quorum_status(c->quorum).last_zxid});
}

/* P8: what was given to the log is on disk, and nothing more comes, before there is a vote. */
static void stop_role(struct carrier *c, const char *reason)
{
    drop_loading(c);
    c->options.member.stop(c->options.member.arg, reason);
    c->options.member.hand_over(c->options.member.arg);
    txnlog_thread_close_log(c->options.jobs->thread);
    log_flush(c->options.jobs, on_role_flushed, note_new(c, 0, 0));
}

/* ---- effects ---- */

static void carry_out_link(struct carrier *c, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_LISTEN:
        carrier_listen(c);
        break;
    case QUORUM_DO_UNLISTEN:
        quorum_net_unlisten(c->net);
        break;
    case QUORUM_DO_DIAL:
        carrier_dial(c, e->sid);
        break;
    case QUORUM_DO_CLOSE:
        log_debug("the quorum link %" PRIu64 " is closed: %s", e->link, e->reason);
        drop_sendings(c, e->link);
        quorum_net_close(c->net, e->link);
        break;
    case QUORUM_DO_SEND:
        if (e->packet.type != PACKET_SNAP) { /* that one leaves with its stream */
            quorum_net_send(c->net, e->link, &e->packet);
        }
        break;
    case QUORUM_DO_SEND_LOG:
        send_log(c, e);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
        send_snapshot(c, e);
        break;
    default:
        ASSERT(false);
    }
}

static void carry_out_member(struct carrier *c, const struct quorum_effect *e)
{
    const struct carrier_member *m = &c->options.member;

    switch (e->kind) {
    case QUORUM_DO_APPEND:
        m->append(m->arg, e->zxid, e->bytes);
        break;
    case QUORUM_DO_COMMIT:
        m->commit(m->arg, e->zxid);
        break;
    case QUORUM_DO_LEAD:
        m->lead(m->arg, e->epoch);
        break;
    case QUORUM_DO_SERVE:
        m->serve(m->arg, e->role, e->epoch, e->sid);
        break;
    case QUORUM_DO_RECEIVED:
        m->received(m->arg, e->link, e->sid, &e->packet);
        break;
    case QUORUM_DO_SYNCED:
        m->synced(m->arg);
        break;
    case QUORUM_DO_LINK_GONE:
        m->link_gone(m->arg, e->link, e->sid);
        break;
    default:
        ASSERT(false);
    }
}

static void carry_out(struct carrier *c, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_NOTIFY:
        c->options.notify(c->options.notify_arg, e->sid, e->bytes);
        break;
    case QUORUM_DO_LISTEN:
    case QUORUM_DO_UNLISTEN:
    case QUORUM_DO_DIAL:
    case QUORUM_DO_CLOSE:
    case QUORUM_DO_SEND:
    case QUORUM_DO_SEND_LOG:
    case QUORUM_DO_SEND_SNAPSHOT:
        carry_out_link(c, e);
        break;
    case QUORUM_DO_LOAD_SNAPSHOT:
        load_snapshot(c, e);
        break;
    case QUORUM_DO_TRUNCATE:
        truncate_history(c, e->zxid);
        break;
    case QUORUM_DO_SAVE_EPOCH:
        save_epoch(c, e);
        break;
    case QUORUM_DO_STOP:
        stop_role(c, e->reason);
        break;
    case QUORUM_DO_APPEND:
    case QUORUM_DO_COMMIT:
    case QUORUM_DO_LEAD:
    case QUORUM_DO_SERVE:
    case QUORUM_DO_RECEIVED:
    case QUORUM_DO_SYNCED:
    case QUORUM_DO_LINK_GONE:
        carry_out_member(c, e);
        break;
    }
}

/* ---- steps ---- */

static void trace_if_wanted(struct carrier *c, const struct quorum_input *in)
{
    if (logging_level() >= LOG_DEBUG) {
        strbuf_clear(&c->scratch);
        trace_step(&c->scratch, clock_monotonic_us(), c->options.quorum.sid, in, &c->effects);
        log_line(LOG_DEBUG, "%.*s", (int)c->scratch.len - 1, strbuf_cstr(&c->scratch));
    }
}

static void carrier_step(struct carrier *c, const struct quorum_input *in)
{
    ASSERT(!c->is_stepping);
    c->is_stepping = true;
    quorum_step(c->quorum, clock_monotonic_us(), in, &c->effects);
    trace_if_wanted(c, in);
    for (size_t i = 0; i < c->effects.count; i++) {
        carry_out(c, &c->effects.items[i]);
    }
    c->is_stepping = false;
}

static void copy_packet(struct kept_input *k, const struct packet *p)
{
    struct strbuf *b = &k->bytes;
    enum stream_read rc;
    size_t used = 0;

    packet_write(b, p);
    rc = packet_read(strbuf_bytes(b), b->len, &k->packet, &used);
    ASSERT(rc == STREAM_WHOLE);
    k->in.packet = &k->packet;
}

static void carrier_keep(struct carrier *c, const struct quorum_input *in)
{
    struct kept_input *k = must_zalloc(sizeof(*k));

    k->in = *in;
    strbuf_init(&k->bytes, STRBUF_NO_LIMIT);
    if (in->packet != NULL) {
        copy_packet(k, in->packet);
    } else if (!bytes_is_null(in->bytes)) {
        strbuf_append_bytes(&k->bytes, in->bytes);
        k->in.bytes = strbuf_bytes(&k->bytes);
    }
    list_push_back(&c->kept, &k->link);
}

static void carrier_do_kept(struct carrier *c)
{
    struct list *item;

    while ((item = list_pop_front(&c->kept)) != NULL) {
        struct kept_input *k = container_of(item, struct kept_input, link);

        carrier_step(c, &k->in);
        strbuf_fini(&k->bytes);
        free(k);
    }
}

void carrier_do(struct carrier *c, const struct quorum_input *in)
{
    if (c->is_closing) {
        return;
    }
    if (c->is_stepping) {
        carrier_keep(c, in);
        return;
    }
    carrier_step(c, in);
    carrier_do_kept(c);
    carrier_plan(c);
}

void carrier_durable(struct carrier *c, int64_t zxid)
{
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LOG_DURABLE, .zxid = zxid});
}

void carrier_start(struct carrier *c, int64_t last_zxid, int64_t accepted_epoch,
                   int64_t current_epoch, const struct history *history)
{
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_START,
                                         .zxid = last_zxid,
                                         .accepted_epoch = accepted_epoch,
                                         .current_epoch = current_epoch,
                                         .history = history});
}

void carrier_flush(struct carrier *c)
{
    struct list *item, *next;

    continue_loading(c);
    for (item = c->sendings.next; item != &c->sendings; item = next) {
        struct sending *s = container_of(item, struct sending, link);

        next = item->next;
        if (s->taker != NULL && !s->is_ended) {
            send_chunks(s);
        }
    }
    quorum_net_flush(c->net);
}

/* ---- life ---- */

struct carrier *carrier_new(const struct carrier_options *options)
{
    struct carrier *c = must_zalloc(sizeof(*c));
    int64_t init_ms = options->quorum.init_limit * options->quorum.tick_ms;
    struct quorum_net_options net = {.loop = options->loop,
                                     .packet_bytes = options->packet_bytes,
                                     .output_bytes = options->output_bytes,
                                     .greeting_ms = init_ms,
                                     .dial_ms = init_ms,
                                     .stall_ms = init_ms,
                                     .keepalive = options->keepalive,
                                     .events = {.arg = c,
                                                .up = on_carrier_up,
                                                .down = on_carrier_down,
                                                .dial_failed = on_carrier_dial_failed,
                                                .packet = on_carrier_packet,
                                                .diverted = on_carrier_diverted,
                                                .room = on_carrier_room,
                                                .sent = on_carrier_sent}};

    c->options = *options;
    quorum_effects_init(&c->effects);
    list_init(&c->kept);
    list_init(&c->sendings);
    strbuf_init(&c->scratch, STRBUF_NO_LIMIT);
    c->quorum = quorum_new(&options->quorum);
    c->net = quorum_net_new(&net);
    uv_timer_init(options->loop, &c->timer);
    c->timer.data = c;
    return c;
}

void carrier_close(struct carrier *c)
{
    ASSERT(!c->is_closing && !c->is_stepping);
    c->is_closing = true;
    drop_loading(c);
    while (!list_empty(&c->sendings)) {
        sending_free(container_of(c->sendings.next, struct sending, link));
    }
    quorum_net_free(c->net);
    c->net = NULL;
    uv_timer_stop(&c->timer);
}

static void on_carrier_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void carrier_free(struct carrier *c)
{
    struct list *item;

    if (c == NULL) {
        return;
    }
    ASSERT(c->is_closing);
    while ((item = list_pop_front(&c->kept)) != NULL) {
        struct kept_input *k = container_of(item, struct kept_input, link);

        strbuf_fini(&k->bytes);
        free(k);
    }
    quorum_free(c->quorum);
    quorum_effects_fini(&c->effects);
    strbuf_fini(&c->scratch);
    uv_close((uv_handle_t *)&c->timer, on_carrier_closed);
}

const struct quorum *carrier_quorum(const struct carrier *c)
{
    return c->quorum;
}

int carrier_port(const struct carrier *c)
{
    return c->net == NULL ? -1 : quorum_net_port(c->net);
}
