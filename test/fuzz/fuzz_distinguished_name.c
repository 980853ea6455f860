/* SPDX-License-Identifier: Apache-2.0 */
/* Two names with a comma between them are a name. */
#include "fuzz.h"
#include "server/distinguished_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf both;

    if (size == 0 || !distinguished_name_is_valid(bytes_of(data, size))) {
        return 0;
    }
    strbuf_init(&both, STRBUF_NO_LIMIT);
    strbuf_append(&both, data, size);
    strbuf_append_str(&both, ",");
    strbuf_append(&both, data, size);
    MUST(distinguished_name_is_valid(strbuf_bytes(&both)));
    strbuf_fini(&both);
    return 0;
}
