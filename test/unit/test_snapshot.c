/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/prng.h"
#include "lib/history.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "lib/tree_text.h"
#include "lib/vectors.h"
#include "pawl/error.h"
#include "store/acl_table.h"
#include "store/apply.h"
#include "store/snapshot_read.h"
#include "store/snapshot_walk.h"
#include "store/snapshot_write.h"
#include "wire/jute.h"

#define FOLDER      "version-2"
#define SNAPSHOT_2A VECTORS "/datadir/standalone-snapshot/version-2/snapshot.2a"

static const struct snapshot_read_options plain = {.tree.extended_types = true};

static struct sim_disk *new_disk(void)
{
    struct sim_disk *s = sim_disk_new(1);

    assert_int_equal(disk_make_folder(sim_disk_disk(s), FOLDER), 0);
    assert_int_equal(disk_sync_folder(sim_disk_disk(s), ""), 0);
    return s;
}

static char *text_of(const struct tree *t)
{
    struct strbuf text;
    char *copy;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    tree_text_persisted(t, &text);
    copy = must_strdup(strbuf_cstr(&text));
    strbuf_fini(&text);
    return copy;
}

static void assert_same_tree(const struct tree *actual, const struct tree *expected)
{
    char *a = text_of(actual), *b = text_of(expected);

    tree_check(actual);
    assert_string_equal(a, b);
    assert_int_equal(tree_digest(actual), tree_digest(expected));
    free(a);
    free(b);
}

static int load_bytes(struct bytes content, const char *name, struct tree **out,
                      struct snapshot_info *info)
{
    struct sim_disk *s = sim_disk_new(1);
    int rc;

    sim_disk_put(s, name, content);
    rc = snapshot_load(sim_disk_disk(s), name, &plain, out, info);
    sim_disk_free(s);
    return rc;
}

static struct tree *load_2a(void)
{
    struct bytes file = vectors_file(SNAPSHOT_2A);
    struct snapshot_info info;
    struct tree *t;

    assert_int_equal(load_bytes(file, "snapshot.2a", &t, &info), 0);
    assert_true(info.has_digest);
    assert_int_equal(info.digest_zxid, 0x2a);
    assert_int_equal(info.digest, tree_digest(t));
    free((void *)(uintptr_t)file.data);
    return t;
}

/* ---- writing ---- */

/* Apart from the last section, which 3.8 does not write. */
static void a_snapshot_of_zookeepers_comes_out_byte_by_byte(void **state)
{
    struct snapshot_file_options options = {.folder = FOLDER};
    struct bytes java = vectors_file(SNAPSHOT_2A), ours;
    struct sim_disk *s = new_disk();
    struct tree *t = load_2a();

    (void)state;
    assert_int_equal(snapshot_save(sim_disk_disk(s), &options, t, 0x2a), 0);
    sim_disk_restart(s, SIM_LOSE_ALL);
    ours = sim_disk_get(s, FOLDER "/snapshot.2a");
    assert_int_equal(ours.len, java.len + 8 + 13);
    assert_bytes_equal(bytes_of(ours.data, java.len), java);
    assert_int_equal(load_u64(ours.data + java.len), 0x2a);
    assert_int_equal(load_u64(ours.data + java.len + 8), adler32(1, ours.data, (uInt)java.len + 8));
    assert_memory_equal(ours.data + java.len + 16, "\0\0\0\1/", 5);
    tree_free(t);
    sim_disk_free(s);
    free((void *)(uintptr_t)java.data);
}

static void every_codec_gives_the_tree_back(void **state)
{
    static const char *const names[] = {"snapshot.5", "snapshot.5.gz", "snapshot.5.snappy"};
    struct history *h = history_new(7, 300);
    struct tree *t = tree_new(&history_tree_options);
    struct apply apply = {.tree = t};
    struct txn txn;

    (void)state;
    tree_add_system_nodes(t);
    for (int64_t zxid = 1; zxid <= 300; zxid++) {
        assert_int_equal(txn_read(history_payload(h, zxid), &txn), TXN_OK);
        apply_txn(&apply, &txn, NULL, 0);
    }
    for (size_t codec = 0; codec < 3; codec++) {
        struct snapshot_file_options options = {FOLDER, (enum snapshot_codec)codec};
        struct sim_disk *s = new_disk();
        struct snapshot_info info;
        struct tree *loaded;
        char path[64];
        bool whole;

        snprintf(path, sizeof(path), FOLDER "/%s", names[codec]);
        assert_int_equal(snapshot_save(sim_disk_disk(s), &options, t, 5), 0);
        assert_int_equal(snapshot_looks_whole(sim_disk_disk(s), path, &whole), 0);
        assert_true(whole);
        assert_int_equal(snapshot_load(sim_disk_disk(s), path, &plain, &loaded, &info), 0);
        assert_int_equal(info.last_zxid, 5);
        assert_int_equal(info.n_nodes, tree_count(t));
        history_expect(h, loaded, 300);
        tree_free(loaded);
        sim_disk_free(s);
    }
    tree_free(t);
    history_free(h);
}

