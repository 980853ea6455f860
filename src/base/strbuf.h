/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.h - a growing buffer of bytes or text, with its limit given at birth.
 *
 * Past the limit, or when memory runs out, nothing more is appended and `failed` is set: the
 * writer checks once at the end instead of at every append. */
#ifndef PAWL_BASE_STRBUF_H
#define PAWL_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

struct strbuf {
    uint8_t *data;
    size_t len;
    size_t capacity;
    size_t limit;
    bool failed;
};

#define STRBUF_NO_LIMIT SIZE_MAX

void strbuf_init(struct strbuf *b, size_t limit);
void strbuf_fini(struct strbuf *b);

/* Forgets the content, keeps the memory. */
static inline void strbuf_clear(struct strbuf *b)
{
    b->len = 0;
    b->failed = false;
}

/* Gives memory back when the capacity is above `keep`. Only on an empty buffer. */
void strbuf_trim(struct strbuf *b, size_t keep);

/* Makes room for `len` more; false when it cannot. */
bool strbuf_grow(struct strbuf *b, size_t len);

static inline bool strbuf_reserve(struct strbuf *b, size_t len)
{
    return (b->capacity - b->len >= len && !b->failed) || strbuf_grow(b, len);
}

static inline void strbuf_append(struct strbuf *b, const void *data, size_t len)
{
    if (len > 0 && strbuf_reserve(b, len)) {
        memcpy(b->data + b->len, data, len);
        b->len += len;
    }
}

static inline void strbuf_append_bytes(struct strbuf *b, struct bytes bytes)
{
    strbuf_append(b, bytes.data, bytes.len);
}

void strbuf_append_str(struct strbuf *b, const char *s);
void strbuf_printf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* The content with a NUL behind it, which does not count; "" when nothing could be allocated.
 * Valid until the next append. */
const char *strbuf_cstr(struct strbuf *b);

static inline struct bytes strbuf_bytes(const struct strbuf *b)
{
    return bytes_of(b->data, b->len);
}

#endif
