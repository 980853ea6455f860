/* SPDX-License-Identifier: Apache-2.0 */
/* What a leader does to a member's history, with a crash at every call to the disk: it cuts the end
 * off (TRUNC), it replaces all of it (SNAP), it reads a part of it (DIFF).
 *
 * There are two histories of the same zxids: the one this member has, and the leader's. Whenever
 * the power goes, recovery finds one of them, exactly, and never a mixture. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/prng.h"
#include "lib/history.h"
#include "lib/log_record.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/durable.h"
#include "store/log_range.h"
#include "store/mark.h"
#include "store/received.h"
#include "store/recovery.h"
#include "store/snapshot_stream.h"
#include "store/snapshot_walk.h"
#include "store/snapshot_write.h"
#include "store/txnlog_truncate.h"
#include "store/txnlog_write.h"

enum { N_TXNS = 60, PER_LOG = 17, SNAPSHOT_EVERY = 25 };

static struct history *ours, *leaders;

static const struct txnlog_options log_options = {.folder = STORE_FOLDER,
                                                  .preallocate_bytes = 8 << 10,
                                                  .force_sync = true};

/* ---- a member's folder ---- */

static struct tree *tree_at(const struct history *h, int64_t zxid)
{
    struct tree *t = tree_new(&history_tree_options);
    struct apply apply = {.tree = t};
    struct txn txn;

    tree_add_system_nodes(t);
    for (int64_t z = 1; z <= zxid; z++) {
        assert_int_equal(txn_read(history_payload(h, z), &txn), TXN_OK);
        apply_txn(&apply, &txn, NULL, 0);
    }
    return t;
}

static int append_one(struct txnlog *log, const struct history *h, int64_t zxid)
{
    struct strbuf b;
    size_t mark;
    int rc;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    mark = log_record_begin(&b);
    strbuf_append_bytes(&b, history_payload(h, zxid));
    log_record_end(&b, mark);
    rc = txnlog_append(log, b.data, b.len, zxid);
    strbuf_fini(&b);
    return rc == 0 ? txnlog_sync(log) : rc;
}

static void save_snapshot(struct disk *disk, const struct history *h, int64_t zxid)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER};
    struct tree *t = tree_at(h, zxid);

    assert_int_equal(snapshot_save(disk, &options, t, zxid), 0);
    tree_free(t);
}

/* Our history up to `last`: several logs, several snapshots, all on disk. The log stays open. */
static struct sim_disk *member_disk(uint64_t seed, int64_t last, struct txnlog **log)
{
    struct sim_disk *s = sim_disk_new(seed);
    struct disk *d = sim_disk_disk(s);

    assert_int_equal(disk_make_folder(d, STORE_FOLDER), 0);
    assert_int_equal(disk_sync_folder(d, ""), 0);
    save_snapshot(d, ours, 0);
    assert_int_equal(txnlog_open(d, &log_options, log), 0);
    for (int64_t zxid = 1; zxid <= last; zxid++) {
        if (zxid % PER_LOG == 0) {
            txnlog_roll(*log);
        }
        assert_int_equal(append_one(*log, ours, zxid), 0);
        if (zxid % SNAPSHOT_EVERY == 0) {
            save_snapshot(d, ours, zxid);
        }
    }
    return s;
}

static struct tree *recover(struct sim_disk *s, struct recovery_report *report)
{
    struct recovery_options options = {.tree = history_tree_options};
    struct tree *tree;
    int rc = recovery_load(sim_disk_disk(s), sim_disk_disk(s), &options, &tree, report);

