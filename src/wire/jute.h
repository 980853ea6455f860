/* SPDX-License-Identifier: Apache-2.0 */
/* jute.h - ZooKeeper's binary encoding: big endian, no tags, no padding.
 *
 * A reader never leaves its frame. The first field that does not fit sets `failed`, and everything
 * read afterwards is zero or null, so a decoder checks once at its end. Buffers and strings are
 * views into the frame. A writer appends to a strbuf, whose `failed` says the same. */
#ifndef PAWL_WIRE_JUTE_H
#define PAWL_WIRE_JUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/strbuf.h"

struct jute_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

/* What reading from a stream that has no outer frame comes to. */
enum stream_read {
    STREAM_WHOLE, /* there it is */
    STREAM_SHORT, /* so far good, but more bytes are needed */
    STREAM_BAD,   /* can never become right: close the connection */
};

/* A null view reads as an empty one. */
static inline struct jute_reader jute_reader_of(struct bytes b)
{
    static const uint8_t nothing[1];
    const uint8_t *start = bytes_is_null(b) ? nothing : b.data;

    return (struct jute_reader){start, start + b.len, false};
}

static inline size_t jute_left(const struct jute_reader *r)
{
    return (size_t)(r->end - r->at);
}

static inline uint32_t load_u32(const uint8_t *p)
{
    uint32_t x;

    memcpy(&x, p, 4);
    return __builtin_bswap32(x);
}

static inline uint64_t load_u64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, 8);
    return __builtin_bswap64(x);
}

static inline void store_u32(uint8_t *p, uint32_t x)
{
    x = __builtin_bswap32(x);
    memcpy(p, &x, 4);
}

static inline void store_u64(uint8_t *p, uint64_t x)
{
    x = __builtin_bswap64(x);
    memcpy(p, &x, 8);
}

/* `len` bytes of the frame, or NULL and `failed`. */
static inline const uint8_t *jute_take(struct jute_reader *r, size_t len)
{
    const uint8_t *at = r->at;

    if (r->failed || jute_left(r) < len) {
        r->failed = true;
        return NULL;
    }
    r->at += len;
    return at;
}

static inline int32_t jute_read_int(struct jute_reader *r)
{
    const uint8_t *p = jute_take(r, 4);

    return p == NULL ? 0 : (int32_t)load_u32(p);
}

static inline int64_t jute_read_long(struct jute_reader *r)
{
    const uint8_t *p = jute_take(r, 8);

    return p == NULL ? 0 : (int64_t)load_u64(p);
}

static inline bool jute_read_bool(struct jute_reader *r)
{
    const uint8_t *p = jute_take(r, 1);

    return p != NULL && *p != 0;
}

/* A buffer or a string. Length -1 is null; any other negative length fails. */
static inline struct bytes jute_read_buffer(struct jute_reader *r)
{
    int32_t len = jute_read_int(r);
    const uint8_t *p;

    if (r->failed || len == -1) {
        return BYTES_NULL;
    }
    if (len < 0) {
        r->failed = true;
        return BYTES_NULL;
    }
    p = jute_take(r, (size_t)len);
    return bytes_of(p, p == NULL ? 0 : (size_t)len);
}

/* The number of elements that follow; -1 is a null vector, any other negative number an empty one.
 * Says nothing about what follows: read the elements one by one, and stop when the reader fails. */
static inline int32_t jute_read_count(struct jute_reader *r)
{
    int32_t count = jute_read_int(r);

    return count < -1 ? 0 : count;
}

static inline void jute_write_int(struct strbuf *b, int32_t x)
{
    if (strbuf_reserve(b, 4)) {
        store_u32(b->data + b->len, (uint32_t)x);
        b->len += 4;
    }
}

static inline void jute_write_long(struct strbuf *b, int64_t x)
{
    if (strbuf_reserve(b, 8)) {
        store_u64(b->data + b->len, (uint64_t)x);
        b->len += 8;
    }
}

static inline void jute_write_bool(struct strbuf *b, bool x)
{
    uint8_t byte = x ? 1 : 0;

    strbuf_append(b, &byte, 1);
}

/* A buffer or a string; a null view is written as -1. */
static inline void jute_write_buffer(struct strbuf *b, struct bytes bytes)
{
    if (bytes_is_null(bytes)) {
        jute_write_int(b, -1);
        return;
    }
    if (strbuf_reserve(b, 4 + bytes.len)) {
        store_u32(b->data + b->len, (uint32_t)bytes.len);
        if (bytes.len > 0) {
            memcpy(b->data + b->len + 4, bytes.data, bytes.len);
        }
        b->len += 4 + bytes.len;
    }
}

static inline void jute_write_str(struct strbuf *b, const char *s)
{
    jute_write_buffer(b, bytes_str(s));
}

/* Overwrites the int at `offset`, written earlier as a place holder. */
static inline void jute_patch_int(struct strbuf *b, size_t offset, int32_t x)
{
    if (!b->failed) {
        store_u32(b->data + offset, (uint32_t)x);
    }
}

#endif
