/* SPDX-License-Identifier: Apache-2.0 */
#include "store/recovery.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/file_names.h"
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
    int64_t newest_bad;        /* zxid of the newest snapshot with a wrong seal, -1: none */
    bool has_unusable;         /* a snapshot above 0 is there but cannot be used */
    int64_t previous;          /* zxid of the last record replayed, or of the snapshot */
};

static int fail(struct recovery *r, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(struct recovery *r, int rc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->report->error, sizeof(r->report->error), format, args);
    va_end(args);
    return rc;
}

static int disk_failed(struct recovery *r, struct disk *disk, int rc)
{
    return fail(r, rc, "%s", disk_last_error(disk));
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
        return fail(r, PAWL_ERR_CONFIG,
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
        return fail(r, PAWL_ERR_CONFIG,
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
            return fail(r, PAWL_ERR_CONFIG,
                        "the folder itself holds %s: give the folder above it, the one that has "
                        "a " STORE_FOLDER " in it",
                        n.found);
        }
    }
    return 0;
}

static int make_folder(struct recovery *r, struct disk *disk)
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

static int prepare_folders(struct recovery *r)
{
    int rc = check_level(r, r->snapshots);

    if (rc == 0) {
        rc = check_level(r, r->logs);
    }
    if (rc == 0) {
        rc = check_separate(r);
    }
    if (rc == 0) {
        rc = make_folder(r, r->snapshots);
    }
    if (rc == 0 && r->logs != r->snapshots) {
        rc = make_folder(r, r->logs);
    }
    return rc == 0 ? clean_up(r) : rc;
}

/* ---- the snapshot ---- */

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
        r->has_unusable = r->has_unusable || file->zxid > 0;
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
        rc = fail(r, PAWL_ERR_CORRUPT,
                  "none of the %zu snapshots in " STORE_FOLDER
                  " can be read, the newest being %s (%s). Nothing was changed. Restore one from a "
                  "backup, or, in an ensemble, move " STORE_FOLDER
                  " away and let this member fetch its data from the others",
                  n_tried, list.files[list.count - 1].name, r->info.reason);
    }
    file_list_fini(&list);
    return rc;
}

/* ---- digests ---- */

static void mismatch(struct recovery *r, const char *where, int64_t zxid, uint64_t expected)
{
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
    if (digests_count(r) && r->info.has_digest && zxid == r->info.digest_zxid &&
        r->info.digest != tree_digest(r->tree)) {
        mismatch(r, "snapshot", zxid, r->info.digest);
    }
}

static void compare_txn_digest(struct recovery *r, const struct txn *txn)
{
    int64_t zxid = txn->header.zxid;

    if (in_fuzzy_range(r, zxid)) {
        compare_snapshot_digest(r, zxid);
    } else if (digests_count(r) && txn->has_digest &&
               (uint64_t)txn->digest != tree_digest(r->tree)) {
        mismatch(r, "log", zxid, (uint64_t)txn->digest);
    }
}

/* ---- the log ---- */

static void note_gap(struct recovery *r, const struct txnlog_record *record)
{
    int64_t zxid = record->txn.header.zxid;

    if (zxid >> 32 == r->previous >> 32 && zxid > r->previous + 1) {
        r->report->n_gaps++;
        log_warn("transactions 0x%" PRIx64 " to 0x%" PRIx64 " are in no log; the data may be "
                 "incomplete",
                 (uint64_t)r->previous + 1, (uint64_t)zxid - 1);
    }
    r->previous = zxid;
}

static int fail_damaged(struct recovery *r, const struct txnlog_place *p)
{
    r->report->place = *p;
    return fail(
        r, PAWL_ERR_CORRUPT,
        "the transaction log %s is damaged at offset %" PRIu64
        ": %s. The last good transaction before it is 0x%" PRIx64
        "; later ones may be lost. Nothing was changed. Restore the file from a backup; or, "
        "in an ensemble, move " STORE_FOLDER
        " away and let this member fetch its data from the others; or, to go on without "
        "what follows, keep a copy, cut the file to %" PRIu64
        " bytes (truncate -s) and move every newer log and snapshot away",
        p->file, p->offset, p->reason, p->last_zxid < 0 ? 0 : (uint64_t)p->last_zxid, p->offset);
}

/* Snapshots with a wrong seal prove that there was more than what could be read. */
static int check_reached(struct recovery *r)
{
    if (r->newest_bad <= r->report->last_zxid && (r->newest_bad < 0 || r->report->n_gaps == 0)) {
        return 0;
    }
    return fail(r, PAWL_ERR_CORRUPT,
                "snapshot.%" PRIx64
                " is damaged, and the older snapshot with the logs reaches only transaction "
                "0x%" PRIx64 "%s. Nothing was changed. Restore the snapshot from a backup; or, in "
                "an ensemble, move " STORE_FOLDER
                " away and let this member fetch its data from the others; or, to go on with the "
                "older data, move the damaged snapshot away",
                (uint64_t)r->newest_bad, (uint64_t)r->report->last_zxid,
                r->report->n_gaps > 0 ? ", with transactions missing in between" : "");
}

