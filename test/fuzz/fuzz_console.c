/* SPDX-License-Identifier: Apache-2.0 */
/* What a stranger writes into a request of the console's API, and what an ensemble says of its
 * members: the first byte says which of them the rest is. */
#include "console/request.h"

#include <string.h>

#include "fuzz.h"
#include "look/places.h"

static void try_body(struct bytes input)
{
    json_t *body = request_object(input);
    struct pawl_acls acls;
    struct strbuf data;

    if (body == NULL) {
        return;
    }
    strbuf_init(&data, 1 << 16);
    if (request_data(body, &data)) {
        MUST(data.len <= input.len);
    }
    if (request_acls(json_object_get(body, "acl"), 4, &acls)) {
        MUST(acls.n >= 1 && acls.n <= 4);
        for (size_t i = 0; i < acls.n; i++) {
            MUST(acls.items[i].perms > 0 && acls.items[i].perms <= PAWL_PERM_ALL);
        }
        free((void *)acls.items);
    }
    if (request_text(body, "path") != NULL && request_path(request_text(body, "path"))) {
        MUST(request_text(body, "path")[0] == '/');
    }
    strbuf_fini(&data);
    json_decref(body);
}

static void try_text(const char *text)
{
    char value[16];
    int64_t number;

    if (request_cookie(text, "pawl", value, sizeof(value))) {
        MUST(strchr(value, ';') == NULL && strlen(value) < strlen(text));
    }
    if (request_number(text, -5, 1000, 0, &number)) {
        MUST(number >= -5 && number <= 1000);
    }
    if (request_path(text)) {
        MUST(text[0] == '/' && strstr(text, "//") == NULL && strstr(text, "/../") == NULL);
    }
    if (place_of(text) != NO_PLACE) {
        MUST(strlen(text) > 10);
    }
    request_is_json(text);
}

static void try_member(struct bytes line)
{
    struct request_member m;

    if (request_member(line, &m)) {
        MUST(m.id >= 0 && m.port >= 0 && m.port <= 65535 && strlen(m.host) < sizeof(m.host));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes rest;
    char *text;

    if (size == 0) {
        return 0;
    }
    rest = bytes_of(data + 1, size - 1);
    text = malloc(size);
    memcpy(text, rest.data, rest.len);
    text[rest.len] = '\0';
    if (data[0] == 'b') {
        try_body(rest);
    } else if (data[0] == 'm') {
        try_member(rest);
    } else {
        try_text(text);
    }
    free(text);
    return 0;
}
