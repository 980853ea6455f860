/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tree.h"

#include <stdlib.h>

#include "base/prng.h"
#include "base/strbuf.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "store/acl_table.h"

static struct tree *new_tree(void)
{
    struct tree *t = tree_new(&(struct tree_options){.extended_types = true});

    tree_add_system_nodes(t);
    return t;
}

static znode_id find(const struct tree *t, const char *path)
{
    return tree_find(t, bytes_str(path));
}

static znode_id add_full(struct tree *t, const char *parent, const char *name, struct bytes data,
                         int64_t owner, int64_t zxid)
{
    struct stat_persisted s = {.czxid = zxid,
                               .mzxid = zxid,
                               .pzxid = zxid,
                               .ctime = 100 + zxid,
                               .mtime = 100 + zxid,
                               .ephemeral_owner = owner};

    return tree_add(t, find(t, parent), bytes_str(name), data, ACL_OPEN, &s);
}

static znode_id add(struct tree *t, const char *parent, const char *name)
{
    return add_full(t, parent, name, bytes_str(""), 0, 1);
}

/* ---- finding ---- */

static void a_fresh_tree_has_the_recorded_digest(void **state)
{
    struct tree *t = new_tree();

    (void)state;
    assert_int_equal(tree_digest(t), 0x51c6d660);
    assert_int_equal(tree_node_digest(t, find(t, "/")), 0x04128908);
    assert_int_equal(tree_node_digest(t, find(t, "/zookeeper")), 0x4db44d58);
    assert_int_equal(tree_node_digest(t, find(t, "/zookeeper/quota")), 0);
    assert_int_equal(tree_count(t), 4);
    assert_int_equal(tree_descendants(t, find(t, "/")), 3);
    tree_check(t);
    tree_free(t);
}

static void system_nodes_that_are_there_are_left_alone(void **state)
{
    struct tree *t = new_tree();
    znode_id config = find(t, "/zookeeper/config");

    (void)state;
    tree_set_data(t, config, bytes_str("server.1"), 5, 6, 7);
    tree_add_system_nodes(t);
    assert_int_equal(find(t, "/zookeeper/config"), config);
    assert_str_view(tree_data(t, config), "server.1");
    assert_int_equal(acl_table_world_perms(tree_acls(t), tree_acl(t, config)), PERM_READ);
    assert_int_equal(tree_count(t), 4);
    tree_free(t);
}

static void the_root_has_two_names_and_odd_paths_are_not_found(void **state)
{
    static const char *const odd[] = {"a",     "a/b",  "//",    "//a",      "/a/",
                                      "/a//b", "/a/.", "/a/..", "/missing", "/a/b/c"};
    struct tree *t = new_tree();

    (void)state;
    add(t, "/", "a");
    add(t, "/a", "b");
    assert_int_equal(find(t, ""), find(t, "/"));
    assert_int_not_equal(find(t, "/"), 0);
    assert_int_equal(tree_find(t, BYTES_NULL), 0);
    assert_int_not_equal(find(t, "/a/b"), 0);
    for (size_t i = 0; i < TEST_COUNT(odd); i++) {
        assert_int_equal(find(t, odd[i]), 0);
    }
    tree_free(t);
}

static void a_path_is_put_together_from_the_names(void **state)
{
    struct tree *t = new_tree();
    struct strbuf path;

    (void)state;
    strbuf_init(&path, STRBUF_NO_LIMIT);
    tree_path(t, find(t, "/"), &path);
    tree_path(t, add(t, "/zookeeper/quota", "x"), &path);
    assert_string_equal(strbuf_cstr(&path), "//zookeeper/quota/x");
    strbuf_fini(&path);
    assert_int_equal(tree_child(t, find(t, "/zookeeper"), bytes_str("quota")),
                     find(t, "/zookeeper/quota"));
    assert_int_equal(tree_parent(t, find(t, "/zookeeper/quota")), find(t, "/zookeeper"));
    assert_int_equal(tree_parent(t, find(t, "/")), 0);
    tree_free(t);
}

/* ---- data and Stat ---- */

