/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that one member only knows, and members that serve readers while nobody leads. */
#include <stdlib.h>

#include "lib/ensemble_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

static bool has(const struct ensemble_node *n, const char *path)
{
    return tree_find(ensemble_node_server(n)->tree, bytes_str(path)) != 0;
}

/* Its outcome: what `c` has been sent since it was last looked at. */
static const char *ask(struct ensemble_node *n, struct connection *c, struct request q)
{
    n->fixture->next_xid = 0;
    ensemble_send(n, c, &q);
    ensemble_fixture_settle(n->fixture);
    return ensemble_trace(n, c);
}

static bool is_global(struct ensemble_fixture *f, int64_t session_id)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        if (!tree_session_get(ensemble_node_server(&f->nodes[i])->tree, session_id, NULL)) {
            return false;
        }
    }
    return true;
}

static size_t n_local(const struct ensemble_node *n)
{
    return ensemble_node_server(n)->sessions.n_local;
}

/* ---- local sessions ---- */

static void local_ensemble(struct ensemble_fixture *f, bool upgrade)
{
    struct server_options options = fixture_options();

    options.local_sessions = true;
    options.upgrade_sessions = upgrade;
    ensemble_fixture_init_with(f, 3, 1, &options);
    ensemble_fixture_elect(f);
}

static void a_local_session_costs_no_transaction_and_writes_everywhere(void **state)
{
    struct ensemble_fixture f;
    int64_t zxid;

    (void)state;
    local_ensemble(&f, false);
    zxid = ensemble_node_server(&f.nodes[0])->applied_zxid;
    for (size_t i = 0; i < f.n_nodes; i++) {
        struct connection *c = ensemble_client(&f.nodes[i], 10000);
        char path[] = {'/', (char)('a' + i), '\0'};

        assert_true(c->session->local);
        assert_int_equal(n_local(&f.nodes[i]), 1);
        assert_int_equal(ensemble_node_server(&f.nodes[i])->applied_zxid, zxid);
        assert_string_equal(ask(&f.nodes[i], c, fixture_create_request(path, "", 0)), "1 OK\n");
        assert_int_equal(ensemble_node_server(&f.nodes[i])->applied_zxid, ++zxid);
        assert_false(is_global(&f, c->session_id));
    }
    ensemble_fixture_fini(&f);
}

static void a_local_session_has_no_ephemeral_nodes(void **state)
{
    struct request get = fixture_path_request(OP_GET_DATA, "/a");
    struct request create = fixture_create_request("/a", "", 0);
    struct request ephemeral = fixture_create_request("/e", "", CREATE_EPHEMERAL);
    struct ensemble_fixture f;

    (void)state;
    local_ensemble(&f, false);
    for (size_t i = 0; i < f.n_nodes; i++) {
        struct ensemble_node *n = &f.nodes[i];
        struct connection *c = ensemble_client(n, 10000);

        assert_string_equal(ask(n, c, ephemeral), "1 EPHEMERAL_ON_LOCAL_SESSION\n");
        assert_false(has(n, "/e"));
        /* In its turn: behind what is in flight. */
        f.next_xid = 0;
        ensemble_send(n, c, &create);
        ensemble_send(n, c, &ephemeral);
        ensemble_send(n, c, &get);
        ensemble_fixture_settle(&f);
        assert_string_equal(ensemble_trace(n, c), i == 0 ? "1 OK\n2 EPHEMERAL_ON_LOCAL_SESSION\n"
                                                           "3 OK\n"
                                                         : "1 NODE_EXISTS\n2 EPHEMERAL_ON_LOCAL_"
                                                           "SESSION\n3 OK\n");
    }
    ensemble_fixture_fini(&f);
}

