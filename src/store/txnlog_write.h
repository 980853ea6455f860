/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_write.h - appends transactions to the log and brings them to disk.
 *
 * Belongs to one thread, the log's. A segment is made by the first append after opening or rolling
 * and is never opened again for appending. Nothing may be acknowledged before txnlog_sync() has
 * returned 0. An error of any call is final: the log takes nothing more, and the server stops, for
 * after a failed write or sync nobody knows what the disk holds. */
#ifndef PAWL_STORE_TXNLOG_WRITE_H
#define PAWL_STORE_TXNLOG_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"

struct txnlog;

struct txnlog_options {
    const char *folder;         /* inside the disk, "version-2"; exists already */
    uint64_t preallocate_bytes; /* preAllocSize; 0: none */
    uint64_t size_limit_bytes;  /* txnLogSizeLimitInKb; 0: none */
    bool force_sync;            /* false: leave it to the system when bytes reach the disk */
};

/* Touches no file yet. */
int txnlog_open(struct disk *disk, const struct txnlog_options *options, struct txnlog **out);

/* What was not synced may be lost. NULL is allowed. */
void txnlog_close(struct txnlog *log);

/* Writes whole records, laid out by txnlog_lay_out(), with one write; fills in their sums first.
 * Their zxids grow, also from call to call. `first_zxid` names the segment if a new one is due.
 * Between two syncs no more than TXNLOG_WRITE_BYTES or a single block may be appended: the reader
 * counts on it. */
int txnlog_append(struct txnlog *log, uint8_t *records, size_t len, int64_t first_zxid);

/* Brings all that was appended to disk, rolled segments included, and notes that (durable.h). Rolls
 * afterwards if the segment has passed its size limit. */
int txnlog_sync(struct txnlog *log);

/* The next append starts a new segment, and txnlog_size() counts from 0 again. */
void txnlog_roll(struct txnlog *log);

/* The files were changed under it, by truncation or because a snapshot took their place: lets go of
 * them. The history ends with `last_zxid` now; the next append starts a new segment. All that was
 * appended has been synced before. */
void txnlog_forget(struct txnlog *log, int64_t last_zxid);

/* Bytes of log files since the last txnlog_roll(), padding included: what snapSizeLimitInKb is
 * compared with. */
uint64_t txnlog_size(const struct txnlog *log);

/* Fills in the sums of whole records and returns the last one's zxid; part of txnlog_append(), for
 * those who write files themselves. */
int64_t txnlog_fill_sums(uint8_t *records, size_t len);

#endif
