/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h - one client's link, as the server sees it: bytes in, bytes out, nothing of sockets.
 *
 *            ConnectRequest            session ready
 *    FRESH -----------------> JOINING ----------------> SERVING
 *      |                         |                         |
 *      | four-letter word,       | refused                 | session closed or moved, end of
 *      | bad bytes, silence      |                         | its time, bad bytes, reads nothing
 *      +-------------------------+--------> CLOSING <------+
 *                                              sends what it has, then the I/O side disconnects it
 *
 * Requests of a session are answered in order. Writes go on to agreement at once; a read that comes
 * while one of them is in flight is parked, as bytes, behind it (pipeline.c). Beside its state a
 * connection has a reason why its input waits, if it does; the I/O side reads only from those
 * whose input is open, so that TCP holds back the client:
 *
 *    OPEN --> JOINING   until the session is there
 *         --> OUTPUT    until the client has read more of its answers
 *         --> COMMITS   until some of what is in flight is committed
 *         --> TURN      it has had its share of this turn, others are next; or it is being told
 *                       what it missed (missed.h)
 */
#ifndef PAWL_SERVER_CONNECTION_H
#define PAWL_SERVER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "server/identity.h"
#include "server/parked.h"
#include "wire/ops.h"

struct server;
struct session;

enum connection_state {
    CONNECTION_FRESH,
    CONNECTION_JOINING,
    CONNECTION_SERVING,
    CONNECTION_CLOSING,
    N_CONNECTION_STATES
};

enum connection_input { INPUT_OPEN, INPUT_JOINING, INPUT_OUTPUT, INPUT_COMMITS, INPUT_TURN };

/* Where a client is. `ip` is Java's way to write it, IPv6 uncompressed. */
struct peer {
    char ip[48];
    uint16_t port;
    bool is_local;  /* came through a Unix socket */
    bool is_secure; /* came to the port for TLS; not: with TLS to the one for all */
};

struct connection {
    struct list link;    /* in the server's list of all */
    struct list touched; /* in the list of those the I/O side must look at */
    enum connection_state state;
    struct peer peer;
    void *owner; /* the I/O side's; not looked at here */

    struct strbuf in; /* received, not yet consumed */
    enum connection_input input;
    struct list paused_link;  /* in the list of those whose input is not open */
    int64_t waiting_since_us; /* since when `in` holds a whole request that was not taken */
    int64_t turn;             /* the turn of which it has spent so much; see pipeline.c */
    int64_t spent;

    struct strbuf out;     /* to be sent */
    size_t out_at;         /* how much of `out` the I/O side has sent */
    size_t largest_answer; /* in `out` since it was last empty */
    int64_t taken_us;      /* when the client last took some of it, or there was nothing to take */

    struct session *session;
    int64_t session_id; /* stays when the session is gone */
    int32_t timeout_ms;
    bool has_read_only_byte;

    struct identity identity; /* who it has shown itself to be */
    void *sasl;               /* an exchange under way, of the gate's (sasl_gate.h); NULL: none */
    bool sasl_done;           /* one has come to its good end: there is no second one */

    struct list watches;
    size_t watch_bytes;
    struct missed *missed; /* what its setWatches2 has still to tell; NULL: nothing */
    uint32_t n_rounds;     /* of setWatches2; see watch_add_again() */
    uint64_t last_event;   /* serial of the last change it was told of: once each */

    struct parked parked;    /* what waits behind writes in flight */
    struct list waiting;     /* its writes, see waiting.h */
    struct list waits;       /* for writes of others; see pipeline.c */
    struct list joining;     /* in the list of those that wait for a word about their session */
    int64_t in_flight_bytes; /* of requests in flight */
    int64_t large_bytes;     /* of large requests in flight */

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
    int64_t heard_us;   /* when the client last was heard */
    int64_t closing_us; /* since when it is CLOSING */
};

/* How many bytes wait for the client. */
static inline size_t connection_unread(const struct connection *c)
{
    return c->out.len - c->out_at;
}

/* Nothing of it is under way: no request has come in part or waits for its answer, and it has taken
 * every answer. */
bool connection_is_idle(const struct connection *c);

/* The one way from state to state; it is touched. */
void connection_move(struct server *s, struct connection *c, enum connection_state next);

/* What is true of it between any two calls. */
void connection_check(const struct connection *c);

/* Its input waits for this, or is open again. */
void connection_set_input(struct server *s, struct connection *c, enum connection_input input);

/* Puts it on the list of those the I/O side must look at. */
void connection_touch(struct server *s, struct connection *c);

/* crst: what `cons` shows of it begins anew. */
void connection_reset_stats(struct connection *c);

/* What is queued is sent, then the link is closed; nothing more is read. */
void connection_close_after_flush(struct server *s, struct connection *c);

/* The link is closed, whether or not the client has read everything. */
void connection_drop(struct server *s, struct connection *c);

#endif
