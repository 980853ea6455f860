/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

static int spec_count(const struct option_spec *specs)
{
    int n = 0;

    while (specs[n].letter != 0) {
        n++;
    }
    ASSERT(n <= ARGS_OPTIONS_MAX);
    return n;
}

static int spec_by_letter(const struct option_spec *specs, char letter)
{
    for (int i = 0; specs[i].letter != 0; i++) {
        if (specs[i].letter == letter) {
            return i;
        }
    }
    return -1;
}

/* `len` bytes of `name`: what stands before a '='. */
static int spec_by_name(const struct option_spec *specs, const char *name, size_t len)
{
    for (int i = 0; specs[i].letter != 0; i++) {
        if (strlen(specs[i].name) == len && memcmp(specs[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

static void report_unknown(const struct cli *cli, const struct option_spec *specs, const char *word)
{
    const char *names[ARGS_OPTIONS_MAX];
    int n = spec_count(specs);
    const char *near;

    for (int i = 0; i < n; i++) {
        names[i] = specs[i].name;
    }
    near = nearest_name(word + strspn(word, "-"), names, (size_t)n);
    if (near != NULL) {
        cli_error(cli, "there is no option %s; is --%s meant? See --help", word, near);
    } else {
        cli_error(cli, "there is no option %s; see --help", word);
    }
}

/* The parsing of one command line. */
struct reader {
    struct args *a;
    const struct cli *cli;
    int argc, at;
    char **argv;
};

static bool take_value(struct reader *r, int spec, const char *given, const char *word)
{
    const struct option_spec *s = &r->a->specs[spec];

    if (s->value == NULL) {
        if (given != NULL) {
            cli_error(r->cli, "--%s takes no value", s->name);
            return false;
        }
        r->a->values[spec] = "";
        return true;
    }
    if (given == NULL && r->at >= r->argc) {
        cli_error(r->cli, "%s needs a value: %s", word, s->value);
        return false;
    }
    r->a->values[spec] = given != NULL ? given : r->argv[r->at++];
    return true;
}

/* "-Rs": letters in one word; the last may have its value in the next. */
static bool take_letters(struct reader *r, const char *word)
{
    for (const char *p = word + 1; *p != '\0'; p++) {
        int spec = spec_by_letter(r->a->specs, *p);

        if (spec < 0) {
            report_unknown(r->cli, r->a->specs, word);
            return false;
        }
        if (r->a->specs[spec].value != NULL && p[1] != '\0') {
            return take_value(r, spec, p + 1, word);
        }
        if (!take_value(r, spec, NULL, word)) {
            return false;
        }
    }
    return true;
}

static bool take_option(struct reader *r, const char *word)
{
    const char *name = word + strspn(word, "-");
    const char *equals = strchr(name, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    int spec = spec_by_name(r->a->specs, name, len);

    if (strcmp(name, "help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0) {
        r->a->wants_help = true;
        return true;
    }
    if (spec >= 0 && len > 1) {
        return take_value(r, spec, equals != NULL ? equals + 1 : NULL, word);
    }
    if (word[1] == '-') {
        report_unknown(r->cli, r->a->specs, word);
        return false;
    }
    return take_letters(r, word);
}

/* "-" is a word, and so is "-1" unless there is such an option. */
static bool is_option(const struct option_spec *specs, const char *word)
{
    if (word[0] != '-' || word[1] == '\0') {
        return false;
    }
    return !isdigit((unsigned char)word[1]) || spec_by_letter(specs, word[1]) >= 0;
}

bool args_parse(struct args *a, const struct cli *cli, const struct option_spec *specs, int argc,
                char **argv, bool everywhere, int *n_used)
{
    struct reader r = {.a = a, .cli = cli, .argc = argc, .argv = argv};

    *a = (struct args){.specs = specs};
    a->words = must_zalloc(((size_t)argc + 1) * sizeof(*a->words));
    while (r.at < argc) {
        char *word = argv[r.at];

        if (strcmp(word, "--") == 0 && cli->command != NULL && !cli->command->runs_command) {
            for (r.at++; r.at < argc; r.at++) {
                a->words[a->n_words++] = argv[r.at]; /* whatever they look like */
            }
            break;
        }
        if (strcmp(word, "--") == 0) {
            a->command = argv + r.at + 1;
            r.at = argc;
            break;
        }
        if (!is_option(specs, word) && !everywhere) {
            break;
        }
        r.at++;
        if (!is_option(specs, word)) {
            a->words[a->n_words++] = word;
        } else if (!take_option(&r, word)) {
            args_fini(a);
            return false;
        }
    }
    *n_used = r.at;
    return true;
}

void args_fini(struct args *a)
{
    free(a->words);
    a->words = NULL;
}

const char *args_text(const struct args *a, char letter)
{
    int spec = spec_by_letter(a->specs, letter);

    ASSERT(spec >= 0);
    return a->values[spec];
}

bool args_has(const struct args *a, char letter)
{
    return args_text(a, letter) != NULL;
}

bool args_duration(const struct args *a, const struct cli *cli, char letter, int *out_ms)
{
    const char *text = args_text(a, letter);

    if (text == NULL || duration_parse(text, out_ms)) {
        return true;
    }
    cli_error(cli, "--%s: '%s' is no duration such as 500ms, 10s or 2m",
              a->specs[spec_by_letter(a->specs, letter)].name, text);
    return false;
}

bool number_parse(const struct cli *cli, const char *what, const char *text, int64_t min,
                  int64_t max, int64_t *out)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || n < min || n > max) {
        cli_error(cli, "%s: '%s' is no number from %lld to %lld", what, text, (long long)min,
                  (long long)max);
        return false;
    }
    *out = n;
    return true;
}

bool args_number(const struct args *a, const struct cli *cli, char letter, int64_t min, int64_t max,
                 int64_t *out)
{
    const char *text = args_text(a, letter);
    char what[64];

    snprintf(what, sizeof(what), "--%s", a->specs[spec_by_letter(a->specs, letter)].name);
    return text == NULL || number_parse(cli, what, text, min, max, out);
}
