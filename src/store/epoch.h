/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.h - the two promises of an ensemble member that must survive a crash.
 *
 * acceptedEpoch: the highest epoch this member promised to follow. currentEpoch: that of the last
 * leader it was fully synchronised with. Both are files beside the snapshots, decimal, no newline.
 * A standalone server has neither. */
#ifndef PAWL_STORE_EPOCH_H
#define PAWL_STORE_EPOCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"

#define EPOCH_CURRENT_FILE  "currentEpoch"
#define EPOCH_ACCEPTED_FILE "acceptedEpoch"

struct epochs {
    int64_t current;
    int64_t accepted;
};

/* One file. PAWL_ERR_NOT_FOUND: there is none; PAWL_ERR_CORRUPT: it holds no number. */
int epoch_load(struct disk *disk, const char *folder, const char *name, int64_t *out);

/* Replaces the file, all or nothing: whenever the power goes, the old epoch or the new one is read
 * afterwards. */
int epoch_save(struct disk *disk, const char *folder, const char *name, int64_t epoch);

/* What a member does at its start, once its data is loaded up to `last_zxid`: missing files are
 * written, a crash between the data of an epoch and its number is made good, and what cannot be
 * true is refused with PAWL_ERR_CORRUPT; `reason`, of `reason_bytes`, then has the sentence. */
int epoch_start(struct disk *disk, const char *folder, int64_t last_zxid, struct epochs *out,
                char *reason, size_t reason_bytes);

#endif
