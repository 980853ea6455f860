/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sim_ensemble_list.h"

enum { MILLION = 1000000, SLOW_DISK_FACTOR = 60, LOOK_AGAIN_US = 100000 };

/* ---- saying so ---- */

void cluster_print(struct cluster *w, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (w->line == NULL) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    w->line(w->line_arg, text);
}

_Noreturn void cluster_violated(struct cluster *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(w->why, sizeof(w->why), format, args);
    va_end(args);
    cluster_print(w, "violated: %s", w->why);
    if (w->failed != NULL) {
        w->failed(w);
    }
    longjmp(*w->end, 1);
}

/* ---- members ---- */

struct sim_member *cluster_member(struct cluster *w, int64_t sid)
{
    ASSERT(sid > 0 && sid <= w->n_members);
    return &w->members[sid - 1];
}

int64_t sim_member_sid(const struct sim_member *m)
{
    return m->index + 1;
}

bool sim_member_is_paused(const struct sim_member *m)
{
    return m->paused_until_us > m->cluster->now_us;
}

int64_t sim_member_now_us(const struct sim_member *m)
{
    int64_t now = m->cluster->now_us;

    return now + now * m->clock_per_million / MILLION + m->clock_ahead_us;
}

/* When the cluster's clock shows it; roughly, and never before. */
static int64_t cluster_time(const struct sim_member *m, int64_t its_us)
{
    int64_t wait = its_us - sim_member_now_us(m);

    return m->cluster->now_us + (wait <= 0 ? 0 : wait + wait / 64 + 1);
}

static void sim_member_woken(void *cluster, const struct sim_event *e);
static void job_ended(void *cluster, const struct sim_event *e);

static void put(struct cluster *w, int64_t due_us, void (*happen)(void *, const struct sim_event *),
                void *subject, uint64_t detail)
{
    sim_queue_put(&w->events,
                  (struct sim_event){
                      .due_us = due_us, .happen = happen, .subject = subject, .detail = detail});
}

void sim_member_wake_at(struct sim_member *m, int64_t its_us)
{
    struct cluster *w = m->cluster;
    int64_t due = cluster_time(m, its_us);

    if (m->woken_at_us <= w->now_us || due < m->woken_at_us) {
        m->woken_at_us = due;
        put(w, due, sim_member_woken, m, m->life);
    }
}

static void sim_member_woken(void *cluster, const struct sim_event *e)
{
    struct sim_member *m = e->subject;
    struct cluster *w = cluster;

    if (e->detail != m->life || !m->runs || e->due_us != m->woken_at_us) {
        return;
    }
    if (sim_member_is_paused(m)) {
        m->woken_at_us = m->paused_until_us;
        put(w, m->woken_at_us, sim_member_woken, m, m->life);
        return;
    }
    sim_carrier_wake(m);
}

static int64_t disk_time(struct sim_member *m)
{
    struct cluster *w = m->cluster;
    int64_t jitter = (int64_t)prng_below(&w->random, (uint64_t)w->plan->disk_jitter_us);
    int64_t time = w->plan->disk_us + jitter;

    return m->carrier.disk.slow_until_us > w->now_us ? time * SLOW_DISK_FACTOR : time;
}

void sim_member_serve_disk(struct sim_member *m)
{
    for (int lane = 0; lane < N_LANES; lane++) {
        if (toy_disk_begin(&m->carrier.disk, (enum toy_lane)lane)) {
            put(m->cluster, m->cluster->now_us + disk_time(m), job_ended, m,
                m->life << 1 | (uint64_t)lane);
        }
    }
}

static bool sync_fails(struct toy_disk *d, enum toy_lane lane)
{
    return lane == LANE_LOG && d->sync_fails && d->lanes[lane].first->kind == JOB_SYNC;
}

static void job_ended(void *cluster, const struct sim_event *e)
{
    struct sim_member *m = e->subject;
    struct cluster *w = cluster;
    enum toy_lane lane = e->detail & 1 ? LANE_EPOCH : LANE_LOG;

    if (e->detail >> 1 != m->life || !m->runs) {
        return;
    }
    if (sim_member_is_paused(m)) {
        put(w, m->paused_until_us, job_ended, m, e->detail);
    } else if (sync_fails(&m->carrier.disk, lane)) {
        cluster_print(w, "%.6f m%d sync fails", (double)w->now_us / MILLION, m->index + 1);
        cluster_crash(w, m->index, CRASH_DISK, w->now_us + LOOK_AGAIN_US);
    } else {
        sim_carrier_job_done(m, toy_disk_end(&m->carrier.disk, lane));
    }
}

