/* SPDX-License-Identifier: Apache-2.0 */
/* client_sim.c - client cores against a server, over a network and a disk that misbehave, by seed.
 *
 *   pawl-client-sim [--seed N] [--seeds COUNT] [--verbose]
 *
 * Links are slow, cut, cut in the middle of a frame, or silent; the server is away for a while,
 * answers late, or crashes and starts again from what its disk has kept; under one of its names it
 * may be read-only for a while, as a member cut off from its ensemble is; sessions expire. Every
 * client works on a few nodes and holds this against what it is told:
 *   - every call ends exactly once, and those that were answered end in the order they were made
 *   - within a session the zxid of answers never goes back, and no crash loses one of them
 *   - the order of a session's requests is not that of its connections: a write whose answer was
 *     lost does not happen any more once something that the session asked later was answered
 *   - what was NOT_SENT or REFUSED is never seen in the tree; what is seen, somebody wrote
 *   - a read-only server is left for one that writes, and never taken by who cannot use it
 *   - a one-shot watch fires once, or is told that its session has ended, and nothing after that;
 *     while it has not, no read shows a change that it should have told
 *   - states follow each other as the header says
 *   - when the trouble is over everything comes to an end, soon
 * A failure prints the seed; the same seed gives the same run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/core.h"
#include "pawl/error.h"
#include "sim_server.h"

enum {
    STEP_MS = 5,
    TROUBLE_MS = 90000,
    QUIET_MS = 60000,
    N_CLIENTS = 3,
    N_HOSTS = 3,
    N_PATHS = 6,
    MAX_CALLS = 20000,
    MAX_WATCHES = 20000,
    SESSION_MS = 4000,
    PIPE_BYTES = 1 << 20,
    MAX_UNSETTLED = 256,
};

/* ---- links ---- */

struct piece {
    int64_t due_ms;
    size_t len;
};

struct pipe {
    struct strbuf bytes;
    struct piece pieces[4096];
    size_t n;
    int64_t last_due;
};

struct sim_link {
    bool open, silent; /* silent: nothing arrives any more, in either direction */
    int64_t up_at;     /* being made until then */
    bool refused;
    int64_t full_until; /* the socket takes nothing more till then */
    size_t host;
    bool read_only;       /* the server behind it is, and ... */
    bool greeted, heard;  /* ... has got the handshake, has answered it */
    struct strbuf frames; /* ... what it has not looked at yet */
    struct connection *server_side;
    struct pipe to_server, to_client;
};

/* ---- clients ---- */

enum fate { PENDING, ANSWERED, NOT_SENT, REFUSED_HERE, UNKNOWN };

struct made { /* a call, as the client remembers it */
    enum fate fate;
    int32_t op;
    int path;
    bool writes;
    int watch;          /* index, or -1 */
    int64_t later_zxid; /* UNKNOWN: it did not happen after that; 0: it still may */
};

struct armed { /* a watch */
    bool is_set, ended;
    int path;
    enum watcher_kind table;
    int64_t seen_zxid; /* of the node's data or list of children when it was set */
};

struct client {
    struct world *world;
    int id;
    struct core *core;
    struct sim_link link;
    struct made made[MAX_CALLS];
    int n_made, n_ended, last_answered;
    int unsettled[MAX_UNSETTLED], n_unsettled; /* writes of this session that may still happen */
    int64_t unsettled_session;
    struct armed watches[MAX_WATCHES];
    int n_watches;
    int n_watches_at_loss; /* those before that have ended with their session */
    enum pawl_state state;
    bool ever_connected;
    int64_t session_id, last_zxid;
};

struct world {
    uint64_t seed;
    struct prng random;
    int64_t now_ms;
    struct sim_server server;
    int64_t down_until, hold_until;
    int64_t read_only_until[N_HOSTS];
    int64_t told_zxid; /* the newest that any answer has spoken of */
    bool trouble, verbose;
    struct client clients[N_CLIENTS];
    int n_lost, n_reconnected, n_events, n_unknown, n_not_sent, n_answered, n_read_only, n_settled;
};