static void the_first_ephemeral_node_makes_a_session_everybodys(void **state)
{
    struct request ephemeral = fixture_create_request("/e", "", CREATE_EPHEMERAL);
    struct ensemble_fixture f;

    (void)state;
    local_ensemble(&f, true);
    for (size_t i = 0; i < f.n_nodes; i++) {
        struct ensemble_node *n = &f.nodes[i];
        struct connection *c = ensemble_client(n, 10000);
        int64_t zxid = ensemble_node_server(n)->applied_zxid;

        assert_string_equal(ask(n, c, ephemeral), "1 OK\n");
        assert_int_equal(ensemble_node_server(n)->applied_zxid, zxid + 2);
        assert_false(c->session->local);
        assert_int_equal(n_local(n), 0);
        assert_true(is_global(&f, c->session_id));
        assert_string_equal(ask(n, c, fixture_create_request("/e2", "", CREATE_EPHEMERAL)),
                            "1 OK\n");
        assert_int_equal(ensemble_node_server(n)->applied_zxid, zxid + 3);
        ask(n, c, (struct request){.type = OP_CLOSE_SESSION});
        assert_false(has(n, "/e"));
        assert_false(is_global(&f, c->session_id));
    }
    ensemble_fixture_fini(&f);
}

static const uint8_t multi_with_ephemeral[] = "\0\0\0\1\0\xff\xff\xff\xff"
                                              "\0\0\0\2/m\0\0\0\0"
                                              "\0\0\0\1\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone"
                                              "\0\0\0\1"
                                              "\xff\xff\xff\xff\1\xff\xff\xff\xff";

/* By the operation, not by the request; the leader cannot tell a learner's local session from one
 * that is gone. */
static void an_ephemeral_node_inside_a_multi_counts(void **state)
{
    struct request q = {.type = OP_MULTI,
                        .multi = bytes_of(multi_with_ephemeral, sizeof(multi_with_ephemeral) - 1)};

    (void)state;
    for (int upgrade = 0; upgrade < 2; upgrade++) {
        struct ensemble_fixture f;

        local_ensemble(&f, upgrade != 0);
        for (size_t i = 0; i < 3; i++) {
            struct connection *c = ensemble_client(&f.nodes[i], 10000);

            assert_string_equal(ask(&f.nodes[i], c, q), "1 OK\n");
            assert_int_equal(c->session->local, upgrade == 0);
            assert_int_equal(has(&f.nodes[i], "/m"), upgrade);
            ask(&f.nodes[i], c, (struct request){.type = OP_CLOSE_SESSION});
            assert_false(has(&f.nodes[i], "/m"));
        }
        ensemble_fixture_fini(&f);
    }
}

static void a_local_session_ends_where_it_is(void **state)
{
    struct ensemble_fixture f;
    int64_t zxid;

    (void)state;
    local_ensemble(&f, false);
    zxid = ensemble_node_server(&f.nodes[0])->applied_zxid;
    for (size_t i = 0; i < f.n_nodes; i++) {
        struct ensemble_node *n = &f.nodes[i];
        struct connection *closing = ensemble_client(n, 4000);
        struct connection *silent = ensemble_client(n, 4000);
        struct connection *alive = ensemble_client(n, 4000);

        assert_string_equal(ask(n, closing, (struct request){.type = OP_CLOSE_SESSION}), "1 OK\n");
        assert_int_equal(closing->state, CONNECTION_CLOSING);
        assert_int_equal(n_local(n), 2);
        for (int k = 0; k < 12; k++) {
            ensemble_fixture_pass(&f, 1000);
            ask(n, alive, (struct request){.type = OP_PING});
        }
        assert_int_equal(silent->state, CONNECTION_CLOSING);
        assert_int_equal(alive->state, CONNECTION_SERVING);
        assert_int_equal(n_local(n), 1);
        assert_int_equal(ensemble_node_server(n)->applied_zxid, zxid);
    }
    ensemble_fixture_fini(&f);
}

static void a_local_session_is_resumed_where_it_is_only(void **state)
{
    struct ensemble_fixture f;

    (void)state;
    local_ensemble(&f, false);
    for (size_t i = 0; i < 3; i++) {
        struct connection *c = ensemble_client(&f.nodes[i], 10000);
        int64_t id = c->session_id;

        for (size_t k = 0; k < 3; k++) { /* the leader is among those asked, and those who ask */
            c = ensemble_resume(&f.nodes[k], id, 10000);
            ensemble_fixture_settle(&f);
            assert_int_equal(c->state, k == i ? CONNECTION_SERVING : CONNECTION_CLOSING);
        }
    }
    ensemble_fixture_fini(&f);
}

