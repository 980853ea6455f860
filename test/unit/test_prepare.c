/* SPDX-License-Identifier: Apache-2.0 */
#include "server/prepare.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"

static const uint8_t closed[] = "\0\0\0\1\0\0\0\x1f\0\0\0\6digest\0\0\0\3x:y";
static const struct acl_list closed_acl = {1, {closed + 4, sizeof(closed) - 5}};
static const uint8_t invalid[] = "\0\0\0\1\0\0\0\x1f\0\0\0\6nobody\0\0\0\1x";
static const struct acl_list invalid_acl = {1, {invalid + 4, sizeof(invalid) - 5}};

static int ask(struct server_fixture *f, struct connection *c, struct request q)
{
    return fixture_request(f, c, &q, NULL).err;
}

static int set_acl(struct server_fixture *f, struct connection *c, const char *path,
                   struct acl_list acl, int32_t version)
{
    return ask(f, c,
               (struct request){
                   .type = OP_SET_ACL, .path = bytes_str(path), .acl = acl, .version = version});
}

/* /open, /ephemeral; /closed with a child, that nobody may do anything with; /full, whose quota is
 * used up. */
static struct connection *begin(struct server_fixture *f)
{
    struct server_options o = fixture_options();
    struct connection *c;

    o.enforce_quota = true;
    fixture_init(f, &o);
    c = fixture_client(f, 10000);
    fixture_create(f, c, "/open", "", 0);
    fixture_create(f, c, "/open/child", "", 0);
    fixture_create(f, c, "/ephemeral", "", CREATE_EPHEMERAL);
    fixture_create(f, c, "/closed", "", 0);
    fixture_create(f, c, "/closed/child", "", 0);
    fixture_create(f, c, "/full", "", 0);
    fixture_create(f, c, "/full/ephemeral", "", CREATE_EPHEMERAL);
    fixture_create(f, c, "/zookeeper/quota/full", "", 0);
    fixture_create(f, c, "/zookeeper/quota/full/zookeeper_limits",
                   "count=-1,bytes=-1=;byteHardLimit=1;countHardLimit=1", 0);
    fixture_create(f, c, "/zookeeper/quota/full/zookeeper_stats", "", 0);
    assert_int_equal(set_acl(f, c, "/closed", closed_acl, -1), PAWL_OK);
    assert_int_equal(set_acl(f, c, "/closed/child", closed_acl, -1), PAWL_OK);
    return c;
}

/* ---- the order of checks: each row fails its own check and all that come after it ---- */

static void creates_are_checked_in_order(void **state)
{
    struct {
        const char *path;
        int32_t flags;
        int64_t ttl;
        const struct acl_list *acl;
        int rc;
    } rows[] = {
        {"x", 9, -1, &invalid_acl, PAWL_ERR_BAD_ARGUMENTS},
        {"x", -1, -1, &invalid_acl, PAWL_ERR_BAD_ARGUMENTS},
        {"x", CREATE_TTL_FLAG, 0, &invalid_acl, PAWL_ERR_BAD_ARGUMENTS},
        {"x", 0, -1, &invalid_acl, PAWL_ERR_BAD_ARGUMENTS},
        {"/missing/./x", 0, -1, &invalid_acl, PAWL_ERR_INVALID_ACL},
        {"/missing/./x", 0, -1, &fixture_open_acl, PAWL_ERR_NO_NODE},
        {"/closed/.", 0, -1, &fixture_open_acl, PAWL_ERR_NO_AUTH},
        {"/closed/child", 0, -1, &fixture_open_acl, PAWL_ERR_NO_AUTH},
        {"/open/.", 0, -1, &fixture_open_acl, PAWL_ERR_BAD_ARGUMENTS},
        {"/ephemeral/.", 0, -1, &fixture_open_acl, PAWL_ERR_BAD_ARGUMENTS},
        {"/full/ephemeral", 0, -1, &fixture_open_acl, PAWL_ERR_NODE_EXISTS},
        {"/full/ephemeral/x", 0, -1, &fixture_open_acl, PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS},
        {"/full/x", 0, -1, &fixture_open_acl, PAWL_ERR_QUOTA_EXCEEDED},
        {"/open/x", 0, -1, &fixture_open_acl, PAWL_OK},
    };
    struct server_fixture f;
    struct connection *c = begin(&f);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        struct request q = fixture_create_request(rows[i].path, "xx", rows[i].flags);

        q.acl = *rows[i].acl;
        q.ttl_ms = rows[i].ttl;
        q.type = rows[i].ttl >= 0 ? OP_CREATE_TTL : OP_CREATE;
        assert_int_equal(ask(&f, c, q), rows[i].rc);
    }
    fixture_fini(&f);
}

