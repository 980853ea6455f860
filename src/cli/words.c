/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - four-letter words: what each server of the list says of itself. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "os/clock.h"
#include "os/dial.h"
#include "wire/server_list.h"

enum { ADDRESSES_MAX = 16, ANSWER_LIMIT_BYTES = 256 << 20 };

/* One server, asked one word. */
struct asking {
    struct cli *cli;
    const char *word;
    const struct server_place *place;
    int64_t deadline_ms;
    struct strbuf answer;
    char why[96]; /* there is none; "" otherwise */
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

static bool ask_address(struct asking *a, const struct address *address)
{
    int fd = dial_start(address);
    int error = fd < 0 ? errno : 0;
    bool is_answered = false;

    a->why[0] = '\0';
    if (fd >= 0) {
        error = wait_for(a, fd, POLLOUT) ? dial_result(fd) : ETIMEDOUT;
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

/* ---- what is printed ---- */

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

static void print_answer(const struct asking *a, const char *name, bool is_one_of_many)
{
    struct pawl_bytes answer = {a->answer.data, a->answer.len};
    const char *text = answer.data;

    if (a->cli->json) {
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

/* Servers say so in the place of an answer. */
static bool is_forbidden(const struct asking *a)
{
    static const char words[] = "is not in the whitelist";

    return memmem(a->answer.data, a->answer.len, words, strlen(words)) != NULL;
}

static int ask_server(struct cli *cli, const char *word, const struct server_place *place,
                      bool is_one_of_many)
{
    struct asking a = {.cli = cli, .word = word, .place = place};
    char name[512];
    int status = EXIT_OK;

    a.deadline_ms = clock_monotonic_ms() + cli->connect_timeout_ms;
    strbuf_init(&a.answer, ANSWER_LIMIT_BYTES);
    name_of(place, name, sizeof(name));
    if (!ask(&a)) {
        status = EXIT_UNREACHABLE;
        if (cli_signal() == 0) {
            cli_error(cli, "%s: %s", name, a.why);
        }
    } else if (is_forbidden(&a)) {
        cli_error(cli, "%s: %s is not allowed there; see 4lw.commands.whitelist", name, word);
        status = EXIT_REFUSED;
    } else {
        print_answer(&a, name, is_one_of_many);
    }
    strbuf_fini(&a.answer);
    return status;
}

/* Every server is asked; the first failure is the status. */
static int ask_servers(struct cli *cli, const char *word, const char *servers)
{
    struct server_list list;
    char why[256];
    int status = EXIT_OK;

    if (server_list_parse(servers, &list) != PAWL_OK) {
        server_list_explain(servers, why, sizeof(why));
        cli_error(cli, "the list of servers: %s", why);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < list.n && cli_signal() == 0; i++) {
        int one = ask_server(cli, word, &list.items[i], list.n > 1);

        status = status == EXIT_OK ? one : status;
    }
    server_list_fini(&list);
    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : status;
}

/* The server of a directory lives as long as somebody uses it: so we do. */
static int ask_directory(struct cli *cli, const char *word, const char *directory)
{
    struct strbuf servers;
    int status;

    cli_catch_signals();
    status = cli_connect(cli);
    if (status == EXIT_OK) {
        strbuf_init(&servers, STRBUF_NO_LIMIT);
        strbuf_printf(&servers, "unix:%s/socket", directory);
        status = ask_servers(cli, word, strbuf_cstr(&servers));
        strbuf_fini(&servers);
    }
    return status;
}

static int run_words(struct cli *cli, const struct args *args)
{
    const char *word = args->words[0];

    if (strlen(word) != 4) {
        cli_error(cli, "'%s' is no word of four letters such as ruok, srvr, stat, mntr or conf",
                  word);
        return EXIT_USAGE;
    }
    if (strncmp(cli->servers, "local:", 6) == 0) {
        return ask_directory(cli, word, cli->servers + 6);
    }
    return ask_servers(cli, word, cli->servers);
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
