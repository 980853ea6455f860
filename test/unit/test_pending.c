/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pending.h"

#include "base/prng.h"
#include "lib/test.h"
#include "store/acl_table.h"

struct world {
    struct tree *tree;
    struct pending_table pending;
    int64_t one, two;
};

static void begin(struct world *w, bool with_digest)
{
    w->tree = tree_new(&(struct tree_options){0});
    tree_add_system_nodes(w->tree);
    tree_add(w->tree, tree_find(w->tree, bytes_str("/")), bytes_str("a"), bytes_str("data"),
             ACL_OPEN, &(struct stat_persisted){.czxid = 1, .version = 5});
    pending_init(&w->pending, w->tree, 1, with_digest);
    w->one = 2;
    w->two = 3;
}

static void end(struct world *w)
{
    pending_fini(&w->pending);
    tree_free(w->tree);
}

static struct node_view look(struct world *w, const char *path)
{
    struct node_view v;

    pending_look(&w->pending, bytes_str(path), &v);
    return v;
}

static void set_version(struct world *w, int64_t zxid, const char *path, int32_t version)
{
    struct node_view v = look(w, path);

    v.exists = true;
    v.stat.version = version;
    pending_set(&w->pending, zxid, bytes_str(path), &v, NULL);
}

static void what_nobody_touched_is_as_the_tree_has_it(void **state)
{
    struct node_view v;
    struct world w;

    (void)state;
    begin(&w, true);
    v = look(&w, "/a");
    assert_true(v.exists);
    assert_int_equal(v.stat.version, 5);
    assert_int_equal(v.data_len, 4);
    assert_int_equal(v.n_children, 0);
    assert_int_equal(v.digest, tree_node_digest(w.tree, tree_find(w.tree, bytes_str("/a"))));
    assert_int_equal(look(&w, "/").n_children, 2);
    assert_false(look(&w, "/missing").exists);
    end(&w);
}

static void a_record_lasts_until_the_last_who_touched_it_is_applied(void **state)
{
    struct world w;

    (void)state;
    begin(&w, false);
    set_version(&w, w.one, "/a", 6);
    set_version(&w, w.one, "/b", 1);
    set_version(&w, w.two, "/a", 7);
    assert_int_equal(look(&w, "/a").stat.version, 7);
    pending_applied(&w.pending, w.one);
    assert_int_equal(look(&w, "/a").stat.version, 7);
    assert_false(look(&w, "/b").exists);
    pending_applied(&w.pending, w.two);
    assert_int_equal(look(&w, "/a").stat.version, 5); /* what the tree says, here unchanged */
    assert_int_equal(w.pending.records.count, 0);
    end(&w);
}

static void a_rollback_brings_everything_back(void **state)
{
    struct bytes data = bytes_str("new");
    struct node_view v;
    struct world w;
    uint64_t digest;

    (void)state;
    begin(&w, true);
    set_version(&w, w.one, "/a", 6);
    digest = w.pending.digest;
    pending_multi_begin(&w.pending);
    set_version(&w, w.two, "/a", 7);
    set_version(&w, w.two, "/a", 8);
    v = (struct node_view){.exists = true, .stat.czxid = 3};
    pending_set(&w.pending, w.two, bytes_str("/b"), &v, &data);
    set_version(&w, w.two, "/b", 9);
    assert_int_not_equal(w.pending.digest, digest);
    pending_multi_rollback(&w.pending);
    assert_int_equal(w.pending.digest, digest);
    assert_int_equal(look(&w, "/a").stat.version, 6);
    assert_false(look(&w, "/b").exists);
    assert_int_equal(w.pending.records.count, 1);
    /* The record is the first one's again, and goes with it. */
    tree_set_data(w.tree, tree_find(w.tree, bytes_str("/a")), bytes_str("data"), 0, 0, 6);
    pending_applied(&w.pending, w.one);
    assert_int_equal(w.pending.records.count, 0);
    end(&w);
}

static void what_is_kept_stays(void **state)
{
    struct world w;

    (void)state;
    begin(&w, false);
    pending_multi_begin(&w.pending);
    set_version(&w, w.one, "/a", 7);
    set_version(&w, w.one, "/b", 1);
    pending_multi_keep(&w.pending);
    assert_int_equal(look(&w, "/a").stat.version, 7);
    assert_true(look(&w, "/b").exists);
    pending_multi_begin(&w.pending);
    set_version(&w, w.two, "/b", 2);
    pending_multi_rollback(&w.pending);
    assert_int_equal(look(&w, "/b").stat.version, 1);
    end(&w);
}

/* So many in flight that the digests are moved and their memory grows. */
static void each_transaction_hands_its_own_digest_to_the_tree(void **state)
{
    enum { N = 500, IN_FLIGHT = 150 };
    struct bytes path = bytes_str("/a"), data = bytes_str("new");
    uint64_t totals[N + 2];
    struct node_view v;
    struct world w;

    (void)state;
    begin(&w, true);
    for (int64_t made = 2, applied = 2; applied < N; made++) {
        if (made < N) {
            v = look(&w, "/a");
            v.stat.version++;
            v.stat.mzxid = made;
            v.data_len = 3;
            pending_set(&w.pending, made, path, &v, &data);
            totals[made] = w.pending.digest;
        }
        if (made - applied >= IN_FLIGHT || made >= N) {
            pending_apply(&w.pending, applied);
            tree_set_data(w.tree, tree_find(w.tree, path), data, applied, 0,
                          (int32_t)(5 + applied - 1));
            pending_applied(&w.pending, applied);
            assert_true(tree_digest(w.tree) == totals[applied]);
            applied++;
        }
    }
    assert_int_equal(w.pending.records.count, 0);
    tree_check(w.tree); /* computes them all */
    end(&w);
}