/* Transactions go on between any two slices, and the snapshot is the tree of the beginning. */
static void a_walk_gives_the_tree_of_one_moment(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct history *h = history_new(seed, 300);
        struct tree *t = tree_new(&history_tree_options), *loaded;
        struct apply apply = {.tree = t};
        struct snapshot_file_options options = {.folder = FOLDER};
        struct sim_disk *s = new_disk();
        struct snapshot_chunk *chunk;
        struct snapshot_file *file;
        struct snapshot_taker *taker = NULL;
        struct snapshot_walk *w = NULL;
        struct snapshot_info info;
        struct txn txn;
        bool done = false;

        tree_add_system_nodes(t);
        for (int64_t zxid = 1; zxid <= 300; zxid++) {
            assert_int_equal(txn_read(history_payload(h, zxid), &txn), TXN_OK);
            if (zxid == 200) {
                w = snapshot_walk_begin(t, zxid - 1);
                taker = snapshot_walk_join(w, SIZE_MAX);
            }
            if (zxid >= 200 && zxid % 9 == 0) {
                done = snapshot_walk_step(w, 1, SIZE_MAX);
            }
            apply_txn(&apply, &txn, NULL, 0);
        }
        assert_false(done);
        while (!snapshot_walk_step(w, 2, SIZE_MAX)) {
        }
        history_expect(h, t, 300);
        assert_int_equal(snapshot_file_begin(sim_disk_disk(s), &options, 199, &file), 0);
        while ((chunk = snapshot_taker_take(taker)) != NULL) {
            assert_int_equal(snapshot_file_write(file, chunk->data, chunk->len), 0);
            snapshot_chunk_free(chunk);
        }
        assert_int_equal(taker->state, TAKER_WHOLE);
        snapshot_taker_free(taker);
        assert_int_equal(snapshot_file_finish(file, snapshot_walk_digest(w)), 0);
        snapshot_walk_free(w);
        assert_int_equal(
            snapshot_load(sim_disk_disk(s), FOLDER "/snapshot.c7", &plain, &loaded, &info), 0);
        assert_int_equal(info.digest, tree_digest(loaded));
        history_expect(h, loaded, 199);
        tree_free(loaded);
        tree_free(t);
        sim_disk_free(s);
        history_free(h);
    }
}

/* ---- several takers ---- */

static size_t drain_taker(struct snapshot_taker *taker, struct strbuf *out)
{
    struct snapshot_chunk *chunk;
    size_t n = 0;

    while ((chunk = snapshot_taker_take(taker)) != NULL) {
        strbuf_append(out, chunk->data, chunk->len);
        snapshot_chunk_free(chunk);
        n++;
    }
    return n;
}

static struct tree *tree_of_large_nodes(int n, size_t node_bytes)
{
    struct stat_persisted stat = {.czxid = 1, .mzxid = 1, .pzxid = 1};
    struct tree *t = tree_new(&plain.tree);
    uint8_t *data = must_zalloc(node_bytes);
    char name[16];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        tree_add(t, 1, bytes_str(name), bytes_of(data, node_bytes), ACL_OPEN, &stat);
    }
    free(data);
    return t;
}

/* What a learner gets is the file without its header and seals. */
static void every_taker_gets_the_same_bytes(void **state)
{
    struct bytes java = vectors_file(SNAPSHOT_2A);
    struct tree *t = load_2a();
    struct snapshot_walk *w = snapshot_walk_begin(t, 0x2a);
    struct snapshot_taker *takers[3];
    struct strbuf streams[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        takers[i] = snapshot_walk_join(w, SIZE_MAX);
        strbuf_init(&streams[i], STRBUF_NO_LIMIT);
    }
    while (!snapshot_walk_step(w, 3, SIZE_MAX)) {
        drain_taker(takers[0], &streams[0]); /* one is quick, one takes all at the end */
    }
    drain_taker(takers[1], &streams[1]);
    snapshot_walk_free(w);
    tree_free(t);
    drain_taker(takers[0], &streams[0]);
    drain_taker(takers[2], &streams[2]); /* and one when the tree is gone */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(takers[i]->state, TAKER_WHOLE);
        assert_bytes_equal(strbuf_bytes(&streams[i]), bytes_of(java.data + 16, streams[i].len));
        assert_int_equal(streams[i].len, java.len - 16 - 13 - 20 - 13);
        snapshot_taker_free(takers[i]);
        strbuf_fini(&streams[i]);
    }
    free((void *)(uintptr_t)java.data);
}

