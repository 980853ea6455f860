/* SPDX-License-Identifier: Apache-2.0 */
/* disk_posix.h - the operating system's disk behind the seam of base/disk.h.
 *
 * May be used from several threads at once, each with files of its own. Errors of the system become
 * PAWL_ERR_..., and disk_last_error() tells the calling thread the whole story: what was tried, on
 * which file, and the system's reason. A disk keeps a few descriptors in reserve, for the files
 * that are needed when the rest of the process has used up all others. */
#ifndef PAWL_OS_DISK_POSIX_H
#define PAWL_OS_DISK_POSIX_H

#include <stdbool.h>

#include "base/disk.h"

/* The folder at `path`; with `create` it is made if missing, and the folders above it too. When
 * this fails, disk_posix_open_error() has the sentence. */
int disk_posix_open(const char *path, bool create, struct disk **out);
const char *disk_posix_open_error(void);

/* NULL is allowed. Files must have been closed before. */
void disk_posix_close(struct disk *d);

/* A new file for reading and writing in place of one of that name, which nobody may read who may
 * not read `like`; its mode is that of `like`, its owner too if we may give files away. */
int disk_posix_create_like(struct disk *d, const char *name, const char *like,
                           struct disk_file **out);

struct disk_lock;

/* Takes the lock file `name`, or fails with PAWL_ERR_BUSY; disk_last_error() then names the process
 * that holds it, if it can be known. A lock ends with its process, however that ends; the file
 * stays, as removing it would let two processes lock two files of one name. */
int disk_posix_lock(struct disk *d, const char *name, struct disk_lock **out);

/* NULL is allowed. */
void disk_posix_unlock(struct disk_lock *lock);

#endif
