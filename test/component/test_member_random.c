/* SPDX-License-Identifier: Apache-2.0 */
/* Random clients of one member, by seed: they connect, pipeline, watch, stop reading, vanish and
 * come back, while the disk takes its time and the clock goes on. Every frame that the member sends
 * is looked at, in its order:
 *
 *   - replies come in the order of the requests, and their zxid never goes back;
 *   - nothing is shown that is not on disk;
 *   - a write is answered with its own transaction's zxid and outcome;
 *   - a read shows the state at exactly the zxid of its header;
 *   - and everything that its session has written before, over whatever link;
 *   - an event comes before any reply that could show its change;
 *   - a node that was watched does not change unannounced;
 *   - whoever has something to be sent, or is paused or closed, is on the list of the touched;
 *   - a snapshot is the tree as it was when it was begun;
 *   - after a restart everything that was on disk is there.
 *
 * A failing seed is replayed with the number as argument. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/member_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

enum {
    N_SEEDS = 400,
    N_STEPS = 400,
    N_CLIENTS = 5,
    N_OLD = 16,
    N_PATHS = 9,
    MAX_XID = 6000,
    MAX_ZXID = 8000
};

static const char *const paths[N_PATHS] = {"/",    "/a",   "/b",   "/a/a",  "/a/b",
                                           "/b/a", "/a/e", "/b/e", "/a/a/a"};

static uint64_t seed_now; /* for the message of a failure */

/* What was asked under an xid; xids are used once per seed. */
struct asked {
    int32_t type;
    int path;
    bool watch;
    int life;     /* of which session */
    int64_t zxid; /* of its transaction, once there is one */
    int err;
};

/* One path after one transaction. */
struct moment {
    bool exists;
    int64_t czxid, mzxid, pzxid;
    int32_t version, n_children;
};

struct client {
    struct connection *c; /* NULL: away */
    bool greeting;        /* the handshake is not answered yet */
    int64_t session_id;
    int life;         /* counts the sessions of all */
    size_t looked_at; /* of c->out */
    enum connection_input was_input;
    enum connection_state was_in;
    int64_t last_zxid;
    int32_t waiting[MAX_XID]; /* xids, in order */
    int n_waiting, n_answered;
    int64_t watched[N_PATHS]; /* mzxid that was seen when a data watch was set; -1: none */
};

struct world {
    struct member_fixture f;
    struct prng r;
    struct client clients[N_CLIENTS];
    struct connection *old[N_OLD]; /* left behind by a client that came back */
    struct asked asked[MAX_XID];
    int32_t next_xid;
    int n_lives;
    struct moment history[MAX_ZXID][N_PATHS];
    struct member_options options;
    char *snapshot; /* the state when the snapshot was begun; NULL: none is being taken */
};

static uint64_t pick(struct world *w, uint64_t n)
{
    return prng_below(&w->r, n);
}

/* ---- the history ---- */

static void note_moment(const struct tree *t, struct moment *out)
{
    for (int i = 0; i < N_PATHS; i++) {
        znode_id id = tree_find(t, bytes_str(paths[i]));
        struct stat_record s;

        out[i] = (struct moment){.exists = id != 0};
        if (id != 0) {
            tree_stat(t, id, &s);
            out[i] = (struct moment){true, s.czxid, s.mzxid, s.pzxid, s.version, s.n_children};
        }
    }
}

static void on_txn(const struct txn *txn, void *arg)
{
    struct world *w = arg;

    assert_true(txn->header.zxid < MAX_ZXID);
    note_moment(w->f.replica, w->history[txn->header.zxid]);
    if (txn->header.cxid > 0) {
        w->asked[txn->header.cxid].zxid = txn->header.zxid;
        w->asked[txn->header.cxid].err = txn->op.type == TXN_ERROR ? txn->op.err : PAWL_OK;
    }
}

/* ---- what the member sends ---- */

