/* SPDX-License-Identifier: Apache-2.0 */
/* received.h - a snapshot that the leader sent takes the place of all history of this member.
 *
 * Logs and snapshots from before it must never be used again: they may hold transactions that the
 * ensemble has dropped. And at any moment a start must find either the old history or the new one:
 *
 *   tmp.snapshot.<zxid>     being written: a start removes it
 *   received.<zxid>         whole, read back and found to make a tree, on disk: from here on the
 * new one counts, and a start brings the rest to its end replaced.log.<zxid>     what it replaces,
 * kept until the next one comes; neither Pawl nor replaced.snapshot....   ZooKeeper takes these for
 * logs or snapshots snapshot.<zxid>         in its place; nothing else is left
 *
 * The number of durable.h becomes that of the snapshot: the leader ordered it, so nothing that was
 * acknowledged is missing.
 *
 * For one thread, that of the log. */
#ifndef PAWL_STORE_RECEIVED_H
#define PAWL_STORE_RECEIVED_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "store/snapshot_read.h"

#define RECEIVED_PREFIX "received"
#define REPLACED_PREFIX "replaced."

struct received;

struct received_options {
    struct disk *snapshot_disk; /* both may be the same one: dataDir and dataLogDir */
    struct disk *log_disk;
    const char *folder;
    struct snapshot_read_options reading;
};

int received_begin(const struct received_options *options, int64_t zxid, struct received **out);

/* The stream's body (snapshot_stream.h), in pieces. After an error only received_abort() is left.
 */
int received_write(struct received *r, const void *data, size_t len);

/* The body is whole: puts it on disk and reads it back. Nothing is changed yet; after an error only
 * received_abort() is left. PAWL_ERR_CORRUPT: the bytes make no tree, `info->reason` tells why. */
int received_check(struct received *r, struct snapshot_info *info);

/* Checked: puts it in its place and gives the tree. `r` is gone afterwards. Errors: it counts after
 * the next start, or not at all. No log may be open. */
int received_finish(struct received *r, struct tree **out);

/* Gives it up; nothing was changed. NULL is allowed. */
void received_abort(struct received *r);

/* The file `path` of the snapshots' disk is a whole snapshot of `zxid`, and on disk: from here on
 * it is what counts at the next start. For one who replaces the data of a server on purpose. */
int received_adopt(struct disk *snapshot_disk, struct disk *log_disk, const char *folder,
                   const char *path, int64_t zxid);

/* Whether a snapshot waits to be put in its place; its zxid, -1: none. */
int received_find(struct disk *snapshot_disk, const char *folder, int64_t *out);

/* Brings to its end what received_finish() began. Nothing to do: fine. */
int received_install(struct disk *snapshot_disk, struct disk *log_disk, const char *folder);

#endif
