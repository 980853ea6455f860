/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c - a session on its way from one handle to the next.
 *
 *   int magic | int version | long session | buffer password | int timeout | long zxid |
 *   buffer extra | int n | n times: string folder, string marker, string path, long token
 *
 * Folders and paths are the server's. */
#include <stdlib.h>
#include <string.h>

#include "client/place.h"

enum { BLOB_MAGIC = 0x5041574c, BLOB_VERSION = 2, MOST_PLACES = 1 << 20 };

/* One that came with the session; its three strings follow. */
struct inherited {
    struct list link;
    int64_t token;
    const char *folder, *marker, *path;
    char text[];
};

struct blob {
    int64_t session_id, last_zxid;
    int32_t timeout_ms, n_places;
    struct bytes password, extra;
    struct jute_reader places;
};

/* ---- writing ---- */

static void write_whole(struct strbuf *out, const struct pawl_client *view, const char *path)
{
    size_t len = strlen(path);

    jute_write_int(out, (int32_t)(view->prefix_len + len));
    strbuf_append(out, view->prefix, view->prefix_len);
    strbuf_append(out, path, len);
}

void blob_write(const struct engine *e, struct bytes extra, struct strbuf *out)
{
    const struct core *c = e->core;
    struct list *item;
    int32_t n = 0;

    jute_write_int(out, BLOB_MAGIC);
    jute_write_int(out, BLOB_VERSION);
    jute_write_long(out, c->session_id);
    jute_write_buffer(out, bytes_of(c->password, PASSWORD_BYTES));
    jute_write_int(out, c->timeout_ms);
    jute_write_long(out, c->last_zxid);
    jute_write_buffer(out, extra);
    list_for_each (item, &e->places) {
        n++;
    }
    jute_write_int(out, n);
    list_for_each (item, &e->places) {
        const struct place *p = container_of(item, struct place, link);

        write_whole(out, p->view, p->folder);
        jute_write_buffer(out, bytes_str(p->marker));
        write_whole(out, p->view, p->path);
        jute_write_long(out, p->token);
    }
}

/* ---- reading ---- */

static bool read_blob(struct bytes b, struct blob *out)
{
    struct jute_reader r = jute_reader_of(b);

    if (jute_read_int(&r) != BLOB_MAGIC || jute_read_int(&r) != BLOB_VERSION) {
        return false;
    }
    out->session_id = jute_read_long(&r);
    out->password = jute_read_buffer(&r);
    out->timeout_ms = jute_read_int(&r);
    out->last_zxid = jute_read_long(&r);
    out->extra = jute_read_buffer(&r);
    out->n_places = jute_read_int(&r);
    out->places = r;
    return !r.failed && out->password.len == PASSWORD_BYTES && out->session_id != 0 &&
           out->n_places >= 0 && out->n_places <= MOST_PLACES;
}

int pawl_blob_extra(struct pawl_bytes blob, struct pawl_bytes *extra)
{
    struct blob b;

    if (!read_blob(bytes_of(blob.data, blob.len), &b)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *extra = (struct pawl_bytes){b.extra.data, b.extra.len};
    return 0;
}

static char *put(char **at, struct bytes text)
{
    char *to = *at;

    if (text.len > 0) {
        memcpy(to, text.data, text.len);
    }
    to[text.len] = '\0';
    *at += text.len + 1;
    return to;
}

static int inherit_one(struct engine *e, struct jute_reader *r)
{
    struct bytes folder = jute_read_buffer(r), marker = jute_read_buffer(r);
    struct bytes path = jute_read_buffer(r);
    int64_t token = jute_read_long(r);
    struct inherited *i;
    char *at;

    if (r->failed || path.len == 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    i = malloc(sizeof(*i) + folder.len + marker.len + path.len + 3);
    if (i == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    at = i->text;
    i->token = token;
    i->folder = put(&at, folder);
    i->marker = put(&at, marker);
    i->path = put(&at, path);
    list_push_back(&e->inherited, &i->link);
    return 0;
}

int blob_attach(struct engine *e, struct pawl_bytes blob)
{
    struct core *c = e->core;
    struct blob b;
    int rc = 0;

    if (blob.data == NULL) {
        return 0;
    }
    if (!read_blob(bytes_of(blob.data, blob.len), &b)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    for (int32_t i = 0; rc == 0 && i < b.n_places; i++) {
        rc = inherit_one(e, &b.places);
    }
    e->inherited_session = b.session_id;
    c->session_id = b.session_id;
    c->session_is_real = true;
    memcpy(c->password, b.password.data, PASSWORD_BYTES);
    c->last_zxid = b.last_zxid;
    return rc;
}

void blob_forget(struct engine *e)
{
    struct list *item;

    while ((item = list_pop_front(&e->inherited)) != NULL) {
        free(container_of(item, struct inherited, link));
    }
}

/* ---- places ---- */

void place_keep(struct engine *e, struct place *p)
{
    list_push_back(&e->places, &p->link);
}

void place_drop(struct place *p)
{
    if (p->link.next != NULL) {
        list_remove(&p->link);
    }
}

/* Whether `whole`, the server's name of it, is `path` of the view. */
static bool is_path_of(const struct pawl_client *view, const char *whole, const char *path)
{
    return strncmp(whole, view->prefix, view->prefix_len) == 0 &&
           strcmp(whole + view->prefix_len, path) == 0;
}

bool place_inherit(const struct pawl_client *view, const char *folder, const char *marker,
                   char **path, int64_t *token)
{
    struct engine *e = view->e;
    struct list *item;

    if (e->inherited_session != e->core->session_id) {
        return false;
    }
    list_for_each (item, &e->inherited) {
        struct inherited *i = container_of(item, struct inherited, link);

        if (!is_path_of(view, i->folder, folder) || strcmp(i->marker, marker) != 0) {
            continue;
        }
        *path = malloc(strlen(i->path + view->prefix_len) + 1);
        if (*path == NULL) {
            return false;
        }
        strcpy(*path, i->path + view->prefix_len);
        *token = i->token;
        list_remove(item);
        free(i);
        return true;
    }
    return false;
}
