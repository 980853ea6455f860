/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "pawl/error.h"
#include "store/tree.h"

struct world *the_world;

/* ---- saying ---- */

char *world_why;

_Noreturn void world_violated(const char *format, ...)
{
    const struct world *w = the_world;
    char why[WORLD_WHY_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    fflush(stdout);
    if (world_why != NULL) {
        memcpy(world_why, why, sizeof(why));
        _exit(1);
    }
    fprintf(stderr, "seed %llu at %lld ms: %s\nreplay: pawl-recipe-sim %s --verbose\n",
            (unsigned long long)w->seed, (long long)world_now_ms(w) - 1000000, why, w->replay);
    exit(1);
}

_Noreturn void __wrap_assert_failed(const char *expression, const char *file, int line);
_Noreturn void __real_assert_failed(const char *expression, const char *file, int line);

/* An assertion of clients or members ends the run like anything else. */
_Noreturn void __wrap_assert_failed(const char *expression, const char *file, int line)
{
    if (the_world == NULL) {
        __real_assert_failed(expression, file, line);
    }
    world_violated("ASSERT(%s) at %s:%d", expression, file, line);
}

void world_note(int who, const char *what, int64_t detail)
{
    struct world *w = the_world;
    uint64_t parts[3] = {(uint64_t)world_now_ms(w), (uint64_t)who, (uint64_t)detail};

    for (int i = 0; i < 3; i++) {
        w->trace = (w->trace ^ parts[i]) * 0x100000001b3u;
    }
    for (const char *c = what; *c != '\0'; c++) {
        w->trace = (w->trace ^ (uint64_t)*c) * 0x100000001b3u;
    }
    if (w->verbose && strcmp(what, "turn") != 0) {
        printf("%8lld  %3d  %s %lld\n", (long long)world_now_ms(w) - 1000000, who, what,
               (long long)detail);
    }
}

bool world_chance(struct world *w, uint64_t one_in)
{
    return prng_below(&w->random, one_in) == 0;
}

int64_t world_below(struct world *w, int64_t n)
{
    return n <= 0 ? 0 : (int64_t)prng_below(&w->random, (uint64_t)n);
}

/* ---- life ---- */

/* No session has the name of another, also of one that has ended: its password is the same. */
static void note_session(struct world *w, int64_t id)
{
    for (int i = 0; i < w->n_sessions; i++) {
        if (w->sessions[i].id == id) {
            world_violated("session %llx was made twice", (unsigned long long)id);
        }
    }
    if (w->n_sessions < MAX_SESSIONS) {
        w->sessions[w->n_sessions++] = (struct seen_session){.id = id};
    }
}

void world_wrote(const struct txn *txn, void *world)
{
    struct world *w = world;

    world_note(-1, txn_type_name(txn->header.type), txn->header.zxid);
    if (w->verbose) {
        printf("          session %llx cxid %d %.*s\n", (unsigned long long)txn->header.client_id,
               (int)txn->header.cxid, bytes_is_null(txn->op.path) ? 0 : (int)txn->op.path.len,
               (const char *)txn->op.path.data);
    }
    if (txn->header.type == OP_CREATE_SESSION) {
        note_session(w, txn->header.client_id);
    }
    witness_wrote(w, txn);
    if (w->wrote != NULL) {
        w->wrote(txn, w->arg);
    }
    if (w->changed != NULL) {
        w->changed(w->arg);
    }
}

struct world *world_new(uint64_t seed, int32_t tick_ms, bool verbose)
{
    static const int32_t ticks_ms[] = {20, 200, 1000, 2000}; /* sessions live so much longer */
    struct world *w = must_zalloc(sizeof(*w));

    w->seed = seed;
    w->verbose = verbose;
    prng_seed(&w->random, seed);
    list_init(&w->links);
    w->options = member_fixture_options();
    w->options.server.tick_ms = tick_ms != 0 ? tick_ms : ticks_ms[world_below(w, 4)];
    w->options.server.min_session_timeout_ms = 1000;
    w->options.server.limits.max_per_address = 10000;
    w->options.server.reap_interval_ms = 3000 + (int32_t)world_below(w, 30000);
    w->options.seed = seed + 1;
    w->latency_ms = 2 + (int)world_below(w, 20);
    w->slow_link_one_in = 30 + (int)world_below(w, 200);
    w->durable_at_ms = INT64_MAX;
    member_fixture_init(&w->server, &w->options);
    w->server.on_txn = world_wrote;
    w->server.arg = w;
    w->now_us = &w->server.now_us;
    w->tick_ms = world_now_ms(w);
    w->replay = "";
    the_world = w;
    return w;
}

void world_free(struct world *w)
{
    for (int i = 0; i < w->n_machines; i++) {
        struct machine *m = &w->machines[i];

        if (m->client != NULL) {
            pawl_client_close_within(m->client, 0);
        }
        witness_fini(&m->witness);
    }
    net_free(w);
    servers_free(w);
    free(w->txns);
    free(w);
    the_world = NULL;
}

/* ---- time ---- */

int64_t world_soon_ms(struct world *w)
{
    int64_t t = net_soon_ms(w), due;

    for (int i = 0; i < w->n_machines; i++) {
        due = machine_next_ms(&w->machines[i]);
        t = due < t ? due : t;
    }
    due = w->next_ms == NULL ? INT64_MAX : w->next_ms(w->arg);
    return due < t ? due : t;
}

static void run_machines(struct world *w)
{
    int first = (int)world_below(w, w->n_machines), n = w->n_machines;

    for (int i = 0; i < n; i++) {
        struct machine *m = &w->machines[(first + i) % n];

        if (machine_next_ms(m) <= world_now_ms(w)) {
            machine_drive(m);
        }
    }
}

void world_step(struct world *w, int64_t limit_ms)
{
    int64_t t = world_soon_ms(w);

    w->n_events++;
    servers_pass_until(w, t < limit_ms ? t : limit_ms);
    net_serve(w);
    if (w->check != NULL) { /* who wakes up may ask before his library has looked around */
        w->check(w->arg);
    }
    if (w->act != NULL && world_chance(w, 2)) { /* ... or act */
        w->act(w->arg);
    }
    run_machines(w);
    if (w->act != NULL) {
        w->act(w->arg);
    }
    if (w->check != NULL) {
        w->check(w->arg);
    }
}

void world_run(struct world *w, int64_t ms)
{
    int64_t until = world_now_ms(w) + ms;

    while (world_now_ms(w) < until) {
        world_step(w, until);
    }
}

/* ---- processes ---- */

struct machine *world_start(struct world *w, const struct process_options *o)
{
    char servers[SERVERS_TEXT_BYTES];
    struct pawl_client_options c = {.size = sizeof(c),
                                    .servers = servers,
                                    .session_timeout_ms = o->session_ms,
                                    .lost_percent = o->lost_percent,
                                    .name_space = o->name_space,
                                    .flags = o->flags,
                                    .attach = o->attach,
                                    .dispatch = PAWL_DISPATCH_EXTERNAL};
    struct machine *m = &w->machines[w->n_machines];

    if (w->n_machines == MAX_MACHINES) {
        return NULL;
    }
    *m = (struct machine){.id = w->n_machines++, .clocks = o->clocks};
    witness_init(&m->witness);
    w->running = m;
    servers_write(w, servers);
    c.seed = w->seed * 1000 + (uint64_t)m->id + 1;
    if (pawl_client_open(&c, &m->client) != 0) {
        world_violated("a client could not be opened");
    }
    m->e = m->client->e;
    world_note(m->id, "started", 0);
    return m;
}

bool machine_runs(const struct machine *m)
{
    return m->client != NULL && !m->dead;
}

void world_close(struct machine *m, int timeout_ms)
{
    struct pawl_client *c = m->client;

    world_note(m->id, "closing", timeout_ms);
    pawl_client_close_within(c, timeout_ms);
    m->client = NULL;
    m->e = NULL;
    world_note(m->id, "closed", 0);
}

struct machine *world_hand_over(struct machine *m, const struct process_options *o)
{
    struct process_options next = *o;
    struct machine *heir;
    size_t len;
    void *blob;

    if (the_world->n_machines == MAX_MACHINES ||
        pawl_client_detach(m->client, (struct pawl_bytes){NULL, 0}, &blob, &len) != 0) {
        return NULL;
    }
    m->client = NULL;
    m->e = NULL;
    world_note(m->id, "handed over", 0);
    witness_hands_over(the_world, m->witness.session);
    next.attach = (struct pawl_bytes){blob, len};
    next.clocks = m->clocks; /* it is on the same computer */
    heir = world_start(the_world, &next);
    free(blob);
    return heir;
}

void world_kill(struct machine *m)
{
    world_note(m->id, "killed", 0);
    if (m->socket != NULL) {
        world_cut(m, the_world->trouble && world_chance(the_world, 3) ? TO_CLIENT : BOTH_WAYS);
    }
    m->dead = true;
}

void world_pause(struct machine *m, int64_t ms)
{
    world_note(m->id, "paused", ms);
    if (m->paused_until_ms < world_now_ms(the_world) + ms) {
        m->paused_until_ms = world_now_ms(the_world) + ms;
    }
}

static void begin_sleep(struct machine *m, int64_t ms, bool is_stopped)
{
    struct sim_clocks *c = &m->clocks;
    int64_t now = world_now_ms(the_world), last = c->until_ms < now ? c->until_ms : now;

    c->slept_ms += last - c->from_ms;
    c->stopped_ms += c->is_stopped ? last - c->from_ms : 0;
    c->from_ms = now;
    c->until_ms = now + ms;
    c->is_stopped = is_stopped;
    world_pause(m, ms);
}

void world_sleep(struct machine *m, int64_t ms)
{
    world_note(m->id, "sleeps", ms);
    begin_sleep(m, ms, false);
}

void world_stop(struct machine *m, int64_t ms)
{
    world_note(m->id, "is stopped", ms);
    begin_sleep(m, ms, true);
}

bool machine_is_stopped(const struct machine *m)
{
    return m->clocks.is_stopped && world_now_ms(the_world) < m->clocks.until_ms;
}

int64_t world_session(const struct machine *m)
{
    return m->e->core->session_id;
}
