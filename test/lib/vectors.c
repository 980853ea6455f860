/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* strtok_r */
#include "lib/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "wire/jute.h"

enum { LINE_BYTES_MAX = 1 << 16, CONNECTIONS_MAX = 64, NAME_BYTES = 64 };

static _Noreturn void give_up(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

struct bytes vectors_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *data;
    long size;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0) {
        give_up(path, "cannot be read");
    }
    rewind(f);
    data = malloc((size_t)size + 1);
    if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size) {
        give_up(path, "cannot be read");
    }
    fclose(f);
    data[size] = '\0';
    return bytes_of(data, (size_t)size);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return -1;
}

size_t vectors_hex(const char *text, uint8_t *out, size_t capacity)
{
    size_t n = 0;

    while (n < capacity && hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0) {
        out[n++] = (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
        text += 2;
    }
    return n;
}

/* "{name:8}" or "{name:8|0123456789abcdef}"; returns what is behind it. */
static const char *fill_variable(const char *text, uint8_t *out, size_t *n)
{
    const char *colon = strchr(text, ':');
    const char *close = strchr(text, '}');
    const char *bar = strchr(text, '|');
    size_t len;
    uint64_t word;

    if (colon == NULL || close == NULL) {
        give_up(text, "a variable field is malformed");
    }
    len = strtoul(colon + 1, NULL, 10);
    if (bar != NULL && bar < close) {
        vectors_hex(bar + 1, out + *n, len);
    } else {
        for (size_t i = 0; i < len; i += 8) {
            word = hash_bytes(text, (size_t)(colon - text), i) >> 8; /* a time, or a session id */
            store_u64(out + *n + i, word);
        }
    }
    *n += len;
    return close + 1;
}

static size_t client_hex(const char *text, uint8_t *out)
{
    size_t n = 0, got;

    while (*text != '\0') {
        if (*text == '{') {
            text = fill_variable(text, out, &n);
            continue;
        }
        got = vectors_hex(text, out + n, LINE_BYTES_MAX - n);
        if (got == 0) {
            break;
        }
        text += 2 * got;
        n += got;
    }
    return n;
}

struct connections {
    char names[CONNECTIONS_MAX][NAME_BYTES]; /* connection and direction */
    size_t n;
};

static bool is_first(struct connections *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->names[i], name) == 0) {
            return false;
        }
    }
    if (c->n == CONNECTIONS_MAX) {
        give_up(name, "too many connections");
    }
    snprintf(c->names[c->n++], NAME_BYTES, "%s", name);
    return true;
}

static void client_item(const char *case_name, char *line, struct connections *seen,
                        client_line_fn fn, void *arg)
{
    static uint8_t bytes[LINE_BYTES_MAX];
    struct client_line item = {.case_name = case_name};
    char *space = strchr(line, ' ');
    size_t n;

    if (space == NULL || space == line || (space[-1] != '>' && space[-1] != '<')) {
        return;
    }
    *space = '\0';
    n = client_hex(space + 1, bytes);
    if (n == 0) { /* open, close, none */
        return;
    }
    item.from_client = space[-1] == '>';
    item.first = is_first(seen, line);
    space[-1] = '\0';
    item.connection = line;
    item.bytes = bytes_of(bytes, n);
    fn(&item, arg);
}

void vectors_client(const char *path, client_line_fn fn, void *arg)
{
    struct bytes file = vectors_file(path);
    struct connections seen = {.n = 0};
    char case_name[NAME_BYTES] = "";
    char *rest = (char *)(uintptr_t)file.data;
    char *line;

    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (strncmp(line, "case: ", 6) == 0) {
            snprintf(case_name, sizeof(case_name), "%s", line + 6);
        } else if (line[0] != '#' && line[0] != '|') {
            client_item(case_name, line, &seen, fn, arg);
        }
    }
    free((void *)(uintptr_t)file.data);
}

size_t vectors_table(const char *path, const char *name, table_row_fn fn, void *arg)
{
    struct bytes file = vectors_file(path);
    char *rest = (char *)(uintptr_t)file.data;
    size_t name_len = strlen(name);
    bool inside = false;
    size_t n = 0;
    char *line;

    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (strncmp(line, "table: ", 7) == 0) {
            inside = strncmp(line + 7, name, name_len) == 0 && line[7 + name_len] == ' ';
        } else if (inside && strncmp(line, "| ", 2) == 0) {
            fn(line + 2, arg);
            n++;
        }
    }
    free((void *)(uintptr_t)file.data);
    return n;
}

void vectors_quorum(const char *path, quorum_message_fn fn, void *arg)
{
    static uint8_t bytes[LINE_BYTES_MAX];
    struct bytes file = vectors_file(path);
    char *rest = (char *)(uintptr_t)file.data;
    struct quorum_message message = {0};
    char *line;

    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (line[0] == '>' || line[0] == '<') {
            message.from_dialler = line[0] == '>';
            message.meaning = line + 1 + strspn(line + 1, " ");
        } else if (line[0] == ' ' && message.meaning != NULL) {
            message.bytes = bytes_of(bytes, vectors_hex(line + 2, bytes, sizeof(bytes)));
            fn(&message, arg);
            message.meaning = NULL;
        }
    }
    free((void *)(uintptr_t)file.data);
}

size_t vectors_log(const char *path, log_payload_fn fn, void *arg)
{
    struct bytes file = vectors_file(path);
    struct jute_reader r = jute_reader_of(file);
    struct bytes payload;
    size_t n = 0;

    jute_take(&r, 16); /* the file's header */
    for (;;) {
        jute_read_long(&r); /* the checksum is the store's business */
        payload = jute_read_buffer(&r);
        if (r.failed || payload.len == 0) {
            break;
        }
        jute_take(&r, 1);
        fn(payload, arg);
        n++;
    }
    free((void *)(uintptr_t)file.data);
    return n;
}
