/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - four-letter words: what each server of the list says of itself. */
#include "cli/words.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "os/clock.h"
#include "os/dial.h"
#include "tls/tls.h"
#include "wire/server_list.h"

enum { ADDRESSES_MAX = 16, ANSWER_LIMIT_BYTES = 256 << 20 };

/* One server, asked one word. */
struct asking {
    struct cli *cli;
    const char *word;
    const struct server_place *place;
    struct tls_context *tls; /* NULL: in plain text */
    int64_t deadline_ms;
    struct strbuf answer;
    char why[1024]; /* there is none; "" otherwise */
};

static bool wait_for(const struct asking *a, int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left;

    do {
        left = a->deadline_ms - clock_monotonic_ms();
    } while (left > 0 && cli_signal() == 0 && poll(&p, 1, (int)left) < 0 && errno == EINTR);
    return p.revents != 0;
}

static void found(void *arg)
{
    eventfd_write(*(const int *)arg, 1);
}

/* How many addresses the server has; 0: nobody knows. */
static size_t addresses_of(const struct asking *a, struct address *out)
{
    int done_fd;
    struct lookup *lookup;
    size_t n = 0;

    if (address_plain(a->place->name, a->place->port, &out[0]) == 1) {
        return 1;
    }
    done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lookup = lookup_start(a->place->name, a->place->port, found, &done_fd);
    if (lookup != NULL && wait_for(a, done_fd, POLLIN)) {
        n = lookup_addresses(lookup, out, ADDRESSES_MAX);
    }
    lookup_free(lookup); /* from here on nobody uses the descriptor */
    close(done_fd);
    return n;
}

/* The answer ends where the server hangs up. False: `why`. */
static bool read_answer(struct asking *a, int fd)
{
    char part[65536];
    ssize_t n;

    do {
        if (!wait_for(a, fd, POLLIN)) {
            snprintf(a->why, sizeof(a->why), "no answer in time");
            return false;
        }
        n = recv(fd, part, sizeof(part), MSG_DONTWAIT);
        strbuf_append(&a->answer, part, n > 0 ? (size_t)n : 0);
    } while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
    if (a->answer.failed) {
        snprintf(a->why, sizeof(a->why), "the answer is too long");
    } else if (a->answer.len == 0) {
        snprintf(a->why, sizeof(a->why), "hung up without an answer: does it know this word?");
    }
    return a->why[0] == '\0';
}

static bool ask_encrypted(struct asking *a, int fd)
{
    const char *name = a->cli->security[CLI_TLS_NAME];
    int64_t left = a->deadline_ms - clock_monotonic_ms();

    return tls_ask(a->tls, name != NULL ? name : a->place->name, fd, bytes_str(a->word), SIZE_MAX,
                   left > 0 ? (int)left : 0, &a->answer, a->why, sizeof(a->why));
}

static bool ask_address(struct asking *a, const struct address *address)
{
    int fd = dial_start(address);
    int error = fd < 0 ? errno : 0;
    bool is_answered = false;

    a->why[0] = '\0';
    if (fd >= 0) {
        error = wait_for(a, fd, POLLOUT) ? dial_result(fd) : ETIMEDOUT;
    }
    if (error == 0 && a->tls != NULL) {
        is_answered = ask_encrypted(a, fd);
        close(fd);
        return is_answered;
    }
    if (error == 0 && send(fd, a->word, strlen(a->word), MSG_NOSIGNAL) < 0) {
        error = errno;
    }
    if (error != 0) {
        snprintf(a->why, sizeof(a->why), "%s", strerror(error));
    } else {
        is_answered = read_answer(a, fd);
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_answered;
}

static bool ask(struct asking *a)
{
    struct address addresses[ADDRESSES_MAX];
    size_t n = addresses_of(a, addresses);

    snprintf(a->why, sizeof(a->why), "the name is not known");
    for (size_t i = 0; i < n; i++) {
        if (ask_address(a, &addresses[i])) {
            return true;
        }
        if (a->answer.len > 0) {
            break; /* half an answer is no reason to ask again */
        }
    }
    return false;
}

static void name_of(const struct server_place *place, char *out, size_t size)
{
    if (place->port == 0) {
        snprintf(out, size, "unix:%s", place->name);
    } else if (strchr(place->name, ':') != NULL) {
        snprintf(out, size, "[%s]:%d", place->name, place->port);
    } else {
        snprintf(out, size, "%s:%d", place->name, place->port);
    }
}

/* Servers say so in the place of an answer. */
static bool is_forbidden(const struct asking *a)
{
    static const char words[] = "is not in the whitelist";

    return memmem(a->answer.data, a->answer.len, words, strlen(words)) != NULL;
}

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

int words_ask_one(struct cli *cli, const char *word, const struct server_place *place,
                  struct tls_context *tls, struct strbuf *answer, char *why, size_t why_size)
{
    struct asking a = {.cli = cli, .word = word, .place = place, .tls = tls};
    int status = EXIT_OK;

    a.deadline_ms = clock_monotonic_ms() + cli->connect_timeout_ms;
    strbuf_init(&a.answer, ANSWER_LIMIT_BYTES);
    if (!ask(&a)) {
        status = EXIT_UNREACHABLE;
    } else if (is_forbidden(&a)) {
        snprintf(a.why, sizeof(a.why), "%s is not allowed there; see 4lw.commands.whitelist", word);
        status = EXIT_REFUSED;
    } else {
        strbuf_append_bytes(answer, strbuf_bytes(&a.answer));
    }
    snprintf(why, why_size, "%s", a.why);
    strbuf_fini(&a.answer);
    return status;
}

static int ask_server(struct cli *cli, const char *word, const struct server_place *place,
                      struct tls_context *tls, bool is_one_of_many, const struct hearer *hearer)
{
    char name[512], why[1024];
    struct strbuf answer;
    int status;

    strbuf_init(&answer, STRBUF_NO_LIMIT);
    name_of(place, name, sizeof(name));
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
        int one = ask_server(cli, word, &list.items[i], tls, list.n > 1, hearer);

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
