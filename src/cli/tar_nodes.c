/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tar_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/exported.h"
#include "wire/path.h"

void tar_nodes_init(struct tar_nodes *t, FILE *file, size_t limit_bytes, bool without_acls)
{
    *t = (struct tar_nodes){.without_acls = without_acls};
    tar_reader_init(&t->tar, file, limit_bytes);
    imported_init(&t->held);
    strbuf_init(&t->why, STRBUF_NO_LIMIT);
}

void tar_nodes_fini(struct tar_nodes *t)
{
    tar_reader_fini(&t->tar);
    imported_fini(&t->held);
    strbuf_fini(&t->why);
}

/* One ~ less than there is, for ".data~" and the like. */
static size_t unescaped_len(const char *part, size_t len)
{
    size_t own = strlen(TAR_DATA_NAME), i = own;

    if (len <= own || memcmp(part, TAR_DATA_NAME, own) != 0) {
        return len;
    }
    while (i < len && part[i] == '~') {
        i++;
    }
    return i == len ? len - 1 : len;
}

/* "./a/.data~/" is "/a/.data"; true: the last part is ".data" itself, which is left out, because it
 * holds the data of what is before it. */
static bool take_path(const char *name, bool is_folder, struct strbuf *out)
{
    while (*name != '\0') {
        size_t len = strcspn(name, "/");
        bool is_last = name[len + strspn(name + len, "/")] == '\0';

        if (is_last && !is_folder && len == strlen(TAR_DATA_NAME) &&
            memcmp(name, TAR_DATA_NAME, len) == 0) {
            return true;
        }
        if (len > 0 && !(len == 1 && *name == '.')) {
            strbuf_append_str(out, "/");
            strbuf_append(out, name, unescaped_len(name, len));
        }
        name += len + strspn(name + len, "/");
    }
    return false;
}

static const char *complain(struct tar_nodes *t, const char *name, const char *what)
{
    strbuf_clear(&t->why);
    strbuf_printf(&t->why, "%.300s%s%s", name != NULL ? name : "", name != NULL ? ": " : "", what);
    for (size_t i = 0; i < t->why.len; i++) { /* a terminal must not obey a name */
        if (t->why.data[i] < ' ' || t->why.data[i] == 0x7f) {
            t->why.data[i] = '?';
        }
    }
    return strbuf_cstr(&t->why);
}

static void copy_data(struct imported *n, struct pawl_bytes data)
{
    strbuf_append(&n->data, data.data, data.len);
    n->has_data = true;
}

static const char *take_node(struct tar_nodes *t, const struct tar_entry *e, const char *path,
                             struct imported *out)
{
    const char *why = NULL;

    if (!path_is_valid(bytes_str(path))) {
        return "no path of a node";
    }
    out->path = must_strdup(path);
    if (!e->is_folder) {
        copy_data(out, e->data);
    }
    if (e->attribute.data != NULL) {
        why = imported_parse_marks(e->attribute.data, e->attribute.len, t->without_acls, out);
    }
    return why;
}

/* `*next`: what comes after the one that is held. */
static const char *read_one(struct tar_nodes *t, struct imported *next)
{
    struct tar_entry e;
    const char *why = tar_read(&t->tar, &e);
    struct strbuf path;

    if (why != NULL || e.name == NULL) {
        t->has_ended = true;
        return why != NULL ? complain(t, e.name, why) : NULL;
    }
    strbuf_init(&path, STRBUF_NO_LIMIT);
    if (!take_path(e.name, e.is_folder, &path)) {
        strbuf_append_str(&path, path.len == 0 ? "/" : "");
        why = take_node(t, &e, strbuf_cstr(&path), next);
    } else {
        strbuf_append_str(&path, path.len == 0 ? "/" : "");
        if (t->held.path == NULL || t->held.has_data ||
            strcmp(t->held.path, strbuf_cstr(&path)) != 0) {
            why = "it does not stand right behind the folder whose data it has";
        } else {
            copy_data(&t->held, e.data);
        }
    }
    why = why != NULL ? complain(t, e.name, why) : NULL;
    strbuf_fini(&path);
    return why;
}

const char *tar_nodes_next(struct tar_nodes *t, struct imported *out)
{
    const char *why = NULL;

    imported_init(out);
    while (why == NULL && out->path == NULL && !t->has_ended) {
        struct imported next;

        imported_init(&next);
        why = read_one(t, &next);
        if (why != NULL) {
            imported_fini(&next);
        } else if (next.path != NULL) {
            imported_fini(out);
            *out = t->held;
            t->held = next;
        } else {
            imported_fini(&next);
        }
    }
    if (why == NULL && out->path == NULL) {
        imported_fini(out);
        *out = t->held;
        imported_init(&t->held);
    }
    return why;
}
