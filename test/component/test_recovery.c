/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of the folders recorded from Apache ZooKeeper 3.8.0, whole and damaged. What a crash of
 * our own leaves is in test_crash.c. */
#include "store/recovery.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "lib/tree_text.h"
#include "lib/vectors.h"
#include "pawl/error.h"
#include "store/durable.h"
#include "store/epoch.h"
#include "store/quota.h"
#include "store/snapshot_write.h"
#include "store/txnlog_truncate.h"
#include "store/txnlog_write.h"
#include "wire/jute.h"

#define DATADIR VECTORS "/datadir/"

enum { LAST_RECORD = 4290, DATA_END = 4368 };

static const struct recovery_options plain = {.tree.extended_types = true};

static struct sim_disk *import(const char *name)
{
    struct sim_disk *s = sim_disk_new(1);
    char folder[512];

    snprintf(folder, sizeof(folder), DATADIR "%s/version-2", name);
    sim_disk_import(s, folder, STORE_FOLDER);
    return s;
}

static int load(struct sim_disk *s, const struct recovery_options *options, struct tree **tree,
                struct recovery_report *report)
{
    struct quota *quota;
    int rc = recovery_load(sim_disk_disk(s), sim_disk_disk(s), options, tree, report);

    if (rc == 0) {
        tree_check(*tree);
        quota = quota_new(*tree);
        quota_free(quota);
    }
    return rc;
}

/* mtime of /zookeeper/config is each member's own clock. */
static void forget_config_mtime(char *text)
{
    char *p = strstr(text, "path=/zookeeper/config\n");

    p = p == NULL ? NULL : strstr(p, " mtime=");
    while (p != NULL && *p != '\0' && strncmp(p, " version=", 9) != 0) {
        *p++ = ' ';
    }
}

static void assert_tree_is(const struct tree *tree, const char *file)
{
    struct bytes expected = vectors_file(file);
    struct strbuf actual;
    char *copy;

    strbuf_init(&actual, STRBUF_NO_LIMIT);
    tree_text(tree, &actual);
    copy = must_strdup(strbuf_cstr(&actual));
    forget_config_mtime(copy);
    forget_config_mtime((char *)(uintptr_t)expected.data);
    assert_string_equal(copy, (const char *)expected.data);
    free(copy);
    strbuf_fini(&actual);
    free((void *)(uintptr_t)expected.data);
}

static void assert_persisted_is(const struct tree *tree, const char *file)
{
    struct bytes expected = vectors_file(file);
    struct strbuf actual;

    strbuf_init(&actual, STRBUF_NO_LIMIT);
    tree_text_persisted(tree, &actual);
    assert_string_equal(strbuf_cstr(&actual), strchr((const char *)expected.data, '\n') + 1);
    strbuf_fini(&actual);
    free((void *)(uintptr_t)expected.data);
}

static void expect_tree(struct sim_disk *s, const char *tree_file, int64_t last_zxid)
{
    struct recovery_report report;
    struct tree *tree;

    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, last_zxid);
    assert_int_equal(report.n_digest_mismatches, 0);
    assert_tree_is(tree, tree_file);
    tree_free(tree);
    sim_disk_free(s);
}

/* ---- whole folders ---- */

static void the_standalone_folder_gives_its_tree(void **state)
{
    struct sim_disk *s = import("standalone");
    struct recovery_report report;
    struct tree *tree;
    int32_t timeout_ms;

    (void)state;
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_int_equal(report.n_replayed, 42);
    assert_int_equal(report.n_digest_mismatches, 0);
    assert_false(report.torn);
    assert_true(tree_session_get(tree, 0x1000015a80d0000, &timeout_ms));
    assert_int_equal(timeout_ms, 40000);
    assert_int_equal(tree_n_sessions(tree), 1);
    assert_true(report.seen.session_id >= 0x1000015a80d0000); /* never to be given out again */
    assert_true(report.seen.time_ms > 1500000000000);
    tree_free(tree);
    expect_tree(s, DATADIR "standalone/tree.txt", 0x2a);
}

