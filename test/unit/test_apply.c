/* SPDX-License-Identifier: Apache-2.0 */
#include "store/apply.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"
#include "store/acl_table.h"

/* A tree, and what apply says has changed in it. */
struct world {
    struct tree *tree;
    struct apply apply;
    struct strbuf changes;
    struct strbuf payload;
};

static void note_change(const struct change *change, void *arg)
{
    static const char *const names[] = {"+", "-", "="};
    struct world *w = arg;

    assert_true(acl_table_known(tree_acls(w->tree), change->acl));
    strbuf_printf(&w->changes, "%s%.*s ", names[change->kind], (int)change->path.len,
                  (const char *)change->path.data);
}

static void world_init(struct world *w)
{
    w->tree = tree_new(&(struct tree_options){.extended_types = true});
    tree_add_system_nodes(w->tree);
    w->apply = (struct apply){.tree = w->tree, .on_change = note_change, .arg = w};
    strbuf_init(&w->changes, STRBUF_NO_LIMIT);
    strbuf_init(&w->payload, STRBUF_NO_LIMIT);
}

static void world_fini(struct world *w)
{
    tree_check(w->tree);
    tree_free(w->tree);
    strbuf_fini(&w->changes);
    strbuf_fini(&w->payload);
}

static const char *changes(struct world *w)
{
    const char *text = strbuf_cstr(&w->changes);

    w->changes.len = 0;
    return text;
}

static const uint8_t open_acl[] = "\0\0\0\1\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone";
static const uint8_t ip_acl[] = "\0\0\0\1\0\0\0\1\0\0\0\2ip\0\0\0\7"
                                "1.2.3.4";

static struct acl_list acl_of(const uint8_t *encoded, size_t len)
{
    return (struct acl_list){1, bytes_of(encoded + 4, len - 4)};
}

static struct txn_op create_op(int32_t type, const char *path, int32_t parent_cversion)
{
    return (struct txn_op){.type = type,
                           .path = bytes_str(path),
                           .data = bytes_str("d"),
                           .acl = acl_of(open_acl, sizeof(open_acl) - 1),
                           .parent_cversion = parent_cversion,
                           .ttl_ms = 1500};
}

static int run(struct world *w, int64_t zxid, int64_t session, struct txn_op op,
               struct apply_result *out)
{
    struct txn_header h = {session, 1, zxid, 1000 + zxid, op.type};
    struct apply_result result = {.err = 1};
    struct txn txn;

    strbuf_clear(&w->payload);
    txn_header_write(&w->payload, &h);
    txn_op_write(&w->payload, &op);
    assert_int_equal(txn_read(strbuf_bytes(&w->payload), &txn), TXN_OK);
    apply_txn(&w->apply, &txn, &result, 1);
    if (out != NULL) {
        *out = result;
    }
    return result.err;
}

static int create(struct world *w, int64_t zxid, const char *path)
{
    return run(w, zxid, 7, create_op(TXN_CREATE, path, -1), NULL);
}

static int remove_node(struct world *w, int64_t zxid, const char *path)
{
    return run(w, zxid, 7, (struct txn_op){.type = TXN_DELETE, .path = bytes_str(path)}, NULL);
}

static struct stat_persisted stored(struct world *w, const char *path)
{
    znode_id id = tree_find(w->tree, bytes_str(path));
    struct stat_persisted s;

    assert_int_not_equal(id, 0);
    tree_persisted(w->tree, id, &s);
    return s;
}

/* Not memcmp: there is padding. */
static void assert_same_stat(const struct stat_persisted *a, const struct stat_persisted *b)
{
    struct strbuf x, y;

    strbuf_init(&x, STRBUF_NO_LIMIT);
    strbuf_init(&y, STRBUF_NO_LIMIT);
    stat_persisted_write(&x, a);
    stat_persisted_write(&y, b);
    assert_bytes_equal(strbuf_bytes(&x), strbuf_bytes(&y));
    strbuf_fini(&x);
    strbuf_fini(&y);
}

static bool exists(struct world *w, const char *path)
{
    return tree_find(w->tree, bytes_str(path)) != 0;
}