static void check_read(struct world *w, struct client *k, const struct asked *a,
                       const struct reply_header *h, struct jute_reader r)
{
    const struct moment *m = &w->history[h->zxid][a->path];
    struct reply_body body;

    assert_int_equal(h->err, m->exists ? PAWL_OK : PAWL_ERR_NO_NODE);
    if (!m->exists) {
        return;
    }
    assert_true(reply_body_read(a->type, &r, &body));
    assert_int_equal(body.stat.czxid, m->czxid);
    assert_int_equal(body.stat.mzxid, m->mzxid);
    assert_int_equal(body.stat.pzxid, m->pzxid);
    assert_int_equal(body.stat.version, m->version);
    assert_int_equal(body.stat.n_children, m->n_children);
    if (k->watched[a->path] >= 0) { /* no event has come, so nothing has changed */
        assert_int_equal(m->mzxid, k->watched[a->path]);
    }
    if (a->watch && a->type == OP_GET_DATA) {
        k->watched[a->path] = m->mzxid;
    }
}

/* Of the last write that the session asked for before `xid`; 0: none. */
static int64_t zxid_before(const struct world *w, int32_t xid)
{
    int life = w->asked[xid].life;

    while (--xid > 0) {
        if (w->asked[xid].life == life && w->asked[xid].zxid != 0) {
            return w->asked[xid].zxid;
        }
    }
    return 0;
}

static void check_reply(struct world *w, struct client *k, const struct reply_header *h,
                        struct jute_reader r)
{
    const struct asked *a;
    int32_t xid;

    assert_true(k->n_answered < k->n_waiting);
    xid = k->waiting[k->n_answered++];
    a = &w->asked[xid];
    assert_int_equal(h->xid, a->type == OP_PING ? XID_PING : xid);
    assert_true(h->zxid <= w->f.durable_zxid);
    assert_true(h->zxid >= k->last_zxid);
    assert_true(h->zxid >= zxid_before(w, xid));
    k->last_zxid = h->zxid;
    if (h->err == PAWL_ERR_THROTTLED_OP) {
        assert_int_equal(a->zxid, 0);
    } else if (a->zxid != 0) {
        assert_int_equal(h->zxid, a->zxid);
        assert_int_equal(h->err, a->err);
    } else if (a->type == OP_GET_DATA || a->type == OP_EXISTS || a->type == OP_GET_CHILDREN2) {
        check_read(w, k, a, h, r);
    } else {
        assert_int_equal(h->err, PAWL_OK); /* ping, sync */
    }
}

static void check_event(struct client *k, const struct reply_header *h, struct jute_reader r)
{
    struct event e = event_read(&r);

    assert_true(h->zxid > k->last_zxid);
    for (int i = 0; i < N_PATHS; i++) {
        if (bytes_equal_str(e.path, paths[i]) && e.type != EVENT_CHILDREN_CHANGED) {
            k->watched[i] = -1;
        }
    }
}

static void check_greeting(struct client *k, struct jute_reader r)
{
    struct connect_response response;

    assert_true(connect_response_read(bytes_of(r.at, jute_left(&r)), &response));
    k->greeting = false;
    assert_true(k->session_id == 0 || response.session_id == 0 ||
                response.session_id == k->session_id);
    k->session_id = response.session_id;
}

static bool is_open(enum connection_input input)
{
    return input == INPUT_OPEN;
}

static void look_at(struct world *w, struct client *k, bool touched)
{
    struct connection *c = k->c;
    struct jute_reader r = jute_reader_of(strbuf_bytes(&c->out));

    jute_take(&r, k->looked_at);
    if (jute_left(&r) > 0 || is_open(c->input) != is_open(k->was_input) || c->state != k->was_in) {
        assert_true(touched || c->state == CONNECTION_JOINING);
    }
    k->was_input = c->input;
    k->was_in = c->state;
    while (jute_left(&r) > 0) {
        struct jute_reader frame = jute_reader_of(jute_read_buffer(&r));
        struct reply_header h;

        assert_false(r.failed);
        if (k->greeting) {
            check_greeting(k, frame);
            continue;
        }
        h = reply_header_read(&frame);
        if (h.xid == XID_EVENT) {
            check_event(k, &h, frame);
        } else {
            check_reply(w, k, &h, frame);
        }
    }
    k->looked_at = c->out.len;
}

