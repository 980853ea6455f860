/* SPDX-License-Identifier: Apache-2.0 */
#include "server/watch.h"

#include <time.h>

#include <stdlib.h>

#include "base/prng.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/acl_table.h"
#include "wire/path.h"

/* One who watches, another who writes. */
struct pair {
    struct server_fixture f;
    struct connection *watcher, *writer;
};

static void begin(struct pair *p)
{
    fixture_init(&p->f, NULL);
    p->watcher = fixture_client(&p->f, 10000);
    p->writer = fixture_client(&p->f, 10000);
    fixture_create(&p->f, p->writer, "/a", "", 0); /* zxid 3 */
}

static int add_watch(struct pair *p, const char *path, int32_t mode)
{
    struct request q = {.type = OP_ADD_WATCH, .path = bytes_str(path), .watch_type = mode};

    return fixture_request(&p->f, p->watcher, &q, NULL).err;
}

static int remove_watch(struct pair *p, int32_t op, const char *path, int32_t type)
{
    struct request q = {.type = op, .path = bytes_str(path), .watch_type = type};

    return fixture_request(&p->f, p->watcher, &q, NULL).err;
}

static const char *events(struct pair *p)
{
    return fixture_trace(&p->f, p->watcher);
}

/* ---- which change fires what ---- */

static void a_data_watch_fires_once_for_a_change_or_the_end(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    fixture_get(&p.f, p.watcher, "/a", true);
    fixture_create(&p.f, p.writer, "/a/child", "", 0);
    assert_string_equal(events(&p), "");
    fixture_set(&p.f, p.writer, "/a", "1");
    fixture_set(&p.f, p.writer, "/a", "2");
    assert_string_equal(events(&p), "changed /a @5\n");
    fixture_get(&p.f, p.watcher, "/a", true);
    fixture_delete(&p.f, p.writer, "/a/child");
    fixture_delete(&p.f, p.writer, "/a");
    assert_string_equal(events(&p), "deleted /a @8\n");
    assert_int_equal(watch_count(&p.f.server->watches), 0);
    fixture_fini(&p.f);
}

static void a_watch_on_a_missing_node_fires_when_it_is_made(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    assert_int_equal(fixture_exists(&p.f, p.watcher, "/new", true), PAWL_ERR_NO_NODE);
    assert_int_equal(fixture_get(&p.f, p.watcher, "/other", true), PAWL_ERR_NO_NODE);
    fixture_create(&p.f, p.writer, "/other", "", 0); /* a read that failed sets no watch */
    fixture_create(&p.f, p.writer, "/new", "", 0);
    assert_string_equal(events(&p), "created /new @5\n");
    fixture_fini(&p.f);
}

static void a_child_watch_fires_for_children_and_the_end(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    fixture_children(&p.f, p.watcher, "/a", true);
    fixture_set(&p.f, p.writer, "/a", "1");
    assert_string_equal(events(&p), "");
    fixture_create(&p.f, p.writer, "/a/b", "", 0);
    fixture_create(&p.f, p.writer, "/a/c", "", 0);
    assert_string_equal(events(&p), "children /a @5\n");
    fixture_children(&p.f, p.watcher, "/a", true);
    fixture_delete(&p.f, p.writer, "/a/b");
    assert_string_equal(events(&p), "children /a @7\n");
    fixture_delete(&p.f, p.writer, "/a/c");
    fixture_children(&p.f, p.watcher, "/a", true);
    fixture_delete(&p.f, p.writer, "/a");
    assert_string_equal(events(&p), "deleted /a @9\n");
    fixture_fini(&p.f);
}

static void the_end_of_a_node_is_told_once_and_before_its_parent(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    fixture_get(&p.f, p.watcher, "/a", true);
    fixture_children(&p.f, p.watcher, "/a", true);
    fixture_children(&p.f, p.watcher, "/", true);
    add_watch(&p, "/a", 0);
    add_watch(&p, "/a", 1);
    add_watch(&p, "/", 1);
    fixture_delete(&p.f, p.writer, "/a");
    assert_string_equal(events(&p), "deleted /a @4\nchildren / @4\n");
    fixture_fini(&p.f);
}

