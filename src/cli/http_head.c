/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/http_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "Name: value", up to the end of the line. */
static bool value_of(const char *line, const char *name, char out[HTTP_VALUE_BYTES])
{
    size_t len = strlen(name);

    if (strncasecmp(line, name, len) != 0 || line[len] != ':') {
        return false;
    }
    line += len + 1 + strspn(line + len + 1, " \t");
    len = strcspn(line, "\r\n");
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t')) {
        len--;
    }
    if (len >= HTTP_VALUE_BYTES) {
        return false;
    }
    memcpy(out, line, len);
    out[len] = '\0';
    return true;
}

static bool read_length(const char *digits, int64_t *out)
{
    char *end;
    long long n;

    if (*digits < '0' || *digits > '9' || strlen(digits) > 18) {
        return false;
    }
    n = strtoll(digits, &end, 10);
    *out = n;
    return *end == '\0';
}

static bool take_line(const char *line, struct http_head *h)
{
    char value[HTTP_VALUE_BYTES];

    if (value_of(line, "Content-Length", value)) {
        return read_length(value, &h->length);
    }
    h->is_chunked = h->is_chunked || value_of(line, "Transfer-Encoding", value);
    value_of(line, "last_zxid", h->last_zxid);
    value_of(line, "Retry-After", h->retry_after);
    return true;
}

static bool take_status(const char *line, struct http_head *h)
{
    return sscanf(line, "HTTP/1.%*1[01] %3d", &h->status) == 1 && h->status >= 100 &&
           h->status <= 599;
}

int http_head_read(const char *text, size_t len, struct http_head *out)
{
    const char *end = len > 0 ? memmem(text, len, "\r\n\r\n", 4) : NULL;
    char *copy, *line;
    bool is_good;

    if (end == NULL) {
        return len >= HTTP_HEAD_BYTES ? -1 : 0;
    }
    len = (size_t)(end - text) + 4;
    *out = (struct http_head){.length = -1};
    copy = strndup(text, len);
    is_good =
        copy != NULL && len <= HTTP_HEAD_BYTES && strlen(copy) == len && take_status(copy, out);
    for (line = copy; is_good && (line = strstr(line, "\r\n")) != NULL && line[2] != '\r';) {
        line += 2;
        is_good = take_line(line, out);
    }
    free(copy);
    return is_good ? (int)len : -1;
}
