/* SPDX-License-Identifier: Apache-2.0 */
/* console.c - `pawl console`: the console's page for the servers that the others commands talk to,
 * on a port of this machine. */
#include <stdio.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/words.h"
#include "console/serve.h"
#include "http/origin.h"
#include "tls/tls.h"
#include "wire/server_list.h"

enum { PORT = 8088 };

static int serve(struct cli *cli, const char *address, int port,
                 const struct console_options *options)
{
    char why[256];
    int bound;
    struct serve *s = serve_open(address, port, options, &bound, why, sizeof(why));

    if (s == NULL) {
        cli_error(cli, "%s", why);
        return EXIT_SYSTEM;
    }
    printf("the console of %s is at http://%s:%d/console (^C ends it)\n", cli->servers, address,
           bound);
    fflush(stdout);
    serve_until(s, cli_signal_fd());
    serve_close(s);
    return EXIT_SIGNAL + cli_signal();
}

static int open_words_tls(const struct cli *cli, struct tls_context **out)
{
    struct server_list list;
    int status = EXIT_OK;

    *out = NULL;
    if (cli_is_secure(cli) && server_list_parse(cli->servers, &list) == PAWL_OK) {
        status = words_open_tls(cli, &list, out);
        server_list_fini(&list);
    }
    return status;
}

static int run_console(struct cli *cli, const struct args *args)
{
    const char *address = args_has(args, 'a') ? args_text(args, 'a') : "127.0.0.1";
    struct pawl_client_options client;
    struct pawl_tls_options tls;
    struct console_options options = {.servers = cli->servers,
                                      .timeout_ms = cli->connect_timeout_ms,
                                      .is_open_to_others = !origin_is_loopback(address)};
    int64_t port = PORT;
    int status;

    if (!args_number(args, cli, 'p', 0, 65535, &port)) {
        return EXIT_USAGE;
    }
    cli_client_options(cli, &client, &tls);
    options.tls = client.tls;
    status = open_words_tls(cli, &options.words_tls);
    if (status == EXIT_OK) {
        cli_catch_signals();
        status = serve(cli, address, (int)port, &options);
    }
    tls_context_unref(options.words_tls);
    return status;
}

static const struct option_spec console_options[] = {
    {'p', "port", "PORT", "where it is served (default 8088; 0: any)"},
    {'a', "address", "ADDRESS",
     "at which address (default 127.0.0.1); with another one nothing is shown before log-in"},
    {0, NULL, NULL, NULL}};

const struct command command_console = {
    .name = "console",
    .synopsis = "[-p PORT] [-a ADDRESS]",
    .summary = "serve a page that shows members, nodes, locks and sessions",
    .options = console_options,
    .opens_itself = true,
    .run = run_console};
