/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_carrier.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/memory.h"
#include "quorum/trace.h"
#include "sim_ensemble.h"
#include "sim_ensemble_list.h"

enum { TRY_PORT_US = 1000000 };

/* An input that came while effects were carried out. */
struct kept_input {
    struct quorum_input in;
    struct packet packet;
    struct strbuf bytes;
};

/* ---- steps ---- */

/* "link 7" is said as the member at its other end. */
static void print_line(struct sim_member *m, char direction, struct strbuf *text)
{
    const char *line = strbuf_cstr(text), *link = strstr(line, "link ");
    char *rest = NULL;
    unsigned long long number = link == NULL ? 0 : strtoull(link + 5, &rest, 10);
    double seconds = (double)m->cluster->now_us / 1e6;

    if (number == 0) {
        cluster_print(m->cluster, "%.6f m%d %c %s", seconds, m->index + 1, direction, line);
    } else {
        cluster_print(m->cluster, "%.6f m%d %c %.*sm%d%s", seconds, m->index + 1, direction,
                      (int)(link - line), line, mesh_peer(&m->cluster->mesh, number) + 1, rest);
    }
}

static void print_input(struct sim_member *m, const struct quorum_input *in)
{
    struct strbuf text;

    if (m->cluster->line != NULL) {
        strbuf_init(&text, STRBUF_NO_LIMIT);
        trace_input(&text, in);
        print_line(m, '<', &text);
        strbuf_fini(&text);
    }
}

