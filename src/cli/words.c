/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - four-letter words: what each server of the list says of itself. */
#include "cli/words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "look/ask.h"
#include "tls/tls.h"
#include "wire/server_list.h"

/* Who is told of the answers. */
struct hearer {
    words_fn fn;
    void *arg;
    bool is_quiet; /* about those who do not answer */
};

int words_open_tls(const struct cli *cli, const struct server_list *list, struct tls_context **out)
{
    struct tls_settings settings = {.key.path = cli->security[CLI_TLS_CERTIFICATE],
                                    .key_path = cli->security[CLI_TLS_KEY],
                                    .trust.path = cli->security[CLI_TLS_CA]};
    const char *name = cli->security[CLI_TLS_NAME];
    struct tls_fault fault = {.text = "no memory"};

    *out = NULL;
    if (list->is_secure && name != NULL && name[0] == '\0') {
        cli_error(cli, "TLS: server_name is empty"); /* as the client says it */
        return EXIT_USAGE;
    }
    if (list->is_secure && tls_context_new(&settings, out, &fault) != PAWL_OK) {
        cli_error(cli, "TLS: %s", fault.text);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

static bool has_signal(void)
{
    return cli_signal() != 0;
}

int words_ask_one(struct cli *cli, const char *word, const struct server_place *place,
                  struct tls_context *tls, struct strbuf *answer, char *why, size_t why_size)
{
    struct ask_options options = {.tls = tls,
                                  .tls_name = cli->security[CLI_TLS_NAME],
                                  .timeout_ms = cli->connect_timeout_ms,
                                  .is_over = has_signal};

    switch (ask_server(word, place, &options, answer, why, why_size)) {
    case ASK_UNREACHABLE:
        return EXIT_UNREACHABLE;
    case ASK_FORBIDDEN:
        return EXIT_REFUSED;
    default:
        return EXIT_OK;
    }
}

static int ask_place(struct cli *cli, const char *word, const struct server_place *place,
                     struct tls_context *tls, bool is_one_of_many, const struct hearer *hearer)
{
    char name[512], why[1024];
    struct strbuf answer;
    int status;

    strbuf_init(&answer, WORDS_ANSWER_MAX);
    ask_name(place, name, sizeof(name));
    status = words_ask_one(cli, word, place, tls, &answer, why, sizeof(why));
    if (status == EXIT_OK) {
        hearer->fn(name, (struct pawl_bytes){answer.data, answer.len}, is_one_of_many, hearer->arg);
    } else if (cli_signal() == 0 && !hearer->is_quiet) {
        cli_error(cli, "%s: %s", name, why);
    }
    strbuf_fini(&answer);
    return status;
}

void words_text(struct strbuf *answer, const char *name, char *out, size_t size)
{
    const char *at = strstr(strbuf_cstr(answer), name);
    size_t len = at != NULL ? strcspn(at + strlen(name), "\r\n") : 0;

    snprintf(out, size, "%.*s", (int)len, at != NULL ? at + strlen(name) : "");
}

/* Every server is asked; the first failure is the status. */
static int ask_servers(struct cli *cli, const char *word, const char *servers,
                       const struct hearer *hearer)
{
    struct tls_context *tls;
    struct server_list list;
    char why[256];
    int status;
    bool can_ask;

    if (server_list_parse(servers, &list) != PAWL_OK) {
        server_list_explain(servers, why, sizeof(why));
        cli_error(cli, "the list of servers: %s", why);
        return EXIT_USAGE;
    }
    status = words_open_tls(cli, &list, &tls);
    can_ask = status == EXIT_OK;
    for (size_t i = 0; can_ask && i < list.n && cli_signal() == 0; i++) {
        int one = ask_place(cli, word, &list.items[i], tls, list.n > 1, hearer);

        status = status == EXIT_OK ? one : status;
    }
    tls_context_unref(tls);
    server_list_fini(&list);
    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : status;
}

/* The server of a directory lives as long as somebody uses it: so we do. */
static int ask_directory(struct cli *cli, const char *word, const char *directory,
                         const struct hearer *hearer)
{
    struct strbuf servers;
    int status;

    cli_catch_signals();
    status = cli->client != NULL ? EXIT_OK : cli_connect(cli);
    if (status == EXIT_OK) {
        strbuf_init(&servers, STRBUF_NO_LIMIT);
        strbuf_printf(&servers, "unix:%s/socket", directory);
        status = ask_servers(cli, word, strbuf_cstr(&servers), hearer);
        strbuf_fini(&servers);
    }
    return status;
}

static int ask_whom(struct cli *cli, const char *word, const struct hearer *hearer)
{
    if (strncmp(cli->servers, "local:", 6) == 0) {
        return ask_directory(cli, word, cli->servers + 6, hearer);
    }
    return ask_servers(cli, word, cli->servers, hearer);
}

int words_ask_all(struct cli *cli, const char *word, words_fn fn, void *arg)
{
    return ask_whom(cli, word, &(struct hearer){.fn = fn, .arg = arg});
}

void words_hear_all(struct cli *cli, const char *word, words_fn fn, void *arg)
{
    ask_whom(cli, word, &(struct hearer){.fn = fn, .arg = arg, .is_quiet = true});
}

/* ---- the command ---- */

static void print_answer(const char *name, struct pawl_bytes answer, bool is_one_of_many, void *arg)
{
    const struct cli *cli = arg;
    const char *text = answer.data;

    if (cli->json) {
        json_open(NULL, '{');
        json_text("server", name);
        json_data("answer", answer);
        json_close('{');
        return;
    }
    if (is_one_of_many) {
        printf("%s:\n", name);
    }
    text_data(answer);
    if (!isatty(STDOUT_FILENO) && text[answer.len - 1] != '\n') {
        putchar('\n');
    }
}

static int run_words(struct cli *cli, const struct args *args)
{
    const char *word = args->words[0];

    if (strlen(word) != 4) {
        cli_error(cli, "'%s' is no word of four letters such as ruok, srvr, stat, mntr or conf",
                  word);
        return EXIT_USAGE;
    }
    return words_ask_all(cli, word, print_answer, cli);
}

static const struct option_spec words_options[] = {{0, NULL, NULL, NULL}};

const struct command command_words = {
    .name = "4lw",
    .synopsis = "WORD",
    .summary = "ask each server of the list a four-letter word: ruok, srvr, mntr, ...",
    .options = words_options,
    .min_words = 1,
    .max_words = 1,
    .opens_itself = true,
    .run = run_words};
