/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_toy.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "quorum/broken.h"
#include "quorum/trace.h"
#include "sim_ensemble.h"
#include "wire/ops.h"

enum { VALUE_BYTES = 8, OP_OF_A_WRITE = 1, OP_OF_A_SYNC = 9, SESSION_MS = 4000 };

/* ---- numbers as bytes ---- */

static void number_write(uint64_t number, uint8_t out[VALUE_BYTES])
{
    for (int i = 0; i < VALUE_BYTES; i++) {
        out[i] = (uint8_t)(number >> 8 * (VALUE_BYTES - 1 - i));
    }
}

static uint64_t number_read(struct bytes b)
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

    number_write(number, bytes);
    strbuf_append(b, bytes, sizeof(bytes));
}

static uint64_t take_number(struct bytes *b)
{
    uint64_t number = number_read(*b);

    *b = bytes_of(b->data + VALUE_BYTES, b->len - VALUE_BYTES);
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
static void answer(struct sim_member *m, enum toy_ask ask)
{
    struct toy_calls *calls = &m->toy.calls[ask];

    if (calls->first != NULL) {
        judge_answered(m, ask, calls->first);
        calls_take(calls);
    }
}

static void fail_calls(struct sim_member *m)
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
        answer(m, ASK_WRITE);
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

static struct toy_history snapshot_read(struct bytes b)
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

static void send_packet(struct sim_member *m, uint64_t link, const struct packet *p)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    packet_write(&b, p);
    mesh_send(&m->world->mesh, m->index, link, strbuf_bytes(&b), 0);
    strbuf_fini(&b);
}

static struct packet bare_packet(int32_t type, int64_t zxid, struct bytes data)
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
        number_write(r->value, value);
        p = bare_packet(PACKET_PROPOSAL, r->zxid, bytes_of(value, sizeof(value)));
        send_packet(m, link, &p);
        p = bare_packet(PACKET_COMMIT, r->zxid, BYTES_NULL);
        send_packet(m, link, &p);
    }
}

static void send_snapshot(struct sim_member *m, uint64_t link, int64_t zxid)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    snapshot_write(&m->toy, zxid, &b);
    member_sends_snapshot(m, link, strbuf_bytes(&b));
    strbuf_fini(&b);
}

/* ---- steps ---- */

static void wish(struct toy *t, enum quorum_input_kind kind, uint64_t link, uint64_t number)
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
        wish(t, QUORUM_IN_ANSWER, e->link, number_read(e->packet.data));
    } else if (e->packet.type == PACKET_REQUEST) {
        ASSERT(forwarded_request_read(e->packet.data, &q));
        if (q.op == OP_OF_A_SYNC) {
            wish(t, QUORUM_IN_SYNC, e->link, 0);
        } else {
            wish(t, QUORUM_IN_PROPOSE, e->link, number_read(q.body));
        }
    }
}

static void received(struct sim_member *m, const struct quorum_effect *e)
{
    if (m->toy.leads) {
        received_leading(&m->toy, e);
    } else if (e->packet.type == PACKET_SYNC) {
        answer(m, ASK_SYNC);
    } else if (e->packet.type == PACKET_REVALIDATE) {
        answer(m, ASK_REVALIDATE);
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

static void hold(struct sim_member *m, uint64_t link, bool held)
{
    m->toy.held = held ? link : 0;
    if (link != 0) {
        mesh_hold(&m->world->mesh, m->index, link, held);
    }
}

static void truncated(struct sim_member *m, int64_t zxid);

static void truncate_log(struct sim_member *m, int64_t zxid)
{
    struct toy *t = &m->toy;

    if (zxid < t->disk.base_zxid) {
        world_violated(m->world, "m%d is to cut off a part of its snapshot", m->index + 1);
    }
    hold(m, t->link, true);
    if (toy_disk_truncate(&t->disk, zxid)) {
        wish(t, QUORUM_IN_TRUNCATED, 0, (uint64_t)zxid);
    }
}

static void stop_serving(struct sim_member *m)
{
    struct toy *t = &m->toy;

    t->serves = t->leads = false;
    t->is_stopping = true;
    t->loading = 0;
    t->n_wishes = 0;
    fail_calls(m);
}

static void append(struct sim_member *m, const struct quorum_effect *e)
{
    struct toy_disk *d = &m->toy.disk;

    if (e->zxid <= d->history.zxid) {
        world_violated(m->world, "m%d appends 0x%llx behind 0x%llx", m->index + 1,
                       (unsigned long long)e->zxid, (unsigned long long)d->history.zxid);
    }
    if (!toy_disk_append(d, e->zxid, number_read(e->bytes))) {
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
        mesh_close(mesh, m->index, e->link);
        break;
    case QUORUM_DO_SEND:
        send_packet(m, e->link, &e->packet);
        break;
    case QUORUM_DO_SEND_LOG:
        send_log(m, e->link, e->from, e->zxid);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
        send_snapshot(m, e->link, e->zxid);
        break;
    default:
        ASSERT(false);
    }
}

static void carry_out(struct sim_member *m, const struct quorum_effect *e)
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
        answer(m, ASK_SYNC);
        break;
    case QUORUM_DO_LINK_GONE:
        break;
    default:
        carry_out_network(m, e);
    }
}

