/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - the order of things on a connection: reads now, writes when committed. */
#ifndef PAWL_SERVER_PIPELINE_H
#define PAWL_SERVER_PIPELINE_H

#include "server/server.h"

/* Takes what it can of c->in or `bytes`; what must wait stays in c->in. */
void pipeline_receive(struct server *s, struct connection *c, struct bytes bytes);

/* Goes on with c->in, if the reason to wait is gone. */
void pipeline_resume(struct server *s, struct connection *c);

/* The oldest write in flight of `c` has been answered: the reads parked behind it are next. */
void pipeline_write_done(struct server *s, struct connection *c);

/* A transaction has been applied: who asked for a sync may be next. */
void pipeline_applied(struct server *s);

/* `c` goes, and what it waits for. */
void pipeline_forget(struct server *s, const struct connection *c);

/* The session is ready: requests may follow. */
void pipeline_session_ready(struct server *s, struct connection *c);

/* Counts for the statistics: a reply of so many bytes, its length included; and the operation it
 * answers, with the time it took. */
void pipeline_count_reply(struct server *s, struct connection *c, size_t bytes);
void pipeline_count_latency(struct server *s, struct connection *c, const struct op *op,
                            int32_t xid, int64_t latency_us);

#endif
