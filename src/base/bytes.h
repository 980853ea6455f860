/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - a borrowed view of bytes: somebody else owns them.
 *
 * `data` NULL is jute's null, which is not the same as empty: an empty view has a non-NULL `data`.
 */
#ifndef PAWL_BASE_BYTES_H
#define PAWL_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *data;
    size_t len;
};

#define BYTES_NULL ((struct bytes){NULL, 0})

static inline struct bytes bytes_of(const void *data, size_t len)
{
    return (struct bytes){data, len};
}

static inline struct bytes bytes_str(const char *s)
{
    return (struct bytes){(const uint8_t *)s, strlen(s)};
}

static inline bool bytes_is_null(struct bytes b)
{
    return b.data == NULL;
}

/* Same length and content; null equals only null. */
static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.data == NULL) == (b.data == NULL) &&
           (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* The same of secrets: how long it takes tells nothing of where they differ. */
static inline bool bytes_equal_secret(struct bytes a, struct bytes b)
{
    volatile uint8_t differs = 0;

    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        differs |= a.data[i] ^ b.data[i];
    }
    return differs == 0;
}

/* As memcmp() has it, and a prefix before what it begins. */
static inline int bytes_order(struct bytes a, struct bytes b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* The eight bytes at `p` as a number, the first one lowest. */
static inline uint64_t bytes_load_8(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The last `c` there is, or NULL. A word of eight at a time, from the end. */
static inline const uint8_t *bytes_last(struct bytes b, uint8_t c)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t wanted = UINT64_C(0x0101010101010101) * c;
    size_t end = b.len;
    uint64_t word;

    for (; end >= 8; end -= 8) {
        word = bytes_load_8(b.data + end - 8) ^ wanted;
        word = ~(((word & low) + low) | word | low); /* the high bit where a byte was `c` */
        if (word != 0) {
            return b.data + end - 1 - (size_t)__builtin_clzll(word) / 8;
        }
    }
    while (end > 0 && b.data[end - 1] != c) {
        end--;
    }
    return end == 0 ? NULL : b.data + end - 1;
}

static inline bool bytes_equal_str(struct bytes a, const char *s)
{
    return a.data != NULL && a.len == strlen(s) && memcmp(a.data, s, a.len) == 0;
}

static inline bool bytes_starts_with(struct bytes b, const char *prefix)
{
    size_t len = strlen(prefix);

    return b.len >= len && b.data != NULL && memcmp(b.data, prefix, len) == 0;
}

#endif