static void deletes_are_checked_in_order(void **state)
{
    struct {
        const char *path;
        int32_t version;
        int rc;
    } rows[] = {
        {"x", 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/", 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/zookeeper", 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/zookeeper/quota", 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/zookeeper/config", 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/missing/x", 7, PAWL_ERR_NO_NODE},
        {"/closed/missing", 7, PAWL_ERR_NO_AUTH},
        {"/open/missing", 7, PAWL_ERR_NO_NODE},
        {"/open", 7, PAWL_ERR_BAD_VERSION},
        {"/open", -2, PAWL_ERR_BAD_VERSION},
        {"/open", 0, PAWL_ERR_NOT_EMPTY},
        {"/open/child", 0, PAWL_OK},
        {"/open/child", 0, PAWL_ERR_NO_NODE},
    };
    struct server_fixture f;
    struct connection *c = begin(&f);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        struct request q = fixture_path_request(OP_DELETE, rows[i].path);

        q.version = rows[i].version;
        assert_int_equal(ask(&f, c, q), rows[i].rc);
    }
    fixture_fini(&f);
}

static void changes_of_data_are_checked_in_order(void **state)
{
    struct {
        const char *path;
        int32_t version;
        int rc;
    } rows[] = {
        {"/missing/.", 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/missing", 7, PAWL_ERR_NO_NODE},
        {"/closed", 7, PAWL_ERR_NO_AUTH},
        {"/full", 7, PAWL_ERR_QUOTA_EXCEEDED},
        {"/open", 7, PAWL_ERR_BAD_VERSION},
        {"/open", 0, PAWL_OK},
        {"/open", 1, PAWL_OK},
        {"/open", -1, PAWL_OK},
        {"/open", 2, PAWL_ERR_BAD_VERSION},
    };
    struct server_fixture f;
    struct connection *c = begin(&f);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        assert_int_equal(ask(&f, c, fixture_set_request(rows[i].path, "xx", rows[i].version)),
                         rows[i].rc);
    }
    fixture_fini(&f);
}

static void changes_of_acls_are_checked_in_order(void **state)
{
    struct {
        const char *path;
        const struct acl_list *acl;
        int32_t version;
        int rc;
    } rows[] = {
        {"/missing/.", &invalid_acl, 7, PAWL_ERR_BAD_ARGUMENTS},
        {"/missing", &invalid_acl, 7, PAWL_ERR_INVALID_ACL},
        {"/missing", &fixture_open_acl, 7, PAWL_ERR_NO_NODE},
        {"/closed", &fixture_open_acl, 7, PAWL_ERR_NO_AUTH},
        {"/open", &fixture_open_acl, 7, PAWL_ERR_BAD_VERSION},
        {"/open", &fixture_open_acl, 0, PAWL_OK},
        {"/open", &fixture_open_acl, 0, PAWL_ERR_BAD_VERSION},
        {"/open", &fixture_open_acl, 1, PAWL_OK},
    };
    struct server_fixture f;
    struct connection *c = begin(&f);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        assert_int_equal(set_acl(&f, c, rows[i].path, *rows[i].acl, rows[i].version), rows[i].rc);
    }
    fixture_fini(&f);
}

static void ttl_needs_its_flag_and_its_range(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct request q = fixture_create_request("/t", "", CREATE_TTL_FLAG);

    (void)state;
    o.extended_types = false;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    q.type = OP_CREATE_TTL;
    q.ttl_ms = 5;
    assert_int_equal(ask(&f, c, q), PAWL_ERR_UNIMPLEMENTED);
    fixture_fini(&f);
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    q.ttl_ms = 0;
    assert_int_equal(ask(&f, c, q), PAWL_ERR_BAD_ARGUMENTS);
    q.ttl_ms = TTL_MAX_MS + 1;
    assert_int_equal(ask(&f, c, q), PAWL_ERR_BAD_ARGUMENTS);
    q.flags = CREATE_PERSISTENT; /* would be logged and never applied */
    q.ttl_ms = -1;
    assert_int_equal(ask(&f, c, q), PAWL_ERR_BAD_ARGUMENTS);
    q.flags = CREATE_TTL_SEQUENTIAL;
    q.ttl_ms = TTL_MAX_MS;
    assert_int_equal(ask(&f, c, q), PAWL_OK);
    q.type = OP_CREATE; /* has no place for a TTL */
    assert_int_equal(ask(&f, c, q), PAWL_ERR_BAD_ARGUMENTS);
    fixture_fini(&f);
}

