/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mark.h"

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

int mark_load(struct disk *disk, const char *folder, const char *name, struct mark *out)
{
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    size_t n = 0;
    int rc;

    *out = (struct mark){0};
    file_path(path, folder, name);
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
int mark_save(struct disk *disk, const char *folder, const char *name, const char *text)
{
    char path[FILE_PATH_BYTES], line[MARK_TEXT_BYTES];
    struct mark before;
    int rc = mark_load(disk, folder, name, &before);

    if (rc != 0 || before.is_there) {
        return rc;
    }
    snprintf(line, sizeof(line), "%.*s\n", MARK_TEXT_BYTES - 2, text);
    file_path(path, folder, name);
    rc = disk_write_text(disk, path, line);
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

int mark_forget(struct disk *disk, const char *folder, const char *name)
{
    char path[FILE_PATH_BYTES];
    int rc;

    file_path(path, folder, name);
    rc = disk_remove(disk, path);
    if (rc == PAWL_ERR_NOT_FOUND) {
        return 0;
    }
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}
