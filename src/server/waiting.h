/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.h - writes of our clients that are on their way to agreement: who asked, and for what.
 *
 * They stand in the order in which they were submitted, which is the order in which their
 * transactions are committed. In between come those of others. A committed transaction with the
 * session and the cxid of the first one here is its answer, whoever prepared it. A write stays here
 * when its connection goes: it is executed all the same. */
#ifndef PAWL_SERVER_WAITING_H
#define PAWL_SERVER_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "wire/txn.h"

struct connection;
struct request;
struct session;

struct waiting {
    struct list link; /* in the queue */
    struct list of_connection;
    struct connection *connection; /* NULL: nobody waits for the answer */
    struct session *session;       /* NULL: not known yet, or gone */
    struct list waits;             /* who else waits for it, see pipeline.c */
    int64_t order;                 /* among all writes and syncs that were submitted */
    int64_t session_id;
    int32_t xid;
    int32_t type; /* what the client asked for: the transaction may be of another type */
    int64_t received_us;
    int64_t bytes;            /* on its connection's account */
    struct audit_note *audit; /* what is to be told of it; NULL: nothing */
    bool *is_create2; /* a multi with create2 in it: which of its operations are; else NULL */
};

struct waiting_queue {
    struct list all;
    int64_t n;
    struct list spare; /* some that were used, for the next */
    int64_t n_spare;
    int64_t last_order;
};

void waiting_init(struct waiting_queue *q);
void waiting_fini(struct waiting_queue *q);

/* A write of `c` begins to wait. */
struct waiting *waiting_push(struct waiting_queue *q, struct connection *c, int32_t xid,
                             const struct request *request, int64_t now_us);

/* Takes out the one that this transaction answers, or returns NULL: it is somebody else's. */
struct waiting *waiting_take(struct waiting_queue *q, const struct txn_header *h);
void waiting_free(struct waiting_queue *q, struct waiting *w);

/* The connection goes. */
void waiting_forget_connection(struct connection *c);

/* The session goes, though some of its writes are still on their way. */
void waiting_forget_session(struct waiting_queue *q, const struct session *s);

#endif