/* ---- what each transaction does ---- */

static void replay(struct bytes payload, void *arg)
{
    struct world *w = arg;
    struct txn txn;

    assert_int_equal(txn_read(payload, &txn), TXN_OK);
    apply_txn(&w->apply, &txn, NULL, 0);
}

static void check_recorded(struct bytes payload, void *arg)
{
    struct world *w = arg;
    struct txn txn;

    replay(payload, arg);
    assert_int_equal(txn_read(payload, &txn), TXN_OK);
    if (txn.has_digest) {
        assert_int_equal(tree_digest(w->tree), (uint64_t)txn.digest);
    }
}

static void every_recorded_transaction_gives_its_recorded_digest(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(vectors_log(VECTORS "/datadir/standalone/version-2/log.1", check_recorded, &w),
                     42);
    assert_int_equal(tree_n_sessions(w.tree), 1);
    world_fini(&w);
}

static void create_makes_the_node_and_raises_its_parent(void **state)
{
    struct apply_result result;
    struct stat_persisted s;
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(run(&w, 5, 7, create_op(TXN_CREATE2, "/a", 4), &result), PAWL_OK);
    s = stored(&w, "/a");
    assert_int_equal(s.czxid, 5);
    assert_int_equal(s.mzxid, 5);
    assert_int_equal(s.pzxid, 5);
    assert_int_equal(s.ctime, 1005);
    assert_int_equal(s.mtime, 1005);
    assert_int_equal(s.version | s.cversion | s.aversion, 0);
    assert_int_equal(s.ephemeral_owner, 0);
    assert_int_equal(result.stat.czxid, 5);
    assert_int_equal(result.stat.data_length, 1);
    assert_int_equal(stored(&w, "/").cversion, 4);
    assert_int_equal(stored(&w, "/").pzxid, 5);
    assert_string_equal(changes(&w), "+/a ");
    world_fini(&w);
}

static void the_owner_follows_from_the_type(void **state)
{
    struct txn_op ephemeral = create_op(TXN_CREATE, "/e", -1);
    struct world w;

    (void)state;
    world_init(&w);
    ephemeral.ephemeral = true;
    run(&w, 1, 7, ephemeral, NULL);
    run(&w, 2, 7, create_op(TXN_CREATE_CONTAINER, "/c", -1), NULL);
    run(&w, 3, 7, create_op(TXN_CREATE_TTL, "/t", -1), NULL);
    assert_int_equal(stored(&w, "/e").ephemeral_owner, 7);
    assert_int_equal(stored(&w, "/c").ephemeral_owner, OWNER_CONTAINER);
    assert_int_equal(stored(&w, "/t").ephemeral_owner, 0xff000000000005dc);
    world_fini(&w);
}

static void check_ttl(const char *row, void *arg)
{
    struct txn_op op = create_op(TXN_CREATE_TTL, "/t", -1);
    struct world *w = arg;
    char *end;

    op.ttl_ms = strtoll(row, &end, 10);
    if (end == row) { /* the row of containers */
        op.type = TXN_CREATE_CONTAINER;
        end = strchr(row, ' ');
    }
    run(w, 1, 7, op, NULL);
    assert_int_equal((uint64_t)stored(w, "/t").ephemeral_owner, strtoull(end, NULL, 16));
    remove_node(w, 2, "/t");
}

static void stored_owners_are_those_of_zookeeper(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(vectors_table(VECTORS "/client.txt", "ttl-owner", check_ttl, &w), 5);
    world_fini(&w);
}

static void delete_raises_the_pzxid_of_the_parent_and_nothing_else(void **state)
{
    struct stat_persisted before, after;
    struct world w;

    (void)state;
    world_init(&w);
    create(&w, 1, "/a");
    before = stored(&w, "/");
    assert_int_equal(remove_node(&w, 2, "/a"), PAWL_OK);
    after = stored(&w, "/");
    assert_int_equal(after.pzxid, 2);
    after.pzxid = before.pzxid;
    assert_same_stat(&before, &after);
    assert_string_equal(changes(&w), "+/a -/a ");
    world_fini(&w);
}

