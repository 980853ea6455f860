/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - find, grep and du: questions about a whole subtree. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/walk.h"

static bool depth_of(const struct args *args, struct cli *cli, struct walk *w)
{
    w->is_limited = args_has(args, 'd') || w->is_limited;
    return args_number(args, cli, 'd', 0, INT32_MAX, &w->max_depth);
}

/* ---- find ---- */

/* "+100": more than; "-100": less than; "100": just so many. */
struct amount {
    bool is_given;
    char sign; /* 0: just so many */
    int64_t bytes;
};

struct finding {
    const struct cli *cli;
    const char *name; /* a pattern, or NULL */
    char type;        /* 'p', 'e', or 0: either */
    struct amount size;
    bool has_owner;
    int64_t owner;
    bool has_begun;
};

static bool amount_of(const struct cli *cli, const char *text, struct amount *out)
{
    const char *digits = text + (text[0] == '+' || text[0] == '-');
    char *end;

    errno = 0;
    *out = (struct amount){.is_given = true,
                           .sign = digits > text ? text[0] : '\0',
                           .bytes = strtoll(digits, &end, 10)};
    if (digits[strspn(digits, "0123456789")] != '\0' || *digits == '\0' || errno != 0) {
        cli_error(cli, "--size: '%s' is no number of bytes such as 100, +100 or -100", text);
        return false;
    }
    return true;
}

static bool amount_fits(const struct amount *a, int64_t bytes)
{
    return !a->is_given || (a->sign == '+'   ? bytes > a->bytes
                            : a->sign == '-' ? bytes < a->bytes
                                             : bytes == a->bytes);
}

/* Session ids are written in hexadecimal, with 0x before them or without. */
static bool owner_of(const struct cli *cli, const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = (int64_t)strtoull(text, &end, 16);
    if (*text == '\0' || *text == '-' || *end != '\0' || errno != 0) {
        cli_error(cli, "--owner: '%s' is no id of a session such as 0x1000012ab340000", text);
        return false;
    }
    return true;
}

static bool stat_fits(const struct finding *f, const struct pawl_stat *stat)
{
    return (f->type == 0 || (f->type == 'e') == (stat->ephemeral_owner != 0)) &&
           amount_fits(&f->size, stat->data_length) &&
           (!f->has_owner || stat->ephemeral_owner == f->owner);
}

static bool is_wanted(const struct finding *f, const struct walk_node *node)
{
    const char *name = strrchr(node->path, '/') + 1;
    bool asks_stat = f->type != 0 || f->size.is_given || f->has_owner;

    return (f->name == NULL || fnmatch(f->name, name, 0) == 0) &&
           (!asks_stat || (node->has_stat && stat_fits(f, &node->stat)));
}

static int print_found(const struct walk_node *node, void *arg)
{
    struct finding *f = arg;

    if (f->cli->json && !f->has_begun) {
        json_open(NULL, '[');
        f->has_begun = true;
    }
    if (!is_wanted(f, node)) {
        return EXIT_OK;
    }
    if (f->cli->json) {
        json_open(NULL, '{');
        json_text("path", node->path);
        if (node->has_stat) {
            json_stat("stat", &node->stat);
        }
        json_close('{');
    } else {
        text_line(pawl_str(node->path));
    }
    return EXIT_OK;
}

static bool finding_of(const struct args *args, struct cli *cli, struct finding *out)
{
    const char *type = args_text(args, 't'), *size = args_text(args, 's');
    const char *owner = args_text(args, 'o');

    *out = (struct finding){.cli = cli, .name = args_text(args, 'n')};
    out->type = type != NULL ? type[0] : '\0';
    out->has_owner = owner != NULL;
    if (type != NULL && strcmp(type, "p") != 0 && strcmp(type, "persistent") != 0 &&
        strcmp(type, "e") != 0 && strcmp(type, "ephemeral") != 0) {
        cli_error(cli, "--type: '%s' is neither persistent (p) nor ephemeral (e)", type);
        return false;
    }
    return (size == NULL || amount_of(cli, size, &out->size)) &&
           (owner == NULL || owner_of(cli, owner, &out->owner));
}

