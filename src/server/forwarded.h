/* SPDX-License-Identifier: Apache-2.0 */
/* forwarded.h - what a leader does with the requests of its learners' clients.
 *
 * Every one of them becomes a transaction, an error if nothing else: the learner waits for it. The
 * session must live, and belong to that learner. A request is a sign of life of its session. */
#ifndef PAWL_SERVER_FORWARDED_H
#define PAWL_SERVER_FORWARDED_H

#include "server/server.h"
#include "wire/packet.h"

/* A write that came over `link`, with the ids that it brought. */
void forwarded_write(struct server *s, uint64_t link, const struct forwarded_request *f,
                     struct id_list auth);

/* A sync; whether it asks to be answered as the sign of life that it is. */
bool forwarded_sync(struct server *s, const struct forwarded_request *f);

/* A client has come to that learner with its session. If it lives, it is that learner's from here
 * on. UNDECIDED: it is being closed, or created, and that is not committed yet: whether it lives is
 * known then. (Java's leader calls a session whose close is proposed dead at once; if the leader is
 * lost with the proposal, its client has been told of an end that never came, and its ephemeral
 * nodes stay.) */
enum session_life { SESSION_DEAD, SESSION_LIVES, SESSION_UNDECIDED };
enum session_life forwarded_revalidate(struct server *s, uint64_t link,
                                       const struct session_touch *t);

/* Sessions that a learner has heard from: the data of its PING. */
void forwarded_touches(struct server *s, struct bytes data);

#endif