static void a_taker_that_lags_is_dropped_and_holds_nothing_back(void **state)
{
    enum { NODE = 100 << 10, N = 50, LIMIT = 1 << 20 };
    struct tree *t = tree_of_large_nodes(N, NODE);
    struct snapshot_walk *w = snapshot_walk_begin(t, 1);
    struct snapshot_taker *slow = snapshot_walk_join(w, LIMIT),
                          *file = snapshot_walk_join(w, SIZE_MAX);
    struct strbuf stream;

    (void)state;
    strbuf_init(&stream, STRBUF_NO_LIMIT);
    while (!snapshot_walk_step(w, 1, SIZE_MAX)) {
        drain_taker(file, &stream);
        assert_true(slow->pending <= LIMIT);
        assert_true(snapshot_walk_lag(w) == (slow->state == TAKER_LATE ? 0 : slow->pending));
    }
    drain_taker(file, &stream);
    assert_int_equal(slow->state, TAKER_LATE);
    assert_null(snapshot_taker_take(slow));
    assert_int_equal(file->state, TAKER_WHOLE);
    assert_true(stream.len > N * NODE);
    snapshot_taker_free(slow);
    snapshot_taker_free(file);
    snapshot_walk_free(w);
    strbuf_fini(&stream);
    tree_free(t);
}

static void a_walk_that_ends_early_says_so_to_its_takers(void **state)
{
    struct tree *t = load_2a();
    struct snapshot_walk *w = snapshot_walk_begin(t, 1);
    struct snapshot_taker *one = snapshot_walk_join(w, SIZE_MAX),
                          *two = snapshot_walk_join(w, SIZE_MAX);

    (void)state;
    assert_true(snapshot_walk_is_wanted(w));
    snapshot_walk_step(w, 2, SIZE_MAX);
    snapshot_taker_free(one);
    assert_true(snapshot_walk_is_wanted(w));
    snapshot_walk_free(w);
    assert_int_equal(two->state, TAKER_LEFT);
    snapshot_taker_free(two);
    w = snapshot_walk_begin(t, 1);
    one = snapshot_walk_join(w, SIZE_MAX);
    snapshot_taker_free(one);
    assert_false(snapshot_walk_is_wanted(w));
    snapshot_walk_free(w);
    tree_free(t);
}

static void a_walk_given_up_leaves_the_next_one_whole(void **state)
{
    struct snapshot_file_options options = {.folder = FOLDER};
    struct tree *t = load_2a(), *loaded;
    struct sim_disk *s = new_disk();
    struct snapshot_info info;
    struct snapshot_walk *w = snapshot_walk_begin(t, 1);

    (void)state;
    snapshot_walk_step(w, 5, SIZE_MAX);
    snapshot_walk_free(w);
    assert_int_equal(snapshot_save(sim_disk_disk(s), &options, t, 0x2a), 0);
    assert_int_equal(snapshot_load(sim_disk_disk(s), FOLDER "/snapshot.2a", &plain, &loaded, &info),
                     0);
    assert_same_tree(loaded, t);
    tree_free(loaded);
    tree_free(t);
    sim_disk_free(s);
}

/* A slice ends by bytes as well, or one of large nodes would hold a copy of the whole tree. */
static void a_slice_of_large_nodes_is_short(void **state)
{
    enum { NODE = 100 << 10, SLICE = 300 << 10, N = 50 };
    struct tree *t = tree_of_large_nodes(N, NODE);
    struct snapshot_taker *taker;
    struct snapshot_walk *w;
    size_t n_steps = 0, before = 0;

    (void)state;
    w = snapshot_walk_begin(t, 1);
    taker = snapshot_walk_join(w, SIZE_MAX);
    while (!snapshot_walk_step(w, 1000, SLICE)) {
        assert_true(snapshot_walk_lag(w) - before < SLICE + NODE + SNAPSHOT_CHUNK_BYTES + 4096);
        before = snapshot_walk_lag(w);
        n_steps++;
    }
    assert_true(n_steps >= N / 4);
    snapshot_taker_free(taker);
    snapshot_walk_free(w);
    tree_free(t);
}

