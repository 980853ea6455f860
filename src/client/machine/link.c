/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - the link as a TCP or Unix socket. */
#define _GNU_SOURCE
#include "client/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/assert.h"
#include "client/engine.h"
#include "client/machine/link_internal.h"
#include "tls/tls.h"

enum { PROBE_TIMEOUT_MS = 1000, READS_PER_TURN = 16, ENCRYPTED_BYTES = 16384 };

/* So much is encrypted at a time, and only when all before it has been sent: the filter counts what
 * waits in it against a server that asks and reads nothing. */
enum { TLS_SEND_BYTES = 64 << 10 };

static void link_wake(void *engine)
{
    machine_wake(engine);
}

/* ---- what epoll watches ---- */

/* Whether the server owes us anything. If not, the I/O thread need not look out for bytes (for the
 * end of the link it always does), and a blocking call saves two calls of epoll_ctl(). */
static bool link_expects_bytes(const struct engine *e)
{
    const struct core *c = e->core;

    return c->link != LINK_READY || c->n_calls > 0 || c->watches.n_watchers > 0 ||
           c->ping_sent_ms != 0 || c->n_pre_auths > 0;
}

/* By a blocked caller, or by the thread of callbacks, now or soon. */
static bool link_is_read_elsewhere(const struct engine *e)
{
    return e->driver != NULL || (e->reader.is_on && e->core->link == LINK_READY);
}

void link_arm(struct engine *e)
{
    struct epoll_event ev = {.data.fd = e->link.fd};

    if (e->link.fd < 0) {
        return;
    }
    if (e->link.state == SOCKET_DIALING) {
        ev.events = EPOLLOUT;
    } else if (e->link.state == SOCKET_SHAKING) {
        ev.events = (uint32_t)EPOLLIN | (tls_output(e->link.tls).len > 0 ? (uint32_t)EPOLLOUT : 0);
    } else {
        ev.events = (uint32_t)EPOLLRDHUP | (e->link.state == SOCKET_FULL ? (uint32_t)EPOLLOUT : 0) |
                    (link_expects_bytes(e) && !link_is_read_elsewhere(e) ? (uint32_t)EPOLLIN : 0);
    }
    if (ev.events != e->link.armed) {
        epoll_ctl(e->machine.poll_fd, EPOLL_CTL_MOD, e->link.fd, &ev);
        e->link.armed = ev.events;
    }
}

