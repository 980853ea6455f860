/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/words.h"
#include "look/mntr.h"
#include "tls/tls.h"
#include "wire/server_list.h"

/* How many others are connected; -1: nobody says. Each answer counts the link that asked for it,
 * and one of them has our session. */
static int64_t count_others(struct cli *cli, const struct server_list *list,
                            struct tls_context *tls)
{
    struct strbuf answer;
    char why[128];
    int64_t n = 0;
    bool is_told = false;

    strbuf_init(&answer, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < list->n && cli_signal() == 0; i++) {
        int64_t here = -1;

        strbuf_clear(&answer);
        if (words_ask_one(cli, "srvr", &list->items[i], tls, &answer, why, sizeof(why)) ==
            EXIT_OK) {
            here = mntr_number((struct pawl_bytes){answer.data, answer.len}, "Connections");
        }
        if (here > 0) {
            n += here - 1;
            is_told = true;
        }
    }
    strbuf_fini(&answer);
    return !is_told ? -1 : n > 0 ? n - 1 : 0;
}

static int64_t others_of(struct cli *cli)
{
    struct strbuf servers;
    struct tls_context *tls;
    struct server_list list;
    int64_t n = -1;

    strbuf_init(&servers, STRBUF_NO_LIMIT);
    if (strncmp(cli->servers, "local:", 6) == 0) {
        strbuf_printf(&servers, "unix:%s/socket", cli->servers + 6);
    } else {
        strbuf_append_str(&servers, cli->servers);
    }
    if (server_list_parse(strbuf_cstr(&servers), &list) == PAWL_OK) {
        if (words_open_tls(cli, &list, &tls) == EXIT_OK) {
            n = count_others(cli, &list, tls);
        }
        tls_context_unref(tls);
        server_list_fini(&list);
    }
    strbuf_fini(&servers);
    return n;
}

/* Only "y" is a yes; the end of the input is none. */
static bool says_yes(void)
{
    char *line = NULL;
    size_t size = 0;
    bool is_yes;

    setvbuf(stdin, NULL, _IONBF, 0);
    cli_wait(STDIN_FILENO);
    is_yes = cli_signal() == 0 && getline(&line, &size, stdin) > 0 &&
             tolower((unsigned char)line[0]) == 'y';
    free(line);
    return is_yes;
}

int bench_may_run(struct cli *cli)
{
    int64_t n = others_of(cli);

    if (n == 0) {
        return EXIT_OK;
    }
    if (n > 0) {
        fprintf(stderr,
                "pawl bench: %s is in use: %" PRId64 " other connection%s will be slower "
                "for it. Go on? [y/N] ",
                cli->servers, n, n == 1 ? "" : "s");
    } else {
        fprintf(stderr, "pawl bench: %s does not say whether others use it. Go on? [y/N] ",
                cli->servers);
    }
    if (says_yes()) {
        return EXIT_OK;
    }
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    fputc('\n', stderr);
    cli_error(cli, "nothing was done; --yes goes on without asking");
    return EXIT_REFUSED;
}
