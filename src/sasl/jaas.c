/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/jaas.h"

#include <stdio.h>

enum token { TOKEN_END, TOKEN_WORD, TOKEN_SIGN, TOKEN_BAD };

struct reader {
    struct bytes text;
    size_t at;
    int line;
    enum token token;
    bool quoted;
    char sign; /* '{', '}', ';', '=' */
    char word[JAAS_WORD_BYTES];
    size_t len;
    struct jaas_error *error;
};

static bool fail(struct reader *r, const char *what)
{
    if (r->error->line == 0) {
        r->error->line = r->line;
        snprintf(r->error->what, sizeof(r->error->what), "%s", what);
    }
    r->token = TOKEN_BAD;
    return false;
}

/* ---- words ---- */

static int peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->text.len ? r->text.data[r->at + ahead] : -1;
}

static int take(struct reader *r)
{
    int c = peek(r, 0);

    if (c >= 0) {
        r->at++;
        r->line += c == '\n' ? 1 : 0;
    }
    return c;
}

static bool put(struct reader *r, int c)
{
    if (c == 0) {
        return fail(r, "a NUL in a word");
    }
    if (r->len == sizeof(r->word) - 1) {
        return fail(r, "a word is too long");
    }
    r->word[r->len++] = (char)c;
    return true;
}

/* False: a comment has no end. */
static bool skip_comment(struct reader *r)
{
    bool long_one = peek(r, 1) == '*';

    r->at += 2;
    while (peek(r, 0) >= 0) {
        if (!long_one && peek(r, 0) == '\n') {
            return true;
        }
        if (long_one && peek(r, 0) == '*' && peek(r, 1) == '/') {
            r->at += 2;
            return true;
        }
        take(r);
    }
    return !long_one || fail(r, "a comment has no end");
}

static bool skip_blanks(struct reader *r)
{
    for (;;) {
        int c = peek(r, 0);

        if (c == '/' && (peek(r, 1) == '/' || peek(r, 1) == '*')) {
            if (!skip_comment(r)) {
                return false;
            }
        } else if (c >= 0 && c <= ' ') {
            take(r);
        } else {
            return true;
        }
    }
}

/* Up to three digits, as in Java and C. */
static int take_octal(struct reader *r, int first)
{
    int value = first - '0';
    int digits = first <= '3' ? 2 : 1;

    while (digits-- > 0 && peek(r, 0) >= '0' && peek(r, 0) <= '7') {
        value = value * 8 + (take(r) - '0');
    }
    return value;
}

static bool take_escape(struct reader *r)
{
    static const char names[] = "abfnrtv";
    static const char values[] = "\a\b\f\n\r\t\v";
    int c = take(r);
    const char *name = c > 0 ? strchr(names, c) : NULL;

    if (c < 0 || c == '\n') {
        return fail(r, "a '\"' is missing");
    }
    if (c >= '0' && c <= '7') {
        return put(r, take_octal(r, c));
    }
    return put(r, name != NULL ? values[name - names] : c);
}

static bool take_quoted(struct reader *r)
{
    take(r);
    r->quoted = true;
    for (;;) {
        int c = take(r);

        if (c == '"') {
            return true;
        }
        if (c < 0 || c == '\n' || c == '\r') {
            return fail(r, "a '\"' is missing");
        }
        if (c == '$' && peek(r, 0) == '{') {
            return fail(r, "${...} is not replaced here, write the value itself");
        }
        if (c == '\\' ? !take_escape(r) : !put(r, c)) {
            return false;
        }
    }
}

static bool ends_word(int c)
{
    return c <= ' ' || c == '{' || c == '}' || c == ';' || c == '=' || c == '"';
}

static bool take_plain(struct reader *r)
{
    while (!ends_word(peek(r, 0)) &&
           !(peek(r, 0) == '/' && (peek(r, 1) == '/' || peek(r, 1) == '*'))) {
        if (!put(r, take(r))) {
            return false;
        }
    }
    return true;
}