static void a_persistent_watch_stays_and_hears_of_children(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    assert_int_equal(add_watch(&p, "/a", 0), PAWL_OK);
    fixture_set(&p.f, p.writer, "/a", "1");
    fixture_create(&p.f, p.writer, "/a/b", "", 0);
    fixture_set(&p.f, p.writer, "/a/b", "1");
    fixture_delete(&p.f, p.writer, "/a/b");
    fixture_delete(&p.f, p.writer, "/a");
    fixture_create(&p.f, p.writer, "/a", "", 0);
    assert_string_equal(events(&p), "changed /a @4\n"
                                    "children /a @5\n"
                                    "children /a @7\n"
                                    "deleted /a @8\n"
                                    "created /a @9\n");
    fixture_fini(&p.f);
}

static void a_recursive_watch_hears_of_everything_below_but_no_children(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    assert_int_equal(add_watch(&p, "/a", 1), PAWL_OK);
    fixture_create(&p.f, p.writer, "/a/b", "", 0);
    fixture_create(&p.f, p.writer, "/a/b/c", "", 0);
    fixture_set(&p.f, p.writer, "/a/b/c", "1");
    fixture_delete(&p.f, p.writer, "/a/b/c");
    fixture_set(&p.f, p.writer, "/a", "1");
    fixture_create(&p.f, p.writer, "/ab", "", 0);
    assert_string_equal(events(&p), "created /a/b @4\n"
                                    "created /a/b/c @5\n"
                                    "changed /a/b/c @6\n"
                                    "deleted /a/b/c @7\n"
                                    "changed /a @8\n");
    fixture_fini(&p.f);
}

static void an_acl_change_fires_nothing(void **state)
{
    struct request q = {
        .type = OP_SET_ACL, .path = bytes_str("/a"), .acl = fixture_open_acl, .version = -1};
    struct pair p;

    (void)state;
    begin(&p);
    add_watch(&p, "/a", 0);
    add_watch(&p, "/", 1);
    assert_int_equal(fixture_request(&p.f, p.writer, &q, NULL).err, PAWL_OK);
    assert_string_equal(events(&p), "");
    fixture_fini(&p.f);
}

static void closing_a_session_tells_of_each_of_its_ephemerals(void **state)
{
    struct request close = {.type = OP_CLOSE_SESSION};
    const char *seen;
    struct pair p;

    (void)state;
    begin(&p);
    fixture_create(&p.f, p.writer, "/a/e", "", CREATE_EPHEMERAL);
    fixture_exists(&p.f, p.watcher, "/a/e", true);
    fixture_children(&p.f, p.watcher, "/a", true);
    fixture_request(&p.f, p.writer, &close, NULL);
    seen = events(&p);
    assert_string_equal(seen, "deleted /a/e @5\nchildren /a @5\n");
    fixture_fini(&p.f);
}

/* ---- multi ---- */

static void put(struct strbuf *ops, struct request q)
{
    multi_header_write(ops, &(struct multi_header){q.type, false, -1});
    request_write(ops, op_find(q.type), &q);
}

static void multi(struct pair *p, struct strbuf *ops)
{
    struct request q = {.type = OP_MULTI};

    multi_header_write(ops, &(struct multi_header){-1, true, -1});
    q.multi = strbuf_bytes(ops);
    assert_int_equal(fixture_request(&p->f, p->writer, &q, NULL).err, PAWL_OK);
    strbuf_fini(ops);
}

static void a_multi_fires_in_the_order_of_its_operations_and_a_failed_one_not(void **state)
{
    struct strbuf ops;
    struct pair p;

    (void)state;
    begin(&p);
    fixture_get(&p.f, p.watcher, "/a", true);
    add_watch(&p, "/b", 0);
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    put(&ops, fixture_set_request("/a", "1", -1));
    put(&ops, fixture_path_request(OP_DELETE, "/missing"));
    multi(&p, &ops);
    assert_string_equal(events(&p), "");
    strbuf_init(&ops, STRBUF_NO_LIMIT);
    put(&ops, fixture_create_request("/b", "", 0));
    put(&ops, fixture_set_request("/a", "1", -1));
    put(&ops, fixture_set_request("/a", "2", -1));
    put(&ops, fixture_path_request(OP_DELETE, "/b"));
    multi(&p, &ops);
    assert_string_equal(events(&p), "created /b @5\nchanged /a @5\ndeleted /b @5\n");
    fixture_fini(&p.f);
}

