/* SPDX-License-Identifier: Apache-2.0 */
/* One member, whole, with a disk that is slow on purpose. */
#include <stdlib.h>

#include "base/memory.h"
#include "lib/member_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/acl_table.h"

/* ---- clients ---- */

static struct connection *join(struct member_fixture *f, int64_t session_id, int32_t timeout_ms)
{
    uint8_t password[PASSWORD_BYTES] = {0};
    struct connect_request r = {.timeout_ms = timeout_ms,
                                .session_id = session_id,
                                .password = bytes_of(password, PASSWORD_BYTES),
                                .has_read_only = true};
    struct connection *c = member_fixture_connect(f);
    struct strbuf frame;

    if (session_id != 0) {
        session_password(session_id, password);
    }
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &r);
    member_fixture_send(f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    return c;
}

/* A client whose session is there. */
static struct connection *client(struct member_fixture *f)
{
    struct connection *c = join(f, 0, 10000);

    member_fixture_durable(f, f->appended_zxid);
    assert_int_equal(c->state, CONNECTION_SERVING);
    member_fixture_read(f, c, SIZE_MAX);
    return c;
}

static void send_some(struct member_fixture *f, struct connection *c, const struct request *qs,
                      size_t n, int32_t first_xid)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        fixture_frame(&b, first_xid + (int32_t)i, &qs[i]);
    }
    member_fixture_send(f, c, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static void send_one(struct member_fixture *f, struct connection *c, struct request q, int32_t xid)
{
    send_some(f, c, &q, 1, xid);
}

/* The xids answered since the last time; events as "!". */
static const char *answered(struct member_fixture *f, struct connection *c, char *out)
{
    struct jute_reader r = jute_reader_of(strbuf_bytes(&c->out));

    jute_take(&r, c->out_at);
    out[0] = '\0';
    while (jute_left(&r) > 0) {
        struct jute_reader frame = jute_reader_of(jute_read_buffer(&r));
        struct reply_header h = reply_header_read(&frame);

        assert_true(h.zxid <= f->durable_zxid);
        if (h.xid == XID_EVENT) {
            strcat(out, "! ");
        } else {
            sprintf(out + strlen(out), "%d ", (int)h.xid);
        }
    }
    member_fixture_read(f, c, SIZE_MAX);
    return out;
}

/* ---- durability ---- */

static void a_session_is_there_when_it_is_on_disk(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;

    (void)state;
    member_fixture_init(&f, &o);
    c = join(&f, 0, 10000);
    assert_int_equal(f.appended_zxid, 1);
    member_fixture_tick(&f, 100);
    assert_int_equal(c->out.len, 0);
    member_fixture_durable(&f, 1);
    assert_int_equal(c->out.len, 41);
    member_fixture_fini(&f);
}

static void a_write_is_answered_when_it_is_on_disk_and_not_before(void **state)
{
    struct member_options o = member_fixture_options();
    struct request qs[] = {
        fixture_create_request("/a", "", 0), fixture_path_request(OP_GET_DATA, "/a"),
        fixture_path_request(OP_DELETE, "/missing"), fixture_set_request("/a", "x", -1),
        fixture_path_request(OP_GET_DATA, "/a")};
    struct member_fixture f;
    struct connection *c;
    char out[100];

    (void)state;
    member_fixture_init(&f, &o);
    c = client(&f);
    send_some(&f, c, qs, 5, 1);
    assert_int_equal(f.appended_zxid, 4);
    assert_string_equal(answered(&f, c, out), "");
    member_fixture_durable(&f, 1); /* nothing new */
    assert_string_equal(answered(&f, c, out), "");
    member_fixture_durable(&f, 2);
    assert_string_equal(answered(&f, c, out), "1 2 ");
    member_fixture_durable(&f, 4);
    assert_string_equal(answered(&f, c, out), "3 4 5 ");
    member_fixture_fini(&f);
}

static void nobody_sees_what_is_not_on_disk(void **state)
{
    struct member_options o = member_fixture_options();
    struct request get = fixture_path_request(OP_EXISTS, "/a");
    struct member_fixture f;
    struct connection *writer, *reader;
    char out[100];

    (void)state;
    member_fixture_init(&f, &o);
    writer = client(&f);
    reader = client(&f);
    get.watch = true;
    send_one(&f, writer, fixture_create_request("/a", "", 0), 1);
    send_one(&f, reader, get, 1);
    send_one(&f, reader, fixture_path_request(OP_SYNC, "/a"), 2);
    assert_string_equal(answered(&f, reader, out), "1 "); /* the sync waits for what is in flight */
    assert_int_equal(tree_find(member_server(f.member)->tree, bytes_str("/a")), 0);
    member_fixture_durable(&f, 3);
    assert_string_equal(answered(&f, reader, out), "! 2 ");
    member_fixture_fini(&f);
}

static void a_batch_is_answered_in_order_to_each_of_its_clients(void **state)
{
    struct member_options o = member_fixture_options();
    struct connection *clients[3];
    struct member_fixture f;
    char out[200];

    (void)state;
    member_fixture_init(&f, &o);
    for (int i = 0; i < 3; i++) {
        clients[i] = client(&f);
    }
    for (int32_t xid = 1; xid <= 10; xid++) {
        for (int i = 0; i < 3; i++) {
            send_one(&f, clients[i], fixture_set_request("/", "x", -1), xid);
        }
    }
    member_fixture_durable(&f, f.appended_zxid);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(answered(&f, clients[i], out), "1 2 3 4 5 6 7 8 9 10 ");
    }
    member_fixture_fini(&f);
}

