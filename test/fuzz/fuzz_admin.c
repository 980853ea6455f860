/* SPDX-License-Identifier: Apache-2.0 */
/* What a stranger writes into an HTTP request: headers, an argument, a body. */
#include "admin/request.h"

#include <string.h>

#include "fuzz.h"
#include "http/origin.h"

static void try_headers(const char *text, const char *second)
{
    struct bytes scheme, credentials;
    int64_t number;

    if (request_authorization(text, &scheme, &credentials)) {
        MUST(scheme.len > 0 && memchr(scheme.data, ' ', scheme.len) == NULL);
        MUST(scheme.len + credentials.len <= strlen(text));
    }
    if (origin_host_is_plain(text)) {
        MUST(strlen(text) > 0 && strchr("[0123456789abcdefABCDEFlL:", text[0]) != NULL);
    }
    if (!origin_is_foreign(text, second, NULL)) { /* it names this very host */
        MUST(strlen(second) == strlen(text) + strlen("http://"));
    }
    if (request_long(text, &number)) {
        MUST(strlen(text) > 0 && strspn(text, "+-0123456789") == strlen(text));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    int percentage = -1;
    size_t len;

    memcpy(text, data, size);
    text[size] = '\0';
    len = strlen(text);
    try_headers(text, len < size ? text + len + 1 : text);
    if (request_percentage(bytes_of(data, size), &percentage) == NULL) {
        MUST(percentage >= 0 && percentage <= 100);
    } else {
        MUST(percentage == -1);
    }
    free(text);
    return 0;
}
