/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/digest_token.h"

#include <ctype.h>

/* RFC 2831 has twelve in a response. */
enum { MAX_NAMES = 24 };

struct names {
    struct bytes name[MAX_NAMES];
    size_t n;
};

static bool same_name(struct bytes a, struct bytes b)
{
    for (size_t i = 0; i < a.len && a.len == b.len; i++) {
        if (tolower(a.data[i]) != tolower(b.data[i])) {
            return false;
        }
    }
    return a.len == b.len;
}

static bool note_name(struct names *seen, struct bytes name)
{
    bool is_realm = same_name(name, bytes_str("realm"));

    for (size_t i = 0; i < seen->n; i++) {
        if (same_name(seen->name[i], name) && !is_realm) {
            return false;
        }
    }
    if (seen->n == MAX_NAMES) {
        return false;
    }
    seen->name[seen->n++] = name;
    return true;
}

static bool is_name(uint8_t c)
{
    return isalnum(c) || c == '-';
}

/* Behind the quoted string that begins at `at`; 0: it has no end. */
static size_t skip_quoted(struct bytes t, size_t at)
{
    for (at++; at < t.len && t.data[at] != '"'; at++) {
        at += t.data[at] == '\\' ? 1 : 0;
    }
    return at < t.len ? at + 1 : 0;
}

static size_t skip_value(struct bytes t, size_t at)
{
    if (at < t.len && t.data[at] == '"') {
        return skip_quoted(t, at);
    }
    while (at < t.len && t.data[at] > ' ' && t.data[at] != ',' && t.data[at] != '"' &&
           t.data[at] != '=') {
        at++;
    }
    return at;
}

static size_t skip_blanks(struct bytes t, size_t at)
{
    while (at < t.len && (t.data[at] == ' ' || t.data[at] == '\t')) {
        at++;
    }
    return at;
}

/* One NAME=VALUE, and blanks around it; where it ends, or 0. */
static size_t skip_pair(struct bytes t, size_t at, struct names *seen)
{
    size_t start = at = skip_blanks(t, at);

    while (at < t.len && is_name(t.data[at])) {
        at++;
    }
    if (at == start || at == t.len || t.data[at] != '=' ||
        !note_name(seen, bytes_of(t.data + start, at - start))) {
        return 0;
    }
    at = skip_value(t, at + 1);
    return at == 0 ? 0 : skip_blanks(t, at);
}

bool digest_token_is_good(struct bytes token)
{
    struct names seen = {.n = 0};
    size_t at = 0;

    if (token.len > DIGEST_TOKEN_BYTES || memchr(token.data, 0, token.len) != NULL) {
        return false;
    }
    while (at < token.len) {
        at = skip_pair(token, at, &seen);
        if (at == 0 || (at < token.len && token.data[at] != ',')) {
            return false;
        }
        at++;
    }
    return true;
}

bool digest_token_is_last(struct bytes token)
{
    static const char name[] = "rspauth=";
    size_t at = skip_blanks(token, 0), len = strlen(name);

    return token.len - at >= len && same_name(bytes_of(token.data + at, len), bytes_str(name));
}
