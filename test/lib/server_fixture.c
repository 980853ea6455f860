/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/server_fixture.h"

#include "lib/test.h"
#include "pawl/error.h"
#include "server/handshake.h"
#include "server/pipeline.h"

/* ---- the role ---- */

static int64_t fixture_submit(struct role *r, const struct submission *q)
{
    struct server_fixture *f = (struct server_fixture *)r;
    struct proposer *p = f->server->proposer;
    struct bytes payload = proposer_prepare(p, q);

    journal_append(&f->journal, &f->batch, p->zxid, payload, f->now_us);
    return (int64_t)payload.len;
}

static bool fixture_sync(struct role *r, const struct submission *q)
{
    (void)q;
    return fixture_in_flight((struct server_fixture *)r) > 0;
}

static void fixture_revalidate(struct role *r, int64_t session_id, int32_t timeout_ms)
{
    (void)timeout_ms;
    handshake_revalidate(((struct server_fixture *)r)->server, session_id);
}

size_t fixture_in_flight(const struct server_fixture *f)
{
    return f->journal.n;
}

struct txn fixture_txn(const struct server_fixture *f, size_t n)
{
    const struct journal *j = &f->journal;
    struct txn txn;

    assert_true(n < j->n);
    assert_int_equal(txn_read(j->ring[(j->first + n) & (j->capacity - 1)].payload, &txn), TXN_OK);
    return txn;
}

void fixture_commit_one(struct server_fixture *f)
{
    const struct journal_entry *e = journal_first(&f->journal);
    struct server *s = f->server;

    assert_non_null(e);
    server_commit(s, e->payload);
    journal_pop(&f->journal);
    while (server_sync_zxid(s) <= s->applied_zxid) {
        server_synced(s);
    }
}

void fixture_commit_all(struct server_fixture *f)
{
    while (fixture_in_flight(f) > 0) {
        fixture_commit_one(f);
    }
    server_resume(f->server);
    txn_batch_fini(&f->batch);
    txn_batch_init(&f->batch);
}

static void settle(struct server_fixture *f)
{
    while (!f->hold && fixture_in_flight(f) > 0) {
        fixture_commit_all(f);
    }
    while (server_next_touched(f->server) != NULL) {
    }
}

/* ---- life ---- */

struct server_options fixture_options(void)
{
    return (struct server_options){
        .tick_ms = 2000,
        .min_session_timeout_ms = 4000,
        .max_session_timeout_ms = 40000,
        .auth = {.digest_enabled = true, .digest_algorithm = "SHA1"},
        .limits = {.max_buffer_bytes = 0xfffff,
                   .max_txn_bytes = 2 * 0xfffff,
                   .outstanding_limit = 1000,
                   .large_threshold = -1,
                   .output_pause_bytes = 1 << 20,
                   .output_limit_bytes = 64 << 20,
                   .changes_bytes = 1 << 20,
                   .sessionless_ms = 10000,
                   .max_per_address = 60,
                   .throttle_freeze_ms = -1},
        .extended_types = true,
        .close_session_txn = true,
        .with_digest = true,
        .reap_interval_ms = 60000,
        .reap_per_minute = 10000,
        .words = "*",
    };
}

static void fill_facts(struct server_facts *f)
{
    *f = (struct server_facts){
        .client_port = 2181,
        .secure_client_port = -1,
        .listen_backlog = -1,
        .data_dir_bytes = 457,
        .log_dir_bytes = 458,
        .data_dir = "/var/lib/zookeeper/data/version-2",
        .log_dir = "/var/lib/zookeeper/log/version-2",
        .host_name = "localhost",
        .os_name = "Linux",
        .os_arch = "amd64",
        .os_version = "6.1.0",
        .user_name = "root",
        .user_home = "/root",
        .user_dir = "/",
        .memory_free_mb = 242,
        .memory_max_mb = 256,
        .memory_total_mb = 256,
        .n_open_files = 50,
        .max_open_files = 20000,
    };
}

void fixture_init(struct server_fixture *f, const struct server_options *options)
{
    struct server_options usual = fixture_options();
    struct tree *tree = tree_new(&(struct tree_options){.extended_types = true});

    *f = (struct server_fixture){
        .role = {.kind = ROLE_ALONE,
                 .submit = fixture_submit,
                 .sync = fixture_sync,
                 .revalidate = fixture_revalidate},
        .now_us = 1000000000,
        .wall_ms = 1794709440000,
        .next_port = 40001,
    };
    tree_add_system_nodes(tree);
    txn_batch_init(&f->batch);
    journal_init(&f->journal, 0);
    strbuf_init(&f->taken, STRBUF_NO_LIMIT);
    strbuf_init(&f->trace, STRBUF_NO_LIMIT);
    f->server =
        server_new(options == NULL ? &usual : options, &f->role, tree, 0, f->now_us, f->wall_ms, 1);
    fill_facts(&f->server->facts);
}

