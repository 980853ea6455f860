/* SPDX-License-Identifier: Apache-2.0 */
#include "store/recovery.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/aside.h"
#include "store/durable.h"
#include "store/epoch.h"
#include "store/file_names.h"
#include "store/received.h"
#include "store/snapshot_read.h"
#include "store/snapshot_write.h"
#include "store/txnlog_format.h"

enum { CANDIDATES_MAX = 100, MISMATCHES_SAID = 3 };

struct recovery {
    struct disk *snapshots;
    struct disk *logs;
    const struct recovery_options *options;
    struct recovery_report *report;
    struct tree *tree;
    struct snapshot_info info; /* of the snapshot taken */
    int64_t own_log;           /* what durable.h knows to be ours */
    int64_t newest_bad;        /* zxid of the newest snapshot that cannot be used, -1: none */
    int64_t previous;          /* zxid of the last record replayed, or of the snapshot */
    bool is_gap;               /* report->place is a record that does not follow `previous` */
    bool may_go_on;            /* refused, but what was read is good as far as it goes */
    bool may_be_empty;         /* an empty folder may become a database */
    bool has_initialise;       /* the file that allows it once is there */
};

static int recovery_fail(struct recovery *r, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int recovery_fail(struct recovery *r, int rc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->report->error, sizeof(r->report->error), format, args);
    va_end(args);
    return rc;
}

/* The same for what is damaged: `ways` is what somebody can do who has no others to ask. */
static int damage_fail(struct recovery *r, const char *ways, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int damage_fail(struct recovery *r, const char *ways, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->report->damage, sizeof(r->report->damage), format, args);
    va_end(args);
    return recovery_fail(r, PAWL_ERR_CORRUPT, "%s. %s", r->report->damage, ways);
}

static int disk_failed(struct recovery *r, struct disk *disk, int rc)
{
    return recovery_fail(r, rc, "%s", disk_last_error(disk));
}

/* ---- the folders ---- */

struct names {
    const char *prefix;
    char found[FILE_NAME_BYTES];
};

static void note_store_file(const char *name, void *arg)
{
    struct names *n = arg;

    if (file_name_zxid(name, n->prefix) >= 0) {
        snprintf(n->found, sizeof(n->found), "%s", name);
    }
}

static int find_store_file(struct disk *disk, const char *folder, const char *prefix,
                           struct names *out)
{
    int rc;

    *out = (struct names){.prefix = prefix};
    rc = disk_list(disk, folder, note_store_file, out);
    return rc == PAWL_ERR_NOT_FOUND ? 0 : rc;
}

/* Two of them: dataDir must hold no logs and dataLogDir no snapshots, or half of the history would
 * silently be left out. */
static int check_separate(struct recovery *r)
{
    struct names n;
    int rc;

    if (r->snapshots == r->logs) {
        return 0;
    }
    rc = find_store_file(r->snapshots, STORE_FOLDER, TXNLOG_PREFIX, &n);
    if (rc != 0) {
        return disk_failed(r, r->snapshots, rc);
    }
    if (n.found[0] != '\0') {
        return recovery_fail(
            r, PAWL_ERR_CONFIG,
            "dataDir holds the transaction log " STORE_FOLDER
            "/%s although dataLogDir is another folder; move the logs there, or take "
            "dataLogDir out of the configuration",
            n.found);
    }
    rc = find_store_file(r->logs, STORE_FOLDER, SNAPSHOT_PREFIX, &n);
    if (rc != 0) {
        return disk_failed(r, r->logs, rc);
    }
    if (n.found[0] != '\0') {
        return recovery_fail(r, PAWL_ERR_CONFIG,
                             "dataLogDir holds the snapshot " STORE_FOLDER
                             "/%s; move the snapshots to dataDir's " STORE_FOLDER,
                             n.found);
    }
    return 0;
}

