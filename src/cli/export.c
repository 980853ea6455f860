/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - a subtree for pawl import: a line of JSON for each node, or a tar (exported.h).
 *
 * Paths are those below the node that was named; "/" is that node itself. Servers do not show which
 * nodes are containers or have a TTL; their files do, see `pawl at`. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/counters.h"
#include "cli/exported.h"
#include "cli/progress.h"
#include "cli/subtree.h"
#include "cli/walk.h"
#include "wire/path.h"

struct exporting {
    struct cli *cli;
    const char *top;
    bool with_acls;
    bool hides_system; /* the server's own nodes are no part of the tree */
    enum export_form form;
    bool is_cut; /* something has ended it */
    int64_t n_nodes, n_expected;
    struct progress progress;
};

static void print_node(struct exporting *x, const struct walk_node *node)
{
    const char *below = node->path + (strcmp(x->top, "/") == 0 ? 0 : strlen(x->top));
    struct exported n = {.path = node->depth > 0 ? below : "/",
                         .data = node->data,
                         .acls = x->with_acls ? &node->acls : NULL,
                         .is_ephemeral = node->stat.ephemeral_owner != 0,
                         .has_children = node->stat.n_children > 0,
                         .sequence = counter_of(&node->stat),
                         .mtime_ms = node->stat.mtime};

    exported_print(&n, x->form);
    progress_step(&x->progress, x->n_nodes, x->n_nodes, x->n_expected);
    x->n_nodes++;
}

static int export_node(const struct walk_node *node, void *arg)
{
    struct exporting *x = arg;

    if (!node->is_readable ||
        (x->hides_system && path_is_within(bytes_str(node->path), bytes_str("/zookeeper")))) {
        return EXIT_OK;
    }
    if (x->with_acls && acls_are_masked(&node->acls)) {
        cli_error(
            x->cli,
            "%s: its ACL is shown to its administrators only; give credentials with --auth, or "
            "leave ACLs out with -A",
            node->path);
        x->is_cut = true;
        return EXIT_REFUSED;
    }
    print_node(x, node);
    return EXIT_OK;
}

/* How much there is to do is worth a request only if somebody looks. */
static void begin_progress(struct exporting *x)
{
    struct pawl_reply *reply = NULL;

    progress_begin(&x->progress, !isatty(STDOUT_FILENO));
    if (x->progress.is_on) {
        pawl_count_all_children(x->cli->client, x->top, &reply);
        x->n_expected = reply != NULL && reply->err == PAWL_OK ? reply->number + 1 : 0;
        pawl_reply_free(reply);
    }
}

static int run_export(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct exporting x = {.cli = cli,
                          .top = path,
                          .with_acls = !args_has(args, 'A'),
                          .hides_system = strcmp(path, "/") == 0 && cli_chroot(cli)[0] == '\0',
                          .form = args_has(args, 't') ? EXPORT_TAR : EXPORT_LINES};
    struct walk w = {
        .cli = cli, .visit = export_node, .arg = &x, .with_data = true, .with_acls = x.with_acls};
    int status;

    begin_progress(&x);
    status = walk_tree(&w, path);
    x.is_cut |= status != EXIT_OK && status != EXIT_REFUSED;
    if (!x.is_cut) { /* whatever could be read is there */
        exported_end(x.form);
    }
    progress_end(&x.progress);
    if (x.is_cut && x.n_nodes > 0) {
        cli_error(cli, "this is not the whole export: it ended after %" PRId64 " node%s", x.n_nodes,
                  x.n_nodes == 1 ? "" : "s");
    }
    return status;
}

static bool is_good_export(struct cli *cli, const struct args *args)
{
    if (args_has(args, 't') && isatty(STDOUT_FILENO)) {
        cli_error(cli, "a tar is nothing for a terminal; send it to a file: > nodes.tar");
        return false;
    }
    return true;
}

static const struct option_spec export_options[] = {
    {'A', "no-acls", NULL, "without the ACLs"},
    {'t', "tar", NULL, "a tar instead of lines of JSON"},
    {0, NULL, NULL, NULL}};

const struct command command_export = {
    .name = "export",
    .synopsis = "[-A] [-t] [PATH]",
    .summary = "print a subtree for pawl import: a line of JSON for each node, or a tar",
    .options = export_options,
    .max_words = 1,
    .is_good = is_good_export,
    .run = run_export};
