/* SPDX-License-Identifier: Apache-2.0 */
#include "store/purge.h"

#include <stdbool.h>
#include <stdint.h>

#include "store/file_names.h"
#include "store/snapshot_format.h"
#include "store/snapshot_read.h"
#include "store/txnlog_format.h"
#include "store/txnlog_read.h"

/* The zxid of the oldest snapshot to keep, -1: there is none that looks whole. */
static int oldest_to_keep(struct disk *disk, const char *folder, const struct file_list *snapshots,
                          size_t retain, int64_t *out)
{
    char path[FILE_PATH_BYTES];
    bool whole;
    size_t found = 0;
    int rc;

    *out = -1;
    for (size_t i = snapshots->count; i > 0 && found < retain; i--) {
        file_path(path, folder, snapshots->files[i - 1].name);
        rc = snapshot_looks_whole(disk, path, &whole);
        if (rc != 0) {
            return rc;
        }
        if (whole) {
            *out = snapshots->files[i - 1].zxid;
            found++;
        }
    }
    return 0;
}

/* Removes the files below `zxid`, oldest first. */
static int purge_below(struct disk *disk, const char *folder, const char *prefix, int64_t zxid,
                       size_t *removed)
{
    char path[FILE_PATH_BYTES];
    struct file_list l;
    int rc = file_list_load(disk, folder, prefix, &l);

    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; rc == 0 && i < l.count && l.files[i].zxid < zxid; i++) {
        file_path(path, folder, l.files[i].name);
        rc = disk_remove(disk, path);
        *removed += rc == 0;
    }
    file_list_fini(&l);
    if (rc == 0 && *removed > 0) {
        rc = disk_sync_folder(disk, folder);
    }
    return rc;
}

/* A log is named after its first transaction: the newest that starts at or before the snapshot may
 * hold transactions after it. */
static int first_log_to_keep(struct disk *disk, const char *folder, const struct file_list *logs,
                             int64_t snapshot, int64_t *out)
{
    size_t first;
    int rc = txnlog_find_first(disk, folder, logs, snapshot + 1, &first);

    if (rc == 0) {
        *out = logs->count > 0 ? logs->files[first].zxid : 0;
    }
    return rc;
}

int purge_find(struct disk *snapshot_disk, struct disk *log_disk, const char *folder, size_t retain,
               struct purge_plan *plan)
{
    struct file_list snapshots, logs;
    int rc;

    *plan = (struct purge_plan){0};
    rc = file_list_load(snapshot_disk, folder, SNAPSHOT_PREFIX, &snapshots);
    if (rc != 0) {
        return rc;
    }
    rc = file_list_load(log_disk, folder, TXNLOG_PREFIX, &logs);
    if (rc == 0) {
        rc = oldest_to_keep(snapshot_disk, folder, &snapshots,
                            retain < PURGE_RETAIN_MIN ? PURGE_RETAIN_MIN : retain, &plan->snapshot);
        if (rc == 0 && plan->snapshot >= 0) {
            rc = first_log_to_keep(log_disk, folder, &logs, plan->snapshot, &plan->log);
        }
        file_list_fini(&logs);
    }
    file_list_fini(&snapshots);
    return rc;
}

/* Snapshots first: one without its log would be taken for good and miss transactions. */
int purge_run(struct disk *snapshot_disk, struct disk *log_disk, const char *folder,
              const struct purge_plan *plan, struct purge_report *report)
{
    int rc;

    *report = (struct purge_report){0};
    rc = purge_below(snapshot_disk, folder, SNAPSHOT_PREFIX, plan->snapshot, &report->snapshots);
    if (rc == 0) {
        rc = purge_below(log_disk, folder, TXNLOG_PREFIX, plan->log, &report->logs);
    }
    return rc;
}