    if (rc != 0) {
        print_error("%s\n", report->error);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(report->n_digest_mismatches, 0);
    return tree;
}

static void expect_history(struct sim_disk *s, const struct history *h, int64_t first, int64_t last)
{
    struct recovery_report report;
    struct tree *tree = recover(s, &report);

    assert_in_range(report.last_zxid, first, last);
    history_expect(h, tree, report.last_zxid);
    tree_free(tree);
}

static bool same_as(const struct tree *tree, const struct history *h, int64_t zxid)
{
    struct tree *expected = tree_at(h, zxid);
    bool same = tree_digest(tree) == tree_digest(expected);

    tree_free(expected);
    return same;
}

static const enum sim_loss losses[] = {SIM_LOSE_ALL, SIM_LOSE_NOTHING, SIM_LOSE_SOME, SIM_LOSE_SOME,
                                       SIM_LOSE_SOME};

/* ---- TRUNC ---- */

static int truncate_to(struct sim_disk *s, struct txnlog *log, int64_t zxid)
{
    struct disk *d = sim_disk_disk(s);
    int rc = txnlog_truncate(d, d, STORE_FOLDER, 0, zxid);

    txnlog_forget(log, zxid);
    return rc;
}

/* The folder goes on from what it holds with the leader's transactions, which may be others. */
static void go_on(struct sim_disk *s, struct txnlog *log, const struct history *h, int64_t from)
{
    for (int64_t zxid = from + 1; zxid <= from + 5; zxid++) {
        assert_int_equal(append_one(log, h, zxid), 0);
    }
    txnlog_close(log);
    sim_disk_restart(s, SIM_LOSE_ALL);
    expect_history(s, h, from + 5, from + 5);
}

static void truncation_leaves_a_prefix_whenever_the_power_goes(void **state)
{
    static const int64_t targets[] = {55, 51, 50, 36, 34, 33, 25, 9, 0};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(targets); i++) {
        uint64_t n = 0;
        int rc;

        do {
            n++;
            for (size_t k = 0; k < TEST_COUNT(losses); k++) {
                struct txnlog *log;
                struct sim_disk *s = member_disk(n * 8 + k, N_TXNS, &log);

                sim_disk_crash_at(s, sim_disk_calls(s) + n);
                rc = truncate_to(s, log, targets[i]);
                txnlog_close(log);
                sim_disk_restart(s, losses[k]);
                expect_history(s, ours, targets[i], rc == 0 ? targets[i] : N_TXNS);
                assert_int_equal(txnlog_open(sim_disk_disk(s), &log_options, &log), 0);
                assert_int_equal(truncate_to(s, log, targets[i]), 0); /* the leader asks again */
                go_on(s, log, ours, targets[i]);
                sim_disk_free(s);
            }
        } while (rc != 0);
        assert_true(n > 5);
    }
}

static void truncation_fails_cleanly_at_every_call(void **state)
{
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct txnlog *log;
        struct sim_disk *s = member_disk(1, N_TXNS, &log);

        sim_disk_fail_at(s, sim_disk_calls(s) + ++n, PAWL_ERR_IO);
        rc = truncate_to(s, log, 20);
        txnlog_close(log);
        sim_disk_restart(s, SIM_LOSE_NOTHING);
        expect_history(s, ours, 20, rc == 0 ? 20 : N_TXNS);
        sim_disk_free(s);
    } while (rc != 0);
}

/* What is lost behind the cut was not acknowledged; what is lost before it was. */
static void the_number_of_what_is_durable_follows_the_cut(void **state)
{
    struct recovery_options options = {.tree = history_tree_options};
    struct recovery_report report;
    struct txnlog *log;
    struct sim_disk *s = member_disk(1, N_TXNS, &log);
    struct disk *d = sim_disk_disk(s);
    struct tree *tree;
    struct durable_known known;

    (void)state;
    assert_int_equal(truncate_to(s, log, 40), 0);
    txnlog_close(log);
    assert_int_equal(durable_load(d, STORE_FOLDER, &known), 0);
    assert_int_equal(known.zxid, 40);
    assert_int_equal(disk_remove(d, STORE_FOLDER "/log.22"), 0); /* 34 and up */
    assert_int_equal(recovery_load(d, d, &options, &tree, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "acknowledged"));
    sim_disk_free(s);
}

/* ---- SNAP ---- */

/* The stream's body of a tree. */
static void body_of(struct tree *tree, int64_t zxid, struct strbuf *out)
{
    struct snapshot_walk *w = snapshot_walk_begin(tree, zxid);
    struct snapshot_taker *taker = snapshot_walk_join(w, SIZE_MAX);
    struct snapshot_chunk *chunk;

    strbuf_init(out, STRBUF_NO_LIMIT);
    while (!snapshot_walk_step(w, 10, SIZE_MAX)) {
    }
    while ((chunk = snapshot_taker_take(taker)) != NULL) {
        strbuf_append(out, chunk->data, chunk->len);
        snapshot_chunk_free(chunk);
    }
    snapshot_taker_free(taker);
    snapshot_walk_free(w);
}