/* "link 7" is said as the member at its other end. */
static void print_line(struct sim_member *m, char direction, struct strbuf *text)
{
    const char *line = strbuf_cstr(text), *link = strstr(line, "link ");
    char *rest = NULL;
    unsigned long long number = link == NULL ? 0 : strtoull(link + 5, &rest, 10);
    double seconds = (double)m->world->now_us / 1e6;

    if (number == 0) {
        world_print(m->world, "%.6f m%d %c %s", seconds, m->index + 1, direction, line);
    } else {
        world_print(m->world, "%.6f m%d %c %.*sm%d%s", seconds, m->index + 1, direction,
                    (int)(link - line), line, mesh_peer(&m->world->mesh, number) + 1, rest);
    }
}

static void print_input(struct sim_member *m, const struct quorum_input *in)
{
    struct strbuf text;

    if (m->world->line != NULL) {
        strbuf_init(&text, STRBUF_NO_LIMIT);
        trace_input(&text, in);
        print_line(m, '<', &text);
        strbuf_fini(&text);
    }
}

static void print_effect(struct sim_member *m, const struct quorum_effect *e)
{
    struct strbuf text;

    if (m->world->line != NULL) {
        strbuf_init(&text, STRBUF_NO_LIMIT);
        trace_effect(&text, e);
        print_line(m, '>', &text);
        strbuf_fini(&text);
    }
}

/* A scenario wants it to end before this one. */
static bool is_crash(struct sim_member *m, const struct quorum_effect *e)
{
    struct strbuf text;
    bool found;

    if (m->crash_before == NULL) {
        return false;
    }
    strbuf_init(&text, STRBUF_NO_LIMIT);
    trace_effect(&text, e);
    found = strstr(strbuf_cstr(&text), m->crash_before) != NULL;
    strbuf_fini(&text);
    m->crash_before = found ? NULL : m->crash_before;
    return found;
}

/* False: it has crashed, perhaps in the middle. */
static bool one_step(struct sim_member *m, const struct quorum_input *in)
{
    struct toy *t = &m->toy;
    uint64_t life = m->life;

    m->world->n_steps++;
    print_input(m, in);
    judge_input(m, in);
    quorum_step(t->quorum, member_now_us(m), in, &t->effects);
    for (size_t i = 0; i < t->effects.count; i++) {
        if (is_crash(m, &t->effects.items[i])) {
            m->effects_to_crash = 1;
        }
        if (!member_may_do(m)) {
            return false;
        }
        print_effect(m, &t->effects.items[i]);
        judge_effect(m, &t->effects.items[i]);
        carry_out(m, &t->effects.items[i]);
        if (!m->runs || m->life != life) {
            return false;
        }
    }
    judge_step(m);
    return true;
}

static int64_t last_counter(const struct sim_member *m)
{
    int64_t limit = m->world->plan->counter_limit;

    return limit == 0 ? INT64_C(0xfffffffe) : limit;
}

