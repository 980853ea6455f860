/* SPDX-License-Identifier: Apache-2.0 */
/* client_bench_bare.c - the client benchmark on nothing: one socket, one thread, frames by hand.
 *
 * What a client could reach if it had no state to keep, nothing to lock and nobody to wake. A
 * blocking call is one send and one recv. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "client_bench.h"
#include "conn.h"
#include "util.h"

enum { BUFFER_BYTES = 1 << 20, CALLS_MAX = 1 << 12 };

struct async_call {
    answered_fn answered;
    void *arg;
    enum wire_op op;
};

struct client {
    struct conn conn;
    unsigned first, end; /* of `calls`, a ring */
    struct async_call calls[CALLS_MAX];
};

const char *const client_name = "bare";

struct client *client_open(const char *servers)
{
    struct client *c = must_calloc(1, sizeof(*c));
    char host[64];
    struct addresses to = {.host = host, .n = 1};

    if (sscanf(servers, "%63[^:]:%d", host, &to.ports[0]) != 2) {
        die("not an address: %s", servers);
    }
    conn_open_all(&c->conn, 1, &to, BUFFER_BYTES, BUFFER_BYTES);
    return c;
}

void client_close(struct client *c)
{
    conn_close_all(&c->conn, 1);
    free(c);
}

static void flush(struct client *c)
{
    struct conn *conn = &c->conn;

    while (conn->out_sent < conn->out_len) {
        ssize_t n = send(conn->fd, conn->out + conn->out_sent, conn->out_len - conn->out_sent,
                         MSG_NOSIGNAL);

        if (n <= 0) {
            die("the connection broke");
        }
        conn->out_sent += (size_t)n;
    }
}

static void check_reply(struct client *c, const struct reply *reply, enum wire_op op)
{
    if (reply->xid != c->conn.expected_xid++) {
        die("an answer out of order");
    }
    if (reply->err != ERR_OK && (op != OP_CREATE || reply->err != ERR_NODE_EXISTS)) {
        die("operation %d: error %d", op, reply->err);
    }
    if (op == OP_GET_DATA && get32(reply->body) != DATA_BYTES) {
        die("get: %d bytes", get32(reply->body));
    }
}

static void exchange(struct client *c, enum wire_op op)
{
    struct reply reply;
    size_t at = 0;

    flush(c);
    do {
        conn_read(&c->conn);
    } while (!conn_next_reply(&c->conn, &at, &reply));
    check_reply(c, &reply, op);
    conn_consume(&c->conn, at);
}

static uint8_t *room(struct client *c)
{
    return conn_reserve(&c->conn, FRAME_OVERHEAD_MAX + DATA_BYTES);
}

static void put_get(struct client *c, const char *path)
{
    uint8_t *frame = room(c);

    conn_commit(&c->conn, wire_read(frame, c->conn.next_xid++, OP_GET_DATA, path, 0));
}

static void put_set(struct client *c, const char *path)
{
    uint8_t *frame = room(c);

    conn_commit(&c->conn, wire_set_data(frame, c->conn.next_xid++, path, DATA_BYTES));
}

void client_create(struct client *c, const char *path)
{
    uint8_t *frame = room(c);

    conn_commit(&c->conn,
                wire_create(frame, c->conn.next_xid++, path, DATA_BYTES, CREATE_PERSISTENT));
    exchange(c, OP_CREATE);
}

void client_get(struct client *c, const char *path)
{
    put_get(c, path);
    exchange(c, OP_GET_DATA);
}

void client_set(struct client *c, const char *path)
{
    put_set(c, path);
    exchange(c, OP_SET_DATA);
}

static void remember(struct client *c, enum wire_op op, answered_fn answered, void *arg)
{
    if (c->end - c->first == CALLS_MAX) {
        die("more than %d calls outstanding", CALLS_MAX);
    }
    c->calls[c->end++ % CALLS_MAX] = (struct async_call){answered, arg, op};
}

void client_get_async(struct client *c, const char *path, answered_fn answered, void *arg)
{
    put_get(c, path);
    remember(c, OP_GET_DATA, answered, arg);
}

void client_set_async(struct client *c, const char *path, answered_fn answered, void *arg)
{
    put_set(c, path);
    remember(c, OP_SET_DATA, answered, arg);
}

bool client_turn(struct client *c)
{
    struct reply reply;
    size_t at = 0;

    if (c->first == c->end) {
        return true;
    }
    flush(c);
    conn_read(&c->conn);
    while (conn_next_reply(&c->conn, &at, &reply)) {
        struct async_call call = c->calls[c->first++ % CALLS_MAX];

        check_reply(c, &reply, call.op);
        call.answered(call.arg);
    }
    conn_consume(&c->conn, at);
    return true;
}