static void set_data_and_set_acl_store_the_version_they_carry(void **state)
{
    struct txn_op set = {
        .type = TXN_SET_DATA, .path = bytes_str("/a"), .data = BYTES_NULL, .version = 9};
    struct txn_op acl = {.type = TXN_SET_ACL,
                         .path = bytes_str("/a"),
                         .acl = acl_of(ip_acl, sizeof(ip_acl) - 1),
                         .version = 4};
    struct apply_result result;
    struct stat_persisted s;
    struct world w;
    znode_id id;

    (void)state;
    world_init(&w);
    create(&w, 1, "/a");
    assert_int_equal(run(&w, 2, 7, set, &result), PAWL_OK);
    assert_int_equal(result.stat.version, 9);
    assert_int_equal(run(&w, 3, 7, acl, &result), PAWL_OK);
    assert_int_equal(result.stat.aversion, 4);
    s = stored(&w, "/a");
    assert_int_equal(s.version, 9);
    assert_int_equal(s.mzxid, 2);
    assert_int_equal(s.mtime, 1002);
    assert_int_equal(s.aversion, 4);
    id = tree_find(w.tree, bytes_str("/a"));
    assert_true(bytes_is_null(tree_data(w.tree, id)));
    assert_bytes_equal(acl_table_get(tree_acls(w.tree), tree_acl(w.tree, id)),
                       bytes_of(ip_acl, sizeof(ip_acl) - 1));
    assert_string_equal(changes(&w), "+/a =/a ");
    world_fini(&w);
}

static void sessions_come_and_go_with_their_ephemerals(void **state)
{
    struct txn_op ephemeral = create_op(TXN_CREATE, "/e1", -1);
    struct strbuf paths;
    struct world w;

    (void)state;
    world_init(&w);
    ephemeral.ephemeral = true;
    run(&w, 1, 7, (struct txn_op){.type = TXN_CREATE_SESSION, .timeout_ms = 4000}, NULL);
    run(&w, 2, 7, ephemeral, NULL);
    ephemeral.path = bytes_str("/e2");
    run(&w, 3, 7, ephemeral, NULL);
    ephemeral.path = bytes_str("/other");
    run(&w, 4, 8, ephemeral, NULL);
    ephemeral.path = bytes_str("/e3");
    run(&w, 5, 7, ephemeral, NULL);
    changes(&w);
    strbuf_init(&paths, STRBUF_NO_LIMIT);
    jute_write_str(&paths, "/e2");
    jute_write_str(&paths, "/gone");
    run(&w, 6, 7, (struct txn_op){.type = TXN_CLOSE_SESSION, .deleted = {2, strbuf_bytes(&paths)}},
        NULL);
    strbuf_fini(&paths);
    /* First those on the list, then whatever else there is of it. */
    assert_string_equal(changes(&w), "-/e2 -/e3 -/e1 ");
    assert_false(tree_session_get(w.tree, 7, NULL));
    assert_true(exists(&w, "/other"));
    assert_int_equal(stored(&w, "/").pzxid, 6);
    world_fini(&w);
}

static void a_session_without_a_list_takes_its_ephemerals_along(void **state)
{
    struct txn_op ephemeral = create_op(TXN_CREATE, "/e1", -1);
    struct world w;

    (void)state;
    world_init(&w);
    ephemeral.ephemeral = true;
    run(&w, 2, 7, ephemeral, NULL);
    run(&w, 3, 7, (struct txn_op){.type = TXN_CLOSE_SESSION, .deleted = {-1, BYTES_NULL}}, NULL);
    assert_false(exists(&w, "/e1"));
    world_fini(&w);
}

static void error_and_check_change_nothing(void **state)
{
    uint64_t digest;
    struct world w;

    (void)state;
    world_init(&w);
    digest = tree_digest(w.tree);
    assert_int_equal(run(&w, 1, 7, (struct txn_op){.type = TXN_ERROR, .err = -101}, NULL), -101);
    assert_int_equal(
        run(&w, 2, 7, (struct txn_op){.type = TXN_CHECK, .path = bytes_str("/none")}, NULL), 0);
    assert_int_equal(tree_digest(w.tree), digest);
    assert_string_equal(changes(&w), "");
    world_fini(&w);
}