static void print_effect(struct sim_member *m, const struct quorum_effect *e)
{
    struct strbuf text;

    if (m->cluster->line != NULL) {
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

static bool carry_out_all(struct sim_member *m)
{
    struct sim_carrier *t = &m->carrier;
    uint64_t life = m->life;

    for (size_t i = 0; i < t->effects.count; i++) {
        if (is_crash(m, &t->effects.items[i])) {
            m->effects_to_crash = 1;
        }
        if (!sim_member_may_do(m)) {
            return false;
        }
        print_effect(m, &t->effects.items[i]);
        judge_effect(m, &t->effects.items[i]);
        sim_carrier_carry_out(m, &t->effects.items[i]);
        if (!m->runs || m->life != life) {
            return false;
        }
    }
    return true;
}

bool sim_carrier_step(struct sim_member *m, const struct quorum_input *in)
{
    struct sim_carrier *t = &m->carrier;
    bool alive;

    ASSERT(!t->is_stepping);
    m->cluster->n_steps++;
    print_input(m, in);
    judge_input(m, in);
    t->is_stepping = true;
    quorum_step(t->quorum, sim_member_now_us(m), in, &t->effects);
    alive = carry_out_all(m);
    t->is_stepping = false;
    if (alive) {
        judge_step(m);
    }
    return alive;
}

/* ---- wishes ---- */

void sim_carrier_wish_for(struct sim_member *m, struct sim_wish wish)
{
    struct sim_carrier *t = &m->carrier;

    if (t->n_wishes == t->wishes_capacity) {
        t->wishes_capacity = t->wishes_capacity == 0 ? 16 : 2 * t->wishes_capacity;
        t->wishes = must_realloc(t->wishes, t->wishes_capacity * sizeof(t->wishes[0]));
    }
    t->wishes[t->n_wishes++] = wish;
}

static void kept_free(struct kept_input *k)
{
    if (k != NULL) {
        strbuf_fini(&k->bytes);
        free(k);
    }
}

static bool grant_kept(struct sim_member *m, const struct sim_wish *w)
{
    struct kept_input *k = w->kept;
    struct quorum_input in = k->in;
    size_t used;

    if (in.packet != NULL) {
        ASSERT(packet_read(strbuf_bytes(&k->bytes), 1 << 24, &k->packet, &used) == STREAM_WHOLE);
        in.packet = &k->packet;
    } else {
        in.bytes = strbuf_bytes(&k->bytes);
    }
    return sim_carrier_step(m, &in);
}

/* Its bytes are copied: they are lent. */
static void keep(struct sim_member *m, const struct quorum_input *in)
{
    struct kept_input *k = must_zalloc(sizeof(*k));

    k->in = *in;
    strbuf_init(&k->bytes, STRBUF_NO_LIMIT);
    if (in->packet != NULL) {
        packet_write(&k->bytes, in->packet);
    } else {
        strbuf_append_bytes(&k->bytes, in->bytes);
    }
    sim_carrier_wish_for(m, (struct sim_wish){.grant = grant_kept, .kept = k});
}

static void forget_wishes(struct sim_carrier *t)
{
    for (size_t i = 0; i < t->n_wishes; i++) {
        kept_free(t->wishes[i].kept);
    }
    t->n_wishes = 0;
}

/* The quorum hears of it next, before anything else happens. */
static void history_is_replaced(struct sim_member *m)
{
    bool was_settling = m->carrier.is_settling;

    m->carrier.n_applied = m->carrier.disk.history.n;
    m->carrier.is_settling = true;
    m->cluster->body->replaced(m);
    m->carrier.is_settling = was_settling;
}

bool sim_carrier_loaded(struct sim_member *m, const struct sim_wish *w)
{
    history_is_replaced(m);
    sim_carrier_hold(m, m->carrier.held, false);
    return sim_carrier_step(
        m, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_LOADED, .zxid = (int64_t)w->number});
}

bool sim_carrier_truncated(struct sim_member *m, const struct sim_wish *w)
{
    history_is_replaced(m);
    sim_carrier_hold(m, m->carrier.held, false);
    return sim_carrier_step(
        m, &(struct quorum_input){.kind = QUORUM_IN_TRUNCATED, .zxid = (int64_t)w->number});
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
    struct sim_carrier *t = &m->carrier;
    bool done = is_flushed(&t->disk);

    if (!t->is_stopping || !done) {
        return true;
    }
    t->is_stopping = false;
    t->n_applied = t->disk.history.n;
    m->cluster->body->caught_up(m);
    return sim_carrier_step(
        m, &(struct quorum_input){.kind = QUORUM_IN_STOPPED, .zxid = t->disk.history.zxid});
}

static void wake_in_time(struct sim_member *m)
{
    int64_t next = quorum_next_us(m->carrier.quorum);
    int64_t tick = sim_member_now_us(m) + m->cluster->plan->tick_ms * 500;
    int64_t body = m->cluster->body->next_us(m);

    next = next < tick ? next : tick;
    next = next < m->carrier.try_port_us ? next : m->carrier.try_port_us;
    sim_member_wake_at(m, next < body ? next : body);
}

static void grant_wishes_and_rest(struct sim_member *m)
{
    struct sim_carrier *t = &m->carrier;

    for (size_t i = 0; i < t->n_wishes; i++) {
        struct sim_wish w = t->wishes[i];
        bool alive;

        t->wishes[i].kept = NULL;
        alive = w.grant(m, &w);
        kept_free(w.kept);
        if (!alive) {
            return;
        }
    }
    t->n_wishes = 0;
    if (stop_is_done(m)) {
        sim_member_serve_disk(m);
        wake_in_time(m);
    }
}

/* Whatever a step has left; the body may take steps of its own meanwhile. */
static void after_step(struct sim_member *m)
{
    m->carrier.is_settling = true;
    grant_wishes_and_rest(m);
    m->carrier.is_settling = false;
}

static void step(struct sim_member *m, const struct quorum_input *in)
{
    if (sim_carrier_step(m, in)) {
        after_step(m);
    }
}

void sim_carrier_do(struct sim_member *m, const struct quorum_input *in)
{
    if (m->carrier.is_stepping || m->carrier.n_wishes > 0) {
        keep(m, in);
    } else if (m->carrier.body_depth > 0) {
        sim_carrier_step(m, in); /* sim_carrier_settle() follows */
    } else {
        step(m, in);
    }
}

void sim_carrier_settle(struct sim_member *m)
{
    if (!m->carrier.is_stepping && !m->carrier.is_settling) {
        after_step(m);
    }
}

/* ---- inputs ---- */

/* Whether it has its quorum port; every second, until it does. */
static bool try_port(struct sim_member *m)
{
    bool held = mesh_hold_port(&m->cluster->mesh, m->index);

    m->carrier.try_port_us = held ? INT64_MAX : sim_member_now_us(m) + TRY_PORT_US;
    return held;
}

void sim_carrier_wake(struct sim_member *m)
{
    uint64_t link = m->carrier.loading;

    if (link != 0 && sim_member_now_us(m) >= m->carrier.loading_until_us) {
        mesh_close(&m->cluster->mesh, m->index, link);
        sim_carrier_link_down(m, link);
        return;
    }
    m->cluster->body->wake(m);
    if (m->runs && sim_member_now_us(m) >= m->carrier.try_port_us && try_port(m)) {
        step(m, &(struct quorum_input){.kind = QUORUM_IN_HEARS});
    }
    if (m->runs) {
        step(m, &(struct quorum_input){.kind = QUORUM_IN_TICK});
    }
}

void sim_carrier_notification(struct sim_member *m, int64_t from, struct bytes message)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_NOTIFICATION, .sid = from, .bytes = message});
}