/* Somebody gave the folder version-2 itself, which would look like an empty database. */
static int check_level(struct recovery *r, struct disk *disk)
{
    static const char *const prefixes[] = {SNAPSHOT_PREFIX, TXNLOG_PREFIX};
    struct names n;
    int rc;

    for (size_t i = 0; i < 2; i++) {
        rc = find_store_file(disk, "", prefixes[i], &n);
        if (rc != 0) {
            return disk_failed(r, disk, rc);
        }
        if (n.found[0] != '\0') {
            return recovery_fail(
                r, PAWL_ERR_CONFIG,
                "the folder itself holds %s: give the folder above it, the one that has "
                "a " STORE_FOLDER " in it",
                n.found);
        }
    }
    return 0;
}

static int recovery_make_folder(struct recovery *r, struct disk *disk)
{
    int rc = 0;

    if (!r->options->read_only && !r->options->no_make_folders) {
        rc = disk_make_folder(disk, STORE_FOLDER);
    }
    if (rc == 0 && !r->options->read_only) {
        rc = disk_sync_folder(disk, "");
    }
    return rc == 0 ? 0 : disk_failed(r, disk, rc);
}

/* Halves of snapshots that a crash left; nobody else would ever remove them. */
static void remove_temporary(const char *name, void *arg)
{
    struct strbuf *names = arg;

    if (strncmp(name, SNAPSHOT_TEMPORARY, strlen(SNAPSHOT_TEMPORARY)) == 0) {
        strbuf_append(names, name, strlen(name) + 1);
    }
}

static int clean_up(struct recovery *r)
{
    char path[FILE_PATH_BYTES];
    struct strbuf names;
    int rc;

    if (r->options->read_only) {
        return 0;
    }
    strbuf_init(&names, STRBUF_NO_LIMIT);
    rc = disk_list(r->snapshots, STORE_FOLDER, remove_temporary, &names);
    for (size_t at = 0; rc == 0 && at < names.len; at += strlen((char *)names.data + at) + 1) {
        file_path(path, STORE_FOLDER, (char *)names.data + at);
        rc = disk_remove(r->snapshots, path);
    }
    strbuf_fini(&names);
    return rc == 0 ? 0 : disk_failed(r, r->snapshots, rc);
}

static int check_folders(struct recovery *r)
{
    int rc = check_level(r, r->snapshots);

    if (rc == 0) {
        rc = check_level(r, r->logs);
    }
    return rc == 0 ? check_separate(r) : rc;
}

static int recovery_make_folders(struct recovery *r)
{
    int rc = recovery_make_folder(r, r->snapshots);

    return rc == 0 && r->logs != r->snapshots ? recovery_make_folder(r, r->logs) : rc;
}

/* ---- the snapshot ---- */

static bool is_cut_off(const struct recovery *r, int64_t zxid)
{
    return r->options->is_cut && zxid > r->options->cut_zxid;
}

static int try_snapshot(struct recovery *r, const struct file_name *file, size_t *n_tried)
{
    struct snapshot_read_options options = {.tree = r->options->tree,
                                            .limit_bytes = r->options->limit_bytes};
    char path[FILE_PATH_BYTES];
    bool whole;
    int rc;

    file_path(path, STORE_FOLDER, file->name);
    rc = snapshot_looks_whole(r->snapshots, path, &whole);
    if (rc != 0) {
        return disk_failed(r, r->snapshots, rc);
    }
    if (!whole) {
        log_warn("%s is not a whole snapshot, as a crash while writing it leaves it; trying an "
                 "older one",
                 path);
        r->newest_bad = r->newest_bad < 0 ? file->zxid : r->newest_bad;
        return PAWL_ERR_CORRUPT;
    }
    (*n_tried)++;
    rc = snapshot_load(r->snapshots, path, &options, &r->tree, &r->info);
    if (rc == PAWL_ERR_CORRUPT) {
        log_warn("the snapshot %s is damaged (%s); trying an older one", path, r->info.reason);
        r->newest_bad = r->newest_bad < 0 ? file->zxid : r->newest_bad;
        return rc;
    }
    return rc == 0 ? 0 : disk_failed(r, r->snapshots, rc);
}

