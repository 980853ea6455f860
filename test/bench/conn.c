/* SPDX-License-Identifier: Apache-2.0 */
#include "conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util.h"
#include "wire.h"

enum {
    SESSION_TIMEOUT_MS = 40000,
    BLOCKING_TIMEOUT_S = 30,
    CONNECT_BATCH = 32, /* below any listen backlog: an overflow costs a SYN retry of a second */
    CREATE_BATCH = 100
};

int conn_dial(const struct addresses *to, int i)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)to->ports[i % to->n])};
    struct timeval timeout = {.tv_sec = BLOCKING_TIMEOUT_S};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        die("socket: %s (ulimit -n?)", strerror(errno));
    }
    if (inet_pton(AF_INET, to->host, &address.sin_addr) != 1) {
        die("not a numeric address: %s", to->host);
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    return fd;
}

static int write_all(int fd, const uint8_t *p, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return -1;
        }
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int read_all(int fd, uint8_t *p, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, p, len, 0);

        if (n <= 0) {
            return -1;
        }
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int send_connect(int fd)
{
    static const struct wire_session fresh;
    uint8_t frame[FRAME_OVERHEAD_MAX];

    return write_all(fd, frame, wire_connect(frame, SESSION_TIMEOUT_MS, &fresh));
}

static int read_connect_response(int fd, int64_t *session_id)
{
    uint8_t frame[4 + CONNECT_RESPONSE_BYTES];

    if (read_all(fd, frame, sizeof(frame)) != 0 || get32(frame) != CONNECT_RESPONSE_BYTES) {
        return -1;
    }
    if (get32(frame + 8) <= 0) { /* the negotiated timeout: 0 is a refusal */
        return -1;
    }
    *session_id = get64(frame + 12);
    return 0;
}

static void open_batch(struct conn *conns, int n, const struct addresses *to)
{
    int i;

    for (i = 0; i < n; i++) {
        conns[i].fd = conn_dial(to, conns[i].index);
        if (conns[i].fd < 0 || send_connect(conns[i].fd) != 0) {
            die("cannot connect to %s:%d: %s", to->host, to->ports[conns[i].index % to->n],
                strerror(errno));
        }
    }
    for (i = 0; i < n; i++) {
        if (read_connect_response(conns[i].fd, &conns[i].session_id) != 0) {
            die("no session for connection %d: %s", conns[i].index, strerror(errno));
        }
    }
}

void conn_open_all(struct conn *conns, int n, const struct addresses *to, size_t in_cap,
                   size_t out_cap)
{
    int i;

    for (i = 0; i < n; i++) {
        conns[i] = (struct conn){.index = i, .next_xid = 1, .expected_xid = 1};
        conns[i].in_cap = in_cap;
        conns[i].out_cap = out_cap;
        conns[i].in = must_calloc(1, in_cap);
        conns[i].out = must_calloc(1, out_cap);
    }
    for (i = 0; i < n; i += CONNECT_BATCH) {
        open_batch(conns + i, n - i < CONNECT_BATCH ? n - i : CONNECT_BATCH, to);
    }
}

static void set_blocking(int fd, int blocking)
{
    int flags = fcntl(fd, F_GETFL);

    flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    if (fcntl(fd, F_SETFL, flags) != 0) {
        die("fcntl: %s", strerror(errno));
    }
}

void conn_close_all(struct conn *conns, int n)
{
    uint8_t frame[FRAME_OVERHEAD_MAX];
    int i;

    for (i = 0; i < n; i++) {
        struct conn *c = &conns[i];

        set_blocking(c->fd, 1);
        if (write_all(c->fd, c->out + c->out_sent, c->out_len - c->out_sent) != 0 ||
            write_all(c->fd, frame, wire_close(frame, c->next_xid)) != 0) {
            die("connection %d broke while closing", c->index);
        }
    }
    for (i = 0; i < n; i++) {
        while (recv(conns[i].fd, conns[i].in, conns[i].in_cap, 0) > 0) {
            /* What is still under way is of no interest; the end of the stream is. */
        }
        close(conns[i].fd);
        free(conns[i].in);
        free(conns[i].out);
    }
}

int conn_probe_open(struct conn_probe *p, const struct addresses *to, const char *path)
{
    static const struct wire_session fresh;
    uint8_t frame[2 * FRAME_OVERHEAD_MAX];
    size_t len = wire_connect(frame, SESSION_TIMEOUT_MS, &fresh);

    len += wire_read(frame + len, 1, OP_GET_DATA, path, 0);
    p->len = 0;
    p->fd = conn_dial(to, 0);
    if (p->fd < 0) {
        return -1;
    }
    if (write_all(p->fd, frame, len) != 0) {
        close(p->fd);
        return -1;
    }
    return 0;
}

