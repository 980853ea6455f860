/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sasl_gate.h"

#include "base/logging.h"
#include "pawl/error.h"
#include "server/server.h"
#include "wire/jute.h"
#include "wire/reply.h"

static void answer_sasl(struct server *s, struct connection *c, int32_t xid, int rc,
                        struct bytes token)
{
    size_t start = reply_begin(&c->out, xid, 0, rc);

    jute_write_buffer(&c->out, token);
    reply_end(&c->out, start);
    connection_touch(s, c);
}

void sasl_end(struct server *s, struct connection *c)
{
    if (c->sasl != NULL) {
        s->sasl->end(c->sasl);
        c->sasl = NULL;
    }
}

/* Who fails goes, unless it may stay as nobody in particular. */
static void refuse_sasl(struct server *s, struct connection *c, int32_t xid, const char *why)
{
    const struct auth_options *o = &s->options.auth;
    bool insists = auth_insists_on_sasl(o);
    bool stays = o->sasl_keep_failed && !insists;

    s->stats.auth_failed++;
    log_limited(LOG_WARN, "client /%s:%u: SASL: %s; %s", c->peer.ip, c->peer.port, why,
                stays ? "it stays without that name" : "closed");
    sasl_end(s, c);
    answer_sasl(s, c, xid,
                stays     ? PAWL_OK
                : insists ? PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH
                          : PAWL_ERR_AUTH_FAILED,
                BYTES_NULL);
    if (!stays) {
        connection_close_after_flush(s, c);
    }
}

static void step_sasl(struct server *s, struct connection *c, int32_t xid, struct bytes token)
{
    struct bytes answer;
    int rc = s->sasl->step(c->sasl, token, &answer);

    if (rc < 0) {
        refuse_sasl(s, c, xid, s->sasl->error(c->sasl));
    } else if (rc == 0) {
        answer_sasl(s, c, xid, PAWL_OK, answer);
    } else if (auth_add_sasl(&c->identity, &s->options.auth, s->sasl->name(c->sasl)) != PAWL_OK) {
        refuse_sasl(s, c, xid, "its name is none of Kerberos, or too long");
    } else {
        log_debug("client /%s:%u has authenticated with SASL as %s", c->peer.ip, c->peer.port,
                  s->sasl->name(c->sasl));
        c->sasl_done = true;
        answer_sasl(s, c, xid, PAWL_OK, answer);
        sasl_end(s, c);
    }
}

void sasl_receive(struct server *s, struct connection *c, int32_t xid, struct bytes token)
{
    if (s->sasl == NULL) { /* nobody can authenticate so: a null token, and the connection stays */
        answer_sasl(s, c, xid, PAWL_OK, BYTES_NULL);
        return;
    }
    if (c->sasl_done) {
        refuse_sasl(s, c, xid, "it has authenticated before");
        return;
    }
    if (c->sasl == NULL) {
        c->sasl = s->sasl->begin(s->sasl);
    }
    if (c->sasl == NULL) {
        refuse_sasl(s, c, xid, "no exchange can be begun");
        return;
    }
    step_sasl(s, c, xid, token);
}
