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
#include "daemon/link.h"
#include "os/socket.h"
#include "tls/tls.h"

/* How many connections an address has. */
struct address {
    struct map_entry entry;
    int n;
    char ip[48];
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
    tls_free(l->tls);
    free(l);
}

/* As socket_peer has it, which writes an address of IPv6 as Java does. */
static bool is_loopback(const char *ip)
{
    return strncmp(ip, "127.", 4) == 0 || strcmp(ip, "0:0:0:0:0:0:0:1") == 0;
}

/* One more or less who shows no certificate. */
static void count_nameless(const struct link *l, int by)
{
    struct server *s = member_server(l->host->member);

    if (l->is_nameless && l->address != NULL && is_loopback(l->address->ip)) {
        s->tls.n_nameless_local += by;
    } else if (l->is_nameless) {
        s->tls.n_nameless_remote += by;
    }
}

/* What is still to be said goes as far as the socket takes it at once. */
static void say_goodbye(struct link *l)
{
    if (l->tls != NULL) {
        tls_finish(l->tls);
        link_send_tls(l);
    }
}

void link_shut(struct link *l)
{
    struct host *h = l->host;

    if (l->closed) {
        return;
    }
    l->closed = true;
    say_goodbye(l);
    opening_end(l);
    if (l->connection != NULL) {
        host_step(h,
                  &(struct member_input){.kind = MEMBER_DISCONNECT, .connection = l->connection});
        l->connection = NULL;
        count_nameless(l, -1);
    }
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
static void on_encrypted(uv_poll_t *poll, int status, int events);

/* Three kinds of links are told apart here, where one begins to wait, and not with every read. */
void link_wait_for(struct link *l, int events)
{
    if (events == l->events) {
        return;
    }
    l->events = events;
    if (events == 0) {
        uv_poll_stop(&l->poll);
    } else {
        uv_poll_start(&l->poll, events,
                      l->opening != NULL ? opening_on_ready
                      : l->tls != NULL   ? on_encrypted
                                         : on_ready);
    }
}

/* ---- bytes ---- */

/* However fast a client reads: of a long answer so much at a time, then the others are next. */
enum { SEND_BYTES = 1 << 20 };

/* Of what the client has not read so much is encrypted at a time, and only when all before it has
 * been sent. */
enum { TLS_SEND_BYTES = 64 << 10 };

bool link_send_tls(struct link *l)
{
    struct bytes b;
    long n = 1;

    while (n > 0 && (b = tls_output(l->tls)).len > 0) {
        n = socket_write(l->fd, b.data, b.len);
        if (n > 0) {
            tls_sent(l->tls, (size_t)n);
        }
    }
    return n >= 0;
}

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

/* What there is to wait for when `has_more` is to be sent. */
static void wait_for_more(struct link *l, bool has_more)
{
    struct connection *c = l->connection;
    int events = c->input != INPUT_OPEN || c->state == CONNECTION_CLOSING ? 0 : UV_READABLE;

    events |= has_more ? UV_WRITABLE : 0;
    /* With nothing to wait for we would never learn that the other side is gone. */
    link_wait_for(l, events == 0 ? UV_DISCONNECT : events);
}

/* False: the link is gone. */
static bool send_encrypted(struct link *l)
{
    struct connection *c = l->connection;
    size_t unread = connection_unread(c);
    size_t end = c->out_at + (unread > SEND_BYTES ? SEND_BYTES : unread), n;

    while (link_send_tls(l)) {
        if (tls_output(l->tls).len > 0 || c->out_at == end) {
            return true;
        }
        n = end - c->out_at < TLS_SEND_BYTES ? end - c->out_at : (size_t)TLS_SEND_BYTES;
        if (!tls_write(l->tls, c->out.data + c->out_at, n)) {
            return false;
        }
        c->out_at += n;
    }
    return false;
}

static void flush_encrypted(struct link *l)
{
    struct connection *c = l->connection;
    size_t before = c->out_at;
    bool has_more;

    if (!send_encrypted(l)) {
        link_shut(l);
        return;
    }
    if (c->out_at > before) {
        host_step_together(l->host, &(struct member_input){.kind = MEMBER_SENT, .connection = c});
    }
    has_more = connection_unread(c) > 0 || tls_output(l->tls).len > 0;
    if (c->state == CONNECTION_CLOSING && !has_more) {
        link_shut(l);
        return;
    }
    wait_for_more(l, has_more);
}

static void flush_link(struct link *l)
{
    struct connection *c = l->connection;

    if (l->tls != NULL) {
        flush_encrypted(l);
        return;
    }
    if (!send_out(l)) {
        link_shut(l);
        return;
    }
    if (c->state == CONNECTION_CLOSING && connection_unread(c) == 0) {
        link_shut(l);
        return;
    }
    wait_for_more(l, connection_unread(c) > 0);
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

/* From here on writes do not wait for the end of the turn either: the disk works while the others
 * are heard. Fewer than that share one sync with whatever else the turn brings. */
enum { LOG_AT_ONCE_BYTES = 16384 };

static bool logs_at_once(const struct host *h)
{
    return !h->options.keeps_nothing && h->effects.append.bytes >= LOG_AT_ONCE_BYTES;
}

static inline void give_to_member(struct link *l, long n)
{
    struct host *h = l->host;

    if (n > 0) {
        host_step(h, &(struct member_input){.kind = MEMBER_BYTES,
                                            .connection = l->connection,
                                            .bytes = bytes_of(h->buffer, (size_t)n)});
        note_session(l);
        if (logs_at_once(h)) {
            host_ensemble_flush(h);
            host_hand_over(h);
        }
        if (sends_at_once(l)) {
            flush_link(l);
        }
    }
}

/* All of it fits: what is encrypted is longer, and the filter holds one record at most. The peer's
 * wish for new keys is answered though nobody has anything to say. */
void link_receive_plain(struct link *l)
{
    long n = tls_read(l->tls, l->host->buffer, READ_BYTES);

    if (n < 0) {
        if (tls_error(l->tls)[0] != '\0') {
            log_limited(LOG_WARN, "client /%s:%u: TLS: %s; closed", l->connection->peer.ip,
                        l->connection->peer.port, tls_error(l->tls));
        }
        link_shut(l);
        return;
    }
    give_to_member(l, n);
    if (!l->closed && tls_output(l->tls).len > 0) {
        flush_link(l);
    }
}

static void receive_encrypted(struct link *l)
{
    struct host *h = l->host;
    long n = socket_read(l->fd, h->openings.buffer, ENCRYPTED_BYTES);

    if (n < 0 || (n > 0 && !tls_put(l->tls, h->openings.buffer, (size_t)n))) {
        link_shut(l);
    } else if (n > 0) {
        link_receive_plain(l);
    }
}

static inline void receive(struct link *l)
{
    long n = socket_read(l->fd, l->host->buffer, READ_BYTES);

    if (n < 0) {
        link_shut(l);
        return;
    }
    give_to_member(l, n);
}

void link_receive(struct link *l)
{
    receive(l);
}

static void on_encrypted(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;

    if (status < 0 || (events & UV_DISCONNECT) != 0) {
        link_shut(l);
        return;
    }
    if ((events & UV_READABLE) != 0) {
        receive_encrypted(l);
    }
    if ((events & UV_WRITABLE) != 0 && !l->closed) {
        flush_link(l);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;

    if (status < 0 || (events & UV_DISCONNECT) != 0) {
        link_shut(l);
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

void link_serve(struct link *l, const struct peer *peer, const char *subject)
{
    host_step(l->host,
              &(struct member_input){.kind = MEMBER_CONNECT, .peer = peer, .subject = subject});
    l->connection = l->host->effects.connected;
    l->connection->owner = l;
    count_nameless(l, 1);
    l->events = -1; /* whoever waited before was somebody else */
    link_wait_for(l, UV_READABLE);
}

void link_open(struct host *h, int fd, const struct socket_peer *from, enum link_kind kind)
{
    struct link *l = must_zalloc(sizeof(*l));
    struct peer peer = {
        .port = from->port, .is_local = from->is_local, .is_secure = kind == LINK_TLS};

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
    uv_poll_init(&h->loop, &l->poll, fd);
    l->poll.data = l;
    list_push_back(&h->links, &l->link);
    h->n_links++;
    if (kind == LINK_PLAIN) {
        link_serve(l, &peer, NULL);
    } else {
        opening_begin(l, &peer, kind);
    }
}

void link_close_all(struct host *h)
{
    while (!list_empty(&h->links)) {
        link_shut(container_of(h->links.next, struct link, link));
    }
}
