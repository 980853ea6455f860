/* SPDX-License-Identifier: Apache-2.0 */
/* sasl_gate.h - where the SASL exchanges of clients are carried on: outside, by who knows the
 * mechanisms and the passwords. The server hands over a client's tokens and hands back the answers;
 * what a name that comes out of it may do is its own business (auth.h). */
#ifndef PAWL_SERVER_SASL_GATE_H
#define PAWL_SERVER_SASL_GATE_H

#include "base/bytes.h"

struct connection;
struct server;

struct sasl_gate {
    /* A client begins. NULL: that is not possible now. */
    void *(*begin)(struct sasl_gate *g);
    /* 1: it is done; 0: it goes on; -1: it has failed. `out` is lent until the next call. */
    int (*step)(void *exchange, struct bytes token, struct bytes *out);
    const char *(*name)(const void *exchange);  /* when it is done */
    const char *(*error)(const void *exchange); /* when it has failed */
    void (*end)(void *exchange);
};

/* A SASL packet of `c`, which is answered at once. */
void sasl_receive(struct server *s, struct connection *c, int32_t xid, struct bytes token);

/* An exchange that is under way is given up. */
void sasl_end(struct server *s, struct connection *c);

#endif