/* ---- restart ---- */

static void what_was_answered_survives_a_restart_and_what_was_not_may_be_gone(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;
    struct tree *tree;
    int64_t id;

    (void)state;
    member_fixture_init(&f, &o);
    c = client(&f);
    id = c->session_id;
    send_one(&f, c, fixture_create_request("/kept", "", CREATE_EPHEMERAL), 1);
    member_fixture_durable(&f, 2);
    send_one(&f, c, fixture_create_request("/lost", "", 0), 2);
    member_fixture_restart(&f, &o);
    tree = member_server(f.member)->tree;
    assert_int_not_equal(tree_find(tree, bytes_str("/kept")), 0);
    assert_int_equal(tree_find(tree, bytes_str("/lost")), 0);
    c = join(&f, id, 10000);
    assert_int_equal(c->state, CONNECTION_SERVING);
    assert_int_equal(c->session_id, id);
    for (int i = 0; i < 30; i++) { /* nobody speaks for it any more */
        member_fixture_tick(&f, 500);
        member_fixture_durable(&f, f.appended_zxid);
    }
    assert_int_equal(tree_find(tree, bytes_str("/kept")), 0);
    member_fixture_fini(&f);
}

static void a_restarted_server_gives_every_session_its_full_time(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;
    int64_t id;

    (void)state;
    member_fixture_init(&f, &o);
    c = client(&f);
    id = c->session_id;
    for (int i = 0; i < 9; i++) {
        member_fixture_tick(&f, 1000);
    }
    member_fixture_restart(&f, &o);
    for (int i = 0; i < 9; i++) {
        member_fixture_tick(&f, 1000);
    }
    c = join(&f, id, 10000);
    assert_int_equal(c->state, CONNECTION_SERVING);
    member_fixture_fini(&f);
}

/* ---- snapshots ---- */

static void grow_tree(struct member_fixture *f, struct connection *c, int n)
{
    for (int i = 0; i < n; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/n%d%s", i % 40, i < 40 ? "" : "/x-");
        send_one(f, c, fixture_create_request(path, "some data", i < 40 ? 0 : CREATE_SEQUENTIAL),
                 i + 1);
        member_fixture_durable(f, f->appended_zxid);
    }
    member_fixture_read(f, c, SIZE_MAX);
}

/* Something happens to a node, wherever the walk is. */
static void change_something(struct member_fixture *f, struct connection *c, int i)
{
    char path[32];

    switch (i % 4) {
    case 0:
        snprintf(path, sizeof(path), "/n%d", i % 40);
        send_one(f, c, fixture_set_request(path, "changed", -1), i);
        break;
    case 1:
        snprintf(path, sizeof(path), "/n%d/x-", (i * 7) % 40);
        send_one(f, c, fixture_create_request(path, "later", CREATE_SEQUENTIAL), i);
        break;
    case 2:
        snprintf(path, sizeof(path), "/n%d/x-%010d", (i * 11) % 40, i % 60);
        send_one(f, c, fixture_path_request(OP_DELETE, path), i);
        break;
    default:
        snprintf(path, sizeof(path), "/e%d", i);
        send_one(f, c, fixture_create_request(path, "", CREATE_EPHEMERAL), i);
        break;
    }
}