static _Noreturn void violated(const struct world *w, const char *what, const struct client *c,
                               long detail)
{
    fprintf(stderr, "seed %llu at %lld ms, client %d: %s (%ld)\n", (unsigned long long)w->seed,
            (long long)w->now_ms, c == NULL ? -1 : c->id, what, detail);
    fprintf(stderr, "replay: pawl-client-sim --seed %llu --verbose\n", (unsigned long long)w->seed);
    exit(1);
}

static bool chance(struct world *w, uint64_t one_in)
{
    return prng_below(&w->random, one_in) == 0;
}

static const char *const hosts[N_HOSTS] = {"one", "two", "three"};
static const char *const paths[N_PATHS] = {"/a", "/b", "/c", "/a/x", "/b/y", "/c/z"};

/* ---- pipes ---- */

static void pipe_init(struct pipe *p)
{
    strbuf_init(&p->bytes, PIPE_BYTES);
    p->n = 0;
    p->last_due = 0;
}

static void pipe_fini(struct pipe *p)
{
    strbuf_fini(&p->bytes);
}

static void pipe_put(struct world *w, struct pipe *p, struct bytes b)
{
    int64_t latency = w->trouble && chance(w, 20) ? (int64_t)prng_below(&w->random, 800)
                                                  : (int64_t)prng_below(&w->random, 12);
    int64_t due = w->now_ms + latency;

    if (b.len == 0) {
        return;
    }
    due = due < p->last_due ? p->last_due : due; /* TCP keeps the order */
    p->last_due = due;
    if (p->n == sizeof(p->pieces) / sizeof(p->pieces[0])) {
        p->pieces[p->n - 1].len += b.len;
    } else {
        p->pieces[p->n++] = (struct piece){due, b.len};
    }
    strbuf_append_bytes(&p->bytes, b);
}

/* The next bytes that have arrived, up to `most`; they are taken out. */
static size_t pipe_take(struct world *w, struct pipe *p, uint8_t *out, size_t most)
{
    size_t n;

    if (p->n == 0 || p->pieces[0].due_ms > w->now_ms) {
        return 0;
    }
    n = p->pieces[0].len < most ? p->pieces[0].len : most;
    if (chance(w, 4)) { /* in odd parts, as TCP may */
        n = 1 + (size_t)prng_below(&w->random, n);
    }
    memcpy(out, p->bytes.data, n);
    memmove(p->bytes.data, p->bytes.data + n, p->bytes.len - n);
    p->bytes.len -= n;
    p->pieces[0].len -= n;
    if (p->pieces[0].len == 0) {
        p->n--;
        memmove(p->pieces, p->pieces + 1, p->n * sizeof(p->pieces[0]));
    }
    return n;
}

/* ---- links ---- */

static void link_close(struct client *c)
{
    struct sim_link *l = &c->link;

    if (l->server_side != NULL) {
        sim_server_disconnect(&c->world->server, l->server_side);
    }
    if (l->open) {
        pipe_fini(&l->to_server);
        pipe_fini(&l->to_client);
        strbuf_fini(&l->frames);
    }
    *l = (struct sim_link){0};
}

static size_t host_index(const struct core *c, size_t which)
{
    size_t i = 0;

    while (strcmp(hosts[i], c->hosts.items[which].name) != 0) {
        i++;
    }
    return i;
}

static bool is_read_only(const struct world *w, size_t host)
{
    return w->now_ms < w->read_only_until[host];
}

static void link_begin(struct world *w, struct client *c)
{
    link_close(c);
    c->link.host = host_index(c->core, c->core->host);
    c->link.up_at = w->now_ms + 1 + (int64_t)prng_below(&w->random, 10);
    c->link.refused = w->now_ms < w->down_until || (w->trouble && chance(w, 8));
}

