/* SPDX-License-Identifier: Apache-2.0 */
/* scrub.h - reads logs and snapshots again, a little at a time, to find damage before a start needs
 * them.
 *
 * A round looks at every snapshot (its last seal covers all of it) and every log (each record has
 * its sum). No tree is made of them, so a round costs one block of memory. The newest log is being
 * written meanwhile: it is read as far as it is known to be on disk. What looks damaged is read a
 * second time before it is told; a file that is gone by then was replaced or purged.
 *
 * What is damaged on disk is whole in memory as long as the server runs: a snapshot of the tree as
 * it is makes a damaged file one that no start needs, and then it can be put aside.
 *
 * For one thread, that which purges. */
#ifndef PAWL_STORE_SCRUB_H
#define PAWL_STORE_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "store/file_names.h"

struct scrub;

struct scrub_options {
    struct disk *snapshot_disk; /* both may be the same one */
    struct disk *log_disk;
    const char *folder;
    size_t limit_bytes; /* of one record; 0: ZooKeeper's default */
};

struct scrub_damage {
    bool is_log;
    struct file_name file;
    uint64_t offset;   /* of a log: where it is */
    int64_t last_zxid; /* of a log: the last good transaction before it, -1: none */
    char reason[200];
};

enum scrub_found {
    SCRUB_MORE,    /* the round goes on */
    SCRUB_ROUND,   /* it is over; the next step begins another */
    SCRUB_DAMAGED, /* the round goes on behind this */
};

struct scrub *scrub_new(const struct scrub_options *options);
void scrub_free(struct scrub *s); /* NULL is allowed */

/* Reads about `bytes` more. All transactions up to `known_zxid` are on disk. */
enum scrub_found scrub_step(struct scrub *s, size_t bytes, int64_t known_zxid,
                            struct scrub_damage *out);

/* Bytes read in this round, or in the one that is over. */
uint64_t scrub_bytes(const struct scrub *s);

/* There is a whole snapshot of `zxid`. Puts the file aside (aside.h) if with that no start needs it
 * any more; `*done` tells. Gone already: done, and `kept` is "". */
int scrub_put_aside(const struct scrub_options *options, const struct scrub_damage *damage,
                    int64_t zxid, bool *done, char kept[FILE_NAME_BYTES]);

#endif
