/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_toy.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sim_ensemble.h"
#include "sim_ensemble_list.h"
#include "wire/ops.h"

enum { SESSION_MS = 4000, OP_OF_A_WRITE = 1, OP_OF_A_SYNC = 9 };

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

/* ---- calls ---- */

static int64_t asked_at(uint64_t number)
{
    return (int64_t)(number >> 48);
}

static void calls_put(struct sim_member *m, enum toy_ask ask, uint64_t number)
{
    struct toy_calls *calls = &m->toy.calls[ask];
    struct toy_call *call = must_zalloc(sizeof(*call));

    call->number = number;
    call->n_acknowledged = m->cluster->judge.n_acknowledged;
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
static void calls_answer(struct sim_member *m, enum toy_ask ask)
{
    struct toy_calls *calls = &m->toy.calls[ask];

    if (calls->first != NULL) {
        judge_answered(m, ask, calls->first);
        calls_take(calls);
    }
}

static void calls_fail(struct sim_member *m)
{
    for (int ask = 0; ask < N_ASKS; ask++) {
        while (m->toy.calls[ask].first != NULL) {
            m->cluster->judge.n_failed++;
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
            cluster_violated(m->cluster,
                             "order: m%d commits a write before an older one of its own",
                             m->index + 1);
        }
    }
    if (first != NULL && first->number == number) {
        calls_answer(m, ASK_WRITE);
    }
}

/* ---- wishes ---- */

static int64_t last_counter(const struct sim_member *m)
{
    int64_t limit = m->cluster->plan->counter_limit;

    return limit == 0 ? INT64_C(0xfffffffe) : limit;
}

/* The last zxid of an epoch is not given out: a new leader begins a new epoch. `value` is lent. */
static struct quorum_input proposal_of(struct sim_member *m, uint64_t number,
                                       uint8_t value[VALUE_BYTES])
{
    if (zxid_counter(m->toy.next_zxid) > last_counter(m)) {
        return (struct quorum_input){.kind = QUORUM_IN_RESIGN};
    }
    toy_number_write(number, value);
    return (struct quorum_input){.kind = QUORUM_IN_PROPOSE,
                                 .zxid = m->toy.next_zxid++,
                                 .bytes = bytes_of(value, VALUE_BYTES)};
}

static bool grant_write(struct sim_member *m, const struct sim_wish *w)
{
    uint8_t value[VALUE_BYTES];
    struct quorum_input in;

    if (!m->carrier.leads) {
        return true;
    }
    in = proposal_of(m, w->number, value);
    return sim_carrier_step(m, &in);
}

/* From here on its writes are of that epoch. */
static bool grant_turn(struct sim_member *m, const struct sim_wish *w)
{
    int64_t epoch = (int64_t)w->number;

    if (!m->carrier.leads) {
        return true;
    }
    m->toy.next_zxid = zxid_make(epoch, 1);
    return sim_carrier_step(m, &(struct quorum_input){.kind = QUORUM_IN_TURN, .epoch = epoch});
}

static bool grant_sync(struct sim_member *m, const struct sim_wish *w)
{
    return !m->carrier.leads ||
           sim_carrier_step(m, &(struct quorum_input){.kind = QUORUM_IN_SYNC, .link = w->link});
}

static bool grant_revalidation(struct sim_member *m, const struct sim_wish *w)
{
    struct strbuf b;
    struct packet p;
    bool alive;

    if (!m->carrier.leads) {
        return true;
    }
    strbuf_init(&b, STRBUF_NO_LIMIT);
    revalidation_write(&b, &(struct revalidation){(int64_t)w->number, true});
    p = sim_carrier_packet_of(PACKET_REVALIDATE, -1, strbuf_bytes(&b));
    alive = sim_carrier_step(
        m, &(struct quorum_input){.kind = QUORUM_IN_ANSWER, .link = w->link, .packet = &p});
    strbuf_fini(&b);
    return alive;
}

/* ---- effects ---- */

/* Leading: what came from a learner. A learner's clients are known by their member's id. */
static void received_leading(struct sim_member *m, const struct quorum_effect *e)
{
    struct sim_wish wish = {.grant = grant_revalidation, .link = e->link};
    struct forwarded_request q;

    if (e->packet.type == PACKET_REVALIDATE) {
        wish.number = toy_number_read(e->packet.data);
    } else if (e->packet.type == PACKET_REQUEST) {
        ASSERT(forwarded_request_read(e->packet.data, &q));
        wish.grant = q.op == OP_OF_A_SYNC ? grant_sync : grant_write;
        wish.number = q.op == OP_OF_A_SYNC ? 0 : toy_number_read(q.body);
    } else {
        return;
    }
    sim_carrier_wish_for(m, wish);
}

static void received(struct sim_member *m, const struct quorum_effect *e)
{
    if (m->carrier.leads) {
        received_leading(m, e);
    } else if (e->packet.type == PACKET_SYNC) {
        calls_answer(m, ASK_SYNC);
    } else if (e->packet.type == PACKET_REVALIDATE) {
        calls_answer(m, ASK_REVALIDATE);
    }
}

static void committed(struct sim_member *m)
{
    const struct toy_history *h = &m->carrier.disk.history;

    if (!m->carrier.serves) {
        return;
    }
    for (; m->toy.n_seen < m->carrier.n_applied; m->toy.n_seen++) {
        uint64_t value = h->records[m->toy.n_seen].value;

        if (asked_at(value) == sim_member_sid(m)) {
            own_write_applied(m, value);
        }
    }
}

static void toy_effect(struct sim_member *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_LEAD:
    case QUORUM_DO_SERVE:
        m->toy.next_zxid = zxid_make(e->epoch, 1);
        m->toy.n_seen = m->carrier.n_applied;
        break;
    case QUORUM_DO_TURN:
        sim_carrier_wish_for(m,
                             (struct sim_wish){.grant = grant_turn, .number = (uint64_t)e->epoch});
        break;
    case QUORUM_DO_COMMIT:
        committed(m);
        break;
    case QUORUM_DO_STOP:
        calls_fail(m);
        break;
    case QUORUM_DO_RECEIVED:
        received(m, e);
        break;
    case QUORUM_DO_SYNCED:
        calls_answer(m, ASK_SYNC);
        break;
    default:
        break;
    }
}

