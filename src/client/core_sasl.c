/* SPDX-License-Identifier: Apache-2.0 */
/* core_sasl.c - LINK_SASL: what is said between the handshake and the session, and what is made of
 * it. */
#include <stdio.h>

#include "client/core.h"
#include "client/core_internal.h"
#include "pawl/error.h"

/* What was said before stays behind: the server has answered it. */
static void sasl_say(struct core *c, int64_t now_ms, struct bytes token)
{
    struct request q = {.data = token};
    size_t start;

    strbuf_clear(&c->pre);
    c->pre_at = 0;
    start = c->pre.len;
    c->sasl_xid = c->next_xid;
    c->next_xid = c->next_xid == INT32_MAX ? 1 : c->next_xid + 1;
    jute_write_int(&c->pre, 0);
    jute_write_int(&c->pre, c->sasl_xid);
    jute_write_int(&c->pre, OP_SASL);
    request_write(&c->pre, op_find(OP_SASL), &q);
    jute_patch_int(&c->pre, start, (int32_t)(c->pre.len - start - 4));
    if (c->pre.failed) {
        core_drop_link(c, now_ms, "no memory");
    }
}

void core_sasl_begin(struct core *c, const struct connect_response *r)
{
    core_move_link(c, LINK_SASL);
    c->granted = *r;
    c->sasl_begun = c->sasl_done = false;
    strbuf_clear(&c->sasl_token);
    c->want_sasl = true;
}

void core_sasl(struct core *c, int64_t now_ms, int rc, struct bytes token, const char *why)
{
    struct connect_response granted = c->granted;
    char text[CORE_TROUBLE_BYTES];

    if (c->link != LINK_SASL) {
        return;
    }
    if (rc < 0) {
        snprintf(text, sizeof(text), "SASL: %s", why);
        core_drop_link(c, now_ms, text);
    } else if (rc == 0 || token.len > 0) {
        c->sasl_done = rc > 0;
        sasl_say(c, now_ms, token);
    } else {
        core_session_stands(c, now_ms, &granted);
    }
    core_check(c);
}

/* Whoever is refused is told so, or is just let in as nobody: neither is what was asked for. */
static const char *sasl_trouble(const struct core *c, const struct reply_header *h, bool is_null)
{
    if (h->err == PAWL_ERR_AUTH_FAILED || h->err == PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH) {
        return "SASL: the server does not accept our name and password";
    }
    if (h->err != 0) {
        return "SASL: the server refuses it";
    }
    if (!is_null || c->sasl_done) {
        return NULL;
    }
    return c->sasl_begun ? "SASL: the server does not accept our name and password"
                         : "SASL: the server is not configured for it";
}

void core_sasl_answered(struct core *c, int64_t now_ms, struct bytes frame)
{
    struct connect_response granted = c->granted;
    struct jute_reader r = jute_reader_of(frame);
    struct reply_header h = reply_header_read(&r);
    struct bytes token = h.err == 0 ? jute_read_buffer(&r) : BYTES_NULL;
    const char *why;

    if (r.failed || h.xid != c->sasl_xid || c->want_sasl) {
        core_drop_link(c, now_ms, "SASL: an answer that fits no request");
        return;
    }
    why = sasl_trouble(c, &h, bytes_is_null(token));
    if (why != NULL) {
        core_drop_link(c, now_ms, why);
    } else if (c->sasl_done) {
        core_session_stands(c, now_ms, &granted);
    } else {
        c->sasl_begun = true;
        strbuf_clear(&c->sasl_token);
        strbuf_append_bytes(&c->sasl_token, token);
        c->want_sasl = true;
    }
    if (c->sasl_token.failed) {
        core_drop_link(c, now_ms, "SASL: what the server says is too long");
    }
}
