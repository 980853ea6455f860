/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - folders and paths in a blob are the server's. */
#include "client/place.h"

#include <stdlib.h>
#include <string.h>

#include "client/engine.h"
#include "client/handle.h"

enum { MOST_PLACES = 1 << 20 };

/* One that came with the session; its three strings follow. */
struct inherited {
    struct list link;
    int64_t token;
    const char *folder, *marker, *path;
    char text[];
};

void places_init(struct places *p)
{
    list_init(&p->kept);
    list_init(&p->inherited);
}

void places_fini(struct places *p)
{
    struct list *item;

    while ((item = list_pop_front(&p->inherited)) != NULL) {
        free(container_of(item, struct inherited, link));
    }
}

/* ---- writing ---- */

static void write_whole(struct strbuf *out, const struct pawl_client *view, const char *path)
{
    size_t len = strlen(path);

    jute_write_int(out, (int32_t)(view->prefix_len + len));
    strbuf_append(out, view->prefix, view->prefix_len);
    strbuf_append(out, path, len);
}

static int32_t place_count(const struct list *list)
{
    const struct list *item;
    int32_t n = 0;

    for (item = list->next; item != list; item = item->next) {
        n++;
    }
    return n;
}

static void write_inherited(const struct places *places, struct strbuf *out)
{
    struct list *item;

    list_for_each (item, &places->inherited) {
        const struct inherited *i = container_of(item, struct inherited, link);

        jute_write_buffer(out, bytes_str(i->folder));
        jute_write_buffer(out, bytes_str(i->marker));
        jute_write_buffer(out, bytes_str(i->path));
        jute_write_long(out, i->token);
    }
}

/* What this handle inherited and nobody has taken up goes on to the next. */
void places_write(const struct places *places, int64_t session_id, struct strbuf *out)
{
    bool inherits = places->session_id == session_id;
    struct list *item;

    jute_write_int(out,
                   place_count(&places->kept) + (inherits ? place_count(&places->inherited) : 0));
    list_for_each (item, &places->kept) {
        const struct place *p = container_of(item, struct place, link);

        write_whole(out, p->view, p->folder);
        jute_write_buffer(out, bytes_str(p->marker));
        write_whole(out, p->view, p->path);
        jute_write_long(out, p->token);
    }
    if (inherits) {
        write_inherited(places, out);
    }
}

/* ---- reading ---- */

static char *place_put(char **at, struct bytes text)
{
    char *to = *at;

    if (text.len > 0) {
        memcpy(to, text.data, text.len);
    }
    to[text.len] = '\0';
    *at += text.len + 1;
    return to;
}

static int inherit_one(struct places *p, struct jute_reader *r)
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
    i->folder = place_put(&at, folder);
    i->marker = place_put(&at, marker);
    i->path = place_put(&at, path);
    list_push_back(&p->inherited, &i->link);
    return 0;
}

int places_read(struct places *p, int64_t session_id, struct jute_reader *r)
{
    int32_t n = jute_read_int(r);
    int rc = r->failed || n < 0 || n > MOST_PLACES ? PAWL_ERR_BAD_ARGUMENTS : 0;

    p->session_id = session_id;
    for (int32_t i = 0; rc == 0 && i < n; i++) {
        rc = inherit_one(p, r);
    }
    return rc;
}

/* ---- the recipes' ---- */

void place_keep(struct engine *e, struct place *p)
{
    list_push_back(&e->places.kept, &p->link);
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

    if (e->places.session_id != e->core->session_id) {
        return false;
    }
    list_for_each (item, &e->places.inherited) {
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
