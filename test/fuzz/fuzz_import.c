/* SPDX-License-Identifier: Apache-2.0 */
/* A line for pawl import: it is a node, or it is said why not. */
#include "cli/import_line.h"
#include "fuzz.h"
#include "look/base64.h"
#include "wire/path.h"

static void encode_again(const struct imported *n)
{
    struct strbuf text, data;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_init(&data, STRBUF_NO_LIMIT);
    base64_encode((struct pawl_bytes){n->data.data, n->data.len}, &text);
    MUST(base64_decode(strbuf_cstr(&text), &data));
    MUST(data.len == n->data.len);
    MUST(data.len == 0 || memcmp(data.data, n->data.data, data.len) == 0);
    strbuf_fini(&text);
    strbuf_fini(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool without_acls = take_choice(&data, &size, 2) == 1;
    struct imported n;

    if (imported_parse((const char *)data, size, without_acls, &n) == NULL) {
        MUST(path_is_valid(bytes_str(n.path)));
        MUST(n.has_data || n.data.len == 0);
        for (size_t i = 0; i < n.acls.n; i++) {
            MUST(n.acls.items[i].perms != 0);
        }
        encode_again(&n);
    }
    imported_fini(&n);
    return 0;
}