static void check_path(const char *row, void *arg)
{
    struct server_fixture *f = arg;
    struct connection *c = container_of(f->server->connections.next, struct connection, link);
    uint8_t raw[64];
    struct bytes path = {raw, row[0] == '-' ? 0 : vectors_hex(row, raw, sizeof(raw))};
    struct request create = fixture_create_request("", "", 0);
    struct request set = fixture_set_request("", "", -1);
    struct request exists = fixture_path_request(OP_EXISTS, "");
    const char *at = strchr(row, ' ');
    char *end;

    create.path = set.path = exists.path = path;
    assert_int_equal(ask(f, c, create), strtol(at, &end, 10));
    create.flags = CREATE_SEQUENTIAL;
    assert_int_equal(ask(f, c, create), strtol(end, &end, 10));
    assert_int_equal(ask(f, c, set), strtol(end, &end, 10));
    assert_int_equal(ask(f, c, exists), strtol(end, &end, 10));
}

static void odd_paths_fare_as_recorded(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/t", "", 0);
    assert_int_equal(vectors_table(VECTORS "/client.txt", "path-check", check_path, &f), 38);
    fixture_fini(&f);
}

/* ---- what becomes of a request ---- */

static void send_some(struct server_fixture *f, struct connection *c, const struct request *qs,
                      size_t n)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        fixture_frame(&b, (int32_t)i + 1, &qs[i]);
    }
    fixture_send(f, c, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static void writes_in_flight_see_each_other(void **state)
{
    struct request qs[] = {
        fixture_create_request("/a", "", 0),
        fixture_create_request("/a", "", 0),
        fixture_create_request("/a/s", "", CREATE_SEQUENTIAL),
        fixture_create_request("/a/s", "", CREATE_SEQUENTIAL),
        fixture_set_request("/a", "x", 0),
        fixture_set_request("/a", "x", 0),
        fixture_path_request(OP_DELETE, "/a"),
        fixture_path_request(OP_DELETE, "/a/s0000000000"),
        fixture_create_request("/a/s", "", CREATE_SEQUENTIAL),
    };
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    send_some(&f, c, qs, TEST_COUNT(qs));
    assert_str_view(fixture_txn(&f, 3).op.path, "/a/s0000000001");
    assert_int_equal(fixture_txn(&f, 3).op.parent_cversion, 2);
    assert_int_equal(fixture_txn(&f, 4).op.version, 1);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @2\n"
                                              "2 NODE_EXISTS @3\n"
                                              "3 OK @4\n"
                                              "4 OK @5\n"
                                              "5 OK @6\n"
                                              "6 BAD_VERSION @7\n"
                                              "7 NOT_EMPTY @8\n"
                                              "8 OK @9\n"
                                              "9 OK @10\n");
    assert_int_not_equal(tree_find(f.server->tree, bytes_str("/a/s0000000002")), 0);
    fixture_fini(&f);
}

static void a_refused_write_is_an_error_transaction_without_digest(void **state)
{
    struct request q = fixture_path_request(OP_DELETE, "/missing");
    struct server_fixture f;
    struct connection *c;
    struct txn txn;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    send_some(&f, c, &q, 1);
    txn = fixture_txn(&f, 0);
    assert_int_equal(txn.op.type, TXN_ERROR);
    assert_int_equal(txn.op.err, PAWL_ERR_NO_NODE);
    assert_int_equal(txn.header.client_id, c->session_id);
    assert_int_equal(txn.header.cxid, 1);
    assert_int_equal(txn.header.zxid, 2);
    assert_int_equal(txn.header.time_ms, f.wall_ms);
    assert_false(txn.has_digest);
    fixture_fini(&f);
}

