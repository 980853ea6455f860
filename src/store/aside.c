/* SPDX-License-Identifier: Apache-2.0 */
#include "store/aside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "pawl/error.h"

enum { COPY_BYTES = 1 << 20, NAMES_MAX = 1000 };

/* ---- names ---- */

static int aside_is_free(struct disk *disk, const char *path, bool *out)
{
    struct disk_file *file;
    int rc = disk_open(disk, path, DISK_READ, &file);

    *out = rc == PAWL_ERR_NOT_FOUND;
    if (rc == 0) {
        disk_close(file);
    }
    return *out ? 0 : rc;
}

/* "aside.<name>", or with a number behind it. */
static int aside_pick_name(struct disk *disk, const char *folder, const char *name,
                           char kept[FILE_NAME_BYTES])
{
    char path[FILE_PATH_BYTES];
    bool is_free = false;
    int rc = 0;

    for (int n = 0; rc == 0 && !is_free && n < NAMES_MAX; n++) {
        int len = n == 0 ? snprintf(kept, FILE_NAME_BYTES, "aside.%s", name)
                         : snprintf(kept, FILE_NAME_BYTES, "aside.%s.%d", name, n);

        if (len >= FILE_NAME_BYTES) {
            return PAWL_ERR_TOO_LARGE;
        }
        file_path(path, folder, kept);
        rc = aside_is_free(disk, path, &is_free);
    }
    return rc != 0 || is_free ? rc : PAWL_ERR_EXISTS;
}

/* ---- the tail of a file ---- */

static int copy_range(struct disk_file *from, uint64_t offset, uint64_t end, struct disk_file *to)
{
    uint8_t *block = must_alloc(COPY_BYTES);
    uint64_t at = offset;
    size_t n = 0;
    int rc = 0;

    while (rc == 0 && at < end) {
        size_t len = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;

        rc = disk_read(from, at, block, len, &n);
        if (rc == 0 && n < len) {
            rc = PAWL_ERR_IO; /* shorter than a moment ago */
        }
        if (rc == 0) {
            rc = disk_write(to, at - offset, block, len);
        }
        at += len;
    }
    free(block);
    return rc;
}

static size_t last_byte(const uint8_t *block, size_t len)
{
    while (len > 0 && block[len - 1] == 0) {
        len--;
    }
    return len;
}

/* Where the last byte behind `offset` ends that is not zero; `offset` if there is none. */
static int find_end(struct disk_file *file, uint64_t offset, uint64_t *out)
{
    uint8_t *block = must_alloc(COPY_BYTES);
    size_t n = 0;
    int rc;

    *out = offset;
    do {
        uint64_t at = disk_data_after(file, offset);

        rc = disk_read(file, at, block, COPY_BYTES, &n);
        n = rc == 0 ? n : 0;
        *out = last_byte(block, n) > 0 ? at + last_byte(block, n) : *out;
        offset = at + n;
    } while (n > 0);
    free(block);
    return rc;
}

static int keep_range(struct disk *disk, const char *folder, const char *kept,
                      struct disk_file *from, uint64_t offset, uint64_t end)
{
    char path[FILE_PATH_BYTES];
    struct disk_file *to;
    int rc;

    file_path(path, folder, kept);
    rc = disk_open(disk, path, DISK_CREATE, &to);
    if (rc != 0) {
        return rc;
    }
    rc = copy_range(from, offset, end, to);
    if (rc == 0) {
        rc = disk_sync(to);
    }
    disk_close(to);
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

static int keep_tail(struct disk *disk, const char *folder, const char *name,
                     struct disk_file *file, uint64_t offset, char kept[FILE_NAME_BYTES])
{
    char wanted[FILE_NAME_BYTES];
    uint64_t end = offset;
    int rc = find_end(file, offset, &end);

    kept[0] = '\0';
    if (rc != 0 || end == offset) {
        return rc;
    }
    if (snprintf(wanted, sizeof(wanted), "%s.%" PRIu64, name, offset) >= (int)sizeof(wanted)) {
        return PAWL_ERR_TOO_LARGE;
    }
    rc = aside_pick_name(disk, folder, wanted, kept);
    return rc == 0 ? keep_range(disk, folder, kept, file, offset, end) : rc;
}

int aside_tail(struct disk *disk, const char *folder, const char *name, uint64_t offset,
               char kept[FILE_NAME_BYTES])
{
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    int rc;

    file_path(path, folder, name);
    rc = disk_open(disk, path, DISK_WRITE, &file);
    if (rc != 0) {
        return rc;
    }
    rc = keep_tail(disk, folder, name, file, offset, kept);
    if (rc == 0) {
        rc = disk_truncate(file, offset);
    }
    if (rc == 0) {
        rc = disk_sync(file);
    }
    disk_close(file);
    return rc;
}

/* ---- whole files ---- */

int aside_file(struct disk *disk, const char *folder, const char *name, char kept[FILE_NAME_BYTES])
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    int rc = aside_pick_name(disk, folder, name, kept);

    if (rc != 0) {
        return rc;
    }
    file_path(from, folder, name);
    file_path(to, folder, kept);
    return disk_rename(disk, from, to);
}
