/* SPDX-License-Identifier: Apache-2.0 */
/* The body of every operation in ops.def; the first byte chooses which. */
#include "fuzz.h"
#include "wire/request.h"

static void walk_acl(const struct acl_list *acl)
{
    struct jute_reader r = jute_reader_of(acl->elements);

    for (int32_t i = 0; i < acl->count; i++) {
        acl_entry_read(&r);
    }
    MUST(!r.failed && jute_left(&r) == 0);
}

static void walk_names(const struct string_list *names)
{
    struct jute_reader r = jute_reader_of(names->elements);

    for (int32_t i = 0; i < names->count; i++) {
        jute_read_buffer(&r);
    }
    MUST(!r.failed && jute_left(&r) == 0);
}

static bool recode(struct bytes input, int index, struct strbuf *out)
{
    const struct op *op = op_at(index);
    struct jute_reader r = jute_reader_of(input);
    struct request q;

    if (!request_read(op, &r, &q)) {
        return false;
    }
    walk_acl(&q.acl);
    for (int i = 0; i < q.n_watch_lists; i++) {
        walk_names(&q.watches[i]);
    }
    request_write(out, op, &q);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int index = take_choice(&data, &size, N_OPS);

    must_be_stable(recode, bytes_of(data, size), index);
    return 0;
}
