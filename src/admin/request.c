/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool request_authorization(const char *header, struct bytes *scheme, struct bytes *data)
{
    size_t len = strcspn(header, " ");
    const char *rest = header + len;

    rest += *rest == ' ' ? 1 : 0;
    *scheme = bytes_of(header, len);
    *data = bytes_str(rest);
    return len > 0;
}

/* ---- where it comes from ---- */

static bool is_address(const char *text)
{
    uint8_t address[16];

    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* "[::1]:8080", "127.0.0.1:8080", "localhost" without brackets and port; false: too long. */
static bool name_of(const char *host, char *out, size_t size)
{
    bool has_brackets = host[0] == '[';
    const char *from = has_brackets ? host + 1 : host;
    size_t len = strcspn(from, has_brackets ? "]" : ":");

    if (len >= size) {
        return false;
    }
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

bool request_host_is_plain(const char *host)
{
    char name[64];

    return name_of(host, name, sizeof(name)) &&
           (strcasecmp(name, "localhost") == 0 || is_address(name));
}

bool request_is_foreign(const char *host, const char *origin, const char *fetch_site)
{
    static const char scheme[] = "http://";

    if (fetch_site != NULL && strcasecmp(fetch_site, "same-origin") != 0 &&
        strcasecmp(fetch_site, "none") != 0) {
        return true;
    }
    if (origin == NULL) {
        return false;
    }
    return host == NULL || strncasecmp(origin, scheme, strlen(scheme)) != 0 ||
           strcasecmp(origin + strlen(scheme), host) != 0;
}

/* ---- arguments ---- */

static const char *percentage_of(const json_t *root, int *out)
{
    const json_t *value = json_object_get(root, "percentage");

    if (value == NULL) {
        return "Missing required field: percentage";
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > 100) {
        return "Percentage must be between 0 and 100";
    }
    *out = (int)json_integer_value(value);
    return NULL;
}

const char *request_percentage(struct bytes body, int *out)
{
    const char *wrong;
    json_t *root;

    if (body.len == 0) {
        return "Request body is required";
    }
    root = json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return "Invalid JSON or failed to read request body: an object is expected";
    }
    wrong = percentage_of(root, out);
    json_decref(root);
    return wrong;
}

bool request_long(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    char *end;

    if (*digits < '0' || *digits > '9') {
        return false;
    }
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}
