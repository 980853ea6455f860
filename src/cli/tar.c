/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tar.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 512, EXTENDED_LIMIT_BYTES = 4 << 20 };

#define ATTRIBUTE "SCHILY.xattr.user.pawl.node"

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
    char rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK_BYTES, "a header is a block");

/* As if the checksum itself were blanks. */
static unsigned checksum_of(const struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;

    for (size_t i = 0; i < sizeof(*h); i++) {
        bool is_sum = i >= offsetof(struct header, checksum) && i < offsetof(struct header, type);

        sum += is_sum ? ' ' : p[i];
    }
    return sum;
}

/* ---- writing ---- */

void tar_write_rest(FILE *to, uint64_t size)
{
    static const char zeros[BLOCK_BYTES];

    fwrite(zeros, 1, (size_t)((BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES), to);
}

static void write_padded(FILE *to, const void *data, size_t len)
{
    fwrite(data, 1, len, to);
    tar_write_rest(to, len);
}

/* A name that does not fit is cut: the extended header before this one has it whole. */
static void write_header(FILE *to, const char *name, char type, size_t size, int64_t mtime_s)
{
    struct header h = {.magic = "ustar", .version = {'0', '0'}, .type = type};
    size_t len = strlen(name);

    memcpy(h.name, name, len < sizeof(h.name) ? len : sizeof(h.name));
    snprintf(h.mode, sizeof(h.mode), "%07o", type == '5' ? 0755 : 0644);
    snprintf(h.uid, sizeof(h.uid), "%07o", 0);
    snprintf(h.gid, sizeof(h.gid), "%07o", 0);
    snprintf(h.size, sizeof(h.size), "%011zo", size);
    snprintf(h.mtime, sizeof(h.mtime), "%011" PRIo64,
             mtime_s > 0 ? (uint64_t)mtime_s & UINT64_C(077777777777) : 0);
    snprintf(h.checksum, sizeof(h.checksum), "%06o", checksum_of(&h));
    h.checksum[7] = ' ';
    fwrite(&h, sizeof(h), 1, to);
}

/* "LENGTH KEY=VALUE\n"; the length counts its own digits. */
static void append_record(struct strbuf *out, const char *key, struct pawl_bytes value)
{
    size_t rest = 1 + strlen(key) + 1 + value.len + 1, len = rest + 1;
    char digits[24];

    while (rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len) != len) {
        len = rest + strlen(digits);
    }
    strbuf_printf(out, "%zu %s=", len, key);
    strbuf_append(out, value.data, value.len);
    strbuf_append_str(out, "\n");
}

void tar_write(FILE *to, const struct tar_entry *entry)
{
    struct strbuf extended;

    strbuf_init(&extended, STRBUF_NO_LIMIT);
    if (strlen(entry->name) > sizeof(((struct header *)0)->name)) {
        append_record(&extended, "path", (struct pawl_bytes){entry->name, strlen(entry->name)});
    }
    if (entry->attribute.data != NULL) {
        append_record(&extended, ATTRIBUTE, entry->attribute);
    }
    if (extended.len > 0) {
        write_header(to, "PaxHeaders/node", 'x', extended.len, entry->mtime_s);
        write_padded(to, extended.data, extended.len);
    }
    strbuf_fini(&extended);
    write_header(to, entry->name, entry->is_folder ? '5' : '0', entry->data.len, entry->mtime_s);
    if (entry->data.len > 0) {
        write_padded(to, entry->data.data, entry->data.len);
    }
}

enum { SIZE_MAX_OF_HEADER = 0777777777 }; /* some less than what its digits can tell */

