/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_net_internal.h - what the files of the quorum port's links share. */
#ifndef PAWL_DAEMON_QUORUM_NET_INTERNAL_H
#define PAWL_DAEMON_QUORUM_NET_INTERNAL_H

#include <uv.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "daemon/member_auth.h"
#include "daemon/peer_stream.h"
#include "daemon/quorum_net.h"
#include "daemon/quorum_port.h"

enum {
    READ_BYTES = 256 << 10,
    SWEEP_MS = 100,
    ENDING_MS = 2000,
    GREETING_BYTES = 4096,
    GREETING_MAX = 64, /* at a time; the oldest goes first */
    LINKS_MAX = 1024,
    LISTENERS_MAX = QUORUM_PORT_ADDRESSES,
    KEEP_BYTES = 1 << 20,
};

enum link_state { GREETING, SHAKING, OPEN, ENDING, CLOSED, N_STATES };

/* A stretch of a link's output. */
struct out_part {
    struct list link;
    struct strbuf bytes;
    size_t at;        /* sent so far */
    stream_id stream; /* 0: packets */
    bool is_open;     /* a stream that goes on */
    bool wants_room;  /* has been full */
};

struct net_link {
    struct list link;
    struct quorum_net *net;
    link_id id;
    enum link_state state;
    int64_t sid; /* whom we dialled; SID_NOBODY: accepted */
    struct peer_stream stream;
    struct member_auth *auth; /* before it is OPEN; NULL: none is under way */
    uv_poll_t poll;
    int events;
    bool is_held;
    bool is_resumed; /* what has come already is to be looked at */
    bool is_diverted;
    bool is_dirty;     /* something to send, at the end of the turn */
    bool is_full;      /* it takes no more at the moment */
    bool is_untold;    /* CLOSED, and the owner does not know yet */
    uint64_t since_ms; /* of the state; OPEN: that it last took a byte */
    uint64_t heard_ms; /* diverted: that something came, or began to be read again */
    struct strbuf input;
    struct list parts;
    size_t n_packets; /* bytes of packets in `parts` */
    char peer[64];
    char host[256]; /* that was dialled */
};

struct net_listener {
    uv_poll_t poll;
    struct quorum_net *net;
    int fd;
};

struct quorum_net {
    struct quorum_net_options options;
    struct list links;
    link_id last_link;
    stream_id last_stream;
    struct dialler *dialler;
    int64_t dialled_sid;
    struct net_listener *listeners[LISTENERS_MAX];
    size_t n_listeners;
    uv_timer_t sweep;
    uv_async_t wake;
    int n_handles; /* ours, until their memory may go */
    bool is_freed;
    uint8_t *buffer;
};

/* ---- quorum_link.c: one link ---- */

/* Takes the stream over. */
struct net_link *quorum_link_new(struct quorum_net *n, const struct peer_stream *stream,
                                 enum link_state state);

/* Ends it. The owner is told of it later, if it knew of it; `tell` false: if it ended it itself. */
void quorum_link_lost(struct net_link *l, const char *reason);
void quorum_link_shut(struct net_link *l, bool tell);

void quorum_link_move(struct net_link *l, enum link_state next);
/* Waits for what the state asks for. */
void quorum_link_wait(struct net_link *l);
/* Looks at what came while it was held. */
void quorum_link_go_on(struct net_link *l);
/* A link that was dialled, and has no handshake under way any more: it authenticates, or the owner
 * is told at once. `host`: whom. */
void quorum_link_shaken(struct net_link *l);
/* The owner knows now that it is gone. */
void quorum_link_told(struct net_link *l);

/* ---- quorum_net.c ---- */

uint64_t quorum_net_now(const struct quorum_net *n);
void quorum_net_wake(struct quorum_net *n);
/* A link that was dialled has failed before it was up. */
void quorum_net_not_dialled(struct quorum_net *n, int64_t sid, const char *why);
/* A handle of the loop is closed; with the last one the memory goes. */
void quorum_net_unref(struct quorum_net *n);

#endif
