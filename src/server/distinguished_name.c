/* SPDX-License-Identifier: Apache-2.0 */
/* distinguished_name.c - what X500Principal of Java takes for a name:
 *
 *   name  = part *( ("," | ";") part )
 *   part  = pair *( "+" pair )
 *   pair  = type "=" value, blanks around each
 *   type  = a keyword that Java knows, in any case | [ "OID." ] number *( "." number )
 *   value = "#" hex | '"' anything '"' | text, in which a special character has "\" in front */
#include "server/distinguished_name.h"

#include <ctype.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
};

static bool is_at(const struct cursor *c, const char *any_of)
{
    return c->at < c->end && *c->at != '\0' && strchr(any_of, *c->at) != NULL;
}

static void skip_blanks(struct cursor *c)
{
    while (is_at(c, " \n\r\t")) {
        c->at++;
    }
}

static bool is_hex(const struct cursor *c, ptrdiff_t ahead)
{
    return c->end - c->at > ahead && isxdigit(c->at[ahead]);
}

/* ---- types ---- */

static bool is_keyword(const char *word, size_t len)
{
    static const char *const known[] = {"CN",          "C",          "L",       "S",
                                        "ST",          "O",          "OU",      "T",
                                        "IP",          "STREET",     "DC",      "UID",
                                        "DNQUALIFIER", "DNQ",        "SURNAME", "GIVENNAME",
                                        "INITIALS",    "GENERATION", "EMAIL",   "EMAILADDRESS",
                                        "SERIALNUMBER"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = 0;

        while (n < len && toupper((unsigned char)word[n]) == known[i][n]) {
            n++;
        }
        if (n == len && known[i][n] == '\0') {
            return true;
        }
    }
    return false;
}

/* Numbers with a dot between each two. */
static bool is_numbers(const char *word, size_t len)
{
    bool after_digit = false, has_dot = false;

    for (size_t i = 0; i < len; i++) {
        if (word[i] == '.' ? !after_digit : !isdigit((unsigned char)word[i])) {
            return false;
        }
        after_digit = word[i] != '.';
        has_dot = has_dot || word[i] == '.';
    }
    return after_digit && has_dot;
}

static bool take_type(struct cursor *c)
{
    const char *word = (const char *)c->at;
    size_t len = 0;

    while (c->at < c->end && (isalnum(*c->at) || *c->at == '.')) {
        c->at++;
        len++;
    }
    if (len > 4 && (memcmp(word, "OID.", 4) == 0 || memcmp(word, "oid.", 4) == 0)) {
        return is_numbers(word + 4, len - 4);
    }
    return is_keyword(word, len) || is_numbers(word, len);
}

/* ---- values ---- */

static bool take_escape(struct cursor *c)
{
    c->at++;
    if (is_hex(c, 0) && is_hex(c, 1)) {
        c->at += 2;
        return true;
    }
    if (is_at(c, ",=+<>#;\"\\ \r\n")) {
        c->at++;
        return true;
    }
    return false;
}

static bool take_hex(struct cursor *c)
{
    size_t n = 0;

    for (c->at++; is_hex(c, 0) && is_hex(c, 1); c->at += 2) {
        n++;
    }
    skip_blanks(c);
    return n > 0;
}

static bool take_quoted(struct cursor *c)
{
    c->at++;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at == '\\' && !take_escape(c)) {
            return false;
        }
        if (c->at < c->end && *c->at != '"' && *c->at != '\\') {
            c->at++;
        }
    }
    if (c->at == c->end) {
        return false;
    }
    c->at++;
    skip_blanks(c);
    return true;
}

static bool take_text(struct cursor *c)
{
    while (c->at < c->end && !is_at(c, ",;+")) {
        if (*c->at == '\\') {
            if (!take_escape(c)) {
                return false;
            }
        } else if (*c->at == '"') {
            return false;
        } else {
            c->at++;
        }
    }
    return true;
}

static bool take_pair(struct cursor *c)
{
    skip_blanks(c);
    if (!take_type(c)) {
        return false;
    }
    skip_blanks(c);
    if (!is_at(c, "=")) {
        return false;
    }
    c->at++;
    skip_blanks(c);
    if (is_at(c, "#")) {
        return take_hex(c);
    }
    return is_at(c, "\"") ? take_quoted(c) : take_text(c);
}

bool distinguished_name_is_valid(struct bytes text)
{
    struct cursor c = {.at = text.data, .end = text.data + text.len};

    if (text.len == 0) {
        return true;
    }
    while (take_pair(&c)) {
        if (c.at == c.end) {
            return true;
        }
        if (!is_at(&c, ",;+")) {
            return false;
        }
        c.at++;
    }
    return false;
}
