/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.h - a connection gets its session: a new one, or the one it had. */
#ifndef PAWL_SERVER_HANDSHAKE_H
#define PAWL_SERVER_HANDSHAKE_H

#include "server/server.h"

/* The ConnectRequest of a fresh connection. */
void handshake_receive(struct server *s, struct connection *c, struct bytes frame);

/* The createSession of `c` is committed: the session is live and the client is told. */
void handshake_session_created(struct server *s, struct connection *c);

/* What a client is told of a session is on disk, as everything else: of one that is being closed,
 * or created, it is told when that is committed. */
bool handshake_is_being_decided(const struct server *s, const struct session *session);

/* The word about a session, of whoever decides here which of them live. One that is being created
 * or closed is decided when that is committed. */
void handshake_revalidate(struct server *s, int64_t session_id);

/* Something that decides about sessions is committed: who waits for the word about one asks again.
 * Only where handshake_revalidate() gives it. */
void handshake_ask_again(struct server *s);

#endif
