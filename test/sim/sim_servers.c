/* SPDX-License-Identifier: Apache-2.0 */
/* sim_servers.c - the servers of a world: one that stands alone, or an ensemble of real members. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "pawl/error.h"
#include "sim/sim_ensemble.h"
#include "sim/sim_ensemble_real.h"
#include "sim/sim_world.h"
#include "store/tree.h"

enum { MS_US = 1000, STRANGERS_PATIENCE_MS = 400, STRANGERS_SESSION_MS = 2000 };

/* ---- an ensemble ---- */

static int n_servers(const struct world *w)
{
    return w->cluster == NULL ? 1 : w->cluster->n_members;
}

static struct sim_member *member_at(const struct world *w, int host)
{
    return &w->cluster->members[host];
}

static bool member_listens(const struct sim_member *m)
{
    return m->real != NULL && !sim_member_is_paused(m);
}

/* Some member that serves. */
static int some_host(struct world *w)
{
    int first, host;

    if (w->cluster == NULL) {
        return 0;
    }
    first = (int)world_below(w, w->cluster->n_members);
    for (int i = 0; i < w->cluster->n_members; i++) {
        host = (first + i) % w->cluster->n_members;
        if (real_serves(member_at(w, host)) && member_listens(member_at(w, host))) {
            return host;
        }
    }
    return first;
}

static void ensemble_touched(void *world, struct sim_member *m, struct connection *c)
{
    (void)m;
    net_touched(world, c);
}

static void ensemble_ended(void *world, struct sim_member *m)
{
    world_note(-1 - (int)sim_member_sid(m), "down", 0);
    net_server_gone(world, m->index);
}

static void ensemble_wrote(void *world, const struct txn *txn)
{
    world_wrote(txn, world);
}

static _Noreturn void ensemble_violated(struct cluster *c)
{
    world_violated("%s", c->why);
}

static void ensemble_line(void *world, const char *text)
{
    const struct world *w = world;

    printf("%8lld  %s\n", (long long)world_now_ms(w) - 1000000, text);
}

static struct member_options ensemble_options(struct world *w, const struct trouble_plan *plan)
{
    struct member_options o = member_fixture_options();

    o.server.tick_ms = (int32_t)plan->tick_ms;
    o.server.min_session_timeout_ms = 1000;
    o.server.limits.max_per_address = 10000;
    o.server.reap_interval_ms = 3000 + (int32_t)world_below(w, 30000);
    return o;
}

struct world *world_new_ensemble(uint64_t seed, const struct trouble_plan *plan, bool verbose)
{
    struct world *w = must_zalloc(sizeof(*w));

    w->seed = seed;
    w->verbose = verbose;
    prng_seed(&w->random, seed);
    list_init(&w->links);
    w->latency_ms = 2 + (int)world_below(w, 20);
    w->slow_link_one_in = 30 + (int)world_below(w, 200);
    w->replay = "";
    w->options = ensemble_options(w, plan);
    w->cluster = must_zalloc(sizeof(*w->cluster));
    w->ensemble = must_zalloc(sizeof(*w->ensemble));
    cluster_init(w->cluster, plan, &real_body);
    w->cluster->failed = ensemble_violated;
    w->cluster->line = verbose ? ensemble_line : NULL;
    w->cluster->line_arg = w;
    real_ensemble_init(w->ensemble, w->cluster, &w->options);
    w->ensemble->touched = ensemble_touched;
    w->ensemble->ended = ensemble_ended;
    w->ensemble->wrote = ensemble_wrote;
    w->ensemble->arg = w;
    w->begun_ms = 1000000;
    w->now_us = &w->cluster->now_us;
    the_world = w;
    for (int i = 0; i < w->cluster->n_members; i++) {
        cluster_start(w->cluster, i);
    }
    return w;
}

void servers_free(struct world *w)
{
    if (w->cluster == NULL) {
        member_fixture_fini(&w->server);
        return;
    }
    cluster_fini(w->cluster);
    real_ensemble_fini(w->ensemble);
    free(w->cluster);
    free(w->ensemble);
}

void servers_write(const struct world *w, char out[SERVERS_TEXT_BYTES])
{
    int at = 0;

    for (int i = 0; i < n_servers(w); i++) {
        at += snprintf(out + at, SERVERS_TEXT_BYTES - (size_t)at, "%s10.0.0.1:%d",
                       i == 0 ? "" : ",", SERVERS_PORT + i);
    }
}