void sim_carrier_refused(struct sim_member *m, int64_t sid)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_REFUSED, .sid = sid});
}

void sim_carrier_link_up(struct sim_member *m, uint64_t link, int64_t sid, bool dialled)
{
    if (dialled) {
        m->carrier.link = link;
    }
    judge_link_up(m, link, sid, dialled);
    step(m, &(struct quorum_input){
                .kind = QUORUM_IN_LINK_UP, .link = link, .sid = dialled ? sid : SID_NOBODY});
}

void sim_carrier_link_down(struct sim_member *m, uint64_t link)
{
    if (m->carrier.loading == link) {
        m->carrier.loading = 0;
    }
    sim_carrier_stream_end(&m->carrier, link);
    step(m, &(struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = link});
}

void sim_carrier_dial_failed(struct sim_member *m, int64_t sid)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = sid});
}

void sim_carrier_snapshot_sent(struct sim_member *m, uint64_t link)
{
    const struct sim_stream *s = sim_carrier_stream_of(&m->carrier, link);
    struct quorum_input in = {.kind = QUORUM_IN_SNAPSHOT_SENT, .link = link};

    if (s != NULL) {
        in.zxid = s->zxid;
        sim_carrier_stream_end(&m->carrier, link);
        step(m, &in);
    }
}

static void snapshot_came(struct sim_member *m, uint64_t link, struct bytes bytes)
{
    struct sim_carrier *t = &m->carrier;
    struct toy_history snapshot = sim_carrier_snapshot_read(&bytes);
    struct sim_wish loaded = {.number = (uint64_t)t->loading_zxid};

    t->loading = 0;
    if (snapshot.zxid != t->loading_zxid) {
        cluster_violated(m->cluster, "m%d loads a snapshot of another zxid", m->index + 1);
    }
    strbuf_clear(&t->loaded);
    strbuf_append_bytes(&t->loaded, bytes);
    sim_carrier_hold(m, link, true);
    if (toy_disk_install(&t->disk, &snapshot) && sim_carrier_loaded(m, &loaded)) {
        after_step(m);
    } else if (m->runs) {
        sim_member_serve_disk(m);
    }
}

