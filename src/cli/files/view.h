/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - files of somebody's server, to be looked at and nothing else.
 *
 * A view is a disk (base/disk.h) of which the store's readers can read: one file, whatever it is
 * called, or a folder. Every call that would change something fails: whatever the readers do, the
 * files stay as they are. */
#ifndef PAWL_CLI_FILES_VIEW_H
#define PAWL_CLI_FILES_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cli/cli.h"
#include "store/file_names.h"

struct disk;

struct view {
    struct disk *disk;
    const char *given;          /* the path as the user wrote it */
    bool is_file;               /* one file, `name`, in `folder` */
    char name[FILE_NAME_BYTES]; /* as the readers know it */
    const char *folder;         /* within the disk: "version-2" or "." */
    int64_t newest_snapshot;    /* newer ones are not shown; INT64_MAX: all are */
    /* the rest is the view's own */
    struct disk *real;
    char *real_name;
    struct view_disk *own;
};

/* A file, or a folder: that with the logs, or the one above it. `prefix` is "log" or "snapshot",
 * for a file whose name does not tell. EXIT_OK, or the failure was reported. The view must not be
 * moved until view_close(). */
int view_open(struct view *v, const struct cli *cli, const char *path, const char *prefix);

/* A data folder as a server has it: version-2 is below it. */
int view_open_data(struct view *v, const struct cli *cli, const char *path);
void view_close(struct view *v);

/* What a file of the view is called outside. */
void view_name(const struct view *v, const char *name, struct strbuf *out);

/* From here on what the readers have to say (log_warn) is told as of this command. */
void view_tell_warnings(const struct cli *cli);

#endif
