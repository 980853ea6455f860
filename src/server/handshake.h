/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.h - a connection gets its session: a new one, or the one it had. */
#ifndef PAWL_SERVER_HANDSHAKE_H
#define PAWL_SERVER_HANDSHAKE_H

#include "server/server.h"

/* The ConnectRequest of a fresh connection. */
void handshake_receive(struct server *s, struct connection *c, struct bytes frame);

/* The createSession of `c` is committed: the session is live and the client is told. */
void handshake_session_created(struct server *s, struct connection *c);

/* `c` waits to resume a session of which it was not known whether it lives: perhaps it is now. */
void handshake_go_on(struct server *s, struct connection *c);

#endif