static void link_advance(struct world *w, struct client *c)
{
    struct sim_link *l = &c->link;

    if (l->up_at == 0 || w->now_ms < l->up_at) {
        return;
    }
    l->up_at = 0;
    if (l->refused || w->now_ms < w->down_until) {
        core_link_down(c->core, w->now_ms);
        return;
    }
    l->open = true;
    pipe_init(&l->to_server);
    pipe_init(&l->to_client);
    strbuf_init(&l->frames, PIPE_BYTES);
    l->read_only = is_read_only(w, l->host);
    l->server_side = sim_server_connect(&w->server);
    core_link_up(c->core, w->now_ms);
}

static void link_cut(struct world *w, struct client *c)
{
    if (c->link.open || c->link.up_at != 0) {
        link_close(c);
        core_link_down(c->core, w->now_ms);
    }
}

/* ---- what a client is told ---- */

static bool state_may_follow(const struct client *c, enum pawl_state to)
{
    enum pawl_state from = c->state;

    switch (to) {
    case PAWL_STATE_CONNECTED:
        return !c->ever_connected && (from == PAWL_STATE_CONNECTING || from == PAWL_STATE_LOST ||
                                      from == PAWL_STATE_SUSPENDED);
    case PAWL_STATE_SUSPENDED:
        return from == PAWL_STATE_CONNECTED || from == PAWL_STATE_RECONNECTED ||
               from == PAWL_STATE_READ_ONLY;
    case PAWL_STATE_RECONNECTED:
        return c->ever_connected && (from == PAWL_STATE_SUSPENDED || from == PAWL_STATE_LOST);
    case PAWL_STATE_READ_ONLY:
        return c->core->options.read_only && c->link.read_only &&
               (from == PAWL_STATE_CONNECTING || from == PAWL_STATE_SUSPENDED ||
                from == PAWL_STATE_LOST);
    case PAWL_STATE_LOST:
        return from == PAWL_STATE_SUSPENDED;
    case PAWL_STATE_CLOSED:
        return from != PAWL_STATE_CLOSED;
    default:
        return false;
    }
}

static void told_state(struct client *c, enum pawl_state state)
{
    struct world *w = c->world;

    if (!state_may_follow(c, state)) {
        violated(w, "a state that may not follow", c, (long)c->state * 10 + (long)state);
    }
    for (int i = 0; c->state == PAWL_STATE_LOST && i < c->n_watches_at_loss; i++) {
        if (c->watches[i].is_set && !c->watches[i].ended) {
            violated(w, "a watch outlived its session", c, i);
        }
    }
    c->n_watches_at_loss = c->n_watches;
    c->state = state;
    c->ever_connected = c->ever_connected || state == PAWL_STATE_CONNECTED;
    w->n_read_only += state == PAWL_STATE_READ_ONLY;
    w->n_lost += state == PAWL_STATE_LOST;
    w->n_reconnected += state == PAWL_STATE_RECONNECTED;
    if (w->verbose) {
        printf("%8lld client %d state %d\n", (long long)w->now_ms, c->id, (int)state);
    }
}

