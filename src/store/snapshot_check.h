/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_check.h - whether a snapshot file is whole, for those who copy it.
 *
 * Lengths are followed to the end and the sum before the first seal is compared. No tree is made,
 * so it needs the memory of a block, however large the tree is: that its nodes fit together, and
 * its digest, is seen when it is loaded (snapshot_read.h). */
#ifndef PAWL_STORE_SNAPSHOT_CHECK_H
#define PAWL_STORE_SNAPSHOT_CHECK_H

#include <stddef.h>

#include "base/disk.h"

/* 0: it is whole. PAWL_ERR_CORRUPT: `*reason` says why not. `limit_bytes` is of one string or
 * buffer, 0: ZooKeeper's default. */
int snapshot_check(struct disk *disk, const char *path, size_t limit_bytes, const char **reason);

#endif