/* Leaves r->tree NULL if there is none to be had. */
static int load_snapshot(struct recovery *r)
{
    struct file_list list;
    size_t n_tried = 0;
    int rc = file_list_load(r->snapshots, STORE_FOLDER, SNAPSHOT_PREFIX, &list);

    if (rc != 0) {
        return disk_failed(r, r->snapshots, rc);
    }
    for (size_t i = list.count; i > 0 && r->tree == NULL && n_tried < CANDIDATES_MAX; i--) {
        if (is_cut_off(r, list.files[i - 1].zxid)) {
            continue;
        }
        rc = try_snapshot(r, &list.files[i - 1], &n_tried);
        if (rc == 0) {
            r->report->snapshot_zxid = list.files[i - 1].zxid;
        } else if (rc != PAWL_ERR_CORRUPT) {
            break;
        } else {
            r->report->n_bad_snapshots++;
            rc = 0;
        }
    }
    if (rc == 0 && r->tree == NULL && n_tried > 0) {
        rc = damage_fail(r, "Nothing was changed. Restore one from a backup",
                         "none of the %zu snapshots in " STORE_FOLDER
                         " can be read, the newest being %s (%s)",
                         n_tried, list.files[list.count - 1].name, r->info.reason);
    }
    file_list_fini(&list);
    return rc;
}

/* ---- digests ---- */

static void compare_digest(struct recovery *r, const char *where, int64_t zxid, uint64_t expected)
{
    r->report->differs_zxid = 0;
    if (expected == tree_digest(r->tree)) {
        return;
    }
    r->report->differs_zxid = zxid;
    if (r->report->n_digest_mismatches++ < MISMATCHES_SAID) {
        log_warn("after transaction 0x%" PRIx64 " the tree's digest is 0x%" PRIx64
                 ", but the %s says 0x%" PRIx64
                 ": this server's data differs from that of the server that wrote it",
                 (uint64_t)zxid, tree_digest(r->tree), where, expected);
    }
}

static bool digests_count(const struct recovery *r)
{
    return !r->options->tree.no_digest;
}

/* A snapshot written while transactions went on is ahead of its name up to the zxid of its digest;
 * in between, digests of single transactions cannot match. */
static bool in_fuzzy_range(const struct recovery *r, int64_t zxid)
{
    return r->info.has_digest && r->info.digest_zxid > r->report->snapshot_zxid &&
           zxid <= r->info.digest_zxid;
}

static void compare_snapshot_digest(struct recovery *r, int64_t zxid)
{
    if (digests_count(r) && r->info.has_digest && zxid == r->info.digest_zxid) {
        compare_digest(r, "snapshot", zxid, r->info.digest);
    }
}

static void compare_txn_digest(struct recovery *r, const struct txn *txn)
{
    int64_t zxid = txn->header.zxid;

    if (in_fuzzy_range(r, zxid)) {
        compare_snapshot_digest(r, zxid);
    } else if (digests_count(r) && txn->has_digest) {
        compare_digest(r, "log", zxid, (uint64_t)txn->digest);
    }
}

/* ---- the log ---- */

static uint64_t good_zxid(const struct recovery *r)
{
    return r->report->last_zxid < 0 ? 0 : (uint64_t)r->report->last_zxid;
}