static int run_find(struct cli *cli, const struct args *args)
{
    struct finding f;
    struct walk w = {.cli = cli, .visit = print_found, .arg = &f};
    int status;

    if (!finding_of(args, cli, &f) || !depth_of(args, cli, &w)) {
        return EXIT_USAGE;
    }
    status = walk_tree(&w, args->n_words > 0 ? args->words[0] : "/");
    if (f.has_begun) {
        json_close('[');
    }
    return status;
}

static const struct option_spec find_options[] = {
    {'n', "name", "PATTERN", "the last part of the path is like this: 'lock-*'"},
    {'t', "type", "TYPE", "persistent or ephemeral; p or e will do"},
    {'s', "size", "BYTES", "so many bytes of data; +BYTES: more; -BYTES: less"},
    {'o', "owner", "SESSION", "ephemeral, and this session's"},
    {'d', "maxdepth", "NUMBER", "not deeper than this below PATH"},
    {0, NULL, NULL, NULL}};

const struct command command_find = {
    .name = "find",
    .synopsis = "[-n PATTERN] [-t TYPE] [-s BYTES] [-o SESSION] [-d DEPTH] [PATH]",
    .summary = "print the paths of the nodes below that are like this",
    .options = find_options,
    .max_words = 1,
    .run = run_find};

/* ---- grep ---- */

struct grepping {
    const struct cli *cli;
    regex_t pattern;
    bool names_only;
    bool has_found;
};

static bool line_matches(const struct grepping *g, const char *line, size_t len)
{
    regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)len}; /* a NUL is a byte like others */

    return regexec(&g->pattern, line, 1, &all, REG_STARTEND) == 0;
}

static void print_match(const struct grepping *g, const char *path, struct pawl_bytes line)
{
    if (g->cli->json) {
        json_open(NULL, '{');
        json_text("path", path);
        if (!g->names_only) {
            json_data("line", line);
        }
        json_close('{');
    } else if (g->names_only) {
        text_line(pawl_str(path));
    } else {
        text_escaped(pawl_str(path));
        putchar(':');
        text_line(line);
    }
}

static int grep_node(const struct walk_node *node, void *arg)
{
    struct grepping *g = arg;
    const char *at = node->data.data, *end;

    if (node->data.len == 0) {
        return EXIT_OK;
    }
    end = at + node->data.len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);

        if (line_matches(g, at, len)) {
            g->has_found = true;
            print_match(g, node->path, (struct pawl_bytes){at, len});
            if (g->names_only) {
                break;
            }
        }
        at += len + 1;
    }
    return EXIT_OK;
}

/* As an extended expression, in which nothing has a meaning of its own. */
static void quote(const char *text, struct strbuf *out)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\^$.[]|()*+?{}", *text) != NULL) {
            strbuf_append(out, "\\", 1);
        }
        strbuf_append(out, text, 1);
    }
}

static bool pattern_of(const struct args *args, struct cli *cli, regex_t *out)
{
    int flags = REG_EXTENDED | (args_has(args, 'i') ? REG_ICASE : 0);
    struct strbuf quoted;
    char why[128];
    int err;

    strbuf_init(&quoted, STRBUF_NO_LIMIT);
    quote(args->words[0], &quoted);
    err = regcomp(out, args_has(args, 'F') ? strbuf_cstr(&quoted) : args->words[0], flags);
    strbuf_fini(&quoted);
    if (err != 0) {
        regerror(err, out, why, sizeof(why));
        cli_error(cli, "'%s': %s; -F takes it as it is", args->words[0], why);
    }
    return err == 0;
}