void tar_write_begin(FILE *to, const char *name, uint64_t size, int64_t mtime_s)
{
    struct strbuf extended;
    char digits[24];

    if (size > SIZE_MAX_OF_HEADER) {
        strbuf_init(&extended, STRBUF_NO_LIMIT);
        snprintf(digits, sizeof(digits), "%" PRIu64, size);
        append_record(&extended, "size", (struct pawl_bytes){digits, strlen(digits)});
        write_header(to, "PaxHeaders/node", 'x', extended.len, mtime_s);
        write_padded(to, extended.data, extended.len);
        strbuf_fini(&extended);
    }
    write_header(to, name, '0', size > SIZE_MAX_OF_HEADER ? 0 : (size_t)size, mtime_s);
}

void tar_write_end(FILE *to)
{
    static const char zeros[2 * BLOCK_BYTES];

    fwrite(zeros, sizeof(zeros), 1, to);
}

/* ---- reading ---- */

void tar_reader_init(struct tar_reader *r, FILE *file, size_t limit_bytes)
{
    *r = (struct tar_reader){.file = file, .limit_bytes = limit_bytes};
    strbuf_init(&r->name, EXTENDED_LIMIT_BYTES);
    strbuf_init(&r->data, STRBUF_NO_LIMIT);
    strbuf_init(&r->attribute, EXTENDED_LIMIT_BYTES);
    strbuf_init(&r->extended, EXTENDED_LIMIT_BYTES);
}

void tar_reader_fini(struct tar_reader *r)
{
    strbuf_fini(&r->name);
    strbuf_fini(&r->data);
    strbuf_fini(&r->attribute);
    strbuf_fini(&r->extended);
}

/* Octal digits with blanks before and a blank or NUL behind them; -1: something else. */
static int64_t number_of(const char *field, size_t size)
{
    int64_t value = 0;
    size_t i = 0, first;

    while (i < size && field[i] == ' ') {
        i++;
    }
    for (first = i; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
        value = value * 8 + (field[i] - '0');
    }
    return i > first && (i == size || field[i] == ' ' || field[i] == '\0') ? value : -1;
}

static const char cut_off[] = "it ends in the middle: it was cut off";

/* The content of an entry, without what pads it to whole blocks. */
static const char *read_content(struct tar_reader *r, int64_t size, struct strbuf *out)
{
    char block[BLOCK_BYTES];

    strbuf_clear(out);
    while (size > 0) {
        size_t len = size < BLOCK_BYTES ? (size_t)size : BLOCK_BYTES;

        if (fread(block, BLOCK_BYTES, 1, r->file) != 1) {
            return cut_off;
        }
        strbuf_append(out, block, len);
        size -= (int64_t)len;
    }
    return out->failed ? "no memory" : NULL;
}

static bool is_key(const char *key, size_t len, const char *wanted)
{
    return len == strlen(wanted) && memcmp(key, wanted, len) == 0;
}

static bool size_from(const char *value, size_t len, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9' || i > 15) {
            return false;
        }
        *out = *out * 10 + (value[i] - '0');
    }
    return len > 0;
}

static bool take_record(struct tar_reader *r, const char *key, size_t len)
{
    const char *equals = memchr(key, '=', len);
    size_t key_len = equals != NULL ? (size_t)(equals - key) : 0;
    const char *value = key + key_len + 1;
    size_t value_len = len - key_len - 1;

    if (equals == NULL) {
        return false;
    }
    if (is_key(key, key_len, "path")) {
        strbuf_clear(&r->name);
        strbuf_append(&r->name, value, value_len);
        r->has_name = true;
    } else if (is_key(key, key_len, ATTRIBUTE)) {
        strbuf_clear(&r->attribute);
        strbuf_append(&r->attribute, value, value_len);
        r->has_attribute = true;
    } else if (is_key(key, key_len, "size")) {
        return size_from(value, value_len, &r->given_size);
    }
    return true;
}

static const char *take_extended(struct tar_reader *r)
{
    const char *p = (const char *)r->extended.data;
    size_t left = r->extended.len;

    while (left > 0 && *p != '\0') {
        size_t n = 0, len = 0;

        while (n < left && n < 9 && p[n] >= '0' && p[n] <= '9') {
            len = len * 10 + (size_t)(p[n++] - '0');
        }
        if (n == 0 || n == left || p[n] != ' ' || len < n + 3 || len > left || p[len - 1] != '\n' ||
            !take_record(r, p + n + 1, len - n - 2)) {
            return "a damaged extended header";
        }
        p += len;
        left -= len;
    }
    return NULL;
}