static void an_acl_is_held_as_long_as_somebody_may_need_it(void **state)
{
    static const uint8_t list[] = "\0\0\0\1\0\0\0\1\0\0\0\2ip\0\0\0\7"
                                  "1.2.3.4";
    struct acl_table *acls;
    struct node_view v;
    struct world w;
    uint32_t acl;

    (void)state;
    begin(&w, false);
    acls = tree_acls(w.tree);
    acl = acl_table_take(acls, bytes_of(list, sizeof(list) - 1));
    v = look(&w, "/a");
    v.acl = acl;
    pending_set(&w.pending, w.one, bytes_str("/a"), &v, NULL);
    acl_table_release(acls, acl);
    assert_true(acl_table_known(acls, acl));
    pending_multi_begin(&w.pending);
    v.acl = ACL_OPEN;
    pending_set(&w.pending, w.two, bytes_str("/a"), &v, NULL);
    assert_true(acl_table_known(acls, acl)); /* or a rollback could not bring it back */
    pending_multi_rollback(&w.pending);
    assert_int_equal(look(&w, "/a").acl, acl);
    pending_applied(&w.pending, w.one);
    assert_false(acl_table_known(acls, acl));
    end(&w);
}

static void note(struct bytes path, void *arg)
{
    strbuf_append_bytes(arg, path);
}

static void ephemerals_that_only_exist_here_are_found(void **state)
{
    struct node_view v = {.exists = true, .stat.ephemeral_owner = 9};
    struct strbuf found;
    struct world w;

    (void)state;
    begin(&w, false);
    tree_add(w.tree, tree_find(w.tree, bytes_str("/")), bytes_str("old"), BYTES_NULL, ACL_OPEN,
             &(struct stat_persisted){.ephemeral_owner = 9});
    for (char path[] = "/new9"; path[4] > '0'; path[4]--) { /* in an order of their own */
        pending_set(&w.pending, w.one, bytes_str(path), &v, NULL);
    }
    pending_set(&w.pending, w.one, bytes_str("/old"), &v, NULL);
    v.stat.ephemeral_owner = 8;
    pending_set(&w.pending, w.one, bytes_str("/other"), &v, NULL);
    v = (struct node_view){.stat.ephemeral_owner = 9};
    pending_set(&w.pending, w.one, bytes_str("/gone"), &v, NULL);
    strbuf_init(&found, STRBUF_NO_LIMIT);
    pending_each_ephemeral(&w.pending, 9, note, &found);
    assert_string_equal(strbuf_cstr(&found), "/new9/new8/new7/new6/new5/new4/new3/new2/new1");
    strbuf_fini(&found);
    end(&w);
}

/* ---- random, against a model ---- */

enum { N_PATHS = 12, N_IN_FLIGHT = 6 };

struct model {
    int32_t version[N_PATHS];
    int owner[N_PATHS]; /* index of a transaction, -1: as the tree has it */
};

static const char *name_of(int i)
{
    static const char *const names[N_PATHS] = {"/a", "/b", "/c", "/d", "/e", "/f",
                                               "/g", "/h", "/i", "/j", "/k", "/l"};

    return names[i];
}

static void compare(struct world *w, const struct model *m)
{
    for (int i = 0; i < N_PATHS; i++) {
        struct node_view v = look(w, name_of(i));

        assert_int_equal(v.exists, m->owner[i] >= 0 || i == 0);
        if (m->owner[i] >= 0) {
            assert_int_equal(v.stat.version, m->version[i]);
        }
    }
}

static void random_multis_are_kept_or_leave_no_trace(void **state)
{
    struct model m, before;
    struct world w;
    struct prng r;

    (void)state;
    begin(&w, false);
    prng_seed(&r, 5);
    for (int i = 0; i < N_PATHS; i++) {
        m.owner[i] = -1;
    }
    for (int step = 0; step < 20000; step++) {
        int p = step % N_IN_FLIGHT; /* the oldest makes way for the newest */

        if (step >= N_IN_FLIGHT) {
            pending_applied(&w.pending, 2 + step - N_IN_FLIGHT);
        }
        for (int i = 0; i < N_PATHS; i++) {
            m.owner[i] = m.owner[i] == p ? -1 : m.owner[i];
        }
        before = m;
        pending_multi_begin(&w.pending);
        for (uint64_t n = prng_below(&r, 8); n > 0; n--) {
            int i = (int)prng_below(&r, N_PATHS);

            m.version[i] = step;
            m.owner[i] = p;
            set_version(&w, 2 + step, name_of(i), step);
        }
        compare(&w, &m);
        if (prng_below(&r, 2) == 0) {
            pending_multi_keep(&w.pending);
        } else {
            pending_multi_rollback(&w.pending);
            m = before;
        }
        compare(&w, &m);
    }
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_touched_is_as_the_tree_has_it),
        cmocka_unit_test(a_record_lasts_until_the_last_who_touched_it_is_applied),
        cmocka_unit_test(a_rollback_brings_everything_back),
        cmocka_unit_test(what_is_kept_stays),
        cmocka_unit_test(each_transaction_hands_its_own_digest_to_the_tree),
        cmocka_unit_test(an_acl_is_held_as_long_as_somebody_may_need_it),
        cmocka_unit_test(ephemerals_that_only_exist_here_are_found),
        cmocka_unit_test(random_multis_are_kept_or_leave_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