/* The last zxid of an epoch is not given out: a new leader begins a new epoch. */
static bool propose(struct sim_member *m, uint64_t number)
{
    struct toy *t = &m->toy;
    uint8_t value[VALUE_BYTES];

    if (zxid_counter(t->next_zxid) > last_counter(m)) {
        return one_step(m, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
    }
    number_write(number, value);
    return one_step(m, &(struct quorum_input){.kind = QUORUM_IN_PROPOSE,
                                              .zxid = t->next_zxid++,
                                              .bytes = bytes_of(value, sizeof(value))});
}

static bool answer_revalidation(struct sim_member *m, uint64_t link, uint64_t session)
{
    struct strbuf b;
    struct packet p;
    bool alive;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    revalidation_write(&b, &(struct revalidation){(int64_t)session, true});
    p = bare_packet(PACKET_REVALIDATE, -1, strbuf_bytes(&b));
    alive =
        one_step(m, &(struct quorum_input){.kind = QUORUM_IN_ANSWER, .link = link, .packet = &p});
    strbuf_fini(&b);
    return alive;
}

static bool grant(struct sim_member *m, const struct toy_wish *w)
{
    switch (w->kind) {
    case QUORUM_IN_PROPOSE:
        return !m->toy.leads || propose(m, w->number);
    case QUORUM_IN_SYNC:
        return !m->toy.leads ||
               one_step(m, &(struct quorum_input){.kind = QUORUM_IN_SYNC, .link = w->link});
    case QUORUM_IN_ANSWER:
        return !m->toy.leads || answer_revalidation(m, w->link, w->number);
    case QUORUM_IN_TRUNCATED:
        truncated(m, (int64_t)w->number);
        return m->runs;
    default:
        ASSERT(w->kind == QUORUM_IN_SNAPSHOT_LOADED);
        m->toy.n_applied = m->toy.disk.history.n;
        hold(m, m->toy.held, false);
        return one_step(m, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_LOADED,
                                                  .zxid = (int64_t)w->number});
    }
}

/* Without P8 what is to be synced is not waited for. */
static bool is_flushed(const struct toy_disk *d)
{
    const struct toy_job *first = d->lanes[LANE_LOG].first;

    if (BROKEN(P8)) {
        return d->lanes[LANE_EPOCH].first == NULL && (first == NULL || first->kind == JOB_SYNC);
    }
    return toy_disk_is_idle(d);
}

/* The log is flushed, and the tree has all of it. */
static bool stop_is_done(struct sim_member *m)
{
    struct toy *t = &m->toy;
    bool done = is_flushed(&t->disk);

    if (!t->is_stopping || !done) {
        return true;
    }
    t->is_stopping = false;
    t->n_applied = t->disk.history.n;
    return one_step(
        m, &(struct quorum_input){.kind = QUORUM_IN_STOPPED, .zxid = t->disk.history.zxid});
}

static void wake_in_time(struct sim_member *m)
{
    int64_t next = quorum_next_us(m->toy.quorum);
    int64_t tick = member_now_us(m) + m->world->plan->tick_ms * 500;

    member_wake_at(m, next < tick ? next : tick);
}

static void after_step(struct sim_member *m)
{
    struct toy *t = &m->toy;

    for (size_t i = 0; i < t->n_wishes; i++) {
        struct toy_wish w = t->wishes[i];

        if (!grant(m, &w)) {
            return;
        }
    }
    t->n_wishes = 0;
    if (stop_is_done(m)) {
        member_serve_disk(m);
        wake_in_time(m);
    }
}

/* One input, and whatever follows from it at once. */
static void step(struct sim_member *m, const struct quorum_input *in)
{
    if (one_step(m, in)) {
        after_step(m);
    }
}

static void truncated(struct sim_member *m, int64_t zxid)
{
    struct toy *t = &m->toy;

    t->n_applied = t->disk.history.n;
    hold(m, t->held, false);
    one_step(m, &(struct quorum_input){.kind = QUORUM_IN_TRUNCATED, .zxid = zxid});
}

/* ---- inputs ---- */

void toy_wake(struct sim_member *m)
{
    uint64_t link = m->toy.loading;

    if (link != 0 && member_now_us(m) >= m->toy.loading_until_us) {
        mesh_close(&m->world->mesh, m->index, link);
        toy_link_down(m, link);
        return;
    }
    step(m, &(struct quorum_input){.kind = QUORUM_IN_TICK});
}

void toy_notification(struct sim_member *m, int64_t from, struct bytes message)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_NOTIFICATION, .sid = from, .bytes = message});
}

void toy_refused(struct sim_member *m, int64_t sid)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_REFUSED, .sid = sid});
}

