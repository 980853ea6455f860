/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - a question over a socket, by one who can wait. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "tls/tls_internal.h"

struct asking {
    struct tls *tls;
    int fd;
    int64_t deadline_ms;
    bool is_late;
    char *why;
    size_t why_size;
};

static bool give_up(struct asking *a, const char *why)
{
    snprintf(a->why, a->why_size, "%s", why);
    return false;
}

static bool wait_for(struct asking *a, short events)
{
    struct pollfd p = {.fd = a->fd, .events = events};
    int64_t left;

    do {
        left = a->deadline_ms - clock_monotonic_ms();
    } while (left > 0 && poll(&p, 1, (int)left) < 0 && errno == EINTR);
    a->is_late = p.revents == 0;
    return !a->is_late || give_up(a, "no answer in time");
}

static bool send_output(struct asking *a)
{
    struct bytes b;
    ssize_t n;

    while ((b = tls_output(a->tls)).len > 0) {
        n = send(a->fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            tls_sent(a->tls, (size_t)n);
        } else if (errno != EINTR && (errno != EAGAIN || !wait_for(a, POLLOUT))) {
            return errno == EAGAIN ? false : give_up(a, strerror(errno));
        }
    }
    return true;
}

/* False: there will be no more. */
static bool receive(struct asking *a)
{
    char part[16384];
    ssize_t n;

    do {
        if (!wait_for(a, POLLIN)) {
            return false;
        }
        n = recv(a->fd, part, sizeof(part), MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0) {
        return give_up(a, strerror(errno));
    }
    if (n == 0) {
        return give_up(a, "the server has closed the connection");
    }
    return tls_put(a->tls, part, (size_t)n) || give_up(a, "no memory");
}

static bool shake_hands(struct asking *a)
{
    int rc;

    while ((rc = tls_handshake(a->tls)) == 0) {
        if (!send_output(a) || !receive(a)) {
            return false;
        }
    }
    return send_output(a) && (rc > 0 || give_up(a, tls_error(a->tls)));
}

static bool gather(struct asking *a, size_t enough, struct strbuf *answer)
{
    uint8_t part[16384];
    long n = 0;

    while (n >= 0 && answer->len < enough && !answer->failed) {
        n = tls_read(a->tls, part, sizeof(part));
        strbuf_append(answer, part, n > 0 ? (size_t)n : 0);
        if (n == 0 && !receive(a)) {
            break;
        }
    }
    if (answer->len > 0 && !answer->failed && !a->is_late) {
        return true;
    }
    return tls_error(a->tls)[0] != '\0' ? give_up(a, tls_error(a->tls)) : false;
}

bool tls_ask(struct tls_context *c, const char *name, int fd, struct bytes question, size_t enough,
             int timeout_ms, struct strbuf *answer, char *why, size_t why_size)
{
    struct asking a = {.tls = tls_new(c, name),
                       .fd = fd,
                       .deadline_ms = clock_monotonic_ms() + timeout_ms,
                       .why = why,
                       .why_size = why_size};
    bool is_answered;

    snprintf(why, why_size, "no answer");
    if (a.tls == NULL) {
        return give_up(&a, "no memory");
    }
    is_answered = shake_hands(&a) && tls_write(a.tls, question.data, question.len) &&
                  send_output(&a) && gather(&a, enough, answer);
    tls_finish(a.tls);
    if (is_answered) {
        send_output(&a);
    }
    tls_free(a.tls);
    return is_answered;
}
