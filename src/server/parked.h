/* SPDX-License-Identifier: Apache-2.0 */
/* parked.h - what waits on a connection behind writes in flight, in order: a queue of bytes.
 *
 * It holds a mark for each write in flight (or something else that is waited for), and the requests
 * that came behind. Marks are done in their order; what is behind a done mark is ready. An empty
 * queue, which most connections have most of the time, holds no memory. */
#ifndef PAWL_SERVER_PARKED_H
#define PAWL_SERVER_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct parked {
    struct strbuf bytes;
    size_t at;           /* of the head */
    int64_t answers;     /* bytes that the answers may have, as far as one can tell */
    int32_t n_in_flight; /* marks that are not done */
    int32_t n_done;      /* marks that are, not taken out yet: the first ones */
    int32_t n_requests;
};

struct parked_request {
    struct bytes frame; /* null: when its turn comes it is refused with this: */
    int32_t xid;
    int32_t err;
    uint32_t n_auth_ids; /* how many of its connection counted when it came */
    int64_t when_us;     /* it came */
    int64_t answer;      /* how long its answer may be */
};

void parked_init(struct parked *q);
void parked_fini(struct parked *q);
void parked_check(const struct parked *q);

void parked_push_mark(struct parked *q);
void parked_push(struct parked *q, const struct parked_request *r);

/* The first mark that is not done is. Whether or not anybody looks at the queue any more. */
void parked_mark_done(struct parked *q);

static inline bool parked_is_empty(const struct parked *q)
{
    return q->at == q->bytes.len;
}

static inline size_t parked_bytes(const struct parked *q)
{
    return q->bytes.len - q->at;
}

/* Whether a request is there that waits for no mark; takes done marks out. */
bool parked_is_ready(struct parked *q);

/* Takes out the request that is ready. Its frame is good until the next push or tidy. */
void parked_pop(struct parked *q, struct parked_request *out);

/* Gives back the room of what was taken out. */
void parked_tidy(struct parked *q);

#endif