static void snapshot_sent(void *cluster, const struct sim_event *e)
{
    struct sim_member *m = e->subject;
    struct cluster *w = cluster;

    if (e->detail >> 32 != m->life || !m->runs) {
        return;
    }
    if (sim_member_is_paused(m)) {
        put(w, m->paused_until_us, snapshot_sent, m, e->detail);
    } else {
        sim_carrier_snapshot_sent(m, e->detail & UINT32_MAX);
    }
}

static void snapshot_due(void *cluster, const struct sim_event *e)
{
    struct sim_member *m = e->subject;
    struct cluster *w = cluster;

    if (e->detail >> 32 != m->life || !m->runs) {
        return;
    }
    if (sim_member_is_paused(m)) {
        put(w, m->paused_until_us, snapshot_due, m, e->detail);
    } else {
        sim_carrier_snapshot_due(m, e->detail & UINT32_MAX);
    }
}

void sim_member_walks_later(struct sim_member *m, uint64_t link)
{
    struct cluster *w = m->cluster;
    int64_t wait_us = (int64_t)prng_below(&w->random, 10 * (uint64_t)w->plan->disk_jitter_us);

    put(w, w->now_us + wait_us, snapshot_due, m, m->life << 32 | link);
}

void sim_member_sends_snapshot(struct sim_member *m, uint64_t link, struct bytes snapshot)
{
    struct cluster *w = m->cluster;
    int64_t takes_us = (int64_t)prng_below(&w->random, 20 * (uint64_t)w->plan->disk_jitter_us);

    ASSERT(m->life < UINT64_C(1) << 31 && link <= UINT32_MAX);
    mesh_send(&w->mesh, m->index, link, snapshot, takes_us);
    put(w, w->now_us + takes_us, snapshot_sent, m, m->life << 32 | link);
}

bool sim_member_may_do(struct sim_member *m)
{
    if (m->effects_to_crash == 0 || --m->effects_to_crash > 0) {
        m->n_effects++;
        return true;
    }
    cluster_crash(m->cluster, m->index, m->crash_power ? CRASH_POWER : CRASH_KILLED,
                  m->crash_until_us);
    return false;
}

/* ---- what arrives ---- */

static void arrived_notification(void *cluster, int to, int from, struct bytes message)
{
    struct cluster *w = cluster;

    sim_carrier_notification(&w->members[to], from + 1, message);
}

static void arrived_link_up(void *cluster, int member, uint64_t link, int peer, bool dialled)
{
    struct cluster *w = cluster;

    sim_carrier_link_up(&w->members[member], link, peer + 1, dialled);
}

static void arrived_link_down(void *cluster, int member, uint64_t link)
{
    struct cluster *w = cluster;

    sim_carrier_link_down(&w->members[member], link);
}

static void arrived_dial_failed(void *cluster, int member, int peer)
{
    struct cluster *w = cluster;

    sim_carrier_dial_failed(&w->members[member], peer + 1);
}

static void arrived_packet(void *cluster, int member, uint64_t link, struct bytes bytes)
{
    struct cluster *w = cluster;

    sim_carrier_packet(&w->members[member], link, bytes);
}

static void arrived_refusal(void *cluster, int member, int peer)
{
    struct cluster *w = cluster;

    sim_carrier_refused(&w->members[member], peer + 1);
}

static const struct mesh_host mesh_host = {
    .notification = arrived_notification,
    .link_up = arrived_link_up,
    .link_down = arrived_link_down,
    .dial_failed = arrived_dial_failed,
    .packet = arrived_packet,
    .refused = arrived_refusal,
};

/* ---- starting and stopping ---- */

void cluster_start(struct cluster *w, int member)
{
    struct sim_member *m = &w->members[member];

    ASSERT(!m->runs);
    cluster_print(w, "%.6f m%d starts", (double)w->now_us / MILLION, member + 1);
    m->runs = true;
    m->life++;
    m->woken_at_us = 0;
    m->paused_until_us = 0;
    mesh_started(&w->mesh, member);
    sim_carrier_start(m);
}

