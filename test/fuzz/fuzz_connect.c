/* SPDX-License-Identifier: Apache-2.0 */
/* The first frame of a connection, in both directions. */
#include "fuzz.h"
#include "wire/request.h"

static bool recode(struct bytes input, int response, struct strbuf *out)
{
    struct connect_request q;
    struct connect_response p;
    struct strbuf framed;

    if (!response) {
        if (!connect_request_read(input, &q)) {
            return false;
        }
        connect_request_write(out, &q);
        return true;
    }
    if (!connect_response_read(input, &p)) {
        return false;
    }
    strbuf_init(&framed, STRBUF_NO_LIMIT);
    connect_response_write(&framed, &p);
    strbuf_append(out, framed.data + 4, framed.len - 4);
    strbuf_fini(&framed);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int response = take_choice(&data, &size, 2);

    must_be_stable(recode, bytes_of(data, size), response);
    return 0;
}
