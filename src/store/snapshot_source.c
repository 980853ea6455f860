/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot_source.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "wire/jute.h"

/* Half a megabyte stays in the processor's cache between reading, summing and parsing. */
enum { BLOCK_BYTES = 512 << 10, INPUT_BYTES = 256 << 10, SNAPPY_LIMIT = INPUT_BYTES - 4 };

void source_init(struct snapshot_source *s, struct disk_file *file, enum snapshot_codec codec)
{
    uint64_t size = 0;

    *s = (struct snapshot_source){.file = file, .codec = codec, .sum = 1, .capacity = BLOCK_BYTES};
    s->error = disk_size(file, &size);
    s->at_end = s->error != 0;
    if (codec == SNAPSHOT_PLAIN && size < BLOCK_BYTES) {
        s->capacity = (size_t)size + 1;
    }
    s->block = must_alloc(s->capacity);
    s->at = s->end = s->summed = s->block;
    if (codec != SNAPSHOT_PLAIN) {
        s->input = must_alloc(INPUT_BYTES);
    }
    if (codec == SNAPSHOT_GZIP) {
        ASSERT(inflateInit2(&s->gzip, 15 + 16) == Z_OK);
    }
    if (codec == SNAPSHOT_SNAPPY) {
        s->file_offset = SNAPPY_HEADER_BYTES; /* the quick test has seen the magic */
    }
}

void source_fini(struct snapshot_source *s)
{
    if (s->codec == SNAPSHOT_GZIP) {
        inflateEnd(&s->gzip);
    }
    free(s->input);
    free(s->block);
    disk_close(s->file);
}

uint32_t source_sum(struct snapshot_source *s)
{
    s->sum = checksum_adler32(s->sum, s->summed, (size_t)(s->at - s->summed));
    s->summed = s->at;
    return s->sum;
}

uint64_t source_offset(const struct snapshot_source *s)
{
    return s->passed + (uint64_t)(s->at - s->block);
}

/* Each of these puts up to `room` bytes at `out`; 0 at the end, or with `bad` or `error` set. */

static size_t read_plain(struct snapshot_source *s, uint8_t *out, size_t room)
{
    size_t n = 0;

    s->error = disk_read(s->file, s->file_offset, out, room, &n);
    s->file_offset += n;
    return n;
}

/* Tops the compressed input up; false if there is no more of it. */
static bool refill_input(struct snapshot_source *s)
{
    size_t have = s->input_len - s->input_at, n;

    memmove(s->input, s->input + s->input_at, have);
    s->input_at = 0;
    s->input_len = have;
    n = read_plain(s, s->input + have, INPUT_BYTES - have);
    s->input_len += n;
    return n > 0;
}

static size_t read_gzip(struct snapshot_source *s, uint8_t *out, size_t room)
{
    int z;

    s->gzip.next_out = out;
    s->gzip.avail_out = (uInt)room;
    while (s->gzip.avail_out == room) {
        if (s->input_at == s->input_len && !refill_input(s)) {
            break;
        }
        s->gzip.next_in = s->input + s->input_at;
        s->gzip.avail_in = (uInt)(s->input_len - s->input_at);
        z = inflate(&s->gzip, Z_NO_FLUSH);
        s->input_at = s->input_len - s->gzip.avail_in;
        if (z == Z_STREAM_END) { /* another member may follow */
            ASSERT(inflateReset(&s->gzip) == Z_OK);
        } else if (z != Z_OK && z != Z_BUF_ERROR) {
            s->bad = true;
            break;
        }
    }
    return room - s->gzip.avail_out;
}

static size_t read_snappy(struct snapshot_source *s, uint8_t *out, size_t room)
{
    const char *block;
    size_t len, n = room;

    while (s->input_len - s->input_at < 4) {
        if (!refill_input(s)) {
            s->bad = s->input_len != s->input_at;
            return 0;
        }
    }
    len = load_u32(s->input + s->input_at);
    while (len <= SNAPPY_LIMIT && s->input_len - s->input_at < 4 + len) {
        if (!refill_input(s)) {
            s->bad = true;
            return 0;
        }
    }
    block = (const char *)s->input + s->input_at + 4;
    if (len > SNAPPY_LIMIT || snappy_uncompressed_length(block, len, &n) != SNAPPY_OK || n > room ||
        snappy_uncompress(block, len, (char *)out, &n) != SNAPPY_OK) {
        s->bad = true;
        return 0;
    }
    s->input_at += 4 + len;
    return n;
}

static size_t read_some(struct snapshot_source *s, uint8_t *out, size_t room)
{
    switch (s->codec) {
    case SNAPSHOT_GZIP:
        return read_gzip(s, out, room);
    case SNAPSHOT_SNAPPY:
        return read_snappy(s, out, room);
    default:
        return read_plain(s, out, room);
    }
}

static void source_make_room(struct snapshot_source *s, size_t len)
{
    size_t have = (size_t)(s->end - s->at);

    source_sum(s);
    s->passed += (uint64_t)(s->at - s->block);
    memmove(s->block, s->at, have);
    /* The caller has held `len` to the limit of one string; half stays free to read into. */
    if (s->capacity < 2 * len) {
        s->capacity = 2 * len;
        s->block = must_realloc(s->block, s->capacity);
    }
    s->at = s->summed = s->block;
    s->end = s->block + have;
}

bool source_fill(struct snapshot_source *s, size_t len)
{
    source_make_room(s, len);
    while ((size_t)(s->end - s->at) < len && !s->at_end) {
        size_t have = (size_t)(s->end - s->block);
        size_t n = read_some(s, s->block + have, s->capacity - have);

        s->end += n;
        s->at_end = n == 0;
    }
    return (size_t)(s->end - s->at) >= len;
}
