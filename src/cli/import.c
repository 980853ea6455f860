/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - a subtree from the lines of JSON, or the tar, of pawl export.
 *
 * A tree may be larger than any transaction. Whatever ends it, what was done until then is said,
 * and -k goes on from there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/importing.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/line.h"
#include "cli/progress.h"
#include "cli/tar_nodes.h"
#include "wire/path.h"

struct reading {
    struct importing nodes;
    struct cli *cli;
    bool without_acls, is_tar;
    FILE *file;
    int64_t file_bytes; /* 0: it is a pipe */
    struct progress progress;
};

/* As many as are raised within some minutes. */
enum { RAISE_MAX = 1000000 };

static int refuse(const struct reading *r, const char *why)
{
    cli_error(r->cli, "%s; is this from pawl export%s?", why, r->is_tar ? " -t" : "");
    return EXIT_USAGE;
}

static void show_progress(struct reading *r)
{
    const struct importing *im = &r->nodes;

    if (r->progress.is_on) {
        int64_t n = im->n_made + im->n_changed + im->n_kept + im->n_ephemeral;

        progress_step(&r->progress, n, ftello(r->file), r->file_bytes);
    }
}

/* ---- lines and tars ---- */

static int import_line(struct reading *r, const char *text, size_t len)
{
    struct imported n;
    const char *why = imported_parse(text, len, r->without_acls, &n);
    int status = why != NULL ? refuse(r, why) : importing_add(&r->nodes, &n);

    imported_fini(&n);
    return status;
}

static int import_lines(struct reading *r)
{
    struct strbuf line;
    int status = EXIT_OK, number = 0;

    strbuf_init(&line, INPUT_LIMIT_BYTES);
    while (status == EXIT_OK && line_read(r->file, &line)) {
        r->cli->line = ++number;
        if (line.failed) {
            cli_error(r->cli, "larger than %d bytes", INPUT_LIMIT_BYTES);
            status = EXIT_USAGE;
        } else if (line.len > 0) {
            status = import_line(r, (const char *)line.data, line.len);
        }
        show_progress(r);
    }
    r->cli->line = 0;
    strbuf_fini(&line);
    return status;
}

static int import_tar(struct reading *r)
{
    struct tar_nodes nodes;
    int status = EXIT_OK;
    bool is_last = false;

    tar_nodes_init(&nodes, r->file, INPUT_LIMIT_BYTES, r->without_acls);
    while (status == EXIT_OK && !is_last) {
        struct imported n;
        const char *why = tar_nodes_next(&nodes, &n);

        is_last = n.path == NULL;
        if (why != NULL && !ferror(r->file)) {
            status = refuse(r, why);
        } else if (why == NULL && !is_last) {
            status = importing_add(&r->nodes, &n);
        }
        imported_fini(&n);
        show_progress(r);
    }
    tar_nodes_fini(&nodes);
    return status;
}

/* ---- the command ---- */

static int import_file(struct reading *r, const char *name)
{
    struct stat st;
    int status;

    r->file_bytes = fstat(fileno(r->file), &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    progress_begin(&r->progress, true);
    importing_begin(&r->nodes);
    status = r->is_tar ? import_tar(r) : import_lines(r);
    if (cli_signal() != 0) {
        status = EXIT_SIGNAL + cli_signal();
    } else if (status == EXIT_OK && ferror(r->file)) {
        cli_error(r->cli, "%s cannot be read", name);
        status = EXIT_SYSTEM;
    }
    status = importing_end(&r->nodes, status);
    progress_end(&r->progress);
    return status;
}

static void print_counts(const struct importing *im, FILE *to)
{
    fprintf(to,
            "%s%" PRId64 " made, %" PRId64 " changed, %" PRId64 " left as they were, %" PRId64
            " ephemeral left out",
            im->is_dry ? "would be: " : "", im->n_made, im->n_changed, im->n_kept, im->n_ephemeral);
    if (im->n_unknown > 0) {
        fprintf(to, ", %" PRId64 " sent and not answered", im->n_unknown);
    }
    putc('\n', to);
}

static void print_summary(const struct importing *im, int status)
{
    if (status != EXIT_OK) {
        if (im->n_made + im->n_changed + im->n_unknown > 0) {
            fprintf(stderr, "pawl import: until then ");
            print_counts(im, stderr);
        }
        return;
    }
    if (!im->cli->json) {
        print_counts(im, stdout);
        return;
    }
    json_open(NULL, '{');
    json_number("made", im->n_made);
    json_number("changed", im->n_changed);
    json_number("kept", im->n_kept);
    json_number("ephemeral", im->n_ephemeral);
    json_close('{');
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool options_are_good(struct reading *r, const struct args *args)
{
    struct importing *im = &r->nodes;

    if (!path_is_valid(bytes_str(im->top))) {
        cli_report(r->cli, im->top, PAWL_ERR_BAD_ARGUMENTS);
        return false;
    }
    if (im->keeps && im->overwrites) {
        cli_error(r->cli, "what exists is left as it is (-k) or replaced (-o), not both");
        return false;
    }
    return args_number(args, r->cli, 'q', 0, INT32_MAX, &im->counters.limit);
}

static int run_import(struct cli *cli, const struct args *args)
{
    const char *name = args->n_words > 1 ? args->words[1] : "-";
    struct reading r = {.cli = cli,
                        .without_acls = args_has(args, 'A'),
                        .is_tar = args_has(args, 't') || ends_with(name, ".tar"),
                        .nodes = {.cli = cli,
                                  .top = args->words[0],
                                  .keeps = args_has(args, 'k'),
                                  .overwrites = args_has(args, 'o'),
                                  .makes_parents = args_has(args, 'p'),
                                  .is_plain = args_has(args, 'P'),
                                  .is_dry = args_has(args, 'n'),
                                  .counters = {.cli = cli, .limit = RAISE_MAX}}};
    int status;

    if (!options_are_good(&r, args)) {
        return EXIT_USAGE;
    }
    r.file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    if (r.file == NULL) {
        cli_error(cli, "%s: %m", name);
        return EXIT_SYSTEM;
    }
    status = import_file(&r, name);
    print_summary(&r.nodes, status);
    if (r.file != stdin) {
        fclose(r.file);
    }
    return status;
}

static const struct option_spec import_options[] = {
    {'k', "keep", NULL, "leave nodes that exist as they are"},
    {'o', "overwrite", NULL, "replace the data and ACLs of nodes that exist"},
    {'p', "parents", NULL, "make missing parents of PATH"},
    {'A', "no-acls", NULL, "without the ACLs: the nodes are open to everybody"},
    {'P', "plain", NULL, "containers and nodes with a TTL become plain ones"},
    {'q', "sequence", "NUMBER", "raise the counter of a node by so many at most (1000000)"},
    {'t', "tar", NULL, "FILE is a tar, whatever its name"},
    {'n', "dry-run", NULL, "only say what would be done"},
    {0, NULL, NULL, NULL}};

const struct command command_import = {
    .name = "import",
    .synopsis = "[-k | -o] [-p] [-A] [-P] [-q NUMBER] [-t] [-n] PATH [FILE]",
    .summary = "make the nodes that pawl export has printed, below PATH",
    .options = import_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_import};
