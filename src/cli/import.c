/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - a subtree from the lines of JSON, or the tar, of pawl export.
 *
 * Each node is a write of its own: a tree may be larger than any transaction. Whatever ends it,
 * what was done until then is said, and -k goes on from there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/counters.h"
#include "cli/import_line.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/line.h"
#include "cli/progress.h"
#include "cli/tar_nodes.h"
#include "cli/walk.h"
#include "wire/path.h"

struct importing {
    struct cli *cli;
    const char *top;
    bool keeps, overwrites; /* what exists already; neither: it is an error */
    bool makes_parents, without_acls, is_plain, is_dry, is_tar;
    int64_t n_made, n_changed, n_kept, n_ephemeral;
    struct counters counters;
    FILE *file;
    int64_t file_bytes; /* 0: it is a pipe */
    struct progress progress;
};

/* As many as are raised within some minutes. */
enum { RAISE_MAX = 1000000 };

/* ---- writing ---- */

static struct pawl_bytes bytes_for(const struct imported *n)
{
    struct pawl_bytes none = {0};

    return n->has_data
               ? (struct pawl_bytes){n->data.len > 0 ? (const void *)n->data.data : "", n->data.len}
               : none;
}

static int overwrite(struct importing *im, const struct imported *n)
{
    struct pawl_set set = {.size = sizeof(set), .path = n->path, .data = bytes_for(n)};
    struct pawl_set_acl set_acl = {.size = sizeof(set_acl), .path = n->path, .acls = n->acls};
    struct pawl_reply *reply;
    int status;

    pawl_set(im->cli->client, &set, &reply);
    status = cli_check(im->cli, n->path, reply);
    pawl_reply_free(reply);
    if (status == EXIT_OK && n->acls.n > 0) {
        pawl_set_acl(im->cli->client, &set_acl, &reply);
        status = cli_check(im->cli, n->path, reply);
        pawl_reply_free(reply);
    }
    im->n_changed += status == EXIT_OK;
    return status;
}

/* The root is always there. */
static int meet_existing(struct importing *im, const struct imported *n)
{
    if (im->overwrites) {
        if (im->is_dry) {
            im->n_changed++;
            return EXIT_OK;
        }
        return overwrite(im, n);
    }
    if (im->keeps || strcmp(n->path, "/") == 0) {
        im->n_kept++;
        return EXIT_OK;
    }
    cli_error(im->cli,
              "%s exists already; -k leaves such nodes as they are, -o replaces their data",
              n->path);
    return EXIT_CONFLICT;
}

static enum pawl_mode mode_for(const struct importing *im, const struct imported *n)
{
    if (im->is_plain || (!n->is_container && n->ttl_ms == 0)) {
        return PAWL_MODE_PERSISTENT;
    }
    return n->is_container ? PAWL_MODE_CONTAINER : PAWL_MODE_TTL;
}

static int create_node(struct importing *im, const struct imported *n)
{
    struct pawl_create request = {.size = sizeof(request),
                                  .path = n->path,
                                  .data = bytes_for(n),
                                  .mode = mode_for(im, n),
                                  .ttl_ms = im->is_plain ? 0 : n->ttl_ms,
                                  .acls = n->acls,
                                  .flags = im->makes_parents ? PAWL_OP_PARENTS : 0};
    struct pawl_reply *reply;
    int status;

    if (strcmp(n->path, "/") == 0) {
        return meet_existing(im, n);
    }
    pawl_create(im->cli->client, &request, &reply);
    if (reply != NULL && reply->err == PAWL_ERR_NODE_EXISTS) {
        status = meet_existing(im, n);
    } else if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
        cli_error(im->cli, "%s: its parent does not exist; -p makes it", n->path);
        status = EXIT_NO_NODE;
    } else if (reply != NULL && reply->err == PAWL_ERR_UNIMPLEMENTED) {
        cli_error(im->cli, "%s: this server has no %s; -P makes plain nodes of them", n->path,
                  request.mode == PAWL_MODE_TTL ? "nodes with a TTL" : "containers");
        status = EXIT_REFUSED;
    } else {
        status = cli_check(im->cli, n->path, reply);
        im->n_made += status == EXIT_OK;
    }
    pawl_reply_free(reply);
    return status;
}

/* What create_node() would come to. */
static int look_only(struct importing *im, const struct imported *n)
{
    struct pawl_reply *reply;
    int status = EXIT_OK;

    pawl_exists(im->cli->client, n->path, NULL, &reply);
    if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
        im->n_made++;
    } else {
        status = cli_check(im->cli, n->path, reply);
        if (status == EXIT_OK) {
            status = meet_existing(im, n);
        }
    }
    pawl_reply_free(reply);
    return status;
}

/* Below the top that it was exported from, the node is at `path`. */
static void move_below(struct imported *n, const char *top)
{
    char *path = strcmp(n->path, "/") == 0 ? must_strdup(top) : path_joined(top, n->path + 1);

    free(n->path);
    n->path = path;
}

