/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/member_auth.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sasl/exchange.h"
#include "wire/packet.h"

struct member_auth {
    struct sasl_exchange *exchange; /* NULL: could not be begun */
    bool accepts, is_required;
    bool is_begun; /* a packet has come */
    bool is_done;  /* on our side: the word of who has accepted is waited for */
    char why[SASL_ERROR_BYTES];
};

static struct member_auth *auth_new(struct sasl_exchange *exchange, bool accepts)
{
    struct member_auth *a = must_zalloc(sizeof(*a));

    a->exchange = exchange;
    a->accepts = accepts;
    return a;
}

struct member_auth *member_auth_accept(const struct member_sasl *rules)
{
    struct member_auth *a;

    if (rules == NULL || rules->accepts == NULL) {
        return NULL;
    }
    a = auth_new(sasl_exchange_accept(rules->accepts, SASL_MEMBERS), true);
    a->is_required = rules->is_required;
    return a;
}

static void say(struct strbuf *out, enum quorum_auth_status status, struct bytes token)
{
    quorum_auth_write(out, &(struct quorum_auth){status, token});
}

struct member_auth *member_auth_dial(const struct member_sasl *rules, const char *host,
                                     struct strbuf *out)
{
    struct member_auth *a;
    struct bytes token = bytes_of("", 0);

    if (rules == NULL || rules->dials == NULL) {
        return NULL;
    }
    a = auth_new(sasl_exchange_dial(rules->dials, SASL_MEMBERS, host), false);
    if (a->exchange != NULL) {
        a->is_done = sasl_exchange_step(a->exchange, token, &token) == 1;
    }
    say(out, QUORUM_AUTH_IN_PROGRESS, token);
    return a;
}

void member_auth_free(struct member_auth *a)
{
    if (a != NULL) {
        sasl_exchange_free(a->exchange);
        free(a);
    }
}

/* ---- steps ---- */

static enum member_auth_step fail(struct member_auth *a, struct strbuf *out, const char *why,
                                  const char **told)
{
    snprintf(a->why, sizeof(a->why), "SASL: %s", why);
    *told = a->why;
    if (a->accepts) {
        say(out, QUORUM_AUTH_ERROR, bytes_of("", 0));
    }
    return MEMBER_AUTH_FAILED;
}

static enum member_auth_step answer(struct member_auth *a, struct bytes token, struct strbuf *out,
                                    const char **why)
{
    int rc = sasl_exchange_step(a->exchange, token, &token);

    if (rc < 0) {
        return fail(a, out, sasl_exchange_error(a->exchange), why);
    }
    say(out, rc > 0 ? QUORUM_AUTH_SUCCESS : QUORUM_AUTH_IN_PROGRESS, token);
    return rc > 0 ? MEMBER_AUTH_DONE : MEMBER_AUTH_MORE;
}

/* The last token of who has accepted comes with its success: only who has checked it is done. */
static enum member_auth_step conclude(struct member_auth *a, const struct quorum_auth *p,
                                      struct strbuf *out, const char **why)
{
    struct bytes token = p->token;

    if (a->is_done || sasl_exchange_step(a->exchange, token, &token) == 1) {
        return MEMBER_AUTH_DONE;
    }
    return fail(a, out, "it lets us in without having shown that it knows us", why);
}

static enum member_auth_step go_on(struct member_auth *a, const struct quorum_auth *p,
                                   struct strbuf *out, const char **why)
{
    struct bytes token = p->token;
    int rc;

    if (p->status == QUORUM_AUTH_ERROR) {
        return fail(a, out, "it does not accept our name and password", why);
    }
    if (p->status == QUORUM_AUTH_SUCCESS) {
        return conclude(a, p, out, why);
    }
    rc = sasl_exchange_step(a->exchange, token, &token);
    if (rc < 0) {
        return fail(a, out, sasl_exchange_error(a->exchange), why);
    }
    a->is_done = rc > 0;
    say(out, QUORUM_AUTH_IN_PROGRESS, token);
    return MEMBER_AUTH_MORE;
}

/* The first eight bytes are not those of a packet of this kind. */
static enum member_auth_step take_other(struct member_auth *a, struct strbuf *out, const char **why)
{
    if (a->accepts && !a->is_begun && !a->is_required) {
        return MEMBER_AUTH_PLAIN;
    }
    return fail(a, out,
                a->accepts && !a->is_begun
                    ? "it does not authenticate, and that is required (serverRequireSasl)"
                    : "what came is no packet of it",
                why);
}

enum member_auth_step member_auth_take(struct member_auth *a, struct bytes bytes, size_t *used,
                                       struct strbuf *out, const char **why)
{
    struct quorum_auth packet;
    enum stream_read found;

    *used = 0;
    found = quorum_auth_read(bytes, SASL_TOKEN_BYTES, &packet, used);
    if (found == STREAM_BAD) {
        return take_other(a, out, why);
    }
    if (found == STREAM_SHORT) {
        return MEMBER_AUTH_MORE;
    }
    a->is_begun = true;
    if (a->exchange == NULL || bytes_is_null(packet.token)) {
        return fail(a, out, a->exchange == NULL ? "no memory" : "a token is missing", why);
    }
    return a->accepts ? answer(a, packet.token, out, why) : go_on(a, &packet, out, why);
}

bool member_auth_is_plain(const struct member_auth *a, struct bytes bytes)
{
    return a->accepts && !a->is_begun && !a->is_required && bytes.len < sizeof(int64_t);
}