static int cut_torn_tail(struct recovery *r)
{
    const struct txnlog_place *p = &r->report->place;
    struct disk_file *file;
    int rc;

    log_warn("%s ends at offset %" PRIu64 " in a record that was never acknowledged (%s), as a "
             "crash leaves it; %s. The last transaction is 0x%" PRIx64,
             p->file, p->offset, p->reason,
             r->options->read_only ? "it is ignored"
             : p->no_header        ? "the file is removed"
                                   : "it is cut off",
             (uint64_t)r->report->last_zxid);
    if (r->options->read_only) {
        return 0;
    }
    if (p->no_header) {
        rc = disk_remove(r->logs, p->file);
        return rc == 0 ? disk_sync_folder(r->logs, STORE_FOLDER) : rc;
    }
    rc = disk_open(r->logs, p->file, DISK_WRITE, &file);
    if (rc != 0) {
        return rc;
    }
    rc = disk_truncate(file, p->offset);
    if (rc == 0) {
        rc = disk_sync(file);
    }
    disk_close(file);
    return rc;
}

static void replay_record(struct recovery *r, struct apply *apply,
                          const struct txnlog_record *record)
{
    int64_t zxid = record->txn.header.zxid;

    note_gap(r, record);
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

static int end_replay(struct recovery *r, struct txnlog_reader *reader, enum txnlog_found found)
{
    int rc;

    if (found == TXNLOG_FAILED) {
        return disk_failed(r, r->logs, txnlog_reader_error(reader));
    }
    if (found == TXNLOG_DAMAGED) {
        return fail_damaged(r, txnlog_reader_place(reader));
    }
    rc = check_reached(r);
    if (rc != 0 || found == TXNLOG_END) {
        return rc;
    }
    r->report->torn = true;
    r->report->place = *txnlog_reader_place(reader);
    rc = cut_torn_tail(r);
    return rc == 0 ? 0 : disk_failed(r, r->logs, rc);
}

static int replay(struct recovery *r)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = r->options->limit_bytes};
    struct apply apply = {.tree = r->tree};
    struct txnlog_reader *reader;
    struct txnlog_record record;
    enum txnlog_found found;
    int rc = txnlog_reader_open(r->logs, &options, r->report->snapshot_zxid + 1, &reader);

    if (rc != 0) {
        return disk_failed(r, r->logs, rc);
    }
    while ((found = txnlog_reader_next(reader, &record)) == TXNLOG_RECORD) {
        replay_record(r, &apply, &record);
    }
    rc = end_replay(r, reader, found);
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
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = r->options->limit_bytes};
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
        rc = fail_damaged(r, txnlog_reader_place(reader));
    }
    txnlog_reader_close(reader);
    return rc;
}

/* The file "initialize" beside version-2 allows one start on an empty folder. */
static int may_begin_empty(struct recovery *r, bool *out)
{
    struct disk_file *file;
    int rc = disk_open(r->logs, "initialize", DISK_READ, &file);

    *out = !r->options->no_autocreate;
    if (rc == PAWL_ERR_NOT_FOUND) {
        return 0;
    }
    if (rc != 0) {
        return disk_failed(r, r->logs, rc);
    }
    disk_close(file);
    *out = true;
    if (!r->options->read_only) {
        rc = disk_remove(r->logs, "initialize");
    }
    return rc == 0 ? 0 : disk_failed(r, r->logs, rc);
}

static int begin_empty(struct recovery *r, bool allowed)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER, .codec = r->options->codec};
    int rc;

    if (!allowed) {
        r->report->last_zxid = -1;
        return 0;
    }
    r->report->last_zxid = 0;
    r->report->is_new = true;
    if (r->options->read_only) {
        return 0;
    }
    rc = snapshot_save(r->snapshots, &options, r->tree, 0);
    return rc == 0 ? 0 : disk_failed(r, r->snapshots, rc);
}

static int recover_without_snapshot(struct recovery *r, bool may_be_empty)
{
    bool found = false;
    int rc = has_transactions(r, &found);

    if (rc != 0) {
        return rc;
    }
    if (found && !r->options->trust_empty) {
        return fail(r, PAWL_ERR_CORRUPT,
                    "there are transaction logs in " STORE_FOLDER
                    " but no snapshot that can be read, so the data may be incomplete. Restore a "
                    "snapshot from a backup; or, if the logs begin with the very first transaction "
                    "(data of ZooKeeper 3.5.3 and older), set snapshot.trust.empty=true for one "
                    "start");
    }
    if (!found && r->has_unusable) {
        return fail(r, PAWL_ERR_CORRUPT,
                    "the snapshots in " STORE_FOLDER
                    " are incomplete and there is no log. Nothing was changed. Restore a snapshot "
                    "from a backup, or, to begin with an empty database, move " STORE_FOLDER
                    " away");
    }
    r->tree = tree_new(&r->options->tree);
    tree_add_system_nodes(r->tree);
    return found ? replay(r) : begin_empty(r, may_be_empty);
}

/* ---- public ---- */

static int recover(struct recovery *r)
{
    bool may_be_empty = false;
    int rc = prepare_folders(r);

    if (rc == 0) {
        rc = load_snapshot(r);
    }
    if (rc == 0) {
        rc = may_begin_empty(r, &may_be_empty);
    }
    if (rc != 0) {
        return rc;
    }
    if (r->tree == NULL) {
        return recover_without_snapshot(r, may_be_empty);
    }
    tree_add_system_nodes(r->tree);
    r->report->last_zxid = r->report->snapshot_zxid;
    r->previous = r->report->snapshot_zxid;
    compare_snapshot_digest(r, r->report->snapshot_zxid);
    return replay(r);
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

    *report = (struct recovery_report){.snapshot_zxid = -1};
    rc = recover(&r);
    if (rc != 0) {
        ASSERT(report->error[0] != '\0');
        tree_free(r.tree);
        return rc;
    }
    *out = r.tree;
    return 0;
}