/* GNU tar has a long name as the content of an entry before the one that it is for. */
static void take_long_name(struct tar_reader *r)
{
    strbuf_clear(&r->name);
    strbuf_append(&r->name, r->extended.data,
                  r->extended.len > 0 ? strnlen((char *)r->extended.data, r->extended.len) : 0);
    r->has_name = true;
}

/* The old form of GNU has other things in the place of the prefix. */
static void take_name(struct tar_reader *r, const struct header *h)
{
    if (r->has_name) {
        return;
    }
    strbuf_clear(&r->name);
    if (memcmp(h->magic, "ustar", sizeof(h->magic)) == 0 && h->prefix[0] != '\0') {
        strbuf_append(&r->name, h->prefix, strnlen(h->prefix, sizeof(h->prefix)));
        strbuf_append_str(&r->name, "/");
    }
    strbuf_append(&r->name, h->name, strnlen(h->name, sizeof(h->name)));
}

static const char *take_entry(struct tar_reader *r, const struct header *h, int64_t size,
                              struct tar_entry *out)
{
    const char *why;

    take_name(r, h);
    if (memchr(r->name.data != NULL ? (char *)r->name.data : "", '\0', r->name.len) != NULL) {
        return "a name with a NUL in it";
    }
    out->name = strbuf_cstr(&r->name);
    out->is_folder = h->type == '5' || (r->name.len > 0 && r->name.data[r->name.len - 1] == '/');
    if (h->type != '0' && h->type != '\0' && h->type != '5') {
        return "an entry that is neither a file nor a folder";
    }
    size = r->given_size >= 0 ? r->given_size : size;
    if (size > (int64_t)r->limit_bytes) {
        return "a file that is larger than a node can be";
    }
    why = read_content(r, size, &r->data);
    out->data = (struct pawl_bytes){r->data.len > 0 ? (const void *)r->data.data : "", r->data.len};
    out->mtime_s = number_of(h->mtime, sizeof(h->mtime));
    if (r->has_attribute) {
        out->attribute = (struct pawl_bytes){
            r->attribute.len > 0 ? (const void *)r->attribute.data : "", r->attribute.len};
    }
    return why;
}

/* What stands before an entry and is about it. True: there was such a thing. */
static bool take_before(struct tar_reader *r, const struct header *h, int64_t size,
                        const char **why)
{
    if (strchr("xgLK", h->type) == NULL || h->type == '\0') {
        return false;
    }
    *why = size <= EXTENDED_LIMIT_BYTES ? read_content(r, size, &r->extended)
                                        : "a header of several megabytes";
    if (*why == NULL && h->type == 'x') {
        *why = take_extended(r);
    } else if (*why == NULL && h->type == 'L') {
        take_long_name(r);
    }
    return true;
}

static bool is_end(const struct header *h)
{
    static const struct header zeros;

    return memcmp(h, &zeros, sizeof(*h)) == 0;
}

const char *tar_read(struct tar_reader *r, struct tar_entry *out)
{
    const char *why = NULL;
    struct header h;
    int64_t size;

    r->has_name = r->has_attribute = false;
    r->given_size = -1;
    *out = (struct tar_entry){0};
    do {
        if (fread(&h, sizeof(h), 1, r->file) != 1) {
            return cut_off;
        }
        if (is_end(&h)) {
            return NULL;
        }
        size = number_of(h.size, sizeof(h.size));
        if (number_of(h.checksum, sizeof(h.checksum)) != checksum_of(&h) || size < 0) {
            return "it is no tar, or a damaged one";
        }
    } while (take_before(r, &h, size, &why) && why == NULL);
    return why != NULL ? why : take_entry(r, &h, size, out);
}