static int receive_from(struct sim_disk *s, struct bytes body, int64_t zxid, struct tree **out,
                        struct snapshot_info *info)
{
    struct received_options options = {.snapshot_disk = sim_disk_disk(s),
                                       .log_disk = sim_disk_disk(s),
                                       .folder = STORE_FOLDER,
                                       .reading.tree = history_tree_options};
    struct received *r;
    int rc = received_begin(&options, zxid, &r);

    for (size_t at = 0; rc == 0 && at < body.len; at += 1000) {
        size_t n = body.len - at < 1000 ? body.len - at : 1000;

        rc = received_write(r, body.data + at, n);
        if (rc != 0) {
            received_abort(r);
        }
    }
    if (rc == 0) {
        rc = received_check(r, info);
        rc = rc == 0 ? received_finish(r, out) : (received_abort(r), rc);
    }
    return rc;
}

static int replace_by(struct sim_disk *s, struct txnlog *log, int64_t zxid)
{
    struct tree *t = tree_at(leaders, zxid), *loaded;
    struct snapshot_info info;
    struct strbuf body;
    int rc;

    body_of(t, zxid, &body);
    tree_free(t);
    rc = receive_from(s, strbuf_bytes(&body), zxid, &loaded, &info);
    txnlog_forget(log, zxid);
    if (rc == 0) {
        history_expect(leaders, loaded, zxid);
        tree_free(loaded);
    }
    strbuf_fini(&body);
    return rc;
}

/* Only what the leader's has may be there: a file of the old history under its old name would be
 * taken when the new one is damaged one day. */
static void count_usable(const char *name, void *arg)
{
    int *n = arg;

    *n += file_name_zxid(name, "log") >= 0 || file_name_zxid(name, "snapshot") >= 0;
}

static int n_usable(struct sim_disk *s)
{
    int n = 0;

    assert_int_equal(disk_list(sim_disk_disk(s), STORE_FOLDER, count_usable, &n), 0);
    return n;
}

/* The one of a member whose tree has diverged, and which is damaged, too. */
static struct sim_disk *marked_disk(uint64_t seed, struct txnlog **log)
{
    struct sim_disk *s = member_disk(seed, N_TXNS, log);

    assert_int_equal(mark_save(sim_disk_disk(s), STORE_FOLDER, DIVERGED_FILE, "/a"), 0);
    assert_int_equal(mark_save(sim_disk_disk(s), STORE_FOLDER, DAMAGED_FILE, "log.1"), 0);
    return s;
}

static bool is_marked(struct sim_disk *s)
{
    struct mark diverged, damaged;

    assert_int_equal(mark_load(sim_disk_disk(s), STORE_FOLDER, DIVERGED_FILE, &diverged), 0);
    assert_int_equal(mark_load(sim_disk_disk(s), STORE_FOLDER, DAMAGED_FILE, &damaged), 0);
    assert_int_equal(diverged.is_there, damaged.is_there);
    return damaged.is_there;
}

/* Ours, all of it, or the leader's; and which. The mark goes with what it is about. */
static bool is_replaced(struct sim_disk *s, int64_t zxid)
{
    struct recovery_report report;
    struct tree *tree = recover(s, &report);
    bool replaced = report.last_zxid == zxid && same_as(tree, leaders, zxid);

    if (replaced) {
        history_expect(leaders, tree, zxid);
        assert_int_equal(n_usable(s), 1);
    } else {
        assert_int_equal(report.last_zxid, N_TXNS);
        history_expect(ours, tree, N_TXNS);
    }
    assert_int_equal(is_marked(s), !replaced);
    tree_free(tree);
    return replaced;
}

