/* SPDX-License-Identifier: Apache-2.0 */
/* durable.h - what a server of ours knows of its own log: the last transaction that is on disk.
 *
 * A log cannot prove by itself that its last records were acknowledged: a record that a crash cut
 * short and an acknowledged one that the disk has lost since look alike. So after every sync of the
 * log, and before anybody is answered, the zxid that is now on disk is written to a file of its
 * own. That write is not synced, which would cost as much as the log's own: a process that dies
 * leaves the exact number behind, a power cut an older one. It is never too high, and a start that
 * would fall behind it is refused.
 *
 * A second line names the log that is being written. It is on disk before that log's first record
 * is. So a log that it does not name was written by another program, or by a server whose number
 * is lost, and nothing is known of what was acknowledged in it.
 *
 * The file is "pawl.durable" beside the logs, a name that ZooKeeper does not look at. Two lines,
 * the zxid that is on disk and the one that the log is named after:
 *
 *   16 hexadecimal digits | ' ' | 8 of the Adler-32 of those | '\n'      26 bytes each
 *
 * All of it is within one sector, so it is never half written. */
#ifndef PAWL_STORE_DURABLE_H
#define PAWL_STORE_DURABLE_H

#include <stdint.h>

#include "base/disk.h"

#define DURABLE_FILE "pawl.durable"

struct durable_known {
    int64_t zxid; /* on disk at least up to here; -1: not known */
    int64_t log;  /* the log written last was begun with this zxid; 0: not known */
};

/* A line that is missing or cannot be made out is one that is not known. */
int durable_load(struct disk *disk, const char *folder, struct durable_known *out);

/* Removes it, and that is on disk. For those who give up transactions on purpose; they call this
 * first. None there: fine. */
int durable_forget(struct disk *disk, const char *folder);

/* Makes it exactly that, also less than it was, and that is on disk. For those whom a leader orders
 * to drop transactions; they call this before they do. */
int durable_set(struct disk *disk, const char *folder, const struct durable_known *known);

struct durable;

/* Touches no file yet. */
struct durable *durable_new(struct disk *disk, const char *folder);

/* Brings the last number to disk and frees. NULL is allowed. */
void durable_free(struct durable *d);

/* All up to `zxid` is on disk. Makes the file the first time. If it cannot be written that is
 * logged, and the number stays an older one. */
void durable_note(struct durable *d, int64_t zxid);

/* The log named after `zxid` is about to be written. That is on disk when this returns, but for the
 * name of a file just made: the caller syncs the folder before the first record. If it cannot be
 * written that is logged, and after a power cut a start may be refused that need not be. */
void durable_begin_log(struct durable *d, int64_t zxid);

/* The same as durable_note() for a start that goes on from `zxid`, and on disk when it returns. */
void durable_save(struct disk *disk, const char *folder, int64_t zxid);

#endif
