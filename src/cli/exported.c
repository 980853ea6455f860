/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exported.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "cli/json.h"
#include "cli/tar.h"

/* Whatever is neither path nor data. */
static void write_marks(const struct exported *n)
{
    if (n->acls != NULL) {
        json_acls("acl", n->acls);
    }
    if (n->is_ephemeral) {
        json_bool("ephemeral", true);
    }
    if (n->is_container) {
        json_bool("container", true);
    }
    if (n->ttl_ms > 0) {
        json_number("ttl_ms", n->ttl_ms);
    }
    if (n->sequence > 0) {
        json_number("sequence", n->sequence);
    }
}

static void print_line(const struct exported *n)
{
    json_open(NULL, '{');
    json_text("path", n->path);
    json_data("data", n->data);
    write_marks(n);
    json_close('{');
}

/* ".data", and that with any number of ~ behind it. */
static bool needs_escape(const char *part, size_t len)
{
    size_t own = strlen(TAR_DATA_NAME);

    if (len < own || memcmp(part, TAR_DATA_NAME, own) != 0) {
        return false;
    }
    while (own < len && part[own] == '~') {
        own++;
    }
    return own == len;
}

/* "/a/.data" as "a/.data~". */
static void append_name(struct strbuf *out, const char *path)
{
    const char *part = path + 1;

    while (*part != '\0') {
        size_t len = strcspn(part, "/");

        strbuf_append(out, part, len);
        strbuf_append_str(out, needs_escape(part, len) ? "~" : "");
        part += len;
        if (*part == '/') {
            strbuf_append_str(out, "/");
            part++;
        }
    }
}

/* To be freed; without the end of a line. */
static char *marks_of(const struct exported *n, size_t *len)
{
    char *text = NULL;
    FILE *memory = open_memstream(&text, len);

    ASSERT(memory != NULL);
    json_to(memory);
    json_open(NULL, '{');
    write_marks(n);
    json_close('{');
    json_to(NULL);
    fclose(memory);
    ASSERT(*len > 0);
    --*len;
    return text;
}

void exported_tar(const struct exported *n, FILE *to)
{
    bool is_top = strcmp(n->path, "/") == 0;
    struct tar_entry e = {.is_folder = is_top || n->has_children || n->data.data == NULL,
                          .mtime_s = n->mtime_ms / 1000};
    struct strbuf name;
    size_t len;
    char *marks = marks_of(n, &len);

    strbuf_init(&name, STRBUF_NO_LIMIT);
    append_name(&name, n->path);
    strbuf_append_str(&name, is_top ? "./" : e.is_folder ? "/" : "");
    e.name = strbuf_cstr(&name);
    e.attribute = (struct pawl_bytes){marks, len};
    e.data = e.is_folder ? (struct pawl_bytes){0} : n->data;
    tar_write(to, &e);
    if (e.is_folder && n->data.data != NULL) {
        strbuf_append_str(&name, TAR_DATA_NAME);
        tar_write(to, &(struct tar_entry){
                          .name = strbuf_cstr(&name), .data = n->data, .mtime_s = e.mtime_s});
    }
    strbuf_fini(&name);
    free(marks);
}

void exported_print(const struct exported *n, enum export_form form)
{
    if (form == EXPORT_TAR) {
        exported_tar(n, stdout);
    } else {
        print_line(n);
    }
}

void exported_end(enum export_form form)
{
    if (form == EXPORT_TAR) {
        tar_write_end(stdout);
    }
}
