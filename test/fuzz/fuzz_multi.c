/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a multi and of a multiRead. */
#include "fuzz.h"
#include "wire/request.h"

/* The type that stands in the frame: `type` of a request is what the operation amounts to. */
static int32_t written_type(const struct jute_reader *r)
{
    return jute_left(r) < 4 ? 0 : (int32_t)load_u32(r->at);
}

static bool recode(struct bytes input, int reads, struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(input);
    struct multi_header end = {-1, true, -1};
    int32_t type = written_type(&r);
    enum multi_step step;
    struct request q;

    while ((step = multi_next(&r, reads, &q)) == MULTI_OP) {
        struct multi_header h = {type, false, -1};

        MUST(op_find(q.type) != NULL);
        multi_header_write(out, &h);
        request_write(out, op_find(type), &q);
        type = written_type(&r);
    }
    multi_header_write(out, &end);
    return step == MULTI_END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int reads = take_choice(&data, &size, 2);

    must_be_stable(recode, bytes_of(data, size), reads);
    return 0;
}
