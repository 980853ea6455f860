/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - the order of things in a session: reads now, writes when committed. */
#ifndef PAWL_SERVER_PIPELINE_H
#define PAWL_SERVER_PIPELINE_H

#include "server/server.h"

/* Takes what it can of c->in or `bytes`; what must wait stays in c->in. */
void pipeline_receive(struct server *s, struct connection *c, struct bytes bytes);

/* The client has taken some of c->out. */
void pipeline_sent(struct server *s, struct connection *c);

/* `w`, a write of a connection, is applied next: what was asked there before it is answered now. */
void pipeline_before_write(struct server *s, const struct waiting *w);

/* The write has been applied and answered: what is parked behind it is next. */
void pipeline_write_done(struct server *s, struct connection *c);

/* `w` has been applied: who else waited for it is next. */
void pipeline_applied(struct server *s, struct waiting *w);

/* `c` goes, and what it waits for. */
void pipeline_forget(struct connection *c);

/* The role goes, and nobody waits for it any more. */
void pipeline_fini(struct server *s);

/* The session is ready: requests may follow. */
void pipeline_session_ready(struct server *s, struct connection *c);

/* Counts for the statistics: a reply of so many bytes, its length included; and the operation it
 * answers, with the time it took. */
void pipeline_count_reply(struct server *s, struct connection *c, size_t bytes);
void pipeline_count_latency(struct server *s, struct connection *c, const struct op *op,
                            int32_t xid, int64_t latency_us);

#endif