/* The argument of a watch says whose it is and which. */
static void told_event(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static void check_event(struct client *c, const struct event_item *e)
{
    struct world *w = c->world;

    w->n_events++;
    for (size_t i = 0; i < e->n_targets; i++) {
        long index = (struct armed *)e->targets[i].arg - c->watches;
        struct armed *a = &c->watches[index];

        if (index < 0 || index >= c->n_watches || !a->is_set) {
            violated(w, "an event for a watch that was never set", c, index);
        }
        if (a->ended) {
            violated(w, "an event for a watch that has ended", c, index);
        }
        if (strcmp(e->path, paths[a->path]) != 0) {
            violated(w, "an event of another path", c, index);
        }
        a->ended = true;
    }
}

static int64_t value_of(const struct reply_body *body)
{
    int64_t value = -1;

    if (body->data.len == sizeof(value)) {
        memcpy(&value, body->data.data, sizeof(value));
    }
    return value;
}

/* Its outcome is not known, and it may be on its way through the server. */
static void note_unsettled(struct client *c, int index)
{
    if (c->core->session_id != c->unsettled_session) {
        c->unsettled_session = c->core->session_id;
        c->n_unsettled = 0;
    }
    if (c->n_unsettled < MAX_UNSETTLED) {
        c->unsettled[c->n_unsettled++] = index;
    }
}

/* What was asked before `index` has happened by `zxid`, or never will. */
static void settle_until(struct client *c, int index, int64_t zxid)
{
    int n = 0;

    for (int i = 0; i < c->n_unsettled; i++) {
        if (c->core->session_id == c->unsettled_session && c->unsettled[i] < index) {
            c->made[c->unsettled[i]].later_zxid = zxid;
            c->world->n_settled++;
        } else {
            c->unsettled[n++] = c->unsettled[i];
        }
    }
    c->n_unsettled = c->core->session_id == c->unsettled_session ? n : 0;
}

/* Values are numbers of calls: client * MAX_CALLS + index. */
static void check_value(struct client *c, int64_t value, int64_t mzxid)
{
    struct world *w = c->world;
    const struct made *m;

    if (value < 0) {
        return; /* made by the world */
    }
    m = &w->clients[value / MAX_CALLS].made[value % MAX_CALLS];
    if (!m->writes || m->fate == NOT_SENT || m->fate == REFUSED_HERE) {
        violated(w, "something was read that was never written", c, (long)value);
    }
    if (m->later_zxid != 0 && mzxid > m->later_zxid) {
        violated(w, "a write came after what its session had asked later", c, (long)value);
    }
}

/* No unfired watch on the path may have been set on an older state than this one. */
static void check_watches(struct client *c, int path, enum watcher_kind table, int64_t zxid)
{
    for (int i = 0; i < c->n_watches; i++) {
        const struct armed *a = &c->watches[i];

        if (a->is_set && !a->ended && a->path == path && a->table == table && a->seen_zxid < zxid) {
            violated(c->world, "a change was read before its event came", c, i);
        }
    }
}

static void arm(struct client *c, const struct call *call, const struct made *m,
                const struct reply_body *body)
{
    struct armed *a = &c->watches[m->watch];
    bool absent = call->err == PAWL_ERR_NO_NODE;

    if (call->err != 0 && !(call->op == OP_EXISTS && absent)) {
        return;
    }
    a->is_set = true;
    a->table = call->op == OP_GET_CHILDREN2 ? WATCHER_CHILD : absent ? WATCHER_EXIST : WATCHER_DATA;
    a->seen_zxid = absent ? 0 : a->table == WATCHER_CHILD ? body->stat.pzxid : body->stat.mzxid;
}

static void check_answer(struct client *c, const struct call *call, struct made *m, int index)
{
    struct world *w = c->world;
    struct jute_reader r = jute_reader_of(call->body);
    struct reply_body body = {0};

    if (index <= c->last_answered) {
        violated(w, "answers out of order", c, index);
    }
    c->last_answered = index;
    if (call->zxid > 0 && call->zxid < c->last_zxid && c->session_id == c->core->session_id) {
        violated(w, "the zxid went back", c, (long)call->zxid);
    }
    c->session_id = c->core->session_id;
    c->last_zxid = call->zxid;
    if (call->zxid > 0 && call->err != PAWL_ERR_NOT_READ_ONLY) { /* not said by the server */
        settle_until(c, index, call->zxid);
    }
    w->told_zxid = call->zxid > w->told_zxid ? call->zxid : w->told_zxid;
    if (call->err == 0 && !reply_body_read(call->op, &r, &body)) {
        violated(w, "an answer that cannot be read", c, call->op);
    }
    if (call->err == 0 && call->op == OP_GET_DATA) {
        check_value(c, value_of(&body), body.stat.mzxid);
        check_watches(c, m->path, WATCHER_DATA, body.stat.mzxid);
        check_watches(c, m->path, WATCHER_EXIST, body.stat.czxid);
    } else if (call->err == 0 && call->op == OP_GET_CHILDREN2) {
        check_watches(c, m->path, WATCHER_CHILD, body.stat.pzxid);
    }
    if (m->watch >= 0) {
        arm(c, call, m, &body);
    }
}

static void told_answer(struct client *c, struct call *call)
{
    struct world *w = c->world;
    struct made *m = call->arg;
    int index = (int)(m - c->made);

    if (m->fate != PENDING) {
        violated(w, "a call ended twice", c, index);
    }
    c->n_ended++;
    switch (call->outcome) {
    case PAWL_OUTCOME_DONE:
        m->fate = ANSWERED;
        break;
    case PAWL_OUTCOME_REFUSED:
        m->fate = m->writes ? REFUSED_HERE : ANSWERED;
        break;
    case PAWL_OUTCOME_NOT_SENT:
        m->fate = NOT_SENT;
        w->n_not_sent++;
        break;
    case PAWL_OUTCOME_UNKNOWN:
        m->fate = UNKNOWN;
        w->n_unknown++;
        if (m->writes) {
            note_unsettled(c, index);
        }
        break;
    }
    if (call->outcome == PAWL_OUTCOME_DONE || call->outcome == PAWL_OUTCOME_REFUSED) {
        w->n_answered++;
        check_answer(c, call, m, index);
    }
    chunk_unref(call->chunk);
    free(call->path);
    free(call);
}

static void take_items(struct client *c)
{
    struct item *item;

    while ((item = core_next_item(c->core)) != NULL) {
        switch (item->kind) {
        case ITEM_CALL:
            told_answer(c, (struct call *)item);
            break;
        case ITEM_EVENT:
            check_event(c, (struct event_item *)item);
            free(item);
            break;
        case ITEM_STATE:
            told_state(c, ((struct state_item *)item)->state);
            free(item);
            break;
        case ITEM_NOTE: /* comes from recipes, not from the core */
            break;
        }
    }
}

/* ---- what a client does ---- */

static int32_t random_op(struct world *w)
{
    static const int32_t ops[] = {OP_GET_DATA, OP_GET_DATA, OP_SET_DATA,
                                  OP_SET_DATA, OP_EXISTS,   OP_GET_CHILDREN2,
                                  OP_CREATE2,  OP_DELETE,   OP_CREATE2};

    return ops[prng_below(&w->random, sizeof(ops) / sizeof(ops[0]))];
}

static void add_watch(struct client *c, struct call *call, struct made *m, struct request *q)
{
    if (c->n_watches == MAX_WATCHES) {
        return;
    }
    m->watch = c->n_watches++;
    c->watches[m->watch] = (struct armed){.path = m->path};
    call->target = (struct event_target){.fn = told_event, .arg = &c->watches[m->watch]};
    call->watch_table = call->op == OP_GET_CHILDREN2 ? WATCHER_CHILD : WATCHER_DATA;
    call->path = malloc(strlen(paths[m->path]) + 1);
    strcpy(call->path, paths[m->path]);
    q->watch = true;
}

static void make_call(struct client *c)
{
    static const uint8_t anyone[] = {0,   0, 0, 31, 0, 0,   0,   5,   'w', 'o', 'r', 'l',
                                     'd', 0, 0, 0,  6, 'a', 'n', 'y', 'o', 'n', 'e'};
    struct world *w = c->world;
    struct made *m = &c->made[c->n_made];
    int64_t value = (int64_t)c->id * MAX_CALLS + c->n_made;
    struct call *call = call_new(random_op(w));
    struct request q = {.ttl_ms = -1, .version = -1};
    int rc;

    *m = (struct made){.op = call->op, .path = (int)prng_below(&w->random, N_PATHS), .watch = -1};
    m->writes = op_find(call->op)->kind == OP_KIND_WRITE;
    q.path = bytes_str(paths[m->path]);
    q.data = bytes_of(&value, sizeof(value));
    q.acl = (struct acl_list){1, bytes_of(anyone, sizeof(anyone))};
    q.flags = call->op == OP_CREATE2 && m->path >= 3 && chance(w, 2) ? CREATE_EPHEMERAL : 0;
    call->arg = m;
    if (!m->writes && chance(w, 3)) {
        add_watch(c, call, m, &q);
    }
    if (chance(w, 2)) {
        call->deadline_ms = w->now_ms + 1 + (int64_t)prng_below(&w->random, 6000);
    }
    c->n_made++;
    rc = requests_submit(c->core, call, &q);
    if (rc != 0) {
        violated(w, "a call was not taken", c, rc);
    }
}

/* ---- a step ---- */

static void send_some(struct client *c)
{
    struct world *w = c->world;
    struct bytes b;

    if (w->trouble && chance(w, 1000)) {
        c->link.full_until = w->now_ms + (int64_t)prng_below(&w->random, 2000);
    }
    while (c->link.open && w->now_ms >= c->link.full_until &&
           (b = requests_output(c->core)).len > 0) {
        size_t n = w->trouble && chance(w, 6) ? 1 + (size_t)prng_below(&w->random, b.len) : b.len;

        if (!c->link.silent) {
            pipe_put(w, &c->link.to_server, bytes_of(b.data, n));
        }
        requests_wrote(c->core, w->now_ms, n);
        if (n < b.len) {
            return; /* the socket is full for now */
        }
    }
}

static void carry_out(struct client *c)
{
    if (c->core->want_drop) {
        c->core->want_drop = false;
        link_close(c);
    }
    if (c->core->want_link) {
        c->core->want_link = false;
        link_begin(c->world, c);
    }
    if (c->core->want_probe) {
        struct world *w = c->world;
        bool writes = w->now_ms >= w->down_until &&
                      !is_read_only(w, host_index(c->core, c->core->probe_host));

        c->core->want_probe = false;
        core_probed(c->core, w->now_ms, writes);
        carry_out(c);
    }
}

/* What the server has for the client goes on its way. The last byte of a handshake's answer says
 * whether the server is read-only. */
static void pump(struct client *c)
{
    struct world *w = c->world;
    struct sim_link *l = &c->link;
    struct bytes b = sim_server_take(&w->server, l->server_side);

    if (l->read_only && !l->heard && b.len > 0) {
        l->heard = true;
        w->server.taken.data[4 + load_u32(b.data) - 1] = 1;
    }
    if (!l->silent) {
        pipe_put(w, &l->to_client, b);
    }
}

/* A server that only reads answers writes itself, and knows its clients by their handshake. */
static void refuse_write(struct client *c, int32_t xid)
{
    struct world *w = c->world;
    struct strbuf b;

    pump(c);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    reply_end(&b, reply_begin(&b, xid, w->server.durable, PAWL_ERR_NOT_READ_ONLY));
    if (!c->link.silent) {
        pipe_put(w, &c->link.to_client, strbuf_bytes(&b));
    }
    strbuf_fini(&b);
}

static void serve_frame(struct client *c, struct bytes frame)
{
    struct sim_link *l = &c->link;
    struct jute_reader r = jute_reader_of(bytes_of(frame.data + 4, frame.len - 4));
    int32_t xid = l->greeted ? jute_read_int(&r) : 0;
    const struct op *op = l->greeted ? op_find(jute_read_int(&r)) : NULL;

    if (!l->greeted && !c->core->options.read_only) {
        sim_server_disconnect(&c->world->server, l->server_side);
        l->server_side = NULL;
        return;
    }
    l->greeted = true;
    if (op != NULL && op->kind == OP_KIND_WRITE) {
        refuse_write(c, xid);
    } else {
        sim_server_send(&c->world->server, l->server_side, frame);
    }
}

static void serve_read_only(struct client *c, struct bytes data)
{
    struct strbuf *b = &c->link.frames;
    size_t at = 0;

    strbuf_append_bytes(b, data);
    while (c->link.server_side != NULL && b->len - at >= 4 &&
           b->len - at - 4 >= load_u32(b->data + at)) {
        size_t len = 4 + load_u32(b->data + at);

        serve_frame(c, bytes_of(b->data + at, len));
        at += len;
    }
    memmove(b->data, b->data + at, b->len - at);
    b->len -= at;
}

static void serve(struct client *c)
{
    struct world *w = c->world;
    struct sim_link *l = &c->link;
    uint8_t data[4096];
    size_t n;

    while (l->open && l->server_side != NULL && w->now_ms >= w->down_until &&
           (n = pipe_take(w, &l->to_server, data, sizeof(data))) > 0) {
        if (l->read_only) {
            serve_read_only(c, bytes_of(data, n));
        } else {
            sim_server_send(&w->server, l->server_side, bytes_of(data, n));
        }
    }
    if (l->open && l->server_side != NULL) {
        pump(c);
        if (l->server_side->state == CONNECTION_CLOSING) {
            sim_server_disconnect(&w->server, l->server_side);
            l->server_side = NULL;
        }
    }
}

static void receive(struct client *c)
{
    struct world *w = c->world;
    struct sim_link *l = &c->link;
    uint64_t room, n;
    uint8_t *at;

    while (l->open && !c->core->want_drop) {
        room = core_room(c->core, &at);
        n = pipe_take(w, &l->to_client, at, room);
        if (n == 0) {
            break;
        }
        core_received(c->core, w->now_ms, n);
    }
    carry_out(c);
    if (l->open && l->server_side == NULL && l->to_client.n == 0) {
        link_cut(w, c); /* the server closed it, and all has been read */
    }
}

static void step_client(struct client *c)
{
    struct world *w = c->world;

    link_advance(w, c);
    serve(c);
    receive(c);
    if (core_next_ms(c->core) <= w->now_ms) {
        core_tick(c->core, w->now_ms);
    }
    carry_out(c);
    send_some(c);
    take_items(c);
}

static void cut_all(struct world *w)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        link_cut(w, &w->clients[i]);
    }
}