void toy_link_up(struct sim_member *m, uint64_t link, int64_t sid, bool dialled)
{
    if (dialled) {
        m->toy.link = link;
    }
    judge_link_up(m, link, sid, dialled);
    step(m, &(struct quorum_input){
                .kind = QUORUM_IN_LINK_UP, .link = link, .sid = dialled ? sid : SID_NOBODY});
}

void toy_link_down(struct sim_member *m, uint64_t link)
{
    if (m->toy.loading == link) {
        m->toy.loading = 0;
    }
    step(m, &(struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = link});
}

void toy_dial_failed(struct sim_member *m, int64_t sid)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = sid});
}

void toy_snapshot_sent(struct sim_member *m, uint64_t link)
{
    if (mesh_is_open(&m->world->mesh, m->index, link)) {
        step(m, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_SENT, .link = link});
    }
}

static void snapshot_came(struct sim_member *m, uint64_t link, struct bytes bytes)
{
    struct toy *t = &m->toy;
    struct toy_history snapshot = snapshot_read(bytes);
    bool pretended;

    t->loading = 0;
    if (snapshot.zxid != t->loading_zxid) {
        world_violated(m->world, "m%d loads a snapshot of another zxid", m->index + 1);
    }
    hold(m, link, true);
    pretended = toy_disk_install(&t->disk, &snapshot);
    member_serve_disk(m);
    if (pretended) {
        t->n_applied = t->disk.history.n;
        hold(m, link, false);
        step(m, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_LOADED, .zxid = t->loading_zxid});
    }
}

void toy_packet(struct sim_member *m, uint64_t link, struct bytes bytes)
{
    struct packet p;
    size_t used;

    if (m->toy.loading == link) {
        snapshot_came(m, link, bytes);
        return;
    }
    ASSERT(packet_read(bytes, 1 << 20, &p, &used) == STREAM_WHOLE && used == bytes.len);
    step(m, &(struct quorum_input){.kind = QUORUM_IN_PACKET, .link = link, .packet = &p});
}

static bool was_pretended(const struct toy_job *j)
{
    return (j->kind == JOB_TRUNCATE && BROKEN(P6)) || (j->kind == JOB_INSTALL && BROKEN(P7));
}

static void job_answered(struct sim_member *m, const struct toy_job *j)
{
    struct toy *t = &m->toy;
    const struct toy_disk *d = &t->disk;
    struct quorum_input in = {.zxid = j->number};

    switch (j->kind) {
    case JOB_SYNC:
        in.kind = QUORUM_IN_LOG_DURABLE;
        break;
    case JOB_EPOCH:
        in.kind = QUORUM_IN_EPOCH_SAVED;
        in.which = j->which == TOY_ACCEPTED ? EPOCH_ACCEPTED : EPOCH_CURRENT;
        in.epoch = j->number;
        break;
    case JOB_TRUNCATE:
    case JOB_INSTALL:
        in.kind = j->kind == JOB_TRUNCATE ? QUORUM_IN_TRUNCATED : QUORUM_IN_SNAPSHOT_LOADED;
        t->n_applied = d->history.n;
        hold(m, t->held, false);
        break;
    }
    step(m, &in);
}

void toy_job_done(struct sim_member *m, struct toy_job *j)
{
    if (was_pretended(j)) {
        step(m, &(struct quorum_input){.kind = QUORUM_IN_TICK});
    } else {
        job_answered(m, j);
    }
    toy_job_free(j);
}

/* ---- clients ---- */

static void forward(struct sim_member *m, struct packet *p)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_FORWARD, .packet = p});
}

static void forward_request(struct sim_member *m, int32_t op, uint64_t number)
{
    uint8_t value[VALUE_BYTES];
    struct strbuf b;
    struct packet p;

    number_write(number, value);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    forwarded_request_write(&b, &(struct forwarded_request){.session_id = member_sid(m),
                                                            .cxid = (int32_t)number,
                                                            .op = op,
                                                            .body = bytes_of(value, 8)});
    p = bare_packet(PACKET_REQUEST, -1, strbuf_bytes(&b));
    forward(m, &p);
    strbuf_fini(&b);
}

static void forward_revalidation(struct sim_member *m, uint64_t number)
{
    struct strbuf b;
    struct packet p;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    session_touch_write(&b, &(struct session_touch){(int64_t)number, SESSION_MS});
    p = bare_packet(PACKET_REVALIDATE, -1, strbuf_bytes(&b));
    forward(m, &p);
    strbuf_fini(&b);
}