static int run_grep(struct cli *cli, const struct args *args)
{
    struct grepping g = {.cli = cli, .names_only = args_has(args, 'l')};
    struct walk w = {.cli = cli, .visit = grep_node, .arg = &g, .with_data = true};
    int status;

    if (!pattern_of(args, cli, &g.pattern)) {
        return EXIT_USAGE;
    }
    status = walk_tree(&w, args->n_words > 1 ? args->words[1] : "/");
    regfree(&g.pattern);
    return status == EXIT_OK && !g.has_found ? EXIT_NO : status;
}

static const struct option_spec grep_options[] = {
    {'i', "ignore-case", NULL, "A is a"},
    {'F', "fixed-strings", NULL, "PATTERN is no expression, but what is looked for"},
    {'l', "files-with-matches", NULL, "print the paths only, each once"},
    {0, NULL, NULL, NULL}};

const struct command command_grep = {.name = "grep",
                                     .synopsis = "[-i] [-F] [-l] PATTERN [PATH]",
                                     .summary =
                                         "print the lines of data below that match an expression",
                                     .options = grep_options,
                                     .min_words = 1,
                                     .max_words = 2,
                                     .run = run_grep};

/* ---- du ---- */

/* The nodes from the top to the one that was visited last, with what was found below each. */
struct adding {
    const struct cli *cli;
    int64_t max_depth;
    struct sum {
        char *path;
        int64_t bytes, n_nodes;
    } * open;
    int n, capacity;
    bool has_begun;
};

static void print_sum(struct adding *a, const struct sum *s, int depth)
{
    if (depth > a->max_depth) {
        return;
    }
    if (!a->cli->json) {
        printf("%" PRId64 "\t%" PRId64 "\t", s->bytes, s->n_nodes);
        text_line(pawl_str(s->path));
        return;
    }
    if (!a->has_begun) {
        json_open(NULL, '[');
        a->has_begun = true;
    }
    json_open(NULL, '{');
    json_text("path", s->path);
    json_number("bytes", s->bytes);
    json_number("nodes", s->n_nodes);
    json_close('{');
}

/* Everything below them was visited: the nodes at `depth` and deeper are complete. */
static void close_sums(struct adding *a, int depth)
{
    while (a->n > depth) {
        struct sum *s = &a->open[--a->n];

        print_sum(a, s, a->n);
        if (a->n > 0) {
            a->open[a->n - 1].bytes += s->bytes;
            a->open[a->n - 1].n_nodes += s->n_nodes;
        }
        free(s->path);
    }
}

static int add_node(const struct walk_node *node, void *arg)
{
    struct adding *a = arg;

    close_sums(a, node->depth);
    if (a->n == a->capacity) {
        a->capacity = 2 * a->capacity + 16;
        a->open = must_realloc(a->open, (size_t)a->capacity * sizeof(*a->open));
    }
    a->open[a->n++] = (struct sum){
        .path = must_strdup(node->path), .bytes = node->stat.data_length, .n_nodes = 1};
    return EXIT_OK;
}

static int run_du(struct cli *cli, const struct args *args)
{
    struct adding a = {.cli = cli, .max_depth = 1};
    struct walk w = {.cli = cli, .visit = add_node, .arg = &a};
    int status;

    if (!args_number(args, cli, 'd', 0, INT32_MAX, &a.max_depth)) {
        return EXIT_USAGE;
    }
    status = walk_tree(&w, args->n_words > 0 ? args->words[0] : "/");
    if (status != EXIT_OK && status != EXIT_REFUSED) {
        a.max_depth = -1; /* no sums of half a tree */
    }
    close_sums(&a, 0);
    if (a.has_begun) {
        json_close('[');
    }
    free(a.open);
    return status;
}

static const struct option_spec du_options[] = {
    {'d', "max-depth", "NUMBER", "lines for nodes down to this below PATH; 1 by default"},
    {0, NULL, NULL, NULL}};

const struct command command_du = {.name = "du",
                                   .synopsis = "[-d DEPTH] [PATH]",
                                   .summary =
                                       "print bytes of data and number of nodes of each subtree",
                                   .options = du_options,
                                   .max_words = 1,
                                   .run = run_du};