/* With whatever was written and not synced; it may have been held back for a while. */
static void crash(struct world *w)
{
    cut_all(w);
    if (!sim_server_restart(&w->server)) {
        violated(w, "the server does not start from its disk", NULL, 0);
    }
    if (w->server.durable < w->told_zxid) {
        violated(w, "an acknowledged write was lost", NULL, (long)w->told_zxid);
    }
    w->down_until = w->now_ms + (int64_t)prng_below(&w->random, 3000);
}

/* A member of the ensemble loses the others, or finds them again: either way its links end. */
static void change_read_only(struct world *w, size_t host, int64_t until)
{
    w->read_only_until[host] = until;
    for (int i = 0; i < N_CLIENTS; i++) {
        if (w->clients[i].link.open && w->clients[i].link.host == host) {
            link_cut(w, &w->clients[i]);
        }
    }
}

static void make_trouble(struct world *w)
{
    struct client *c = &w->clients[prng_below(&w->random, N_CLIENTS)];

    if (chance(w, w->server.hold ? 50 : 500)) { /* with something on its way to the disk */
        link_cut(w, c);
    }
    if (chance(w, 1500)) {
        c->link.silent = true;
    }
    if (chance(w, 4000)) { /* the server is away; nobody's link survives that */
        w->down_until = w->now_ms + (int64_t)prng_below(&w->random, 9000);
        cut_all(w);
    }
    if (chance(w, w->server.hold ? 400 : 5000)) {
        crash(w);
    }
    if (chance(w, 2500)) {
        change_read_only(w, prng_below(&w->random, N_HOSTS),
                         w->now_ms + (int64_t)prng_below(&w->random, 8000));
    }
    if (chance(w, 800)) {
        w->server.hold = true;
        w->hold_until = w->now_ms + (int64_t)prng_below(&w->random, 1500);
    }
}

