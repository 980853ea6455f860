/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - a client's socket, for link.c and link_opening.c.
 *
 *            plain                                  the member knows it
 *   accept ---------------------------------------------> SERVED ----+
 *      |                                                    ^        |
 *      | TLS, or a port for both                            | done   +--> closed
 *      +-------------> OPENING: which of the two? handshake-+        |
 *                        limits on time and number -------------------+
 *
 * The member hears of a client when it is known who that is: until then a link has an `opening`,
 * and no connection. */
#ifndef PAWL_DAEMON_LINK_H
#define PAWL_DAEMON_LINK_H

#include "daemon/host_internal.h"

struct address;
struct tls;

struct link_opening {
    struct list link; /* in the host's list, the oldest first */
    struct link *owner;
    struct peer peer;
    enum link_kind kind;
    int64_t since_ms;
};

struct link {
    struct list link;
    uv_poll_t poll;
    struct host *host;
    struct connection *connection; /* NULL: still opening */
    struct tls *tls;               /* NULL: plain */
    struct address *address;       /* NULL: came through the Unix socket */
    int fd;
    int64_t session_id; /* known to the owners; 0: none */
    int events;         /* what the poll waits for */
    bool closed;
    bool is_nameless; /* TLS, without a certificate */
    struct link_opening *opening;
};

/* ---- link.c ---- */

void link_shut(struct link *l);
void link_wait_for(struct link *l, int events);

/* From now on the member knows it. `subject`: of its certificate; NULL: it has none. */
void link_serve(struct link *l, const struct peer *peer, const char *subject);

/* What the socket of a plain one has. */
void link_receive(struct link *l);
/* What the TLS filter has. */
void link_receive_plain(struct link *l);

/* Sends what the TLS filter has for the network, as far as the socket takes it. False: the link is
 * gone. */
bool link_send_tls(struct link *l);

/* ---- link_opening.c ---- */

void opening_begin(struct link *l, const struct peer *peer, enum link_kind kind);
void opening_end(struct link *l);
void opening_on_ready(uv_poll_t *poll, int status, int events);

#endif