/* ---- links ---- */

bool servers_connect(struct world *w, struct sim_link *l)
{
    if (w->cluster == NULL) {
        l->server_side = w->server_is_down ? NULL : member_fixture_connect(&w->server);
    } else {
        l->server_side =
            member_listens(member_at(w, l->host)) ? real_connect(member_at(w, l->host)) : NULL;
    }
    if (l->server_side != NULL) {
        l->server_side->owner = l;
    }
    return l->server_side != NULL;
}

void servers_receive(struct world *w, struct sim_link *l, struct bytes b)
{
    if (w->cluster == NULL) {
        member_fixture_send(&w->server, l->server_side, b);
    } else {
        real_receive(member_at(w, l->host), l->server_side, b);
    }
}

void servers_sent(struct world *w, struct sim_link *l, size_t n)
{
    if (w->cluster == NULL) {
        member_fixture_read(&w->server, l->server_side, n);
    } else {
        real_sent(member_at(w, l->host), l->server_side, n);
    }
}

void servers_disconnect(struct world *w, struct sim_link *l)
{
    struct connection *c = l->server_side;

    l->server_side = NULL;
    if (w->cluster == NULL) {
        member_fixture_disconnect(&w->server, c);
    } else {
        real_disconnect(member_at(w, l->host), c);
    }
}

bool servers_listen(const struct world *w, const struct sim_link *l)
{
    return l->server_side != NULL && (w->cluster == NULL || member_listens(member_at(w, l->host)));
}

/* ---- time ---- */

static void run_disk(struct world *w)
{
    if (world_now_ms(w) >= w->durable_at_ms) {
        w->durable_at_ms = INT64_MAX;
        member_fixture_durable(&w->server, w->server.appended_zxid);
        servers_settle(w);
    }
}

static void come_back(struct world *w)
{
    w->server.now_us -= 1000000; /* which the fixture adds */
    w->server.wall_ms += w->wall_jump_ms - 1000;
    w->wall_jump_ms = 0;
    member_fixture_restart(&w->server, &w->options);
    w->server_is_down = false;
    w->n_restarts++;
    w->restart_zxid = w->server.durable_zxid;
    w->tick_ms = world_now_ms(w);
    world_note(-1, "server up", 0);
}

void servers_run(struct world *w)
{
    if (w->cluster != NULL) {
        return; /* it has run until now */
    }
    if (w->server_is_down && world_now_ms(w) >= w->up_again_ms) {
        come_back(w);
    }
    if (w->server_is_down) {
        return;
    }
    run_disk(w);
    if (world_now_ms(w) >= w->tick_ms) {
        w->tick_ms = world_now_ms(w) + 50;
        member_fixture_tick(&w->server, 0);
        servers_settle(w);
    }
}

void servers_settle(struct world *w)
{
    struct connection *c;

    if (w->cluster != NULL) {
        return; /* it tells by itself */
    }
    while ((c = member_next_touched(w->server.member)) != NULL) {
        net_touched(w, c);
    }
    if (w->server.appended_zxid > w->server.durable_zxid && w->durable_at_ms == INT64_MAX) {
        bool slow = world_now_ms(w) < w->slow_disk_until_ms;

        w->durable_at_ms = world_now_ms(w) + world_below(w, slow ? 700 : 3);
    }
}

int64_t servers_soon_ms(const struct world *w)
{
    if (w->cluster != NULL) {
        const struct sim_queue *q = &w->cluster->events;

        return q->n == 0 ? INT64_MAX : w->begun_ms + (q->events[0].due_us + MS_US - 1) / MS_US;
    }
    return w->server_is_down               ? w->up_again_ms
           : w->tick_ms < w->durable_at_ms ? w->tick_ms
                                           : w->durable_at_ms;
}

void servers_pass_until(struct world *w, int64_t ms)
{
    int64_t passed = ms - world_now_ms(w);
    int64_t until_us = passed > 0 ? (ms - w->begun_ms) * MS_US : *w->now_us;

    if (w->cluster != NULL) { /* what is due at that moment is over, too */
        while (cluster_step(w->cluster, until_us + 1)) {
        }
        w->cluster->now_us = until_us;
    } else if (passed > 0) {
        w->server.now_us += passed * 1000;
        w->server.wall_ms += passed;
    }
}

