/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - a subtree from the lines of pawl export.
 *
 * Each node is a write of its own: a tree may be larger than any transaction. Whatever ends it,
 * what was done until then is said, and -k goes on from there. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/line.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "wire/path.h"

struct importing {
    struct cli *cli;
    const char *top;
    bool keeps, overwrites; /* what exists already; neither: it is an error */
    bool makes_parents, without_acls, is_dry;
    int64_t n_made, n_changed, n_kept, n_ephemeral;
};

/* A line. */
struct imported {
    char *path; /* where it goes */
    struct strbuf data;
    bool has_data;
    struct pawl_acls acls;
    bool is_ephemeral;
};

/* ---- reading ---- */

static bool base64_decode(const char *text, struct strbuf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(text);
    uint32_t bits = 0;
    int n_bits = 0;

    if (len % 4 != 0) {
        return false;
    }
    while (len > 0 && text[len - 1] == '=') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        const char *at = strchr(digits, text[i]);
        char byte;

        if (at == NULL) {
            return false;
        }
        bits = bits << 6 | (uint32_t)(at - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            byte = (char)(bits >> n_bits & 0xff);
            strbuf_append(out, &byte, 1);
        }
    }
    return true;
}

static bool data_of(const json_t *line, struct imported *out)
{
    const json_t *data = json_object_get(line, "data");
    const json_t *base64 = json_object_get(line, "data_base64");

    out->has_data = base64 != NULL || (data != NULL && !json_is_null(data));
    if (base64 != NULL) {
        return json_is_string(base64) && base64_decode(json_string_value(base64), &out->data);
    }
    if (json_is_string(data)) {
        strbuf_append(&out->data, json_string_value(data), json_string_length(data));
    }
    return data == NULL || json_is_null(data) || json_is_string(data);
}

static bool acl_of(const json_t *entry, struct pawl_acl *out)
{
    const char *scheme = json_string_value(json_object_get(entry, "scheme"));
    const char *id = json_string_value(json_object_get(entry, "id"));
    const char *perms = json_string_value(json_object_get(entry, "perms"));

    if (scheme == NULL || id == NULL || perms == NULL || text_perms_of(perms) == 0) {
        return false;
    }
    *out = (struct pawl_acl){
        .perms = text_perms_of(perms), .scheme = must_strdup(scheme), .id = must_strdup(id)};
    return true;
}

static bool acls_of(const json_t *line, struct pawl_acls *out)
{
    const json_t *list = json_object_get(line, "acl");
    size_t n = json_array_size(list);
    struct pawl_acl *items = must_zalloc((n + 1) * sizeof(*items));
    size_t i = 0;

    while (i < n && acl_of(json_array_get(list, i), &items[i])) {
        i++;
    }
    *out = (struct pawl_acls){.items = items, .n = i};
    return i == n && (list == NULL || json_is_array(list));
}

/* NULL: it is good. */
static const char *take_line(const struct importing *im, const json_t *line, struct imported *out)
{
    const char *path = json_string_value(json_object_get(line, "path"));

    if (path == NULL || !path_is_valid(bytes_str(path))) {
        return "no \"path\" of a node in it";
    }
    out->path = strcmp(path, "/") == 0 ? must_strdup(im->top) : path_joined(im->top, path + 1);
    out->is_ephemeral = json_is_true(json_object_get(line, "ephemeral"));
    if (!data_of(line, out)) {
        return "\"data\" is neither text nor null, or \"data_base64\" no base64";
    }
    if (!im->without_acls && !acls_of(line, &out->acls)) {
        return "\"acl\" is no list of \"scheme\", \"id\" and \"perms\"";
    }
    return NULL;
}

static void imported_fini(struct imported *n)
{
    free(n->path);
    strbuf_fini(&n->data);
    text_acls_free(&n->acls);
}

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

static int create_node(struct importing *im, const struct imported *n)
{
    struct pawl_create request = {.size = sizeof(request),
                                  .path = n->path,
                                  .data = bytes_for(n),
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

static int import_line(struct importing *im, const char *text, size_t len)
{
    struct imported n = {0};
    json_error_t error;
    json_t *line = json_loadb(text, len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    const char *why = "no line of JSON";
    int status = EXIT_USAGE;

    strbuf_init(&n.data, STRBUF_NO_LIMIT);
    if (line != NULL) {
        why = take_line(im, line, &n);
    }
    if (why != NULL) {
        cli_error(im->cli, "%s; is this from pawl export?", why);
    } else if (n.is_ephemeral) {
        im->n_ephemeral++;
        status = EXIT_OK;
    } else {
        status = im->is_dry ? look_only(im, &n) : create_node(im, &n);
    }
    json_decref(line);
    imported_fini(&n);
    return status;
}

/* ---- the command ---- */

static int import_file(struct importing *im, FILE *file, const char *name)
{
    struct strbuf line;
    int status = EXIT_OK, number = 0;

    strbuf_init(&line, INPUT_LIMIT_BYTES);
    while (status == EXIT_OK && line_read(file, &line)) {
        im->cli->line = ++number;
        if (line.failed) {
            cli_error(im->cli, "larger than %d bytes", INPUT_LIMIT_BYTES);
            status = EXIT_USAGE;
        } else if (line.len > 0) {
            status = import_line(im, (const char *)line.data, line.len);
        }
    }
    im->cli->line = 0;
    strbuf_fini(&line);
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    if (status == EXIT_OK && ferror(file)) {
        cli_error(im->cli, "%s cannot be read", name);
        status = EXIT_SYSTEM;
    }
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

static int run_import(struct cli *cli, const struct args *args)
{
    struct importing im = {.cli = cli,
                           .top = args->words[0],
                           .keeps = args_has(args, 'k'),
                           .overwrites = args_has(args, 'o'),
                           .makes_parents = args_has(args, 'p'),
                           .without_acls = args_has(args, 'A'),
                           .is_dry = args_has(args, 'n')};
    const char *name = args->n_words > 1 ? args->words[1] : "-";
    FILE *file = strcmp(name, "-") == 0 ? stdin : NULL;
    int status;

    if (!path_is_valid(bytes_str(im.top))) {
        return cli_report(cli, im.top, PAWL_ERR_BAD_ARGUMENTS);
    }
    if (im.keeps && im.overwrites) {
        cli_error(cli, "what exists is left as it is (-k) or replaced (-o), not both");
        return EXIT_USAGE;
    }
    if (file == NULL && (file = fopen(name, "re")) == NULL) {
        cli_error(cli, "%s: %m", name);
        return EXIT_SYSTEM;
    }
    status = import_file(&im, file, name);
    print_summary(&im, status);
    if (file != stdin) {
        fclose(file);
    }
    return status;
}

static const struct option_spec import_options[] = {
    {'k', "keep", NULL, "leave nodes that exist as they are"},
    {'o', "overwrite", NULL, "replace the data and ACLs of nodes that exist"},
    {'p', "parents", NULL, "make missing parents of PATH"},
    {'A', "no-acls", NULL, "without the ACLs: the nodes are open to everybody"},
    {'n', "dry-run", NULL, "only say what would be done"},
    {0, NULL, NULL, NULL}};

const struct command command_import = {
    .name = "import",
    .synopsis = "[-k | -o] [-p] [-A] [-n] PATH [FILE]",
    .summary = "make the nodes that pawl export has printed, below PATH",
    .options = import_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_import};
