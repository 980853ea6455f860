/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_write.c - from the stream of bytes to the file: sum, compression, blocks.
 *
 * The log shares the device, and one flush of hundreds of megabytes at the end would hold up its
 * fdatasync. So the file is brought to disk in small portions, and the thread that writes does well
 * to pause after each for some times as long as it took. Measured with 200 MB written beside a log
 * that appends 100 bytes at a time: milliseconds of its write + fdatasync, p50 / p99 / p99.9 / max.
 *
 *   no snapshot                         0.08 / 0.2 / 1.1-3.4 / 5
 *   4 MB portions, no pause             0.10 / 8.0 / 12      / 12-15
 *   1 MB portions, no pause             0.09 / 7.8 / 12      / 21
 *   512 kB portions, pause 1x to 4x     0.10 / 1.8 / 2.4-4.0 / 8-13
 *   256 kB portions, pause 1x to 4x     0.09 / 0.4 / 0.6-1.0 / 2-4
 *   128 kB portions, pause 1x to 4x     0.09 / 0.4 / 1.1-1.2 / 4
 *   64 kB portions, pause 1x to 4x      0.10 / 0.9 / 1.2-4.0 / 4-16 */
#include "store/snapshot_write.h"

#include <inttypes.h>
#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/logging.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "pawl/error.h"
#include "store/file_names.h"
#include "store/snapshot_walk.h"
#include "wire/jute.h"

enum { SYNC_EVERY = 256 << 10, BLOCK_BYTES = 256 << 10 };

struct snapshot_file {
    struct disk *disk;
    char *folder;
    int64_t zxid;
    enum snapshot_codec codec;
    char temporary[FILE_PATH_BYTES];
    struct disk_file *file;
    uint64_t position;
    uint64_t unsynced;
    uint32_t sum;      /* of the uncompressed bytes so far */
    z_stream gzip;     /* for SNAPSHOT_GZIP */
    struct strbuf raw; /* for SNAPSHOT_SNAPPY: a block not full yet */
    struct strbuf out; /* compressed, to be written */
};

enum snapshot_codec snapshot_codec_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (dot != NULL && strcmp(dot, ".gz") == 0) {
        return SNAPSHOT_GZIP;
    }
    if (dot != NULL && strcmp(dot, ".snappy") == 0) {
        return SNAPSHOT_SNAPPY;
    }
    return SNAPSHOT_PLAIN;
}

const char *snapshot_extension(enum snapshot_codec codec)
{
    static const char *const extensions[] = {"", ".gz", ".snappy"};

    return extensions[codec];
}

void snapshot_name(char *out, int64_t zxid, enum snapshot_codec codec)
{
    snprintf(out, FILE_NAME_BYTES, SNAPSHOT_PREFIX ".%" PRIx64 "%s", (uint64_t)zxid,
             snapshot_extension(codec));
}

/* ---- bytes to the disk ---- */

static int snapshot_put(struct snapshot_file *f, const void *data, size_t len)
{
    int rc = disk_write(f->file, f->position, data, len);

    if (rc != 0) {
        return rc;
    }
    f->position += len;
    f->unsynced += len;
    if (f->unsynced >= SYNC_EVERY) {
        f->unsynced = 0;
        rc = disk_sync(f->file);
    }
    return rc;
}

static int flush_out(struct snapshot_file *f, size_t unless_below)
{
    int rc = 0;

    if (f->out.failed) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (f->out.len > 0 && f->out.len >= unless_below) {
        rc = snapshot_put(f, f->out.data, f->out.len);
        strbuf_clear(&f->out);
    }
    return rc;
}

/* ---- gzip ---- */

static int gzip_write(struct snapshot_file *f, const void *data, size_t len, int flush)
{
    int rc, z;

    f->gzip.next_in = (Bytef *)(uintptr_t)data;
    f->gzip.avail_in = (uInt)len;
    do {
        if (!strbuf_reserve(&f->out, BLOCK_BYTES)) {
            return PAWL_ERR_NO_MEMORY;
        }
        f->gzip.next_out = f->out.data + f->out.len;
        f->gzip.avail_out = BLOCK_BYTES;
        z = deflate(&f->gzip, flush);
        ASSERT(z != Z_STREAM_ERROR);
        f->out.len += BLOCK_BYTES - f->gzip.avail_out;
        rc = flush_out(f, BLOCK_BYTES);
        if (rc != 0) {
            return rc;
        }
    } while (f->gzip.avail_out == 0);
    return 0;
}

