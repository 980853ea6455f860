/* SPDX-License-Identifier: Apache-2.0 */
/* disk_memory.h - a disk in memory behind the seam of base/disk.h, for members that live no longer
 * than their program.
 *
 * It keeps what a real one promises to keep and no more: when the power goes, what was written
 * since a file's last sync is undone, and so is what happened to names since their folder was
 * synced. Folders themselves are kept. Holes cost nothing. May be used from several threads at
 * once. */
#ifndef PAWL_OS_DISK_MEMORY_H
#define PAWL_OS_DISK_MEMORY_H

#include <stdint.h>

#include "base/disk.h"

struct disk_memory;

/* Writes that would make the files larger than this in all fail with PAWL_ERR_DISK_FULL. */
struct disk_memory *disk_memory_new(uint64_t limit_bytes);

/* Files must have been closed before. NULL is allowed. */
void disk_memory_free(struct disk_memory *m);

struct disk *disk_memory_disk(struct disk_memory *m);

/* The power goes: from here on every call fails, with PAWL_ERR_CLOSING, until it is back. Files
 * that are open are to be closed before that. */
void disk_memory_cut(struct disk_memory *m);
void disk_memory_restore(struct disk_memory *m);

#endif
