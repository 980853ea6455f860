/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_truncate.c - the order in which things go makes every crash in between harmless: first the
 * number that says how much must be there (durable.h), then newer snapshots (loading one would
 * bring the dropped transactions back), then whole logs from the newest down, then the tail of the
 * log that holds `zxid`. At any moment what is left is a prefix of the history. */
#include "store/txnlog_truncate.h"

#include <stdbool.h>
#include <string.h>

#include "pawl/error.h"
#include "store/durable.h"
#include "store/file_names.h"
#include "store/snapshot_format.h"
#include "store/snapshot_read.h"
#include "store/txnlog_format.h"
#include "store/txnlog_read.h"

struct cut {
    bool is_needed;
    bool reaches_zxid;
    char file[FILE_NAME_BYTES];
    int64_t file_zxid;
    uint64_t offset;
};

static void note_cut(struct cut *cut, const struct file_name *file, uint64_t offset)
{
    cut->is_needed = true;
    strcpy(cut->file, file->name);
    cut->file_zxid = file->zxid;
    cut->offset = offset;
}

/* Behind the last record at or below `zxid`, or before the first above it. */
static int find_cut(struct disk *disk, const char *folder, size_t limit_bytes, int64_t zxid,
                    struct cut *cut)
{
    struct txnlog_reader_options options = {.folder = folder, .limit_bytes = limit_bytes};
    struct txnlog_reader *r;
    struct txnlog_record record;
    enum txnlog_found found;
    int rc = txnlog_reader_open(disk, &options, zxid, &r);

    if (rc != 0) {
        return rc;
    }
    while ((found = txnlog_reader_next(r, &record)) == TXNLOG_RECORD) {
        const struct file_name *file = &txnlog_reader_files(r)->files[record.file];

        if (record.txn.header.zxid > zxid) {
            if (!cut->is_needed) {
                note_cut(cut, file, record.offset);
            }
            break;
        }
        if (record.txn.header.zxid == zxid) {
            cut->reaches_zxid = true;
            note_cut(cut, file, record.end);
        }
    }
    if (found == TXNLOG_DAMAGED) {
        rc = PAWL_ERR_CORRUPT;
    } else if (found == TXNLOG_FAILED) {
        rc = txnlog_reader_error(r);
    }
    txnlog_reader_close(r);
    return rc;
}

/* Removes the files above `zxid`, newest first. Each removal is on disk before the next: of two
 * that are not, a crash may bring back the newer one alone. */
static int remove_above(struct disk *disk, const char *folder, const char *prefix, int64_t zxid)
{
    char path[FILE_PATH_BYTES];
    struct file_list list;
    int rc = file_list_load(disk, folder, prefix, &list);

    if (rc != 0) {
        return rc;
    }
    for (size_t i = list.count; rc == 0 && i > 0 && list.files[i - 1].zxid > zxid; i--) {
        file_path(path, folder, list.files[i - 1].name);
        rc = disk_remove(disk, path);
        if (rc == 0) {
            rc = disk_sync_folder(disk, folder);
        }
    }
    file_list_fini(&list);
    return rc;
}

static int check_snapshots(struct disk *disk, const char *folder, int64_t zxid, struct cut *cut)
{
    char path[FILE_PATH_BYTES];
    struct file_list list;
    bool has_base = false;
    int rc = file_list_load(disk, folder, SNAPSHOT_PREFIX, &list);

    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; rc == 0 && i < list.count && list.files[i].zxid <= zxid; i++) {
        bool is_whole = false;

        file_path(path, folder, list.files[i].name);
        rc = snapshot_looks_whole(disk, path, &is_whole);
        has_base = has_base || is_whole;
        cut->reaches_zxid = cut->reaches_zxid || (is_whole && list.files[i].zxid == zxid);
    }
    file_list_fini(&list);
    return rc != 0 || (has_base && cut->reaches_zxid) ? rc : PAWL_ERR_NOT_FOUND;
}

static int cut_file(struct disk *disk, const char *folder, const struct cut *cut)
{
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    int rc;

    file_path(path, folder, cut->file);
    rc = disk_open(disk, path, DISK_WRITE, &file);
    if (rc != 0) {
        return rc;
    }
    rc = disk_truncate(file, cut->offset);
    if (rc == 0) {
        rc = disk_sync(file);
    }
    disk_close(file);
    return rc;
}

int txnlog_truncate(struct disk *log_disk, struct disk *snapshot_disk, const char *folder,
                    size_t limit_bytes, int64_t zxid)
{
    struct cut cut = {0};
    int rc = find_cut(log_disk, folder, limit_bytes, zxid, &cut);

    if (rc == 0) {
        rc = check_snapshots(snapshot_disk, folder, zxid, &cut);
    }
    if (rc == 0) {
        rc = durable_set(log_disk, folder,
                         &(struct durable_known){.zxid = zxid, .log = cut.file_zxid});
    }
    if (rc == 0) {
        rc = remove_above(snapshot_disk, folder, SNAPSHOT_PREFIX, zxid);
    }
    if (rc == 0) {
        rc = remove_above(log_disk, folder, TXNLOG_PREFIX, cut.is_needed ? cut.file_zxid : zxid);
    }
    if (rc == 0 && cut.is_needed) {
        rc = cut_file(log_disk, folder, &cut);
    }
    return rc;
}
