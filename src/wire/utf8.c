/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/utf8.h"

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The length of the character at `p`, positive when it is well formed, negative when so many bytes
 * stand for one U+FFFD: the decisions of Java's decoder. */
static int measure(const uint8_t *p, size_t left)
{
    uint8_t a = p[0], b = left > 1 ? p[1] : 0;

    if (a < 0x80) {
        return 1;
    }
    if (a >= 0xc2 && a <= 0xdf) {
        return left > 1 && is_tail(b) ? 2 : -1;
    }
    if (a >= 0xe0 && a <= 0xef) {
        if (left < 2 || (a == 0xe0 && (b & 0xe0) == 0x80) || !is_tail(b)) {
            return -1;
        }
        if (left < 3 || !is_tail(p[2])) {
            return -2;
        }
        return a == 0xed && b >= 0xa0 ? -3 : 3; /* a surrogate by itself */
    }
    if (a >= 0xf0 && a <= 0xf4) {
        if (left < 2 || !is_tail(b) || (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f)) {
            return -1;
        }
        if (left < 3 || !is_tail(p[2])) {
            return -2;
        }
        return left < 4 || !is_tail(p[3]) ? -3 : 4;
    }
    return -1;
}

static size_t well_formed_prefix(struct bytes b)
{
    size_t at = 0;
    uint64_t word;
    int n;

    while (at < b.len) {
        if (b.len - at >= 8) { /* eight ASCII characters at a time */
            memcpy(&word, b.data + at, 8);
            if ((word & 0x8080808080808080u) == 0) {
                at += 8;
                continue;
            }
        }
        if (b.len >= 8) { /* the rest of them, with some of those before */
            memcpy(&word, b.data + b.len - 8, 8);
            if (b.len - at < 8 && (word & 0x8080808080808080u) == 0) {
                return b.len;
            }
        }
        n = measure(b.data + at, b.len - at);
        if (n < 0) {
            break;
        }
        at += (size_t)n;
    }
    return at;
}

struct bytes utf8_repaired(struct bytes b, struct strbuf *scratch)
{
    size_t at = well_formed_prefix(b);
    int n;

    if (at == b.len) {
        return b;
    }
    strbuf_clear(scratch);
    strbuf_append(scratch, b.data, at);
    while (at < b.len) {
        n = measure(b.data + at, b.len - at);
        if (n > 0) {
            strbuf_append(scratch, b.data + at, (size_t)n);
        } else {
            strbuf_append(scratch, "\xef\xbf\xbd", 3);
            n = -n;
        }
        at += (size_t)n;
    }
    return strbuf_bytes(scratch);
}
