/* SPDX-License-Identifier: Apache-2.0 */
/* proposer.h - makes transactions of requests: the chain of zxids and of digests.
 *
 * There is one where nobody else leads: on the leader of an ensemble, and on a server that stands
 * alone. It is born when leading begins and goes with it, and with it everything that it had
 * pending. A learner has none: it applies what the leader made. */
#ifndef PAWL_SERVER_PROPOSER_H
#define PAWL_SERVER_PROPOSER_H

#include "server/prepare.h"
#include "server/role.h"

struct server;

struct proposer {
    struct server *server;
    struct prepare prepare;
    int64_t zxid; /* of the newest transaction that was made; with counter 0: the next is the first
                     of its epoch */
    int64_t n_in_flight; /* made, and not applied yet */
    struct strbuf payload;
};

/* The first transaction will be the one after `zxid`, up to which the tree has everything. */
struct proposer *proposer_new(struct server *s, int64_t zxid);
void proposer_free(struct proposer *p);

/* The transaction that `q` becomes, an error if nothing else; from now on its zxid is p->zxid. Good
 * until the next call. */
struct bytes proposer_prepare(struct proposer *p, const struct submission *q);

/* `txn` is applied next, and proposer_applied() follows. */
void proposer_apply(struct proposer *p, const struct txn *txn);

/* Everything up to `zxid` has been applied to the tree. */
void proposer_applied(struct proposer *p, int64_t zxid);

/* The next transaction is the first of this epoch, a later one than that of p->zxid. */
void proposer_turn(struct proposer *p, int64_t epoch);

#endif
