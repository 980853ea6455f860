/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - who has changed what, in lines for those who have to tell later.
 *
 * A line is fields with tabs between them, those of ZooKeeper first and in its order:
 *
 *   session=0x1  user=alice,10.0.0.7  ip=10.0.0.7  operation=setAcl  znode=/a  acl=...
 * result=success
 *
 * and behind them ours: zxid or err, identity (with the schemes), address, certificate. What is not
 * there is left out. Control characters are "?", so that a line stays a line; hashes of passwords
 * are not shown.
 *
 * A write is noted when it is submitted, with what its client had shown by then, and told of when
 * its transaction is applied here: by the server that the client is connected to, and by no other.
 * The ephemeral nodes of a session that ends are told of by every server, as in ZooKeeper. */
#ifndef PAWL_SERVER_AUDIT_H
#define PAWL_SERVER_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct audit_note;
struct connection;
struct request;
struct server;
struct txn;

struct audit {
    void (*line)(void *arg, bool is_failure, const char *text); /* NULL: nobody asks for it */
    void *arg;
    const char *user; /* who the server itself is; outlives it */
};

/* NULL: this is nothing that is told of. */
struct audit_note *audit_note_new(const struct connection *c, const struct request *q);
void audit_note_free(struct audit_note *n); /* NULL is allowed */

/* The transaction has been applied, with s->results. */
void audit_applied(struct server *s, const struct audit_note *n, const struct txn *txn);

/* A session has ended, and its node with it. */
void audit_ephemeral(struct server *s, int64_t session_id, struct bytes path);

/* What the server does as a whole: "serverStart" "success". */
void audit_own(const struct audit *a, const char *operation, const char *result);

#endif