static void null_and_empty_data_are_two_values(void **state)
{
    struct tree *t = new_tree();
    znode_id id = add_full(t, "/", "a", BYTES_NULL, 0, 1);
    struct stat_record stat;

    (void)state;
    assert_true(bytes_is_null(tree_data(t, id)));
    tree_set_data(t, id, bytes_str(""), 2, 2, 1);
    assert_false(bytes_is_null(tree_data(t, id)));
    assert_int_equal(tree_data(t, id).len, 0);
    tree_set_data(t, id, BYTES_NULL, 3, 3, 2);
    assert_true(bytes_is_null(tree_data(t, id)));
    tree_stat(t, id, &stat);
    assert_int_equal(stat.data_length, 0);
    tree_check(t);
    tree_free(t);
}

static void data_may_grow_and_shrink(void **state)
{
    static uint8_t large[100000];
    struct tree *t = new_tree();
    znode_id id = add(t, "/", "a");
    size_t before = tree_memory(t);
    int64_t size = tree_approximate_data_size(t);

    (void)state;
    memset(large, 7, sizeof(large));
    tree_set_data(t, id, bytes_of(large, sizeof(large)), 2, 2, 1);
    assert_bytes_equal(tree_data(t, id), bytes_of(large, sizeof(large)));
    assert_str_view(tree_name(t, id), "a");
    assert_int_equal(tree_memory(t), before + sizeof(large));
    assert_int_equal(tree_approximate_data_size(t), size + (int64_t)sizeof(large));
    tree_set_data(t, id, bytes_str("x"), 3, 3, 2);
    assert_str_view(tree_data(t, id), "x");
    tree_remove(t, id);
    assert_int_equal(tree_approximate_data_size(t), size - 2);
    tree_check(t);
    tree_free(t);
}

static void the_shown_cversion_counts_creations_and_deletions(void **state)
{
    struct tree *t = new_tree();
    znode_id id = add(t, "/", "a");
    struct stat_record stat;

    (void)state;
    tree_stat(t, find(t, "/zookeeper"), &stat);
    assert_int_equal(stat.cversion, -2);
    add(t, "/a", "x");
    add(t, "/a", "y");
    tree_set_child_stat(t, id, 2, 9);
    tree_remove(t, find(t, "/a/x"));
    tree_stat(t, id, &stat);
    assert_int_equal(stat.cversion, 3);
    assert_int_equal(stat.n_children, 1);
    assert_int_equal(stat.pzxid, 9);
    tree_check(t);
    tree_free(t);
}

static void container_and_ttl_nodes_show_no_owner(void **state)
{
    struct tree *t = new_tree();
    struct stat_record stat;

    (void)state;
    tree_stat(t, add_full(t, "/", "c", BYTES_NULL, OWNER_CONTAINER, 1), &stat);
    assert_int_equal(stat.ephemeral_owner, 0);
    tree_stat(t, add_full(t, "/", "t", BYTES_NULL, OWNER_TTL_MARK | 1500, 1), &stat);
    assert_int_equal(stat.ephemeral_owner, 0);
    tree_stat(t, add_full(t, "/", "e", BYTES_NULL, 77, 1), &stat);
    assert_int_equal(stat.ephemeral_owner, 77);
    assert_int_equal(tree_ttl(t, tree_owner(t, find(t, "/t"))), 1500);
    assert_int_equal(tree_n_ephemerals(t), 1);
    tree_free(t);
}

static void what_an_owner_is_depends_on_the_options(void **state)
{
    struct tree *plain = tree_new(&(struct tree_options){0});
    struct tree *extended = tree_new(&(struct tree_options){.extended_types = true});
    struct tree *old =
        tree_new(&(struct tree_options){.extended_types = true, .emulate_353_ttl = true});
    struct tree *old_alone = tree_new(&(struct tree_options){.emulate_353_ttl = true});
    int64_t ttl = OWNER_TTL_MARK | 5, ttl_353 = INT64_MIN | 5;

    (void)state;
    assert_int_equal(tree_owner_kind(plain, 0), OWNER_NONE);
    assert_int_equal(tree_owner_kind(plain, OWNER_CONTAINER), OWNER_IS_CONTAINER);
    assert_int_equal(tree_owner_kind(plain, ttl), OWNER_SESSION);
    assert_int_equal(tree_owner_kind(extended, ttl), OWNER_IS_TTL);
    assert_int_equal(tree_owner_kind(extended, ttl_353), OWNER_SESSION);
    assert_int_equal(tree_owner_kind(old, ttl_353), OWNER_IS_TTL);
    assert_int_equal(tree_owner_kind(old, OWNER_CONTAINER), OWNER_IS_CONTAINER);
    assert_int_equal(tree_ttl(old, ttl_353), 5);
    /* A server with an id above 127 makes sessions with negative ids. */
    assert_int_equal(tree_owner_kind(old_alone, ttl_353), OWNER_SESSION);
    tree_free(plain);
    tree_free(extended);
    tree_free(old);
    tree_free(old_alone);
}

