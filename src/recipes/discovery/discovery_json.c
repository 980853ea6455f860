/* SPDX-License-Identifier: Apache-2.0 */
/* discovery_json.c - instances and their JSON.
 *
 * Written by hand, so that the bytes are Jackson's: its order of members, its escapes, no spaces,
 * and the payload as it was given. Read with jansson. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/take.h"
#include "recipes/discovery/discovery.h"

static const char *const types[] = {"DYNAMIC", "STATIC", "PERMANENT", "DYNAMIC_SEQUENTIAL"};
enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

/* ---- writing ---- */

static void write_string(struct strbuf *out, struct bytes s)
{
    static const char letters[] = "btn?fr"; /* of 8 to 13 */

    strbuf_append(out, "\"", 1);
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.data[i];

        if (c == '"' || c == '\\') {
            strbuf_append(out, "\\", 1);
            strbuf_append(out, &c, 1);
        } else if (c >= 8 && c <= 13 && c != 11) {
            strbuf_printf(out, "\\%c", letters[c - 8]);
        } else if (c < 32) {
            strbuf_printf(out, "\\u%04X", c);
        } else {
            strbuf_append(out, &c, 1);
        }
    }
    strbuf_append(out, "\"", 1);
}

static void write_text(struct strbuf *out, const char *member, const char *text)
{
    strbuf_append_str(out, member);
    if (text == NULL) {
        strbuf_append_str(out, "null");
    } else {
        write_string(out, bytes_str(text));
    }
}

static void write_port(struct strbuf *out, const char *member, int port)
{
    strbuf_append_str(out, member);
    if (port == 0) {
        strbuf_append_str(out, "null");
    } else {
        strbuf_printf(out, "%d", port);
    }
}

static int write_uri_spec(struct strbuf *out, const char *spec)
{
    struct bytes value;
    bool variable, first = true;
    int rc;

    strbuf_append_str(out, ",\"uriSpec\":");
    if (spec == NULL) {
        strbuf_append_str(out, "null");
        return 0;
    }
    strbuf_append_str(out, "{\"parts\":[");
    while ((rc = uri_spec_next(&spec, &value, &variable)) == 1) {
        strbuf_append_str(out, first ? "{\"value\":" : ",{\"value\":");
        write_string(out, value);
        strbuf_append_str(out, variable ? ",\"variable\":true}" : ",\"variable\":false}");
        first = false;
    }
    strbuf_append_str(out, "]}");
    return rc;
}