/* The next one; false at a fault. */
static bool advance(struct reader *r)
{
    int c;

    if (r->token == TOKEN_BAD || !skip_blanks(r)) {
        return false;
    }
    r->len = 0;
    r->quoted = false;
    c = peek(r, 0);
    if (c < 0) {
        r->token = TOKEN_END;
        return true;
    }
    if (c == '{' || c == '}' || c == ';' || c == '=') {
        r->sign = (char)take(r);
        r->token = TOKEN_SIGN;
        return true;
    }
    r->token = TOKEN_WORD;
    if (c == '"' ? !take_quoted(r) : !take_plain(r)) {
        return false;
    }
    r->word[r->len] = '\0';
    return true;
}

static bool at_sign(const struct reader *r, char sign)
{
    return r->token == TOKEN_SIGN && r->sign == sign;
}

static bool expect_sign(struct reader *r, char sign, const char *what)
{
    return at_sign(r, sign) ? advance(r) : fail(r, what);
}

static bool expect_word(struct reader *r, char *out, const char *what)
{
    if (r->token != TOKEN_WORD) {
        return fail(r, what);
    }
    memcpy(out, r->word, r->len + 1);
    return advance(r);
}

/* ---- sections ---- */

struct section {
    bool wanted;
    int n_modules;
    jaas_fn each;
    void *arg;
    char module[JAAS_WORD_BYTES], option[JAAS_WORD_BYTES], value[JAAS_WORD_BYTES];
};

static bool deliver(struct reader *r, const struct section *s, const char *option,
                    const char *value)
{
    return !s->wanted || s->each(s->arg, s->module, option, value) ||
           fail(r, "what stands before this cannot be used");
}

static bool read_option(struct reader *r, struct section *s)
{
    return expect_word(r, s->option, "the name of an option, or ';', is missing") &&
           expect_sign(r, '=', "'=' is missing behind the name of an option") &&
           expect_word(r, s->value, "an option has no value") && deliver(r, s, s->option, s->value);
}

static bool is_flag(const char *word)
{
    static const char *const flags[] = {"required", "requisite", "sufficient", "optional"};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        size_t n = 0;

        while (word[n] != '\0' && (word[n] | 0x20) == flags[i][n]) {
            n++;
        }
        if (word[n] == '\0' && flags[i][n] == '\0') {
            return true;
        }
    }
    return false;
}

static bool read_module(struct reader *r, struct section *s)
{
    if (!expect_word(r, s->module, "the class of a module, or '}', is missing")) {
        return false;
    }
    if (r->token != TOKEN_WORD || !is_flag(r->word)) {
        return fail(r, "a flag is missing behind the class of a module: required, requisite, "
                       "sufficient or optional");
    }
    s->n_modules++;
    if (!advance(r) || !deliver(r, s, NULL, NULL)) {
        return false;
    }
    while (!at_sign(r, ';')) {
        if (!read_option(r, s)) {
            return false;
        }
    }
    return advance(r);
}

static bool read_modules(struct reader *r, struct section *s)
{
    if (!expect_sign(r, '{', "'{' is missing behind the name of a section")) {
        return false;
    }
    while (!at_sign(r, '}')) {
        if (!read_module(r, s)) {
            return false;
        }
    }
    return (s->n_modules > 0 || fail(r, "a section has no module")) && advance(r) &&
           expect_sign(r, ';', "';' is missing behind the '}' of a section");
}

int jaas_parse(struct bytes text, const char *section, jaas_fn each, void *arg,
               struct jaas_error *error)
{
    struct reader r = {.text = text, .line = 1, .error = error};
    char name[JAAS_WORD_BYTES];
    int n_modules = 0;

    *error = (struct jaas_error){0};
    if (!advance(&r)) {
        return -1;
    }
    while (r.token != TOKEN_END) {
        struct section s = {.each = each, .arg = arg};

        if (!expect_word(&r, name, "the name of a section is missing")) {
            return -1;
        }
        s.wanted = strcmp(name, section) == 0;
        if ((s.wanted && n_modules > 0 && !fail(&r, "there are two sections of this name")) ||
            !read_modules(&r, &s)) {
            return -1;
        }
        n_modules += s.wanted ? s.n_modules : 0;
    }
    return n_modules;
}