static void the_digest_covers_data_and_stat_but_not_the_acl(void **state)
{
    struct tree *t = new_tree();
    znode_id id = add(t, "/", "a");
    uint64_t before = tree_digest(t);
    struct stat_persisted s;

    (void)state;
    tree_set_acl(t, id, tree_acl(t, find(t, "/zookeeper/config")), 0);
    assert_int_equal(tree_digest(t), before);
    tree_replace_data(t, id, bytes_str("x"));
    assert_int_not_equal(tree_digest(t), before);
    tree_replace_data(t, id, bytes_str(""));
    assert_int_equal(tree_digest(t), before);
    tree_persisted(t, id, &s);
    s.version = 3;
    tree_set_persisted(t, id, &s);
    assert_int_not_equal(tree_digest(t), before);
    tree_remove(t, id);
    assert_int_equal(tree_digest(t), 0x51c6d660);
    tree_free(t);
}

static uint32_t digest_after_setting(struct tree *t, znode_id id, const char *data, int32_t version)
{
    tree_set_data(t, id, bytes_str(data), 9, 99, version);
    return tree_node_digest(t, id);
}

static void a_foreseen_digest_is_taken_by_the_node_that_it_is_of_alone(void **state)
{
    struct tree *t = new_tree();
    znode_id id = add(t, "/", "a"), deeper = add(t, "/a", "a");
    struct foreseen_digest f = {
        .mzxid = 9, .version = 4, .path_len = 2, .data_len = 3, .digest = 12345};
    struct stat_persisted s;
    uint32_t computed = digest_after_setting(t, id, "abc", 4);

    (void)state;
    tree_persisted(t, id, &s);
    f.pzxid = s.pzxid;
    f.cversion = s.cversion;
    tree_foresee(t, &f, 1, false);
    assert_int_equal(digest_after_setting(t, id, "abc", 4), 12345);
    assert_int_not_equal(digest_after_setting(t, id, "abc", 5), 12345);
    assert_int_not_equal(digest_after_setting(t, id, "abcd", 4), 12345);
    assert_int_not_equal(digest_after_setting(t, deeper, "abc", 4), 12345);
    f.digest = computed;
    tree_foresee(t, &f, 1, true);
    assert_int_equal(digest_after_setting(t, id, "abc", 4), computed);
    f.digest = 12345;
    tree_foresee(t, NULL, 0, false);
    assert_int_equal(digest_after_setting(t, id, "abc", 4), computed);
    tree_check(t);
    tree_free(t);
}

/* ---- lists ---- */

static void ephemerals_are_found_by_their_session(void **state)
{
    struct tree *t = new_tree();
    znode_id id;
    int n = 0;

    (void)state;
    add_full(t, "/", "a", BYTES_NULL, 5, 1);
    add_full(t, "/", "b", BYTES_NULL, 5, 1);
    add_full(t, "/", "c", BYTES_NULL, 6, 1);
    for (id = tree_first_ephemeral(t, 5); id != 0; id = tree_next_ephemeral(t, id)) {
        assert_int_equal(tree_owner(t, id), 5);
        n++;
    }
    assert_int_equal(n, 2);
    tree_remove(t, find(t, "/a"));
    assert_int_equal(tree_first_ephemeral(t, 5), find(t, "/b"));
    tree_remove(t, find(t, "/b"));
    assert_int_equal(tree_first_ephemeral(t, 5), 0);
    assert_int_equal(tree_n_ephemerals(t), 1);
    tree_free(t);
}

static void a_node_may_change_its_owner(void **state)
{
    struct tree *t = new_tree();
    znode_id id = add_full(t, "/", "a", BYTES_NULL, 5, 1);
    struct stat_persisted s;

    (void)state;
    tree_persisted(t, id, &s);
    s.ephemeral_owner = OWNER_CONTAINER;
    tree_set_persisted(t, id, &s);
    assert_int_equal(tree_first_ephemeral(t, 5), 0);
    assert_int_equal(tree_first_reapable(t), id);
    s.ephemeral_owner = 0;
    tree_set_persisted(t, id, &s);
    assert_int_equal(tree_first_reapable(t), 0);
    assert_int_equal(tree_n_ephemerals(t), 0);
    tree_check(t);
    tree_free(t);
}

