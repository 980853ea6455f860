/* SPDX-License-Identifier: Apache-2.0 */
/* member_auth.h - SASL between two members, over the bytes of their link: before the first packet
 * on the quorum port, behind the hello on the election port.
 *
 *   who dials:     token ->           <- challenge         token ->      <- success, last token
 *   who accepts:   takes who comes without, if that is allowed: so it can be switched on one member
 *                  at a time. Its first eight bytes tell.
 *
 * No socket in it: bytes in, bytes out. What is held is a token of bounded length, and the exchange
 * has bounded steps (sasl/exchange.h); time is the owner's to bound. */
#ifndef PAWL_DAEMON_MEMBER_AUTH_H
#define PAWL_DAEMON_MEMBER_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct member_auth;
struct sasl_login;
struct strbuf;

/* How members authenticate; one for all links of a server. What it names may change between links:
 * those under way keep theirs. */
struct member_sasl {
    struct sasl_login *dials;   /* ourselves; NULL: we do not (learnerRequireSasl=false) */
    struct sasl_login *accepts; /* who may come; NULL: nobody is asked */
    bool is_required;           /* of those who come (serverRequireSasl) */
};

/* NULL: it is not wanted, which is what `rules` NULL says, too; then the link is good as it is. */
struct member_auth *member_auth_accept(const struct member_sasl *rules);
/* The first packet is appended to `out`. */
struct member_auth *member_auth_dial(const struct member_sasl *rules, const char *host,
                                     struct strbuf *out);
void member_auth_free(struct member_auth *a); /* NULL is allowed */

/* FAILED: `*why` is lent until it is freed; what `out` has is to be sent all the same. PLAIN: the
 * other side does without, nothing is used. */
enum member_auth_step { MEMBER_AUTH_MORE, MEMBER_AUTH_DONE, MEMBER_AUTH_PLAIN, MEMBER_AUTH_FAILED };

/* What has come: how much of it is `*used`. */
enum member_auth_step member_auth_take(struct member_auth *a, struct bytes bytes, size_t *used,
                                       struct strbuf *out, const char **why);

/* Nothing more comes, or not in time: whether that is one who does without, and may. */
bool member_auth_is_plain(const struct member_auth *a, struct bytes bytes);

#endif
