/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/backup_copy.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/snapshot_format.h"

/* What a server is just doing to its files is over by then. */
enum { TRIES = 30, PAUSE_MS = 100 };

/* A snapshot is copied again when there is more log behind the last one than it is long. */
enum { SNAPSHOT_AGAIN_BYTES = 1 << 20 };

enum went { WENT_WELL, WENT_WRONG, LOOK_AGAIN, HAS_GAP, HAS_OTHER };

struct copy {
    struct data_dirs *from;
    struct archive *into;
    struct txnlog_reader *reader;
    int64_t base;   /* where the archive ended */
    bool is_joined; /* what follows is known to follow that */
    enum txnlog_found found;
    int status; /* of WENT_WRONG */
};

static enum went fail(struct copy *c, int status)
{
    c->status = status;
    return WENT_WRONG;
}

/* ---- snapshots ---- */

int backup_newest(const struct data_dirs *from, int64_t before, struct file_name *out)
{
    struct file_list list;
    bool is_found = false;

    if (file_list_load(from->snapshots.disk, STORE_FOLDER, SNAPSHOT_PREFIX, &list) != PAWL_OK) {
        cli_error(from->cli, "%s", disk_last_error(from->snapshots.disk));
        return EXIT_SYSTEM;
    }
    for (size_t i = 0; i < list.count && list.files[i].zxid < before; i++) {
        *out = list.files[i];
        is_found = true;
    }
    file_list_fini(&list);
    return is_found ? EXIT_OK : EXIT_NO;
}

/* The newest one behind `after` that is whole. EXIT_NO: there is none. */
static int copy_newest(struct copy *c, int64_t after, bool is_bridge)
{
    int64_t before = INT64_MAX;
    struct file_name name;
    int status;

    do {
        status = backup_newest(c->from, before, &name);
        if (status != EXIT_OK || name.zxid <= after) {
            return status == EXIT_OK ? EXIT_NO : status;
        }
        before = name.zxid;
        status = archive_copy_snapshot(c->into, &c->from->snapshots, &name, c->from->limit_bytes,
                                       is_bridge);
    } while (status == EXIT_NO);
    return status;
}

static enum went begin_with_snapshot(struct copy *c)
{
    int status = copy_newest(c, -1, false);

    if (status == EXIT_NO) {
        cli_error(c->into->cli, "%s: there is no snapshot in it that can be copied",
                  c->from->snapshots.given);
    }
    return status == EXIT_OK ? WENT_WELL : fail(c, status);
}

static enum went bridge_gap(struct copy *c)
{
    int64_t end = c->into->list.zxid;
    int status = copy_newest(c, end, true);

    if (status == EXIT_NO) {
        cli_error(c->into->cli,
                  "the logs have nothing right behind 0x%" PRIx64
                  ", where the backup ends, and no snapshot is newer",
                  (uint64_t)end);
        return fail(c, EXIT_DAMAGED);
    }
    if (status == EXIT_OK) {
        cli_error(c->into->cli,
                  "the logs behind 0x%" PRIx64 " are gone already; a snapshot takes their place, "
                  "and no moment before 0x%" PRIx64 " can be restored of them",
                  (uint64_t)end, (uint64_t)c->into->list.zxid);
    }
    return status == EXIT_OK ? LOOK_AGAIN : fail(c, status);
}

/* So that a restore need not read all logs since the beginning. */
static enum went copy_snapshots(struct copy *c)
{
    uint64_t snapshot_bytes, log_bytes;
    int64_t newest = backup_list_snapshot(&c->into->list, &snapshot_bytes, &log_bytes);
    int status = EXIT_NO;

    if (newest < 0) {
        return begin_with_snapshot(c);
    }
    if (log_bytes > SNAPSHOT_AGAIN_BYTES && log_bytes > snapshot_bytes) {
        status = copy_newest(c, newest, false);
    }
    return status == EXIT_OK || status == EXIT_NO ? WENT_WELL : fail(c, status);
}

