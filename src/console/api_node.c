/* SPDX-License-Identifier: Apache-2.0 */
/* api_node.c - nodes: looked at, listed, made, changed and deleted. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "console/call.h"
#include "console/request.h"

/* ---- one node ---- */

static void put_perms(json_t *entry, int32_t perms)
{
    static const char letters[] = "cdrwa";
    static const int bits[] = {PAWL_PERM_CREATE, PAWL_PERM_DELETE, PAWL_PERM_READ, PAWL_PERM_WRITE,
                               PAWL_PERM_ADMIN};
    char text[sizeof(letters)];
    int n = 0;

    for (int i = 0; letters[i] != '\0'; i++) {
        if (perms & bits[i]) {
            text[n++] = letters[i];
        }
    }
    text[n] = '\0';
    json_object_set_new(entry, "perms", json_string(text));
}

/* A node whose ACL may not be read is shown without. */
static void put_acl(struct call *c, const char *path)
{
    struct pawl_reply *reply = NULL;
    json_t *list = json_array();

    if (pawl_get_acl(c->client, path, &reply) == PAWL_OK) {
        for (size_t i = 0; i < reply->acls.n; i++) {
            json_t *entry = json_object();

            json_object_set_new(entry, "scheme", json_of_text(reply->acls.items[i].scheme));
            json_object_set_new(entry, "id", json_of_text(reply->acls.items[i].id));
            put_perms(entry, reply->acls.items[i].perms);
            json_array_append_new(list, entry);
        }
        json_object_set(c->out, "acl", list);
    } else {
        json_object_set_new(c->out, "acl", json_null());
    }
    json_decref(list);
    pawl_reply_free(reply);
}

/* Servers before 3.9 show the stat of any node to everybody. */
static bool look_without_data(struct call *c, const char *path, struct pawl_reply **reply)
{
    pawl_reply_free(*reply);
    *reply = NULL;
    pawl_exists(c->client, path, NULL, reply);
    return call_check(c, path, *reply);
}

void api_node(struct call *c)
{
    const char *path = call_path(c);
    struct pawl_reply *reply = NULL;
    bool is_closed;

    if (path == NULL) {
        return;
    }
    is_closed = pawl_get(c->client, path, NULL, &reply) == PAWL_ERR_NO_AUTH;
    if (is_closed ? look_without_data(c, path, &reply) : call_check(c, path, reply)) {
        bool is_shown = !is_closed && reply->data.len <= CONSOLE_NODE_MAX;

        json_object_set_new(c->out, "path", json_of_text(path));
        json_object_set_new(c->out, "readable", json_boolean(!is_closed));
        json_object_set_new(c->out, "stat", json_of_stat(&reply->stat));
        json_object_set_new(c->out, "data",
                            is_shown && reply->data.data != NULL ? json_of_base64(reply->data)
                                                                 : json_null());
        json_object_set_new(c->out, "too_long", json_boolean(!is_closed && !is_shown));
        put_acl(c, path);
    }
    pawl_reply_free(reply);
}

/* ---- its children, a page at a time ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Those with `filter` in their name, in order. */
static const char **chosen(const struct pawl_strings *names, const char *filter, size_t *n)
{
    const char **items = must_alloc((names->n + 1) * sizeof(*items));

    *n = 0;
    for (size_t i = 0; i < names->n; i++) {
        if (filter == NULL || strcasestr(names->items[i], filter) != NULL) {
            items[(*n)++] = names->items[i];
        }
    }
    qsort(items, *n, sizeof(*items), by_name);
    return items;
}

static void put_page(struct call *c, const char *const *items, size_t n, size_t offset,
                     size_t limit)
{
    json_t *list = json_array();

    for (size_t i = offset; i < n && i - offset < limit; i++) {
        json_array_append_new(list, json_of_text(items[i]));
    }
    json_object_set_new(c->out, "names", list);
    json_object_set_new(c->out, "offset", json_integer((json_int_t)offset));
    json_object_set_new(c->out, "n_found", json_integer((json_int_t)n));
}

void api_children(struct call *c)
{
    enum { LIMIT = 1000, LIMIT_MAX = 10000 };
    const char *const *arguments = c->request->arguments;
    const char *path = call_path(c);
    struct pawl_reply *reply = NULL;
    int64_t offset, limit;

    if (path == NULL) {
        return;
    }
    if (!request_number(arguments[ARGUMENT_OFFSET], 0, INT_MAX, 0, &offset) ||
        !request_number(arguments[ARGUMENT_LIMIT], 1, LIMIT_MAX, LIMIT, &limit)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "offset and limit (up to %d) are numbers", LIMIT_MAX);
        return;
    }
    pawl_children(c->client, path, NULL, &reply);
    if (call_check(c, path, reply)) {
        size_t n;
        const char **items = chosen(&reply->children, arguments[ARGUMENT_FILTER], &n);

        json_object_set_new(c->out, "n_children", json_integer((json_int_t)reply->children.n));
        put_page(c, items, n, (size_t)offset, (size_t)limit);
        free(items);
    }
    pawl_reply_free(reply);
}

