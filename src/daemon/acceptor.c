/* SPDX-License-Identifier: Apache-2.0 */
/* acceptor.c - new connections, as long as there are descriptors for them.
 *
 *               the reserve is touched, or the system cannot give a socket
 *   ACCEPTING ------------------------------------------------------------> PAUSED
 *             <------------------------------------------------------------
 *                         looked at again every 100 ms
 *
 * The log's next file and the next snapshot need descriptors, and without them the server would
 * have to stop: clients get none of the last RESERVED_FILES. Who is not accepted waits in the
 * system's backlog. While paused the listeners are not polled: they stay readable. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "os/clock.h"
#include "os/socket.h"
#include "pawl/error.h"

enum { RETRY_MS = 100, ACCEPT_BURST = 256, RESERVED_FILES = 32, MOVE_AGAIN_MS = 1000 };

static void acceptor_on_ready(uv_poll_t *poll, int status, int events);

static void acceptor_each(struct host *h, void (*fn)(struct listener *l))
{
    for (int i = 0; i < MAX_LISTENERS; i++) {
        if (h->listeners[i].fd >= 0) {
            fn(&h->listeners[i]);
        }
    }
}

/* One that is about to listen elsewhere is left alone until it does. */
static bool is_moving(const struct listener *l)
{
    return uv_is_closing((const uv_handle_t *)&l->poll);
}

static void acceptor_watch(struct listener *l)
{
    if (is_moving(l)) {
        return;
    }
    uv_poll_start(&l->poll, UV_READABLE, acceptor_on_ready);
}

static void acceptor_ignore(struct listener *l)
{
    if (!is_moving(l)) {
        uv_poll_stop(&l->poll);
    }
}

static bool acceptor_has_room(const struct host *h)
{
    return socket_files_left(uv_backend_fd(&h->loop), RESERVED_FILES);
}

static void acceptor_on_retry(uv_timer_t *timer)
{
    struct host *h = timer->data;

    ASSERT(h->accepting_paused);
    if (!acceptor_has_room(h)) {
        return;
    }
    h->accepting_paused = false;
    h->accept_error = 0;
    uv_timer_stop(timer);
    log_limited(LOG_INFO, "new connections are accepted again");
    acceptor_each(h, acceptor_watch);
}

static void acceptor_pause(struct host *h)
{
    ASSERT(!h->accepting_paused);
    h->accepting_paused = true;
    if (h->accept_error != 0) {
        log_limited(LOG_WARN,
                    "a new connection cannot be accepted, %zu are open: %s; accepting pauses",
                    h->n_links, strerror(h->accept_error));
    } else {
        log_limited(LOG_WARN,
                    "no file descriptor left for a new connection: %zu are open, and the last ones "
                    "are kept for the log and snapshots; accepting pauses. Raise the limit with "
                    "ulimit -n",
                    h->n_links);
    }
    acceptor_each(h, acceptor_ignore);
    uv_timer_start(&h->accept_again, acceptor_on_retry, RETRY_MS, RETRY_MS);
}

/* False: there is nobody left, or nobody more can be taken. */
static bool acceptor_take_one(struct host *h, struct listener *l)
{
    struct socket_peer peer;
    int fd;

    if (!acceptor_has_room(h)) {
        acceptor_pause(h);
        return false;
    }
    fd = socket_accept(l->fd, h->config->net.tcp_keepalive, &peer, &h->accept_error);
    if (fd >= 0) {
        link_open(h, fd, &peer, l->kind);
    } else if (h->accept_error != 0) {
        acceptor_pause(h);
    }
    return fd >= 0;
}

static void acceptor_on_ready(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPT_BURST && acceptor_take_one(l->host, l); i++) {
    }
}

void acceptor_start(struct host *h, int index, int fd)
{
    struct listener *l = &h->listeners[index];

    l->host = h;
    l->fd = fd;
    uv_poll_init(&h->loop, &l->poll, fd);
    l->poll.data = l;
    acceptor_watch(l);
}

/* ---- another port ---- */

static bool is_everywhere(const char *address)
{
    return address == NULL || strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

static bool is_same_place(const struct host *h, const char *address, int port)
{
    if (h->place.port != port || is_everywhere(address) != is_everywhere(h->place.address)) {
        return false;
    }
    return is_everywhere(address) || strcmp(address, h->place.address) == 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    struct host *h = l->host;

    if (h->stopping) {
        return;
    }
    acceptor_start(h, (int)(l - h->listeners), l->fd);
    if (h->accepting_paused) {
        acceptor_ignore(l);
    }
}

/* Whoever is connected stays so. */
static void acceptor_replace(struct host *h, int fd)
{
    struct listener *l = &h->listeners[LISTENER_PORT];
    int before = l->fd;

    l->fd = fd;
    if (before < 0) {
        acceptor_start(h, LISTENER_PORT, fd);
        return;
    }
    uv_poll_stop(&l->poll);
    uv_close((uv_handle_t *)&l->poll, on_listener_closed);
    close(before);
}

void acceptor_move_again(struct host *h)
{
    const char *address = is_everywhere(h->place.address) ? NULL : h->place.address;
    int64_t now_ms = clock_monotonic_ms();
    int fd, port;

    if (!h->place.is_due || now_ms < h->place.next_ms || h->stopping ||
        is_moving(&h->listeners[LISTENER_PORT])) {
        return;
    }
    if (socket_listen_tcp(address, h->place.port, h->config->net.backlog, &fd, &port) != PAWL_OK) {
        log_limited(LOG_ERROR,
                    "the client port that the list of members names: %s; again in a "
                    "second, until then clients find the one before",
                    socket_last_error());
        h->place.next_ms = now_ms + MOVE_AGAIN_MS;
        return;
    }
    log_info("binding to port %s:%d", address == NULL ? "*" : address, port);
    h->place.is_due = false;
    h->port = port;
    acceptor_replace(h, fd);
    facts_changed(h);
}

void acceptor_move(struct host *h, const char *address, int port)
{
    if (config_is_option(h->config, "clientPort") || is_same_place(h, address, port)) {
        return;
    }
    free(h->place.address);
    h->place.address = must_strdup(address);
    h->place.port = port;
    h->place.is_due = true;
    h->place.next_ms = 0;
    acceptor_move_again(h);
}

void acceptor_keep_place(struct host *h)
{
    const char *path = h->config->net.unix_socket;
    struct listener *l = &h->listeners[LISTENER_UNIX];
    struct socket_place now;

    if (l->fd < 0 || h->accepting_paused ||
        (socket_place_of(path, &now) && now.inode == l->place.inode &&
         now.device == l->place.device)) {
        return;
    }
    while (acceptor_take_one(h, l)) { /* who came before the name was gone */
    }
    acceptor_ignore(l);
    if (socket_listen_unix_again(path, h->config->net.backlog, l->fd) == PAWL_OK) {
        socket_place_of(path, &l->place);
        log_warn("the socket %s was removed; it is made again", path);
    } else {
        log_limited(LOG_WARN, "the socket %s was removed: %s", path, socket_last_error());
    }
    if (!h->accepting_paused) {
        acceptor_watch(l);
    }
}