static void a_snapshot_is_the_tree_at_one_moment_whatever_happens_meanwhile(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;
    char *before, *loaded;
    struct tree *tree;
    int n_slices = 0;

    (void)state;
    member_fixture_init(&f, &o);
    c = client(&f);
    grow_tree(&f, c, 3000);
    before = member_fixture_state(member_server(f.member)->tree);
    send_one(&f, c, fixture_create_request("/in-flight", "", 0), 1);
    member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT});
    assert_true(f.snapshot_begun);
    assert_int_equal(f.snapshot_zxid, f.durable_zxid);
    for (int i = 0; member_is_snapshotting(f.member); i++) {
        change_something(&f, c, i);
        if (i % 3 == 0) {
            member_fixture_durable(&f, f.appended_zxid);
        }
        if (i % 50 == 0) {
            member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT_SLICE});
            n_slices++;
        }
        member_fixture_read(&f, c, SIZE_MAX);
    }
    assert_true(n_slices > 3);
    tree = member_fixture_load_snapshot(&f);
    loaded = member_fixture_state(tree);
    assert_string_equal(loaded, before);
    free(before);
    free(loaded);
    tree_free(tree);
    member_fixture_fini(&f);
}

static void a_snapshot_comes_after_so_many_transactions_and_begins_a_log_file(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;
    struct tree *tree;

    (void)state;
    o.snap_count = 100;
    member_fixture_init(&f, &o);
    c = client(&f);
    for (int32_t i = 0; i < 101 && !f.snapshot_begun; i++) {
        send_one(&f, c, fixture_set_request("/", "x", -1), i);
        member_fixture_durable(&f, f.appended_zxid);
        assert_int_equal(f.n_rolls, 0);
    }
    assert_true(f.snapshot_begun);
    assert_in_range(f.appended_zxid, 50, 102);
    send_one(&f, c, fixture_set_request("/", "x", -1), 200);
    assert_int_equal(f.n_rolls, 1);
    while (member_is_snapshotting(f.member)) {
        member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT_SLICE});
    }
    tree = member_fixture_load_snapshot(&f);
    tree_free(tree);
    member_fixture_fini(&f);
}

static void while_one_snapshot_is_written_no_other_begins(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    int64_t first;

    (void)state;
    member_fixture_init(&f, &o);
    client(&f);
    member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT});
    first = f.snapshot_zxid;
    client(&f);
    member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT});
    assert_int_equal(f.snapshot_zxid, first);
    while (member_is_snapshotting(f.member)) {
        member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT_SLICE});
    }
    member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT});
    assert_false(member_is_snapshotting(f.member)); /* its file is not in place yet */
    tree_free(member_fixture_load_snapshot(&f));
    member_fixture_step(&f, &(struct member_input){.kind = MEMBER_SNAPSHOT});
    assert_true(member_is_snapshotting(f.member));
    member_fixture_fini(&f);
}

/* What is still on its way to the old file must not count as the size of the new one. */
static void a_log_that_is_too_large_is_rolled_once(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;
    int64_t old_file;

    (void)state;
    o.snap_size_bytes = 10000;
    member_fixture_init(&f, &o);
    c = client(&f);
    send_one(&f, c, fixture_set_request("/", "x", -1), 1);
    send_one(&f, c, fixture_set_request("/", "x", -1), 2);
    old_file = f.appended_zxid;
    f.log_bytes = 20000;
    member_fixture_durable(&f, old_file - 1);
    assert_true(f.snapshot_begun);
    send_one(&f, c, fixture_set_request("/", "x", -1), 3);
    assert_int_equal(f.n_rolls, 1);
    member_fixture_durable(&f, old_file); /* the old file, still */
    send_one(&f, c, fixture_set_request("/", "x", -1), 4);
    assert_int_equal(f.n_rolls, 1);
    f.log_bytes = 500;
    member_fixture_durable(&f, f.appended_zxid);
    send_one(&f, c, fixture_set_request("/", "x", -1), 5);
    assert_int_equal(f.n_rolls, 1);
    f.log_bytes = 20000;
    member_fixture_durable(&f, f.appended_zxid);
    send_one(&f, c, fixture_set_request("/", "x", -1), 6);
    assert_int_equal(f.n_rolls, 2);
    member_fixture_fini(&f);
}