/* ---- removal ---- */

static void the_kinds_on_one_path_are_independent_of_each_other(void **state)
{
    enum { CHILDREN = 1, DATA, ANY, PERSISTENT, RECURSIVE };
    struct pair p;

    (void)state;
    begin(&p);
    fixture_get(&p.f, p.watcher, "/a", true);
    fixture_children(&p.f, p.watcher, "/a", true);
    add_watch(&p, "/a", 0);
    add_watch(&p, "/a", 1);
    assert_int_equal(watch_count(&p.f.server->watches), 4);
    for (int type = CHILDREN; type <= RECURSIVE; type++) {
        if (type == ANY) {
            continue;
        }
        assert_int_equal(remove_watch(&p, OP_CHECK_WATCHES, "/a", type), PAWL_OK);
        assert_int_equal(remove_watch(&p, OP_REMOVE_WATCHES, "/a", type), PAWL_OK);
        assert_int_equal(remove_watch(&p, OP_CHECK_WATCHES, "/a", type), PAWL_ERR_NO_WATCHER);
        assert_int_equal(remove_watch(&p, OP_REMOVE_WATCHES, "/a", type), PAWL_ERR_NO_WATCHER);
    }
    assert_int_equal(remove_watch(&p, OP_REMOVE_WATCHES, "/a", ANY), PAWL_ERR_NO_WATCHER);
    assert_int_equal(remove_watch(&p, OP_REMOVE_WATCHES, "/a", 6), PAWL_ERR_MARSHALLING);
    assert_int_equal(add_watch(&p, "/a", 2), PAWL_ERR_MARSHALLING);
    add_watch(&p, "/", 1);
    assert_int_equal(remove_watch(&p, OP_CHECK_WATCHES, "/a", ANY), PAWL_ERR_NO_WATCHER);
    fixture_fini(&p.f);
}

static void watches_go_with_their_connection(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    fixture_get(&p.f, p.watcher, "/a", true);
    fixture_get(&p.f, p.writer, "/a", true);
    add_watch(&p, "/", 1);
    server_disconnect(p.f.server, p.watcher);
    assert_int_equal(watch_count(&p.f.server->watches), 1);
    assert_int_equal(p.f.server->watches.n_recursive, 0);
    fixture_set(&p.f, p.writer, "/a", "1");
    assert_int_equal(p.f.server->watches.paths.count, 0);
    fixture_fini(&p.f);
}

/* ---- permissions ---- */

static void who_may_not_read_hears_nothing_and_its_watch_is_spent(void **state)
{
    static const uint8_t nobody[] = "\0\0\0\1\0\0\0\x1f\0\0\0\6digest\0\0\0\3x:y";
    struct request lock = {.type = OP_SET_ACL, .path = bytes_str("/a"), .version = -1};
    struct pair p;

    (void)state;
    begin(&p);
    fixture_get(&p.f, p.watcher, "/a", true);
    add_watch(&p, "/", 1);
    lock.acl = (struct acl_list){1, bytes_of(nobody + 4, sizeof(nobody) - 5)};
    assert_int_equal(fixture_request(&p.f, p.writer, &lock, NULL).err, PAWL_OK);
    fixture_delete(&p.f, p.writer, "/a"); /* by the rights on its parent */
    fixture_create(&p.f, p.writer, "/a", "", 0);
    assert_string_equal(events(&p), "created /a @6\n");
    assert_int_equal(watch_count(&p.f.server->watches), 1);
    fixture_fini(&p.f);
}

/* ---- setWatches ---- */

static void append_list(struct strbuf *b, const char *path)
{
    jute_write_int(b, path == NULL ? 0 : 1);
    if (path != NULL) {
        jute_write_str(b, path);
    }
}

