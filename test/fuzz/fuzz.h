/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - one decoder, given any bytes.
 *
 * A target reads nothing outside its input (the address sanitizer watches) and, where there is an
 * encoder, what it decoded is stable: encoded and decoded again it encodes to the same bytes. The
 * same function is driven by libFuzzer and by replay.c. */
#ifndef PAWL_TEST_FUZZ_H
#define PAWL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must stop a release build as well. */
#define MUST(expression)                                                                    \
    do {                                                                                    \
        if (!(expression)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #expression); \
            abort();                                                                        \
        }                                                                                   \
    } while (0)

/* Encodes what `input` decodes to and returns true, or returns false when it is not decodable. */
typedef bool (*recode_fn)(struct bytes input, int choice, struct strbuf *out);

/* Decode, encode, decode, encode: the two encodings are one. */
static inline void must_be_stable(recode_fn recode, struct bytes input, int choice)
{
    struct strbuf once, twice;

    strbuf_init(&once, STRBUF_NO_LIMIT);
    strbuf_init(&twice, STRBUF_NO_LIMIT);
    if (recode(input, choice, &once)) {
        MUST(recode(strbuf_bytes(&once), choice, &twice));
        MUST(once.len == twice.len);
        MUST(once.len == 0 || memcmp(once.data, twice.data, once.len) == 0);
    }
    strbuf_fini(&once);
    strbuf_fini(&twice);
}

/* The first byte of an input chooses among `n`; the rest is for the decoder. */
static inline int take_choice(const uint8_t **data, size_t *size, int n)
{
    int choice = 0;

    if (*size > 0) {
        choice = **data % n;
        (*data)++;
        (*size)--;
    }
    return choice;
}

#endif
