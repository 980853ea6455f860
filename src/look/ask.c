/* SPDX-License-Identifier: Apache-2.0 */
#include "look/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/dial.h"
#include "tls/tls.h"
#include "wire/server_list.h"

enum { ADDRESSES_MAX = 16 };

/* One server, asked one word. */
struct asking {
    const char *word;
    const struct server_place *place;
    const struct ask_options *options;
    int64_t deadline_ms;
    struct strbuf *answer;
    size_t len_before; /* of `answer` */
    char *why;         /* there is none; "" otherwise */
    size_t why_size;
};

static bool is_over(const struct asking *a)
{
    return a->options->is_over != NULL && a->options->is_over();
}

static bool wait_for(const struct asking *a, int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left;

    do {
        left = a->deadline_ms - clock_monotonic_ms();
    } while (left > 0 && !is_over(a) && poll(&p, 1, (int)left) < 0 && errno == EINTR);
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
            snprintf(a->why, a->why_size, "no answer in time");
            return false;
        }
        n = recv(fd, part, sizeof(part), MSG_DONTWAIT);
        strbuf_append(a->answer, part, n > 0 ? (size_t)n : 0);
    } while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
    if (a->answer->failed) {
        snprintf(a->why, a->why_size, "the answer is too long");
    } else if (a->answer->len == a->len_before) {
        snprintf(a->why, a->why_size, "hung up without an answer: does it know this word?");
    }
    return a->why[0] == '\0';
}

static bool ask_encrypted(struct asking *a, int fd)
{
    const char *name = a->options->tls_name;
    int64_t left = a->deadline_ms - clock_monotonic_ms();

    return tls_ask(a->options->tls, name != NULL ? name : a->place->name, fd, bytes_str(a->word),
                   SIZE_MAX, left > 0 ? (int)left : 0, a->answer, a->why, a->why_size);
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
    if (error == 0 && a->options->tls != NULL) {
        is_answered = ask_encrypted(a, fd);
        close(fd);
        return is_answered;
    }
    if (error == 0 && send(fd, a->word, strlen(a->word), MSG_NOSIGNAL) < 0) {
        error = errno;
    }
    if (error != 0) {
        snprintf(a->why, a->why_size, "%s", strerror(error));
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

    snprintf(a->why, a->why_size, "the name is not known");
    for (size_t i = 0; i < n; i++) {
        if (ask_address(a, &addresses[i])) {
            return true;
        }
        if (a->answer->len > a->len_before) {
            break; /* half an answer is no reason to ask again */
        }
    }
    return false;
}

void ask_name(const struct server_place *place, char *out, size_t size)
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

    return memmem(a->answer->data + a->len_before, a->answer->len - a->len_before, words,
                  strlen(words)) != NULL;
}

enum ask_outcome ask_server(const char *word, const struct server_place *place,
                            const struct ask_options *options, struct strbuf *answer, char *why,
                            size_t why_size)
{
    struct asking a = {.word = word,
                       .place = place,
                       .options = options,
                       .deadline_ms = clock_monotonic_ms() + options->timeout_ms,
                       .answer = answer,
                       .len_before = answer->len,
                       .why = why,
                       .why_size = why_size};

    if (!ask(&a)) {
        answer->len = a.len_before; /* half an answer is none */
        return ASK_UNREACHABLE;
    }
    if (is_forbidden(&a)) {
        snprintf(why, why_size, "%s is not allowed there; see 4lw.commands.whitelist", word);
        answer->len = a.len_before;
        return ASK_FORBIDDEN;
    }
    return ASK_ANSWERED;
}