/* ---- multi ---- */

static void run_multi(struct world *w, int64_t zxid, const struct txn_op *ops, int n,
                      struct apply_result *results)
{
    struct txn_header h = {7, 1, zxid, 1000 + zxid, TXN_MULTI};
    struct txn txn;
    size_t mark;

    strbuf_clear(&w->payload);
    txn_header_write(&w->payload, &h);
    jute_write_int(&w->payload, n);
    for (int i = 0; i < n; i++) {
        jute_write_int(&w->payload, ops[i].type);
        mark = w->payload.len;
        jute_write_int(&w->payload, 0);
        txn_op_write(&w->payload, &ops[i]);
        jute_patch_int(&w->payload, mark, (int32_t)(w->payload.len - mark - 4));
    }
    assert_int_equal(txn_read(strbuf_bytes(&w->payload), &txn), TXN_OK);
    apply_txn(&w->apply, &txn, results, (size_t)n);
}

static void the_operations_of_a_multi_are_applied_in_order(void **state)
{
    struct txn_op ops[] = {
        create_op(TXN_CREATE, "/a", 2),
        create_op(TXN_CREATE2, "/a/b", 1),
        {.type = TXN_SET_DATA, .path = bytes_str("/a/b"), .data = bytes_str("xyz"), .version = 1},
        {.type = TXN_CHECK, .path = bytes_str("/a"), .version = 1},
        {.type = TXN_DELETE, .path = bytes_str("/a/b")},
    };
    struct apply_result results[5];
    struct world w;

    (void)state;
    world_init(&w);
    run_multi(&w, 3, ops, 5, results);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(results[i].err, PAWL_OK);
    }
    assert_int_equal(results[1].stat.data_length, 1);
    assert_int_equal(results[2].stat.data_length, 3);
    assert_int_equal(stored(&w, "/a").pzxid, 3);
    assert_int_equal(stored(&w, "/a").cversion, 1);
    assert_string_equal(changes(&w), "+/a +/a/b =/a/b -/a/b ");
    world_fini(&w);
}

static void a_multi_with_an_error_in_it_does_nothing(void **state)
{
    struct txn_op ops[] = {
        create_op(TXN_CREATE, "/a", 2),
        {.type = TXN_ERROR, .err = PAWL_ERR_NO_NODE},
        {.type = TXN_ERROR, .err = PAWL_ERR_RUNTIME_INCONSISTENCY},
    };
    struct apply_result results[3];
    struct world w;

    (void)state;
    world_init(&w);
    run_multi(&w, 3, ops, 3, results);
    assert_int_equal(results[0].err, PAWL_OK);
    assert_int_equal(results[1].err, PAWL_ERR_NO_NODE);
    assert_int_equal(results[2].err, PAWL_ERR_RUNTIME_INCONSISTENCY);
    assert_false(exists(&w, "/a"));
    assert_string_equal(changes(&w), "");
    world_fini(&w);
}

static void replaying_a_multi_ignores_the_errors_of_single_operations(void **state)
{
    struct txn_op ops[] = {
        {.type = TXN_DELETE, .path = bytes_str("/gone")},
        create_op(TXN_CREATE, "/a", -1),
        create_op(TXN_CREATE, "/missing/b", -1),
        create_op(TXN_CREATE, "/c", -1),
    };
    struct apply_result results[4];
    struct world w;

    (void)state;
    world_init(&w);
    create(&w, 1, "/a");
    run_multi(&w, 3, ops, 4, results);
    assert_int_equal(results[0].err, PAWL_ERR_NO_NODE);
    assert_int_equal(results[1].err, PAWL_ERR_NODE_EXISTS);
    assert_int_equal(results[2].err, PAWL_ERR_NO_NODE);
    assert_int_equal(results[3].err, PAWL_OK);
    assert_true(exists(&w, "/c"));
    world_fini(&w);
}

/* ---- replay over a later state ---- */

