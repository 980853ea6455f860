/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/path.h"

#include <stdint.h>
#include <string.h>

/* One character of well-formed UTF-8 at `p`, up to U+FFFF (beyond that Java sees surrogates, which
 * paths may not contain). Returns its length, 0 when there is none. */
static size_t decode_char(const uint8_t *p, size_t left, uint32_t *out)
{
    if (p[0] < 0x80) {
        *out = p[0];
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf && left >= 2 && (p[1] & 0xc0) == 0x80) {
        *out = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
        return 2;
    }
    if ((p[0] & 0xf0) == 0xe0 && left >= 3 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80) {
        *out = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
        return *out >= 0x800 ? 3 : 0;
    }
    return 0;
}

static bool is_forbidden(uint32_t c)
{
    return c <= 0x1f || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff) ||
           (c >= 0xfff0 && c <= 0xffff);
}

static bool is_dots(const uint8_t *name, size_t len)
{
    return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

/* How many characters from `p` on, eight at most, are ASCII, printable, and no '/'. Each of the
 * three terms sets the high bit of the first byte that is not; borrows and carries come from such
 * bytes only, so what they do to later ones does not matter. */
static size_t count_plain(struct bytes path, const uint8_t *p)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    size_t left = (size_t)(path.data + path.len - p);
    uint64_t word, special;

    if (path.len < 8) {
        return *p >= 0x20 && *p < 0x7f && *p != '/' ? 1 : 0;
    }
    word = left >= 8 ? bytes_load_8(p) : bytes_load_8(p + left - 8) >> 8 * (8 - left);
    special = (word - each * 0x20) | ((word + each) | word) | ((word ^ each * '/') - each);
    special &= each * 0x80;
    return special == 0 ? 8 : (size_t)__builtin_ctzll(special) / 8;
}

bool path_is_valid(struct bytes path)
{
    const uint8_t *component, *p, *end;
    uint32_t c;
    size_t n;

    if (path.len == 0 || path.data[0] != '/') {
        return false;
    }
    if (path.len == 1) {
        return true;
    }
    end = path.data + path.len;
    component = path.data + 1;
    for (p = component; p < end; p += n) {
        n = count_plain(path, p);
        if (n > 0) {
            continue;
        }
        n = decode_char(p, (size_t)(end - p), &c);
        if (n == 0 || is_forbidden(c)) {
            return false;
        }
        if (c == '/') {
            if (p == component || is_dots(component, (size_t)(p - component))) {
                return false;
            }
            component = p + 1;
        }
    }
    return component < end && !is_dots(component, (size_t)(end - component));
}

bool path_has_nul(struct bytes path)
{
    return path.len > 0 && memchr(path.data, '\0', path.len) != NULL;
}

bool path_has_slash_no_nul(struct bytes path)
{
    return path.len > 0 && memchr(path.data, '/', path.len) != NULL && !path_has_nul(path);
}

static size_t path_last_slash(struct bytes path)
{
    const uint8_t *last = bytes_last(path, '/');

    return last == NULL ? 0 : (size_t)(last - path.data) + 1;
}

struct bytes path_parent(struct bytes path)
{
    size_t behind = path_last_slash(path);

    return bytes_of(path.data, behind <= 1 ? 1 : behind - 1);
}

struct bytes path_name(struct bytes path)
{
    size_t behind = path_last_slash(path);

    return bytes_of(path.data + behind, path.len - behind);
}

bool path_is_within(struct bytes path, struct bytes prefix)
{
    if (prefix.len <= 1) { /* "/" or "": the root */
        return true;
    }
    if (path.len < prefix.len || memcmp(path.data, prefix.data, prefix.len) != 0) {
        return false;
    }
    return path.len == prefix.len || path.data[prefix.len] == '/';
}

void path_walk_begin(struct path_walk *w, struct bytes path, uint64_t salt)
{
    *w = (struct path_walk){.path = path};
    hash_stream_begin(&w->hash, salt);
}

static size_t path_walk_end_of_next(const struct path_walk *w)
{
    const uint8_t *from = w->path.data + w->at;
    size_t left = w->path.len - w->at;
    const uint8_t *slash = w->at == 0 ? from + 1 : memchr(from + 1, '/', left - 1);

    return slash == NULL ? w->path.len : (size_t)(slash - w->path.data);
}

bool path_walk_next(struct path_walk *w, struct bytes *prefix, uint64_t *hash)
{
    size_t end;

    if (w->at == w->path.len) {
        return false;
    }
    end = path_walk_end_of_next(w);
    hash_stream_add(&w->hash, w->path.data + w->at, end - w->at);
    w->at = end;
    *prefix = bytes_of(w->path.data, end);
    *hash = hash_stream_value(&w->hash);
    return true;
}