/* ---- logs ---- */

static bool is_same(const struct archive *a, const struct txnlog_record *record)
{
    return checksum_adler32(1, record->payload.data, record->payload.len) == a->list.sum;
}

/* A record at the end of the archive, or the first behind it. */
static enum went join(struct copy *c, const struct txnlog_record *record)
{
    int64_t zxid = record->txn.header.zxid;
    bool reaches_back = txnlog_reader_files(c->reader)->files[0].zxid <= c->base;

    if (zxid == c->base) {
        c->is_joined = is_same(c->into, record);
        return WENT_WELL;
    }
    return c->is_joined ? WENT_WELL : reaches_back ? HAS_OTHER : HAS_GAP;
}

static enum went take_record(struct copy *c, const struct txnlog_record *record)
{
    struct archive *a = c->into;
    enum went went = a->list.zxid == c->base ? join(c, record) : WENT_WELL;
    int status;

    if (went != WENT_WELL || record->txn.header.zxid <= a->list.zxid) {
        return went;
    }
    if (!zxid_may_follow(record->txn.header.zxid, a->list.zxid)) {
        return HAS_GAP;
    }
    status = archive_append(a, record);
    return status == EXIT_OK ? WENT_WELL : fail(c, status);
}

static enum went take_records(struct copy *c)
{
    struct txnlog_record record;
    enum went went = WENT_WELL;

    while (went == WENT_WELL &&
           (c->found = txnlog_reader_next(c->reader, &record)) == TXNLOG_RECORD) {
        went = cli_signal() != 0 ? fail(c, EXIT_SIGNAL + cli_signal()) : take_record(c, &record);
    }
    return went;
}

/* How the logs ended. A torn end is what a server is writing now. */
static enum went judge_end(struct copy *c)
{
    const struct file_list *files = txnlog_reader_files(c->reader);

    if (c->found == TXNLOG_DAMAGED || c->found == TXNLOG_FAILED) {
        return LOOK_AGAIN;
    }
    if (c->is_joined) {
        return WENT_WELL;
    }
    return files->count > 0 && files->files[0].zxid <= c->base ? HAS_OTHER : HAS_GAP;
}

static enum went copy_logs(struct copy *c)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = c->from->limit_bytes};
    struct archive *a = c->into;
    enum went went;

    c->base = a->list.zxid;
    c->is_joined = !a->list.has_sum;
    if (txnlog_reader_open(c->from->logs->disk, &options, c->base + !a->list.has_sum, &c->reader) !=
        PAWL_OK) {
        return LOOK_AGAIN;
    }
    went = take_records(c);
    return went == WENT_WELL ? judge_end(c) : went;
}

/* ---- another history ---- */

struct common {
    int64_t zxid; /* -1: none */
    uint32_t sum;
    size_t file;
    uint64_t end;
};

static uint32_t sum_of(const struct txnlog_record *record)
{
    return checksum_adler32(1, record->payload.data, record->payload.len);
}

/* Both go on until they differ. What one has from before the other begins does not count. */
static void find_common(struct txnlog_reader *theirs, struct txnlog_reader *ours,
                        struct common *out)
{
    struct txnlog_record t, o;
    bool is_more = txnlog_reader_next(theirs, &t) == TXNLOG_RECORD &&
                   txnlog_reader_next(ours, &o) == TXNLOG_RECORD;

    *out = (struct common){.zxid = -1};
    while (is_more) {
        int64_t ahead = t.txn.header.zxid - o.txn.header.zxid;

        if (ahead == 0 && sum_of(&t) == sum_of(&o)) {
            *out = (struct common){o.txn.header.zxid, sum_of(&o), o.file, o.end};
            is_more = txnlog_reader_next(theirs, &t) == TXNLOG_RECORD &&
                      txnlog_reader_next(ours, &o) == TXNLOG_RECORD;
        } else if (ahead == 0 || out->zxid >= 0) {
            return;
        } else {
            is_more =
                txnlog_reader_next(ahead < 0 ? theirs : ours, ahead < 0 ? &t : &o) == TXNLOG_RECORD;
        }
    }
}