static void creating_what_is_there_keeps_the_node_and_takes_the_acl(void **state)
{
    static const int32_t types[] = {TXN_CREATE, TXN_CREATE2, TXN_CREATE_CONTAINER, TXN_CREATE_TTL};
    struct stat_persisted before, parent;

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct txn_op again = create_op(types[i], "/a", 50);
        struct stat_persisted after;
        struct world w;
        znode_id id;

        world_init(&w);
        create(&w, 9, "/a");
        before = stored(&w, "/a");
        parent = stored(&w, "/");
        again.acl = acl_of(ip_acl, sizeof(ip_acl) - 1);
        again.data = bytes_str("other");
        assert_int_equal(run(&w, 12, 7, again, NULL), PAWL_ERR_NODE_EXISTS);
        after = stored(&w, "/a");
        assert_same_stat(&after, &before);
        id = tree_find(w.tree, bytes_str("/a"));
        assert_str_view(tree_data(w.tree, id), "d");
        assert_bytes_equal(acl_table_get(tree_acls(w.tree), tree_acl(w.tree, id)),
                           bytes_of(ip_acl, sizeof(ip_acl) - 1));
        /* The parent catches up for the plain type only. */
        assert_int_equal(stored(&w, "/").cversion, i == 0 ? 50 : parent.cversion);
        assert_int_equal(stored(&w, "/").pzxid, i == 0 ? 12 : parent.pzxid);
        assert_string_equal(changes(&w), "+/a ");
        world_fini(&w);
    }
}

static void counters_of_a_parent_never_go_back(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    run(&w, 20, 7, create_op(TXN_CREATE, "/later", 30), NULL);
    run(&w, 5, 7, create_op(TXN_CREATE, "/earlier", 4), NULL);
    assert_int_equal(stored(&w, "/").cversion, 30);
    assert_int_equal(stored(&w, "/").pzxid, 20);
    remove_node(&w, 6, "/earlier");
    assert_int_equal(stored(&w, "/").pzxid, 20);
    run(&w, 25, 7, create_op(TXN_CREATE, "/new", 31), NULL);
    assert_int_equal(stored(&w, "/").cversion, 31);
    assert_int_equal(stored(&w, "/").pzxid, 25);
    world_fini(&w);
}

static void deleting_what_is_gone_still_raises_the_parent(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(remove_node(&w, 5, "/gone"), PAWL_ERR_NO_NODE);
    assert_int_equal(stored(&w, "/").pzxid, 5);
    assert_int_equal(remove_node(&w, 6, "/gone/deeper"), PAWL_ERR_NO_NODE);
    assert_int_equal(create(&w, 7, "/gone/deeper"), PAWL_ERR_NO_NODE);
    world_fini(&w);
}

static void changing_what_is_gone_is_ignored(void **state)
{
    struct txn_op set = {.type = TXN_SET_DATA, .path = bytes_str("/gone"), .version = 9};
    struct txn_op acl = {
        .type = TXN_SET_ACL, .path = bytes_str("/gone"), .acl = acl_of(ip_acl, sizeof(ip_acl) - 1)};
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(run(&w, 1, 7, set, NULL), PAWL_ERR_NO_NODE);
    assert_int_equal(run(&w, 2, 7, acl, NULL), PAWL_ERR_NO_NODE);
    set.path = BYTES_NULL;
    assert_int_equal(run(&w, 3, 7, set, NULL), PAWL_ERR_NO_NODE);
    assert_int_equal(acl_table_count(tree_acls(w.tree)), 1); /* that of the configuration node */
    world_fini(&w);
}

static void an_older_set_data_is_applied_all_the_same(void **state)
{
    struct txn_op set = {.type = TXN_SET_DATA, .path = bytes_str("/a"), .version = 2};
    struct world w;

    (void)state;
    world_init(&w);
    create(&w, 1, "/a");
    set.version = 8;
    run(&w, 30, 7, set, NULL);
    set.version = 2;
    run(&w, 10, 7, set, NULL);
    assert_int_equal(stored(&w, "/a").version, 2);
    assert_int_equal(stored(&w, "/a").mzxid, 10);
    world_fini(&w);
}

