/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_effects.c - what a carrier does about each effect of its quorum. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sim_ensemble.h"
#include "sim_ensemble_list.h"

/* ---- numbers as bytes ---- */

static void put_number(struct strbuf *b, uint64_t number)
{
    uint8_t bytes[VALUE_BYTES];

    toy_number_write(number, bytes);
    strbuf_append(b, bytes, sizeof(bytes));
}

static uint64_t take_number(struct bytes *b)
{
    uint64_t number = toy_number_read(*b);

    *b = bytes_of(b->data + VALUE_BYTES, b->len - VALUE_BYTES);
    return number;
}

/* ---- the tree ---- */

static void apply(struct sim_member *m, int64_t zxid)
{
    struct sim_carrier *t = &m->carrier;
    const struct toy_history *h = &t->disk.history;
    size_t from = t->n_applied;

    t->n_applied = toy_history_upto(h, zxid);
    if (t->n_applied == 0 || h->records[t->n_applied - 1].zxid != zxid || t->n_applied < from) {
        cluster_violated(m->cluster, "m%d is to commit 0x%llx, which its log does not have",
                         m->index + 1, (unsigned long long)zxid);
    }
    if (t->serves) {
        judge_delivered(m);
    }
}

struct toy_history sim_carrier_snapshot_read(struct bytes *b)
{
    struct toy_history h = {0};
    int64_t zxid = (int64_t)take_number(b), of_record;
    uint64_t n = take_number(b);

    for (uint64_t i = 0; i < n; i++) {
        of_record = (int64_t)take_number(b);
        toy_history_add(&h, of_record, take_number(b));
    }
    h.zxid = zxid;
    return h;
}

/* ---- packets ---- */

struct sim_stream *sim_carrier_stream_of(struct sim_carrier *t, uint64_t link)
{
    struct sim_stream *s = t->streams;

    while (s != NULL && s->link != link) {
        s = s->next;
    }
    return s;
}

void sim_carrier_stream_end(struct sim_carrier *t, uint64_t link)
{
    for (struct sim_stream **at = &t->streams; *at != NULL; at = &(*at)->next) {
        struct sim_stream *s = *at;

        if (s->link == link) {
            *at = s->next;
            strbuf_fini(&s->behind);
            free(s);
            return;
        }
    }
}

static void send_bytes(struct sim_member *m, uint64_t link, struct bytes bytes)
{
    struct sim_stream *s = sim_carrier_stream_of(&m->carrier, link);

    if (s == NULL || s->is_sent) {
        mesh_send(&m->cluster->mesh, m->index, link, bytes, 0);
    } else {
        put_number(&s->behind, bytes.len);
        strbuf_append_bytes(&s->behind, bytes);
    }
}

static void send_packet(struct sim_member *m, uint64_t link, const struct packet *p)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    packet_write(&b, p);
    send_bytes(m, link, strbuf_bytes(&b));
    strbuf_fini(&b);
}

struct packet sim_carrier_packet_of(int32_t type, int64_t zxid, struct bytes data)
{
    return (struct packet){.type = type, .zxid = zxid, .data = data, .auth = {.count = -1}};
}

/* From the files: PROPOSAL and COMMIT of each. */
static void send_log(struct sim_member *m, uint64_t link, int64_t from, int64_t to)
{
    const struct toy_disk *d = &m->carrier.disk;
    struct packet p;

    for (size_t i = toy_history_upto(&d->history, from - 1); i < d->history.n; i++) {
        const struct toy_record *r = &d->history.records[i];

        if (r->zxid > to) {
            break;
        }
        if (i < d->n_base || i >= d->n_synced) {
            cluster_violated(m->cluster, "m%d sends 0x%llx from its log, which has it not on disk",
                             m->index + 1, (unsigned long long)r->zxid);
        }
        p = sim_carrier_packet_of(PACKET_PROPOSAL, r->zxid,
                                  m->cluster->body->payload(m->cluster, r->value));
        send_packet(m, link, &p);
        p = sim_carrier_packet_of(PACKET_COMMIT, r->zxid, BYTES_NULL);
        send_packet(m, link, &p);
    }
}