static void a_snapshot_alone_gives_the_same_tree(void **state)
{
    (void)state;
    expect_tree(import("standalone-snapshot"), DATADIR "standalone-snapshot/tree.txt", 0x2a);
    expect_tree(import("compressed/gz"), DATADIR "compressed/tree.txt", 0x2a);
    expect_tree(import("compressed/snappy"), DATADIR "compressed/tree.txt", 0x2a);
}

static void stored_values_are_those_decoded_by_others(void **state)
{
    struct sim_disk *s = import("standalone-snapshot");
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_persisted_is(tree, DATADIR "standalone-snapshot/persisted.txt");
    tree_free(tree);
    sim_disk_free(s);
    s = import("trunc-after");
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_persisted_is(tree, DATADIR "trunc-after/persisted.txt");
    tree_free(tree);
    sim_disk_free(s);
}

static void an_ensemble_members_log_spans_epochs(void **state)
{
    struct sim_disk *s = import("ensemble-member");
    struct epochs epochs;
    char reason[256];

    (void)state;
    assert_int_equal(
        epoch_start(sim_disk_disk(s), STORE_FOLDER, 0x200000007, &epochs, reason, sizeof(reason)),
        0);
    assert_int_equal(epochs.current, 2);
    assert_int_equal(epochs.accepted, 2);
    expect_tree(s, DATADIR "ensemble-member/tree.txt", 0x200000007);
}

static void stale_records_before_the_snapshot_are_left_out(void **state)
{
    struct sim_disk *s = import("snap-sync-stale-log");
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_int_equal(tree_find(tree, bytes_str("/stale0")), 0);
    assert_int_equal(tree_find(tree, bytes_str("/stale1")), 0);
    tree_free(tree);
    expect_tree(s, DATADIR "snap-sync-stale-log/tree.txt", 0x200000006);
}

static void truncation_does_what_zookeeper_does(void **state)
{
    struct sim_disk *s = import("trunc-before"), *after = import("trunc-after");
    struct disk *d = sim_disk_disk(s);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(txnlog_truncate(d, d, STORE_FOLDER, 0, 0x100000004), 0);
    assert_bytes_equal(sim_disk_get(s, STORE_FOLDER "/log.100000001"),
                       sim_disk_get(after, STORE_FOLDER "/log.100000001"));
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 0x100000004);
    assert_int_equal(tree_find(tree, bytes_str("/lost0")), 0);
    assert_int_not_equal(tree_find(tree, bytes_str("/keep2")), 0);
    tree_free(tree);
    sim_disk_free(s);
    sim_disk_free(after);
}

/* ---- damage: the table of the format's description, section 16.4 ---- */

static struct bytes copy_of(const char *file)
{
    struct sim_disk *s = import("standalone");
    char path[256];
    struct bytes b;
    uint8_t *copy;

    snprintf(path, sizeof(path), STORE_FOLDER "/%s", file);
    b = sim_disk_get(s, path);
    copy = malloc(b.len + 32);
    memcpy(copy, b.data, b.len);
    sim_disk_free(s);
    return bytes_of(copy, b.len);
}

struct damage {
    uint8_t *bytes;
    size_t len;
    struct sim_disk *disk;
};

static struct damage damage_begin(void)
{
    struct bytes b = copy_of("log.1");

    return (struct damage){(uint8_t *)(uintptr_t)b.data, b.len, import("standalone")};
}

static void damage_done(struct damage *d)
{
    sim_disk_put(d->disk, STORE_FOLDER "/log.1", bytes_of(d->bytes, d->len));
    free(d->bytes);
}