void fixture_fini(struct server_fixture *f)
{
    server_free(f->server);
    journal_fini(&f->journal);
    txn_batch_fini(&f->batch);
    strbuf_fini(&f->taken);
    strbuf_fini(&f->trace);
}

static void step_to(struct server_fixture *f, int64_t ms)
{
    f->now_us += ms * 1000;
    f->wall_ms += ms;
    server_set_time(f->server, f->now_us, f->wall_ms);
    server_tick(f->server, f->now_us);
    settle(f);
}

void fixture_advance(struct server_fixture *f, int64_t ms)
{
    for (; ms > 500; ms -= 500) {
        step_to(f, 500);
    }
    step_to(f, ms);
}

void fixture_turn(struct server_fixture *f)
{
    server_turn(f->server);
    settle(f);
}

/* ---- links ---- */

struct connection *fixture_connect(struct server_fixture *f)
{
    struct peer peer = {.ip = "127.0.0.1", .port = f->next_port++};

    return server_connect(f->server, &peer, NULL);
}

void fixture_send(struct server_fixture *f, struct connection *c, struct bytes bytes)
{
    pipeline_receive(f->server, c, bytes);
    settle(f);
}

struct bytes fixture_take(struct server_fixture *f, struct connection *c)
{
    strbuf_clear(&f->taken);
    if (c->out_at < c->out.len) {
        strbuf_append(&f->taken, c->out.data + c->out_at, c->out.len - c->out_at);
    }
    c->out_at = c->out.len;
    server_sent(f->server, c);
    settle(f);
    return bytes_of(strbuf_cstr(&f->taken), f->taken.len);
}

void fixture_connect_frame(struct strbuf *out, const struct connect_request *r)
{
    size_t start = out->len;

    jute_write_int(out, 0);
    connect_request_write(out, r);
    jute_patch_int(out, start, (int32_t)(out->len - start) - 4);
}

struct connection *fixture_ask_to_resume(struct server_fixture *f, int64_t session_id,
                                         int32_t timeout_ms)
{
    uint8_t password[PASSWORD_BYTES] = {0};
    struct connect_request r = {.timeout_ms = timeout_ms,
                                .session_id = session_id,
                                .password = bytes_of(password, PASSWORD_BYTES),
                                .has_read_only = true};
    struct connection *c = fixture_connect(f);
    struct strbuf frame;

    session_password(session_id, password);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &r);
    fixture_send(f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    return c;
}

struct connection *fixture_resume(struct server_fixture *f, int64_t session_id, int32_t timeout_ms,
                                  struct connect_response *out)
{
    struct connection *c = fixture_ask_to_resume(f, session_id, timeout_ms);
    struct bytes answer = fixture_take(f, c);

    assert_true(answer.len > 4);
    assert_true(connect_response_read(bytes_of(answer.data + 4, answer.len - 4), out));
    return c;
}

struct connection *fixture_client(struct server_fixture *f, int32_t timeout_ms)
{
    static const uint8_t no_password[PASSWORD_BYTES];
    struct connect_request r = {.timeout_ms = timeout_ms,
                                .password = bytes_of(no_password, PASSWORD_BYTES),
                                .has_read_only = true};
    struct connection *c = fixture_connect(f);
    struct connect_response response;
    struct bytes answer;
    struct strbuf frame;

    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &r);
    fixture_send(f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    answer = fixture_take(f, c);
    assert_true(answer.len > 4);
    assert_true(connect_response_read(bytes_of(answer.data + 4, answer.len - 4), &response));
    assert_int_equal(response.session_id, c->session_id);
    assert_true(response.timeout_ms > 0);
    return c;
}

/* ---- requests ---- */

void fixture_frame(struct strbuf *out, int32_t xid, const struct request *q)
{
    const struct op *op = op_find(q->type);
    size_t start = out->len;

    jute_write_int(out, 0);
    jute_write_int(out, xid);
    jute_write_int(out, q->type);
    if (op != NULL) { /* what is not known has no body */
        request_write(out, op, q);
    }
    jute_patch_int(out, start, (int32_t)(out->len - start) - 4);
}

static void send_request(struct server_fixture *f, struct connection *c, const struct request *q,
                         int32_t xid)
{
    struct strbuf frame;

    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, xid, q);
    fixture_send(f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
}

struct reply_header fixture_request(struct server_fixture *f, struct connection *c,
                                    const struct request *q, struct jute_reader *body)
{
    int32_t xid = q->type == OP_PING ? XID_PING : ++f->next_xid;
    struct jute_reader r;

    send_request(f, c, q, xid);
    r = jute_reader_of(fixture_take(f, c));
    while (jute_left(&r) > 0) {
        struct jute_reader frame = jute_reader_of(jute_read_buffer(&r));
        struct reply_header h = reply_header_read(&frame);

        if (h.xid == xid) {
            if (body != NULL) {
                *body = frame;
            }
            return h;
        }
    }
    fail_msg("no reply to request %d", (int)q->type);
    return (struct reply_header){0};
}

