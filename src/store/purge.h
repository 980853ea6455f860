/* SPDX-License-Identifier: Apache-2.0 */
/* purge.h - removes snapshots and logs that no recovery will ask for. */
#ifndef PAWL_STORE_PURGE_H
#define PAWL_STORE_PURGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"

enum { PURGE_RETAIN_MIN = 3 }; /* autopurge.snapRetainCount is not taken below this */

/* Files that are named below these go. -1 or 0: none. */
struct purge_plan {
    int64_t snapshot;
    int64_t log; /* no transaction before this one is in a log any more */
};

/* Keeps the `retain` newest snapshots that look whole and every log that may hold a transaction
 * after the oldest of them; everything if there is no such snapshot. Removes nothing yet. The two
 * disks may be the same. */
int purge_find(struct disk *snapshot_disk, struct disk *log_disk, const char *folder, size_t retain,
               struct purge_plan *plan);

struct purge_report {
    size_t snapshots;
    size_t logs;
};

/* Removes them. Safe beside a running server: the newest log is never among them. */
int purge_run(struct disk *snapshot_disk, struct disk *log_disk, const char *folder,
              const struct purge_plan *plan, struct purge_report *report);

#endif