static void a_counter_at_its_end_stays_there(void **state)
{
    struct request q = fixture_create_request("/s", "", CREATE_SEQUENTIAL);
    struct server_fixture f;
    struct connection *c;
    znode_id root;

    (void)state;
    fixture_init(&f, NULL);
    root = tree_find(f.server->tree, bytes_str("/"));
    tree_set_child_stat(f.server->tree, root, INT32_MAX, 0);
    f.server->proposer->prepare.pending.digest = tree_digest(f.server->tree);
    c = fixture_client(&f, 10000);
    assert_int_equal(ask(&f, c, q), PAWL_OK);
    assert_int_not_equal(tree_find(f.server->tree, bytes_str("/s2147483647")), 0);
    assert_int_equal(ask(&f, c, q), PAWL_ERR_NODE_EXISTS);
    fixture_fini(&f);
}

/* ---- multi ---- */

static void put(struct strbuf *ops, struct request q)
{
    multi_header_write(ops, &(struct multi_header){q.type, false, -1});
    request_write(ops, op_find(q.type), &q);
}

/* The errors of the results, one after the other. */
static const char *multi(struct server_fixture *f, struct connection *c, struct strbuf *ops,
                         char *out)
{
    struct request q = {.type = OP_MULTI};
    struct multi_header h;
    struct reply_body body;
    struct jute_reader r;

    multi_header_write(ops, &(struct multi_header){-1, true, -1});
    q.multi = strbuf_bytes(ops);
    out[0] = '\0';
    assert_int_equal(fixture_request(f, c, &q, &r).err, PAWL_OK);
    while (multi_result_next(&r, &h, &body) == MULTI_OP) {
        sprintf(out + strlen(out), "%d/%d ", (int)h.type, (int)h.err);
    }
    strbuf_clear(ops);
    return out;
}

static void the_operations_of_a_multi_see_those_before_them(void **state)
{
    struct request check = fixture_path_request(OP_CHECK, "/a");
    struct server_fixture f;
    struct connection *c;
    struct strbuf ops;
    char out[200];

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    check.version = 1;
    put(&ops, fixture_create_request("/a", "", 0));
    put(&ops, fixture_create_request("/a/s", "", CREATE_SEQUENTIAL));
    put(&ops, fixture_create_request("/a/s", "", CREATE_SEQUENTIAL));
    put(&ops, fixture_set_request("/a", "x", 0));
    put(&ops, check);
    put(&ops, fixture_path_request(OP_DELETE, "/a/s0000000000"));
    assert_string_equal(multi(&f, c, &ops, out), "1/0 1/0 1/0 5/0 13/0 2/0 ");
    assert_int_not_equal(tree_find(f.server->tree, bytes_str("/a/s0000000001")), 0);
    assert_string_equal(multi(&f, c, &ops, out), "");
    strbuf_fini(&ops);
    fixture_fini(&f);
}

static void a_failed_multi_leaves_nothing_behind(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf ops;
    uint64_t digest;
    char out[200];

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/a", "", 0);
    digest = tree_digest(f.server->tree);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    put(&ops, fixture_create_request("/a/e", "", CREATE_EPHEMERAL));
    put(&ops, fixture_set_request("/a", "x", -1));
    put(&ops, fixture_path_request(OP_DELETE, "/missing"));
    put(&ops, fixture_create_request("/b", "", 0));
    assert_string_equal(multi(&f, c, &ops, out), "-1/0 -1/0 -1/-101 -1/-2 ");
    assert_int_equal(tree_digest(f.server->tree), digest);
    assert_int_equal(f.server->proposer->prepare.pending.records.count, 0);
    assert_int_equal(c->session->ephemeral_zxid, 0);
    assert_int_equal(fixture_create(&f, c, "/a/s", "", CREATE_SEQUENTIAL), PAWL_OK);
    assert_int_not_equal(tree_find(f.server->tree, bytes_str("/a/s0000000000")), 0);
    strbuf_fini(&ops);
    fixture_fini(&f);
}

/* What came before it in flight must still be there, as that one left it. */
static void a_failed_multi_gives_back_what_others_have_in_flight(void **state)
{
    struct request qs[] = {fixture_set_request("/a", "1", 0),
                           fixture_create_request("/a/x", "", CREATE_EPHEMERAL),
                           {.type = OP_MULTI},
                           fixture_set_request("/a", "2", 1),
                           fixture_path_request(OP_DELETE, "/a/x"),
                           {.type = OP_CLOSE_SESSION}};
    struct server_fixture f;
    struct connection *c;
    struct strbuf ops;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/a", "", 0);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    put(&ops, fixture_set_request("/a", "9", 1));
    put(&ops, fixture_path_request(OP_DELETE, "/a/x"));
    put(&ops, fixture_path_request(OP_DELETE, "/a"));
    put(&ops, fixture_path_request(OP_DELETE, "/a"));
    multi_header_write(&ops, &(struct multi_header){-1, true, -1});
    qs[2].multi = strbuf_bytes(&ops);
    f.hold = true;
    send_some(&f, c, qs, TEST_COUNT(qs));
    strbuf_fini(&ops);
    fixture_commit_all(&f);
    assert_string_equal(fixture_trace(&f, c), "1 OK @3\n2 OK @4\n3 OK @5\n4 OK @6\n5 OK @7\n"
                                              "6 OK @8\n");
    fixture_fini(&f);
}

