/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that may not be UTF-8: once repaired, there is nothing more to repair. */
#include "wire/utf8.h"

#include "fuzz.h"
#include "wire/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = bytes_of(data, size), once, twice;
    struct strbuf scratch, again;

    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    once = utf8_repaired(input, &scratch);
    twice = utf8_repaired(once, &again);
    MUST(twice.data == once.data && twice.len == once.len);
    if (once.data != data) { /* U+FFFD is in no path */
        MUST(!path_is_valid(input) && !path_is_valid(once));
    } else {
        MUST(once.len == size);
    }
    strbuf_fini(&scratch);
    strbuf_fini(&again);
    return 0;
}
