/* SPDX-License-Identifier: Apache-2.0 */
#include "base/properties.h"

#include <stdbool.h>

#include "base/strbuf.h"
#include "pawl/error.h"

/* The text not read yet, and the number of the line it begins in. */
struct properties_reader {
    struct bytes text;
    size_t at;
    int line;
};

static bool properties_is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool properties_is_end_of_line(uint8_t c)
{
    return c == '\n' || c == '\r';
}

/* Steps over one end of line: \n, \r or \r\n. */
static void properties_skip_end_of_line(struct properties_reader *r)
{
    if (r->text.data[r->at] == '\r' && r->at + 1 < r->text.len && r->text.data[r->at + 1] == '\n') {
        r->at++;
    }
    r->at++;
    r->line++;
}

static void properties_skip_blanks(struct properties_reader *r)
{
    while (r->at < r->text.len && properties_is_blank(r->text.data[r->at])) {
        r->at++;
    }
}

/* Appends up to the end of the natural line; true if a backslash says that it goes on. */
static bool properties_take_natural_line(struct properties_reader *r, struct strbuf *out)
{
    size_t start = r->at;
    bool escaped = false;

    while (r->at < r->text.len && !properties_is_end_of_line(r->text.data[r->at])) {
        escaped = r->text.data[r->at] == '\\' && !escaped;
        r->at++;
    }
    strbuf_append(out, r->text.data + start, r->at - start - (escaped ? 1 : 0));
    return escaped;
}

/* Steps over empty lines and comments; false at the end of the text. */
static bool properties_find_logical_line(struct properties_reader *r)
{
    while (true) {
        properties_skip_blanks(r);
        if (r->at == r->text.len) {
            return false;
        }
        if (r->text.data[r->at] == '#' || r->text.data[r->at] == '!') {
            while (r->at < r->text.len && !properties_is_end_of_line(r->text.data[r->at])) {
                r->at++;
            }
        } else if (properties_is_end_of_line(r->text.data[r->at])) {
            properties_skip_end_of_line(r);
        } else {
            return true;
        }
    }
}

/* The next line that says something, joined from its parts; false at the end. */
static bool properties_next_logical_line(struct properties_reader *r, struct strbuf *out, int *line)
{
    do {
        bool goes_on;

        strbuf_clear(out);
        if (!properties_find_logical_line(r)) {
            return false;
        }
        *line = r->line;
        do {
            goes_on = properties_take_natural_line(r, out) && r->at < r->text.len;
            if (r->at < r->text.len) {
                properties_skip_end_of_line(r);
            }
            if (goes_on) {
                properties_skip_blanks(r);
            }
            /* A line that so far is nothing but a backslash is no line yet: in Java, too, a comment
             * or an empty line may follow it. */
        } while (goes_on && out->len > 0);
    } while (out->len == 0);
    return true;
}

/* Where the key ends and where the value starts. */
static void properties_split(struct bytes line, size_t *key_len, size_t *value_start)
{
    bool escaped = false, separated = false;
    size_t i = 0;

    while (i < line.len) {
        uint8_t c = line.data[i];

        if (!escaped && (c == '=' || c == ':' || properties_is_blank(c))) {
            break;
        }
        escaped = c == '\\' && !escaped;
        i++;
    }
    *key_len = i;
    while (i < line.len) {
        uint8_t c = line.data[i];

        if (!separated && (c == '=' || c == ':')) {
            separated = true;
        } else if (!properties_is_blank(c)) {
            break;
        }
        i++;
    }
    *value_start = i;
}

static void properties_append_utf8(struct strbuf *out, uint32_t c)
{
    uint8_t bytes[4];
    size_t len = 0;

    if (c < 0x80) {
        bytes[len++] = (uint8_t)c;
    } else if (c < 0x800) {
        bytes[len++] = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        bytes[len++] = (uint8_t)(0xe0 | c >> 12);
        bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    } else {
        bytes[len++] = (uint8_t)(0xf0 | c >> 18);
        bytes[len++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    }
    if (c >= 0x80) {
        bytes[len++] = (uint8_t)(0x80 | (c & 0x3f));
    }
    strbuf_append(out, bytes, len);
}

/* The four hex digits at `at`; false when they are not. */
static bool properties_take_hex(struct bytes in, size_t at, uint32_t *out)
{
    uint32_t value = 0;

    if (in.len - at < 4) {
        return false;
    }
    for (size_t i = at; i < at + 4; i++) {
        uint8_t c = in.data[i];

        if (c >= '0' && c <= '9') {
            value = value << 4 | (uint32_t)(c - '0');
        } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
            value = value << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        } else {
            return false;
        }
    }
    *out = value;
    return true;
}

