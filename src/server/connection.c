/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/missed.h"
#include "server/pipeline.h"
#include "server/sasl_gate.h"
#include "server/server.h"

/* ---- states ---- */

static const uint8_t may_follow[N_CONNECTION_STATES] = {
    [CONNECTION_FRESH] = 1 << CONNECTION_JOINING | 1 << CONNECTION_CLOSING,
    [CONNECTION_JOINING] = 1 << CONNECTION_SERVING | 1 << CONNECTION_CLOSING,
    [CONNECTION_SERVING] = 1 << CONNECTION_CLOSING,
    [CONNECTION_CLOSING] = 0,
};

void connection_check(const struct connection *c)
{
    ASSERT(c->out_at <= c->out.len);
    ASSERT(c->in_flight_bytes >= 0);
    ASSERT(c->identity.n_in_force <= c->identity.n_ids);
    ASSERT((c->input == INPUT_OPEN) == list_empty(&c->paused_link));
    if (c->session != NULL) {
        ASSERT(c->session->connection == c);
        ASSERT(c->session->id == c->session_id);
    }
    switch (c->state) {
    case CONNECTION_FRESH:
        ASSERT(c->session == NULL);
        ASSERT(c->input == INPUT_OPEN);
        break;
    case CONNECTION_JOINING:
        ASSERT(c->session_id != 0);
        ASSERT(c->input == INPUT_OPEN || c->input == INPUT_JOINING);
        ASSERT(parked_is_empty(&c->parked));
        break;
    case CONNECTION_SERVING:
        ASSERT(c->session != NULL);
        ASSERT(c->missed == NULL || c->input != INPUT_OPEN);
        break;
    default:
        ASSERT(c->state == CONNECTION_CLOSING);
        ASSERT(c->missed == NULL);
        ASSERT(c->input == INPUT_OPEN);
        break;
    }
}

void connection_move(struct server *s, struct connection *c, enum connection_state next)
{
    ASSERT(may_follow[c->state] & 1 << next);
    c->state = next;
    if (next == CONNECTION_CLOSING) {
        c->closing_us = s->attended_us;
        connection_set_input(s, c, INPUT_OPEN);
        pipeline_forget(c);
        missed_forget(c);
        list_remove(&c->joining);
    }
    connection_touch(s, c);
    connection_check(c);
}

void connection_set_input(struct server *s, struct connection *c, enum connection_input input)
{
    if (input == c->input) {
        return;
    }
    s->n_want_turn += (input == INPUT_TURN) - (c->input == INPUT_TURN);
    if (input == INPUT_OPEN) {
        list_remove(&c->paused_link);
        connection_touch(s, c);
    } else if (c->input == INPUT_OPEN) {
        list_push_back(&s->paused, &c->paused_link);
        connection_touch(s, c);
    }
    c->input = input;
}

bool connection_is_idle(const struct connection *c)
{
    return c->in.len == 0 && connection_unread(c) == 0 && list_empty(&c->waiting) &&
           list_empty(&c->waits) && c->in_flight_bytes == 0 && parked_is_empty(&c->parked);
}

void connection_close_after_flush(struct server *s, struct connection *c)
{
    if (c->state != CONNECTION_CLOSING) {
        connection_move(s, c, CONNECTION_CLOSING);
    }
}

void connection_drop(struct server *s, struct connection *c)
{
    c->out_at = c->out.len;
    connection_close_after_flush(s, c);
    connection_touch(s, c);
}

/* ---- the I/O side ---- */

void connection_touch(struct server *s, struct connection *c)
{
    if (list_empty(&c->touched)) {
        list_push_back(&s->touched, &c->touched);
    }
}

struct connection *server_next_touched(struct server *s)
{
    struct list *item = list_pop_front(&s->touched);
    struct connection *c = item == NULL ? NULL : container_of(item, struct connection, touched);

    ASSERT(c == NULL || !c->out.failed); /* out of memory: somebody would wait for ever */
    return c;
}

void server_sent(struct server *s, struct connection *c)
{
    connection_check(c);
    c->taken_us = s->attended_us;
    if (c->out_at == c->out.len) {
        strbuf_clear(&c->out);
        c->out_at = 0;
        c->largest_answer = 0;
        strbuf_trim(&c->out, 256 * 1024);
    } else if (c->out_at > 65536 && c->out_at > c->out.len / 2) { /* may never catch up */
        memmove(c->out.data, c->out.data + c->out_at, c->out.len - c->out_at);
        c->out.len -= c->out_at;
        c->out_at = 0;
    }
    pipeline_sent(s, c);
}

/* ---- life ---- */

void connection_reset_stats(struct connection *c)
{
    int64_t established_ms = c->stats.established_ms;

    memset(&c->stats, 0, sizeof(c->stats));
    c->stats.established_ms = established_ms;
    c->stats.last_cxid = -1;
    c->stats.last_zxid = -1;
}

struct connection *server_connect(struct server *s, const struct peer *peer, const char *subject)
{
    struct connection *c = must_zalloc(sizeof(*c));

    c->peer = *peer;
    c->opened_us = s->attended_us;
    c->heard_us = s->attended_us;
    c->taken_us = s->attended_us;
    c->stats.established_ms = s->wall_ms;
    connection_reset_stats(c);
    list_init(&c->touched);
    list_init(&c->paused_link);
    list_init(&c->watches);
    list_init(&c->waiting);
    list_init(&c->joining);
    list_init(&c->waits);
    strbuf_init(&c->in, STRBUF_NO_LIMIT);
    strbuf_init(&c->out, STRBUF_NO_LIMIT);
    parked_init(&c->parked);
    identity_init(&c->identity, c->peer.ip);
    if (subject != NULL) {
        auth_add_certificate(&c->identity, &s->options.auth, subject);
    }
    list_push_back(&s->connections, &c->link);
    s->n_connections++;
    connection_check(c);
    return c;
}

static void connection_free(struct connection *c)
{
    identity_fini(&c->identity);
    strbuf_fini(&c->in);
    strbuf_fini(&c->out);
    parked_fini(&c->parked);
    free(c);
}

void server_disconnect(struct server *s, struct connection *c)
{
    connection_check(c);
    s->stats.connection_drop_count += c->state != CONNECTION_CLOSING ? 1 : 0;
    waiting_forget_connection(c);
    if (c->session != NULL) {
        c->session->connection = NULL;
    }
    s->n_parked -= c->parked.n_requests;
    s->large_bytes -= c->large_bytes;
    connection_set_input(s, c, INPUT_OPEN);
    pipeline_forget(c);
    sasl_end(s, c);
    missed_forget(c);
    list_remove(&c->joining);
    watch_remove_all(&s->watches, c);
    list_remove(&c->touched);
    list_remove(&c->link);
    s->n_connections--;
    connection_free(c);
}