static void send_snapshot(struct sim_member *m, uint64_t link, int64_t zxid)
{
    struct sim_stream *s = must_zalloc(sizeof(*s));

    s->link = link;
    s->zxid = zxid;
    strbuf_init(&s->behind, STRBUF_NO_LIMIT);
    s->next = m->carrier.streams;
    m->carrier.streams = s;
    sim_member_walks_later(m, link);
}

static void send_behind(struct sim_member *m, struct sim_stream *s)
{
    struct bytes rest = strbuf_bytes(&s->behind);

    while (rest.len > 0) {
        size_t len = take_number(&rest);

        send_bytes(m, s->link, bytes_of(rest.data, len));
        rest = bytes_of(rest.data + len, rest.len - len);
    }
}

void sim_carrier_snapshot_due(struct sim_member *m, uint64_t link)
{
    if (sim_carrier_stream_of(&m->carrier, link) != NULL) { /* else the link is gone */
        m->cluster->body->want_snapshot(m, link);
    }
}

static void snapshot_write(const struct toy_history *h, int64_t zxid, size_t n, struct strbuf *out)
{
    put_number(out, (uint64_t)zxid);
    put_number(out, n);
    for (size_t i = 0; i < n; i++) {
        put_number(out, (uint64_t)h->records[i].zxid);
        put_number(out, h->records[i].value);
    }
}

/* SNAP leaves with its stream: it names the tree as it was walked. */
void sim_carrier_send_snapshot(struct sim_member *m, uint64_t link, int64_t zxid, size_t n,
                               struct bytes added)
{
    struct sim_carrier *t = &m->carrier;
    struct sim_stream *s = sim_carrier_stream_of(t, link);
    struct packet snap;
    struct strbuf b;

    if (s == NULL) {
        return; /* the link is gone */
    }
    s->is_sent = true;
    s->zxid = zxid > s->zxid ? zxid : s->zxid;
    snap = sim_carrier_packet_of(PACKET_SNAP, s->zxid, BYTES_NULL);
    send_packet(m, link, &snap);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    snapshot_write(&t->disk.history, s->zxid, n, &b);
    strbuf_append_bytes(&b, added);
    sim_member_sends_snapshot(m, link, strbuf_bytes(&b));
    strbuf_fini(&b);
    send_behind(m, s);
}

/* ---- effects ---- */

static void serve(struct sim_member *m, const struct quorum_effect *e)
{
    struct sim_carrier *t = &m->carrier;

    ASSERT(!t->serves && !t->is_stopping);
    t->serves = true;
    t->leads = e->kind == QUORUM_DO_LEAD;
    t->epoch = e->epoch;
    if (t->leads && t->n_applied != t->disk.history.n) {
        cluster_violated(m->cluster, "m%d leads without having applied all it has", m->index + 1);
    }
    judge_delivered(m);
}

void sim_carrier_hold(struct sim_member *m, uint64_t link, bool held)
{
    m->carrier.held = held ? link : 0;
    if (link != 0) {
        mesh_hold(&m->cluster->mesh, m->index, link, held);
    }
}

static void truncate_log(struct sim_member *m, int64_t zxid)
{
    struct sim_carrier *t = &m->carrier;

    sim_carrier_hold(m, t->link, true);
    if (toy_disk_truncate(&t->disk, zxid)) {
        sim_carrier_wish_for(m, (struct sim_wish){.grant = sim_carrier_truncated,
                                                  .number = (uint64_t)t->disk.history.zxid});
    }
}

/* What was wished for ends with the role, but for what the body has asked of the quorum. */
static void stop_serving(struct sim_member *m)
{
    struct sim_carrier *t = &m->carrier;
    size_t n = 0;

    t->serves = t->leads = false;
    t->is_stopping = true;
    t->loading = 0;
    for (size_t i = 0; i < t->n_wishes; i++) {
        if (t->wishes[i].kept != NULL) {
            t->wishes[n++] = t->wishes[i];
        }
    }
    t->n_wishes = n;
}

static bool grant_log_sent(struct sim_member *m, const struct sim_wish *w)
{
    return sim_carrier_step(m, &(struct quorum_input){.kind = QUORUM_IN_LOG_SENT, .link = w->link});
}