static enum went cut_to(struct copy *c, struct txnlog_reader *ours, const struct common *at)
{
    int status;

    if (at->zxid < 0) {
        cli_error(
            c->into->cli,
            "%s is the backup of another history: not one transaction of its logs is the same. "
            "Begin a new one",
            c->into->path);
        return fail(c, EXIT_CONFLICT);
    }
    cli_error(c->into->cli,
              "the server has dropped what it had behind 0x%" PRIx64 ", up to 0x%" PRIx64
              "; that is put aside as version-2/cut.*",
              (uint64_t)at->zxid, (uint64_t)c->into->list.zxid);
    status = archive_cut(c->into, at->zxid, at->sum,
                         txnlog_reader_files(ours)->files[at->file].name, at->end);
    return status == EXIT_OK ? LOOK_AGAIN : fail(c, status);
}

static enum went cut_back(struct copy *c)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = c->from->limit_bytes};
    struct txnlog_reader *theirs = NULL, *ours = NULL;
    struct common at;
    enum went went;
    int status = archive_commit(c->into);

    if (status != EXIT_OK) {
        return fail(c, status);
    }
    if (txnlog_reader_open(c->from->logs->disk, &options, 0, &theirs) != PAWL_OK) {
        return LOOK_AGAIN;
    }
    if (txnlog_reader_open(c->into->disk, &options, 0, &ours) != PAWL_OK) {
        txnlog_reader_close(theirs);
        cli_error(c->into->cli, "%s", disk_last_error(c->into->disk));
        return fail(c, EXIT_SYSTEM);
    }
    find_common(theirs, ours, &at);
    went = cut_to(c, ours, &at);
    txnlog_reader_close(theirs);
    txnlog_reader_close(ours);
    return went;
}

/* ---- all of it ---- */

static int report_end(struct copy *c)
{
    const struct txnlog_place *place;
    struct strbuf name;

    if (c->reader == NULL || c->found != TXNLOG_DAMAGED) {
        cli_error(c->into->cli, "%s", disk_last_error(c->from->logs->disk));
        return EXIT_SYSTEM;
    }
    place = txnlog_reader_place(c->reader);
    strbuf_init(&name, STRBUF_NO_LIMIT);
    view_name(c->from->logs, place->file, &name);
    cli_error(c->into->cli,
              "%s: damaged at offset %" PRIu64 ": %s; the backup ends before it, with 0x%" PRIx64,
              strbuf_cstr(&name), place->offset, place->reason, (uint64_t)c->into->list.zxid);
    strbuf_fini(&name);
    return EXIT_DAMAGED;
}

static enum went copy_once(struct copy *c)
{
    enum went went = copy_snapshots(c);

    if (went == WENT_WELL) {
        went = copy_logs(c);
    }
    if (went == HAS_OTHER) {
        return cut_back(c);
    }
    if (went == HAS_GAP) {
        return bridge_gap(c);
    }
    return went;
}

int backup_copy(struct data_dirs *from, struct archive *into)
{
    struct copy c = {.from = from, .into = into, .status = EXIT_OK};
    enum went went = LOOK_AGAIN;
    int status;

    for (int i = 0; i < TRIES && went == LOOK_AGAIN; i++) {
        if (i > 0) {
            poll(NULL, 0, PAUSE_MS);
        }
        txnlog_reader_close(c.reader);
        c.reader = NULL;
        went = copy_once(&c);
    }
    status = c.status == EXIT_OK || cli_signal() != 0 ? archive_commit(into) : c.status;
    if (status == EXIT_OK) {
        status = went == LOOK_AGAIN ? report_end(&c) : c.status;
    }
    txnlog_reader_close(c.reader);
    return status;
}
