/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - what differs between two subtrees, of one server or of two. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/subtree.h"
#include "cli/text.h"

static void print_difference(const struct cli *cli, char mark, const char *below)
{
    static const char *const names[] = {['-'] = "removed", ['+'] = "added", ['!'] = "changed"};
    const char *path = below[0] != '\0' ? below : "/";

    if (cli->json) {
        json_open(NULL, '{');
        json_text("difference", names[(int)mark]);
        json_text("path", path);
        json_close('{');
    } else {
        printf("%c ", mark);
        text_line(pawl_str(path));
    }
}

/* EXIT_NO if there is a difference. */
static int compare(const struct cli *cli, const struct subtree *from, const struct subtree *to)
{
    size_t i = 0, j = 0;
    int status = EXIT_OK;

    while (i < from->n || j < to->n) {
        int order = i == from->n ? 1
                    : j == to->n ? -1
                                 : subtree_order(from->nodes[i].below, to->nodes[j].below);

        if (order == 0 && subtree_same_data(&from->nodes[i], &to->nodes[j])) {
            i++;
            j++;
            continue;
        }
        status = EXIT_NO;
        print_difference(cli,
                         order < 0   ? '-'
                         : order > 0 ? '+'
                                     : '!',
                         order > 0 ? to->nodes[j].below : from->nodes[i].below);
        i += order <= 0;
        j += order >= 0;
    }
    return status;
}

static int run_diff(struct cli *cli, const struct args *args)
{
    const char *other = args_text(args, 't');
    struct subtree from = {0}, to = {0};
    int status;

    if (args->n_words < 2 && other == NULL) {
        cli_error(cli, "with what? Another path, or another server with -t");
        return EXIT_USAGE;
    }
    status = subtree_read(&from, cli, args->words[0], EPHEMERALS_TOO, NULL);
    if (status == EXIT_OK && other != NULL) {
        status = cli_change_server(cli, other);
    }
    if (status == EXIT_OK) {
        status = subtree_read(&to, cli, args->words[args->n_words - 1], EPHEMERALS_TOO, NULL);
    }
    if (status == EXIT_OK) {
        status = compare(cli, &from, &to);
    }
    subtree_fini(&from);
    subtree_fini(&to);
    return status;
}

static const struct option_spec diff_options[] = {
    {'t', "to", "SERVERS",
     "the second subtree is on these; without a second path at the same place"},
    {0, NULL, NULL, NULL}};

const struct command command_diff = {
    .name = "diff",
    .synopsis = "[-t SERVERS] PATH [PATH]",
    .summary = "compare names and data of two subtrees: - removed, + added, ! changed",
    .options = diff_options,
    .min_words = 1,
    .max_words = 2,
    .is_apart = true,
    .run = run_diff};