static void look_at_all(struct world *w)
{
    bool touched[N_CLIENTS] = {false};
    struct connection *c;

    while ((c = member_next_touched(w->f.member)) != NULL) {
        for (int i = 0; i < N_CLIENTS; i++) {
            touched[i] = touched[i] || w->clients[i].c == c;
        }
    }
    for (int i = 0; i < N_CLIENTS; i++) {
        if (w->clients[i].c != NULL) {
            look_at(w, &w->clients[i], touched[i]);
        }
    }
}

/* ---- what clients do ---- */

static void forget_link(struct client *k)
{
    k->c = NULL;
    k->n_waiting = 0;
    k->n_answered = 0;
    for (int i = 0; i < N_PATHS; i++) {
        k->watched[i] = -1;
    }
}

static void leave(struct world *w, struct client *k)
{
    struct connection *c = k->c;

    forget_link(k);
    member_fixture_disconnect(&w->f, c);
}

/* In one piece or in two: a handshake may be cut anywhere. */
static void send_bytes(struct world *w, struct client *k, struct bytes b)
{
    size_t cut = pick(w, 3) == 0 ? (size_t)pick(w, b.len) : b.len;

    member_fixture_send(&w->f, k->c, bytes_of(b.data, cut));
    look_at_all(w);
    if (cut < b.len) {
        member_fixture_send(&w->f, k->c, bytes_of(b.data + cut, b.len - cut));
        look_at_all(w);
    }
}

static void add_request(struct world *w, struct client *k, struct strbuf *out)
{
    static const int32_t types[] = {OP_CREATE, OP_DELETE,        OP_SET_DATA, OP_GET_DATA,
                                    OP_EXISTS, OP_GET_CHILDREN2, OP_PING,     OP_SYNC};
    int32_t xid = ++w->next_xid;
    struct asked *a = &w->asked[xid];
    struct request q;

    assert_true(xid < MAX_XID);
    *a = (struct asked){.type = types[pick(w, 8)], .path = (int)pick(w, N_PATHS), .life = k->life};
    a->type = pick(w, 60) == 0 ? OP_CLOSE_SESSION : a->type;
    q = fixture_path_request(a->type, paths[a->path]);
    a->watch = q.watch = pick(w, 2) == 0;
    if (a->type == OP_CREATE) {
        bool ephemeral = strchr(paths[a->path], 'e') != NULL;

        q = fixture_create_request(paths[a->path], "data", ephemeral ? CREATE_EPHEMERAL : 0);
        q.flags += pick(w, 10) == 0 ? CREATE_SEQUENTIAL : 0;
    } else if (a->type == OP_SET_DATA) {
        q.data = bytes_str("other data");
    }
    k->waiting[k->n_waiting++] = xid;
    fixture_frame(out, xid, &q);
}

static void put_nested(struct world *w, struct strbuf *ops)
{
    const char *path = paths[pick(w, N_PATHS)];
    struct request q = pick(w, 2) == 0 ? fixture_set_request(path, "m", -1)
                                       : fixture_path_request(OP_DELETE, path);

    if (pick(w, 3) == 0) {
        q = fixture_create_request(path, "m", strchr(path, 'e') != NULL ? CREATE_EPHEMERAL : 0);
    }
    multi_header_write(ops, &(struct multi_header){q.type, false, -1});
    request_write(ops, op_find(q.type), &q);
}

