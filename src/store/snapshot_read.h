/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_read.h - from a snapshot file, plain, gzip or snappy, to a tree.
 *
 * Every seal is checked, and no memory is asked for by a length that the file has not backed with
 * bytes. A file that does not pass leaves nothing behind. */
#ifndef PAWL_STORE_SNAPSHOT_READ_H
#define PAWL_STORE_SNAPSHOT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "store/tree.h"

struct snapshot_read_options {
    struct tree_options tree;
    size_t limit_bytes; /* of one string or buffer; 0: ZooKeeper's default */
};

struct snapshot_info {
    bool has_digest; /* and not an empty one */
    int64_t digest_zxid;
    uint64_t digest;
    int64_t last_zxid; /* of the last section, -1: none */
    int64_t n_nodes;
    uint64_t bytes;   /* uncompressed */
    char reason[160]; /* why it was not taken */
};

/* Loads the file `path` of `disk` into a fresh tree. PAWL_ERR_CORRUPT: `info->reason` says why. */
int snapshot_load(struct disk *disk, const char *path, const struct snapshot_read_options *options,
                  struct tree **out, struct snapshot_info *info);

/* ZooKeeper's quick test, by which candidates are listed: does the file end like a whole snapshot
 * (plain), or begin like its kind (compressed)? */
int snapshot_looks_whole(struct disk *disk, const char *path, bool *out);

#endif