/* ---- clients ---- */

static void forward(struct sim_member *m, struct packet *p)
{
    sim_carrier_do(m, &(struct quorum_input){.kind = QUORUM_IN_FORWARD, .packet = p});
}

static void forward_request(struct sim_member *m, int32_t op, uint64_t number)
{
    uint8_t value[VALUE_BYTES];
    struct strbuf b;
    struct packet p;

    toy_number_write(number, value);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    forwarded_request_write(&b, &(struct forwarded_request){.session_id = sim_member_sid(m),
                                                            .cxid = (int32_t)number,
                                                            .op = op,
                                                            .body = bytes_of(value, 8)});
    p = sim_carrier_packet_of(PACKET_REQUEST, -1, strbuf_bytes(&b));
    forward(m, &p);
    strbuf_fini(&b);
}

static void forward_revalidation(struct sim_member *m, uint64_t number)
{
    struct strbuf b;
    struct packet p;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    session_touch_write(&b, &(struct session_touch){(int64_t)number, SESSION_MS});
    p = sim_carrier_packet_of(PACKET_REVALIDATE, -1, strbuf_bytes(&b));
    forward(m, &p);
    strbuf_fini(&b);
}

static void ask_leader(struct sim_member *m, enum toy_ask ask, uint64_t number)
{
    uint8_t value[VALUE_BYTES];
    struct quorum_input in = {.kind = QUORUM_IN_SYNC};

    if (ask == ASK_REVALIDATE) {
        calls_answer(m, ASK_REVALIDATE);
        return;
    }
    if (ask == ASK_WRITE) {
        in = proposal_of(m, number, value);
    }
    sim_carrier_do(m, &in);
}

void toy_ask(struct sim_member *m, enum toy_ask ask)
{
    uint64_t number;

    if (!m->carrier.serves) {
        return;
    }
    number = ++m->cluster->judge.n_asked | (uint64_t)sim_member_sid(m) << 48;
    calls_put(m, ask, number);
    if (m->carrier.leads) {
        ask_leader(m, ask, number);
    } else if (ask == ASK_REVALIDATE) {
        forward_revalidation(m, number);
    } else {
        forward_request(m, ask == ASK_SYNC ? OP_OF_A_SYNC : OP_OF_A_WRITE, number);
    }
}

void toy_change_list(struct sim_member *m, uint32_t voters, uint32_t observers)
{
    const struct quorum *q = m->carrier.quorum;
    uint8_t value[VALUE_BYTES];
    struct quorum_config next;
    struct quorum_input in;
    uint64_t list;
    bool could;

    if (!m->runs || sim_member_is_paused(m) || !m->carrier.leads || quorum_is_changing(q)) {
        return;
    }
    list = sim_list_make(voters, observers, m->toy.next_zxid);
    sim_list_config(list, &next);
    could = quorum_could_commit(q, &next);
    quorum_config_fini(&next);
    if (could) {
        in = proposal_of(m, list, value);
        sim_carrier_do(m, &in);
    }
}

/* ---- the body ---- */

static void toy_start(struct sim_member *m)
{
    for (int ask = 0; ask < N_ASKS; ask++) {
        m->toy.calls[ask].last = &m->toy.calls[ask].first;
    }
}

static void toy_ignore(struct sim_member *m)
{
    (void)m;
}

static void toy_durable(struct sim_member *m, int64_t zxid)
{
    (void)m;
    (void)zxid;
}

static void toy_want_snapshot(struct sim_member *m, uint64_t link)
{
    const struct sim_carrier *t = &m->carrier;
    int64_t zxid = t->n_applied == 0 ? 0 : t->disk.history.records[t->n_applied - 1].zxid;

    sim_carrier_send_snapshot(m, link, zxid, t->n_applied, bytes_of("", 0));
}

static int64_t toy_next_us(const struct sim_member *m)
{
    (void)m;
    return INT64_MAX;
}

static bool toy_is_idle(const struct sim_member *m)
{
    for (int ask = 0; ask < N_ASKS; ask++) {
        if (m->toy.calls[ask].first != NULL) {
            return false;
        }
    }
    return true;
}

static uint64_t toy_value(struct cluster *c, struct bytes payload)
{
    (void)c;
    return toy_number_read(payload);
}

static struct bytes toy_payload(struct cluster *c, uint64_t value)
{
    static uint8_t bytes[VALUE_BYTES];

    (void)c;
    toy_number_write(value, bytes);
    return bytes_of(bytes, VALUE_BYTES);
}

static void toy_touches(void *member, struct strbuf *out)
{
    const struct sim_member *m = member;

    session_touch_write(out, &(struct session_touch){sim_member_sid(m), SESSION_MS});
}

const struct sim_body toy_body = {
    .start = toy_start,
    .end = calls_fail,
    .effect = toy_effect,
    .durable = toy_durable,
    .caught_up = toy_ignore,
    .replaced = toy_ignore,
    .want_snapshot = toy_want_snapshot,
    .next_us = toy_next_us,
    .wake = toy_ignore,
    .is_idle = toy_is_idle,
    .value = toy_value,
    .payload = toy_payload,
    .touches = toy_touches,
};