static void start_due(void *cluster, const struct sim_event *e)
{
    struct cluster *w = cluster;
    struct sim_member *m = e->subject;

    if (m->runs || e->detail != m->life) {
        return;
    }
    if (m->carrier.disk.is_full) {
        put(w, w->now_us + LOOK_AGAIN_US, start_due, m, m->life);
    } else {
        cluster_start(w, m->index);
    }
}

void cluster_crash(struct cluster *w, int member, enum crash_kind kind, int64_t until_us)
{
    static const char *const names[] = {"is killed", "loses power", "ends"};
    struct sim_member *m = &w->members[member];

    if (!m->runs) {
        return;
    }
    cluster_print(w, "%.6f m%d %s", (double)w->now_us / MILLION, member + 1, names[kind]);
    m->runs = false;
    m->effects_to_crash = 0;
    sim_carrier_crash(m);
    mesh_stopped(&w->mesh, member, kind == CRASH_POWER);
    toy_disk_crash(&m->carrier.disk, w->plan->without_luck ? NULL : &w->random,
                   kind != CRASH_KILLED);
    judge_recovered(m);
    if (until_us != NOT_BY_ITSELF) {
        put(w, until_us > w->now_us ? until_us : w->now_us, start_due, m, m->life);
    }
}

/* ---- the plan ---- */

static bool is_between(const struct trouble_item *i, int a, int b)
{
    bool sides = (i->set >> a & 1) != (i->set >> b & 1);

    return sides && (i->kind == TROUBLE_SPLIT || (a != i->a && b != i->a));
}

static void block_many(struct cluster *w, const struct trouble_item *i, bool blocked)
{
    for (int a = 0; a < w->n_members; a++) {
        for (int b = 0; b < w->n_members; b++) {
            if (a != b && is_between(i, a, b)) {
                mesh_block(&w->mesh, a, b, blocked);
            }
        }
    }
}

static void block(struct cluster *w, const struct trouble_item *i, bool blocked)
{
    if (i->kind == TROUBLE_SPLIT || i->kind == TROUBLE_BRIDGE) {
        block_many(w, i, blocked);
        return;
    }
    mesh_block(&w->mesh, i->a, i->b, blocked);
    if (i->kind == TROUBLE_CUT) {
        mesh_block(&w->mesh, i->b, i->a, blocked);
    }
}

static int64_t end_of(const struct cluster *w, const struct trouble_item *i)
{
    int64_t end = w->now_us + i->for_us;

    if (i->for_us < 0) {
        return NOT_BY_ITSELF;
    }
    end = end > w->plan->trouble_us ? w->plan->trouble_us : end;
    return end > w->now_us ? end : w->now_us;
}

static void begin_crash(struct cluster *w, const struct trouble_item *i)
{
    struct sim_member *m = &w->members[i->a];

    if (i->amount == 0) {
        cluster_crash(w, i->a, i->power ? CRASH_POWER : CRASH_KILLED, end_of(w, i));
    } else if (m->runs && m->effects_to_crash == 0) {
        m->effects_to_crash = i->amount;
        m->crash_power = i->power;
        m->crash_until_us = end_of(w, i);
    }
}

static bool are_enough(const struct cluster *w, uint32_t set)
{
    struct quorum_set others = QUORUM_SET_EMPTY;

    for (int i = 0; i < w->n_members; i++) {
        const struct toy_disk *d = &w->members[i].carrier.disk;

        if (set >> i & 1 && !d->diverged && !d->damaged) {
            quorum_set_add(&others, i);
        }
    }
    return !w->plan->lists_change && quorum_config_contains(&w->config, &others);
}

/* Those who may lead have to be enough: who has diverged does not vote for who has less than it,
 * and who is damaged for nobody. */
static bool others_are_enough(const struct cluster *w, int member)
{
    return are_enough(w, ~((uint32_t)1 << member));
}

static void begin_divergence(struct cluster *w, const struct trouble_item *i)
{
    struct sim_member *m = &w->members[i->a];

    if (m->carrier.serves && m->carrier.n_applied > 0 && others_are_enough(w, i->a)) {
        m->carrier.disk.diverged = true;
        cluster_crash(w, i->a, CRASH_KILLED, end_of(w, i));
    }
}

