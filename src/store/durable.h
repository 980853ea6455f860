/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - the number of the last transaction that is known to be on disk.
 *
 * A log cannot prove by itself that its last records were acknowledged: a record that a crash cut
 * short and an acknowledged one that the disk has lost since look alike. So after every sync of the
 * log, and before anybody is answered, the zxid that is now on disk is written to a file of its
 * own. That write is not synced, which would cost as much as the log's own: a process that dies
 * leaves the exact number behind, a power cut an older one or none. It is never too high, and a
 * start that would fall behind it is refused.
 *
 * The file is "pawl.durable" beside the logs, a name that ZooKeeper does not look at:
 *
 *   16 hexadecimal digits of the zxid | ' ' | 8 of the Adler-32 of those | '\n'      26 bytes
 *
 * All of it is within one sector, so it is never half written. */
#ifndef PAWL_STORE_DURABLE_H
#define PAWL_STORE_DURABLE_H

#include <stdint.h>

#include "base/disk.h"

#define DURABLE_FILE "pawl.durable"

/* The number in the folder's file; -1: there is none, or it cannot be made out. */
int durable_load(struct disk *disk, const char *folder, int64_t *out);

/* Removes it, and that is on disk. For those who give up transactions on purpose; they call this
 * first. None there: fine. */
int durable_forget(struct disk *disk, const char *folder);

struct durable;

/* Touches no file yet. */
struct durable *durable_new(struct disk *disk, const char *folder);

/* Brings the last number to disk and frees. NULL is allowed. */
void durable_free(struct durable *d);

/* All up to `zxid` is on disk. Makes the file the first time. If it cannot be written that is
 * logged, and the number stays an older one. */
void durable_note(struct durable *d, int64_t zxid);

#endif