static int write_payload(struct strbuf *out, const char *payload)
{
    json_t *json;

    strbuf_append_str(out, ",\"payload\":");
    if (payload == NULL) {
        strbuf_append_str(out, "null");
        return 0;
    }
    json = json_loads(payload, JSON_DECODE_ANY, NULL);
    if (json == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    json_decref(json);
    strbuf_append_str(out, payload);
    return 0;
}

/* `enabled` is not written when it is so: older Curators do not know it. */
int instance_write(struct strbuf *out, const struct pawl_instance *i)
{
    int rc;

    if (i->name == NULL || i->id == NULL || (unsigned)i->type >= N_TYPES) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    write_text(out, "{\"name\":", i->name);
    write_text(out, ",\"id\":", i->id);
    write_text(out, ",\"address\":", i->address);
    write_port(out, ",\"port\":", i->port);
    write_port(out, ",\"sslPort\":", i->ssl_port);
    rc = write_payload(out, i->payload);
    strbuf_printf(out, ",\"registrationTimeUTC\":%" PRId64 ",\"serviceType\":\"%s\"",
                  i->registered_ms, types[i->type]);
    rc = rc != 0 ? rc : write_uri_spec(out, i->uri_spec);
    strbuf_append_str(out, i->disabled ? ",\"enabled\":false}" : "}");
    return rc != 0 ? rc : out->failed ? PAWL_ERR_NO_MEMORY : 0;
}

int pawl_instance_to_json(const struct pawl_instance *given, char **out)
{
    struct shared_instance *s;
    struct strbuf text;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(given)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (given == NULL || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = instance_copy(given);
    strbuf_init(&text, STRBUF_NO_LIMIT);
    rc = s == NULL ? PAWL_ERR_NO_MEMORY : instance_write(&text, &s->i);
    strbuf_append(&text, "", 1);
    if (rc == 0 && !text.failed) {
        *out = (char *)text.data;
    } else {
        strbuf_fini(&text);
    }
    pawl_instance_free(s == NULL ? NULL : &s->i);
    return rc != 0 ? rc : text.failed ? PAWL_ERR_NO_MEMORY : 0;
}

/* ---- copies ---- */

struct pawl_instance instance_taken(const struct pawl_instance *given)
{
    struct pawl_instance i;

    take_struct(&i, sizeof(i), take_is_good(given) ? given : NULL);
    return i;
}

/* The first word of our identity. */
static void own_address(char *out, size_t size)
{
    identity_text(out, size);
    out[strcspn(out, " ")] = '\0';
}

static size_t room_for(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static void instance_keep(char **at, const char **text)
{
    size_t size = room_for(*text);

    if (size > 0) {
        memcpy(*at, *text, size);
        *text = *at;
        *at += size;
    }
}

struct shared_instance *instance_copy(const struct pawl_instance *given)
{
    struct pawl_instance i = instance_taken(given);
    struct shared_instance *s;
    char here[256], *at;

    if (i.address == NULL) {
        own_address(here, sizeof(here));
        i.address = here;
    } else if (i.address[0] == '\0') {
        i.address = NULL;
    }
    s = malloc(sizeof(*s) + room_for(i.name) + room_for(i.id) + room_for(i.address) +
               room_for(i.payload) + room_for(i.uri_spec));
    if (s == NULL) {
        return NULL;
    }
    s->i = i;
    s->i.size = sizeof(s->i);
    s->refs = 1;
    at = s->text;
    instance_keep(&at, &s->i.name);
    instance_keep(&at, &s->i.id);
    instance_keep(&at, &s->i.address);
    instance_keep(&at, &s->i.payload);
    instance_keep(&at, &s->i.uri_spec);
    return s;
}

struct pawl_instance *instance_ref(struct pawl_instance *i)
{
    atomic_fetch_add(&((struct shared_instance *)(void *)i)->refs, 1);
    return i;
}

void pawl_instance_free(struct pawl_instance *i)
{
    if (i != NULL && atomic_fetch_sub(&((struct shared_instance *)(void *)i)->refs, 1) == 1) {
        free(i);
    }
}

int instances_new(struct pawl_instance **items, size_t n, struct pawl_instances **out)
{
    struct pawl_instances *list = malloc(sizeof(*list) + n * sizeof(items[0]));
    struct pawl_instance **to = (struct pawl_instance **)(void *)(list + 1);

    if (list == NULL) {
        for (size_t i = 0; i < n; i++) {
            pawl_instance_free(items[i]);
        }
        return PAWL_ERR_NO_MEMORY;
    }
    if (n > 0) {
        memcpy(to, items, n * sizeof(items[0]));
    }
    *list = (struct pawl_instances){.items = to, .n = n};
    *out = list;
    return 0;
}

void pawl_instances_free(struct pawl_instances *list)
{
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        pawl_instance_free(list->items[i]);
    }
    free(list);
}

/* ---- reading ---- */

static const char *text_of(const json_t *object, const char *member, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text == NULL ? otherwise : text;
}

static int port_of(const json_t *object, const char *member)
{
    json_int_t port = json_integer_value(json_object_get(object, member));

    return port > 0 && port <= INT32_MAX ? (int)port : 0;
}

static enum pawl_service_type type_of(const json_t *object)
{
    const char *name = text_of(object, "serviceType", "");

    for (int i = 0; i < N_TYPES; i++) {
        if (strcmp(name, types[i]) == 0) {
            return (enum pawl_service_type)i;
        }
    }
    return PAWL_SERVICE_DYNAMIC;
}

/* The parts as one text. A brace in a literal one is written as the variable that stands for it. */
static void read_uri_spec(const json_t *spec, struct strbuf *out)
{
    const json_t *part;
    size_t i;

    json_array_foreach(json_object_get(spec, "parts"), i, part)
    {
        const char *value = text_of(part, "value", "");

        if (json_is_true(json_object_get(part, "variable"))) {
            strbuf_printf(out, "{%s}", value);
            continue;
        }
        for (; *value != '\0'; value++) {
            const char *brace = *value == '{' ? "{[}" : *value == '}' ? "{]}" : NULL;

            strbuf_append(out, brace != NULL ? brace : value, brace != NULL ? 3 : 1);
        }
    }
}

static int instance_fill(const json_t *object, struct shared_instance **out)
{
    const json_t *payload = json_object_get(object, "payload");
    const json_t *spec = json_object_get(object, "uriSpec");
    struct pawl_instance i = {
        .size = sizeof(i),
        .name = text_of(object, "name", ""),
        .id = text_of(object, "id", ""),
        .address = text_of(object, "address", ""),
        .port = port_of(object, "port"),
        .ssl_port = port_of(object, "sslPort"),
        .registered_ms = json_integer_value(json_object_get(object, "registrationTimeUTC")),
        .type = type_of(object),
        .disabled = json_is_false(json_object_get(object, "enabled")),
    };
    struct strbuf text;
    char *dumped = NULL;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    if (payload != NULL && !json_is_null(payload)) {
        i.payload = dumped = json_dumps(payload, JSON_COMPACT | JSON_ENCODE_ANY);
    }
    if (json_is_object(spec)) {
        read_uri_spec(spec, &text);
        i.uri_spec = strbuf_cstr(&text);
    }
    *out = text.failed || (payload != NULL && !json_is_null(payload) && dumped == NULL)
               ? NULL
               : instance_copy(&i);
    strbuf_fini(&text);
    free(dumped);
    return *out == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

/* Depth and size are bounded: by jansson, and by what a node may hold. */
int pawl_instance_from_json(struct pawl_bytes json, struct pawl_instance **out)
{
    struct shared_instance *s;
    json_t *object;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (out == NULL || json.data == NULL || json.len == 0) {
        return out == NULL ? PAWL_ERR_BAD_ARGUMENTS : PAWL_ERR_CORRUPT; /* */
    }
    object = json_loadb(json.data, json.len, 0, NULL);
    rc = json_is_object(object) ? instance_fill(object, &s) : PAWL_ERR_CORRUPT;
    json_decref(object);
    if (rc == 0) {
        *out = &s->i;
    }
    return rc;
}