static void step(struct world *w)
{
    w->now_ms += STEP_MS;
    sim_server_advance(&w->server, STEP_MS);
    if (w->server.hold && w->now_ms >= w->hold_until) {
        sim_server_release(&w->server);
    }
    for (size_t i = 0; i < N_HOSTS; i++) {
        if (w->read_only_until[i] != 0 && !is_read_only(w, i)) {
            change_read_only(w, i, 0);
        }
    }
    if (w->trouble) {
        make_trouble(w);
    }
    for (int i = 0; i < N_CLIENTS; i++) {
        struct client *c = &w->clients[i];

        while (w->trouble && c->n_made < MAX_CALLS && chance(w, 3)) {
            make_call(c);
        }
        step_client(c);
    }
}

/* ---- a run ---- */

static void begin(struct world *w)
{
    struct core_options o = {.session_timeout_ms = SESSION_MS,
                             .lost_percent = 100,
                             .max_request_bytes = 1 << 20,
                             .max_reply_bytes = 1 << 20};

    prng_seed(&w->random, w->seed);
    if (!sim_server_init(&w->server, w->seed)) {
        violated(w, "the server does not start", NULL, 0);
    }
    w->now_ms = 1000;
    w->trouble = true;
    for (int i = 0; i < N_CLIENTS; i++) {
        struct client *c = &w->clients[i];

        c->world = w;
        c->id = i;
        c->last_answered = -1;
        o.seed = w->seed * 10 + (uint64_t)i;
        o.read_only = i == 2;
        if (core_new(&o, i == 0 ? "one" : "one,two,three", w->now_ms, &c->core) != 0) {
            violated(w, "no memory", c, 0);
        }
    }
}