/* ---- snappy, in the framing of snappy-java ---- */

static void snappy_head(struct strbuf *out)
{
    strbuf_append(out, SNAPPY_MAGIC, 8);
    jute_write_int(out, 1);
    jute_write_int(out, 1);
}

static int snappy_block(struct snapshot_file *f, const uint8_t *data, size_t len)
{
    size_t room = snappy_max_compressed_length(len);
    snappy_status status;

    if (!strbuf_reserve(&f->out, 4 + room)) {
        return PAWL_ERR_NO_MEMORY;
    }
    status = snappy_compress((const char *)data, len, (char *)f->out.data + f->out.len + 4, &room);
    ASSERT(status == SNAPPY_OK);
    store_u32(f->out.data + f->out.len, (uint32_t)room);
    f->out.len += 4 + room;
    return flush_out(f, BLOCK_BYTES);
}

static int snappy_write(struct snapshot_file *f, const uint8_t *data, size_t len)
{
    int rc = 0;

    while (rc == 0 && len > 0) {
        size_t n = SNAPPY_BLOCK_BYTES - f->raw.len;

        n = len < n ? len : n;
        strbuf_append(&f->raw, data, n);
        data += n;
        len -= n;
        if (f->raw.failed) {
            return PAWL_ERR_NO_MEMORY;
        }
        if (f->raw.len == SNAPPY_BLOCK_BYTES) {
            rc = snappy_block(f, f->raw.data, f->raw.len);
            strbuf_clear(&f->raw);
        }
    }
    return rc;
}

/* ---- the stream ---- */

int snapshot_file_write(struct snapshot_file *f, const void *data, size_t len)
{
    ASSERT(f->file != NULL);
    if (len == 0) {
        return 0;
    }
    ASSERT(len <= UINT32_MAX);
    f->sum = checksum_adler32(f->sum, data, len);
    switch (f->codec) {
    case SNAPSHOT_GZIP:
        return gzip_write(f, data, len, Z_NO_FLUSH);
    case SNAPSHOT_SNAPPY:
        return snappy_write(f, data, len);
    default:
        return snapshot_put(f, data, len);
    }
}

/* What is still inside the compressor. */
static int drain(struct snapshot_file *f)
{
    int rc = 0;

    if (f->codec == SNAPSHOT_GZIP) {
        rc = gzip_write(f, "", 0, Z_FINISH);
    } else if (f->codec == SNAPSHOT_SNAPPY && f->raw.len > 0) {
        rc = snappy_block(f, f->raw.data, f->raw.len);
    }
    return rc == 0 ? flush_out(f, 0) : rc;
}

static int write_seal(struct snapshot_file *f)
{
    struct strbuf seal;
    int rc;

    strbuf_init(&seal, 64);
    jute_write_long(&seal, (int64_t)f->sum);
    jute_write_str(&seal, "/");
    rc = seal.failed ? PAWL_ERR_NO_MEMORY : snapshot_file_write(f, seal.data, seal.len);
    strbuf_fini(&seal);
    return rc;
}

static int write_snapshot_header(struct snapshot_file *f)
{
    uint8_t header[16];

    store_u32(header, SNAPSHOT_MAGIC);
    store_u32(header + 4, SNAPSHOT_VERSION);
    store_u64(header + 8, UINT64_MAX);
    return snapshot_file_write(f, header, sizeof(header));
}

/* Before the first transaction ZooKeeper writes an empty digest. */
static int write_snapshot_digest(struct snapshot_file *f, const uint64_t *digest)
{
    bool is_known = digest != NULL && f->zxid > 0;
    uint8_t section[20];

    store_u64(section, is_known ? (uint64_t)f->zxid : 0);
    store_u32(section + 8, SNAPSHOT_DIGEST_VERSION);
    store_u64(section + 12, is_known ? *digest : 0);
    return snapshot_file_write(f, section, sizeof(section));
}

static int write_tail(struct snapshot_file *f, const uint64_t *digest)
{
    uint8_t last_zxid[8];
    int rc = write_seal(f);

    if (rc == 0) {
        rc = write_snapshot_digest(f, digest);
    }
    if (rc == 0) {
        rc = write_seal(f);
    }
    store_u64(last_zxid, (uint64_t)f->zxid);
    if (rc == 0) {
        rc = snapshot_file_write(f, last_zxid, sizeof(last_zxid));
    }
    if (rc == 0) {
        rc = write_seal(f);
    }
    return rc == 0 ? drain(f) : rc;
}

