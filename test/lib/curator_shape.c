/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/curator_shape.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

enum { LINE_BYTES = 1024, ID_CHARACTERS = 36 };

static void add(struct curator_shape *s, const char *path, const char *type, const char *data)
{
    char text[LINE_BYTES];
    char *id = strstr(path, "_c_");

    if (id == NULL) {
        snprintf(text, sizeof(text), "%s %s %s", path, type, data);
    } else {
        snprintf(text, sizeof(text), "%.*s_c_ID%s %s %s", (int)(id - path), path,
                 id + 3 + ID_CHARACTERS, type, data);
    }
    assert_true(s->n < sizeof(s->lines) / sizeof(s->lines[0]));
    s->lines[s->n++] = strdup(text);
}

/* ---- recorded ---- */

static void copy_until(char *out, size_t size, const char *text, const char *end)
{
    const char *stop = strstr(text, end);

    snprintf(out, size, "%.*s", stop == NULL ? (int)strlen(text) : (int)(stop - text), text);
}

static void add_recorded(struct curator_shape *s, const char *path, const char *facts)
{
    char type[64], data[LINE_BYTES];
    const char *at = strstr(facts, "type="), *value = strstr(facts, "data=");

    assert_non_null(at);
    assert_non_null(value);
    copy_until(type, sizeof(type), at + 5, "  ");
    if (strcmp(type, "CONTAINER") == 0) {
        strcpy(type, "PERSISTENT");
    }
    value += 5;
    if (strncmp(value, "(empty)", 7) == 0) {
        strcpy(data, "EMPTY");
    } else if (strncmp(value, "\"<local-ip>\"", 12) == 0) {
        strcpy(data, "WHO");
    } else if (*value == '"') {
        copy_until(data, sizeof(data), value + 1, "\"");
    } else {
        copy_until(data, sizeof(data), value, " ");
    }
    add(s, path, type, data);
}

void curator_shape_recorded(struct curator_shape *s, const char *vectors, const char *file,
                            const char *heading)
{
    char name[LINE_BYTES], line[LINE_BYTES], path[LINE_BYTES] = "";
    bool inside = false;
    FILE *f;

    *s = (struct curator_shape){.n = 0};
    snprintf(name, sizeof(name), "%s/curator/%s", vectors, file);
    f = fopen(name, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#') {
            inside = strncmp(line, "## ", 3) == 0 &&
                     strncmp(line + 3, heading, strlen(heading)) == 0 && s->n == 0;
        } else if (inside && strncmp(line, "  /", 3) == 0) {
            snprintf(path, sizeof(path), "%s", line + 2);
        } else if (inside && path[0] != '\0' && strstr(line, "type=") != NULL) {
            add_recorded(s, path, line);
            path[0] = '\0';
        }
    }
    fclose(f);
    assert_true(s->n > 0);
}

/* ---- seen ---- */

static void type_of(char *out, size_t size, const struct pawl_stat *stat,
                    struct pawl_client *const *clients, size_t n)
{
    if (stat->ephemeral_owner == 0) {
        snprintf(out, size, "PERSISTENT");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (pawl_client_session_id(clients[i]) == stat->ephemeral_owner) {
            snprintf(out, size, "EPHEMERAL(%c)", (char)('A' + i));
            return;
        }
    }
    snprintf(out, size, "EPHEMERAL(?)");
}

static void data_of(char *out, size_t size, struct pawl_bytes data)
{
    const uint8_t *b = data.data;
    bool printable = true;

    for (size_t i = 0; i < data.len; i++) {
        printable = printable && isprint(b[i]) != 0;
    }
    if (data.len == 0) {
        snprintf(out, size, "EMPTY");
    } else if (memmem(b, data.len, " host=", 6) != NULL && isxdigit(b[0]) != 0) {
        snprintf(out, size, "WHO"); /* an address in front, as Curator's */
    } else if (printable) {
        snprintf(out, size, "%.*s", (int)data.len, (const char *)b);
    } else {
        snprintf(out, size, "hex:");
        for (size_t i = 0; i < data.len && 2 * i + 7 < size; i++) {
            snprintf(out + 4 + 2 * i, 3, "%02x", b[i]);
        }
    }
}

static void add_seen(struct curator_shape *s, struct pawl_client *c, const char *path,
                     struct pawl_client *const *clients, size_t n)
{
    char type[64], data[LINE_BYTES / 2];
    struct pawl_reply *reply;

    assert_int_equal(pawl_get(c, path, NULL, &reply), 0);
    type_of(type, sizeof(type), &reply->stat, clients, n);
    data_of(data, sizeof(data), reply->data);
    add(s, path, type, data);
    pawl_reply_free(reply);
}

static void walk(struct curator_shape *s, struct pawl_client *c, const char *path,
                 struct pawl_client *const *clients, size_t n)
{
    struct pawl_reply *reply;

    add_seen(s, c, path, clients, n);
    assert_int_equal(pawl_children(c, path, NULL, &reply), 0);
    for (size_t i = 0; i < reply->children.n; i++) {
        char child[LINE_BYTES / 2];

        snprintf(child, sizeof(child), "%s/%s", path, reply->children.items[i]);
        walk(s, c, child, clients, n);
    }
    pawl_reply_free(reply);
}

void curator_shape_seen(struct curator_shape *s, struct pawl_client *c, const char *root,
                        struct pawl_client *const *clients, size_t n_clients)
{
    *s = (struct curator_shape){.n = 0};
    walk(s, c, root, clients, n_clients);
}

/* ---- comparing ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One text of all lines, sorted: so a difference is shown whole. */
static char *flatten(struct curator_shape *s)
{
    size_t size = 1;
    char *text;

    qsort(s->lines, s->n, sizeof(s->lines[0]), by_text);
    for (size_t i = 0; i < s->n; i++) {
        size += strlen(s->lines[i]) + 1;
    }
    text = calloc(1, size);
    for (size_t i = 0; i < s->n; i++) {
        strcat(text, s->lines[i]);
        strcat(text, "\n");
        free(s->lines[i]);
    }
    s->n = 0;
    return text;
}

void curator_shape_compare(struct curator_shape *seen, struct curator_shape *recorded)
{
    char *a = flatten(seen), *b = flatten(recorded);

    assert_string_equal(a, b);
    free(a);
    free(b);
}
