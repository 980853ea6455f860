/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_text.c - what stands in the files of dynamic_files.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/properties.h"
#include "daemon/dynamic_files.h"
#include "daemon/java_map.h"
#include "pawl/error.h"

/* ---- versions ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
        return (c | 0x20) - 'a' + 10;
    }
    return -1;
}

int64_t dynamic_version_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    int64_t version = 0;

    if (dot == NULL || dot[1] == '\0') {
        return 0;
    }
    for (const char *at = dot + 1; *at != '\0'; at++) {
        if (hex_digit(*at) < 0 || version > INT64_MAX >> 4) {
            return 0;
        }
        version = version << 4 | hex_digit(*at);
    }
    return version;
}

/* ---- members ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t cut_lines(char *text, char **line)
{
    size_t n = 0;

    for (char *at = text; at != NULL && *at != '\0';) {
        char *end = strchr(at, '\n');

        line[n++] = at;
        if (end != NULL) {
            *end++ = '\0';
        }
        at = end;
    }
    return n;
}

void dynamic_members(const struct quorum_config *c, bool with_version, struct strbuf *out)
{
    char *line[3 * QUORUM_MEMBERS_MAX + 1]; /* a server, its group and its weight */
    const char *before = "";
    struct strbuf text;
    char *copy;
    size_t n;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    quorum_config_write(c, &text);
    copy = must_copy_string(strbuf_bytes(&text));
    n = cut_lines(copy, line);
    qsort(line, n, sizeof(line[0]), by_text);
    for (size_t i = 0; i < n; i++) {
        if (with_version || strncmp(line[i], "version", 7) != 0) {
            strbuf_printf(out, "%s%s", before, line[i]);
            before = "\n";
        }
    }
    free(copy);
    strbuf_fini(&text);
}

/* ---- all but the members ---- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

struct static_writer {
    struct java_map *pairs;
    struct strbuf *out;
    bool without_client_port;
};

static void take_pair(void *arg, int line, const char *key, const char *value)
{
    struct static_writer *w = arg;

    (void)line;
    java_map_put(w->pairs, key, value);
}

/* The next character of UTF-8, which properties_parse() makes of every letter. */
static uint32_t next_character(const char **at)
{
    const uint8_t *p = (const uint8_t *)*at;
    int more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
    uint32_t c = more == 0 ? p[0] : p[0] & (0x3fu >> more);

    *at += 1;
    for (; more > 0 && ((uint8_t) * *at & 0xc0) == 0x80; more--) {
        c = c << 6 | ((uint8_t) * *at & 0x3f);
        *at += 1;
    }
    return c;
}

static void write_unit(struct strbuf *out, uint32_t unit)
{
    strbuf_printf(out, "\\u%04" PRIX32, unit);
}

/* Java writes what it has read without escapes: a backslash would be another word when it is read
 * again. */
static void write_escaped(struct strbuf *out, const char *text, const char *special)
{
    while (*text != '\0') {
        uint32_t c = next_character(&text);

        if (c > 0xffff) {
            write_unit(out, 0xd800 + ((c - 0x10000) >> 10));
            write_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
        } else if (c < ' ' || c >= 0x7f) {
            write_unit(out, c);
        } else {
            strbuf_append_str(out, strchr(special, (int)c) != NULL ? "\\" : "");
            strbuf_printf(out, "%c", (int)c);
        }
    }
}

static bool is_for_the_other_file(const struct static_writer *w, const char *key)
{
    return starts_with(key, "server.") || starts_with(key, "group") || starts_with(key, "weight") ||
           starts_with(key, "dynamicConfigFile") || starts_with(key, "peerType") ||
           (w->without_client_port && starts_with(key, "clientPort"));
}

static void write_pair(void *arg, const char *key, const char *value)
{
    struct static_writer *w = arg;

    if (is_for_the_other_file(w, key)) {
        return;
    }
    if (*key == '#' || *key == '!') {
        strbuf_append_str(w->out, "\\");
    }
    write_escaped(w->out, key, "\\ =:");
    strbuf_append_str(w->out, "=");
    write_escaped(w->out, value, "\\");
    strbuf_append_str(w->out, "\n");
}

bool dynamic_static(struct bytes text, const char *path, bool without_client_port,
                    struct strbuf *out)
{
    struct static_writer w = {java_map_new(), out, without_client_port};
    struct properties_error error;
    bool read = properties_parse(text, take_pair, &w, &error) == 0;

    if (read) {
        java_map_each(w.pairs, write_pair, &w);
        strbuf_append_str(out, "dynamicConfigFile=");
        write_escaped(out, path, "\\");
        strbuf_append_str(out, "\n");
    }
    java_map_free(w.pairs);
    return read;
}