static void ask_leader(struct sim_member *m, enum toy_ask ask, uint64_t number)
{
    if (ask == ASK_WRITE) {
        if (propose(m, number)) {
            after_step(m);
        }
    } else if (ask == ASK_SYNC) {
        step(m, &(struct quorum_input){.kind = QUORUM_IN_SYNC});
    } else {
        answer(m, ASK_REVALIDATE);
    }
}

void toy_ask(struct sim_member *m, enum toy_ask ask)
{
    uint64_t number;

    if (!m->toy.serves) {
        return;
    }
    number = ++m->world->judge.n_asked | (uint64_t)member_sid(m) << 48;
    calls_put(m, ask, number);
    if (m->toy.leads) {
        ask_leader(m, ask, number);
    } else if (ask == ASK_REVALIDATE) {
        forward_revalidation(m, number);
    } else {
        forward_request(m, ask == ASK_SYNC ? OP_OF_A_SYNC : OP_OF_A_WRITE, number);
    }
}

/* Only what is certain to be committed goes into the snapshot here. */
void toy_purge(struct sim_member *m)
{
    struct toy *t = &m->toy;
    size_t n = t->n_applied < t->disk.n_synced ? t->n_applied : t->disk.n_synced;

    if (t->serves && n > t->disk.n_base) {
        int64_t zxid = t->disk.history.records[n - 1].zxid;

        toy_disk_purge(&t->disk, zxid);
        step(m, &(struct quorum_input){.kind = QUORUM_IN_LOG_TRIMMED, .zxid = zxid});
    }
}

void toy_resign(struct sim_member *m)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
}

/* ---- life ---- */

static void touches(void *host, struct strbuf *out)
{
    const struct sim_member *m = host;

    session_touch_write(out, &(struct session_touch){member_sid(m), SESSION_MS});
}

void toy_init(struct sim_member *m)
{
    struct toy *t = &m->toy;

    toy_disk_init(&t->disk);
    quorum_effects_init(&t->effects);
    for (int ask = 0; ask < N_ASKS; ask++) {
        t->calls[ask].last = &t->calls[ask].first;
    }
}

void toy_fini(struct sim_member *m)
{
    toy_crash(m);
    toy_disk_fini(&m->toy.disk);
    quorum_effects_fini(&m->toy.effects);
    free(m->toy.wishes);
}

static struct quorum_options options_of(struct sim_member *m)
{
    const struct plan *p = m->world->plan;

    return (struct quorum_options){
        .sid = member_sid(m),
        .observer = m->index >= p->n_voters,
        .config = &m->world->config,
        .tick_ms = p->tick_ms,
        .init_limit = p->init_limit,
        .sync_limit = p->sync_limit,
        .recent_bytes = p->recent_bytes,
        .always_snapshot = p->always_snapshot,
        .seed = p->seed + m->life,
        .touches = touches,
        .host = m,
    };
}

static void history_of(const struct toy_disk *d, struct history *out)
{
    history_init(out, d->base_zxid);
    for (size_t i = d->n_base; i < d->history.n; i++) {
        if (!history_may_follow(out, d->history.records[i].zxid)) {
            break;
        }
        history_append(out, d->history.records[i].zxid);
    }
}

void toy_start(struct sim_member *m)
{
    struct toy *t = &m->toy;
    struct quorum_options options = options_of(m);
    struct history history;

    t->n_applied = t->disk.history.n;
    t->quorum = quorum_new(&options);
    history_of(&t->disk, &history);
    step(m, &(struct quorum_input){.kind = QUORUM_IN_START,
                                   .zxid = t->disk.history.zxid,
                                   .accepted_epoch = t->disk.epochs[TOY_ACCEPTED],
                                   .current_epoch = t->disk.epochs[TOY_CURRENT],
                                   .history = &history});
    history_fini(&history);
}

void toy_crash(struct sim_member *m)
{
    struct toy *t = &m->toy;

    fail_calls(m);
    if (t->quorum != NULL) {
        quorum_free(t->quorum);
        t->quorum = NULL;
    }
    t->serves = t->leads = t->is_stopping = false;
    t->loading = t->held = t->link = 0;
    t->n_wishes = 0;
}
