/* SPDX-License-Identifier: Apache-2.0 */
#include "store/diverged.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pawl/error.h"
#include "store/file_names.h"

/* The first line, without what a terminal would not show as it is. */
static void keep_printable(char *text)
{
    text[strcspn(text, "\r\n")] = '\0';
    for (char *p = text; *p != '\0'; p++) {
        if (*p < ' ' || *p > '~') {
            *p = '?';
        }
    }
}

int diverged_load(struct disk *disk, const char *folder, struct diverged_mark *out)
{
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    size_t n = 0;
    int rc;

    *out = (struct diverged_mark){0};
    file_path(path, folder, DIVERGED_FILE);
    rc = disk_open(disk, path, DISK_READ, &file);
    if (rc != 0) {
        return rc == PAWL_ERR_NOT_FOUND ? 0 : rc;
    }
    rc = disk_read(file, 0, out->text, sizeof(out->text) - 1, &n);
    disk_close(file);
    out->is_there = rc == 0;
    keep_printable(out->text);
    return rc;
}

/* No other name first: half of a line is a mark as well. */
int diverged_save(struct disk *disk, const char *folder, int64_t zxid, const char *what)
{
    char path[FILE_PATH_BYTES], text[DIVERGED_TEXT_BYTES];
    struct diverged_mark before;
    int rc = diverged_load(disk, folder, &before);

    if (rc != 0 || before.is_there) {
        return rc;
    }
    snprintf(text, sizeof(text), "the tree differed after transaction 0x%" PRIx64 " (%s)\n",
             (uint64_t)zxid, what);
    file_path(path, folder, DIVERGED_FILE);
    rc = disk_write_text(disk, path, text);
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

int diverged_forget(struct disk *disk, const char *folder)
{
    char path[FILE_PATH_BYTES];
    int rc;

    file_path(path, folder, DIVERGED_FILE);
    rc = disk_remove(disk, path);
    if (rc == PAWL_ERR_NOT_FOUND) {
        return 0;
    }
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}