/* Damage behind which something may be lost: what is before it can be gone on from. */
static int fail_behind(struct recovery *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail_behind(struct recovery *r, const char *format, ...)
{
    char what[sizeof(r->report->damage)], ways[320];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(ways, sizeof(ways),
             "Nothing was changed. Restore the file from a backup; or, to go on from transaction "
             "0x%" PRIx64 " without all that came after it, start once with --accept-loss, which "
             "keeps what it does not use in files named aside.*",
             good_zxid(r));
    r->may_go_on = true;
    return damage_fail(r, ways, "%s", what);
}

static int fail_damaged(struct recovery *r)
{
    const struct txnlog_place *p = &r->report->place;
    char known[96] = "";

    if (r->report->durable_zxid > r->report->last_zxid) {
        snprintf(known, sizeof(known), ", of which those up to 0x%" PRIx64 " were acknowledged",
                 (uint64_t)r->report->durable_zxid);
    }
    return fail_behind(r,
                       "the transaction log %s is damaged at offset %" PRIu64
                       ": %s. The last good transaction before it is 0x%" PRIx64
                       "; later ones may be lost%s",
                       p->file, p->offset, p->reason, good_zxid(r), known);
}

/* Is `record` not the next one? */
static bool note_gap(struct recovery *r, const struct txnlog_reader *reader,
                     const struct txnlog_record *record)
{
    struct txnlog_place *p = &r->report->place;
    int64_t zxid = record->txn.header.zxid;

    if (zxid_may_follow(zxid, r->previous)) {
        r->previous = zxid;
        return false;
    }
    r->is_gap = true;
    *p = (struct txnlog_place){.offset = record->offset, .last_zxid = r->previous};
    file_path(p->file, STORE_FOLDER, txnlog_reader_files(reader)->files[record->file].name);
    snprintf(p->reason, sizeof(p->reason),
             "it goes on with transaction 0x%" PRIx64 ", and those after 0x%" PRIx64
             " are in no log",
             (uint64_t)zxid, (uint64_t)r->previous);
    return true;
}

static int fail_short(struct recovery *r)
{
    const struct txnlog_place *p = &r->report->place;
    char where[FILE_PATH_BYTES + 256] = "no log goes on from there";

    if (p->file[0] != '\0') {
        snprintf(where, sizeof(where), "%s ends at offset %" PRIu64 " (%s)", p->file, p->offset,
                 p->reason);
    }
    return fail_behind(r,
                       "transactions up to 0x%" PRIx64 " were acknowledged (" STORE_FOLDER
                       "/" DURABLE_FILE ") but the files reach only 0x%" PRIx64 ": %s",
                       (uint64_t)r->report->durable_zxid, good_zxid(r), where);
}

/* A snapshot that was written while transactions went on may have some that are to be gone. */
static int check_cut(struct recovery *r)
{
    int64_t zxid = r->options->cut_zxid;

    if (r->report->last_zxid != zxid) {
        return recovery_fail(r, PAWL_ERR_CORRUPT,
                             "the files lead to transaction 0x%" PRIx64
                             ", but not from there to 0x%" PRIx64,
                             good_zxid(r), (uint64_t)zxid);
    }
    if (in_fuzzy_range(r, zxid + 1)) {
        return recovery_fail(r, PAWL_ERR_CORRUPT,
                             "the snapshot 0x%" PRIx64 " may have transactions up to 0x%" PRIx64,
                             (uint64_t)r->report->snapshot_zxid, (uint64_t)r->info.digest_zxid);
    }
    return 0;
}

/* A snapshot that cannot be used proves that there was more than what could be read, and so does
 * the number that was noted after each sync. */
static int check_reached(struct recovery *r)
{
    if (r->options->is_cut) {
        return check_cut(r);
    }
    if (r->newest_bad > r->report->last_zxid) {
        return fail_behind(r,
                           "snapshot.%" PRIx64 " is damaged, and the older snapshot with the logs "
                           "reaches only transaction 0x%" PRIx64,
                           (uint64_t)r->newest_bad, good_zxid(r));
    }
    return r->report->durable_zxid > r->report->last_zxid ? fail_short(r) : 0;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static int cut_torn_tail(struct recovery *r)
{
    const struct txnlog_place *p = &r->report->place;
    char kept[FILE_NAME_BYTES] = "";
    int rc;

    if (r->options->read_only) {
        log_warn("%s ends in a torn record at offset %" PRIu64 " (%s)", p->file, p->offset,
                 p->reason);
        return 0;
    }
    if (p->no_header) { /* and nothing else either */
        log_warn("%s is empty, as a crash leaves it, and is removed", p->file);
        rc = disk_remove(r->logs, p->file);
        return rc == 0 ? disk_sync_folder(r->logs, STORE_FOLDER) : rc;
    }
    rc = aside_tail(r->logs, STORE_FOLDER, name_in(p->file), p->offset, kept);
    if (rc == 0) {
        log_warn("%s ends at offset %" PRIu64 " in a write that was never finished or "
                 "acknowledged (%s), as a crash leaves it; it is cut off and kept as " STORE_FOLDER
                 "/%s. The last transaction is 0x%" PRIx64,
                 p->file, p->offset, p->reason, kept, (uint64_t)r->report->last_zxid);
    }
    return rc;
}

/* ---- giving up what cannot be used ---- */

static int set_aside_above(struct disk *disk, const char *prefix, int64_t zxid)
{
    char kept[FILE_NAME_BYTES];
    struct file_list list;
    int rc = file_list_load(disk, STORE_FOLDER, prefix, &list);

    if (rc != 0) {
        return rc;
    }
    for (size_t i = list.count; rc == 0 && i > 0 && list.files[i - 1].zxid > zxid; i--) {
        rc = aside_file(disk, STORE_FOLDER, list.files[i - 1].name, kept);
        if (rc == 0) {
            log_warn(STORE_FOLDER "/%s is not used any more and kept as %s", list.files[i - 1].name,
                     kept);
        }
    }
    file_list_fini(&list);
    return rc == 0 ? disk_sync_folder(disk, STORE_FOLDER) : rc;
}

static int set_aside_rest(struct recovery *r)
{
    const struct txnlog_place *p = &r->report->place;
    int64_t last_log = file_name_zxid(name_in(p->file), TXNLOG_PREFIX);
    char kept[FILE_NAME_BYTES] = "";
    int rc;

    if (p->file[0] == '\0') {
        return 0;
    }
    rc = set_aside_above(r->logs, TXNLOG_PREFIX, last_log);
    if (rc != 0) {
        return rc;
    }
    if (p->offset <= TXNLOG_HEADER_BYTES) { /* nothing of it was used */
        return aside_file(r->logs, STORE_FOLDER, name_in(p->file), kept);
    }
    return aside_tail(r->logs, STORE_FOLDER, name_in(p->file), p->offset, kept);
}

/* The newest first, so that a crash in between leaves what is refused again, not a shorter history
 * that looks whole. */
static int give_up_rest(struct recovery *r)
{
    int rc;

    log_error("%s", r->report->error);
    log_error("recovery.acceptLoss: the above is accepted, and the database goes on from "
              "transaction 0x%" PRIx64,
              good_zxid(r));
    r->report->lost = true;
    r->report->torn = false;
    if (r->options->read_only) {
        return 0;
    }
    rc = set_aside_above(r->snapshots, SNAPSHOT_PREFIX, r->report->last_zxid);
    if (rc != 0) {
        return disk_failed(r, r->snapshots, rc);
    }
    rc = set_aside_rest(r);
    if (rc == 0) {
        rc = durable_forget(r->logs, STORE_FOLDER);
    }
    return rc == 0 ? 0 : disk_failed(r, r->logs, rc);
}

static int sync_log(struct recovery *r, const char *name)
{
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    int rc;

    file_path(path, STORE_FOLDER, name);
    rc = disk_open(r->logs, path, DISK_READ, &file);
    if (rc == 0) {
        rc = disk_sync(file);
        disk_close(file);
    }
    return rc;
}

/* A server that was killed may have left records that are only in the system's memory. From now on
 * clients can see them, so they must stay. Before a log is begun the one before the last is on
 * disk, with ZooKeeper too, so it is the last two. */
static int sync_logs(struct recovery *r)
{
    struct file_list logs;
    int rc = file_list_load(r->logs, STORE_FOLDER, TXNLOG_PREFIX, &logs);

    if (rc == 0) {
        for (size_t i = logs.count > 2 ? logs.count - 2 : 0; rc == 0 && i < logs.count; i++) {
            rc = sync_log(r, logs.files[i].name);
        }
        file_list_fini(&logs);
    }
    return rc == 0 ? disk_sync_folder(r->logs, STORE_FOLDER) : rc;
}

/* ---- replay ---- */

static void replay_record(struct recovery *r, struct apply *apply,
                          const struct txnlog_record *record)
{
    int64_t zxid = record->txn.header.zxid;

    apply_txn(apply, &record->txn, NULL, 0);
    compare_txn_digest(r, &record->txn);
    r->report->n_replayed++;
    if (zxid > r->report->last_zxid) {
        r->report->last_zxid = zxid;
    }
    if (r->options->on_txn != NULL) {
        r->options->on_txn(record, r->options->arg);
    }
}

/* Whether what was read may stand; nothing is changed yet. */
static int judge_replay(struct recovery *r, const struct txnlog_reader *reader,
                        enum txnlog_found found)
{
    if (found == TXNLOG_FAILED) {
        return disk_failed(r, r->logs, txnlog_reader_error(reader));
    }
    if (found == TXNLOG_DAMAGED || found == TXNLOG_TORN) {
        r->report->place = *txnlog_reader_place(reader);
    }
    if (found == TXNLOG_DAMAGED || r->is_gap) {
        return fail_damaged(r);
    }
    r->report->torn = found == TXNLOG_TORN;
    return check_reached(r);
}

/* For the message, in case more was acknowledged than follows. */
static void note_end(struct recovery *r, const struct txnlog_reader *reader,
                     const struct txnlog_record *last)
{
    struct txnlog_place *p = &r->report->place;

    *p = (struct txnlog_place){.offset = last->end, .last_zxid = r->previous};
    file_path(p->file, STORE_FOLDER, txnlog_reader_files(reader)->files[last->file].name);
    snprintf(p->reason, sizeof(p->reason), "nothing follows");
}

static enum txnlog_found replay_all(struct recovery *r, struct txnlog_reader *reader)
{
    struct apply apply = {.tree = r->tree};
    struct txnlog_record record = {0};
    enum txnlog_found found;

    while ((found = txnlog_reader_next(reader, &record)) == TXNLOG_RECORD) {
        if (is_cut_off(r, record.txn.header.zxid)) {
            return TXNLOG_END;
        }
        if (note_gap(r, reader, &record)) {
            break;
        }
        replay_record(r, &apply, &record);
        note_end(r, reader, &record);
    }
    return found;
}

static int replay(struct recovery *r)
{
    struct txnlog_reader_options options = {
        .folder = STORE_FOLDER, .limit_bytes = r->options->limit_bytes, .own_log = r->own_log};
    struct txnlog_reader *reader;
    int rc = txnlog_reader_open(r->logs, &options, r->report->snapshot_zxid + 1, &reader);

    if (rc != 0) {
        return disk_failed(r, r->logs, rc);
    }
    rc = judge_replay(r, reader, replay_all(r, reader));
    r->report->seen = txnlog_reader_seen(reader);
    if (rc == 0 && in_fuzzy_range(r, r->report->last_zxid + 1)) {
        log_warn("the logs end at 0x%" PRIx64 ", before 0x%" PRIx64
                 ", up to which the snapshot was written",
                 (uint64_t)r->report->last_zxid, (uint64_t)r->info.digest_zxid);
    }
    txnlog_reader_close(reader);
    return rc;
}

/* ---- without a snapshot ---- */

/* Is there a transaction in any log? */
static int has_transactions(struct recovery *r, bool *out)
{
    struct txnlog_reader_options options = {
        .folder = STORE_FOLDER, .limit_bytes = r->options->limit_bytes, .own_log = r->own_log};
    struct txnlog_reader *reader;
    struct txnlog_record record;
    enum txnlog_found found;
    int rc = txnlog_reader_open(r->logs, &options, 0, &reader);

    if (rc != 0) {
        return disk_failed(r, r->logs, rc);
    }
    found = txnlog_reader_next(reader, &record);
    *out = found == TXNLOG_RECORD;
    if (found == TXNLOG_FAILED) {
        rc = disk_failed(r, r->logs, txnlog_reader_error(reader));
    } else if (found == TXNLOG_DAMAGED) {
        r->report->place = *txnlog_reader_place(reader);
        rc = fail_damaged(r);
        r->may_go_on = false; /* from what? */
    } else if (found == TXNLOG_TORN) {
        r->report->place = *txnlog_reader_place(reader);
        r->report->torn = true;
    }
    txnlog_reader_close(reader);
    return rc;
}

/* The file "initialize" beside version-2 allows one start on an empty folder. */
static int look_for_initialise(struct recovery *r)
{
    struct disk_file *file;
    int rc = disk_open(r->logs, "initialize", DISK_READ, &file);

    r->has_initialise = rc == 0;
    r->may_be_empty = r->has_initialise || !r->options->no_autocreate;
    if (rc == 0) {
        disk_close(file);
    }
    return rc == 0 || rc == PAWL_ERR_NOT_FOUND ? 0 : disk_failed(r, r->logs, rc);
}

/* A member has a snapshot before it promises anything: one without any has lost it all, and must
 * not be taken for one that never had anything. */
static int check_was_member(struct recovery *r)
{
    int64_t epoch = 0;
    int rc = epoch_load(r->snapshots, STORE_FOLDER, EPOCH_ACCEPTED_FILE, &epoch);

    if (rc == PAWL_ERR_NOT_FOUND || epoch == 0) {
        return 0;
    }
    if (rc != 0 && rc != PAWL_ERR_CORRUPT) {
        return disk_failed(r, r->snapshots, rc);
    }
    return damage_fail(r, "Restore the files from a backup",
                       "there is neither a snapshot nor a log in " STORE_FOLDER
                       ", although this server has been a member up to epoch %" PRId64
                       " (" EPOCH_ACCEPTED_FILE ")",
                       epoch);
}

static int recover_without_snapshot(struct recovery *r)
{
    bool found = false;
    int rc = has_transactions(r, &found);

    if (rc != 0) {
        return rc;
    }
    if (found && !r->options->trust_empty) {
        return damage_fail(
            r,
            "Restore a snapshot from a backup; or, if the logs begin with the very first "
            "transaction (data of ZooKeeper 3.5.3 and older), set snapshot.trust.empty=true for "
            "one start",
            "there are transaction logs in " STORE_FOLDER
            " but no snapshot that can be read, so the data may be incomplete");
    }
    if (!found && r->newest_bad > 0) {
        return damage_fail(r,
                           "Nothing was changed. Restore a snapshot from a backup, or, to begin "
                           "with an empty database, move " STORE_FOLDER " away",
                           "the snapshots in " STORE_FOLDER " are incomplete and there is no log");
    }
    if (!found && r->options->heals) {
        rc = check_was_member(r);
        if (rc != 0) {
            return rc;
        }
    }
    r->tree = tree_new(&r->options->tree);
    tree_add_system_nodes(r->tree);
    if (found) {
        return replay(r);
    }
    r->report->is_new = r->may_be_empty;
    r->report->last_zxid = r->may_be_empty ? 0 : -1;
    return check_reached(r);
}

/* ---- public ---- */

static int load_known(struct recovery *r)
{
    struct durable_known known;
    int rc = durable_load(r->logs, STORE_FOLDER, &known);

    if (rc != 0) {
        return disk_failed(r, r->logs, rc);
    }
    r->report->durable_zxid = known.zxid;
    r->own_log = known.log;
    return 0;
}

/* Reads and judges. Changes nothing. */
static int recovery_look(struct recovery *r)
{
    int rc = check_folders(r);

    if (rc == 0) {
        rc = load_known(r);
    }
    if (rc == 0) {
        rc = load_snapshot(r);
    }
    if (rc == 0) {
        rc = look_for_initialise(r);
    }
    if (rc != 0) {
        return rc;
    }
    if (r->tree == NULL) {
        return recover_without_snapshot(r);
    }
    tree_add_system_nodes(r->tree);
    r->report->last_zxid = r->report->snapshot_zxid;
    r->previous = r->report->snapshot_zxid;
    compare_snapshot_digest(r, r->report->snapshot_zxid);
    return replay(r);
}

static int save_first_snapshot(struct recovery *r)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER, .codec = r->options->codec};
    int rc = snapshot_save(r->snapshots, &options, r->tree, 0);

    return rc == 0 ? 0 : disk_failed(r, r->snapshots, rc);
}

