/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "cli/text.h"
#include "wire/utf8.h"

static int depth;
static bool needs_comma;

static void write_bytes(const unsigned char *p, size_t len)
{
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '"' || p[i] == '\\') {
            printf("\\%c", p[i]);
        } else if (p[i] == '\n') {
            fputs("\\n", stdout);
        } else if (p[i] < 0x20 || p[i] == 0x7f) {
            printf("\\u%04x", p[i]);
        } else {
            putchar(p[i]);
        }
    }
    putchar('"');
}

static void begin(const char *name)
{
    if (needs_comma) {
        putchar(',');
    }
    needs_comma = true;
    if (name != NULL) {
        write_bytes((const unsigned char *)name, strlen(name));
        putchar(':');
    }
}

void json_open(const char *name, char bracket)
{
    begin(name);
    putchar(bracket);
    depth++;
    needs_comma = false;
}

void json_close(char bracket)
{
    ASSERT(depth > 0);
    putchar(bracket == '{' ? '}' : ']');
    needs_comma = true;
    if (--depth == 0) {
        putchar('\n');
        needs_comma = false;
    }
}

void json_text(const char *name, const char *value)
{
    json_data(name, pawl_str(value));
}

void json_number(const char *name, int64_t value)
{
    begin(name);
    printf("%" PRId64, value);
}

void json_hex(const char *name, uint64_t value)
{
    begin(name);
    printf("\"0x%" PRIx64 "\"", value);
}

void json_bool(const char *name, bool value)
{
    begin(name);
    fputs(value ? "true" : "false", stdout);
}

static void write_base64(const unsigned char *p, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    putchar('"');
    for (size_t i = 0; i < len; i += 3) {
        uint32_t three = (uint32_t)p[i] << 16;

        three |= i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0;
        three |= i + 2 < len ? (uint32_t)p[i + 2] : 0;
        putchar(digits[three >> 18]);
        putchar(digits[three >> 12 & 63]);
        putchar(i + 1 < len ? digits[three >> 6 & 63] : '=');
        putchar(i + 2 < len ? digits[three & 63] : '=');
    }
    putchar('"');
}

static bool is_text(struct pawl_bytes data)
{
    struct strbuf repaired;
    bool is_same;

    strbuf_init(&repaired, STRBUF_NO_LIMIT);
    is_same = utf8_repaired(bytes_of(data.data, data.len), &repaired).data == data.data;
    strbuf_fini(&repaired);
    return is_same;
}

void json_data(const char *name, struct pawl_bytes data)
{
    char long_name[64];

    if (data.data == NULL) {
        begin(name);
        fputs("null", stdout);
    } else if (is_text(data)) {
        begin(name);
        write_bytes(data.data, data.len);
    } else {
        snprintf(long_name, sizeof(long_name), "%s_base64", name != NULL ? name : "text");
        if (name == NULL) { /* in a list: an object of its own */
            json_open(NULL, '{');
        }
        begin(long_name);
        write_base64(data.data, data.len);
        if (name == NULL) {
            json_close('{');
        }
    }
}

void json_acls(const char *name, const struct pawl_acls *acls)
{
    char perms[TEXT_PERMS_BYTES];

    json_open(name, '[');
    for (size_t i = 0; i < acls->n; i++) {
        text_perms(acls->items[i].perms, perms);
        json_open(NULL, '{');
        json_text("scheme", acls->items[i].scheme);
        json_text("id", acls->items[i].id);
        json_text("perms", perms);
        json_close('{');
    }
    json_close('[');
}

void json_stat(const char *name, const struct pawl_stat *s)
{
    json_open(name, '{');
    json_hex("czxid", (uint64_t)s->czxid);
    json_hex("mzxid", (uint64_t)s->mzxid);
    json_hex("pzxid", (uint64_t)s->pzxid);
    json_number("ctime", s->ctime);
    json_number("mtime", s->mtime);
    json_number("version", s->version);
    json_number("cversion", s->cversion);
    json_number("aversion", s->aversion);
    json_hex("ephemeral_owner", (uint64_t)s->ephemeral_owner);
    json_number("data_length", s->data_length);
    json_number("children", s->n_children);
    json_close('{');
}