/* Reads what stands behind "\u" at `*at`; two halves of a surrogate pair make one character. */
static const char *properties_take_unicode(struct bytes in, size_t *at, uint32_t *out)
{
    uint32_t low;

    if (!properties_take_hex(in, *at, out)) {
        return "\\u must be followed by four hexadecimal digits";
    }
    *at += 4;
    if (*out >= 0xd800 && *out < 0xdc00 && in.len - *at >= 6 && in.data[*at] == '\\' &&
        in.data[*at + 1] == 'u' && properties_take_hex(in, *at + 2, &low) && low >= 0xdc00 &&
        low < 0xe000) {
        *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    } else if (*out >= 0xd800 && *out < 0xe000) {
        *out = '?'; /* as Java writes half a pair */
    }
    return NULL;
}

static uint32_t properties_escape_of(uint8_t c)
{
    static const char letters[] = "tnrf", meanings[] = "\t\n\r\f";
    const char *found = c != '\0' ? strchr(letters, c) : NULL;

    return found != NULL ? (uint8_t)meanings[found - letters] : c;
}

/* Undoes the escapes. NULL, or what is wrong. */
static const char *properties_unescape(struct bytes in, struct strbuf *out)
{
    size_t at = 0;

    while (at < in.len) {
        uint32_t c = in.data[at++];

        if (c == '\\' && at < in.len) {
            c = in.data[at++];
            if (c == 'u') {
                const char *fault = properties_take_unicode(in, &at, &c);

                if (fault != NULL) {
                    return fault;
                }
            } else {
                c = properties_escape_of((uint8_t)c);
            }
        }
        if (c == 0) {
            return "a zero byte is not allowed";
        }
        properties_append_utf8(out, c);
    }
    return NULL;
}

/* String.trim(): control characters count as blanks. */
static const char *properties_trimmed(struct strbuf *b)
{
    size_t start = 0;

    while (b->len > 0 && b->data[b->len - 1] <= ' ') {
        b->len--;
    }
    while (start < b->len && b->data[start] <= ' ') {
        start++;
    }
    return strbuf_cstr(b) + start;
}

static const char *properties_deliver(struct bytes text, int line, property_fn each, void *arg)
{
    struct strbuf key, value;
    size_t key_len, value_start;
    const char *fault;

    strbuf_init(&key, STRBUF_NO_LIMIT);
    strbuf_init(&value, STRBUF_NO_LIMIT);
    properties_split(text, &key_len, &value_start);
    fault = properties_unescape(bytes_of(text.data, key_len), &key);
    if (fault == NULL) {
        fault =
            properties_unescape(bytes_of(text.data + value_start, text.len - value_start), &value);
    }
    if (fault == NULL) {
        each(arg, line, properties_trimmed(&key), properties_trimmed(&value));
    }
    strbuf_fini(&key);
    strbuf_fini(&value);
    return fault;
}

int properties_parse(struct bytes text, property_fn each, void *arg, struct properties_error *error)
{
    struct properties_reader reader = {.text = text, .line = 1};
    struct strbuf logical;
    const char *fault = NULL;
    int line = 0;

    strbuf_init(&logical, STRBUF_NO_LIMIT);
    while (fault == NULL && properties_next_logical_line(&reader, &logical, &line)) {
        fault = properties_deliver(strbuf_bytes(&logical), line, each, arg);
    }
    strbuf_fini(&logical);
    if (fault != NULL) {
        *error = (struct properties_error){.line = line, .what = fault};
        return PAWL_ERR_CONFIG;
    }
    return 0;
}