static void damage(struct cluster *w, int member, size_t n_left)
{
    struct toy_disk *d = &w->members[member].carrier.disk;

    toy_disk_damage(d, n_left);
    cluster_print(w, "%.6f m%d is damaged, what is left of it ends with 0x%llx",
                  (double)w->now_us / MILLION, member + 1, (unsigned long long)d->history.zxid);
}

static void begin_damage(struct cluster *w, const struct trouble_item *i)
{
    struct sim_member *m = &w->members[i->a];

    if (m->carrier.disk.history.n > 0 && others_are_enough(w, i->a)) {
        cluster_crash(w, i->a, CRASH_KILLED, end_of(w, i));
        damage(w, i->a, (size_t)i->amount % (m->carrier.disk.history.n + 1));
    }
}

static void begin_ruin(struct cluster *w, const struct trouble_item *i)
{
    for (int k = 0; k < w->n_members; k++) {
        cluster_crash(w, k, CRASH_POWER, end_of(w, i));
    }
    for (int k = 0; k < w->n_members; k++) {
        if (i->set >> k & 1) {
            damage(w, k, (size_t)prng_below(&w->random, w->members[k].carrier.disk.history.n + 1));
        }
    }
    w->is_ruined = w->is_ruined || !are_enough(w, UINT32_MAX);
}

static void begin_pause(struct cluster *w, const struct trouble_item *i)
{
    struct sim_member *m = &w->members[i->a];
    int64_t until = end_of(w, i);

    if (m->runs && until > m->paused_until_us) {
        m->paused_until_us = until;
        mesh_pause(&w->mesh, i->a, true);
    }
}

static void ask(struct sim_member *m, enum toy_ask what, uint64_t times);

static void asked_again(void *cluster, const struct sim_event *e)
{
    (void)cluster;
    ask(e->subject, (enum toy_ask)(e->detail >> 32), e->detail & UINT32_MAX);
}

/* Who is paused finds it when it goes on. */
static void ask(struct sim_member *m, enum toy_ask what, uint64_t times)
{
    if (m->runs && sim_member_is_paused(m)) {
        put(m->cluster, m->paused_until_us, asked_again, m, (uint64_t)what << 32 | times);
        return;
    }
    for (uint64_t k = 0; k < times && m->runs; k++) {
        toy_ask(m, what);
    }
}

static void begin_member_trouble(struct cluster *w, const struct trouble_item *i)
{
    struct sim_member *m = &w->members[i->a];
    struct toy_disk *d = &m->carrier.disk;

    switch (i->kind) {
    case TROUBLE_SLOW_DISK:
        d->slow_until_us = end_of(w, i);
        break;
    case TROUBLE_SYNC_FAILS:
        d->sync_fails = m->runs;
        break;
    case TROUBLE_DISK_FULL:
        d->is_full = true;
        break;
    case TROUBLE_CLOCK:
        m->clock_ahead_us += i->amount;
        break;
    case TROUBLE_PURGE:
    case TROUBLE_RESIGN:
        if (m->runs && !sim_member_is_paused(m)) {
            (i->kind == TROUBLE_PURGE ? sim_carrier_purge : sim_carrier_resign)(m);
        }
        break;
    default:
        ASSERT(false);
    }
}

static void begin_item(struct cluster *w, const struct trouble_item *i)
{
    switch (i->kind) {
    case TROUBLE_WRITE:
        ask(&w->members[i->a], ASK_WRITE, (uint64_t)i->amount);
        break;
    case TROUBLE_SYNC:
        ask(&w->members[i->a], ASK_SYNC, 1);
        break;
    case TROUBLE_REVALIDATE:
        ask(&w->members[i->a], ASK_REVALIDATE, 1);
        break;
    case TROUBLE_LIST:
        toy_change_list(&w->members[i->a], i->set, (uint32_t)i->amount);
        break;
    case TROUBLE_CRASH:
        begin_crash(w, i);
        break;
    case TROUBLE_DIVERGE:
        begin_divergence(w, i);
        break;
    case TROUBLE_DAMAGE:
        begin_damage(w, i);
        break;
    case TROUBLE_RUIN:
        begin_ruin(w, i);
        break;
    case TROUBLE_PAUSE:
        begin_pause(w, i);
        break;
    case TROUBLE_RESET:
        mesh_reset(&w->mesh, i->a, i->b);
        break;
    case TROUBLE_STRANGER:
        mesh_stranger(&w->mesh, i->a, true, !i->power);
        break;
    case TROUBLE_DROPS:
        w->mesh.drops[i->a]++;
        break;
    case TROUBLE_BLOCK:
    case TROUBLE_CUT:
    case TROUBLE_SPLIT:
    case TROUBLE_BRIDGE:
        block(w, i, true);
        break;
    default:
        begin_member_trouble(w, i);
    }
}

