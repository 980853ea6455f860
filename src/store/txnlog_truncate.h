/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_truncate.h - takes back everything after a zxid (TRUNC). */
#ifndef PAWL_STORE_TXNLOG_TRUNCATE_H
#define PAWL_STORE_TXNLOG_TRUNCATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"

/* Afterwards no log holds a transaction above `zxid`, no snapshot is newer, the number of durable.h
 * is not larger, and all of that is on disk. Only a leader may order it. `limit_bytes` is that of a
 * record; 0: ZooKeeper's default. PAWL_ERR_NOT_FOUND, and nothing is touched, if what remains would
 * not reach `zxid`: neither a log record nor a snapshot of exactly that zxid, or no snapshot at or
 * below it.
 *
 * An open log has to txnlog_forget() its file, and the tree in memory must be thrown away and
 * loaded again. */
int txnlog_truncate(struct disk *log_disk, struct disk *snapshot_disk, const char *folder,
                    size_t limit_bytes, int64_t zxid);

#endif
