/* SPDX-License-Identifier: Apache-2.0 */
/* election_net_internal.h - what election_net.c and election_listen.c share; nobody else includes
 * it. */
#ifndef PAWL_DAEMON_ELECTION_NET_INTERNAL_H
#define PAWL_DAEMON_ELECTION_NET_INTERNAL_H

#include "base/list.h"
#include "base/strbuf.h"
#include "daemon/election_net.h"
#include "daemon/peer_stream.h"
#include "wire/vote.h"

struct dialler;
struct member_auth;

enum {
    READ_BYTES_AT_ONCE = 64 * 1024,
    /* What one connection may have sent without a whole frame. */
    INPUT_BYTES = NOTIFICATION_BYTES_MAX + 4 + READ_BYTES_AT_ONCE,
    NAMELESS_MAX = 64,    /* connections that have not said who they are */
    STRANGERS_MAX = 64,   /* servers that are in no list */
    CHECK_MS = 100,       /* how often deadlines are looked at, while there are any */
    KNOCK_AGAIN_MS = 100, /* who was knocked at calls back sooner */
    /* A lost connection is made again at once, but not over and over with somebody who hangs up:
     * so often within that time. */
    REDIALS = 8,
    REDIALS_WINDOW_MS = 1000
};

/* What is to be sent to one server, and the connection if there is one. */
struct election_peer {
    struct list node;
    struct election_net *net;
    int64_t id;
    bool is_listed;                /* otherwise a stranger */
    struct election_link *link;    /* NULL: not connected */
    struct election_link *shaking; /* dialled, with TLS or SASL under way; NULL: none */
    struct dialler *dialler;
    struct strbuf waiting; /* a frame of which nothing has left */
    struct strbuf last;    /* the last one that has, in part at least */
    char *told;            /* addresses from its hello, for the call back, or NULL */
    int64_t knock_again_ms;
    int n_redials; /* since redials_ms */
    int64_t redials_ms;
};

struct election_link {
    struct list node;
    uv_poll_t poll;
    struct election_net *net;
    struct election_peer *peer;    /* NULL: has not said who it is, or was only knocked at */
    struct election_peer *dialled; /* whom, while TLS or SASL is under way; NULL: it is not */
    struct member_auth *auth;      /* NULL: it is not under way */
    char *host;                    /* that was dialled, as long as `dialled` */
    int64_t knocked_at;            /* that server; -1: this is no knock */
    struct peer_stream stream;
    char ip[48]; /* "" when we dialled */
    int64_t deadline_ms;
    struct strbuf in;
    struct strbuf out; /* what is being written */
    size_t out_at;
    bool closed;
};

struct election_listener {
    uv_poll_t poll;
    struct election_net *net;
    int fd;
    bool paused;
};

struct election_net {
    struct election_net_options options;
    struct quorum_config active, next; /* of our own; the next one may be empty */
    struct strbuf hello;
    struct list peers;
    struct list links;
    size_t n_nameless, n_strangers;
    int64_t last_anonymous;
    struct election_listener *listener[ELECTION_LISTENERS_MAX]; /* freed when closed */
    size_t n_listeners;
    uv_timer_t check; /* runs while somebody is nameless or a listener paused */
    size_t n_handles; /* open ones, and connections that are not freed */
    bool closing;
    uint8_t buffer[READ_BYTES_AT_ONCE];
};

/* ---- election_net.c ---- */

struct election_link *election_add_link(struct election_net *net, const struct peer_stream *stream);
void election_close_link(struct election_link *l);
void election_link_ready(uv_poll_t *poll, int status, int events);

/* Deadlines are looked at, and listeners that pause are tried again. */
void election_check_soon(struct election_net *net);

/* One of the handles has been closed. */
void election_net_unref(struct election_net *net);

/* ---- election_listen.c ---- */

void election_listen_again(struct election_net *net); /* those that pause */
void election_unlisten(struct election_net *net);

#endif
