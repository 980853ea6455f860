/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/commands.h"
#include "cli/line.h"

static void add(struct candidates *c, const char *text, size_t len)
{
    size_t typed = strlen(c->word);

    if (len < typed || memcmp(text, c->word, typed) != 0) {
        return;
    }
    c->items = must_realloc(c->items, (c->n + 1) * sizeof(*c->items));
    c->items[c->n++] = must_copy_string(bytes_of(text, len));
}

/* ---- what can stand there ---- */

/* First words, of zkCli.sh's names, too. */
static void add_commands(struct candidates *c)
{
    size_t n;
    const struct command *const *all = commands_all(&n);

    for (size_t i = 0; i < n; i++) {
        add(c, all[i]->name, strcspn(all[i]->name, " "));
        if (all[i]->also != NULL) {
            add(c, all[i]->also, strlen(all[i]->also));
        }
    }
}

/* "raise" behind "barrier". */
static void add_second_words(struct candidates *c, const char *first)
{
    size_t n, len = strlen(first);
    const struct command *const *all = commands_all(&n);

    for (size_t i = 0; i < n; i++) {
        if (strncmp(all[i]->name, first, len) == 0 && all[i]->name[len] == ' ') {
            add(c, all[i]->name + len + 1, strlen(all[i]->name + len + 1));
        }
    }
}

static void add_options(struct candidates *c, const struct line_words *before)
{
    int n_used;
    const struct command *command = commands_find(before->n, before->items, &n_used);
    char text[64];

    for (const struct option_spec *s = command != NULL ? command->options : NULL;
         s != NULL && s->letter != 0; s++) {
        snprintf(text, sizeof(text), "--%s", s->name);
        add(c, text, strlen(text));
    }
}

static void complete_word(struct candidates *c, struct line_words *before)
{
    struct line_words words = *before;

    if (words.n > 0 && strcmp(words.items[0], "help") == 0) {
        words.items++;
        words.n--;
    }
    if (words.n == 0) {
        add_commands(c);
    } else if (c->word[0] == '/') {
        const char *slash = strrchr(c->word, '/');

        c->parent = slash == c->word
                        ? must_strdup("/")
                        : must_copy_string(bytes_of(c->word, (size_t)(slash - c->word)));
    } else if (c->word[0] == '-') {
        add_options(c, &words);
    } else if (words.n == 1) {
        add_second_words(c, words.items[0]);
    }
}

/* ---- the line ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void complete_line(const char *line, size_t len, struct candidates *out)
{
    char *text = must_copy_string(bytes_of(line, len)), *word = text + len;
    struct line_words before;

    *out = (struct candidates){0};
    while (word > text && !is_blank(word[-1])) {
        word--;
    }
    out->word = must_strdup(word);
    *word = '\0';
    if (strpbrk(out->word, "'\"#") == NULL && line_split(text, &before)) {
        complete_word(out, &before);
        line_words_free(&before);
    }
    free(text);
    complete_sort(out);
}

void complete_add_child(struct candidates *c, const char *name)
{
    struct strbuf path;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    strbuf_printf(&path, "%s/%s", strcmp(c->parent, "/") == 0 ? "" : c->parent, name);
    add(c, strbuf_cstr(&path), path.len);
    strbuf_fini(&path);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void complete_sort(struct candidates *c)
{
    size_t n = 0;

    if (c->n > 1) {
        qsort(c->items, c->n, sizeof(*c->items), by_text);
    }
    for (size_t i = 0; i < c->n; i++) {
        if (n > 0 && strcmp(c->items[n - 1], c->items[i]) == 0) {
            free(c->items[i]);
        } else {
            c->items[n++] = c->items[i];
        }
    }
    c->n = n;
}

/* Where a word would end, or be something else; a terminal obeys control characters. */
static size_t plain_len(const char *text)
{
    size_t len = 0;

    while ((unsigned char)text[len] > ' ' && text[len] != 0x7f &&
           strchr("'\"#", text[len]) == NULL) {
        len++;
    }
    return len;
}

char *complete_common(const struct candidates *c)
{
    size_t len = c->n > 0 ? plain_len(c->items[0]) : 0;

    for (size_t i = 1; i < c->n; i++) {
        size_t same = 0;

        while (same < len && c->items[i][same] == c->items[0][same]) {
            same++;
        }
        len = same;
    }
    while (len > 0 && ((unsigned char)c->items[0][len] & 0xc0) == 0x80) {
        len--; /* no half of a character */
    }
    return c->n > 0 ? must_copy_string(bytes_of(c->items[0], len)) : must_strdup("");
}

void candidates_fini(struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->items[i]);
    }
    free(c->items);
    free(c->word);
    free(c->parent);
    *c = (struct candidates){0};
}
