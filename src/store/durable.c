/* SPDX-License-Identifier: Apache-2.0 */
#include "store/durable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/file_names.h"

enum { DIGITS = 16, TEXT_BYTES = 26 };

struct durable {
    struct disk *disk;
    char path[FILE_PATH_BYTES];
    struct disk_file *file; /* NULL: nothing has been noted yet */
};

/* ---- the text ---- */

static void durable_print(char out[TEXT_BYTES + 1], int64_t zxid)
{
    int len = snprintf(out, TEXT_BYTES + 1, "%016" PRIx64 " ", (uint64_t)zxid);

    len += snprintf(out + len, (size_t)(TEXT_BYTES + 1 - len), "%08lx\n",
                    adler32(1, (const Bytef *)out, DIGITS));
    ASSERT(len == TEXT_BYTES);
}

/* -1: that is not what durable_print() makes. */
static int64_t durable_parse(const char *text, size_t len)
{
    char expected[TEXT_BYTES + 1];
    int64_t zxid;

    if (len < TEXT_BYTES) {
        return -1;
    }
    zxid = (int64_t)strtoull(text, NULL, 16);
    durable_print(expected, zxid);
    return zxid >= 0 && memcmp(text, expected, TEXT_BYTES) == 0 ? zxid : -1;
}

/* ---- reading ---- */

int durable_load(struct disk *disk, const char *folder, int64_t *out)
{
    char path[FILE_PATH_BYTES], text[TEXT_BYTES + 1] = {0};
    struct disk_file *file;
    size_t n = 0;
    int rc;

    file_path(path, folder, DURABLE_FILE);
    rc = disk_open(disk, path, DISK_READ, &file);
    if (rc == PAWL_ERR_NOT_FOUND) {
        *out = -1;
        return 0;
    }
    if (rc != 0) {
        return rc;
    }
    rc = disk_read(file, 0, text, TEXT_BYTES, &n);
    disk_close(file);
    if (rc == 0) {
        *out = durable_parse(text, n);
        if (*out < 0 && n > 0) {
            log_warn("%s cannot be made out and is ignored", path);
        }
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

/* What is there already is overwritten, not emptied first: at any moment the file holds a number.
 */
static int durable_open(struct durable *d)
{
    int rc = disk_open(d->disk, d->path, DISK_WRITE, &d->file);

    if (rc == PAWL_ERR_NOT_FOUND) {
        rc = disk_open(d->disk, d->path, DISK_CREATE, &d->file);
    }
    return rc;
}

void durable_note(struct durable *d, int64_t zxid)
{
    char text[TEXT_BYTES + 1];
    int rc = d->file == NULL ? durable_open(d) : 0;

    ASSERT(zxid > 0);
    if (rc == 0) {
        durable_print(text, zxid);
        rc = disk_write(d->file, 0, text, TEXT_BYTES);
    }
    if (rc != 0) {
        log_limited(LOG_WARN, "%s: a start after a crash will know less of what was acknowledged",
                    disk_last_error(d->disk));
    }
}