static void an_upgraded_session_is_resumed_everywhere(void **state)
{
    struct request ephemeral = fixture_create_request("/e", "", CREATE_EPHEMERAL);
    struct ensemble_fixture f;
    struct connection *c;
    int64_t id;

    (void)state;
    local_ensemble(&f, true);
    c = ensemble_client(ensemble_fixture_follower(&f), 4000);
    id = c->session_id;
    ask(ensemble_fixture_follower(&f), c, ephemeral);
    for (size_t i = 0; i < 3; i++) {
        c = ensemble_resume(&f.nodes[i], id, 4000);
        ensemble_fixture_settle(&f);
        assert_int_equal(c->state, CONNECTION_SERVING);
    }
    for (int i = 0; i < 12; i++) { /* silent now: the leader ends it */
        ensemble_fixture_pass(&f, 1000);
    }
    assert_false(has(&f.nodes[0], "/e"));
    assert_false(is_global(&f, id));
    ensemble_fixture_fini(&f);
}

/* A leader that has no local sessions itself knows all that there are. */
static void without_local_sessions_an_unknown_one_is_expired(void **state)
{
    struct server_options options = fixture_options();
    struct ensemble_node *follower;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    ensemble_fixture_init_with(&f, 3, 0, &options);
    ensemble_fixture_elect(&f);
    follower = ensemble_fixture_follower(&f);
    ensemble_node_server(follower)->options.local_sessions = true;
    c = ensemble_client(follower, 10000);
    assert_string_equal(ask(follower, c, fixture_create_request("/a", "", 0)),
                        "1 SESSION_EXPIRED\n");
    ensemble_fixture_fini(&f);
}

/* ---- read-only ---- */

/* Two of three are gone. */
static struct ensemble_node *cut_off(struct ensemble_fixture *f, bool enabled)
{
    struct server_options options = fixture_options();
    struct connection *c;

    options.read_only_mode = enabled;
    ensemble_fixture_init_with(f, 3, 0, &options);
    ensemble_fixture_elect(f);
    c = ensemble_client(&f->nodes[0], 10000);
    ask(&f->nodes[0], c, fixture_create_request("/a", "", 0));
    ensemble_fixture_pass(f, 1000);
    ensemble_node_crash(&f->nodes[1]);
    ensemble_node_crash(&f->nodes[2]);
    ensemble_fixture_settle(f);
    return &f->nodes[0];
}

static void wait_for_read_only(struct ensemble_node *n)
{
    for (int i = 0; i < 200 && ensemble_node_server(n)->role->kind != ROLE_READ_ONLY; i++) {
        ensemble_fixture_pass(n->fixture, 100);
    }
    assert_int_equal(ensemble_node_server(n)->role->kind, ROLE_READ_ONLY);
}

static void who_finds_no_leader_serves_readers_after_a_while(void **state)
{
    struct ensemble_fixture f;
    struct ensemble_node *n;
    struct connection *c;
    int waited_ms = 0;

    (void)state;
    n = cut_off(&f, true);
    f.read_only_clients = true;
    while (ensemble_node_server(n)->role->kind != ROLE_READ_ONLY) {
        ensemble_fixture_pass(&f, 100);
        waited_ms += 100;
        assert_true(waited_ms < 30000);
    }
    assert_true(waited_ms >= 2000);
    c = ensemble_client(n, 10000);
    assert_string_equal(ask(n, c, fixture_path_request(OP_GET_DATA, "/a")), "1 OK\n");
    assert_string_equal(ask(n, c, (struct request){.type = OP_PING}), "-2 OK\n");
    f.read_only_clients = false;
    c = ensemble_resume(n, 0, 10000);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_string_equal(ensemble_trace(n, c), "");
    ensemble_fixture_fini(&f);
}

static void without_the_key_nobody_is_served(void **state)
{
    struct ensemble_fixture f;
    struct ensemble_node *n;

    (void)state;
    n = cut_off(&f, false);
    for (int i = 0; i < 100; i++) {
        ensemble_fixture_pass(&f, 100);
    }
    assert_int_equal(ensemble_node_server(n)->role->kind, ROLE_NONE);
    ensemble_fixture_fini(&f);
}