static void a_snapshot_replaces_all_or_nothing_whenever_the_power_goes(void **state)
{
    static const int64_t zxids[] = {75, 60, 50, 30}; /* later, as late, and earlier than ours */

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(zxids); i++) {
        size_t n_old = 0, n_new = 0;
        uint64_t n = 0;
        int rc;

        do {
            n++;
            for (size_t k = 0; k < TEST_COUNT(losses); k++) {
                struct txnlog *log;
                struct sim_disk *s = marked_disk(n * 8 + k, &log);
                bool replaced;

                sim_disk_crash_at(s, sim_disk_calls(s) + n);
                rc = replace_by(s, log, zxids[i]);
                txnlog_close(log);
                sim_disk_restart(s, losses[k]);
                /* It may go again while the rest is done. */
                sim_disk_crash_at(s, sim_disk_calls(s) + 1 + (n * 7 + k) % 23);
                received_install(sim_disk_disk(s), sim_disk_disk(s), STORE_FOLDER);
                sim_disk_restart(s, losses[k]);
                replaced = is_replaced(s, zxids[i]);
                assert_true(replaced || rc != 0);
                n_new += replaced;
                n_old += !replaced;
                assert_int_equal(txnlog_open(sim_disk_disk(s), &log_options, &log), 0);
                assert_int_equal(replace_by(s, log, zxids[i]), 0); /* sent again */
                go_on(s, log, leaders, zxids[i]);
                sim_disk_free(s);
            }
        } while (rc != 0);
        assert_true(n_old > 10 && n_new > 10);
    }
}

static void a_snapshot_that_cannot_be_written_changes_nothing(void **state)
{
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct txnlog *log;
        struct sim_disk *s = marked_disk(1, &log);

        sim_disk_fail_at(s, sim_disk_calls(s) + ++n, PAWL_ERR_DISK_FULL);
        rc = replace_by(s, log, 75);
        txnlog_close(log);
        sim_disk_restart(s, SIM_LOSE_NOTHING);
        assert_true(is_replaced(s, 75) || rc != 0);
        sim_disk_free(s);
    } while (rc != 0);
}

/* Sound lengths, but the second node has no parent. */
static void a_stream_that_makes_no_tree_is_refused_and_changes_nothing(void **state)
{
    struct tree *t = tree_at(leaders, 30), *loaded;
    struct snapshot_info info;
    struct txnlog *log;
    struct sim_disk *s = marked_disk(1, &log);
    struct strbuf body;
    uint8_t node[4 + 7 + 4 + 68] = "\0\0\0\7/x/y/z1";

    (void)state;
    body_of(t, 30, &body);
    tree_free(t);
    body.len -= 5;
    strbuf_append(&body, node, sizeof(node));
    strbuf_append(&body, "\0\0\0\1/", 5);
    assert_int_equal(receive_from(s, strbuf_bytes(&body), 75, &loaded, &info), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(info.reason, "parent"));
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/tmp.snapshot.4b")));
    txnlog_close(log);
    assert_false(is_replaced(s, 75));
    strbuf_fini(&body);
    sim_disk_free(s);
}

/* dataDir and dataLogDir are two: either may be synced, or lost, without the other. */
static void two_disks_are_replaced_together(void **state)
{
    struct recovery_options options = {.tree = history_tree_options};
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct txnlog *log;
        struct sim_disk *logs = member_disk(n, N_TXNS, &log), *snapshots = sim_disk_new(n);
        struct received_options to = {.snapshot_disk = sim_disk_disk(snapshots),
                                      .log_disk = sim_disk_disk(logs),
                                      .folder = STORE_FOLDER,
                                      .reading.tree = history_tree_options};
        struct sim_disk *victim = n % 2 == 0 ? logs : snapshots;
        struct tree *t = tree_at(leaders, 75), *tree;
        struct recovery_report report;
        struct snapshot_info info;
        struct received *r;
        struct strbuf body;

        txnlog_close(log);
        for (int64_t zxid = 0; zxid <= N_TXNS; zxid += SNAPSHOT_EVERY) {
            char name[64];

            snprintf(name, sizeof(name), STORE_FOLDER "/snapshot.%" PRIx64, (uint64_t)zxid);
            sim_disk_put(snapshots, name, sim_disk_get(logs, name));
            assert_int_equal(disk_remove(sim_disk_disk(logs), name), 0);
        }
        assert_int_equal(disk_sync_folder(sim_disk_disk(logs), STORE_FOLDER), 0);
        body_of(t, 75, &body);
        tree_free(t);
        sim_disk_crash_at(victim, sim_disk_calls(victim) + ++n / 2 + 1);
        rc = received_begin(&to, 75, &r);
        if (rc == 0) {
            rc = received_write(r, body.data, body.len);
            rc = rc == 0 ? received_check(r, &info) : rc;
            rc = rc == 0 ? received_finish(r, &tree) : (received_abort(r), rc);
        }
        if (rc == 0) {
            tree_free(tree);
        }
        sim_disk_restart(logs, SIM_LOSE_SOME);
        sim_disk_restart(snapshots, SIM_LOSE_SOME);
        assert_int_equal(recovery_load(to.snapshot_disk, to.log_disk, &options, &tree, &report), 0);
        assert_true(report.last_zxid == 75 || (report.last_zxid == N_TXNS && rc != 0));
        history_expect(report.last_zxid == 75 ? leaders : ours, tree, report.last_zxid);
        tree_free(tree);
        strbuf_fini(&body);
        sim_disk_free(logs);
        sim_disk_free(snapshots);
    } while (rc != 0 || n % 2 != 0);
    assert_true(n > 30);
}

