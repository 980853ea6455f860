/* SPDX-License-Identifier: Apache-2.0 */
#include "server/handshake.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/logging.h"
#include "server/pipeline.h"

static void handshake_respond(struct server *s, struct connection *c, bool valid)
{
    struct connect_response r = {.has_read_only = c->has_read_only_byte,
                                 .read_only = s->role->kind == ROLE_READ_ONLY};

    if (valid) {
        r.timeout_ms = c->timeout_ms;
        r.session_id = c->session_id;
        session_password(c->session_id, r.password);
    }
    connect_response_write(&c->out, &r);
    s->stats.packets_sent++;
    c->stats.sent++;
    connection_touch(s, c);
}

static void attach_session(struct connection *c, struct session *session)
{
    ASSERT(session->connection == NULL);
    ASSERT(c->session == NULL);
    session->owner = OWNER_OURSELVES;
    session->connection = c;
    c->session = session;
}

static void handshake_welcome(struct server *s, struct connection *c)
{
    handshake_respond(s, c, true);
    pipeline_session_ready(s, c);
}

static int32_t negotiate_timeout(const struct server *s, int32_t wanted_ms)
{
    int64_t t = wanted_ms;

    t = t < s->options.min_session_timeout_ms ? s->options.min_session_timeout_ms : t;
    t = t > s->options.max_session_timeout_ms ? s->options.max_session_timeout_ms : t;
    return (int32_t)t;
}

/* Whoever decides which sessions live has it from here on; others when it is committed. */
static void create_session(struct server *s, struct connection *c)
{
    struct request q = {.type = OP_CREATE_SESSION, .timeout_ms = c->timeout_ms};

    c->session_id = session_new_id(&s->sessions);
    connection_move(s, c, CONNECTION_JOINING);
    if (role_leads(s->role)) {
        attach_session(c, server_add_session(s, c->session_id, c->timeout_ms));
    }
    server_submit(s, c, 0, &q, BYTES_NULL);
}

/* It is here at once: nobody else needs to know. */
static void create_local_session(struct server *s, struct connection *c)
{
    c->session_id = session_new_id(&s->sessions);
    connection_move(s, c, CONNECTION_JOINING);
    attach_session(c, server_add_local_session(s, c->session_id, c->timeout_ms));
    handshake_welcome(s, c);
}

static void refuse_session(struct server *s, struct connection *c)
{
    handshake_respond(s, c, false);
    connection_close_after_flush(s, c);
}

void handshake_session_created(struct server *s, struct connection *c)
{
    if (c->state != CONNECTION_JOINING) { /* another connection has resumed it meanwhile */
        return;
    }
    if (c->session == NULL) {
        attach_session(c, session_find(&s->sessions, c->session_id));
    }
    if (c->session->closing) { /* it took longer than its timeout */
        refuse_session(s, c);
        return;
    }
    handshake_welcome(s, c);
}

static void refuse_resume(struct server *s, struct connection *c)
{
    log_limited(LOG_INFO, "Invalid session 0x%" PRIx64 " for client /%s:%u, probably expired",
                (uint64_t)c->session_id, c->peer.ip, c->peer.port);
    refuse_session(s, c);
    c->session_id = 0;
}

static void close_older(struct server *s, struct session *session)
{
    struct connection *older = session->connection;

    if (older != NULL) {
        older->session = NULL;
        session->connection = NULL;
        connection_close_after_flush(s, older);
    }
}

static void take_over(struct server *s, struct connection *c, struct session *session)
{
    close_older(s, session);
    attach_session(c, session);
}

bool handshake_is_being_decided(const struct server *s, const struct session *session)
{
    return session->closing || (!session->local && !tree_session_get(s->tree, session->id, NULL));
}

void handshake_revalidate(struct server *s, int64_t session_id)
{
    const struct session *session = session_find(&s->sessions, session_id);

    if (session == NULL || !handshake_is_being_decided(s, session)) {
        server_revalidated(s, session_id, session != NULL);
    }
}

static struct connection *find_joining(const struct server *s, int64_t session_id)
{
    struct list *item;

    list_for_each (item, &s->joining) {
        struct connection *c = container_of(item, struct connection, joining);

        if (c->session_id == session_id) {
            return c;
        }
    }
    return NULL;
}

void handshake_ask_again(struct server *s)
{
    struct list *item, *next;

    for (item = s->joining.next; item != &s->joining; item = next) {
        struct connection *c = container_of(item, struct connection, joining);

        next = item->next;
        s->role->revalidate(s->role, c->session_id, c->timeout_ms);
    }
}