int conn_probe_poll(struct conn_probe *p)
{
    const uint8_t *reply = p->in + 4 + CONNECT_RESPONSE_BYTES;
    ssize_t n = recv(p->fd, p->in + p->len, sizeof(p->in) - p->len, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    if (n <= 0) {
        return -1;
    }
    p->len += (size_t)n;
    if (p->len < sizeof(p->in)) {
        return 0;
    }
    if (get32(p->in) != CONNECT_RESPONSE_BYTES || get32(p->in + 8) <= 0 || get32(reply + 4) != 1 ||
        get32(reply + 16) != ERR_OK) {
        die("the first answer is not what was asked for: error %d", get32(reply + 16));
    }
    return 1;
}

uint8_t *conn_reserve(struct conn *c, size_t len)
{
    if (c->out_sent == c->out_len) {
        c->out_sent = c->out_len = 0;
    }
    if (c->out_cap - c->out_len < len) {
        memmove(c->out, c->out + c->out_sent, c->out_len - c->out_sent);
        c->out_len -= c->out_sent;
        c->out_sent = 0;
    }
    if (c->out_cap - c->out_len < len) {
        die("output buffer of %zu bytes is too small", c->out_cap);
    }
    return c->out + c->out_len;
}

/* The error in the next reply; `what` is what it is a reply to. */
static int32_t read_outcome(struct conn *c, const char *what, const char *path)
{
    uint8_t frame[512];
    int32_t len;

    if (read_all(c->fd, frame, 4) != 0) {
        die("connection lost at %s %s", what, path);
    }
    len = get32(frame);
    if (len < REPLY_HEADER_BYTES || len > (int32_t)sizeof(frame) ||
        read_all(c->fd, frame, (size_t)len) != 0 || get32(frame) != c->expected_xid) {
        die("bad reply to %s %s", what, path);
    }
    c->expected_xid++;
    return get32(frame + 12);
}

static void expect_created(struct conn *c, const char *path)
{
    int32_t err = read_outcome(c, "create", path);

    if (err != ERR_OK && err != ERR_NODE_EXISTS) {
        die("create %s: error %d", path, err);
    }
}

void conn_create_nodes(struct conn *c, path_fn name, long n, size_t data_len)
{
    uint8_t *frame = must_calloc(1, FRAME_OVERHEAD_MAX + data_len);
    char path[PATH_BYTES_MAX];
    long first, i, end;

    for (first = 0; first < n; first = end) {
        end = first + CREATE_BATCH < n ? first + CREATE_BATCH : n;
        for (i = first; i < end; i++) {
            name(path, i);
            if (write_all(c->fd, frame,
                          wire_create(frame, c->next_xid++, path, data_len, CREATE_PERSISTENT))) {
                die("connection lost before creating %s", path);
            }
        }
        for (i = first; i < end; i++) {
            name(path, i);
            expect_created(c, path);
        }
    }
    free(frame);
}

void conn_sync(struct conn *c)
{
    uint8_t frame[FRAME_OVERHEAD_MAX];

    if (write_all(c->fd, frame, wire_sync(frame, c->next_xid++, "/")) != 0 ||
        read_outcome(c, "sync", "/") != ERR_OK) {
        die("connection %d: no sync", c->index);
    }
}

void conn_go_async(struct conn *c, int epoll_fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

    set_blocking(c->fd, 0);
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0) {
        die("epoll_ctl: %s", strerror(errno));
    }
}

static void want_out(struct conn *c, int epoll_fd, int wanted)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

    if (c->wants_out == wanted) {
        return;
    }
    c->wants_out = wanted;
    if (wanted) {
        event.events |= EPOLLOUT;
    }
    epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
}

void conn_flush(struct conn *c, int epoll_fd)
{
    while (c->out_sent < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN) {
            want_out(c, epoll_fd, 1);
            return;
        }
        if (n < 0) {
            die("connection %d broke: %s", c->index, strerror(errno));
        }
        c->out_sent += (size_t)n;
    }
    want_out(c, epoll_fd, 0);
}

void conn_read(struct conn *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len, 0);

    if (n > 0) {
        c->in_len += (size_t)n;
    } else if (n == 0) {
        die("the server closed connection %d", c->index);
    } else if (errno != EAGAIN) {
        die("connection %d broke: %s", c->index, strerror(errno));
    }
}

int conn_next_reply(struct conn *c, size_t *at, struct reply *out)
{
    const uint8_t *p = c->in + *at;
    size_t left = c->in_len - *at;
    int32_t len;

    if (left < 4) {
        return 0;
    }
    len = get32(p);
    if (len < REPLY_HEADER_BYTES || (size_t)len > c->in_cap - 4) {
        die("reply with a length of %d", len);
    }
    if (left - 4 < (size_t)len) {
        return 0;
    }
    out->xid = get32(p + 4);
    out->err = get32(p + 16);
    out->body = p + 4 + REPLY_HEADER_BYTES;
    out->body_len = (size_t)len - REPLY_HEADER_BYTES;
    *at += 4 + (size_t)len;
    return 1;
}

void conn_consume(struct conn *c, size_t taken)
{
    c->in_len -= taken;
    if (c->in_len > 0 && taken > 0) {
        memmove(c->in, c->in + taken, c->in_len);
    }
}