static void sessions_are_put_and_removed(void **state)
{
    struct tree *t = new_tree();
    int32_t timeout_ms = 0;

    (void)state;
    tree_session_put(t, 1, 4000);
    tree_session_put(t, 2, 5000);
    tree_session_put(t, 1, 6000);
    assert_int_equal(tree_n_sessions(t), 2);
    assert_true(tree_session_get(t, 1, &timeout_ms));
    assert_int_equal(timeout_ms, 6000);
    assert_true(tree_session_remove(t, 1));
    assert_false(tree_session_remove(t, 1));
    assert_false(tree_session_get(t, 1, &timeout_ms));
    tree_free(t);
}

static void the_number_of_a_node_that_is_gone_is_used_again(void **state)
{
    struct tree *t = new_tree();
    znode_id limit, first = add(t, "/", "a");

    (void)state;
    limit = tree_walk_limit(t);
    for (int i = 0; i < 5000; i++) {
        tree_remove(t, find(t, "/a"));
        assert_int_equal(add(t, "/", "a"), first);
    }
    assert_int_equal(tree_walk_limit(t), limit);
    tree_check(t);
    tree_free(t);
}

static void a_parent_that_was_made_anew_is_found_with_its_own_children(void **state)
{
    struct tree *t = new_tree();
    znode_id other, parent, x;

    (void)state;
    add(t, "/", "a");
    parent = add(t, "/a", "p");
    x = add(t, "/a/p", "x");
    assert_int_equal(find(t, "/a/p/x"), x); /* the parent is remembered */
    tree_remove(t, x);
    tree_remove(t, parent);
    assert_int_equal(find(t, "/a/p/x"), 0);
    other = add(t, "/", "taken");
    assert_int_equal(other, parent); /* the number is used again */
    add(t, "/taken", "x");
    assert_int_equal(find(t, "/a/p/x"), 0);
    add(t, "/a", "p");
    assert_int_equal(find(t, "/a/p/x"), 0);
    add(t, "/a/p", "x");
    assert_int_equal(tree_parent(t, find(t, "/a/p/x")), find(t, "/a/p"));
    assert_int_not_equal(find(t, "/a/p"), other);
    tree_free(t);
}

static void paths_with_one_parent_and_with_others_take_turns(void **state)
{
    static const char *const parents[] = {"/a", "/b", "/a/c", "/", "/ab"};
    struct tree *t = new_tree();
    char path[64];

    (void)state;
    add(t, "/", "a");
    add(t, "/", "b");
    add(t, "/a", "c");
    add(t, "/", "ab");
    for (size_t i = 0; i < TEST_COUNT(parents); i++) {
        add(t, parents[i], "x");
    }
    for (size_t i = 0; i < 100; i++) {
        const char *parent = parents[i * i / 2 % TEST_COUNT(parents)];

        snprintf(path, sizeof(path), "%s/x", strcmp(parent, "/") == 0 ? "" : parent);
        assert_int_equal(tree_parent(t, find(t, path)), find(t, parent));
        snprintf(path, sizeof(path), "%s//x", strcmp(parent, "/") == 0 ? "" : parent);
        assert_int_equal(find(t, path), 0);
    }
    tree_free(t);
}

/* Longer than what is remembered of a parent's path. */
static void deep_paths_are_found_again_and_again(void **state)
{
    struct tree *t = new_tree();
    char path[1000] = "";

    (void)state;
    for (int i = 0; i < 60; i++) {
        znode_id id = add(t, i == 0 ? "/" : path, "component");

        strcat(path, "/component");
        assert_int_equal(find(t, path), id);
        assert_int_equal(find(t, path), id);
    }
    tree_check(t);
    tree_free(t);
}

static void many_children_are_all_found(void **state)
{
    enum { N = 20000 };
    struct tree *t = new_tree();
    char name[32];

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        add(t, "/", name);
    }
    for (int i = 0; i < N; i += 2) {
        snprintf(name, sizeof(name), "/n%d", i);
        tree_remove(t, find(t, name));
    }
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "/n%d", i);
        assert_int_equal(find(t, name) != 0, i % 2 == 1);
    }
    assert_int_equal(tree_n_children(t, find(t, "/")), N / 2 + 1);
    assert_int_equal(tree_descendants(t, find(t, "/")), N / 2 + 3);
    tree_check(t);
    tree_free(t);
}

