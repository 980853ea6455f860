/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of a log record, which is that of a proposal too. */
#include "fuzz.h"
#include "wire/txn.h"

static bool recode_multi(const struct txn_op *multi, struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(multi->multi);
    struct txn_op op;
    size_t start;

    jute_write_int(out, multi->n_multi);
    for (int32_t i = 0; i < multi->n_multi; i++) {
        if (txn_multi_next(&r, &op) != TXN_OK) {
            return false;
        }
        jute_write_int(out, op.type);
        start = out->len;
        jute_write_int(out, 0);
        txn_op_write(out, &op);
        jute_patch_int(out, start, (int32_t)(out->len - start - 4));
    }
    MUST(jute_left(&r) == 0);
    return true;
}

static bool recode(struct bytes input, int choice, struct strbuf *out)
{
    struct txn t;

    (void)choice;
    if (txn_read(input, &t) != TXN_OK) {
        return false;
    }
    txn_header_write(out, &t.header);
    if (t.header.type != TXN_MULTI) {
        txn_op_write(out, &t.op);
    } else if (!recode_multi(&t.op, out)) {
        return false;
    }
    if (t.has_digest) {
        txn_digest_write(out, t.digest);
    }
    MUST(!out->failed);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    must_be_stable(recode, bytes_of(data, size), 0);
    return 0;
}