static void expect_torn(struct damage *d, uint64_t n_replayed, uint64_t offset)
{
    struct recovery_report report;
    struct bytes log;
    struct tree *tree;

    damage_done(d);
    assert_int_equal(load(d->disk, &plain, &tree, &report), 0);
    assert_int_equal(report.n_replayed, n_replayed);
    assert_int_equal(report.last_zxid, n_replayed);
    assert_int_equal(report.n_digest_mismatches, 0);
    assert_true(report.torn);
    assert_string_equal(report.place.file, STORE_FOLDER "/log.1");
    assert_int_equal(report.place.offset, offset);
    tree_free(tree);
    log = sim_disk_get(d->disk, STORE_FOLDER "/log.1");
    assert_int_equal(log.len, offset); /* cut there */
    assert_int_equal(load(d->disk, &plain, &tree, &report), 0);
    assert_int_equal(report.n_replayed, n_replayed);
    assert_false(report.torn);
    tree_free(tree);
    sim_disk_free(d->disk);
}

static void expect_refused(struct damage *d, uint64_t offset, const char *last_zxid,
                           const char *reason)
{
    uint8_t *copy = must_alloc(d->len);
    size_t len = d->len;
    struct recovery_report report;
    struct tree *tree;
    char place[64];

    memcpy(copy, d->bytes, len);
    damage_done(d);
    assert_int_equal(load(d->disk, &plain, &tree, &report), PAWL_ERR_CORRUPT);
    snprintf(place, sizeof(place), "log.1 is damaged at offset %" PRIu64 ":", offset);
    assert_non_null(strstr(report.error, place));
    assert_non_null(strstr(report.error, last_zxid));
    assert_non_null(strstr(report.error, reason));
    /* untouched */
    assert_bytes_equal(sim_disk_get(d->disk, STORE_FOLDER "/log.1"), bytes_of(copy, len));
    free(copy);
    sim_disk_free(d->disk);
}

static void a_log_cut_anywhere_in_its_last_record_ends_before_it(void **state)
{
    static const size_t lengths[] = {4295, 4300, 4302, 4334, 4366, 4367};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct damage d = damage_begin();

        d.len = lengths[i];
        expect_torn(&d, 41, LAST_RECORD);
    }
}

static void a_last_record_without_its_end_is_cut(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    d.bytes[4367] = 0;
    expect_torn(&d, 41, LAST_RECORD);
    d = damage_begin();
    memset(d.bytes + 4322, 0, 4368 - 4322);
    expect_torn(&d, 41, LAST_RECORD);
}

static void a_wrong_checksum_is_refused_even_at_the_end(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    d.bytes[4342] ^= 0xff;
    expect_refused(&d, LAST_RECORD, "0x29", "checksum");
}

static void impossible_lengths_are_refused(void **state)
{
    static const uint32_t lengths[] = {0x7fffffff, (uint32_t)-2, (uint32_t)-1};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct damage d = damage_begin();

        store_u64(d.bytes + DATA_END, 5);
        store_u32(d.bytes + DATA_END + 8, lengths[i]);
        expect_refused(&d, DATA_END, "0x2a", "length");
    }
}

/* ZooKeeper takes it for the end. No write leaves it, though, so nobody knows what was there. */
static void a_record_of_length_zero_is_refused(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    store_u64(d.bytes + DATA_END, 1);
    store_u32(d.bytes + DATA_END + 8, 0);
    d.bytes[DATA_END + 12] = 'B';
    expect_refused(&d, DATA_END, "0x2a", "follow");
}

/* ZooKeeper takes this for the end and starts with half of the history. Sound records follow in the
 * same sector, so no crash did this, and acknowledged transactions would be lost: refused. */
static void a_missing_mark_in_the_middle_is_refused(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    d.bytes[2077] = 0;
    expect_refused(&d, 1958, "0x14", "no end mark");
}

static void garbage_over_a_length_in_the_middle_is_refused(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    store_u32(d.bytes + 1958 + 8, 4000); /* beyond several sound records */
    expect_refused(&d, 1958, "0x14", "no end mark");
    d = damage_begin();
    memset(d.bytes + 1958, 0, 40); /* length 0, and the sector goes on */
    expect_refused(&d, 1958, "0x14", "follow");
}

