/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/http.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"

enum { PART_BYTES = 64 * 1024, REASON_BYTES = 512 };

struct asking {
    struct cli *cli;
    const struct http_request *request;
    struct http_head *head;
    http_body_fn body;
    void *arg;
    int fd;
    int64_t body_bytes;
    char reason[REASON_BYTES]; /* the beginning of a body that is an error */
    size_t reason_len;
};

static int fail(const struct asking *a, int status, const char *what)
{
    cli_error(a->cli, "%s: %s", a->request->place, what);
    return status;
}

/* ---- the connection ---- */

static void limit_time(int fd, int option, int ms)
{
    struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t));
}

/* errno tells why not. */
static int connect_to(const struct asking *a, const struct addrinfo *to)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err;

    if (fd < 0) {
        return -1;
    }
    limit_time(fd, SO_SNDTIMEO, a->cli->connect_timeout_ms);
    limit_time(fd, SO_RCVTIMEO, a->request->silence_ms);
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) {
        return fd;
    }
    err = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    errno = err;
    return -1;
}

/* "http://[::1]:8080/" into what is between. False: it is none of these. */
static bool split_place(const char *place, char **host, char **port)
{
    const char *start = strncmp(place, "http://", 7) == 0 ? place + 7 : place;
    size_t len = strcspn(start, "/");
    const char *colon = memrchr(start, ':', len);
    bool is_in_brackets = *start == '[' && colon != NULL && colon[-1] == ']';

    if (colon == NULL || colon == start || start[len] != '\0' ||
        strspn(colon + 1, "0123456789") != len - (size_t)(colon + 1 - start) || colon[1] == '\0') {
        return false;
    }
    *host = strndup(start + is_in_brackets, (size_t)(colon - start) - (is_in_brackets ? 2 : 0));
    *port = strdup(colon + 1);
    return true;
}

static int open_link(struct asking *a)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL, *item;
    char *host = NULL, *port = NULL;
    int rc;

    if (!split_place(a->request->place, &host, &port)) {
        return fail(a, EXIT_USAGE, "is no HOST:PORT of an admin server");
    }
    rc = getaddrinfo(host, port, &hints, &list);
    for (item = list; rc == 0 && item != NULL && a->fd < 0; item = item->ai_next) {
        a->fd = connect_to(a, item);
    }
    if (rc != 0) {
        fail(a, EXIT_UNREACHABLE, gai_strerror(rc));
    } else if (a->fd < 0) {
        fail(a, EXIT_UNREACHABLE, strerror(errno));
    }
    if (list != NULL) {
        freeaddrinfo(list);
    }
    free(host);
    free(port);
    return a->fd < 0 ? EXIT_UNREACHABLE : EXIT_OK;
}

/* ---- the request ---- */

static void write_request(const struct asking *a, struct strbuf *out)
{
    const struct http_request *q = a->request;
    const char *place = strncmp(q->place, "http://", 7) == 0 ? q->place + 7 : q->place;

    strbuf_printf(out, "%s %s HTTP/1.0\r\nHost: %s\r\n", q->method, q->path, place);
    if (a->cli->n_auths > 0) {
        const struct pawl_auth *who = &a->cli->auths[0];

        strbuf_printf(out, "Authorization: %s ", who->scheme);
        strbuf_append(out, who->auth.data, who->auth.len);
        strbuf_append_str(out, "\r\n");
    } else {
        strbuf_append_str(out, "Authorization: ip\r\n");
    }
    if (q->body.len > 0) {
        strbuf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      q->body.len);
    }
    strbuf_append_str(out, "\r\n");
    strbuf_append(out, q->body.data, q->body.len);
}

static int send_request(struct asking *a)
{
    struct strbuf out;
    size_t at = 0;
    ssize_t n = 0;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    write_request(a, &out);
    while (at < out.len && (n = send(a->fd, out.data + at, out.len - at, MSG_NOSIGNAL)) > 0) {
        at += (size_t)n;
    }
    strbuf_fini(&out);
    return n < 0 ? fail(a, EXIT_UNREACHABLE, strerror(errno)) : EXIT_OK;
}

