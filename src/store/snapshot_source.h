/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_source.h - the uncompressed bytes of a snapshot file, a block at a time, with their sum.
 */
#ifndef PAWL_STORE_SNAPSHOT_SOURCE_H
#define PAWL_STORE_SNAPSHOT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "base/disk.h"
#include "store/snapshot_format.h"

struct snapshot_source {
    const uint8_t *at; /* the next byte, and behind the last one in memory */
    const uint8_t *end;
    /* the rest is the source's own */
    struct disk_file *file;
    enum snapshot_codec codec;
    uint64_t file_offset;
    uint8_t *block;
    size_t capacity;
    uint8_t *input; /* compressed bytes */
    size_t input_len, input_at;
    z_stream gzip;
    const uint8_t *summed; /* up to here */
    uint32_t sum;
    uint64_t passed; /* bytes of earlier blocks */
    bool at_end;
    bool bad; /* the compressed form is broken */
    int error;
};

/* Takes `file` over. */
void source_init(struct snapshot_source *s, struct disk_file *file, enum snapshot_codec codec);
void source_fini(struct snapshot_source *s);

/* Brings at least `len` bytes together; false if there are not that many. */
bool source_fill(struct snapshot_source *s, size_t len);

/* `len` unread bytes in one piece, or NULL if there are not that many. They stay unread. */
static inline const uint8_t *source_peek(struct snapshot_source *s, size_t len)
{
    return (size_t)(s->end - s->at) >= len || source_fill(s, len) ? s->at : NULL;
}

/* Adler-32 of everything up to `at`. */
uint32_t source_sum(struct snapshot_source *s);

/* How far into the uncompressed stream `at` is. */
uint64_t source_offset(const struct snapshot_source *s);

#endif