static int import_node(struct importing *im, struct imported *n)
{
    int status;

    if (n->is_ephemeral) {
        im->n_ephemeral++;
        return EXIT_OK;
    }
    move_below(n, im->top);
    if (im->is_dry) {
        return look_only(im, n);
    }
    status = counters_pass(&im->counters, n->path, n->sequence);
    return status == EXIT_OK ? create_node(im, n) : status;
}

static int refuse(const struct importing *im, const char *why)
{
    cli_error(im->cli, "%s; is this from pawl export%s?", why, im->is_tar ? " -t" : "");
    return EXIT_USAGE;
}

static void show_progress(struct importing *im)
{
    if (im->progress.is_on) {
        int64_t n = im->n_made + im->n_changed + im->n_kept + im->n_ephemeral;

        progress_step(&im->progress, n, ftello(im->file), im->file_bytes);
    }
}

/* ---- lines and tars ---- */

static int import_line(struct importing *im, const char *text, size_t len)
{
    struct imported n;
    const char *why = imported_parse(text, len, im->without_acls, &n);
    int status = why != NULL ? refuse(im, why) : import_node(im, &n);

    imported_fini(&n);
    return status;
}

static int import_lines(struct importing *im)
{
    struct strbuf line;
    int status = EXIT_OK, number = 0;

    strbuf_init(&line, INPUT_LIMIT_BYTES);
    while (status == EXIT_OK && line_read(im->file, &line)) {
        im->cli->line = ++number;
        if (line.failed) {
            cli_error(im->cli, "larger than %d bytes", INPUT_LIMIT_BYTES);
            status = EXIT_USAGE;
        } else if (line.len > 0) {
            status = import_line(im, (const char *)line.data, line.len);
        }
        show_progress(im);
    }
    im->cli->line = 0;
    strbuf_fini(&line);
    return status;
}

static int import_tar(struct importing *im)
{
    struct tar_nodes nodes;
    int status = EXIT_OK;
    bool is_last = false;

    tar_nodes_init(&nodes, im->file, INPUT_LIMIT_BYTES, im->without_acls);
    while (status == EXIT_OK && !is_last) {
        struct imported n;
        const char *why = tar_nodes_next(&nodes, &n);

        is_last = n.path == NULL;
        if (why != NULL && !ferror(im->file)) {
            status = refuse(im, why);
        } else if (why == NULL && !is_last) {
            status = import_node(im, &n);
        }
        imported_fini(&n);
        show_progress(im);
    }
    tar_nodes_fini(&nodes);
    return status;
}

/* ---- the command ---- */

static int import_file(struct importing *im, const char *name)
{
    struct stat st;
    int status;

    im->file_bytes = fstat(fileno(im->file), &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    progress_begin(&im->progress, true);
    status = im->is_tar ? import_tar(im) : import_lines(im);
    if (cli_signal() != 0) {
        status = EXIT_SIGNAL + cli_signal();
    } else if (status == EXIT_OK && ferror(im->file)) {
        cli_error(im->cli, "%s cannot be read", name);
        status = EXIT_SYSTEM;
    }
    status = counters_end(&im->counters, status);
    progress_end(&im->progress);
    return status;
}

static void print_counts(const struct importing *im, FILE *to)
{
    fprintf(to,
            "%s%" PRId64 " made, %" PRId64 " changed, %" PRId64 " left as they were, %" PRId64
            " ephemeral left out\n",
            im->is_dry ? "would be: " : "", im->n_made, im->n_changed, im->n_kept, im->n_ephemeral);
}

static void print_summary(const struct importing *im, int status)
{
    if (status != EXIT_OK) {
        if (im->n_made + im->n_changed > 0) {
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

static int run_import(struct cli *cli, const struct args *args)
{
    struct importing im = {.cli = cli,
                           .top = args->words[0],
                           .keeps = args_has(args, 'k'),
                           .overwrites = args_has(args, 'o'),
                           .makes_parents = args_has(args, 'p'),
                           .without_acls = args_has(args, 'A'),
                           .is_plain = args_has(args, 'P'),
                           .is_dry = args_has(args, 'n'),
                           .counters = {.cli = cli, .limit = RAISE_MAX}};
    const char *name = args->n_words > 1 ? args->words[1] : "-";
    int status;

    if (!path_is_valid(bytes_str(im.top))) {
        return cli_report(cli, im.top, PAWL_ERR_BAD_ARGUMENTS);
    }
    if (im.keeps && im.overwrites) {
        cli_error(cli, "what exists is left as it is (-k) or replaced (-o), not both");
        return EXIT_USAGE;
    }
    if (!args_number(args, cli, 'q', 0, INT32_MAX, &im.counters.limit)) {
        return EXIT_USAGE;
    }
    im.is_tar = args_has(args, 't') || ends_with(name, ".tar");
    im.file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    if (im.file == NULL) {
        cli_error(cli, "%s: %m", name);
        return EXIT_SYSTEM;
    }
    status = import_file(&im, name);
    print_summary(&im, status);
    if (im.file != stdin) {
        fclose(im.file);
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