/* A crash may keep a later sector of one write and lose an earlier one. But these may as well be
 * acknowledged records, and who wrote the log left no word of that. */
static void a_lost_sector_before_sound_records_is_refused(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    memset(d.bytes + 3584, 0, 512);
    expect_refused(&d, 3559, "0x22", "sound records follow");
}

/* The same in a log that was written by a server of ours, which has acknowledged nothing of it. */
static void a_lost_sector_explains_a_tear_of_our_own(void **state)
{
    struct damage d = damage_begin();
    struct durable *durable = durable_new(sim_disk_disk(d.disk), STORE_FOLDER);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    memset(d.bytes + 3584, 0, 512);
    damage_done(&d);
    durable_begin_log(durable, 1);
    durable_free(durable);
    assert_int_equal(load(d.disk, &plain, &tree, &report), 0);
    assert_true(report.torn);
    assert_true(report.n_replayed > 20 && report.n_replayed < 42);
    assert_true(report.place.offset > 3584 - 512 && report.place.offset <= 3584);
    tree_free(tree);
    sim_disk_free(d.disk);
}

static void what_is_no_log_is_refused(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    memcpy(d.bytes, "XXXX", 4);
    expect_refused(&d, 0, "", "not a transaction log");
    d = damage_begin();
    d.len = 7;
    expect_refused(&d, 0, "", "header");
}

static void the_headers_version_is_not_looked_at(void **state)
{
    struct damage d = damage_begin();

    (void)state;
    d.bytes[7] = 9;
    damage_done(&d);
    expect_tree(d.disk, DATADIR "standalone/tree.txt", 0x2a);
}

/* ---- several logs ---- */

static size_t record_offset(const uint8_t *log, int number)
{
    size_t at = 16;

    for (int i = 1; i < number; i++) {
        at += 13 + load_u32(log + at + 8);
    }
    return at;
}

/* Records `first` to `last` of the standalone log as a file of their own. */
static void put_part(struct sim_disk *s, const char *name, int first, int last)
{
    struct bytes whole = copy_of("log.1");
    size_t from = record_offset(whole.data, first), to = record_offset(whole.data, last + 1);
    char path[256];
    uint8_t *part = malloc(16 + to - from);

    memcpy(part, whole.data, 16);
    memcpy(part + 16, whole.data + from, to - from);
    snprintf(path, sizeof(path), STORE_FOLDER "/%s", name);
    sim_disk_put(s, path, bytes_of(part, 16 + to - from));
    free(part);
    free((void *)(uintptr_t)whole.data);
}

static void a_log_in_several_files_reads_the_same(void **state)
{
    struct sim_disk *s = import("standalone");

    (void)state;
    put_part(s, "log.1", 1, 10);
    put_part(s, "log.b", 11, 30);
    put_part(s, "log.1f", 31, 42);
    expect_tree(s, DATADIR "standalone/tree.txt", 0x2a);
}

static void expect_gap(struct sim_disk *s, const char *log, const char *last_good)
{
    struct recovery_report report;
    struct tree *tree;

    assert_int_equal(load(s, &plain, &tree, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, log));
    assert_non_null(strstr(report.error, last_good));
    assert_non_null(strstr(report.error, "are in no log"));
    sim_disk_free(s);
}

static void a_hole_in_the_history_stops_the_start(void **state)
{
    struct sim_disk *s = import("standalone");

    (void)state;
    put_part(s, "log.1", 1, 10); /* between two logs */
    put_part(s, "log.15", 21, 42);
    expect_gap(s, "log.15", "0xa");
    s = import("standalone");
    put_part(s, "log.1", 11, 42); /* between the snapshot and the first log */
    expect_gap(s, "log.1", "0x0");
}