/* From now on clients see all that was read, so a later start must find it. */
static void note_reached(struct recovery *r)
{
    const struct recovery_report *report = r->report;

    if (report->last_zxid > 0 && (report->lost || report->durable_zxid < report->last_zxid)) {
        durable_save(r->logs, STORE_FOLDER, report->last_zxid);
    }
}

static int settle_logs(struct recovery *r)
{
    int rc = r->report->torn ? cut_torn_tail(r) : 0;

    if (rc == 0 && !r->options->read_only) {
        rc = sync_logs(r);
        if (rc == 0) {
            note_reached(r);
        }
    }
    return rc == 0 ? 0 : disk_failed(r, r->logs, rc);
}

/* Puts the folder in order for a server that goes on from what was read. */
static int recovery_settle(struct recovery *r)
{
    int rc = recovery_make_folders(r);

    if (rc == 0) {
        rc = clean_up(r);
    }
    if (rc == 0) {
        rc = settle_logs(r);
    }
    if (r->options->read_only) {
        return rc;
    }
    if (rc == 0 && r->report->is_new) {
        rc = save_first_snapshot(r);
    }
    if (rc == 0 && r->has_initialise) {
        rc = disk_remove(r->logs, "initialize");
        rc = rc == 0 ? 0 : disk_failed(r, r->logs, rc);
    }
    return rc;
}

