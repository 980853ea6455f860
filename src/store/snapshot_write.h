/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_write.h - the file that a snapshot becomes.
 *
 * For the thread that writes: header and seals are the file's own, what is between them are the
 * chunks of a snapshot_walk in order, or a stream that another server sent. The file has a
 * temporary name until it is whole and on disk, so a crash leaves either the snapshot or none. */
#ifndef PAWL_STORE_SNAPSHOT_WRITE_H
#define PAWL_STORE_SNAPSHOT_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "store/snapshot_format.h"

struct snapshot_file;
struct tree;

struct snapshot_file_options {
    const char *folder; /* inside the disk, "version-2"; exists already */
    enum snapshot_codec codec;
};

int snapshot_file_begin(struct disk *disk, const struct snapshot_file_options *options,
                        int64_t zxid, struct snapshot_file **out);

/* After an error only snapshot_file_abort() is left. */
int snapshot_file_write(struct snapshot_file *f, const void *data, size_t len);

/* Seals the file, brings it to disk and gives it its name. `f` is gone afterwards, and so is its
 * temporary file if this fails. */
int snapshot_file_finish(struct snapshot_file *f, uint64_t digest);

/* The same in steps. First the seals, and all of it is on disk; `digest` NULL: not known. Then it
 * can be read at snapshot_file_path(). At last it gets its name in the folder; `f` is gone
 * afterwards. */
int snapshot_file_seal(struct snapshot_file *f, const uint64_t *digest);
const char *snapshot_file_path(const struct snapshot_file *f);
int snapshot_file_name(struct snapshot_file *f, const char *name);

/* Gives it up. NULL is allowed. */
void snapshot_file_abort(struct snapshot_file *f);

/* All at once, for a start or a stop: walks the tree and writes the file. */
int snapshot_save(struct disk *disk, const struct snapshot_file_options *options, struct tree *tree,
                  int64_t zxid);

/* The name of a finished snapshot, without its folder; `out` has room for FILE_NAME_BYTES. */
void snapshot_name(char *out, int64_t zxid, enum snapshot_codec codec);

#endif