/* Cuts the last record of log.1, which then holds 1 to 10, and lets `next` follow it. */
static int load_torn_middle(const char *next, int first, struct recovery_report *report)
{
    struct sim_disk *s = import("standalone");
    struct bytes log;
    struct tree *tree;
    int rc;

    put_part(s, "log.1", 1, 11);
    log = sim_disk_get(s, STORE_FOLDER "/log.1");
    sim_disk_put(s, STORE_FOLDER "/log.1", bytes_of(log.data, log.len - 1));
    put_part(s, next, first, 42);
    rc = load(s, &plain, &tree, report);
    if (rc == 0) {
        assert_int_equal(report->last_zxid, 0x2a);
        assert_int_equal(report->n_digest_mismatches, 0);
        tree_free(tree);
    }
    sim_disk_free(s);
    return rc;
}

static void a_tear_before_the_newest_log_must_be_continued(void **state)
{
    struct recovery_report report;

    (void)state;
    assert_int_equal(load_torn_middle("log.b", 11, &report), 0); /* crashed, used the zxid again */
    assert_int_equal(load_torn_middle("log.c", 12, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "log.c"));
    assert_non_null(strstr(report.error, "0xa"));
}

static void empty_newest_logs_are_tolerated(void **state)
{
    struct sim_disk *s = import("standalone");
    uint8_t zeroes[4096] = {0};

    (void)state;
    sim_disk_put(s, STORE_FOLDER "/log.2b", bytes_str(""));
    expect_tree(s, DATADIR "standalone/tree.txt", 0x2a);
    s = import("standalone");
    sim_disk_put(s, STORE_FOLDER "/log.2b", bytes_of(zeroes, sizeof(zeroes)));
    expect_tree(s, DATADIR "standalone/tree.txt", 0x2a);
    s = import("standalone");
    sim_disk_put(s, STORE_FOLDER "/log.2b", bytes_of("ZKLG\0\0\0\2\0\0\0\0\0\0\0\0", 16));
    expect_tree(s, DATADIR "standalone/tree.txt", 0x2a);
}

/* ---- snapshots ---- */

static struct bytes snapshot_2a(void)
{
    return vectors_file(DATADIR "standalone-snapshot/version-2/snapshot.2a");
}

static struct sim_disk *with_snapshot(const char *name, size_t len, size_t flip)
{
    struct sim_disk *s = import("standalone");
    struct bytes b = snapshot_2a();
    char path[256];

    if (flip > 0) {
        ((uint8_t *)(uintptr_t)b.data)[flip] ^= 1;
    }
    snprintf(path, sizeof(path), STORE_FOLDER "/%s", name);
    sim_disk_put(s, path, bytes_of(b.data, len == 0 ? b.len : len));
    free((void *)(uintptr_t)b.data);
    return s;
}

static void a_bad_snapshot_is_passed_over(void **state)
{
    (void)state;
    expect_tree(with_snapshot("snapshot.2a", 0, 500), DATADIR "standalone/tree.txt", 0x2a);
    expect_tree(with_snapshot("snapshot.2a", 2283, 0), DATADIR "standalone/tree.txt", 0x2a);
}

static void a_snapshot_may_end_after_its_first_seal(void **state)
{
    (void)state;
    expect_tree(with_snapshot("snapshot.2a", 2253, 0), DATADIR "standalone/tree.txt", 0x2a);
}

/* A snapshot far ahead of its name, as one written beside running transactions is. */
static void replay_over_a_fuzzy_snapshot_converges(void **state)
{
    (void)state;
    expect_tree(with_snapshot("snapshot.0", 0, 0), DATADIR "standalone/tree.txt", 0x2a);
    expect_tree(with_snapshot("snapshot.9", 0, 0), DATADIR "standalone/tree.txt", 0x2a);
}

static void a_bad_snapshot_beyond_the_logs_stops_the_start(void **state)
{
    struct sim_disk *s = with_snapshot("snapshot.2b", 0, 500);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(load(s, &plain, &tree, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "snapshot.2b"));
    assert_non_null(strstr(report.error, "0x2a"));
    sim_disk_free(s);
}