static void append(struct sim_member *m, const struct quorum_effect *e)
{
    struct toy_disk *d = &m->carrier.disk;

    if (e->zxid <= d->history.zxid) {
        cluster_violated(m->cluster, "m%d appends 0x%llx behind 0x%llx", m->index + 1,
                         (unsigned long long)e->zxid, (unsigned long long)d->history.zxid);
    }
    if (!toy_disk_append(d, e->zxid, m->cluster->body->value(m->cluster, e->bytes))) {
        cluster_crash(m->cluster, m->index, CRASH_DISK, m->cluster->now_us + 100000);
    }
}

static void carry_out_network(struct sim_member *m, const struct quorum_effect *e)
{
    struct mesh *mesh = &m->cluster->mesh;

    switch (e->kind) {
    case QUORUM_DO_NOTIFY: /* with its length in front, which stays behind */
        mesh_notify(mesh, m->index, (int)e->sid - 1, bytes_of(e->bytes.data + 4, e->bytes.len - 4));
        break;
    case QUORUM_DO_LISTEN:
    case QUORUM_DO_UNLISTEN:
        if (!mesh->holds[m->index]) {
            cluster_violated(m->cluster, "m%d is to listen where somebody else does", m->index + 1);
        }
        mesh->listens[m->index] = e->kind == QUORUM_DO_LISTEN;
        break;
    case QUORUM_DO_DIAL:
        mesh_dial(mesh, m->index, (int)e->sid - 1);
        break;
    case QUORUM_DO_CLOSE:
        sim_carrier_stream_end(&m->carrier, e->link);
        mesh_close(mesh, m->index, e->link);
        break;
    case QUORUM_DO_SEND:
        if (e->packet.type != PACKET_SNAP) {
            send_packet(m, e->link, &e->packet);
        }
        break;
    case QUORUM_DO_SEND_LOG:
        send_log(m, e->link, e->from, e->zxid);
        sim_carrier_wish_for(m, (struct sim_wish){.grant = grant_log_sent, .link = e->link});
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
        send_snapshot(m, e->link, e->zxid);
        break;
    default:
        ASSERT(false);
    }
}

/* The carrier's part of what concerns the body. */
static void carry_out_own(struct sim_member *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_APPEND:
        append(m, e);
        break;
    case QUORUM_DO_COMMIT:
        apply(m, e->zxid);
        break;
    case QUORUM_DO_LEAD:
    case QUORUM_DO_SERVE:
        serve(m, e);
        break;
    case QUORUM_DO_STOP:
        stop_serving(m);
        break;
    default:
        break;
    }
    if (m->runs) {
        m->cluster->body->effect(m, e);
    }
}

void sim_carrier_carry_out(struct sim_member *m, const struct quorum_effect *e)
{
    struct sim_carrier *t = &m->carrier;

    switch (e->kind) {
    case QUORUM_DO_LOAD_SNAPSHOT:
        t->loading = e->link;
        t->loading_zxid = e->zxid;
        t->loading_until_us =
            sim_member_now_us(m) + m->cluster->plan->init_limit * m->cluster->plan->tick_ms * 1000;
        break;
    case QUORUM_DO_TRUNCATE:
        truncate_log(m, e->zxid);
        break;
    case QUORUM_DO_SAVE_EPOCH:
        toy_disk_save_epoch(&t->disk, e->which == EPOCH_ACCEPTED ? TOY_ACCEPTED : TOY_CURRENT,
                            e->epoch);
        break;
    case QUORUM_DO_SAVE_CONFIG:
    case QUORUM_DO_ACTIVATE:
        toy_disk_save_list(&t->disk, e->config != NULL ? sim_list_of(e->config) : 0,
                           e->kind == QUORUM_DO_ACTIVATE);
        break;
    case QUORUM_DO_APPEND:
    case QUORUM_DO_COMMIT:
    case QUORUM_DO_LEAD:
    case QUORUM_DO_SERVE:
    case QUORUM_DO_TURN:
    case QUORUM_DO_STOP:
    case QUORUM_DO_RECEIVED:
    case QUORUM_DO_SYNCED:
    case QUORUM_DO_LINK_GONE:
        carry_out_own(m, e);
        break;
    default:
        carry_out_network(m, e);
    }
}