/* ---- a walk ---- */

struct told {
    znode_id ids[16];
    size_t n;
};

static void on_change(struct tree *t, znode_id id, void *arg)
{
    struct told *told = arg;

    told->ids[told->n++] = id;
    tree_walk_mark(t, id);
}

static void a_walk_is_told_of_each_unvisited_node_before_it_changes(void **state)
{
    struct tree *t = new_tree();
    znode_id a = add(t, "/", "a"), b = add(t, "/", "b"), made;
    struct told told = {{0}, 0};

    (void)state;
    tree_walk_begin(t, on_change, &told);
    assert_false(tree_walk_visited(t, a));
    tree_set_data(t, a, bytes_str("x"), 2, 2, 1);
    tree_set_data(t, a, bytes_str("y"), 3, 3, 2);
    tree_set_acl(t, b, ACL_OPEN, 1);
    made = add(t, "/", "made");
    assert_true(tree_walk_visited(t, made));
    tree_set_data(t, made, bytes_str("z"), 4, 4, 1);
    tree_remove(t, find(t, "/zookeeper/quota"));
    tree_set_child_stat(t, find(t, "/zookeeper"), 1, 5);
    assert_int_equal(told.n, 4);
    assert_int_equal(told.ids[0], a);
    assert_int_equal(told.ids[1], b);
    assert_int_equal(told.ids[3], find(t, "/zookeeper"));
    /* The number of a node that has gone: whoever has it now is no business of the walk. */
    assert_true(tree_walk_visited(t, add(t, "/zookeeper", "quota")));
    for (znode_id id = 1; id < tree_walk_limit(t); id++) {
        tree_walk_mark(t, id);
    }
    tree_walk_end(t);
    tree_walk_begin(t, on_change, &told);
    for (znode_id id = 1; id < tree_walk_limit(t); id++) {
        assert_false(tree_walk_visited(t, id));
        tree_walk_mark(t, id);
    }
    tree_walk_end(t);
    tree_free(t);
}

/* ---- random changes against a model ---- */

enum { FAN = 6, N_PATHS = FAN + FAN * FAN + FAN * FAN * FAN };

/* Paths are numbered level by level: 0 to 5 are children of the root, 6 to 11 of the first ... */
struct model {
    bool exists[N_PATHS];
    struct stat_persisted stat[N_PATHS];
    uint8_t data[N_PATHS][40];
    int len[N_PATHS]; /* -1: null */
    int n_children[N_PATHS];
};

static int parent_of(int i)
{
    return i < FAN ? -1 : i / FAN - 1;
}

static const char *path_of(int i, char *out)
{
    char above[32] = "";

    if (i >= FAN) {
        path_of(parent_of(i), above);
    }
    snprintf(out, 32, "%.24s/%c", above, 'a' + i % FAN);
    return out;
}

static struct bytes random_data(struct prng *r, struct model *m, int i)
{
    m->len[i] = (int)prng_below(r, 42) - 1;
    m->len[i] = m->len[i] > 40 ? 40 : m->len[i];
    for (int k = 0; k < m->len[i]; k++) {
        m->data[i][k] = (uint8_t)prng_next(r);
    }
    return m->len[i] < 0 ? BYTES_NULL : bytes_of(m->data[i], (size_t)m->len[i]);
}

static void random_add(struct tree *t, struct prng *r, struct model *m, int i, int64_t zxid)
{
    static const int64_t owners[] = {0, 0, 0, 5, 6, OWNER_CONTAINER, OWNER_TTL_MARK | 9};
    int parent = parent_of(i);
    char path[32], name[2] = {(char)('a' + i % FAN), '\0'};
    znode_id parent_id = parent < 0 ? find(t, "/") : find(t, path_of(parent, path));

    if (parent >= 0 && !m->exists[parent]) {
        assert_int_equal(parent_id, 0);
        return;
    }
    m->exists[i] = true;
    m->n_children[i] = 0;
    m->stat[i] = (struct stat_persisted){
        .czxid = zxid, .mzxid = zxid, .pzxid = zxid, .ephemeral_owner = owners[prng_below(r, 7)]};
    if (parent >= 0) {
        m->n_children[parent]++;
    }
    tree_add(t, parent_id, bytes_str(name), random_data(r, m, i), ACL_OPEN, &m->stat[i]);
}