void cluster_end(struct cluster *w, const struct trouble_item *i)
{
    struct sim_member *m = &w->members[i->a];

    switch (i->kind) {
    case TROUBLE_PAUSE:
        if (!sim_member_is_paused(m) && m->runs) {
            mesh_pause(&w->mesh, i->a, false);
        }
        break;
    case TROUBLE_BLOCK:
    case TROUBLE_CUT:
    case TROUBLE_SPLIT:
    case TROUBLE_BRIDGE:
        block(w, i, false);
        break;
    case TROUBLE_DISK_FULL:
        m->carrier.disk.is_full = false;
        break;
    case TROUBLE_STRANGER:
        mesh_stranger(&w->mesh, i->a, false, false);
        break;
    case TROUBLE_DROPS:
        w->mesh.drops[i->a]--;
        break;
    default:
        break;
    }
}

static void item_ends(void *cluster, const struct sim_event *e)
{
    cluster_end(cluster, e->subject);
}

/* Who leads, or led last: of two that believe it the later one. */
static int leader_of(const struct cluster *w)
{
    int leader = 0;

    for (int i = 0; i < w->n_members; i++) {
        const struct sim_carrier *t = &w->members[i].carrier;

        if (t->leads &&
            (!w->members[leader].carrier.leads || t->epoch > w->members[leader].carrier.epoch)) {
            leader = i;
        }
    }
    return leader;
}

/* The item as it is meant now, for its beginning and for its end. */
static struct trouble_item *meant(struct cluster *w, const struct trouble_item *i)
{
    struct begun_item *begun = must_alloc(sizeof(*begun));

    begun->item = *i;
    begun->next = w->begun;
    w->begun = begun;
    if (i->a == TROUBLE_LEADER) {
        begun->item.a = leader_of(w);
        begun->item.b = i->b == begun->item.a ? (i->b + 1) % w->n_members : i->b;
    }
    return &begun->item;
}

void cluster_begin(struct cluster *w, const struct trouble_item *item)
{
    struct trouble_item *i = meant(w, item);
    struct strbuf text;

    if (w->line != NULL) {
        strbuf_init(&text, STRBUF_NO_LIMIT);
        trouble_item_write(i, &text);
        cluster_print(w, "----- %s", strbuf_cstr(&text));
        strbuf_fini(&text);
    }
    if (end_of(w, i) != NOT_BY_ITSELF) {
        put(w, end_of(w, i), item_ends, i, 0);
    }
    begin_item(w, i);
}

static void item_begins(void *cluster, const struct sim_event *e)
{
    cluster_begin(cluster, e->subject);
}

/* Items that begin later than the end of all trouble are left out. */
static void put_plan(struct cluster *w)
{
    for (size_t i = 0; i < w->plan->n; i++) {
        if (w->plan->items[i].at_us < w->plan->trouble_us) {
            put(w, w->plan->items[i].at_us, item_begins, &w->plan->items[i], 0);
        }
    }
}

void cluster_calm(struct cluster *w)
{
    w->is_quiet = true;
    for (int i = 0; i < w->n_members; i++) {
        w->members[i].effects_to_crash = 0;
        w->members[i].carrier.disk.sync_fails = false;
    }
}

/* ---- the cluster ---- */

static void add_groups(struct cluster *w, struct strbuf *why)
{
    const struct trouble_plan *p = w->plan;
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    for (int group = 0; group < p->n_groups; group++) {
        strbuf_clear(&text);
        for (int i = 0; i < p->n_voters; i++) {
            if (p->groups[i] == group) {
                strbuf_printf(&text, "%s%d", text.len > 0 ? ":" : "", i + 1);
            }
        }
        ASSERT(quorum_config_add_group(&w->config, group + 1, strbuf_cstr(&text), why));
    }
    for (int i = 0; p->n_groups > 0 && i < p->n_voters; i++) {
        strbuf_clear(&text);
        strbuf_printf(&text, "%lld", (long long)p->weights[i]);
        ASSERT(quorum_config_add_weight(&w->config, i + 1, strbuf_cstr(&text), why));
    }
    strbuf_fini(&text);
}