/* One path in one list; what came of it. */
static const char *catch_up(struct pair *p, int list, const char *path, int64_t seen)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, 0);
    jute_write_int(&b, XID_SET_WATCHES);
    jute_write_int(&b, OP_SET_WATCHES2);
    jute_write_long(&b, seen);
    for (int i = 0; i < 5; i++) {
        append_list(&b, i == list ? path : NULL);
    }
    jute_patch_int(&b, 0, (int32_t)b.len - 4);
    fixture_send(&p->f, p->watcher, strbuf_bytes(&b));
    strbuf_fini(&b);
    return events(p);
}

static void a_returning_client_is_told_what_it_missed_or_armed(void **state)
{
    static const struct {
        int list;
        const char *path;
        int64_t seen;
        const char *events;
        unsigned kinds;
    } rows[] = {
        /* /a: mzxid 3, pzxid 4 */
        {0, "/gone", 9, "deleted /gone @-1\n-8 OK @4\n", 0},
        {0, "/a", 2, "changed /a @-1\n-8 OK @4\n", 0},
        {0, "/a", 3, "-8 OK @4\n", WATCH_DATA},
        {1, "/gone", 9, "-8 OK @4\n", WATCH_DATA},
        {1, "/a", 9, "created /a @-1\n-8 OK @4\n", 0},
        {2, "/gone", 9, "deleted /gone @-1\n-8 OK @4\n", 0},
        {2, "/a", 3, "children /a @-1\n-8 OK @4\n", 0},
        {2, "/a", 4, "-8 OK @4\n", WATCH_CHILD},
        {3, "/a", 2, "created /a @3\nchildren /a @4\n-8 OK @4\n", WATCH_PERSISTENT},
        {3, "/gone", 0, "-8 OK @4\n", WATCH_PERSISTENT},
        {4, "/a", 2, "created /a @3\ncreated /a/b @4\n-8 OK @4\n", WATCH_RECURSIVE},
        {4, "/a", 3, "created /a/b @4\n-8 OK @4\n", WATCH_RECURSIVE},
        {4, "/gone", 0, "-8 OK @4\n", WATCH_RECURSIVE},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        struct pair p;

        begin(&p);
        fixture_create(&p.f, p.writer, "/a/b", "", 0);
        assert_string_equal(catch_up(&p, rows[i].list, rows[i].path, rows[i].seen), rows[i].events);
        assert_int_equal(watch_kinds(&p.f.server->watches, p.watcher, bytes_str(rows[i].path)),
                         rows[i].kinds);
        fixture_fini(&p.f);
    }
}

/* ---- random, against a model ---- */

enum { N_CLIENTS = 4, N_PATHS = 8 };
static const char *const paths[N_PATHS] = {"/",    "/a",     "/b",       "/a/a",
                                           "/a/b", "/a/a/a", "/a/a/a/a", "/aa"};

struct model {
    unsigned kinds[N_CLIENTS][N_PATHS];
};

/* The same rules, spelt out. */
static bool model_fire(struct model *m, int client, enum event_type type, int at)
{
    bool told = false;

    for (int i = 0; i < N_PATHS; i++) {
        unsigned *kinds = &m->kinds[client][i];
        bool above = path_is_within(bytes_str(paths[at]), bytes_str(paths[i]));
        unsigned reached = 0;

        if (i == at) {
            reached = type == EVENT_CHILDREN_CHANGED ? WATCH_CHILD | WATCH_PERSISTENT
                                                     : WATCH_DATA | WATCH_PERSISTENT;
            reached |= type == EVENT_DELETED ? WATCH_CHILD : 0u;
        }
        reached |= above && type != EVENT_CHILDREN_CHANGED ? WATCH_RECURSIVE : 0u;
        told = told || (*kinds & reached) != 0;
        *kinds &= ~(reached & (WATCH_DATA | WATCH_CHILD));
    }
    return told;
}

static void fire_both(struct server_fixture *f, struct connection **clients, struct model *m,
                      enum event_type type, int at)
{
    size_t n = watch_fire(&f->server->watches, type, bytes_str(paths[at]), 0, 9);