static void a_multi_that_would_not_fit_the_log_is_refused_as_a_whole(void **state)
{
    struct server_options o = fixture_options();
    struct request q = {.type = OP_MULTI};
    struct server_fixture f;
    struct connection *c;
    struct strbuf ops;

    (void)state;
    o.limits.max_txn_bytes = 1000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    for (int i = 0; i < 30; i++) {
        put(&ops, fixture_create_request("/s", "", CREATE_SEQUENTIAL));
    }
    multi_header_write(&ops, &(struct multi_header){-1, true, -1});
    q.multi = strbuf_bytes(&ops);
    assert_int_equal(ask(&f, c, q), PAWL_ERR_MARSHALLING);
    assert_int_equal(tree_count(f.server->tree), 4);
    assert_int_equal(f.server->proposer->prepare.pending.records.count, 0);
    strbuf_fini(&ops);
    fixture_fini(&f);
}

static void an_acl_that_would_not_fit_the_log_is_refused(void **state)
{
    struct server_options o = fixture_options();
    static const uint8_t auth[] = "\0\0\0\1\0\0\0\x1f\0\0\0\4auth\xff\xff\xff\xff";
    struct request q = fixture_create_request("/a", "", 0);
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.limits.max_txn_bytes = 1000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    q.acl = (struct acl_list){1, bytes_of(auth + 4, sizeof(auth) - 5)};
    for (int i = 0; i < 30; i++) {
        char user[16];

        snprintf(user, sizeof(user), "user%d:pw", i);
        assert_int_equal(ask(&f, c,
                             (struct request){.type = OP_AUTH,
                                              .scheme = bytes_str("digest"),
                                              .data = bytes_str(user)}),
                         PAWL_OK);
        if (i == 0) {
            assert_int_equal(ask(&f, c, q), PAWL_OK);
        }
    }
    q.path = bytes_str("/b");
    assert_int_equal(ask(&f, c, q), PAWL_ERR_INVALID_ACL);
    fixture_fini(&f);
}

/* ---- closing a session ---- */

static void expect_deleted(const struct txn *txn, const char *const *wanted, int n)
{
    struct jute_reader r = jute_reader_of(txn->op.deleted.elements);

    assert_int_equal(txn->op.type, TXN_CLOSE_SESSION);
    assert_int_equal(txn->op.deleted.count, n);
    for (int i = 0; i < n; i++) {
        struct bytes path = jute_read_buffer(&r);
        bool found = false;

        for (int k = 0; k < n; k++) {
            found = found || bytes_equal_str(path, wanted[k]);
        }
        assert_true(found);
    }
}

static void a_closing_session_deletes_what_it_has_and_what_is_still_in_flight(void **state)
{
    static const char *const wanted[] = {"/kept", "/new", "/again"};
    struct request qs[] = {
        fixture_create_request("/new", "", CREATE_EPHEMERAL),
        fixture_create_request("/brief", "", CREATE_EPHEMERAL),
        fixture_create_request("/plain", "", 0),
        fixture_path_request(OP_DELETE, "/brief"),
        fixture_path_request(OP_DELETE, "/old"),
        fixture_path_request(OP_DELETE, "/again"),
        fixture_create_request("/again", "", CREATE_EPHEMERAL),
        {.type = OP_CLOSE_SESSION},
    };
    struct server_fixture f;
    struct connection *c, *other;
    struct txn txn;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    fixture_create(&f, c, "/kept", "", CREATE_EPHEMERAL);
    fixture_create(&f, c, "/old", "", CREATE_EPHEMERAL);
    fixture_create(&f, c, "/again", "", CREATE_EPHEMERAL);
    fixture_create(&f, other, "/others", "", CREATE_EPHEMERAL);
    f.hold = true;
    send_some(&f, c, qs, TEST_COUNT(qs));
    txn = fixture_txn(&f, 7);
    expect_deleted(&txn, wanted, 3);
    fixture_commit_all(&f);
    assert_int_equal(tree_n_ephemerals(f.server->tree), 1);
    assert_int_not_equal(tree_find(f.server->tree, bytes_str("/plain")), 0);
    fixture_fini(&f);
}

