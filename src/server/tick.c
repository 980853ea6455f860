/* SPDX-License-Identifier: Apache-2.0 */
/* tick.c - time passes: sessions expire, containers are reaped, the silent and those who do not
 * read are shown out. All of it in attended time, see attention.h. */
#include <inttypes.h>

#include "base/assert.h"
#include "base/logging.h"
#include "server/missed.h"
#include "server/reaper.h"
#include "server/server.h"

/* How long a connection that is to be closed may go without reading any of its last answers, and
 * how long one that leaves too much of them unread. */
enum { FLUSH_STALL_US = 2000000, OUTPUT_STALL_US = 10000000 };

/* ---- sessions ---- */

/* A client whose input we do not read cannot be heard: it is not silent. One that has to read its
 * answers first is heard by its reading, see pipeline_sent(). */
static bool is_held_back(const struct connection *c)
{
    return c->input != INPUT_OPEN && c->input != INPUT_OUTPUT;
}

static void expire_now(struct server *s, struct session *session)
{
    struct request q = {.type = OP_CLOSE_SESSION};

    s->stats.stale_sessions_expired++;
    if (session->local) {
        server_end_session(s, session);
    } else {
        server_submit_own(s, &q, session->id);
    }
}

static void expire_session(struct server *s, struct session *session)
{
    log_info("Expiring session 0x%" PRIx64 ", timeout of %" PRId32 "ms exceeded",
             (uint64_t)session->id, session->timeout_ms);
    expire_now(s, session);
}

static void expire_sessions(struct server *s)
{
    struct session *session;

    while ((session = tracker_pop_due(&s->tracker, s->attention.heard_us / 1000)) != NULL) {
        ASSERT(!session->closing);
        if (session->connection != NULL && is_held_back(session->connection)) {
            tracker_touch(&s->tracker, session, server_now_ms(s));
        } else {
            expire_session(s, session);
        }
    }
}

void server_session_left(struct server *s, int64_t id, int64_t left_ms)
{
    struct session *session = session_find(&s->sessions, id);

    if (session == NULL || session->closing || !role_leads(s->role)) {
        return;
    }
    if (left_ms > 0) {
        tracker_set_left(&s->tracker, session, server_now_ms(s), left_ms);
        return;
    }
    expire_now(s, session);
}

/* ---- connections ---- */

static bool never_opened_a_session(const struct server *s, const struct connection *c)
{
    return c->state == CONNECTION_FRESH &&
           s->attention.heard_us - c->opened_us > s->options.limits.sessionless_ms * 1000;
}

/* Its session may live on: it can have moved to another member while the network took the end of
 * this link with it, and nobody else would tell us. Where the session ends in its place, that comes
 * first. */
static bool is_silent(const struct server *s, const struct connection *c)
{
    return c->state == CONNECTION_SERVING && c->session != NULL &&
           s->attention.heard_us - c->heard_us >
               (c->session->timeout_ms + s->options.tick_ms) * INT64_C(1000);
}

/* Events cannot be held back, answers can: so there is at most one long answer and what the limit
 * allows beside it. Who reads may have it; who takes nothing has until the stall. */
static bool reads_too_little(const struct server *s, const struct connection *c)
{
    size_t limit = (size_t)s->options.limits.output_limit_bytes;
    size_t unread = connection_unread(c) + missed_bytes(c);

    return unread > limit + c->largest_answer ||
           (unread > limit && s->attended_us - c->taken_us > OUTPUT_STALL_US);
}

static bool takes_nothing_more(const struct server *s, const struct connection *c)
{
    int64_t since_us = c->closing_us > c->taken_us ? c->closing_us : c->taken_us;

    return c->state == CONNECTION_CLOSING && s->attended_us - since_us > FLUSH_STALL_US;
}

static void show_out(struct server *s, struct connection *c)
{
    if (never_opened_a_session(s, c)) {
        s->stats.sessionless_connections_expired++;
        connection_close_after_flush(s, c);
    }
    if (is_held_back(c)) {
        c->heard_us = s->attended_us;
    } else if (is_silent(s, c)) {
        log_debug("the connection of session 0x%" PRIx64 " is silent: it is dropped",
                  (uint64_t)c->session_id);
        connection_drop(s, c);
    }
    if (reads_too_little(s, c)) {
        log_limited(LOG_WARN,
                    "client /%s:%u does not read its answers: %zu bytes wait for it, "
                    "the connection is dropped",
                    c->peer.ip, c->peer.port, connection_unread(c));
        connection_drop(s, c);
    }
    if (takes_nothing_more(s, c)) {
        connection_drop(s, c);
    }
}

static void trim_buffers(const struct server *s, struct connection *c)
{
    if (c->out.len == 0) {
        c->taken_us = s->attended_us;
        strbuf_trim(&c->out, 0);
    }
    if (c->parked.bytes.len == 0) {
        strbuf_trim(&c->parked.bytes, 0);
    }
}

static void look_at_connections(struct server *s)
{
    struct list *item;

    list_for_each (item, &s->connections) {
        struct connection *c = container_of(item, struct connection, link);

        connection_check(c);
        show_out(s, c);
        trim_buffers(s, c);
    }
}

void server_tick(struct server *s, int64_t looked_us)
{
    ASSERT(looked_us <= s->now_us);
    attention_looked(&s->attention, looked_us);
    s->attended_us = attention_at(&s->attention, s->now_us);
    ASSERT(s->attention.heard_us <= s->attended_us);
    expire_sessions(s); /* of a learner: the local ones */
    if (role_leads(s->role)) {
        reaper_tick(s);
    }
    talkers_tick(&s->talkers, s->now_us / 1000);
    look_at_connections(s);
    server_turn(s);
    server_resume(s);
}