static void no_readable_snapshot_stops_the_start(void **state)
{
    struct sim_disk *s = with_snapshot("snapshot.2a", 0, 500);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(disk_remove(sim_disk_disk(s), STORE_FOLDER "/snapshot.0"), 0);
    assert_int_equal(load(s, &plain, &tree, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "snapshot.2a"));
    sim_disk_free(s);
}

static void logs_without_a_snapshot_need_trust(void **state)
{
    struct recovery_options trusting = plain;
    struct sim_disk *s = import("standalone");
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(disk_remove(sim_disk_disk(s), STORE_FOLDER "/snapshot.0"), 0);
    assert_int_equal(load(s, &plain, &tree, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "snapshot.trust.empty"));
    trusting.trust_empty = true;
    assert_int_equal(load(s, &trusting, &tree, &report), 0);
    assert_tree_is(tree, DATADIR "standalone/tree.txt");
    tree_free(tree);
    sim_disk_free(s);
}

static void without_extended_types_ttl_nodes_are_ordinary_ephemerals(void **state)
{
    struct recovery_options options = {0};
    struct sim_disk *s = import("standalone-snapshot");
    struct recovery_report report;
    struct tree *tree;
    znode_id id;

    (void)state;
    assert_int_equal(load(s, &options, &tree, &report), 0);
    id = tree_find(tree, bytes_str("/ttl"));
    assert_int_equal(tree_owner_kind(tree, tree_owner(tree, id)), OWNER_SESSION);
    assert_int_equal(report.n_digest_mismatches, 0);
    tree_free(tree);
    sim_disk_free(s);
}

/* ---- new folders ---- */

static void an_empty_folder_becomes_a_database(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct bytes java;
    struct tree *tree;

    (void)state;
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 0);
    assert_true(report.is_new);
    assert_int_equal(tree_count(tree), 4);
    assert_int_equal(tree_digest(tree), 0x51c6d660);
    tree_free(tree);
    java = vectors_file(DATADIR "standalone/version-2/snapshot.0");
    /* Ours has one section more. The nodes' order is free, so only the length is compared. */
    assert_int_equal(sim_disk_get(s, STORE_FOLDER "/snapshot.0").len, java.len + 8 + 13);
    free((void *)(uintptr_t)java.data);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    assert_false(report.is_new);
    assert_int_equal(report.snapshot_zxid, 0);
    tree_free(tree);
    sim_disk_free(s);
}

