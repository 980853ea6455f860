/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>

void strbuf_init(struct strbuf *b, size_t limit)
{
    *b = (struct strbuf){.limit = limit};
}

void strbuf_fini(struct strbuf *b)
{
    free(b->data);
    *b = (struct strbuf){0};
}

void strbuf_trim(struct strbuf *b, size_t keep)
{
    if (b->len == 0 && b->capacity > keep) {
        free(b->data);
        b->data = NULL;
        b->capacity = 0;
    }
}

bool strbuf_grow(struct strbuf *b, size_t len)
{
    size_t needed = b->len + len;
    size_t capacity = b->capacity < 64 ? 64 : b->capacity;
    uint8_t *data;

    if (b->failed || needed < len || needed > b->limit) {
        b->failed = true;
        return false;
    }
    while (capacity < needed) {
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    }
    if (capacity > b->limit) { /* or what lies between would be filled without asking again */
        capacity = b->limit;
    }
    data = realloc(b->data, capacity);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void strbuf_append_str(struct strbuf *b, const char *s)
{
    strbuf_append(b, s, strlen(s));
}

void strbuf_vprintf(struct strbuf *b, const char *format, va_list args)
{
    va_list again;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    if (len >= 0 && strbuf_reserve(b, (size_t)len + 1)) {
        vsnprintf((char *)b->data + b->len, (size_t)len + 1, format, again);
        b->len += (size_t)len;
    }
    va_end(again);
}

void strbuf_printf(struct strbuf *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_vprintf(b, format, args);
    va_end(args);
}

const char *strbuf_cstr(struct strbuf *b)
{
    if (!strbuf_reserve(b, 1)) {
        return "";
    }
    b->data[b->len] = '\0';
    return (const char *)b->data;
}
