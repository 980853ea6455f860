/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_effects.c - what a toy member does about each effect of its quorum. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sim_ensemble.h"

/* ---- numbers as bytes ---- */

void toy_number_write(uint64_t number, uint8_t out[VALUE_BYTES])
{
    for (int i = 0; i < VALUE_BYTES; i++) {
        out[i] = (uint8_t)(number >> 8 * (VALUE_BYTES - 1 - i));
    }
}

uint64_t toy_number_read(struct bytes b)
{
    uint64_t number = 0;

    ASSERT(b.len >= VALUE_BYTES);
    for (int i = 0; i < VALUE_BYTES; i++) {
        number = number << 8 | b.data[i];
    }
    return number;
}

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

/* ---- calls ---- */

static int64_t asked_at(uint64_t number)
{
    return (int64_t)(number >> 48);
}

void toy_calls_put(struct sim_member *m, enum toy_ask ask, uint64_t number)
{
    struct toy_calls *calls = &m->toy.calls[ask];
    struct toy_call *call = must_zalloc(sizeof(*call));

    call->number = number;
    call->n_acknowledged = m->world->judge.n_acknowledged;
    *calls->last = call;
    calls->last = &call->next;
}

static void calls_take(struct toy_calls *calls)
{
    struct toy_call *call = calls->first;

    calls->first = call->next;
    calls->last = calls->first == NULL ? &calls->first : calls->last;
    free(call);
}

/* The oldest of that kind is answered; nothing happens if there is none. */
void toy_calls_answer(struct sim_member *m, enum toy_ask ask)
{
    struct toy_calls *calls = &m->toy.calls[ask];

    if (calls->first != NULL) {
        judge_answered(m, ask, calls->first);
        calls_take(calls);
    }
}

void toy_calls_fail(struct sim_member *m)
{
    for (int ask = 0; ask < N_ASKS; ask++) {
        while (m->toy.calls[ask].first != NULL) {
            m->world->judge.n_failed++;
            calls_take(&m->toy.calls[ask]);
        }
    }
}

/* A write of ours was applied: its client is answered. One that was given up before it was
 * committed has nobody left. */
static void own_write_applied(struct sim_member *m, uint64_t number)
{
    struct toy_call *first = m->toy.calls[ASK_WRITE].first;

    for (struct toy_call *call = first; call != NULL; call = call->next) {
        if (call->number == number && call != first) {
            world_violated(m->world, "order: m%d commits a write before an older one of its own",
                           m->index + 1);
        }
    }
    if (first != NULL && first->number == number) {
        toy_calls_answer(m, ASK_WRITE);
    }
}

/* ---- the tree ---- */

static void apply(struct sim_member *m, int64_t zxid)
{
    struct toy *t = &m->toy;
    const struct toy_history *h = &t->disk.history;
    size_t from = t->n_applied;

    t->n_applied = toy_history_upto(h, zxid);
    if (t->n_applied == 0 || h->records[t->n_applied - 1].zxid != zxid || t->n_applied < from) {
        world_violated(m->world, "m%d is to commit 0x%llx, which its log does not have",
                       m->index + 1, (unsigned long long)zxid);
    }
    if (!t->serves) {
        return;
    }
    judge_delivered(m);
    for (size_t i = from; i < t->n_applied; i++) {
        if (asked_at(h->records[i].value) == member_sid(m)) {
            own_write_applied(m, h->records[i].value);
        }
    }
}

static void snapshot_write(const struct toy *t, int64_t zxid, struct strbuf *out)
{
    put_number(out, (uint64_t)zxid);
    for (size_t i = 0; i < t->n_applied; i++) {
        put_number(out, (uint64_t)t->disk.history.records[i].zxid);
        put_number(out, t->disk.history.records[i].value);
    }
}

struct toy_history toy_snapshot_read(struct bytes b)
{
    struct toy_history h = {0};
    int64_t zxid = (int64_t)take_number(&b), of_record;

    while (b.len > 0) {
        of_record = (int64_t)take_number(&b);
        toy_history_add(&h, of_record, take_number(&b));
    }
    h.zxid = zxid;
    return h;
}

/* ---- packets ---- */

struct toy_stream *toy_stream_of(struct toy *t, uint64_t link)
{
    struct toy_stream *s = t->streams;

    while (s != NULL && s->link != link) {
        s = s->next;
    }
    return s;
}