void sim_carrier_packet(struct sim_member *m, uint64_t link, struct bytes bytes)
{
    struct packet p;
    size_t used;

    if (m->carrier.loading == link) {
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
    struct sim_wish w = {.number = (uint64_t)j->number};

    switch (j->kind) {
    case JOB_SYNC:
        m->carrier.is_settling = true; /* the quorum hears of it before anything else happens */
        m->cluster->body->durable(m, j->number);
        m->carrier.is_settling = false;
        if (m->runs) {
            step(m, &(struct quorum_input){.kind = QUORUM_IN_LOG_DURABLE, .zxid = j->number});
        }
        break;
    case JOB_EPOCH:
        step(m, &(struct quorum_input){.kind = QUORUM_IN_EPOCH_SAVED,
                                       .which = j->which == TOY_ACCEPTED ? EPOCH_ACCEPTED
                                                                         : EPOCH_CURRENT,
                                       .epoch = j->number});
        break;
    case JOB_NEXT_LIST:
        step(m, &(struct quorum_input){.kind = QUORUM_IN_CONFIG_SAVED});
        break;
    case JOB_LIST:
        after_step(m);
        break;
    case JOB_TRUNCATE:
    case JOB_INSTALL:
        if ((j->kind == JOB_TRUNCATE ? sim_carrier_truncated : sim_carrier_loaded)(m, &w)) {
            after_step(m);
        }
        break;
    }
}

void sim_carrier_job_done(struct sim_member *m, struct toy_job *j)
{
    if (was_pretended(j)) {
        step(m, &(struct quorum_input){.kind = QUORUM_IN_TICK});
    } else {
        job_answered(m, j);
    }
    toy_job_free(j);
}

static bool is_looking(const struct sim_member *m)
{
    return quorum_status(m->carrier.quorum).role == MEMBER_LOOKING;
}

/* Who has left a role has all that is logged in its tree, committed or not. */
void sim_carrier_purge(struct sim_member *m)
{
    struct sim_carrier *t = &m->carrier;
    size_t n = t->n_applied < t->disk.n_synced ? t->n_applied : t->disk.n_synced;

    if ((t->serves || is_looking(m)) && n > t->disk.n_base) {
        int64_t zxid = t->disk.history.records[n - 1].zxid;

        toy_disk_purge(&t->disk, zxid);
        step(m, &(struct quorum_input){.kind = QUORUM_IN_LOG_TRIMMED, .zxid = zxid});
    }
}

void sim_carrier_resign(struct sim_member *m)
{
    step(m, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
}

/* ---- life ---- */

void sim_carrier_init(struct sim_member *m)
{
    toy_disk_init(&m->carrier.disk);
    quorum_effects_init(&m->carrier.effects);
    strbuf_init(&m->carrier.loaded, STRBUF_NO_LIMIT);
}

void sim_carrier_fini(struct sim_member *m)
{
    sim_carrier_crash(m);
    toy_disk_fini(&m->carrier.disk);
    quorum_effects_fini(&m->carrier.effects);
    strbuf_fini(&m->carrier.loaded);
    free(m->carrier.wishes);
}

static struct quorum_options options_of(struct sim_member *m)
{
    const struct trouble_plan *p = m->cluster->plan;

    return (struct quorum_options){
        .sid = sim_member_sid(m),
        .observer = m->index >= p->n_voters && !p->lists_change,
        .config_of = p->lists_change ? sim_list_text : NULL,
        .tick_ms = p->tick_ms,
        .init_limit = p->init_limit,
        .sync_limit = p->sync_limit,
        .last_counter = p->counter_limit,
        .recent_bytes = p->recent_bytes,
        .always_snapshot = p->always_snapshot,
        .seed = p->seed + m->life,
        .touches = m->cluster->body->touches,
        .host = m,
    };
}

static void history_of(const struct toy_disk *d, struct history *out)
{
    history_begin(out, d->base_zxid);
    for (size_t i = d->n_base; i < d->history.n; i++) {
        if (!history_may_follow(out, d->history.records[i].zxid)) {
            break;
        }
        history_append(out, d->history.records[i].zxid);
    }
}

/* In its file, or in the tree. */
static uint64_t newest_list(const struct sim_member *m, bool *is_saved)
{
    const struct toy_disk *d = &m->carrier.disk;
    uint64_t newest = d->next_list;

    *is_saved = true;
    for (size_t i = 0; i < d->history.n && m->cluster->plan->lists_change; i++) {
        uint64_t value = d->history.records[i].value;

        if (sim_list_is(value) && sim_list_version(value) > sim_list_version(newest)) {
            newest = value;
            *is_saved = false;
        }
    }
    return newest;
}

void sim_carrier_start(struct sim_member *m)
{
    struct sim_carrier *t = &m->carrier;
    struct quorum_options options = options_of(m);
    struct quorum_config active, next;
    uint64_t next_list;
    bool is_saved;
    struct history history;

    t->n_applied = t->disk.history.n;
    m->cluster->body->start(m);
    sim_list_config(t->disk.list, &active);
    next_list = newest_list(m, &is_saved);
    sim_list_config(next_list, &next);
    options.config = t->disk.list != 0 ? &active : &m->cluster->config;
    t->quorum = quorum_new(&options);
    history_of(&t->disk, &history);
    step(m, &(struct quorum_input){.kind = QUORUM_IN_START,
                                   .zxid = t->disk.history.zxid,
                                   .accepted_epoch = t->disk.epochs[TOY_ACCEPTED],
                                   .current_epoch = t->disk.epochs[TOY_CURRENT],
                                   .history = &history,
                                   .next = next_list != 0 ? &next : NULL,
                                   .next_is_saved = is_saved,
                                   .deaf = !try_port(m),
                                   .diverged = t->disk.diverged && !t->disk.damaged,
                                   .damaged = t->disk.damaged});
    history_fini(&history);
    quorum_config_fini(&active);
    quorum_config_fini(&next);
}

void sim_carrier_crash(struct sim_member *m)
{
    struct sim_carrier *t = &m->carrier;

    if (t->quorum == NULL) {
        return;
    }
    while (t->streams != NULL) {
        sim_carrier_stream_end(t, t->streams->link);
    }
    quorum_free(t->quorum);
    t->quorum = NULL;
    t->serves = t->leads = t->is_stopping = t->is_stepping = t->is_settling = false;
    t->loading = t->held = t->link = 0;
    forget_wishes(t);
    m->cluster->body->end(m);
}
