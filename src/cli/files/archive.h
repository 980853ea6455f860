/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h - the folder that a backup is written to, and goes on in.
 *
 *   pawl.backup            the list (backup_list.h)
 *   version-2/snapshot.X   as servers have them: every tool that reads a data folder, and every
 *   version-2/log.Y        server, can read an archive
 *   pawl.lock              nobody else writes to it, and no server is started on it meanwhile
 *   version-2/cut.log.Y    what was cut off, see archive_cut()
 *
 * A log grows until it is ARCHIVE_LOG_BYTES long; each stretch of it is on disk before the next is
 * written, as a server does it, so that a reader judges it in the same way. */
#ifndef PAWL_CLI_FILES_ARCHIVE_H
#define PAWL_CLI_FILES_ARCHIVE_H

#include "cli/cli.h"
#include "cli/files/backup_list.h"
#include "cli/files/view.h"
#include "cli/progress.h"
#include "store/txnlog_read.h"

enum { ARCHIVE_LOG_BYTES = 64 << 20 };

struct archive {
    struct cli *cli;
    const char *path;
    struct disk *disk;
    struct disk_lock *lock;
    struct backup_list list; /* what is there, whether the one on disk says so already or not */
    bool is_changed;         /* it does not */
    struct disk_file *log;   /* the last of the list; NULL: the next record begins a new one */
    struct strbuf batch;     /* records for it */
    struct archive_receiving {
        struct disk_file *file;
        uint64_t bytes;
        uint32_t crc;
        uint8_t first[8];
    } receiving;
    struct progress progress;
    int64_t n_records, copied_bytes; /* since it was opened */
};

/* Makes the folder if it is not there. EXIT_OK, or the failure was reported; archive_close() in
 * either case. EXIT_CONFLICT: there is something else in it. */
int archive_open(struct archive *a, struct cli *cli, const char *path);
void archive_close(struct archive *a);

/* Each gives EXIT_OK, or the failure was reported and the archive can only be closed: what its list
 * has is as good as before. */

/* Behind everything that is in it. */
int archive_append(struct archive *a, const struct txnlog_record *record);

/* From the same folder of somebody's view. EXIT_NO: it is gone, or not whole, which is reported
 * unless it is gone. If nothing else is in the archive, or `is_bridge`, the archive goes on from
 * it. */
int archive_copy_snapshot(struct archive *a, const struct view *from, const struct file_name *name,
                          size_t limit_bytes, bool is_bridge);

/* A snapshot that comes in pieces. It ends with the zxid that it was said to have and with what has
 * come of it so far: anything but EXIT_OK gives it up, and is returned. One that is not newer than
 * what is there adds nothing; EXIT_CONFLICT: it is older. */
int archive_receive_begin(struct archive *a);
int archive_receive(struct archive *a, const void *data, size_t len);
int archive_receive_end(struct archive *a, int64_t zxid, size_t limit_bytes, int status);

/* All of it is on disk, and the list says so. */
int archive_commit(struct archive *a);

/* Transactions behind `zxid` are not in the history any more: an ensemble has dropped them before
 * they were committed, or a disk has lost them. What the archive has of them is put aside. `file`
 * is the log that has `zxid`, and `end` the offset behind it. */
int archive_cut(struct archive *a, int64_t zxid, uint32_t sum, const char *file, uint64_t end);

#endif
