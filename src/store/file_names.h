/* SPDX-License-Identifier: Apache-2.0 */
/* file_names.h - which files of a folder are logs and snapshots, and of which zxid.
 *
 * The names are ZooKeeper's: log.<hex> and snapshot.<hex>[.<codec>]. Only the first two parts
 * count, so "snapshot.2a.tmp" is a snapshot of 0x2a, as it is for ZooKeeper. */
#ifndef PAWL_STORE_FILE_NAMES_H
#define PAWL_STORE_FILE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"

enum { FILE_NAME_BYTES = 256 };

struct file_name {
    int64_t zxid;
    char name[FILE_NAME_BYTES]; /* without the folder */
};

struct file_list {
    struct file_name *files; /* by zxid, oldest first */
    size_t count;
};

/* The zxid in `name` if it reads <prefix>.<hex>[.anything], -1 otherwise. */
int64_t file_name_zxid(const char *name, const char *prefix);

/* All files of `folder` with that prefix. A folder that does not exist has none. On success the
 * caller ends with file_list_fini(). */
int file_list_load(struct disk *disk, const char *folder, const char *prefix,
                   struct file_list *out);
void file_list_fini(struct file_list *l);

/* "<folder>/<name>" into `out`, which has room for FILE_PATH_BYTES. */
enum { FILE_PATH_BYTES = 2 * FILE_NAME_BYTES };
void file_path(char *out, const char *folder, const char *name);

#endif