static void a_reader_cannot_write(void **state)
{
    static const int32_t refused[] = {OP_CREATE, OP_CREATE2,  OP_DELETE, OP_SET_DATA, OP_SET_ACL,
                                      OP_MULTI,  OP_RECONFIG, OP_SYNC,   OP_CHECK};
    struct ensemble_fixture f;
    struct ensemble_node *n;
    struct connection *c;
    int64_t zxid;

    (void)state;
    n = cut_off(&f, true);
    wait_for_read_only(n);
    f.read_only_clients = true;
    zxid = ensemble_node_server(n)->applied_zxid;
    c = ensemble_client(n, 10000);
    for (size_t i = 0; i < TEST_COUNT(refused); i++) {
        struct request q = fixture_create_request("/b", "", CREATE_EPHEMERAL);

        q.type = refused[i];
        assert_string_equal(ask(n, c, q), "1 NOT_READ_ONLY\n");
    }
    assert_string_equal(ask(n, c, (struct request){.type = OP_CLOSE_SESSION}), "1 OK\n");
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_int_equal(ensemble_node_server(n)->applied_zxid, zxid);
    ensemble_fixture_fini(&f);
}

static void a_session_of_the_ensemble_waits_for_a_leader(void **state)
{
    struct ensemble_fixture f;
    struct ensemble_node *n;
    struct connection *c;
    int64_t of_all, of_here;

    (void)state;
    n = cut_off(&f, true);
    f.read_only_clients = true;
    of_all = ensemble_node_server(n)->sessions.next_id - 1;
    assert_true(tree_session_get(ensemble_node_server(n)->tree, of_all, NULL));
    wait_for_read_only(n);
    c = ensemble_resume(n, of_all, 10000);
    assert_int_equal(c->state, CONNECTION_CLOSING); /* without a word: it may still live */
    assert_int_equal(connection_unread(c), 0);
    c = ensemble_client(n, 10000);
    of_here = c->session_id;
    c = ensemble_resume(n, of_here, 10000);
    assert_int_equal(c->state, CONNECTION_SERVING);
    c = ensemble_resume(n, 0x1234, 10000);
    assert_int_equal(c->state, CONNECTION_CLOSING); /* refused: of this one nothing is known */
    assert_true(connection_unread(c) > 0);
    ensemble_fixture_fini(&f);
}

static void readers_are_closed_when_there_is_a_leader(void **state)
{
    struct ensemble_fixture f;
    struct ensemble_node *n;
    struct connection *c, *resumed;

    (void)state;
    n = cut_off(&f, true);
    wait_for_read_only(n);
    f.read_only_clients = true;
    c = ensemble_client(n, 10000);
    ensemble_node_start(&f.nodes[1]);
    ensemble_fixture_elect(&f);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_int_not_equal(ensemble_node_server(n)->role->kind, ROLE_READ_ONLY);
    resumed = ensemble_resume(n, c->session_id, 10000);
    ensemble_fixture_settle(&f);
    assert_int_equal(resumed->state, CONNECTION_CLOSING); /* it was known here only, for a time */
    c = ensemble_client(n, 10000);
    assert_string_equal(ask(n, c, fixture_create_request("/b", "", CREATE_EPHEMERAL)), "1 OK\n");
    ensemble_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_session_costs_no_transaction_and_writes_everywhere),
        cmocka_unit_test(a_local_session_has_no_ephemeral_nodes),
        cmocka_unit_test(the_first_ephemeral_node_makes_a_session_everybodys),
        cmocka_unit_test(an_ephemeral_node_inside_a_multi_counts),
        cmocka_unit_test(a_local_session_ends_where_it_is),
        cmocka_unit_test(a_local_session_is_resumed_where_it_is_only),
        cmocka_unit_test(an_upgraded_session_is_resumed_everywhere),
        cmocka_unit_test(without_local_sessions_an_unknown_one_is_expired),
        cmocka_unit_test(who_finds_no_leader_serves_readers_after_a_while),
        cmocka_unit_test(without_the_key_nobody_is_served),
        cmocka_unit_test(a_reader_cannot_write),
        cmocka_unit_test(a_session_of_the_ensemble_waits_for_a_leader),
        cmocka_unit_test(readers_are_closed_when_there_is_a_leader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