static void end(struct world *w)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        struct client *c = &w->clients[i];

        if (c->n_ended != c->n_made) {
            violated(w, "calls did not end", c, c->n_made - c->n_ended);
        }
        if (c->core->link != LINK_READY) {
            violated(w, "no session long after the trouble", c, (long)c->core->link);
        }
        if (c->state == PAWL_STATE_READ_ONLY) {
            violated(w, "still with a read-only server", c, 0);
        }
        core_shut(c->core, PAWL_ERR_CLOSING);
        carry_out(c);
        take_items(c);
        for (int k = 0; k < c->n_watches; k++) {
            if (c->watches[k].is_set && !c->watches[k].ended) {
                violated(w, "a watch was forgotten", c, k);
            }
        }
        link_close(c);
        core_free(c->core);
    }
    sim_server_fini(&w->server);
}

/* Over all runs, so that nobody trusts a simulation in which the disk never mattered. */
static struct {
    int64_t n_restarts, n_lost_txns, n_read_only, n_settled;
} total;

static void run(uint64_t seed, bool verbose)
{
    struct world *w = calloc(1, sizeof(*w));

    w->seed = seed;
    w->verbose = verbose;
    begin(w);
    while (w->now_ms < TROUBLE_MS) {
        step(w);
    }
    w->trouble = false;
    w->down_until = 0;
    for (int i = 0; i < N_CLIENTS; i++) {
        w->clients[i].link.silent = w->clients[i].link.silent && w->clients[i].link.open;
    }
    while (w->now_ms < TROUBLE_MS + QUIET_MS) {
        step(w);
    }
    end(w);
    if (verbose) {
        printf(
            "seed %llu: %d answered, %d unknown, %d not sent, %d events, %d reconnected, %d lost, "
            "%d read-only, %d crashes with %lld transactions lost\n",
            (unsigned long long)seed, w->n_answered, w->n_unknown, w->n_not_sent, w->n_events,
            w->n_reconnected, w->n_lost, w->n_read_only, w->server.n_restarts,
            (long long)w->server.n_lost);
    }
    if (w->n_answered < 1000 || w->n_events == 0 || w->n_reconnected == 0) {
        violated(w, "a run in which nothing happened", NULL, w->n_answered);
    }
    total.n_restarts += w->server.n_restarts;
    total.n_lost_txns += w->server.n_lost;
    total.n_read_only += w->n_read_only;
    total.n_settled += w->n_settled;
    free(w);
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 20;
    bool verbose = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            count = 1;
        } else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
            count = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--seeds COUNT] [--verbose]\n", argv[0]);
            return 2;
        }
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        run(seed, verbose);
    }
    printf("%llu seeds from %llu: nothing violated; %lld crashes with %lld transactions lost, %lld "
           "times read-only\n",
           (unsigned long long)count, (unsigned long long)first, (long long)total.n_restarts,
           (long long)total.n_lost_txns, (long long)total.n_read_only);
    if (count >= 20 && (total.n_restarts == 0 || total.n_lost_txns == 0 || total.n_read_only == 0 ||
                        total.n_settled == 0)) {
        fprintf(stderr, "the trouble that was to be made was not made\n");
        return 1;
    }
    return 0;
}
