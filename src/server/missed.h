/* SPDX-License-Identifier: Apache-2.0 */
/* missed.h - a client that comes back is told what its watches missed.
 *
 * Java's server tells nothing of what persistent and recursive watches would have told while there
 * was no link. Here setWatches2 is answered when all of it has been told, from changes.h, and
 * before anything newer: what happens meanwhile waits behind it. That may take several turns, in
 * which nothing else is taken from this client; the rest is pipeline.c's. If some of what it asks
 * for is known no more it is told nothing, as by Java's.
 *
 * A client that names the path MISSED_EVENTS (request.h) among its persistent watches is told in a
 * word behind the answer whether it has everything now. */
#ifndef PAWL_SERVER_MISSED_H
#define PAWL_SERVER_MISSED_H

#include "server/changes.h"
#include "server/connection.h"

struct missed {
    struct changes_cursor at;
    int64_t until_zxid; /* what is later is in `later` */
    int64_t since_us;
    uint32_t round;      /* of the watches, see watch_add_again() */
    uint32_t n_auth_ids; /* how many of its connection counted when the request came */
    int32_t xid;
    bool recursive; /* some of the watches are */
    bool asked;     /* the client wants to know whether that was all */
    bool is_over;
    bool gap;
    struct strbuf later; /* events */
};

/* All behind `seen_zxid`, to be told in the next calls. */
void missed_begin(struct server *s, struct connection *c, int32_t xid, int64_t seen_zxid,
                  const struct missed *what);

/* Tells some of it; c->missed->is_over says that nothing is left. What it cost, in the units of
 * pipeline.c, beside the bytes that it wrote. */
int64_t missed_tell_some(struct server *s, struct connection *c);

/* What waited, and the answer; it is done with. */
void missed_answer(struct server *s, struct connection *c);

/* The link goes. */
void missed_forget(struct connection *c);

/* Where events of now belong. */
static inline struct strbuf *missed_events(struct connection *c)
{
    return c->missed == NULL ? &c->out : &c->missed->later;
}

/* How many bytes wait behind what is told. */
static inline size_t missed_bytes(const struct connection *c)
{
    return c->missed == NULL ? 0 : c->missed->later.len;
}

#endif
