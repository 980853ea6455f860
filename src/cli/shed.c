/* SPDX-License-Identifier: Apache-2.0 */
/* shed.c - `pawl shed`: asks an admin server to send some of its clients away, so that they spread
 * over all servers again after a restart. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/http.h"
#include "cli/json.h"

enum { PERCENT = 10, PAUSE_MS = 1000, SILENCE_MS = 30000, ANSWER_BYTES = 4096 };

static int keep(void *arg, const void *data, size_t len)
{
    strbuf_append(arg, data, len);
    return EXIT_OK;
}

/* The number behind "connections_shed"; -1: there is none. */
static int64_t n_shed(struct strbuf *answer)
{
    const char *at = strstr(strbuf_cstr(answer), "\"connections_shed\" : ");
    long long n = -1;

    return at != NULL && sscanf(at + 21, "%18lld", &n) == 1 ? n : -1;
}

static int shed_once(struct cli *cli, const char *place, int64_t percent, int64_t *out)
{
    struct http_request q = {.place = place,
                             .method = "POST",
                             .path = "/commands/shed_connections",
                             .silence_ms = SILENCE_MS};
    struct http_head head;
    struct strbuf answer;
    char body[40];
    int status;

    snprintf(body, sizeof(body), "{\"percentage\": %d}", (int)percent);
    q.body = (struct pawl_bytes){body, strlen(body)};
    strbuf_init(&answer, ANSWER_BYTES);
    status = http_ask(cli, &q, keep, &answer, &head);
    if (status == EXIT_OK) {
        *out = n_shed(&answer);
        if (*out < 0) {
            cli_error(cli, "%s: says that it does not serve, or does not know the command", place);
            status = EXIT_REFUSED;
        }
    }
    strbuf_fini(&answer);
    return status;
}

static void tell(const struct cli *cli, int64_t n)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_number("connections_shed", n);
        json_close('{');
    } else {
        printf("%lld connections were closed\n", (long long)n);
    }
    fflush(stdout);
}

static int run_shed(struct cli *cli, const struct args *args)
{
    int64_t percent = PERCENT, rounds = 1, n = 0;
    int pause_ms = PAUSE_MS, status = EXIT_OK;

    if (!args_number(args, cli, 'P', 0, 100, &percent) ||
        !args_number(args, cli, 'n', 1, 1000000, &rounds) ||
        !args_duration(args, cli, 'e', &pause_ms)) {
        return EXIT_USAGE;
    }
    cli_catch_signals();
    for (int64_t i = 0; status == EXIT_OK && i < rounds && cli_signal() == 0; i++) {
        if (i > 0) {
            poll(&(struct pollfd){.fd = cli_signal_fd(), .events = POLLIN}, 1, pause_ms);
        }
        status = shed_once(cli, args->words[0], percent, &n);
        if (status == EXIT_OK) {
            tell(cli, n);
        }
    }
    return status;
}

static const struct option_spec shed_options[] = {
    {'P', "percent", "N", "how many of its clients, 0 to 100; 10 if not given"},
    {'n', "rounds", "N", "so often, one after the other"},
    {'e', "every", "DURATION", "between two rounds; 1s if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_shed = {
    .name = "shed",
    .synopsis = "[-P N] [-n N] [-e DURATION] HOST:PORT",
    .summary = "ask the admin server at HOST:PORT to let some idle clients go to other servers",
    .options = shed_options,
    .min_words = 1,
    .max_words = 1,
    .opens_itself = true,
    .run = run_shed};
