/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - the read operations: answered from the tree as it is applied here. */
#ifndef PAWL_SERVER_READ_H
#define PAWL_SERVER_READ_H

#include "server/server.h"

/* Answers one request of `c` that takes no transaction: appends the reply to c->out, registers
 * watches in the same step. `body` stands behind the request header. An operation that is not
 * known, or a write whose body makes no sense, ends here as well. A setWatches2 is only begun, and
 * c->missed has the rest of it. */
void read_execute(struct server *s, struct connection *c, int32_t xid, int32_t type,
                  struct jute_reader body);

/* How long the answer to a request frame may be when it is executed behind what is in flight now,
 * as far as one can tell. */
int64_t read_expected_bytes(const struct server *s, struct bytes frame);

#endif
