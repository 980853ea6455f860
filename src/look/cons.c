/* SPDX-License-Identifier: Apache-2.0 */
#include "look/cons.h"

#include <stdlib.h>
#include <string.h>

/* "name=" in the text between the brackets; NULL: it is not there. */
static const char *value_of(const char *text, size_t len, const char *name)
{
    size_t name_len = strlen(name);

    for (const char *at = text, *end = text + len; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t pair_len = (size_t)((comma != NULL ? comma : end) - at);

        if (pair_len > name_len && memcmp(at, name, name_len) == 0 && at[name_len] == '=') {
            return at + name_len + 1;
        }
        at += pair_len + 1;
    }
    return NULL;
}

/* Digits only, and no more of them than fit; the text need not end with them. */
static int64_t number_of(const char *text, size_t len, const char *name)
{
    const char *value = value_of(text, len, name);
    int64_t n = 0;
    int n_digits = 0;

    while (value != NULL && value < text + len && *value >= '0' && *value <= '9') {
        n = n * 10 + (*value++ - '0');
        if (++n_digits > 17) {
            return -1;
        }
    }
    return n_digits > 0 ? n : -1;
}

static bool session_of(const char *text, size_t len, uint64_t *out)
{
    const char *value = value_of(text, len, "sid"), *end = text + len;
    int n_digits = 0;

    if (value == NULL || end - value < 3 || value[0] != '0' || value[1] != 'x') {
        return false;
    }
    *out = 0;
    for (value += 2; value < end && *value != '\0'; value++, n_digits++) {
        static const char digits[] = "0123456789abcdef";
        const char *at = strchr(digits, *value);

        if (at == NULL || n_digits == 16) {
            break;
        }
        *out = *out << 4 | (uint64_t)(at - digits);
    }
    return n_digits > 0;
}

bool cons_parse(const char *line, size_t len, struct cons *out)
{
    const char *slash = memchr(line, '/', len), *end = line + len;
    const char *bracket = slash != NULL ? memchr(slash, '(', (size_t)(end - slash)) : NULL;
    const char *count, *text;
    size_t text_len;

    if (bracket == NULL || end[-1] != ')') {
        return false;
    }
    text = bracket + 1;
    text_len = (size_t)(end - 1 - text);
    count = memrchr(slash, '[', (size_t)(bracket - slash)); /* an address may have brackets, too */
    *out = (struct cons){.client = slash + 1,
                         .client_len = (size_t)((count != NULL ? count : bracket) - slash - 1),
                         .since_ms = number_of(text, text_len, "est"),
                         .timeout_ms = number_of(text, text_len, "to"),
                         .received = number_of(text, text_len, "recved"),
                         .sent = number_of(text, text_len, "sent"),
                         .queued = number_of(text, text_len, "queued"),
                         .answered_ms = number_of(text, text_len, "lresp")};
    return session_of(text, text_len, &out->session_id);
}