/* ---- changes ---- */

/* What the body says must be there, each once more than the page checks it. */
static const char *path_of_body(struct call *c)
{
    const char *path = request_text(c->body, "path");

    if (!request_path(path)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "path must be a path such as /a/b");
        return NULL;
    }
    return path;
}

static bool data_of_body(struct call *c, struct strbuf *out)
{
    if (!request_data(c->body, out)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "data (in base64) or text is needed, and not both");
    }
    return !c->has_failed;
}

static struct pawl_bytes bytes_of_data(const struct strbuf *data)
{
    return (struct pawl_bytes){data->data != NULL ? (const void *)data->data : "", data->len};
}

/* A change without a version would be one that its author has not seen. */
static bool version_of_body(struct call *c, int32_t *out)
{
    const json_t *version = json_object_get(c->body, "version");

    if (!json_is_integer(version) || json_integer_value(version) < 0 ||
        json_integer_value(version) > INT32_MAX) {
        call_fail(c, 400, "BAD_ARGUMENTS", "version is needed: that of the node as it was read");
        return false;
    }
    *out = (int32_t)json_integer_value(version);
    return true;
}

void api_create(struct call *c)
{
    const char *path = path_of_body(c), *mode_name = request_text(c->body, "mode");
    struct pawl_reply *reply = NULL;
    enum pawl_mode mode = PAWL_MODE_PERSISTENT;
    struct strbuf data;

    if (mode_name != NULL && !request_mode(mode_name, &mode)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "mode is persistent, sequential or container");
    }
    strbuf_init(&data, CONSOLE_BODY_MAX);
    if (!c->has_failed && data_of_body(c, &data)) {
        pawl_create(c->client,
                    PAWL_CREATE(.path = path, .data = bytes_of_data(&data), .mode = mode), &reply);
        call_note_change(c, "creates", path, reply);
        if (call_check(c, path, reply)) {
            json_object_set_new(c->out, "path", json_of_text(reply->path));
            c->answer->status = 201;
        }
        pawl_reply_free(reply);
    }
    strbuf_fini(&data);
}

/* What stands there now goes with a conflict, so that whoever edits can compare. */
void api_set(struct call *c)
{
    const char *path = path_of_body(c);
    struct pawl_reply *reply = NULL;
    struct strbuf data;
    int32_t version;

    strbuf_init(&data, CONSOLE_BODY_MAX);
    if (path != NULL && version_of_body(c, &version) && data_of_body(c, &data)) {
        pawl_set(
            c->client,
            PAWL_SET(.path = path, .data = bytes_of_data(&data), .only_if = pawl_version(version)),
            &reply);
        call_note_change(c, "sets", path, reply);
        if (call_check(c, path, reply)) {
            json_object_set_new(c->out, "stat", json_of_stat(&reply->stat));
        }
        pawl_reply_free(reply);
    }
    strbuf_fini(&data);
}

void api_delete(struct call *c)
{
    const char *const *arguments = c->request->arguments;
    const char *path = call_path(c), *children = arguments[ARGUMENT_CHILDREN];
    bool children_too = children != NULL && strcmp(children, "true") == 0;
    struct pawl_reply *reply = NULL;
    int64_t version;

    if (path == NULL) {
        return;
    }
    if (arguments[ARGUMENT_VERSION] == NULL ||
        !request_number(arguments[ARGUMENT_VERSION], 0, INT32_MAX, 0, &version)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "version is needed: that of the node as it was read");
        return;
    }
    pawl_delete(c->client,
                PAWL_DELETE(.path = path, .only_if = pawl_version(version),
                            .flags = children_too ? PAWL_OP_CHILDREN_TOO : 0),
                &reply);
    call_note_change(c, "deletes", path, reply);
    call_check(c, path, reply);
    pawl_reply_free(reply);
}

void api_set_acl(struct call *c)
{
    enum { ENTRIES_MAX = 64 };
    const char *path = path_of_body(c);
    struct pawl_reply *reply = NULL;
    struct pawl_acls acls = {0};
    int32_t version;

    if (path == NULL || !version_of_body(c, &version)) {
        return;
    }
    if (!request_acls(json_object_get(c->body, "acl"), ENTRIES_MAX, &acls)) {
        call_fail(c, 400, "BAD_ARGUMENTS",
                  "acl is a list of up to %d of {scheme, id, perms: \"cdrwa\"}", ENTRIES_MAX);
        return;
    }
    pawl_set_acl(c->client,
                 PAWL_SET_ACL(.path = path, .acls = acls, .only_if = pawl_version(version)),
                 &reply);
    call_note_change(c, "sets the ACL of", path, reply);
    if (call_check(c, path, reply)) {
        json_object_set_new(c->out, "stat", json_of_stat(&reply->stat));
    }
    pawl_reply_free(reply);
    free((void *)acls.items);
}
