/* SPDX-License-Identifier: Apache-2.0 */
/* A watch event. */
#include "fuzz.h"
#include "wire/reply.h"

static bool recode(struct bytes input, int choice, struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(input);
    struct reply_header h = reply_header_read(&r);
    struct event e = event_read(&r);
    struct strbuf framed;

    (void)choice;
    if (r.failed) {
        return false;
    }
    strbuf_init(&framed, STRBUF_NO_LIMIT);
    event_write(&framed, e.type, e.path, h.zxid);
    strbuf_append(out, framed.data + 4, framed.len - 4);
    strbuf_fini(&framed);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    must_be_stable(recode, bytes_of(data, size), 0);
    return 0;
}