    for (int i = 0; i < N_CLIENTS; i++) {
        bool told = model_fire(m, i, type, at);

        assert_int_equal(strlen(fixture_trace(f, clients[i])) > 0, told);
        n -= told ? 1 : 0;
    }
    assert_int_equal(n, 0);
}

static void random_watches_fire_as_the_model_says(void **state)
{
    static const unsigned each[] = {WATCH_DATA, WATCH_CHILD, WATCH_PERSISTENT, WATCH_RECURSIVE};
    struct connection *clients[N_CLIENTS];
    struct model m = {{{0}}};
    struct server_fixture f;
    struct watch_table *t;
    struct prng r;

    (void)state;
    fixture_init(&f, NULL);
    t = &f.server->watches;
    prng_seed(&r, 1);
    for (int i = 0; i < N_CLIENTS; i++) {
        clients[i] = fixture_client(&f, 40000);
    }
    for (int step = 0; step < 30000; step++) {
        int i = (int)prng_below(&r, N_CLIENTS), at = (int)prng_below(&r, N_PATHS);
        unsigned kind = each[prng_below(&r, 4)];
        struct bytes path = bytes_str(paths[at]);

        switch (prng_below(&r, 8)) {
        case 0:
            fire_both(&f, clients, &m, (enum event_type)(1 + prng_below(&r, 4)), at);
            break;
        case 1:
            assert_int_equal(watch_remove(t, clients[i], path, kind), (m.kinds[i][at] & kind) != 0);
            m.kinds[i][at] &= ~kind;
            break;
        default:
            watch_add(t, clients[i], path, kind);
            m.kinds[i][at] |= kind;
            break;
        }
        assert_int_equal(watch_kinds(t, clients[i], path), m.kinds[i][at]);
    }
    for (int i = 0; i < N_CLIENTS; i++) {
        watch_remove_all(t, clients[i]);
    }
    assert_int_equal(watch_count(t), 0);
    assert_int_equal(t->n_recursive, 0);
    assert_int_equal(t->paths.count, 0);
    fixture_fini(&f);
}

/* Half a million components: one walk over the path, or minutes. */
static void the_depth_of_a_path_costs_no_more_than_its_length(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf path;
    clock_t began;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 40000);
    watch_add(&f.server->watches, c, bytes_str("/"), WATCH_RECURSIVE);
    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (int i = 0; i < 500000; i++) {
        strbuf_append_str(&path, "/a");
    }
    began = clock();
    assert_int_equal(
        watch_fire(&f.server->watches, EVENT_CREATED, strbuf_bytes(&path), ACL_OPEN, 7), 1);
    assert_true(clock() - began < 10 * CLOCKS_PER_SEC);
    strbuf_fini(&path);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_data_watch_fires_once_for_a_change_or_the_end),
        cmocka_unit_test(a_watch_on_a_missing_node_fires_when_it_is_made),
        cmocka_unit_test(a_child_watch_fires_for_children_and_the_end),
        cmocka_unit_test(the_end_of_a_node_is_told_once_and_before_its_parent),
        cmocka_unit_test(a_persistent_watch_stays_and_hears_of_children),
        cmocka_unit_test(a_recursive_watch_hears_of_everything_below_but_no_children),
        cmocka_unit_test(an_acl_change_fires_nothing),
        cmocka_unit_test(closing_a_session_tells_of_each_of_its_ephemerals),
        cmocka_unit_test(a_multi_fires_in_the_order_of_its_operations_and_a_failed_one_not),
        cmocka_unit_test(the_kinds_on_one_path_are_independent_of_each_other),
        cmocka_unit_test(watches_go_with_their_connection),
        cmocka_unit_test(who_may_not_read_hears_nothing_and_its_watch_is_spent),
        cmocka_unit_test(a_returning_client_is_told_what_it_missed_or_armed),
        cmocka_unit_test(random_watches_fire_as_the_model_says),
        cmocka_unit_test(the_depth_of_a_path_costs_no_more_than_its_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
