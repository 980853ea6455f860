/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json_writer.h"

#include "base/assert.h"
#include "wire/utf8.h"

void json_writer_init(struct json_writer *w, struct strbuf *out)
{
    *w = (struct json_writer){.out = out};
    strbuf_init(&w->scratch, STRBUF_NO_LIMIT);
}

void json_writer_fini(struct json_writer *w)
{
    strbuf_fini(&w->scratch);
}

/* Lists do not indent: their elements stand in one line. */
static void new_line(struct json_writer *w)
{
    strbuf_append_str(w->out, "\n");
    for (int i = 0; i < w->depth; i++) {
        if (!w->level[i].is_list) {
            strbuf_append_str(w->out, "  ");
        }
    }
}

static void quoted(struct json_writer *w, struct bytes text)
{
    struct bytes good = utf8_repaired(text, &w->scratch);
    size_t from = 0;

    strbuf_append_str(w->out, "\"");
    for (size_t i = 0; i < good.len; i++) {
        uint8_t c = good.data[i];

        if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f) {
            continue;
        }
        strbuf_append(w->out, good.data + from, i - from);
        from = i + 1;
        if (c == '"' || c == '\\') {
            strbuf_printf(w->out, "\\%c", c);
        } else if (c == '\n') {
            strbuf_append_str(w->out, "\\n");
        } else {
            strbuf_printf(w->out, "\\u%04x", c);
        }
    }
    strbuf_append(w->out, good.data + from, good.len - from);
    strbuf_append_str(w->out, "\"");
}

static void begin(struct json_writer *w, struct bytes name)
{
    if (w->depth > 0) {
        bool is_list = w->level[w->depth - 1].is_list;

        ASSERT(is_list == (name.data == NULL));
        strbuf_append_str(w->out, w->level[w->depth - 1].has_any ? "," : "");
        w->level[w->depth - 1].has_any = true;
        if (is_list) {
            strbuf_append_str(w->out, " ");
        } else {
            new_line(w);
        }
    }
    if (name.data != NULL) {
        quoted(w, name);
        strbuf_append_str(w->out, " : ");
    }
}

void json_put_name(struct json_writer *w, const char *name)
{
    begin(w, name == NULL ? BYTES_NULL : bytes_str(name));
}

static void open(struct json_writer *w, bool is_list)
{
    ASSERT(w->depth < JSON_DEPTH_MAX);
    strbuf_append_str(w->out, is_list ? "[" : "{");
    w->level[w->depth].is_list = is_list;
    w->level[w->depth].has_any = false;
    w->depth++;
}

static void close(struct json_writer *w, bool is_list)
{
    ASSERT(w->depth > 0 && w->level[w->depth - 1].is_list == is_list);
    w->depth--;
    if (is_list || !w->level[w->depth].has_any) {
        strbuf_append_str(w->out, " ");
    } else {
        new_line(w);
    }
    strbuf_append_str(w->out, is_list ? "]" : "}");
}

void json_open_object(struct json_writer *w, const char *name)
{
    json_put_name(w, name);
    open(w, false);
}

void json_close_object(struct json_writer *w)
{
    close(w, false);
}

void json_open_list(struct json_writer *w, const char *name)
{
    json_put_name(w, name);
    open(w, true);
}

void json_open_list_of(struct json_writer *w, struct bytes name)
{
    begin(w, name);
    open(w, true);
}

void json_close_list(struct json_writer *w)
{
    close(w, true);
}

void json_put_bytes(struct json_writer *w, const char *name, struct bytes text)
{
    json_put_name(w, name);
    quoted(w, text);
}

void json_put_string(struct json_writer *w, const char *name, const char *text)
{
    json_put_name(w, name);
    if (text == NULL) {
        strbuf_append_str(w->out, "null");
    } else {
        quoted(w, bytes_str(text));
    }
}

void json_put_integer(struct json_writer *w, const char *name, int64_t value)
{
    char text[24];
    char *at = text + sizeof(text);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do { /* rows have a dozen of them: printf() would take most of the time */
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        *--at = '-';
    }
    json_put_name(w, name);
    strbuf_append(w->out, at, (size_t)(text + sizeof(text) - at));
}

void json_put_bool(struct json_writer *w, const char *name, bool value)
{
    json_put_name(w, name);
    strbuf_append_str(w->out, value ? "true" : "false");
}