static void deleting_a_node_takes_children_from_later_along(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    create(&w, 1, "/a");
    create(&w, 9, "/a/b");
    create(&w, 9, "/a/b/c");
    create(&w, 9, "/a/d");
    assert_int_equal(remove_node(&w, 2, "/a"), PAWL_OK);
    assert_int_equal(tree_count(w.tree), 4);
    world_fini(&w);
}

/* The whole log, over the tree that it ends in. */
static void replaying_everything_over_its_own_result_changes_nothing(void **state)
{
    static const char log[] = VECTORS "/datadir/standalone/version-2/log.1";
    struct world w;
    uint64_t digest;

    (void)state;
    world_init(&w);
    vectors_log(log, check_recorded, &w);
    digest = tree_digest(w.tree);
    vectors_log(log, replay, &w);
    assert_int_equal(tree_digest(w.tree), digest);
    world_fini(&w);
}

/* ---- ephemerals of the dead ---- */

/* No transaction makes a name with a NUL, but a file may hold one. */
static void an_ephemeral_that_cannot_be_deleted_does_not_stop_the_world(void **state)
{
    struct stat_persisted s = {.ephemeral_owner = 9};
    struct world w;

    (void)state;
    world_init(&w);
    tree_add(w.tree, tree_find(w.tree, bytes_str("/")), bytes_of("a\0b", 3), BYTES_NULL, ACL_OPEN,
             &s);
    run(&w, 6, 9, (struct txn_op){.type = TXN_CLOSE_SESSION, .deleted = {-1, BYTES_NULL}}, NULL);
    world_fini(&w);
}

static void *delete_a_deep_tree(void *arg)
{
    struct stat_persisted s = {0};
    struct world w;
    znode_id at;

    (void)arg;
    world_init(&w);
    create(&w, 1, "/a");
    at = tree_find(w.tree, bytes_str("/a"));
    for (int i = 0; i < 5000; i++) {
        at = tree_add(w.tree, at, bytes_str("a"), BYTES_NULL, ACL_OPEN, &s);
    }
    remove_node(&w, 2, "/a");
    assert_int_equal(tree_count(w.tree), 4);
    world_fini(&w);
    return NULL;
}

static void a_deep_tree_needs_no_deep_stack(void **state)
{
    pthread_attr_t attr;
    pthread_t thread;

    (void)state;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 192 << 10);
    assert_int_equal(pthread_create(&thread, &attr, delete_a_deep_tree, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recorded_transaction_gives_its_recorded_digest),
        cmocka_unit_test(create_makes_the_node_and_raises_its_parent),
        cmocka_unit_test(the_owner_follows_from_the_type),
        cmocka_unit_test(stored_owners_are_those_of_zookeeper),
        cmocka_unit_test(delete_raises_the_pzxid_of_the_parent_and_nothing_else),
        cmocka_unit_test(set_data_and_set_acl_store_the_version_they_carry),
        cmocka_unit_test(sessions_come_and_go_with_their_ephemerals),
        cmocka_unit_test(a_session_without_a_list_takes_its_ephemerals_along),
        cmocka_unit_test(error_and_check_change_nothing),
        cmocka_unit_test(the_operations_of_a_multi_are_applied_in_order),
        cmocka_unit_test(a_multi_with_an_error_in_it_does_nothing),
        cmocka_unit_test(replaying_a_multi_ignores_the_errors_of_single_operations),
        cmocka_unit_test(creating_what_is_there_keeps_the_node_and_takes_the_acl),
        cmocka_unit_test(counters_of_a_parent_never_go_back),
        cmocka_unit_test(deleting_what_is_gone_still_raises_the_parent),
        cmocka_unit_test(changing_what_is_gone_is_ignored),
        cmocka_unit_test(an_older_set_data_is_applied_all_the_same),
        cmocka_unit_test(deleting_a_node_takes_children_from_later_along),
        cmocka_unit_test(replaying_everything_over_its_own_result_changes_nothing),
        cmocka_unit_test(an_ephemeral_that_cannot_be_deleted_does_not_stop_the_world),
        cmocka_unit_test(a_deep_tree_needs_no_deep_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