static void link_adopt_fd(struct engine *e, int fd)
{
    struct epoll_event ev = {.events = EPOLLOUT, .data.fd = fd};

    link_set_fd(&e->link, fd);
    e->link.armed = EPOLLOUT;
    epoll_ctl(e->machine.poll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* What the filter has for the server, as far as the kernel takes it. 1: all of it; 0: not all; -1:
 * the link is gone, and errno tells why. */
static int link_send_tls(struct engine *e)
{
    struct bytes b;
    ssize_t n;

    while ((b = tls_output(e->link.tls)).len > 0) {
        do {
            n = send(e->link.fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        } while (n < 0 && errno == EINTR);
        if (n < 0) {
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
        }
        tls_sent(e->link.tls, (size_t)n);
    }
    return 1;
}

static void link_end_tls(struct engine *e)
{
    if (e->link.tls != NULL) {
        tls_finish(e->link.tls);
        link_send_tls(e);
        tls_free(e->link.tls);
        e->link.tls = NULL;
    }
}

/* Taken out of epoll by hand: a forked child may still hold the socket open. A driver that is
 * receiving closes the descriptor itself, or its number could be given to another file under its
 * feet. */
static void link_close_fd(struct engine *e)
{
    if (e->link.fd < 0) {
        return;
    }
    link_end_tls(e);
    epoll_ctl(e->machine.poll_fd, EPOLL_CTL_DEL, e->link.fd, NULL);
    if (e->driver != NULL && e->driver->receiving && e->driver->fd == e->link.fd) {
        shutdown(e->link.fd, SHUT_RDWR);
        e->driver->doomed_fd = e->link.fd;
    } else {
        close(e->link.fd);
    }
    link_set_fd(&e->link, -1);
}

static void link_end_lookup(struct engine *e)
{
    if (e->link.lookup != NULL) {
        lookup_free(e->link.lookup);
        e->link.lookup = NULL;
        link_move(&e->link, SOCKET_NONE);
    }
}

/* Who is asked for a better server than this link's: without the link nobody wants to know. */
static void link_end_probe(struct engine *e)
{
    lookup_free(e->link.probe);
    e->link.probe = NULL;
}

void link_close(struct engine *e)
{
    link_close_fd(e);
    link_end_lookup(e);
    link_end_probe(e);
    e->link.n_addresses = e->link.next_address = 0;
}

/* No move: the fork may have come in the midst of one. */
void link_forget(struct engine *e)
{
    e->link.fd = -1; /* closed when it forked: see os/fork_guard.h */
    e->link.state = SOCKET_NONE;
}

static void link_trouble(struct engine *e, int error)
{
    char text[128];

    core_trouble(e->core, strerror_r(error, text, sizeof(text)));
}

/* ---- making links ---- */

/* The next address of the host, each with its share of the time. */
void link_next_address(struct engine *e, int64_t now_ms)
{
    link_close_fd(e);
    while (e->link.next_address < e->link.n_addresses) {
        size_t left = e->link.n_addresses - e->link.next_address;
        int fd = dial_start(&e->link.addresses[e->link.next_address++]);

        if (fd >= 0) {
            e->link.dial_limit_ms = now_ms + (e->core->link_limit_ms - now_ms) / (int64_t)left;
            link_adopt_fd(e, fd);
            return;
        }
        link_trouble(e, errno);
    }
    engine_link_failed(e, now_ms);
}

static void link_shuffle_addresses(struct engine *e)
{
    for (size_t i = e->link.n_addresses; i > 1; i--) {
        size_t j = (size_t)prng_below(&e->random, i);
        struct address t = e->link.addresses[i - 1];

        e->link.addresses[i - 1] = e->link.addresses[j];
        e->link.addresses[j] = t;
    }
}

void link_start(struct engine *e, int64_t now_ms)
{
    const struct host_entry *host = &e->core->hosts.items[e->core->host];
    int rc;

    link_close(e);
    rc = address_plain(host->name, host->port, &e->link.addresses[0]);
    if (rc == 0) {
        e->link.lookup = lookup_start(host->name, host->port, link_wake, e);
        if (e->link.lookup == NULL) {
            link_trouble(e, EAGAIN);
            engine_link_failed(e, now_ms);
            return;
        }
        link_move(&e->link, SOCKET_LOOKUP);
        return;
    }
    e->link.n_addresses = rc == 1 ? 1 : 0;
    link_next_address(e, now_ms);
}

void link_looked_up(struct engine *e, int64_t now_ms)
{
    if (e->link.lookup != NULL && lookup_is_done(e->link.lookup)) {
        e->link.n_addresses =
            lookup_addresses(e->link.lookup, e->link.addresses, LINK_MAX_ADDRESSES);
        e->link.next_address = 0;
        if (e->link.n_addresses == 0) {
            core_trouble(e->core, "the name has no address");
        }
        link_end_lookup(e);
        link_shuffle_addresses(e);
        link_next_address(e, now_ms);
    }
    if (e->link.probe != NULL && lookup_is_done(e->link.probe)) {
        bool writes = lookup_writes(e->link.probe);

        link_end_probe(e);
        core_probed(e->core, now_ms, writes);
    }
}

/* ---- asking another host ---- */

/* Whom to ask with TLS; lives as long as the thread that asks. */
struct link_asker {
    struct tls_context *context;
    char name[256];
};

static bool link_ask(void *arg, int fd, int timeout_ms)
{
    struct link_asker *a = arg;
    struct strbuf answer;
    char why[64];
    bool writes;

    strbuf_init(&answer, 64);
    writes = tls_ask(a->context, a->name, fd, bytes_str("isro"), 2, timeout_ms, &answer, why,
                     sizeof(why)) &&
             strcmp(strbuf_cstr(&answer), "rw") == 0;
    strbuf_fini(&answer);
    return writes;
}

static void link_asked(void *arg)
{
    struct link_asker *a = arg;

    tls_context_unref(a->context);
    free(a);
}

static const char *link_name(const struct engine *e, const struct host_entry *host)
{
    return e->tls.name != NULL ? e->tls.name : host->name;
}

static void link_probe_tls(struct engine *e, const struct host_entry *host)
{
    struct link_asker *a = calloc(1, sizeof(*a));
    struct probe_asker asker = {.ask = link_ask, .done_with = link_asked, .arg = a};

    if (a == NULL) {
        return;
    }
    a->context = e->tls.context;
    tls_context_ref(a->context);
    snprintf(a->name, sizeof(a->name), "%s", link_name(e, host));
    e->link.probe =
        lookup_start_probe(host->name, host->port, PROBE_TIMEOUT_MS, &asker, link_wake, e);
    if (e->link.probe == NULL) {
        link_asked(a);
    }
}

void link_probe(struct engine *e)
{
    const struct host_entry *host = &e->core->hosts.items[e->core->probe_host];

    if (e->link.probe != NULL || host->port == 0) {
        return;
    }
    if (e->tls.context != NULL) {
        link_probe_tls(e, host);
    } else {
        e->link.probe =
            lookup_start_probe(host->name, host->port, PROBE_TIMEOUT_MS, NULL, link_wake, e);
    }
}

/* ---- shaking hands ---- */

static void link_shake_failed(struct engine *e, int64_t now_ms, const char *why)
{
    char text[CORE_TROUBLE_BYTES];

    snprintf(text, sizeof(text), "TLS: %s", why);
    core_trouble(e->core, text);
    link_next_address(e, now_ms);
}

static void link_shake(struct engine *e, int64_t now_ms)
{
    int rc = tls_handshake(e->link.tls), sent = link_send_tls(e);

    if (rc < 0) {
        link_shake_failed(e, now_ms, tls_error(e->link.tls));
    } else if (sent < 0) {
        link_shake_failed(e, now_ms, strerror(errno));
    } else if (rc > 0) {
        link_move(&e->link, SOCKET_WRITABLE);
        core_link_up(e->core, now_ms);
    }
}

static void link_shaken(struct engine *e, int64_t now_ms)
{
    uint8_t data[ENCRYPTED_BYTES];
    ssize_t n = recv(e->link.fd, data, sizeof(data), MSG_DONTWAIT);

    if (n == 0) {
        link_shake_failed(e, now_ms,
                          "the server has closed the connection within the handshake; does it "
                          "speak TLS on this port?");
    } else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        link_shake_failed(e, now_ms, strerror(errno));
    } else if (n > 0 && !tls_put(e->link.tls, data, (size_t)n)) {
        link_shake_failed(e, now_ms, strerror(ENOMEM));
    } else {
        link_shake(e, now_ms);
    }
}

static void link_start_tls(struct engine *e, int64_t now_ms)
{
    struct tls *t = tls_new(e->tls.context, link_name(e, &e->core->hosts.items[e->core->host]));

    if (t == NULL) {
        link_shake_failed(e, now_ms, strerror(ENOMEM));
        return;
    }
    link_move(&e->link, SOCKET_SHAKING);
    e->link.tls = t;
    link_shake(e, now_ms);
}

/* The receive timeout lets a driver look at its clock now and then. */
static void link_dialed(struct engine *e, int64_t now_ms)
{
    struct timeval slice = {.tv_sec = 1};
    int error;

    error = dial_result(e->link.fd);
    if (error != 0) {
        link_trouble(e, error);
        link_next_address(e, now_ms);
        return;
    }
    setsockopt(e->link.fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
    if (e->tls.context != NULL) {
        link_start_tls(e, now_ms);
        return;
    }
    link_move(&e->link, SOCKET_WRITABLE);
    core_link_up(e->core, now_ms);
}

/* ---- bytes ---- */

static void link_tls_failed(struct engine *e, int64_t now_ms)
{
    char text[CORE_TROUBLE_BYTES];

    if (tls_error(e->link.tls)[0] != '\0') {
        snprintf(text, sizeof(text), "TLS: %s", tls_error(e->link.tls));
        core_trouble(e->core, text);
    } else {
        link_ended(e);
    }
    engine_link_failed(e, now_ms);
}

static void link_flush_tls(struct engine *e, int64_t now_ms)
{
    struct bytes b;
    int sent;

    while (e->link.state == SOCKET_WRITABLE) {
        sent = link_send_tls(e);
        b = requests_output(e->core);
        b.len = b.len < TLS_SEND_BYTES ? b.len : (size_t)TLS_SEND_BYTES;
        if (sent < 0) {
            link_trouble(e, errno);
            engine_link_failed(e, now_ms);
        } else if (sent == 0) {
            link_move(&e->link, SOCKET_FULL);
        } else if (b.len == 0) {
            return;
        } else if (tls_write(e->link.tls, b.data, b.len)) {
            requests_wrote(e->core, now_ms, b.len);
        } else {
            link_tls_failed(e, now_ms);
        }
    }
}

void link_flush(struct engine *e, int64_t now_ms)
{
    struct bytes b;
    ssize_t n;

    if (e->link.tls != NULL) {
        link_flush_tls(e, now_ms);
        return;
    }
    while (e->link.state == SOCKET_WRITABLE && (b = requests_output(e->core)).len > 0) {
        do {
            n = send(e->link.fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        } while (n < 0 && errno == EINTR);
        if (n > 0) {
            requests_wrote(e->core, now_ms, (size_t)n);
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            link_move(&e->link, SOCKET_FULL);
        } else {
            link_trouble(e, errno);
            engine_link_failed(e, now_ms);
        }
    }
}

/* By the server, which also does it when we have asked it to. */
void link_ended(struct engine *e)
{
    if (!e->closing) {
        core_trouble(e->core, "the server has closed the connection");
    }
}

/* What the filter has, into the core. An end behind it is left for later, as with a plain link: who
 * was waiting for the last answer has it first. */
static void link_decrypt(struct engine *e, int64_t now_ms)
{
    uint64_t link = e->link.number;
    uint8_t data[ENCRYPTED_BYTES];
    long n;

    do {
        n = tls_read(e->link.tls, data, sizeof(data));
        if (n < 0) {
            link_tls_failed(e, now_ms);
            return;
        }
        engine_feed(e, now_ms, data, (size_t)n);
    } while (n == (long)sizeof(data) && e->link.number == link && !e->core->want_drop);
}

void link_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n)
{
    if (e->link.tls == NULL) {
        engine_feed(e, now_ms, data, n);
    } else if (tls_put(e->link.tls, data, n)) {
        link_decrypt(e, now_ms);
    } else {
        link_trouble(e, ENOMEM);
        engine_link_failed(e, now_ms);
    }
}

static void link_read_tls(struct engine *e)
{
    for (int i = 0; i < READS_PER_TURN && e->link.tls != NULL && e->core->link >= LINK_HELLO; i++) {
        uint8_t data[ENCRYPTED_BYTES];
        ssize_t n = recv(e->link.fd, data, sizeof(data), MSG_DONTWAIT);
        int error = errno;
        int64_t now_ms = machine_now_ms(); /* not before it was there */

        if (n < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)) {
            return;
        }
        if (n <= 0) {
            if (n == 0) {
                link_ended(e);
            } else {
                link_trouble(e, error);
            }
            engine_link_failed(e, now_ms);
            return;
        }
        link_feed(e, now_ms, data, (size_t)n);
        if (e->core->want_drop || (size_t)n < sizeof(data)) {
            return;
        }
    }
}

/* As much as is there, but not for ever: timers want their turn. */
void link_read(struct engine *e, int64_t now_ms)
{
    if (e->link.tls != NULL) {
        link_read_tls(e);
        return;
    }
    for (int i = 0; i < READS_PER_TURN && e->link.fd >= 0 && e->core->link >= LINK_HELLO; i++) {
        uint8_t *at;
        size_t room = core_room(e->core, &at);
        ssize_t n;

        do {
            n = room == 0 ? -1 : recv(e->link.fd, at, room, MSG_DONTWAIT);
        } while (n < 0 && room > 0 && errno == EINTR);
        if (n < 0 && room > 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        if (n <= 0) {
            if (n == 0) {
                link_ended(e);
            } else {
                link_trouble(e, room == 0 ? ENOMEM : errno);
            }
            engine_link_failed(e, now_ms);
            return;
        }
        core_received(e->core, machine_now_ms(), (size_t)n); /* not before it was there */
        if (e->core->want_drop || (size_t)n < room) {
            return;
        }
    }
}

void link_handle(struct engine *e, uint32_t events, int64_t now_ms)
{
    if (e->link.state == SOCKET_DIALING) {
        link_dialed(e, now_ms);
        return;
    }
    if (e->link.state == SOCKET_SHAKING) {
        link_shaken(e, now_ms);
        return;
    }
    if ((events & EPOLLOUT) != 0 && e->link.state == SOCKET_FULL) {
        link_move(&e->link, SOCKET_WRITABLE);
    }
    if (e->driver == NULL && (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        link_read(e, now_ms);
    }
}