static void make_config(struct cluster *w)
{
    struct strbuf why;
    char line[64];

    if (w->plan->lists_change) {
        sim_list_config(sim_list_make(w->plan->first_voters, w->plan->first_observers, 0),
                        &w->config);
        return;
    }
    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_init(&w->config);
    for (int i = 0; i < w->n_members; i++) {
        snprintf(line, sizeof(line), "127.0.0.1:%d:%d%s", 2001 + i, 3001 + i,
                 i < w->plan->n_voters ? "" : ":observer");
        if (!quorum_config_add_server(&w->config, i + 1, line, false, &why)) {
            cluster_violated(w, "%s", strbuf_cstr(&why));
        }
    }
    add_groups(w, &why);
    ASSERT(quorum_config_check(&w->config, &why));
    strbuf_fini(&why);
}

void cluster_init(struct cluster *w, const struct trouble_plan *plan, const struct sim_body *body)
{
    *w = (struct cluster){.seed = plan->seed, .plan = plan, .body = body};
    w->n_members = plan->n_voters + plan->n_observers;
    prng_seed(&w->random, plan->seed ^ 0x6469736b);
    mesh_init(&w->mesh, w, &mesh_host, &w->events, &w->now_us, plan->seed ^ 0x6d657368,
              w->n_members);
    w->mesh.latency_us = plan->latency_us;
    w->mesh.jitter_us = plan->jitter_us;
    w->mesh.one_in_slow = plan->one_in_slow;
    w->mesh.slow_us = plan->slow_us;
    judge_init(&w->judge);
    make_config(w);
    for (int i = 0; i < w->n_members; i++) {
        w->members[i].cluster = w;
        w->members[i].index = i;
        w->members[i].clock_per_million = plan->clock_per_million[i];
        w->members[i].clock_ahead_us = (int64_t)prng_below(&w->random, 1000) * MILLION;
        sim_carrier_init(&w->members[i]);
    }
    put_plan(w);
}

void cluster_fini(struct cluster *w)
{
    for (int i = 0; i < w->n_members; i++) {
        sim_carrier_fini(&w->members[i]);
    }
    while (w->begun != NULL) {
        struct begun_item *next = w->begun->next;

        free(w->begun);
        w->begun = next;
    }
    judge_fini(&w->judge);
    mesh_fini(&w->mesh);
    sim_queue_fini(&w->events);
    quorum_config_fini(&w->config);
}

bool cluster_step(struct cluster *w, int64_t limit_us)
{
    struct sim_event e;

    if (w->events.n == 0 || w->events.events[0].due_us >= limit_us) {
        w->now_us = limit_us;
        return false;
    }
    ASSERT(sim_queue_take(&w->events, &e));
    ASSERT(e.due_us >= w->now_us);
    w->now_us = e.due_us;
    w->n_events++;
    e.happen(w, &e);
    return true;
}

bool cluster_all_run(const struct cluster *w)
{
    int n = 0;

    for (int i = 0; i < w->n_members; i++) {
        n += w->members[i].runs;
    }
    return n == w->n_members;
}

static bool is_at_rest(const struct sim_member *m)
{
    const struct sim_carrier *t = &m->carrier;

    return t->serves && m->cluster->body->is_idle(m) && t->disk.history.n == t->n_applied &&
           toy_disk_is_idle(&t->disk);
}

bool cluster_is_settled(struct cluster *w)
{
    const struct sim_carrier *leader = &w->members[leader_of(w)].carrier;
    int n_leaders = 0;

    for (int i = 0; i < w->n_members; i++) {
        const struct sim_carrier *t = &w->members[i].carrier;

        if (w->members[i].runs &&
            (!is_at_rest(&w->members[i]) ||
             t->disk.epochs[TOY_ACCEPTED] != leader->disk.epochs[TOY_ACCEPTED] ||
             t->n_applied != leader->n_applied)) {
            return false;
        }
        n_leaders += t->leads;
    }
    return n_leaders == 1;
}