/* Deeper than the walk's own stack. */
static void a_deep_tree_is_written_parents_first(void **state)
{
    struct snapshot_file_options options = {.folder = FOLDER};
    struct stat_persisted stat = {.czxid = 1, .mzxid = 1, .pzxid = 1};
    struct tree *t = tree_new(&plain.tree), *loaded;
    struct sim_disk *s = new_disk();
    struct snapshot_info info;
    struct snapshot_walk *w;
    znode_id at = 1;

    (void)state;
    for (int i = 0; i < 500; i++) {
        at = tree_add(t, at, bytes_str("d"), bytes_str("x"), ACL_OPEN, &stat);
    }
    w = snapshot_walk_begin(t, 1);
    tree_set_data(t, at, bytes_str("y"), 2, 2, 1); /* writes all 500 above it */
    assert_true(snapshot_walk_step(w, 1000, SIZE_MAX));
    snapshot_walk_free(w);
    assert_int_equal(snapshot_save(sim_disk_disk(s), &options, t, 1), 0);
    assert_int_equal(snapshot_load(sim_disk_disk(s), FOLDER "/snapshot.1", &plain, &loaded, &info),
                     0);
    assert_same_tree(loaded, t);
    tree_free(loaded);
    tree_free(t);
    sim_disk_free(s);
}

/* Each call fails in turn: no half of a snapshot is left under either name. */
static void until_it_is_whole_it_has_another_name(void **state)
{
    struct snapshot_file_options options = {.folder = FOLDER};
    struct tree *t = load_2a();
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct sim_disk *s = new_disk();

        sim_disk_fail_at(s, sim_disk_calls(s) + ++n, PAWL_ERR_DISK_FULL);
        rc = snapshot_save(sim_disk_disk(s), &options, t, 0x2a);
        assert_true(rc == 0 || rc == PAWL_ERR_DISK_FULL);
        assert_true(bytes_is_null(sim_disk_get(s, FOLDER "/tmp.snapshot.2a")));
        if (rc == PAWL_ERR_DISK_FULL) {
            sim_disk_restart(s, SIM_LOSE_ALL);
            assert_true(bytes_is_null(sim_disk_get(s, FOLDER "/snapshot.2a")));
        }
        sim_disk_free(s);
    } while (rc != 0);
    assert_true(n > 8);
    tree_free(t);
}

/* ---- reading ---- */

/* Any byte of a snapshot changed: refused, except where nothing is looked at. */
static void a_changed_byte_is_found(void **state)
{
    struct bytes file = vectors_file(SNAPSHOT_2A);
    uint8_t *bytes = (uint8_t *)(uintptr_t)file.data;
    struct snapshot_info info;
    struct tree *t;

    (void)state;
    for (size_t i = 0; i < file.len; i++) {
        bytes[i] ^= 0x10;
        if (load_bytes(file, "snapshot.2a", &t, &info) == 0) {
            /* Only the very last string, which is behind the last sum. */
            assert_in_range(i, file.len - 5, file.len - 1);
            tree_free(t);
        } else {
            assert_int_not_equal(info.reason[0], '\0');
        }
        bytes[i] ^= 0x10;
    }
    free(bytes);
}

static void a_snapshot_cut_anywhere_is_refused(void **state)
{
    static const char *const files[] = {
        SNAPSHOT_2A,
        VECTORS "/datadir/compressed/gz/version-2/snapshot.2a.gz",
        VECTORS "/datadir/compressed/snappy/version-2/snapshot.2a.snappy",
    };

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct bytes file = vectors_file(files[k]);
        struct snapshot_info info;
        struct tree *t;

        for (size_t len = 0; len < file.len; len++) {
            if (load_bytes(bytes_of(file.data, len), strrchr(files[k], '/') + 1, &t, &info) == 0) {
                /* Plain: right behind the first seal. Gzip: all but its own trailer. */
                assert_true((k == 0 && len == 2253) || (k == 1 && len >= file.len - 9));
                tree_free(t);
            }
        }
        free((void *)(uintptr_t)file.data);
    }
}

/* What precedes the nodes in a hand-made snapshot. */
static void put_head(struct strbuf *b)
{
    jute_write_int(b, 0x5A4B534E);
    jute_write_int(b, 2);
    jute_write_long(b, -1);
    jute_write_int(b, 0);
    jute_write_int(b, 0);
}

static void put_node(struct strbuf *b, const char *path, int64_t acl, int64_t owner)
{
    struct stat_persisted s = {.czxid = 1, .ephemeral_owner = owner};

    jute_write_str(b, path);
    jute_write_str(b, "");
    jute_write_long(b, acl);
    stat_persisted_write(b, &s);
}