/* ---- life ---- */

int snapshot_file_begin(struct disk *disk, const struct snapshot_file_options *options,
                        int64_t zxid, struct snapshot_file **out)
{
    struct snapshot_file *f = must_zalloc(sizeof(*f));
    char name[FILE_NAME_BYTES];
    int rc;

    ASSERT(zxid >= 0);
    f->disk = disk;
    f->folder = must_strdup(options->folder);
    f->zxid = zxid;
    f->codec = options->codec;
    f->sum = 1;
    strbuf_init(&f->raw, SNAPPY_BLOCK_BYTES);
    strbuf_init(&f->out, STRBUF_NO_LIMIT);
    snprintf(name, sizeof(name), SNAPSHOT_TEMPORARY "%" PRIx64, (uint64_t)zxid);
    file_path(f->temporary, f->folder, name);
    if (f->codec == SNAPSHOT_GZIP) {
        rc = deflateInit2(&f->gzip, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
        ASSERT(rc == Z_OK);
    } else if (f->codec == SNAPSHOT_SNAPPY) {
        snappy_head(&f->out);
    }
    rc = disk_open(disk, f->temporary, DISK_CREATE, &f->file);
    if (rc == 0) {
        rc = write_snapshot_header(f);
    }
    if (rc != 0) {
        snapshot_file_abort(f);
        return rc;
    }
    *out = f;
    return 0;
}

static void file_free(struct snapshot_file *f)
{
    disk_close(f->file);
    if (f->codec == SNAPSHOT_GZIP) {
        deflateEnd(&f->gzip);
    }
    strbuf_fini(&f->raw);
    strbuf_fini(&f->out);
    free(f->folder);
    free(f);
}

void snapshot_file_abort(struct snapshot_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->file != NULL) {
        disk_remove(f->disk, f->temporary);
    }
    file_free(f);
}

int snapshot_file_seal(struct snapshot_file *f, const uint64_t *digest)
{
    int rc = write_tail(f, digest);

    return rc == 0 ? disk_sync(f->file) : rc;
}

const char *snapshot_file_path(const struct snapshot_file *f)
{
    return f->temporary;
}

int snapshot_file_name(struct snapshot_file *f, const char *name)
{
    char path[FILE_PATH_BYTES];
    int rc;

    file_path(path, f->folder, name);
    rc = disk_rename(f->disk, f->temporary, path);
    if (rc != 0) {
        snapshot_file_abort(f);
        return rc;
    }
    rc = disk_sync_folder(f->disk, f->folder);
    file_free(f);
    return rc;
}

int snapshot_file_finish(struct snapshot_file *f, uint64_t digest)
{
    char name[FILE_NAME_BYTES];
    int rc = snapshot_file_seal(f, &digest);

    if (rc != 0) {
        snapshot_file_abort(f);
        return rc;
    }
    snapshot_name(name, f->zxid, f->codec);
    return snapshot_file_name(f, name);
}

static int write_chunks(struct snapshot_file *f, struct snapshot_taker *taker)
{
    struct snapshot_chunk *chunk;
    int rc = 0;

    while (rc == 0 && (chunk = snapshot_taker_take(taker)) != NULL) {
        rc = snapshot_file_write(f, chunk->data, chunk->len);
        snapshot_chunk_free(chunk);
    }
    return rc;
}

int snapshot_save(struct disk *disk, const struct snapshot_file_options *options, struct tree *tree,
                  int64_t zxid)
{
    struct snapshot_taker *taker;
    struct snapshot_walk *w;
    struct snapshot_file *f;
    uint64_t digest;
    bool done = false;
    int rc = snapshot_file_begin(disk, options, zxid, &f);

    if (rc != 0) {
        return rc;
    }
    w = snapshot_walk_begin(tree, zxid);
    taker = snapshot_walk_join(w, SIZE_MAX);
    digest = snapshot_walk_digest(w);
    while (rc == 0 && !done) {
        done = snapshot_walk_step(w, 4096, SNAPSHOT_CHUNK_BYTES);
        rc = write_chunks(f, taker);
    }
    snapshot_walk_free(w);
    snapshot_taker_free(taker);
    if (rc != 0) {
        snapshot_file_abort(f);
        return rc;
    }
    return snapshot_file_finish(f, digest);
}