static void random_change(struct tree *t, struct prng *r, struct model *m, int i, int64_t zxid)
{
    char path[32];
    znode_id id = find(t, path_of(i, path));

    switch (prng_below(r, 4)) {
    case 0:
        if (m->n_children[i] == 0) {
            tree_remove(t, id);
            m->exists[i] = false;
            if (parent_of(i) >= 0) {
                m->n_children[parent_of(i)]--;
            }
        }
        break;
    case 1:
        m->stat[i].mzxid = zxid;
        m->stat[i].mtime = zxid * 2;
        m->stat[i].version++;
        tree_set_data(t, id, random_data(r, m, i), zxid, zxid * 2, m->stat[i].version);
        break;
    case 2:
        m->stat[i].cversion++;
        m->stat[i].pzxid = zxid;
        tree_set_child_stat(t, id, m->stat[i].cversion, zxid);
        break;
    default:
        m->stat[i].aversion++;
        tree_set_acl(t, id, ACL_OPEN, m->stat[i].aversion);
        break;
    }
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

static void compare(const struct tree *t, const struct model *m)
{
    int64_t count = 4, n_owned = 0;
    char path[32];

    for (int i = 0; i < N_PATHS; i++) {
        znode_id id = find(t, path_of(i, path));
        struct stat_persisted s;

        assert_int_equal(id != 0, m->exists[i]);
        if (id == 0) {
            continue;
        }
        tree_persisted(t, id, &s);
        assert_same_stat(&s, &m->stat[i]);
        assert_int_equal(tree_n_children(t, id), m->n_children[i]);
        assert_bytes_equal(tree_data(t, id),
                           m->len[i] < 0 ? BYTES_NULL : bytes_of(m->data[i], (size_t)m->len[i]));
        n_owned += tree_owner_kind(t, s.ephemeral_owner) == OWNER_SESSION ? 1 : 0;
        count++;
    }
    assert_int_equal(tree_count(t), count);
    assert_int_equal(tree_n_ephemerals(t), n_owned);
    tree_check(t);
}

static void random_changes_leave_what_the_model_says(void **state)
{
    static struct model m;
    struct prng r;

    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct tree *t = new_tree();
        char path[32];

        memset(&m, 0, sizeof(m));
        prng_seed(&r, seed);
        for (int64_t zxid = 1; zxid <= 2000; zxid++) {
            int i = (int)prng_below(&r, N_PATHS);

            if (find(t, path_of(i, path)) == 0) {
                random_add(t, &r, &m, i, zxid);
            } else {
                random_change(t, &r, &m, i, zxid);
            }
            if (zxid % 500 == 0) {
                compare(t, &m);
            }
        }
        tree_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_tree_has_the_recorded_digest),
        cmocka_unit_test(system_nodes_that_are_there_are_left_alone),
        cmocka_unit_test(the_root_has_two_names_and_odd_paths_are_not_found),
        cmocka_unit_test(a_path_is_put_together_from_the_names),
        cmocka_unit_test(null_and_empty_data_are_two_values),
        cmocka_unit_test(data_may_grow_and_shrink),
        cmocka_unit_test(the_shown_cversion_counts_creations_and_deletions),
        cmocka_unit_test(container_and_ttl_nodes_show_no_owner),
        cmocka_unit_test(what_an_owner_is_depends_on_the_options),
        cmocka_unit_test(the_digest_covers_data_and_stat_but_not_the_acl),
        cmocka_unit_test(a_foreseen_digest_is_taken_by_the_node_that_it_is_of_alone),
        cmocka_unit_test(ephemerals_are_found_by_their_session),
        cmocka_unit_test(a_node_may_change_its_owner),
        cmocka_unit_test(sessions_are_put_and_removed),
        cmocka_unit_test(the_number_of_a_node_that_is_gone_is_used_again),
        cmocka_unit_test(a_parent_that_was_made_anew_is_found_with_its_own_children),
        cmocka_unit_test(paths_with_one_parent_and_with_others_take_turns),
        cmocka_unit_test(deep_paths_are_found_again_and_again),
        cmocka_unit_test(many_children_are_all_found),
        cmocka_unit_test(a_walk_is_told_of_each_unvisited_node_before_it_changes),
        cmocka_unit_test(random_changes_leave_what_the_model_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
