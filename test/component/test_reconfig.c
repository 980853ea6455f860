/* SPDX-License-Identifier: Apache-2.0 */
/* The list of members changes: what clients are answered, and what everybody has then. */
#include <stdlib.h>

#include "base/memory.h"
#include "lib/ensemble_fixture.h"
#include "lib/member_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "member/member_internal.h"
#include "pawl/error.h"

static void start(struct ensemble_fixture *f, size_t n_voters, size_t n_observers)
{
    struct server_options options = fixture_options();

    options.reconfig_enabled = true;
    options.auth.skip_acl = true;
    ensemble_fixture_init_with(f, n_voters, n_observers, &options);
    ensemble_fixture_elect(f);
}

static struct request reconfig(const char *joining, const char *leaving)
{
    return (struct request){.type = OP_RECONFIG,
                            .joining = joining == NULL ? BYTES_NULL : bytes_str(joining),
                            .leaving = leaving == NULL ? BYTES_NULL : bytes_str(leaving),
                            .members = BYTES_NULL,
                            .config_id = -1};
}

static const char *ask(struct ensemble_node *n, struct connection *c, struct request q)
{
    n->fixture->next_xid = 0;
    ensemble_send(n, c, &q);
    ensemble_fixture_settle(n->fixture);
    return ensemble_trace(n, c);
}

/* That list is active everywhere, and in every tree. */
static void expect_voters(struct ensemble_fixture *f, size_t n_voters, int64_t version)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        const struct quorum_config *active = quorum_active_config(f->nodes[i].quorum);
        struct tree *tree = ensemble_node_server(&f->nodes[i])->tree;
        struct stat_record stat;
        struct strbuf text;

        strbuf_init(&text, STRBUF_NO_LIMIT);
        quorum_config_write(active, &text);
        assert_int_equal(active->n_voters, n_voters);
        assert_int_equal(active->version, version);
        assert_false(quorum_is_changing(f->nodes[i].quorum));
        tree_stat(tree, tree_find(tree, bytes_str("/zookeeper/config")), &stat);
        assert_int_equal(stat.mzxid, version);
        assert_int_equal(stat.version, -1);
        assert_true(bytes_equal(tree_data(tree, tree_find(tree, bytes_str("/zookeeper/config"))),
                                strbuf_bytes(&text)));
        strbuf_fini(&text);
    }
}

static int64_t applied(const struct ensemble_node *n)
{
    return ensemble_node_server(n)->applied_zxid;
}

static void a_list_is_asked_for_anywhere_and_found_everywhere(void **state)
{
    struct ensemble_node *leader, *observer;
    struct ensemble_fixture f;
    struct connection *a, *b;

    (void)state;
    start(&f, 3, 1);
    leader = ensemble_fixture_leader(&f);
    observer = &f.nodes[3];
    a = ensemble_client(leader, 10000);
    b = ensemble_client(observer, 10000);
    assert_string_equal(ask(leader, a, reconfig(NULL, "1")), "1 OK\n");
    expect_voters(&f, 2, applied(leader));
    assert_string_equal(ask(observer, b, reconfig("server.1=127.0.0.1:1:2;3", NULL)), "1 OK\n");
    expect_voters(&f, 3, applied(leader));
    ensemble_fixture_fini(&f);
}

static void a_watch_of_the_list_fires(void **state)
{
    struct request get = fixture_path_request(OP_GET_DATA, "/zookeeper/config");
    struct ensemble_node *leader, *follower;
    struct ensemble_fixture f;
    struct connection *a, *b;

    (void)state;
    start(&f, 3, 0);
    leader = ensemble_fixture_leader(&f);
    follower = ensemble_fixture_follower(&f);
    a = ensemble_client(leader, 10000);
    b = ensemble_client(follower, 10000);
    get.watch = true;
    assert_string_equal(ask(follower, b, get), "1 OK\n");
    assert_string_equal(ask(leader, a, reconfig(NULL, "9")), "1 OK\n");
    assert_string_equal(ensemble_trace(follower, b), "changed /zookeeper/config\n");
    ensemble_fixture_fini(&f);
}

/* Both are on their way before anything comes of the first. */
static void one_change_at_a_time(void **state)
{
    struct request first = reconfig(NULL, "1"), second = reconfig(NULL, "2");
    struct ensemble_node *leader;
    struct ensemble_fixture f;
    struct connection *c;

    (void)state;
    start(&f, 5, 0);
    leader = ensemble_fixture_leader(&f);
    c = ensemble_client(leader, 10000);
    f.next_xid = 0;
    ensemble_send(leader, c, &first);
    ensemble_send(leader, c, &second);
    ensemble_fixture_settle(&f);
    assert_string_equal(ensemble_trace(leader, c), "1 OK\n2 RECONFIG_IN_PROGRESS\n");
    assert_int_equal(quorum_active_config(leader->quorum)->n_voters, 4);
    assert_string_equal(ask(leader, c, reconfig(NULL, "2")), "1 OK\n");
    ensemble_fixture_fini(&f);
}

static void what_is_refused_changes_nothing(void **state)
{
    struct request wrong = reconfig(NULL, "1");
    struct ensemble_node *leader;
    struct ensemble_fixture f;
    struct connection *c;
    int64_t version;

    (void)state;
    start(&f, 3, 0);
    leader = ensemble_fixture_leader(&f);
    version = quorum_active_config(leader->quorum)->version;
    c = ensemble_client(leader, 10000);
    wrong.config_id = version + 1;
    assert_string_equal(ask(leader, c, wrong), "1 BAD_VERSION\n");
    assert_string_equal(ask(leader, c, reconfig("x", NULL)), "1 BAD_ARGUMENTS\n");
    assert_string_equal(ask(leader, c, reconfig(NULL, "1,2")), "1 BAD_ARGUMENTS\n");
    assert_string_equal(ask(leader, c, reconfig("7=a:1:2;3,8=b:1:2;3,9=c:1:2;3", NULL)),
                        "1 NEW_CONFIG_NO_QUORUM\n");
    ensemble_node_server(leader)->options.auth.skip_acl = false;
    assert_string_equal(ask(leader, c, reconfig(NULL, "1")), "1 NO_AUTH\n");
    expect_voters(&f, 3, version);
    ensemble_fixture_fini(&f);
}

static void who_leads_and_leaves_hands_over(void **state)
{
    struct ensemble_node *leader, *next;
    struct ensemble_fixture f;
    struct connection *c;
    char sid[24];

    (void)state;
    start(&f, 3, 0);
    leader = ensemble_fixture_leader(&f);
    c = ensemble_client(ensemble_fixture_follower(&f), 10000);
    snprintf(sid, sizeof(sid), "%d", (int)leader->sid);
    ask(ensemble_fixture_follower(&f), c, reconfig(NULL, sid));
    next = ensemble_fixture_elect(&f);
    assert_ptr_not_equal(next, leader);
    assert_int_equal(ensemble_node_server(leader)->role->kind, ROLE_FOLLOWER);
    assert_int_equal(quorum_active_config(leader->quorum)->n_voters, 2);
    ensemble_fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_asked_for_anywhere_and_found_everywhere),
        cmocka_unit_test(a_watch_of_the_list_fires),
        cmocka_unit_test(one_change_at_a_time),
        cmocka_unit_test(what_is_refused_changes_nothing),
        cmocka_unit_test(who_leads_and_leaves_hands_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
