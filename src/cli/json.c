/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "cli/text.h"
#include "look/base64.h"
#include "wire/utf8.h"

static int depth;
static bool needs_comma;
static FILE *redirected; /* NULL: standard output */

static FILE *out(void)
{
    return redirected != NULL ? redirected : stdout;
}

void json_to(FILE *file)
{
    ASSERT(depth == 0);
    redirected = file;
}

static void write_bytes(const unsigned char *p, size_t len)
{
    putc('"', out());
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '"' || p[i] == '\\') {
            fprintf(out(), "\\%c", p[i]);
        } else if (p[i] == '\n') {
            fputs("\\n", out());
        } else if (p[i] < 0x20 || p[i] == 0x7f) {
            fprintf(out(), "\\u%04x", p[i]);
        } else if (p[i] == 0xc2 && i + 1 < len && p[i + 1] < 0xa0) { /* a terminal may obey it */
            fprintf(out(), "\\u%04x", p[++i]);
        } else {
            putc(p[i], out());
        }
    }
    putc('"', out());
}

static void begin(const char *name)
{
    if (needs_comma) {
        putc(',', out());
    }
    needs_comma = true;
    if (name != NULL) {
        write_bytes((const unsigned char *)name, strlen(name));
        putc(':', out());
    }
}

void json_open(const char *name, char bracket)
{
    begin(name);
    putc(bracket, out());
    depth++;
    needs_comma = false;
}

void json_close(char bracket)
{
    ASSERT(depth > 0);
    putc(bracket == '{' ? '}' : ']', out());
    needs_comma = true;
    if (--depth == 0) {
        putc('\n', out());
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
    fprintf(out(), "%" PRId64, value);
}

void json_hex(const char *name, uint64_t value)
{
    begin(name);
    fprintf(out(), "\"0x%" PRIx64 "\"", value);
}

void json_bool(const char *name, bool value)
{
    begin(name);
    fputs(value ? "true" : "false", out());
}

static void write_base64(struct pawl_bytes data)
{
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    base64_encode(data, &text);
    fprintf(out(), "\"%s\"", strbuf_cstr(&text));
    strbuf_fini(&text);
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
        fputs("null", out());
    } else if (is_text(data)) {
        begin(name);
        write_bytes(data.data, data.len);
    } else {
        snprintf(long_name, sizeof(long_name), "%s_base64", name != NULL ? name : "text");
        if (name == NULL) { /* in a list: an object of its own */
            json_open(NULL, '{');
        }
        begin(long_name);
        write_base64(data);
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
