/* SPDX-License-Identifier: Apache-2.0 */
/* election_net.h - the election port: one connection for each pair of servers.
 *
 * Either side may dial, but only the larger id keeps what it dialled: a smaller one knocks, that is
 * connects, says who it is and hangs up, and is called back.
 *
 *             dial, hello                                      hello of a larger id
 *   to a smaller id ----------> KEPT            accepted ---------------------------> KEPT
 *   to a larger one ----------> hang up                  --- of a smaller one -------> hang up,
 * dial
 *                                                        --- of this server's --------> hang up
 *
 * With TLS (peer_stream.h) all of that comes after the handshake, and whoever has come is believed
 * to be the server it says only if its certificate is that server's.
 *
 * One notification waits for each server, a newer one takes its place; and the last one that left
 * is sent again on every new connection, for who has missed it would miss the election. A server
 * that is not connected is dialled when there is something to send, and once when its connection
 * is lost. */
#ifndef PAWL_DAEMON_ELECTION_NET_H
#define PAWL_DAEMON_ELECTION_NET_H

#include <uv.h>

#include "quorum/config.h"

struct election_net;
struct member_sasl;
struct peer_tls;

enum { ELECTION_LISTENERS_MAX = 8 };

struct election_net_options {
    uv_loop_t *loop;
    int64_t id;                         /* of this server */
    const struct quorum_config *config; /* copied */
    const int *listeners;               /* listening sockets, taken over */
    size_t n_listeners;
    int connect_ms;                 /* cnxTimeout */
    int hello_ms;                   /* how long who connects may take to say who it is */
    bool keepalive;                 /* tcpKeepAlive */
    struct peer_tls *tls;           /* stays the caller's; NULL: none */
    const struct member_sasl *sasl; /* the same: behind each hello */

    /* Both from the loop, never from inside a call of the net. `payload` is lent. */
    void (*heard)(void *arg, int64_t id, struct bytes payload);
    void (*refused)(void *arg, int64_t id); /* nobody listens there, and there is no connection */
    void *arg;
};

struct election_net *election_net_new(const struct election_net_options *options);

/* Nothing is called any more; the memory goes when the loop has run on. */
void election_net_free(struct election_net *net);

/* The members are these from now on, and, if that is not NULL, about to be those: both are copied.
 * A connection to a member that is elsewhere now is closed. */
void election_net_follow(struct election_net *net, const struct quorum_config *active,
                         const struct quorum_config *next);

/* Listening sockets in the place of those before; taken over. */
void election_net_listen(struct election_net *net, const int *fds, size_t n);

/* A notification with its length in front. To a server that is in no list only while it is
 * connected. */
void election_net_send(struct election_net *net, int64_t id, struct bytes frame);

#endif
