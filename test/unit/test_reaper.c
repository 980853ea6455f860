/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reaper.h"

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

enum { MINUTE_MS = 60000 };

static struct connection *begin(struct server_fixture *f, const struct server_options *o)
{
    fixture_init(f, o);
    return fixture_client(f, 40000);
}

static void make(struct server_fixture *f, struct connection *c, int32_t op, const char *path,
                 int64_t ttl_ms)
{
    struct request q =
        fixture_create_request(path, "", op == OP_CREATE_TTL ? CREATE_TTL_FLAG : CREATE_PERSISTENT);

    q.type = op;
    q.ttl_ms = op == OP_CREATE_TTL ? ttl_ms : -1;
    assert_int_equal(fixture_request(f, c, &q, NULL).err, PAWL_OK);
}

static bool there(const struct server_fixture *f, const char *path)
{
    return tree_find(f->server->tree, bytes_str(path)) != 0;
}

/* Time passes, and the session lives on. */
static void wait(struct server_fixture *f, struct connection *c, int64_t ms)
{
    for (; ms > 0; ms -= 15000) {
        fixture_advance(f, ms < 15000 ? ms : 15000);
        assert_int_equal(fixture_ping(f, c), PAWL_OK);
    }
}

static void a_container_goes_when_its_last_child_has_gone(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, NULL);

    (void)state;
    make(&f, c, OP_CREATE_CONTAINER, "/used", 0);
    make(&f, c, OP_CREATE_CONTAINER, "/busy", 0);
    make(&f, c, OP_CREATE_CONTAINER, "/never", 0);
    fixture_create(&f, c, "/used/x", "", 0);
    fixture_create(&f, c, "/busy/x", "", 0);
    fixture_delete(&f, c, "/used/x");
    wait(&f, c, MINUTE_MS - 1000);
    assert_true(there(&f, "/used"));
    wait(&f, c, 2000);
    assert_false(there(&f, "/used"));
    assert_true(there(&f, "/busy"));
    wait(&f, c, 10 * MINUTE_MS);
    assert_true(there(&f, "/never"));
    fixture_fini(&f);
}

static void a_container_never_used_goes_only_if_asked_for(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.reap_never_used_ms = 300000;
    c = begin(&f, &o);
    make(&f, c, OP_CREATE_CONTAINER, "/never", 0);
    wait(&f, c, 4 * MINUTE_MS + 30000);
    assert_true(there(&f, "/never"));
    wait(&f, c, 2 * MINUTE_MS);
    assert_false(there(&f, "/never"));
    fixture_fini(&f);
}

static void a_ttl_node_goes_when_it_is_old_and_childless(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, NULL);

    (void)state;
    make(&f, c, OP_CREATE_TTL, "/short", 1000);
    make(&f, c, OP_CREATE_TTL, "/long", 100 * MINUTE_MS);
    make(&f, c, OP_CREATE_TTL, "/parent", 1000);
    make(&f, c, OP_CREATE_TTL, "/fresh", 50000);
    fixture_create(&f, c, "/parent/x", "", 0);
    wait(&f, c, 30000);
    fixture_set(&f, c, "/fresh", "new"); /* that counts from here */
    wait(&f, c, 32000);
    assert_false(there(&f, "/short"));
    assert_true(there(&f, "/long"));
    assert_true(there(&f, "/parent"));
    assert_true(there(&f, "/fresh"));
    fixture_delete(&f, c, "/parent/x");
    wait(&f, c, MINUTE_MS);
    assert_false(there(&f, "/parent"));
    assert_false(there(&f, "/fresh"));
    fixture_fini(&f);
}

static void nested_containers_go_one_scan_after_the_other(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, NULL);

    (void)state;
    make(&f, c, OP_CREATE_CONTAINER, "/a", 0);
    make(&f, c, OP_CREATE_CONTAINER, "/a/b", 0);
    fixture_create(&f, c, "/a/b/c", "", 0);
    fixture_delete(&f, c, "/a/b/c");
    wait(&f, c, MINUTE_MS + 2000);
    assert_false(there(&f, "/a/b"));
    assert_true(there(&f, "/a"));
    wait(&f, c, MINUTE_MS);
    assert_false(there(&f, "/a"));
    fixture_fini(&f);
}

static void a_child_made_in_time_saves_its_container(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.reap_per_minute = 60;
    c = begin(&f, &o);
    for (int i = 0; i < 2; i++) {
        make(&f, c, OP_CREATE_CONTAINER, i == 0 ? "/first" : "/second", 0);
        fixture_create(&f, c, i == 0 ? "/first/x" : "/second/x", "", 0);
        fixture_delete(&f, c, i == 0 ? "/first/x" : "/second/x");
    }
    wait(&f, c, MINUTE_MS); /* one of them has its turn, the other waits a second */
    assert_int_equal(there(&f, "/first") + there(&f, "/second"), 1);
    assert_int_equal(fixture_create(&f, c, there(&f, "/first") ? "/first/y" : "/second/y", "", 0),
                     PAWL_OK);
    wait(&f, c, 5000);
    assert_int_equal(there(&f, "/first") + there(&f, "/second"), 1);
    fixture_fini(&f);
}

