/* SPDX-License-Identifier: Apache-2.0 */
#include "console/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "look/base64.h"
#include "wire/path.h"

/* ---- headers ---- */

bool request_cookie(const char *header, const char *name, char *out, size_t size)
{
    size_t name_len = strlen(name);

    for (const char *at = header; *at != '\0';) {
        size_t len;

        at += strspn(at, " \t;");
        len = strcspn(at, ";");
        if (len > name_len && strncmp(at, name, name_len) == 0 && at[name_len] == '=') {
            len -= name_len + 1;
            if (len >= size) {
                return false;
            }
            memcpy(out, at + name_len + 1, len);
            out[len] = '\0';
            return true;
        }
        at += len;
    }
    return false;
}

bool request_is_json(const char *content_type)
{
    static const char json[] = "application/json";
    size_t len = strlen(json);

    return content_type != NULL && strncasecmp(content_type, json, len) == 0 &&
           strchr(" ;", content_type[len]) != NULL;
}

/* ---- bodies ---- */

/* The library goes two thousand deep, each a call of itself. */
static bool is_flat_enough(struct bytes body)
{
    enum { DEPTH_MAX = 10 };
    int depth = 0;

    for (size_t i = 0; i < body.len; i++) {
        uint8_t c = body.data[i];

        if (c == '"') { /* to the end of the text */
            for (i++; i < body.len && body.data[i] != '"'; i++) {
                i += body.data[i] == '\\';
            }
        } else if ((c == '{' || c == '[') && ++depth > DEPTH_MAX) {
            return false;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return true;
}

json_t *request_object(struct bytes body)
{
    json_t *root = NULL;

    if (body.len > 0 && is_flat_enough(body)) {
        root = json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, NULL);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return NULL;
    }
    return root;
}

bool request_path(const char *text)
{
    return text != NULL && path_is_valid(bytes_str(text));
}

bool request_number(const char *text, int64_t min, int64_t max, int64_t otherwise, int64_t *out)
{
    char *end;
    int64_t n;

    if (text == NULL) {
        *out = otherwise;
        return true;
    }
    if (*text != '-' && (*text < '0' || *text > '9')) {
        return false;
    }
    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || n < min || n > max) {
        return false;
    }
    *out = n;
    return true;
}

/* The library takes no NUL in a text unless it is told to. */
const char *request_text(const json_t *body, const char *name)
{
    return json_string_value(json_object_get(body, name));
}

bool request_data(const json_t *body, struct strbuf *out)
{
    const char *data = request_text(body, "data"), *text = request_text(body, "text");

    if ((data == NULL) == (text == NULL)) {
        return false;
    }
    if (text != NULL) {
        strbuf_append_str(out, text);
    } else if (!base64_decode(data, out)) {
        return false;
    }
    return !out->failed;
}

bool request_mode(const char *name, enum pawl_mode *out)
{
    static const struct {
        const char *name;
        enum pawl_mode mode;
    } modes[] = {{"persistent", PAWL_MODE_PERSISTENT},
                 {"sequential", PAWL_MODE_SEQUENTIAL},
                 {"container", PAWL_MODE_CONTAINER}};

    for (size_t i = 0; name != NULL && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, name) == 0) {
            *out = modes[i].mode;
            return true;
        }
    }
    return false;
}

/* ---- ACLs ---- */

static bool perms_of(const char *letters, int32_t *out)
{
    static const char known[] = "rwcda"; /* in the order of the bits */
    int32_t perms = 0;

    for (; *letters != '\0'; letters++) {
        const char *at = strchr(known, *letters);

        if (at == NULL) {
            return false;
        }
        perms |= 1 << (at - known);
    }
    *out = perms;
    return perms != 0;
}

static bool acl_of(const json_t *entry, struct pawl_acl *out)
{
    const char *perms = request_text(entry, "perms");

    out->scheme = request_text(entry, "scheme");
    out->id = request_text(entry, "id");
    return out->scheme != NULL && out->scheme[0] != '\0' && out->id != NULL && perms != NULL &&
           perms_of(perms, &out->perms);
}

bool request_acls(const json_t *list, size_t max, struct pawl_acls *out)
{
    size_t n = json_array_size(list);
    struct pawl_acl *items;

    if (n == 0 || n > max) {
        return false;
    }
    items = must_zalloc(n * sizeof(*items));
    for (size_t i = 0; i < n; i++) {
        if (!acl_of(json_array_get(list, i), &items[i])) {
            free(items);
            return false;
        }
    }
    *out = (struct pawl_acls){items, n};
    return true;
}

/* ---- members ---- */

static bool copy(const char *from, size_t len, char *out, size_t size)
{
    if (len == 0 || len >= size) {
        return false;
    }
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

/* "HOST:..." or "[ADDRESS]:..."; how long it is with its brackets, 0: it is none. */
static size_t host_of(const char *text, char *out, size_t size)
{
    bool has_brackets = text[0] == '[';
    const char *from = has_brackets ? text + 1 : text;
    size_t len = strcspn(from, has_brackets ? "]" : ":;|");

    if (!copy(from, len, out, size) || (has_brackets && from[len] != ']')) {
        return 0;
    }
    return len + (has_brackets ? 2 : 0);
}

static bool is_any_address(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 ||
           strcmp(host, "0:0:0:0:0:0:0:0") == 0;
}

/* What stands behind ';': a port, or an address and a port. */
static void client_place(const char *text, struct request_member *out)
{
    size_t len = strspn(text, "0123456789");
    char host[sizeof(out->host)];
    int64_t port;

    if (text[len] != '\0') {
        len = host_of(text, host, sizeof(host));
        if (len == 0 || text[len] != ':') {
            return;
        }
        if (!is_any_address(host)) {
            memcpy(out->host, host, sizeof(host));
        }
        text += len + 1;
    }
    if (request_number(text, 1, 65535, 0, &port)) {
        out->port = (int)port;
    }
}

bool request_member(struct bytes line, struct request_member *out)
{
    char text[1024], *equals, *semicolon;
    static const char server[] = "server.";

    if (!copy((const char *)line.data, line.len, text, sizeof(text)) || strlen(text) != line.len ||
        strncmp(text, server, strlen(server)) != 0) {
        return false;
    }
    *out = (struct request_member){0};
    equals = strchr(text, '=');
    if (equals == NULL) {
        return false;
    }
    *equals++ = '\0';
    if (!request_number(text + strlen(server), 0, INT32_MAX, -1, &out->id) ||
        host_of(equals, out->host, sizeof(out->host)) == 0) {
        return false;
    }
    semicolon = strchr(equals, ';');
    if (semicolon != NULL) {
        *semicolon = '\0';
        client_place(semicolon + 1, out);
    }
    out->is_observer = strstr(equals, ":observer") != NULL;
    return true;
}