static void add_multi(struct world *w, struct client *k, struct strbuf *out)
{
    struct request q = {.type = OP_MULTI};
    int32_t xid = ++w->next_xid;
    struct strbuf ops;

    assert_true(xid < MAX_XID);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    for (uint64_t n = pick(w, 5); n > 0; n--) {
        put_nested(w, &ops);
    }
    multi_header_write(&ops, &(struct multi_header){-1, true, -1});
    q.multi = strbuf_bytes(&ops);
    w->asked[xid] = (struct asked){.type = OP_MULTI, .life = k->life};
    k->waiting[k->n_waiting++] = xid;
    fixture_frame(out, xid, &q);
    strbuf_fini(&ops);
}

/* A new link; its handshake, and perhaps requests right behind it. */
static void come(struct world *w, struct client *k)
{
    uint8_t password[PASSWORD_BYTES] = {0};
    struct connect_request r = {.timeout_ms = 4000 + (int32_t)pick(w, 8000),
                                .last_zxid_seen = k->last_zxid,
                                .session_id = k->session_id,
                                .password = bytes_of(password, PASSWORD_BYTES),
                                .has_read_only = true};
    struct strbuf b;

    if (k->session_id != 0) {
        session_password(k->session_id, password);
    } else {
        k->life = ++w->n_lives;
    }
    forget_link(k);
    k->c = member_fixture_connect(&w->f);
    k->greeting = true;
    k->looked_at = 0;
    k->was_input = INPUT_OPEN;
    k->was_in = CONNECTION_FRESH;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    fixture_connect_frame(&b, &r);
    while (pick(w, 3) == 0) {
        add_request(w, k, &b);
    }
    send_bytes(w, k, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static void speak(struct world *w, struct client *k)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (uint64_t n = 1 + pick(w, 6); n > 0; n--) {
        if (pick(w, 8) == 0) {
            add_multi(w, k, &b);
        } else {
            add_request(w, k, &b);
        }
    }
    if (pick(w, 150) == 0) {
        jute_write_int(&b, -1); /* out of its mind */
    }
    send_bytes(w, k, strbuf_bytes(&b));
    strbuf_fini(&b);
}

/* What has been sent may be thrown away, and room made for more. */
static void read_bytes(struct world *w, struct client *k, size_t n)
{
    struct connection *c = k->c;
    size_t left = c->out.len - c->out_at;
    size_t sent = c->out_at + (n < left ? n : left);

    assert_int_equal(k->looked_at, c->out.len);
    member_fixture_read(&w->f, c, n);
    k->looked_at -= c->out_at == 0 ? sent : 0;
    look_at_all(w);
}

static void read_some(struct world *w, struct client *k)
{
    read_bytes(w, k, pick(w, 2) == 0 ? SIZE_MAX : (size_t)pick(w, 200));
}

/* Comes back before the server knows that it was gone. */
static void come_again(struct world *w, struct client *k)
{
    for (int i = 0; i < N_OLD; i++) {
        if (w->old[i] == NULL && !k->greeting) {
            w->old[i] = k->c;
            come(w, k);
            return;
        }
    }
}

static void act(struct world *w, struct client *k)
{
    uint64_t what = pick(w, 100);

    if (k->c == NULL) {
        if (what < 30) {
            come(w, k);
        }
        return;
    }
    if (k->c->state == CONNECTION_CLOSING && what < 40) {
        leave(w, k);
        k->session_id = pick(w, 3) == 0 ? k->session_id : 0;
        k->last_zxid = k->session_id == 0 ? 0 : k->last_zxid;
    } else if (what < 4) {
        leave(w, k);
    } else if (what < 6) {
        come_again(w, k);
    } else if (what < 50) {
        speak(w, k);
    } else {
        read_some(w, k);
    }
}

/* ---- the surroundings ---- */

static void drop_old(struct world *w, bool all)
{
    for (int i = 0; i < N_OLD; i++) {
        if (w->old[i] != NULL && (all || pick(w, 10) == 0)) {
            member_fixture_disconnect(&w->f, w->old[i]);
            w->old[i] = NULL;
        }
    }
}

static void take_snapshot(struct world *w)
{
    struct tree *loaded;
    char *text;

    if (w->snapshot == NULL) {
        w->snapshot = member_fixture_state(member_server(w->f.member)->tree);
        member_fixture_step(&w->f, &(struct member_input){.kind = MEMBER_SNAPSHOT});
        return;
    }
    member_fixture_step(&w->f, &(struct member_input){.kind = MEMBER_SNAPSHOT_SLICE});
    if (!member_is_snapshotting(w->f.member)) {
        loaded = member_fixture_load_snapshot(&w->f);
        text = member_fixture_state(loaded);
        assert_string_equal(text, w->snapshot);
        tree_free(loaded);
        free(text);
        free(w->snapshot);
        w->snapshot = NULL;
    }
}

static void restart(struct world *w)
{
    char *before, *after;

    for (int i = 0; i < N_CLIENTS; i++) {
        forget_link(&w->clients[i]);
    }
    memset(w->old, 0, sizeof(w->old));
    member_fixture_durable(&w->f, w->f.appended_zxid);
    for (int i = 1; i <= w->next_xid; i++) { /* what that has let in is lost */
        w->asked[i].zxid = w->asked[i].zxid > w->f.durable_zxid ? 0 : w->asked[i].zxid;
    }
    before = member_fixture_state(member_server(w->f.member)->tree);
    member_fixture_restart(&w->f, &w->options);
    after = member_fixture_state(member_server(w->f.member)->tree);
    assert_string_equal(after, before);
    free(before);
    free(after);
}

static void owner_has_session(int64_t session_id, void *arg)
{
    assert_true(tree_session_get(arg, session_id, NULL));
}

static void take_turn(struct world *w)
{
    member_fixture_step(&w->f, &(struct member_input){.kind = MEMBER_TURN});
    look_at_all(w);
}

static void surroundings(struct world *w)
{
    struct tree *tree = member_server(w->f.member)->tree;
    int64_t missing = w->f.appended_zxid - w->f.durable_zxid;

    if (pick(w, 3) == 0) {
        member_fixture_durable(&w->f, w->f.durable_zxid + (int64_t)pick(w, (uint64_t)missing + 1));
    }
    look_at_all(w);
    if (pick(w, 10) == 0) {
        member_fixture_tick(&w->f, (int64_t)pick(w, pick(w, 10) == 0 ? 5000 : 300));
    }
    look_at_all(w);
    if (pick(w, 2) == 0) {
        take_turn(w);
    }
    drop_old(w, false);
    tree_each_ephemeral_owner(tree, owner_has_session, tree);
    if (pick(w, 20) == 0) {
        take_snapshot(w);
    }
    if (pick(w, 400) == 0 && w->snapshot == NULL) {
        restart(w);
    }
}

/* ---- a seed ---- */

static struct member_options options_for(struct world *w)
{
    struct member_options o = member_fixture_options();

    o.seed = pick(w, 1000);
    o.server.limits.outstanding_limit = pick(w, 2) == 0 ? 6 : 1000;
    o.server.limits.output_pause_bytes = pick(w, 2) == 0 ? 400 : 1 << 20;
    o.server.limits.turn_units = pick(w, 2) == 0 ? 300 : 0;
    o.server.limits.in_flight_bytes = pick(w, 2) == 0 ? 500 : 0;
    o.server.limits.throttled_op_ms = pick(w, 4) == 0 ? 20 : 0;
    o.server.limits.throttle_requests = pick(w, 4) == 0 ? 4 : 0;
    o.server.close_session_txn = pick(w, 8) != 0;
    return o;
}

/* Everybody reads, the disk catches up: nothing may be left undone. */
static void settle(struct world *w)
{
    struct server *s = member_server(w->f.member);

    drop_old(w, true);
    for (int round = 0; round < 2000 && (server_outstanding(s) > 0 || !list_empty(&s->paused));
         round++) {
        member_fixture_durable(&w->f, w->f.appended_zxid);
        look_at_all(w);
        take_turn(w);
        for (int i = 0; i < N_CLIENTS; i++) {
            struct client *k = &w->clients[i];

            if (k->c != NULL && k->c->state == CONNECTION_CLOSING) {
                leave(w, k);
            } else if (k->c != NULL) {
                read_bytes(w, k, SIZE_MAX);
            }
        }
    }
    member_fixture_durable(&w->f, w->f.appended_zxid);
    look_at_all(w);
    assert_int_equal(server_outstanding(s), 0);
    assert_true(list_empty(&s->paused));
    assert_int_equal(s->waiting.n, 0);
}

static void expect_all_answered(const struct world *w)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        const struct client *k = &w->clients[i];

        if (k->c != NULL && k->c->state == CONNECTION_SERVING && !k->c->session->closing) {
            assert_int_equal(k->n_answered, k->n_waiting);
        }
    }
}