/* Half of one, and the process dies. */
static void a_half_is_removed_at_the_start(void **state)
{
    struct txnlog *log;
    struct sim_disk *s = marked_disk(1, &log);

    (void)state;
    txnlog_close(log);
    sim_disk_put(s, STORE_FOLDER "/tmp.snapshot.4b", bytes_str("ZKSN and so on"));
    assert_false(is_replaced(s, 75));
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/tmp.snapshot.4b")));
    sim_disk_free(s);
}

static void what_was_replaced_is_kept_until_the_next_one(void **state)
{
    struct txnlog *log;
    struct sim_disk *s = member_disk(1, N_TXNS, &log);

    (void)state;
    assert_int_equal(replace_by(s, log, 75), 0);
    assert_false(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/replaced.log.33")));
    assert_false(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/replaced.snapshot.32")));
    assert_int_equal(replace_by(s, log, 77), 0);
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/replaced.log.33")));
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/replaced.snapshot.32")));
    assert_false(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/replaced.snapshot.4b")));
    txnlog_close(log);
    sim_disk_free(s);
}

/* ---- the stream of 3.8.0 ---- */

static void note_stream(const struct quorum_message *m, void *arg)
{
    struct strbuf *out = arg;

    if (strstr(m->meaning, "SNAPSTREAM") != NULL) {
        strbuf_append_bytes(out, m->bytes);
    }
}

static void a_stream_of_zookeepers_becomes_a_snapshot(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct snapshot_info info;
    struct strbuf stream;
    struct tree *tree;

    (void)state;
    assert_int_equal(disk_make_folder(sim_disk_disk(s), STORE_FOLDER), 0);
    strbuf_init(&stream, STRBUF_NO_LIMIT);
    vectors_quorum(VECTORS "/quorum/sync-snap-epoch-crossing.txt", note_stream, &stream);
    assert_int_equal(
        receive_from(s, bytes_of(stream.data, stream.len - 14), 0x200000003, &tree, &info), 0);
    assert_int_equal(info.n_nodes, 6);
    assert_int_equal(tree_n_sessions(tree), 1);
    tree_free(tree);
    tree = recover(s, &report);
    assert_int_equal(report.last_zxid, 0x200000003);
    tree_free(tree);
    strbuf_fini(&stream);
    sim_disk_free(s);
}

/* And ours is the same, byte by byte, for the same tree. */
static void our_stream_is_zookeepers(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct strbuf stream, again;
    struct snapshot_info info;
    struct tree *tree;

    (void)state;
    assert_int_equal(disk_make_folder(sim_disk_disk(s), STORE_FOLDER), 0);
    strbuf_init(&stream, STRBUF_NO_LIMIT);
    vectors_quorum(VECTORS "/quorum/sync-snap-epoch-crossing.txt", note_stream, &stream);
    assert_int_equal(
        receive_from(s, bytes_of(stream.data, stream.len - 14), 0x200000003, &tree, &info), 0);
    body_of(tree, 0x200000003, &again);
    assert_bytes_equal(strbuf_bytes(&again), bytes_of(stream.data, stream.len - 14));
    tree_free(tree);
    strbuf_fini(&stream);
    strbuf_fini(&again);
    sim_disk_free(s);
}

/* ---- DIFF from the log ---- */

struct reading {
    int64_t next;
    size_t n_bytes;
};

static void expect_next(int64_t zxid, struct bytes payload, void *arg)
{
    struct reading *r = arg;

    assert_int_equal(zxid, r->next++);
    assert_bytes_equal(payload, history_payload(ours, zxid));
    r->n_bytes += payload.len;
}

static void a_range_is_read_in_pieces_while_the_log_goes_on(void **state)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER};
    struct txnlog *log;
    struct sim_disk *s = member_disk(1, 40, &log);

    (void)state;
    for (int64_t first = 1; first <= 40; first += 3) {
        struct reading reading = {.next = first};
        struct log_range *r;
        bool done = false;

        assert_int_equal(log_range_open(sim_disk_disk(s), &options, first, 40, &r), 0);
        while (!done) {
            size_t before = reading.n_bytes;

            assert_int_equal(log_range_read(r, 500, expect_next, &reading, &done), 0);
            assert_true(reading.n_bytes - before < 500 + 4096);
        }
        assert_int_equal(reading.next, 41);
        log_range_close(r);
        assert_int_equal(append_one(log, ours, 41 + first / 3), 0);
    }
    txnlog_close(log);
    sim_disk_free(s);
}

/* It is a file's last one: what comes before it takes time, too, and whoever appends waits. */
static void what_is_before_a_range_is_read_in_pieces_as_well(void **state)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER};
    struct reading reading = {.next = 33};
    struct txnlog *log;
    struct sim_disk *s = member_disk(1, 40, &log);
    struct log_range *r;
    bool done = false;

    (void)state;
    assert_int_equal(log_range_open(sim_disk_disk(s), &options, 33, 33, &r), 0);
    assert_int_equal(log_range_read(r, 1, expect_next, &reading, &done), 0);
    assert_false(done);
    assert_int_equal(reading.n_bytes, 0);
    while (!done) {
        assert_int_equal(log_range_read(r, 1, expect_next, &reading, &done), 0);
    }
    assert_int_equal(reading.next, 34);
    log_range_close(r);
    txnlog_close(log);
    sim_disk_free(s);
}