bool servers_are_settled(struct world *w)
{
    return w->cluster == NULL || (cluster_all_run(w->cluster) && cluster_is_settled(w->cluster));
}

void servers_calm(struct world *w)
{
    w->slow_disk_until_ms = 0;
    if (w->cluster != NULL) {
        cluster_calm(w->cluster);
    }
}

uint64_t servers_n_events(const struct world *w)
{
    return w->cluster == NULL ? 0 : w->cluster->n_events;
}

void servers_await(struct world *w)
{
    for (int i = 0; w->cluster != NULL && i < 3000 && !real_serves(member_at(w, some_host(w)));
         i++) {
        servers_pass_until(w, world_now_ms(w) + 1);
    }
}

/* ---- trouble ---- */

static void begin_trouble(struct world *w, enum trouble_kind kind, int64_t ms)
{
    int n = w->cluster->n_members;

    cluster_begin(w->cluster, &(struct trouble_item){.kind = kind,
                                                     .a = (int)world_below(w, n),
                                                     .for_us = ms * MS_US,
                                                     .power = world_chance(w, 2)});
}

static void set_wall_clock(struct world *w)
{
    struct sim_member *m = member_at(w, (int)world_below(w, w->cluster->n_members));

    m->wall_ahead_ms = w->wall_jump_ms;
    w->wall_jump_ms = 0;
}

/* Some of what was not yet durable may have reached the disk. */
void world_crash(struct world *w, int64_t down_ms)
{
    int64_t more;

    if (w->cluster != NULL) {
        set_wall_clock(w);
        begin_trouble(w, TROUBLE_CRASH, down_ms);
        return;
    }
    if (w->server_is_down) {
        return;
    }
    world_note(-1, "crash", down_ms);
    more = w->server.appended_zxid - w->server.durable_zxid;
    w->server.durable_zxid += world_below(w, more + 1);
    w->durable_at_ms = INT64_MAX;
    w->server_is_down = true;
    w->up_again_ms = world_now_ms(w) + down_ms;
    net_server_gone(w, 0);
}

void world_slow_disk(struct world *w, int64_t ms)
{
    world_note(-1, "slow disk", ms);
    if (w->cluster != NULL) {
        begin_trouble(w, TROUBLE_SLOW_DISK, ms);
    } else {
        w->slow_disk_until_ms = world_now_ms(w) + ms;
    }
}

bool world_strand(struct machine *m, int64_t ms)
{
    struct world *w = the_world;

    if (w->cluster == NULL || w->cluster->n_members == 1 || m->socket == NULL) {
        return false;
    }
    world_note(m->id, "stranded", ms);
    m->stranded_with = m->socket->host;
    m->stranded_until_ms = world_now_ms(w) + ms;
    cluster_begin(w->cluster, &(struct trouble_item){.kind = TROUBLE_SPLIT,
                                                     .set = 1u << m->stranded_with,
                                                     .for_us = ms * MS_US});
    return true;
}

/* ---- somebody else ---- */

/* A stranger's link is not over simulated wires: it takes what the server has by itself. */
static bool has_heard(const struct sim_link *l)
{
    const struct connection *c = l->server_side;

    return c == NULL || c->state == CONNECTION_CLOSING || c->out.len > c->out_at;
}

static void wait_for_answer(struct world *w, const struct sim_link *l)
{
    int64_t until = world_now_ms(w) + STRANGERS_PATIENCE_MS;

    if (w->cluster == NULL) {
        member_fixture_durable(&w->server, w->server.appended_zxid);
        return;
    }
    while (!has_heard(l) && world_now_ms(w) < until) {
        servers_pass_until(w, world_now_ms(w) + 1);
    }
}

static void take_all(struct world *w, struct sim_link *l)
{
    size_t n;

    while (l->server_side != NULL && (n = l->server_side->out.len - l->server_side->out_at) > 0) {
        servers_sent(w, l, n);
    }
}