static void expect_equal_trees(const struct world *w)
{
    const struct tree *tree = member_server(w->f.member)->tree;
    char *mine = member_fixture_state(tree), *replica = member_fixture_state(w->f.replica);

    tree_check(tree);
    assert_string_equal(mine, replica);
    free(mine);
    free(replica);
}

/* Nobody says a word any more: in the end no session is left, and nothing that was theirs. */
static void expect_silence_to_end_all_sessions(struct world *w)
{
    struct server *s = member_server(w->f.member);

    for (int i = 0; i < 20; i++) {
        member_fixture_tick(&w->f, 1000);
        member_fixture_durable(&w->f, w->f.appended_zxid);
    }
    assert_int_equal(tree_n_sessions(s->tree), 0);
    assert_int_equal(tree_n_ephemerals(s->tree), 0);
    assert_int_equal(s->sessions.sessions.count, 0);
    for (int i = 0; i < N_CLIENTS; i++) {
        if (w->clients[i].c != NULL) {
            assert_null(w->clients[i].c->session);
            leave(w, &w->clients[i]);
        }
    }
    assert_int_equal(watch_count(&s->watches), 0);
    assert_int_equal(s->n_connections, 0);
    assert_int_equal(s->large_bytes, 0);
}

static void run_seed(uint64_t seed)
{
    struct world *w = must_zalloc(sizeof(*w));

    seed_now = seed;
    prng_seed(&w->r, seed);
    w->options = options_for(w);
    member_fixture_init(&w->f, &w->options);
    w->f.on_txn = on_txn;
    w->f.arg = w;
    note_moment(w->f.replica, w->history[0]);
    for (int i = 0; i < N_CLIENTS; i++) {
        forget_link(&w->clients[i]);
    }
    for (int step = 0; step < N_STEPS; step++) {
        act(w, &w->clients[pick(w, N_CLIENTS)]);
        look_at_all(w);
        surroundings(w);
    }
    settle(w);
    expect_all_answered(w);
    expect_equal_trees(w);
    expect_silence_to_end_all_sessions(w);
    expect_equal_trees(w);
    while (w->snapshot != NULL) {
        take_snapshot(w);
    }
    member_fixture_fini(&w->f);
    free(w);
}

static void say_seed(void)
{
    if (seed_now != 0) {
        fprintf(stderr, "seed %" PRIu64 "\n", seed_now);
    }
}

static void random_clients_see_what_they_were_promised(void **state)
{
    const uint64_t *only = *state;
    uint64_t first = *only == 0 ? 1 : *only, last = *only == 0 ? N_SEEDS : *only;

    for (uint64_t seed = first; seed <= last; seed++) {
        run_seed(seed);
    }
    seed_now = 0;
}

int main(int argc, char **argv)
{
    uint64_t only = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(random_clients_see_what_they_were_promised, &only),
    };

    atexit(say_seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
