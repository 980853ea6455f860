/* SPDX-License-Identifier: Apache-2.0 */
/* proposal.h - a write between its preparation and its commit. */
#ifndef PAWL_SERVER_PROPOSAL_H
#define PAWL_SERVER_PROPOSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"

struct connection;
struct identity;
struct session;
struct txn_block;

struct proposal {
    struct list link;              /* in the queue of those in flight, by zxid */
    struct list of_connection;     /* so that it can be orphaned when the connection goes */
    struct connection *connection; /* NULL: nobody waits for the answer */
    struct identity *identity;     /* who asks; lent while it is prepared */
    int32_t xid;
    int32_t type; /* the request's operation */
    int64_t session_id;
    struct session *session; /* NULL: the server's own, or the session is not known */
    struct list waits;       /* who else waits for it, see pipeline.c */
    int64_t zxid;
    int64_t received_us;
    int64_t bytes;        /* of the request, for its connection's account */
    int32_t n_ephemerals; /* that it creates */
    bool *is_create2;     /* a multi with create2 in it: which of its operations are; else NULL */
    struct list pending;  /* records of nodes that it was the last to touch, see pending.h */
    struct txn_block *block;
    struct bytes payload; /* in block */
};

/* Gives back what it holds; it is in no queue any more. */
void proposal_free(struct proposal *p);

#endif