/* ---- the answer ---- */

static int take_body(struct asking *a, const char *data, size_t len)
{
    size_t room = sizeof(a->reason) - 1 - a->reason_len;

    a->body_bytes += (int64_t)len;
    if (a->head->status == 200) {
        return len > 0 ? a->body(a->arg, data, len) : EXIT_OK;
    }
    len = len < room ? len : room;
    memcpy(a->reason + a->reason_len, data, len);
    a->reason_len += len;
    return EXIT_OK;
}

/* Up to the next bytes, or the end: 0; -1: the failure was reported. */
static ssize_t receive(struct asking *a, char *part)
{
    ssize_t n;

    do {
        n = recv(a->fd, part, PART_BYTES, 0);
    } while (n < 0 && errno == EINTR && cli_signal() == 0);
    if (n < 0 && cli_signal() == 0) {
        fail(a, EXIT_UNREACHABLE, errno == EAGAIN ? "nothing more comes from it" : strerror(errno));
    }
    return n;
}

static int read_head(struct asking *a, char *part)
{
    char *text = must_alloc(HTTP_HEAD_BYTES + PART_BYTES);
    size_t len = 0;
    int used = 0, status = EXIT_OK;

    while (used == 0) {
        ssize_t n = receive(a, part);

        if (n <= 0) {
            free(text);
            return n < 0 ? EXIT_UNREACHABLE
                         : fail(a, EXIT_UNREACHABLE, "hung up without an answer");
        }
        memcpy(text + len, part, (size_t)n);
        len += (size_t)n;
        used = http_head_read(text, len, a->head);
    }
    if (used < 0 || a->head->is_chunked) {
        status = fail(a, EXIT_REFUSED, "does not answer as an admin server does");
    } else {
        status = take_body(a, text + used, len - (size_t)used);
    }
    free(text);
    return status;
}

static int read_body(struct asking *a, char *part)
{
    int status = EXIT_OK;
    ssize_t n = 1;

    while (status == EXIT_OK && n > 0 && a->body_bytes != a->head->length) {
        n = receive(a, part);
        status = n < 0 ? EXIT_UNREACHABLE : take_body(a, part, (size_t)n);
    }
    if (status == EXIT_OK && a->head->length >= 0 && a->body_bytes != a->head->length) {
        return fail(a, EXIT_UNREACHABLE, "hung up in the middle of its answer");
    }
    return status;
}

/* The sentence in { ..., "error" : "..." }, if there is one. */
static int report_status(struct asking *a)
{
    const char *error = strstr(a->reason, "\"error\" : \"");
    int len = error != NULL ? (int)strcspn(error + 11, "\"\r\n") : 0;

    if (a->head->status == 429) {
        cli_error(a->cli, "%s: it was asked for that a moment ago%s%s%s", a->request->place,
                  a->head->retry_after[0] != '\0' ? "; ask again in " : "", a->head->retry_after,
                  a->head->retry_after[0] != '\0' ? " s" : "");
    } else {
        cli_error(a->cli, "%s: refuses with status %d%s%.*s", a->request->place, a->head->status,
                  len > 0 ? ": " : "", len, error != NULL ? error + 11 : "");
    }
    return EXIT_REFUSED;
}

int http_ask(struct cli *cli, const struct http_request *request, http_body_fn body, void *arg,
             struct http_head *head)
{
    struct asking a = {
        .cli = cli, .request = request, .head = head, .body = body, .arg = arg, .fd = -1};
    char *part = must_alloc(PART_BYTES);
    int status = open_link(&a);

    if (status == EXIT_OK) {
        status = send_request(&a);
    }
    if (status == EXIT_OK) {
        status = read_head(&a, part);
    }
    if (status == EXIT_OK) {
        status = read_body(&a, part);
    }
    if (status == EXIT_OK && head->status != 200) {
        status = report_status(&a);
    }
    if (a.fd >= 0) {
        close(a.fd);
    }
    free(part);
    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : status;
}
