/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - a client's socket: bytes from it to the member, bytes from the member to it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "os/socket.h"

/* How many connections an address has. */
struct address {
    struct map_entry entry;
    int n;
    char ip[48];
};

struct link {
    struct list link;
    uv_poll_t poll;
    struct host *host;
    struct connection *connection;
    struct address *address; /* NULL: came through the Unix socket */
    int fd;
    int64_t session_id; /* known to the owners; 0: none */
    int events;         /* what the poll waits for */
    bool closed;
};

/* ---- limits ---- */

static struct address *link_address(struct host *h, const char *ip)
{
    uint64_t hash = hash_bytes(ip, strlen(ip), 0);
    struct map_entry *e;
    struct address *a;

    for (e = map_first(&h->addresses, hash); e != NULL; e = map_next(e)) {
        a = container_of(e, struct address, entry);
        if (strcmp(a->ip, ip) == 0) {
            return a;
        }
    }
    a = must_zalloc(sizeof(*a));
    strcpy(a->ip, ip);
    map_insert(&h->addresses, &a->entry, hash);
    return a;
}

static void leave_address(struct host *h, struct address *a)
{
    if (a != NULL && --a->n == 0) {
        map_remove(&h->addresses, &a->entry);
        free(a);
    }
}

static bool too_many(struct host *h, const struct address *a)
{
    const struct config *c = h->config;

    if (c->net.max_connections > 0 && h->n_links >= (size_t)c->net.max_connections) {
        log_limited(LOG_WARN, "Error accepting new connection: Too many connections - max is %d",
                    c->net.max_connections);
        return true;
    }
    if (a != NULL && c->net.max_per_address > 0 && a->n > c->net.max_per_address) {
        log_limited(LOG_WARN,
                    "Error accepting new connection: Too many connections from /%s - max is %d",
                    a->ip, c->net.max_per_address);
        return true;
    }
    return false;
}

/* ---- life ---- */

static void on_closed(uv_handle_t *handle)
{
    struct link *l = handle->data;

    socket_close_gently(l->fd);
    free(l);
}

static void link_close(struct link *l)
{
    struct host *h = l->host;

    if (l->closed) {
        return;
    }
    l->closed = true;
    host_step(h, &(struct member_input){.kind = MEMBER_DISCONNECT, .connection = l->connection});
    l->connection = NULL;
    if (l->session_id != 0) {
        owners_left(h->owners, l->session_id);
    }
    leave_address(h, l->address);
    list_remove(&l->link);
    h->n_links--;
    uv_poll_stop(&l->poll);
    uv_close((uv_handle_t *)&l->poll, on_closed);
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void link_wait_for(struct link *l, int events)
{
    if (events == l->events) {
        return;
    }
    l->events = events;
    if (events == 0) {
        uv_poll_stop(&l->poll);
    } else {
        uv_poll_start(&l->poll, events, on_ready);
    }
}

/* ---- bytes ---- */

/* However fast a client reads: of a long answer so much at a time, then the others are next. */
enum { SEND_BYTES = 1 << 20 };

/* Writes as much as the socket takes. False: the link is gone. */
static bool send_out(struct link *l)
{
    struct connection *c = l->connection;
    size_t before = c->out_at;
    size_t unread = connection_unread(c);
    size_t end = c->out_at + (unread > SEND_BYTES ? SEND_BYTES : unread);
    long n = 1;

    while (c->out_at < end && n > 0) {
        n = socket_write(l->fd, c->out.data + c->out_at, end - c->out_at);
        if (n < 0) {
            return false;
        }
        c->out_at += (size_t)n;
    }
    if (c->out_at > before) {
        host_step_together(l->host, &(struct member_input){.kind = MEMBER_SENT, .connection = c});
    }
    return true;
}

static void flush_link(struct link *l)
{
    struct connection *c = l->connection;
    int events;

    if (!send_out(l)) {
        link_close(l);
        return;
    }
    if (c->state == CONNECTION_CLOSING && connection_unread(c) == 0) {
        link_close(l);
        return;
    }
    events = c->input != INPUT_OPEN || c->state == CONNECTION_CLOSING ? 0 : UV_READABLE;
    events |= connection_unread(c) > 0 ? UV_WRITABLE : 0;
    /* With nothing to wait for we would never learn that the other side is gone. */
    link_wait_for(l, events == 0 ? UV_DISCONNECT : events);
}

void link_flush_touched(struct host *h)
{
    struct connection *c;

    while ((c = member_next_touched(h->member)) != NULL) {
        flush_link(c->owner);
    }
}

/* The process at the other end is the owner of the session that this connection has just got. */
static void note_session(struct link *l)
{
    int64_t id = l->connection->session_id;

    if (l->host->owners != NULL && l->address == NULL && id != l->session_id) {
        l->session_id = id;
        owners_joined(l->host->owners, id, socket_peer_pid(l->fd));
    }
}

/* From here on an answer does not wait for the end of the turn: the client can go on while the
 * others are heard. What is shorter leaves with whatever else the turn brings, in one send. */
enum { SEND_AT_ONCE_BYTES = 8192 };

/* Not where sessions have owners: their files are written before anybody is answered. */
static bool sends_at_once(const struct link *l)
{
    return l->host->owners == NULL && connection_unread(l->connection) >= SEND_AT_ONCE_BYTES;
}

static void receive(struct link *l)
{
    struct host *h = l->host;
    long n = socket_read(l->fd, h->buffer, READ_BYTES);

    if (n < 0) {
        link_close(l);
        return;
    }
    if (n > 0) {
        host_step(h, &(struct member_input){.kind = MEMBER_BYTES,
                                            .connection = l->connection,
                                            .bytes = bytes_of(h->buffer, (size_t)n)});
        note_session(l);
        if (sends_at_once(l)) {
            flush_link(l);
        }
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;

    if (status < 0 || (events & UV_DISCONNECT) != 0) {
        link_close(l);
        return;
    }
    if ((events & UV_READABLE) != 0) {
        receive(l);
    }
    if ((events & UV_WRITABLE) != 0 && !l->closed) {
        flush_link(l);
    }
}

/* ---- accepting ---- */

void link_open(struct host *h, int fd, const struct socket_peer *from)
{
    struct link *l = must_zalloc(sizeof(*l));
    struct peer peer = {.port = from->port, .is_local = from->is_local};

    strcpy(peer.ip, from->ip);
    l->host = h;
    l->fd = fd;
    l->address = from->is_local ? NULL : link_address(h, from->ip);
    if (l->address != NULL) {
        l->address->n++;
    }
    if (too_many(h, l->address)) {
        member_server(h->member)->stats.connection_rejected++;
        leave_address(h, l->address);
        close(fd);
        free(l);
        return;
    }
    host_step(h, &(struct member_input){.kind = MEMBER_CONNECT, .peer = &peer});
    l->connection = h->effects.connected;
    l->connection->owner = l;
    uv_poll_init(&h->loop, &l->poll, fd);
    l->poll.data = l;
    list_push_back(&h->links, &l->link);
    h->n_links++;
    link_wait_for(l, UV_READABLE);
}

void link_close_all(struct host *h)
{
    while (!list_empty(&h->links)) {
        link_close(container_of(h->links.next, struct link, link));
    }
}
