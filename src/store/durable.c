/* SPDX-License-Identifier: Apache-2.0 */
#include "store/durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/file_names.h"

enum { DIGITS = 16, LINE_BYTES = 26, N_LINES = 2 };

enum line { LINE_ZXID, LINE_LOG };

struct durable {
    struct disk *disk;
    char path[FILE_PATH_BYTES];
    struct disk_file *file; /* NULL: nothing has been noted yet */
};

/* ---- the text ---- */

static void durable_print(char out[LINE_BYTES + 1], int64_t zxid)
{
    int len = snprintf(out, LINE_BYTES + 1, "%016" PRIx64 " ", (uint64_t)zxid);

    len += snprintf(out + len, (size_t)(LINE_BYTES + 1 - len), "%08" PRIx32 "\n",
                    checksum_adler32(1, out, DIGITS));
    ASSERT(len == LINE_BYTES);
}

/* -1: that is not what durable_print() makes. */
static int64_t durable_parse(const char line[LINE_BYTES])
{
    char expected[LINE_BYTES + 1], digits[DIGITS + 1] = {0};
    int64_t zxid;

    memcpy(digits, line, DIGITS);
    zxid = (int64_t)strtoull(digits, NULL, 16);
    durable_print(expected, zxid);
    return zxid >= 0 && memcmp(line, expected, LINE_BYTES) == 0 ? zxid : -1;
}

/* ---- reading ---- */

static void durable_read(const char *path, const char *text, size_t len, struct durable_known *out)
{
    int64_t log = durable_parse(text + LINE_LOG * LINE_BYTES);

    out->zxid = durable_parse(text);
    out->log = log > 0 ? log : 0;
    if (len > 0 && out->zxid < 0) {
        log_warn("%s cannot be made out and is ignored", path);
    }
}

int durable_load(struct disk *disk, const char *folder, struct durable_known *out)
{
    char path[FILE_PATH_BYTES], text[N_LINES * LINE_BYTES] = {0};
    struct disk_file *file;
    size_t n = 0;
    int rc;

    file_path(path, folder, DURABLE_FILE);
    rc = disk_open(disk, path, DISK_READ, &file);
    if (rc == PAWL_ERR_NOT_FOUND) {
        *out = (struct durable_known){.zxid = -1};
        return 0;
    }
    if (rc != 0) {
        return rc;
    }
    rc = disk_read(file, 0, text, sizeof(text), &n);
    disk_close(file);
    if (rc == 0) {
        durable_read(path, text, n, out);
    }
    return rc;
}

int durable_forget(struct disk *disk, const char *folder)
{
    char path[FILE_PATH_BYTES];
    int rc;

    file_path(path, folder, DURABLE_FILE);
    rc = disk_remove(disk, path);
    if (rc == PAWL_ERR_NOT_FOUND) {
        return 0;
    }
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

/* ---- writing ---- */

struct durable *durable_new(struct disk *disk, const char *folder)
{
    struct durable *d = must_zalloc(sizeof(*d));

    d->disk = disk;
    file_path(d->path, folder, DURABLE_FILE);
    return d;
}

void durable_free(struct durable *d)
{
    if (d == NULL) {
        return;
    }
    if (d->file != NULL) {
        disk_sync(d->file); /* as good as it gets: an older number is no mistake */
        disk_close(d->file);
    }
    free(d);
}

static int durable_create(struct durable *d)
{
    char text[LINE_BYTES + 1];
    int rc = disk_open(d->disk, d->path, DISK_CREATE, &d->file);

    durable_print(text, 0);
    return rc == 0 ? disk_write(d->file, 0, text, LINE_BYTES) : rc;
}

/* What is there already is overwritten, not emptied first: at any moment the file holds a number.
 */
static int durable_open(struct durable *d)
{
    int rc = disk_open(d->disk, d->path, DISK_WRITE, &d->file);

    return rc == PAWL_ERR_NOT_FOUND ? durable_create(d) : rc;
}

static int durable_write(struct durable *d, enum line line, int64_t zxid)
{
    char text[LINE_BYTES + 1];
    int rc = d->file == NULL ? durable_open(d) : 0;

    if (rc == 0) {
        durable_print(text, zxid);
        rc = disk_write(d->file, (uint64_t)line * LINE_BYTES, text, LINE_BYTES);
    }
    return rc;
}

/* Both lines at once, in place: within one sector, the old ones or the new ones are read after a
 * crash. */
static int durable_replace(struct durable *d, const struct durable_known *known)
{
    char text[N_LINES * LINE_BYTES + 1];
    int rc = durable_open(d);

    durable_print(text + LINE_ZXID * LINE_BYTES, known->zxid);
    durable_print(text + LINE_LOG * LINE_BYTES, known->log);
    if (rc == 0) {
        rc = disk_write(d->file, 0, text, sizeof(text) - 1);
    }
    return rc == 0 ? disk_sync(d->file) : rc;
}

int durable_set(struct disk *disk, const char *folder, const struct durable_known *known)
{
    struct durable *d = durable_new(disk, folder);
    int rc = durable_replace(d, known);

    disk_close(d->file);
    free(d);
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

static void warn_unwritten(const struct durable *d)
{
    log_limited(LOG_WARN, "%s: a start after a crash will know less of what was acknowledged",
                disk_last_error(d->disk));
}

void durable_note(struct durable *d, int64_t zxid)
{
    ASSERT(zxid > 0);
    if (durable_write(d, LINE_ZXID, zxid) != 0) {
        warn_unwritten(d);
    }
}

void durable_begin_log(struct durable *d, int64_t zxid)
{
    int rc;

    ASSERT(zxid > 0);
    rc = durable_write(d, LINE_LOG, zxid);
    if (rc == 0) {
        rc = disk_sync(d->file);
    }
    if (rc != 0) {
        warn_unwritten(d);
    }
}

void durable_save(struct disk *disk, const char *folder, int64_t zxid)
{
    struct durable *d = durable_new(disk, folder);
    int rc;

    ASSERT(zxid > 0);
    rc = durable_write(d, LINE_ZXID, zxid);
    if (rc == 0) {
        rc = disk_sync(d->file);
    }
    if (rc == 0) {
        rc = disk_sync_folder(disk, folder);
    }
    if (rc != 0) {
        warn_unwritten(d);
    }
    durable_free(d);
}
