/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - a SASL exchange as a filter of tokens: no socket, no clock, no waiting. A server's
 * connection, the client's link and the members' links use the same one.
 *
 *        the other side        the exchange
 *          token ------> sasl_exchange_step() ------> token for the other side
 *                                             ------> more to come, done, failed
 *
 * Who connects begins, with an empty token where its mechanism has nothing to say first. What is
 * held is bounded: a token has up to SASL_TOKEN_BYTES, an exchange up to SASL_STEPS of them.
 *
 * The cryptography is cyrus-sasl's. DIGEST-MD5 is as Java's ZooKeeper has it: fixed names in place
 * of host and realm, and only authentication (qop=auth); the link itself stays as it is. */
#ifndef PAWL_SASL_EXCHANGE_H
#define PAWL_SASL_EXCHANGE_H

#include "base/bytes.h"

struct sasl_exchange;
struct sasl_login;

enum { SASL_TOKEN_BYTES = 64 << 10, SASL_STEPS = 10, SASL_ERROR_BYTES = 512 };

/* Who talks to whom. */
enum sasl_between { SASL_CLIENT_AND_SERVER, SASL_MEMBERS };

/* Whether what it needs is there: the library, and in it the mechanism. False: `why` tells. */
bool sasl_exchange_is_possible(const struct sasl_login *l, bool accepts, char *why,
                               size_t why_size);

/* NULL: no memory, or no library. */
struct sasl_exchange *sasl_exchange_accept(struct sasl_login *l, enum sasl_between between);
/* `host`: who is to answer, for Kerberos. */
struct sasl_exchange *sasl_exchange_dial(struct sasl_login *l, enum sasl_between between,
                                         const char *host);
void sasl_exchange_free(struct sasl_exchange *x); /* NULL is allowed */

/* 1: it is done; 0: it goes on; -1: it has failed, sasl_exchange_error() tells. `out` is for the
 * other side, lent until the next call; empty when there is nothing to say. Who connects begins
 * with an empty `token`. */
int sasl_exchange_step(struct sasl_exchange *x, struct bytes token, struct bytes *out);

/* Of one who has accepted, when it is done: who came, as "bob" or "bob/host@REALM". */
const char *sasl_exchange_name(const struct sasl_exchange *x);
/* Why it has failed; no secrets in it. */
const char *sasl_exchange_error(const struct sasl_exchange *x);

#endif
