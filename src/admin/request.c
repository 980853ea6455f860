/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/request.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool request_authorization(const char *header, struct bytes *scheme, struct bytes *data)
{
    size_t len = strcspn(header, " ");
    const char *rest = header + len;

    rest += *rest == ' ' ? 1 : 0;
    *scheme = bytes_of(header, len);
    *data = bytes_str(rest);
    return len > 0;
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