void toy_stream_end(struct toy *t, uint64_t link)
{
    for (struct toy_stream **at = &t->streams; *at != NULL; at = &(*at)->next) {
        struct toy_stream *s = *at;

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
    struct toy_stream *s = toy_stream_of(&m->toy, link);

    if (s == NULL || s->is_sent) {
        mesh_send(&m->world->mesh, m->index, link, bytes, 0);
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

struct packet toy_packet_of(int32_t type, int64_t zxid, struct bytes data)
{
    return (struct packet){.type = type, .zxid = zxid, .data = data, .auth = {.count = -1}};
}

/* From the files: PROPOSAL and COMMIT of each. */
static void send_log(struct sim_member *m, uint64_t link, int64_t from, int64_t to)
{
    const struct toy_disk *d = &m->toy.disk;
    uint8_t value[VALUE_BYTES];
    struct packet p;

    for (size_t i = toy_history_upto(&d->history, from - 1); i < d->history.n; i++) {
        const struct toy_record *r = &d->history.records[i];

        if (r->zxid > to) {
            break;
        }
        if (i < d->n_base || i >= d->n_synced) {
            world_violated(m->world, "m%d sends 0x%llx from its log, which has it not on disk",
                           m->index + 1, (unsigned long long)r->zxid);
        }
        toy_number_write(r->value, value);
        p = toy_packet_of(PACKET_PROPOSAL, r->zxid, bytes_of(value, sizeof(value)));
        send_packet(m, link, &p);
        p = toy_packet_of(PACKET_COMMIT, r->zxid, BYTES_NULL);
        send_packet(m, link, &p);
    }
}

static void send_snapshot(struct sim_member *m, uint64_t link, int64_t zxid)
{
    struct toy_stream *s = must_zalloc(sizeof(*s));

    s->link = link;
    s->zxid = zxid;
    strbuf_init(&s->behind, STRBUF_NO_LIMIT);
    s->next = m->toy.streams;
    m->toy.streams = s;
    member_walks_later(m, link);
}

static void send_behind(struct sim_member *m, struct toy_stream *s)
{
    struct bytes rest = strbuf_bytes(&s->behind);

    while (rest.len > 0) {
        size_t len = take_number(&rest);

        send_bytes(m, s->link, bytes_of(rest.data, len));
        rest = bytes_of(rest.data + len, rest.len - len);
    }
}

/* SNAP leaves with its stream: it names the tree as it was walked. */
void toy_snapshot_due(struct sim_member *m, uint64_t link)
{
    struct toy *t = &m->toy;
    struct toy_stream *s = toy_stream_of(t, link);
    int64_t applied = t->n_applied == 0 ? 0 : t->disk.history.records[t->n_applied - 1].zxid;
    struct packet snap;
    struct strbuf b;

    if (s == NULL) {
        return; /* the link is gone */
    }
    s->is_sent = true;
    s->zxid = applied > s->zxid ? applied : s->zxid;
    snap = toy_packet_of(PACKET_SNAP, s->zxid, BYTES_NULL);
    send_packet(m, link, &snap);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    snapshot_write(t, s->zxid, &b);
    member_sends_snapshot(m, link, strbuf_bytes(&b));
    strbuf_fini(&b);
    send_behind(m, s);
}

/* ---- effects ---- */

void toy_wish_for(struct toy *t, enum quorum_input_kind kind, uint64_t link, uint64_t number)
{
    if (t->n_wishes == t->wishes_capacity) {
        t->wishes_capacity = t->wishes_capacity == 0 ? 16 : 2 * t->wishes_capacity;
        t->wishes = must_realloc(t->wishes, t->wishes_capacity * sizeof(t->wishes[0]));
    }
    t->wishes[t->n_wishes++] = (struct toy_wish){kind, link, number};
}

/* Leading: what came from a learner. A learner's clients are known by their member's id. */
static void received_leading(struct toy *t, const struct quorum_effect *e)
{
    struct forwarded_request q;

    if (e->packet.type == PACKET_REVALIDATE) {
        toy_wish_for(t, QUORUM_IN_ANSWER, e->link, toy_number_read(e->packet.data));
    } else if (e->packet.type == PACKET_REQUEST) {
        ASSERT(forwarded_request_read(e->packet.data, &q));
        if (q.op == OP_OF_A_SYNC) {
            toy_wish_for(t, QUORUM_IN_SYNC, e->link, 0);
        } else {
            toy_wish_for(t, QUORUM_IN_PROPOSE, e->link, toy_number_read(q.body));
        }
    }
}

static void received(struct sim_member *m, const struct quorum_effect *e)
{
    if (m->toy.leads) {
        received_leading(&m->toy, e);
    } else if (e->packet.type == PACKET_SYNC) {
        toy_calls_answer(m, ASK_SYNC);
    } else if (e->packet.type == PACKET_REVALIDATE) {
        toy_calls_answer(m, ASK_REVALIDATE);
    }
}

static void serve(struct sim_member *m, const struct quorum_effect *e)
{
    struct toy *t = &m->toy;

    ASSERT(!t->serves && !t->is_stopping);
    t->serves = true;
    t->leads = e->kind == QUORUM_DO_LEAD;
    t->epoch = e->epoch;
    t->next_zxid = zxid_make(e->epoch, 1);
    if (t->leads && t->n_applied != t->disk.history.n) {
        world_violated(m->world, "m%d leads without having applied all it has", m->index + 1);
    }
    judge_delivered(m);
}

void toy_hold(struct sim_member *m, uint64_t link, bool held)
{
    m->toy.held = held ? link : 0;
    if (link != 0) {
        mesh_hold(&m->world->mesh, m->index, link, held);
    }
}

static void truncate_log(struct sim_member *m, int64_t zxid)
{
    struct toy *t = &m->toy;

    toy_hold(m, t->link, true);
    if (toy_disk_truncate(&t->disk, zxid)) {
        toy_wish_for(t, QUORUM_IN_TRUNCATED, 0, (uint64_t)t->disk.history.zxid);
    }
}

static void stop_serving(struct sim_member *m)
{
    struct toy *t = &m->toy;

    t->serves = t->leads = false;
    t->is_stopping = true;
    t->loading = 0;
    t->n_wishes = 0;
    toy_calls_fail(m);
}

static void append(struct sim_member *m, const struct quorum_effect *e)
{
    struct toy_disk *d = &m->toy.disk;

    if (e->zxid <= d->history.zxid) {
        world_violated(m->world, "m%d appends 0x%llx behind 0x%llx", m->index + 1,
                       (unsigned long long)e->zxid, (unsigned long long)d->history.zxid);
    }
    if (!toy_disk_append(d, e->zxid, toy_number_read(e->bytes))) {
        world_crash(m->world, m->index, CRASH_DISK, m->world->now_us + 100000);
    }
}

static void carry_out_network(struct sim_member *m, const struct quorum_effect *e)
{
    struct mesh *mesh = &m->world->mesh;

    switch (e->kind) {
    case QUORUM_DO_NOTIFY: /* with its length in front, which stays behind */
        mesh_notify(mesh, m->index, (int)e->sid - 1, bytes_of(e->bytes.data + 4, e->bytes.len - 4));
        break;
    case QUORUM_DO_LISTEN:
    case QUORUM_DO_UNLISTEN:
        mesh->listens[m->index] = e->kind == QUORUM_DO_LISTEN;
        break;
    case QUORUM_DO_DIAL:
        mesh_dial(mesh, m->index, (int)e->sid - 1);
        break;
    case QUORUM_DO_CLOSE:
        toy_stream_end(&m->toy, e->link);
        mesh_close(mesh, m->index, e->link);
        break;
    case QUORUM_DO_SEND:
        if (e->packet.type != PACKET_SNAP) {
            send_packet(m, e->link, &e->packet);
        }
        break;
    case QUORUM_DO_SEND_LOG:
        send_log(m, e->link, e->from, e->zxid);
        toy_wish_for(&m->toy, QUORUM_IN_LOG_SENT, e->link, 0);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
        send_snapshot(m, e->link, e->zxid);
        break;
    default:
        ASSERT(false);
    }
}

void toy_carry_out(struct sim_member *m, const struct quorum_effect *e)
{
    struct toy *t = &m->toy;

    switch (e->kind) {
    case QUORUM_DO_LOAD_SNAPSHOT:
        t->loading = e->link;
        t->loading_zxid = e->zxid;
        t->loading_until_us =
            member_now_us(m) + m->world->plan->init_limit * m->world->plan->tick_ms * 1000;
        break;
    case QUORUM_DO_TRUNCATE:
        truncate_log(m, e->zxid);
        break;
    case QUORUM_DO_SAVE_EPOCH:
        toy_disk_save_epoch(&t->disk, e->which == EPOCH_ACCEPTED ? TOY_ACCEPTED : TOY_CURRENT,
                            e->epoch);
        break;
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
    case QUORUM_DO_RECEIVED:
        received(m, e);
        break;
    case QUORUM_DO_SYNCED:
        toy_calls_answer(m, ASK_SYNC);
        break;
    case QUORUM_DO_LINK_GONE:
        break;
    default:
        carry_out_network(m, e);
    }
}