static void a_range_that_is_not_there_is_an_error(void **state)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER};
    struct reading reading = {.next = 30};
    struct txnlog *log;
    struct sim_disk *s = member_disk(1, 40, &log);
    struct log_range *r;
    bool done = false;

    (void)state;
    assert_int_equal(log_range_open(sim_disk_disk(s), &options, 30, 41, &r), 0);
    assert_int_equal(log_range_read(r, SIZE_MAX, expect_next, &reading, &done), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(log_range_reason(r), "0x29"));
    log_range_close(r);
    assert_int_equal(disk_remove(sim_disk_disk(s), STORE_FOLDER "/log.11"), 0); /* 17 to 33 */
    reading.next = 10;
    assert_int_equal(log_range_open(sim_disk_disk(s), &options, 10, 40, &r), 0);
    assert_int_equal(log_range_read(r, SIZE_MAX, expect_next, &reading, &done), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(log_range_reason(r), "goes on with 0x22"));
    log_range_close(r);
    assert_int_equal(log_range_open(sim_disk_disk(s), &options, 20, 40, &r), 0);
    assert_int_equal(log_range_read(r, SIZE_MAX, expect_next, &reading, &done), PAWL_ERR_CORRUPT);
    log_range_close(r);
    txnlog_close(log);
    sim_disk_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncation_leaves_a_prefix_whenever_the_power_goes),
        cmocka_unit_test(truncation_fails_cleanly_at_every_call),
        cmocka_unit_test(the_number_of_what_is_durable_follows_the_cut),
        cmocka_unit_test(a_snapshot_replaces_all_or_nothing_whenever_the_power_goes),
        cmocka_unit_test(a_snapshot_that_cannot_be_written_changes_nothing),
        cmocka_unit_test(a_stream_that_makes_no_tree_is_refused_and_changes_nothing),
        cmocka_unit_test(two_disks_are_replaced_together),
        cmocka_unit_test(a_half_is_removed_at_the_start),
        cmocka_unit_test(what_was_replaced_is_kept_until_the_next_one),
        cmocka_unit_test(a_stream_of_zookeepers_becomes_a_snapshot),
        cmocka_unit_test(our_stream_is_zookeepers),
        cmocka_unit_test(a_range_is_read_in_pieces_while_the_log_goes_on),
        cmocka_unit_test(what_is_before_a_range_is_read_in_pieces_as_well),
        cmocka_unit_test(a_range_that_is_not_there_is_an_error),
    };
    int rc;

    ours = history_new(11, 90);
    leaders = history_new(12, 90);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    history_free(ours);
    history_free(leaders);
    return rc;
}
