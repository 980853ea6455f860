/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Behind a backslash in double quotes. NULL: no escape. */
static const char *take_escape(const char *p, struct strbuf *word)
{
    static const char letters[] = "nt\\\"'", meant[] = "\n\t\\\"'";
    const char *at = *p != '\0' ? strchr(letters, *p) : NULL;
    char hex[3] = {0};
    char byte;

    if (at != NULL) {
        strbuf_append(word, &meant[at - letters], 1);
        return p + 1;
    }
    if (*p != 'x' || !isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2])) {
        return NULL;
    }
    memcpy(hex, p + 1, 2);
    byte = (char)strtol(hex, NULL, 16);
    if (byte == '\0') {
        return NULL; /* a word ends there */
    }
    strbuf_append(word, &byte, 1);
    return p + 3;
}

/* What is behind the closing quote; NULL: there is none. */
static const char *take_quoted(const char *p, char quote, struct strbuf *word)
{
    while (*p != quote) {
        if (*p == '\0') {
            return NULL;
        }
        if (*p == '\\' && quote == '"') {
            p = take_escape(p + 1, word);
            if (p == NULL) {
                return NULL;
            }
        } else {
            strbuf_append(word, p++, 1);
        }
    }
    return p + 1;
}

static const char *take_word(const char *p, struct strbuf *word)
{
    while (p != NULL && *p != '\0' && !is_blank(*p)) {
        if (*p == '\'' || *p == '"') {
            p = take_quoted(p + 1, *p, word);
        } else {
            strbuf_append(word, p++, 1);
        }
    }
    return p;
}

static void add_word(struct line_words *words, struct strbuf *word)
{
    words->items = must_realloc(words->items, ((size_t)words->n + 2) * sizeof(*words->items));
    words->items[words->n++] = must_strdup(strbuf_cstr(word));
    words->items[words->n] = NULL;
    strbuf_clear(word);
}

bool line_split(const char *line, struct line_words *out)
{
    struct strbuf word;
    const char *p = line;

    *out = (struct line_words){.items = must_zalloc(sizeof(char *))};
    strbuf_init(&word, STRBUF_NO_LIMIT);
    while (p != NULL) {
        while (is_blank(*p)) {
            p++;
        }
        if (*p == '\0' || *p == '#') {
            break;
        }
        p = take_word(p, &word);
        if (p != NULL) {
            add_word(out, &word);
        }
    }
    strbuf_fini(&word);
    if (p == NULL) {
        line_words_free(out);
    }
    return p != NULL;
}

void line_words_free(struct line_words *words)
{
    for (int i = 0; i < words->n; i++) {
        free(words->items[i]);
    }
    free(words->items);
    *words = (struct line_words){0};
}

bool line_is_of(const char *line, const char *command)
{
    struct line_words words;
    bool is_so;

    if (!line_split(line, &words)) {
        return false;
    }
    is_so = words.n > 0 && strcmp(words.items[0], command) == 0;
    line_words_free(&words);
    return is_so;
}

bool line_read(FILE *file, struct strbuf *out)
{
    int c = getc_unlocked(file);

    strbuf_clear(out);
    if (c == EOF) {
        return false;
    }
    while (c != EOF && c != '\n' && !out->failed) {
        char byte = (char)c;

        strbuf_append(out, &byte, 1);
        c = getc_unlocked(file);
    }
    return true;
}
