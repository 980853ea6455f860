/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an answer over HTTP, from whoever answers there. */
#include <string.h>

#include "cli/http_head.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_head h;
    int used = http_head_read((const char *)data, size, &h);

    MUST(used >= -1 && (used <= 0 || (size_t)used <= size));
    if (used > 0) {
        MUST(h.status >= 100 && h.status <= 599 && h.length >= -1);
        MUST(strlen(h.last_zxid) < HTTP_VALUE_BYTES && strlen(h.retry_after) < HTTP_VALUE_BYTES);
        MUST(memcmp(data + used - 4, "\r\n\r\n", 4) == 0);
    }
    return 0;
}