/* A snapshot of the leader's that was whole when the server died, see received.h. */
static int recovery_install(struct recovery *r)
{
    int64_t zxid = -1;
    int rc = received_find(r->snapshots, STORE_FOLDER, &zxid);

    if (rc != 0 || zxid < 0) {
        return rc == 0 ? 0 : disk_failed(r, r->snapshots, rc);
    }
    if (r->options->read_only) {
        return recovery_fail(r, PAWL_ERR_BUSY,
                             "the leader's snapshot 0x%" PRIx64
                             " is about to take the place of all that is in " STORE_FOLDER
                             "; start the server, which brings that to its end",
                             (uint64_t)zxid);
    }
    rc = received_install(r->snapshots, r->logs, STORE_FOLDER);
    return rc == 0 ? 0 : disk_failed(r, r->logs, rc);
}

/* A sector that cannot be read is damage, too; but alone its owner has to see to the disk first. */
static bool is_damage(int rc)
{
    return rc == PAWL_ERR_CORRUPT || rc == PAWL_ERR_IO;
}

/* What was read is given as it is, and nothing is put in order: the files are the proof, until a
 * leader's tree has taken their place. */
static int recovery_leave(struct recovery *r)
{
    r->report->damaged = true;
    if (r->report->damage[0] == '\0') {
        snprintf(r->report->damage, sizeof(r->report->damage), "%.*s",
                 (int)sizeof(r->report->damage) - 1, r->report->error);
    }
    if (r->tree == NULL) {
        r->tree = tree_new(&r->options->tree);
        tree_add_system_nodes(r->tree);
        r->report->snapshot_zxid = -1;
        r->report->last_zxid = 0;
    }
    return 0;
}

static int recovery_run(struct recovery *r)
{
    int rc = recovery_install(r);

    if (rc != 0) {
        return rc;
    }
    rc = recovery_look(r);
    if (rc == PAWL_ERR_CORRUPT && r->may_go_on && r->options->accept_loss) {
        rc = give_up_rest(r);
    } else if (is_damage(rc) && r->options->heals) {
        return recovery_leave(r);
    }
    return rc == 0 ? recovery_settle(r) : rc;
}

int recovery_load(struct disk *snapshot_disk, struct disk *log_disk,
                  const struct recovery_options *options, struct tree **out,
                  struct recovery_report *report)
{
    struct recovery r = {
        .snapshots = snapshot_disk,
        .logs = log_disk,
        .options = options,
        .report = report,
        .newest_bad = -1,
    };
    int rc;

    *report = (struct recovery_report){.snapshot_zxid = -1, .durable_zxid = -1};
    rc = recovery_run(&r);
    if (rc != 0) {
        ASSERT(report->error[0] != '\0');
        tree_free(r.tree);
        return rc;
    }
    ASSERT(report->last_zxid >= report->snapshot_zxid);
    *out = r.tree;
    return 0;
}
