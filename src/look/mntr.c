/* SPDX-License-Identifier: Apache-2.0 */
#include "look/mntr.h"

#include <string.h>

static struct pawl_bytes without_blanks(const char *text, size_t len)
{
    for (; len > 0 && *text == ' '; len--) {
        text++;
    }
    return (struct pawl_bytes){text, len};
}

bool mntr_text(struct pawl_bytes answer, const char *name, struct pawl_bytes *out)
{
    const char *at = answer.data, *end = at + answer.len;
    size_t name_len = strlen(name);

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);

        if (len > name_len && memcmp(at, name, name_len) == 0 &&
            (at[name_len] == '\t' || at[name_len] == ':')) {
            *out = without_blanks(at + name_len + 1, len - name_len - 1);
            return true;
        }
        at += len + (newline != NULL);
    }
    return false;
}

int64_t mntr_number(struct pawl_bytes answer, const char *name)
{
    enum { DIGITS_MAX = 18 };
    struct pawl_bytes text;
    int64_t n = 0;
    size_t i = 0;

    if (!mntr_text(answer, name, &text)) {
        return -1;
    }
    for (const char *p = text.data; i < text.len && p[i] >= '0' && p[i] <= '9'; i++) {
        if (i == DIGITS_MAX) {
            return -1;
        }
        n = n * 10 + (p[i] - '0');
    }
    return i > 0 ? n : -1;
}