static void without_autocreate_an_empty_folder_is_no_database(void **state)
{
    struct recovery_options options = plain;
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    options.no_autocreate = true;
    assert_int_equal(load(s, &options, &tree, &report), 0);
    assert_int_equal(report.last_zxid, -1);
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/snapshot.0")));
    tree_free(tree);
    sim_disk_put(s, "initialize", bytes_str(""));
    assert_int_equal(load(s, &options, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 0);
    assert_true(bytes_is_null(sim_disk_get(s, "initialize")));
    assert_false(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/snapshot.0")));
    tree_free(tree);
    sim_disk_free(s);
}

static void folders_mixed_up_are_refused(void **state)
{
    struct sim_disk *snapshots = import("standalone"), *logs = sim_disk_new(2);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(
        recovery_load(sim_disk_disk(snapshots), sim_disk_disk(logs), &plain, &tree, &report),
        PAWL_ERR_CONFIG);
    assert_non_null(strstr(report.error, "log.1"));
    assert_int_equal(
        recovery_load(sim_disk_disk(logs), sim_disk_disk(snapshots), &plain, &tree, &report),
        PAWL_ERR_CONFIG);
    assert_non_null(strstr(report.error, "dataLogDir"));
    sim_disk_free(snapshots);
    sim_disk_free(logs);
}

static void snapshots_and_logs_may_be_apart(void **state)
{
    struct sim_disk *snapshots = import("standalone"), *logs = import("standalone");
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    assert_int_equal(disk_remove(sim_disk_disk(snapshots), STORE_FOLDER "/log.1"), 0);
    assert_int_equal(disk_remove(sim_disk_disk(logs), STORE_FOLDER "/snapshot.0"), 0);
    assert_int_equal(
        recovery_load(sim_disk_disk(snapshots), sim_disk_disk(logs), &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 0x2a);
    tree_free(tree);
    sim_disk_free(snapshots);
    sim_disk_free(logs);
}

static void the_inner_folder_is_refused(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    sim_disk_import(s, DATADIR "standalone/version-2", "");
    assert_int_equal(load(s, &plain, &tree, &report), PAWL_ERR_CONFIG);
    assert_non_null(strstr(report.error, STORE_FOLDER));
    sim_disk_free(s);
}

static void halves_of_snapshots_are_cleared_away(void **state)
{
    struct sim_disk *s = import("standalone");
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    sim_disk_put(s, STORE_FOLDER "/tmp.snapshot.2a", bytes_str("half"));
    sim_disk_put(s, STORE_FOLDER "/tmp.snapshot.1", bytes_str("half"));
    sim_disk_put(s, STORE_FOLDER "/tmp.other", bytes_str("not ours"));
    assert_int_equal(load(s, &plain, &tree, &report), 0);
    tree_free(tree);
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/tmp.snapshot.2a")));
    assert_true(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/tmp.snapshot.1")));
    assert_false(bytes_is_null(sim_disk_get(s, STORE_FOLDER "/tmp.other")));
    sim_disk_free(s);
}

static void looking_changes_nothing(void **state)
{
    struct recovery_options options = plain;
    struct damage d = damage_begin();
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    options.read_only = true;
    d.len = 4300;
    damage_done(&d);
    sim_disk_put(d.disk, STORE_FOLDER "/tmp.snapshot.2a", bytes_str("half"));
    sim_disk_put(d.disk, "initialize", bytes_str(""));
    assert_int_equal(load(d.disk, &options, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 0x29);
    assert_true(report.torn);
    assert_int_equal(sim_disk_get(d.disk, STORE_FOLDER "/log.1").len, 4300);
    assert_false(bytes_is_null(sim_disk_get(d.disk, STORE_FOLDER "/tmp.snapshot.2a")));
    assert_false(bytes_is_null(sim_disk_get(d.disk, "initialize")));
    tree_free(tree);
    sim_disk_free(d.disk);
}

static void without_leave_no_folder_is_made(void **state)
{
    struct recovery_options options = plain;
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    options.no_make_folders = true;
    assert_int_equal(load(s, &options, &tree, &report), PAWL_ERR_NOT_FOUND);
    assert_non_null(strstr(report.error, STORE_FOLDER));
    sim_disk_free(s);
}

static void a_disk_error_is_passed_on_with_its_sentence(void **state)
{
    struct recovery_report report;
    struct tree *tree;
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct sim_disk *s = import("standalone");

        sim_disk_fail_at(s, ++n, PAWL_ERR_IO);
        rc = load(s, &plain, &tree, &report);
        if (rc == 0) {
            tree_free(tree);
        } else {
            assert_int_equal(rc, PAWL_ERR_IO);
            assert_non_null(strstr(report.error, "cannot"));
        }
        sim_disk_free(s);
    } while (rc != 0);
    assert_true(n > 10);
}

/* A sector that cannot be read, wherever it is. */
static void a_member_that_heals_takes_what_can_be_read(void **state)
{
    struct recovery_options options = plain;
    struct recovery_report report;
    struct tree *tree;
    uint64_t n = 0, n_damaged = 0;
    int rc;

    (void)state;
    options.heals = true;
    do {
        struct sim_disk *s = import("standalone");

        sim_disk_fail_at(s, ++n, PAWL_ERR_IO);
        rc = load(s, &options, &tree, &report);
        if (rc == 0) {
            n_damaged += report.damaged;
            assert_int_equal(report.damaged, report.damage[0] != '\0');
            tree_free(tree);
        } else {
            assert_int_equal(rc, PAWL_ERR_IO); /* of those that change something */
        }
        sim_disk_free(s);
    } while (rc != 0 || report.damaged);
    assert_true(n_damaged > 10);
}

/* It had a snapshot before it promised anything. */
static void who_was_a_member_and_has_nothing_has_lost_it(void **state)
{
    struct recovery_options options = plain;
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct tree *tree;

    (void)state;
    options.heals = true;
    sim_disk_put(s, STORE_FOLDER "/acceptedEpoch", bytes_str("3"));
    assert_int_equal(load(s, &options, &tree, &report), 0);
    assert_true(report.damaged);
    assert_false(report.is_new);
    assert_non_null(strstr(report.damage, "epoch 3"));
    tree_free(tree);
    sim_disk_put(s, STORE_FOLDER "/acceptedEpoch", bytes_str("0"));
    assert_int_equal(load(s, &options, &tree, &report), 0);
    assert_false(report.damaged);
    assert_true(report.is_new);
    tree_free(tree);
    sim_disk_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standalone_folder_gives_its_tree),
        cmocka_unit_test(a_snapshot_alone_gives_the_same_tree),
        cmocka_unit_test(stored_values_are_those_decoded_by_others),
        cmocka_unit_test(an_ensemble_members_log_spans_epochs),
        cmocka_unit_test(stale_records_before_the_snapshot_are_left_out),
        cmocka_unit_test(truncation_does_what_zookeeper_does),
        cmocka_unit_test(a_log_cut_anywhere_in_its_last_record_ends_before_it),
        cmocka_unit_test(a_last_record_without_its_end_is_cut),
        cmocka_unit_test(a_wrong_checksum_is_refused_even_at_the_end),
        cmocka_unit_test(impossible_lengths_are_refused),
        cmocka_unit_test(a_record_of_length_zero_is_refused),
        cmocka_unit_test(a_missing_mark_in_the_middle_is_refused),
        cmocka_unit_test(garbage_over_a_length_in_the_middle_is_refused),
        cmocka_unit_test(a_lost_sector_before_sound_records_is_refused),
        cmocka_unit_test(a_lost_sector_explains_a_tear_of_our_own),
        cmocka_unit_test(what_is_no_log_is_refused),
        cmocka_unit_test(the_headers_version_is_not_looked_at),
        cmocka_unit_test(a_log_in_several_files_reads_the_same),
        cmocka_unit_test(a_hole_in_the_history_stops_the_start),
        cmocka_unit_test(a_tear_before_the_newest_log_must_be_continued),
        cmocka_unit_test(empty_newest_logs_are_tolerated),
        cmocka_unit_test(a_bad_snapshot_is_passed_over),
        cmocka_unit_test(a_snapshot_may_end_after_its_first_seal),
        cmocka_unit_test(replay_over_a_fuzzy_snapshot_converges),
        cmocka_unit_test(a_bad_snapshot_beyond_the_logs_stops_the_start),
        cmocka_unit_test(no_readable_snapshot_stops_the_start),
        cmocka_unit_test(logs_without_a_snapshot_need_trust),
        cmocka_unit_test(without_extended_types_ttl_nodes_are_ordinary_ephemerals),
        cmocka_unit_test(an_empty_folder_becomes_a_database),
        cmocka_unit_test(without_autocreate_an_empty_folder_is_no_database),
        cmocka_unit_test(folders_mixed_up_are_refused),
        cmocka_unit_test(snapshots_and_logs_may_be_apart),
        cmocka_unit_test(the_inner_folder_is_refused),
        cmocka_unit_test(halves_of_snapshots_are_cleared_away),
        cmocka_unit_test(looking_changes_nothing),
        cmocka_unit_test(without_leave_no_folder_is_made),
        cmocka_unit_test(a_disk_error_is_passed_on_with_its_sentence),
        cmocka_unit_test(a_member_that_heals_takes_what_can_be_read),
        cmocka_unit_test(who_was_a_member_and_has_nothing_has_lost_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
