/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "pawl/error.h"
#include "store/tree.h"

struct world *the_world;

/* ---- saying ---- */

_Noreturn void world_violated(const char *format, ...)
{
    const struct world *w = the_world;
    va_list args;

    fflush(stdout);
    fprintf(stderr, "seed %llu at %lld ms: ", (unsigned long long)w->seed,
            (long long)world_now_ms(w) - 1000000);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nreplay: pawl-recipe-sim %s --verbose\n", w->replay);
    exit(1);
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
        if (w->sessions[i] == id) {
            world_violated("session %llx was made twice", (unsigned long long)id);
        }
    }
    if (w->n_sessions < MAX_SESSIONS) {
        w->sessions[w->n_sessions++] = id;
    }
}

static void note_txn(const struct txn *txn, void *world)
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
    w->server.on_txn = note_txn;
    w->server.arg = w;
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
    }
    net_free(w);
    member_fixture_fini(&w->server);
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

static void pass_until(struct world *w, int64_t ms)
{
    int64_t passed = ms - world_now_ms(w);

    if (passed > 0) {
        w->server.now_us += passed * 1000;
        w->server.wall_ms += passed;
    }
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
    pass_until(w, t < limit_ms ? t : limit_ms);
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
    struct pawl_client_options c = {.size = sizeof(c),
                                    .servers = "10.0.0.1:2181",
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
    w->running = m;
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

/* ---- somebody else ---- */

static void settle_disk(struct world *w)
{
    member_fixture_durable(&w->server, w->server.appended_zxid);
}

static void take_all(struct world *w, struct connection *c)
{
    size_t n;

    settle_disk(w);
    while ((n = c->out.len - c->out_at) > 0) {
        member_fixture_read(&w->server, c, n);
    }
}

static struct connection *join(struct world *w, int64_t session_id)
{
    uint8_t password[PASSWORD_BYTES] = {0};
    struct connect_request r = {.timeout_ms = 30000,
                                .session_id = session_id,
                                .password = bytes_of(password, PASSWORD_BYTES),
                                .has_read_only = true};
    struct connection *c = member_fixture_connect(&w->server);
    struct strbuf frame;

    if (session_id != 0) {
        session_password(session_id, password);
    }
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &r);
    member_fixture_send(&w->server, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    take_all(w, c);
    return c;
}

static int ask(struct world *w, struct connection *c, const struct request *q)
{
    struct reply_header h;
    struct strbuf frame;
    struct jute_reader r;
    size_t at = c->out_at;

    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 7, q);
    member_fixture_send(&w->server, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    settle_disk(w);
    if (c->out.len - at < 4 + REPLY_HEADER_BYTES) {
        return PAWL_ERR_CONNECTION_LOSS;
    }
    r = jute_reader_of(bytes_of(c->out.data + at + 4, c->out.len - at - 4));
    h = reply_header_read(&r);
    take_all(w, c);
    return h.err;
}

static void rob(struct world *w, int64_t session_id, const char *path)
{
    struct robbed *r = &w->robbed[w->n_robbed % MAX_ROBBED];

    w->n_robbed++;
    r->session_id = session_id;
    snprintf(r->path, sizeof(r->path), "%s", path);
}

bool world_is_robbed(const struct world *w, int64_t session_id, const char *path)
{
    for (int i = 0; i < w->n_robbed && i < MAX_ROBBED; i++) {
        const struct robbed *r = &w->robbed[i];

        if ((r->session_id != 0 && r->session_id == session_id) ||
            (r->path[0] != '\0' && path != NULL && strcmp(r->path, path) == 0)) {
            return true;
        }
    }
    return false;
}

static int ask_as_stranger(struct world *w, const struct request *q)
{
    struct connection *c = join(w, 0);
    struct request bye = {.type = OP_CLOSE_SESSION};
    int rc = ask(w, c, q);

    ask(w, c, &bye);
    member_fixture_disconnect(&w->server, c);
    w->durable_at_ms = world_now_ms(w);
    return rc;
}

int world_create(struct world *w, const char *path)
{
    struct request q = fixture_create_request(path, "", 0);

    return ask_as_stranger(w, &q);
}

int world_delete(struct world *w, const char *path)
{
    struct request q = fixture_path_request(OP_DELETE, path);
    int rc;

    rob(w, 0, path);
    rc = ask_as_stranger(w, &q);
    world_note(-1, "deleted by hand", rc);
    return rc;
}

int world_permit(struct world *w, const char *path, int32_t perms)
{
    struct acl_entry e = {perms | PERM_ADMIN, bytes_str("world"), bytes_str("anyone")};
    struct request q = fixture_path_request(OP_SET_ACL, path);
    struct strbuf acl;
    int rc;

    strbuf_init(&acl, STRBUF_NO_LIMIT);
    acl_entry_write(&acl, &e);
    q.acl = (struct acl_list){1, strbuf_bytes(&acl)};
    rc = ask_as_stranger(w, &q);
    strbuf_fini(&acl);
    world_note(-1, "permissions", perms);
    return rc;
}

/* With the session's own password, as Curator's tests do it. */
void world_kill_session(struct world *w, int64_t session_id)
{
    struct connection *c = join(w, session_id);
    struct request bye = {.type = OP_CLOSE_SESSION};

    world_note(-1, "session killed", session_id);
    rob(w, session_id, "");
    ask(w, c, &bye);
    member_fixture_disconnect(&w->server, c);
    w->durable_at_ms = world_now_ms(w);
}

/* ---- the server's state ---- */

struct tree *world_tree(struct world *w)
{
    return member_server(w->server.member)->tree;
}

size_t world_n_watches(struct world *w)
{
    return watch_count(&member_server(w->server.member)->watches);
}

int world_n_children(struct world *w, const char *path)
{
    znode_id id = tree_find(world_tree(w), bytes_str(path));

    return id == 0 ? -1 : tree_n_children(world_tree(w), id);
}

size_t world_n_sessions(struct world *w)
{
    return tree_n_sessions(world_tree(w));
}
