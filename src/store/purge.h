/* SPDX-License-Identifier: Apache-2.0 */
/* purge.h - removes snapshots and logs that no recovery will ask for. */
#ifndef PAWL_STORE_PURGE_H
#define PAWL_STORE_PURGE_H

#include <stddef.h>

#include "base/disk.h"

enum { PURGE_RETAIN_MIN = 3 }; /* autopurge.snapRetainCount is not taken below this */

struct purge_report {
    size_t snapshots;
    size_t logs;
};

/* Keeps the `retain` newest snapshots that look whole and every log that may hold a transaction
 * after the oldest of them. Removes nothing if there is no such snapshot. The two disks may be the
 * same. Safe beside a running server: it never touches the newest log. */
int purge_run(struct disk *snapshot_disk, struct disk *log_disk, const char *folder, size_t retain,
              struct purge_report *report);

#endif
