/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one client's link, as the server sees it: bytes in, bytes out, nothing of sockets.
 *
 *  FRESH ---ConnectRequest---> JOINING ---session ready---> SERVING
 *    |  four-letter word          |                            |
 *    +----------------------------+---------> CLOSING <--------+    sends what it has, then closes
 *
 * Requests of a connection are answered in order. Writes go on to agreement at once; a read that
 * comes while one of them is in flight is parked, as bytes, behind it. */
#ifndef PAWL_SERVER_CONNECTION_H
#define PAWL_SERVER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "wire/ops.h"

struct server;
struct session;

enum connection_state {
    CONNECTION_FRESH,
    CONNECTION_JOINING,
    CONNECTION_SERVING,
    CONNECTION_CLOSING
};

/* Who a connection has shown itself to be: "digest" "bob:hash". */
struct auth_id {
    struct list link;
    char *scheme;
    char *id;
};

/* Where a client is. `ip` is Java's way to write it, IPv6 uncompressed. */
struct peer {
    char ip[48];
    uint16_t port;
    bool is_local; /* came through a Unix socket */
};

struct connection {
    struct list link;    /* in the server's list of all */
    struct list touched; /* in the list of those the I/O side must look at */
    enum connection_state state;
    struct peer peer;
    void *owner; /* the I/O side's; not looked at here */

    struct strbuf in;         /* received, not yet consumed */
    struct strbuf out;        /* to be sent */
    size_t out_at;            /* how much of `out` the I/O side has sent */
    bool paused;              /* input must wait */
    struct list paused_link;  /* in the list of those */
    int64_t waiting_since_us; /* since when `in` holds a whole request that was not taken */

    struct session *session;
    int64_t session_id; /* stays when the session is gone */
    int32_t timeout_ms;
    bool has_read_only_byte;

    struct list auth_ids;
    bool is_super;

    struct list watches;
    uint64_t last_event; /* serial of the last change it was told of: once each */

    struct strbuf parked; /* what waits behind writes in flight; see pipeline.c */
    size_t parked_at;
    int32_t n_in_flight; /* writes proposed and not yet applied */
    int32_t n_parked;
    struct list proposals;
    int64_t large_bytes; /* of large requests in flight */

    struct { /* what `cons` shows */
        int64_t established_ms;
        uint64_t received, sent;
        const struct op *last_op; /* NULL: none yet */
        int32_t last_cxid;        /* -1: none yet */
        int64_t last_zxid;
        int64_t last_response_ms;
        int64_t last_latency_ms, min_latency_ms, max_latency_ms, total_latency_ms;
        uint64_t n_latencies;
    } stats;
    int64_t opened_us;
    int64_t closing_us; /* since when it is CLOSING */
};

/* Puts it on the list of those the I/O side must look at. */
void connection_touch(struct server *s, struct connection *c);

/* crst: what `cons` shows of it begins anew. */
void connection_reset_stats(struct connection *c);

/* What is queued is sent, then the link is closed; nothing more is read. */
void connection_close_after_flush(struct server *s, struct connection *c);

#endif