static int load_nodes(struct strbuf *b, struct tree **out, struct snapshot_info *info)
{
    int rc;

    jute_write_str(b, "/");
    jute_write_long(b, (int64_t)adler32(1, b->data, (uInt)b->len));
    jute_write_str(b, "/");
    rc = load_bytes(strbuf_bytes(b), "snapshot.1", out, info);
    strbuf_fini(b);
    return rc;
}

static void expect_refused(const char *first, const char *second, const char *reason)
{
    struct snapshot_info info;
    struct strbuf b;
    struct tree *t;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    put_head(&b);
    put_node(&b, "", -1, 0);
    put_node(&b, first, -1, 0);
    put_node(&b, second, -1, 0);
    assert_int_equal(load_nodes(&b, &t, &info), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(info.reason, reason));
}

static void impossible_trees_are_refused(void **state)
{
    (void)state;
    expect_refused("/a", "/a", "twice");
    expect_refused("/a", "/b/c", "before its parent");
    expect_refused("/a", "/a/", "no name");
    expect_refused("/a", "b", "start with");
}

static void a_root_with_an_owner_is_refused(void **state)
{
    struct snapshot_info info;
    struct strbuf b;
    struct tree *t;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    put_head(&b);
    put_node(&b, "", -1, 77);
    assert_int_equal(load_nodes(&b, &t, &info), PAWL_ERR_CORRUPT);
}

/* A fuzzy snapshot may name an ACL made after the list of them was written. */
static void an_unknown_acl_lets_nobody_in(void **state)
{
    struct snapshot_info info;
    struct jute_reader r;
    struct strbuf b;
    struct tree *t;
    znode_id id;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    put_head(&b);
    put_node(&b, "", -1, 0);
    put_node(&b, "/a", 99, 0);
    assert_int_equal(load_nodes(&b, &t, &info), 0);
    id = tree_find(t, bytes_str("/a"));
    assert_int_equal(acl_table_world_perms(tree_acls(t), tree_acl(t, id)), 0);
    r = jute_reader_of(acl_table_get(tree_acls(t), tree_acl(t, id)));
    assert_int_equal(jute_read_count(&r), 1); /* an empty list would let everybody in */
    assert_int_equal(acl_entry_read(&r).perms, 0);
    tree_free(t);
}

static void huge_lengths_ask_for_no_memory(void **state)
{
    static const int32_t lengths[] = {INT32_MAX, -2, 0x7ffffff0, 3000000};
    struct snapshot_info info;
    struct tree *t;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct strbuf b;

        strbuf_init(&b, STRBUF_NO_LIMIT);
        put_head(&b);
        jute_write_int(&b, lengths[i]); /* of a path */
        jute_write_str(&b, "/");
        assert_int_equal(load_bytes(strbuf_bytes(&b), "snapshot.1", &t, &info), PAWL_ERR_CORRUPT);
        assert_non_null(strstr(info.reason, "length"));
        jute_patch_int(&b, 16, INT32_MAX); /* of the sessions */
        assert_int_equal(load_bytes(strbuf_bytes(&b), "snapshot.1", &t, &info), PAWL_ERR_CORRUPT);
        assert_non_null(strstr(info.reason, "cut short"));
        strbuf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_of_zookeepers_comes_out_byte_by_byte),
        cmocka_unit_test(every_codec_gives_the_tree_back),
        cmocka_unit_test(a_walk_gives_the_tree_of_one_moment),
        cmocka_unit_test(every_taker_gets_the_same_bytes),
        cmocka_unit_test(a_taker_that_lags_is_dropped_and_holds_nothing_back),
        cmocka_unit_test(a_walk_that_ends_early_says_so_to_its_takers),
        cmocka_unit_test(a_walk_given_up_leaves_the_next_one_whole),
        cmocka_unit_test(a_deep_tree_is_written_parents_first),
        cmocka_unit_test(a_slice_of_large_nodes_is_short),
        cmocka_unit_test(until_it_is_whole_it_has_another_name),
        cmocka_unit_test(a_changed_byte_is_found),
        cmocka_unit_test(a_snapshot_cut_anywhere_is_refused),
        cmocka_unit_test(impossible_trees_are_refused),
        cmocka_unit_test(a_root_with_an_owner_is_refused),
        cmocka_unit_test(an_unknown_acl_lets_nobody_in),
        cmocka_unit_test(huge_lengths_ask_for_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
