/* SPDX-License-Identifier: Apache-2.0 */
#include "store/epoch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "pawl/error.h"
#include "store/file_names.h"

enum { TEXT_BYTES = 64 };

/* The first line, a decimal number and nothing else. */
static bool parse_epoch(char *text, int64_t *out)
{
    int64_t value = 0;
    const char *p = text;

    text[strcspn(text, "\r\n")] = '\0';
    for (; *p >= '0' && *p <= '9' && value <= (INT64_MAX - 9) / 10; p++) {
        value = value * 10 + (*p - '0');
    }
    if (p == text || *p != '\0') {
        return false;
    }
    *out = value;
    return true;
}

int epoch_load(struct disk *disk, const char *folder, const char *name, int64_t *out)
{
    char path[FILE_PATH_BYTES], text[TEXT_BYTES];
    struct disk_file *file;
    size_t n;
    int rc;

    file_path(path, folder, name);
    rc = disk_open(disk, path, DISK_READ, &file);
    if (rc != 0) {
        return rc;
    }
    rc = disk_read(file, 0, text, sizeof(text) - 1, &n);
    disk_close(file);
    if (rc != 0) {
        return rc;
    }
    text[n] = '\0';
    return parse_epoch(text, out) ? 0 : PAWL_ERR_CORRUPT;
}

int epoch_save(struct disk *disk, const char *folder, const char *name, int64_t epoch)
{
    char path[FILE_PATH_BYTES], temporary[FILE_PATH_BYTES + 4], text[TEXT_BYTES];
    int rc;

    ASSERT(epoch >= 0);
    file_path(path, folder, name);
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    snprintf(text, sizeof(text), "%" PRId64, epoch);
    rc = disk_write_text(disk, temporary, text);
    if (rc != 0) {
        return rc;
    }
    rc = disk_rename(disk, temporary, path);
    if (rc != 0) {
        return rc;
    }
    return disk_sync_folder(disk, folder);
}

/* Reads the file, or writes `epoch` into it if there is none. */
static int load_or_save(struct disk *disk, const char *folder, const char *name, int64_t epoch,
                        int64_t *out)
{
    int rc = epoch_load(disk, folder, name, out);

    if (rc == PAWL_ERR_NOT_FOUND) {
        *out = epoch;
        rc = epoch_save(disk, folder, name, epoch);
    }
    return rc;
}

/* The data is of a later epoch than the file says: a crash after the history of a running epoch was
 * taken over and before its number was. What is there is the beginning of that epoch's history
 * without a hole, so nobody with less of it can win an election by the number; and the epoch was
 * promised before. */
static int catch_up(struct disk *disk, const char *folder, int64_t of_data, struct epochs *e)
{
    if (e->accepted < of_data) {
        return PAWL_ERR_CORRUPT;
    }
    e->current = of_data;
    return epoch_save(disk, folder, EPOCH_CURRENT_FILE, of_data);
}

int epoch_start(struct disk *disk, const char *folder, int64_t last_zxid, struct epochs *out,
                char *reason, size_t reason_bytes)
{
    int64_t of_data = last_zxid >> 32;
    struct epochs e;
    int rc;

    snprintf(reason, reason_bytes, "%s/" EPOCH_CURRENT_FILE " cannot be read as a number", folder);
    rc = load_or_save(disk, folder, EPOCH_CURRENT_FILE, of_data, &e.current);
    if (rc != 0) {
        return rc;
    }
    snprintf(reason, reason_bytes, "%s/" EPOCH_ACCEPTED_FILE " cannot be read as a number", folder);
    rc = load_or_save(disk, folder, EPOCH_ACCEPTED_FILE, of_data, &e.accepted);
    if (rc == 0 && of_data > e.current) {
        snprintf(reason, reason_bytes,
                 "the data is of epoch %" PRId64 ", but %s/" EPOCH_CURRENT_FILE " says %" PRId64
                 " and " EPOCH_ACCEPTED_FILE " %" PRId64,
                 of_data, folder, e.current, e.accepted);
        rc = catch_up(disk, folder, of_data, &e);
    }
    if (rc != 0) {
        return rc;
    }
    if (e.accepted < e.current) {
        snprintf(reason, reason_bytes,
                 EPOCH_ACCEPTED_FILE " is %" PRId64 ", below " EPOCH_CURRENT_FILE
                                     ", which is %" PRId64,
                 e.accepted, e.current);
        return PAWL_ERR_CORRUPT;
    }
    reason[0] = '\0';
    *out = e;
    return 0;
}
