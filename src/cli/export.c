/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - a subtree as text: a line of JSON for each node, parents before their children.
 *
 *   {"path":"/","data":"x","acl":[{"scheme":"world","id":"anyone","perms":"cdrwa"}]}
 *   {"path":"/below","data_base64":"/w==","acl":[...]}
 *   {"path":"/below/member","data":null,"acl":[...],"ephemeral":true}
 *
 * Paths are those below the node that was named; "/" is that node itself. import.c reads it. */
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/subtree.h"
#include "cli/walk.h"
#include "wire/path.h"

struct exporting {
    struct cli *cli;
    const char *top;
    bool with_acls;
    bool hides_system; /* the server's own nodes are no part of the tree */
};

static void print_node(const struct exporting *x, const struct walk_node *node,
                       const struct pawl_acls *acls)
{
    const char *below = node->path + (strcmp(x->top, "/") == 0 ? 0 : strlen(x->top));

    json_open(NULL, '{');
    json_text("path", node->depth > 0 ? below : "/");
    json_data("data", node->data);
    if (acls != NULL) {
        json_acls("acl", acls);
    }
    if (node->stat.ephemeral_owner != 0) {
        json_bool("ephemeral", true);
    }
    json_close('{');
}

static int export_with_acls(const struct exporting *x, const struct walk_node *node)
{
    struct pawl_reply *reply;
    int status = EXIT_OK;

    pawl_get_acl(x->cli->client, node->path, &reply);
    if (reply == NULL || reply->err != PAWL_ERR_NO_NODE || node->depth == 0) {
        status = cli_check(x->cli, node->path, reply);
        if (status == EXIT_OK && acls_are_masked(&reply->acls)) {
            cli_error(x->cli,
                      "%s: its ACL is shown to its administrators only; give credentials with "
                      "--auth, or leave ACLs out with -A",
                      node->path);
            status = EXIT_REFUSED;
        }
        if (status == EXIT_OK) {
            print_node(x, node, &reply->acls);
        }
    }
    pawl_reply_free(reply);
    return status;
}

static int export_node(const struct walk_node *node, void *arg)
{
    const struct exporting *x = arg;

    if (!node->is_readable ||
        (x->hides_system && path_is_within(bytes_str(node->path), bytes_str("/zookeeper")))) {
        return EXIT_OK;
    }
    if (x->with_acls) {
        return export_with_acls(x, node);
    }
    print_node(x, node, NULL);
    return EXIT_OK;
}

static int run_export(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct exporting x = {.cli = cli,
                          .top = path,
                          .with_acls = !args_has(args, 'A'),
                          .hides_system = strcmp(path, "/") == 0 && cli_chroot(cli)[0] == '\0'};
    struct walk w = {.cli = cli, .visit = export_node, .arg = &x, .with_data = true};

    return walk_tree(&w, path);
}

static const struct option_spec export_options[] = {{'A', "no-acls", NULL, "without the ACLs"},
                                                    {0, NULL, NULL, NULL}};

const struct command command_export = {
    .name = "export",
    .synopsis = "[-A] [PATH]",
    .summary = "print a subtree for pawl import, a line of JSON for each node",
    .options = export_options,
    .max_words = 1,
    .run = run_export};