/* Two are due; the one that has to wait for its turn, and is still there when this returns. */
static const char *the_one_that_waits(struct server_fixture *f, struct connection **c)
{
    struct server_options o = fixture_options();

    o.reap_per_minute = 60;
    *c = begin(f, &o);
    make(f, *c, OP_CREATE_TTL, "/first", 10);
    make(f, *c, OP_CREATE_TTL, "/second", 10);
    wait(f, *c, MINUTE_MS);
    assert_int_equal(there(f, "/first") + there(f, "/second"), 1);
    return there(f, "/first") ? "/first" : "/second";
}

static void a_plain_node_made_in_the_place_of_a_candidate_stays(void **state)
{
    struct server_fixture f;
    struct connection *c;
    const char *path = the_one_that_waits(&f, &c);

    (void)state;
    assert_int_equal(fixture_delete(&f, c, path), PAWL_OK);
    assert_int_equal(fixture_create(&f, c, path, "precious", 0), PAWL_OK);
    wait(&f, c, 5000);
    assert_true(there(&f, path));
    fixture_fini(&f);
}

static void a_candidate_that_was_refreshed_meanwhile_stays(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct request q;

    (void)state;
    c = begin(&f, NULL);
    make(&f, c, OP_CREATE_TTL, "/t", 10);
    wait(&f, c, MINUTE_MS - 1000);
    f.hold = true; /* the change is in flight when the search finds the old one */
    q = (struct request){.type = OP_SET_DATA, .path = bytes_str("/t"), .version = -1};
    fixture_advance(&f, 995);
    server_submit_own(f.server, &q, 0);
    fixture_advance(&f, 6);
    assert_int_equal(f.server->proposer->zxid - f.server->applied_zxid, 2); /* and the delete */
    f.hold = false;
    fixture_commit_all(&f);
    assert_true(there(&f, "/t"));
    wait(&f, c, MINUTE_MS + 1000);
    assert_false(there(&f, "/t"));
    fixture_fini(&f);
}

static void the_next_search_is_due_after_the_interval_and_only_for_something(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    o.reap_interval_ms = 1;
    c = begin(&f, &o);
    assert_true(reaper_next_us(f.server) == INT64_MAX);
    make(&f, c, OP_CREATE_TTL, "/t", 10);
    fixture_advance(&f, 5);
    assert_true(there(&f, "/t"));
    assert_true(reaper_next_us(f.server) <= f.server->now_us + 1000);
    fixture_advance(&f, 6);
    assert_false(there(&f, "/t"));
    assert_true(reaper_next_us(f.server) == INT64_MAX);
    fixture_fini(&f);
}

static void they_go_at_an_even_pace(void **state)
{
    struct server_options o = fixture_options();
    struct server_fixture f;
    struct connection *c;
    int64_t before;

    (void)state;
    o.reap_per_minute = 60;
    c = begin(&f, &o);
    for (int i = 0; i < 30; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/t%d", i);
        make(&f, c, OP_CREATE_TTL, path, 10);
    }
    wait(&f, c, MINUTE_MS);
    before = tree_count(f.server->tree);
    wait(&f, c, 10000);
    assert_in_range(before - tree_count(f.server->tree), 9, 11);
    wait(&f, c, 30000);
    assert_int_equal(tree_count(f.server->tree), 4);
    assert_int_equal(f.server->reaper.queue.capacity, 0);
    fixture_fini(&f);
}

static void it_is_nobodys_transaction(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, NULL);
    struct txn txn;

    (void)state;
    make(&f, c, OP_CREATE_TTL, "/t", 10);
    wait(&f, c, MINUTE_MS - 1000);
    f.hold = true;
    fixture_advance(&f, 2000);
    assert_true(fixture_in_flight(&f) > 0);
    txn = fixture_txn(&f, 0);
    assert_int_equal(txn.op.type, TXN_DELETE_CONTAINER);
    assert_str_view(txn.op.path, "/t");
    assert_int_equal(txn.header.client_id, 0);
    assert_int_equal(txn.header.cxid, 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_goes_when_its_last_child_has_gone),
        cmocka_unit_test(a_container_never_used_goes_only_if_asked_for),
        cmocka_unit_test(a_ttl_node_goes_when_it_is_old_and_childless),
        cmocka_unit_test(nested_containers_go_one_scan_after_the_other),
        cmocka_unit_test(a_child_made_in_time_saves_its_container),
        cmocka_unit_test(a_plain_node_made_in_the_place_of_a_candidate_stays),
        cmocka_unit_test(a_candidate_that_was_refreshed_meanwhile_stays),
        cmocka_unit_test(the_next_search_is_due_after_the_interval_and_only_for_something),
        cmocka_unit_test(they_go_at_an_even_pace),
        cmocka_unit_test(it_is_nobodys_transaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
