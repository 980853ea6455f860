/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h - one connection to a ZooKeeper server, with its session.
 *
 * A connection is opened, and small errands are run on it, with blocking calls; then
 * conn_go_async() hands it to an epoll loop and conn_close_all() takes it back. Everything that
 * arrives is read into one fixed buffer, everything that leaves collects in another until it is
 * flushed, so that a batch of requests costs one system call. */
#ifndef PAWL_BENCH_CONN_H
#define PAWL_BENCH_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum { SERVERS_MAX = 7 };

/* One server, or the members of an ensemble: connections go round. */
struct addresses {
    const char *host; /* a numeric IPv4 address */
    int n;
    int ports[SERVERS_MAX];
};

struct conn {
    int fd;
    int index;            /* place among its siblings: which contender, which watcher */
    int32_t first_xid;    /* of what is measured */
    int32_t next_xid;     /* of the next request */
    int32_t expected_xid; /* of the next reply: they come in order */
    int wants_out;        /* EPOLLOUT is armed because the socket was full */
    int64_t session_id;
    uint8_t *in;
    size_t in_len, in_cap;
    uint8_t *out;
    size_t out_len, out_sent, out_cap;
};

/* A reply or an event, pointing into the connection's buffer until the next read. */
struct reply {
    int32_t xid;
    int32_t err;
    const uint8_t *body;
    size_t body_len;
};

/* Connects to server `i` of `to`, counted round. Blocking; -1 if nobody listens. */
int conn_dial(const struct addresses *to, int i);

/* Opens `n` connections, each with a new session. Dies if a server refuses one. */
void conn_open_all(struct conn *conns, int n, const struct addresses *to, size_t in_cap,
                   size_t out_cap);

/* Closes the sessions and the sockets, waiting for the server to confirm: ephemeral nodes and
 * session slots must not leak into whatever is measured next. */
void conn_close_all(struct conn *conns, int n);

/* One attempt to get a session and an answer out of a server that may not be ready. */
struct conn_probe {
    int fd;
    size_t len;
    uint8_t in[4 + CONNECT_RESPONSE_BYTES + 4 + REPLY_HEADER_BYTES];
};

/* Connects to the first server and asks for a session and for the data of `path`. -1 if nobody
 * listens. */
int conn_probe_open(struct conn_probe *p, const struct addresses *to, const char *path);

/* 1: answered; 0: not yet; -1: the server closed it. Does not wait. The caller closes the socket.
 */
int conn_probe_poll(struct conn_probe *p);

/* Where the next request is to be written, and saying that it has been. */
uint8_t *conn_reserve(struct conn *c, size_t len);
static inline void conn_commit(struct conn *c, size_t len)
{
    c->out_len += len;
}

/* Blocking: creates the `n` nodes whose paths `name(i)` writes, pipelined; existing ones are fine.
 */
typedef void (*path_fn)(char *path, long i);
void conn_create_nodes(struct conn *c, path_fn name, long n, size_t data_len);

/* Blocking: what others have written is there for this connection's reads. */
void conn_sync(struct conn *c);

void conn_go_async(struct conn *c, int epoll_fd);

/* Sends what has collected, as far as the socket takes it. */
void conn_flush(struct conn *c, int epoll_fd);

/* Reads once. Dies when the server has closed the connection. */
void conn_read(struct conn *c);

/* Takes the next whole frame out of what was read, from `*at` on. 0 when there is none. */
int conn_next_reply(struct conn *c, size_t *at, struct reply *out);

/* Drops the `taken` bytes that have been handled. */
void conn_consume(struct conn *c, size_t taken);

#endif