static void stranger_comes(struct world *w, struct sim_link *l, int64_t session_id)
{
    uint8_t password[PASSWORD_BYTES] = {0};
    struct connect_request r = {.timeout_ms = STRANGERS_SESSION_MS,
                                .session_id = session_id,
                                .password = bytes_of(password, PASSWORD_BYTES),
                                .has_read_only = true};
    struct strbuf frame;

    *l = (struct sim_link){.host = some_host(w), .is_stranger = true};
    list_init(&l->to_server.pieces);
    list_init(&l->to_client.pieces);
    profile_init(&l->old);
    list_push_back(&w->links, &l->link);
    if (!servers_connect(w, l)) {
        return;
    }
    if (session_id != 0) {
        session_password(session_id, password);
    }
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &r);
    servers_receive(w, l, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    wait_for_answer(w, l);
    take_all(w, l);
}

static int ask(struct world *w, struct sim_link *l, const struct request *q)
{
    int rc = PAWL_ERR_CONNECTION_LOSS;
    const struct connection *c;
    struct strbuf frame;
    struct jute_reader r;

    if (l->server_side == NULL || l->server_side->state == CONNECTION_CLOSING) {
        return rc;
    }
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, 7, q);
    servers_receive(w, l, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    wait_for_answer(w, l);
    c = l->server_side;
    if (c != NULL && c->out.len - c->out_at >= 4 + REPLY_HEADER_BYTES) {
        r = jute_reader_of(bytes_of(c->out.data + c->out_at + 4, c->out.len - c->out_at - 4));
        rc = reply_header_read(&r).err;
    }
    take_all(w, l);
    return rc;
}

static void stranger_goes(struct world *w, struct sim_link *l)
{
    struct request bye = {.type = OP_CLOSE_SESSION};

    ask(w, l, &bye);
    if (l->server_side != NULL) {
        servers_disconnect(w, l);
    }
    list_remove(&l->link);
    profile_fini(&l->old);
    w->durable_at_ms = world_now_ms(w);
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
    struct sim_link l;
    int rc;

    stranger_comes(w, &l, 0);
    rc = ask(w, &l, q);
    stranger_goes(w, &l);
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
    struct sim_link l;

    world_note(-1, "session killed", session_id);
    rob(w, session_id, "");
    stranger_comes(w, &l, session_id);
    stranger_goes(w, &l);
}

/* ---- state ---- */

struct tree *world_tree(struct world *w)
{
    return w->cluster != NULL ? w->ensemble->truth : member_server(w->server.member)->tree;
}

int64_t world_applied_zxid(struct world *w)
{
    return w->cluster != NULL ? w->ensemble->truth_zxid
                              : member_server(w->server.member)->applied_zxid;
}

static struct server *server_at(struct world *w, int host)
{
    return w->cluster != NULL ? real_server(member_at(w, host)) : member_server(w->server.member);
}

int64_t world_oldest_zxid(struct world *w)
{
    int64_t oldest = world_applied_zxid(w), zxid;

    for (int i = 0; i < n_servers(w); i++) {
        if (server_at(w, i) != NULL && role_serves(server_at(w, i)->role)) {
            zxid = server_at(w, i)->applied_zxid;
            oldest = zxid < oldest ? zxid : oldest;
        }
    }
    return oldest;
}

bool world_somewhere_lacks(struct world *w, const char *path)
{
    for (int i = 0; i < n_servers(w); i++) {
        if (server_at(w, i) != NULL && role_serves(server_at(w, i)->role) &&
            tree_find(server_at(w, i)->tree, bytes_str(path)) == 0) {
            return true;
        }
    }
    return false;
}

struct tree *world_truth(struct world *w)
{
    return w->cluster != NULL ? w->ensemble->truth : w->server.replica;
}

int64_t world_truth_zxid(struct world *w)
{
    return w->cluster != NULL ? w->ensemble->truth_zxid : w->server.appended_zxid;
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

void world_each_watch(struct world *w, watch_row_fn fn, void *arg)
{
    for (int i = 0; i < n_servers(w); i++) {
        if (server_at(w, i) != NULL) {
            watch_each(&server_at(w, i)->watches, fn, arg);
        }
    }
}

size_t world_n_watches(struct world *w)
{
    size_t sum = 0;

    for (int i = 0; i < n_servers(w); i++) {
        sum += server_at(w, i) == NULL ? 0 : watch_count(&server_at(w, i)->watches);
    }
    return sum;
}