static int ask(struct server_fixture *f, struct connection *c, const struct request *q)
{
    return fixture_request(f, c, q, NULL).err;
}

int fixture_create(struct server_fixture *f, struct connection *c, const char *path,
                   const char *data, int32_t flags)
{
    struct request q = {.type = OP_CREATE,
                        .path = bytes_str(path),
                        .data = bytes_str(data),
                        .flags = flags,
                        .ttl_ms = -1};
    struct acl_entry all = {31, bytes_str("world"), bytes_str("anyone")};
    struct strbuf acl;
    int rc;

    strbuf_init(&acl, STRBUF_NO_LIMIT);
    acl_entry_write(&acl, &all);
    q.acl = (struct acl_list){1, strbuf_bytes(&acl)};
    rc = ask(f, c, &q);
    strbuf_fini(&acl);
    return rc;
}

int fixture_set(struct server_fixture *f, struct connection *c, const char *path, const char *data)
{
    return ask(
        f, c,
        &(struct request){
            .type = OP_SET_DATA, .path = bytes_str(path), .data = bytes_str(data), .version = -1});
}

int fixture_delete(struct server_fixture *f, struct connection *c, const char *path)
{
    return ask(f, c, &(struct request){.type = OP_DELETE, .path = bytes_str(path), .version = -1});
}

int fixture_get(struct server_fixture *f, struct connection *c, const char *path, bool watch)
{
    return ask(f, c,
               &(struct request){.type = OP_GET_DATA, .path = bytes_str(path), .watch = watch});
}

int fixture_exists(struct server_fixture *f, struct connection *c, const char *path, bool watch)
{
    return ask(f, c, &(struct request){.type = OP_EXISTS, .path = bytes_str(path), .watch = watch});
}

int fixture_children(struct server_fixture *f, struct connection *c, const char *path, bool watch)
{
    return ask(f, c,
               &(struct request){.type = OP_GET_CHILDREN, .path = bytes_str(path), .watch = watch});
}

int fixture_ping(struct server_fixture *f, struct connection *c)
{
    return ask(f, c, &(struct request){.type = OP_PING});
}

/* The count stands before the elements, as in a frame. */
static const uint8_t open_acl[] = "\0\0\0\1\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone";
const struct acl_list fixture_open_acl = {1, {open_acl + 4, sizeof(open_acl) - 5}};

struct request fixture_create_request(const char *path, const char *data, int32_t flags)
{
    return (struct request){.type = OP_CREATE,
                            .path = bytes_str(path),
                            .data = bytes_str(data),
                            .acl = fixture_open_acl,
                            .flags = flags,
                            .ttl_ms = -1};
}

struct request fixture_set_request(const char *path, const char *data, int32_t version)
{
    return (struct request){
        .type = OP_SET_DATA, .path = bytes_str(path), .data = bytes_str(data), .version = version};
}

struct request fixture_path_request(int32_t type, const char *path)
{
    return (struct request){.type = type, .path = bytes_str(path), .version = -1};
}

static void trace_frame(struct strbuf *out, struct jute_reader frame)
{
    static const char *const names[] = {"?", "created", "deleted", "changed", "children"};
    struct reply_header h = reply_header_read(&frame);
    struct event e;

    if (h.xid != XID_EVENT) {
        strbuf_printf(out, "%d %s @%lld\n", (int)h.xid,
                      h.err == PAWL_OK ? "OK" : pawl_error_name(h.err), (long long)h.zxid);
        return;
    }
    e = event_read(&frame);
    assert_in_range(e.type, EVENT_CREATED, EVENT_CHILDREN_CHANGED);
    assert_int_equal(e.state, STATE_SYNC_CONNECTED);
    strbuf_printf(out, "%s %.*s @%lld\n", names[e.type], (int)e.path.len, (const char *)e.path.data,
                  (long long)h.zxid);
}

const char *fixture_trace(struct server_fixture *f, struct connection *c)
{
    struct jute_reader r = jute_reader_of(fixture_take(f, c));

    strbuf_clear(&f->trace);
    while (jute_left(&r) > 0) {
        struct bytes frame = jute_read_buffer(&r);

        assert_false(r.failed);
        trace_frame(&f->trace, jute_reader_of(frame));
    }
    return strbuf_cstr(&f->trace);
}

const char *fixture_word(struct server_fixture *f, const char *word)
{
    struct connection *c = fixture_connect(f);

    fixture_send(f, c, bytes_str(word));
    fixture_take(f, c);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    server_disconnect(f->server, c);
    return strbuf_cstr(&f->taken);
}
