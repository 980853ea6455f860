/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_write.c - the segment being written, and the one rolled but not yet synced.
 *
 * How space is had ahead of the records decides how long an fdatasync takes: a write into a hole or
 * into reserved space must also commit the file system's journal, a write over zeroes that are on
 * disk already need not. Mean microseconds of write + fdatasync, ext4 on a 2-core virtual machine
 * with other work beside it, three runs each:
 *
 *   bytes per append          200       2000       4000       8000      16000
 *   growing file          133-150                                     195
 *   hole (ftruncate)       94-146    130-150    164-206    182-204    168-370
 *   reserved (fallocate)  108-213    120-143    137-187    181-200    216-265
 *   zeroes 1 MB ahead      97-126    101-120     94-117    111-159    153-162
 *
 * So the padding that ZooKeeper wants (4.4: the file is 16 + preAllocSize long) is a hole, which
 * costs nothing, and inside it zeroes are written a megabyte ahead of small appends. The step
 * itself takes one to three milliseconds, once per megabyte. Appends above ZEROES_UP_TO share one
 * journal commit among many records, and zeroes would double their bytes: they go without. */
#include "store/txnlog_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/durable.h"
#include "store/file_names.h"
#include "store/txnlog_format.h"
#include "store/txnlog_read.h"

enum { ZEROES_STEP = 1 << 20, ZEROES_UP_TO = 16 << 10, PADDING_MARGIN = 4096 };

static uint8_t
    zeroes[ZEROES_STEP]; /* never written; not const, or it would be in the program file */

struct txnlog {
    struct disk *disk;
    struct txnlog_options options;
    char *folder;
    struct disk_file *file;   /* the segment, NULL: the next append makes it */
    struct disk_file *rolled; /* full, to be synced once more and closed */
    uint64_t position;        /* where the next record goes */
    uint64_t size;            /* of the file with its padding */
    uint64_t zeroed;          /* up to here the file holds written bytes */
    uint64_t earlier_bytes;   /* of segments closed since the last txnlog_roll() */
    struct durable *durable;  /* the number that the last sync brought to disk */
    int64_t last_zxid;        /* of the records appended */
    bool unsynced;
    int failed;
};

int txnlog_open(struct disk *disk, const struct txnlog_options *options, struct txnlog **out)
{
    struct txnlog *log = must_zalloc(sizeof(*log));

    log->disk = disk;
    log->options = *options;
    log->folder = must_strdup(options->folder);
    log->options.folder = log->folder;
    log->durable = durable_new(disk, log->folder);
    *out = log;
    return 0;
}

void txnlog_close(struct txnlog *log)
{
    if (log == NULL) {
        return;
    }
    disk_close(log->file);
    disk_close(log->rolled);
    durable_free(log->durable);
    free(log->folder);
    free(log);
}

static int txnlog_fail(struct txnlog *log, int rc)
{
    ASSERT(rc != 0);
    log->failed = rc;
    return rc;
}

/* ---- segments ---- */

/* A file of that name can only be one whose first record was torn by a crash, and was cut off at
 * the start. One that holds anything at all is not ours to overwrite. */
static int check_name_is_free(struct txnlog *log, const char *path, int64_t zxid)
{
    bool is_blank = false;
    int rc = txnlog_is_blank(log->disk, path, &is_blank);

    if (rc == PAWL_ERR_NOT_FOUND || (rc == 0 && is_blank)) {
        return 0;
    }
    if (rc == 0) {
        log_error("the log %s exists already; it is not overwritten with transaction 0x%" PRIx64
                  ". Move it away if it does not belong to this server",
                  path, (uint64_t)zxid);
        return PAWL_ERR_EXISTS;
    }
    return rc;
}

static int sync_rolled(struct txnlog *log)
{
    int rc = 0;

    if (log->rolled != NULL) {
        rc = log->options.force_sync ? disk_sync(log->rolled) : 0;
        disk_close(log->rolled);
        log->rolled = NULL;
    }
    return rc;
}

/* The header is on disk before the name is: a crash leaves an empty file or one that reads well,
 * never one with a missing header, which ZooKeeper would refuse. */
static int write_log_header(struct txnlog *log)
{
    uint8_t header[TXNLOG_HEADER_BYTES] = {0};
    int rc;

    store_u32(header, TXNLOG_MAGIC);
    store_u32(header + 4, TXNLOG_VERSION);
    rc = disk_write(log->file, 0, header, sizeof(header));
    if (rc == 0 && log->options.force_sync) {
        rc = disk_sync(log->file);
    }
    if (rc == 0 && log->options.force_sync) {
        rc = disk_sync_folder(log->disk, log->folder);
    }
    return rc;
}

/* The old segment is on disk before the new one exists. Otherwise a crash could lose the end of the
 * old one and keep the new one: a history with a hole in it. */
