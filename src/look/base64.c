/* SPDX-License-Identifier: Apache-2.0 */
#include "look/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct pawl_bytes data, struct strbuf *out)
{
    const unsigned char *p = data.data;

    for (size_t i = 0; i < data.len; i += 3) {
        uint32_t three = (uint32_t)p[i] << 16;
        char four[4];

        three |= i + 1 < data.len ? (uint32_t)p[i + 1] << 8 : 0;
        three |= i + 2 < data.len ? (uint32_t)p[i + 2] : 0;
        four[0] = digits[three >> 18];
        four[1] = digits[three >> 12 & 63];
        four[2] = i + 1 < data.len ? digits[three >> 6 & 63] : '=';
        four[3] = i + 2 < data.len ? digits[three & 63] : '=';
        strbuf_append(out, four, sizeof(four));
    }
}

/* Fours of letters; only the last four may be shorter, and has = instead. */
bool base64_decode(const char *text, struct strbuf *out)
{
    size_t len = strlen(text);
    uint32_t bits = 0;
    int n_bits = 0;

    if (len % 4 != 0) {
        return false;
    }
    for (int i = 0; i < 2 && len > 0 && text[len - 1] == '='; i++) {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        const char *at = strchr(digits, text[i]);
        char byte;

        if (at == NULL) {
            return false;
        }
        bits = bits << 6 | (uint32_t)(at - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            byte = (char)(bits >> n_bits & 0xff);
            strbuf_append(out, &byte, 1);
        }
    }
    return !out->failed;
}