void server_revalidated(struct server *s, int64_t session_id, bool valid)
{
    struct session *session = session_find(&s->sessions, session_id);
    struct connection *c = find_joining(s, session_id);

    if (c == NULL) { /* gone meanwhile */
        return;
    }
    ASSERT(c->state == CONNECTION_JOINING);
    ASSERT(c->session == NULL);
    list_remove(&c->joining);
    if (!valid || session == NULL || session->closing) {
        refuse_resume(s, c);
        return;
    }
    take_over(s, c, session);
    session->timeout_ms = c->timeout_ms;
    tracker_touch(&s->tracker, session, server_now_ms(s));
    s->stats.connection_revalidate_count++;
    handshake_welcome(s, c);
}

/* The password first: a stranger must not be able to cut off a live client. Its older link is
 * closed before anybody is asked: when the answer comes the newer one may be gone, and what is
 * still under way on the older one would count as the session's, from its rightful server, after
 * later writes.
 */
static void resume_session(struct server *s, struct connection *c, const struct connect_request *r)
{
    struct session *session = session_find(&s->sessions, r->session_id);

    c->session_id = r->session_id;
    connection_move(s, c, CONNECTION_JOINING);
    if (!session_password_matches(r->session_id, r->password)) {
        refuse_resume(s, c);
        return;
    }
    if (session != NULL && !session->closing) {
        close_older(s, session);
    }
    list_push_back(&s->joining, &c->joining);
    if (session != NULL && session->local) {
        server_revalidated(s, r->session_id, true);
    } else {
        s->role->revalidate(s->role, r->session_id, c->timeout_ms);
    }
}

static void turn_down(struct server *s, struct connection *c, const char *why)
{
    log_limited(LOG_INFO, "%s /%s:%u", why, c->peer.ip, c->peer.port);
    connection_close_after_flush(s, c);
}

/* Whether somebody without a leader can serve it: who would write needs one, and whether a session
 * of the ensemble still lives only a leader knows. */
static bool suits_read_only(struct server *s, struct connection *c, const struct connect_request *r)
{
    const struct session *session = session_find(&s->sessions, r->session_id);

    if (!r->has_read_only || !r->read_only) {
        turn_down(s, c, "Refusing session request for not-read-only client");
        return false;
    }
    if (session != NULL && !session->local) {
        turn_down(s, c, "Refusing global session reconnection in RO mode");
        return false;
    }
    return true;
}

static enum throttle_kind kind_of(const struct server *s, const struct connect_request *r)
{
    return r->session_id != 0      ? THROTTLE_RENEWAL
           : server_makes_local(s) ? THROTTLE_NEW_LOCAL
                                   : THROTTLE_NEW;
}

void handshake_receive(struct server *s, struct connection *c, struct bytes frame)
{
    struct connect_request r;

    ASSERT(c->state == CONNECTION_FRESH);
    if (!server_takes_clients(s)) {
        s->stats.cnxn_closed_without_zk_server_running++;
        connection_close_after_flush(s, c); /* it will try another server */
        return;
    }
    s->stats.packets_received++;
    c->stats.received++;
    s->stats.connection_request_count++;
    metrics_observe(&s->stats, SUMMARY_CONNECTION_TOKEN_DEFICIT,
                    throttle_deficit(&s->throttle, &s->options.limits));
    if (!connect_request_read(frame, &r)) {
        log_limited(LOG_WARN, "a connect request from /%s:%u cannot be decoded; closed", c->peer.ip,
                    c->peer.port);
        connection_close_after_flush(s, c);
        return;
    }
    if (!throttle_admit(&s->throttle, &s->options.limits, server_now_ms(s), kind_of(s, &r),
                        &s->prng)) {
        s->stats.connection_rejected++;
        connection_close_after_flush(s, c);
        return;
    }
    if (r.last_zxid_seen > s->applied_zxid) {
        log_limited(LOG_INFO,
                    "Refusing session request for client /%s:%u as it has seen zxid 0x%" PRIx64
                    " our last zxid is 0x%" PRIx64 " client must try another server",
                    c->peer.ip, c->peer.port, (uint64_t)r.last_zxid_seen,
                    (uint64_t)s->applied_zxid);
        connection_close_after_flush(s, c);
        return;
    }
    if (s->role->kind == ROLE_READ_ONLY && !suits_read_only(s, c, &r)) {
        return;
    }
    c->timeout_ms = negotiate_timeout(s, r.timeout_ms);
    c->has_read_only_byte = r.has_read_only;
    if (r.session_id == 0 && server_makes_local(s)) {
        create_local_session(s, c);
    } else if (r.session_id == 0) {
        create_session(s, c);
    } else {
        resume_session(s, c, &r);
    }
}
