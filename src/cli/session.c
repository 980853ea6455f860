/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - what belongs to our session: who we are, which nodes and watches it has. Most of it
 * is of use in a shell only, where a session lasts. */
#include <stdio.h>
#include <stdlib.h>

#include <pawl/version.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/settings.h"

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};

/* ---- addauth ---- */

/* For the sessions that this shell begins later, too. */
static int keep_auth(struct cli *cli, const char *scheme, const char *auth)
{
    struct strbuf text;
    int status;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_printf(&text, "%s:%s", scheme, auth);
    status = settings_add_auth(cli, "this", strbuf_cstr(&text));
    strbuf_fini(&text);
    return status;
}

static int run_addauth(struct cli *cli, const struct args *args)
{
    const char *scheme = args->words[0], *credentials = args->n_words > 1 ? args->words[1] : "";
    struct pawl_auth auth = {.scheme = scheme, .auth = pawl_str(credentials)};
    struct pawl_reply *reply;
    int status;

    pawl_add_auth(cli->client, &auth, &reply);
    status = cli_check(cli, scheme, reply);
    pawl_reply_free(reply);
    return status == EXIT_OK ? keep_auth(cli, scheme, credentials) : status;
}

const struct command command_addauth = {.name = "addauth",
                                        .synopsis = "SCHEME [AUTH]",
                                        .summary =
                                            "give credentials to the server: digest user:password",
                                        .options = no_options,
                                        .min_words = 1,
                                        .max_words = 2,
                                        .run = run_addauth};

/* ---- removewatches ---- */

static bool kind_of(const struct args *args, const struct cli *cli, int *out)
{
    bool c = args_has(args, 'c'), d = args_has(args, 'd'), a = args_has(args, 'a');

    if (c + d + a > 1) {
        cli_error(cli, "one of -c, -d and -a");
        return false;
    }
    *out = c ? PAWL_WATCHES_CHILDREN : d ? PAWL_WATCHES_DATA : PAWL_WATCHES_ANY;
    *out |= args_has(args, 'l') ? PAWL_WATCHES_LOCAL : 0;
    return true;
}

static int run_removewatches(struct cli *cli, const struct args *args)
{
    struct pawl_reply *reply;
    int kind, status;

    if (!kind_of(args, cli, &kind)) {
        return EXIT_USAGE;
    }
    pawl_unwatch(cli->client, args->words[0], kind, NULL, &reply);
    status = cli_check(cli, args->words[0], reply);
    pawl_reply_free(reply);
    return status;
}

static const struct option_spec removewatches_options[] = {
    {'c', "children", NULL, "of the list of children only"},
    {'d', "data", NULL, "of the data only"},
    {'a', "any", NULL, "of any kind; so without options"},
    {'l', "local", NULL, "forget them here, whatever the server says"},
    {0, NULL, NULL, NULL}};

const struct command command_removewatches = {
    .name = "removewatches",
    .synopsis = "[-c | -d | -a] [-l] PATH",
    .summary = "remove the watches that this shell has of a node",
    .options = removewatches_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_removewatches};

/* ---- getEphemerals ---- */

static int run_own_ephemerals(struct cli *cli, const struct args *args)
{
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct pawl_reply *reply;
    int status;

    pawl_ephemerals(cli->client, path, &reply);
    status = cli_check_read(cli, path, reply);
    if (status == EXIT_OK) {
        cli_print_names(cli, &reply->children);
    }
    pawl_reply_free(reply);
    return status;
}

const struct command command_own_ephemerals = {
    .name = "getEphemerals",
    .synopsis = "[PREFIX]",
    .summary = "list the ephemeral nodes of this shell; pawl ephemerals lists all",
    .options = no_options,
    .max_words = 1,
    .run = run_own_ephemerals};

/* ---- version ---- */

static int run_version(struct cli *cli, const struct args *args)
{
    (void)args;
    if (cli->json) {
        json_open(NULL, '{');
        json_text("version", PAWL_VERSION);
        json_close('{');
    } else {
        puts("pawl " PAWL_VERSION);
    }
    return EXIT_OK;
}

const struct command command_version = {.name = "version",
                                        .synopsis = "",
                                        .summary = "print the version of pawl",
                                        .options = no_options,
                                        .opens_itself = true,
                                        .is_of_shell = true,
                                        .run = run_version};
