/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import_line.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/text.h"
#include "look/base64.h"
#include "wire/path.h"

/* What Apache's server takes. */
#define TTL_MAX_MS INT64_C(0xffffffffff)

static bool data_of(const json_t *line, struct imported *out)
{
    const json_t *data = json_object_get(line, "data");
    const json_t *base64 = json_object_get(line, "data_base64");

    out->has_data = base64 != NULL || (data != NULL && !json_is_null(data));
    if (base64 != NULL) {
        return json_is_string(base64) && base64_decode(json_string_value(base64), &out->data);
    }
    if (json_is_string(data)) {
        strbuf_append(&out->data, json_string_value(data), json_string_length(data));
    }
    return data == NULL || json_is_null(data) || json_is_string(data);
}

static bool acl_of(const json_t *entry, struct pawl_acl *out)
{
    const char *scheme = json_string_value(json_object_get(entry, "scheme"));
    const char *id = json_string_value(json_object_get(entry, "id"));
    const char *perms = json_string_value(json_object_get(entry, "perms"));

    if (scheme == NULL || id == NULL || perms == NULL || text_perms_of(perms) == 0) {
        return false;
    }
    *out = (struct pawl_acl){
        .perms = text_perms_of(perms), .scheme = must_strdup(scheme), .id = must_strdup(id)};
    return true;
}

static bool acls_of(const json_t *line, struct pawl_acls *out)
{
    const json_t *list = json_object_get(line, "acl");
    size_t n = json_array_size(list);
    struct pawl_acl *items = must_zalloc((n + 1) * sizeof(*items));
    size_t i = 0;

    while (i < n && acl_of(json_array_get(list, i), &items[i])) {
        i++;
    }
    *out = (struct pawl_acls){.items = items, .n = i};
    return i == n && (list == NULL || json_is_array(list));
}

/* False: it is there, and no whole number in that range. */
static bool number_in(const json_t *line, const char *name, int64_t max, int64_t *out)
{
    const json_t *value = json_object_get(line, name);

    *out = json_integer_value(value);
    return value == NULL || (json_is_integer(value) && *out >= 1 && *out <= max);
}

static const char *take_marks(const json_t *line, bool without_acls, struct imported *out)
{
    if (!json_is_object(line)) {
        return "no object of JSON";
    }
    out->is_ephemeral = json_is_true(json_object_get(line, "ephemeral"));
    out->is_container = json_is_true(json_object_get(line, "container"));
    if (!number_in(line, "ttl_ms", TTL_MAX_MS, &out->ttl_ms)) {
        return "\"ttl_ms\" is no number from 1 to 1099511627775";
    }
    if (!number_in(line, "sequence", INT32_MAX, &out->sequence)) {
        return "\"sequence\" is no number from 1 to 2147483647";
    }
    if (out->is_container && out->ttl_ms > 0) {
        return "a container has no \"ttl_ms\"";
    }
    if (!without_acls && !acls_of(line, &out->acls)) {
        return "\"acl\" is no list of \"scheme\", \"id\" and \"perms\"";
    }
    return NULL;
}

static const char *take_line(const json_t *line, bool without_acls, struct imported *out)
{
    const char *path = json_string_value(json_object_get(line, "path"));

    if (path == NULL || !path_is_valid(bytes_str(path))) {
        return "no \"path\" of a node in it";
    }
    out->path = must_strdup(path);
    if (!data_of(line, out)) {
        return "\"data\" is neither text nor null, or \"data_base64\" no base64";
    }
    return take_marks(line, without_acls, out);
}

static json_t *load(const char *text, size_t len)
{
    json_error_t error;

    return json_loadb(text, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
}

void imported_init(struct imported *n)
{
    *n = (struct imported){0};
    strbuf_init(&n->data, STRBUF_NO_LIMIT);
}

const char *imported_parse(const char *text, size_t len, bool without_acls, struct imported *out)
{
    json_t *line = load(text, len);
    const char *why;

    imported_init(out);
    why = line != NULL ? take_line(line, without_acls, out) : "no line of JSON";
    json_decref(line);
    return why;
}

const char *imported_parse_marks(const char *text, size_t len, bool without_acls,
                                 struct imported *out)
{
    json_t *marks = load(text, len);
    const char *why = marks != NULL ? take_marks(marks, without_acls, out) : "no JSON";

    json_decref(marks);
    return why;
}

void imported_fini(struct imported *n)
{
    free(n->path);
    strbuf_fini(&n->data);
    text_acls_free(&n->acls);
}