static int make_segment(struct txnlog *log, int64_t zxid)
{
    char name[FILE_NAME_BYTES], path[FILE_PATH_BYTES];
    int rc = sync_rolled(log);

    snprintf(name, sizeof(name), TXNLOG_PREFIX ".%" PRIx64, (uint64_t)zxid);
    file_path(path, log->folder, name);
    if (rc == 0) {
        rc = check_name_is_free(log, path, zxid);
    }
    if (rc == 0 && log->options.force_sync) {
        durable_begin_log(log->durable, zxid);
    }
    if (rc == 0) {
        rc = disk_open(log->disk, path, DISK_CREATE, &log->file);
    }
    log->position = TXNLOG_HEADER_BYTES;
    log->size = TXNLOG_HEADER_BYTES;
    log->zeroed = TXNLOG_HEADER_BYTES;
    return rc == 0 ? write_log_header(log) : rc;
}

static uint64_t segment_bytes(const struct txnlog *log)
{
    return log->size > log->position ? log->size : log->position;
}

static void leave_segment(struct txnlog *log)
{
    ASSERT(log->rolled == NULL);
    log->earlier_bytes += segment_bytes(log);
    if (log->unsynced) {
        log->rolled = log->file;
    } else {
        disk_close(log->file);
    }
    log->file = NULL;
    log->position = 0;
    log->size = 0;
}

/* ---- space ahead ---- */

static int pad_segment(struct txnlog *log)
{
    uint64_t step = log->options.preallocate_bytes;

    if (step == 0 || log->position + PADDING_MARGIN < log->size) {
        return 0;
    }
    if (log->position > log->size) {
        log->size = log->position + step;
        log->size -= log->size % step;
    } else {
        log->size += step;
    }
    return disk_extend(log->file, log->size);
}

static int write_zeroes_ahead(struct txnlog *log, size_t len)
{
    uint64_t end = log->position + len;
    uint64_t until = end + ZEROES_STEP < log->size ? end + ZEROES_STEP : log->size;
    int rc;

    if (end <= log->zeroed || until <= end || len > ZEROES_UP_TO) {
        return 0;
    }
    rc = disk_write(log->file, end, zeroes, (size_t)(until - end));
    log->zeroed = until;
    return rc;
}

/* ---- records ---- */

int64_t txnlog_fill_sums(uint8_t *records, size_t len)
{
    int64_t zxid = 0;
    size_t at = 0;

    while (at < len) {
        size_t payload = load_u32(records + at + TXNLOG_SUM_BYTES);

        ASSERT(payload >= TXN_HEADER_BYTES && payload <= len - at - TXNLOG_FRAME_BYTES);
        ASSERT(records[at + TXNLOG_PAYLOAD_AT + payload] == TXNLOG_MARK);
        ASSERT((int64_t)load_u64(records + at + TXNLOG_ZXID_AT) > zxid);
        zxid = (int64_t)load_u64(records + at + TXNLOG_ZXID_AT);
        store_u64(records + at, checksum_adler32(1, records + at + TXNLOG_PAYLOAD_AT, payload));
        at += TXNLOG_FRAME_BYTES + payload;
    }
    ASSERT(at == len);
    return zxid;
}

static int append_records(struct txnlog *log, const uint8_t *records, size_t len,
                          int64_t first_zxid)
{
    int rc = 0;

    if (log->file == NULL) {
        rc = make_segment(log, first_zxid);
    }
    if (rc == 0) {
        rc = pad_segment(log);
    }
    if (rc == 0) {
        rc = write_zeroes_ahead(log, len);
    }
    if (rc == 0) {
        rc = disk_write(log->file, log->position, records, len);
    }
    return rc;
}

int txnlog_append(struct txnlog *log, uint8_t *records, size_t len, int64_t first_zxid)
{
    int64_t last_zxid;
    int rc;

    if (log->failed != 0) {
        return log->failed;
    }
    if (len == 0) {
        return 0;
    }
    last_zxid = txnlog_fill_sums(records, len);
    ASSERT(last_zxid >= first_zxid && first_zxid > log->last_zxid);
    log->unsynced = true;
    rc = append_records(log, records, len, first_zxid);
    if (rc != 0) {
        return txnlog_fail(log, rc);
    }
    log->position += len;
    log->last_zxid = last_zxid;
    return 0;
}

int txnlog_sync(struct txnlog *log)
{
    uint64_t limit = log->options.size_limit_bytes;
    int rc;

    if (log->failed != 0) {
        return log->failed;
    }
    rc = sync_rolled(log);
    if (rc == 0 && log->unsynced && log->file != NULL && log->options.force_sync) {
        rc = disk_sync(log->file);
    }
    if (rc != 0) {
        return txnlog_fail(log, rc);
    }
    if (log->unsynced && log->options.force_sync) {
        durable_note(log->durable, log->last_zxid);
    }
    log->unsynced = false;
    if (limit > 0 && log->file != NULL && segment_bytes(log) > limit) {
        leave_segment(log);
    }
    return 0;
}

void txnlog_roll(struct txnlog *log)
{
    if (log->file != NULL && log->failed == 0) {
        leave_segment(log);
    }
    log->earlier_bytes = 0;
}

void txnlog_forget(struct txnlog *log, int64_t last_zxid)
{
    ASSERT(!log->unsynced && log->rolled == NULL);
    txnlog_roll(log);
    ASSERT(log->file == NULL || log->failed != 0);
    durable_free(log->durable);
    log->durable = durable_new(log->disk, log->folder);
    log->last_zxid = last_zxid;
}

uint64_t txnlog_size(const struct txnlog *log)
{
    return log->earlier_bytes + segment_bytes(log);
}
