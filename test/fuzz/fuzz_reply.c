/* SPDX-License-Identifier: Apache-2.0 */
/* A reply, header and body, to every operation in ops.def; the first byte chooses which. */
#include "fuzz.h"
#include "wire/reply.h"

static void recode_results(struct bytes results, struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(results);
    struct multi_header h;
    struct reply_body body;

    while (multi_result_next(&r, &h, &body) == MULTI_OP) {
        multi_header_write(out, &h);
        reply_body_write(out, h.type, &body);
    }
}

static bool recode(struct bytes input, int index, struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(input);
    struct reply_header h = reply_header_read(&r);
    struct reply_body body = {0};
    struct strbuf framed, results;
    size_t start;

    if (r.failed || (h.err == 0 && !reply_body_read(op_at(index)->code, &r, &body))) {
        return false;
    }
    strbuf_init(&framed, STRBUF_NO_LIMIT);
    strbuf_init(&results, STRBUF_NO_LIMIT);
    start = reply_begin(&framed, h.xid, h.zxid, h.err);
    if (h.err == 0) {
        reply_body_write(&framed, op_at(index)->code, &body);
        recode_results(body.multi, &results);
    }
    reply_end(&framed, start);
    MUST(load_u32(framed.data) == framed.len - 4);
    strbuf_append(out, framed.data + 4, framed.len - 4);
    strbuf_fini(&framed);
    strbuf_fini(&results);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int index = take_choice(&data, &size, N_OPS);

    must_be_stable(recode, bytes_of(data, size), index);
    return 0;
}