/* Another session's node of the same name, made in flight, is not its business. */
static void a_closing_session_leaves_what_has_changed_hands(void **state)
{
    struct request delete = fixture_path_request(OP_DELETE, "/e");
    struct request create = fixture_create_request("/e", "", CREATE_EPHEMERAL);
    struct request close = {.type = OP_CLOSE_SESSION};
    struct server_fixture f;
    struct connection *c, *other;
    struct txn txn;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    other = fixture_client(&f, 10000);
    fixture_create(&f, c, "/e", "", CREATE_EPHEMERAL);
    f.hold = true;
    send_some(&f, other, &delete, 1);
    send_some(&f, other, &create, 1);
    send_some(&f, c, &close, 1);
    txn = fixture_txn(&f, 2);
    expect_deleted(&txn, NULL, 0);
    fixture_commit_all(&f);
    assert_int_equal(tree_owner(f.server->tree, tree_find(f.server->tree, bytes_str("/e"))),
                     other->session_id);
    fixture_fini(&f);
}

/* Nobody could read such a record again, neither we nor ZooKeeper. */
static void a_list_too_long_for_the_log_is_left_out(void **state)
{
    struct request close = {.type = OP_CLOSE_SESSION};
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    struct txn txn;

    (void)state;
    o.limits.max_txn_bytes = 1000;
    fixture_init(&f, &o);
    c = fixture_client(&f, 10000);
    for (int i = 0; i < 100; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/ephemeral%d", i);
        assert_int_equal(fixture_create(&f, c, path, "", CREATE_EPHEMERAL), PAWL_OK);
    }
    f.hold = true;
    send_some(&f, c, &close, 1);
    txn = fixture_txn(&f, 0);
    assert_int_equal(txn.op.deleted.count, -1);
    assert_false(txn.has_digest);
    fixture_commit_all(&f);
    assert_int_equal(tree_n_ephemerals(f.server->tree), 0);
    assert_int_equal(f.server->proposer->prepare.pending.digest, tree_digest(f.server->tree));
    fixture_fini(&f);
}

static void an_expired_session_is_closed_by_the_server(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 4000);
    fixture_create(&f, c, "/e", "", CREATE_EPHEMERAL);
    fixture_advance(&f, 4000);
    assert_int_not_equal(tree_find(f.server->tree, bytes_str("/e")), 0);
    fixture_advance(&f, 2500);
    assert_int_equal(tree_find(f.server->tree, bytes_str("/e")), 0);
    assert_int_equal(tree_n_sessions(f.server->tree), 0);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_string_equal(fixture_trace(&f, c), "");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creates_are_checked_in_order),
        cmocka_unit_test(deletes_are_checked_in_order),
        cmocka_unit_test(changes_of_data_are_checked_in_order),
        cmocka_unit_test(changes_of_acls_are_checked_in_order),
        cmocka_unit_test(ttl_needs_its_flag_and_its_range),
        cmocka_unit_test(odd_paths_fare_as_recorded),
        cmocka_unit_test(writes_in_flight_see_each_other),
        cmocka_unit_test(a_refused_write_is_an_error_transaction_without_digest),
        cmocka_unit_test(a_counter_at_its_end_stays_there),
        cmocka_unit_test(the_operations_of_a_multi_see_those_before_them),
        cmocka_unit_test(a_failed_multi_leaves_nothing_behind),
        cmocka_unit_test(a_failed_multi_gives_back_what_others_have_in_flight),
        cmocka_unit_test(a_multi_that_would_not_fit_the_log_is_refused_as_a_whole),
        cmocka_unit_test(an_acl_that_would_not_fit_the_log_is_refused),
        cmocka_unit_test(a_closing_session_deletes_what_it_has_and_what_is_still_in_flight),
        cmocka_unit_test(a_closing_session_leaves_what_has_changed_hands),
        cmocka_unit_test(a_list_too_long_for_the_log_is_left_out),
        cmocka_unit_test(an_expired_session_is_closed_by_the_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
