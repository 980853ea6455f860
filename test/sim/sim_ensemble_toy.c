/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_toy.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "quorum/broken.h"
#include "quorum/trace.h"
#include "sim_ensemble.h"
#include "wire/ops.h"

enum { SESSION_MS = 4000 };

/* ---- steps ---- */

static void truncated(struct sim_member *m, int64_t zxid);

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
        toy_carry_out(m, &t->effects.items[i]);
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
    toy_number_write(number, value);
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
    p = toy_packet_of(PACKET_REVALIDATE, -1, strbuf_bytes(&b));
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
    case QUORUM_IN_LOG_SENT:
        return one_step(m, &(struct quorum_input){.kind = QUORUM_IN_LOG_SENT, .link = w->link});
    case QUORUM_IN_ANSWER:
        return !m->toy.leads || answer_revalidation(m, w->link, w->number);
    case QUORUM_IN_TRUNCATED:
        truncated(m, (int64_t)w->number);
        return m->runs;
    default:
        ASSERT(w->kind == QUORUM_IN_SNAPSHOT_LOADED);
        m->toy.n_applied = m->toy.disk.history.n;
        toy_hold(m, m->toy.held, false);
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
    toy_hold(m, t->held, false);
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
    toy_stream_end(&m->toy, link);
    step(m, &(struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = link});
}

void toy_dial_failed(struct sim_member *m, int64_t sid)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = sid});
}

void toy_snapshot_sent(struct sim_member *m, uint64_t link)
{
    const struct toy_stream *s = toy_stream_of(&m->toy, link);
    struct quorum_input in = {.kind = QUORUM_IN_SNAPSHOT_SENT, .link = link};

    if (s != NULL) {
        in.zxid = s->zxid;
        toy_stream_end(&m->toy, link);
        step(m, &in);
    }
}

static void snapshot_came(struct sim_member *m, uint64_t link, struct bytes bytes)
{
    struct toy *t = &m->toy;
    struct toy_history snapshot = toy_snapshot_read(bytes);
    bool pretended;

    t->loading = 0;
    if (snapshot.zxid != t->loading_zxid) {
        world_violated(m->world, "m%d loads a snapshot of another zxid", m->index + 1);
    }
    toy_hold(m, link, true);
    pretended = toy_disk_install(&t->disk, &snapshot);
    member_serve_disk(m);
    if (pretended) {
        t->n_applied = t->disk.history.n;
        toy_hold(m, link, false);
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
        toy_hold(m, t->held, false);
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

    toy_number_write(number, value);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    forwarded_request_write(&b, &(struct forwarded_request){.session_id = member_sid(m),
                                                            .cxid = (int32_t)number,
                                                            .op = op,
                                                            .body = bytes_of(value, 8)});
    p = toy_packet_of(PACKET_REQUEST, -1, strbuf_bytes(&b));
    forward(m, &p);
    strbuf_fini(&b);
}

static void forward_revalidation(struct sim_member *m, uint64_t number)
{
    struct strbuf b;
    struct packet p;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    session_touch_write(&b, &(struct session_touch){(int64_t)number, SESSION_MS});
    p = toy_packet_of(PACKET_REVALIDATE, -1, strbuf_bytes(&b));
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
        toy_calls_answer(m, ASK_REVALIDATE);
    }
}

void toy_ask(struct sim_member *m, enum toy_ask ask)
{
    uint64_t number;

    if (!m->toy.serves) {
        return;
    }
    number = ++m->world->judge.n_asked | (uint64_t)member_sid(m) << 48;
    toy_calls_put(m, ask, number);
    if (m->toy.leads) {
        ask_leader(m, ask, number);
    } else if (ask == ASK_REVALIDATE) {
        forward_revalidation(m, number);
    } else {
        forward_request(m, ask == ASK_SYNC ? OP_OF_A_SYNC : OP_OF_A_WRITE, number);
    }
}

static bool is_looking(const struct sim_member *m)
{
    return quorum_status(m->toy.quorum).role == MEMBER_LOOKING;
}

/* Who has left a role has all that is logged in its tree, committed or not. */
void toy_purge(struct sim_member *m)
{
    struct toy *t = &m->toy;
    size_t n = t->n_applied < t->disk.n_synced ? t->n_applied : t->disk.n_synced;

    if ((t->serves || is_looking(m)) && n > t->disk.n_base) {
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

    toy_calls_fail(m);
    while (t->streams != NULL) {
        toy_stream_end(t, t->streams->link);
    }
    if (t->quorum != NULL) {
        quorum_free(t->quorum);
        t->quorum = NULL;
    }
    t->serves = t->leads = t->is_stopping = false;
    t->loading = t->held = t->link = 0;
    t->n_wishes = 0;
}