/* ---- ephemerals of the dead ---- */

static void leave_dead_behind(struct tree *tree)
{
    struct bytes name;
    char text[16];

    tree_session_put(tree, 7, 4000);
    for (int i = 0; i < 300; i++) {
        struct stat_persisted s = {.czxid = 5,
                                   .ephemeral_owner = i % 150 == 0 ? 7 : 1000 + i % 150};

        snprintf(text, sizeof(text), "e%d", i);
        name = bytes_str(text);
        tree_add(tree, tree_find(tree, bytes_str("/")), name, BYTES_NULL, ACL_OPEN, &s);
    }
    /* No transaction makes a name with a NUL, but a file may hold one. */
    tree_add(tree, tree_find(tree, bytes_str("/")), bytes_of("a\0b", 3), BYTES_NULL, ACL_OPEN,
             &(struct stat_persisted){.ephemeral_owner = 9});
}

/* Every replica has to hear of it: the fixture's is one, and compares digests. */
static void ephemerals_of_dead_sessions_go_by_transaction(void **state)
{
    struct member_options o = member_fixture_options();
    struct member_fixture f;
    struct connection *c;

    (void)state;
    member_fixture_init_with(&f, &o, leave_dead_behind, 500);
    c = join(&f, 7, 4000); /* whose nodes stay */
    assert_int_equal(f.appended_zxid, 500 + 150);
    member_fixture_durable(&f, 500 + 149);
    assert_int_equal(c->state, CONNECTION_JOINING); /* it would see what should not be there */
    member_fixture_durable(&f, f.appended_zxid);
    assert_int_equal(tree_n_ephemerals(member_server(f.member)->tree), 3);
    assert_int_equal(tree_n_ephemerals(f.replica), 3);
    assert_int_equal(c->state, CONNECTION_SERVING);
    c = client(&f);
    assert_int_equal(f.appended_zxid, 500 + 151);
    member_fixture_fini(&f);
}

static void leave_nothing_behind(struct tree *tree)
{
    (void)tree;
}

/* Alone: the epoch is a number that nobody else has a say in. */
static void the_last_zxid_of_an_epoch_is_followed_by_the_first_of_the_next(void **state)
{
    struct member_options o = member_fixture_options();
    struct request q = fixture_create_request("/a", "", 0);
    struct member_fixture f;
    struct connection *c;

    (void)state;
    member_fixture_init_with(&f, &o, leave_nothing_behind, 0x1fffffffc);
    c = client(&f);
    assert_int_equal(f.appended_zxid, 0x1fffffffd);
    send_some(&f, c, &q, 1, 1);
    assert_int_equal(f.appended_zxid, 0x1fffffffe);
    q.path = bytes_str("/b");
    send_some(&f, c, &q, 1, 2); /* both in flight */
    assert_int_equal(f.appended_zxid, 0x200000001);
    assert_int_equal(server_outstanding(member_server(f.member)), 2);
    member_fixture_durable(&f, f.appended_zxid);
    assert_int_equal(server_outstanding(member_server(f.member)), 0);
    assert_int_equal(c->state, CONNECTION_SERVING);
    assert_true(tree_find(member_server(f.member)->tree, bytes_str("/b")) != 0);
    assert_int_equal(server_zxids_left(member_server(f.member)->applied_zxid), 0xfffffffd);
    member_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_zxid_of_an_epoch_is_followed_by_the_first_of_the_next),
        cmocka_unit_test(ephemerals_of_dead_sessions_go_by_transaction),
        cmocka_unit_test(a_session_is_there_when_it_is_on_disk),
        cmocka_unit_test(a_write_is_answered_when_it_is_on_disk_and_not_before),
        cmocka_unit_test(nobody_sees_what_is_not_on_disk),
        cmocka_unit_test(a_batch_is_answered_in_order_to_each_of_its_clients),
        cmocka_unit_test(what_was_answered_survives_a_restart_and_what_was_not_may_be_gone),
        cmocka_unit_test(a_restarted_server_gives_every_session_its_full_time),
        cmocka_unit_test(a_snapshot_is_the_tree_at_one_moment_whatever_happens_meanwhile),
        cmocka_unit_test(a_snapshot_comes_after_so_many_transactions_and_begins_a_log_file),
        cmocka_unit_test(while_one_snapshot_is_written_no_other_begins),
        cmocka_unit_test(a_log_that_is_too_large_is_rolled_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
