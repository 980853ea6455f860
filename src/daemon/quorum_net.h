/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_net.h - the links of the quorum port: a leader's to its learners, a learner's to its
 * leader.
 *
 *   accepted  GREETING --- first packet ---> OPEN --- quorum_net_close() ---> ENDING --> CLOSED
 *   dialled ---------- (dialler.h) --------> OPEN     any of them: lost ---------------> CLOSED
 *           \- TLS --> SHAKING --- done -----^
 *
 * Packets come in one after the other without a length in front, and are given up in order. What
 * is sent gathers and leaves with one write per link and turn (quorum_net_flush()). A stream (the
 * records of a log, a snapshot) takes its place in that order: what is sent later waits behind it
 * until it is ended.
 *
 * With TLS (peer_stream.h) who connects has its handshake as a part of its greeting, and a link
 * that was dialled is up when the handshake is over. With SASL (member_auth.h) the same is so of
 * that.
 *
 * Bounds. Who connects and does not say within `greeting_ms` who it is, or begins with anything
 * else, is dropped. A packet has its limit; so has what waits for a link that does not read, in
 * bytes and in time: beyond it the link is ended, with a line in the log, and whoever it was comes
 * again and is synchronised.
 *
 * Everything happens on the loop. Events never come from within a call: a link that is lost is
 * reported in a later turn. Names are looked up on other threads, anew for each dial. */
#ifndef PAWL_DAEMON_QUORUM_NET_H
#define PAWL_DAEMON_QUORUM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/dialler.h"
#include "quorum/quorum.h"
#include "wire/packet.h"

struct member_sasl;
struct quorum_net;

/* A place in a link's output; never 0, never used twice. */
typedef uint64_t stream_id;

struct quorum_net_events {
    void *arg;
    void (*up)(void *arg, link_id link, int64_t sid); /* SID_NOBODY: accepted */
    void (*down)(void *arg, link_id link);
    void (*dial_failed)(void *arg, int64_t sid);
    void (*packet)(void *arg, link_id link, const struct packet *packet);
    /* After quorum_net_divert(): bytes that are no packets. WHOLE: packets come again behind the
     * first `*used`. SHORT: all are used. BAD: the link is ended, because of `*reason`. */
    enum stream_read (*diverted)(void *arg, link_id link, struct bytes bytes, size_t *used,
                                 const char **reason);
    void (*room)(void *arg, stream_id stream); /* more may be written to it */
    void (*sent)(void *arg, stream_id stream); /* it was ended, and its last byte has left */
};

struct quorum_net_options {
    uv_loop_t *loop;
    size_t packet_bytes; /* of the data of one packet */
    size_t output_bytes; /* that wait for one link */
    int64_t greeting_ms;
    int64_t dial_ms; /* of each address, see dialler.h */
    /* Something waits for it, and it takes none of it; or its stream does not go on. */
    int64_t stall_ms;
    bool keepalive;
    struct peer_tls *tls;           /* stays the caller's; NULL: none */
    const struct member_sasl *sasl; /* the same */
    struct quorum_net_events events;
};

struct quorum_net *quorum_net_new(const struct quorum_net_options *options);
/* Closes all links without a word; the loop has to run once more. NULL is allowed. */
void quorum_net_free(struct quorum_net *n);

/* Accepts at these sockets, which listen and stay the caller's (quorum_port.h). */
void quorum_net_listen(struct quorum_net *n, const int *fds, size_t count);
void quorum_net_unlisten(struct quorum_net *n);

/* One attempt: up or dial_failed. Replaces the one under
 * way, of which nothing is heard any more. */
void quorum_net_dial(struct quorum_net *n, int64_t sid, const struct net_address *addresses,
                     size_t count);

/* A link that is gone is passed over by all of these. */
void quorum_net_send(struct quorum_net *n, link_id link, const struct packet *packet);
/* When what was sent before has left, or cannot. No event of it comes any more. */
void quorum_net_close(struct quorum_net *n, link_id link);
/* As if it had been lost: `down` follows. */
void quorum_net_drop(struct quorum_net *n, link_id link, const char *reason);

/* Holds back all that comes in, and goes on with it. */
void quorum_net_hold(struct quorum_net *n, link_id link);
void quorum_net_resume(struct quorum_net *n, link_id link);
/* From here on what comes is no packet. */
void quorum_net_divert(struct quorum_net *n, link_id link);

/* 0: the link is gone. */
stream_id quorum_net_stream(struct quorum_net *n, link_id link);
void quorum_net_stream_write(struct quorum_net *n, stream_id stream, struct bytes bytes);
void quorum_net_stream_end(struct quorum_net *n, stream_id stream);
/* Below STREAM_ROOM_BYTES there is room. */
size_t quorum_net_stream_pending(const struct quorum_net *n, stream_id stream);
enum { STREAM_ROOM_BYTES = 1 << 20 };

/* Before the loop sleeps. */
void quorum_net_flush(struct quorum_net *n);

/* "10.0.0.7:52110": whom a link leads to, for the log; "" if it is gone. */
const char *quorum_net_peer(const struct quorum_net *n, link_id link);

#endif
