/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_truncate.h - takes back everything after a zxid (TRUNC). */
#ifndef PAWL_STORE_TXNLOG_TRUNCATE_H
#define PAWL_STORE_TXNLOG_TRUNCATE_H

#include <stdint.h>

#include "base/disk.h"

/* Afterwards no log holds a transaction above `zxid`, no snapshot is newer, and all of that is on
 * disk. PAWL_ERR_NOT_FOUND, and nothing is touched, if what remains would not reach `zxid`: neither
 * a log record nor a snapshot of exactly that zxid, or no snapshot at or below it.
 *
 * The tree in memory must be thrown away and loaded again. */
int txnlog_truncate(struct disk *log_disk, struct disk *snapshot_disk, const char *folder,
                    int64_t zxid);

#endif
