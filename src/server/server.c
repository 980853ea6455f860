/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/commit.h"
#include "server/handshake.h"
#include "server/pipeline.h"
#include "store/quota.h"
#include "store/txn_batch.h"

/* How long a connection that is to be closed may take to read its last answers. */
enum { FLUSH_TIME_US = 2000000 };

/* ---- life ---- */

static void adopt_session(int64_t id, int32_t timeout_ms, void *arg)
{
    struct server *s = arg;

    session_add(&s->sessions, id, timeout_ms, server_now_ms(s));
}

static bool may_see(struct server *s, struct connection *c, uint32_t acl)
{
    return auth_allows(c, &s->options.auth, tree_acls(s->tree), acl, PERM_READ);
}

static void init_prepare(struct server *s)
{
    struct prepare *p = &s->prepare;

    prepare_init(p, s->tree);
    pending_init(&p->pending, s->tree, s->options.with_digest);
    p->quota = s->quota;
    p->namespaces = &s->stats.namespaces;
    p->auth = &s->options.auth;
    p->limits = &s->options.limits;
    p->sessions = &s->sessions;
    p->extended_types = s->options.extended_types;
    p->enforce_quota = s->options.enforce_quota;
    p->reconfig_enabled = s->options.reconfig_enabled;
    p->close_session_txn = s->options.close_session_txn;
    p->reap_never_used_ms = s->options.reap_never_used_ms;
}

struct server *server_new(const struct server_options *options, struct server_host *host,
                          struct tree *tree, int64_t zxid, int64_t now_us, int64_t wall_ms,
                          uint64_t seed)
{
    struct server *s = must_zalloc(sizeof(*s));

    s->options = *options;
    s->host = host;
    s->tree = tree;
    s->applied_zxid = zxid;
    s->proposed_zxid = zxid;
    s->now_us = now_us;
    s->wall_ms = wall_ms;
    s->started_us = now_us;
    prng_seed(&s->prng, seed);
    list_init(&s->connections);
    list_init(&s->touched);
    list_init(&s->paused);
    list_init(&s->syncs);
    list_init(&s->in_flight);
    strbuf_init(&s->payload, STRBUF_NO_LIMIT);
    strbuf_init(&s->repaired, STRBUF_NO_LIMIT);
    metrics_init(&s->stats, prng_next(&s->prng));
    s->trace_mask = 306;
    s->quota = quota_new(tree);
    s->apply = (struct apply){.tree = tree, .quota = s->quota};
    watch_table_init(&s->watches);
    s->watches.may_see = may_see;
    s->watches.server = s;
    session_table_init(&s->sessions, options->tick_ms, server_now_ms(s), wall_ms,
                       options->server_id);
    throttle_init(&s->throttle, &s->options.limits, server_now_ms(s));
    tree_each_session(tree, adopt_session, s);
    init_prepare(s);
    commit_init(s);
    reaper_init(s);
    return s;
}

void server_free(struct server *s)
{
    struct list *item;

    if (s == NULL) {
        return;
    }
    while (!list_empty(&s->connections)) {
        server_disconnect(s, container_of(s->connections.next, struct connection, link));
    }
    prepare_fini(&s->prepare);
    while ((item = list_pop_front(&s->in_flight)) != NULL) {
        proposal_free(container_of(item, struct proposal, link));
    }
    watch_table_fini(&s->watches);
    session_table_fini(&s->sessions);
    reaper_fini(s);
    metrics_fini(&s->stats);
    quota_free(s->quota);
    strbuf_fini(&s->payload);
    strbuf_fini(&s->repaired);
    free(s->results);
    tree_free(s->tree);
    free(s);
}

void server_set_time(struct server *s, int64_t now_us, int64_t wall_ms)
{
    s->now_us = now_us;
    s->wall_ms = wall_ms;
}

/* ---- connections ---- */

void connection_touch(struct server *s, struct connection *c)
{
    if (list_empty(&c->touched)) {
        list_push_back(&s->touched, &c->touched);
    }
}

void connection_reset_stats(struct connection *c)
{
    int64_t established_ms = c->stats.established_ms;

    memset(&c->stats, 0, sizeof(c->stats));
    c->stats.established_ms = established_ms;
    c->stats.last_cxid = -1;
    c->stats.last_zxid = -1;
}

void connection_close_after_flush(struct server *s, struct connection *c)
{
    if (c->state != CONNECTION_CLOSING) {
        c->state = CONNECTION_CLOSING;
        c->closing_us = s->now_us;
    }
    connection_touch(s, c);
}

struct connection *server_next_touched(struct server *s)
{
    struct list *item = list_pop_front(&s->touched);
    struct connection *c = item == NULL ? NULL : container_of(item, struct connection, touched);

    ASSERT(c == NULL || !c->out.failed); /* out of memory: somebody would wait for ever */
    return c;
}

struct connection *server_connect(struct server *s, const struct peer *peer)
{
    struct connection *c = must_zalloc(sizeof(*c));

    c->peer = *peer;
    c->opened_us = s->now_us;
    c->stats.established_ms = s->wall_ms;
    connection_reset_stats(c);
    list_init(&c->touched);
    list_init(&c->paused_link);
    list_init(&c->watches);
    list_init(&c->proposals);
    strbuf_init(&c->in, STRBUF_NO_LIMIT);
    strbuf_init(&c->out, STRBUF_NO_LIMIT);
    strbuf_init(&c->parked, STRBUF_NO_LIMIT);
    auth_init(c);
    list_push_back(&s->connections, &c->link);
    s->n_connections++;
    return c;
}

void server_receive(struct server *s, struct connection *c, struct bytes bytes)
{
    pipeline_receive(s, c, bytes);
}

void server_sent(struct server *s, struct connection *c)
{
    if (c->out_at == c->out.len) {
        strbuf_clear(&c->out);
        c->out_at = 0;
        strbuf_trim(&c->out, 256 * 1024);
    } else if (c->out_at > 65536 && c->out_at > c->out.len / 2) { /* may never catch up */
        memmove(c->out.data, c->out.data + c->out_at, c->out.len - c->out_at);
        c->out.len -= c->out_at;
        c->out_at = 0;
    }
    pipeline_resume(s, c);
}

void server_disconnect(struct server *s, struct connection *c)
{
    struct list *item;

    s->stats.connection_drop_count += c->state != CONNECTION_CLOSING ? 1 : 0;
    while ((item = list_pop_front(&c->proposals)) != NULL) { /* executed all the same */
        container_of(item, struct proposal, of_connection)->connection = NULL;
    }
    if (c->session != NULL) {
        c->session->connection = NULL;
    }
    s->n_outstanding -= c->n_parked;
    s->large_bytes -= c->large_bytes;
    list_remove(&c->paused_link);
    pipeline_forget(s, c);
    watch_remove_all(&s->watches, c);
    auth_fini(c);
    list_remove(&c->touched);
    list_remove(&c->link);
    s->n_connections--;
    strbuf_fini(&c->in);
    strbuf_fini(&c->out);
    strbuf_fini(&c->parked);
    free(c);
}

void server_resume(struct server *s)
{
    struct list *item, *next;

    if (s->n_outstanding > s->options.limits.outstanding_limit) {
        return;
    }
    for (item = s->paused.next; item != &s->paused; item = next) {
        next = item->next;
        pipeline_resume(s, container_of(item, struct connection, paused_link));
    }
}

/* ---- writes ---- */

void proposal_free(struct proposal *p)
{
    txn_block_unref(p->block);
    free(p->is_create2);
    free(p);
}

void server_submit(struct server *s, struct connection *c, int32_t xid, const struct request *q,
                   int64_t session_id)
{
    struct proposal *p = must_zalloc(sizeof(*p));
    struct session *session;

    p->connection = c;
    p->xid = xid;
    p->type = q->type;
    p->session_id = session_id;
    p->zxid = ++s->proposed_zxid;
    p->received_us = s->now_us;
    list_init(&p->pending);
    list_init(&p->of_connection);
    if (c != NULL) {
        list_push_back(&c->proposals, &p->of_connection);
    }
    strbuf_clear(&s->payload);
    if (q->type == OP_CREATE_SESSION) {
        prepare_create_session(&s->prepare, p, q->timeout_ms, s->wall_ms, &s->payload);
    } else {
        prepare_txn(&s->prepare, p, q, s->wall_ms, &s->payload);
    }
    session = p->n_ephemerals > 0 || q->type == OP_CLOSE_SESSION
                  ? session_find(&s->sessions, session_id)
                  : NULL;
    if (session != NULL) {
        session->n_pending_ephemerals += p->n_ephemerals;
        if (q->type == OP_CLOSE_SESSION) {
            session_set_closing(&s->sessions, session);
        }
    }
    s->stats.prep_processor_request_queued++;
    s->stats.sync_processor_request_queued++;
    s->n_outstanding++;
    list_push_back(&s->in_flight, &p->link);
    s->host->propose(s->host, p, strbuf_bytes(&s->payload));
    strbuf_clear(&s->payload);
    strbuf_trim(&s->payload, 65536);
}

/* ---- time ---- */

static void expire_sessions(struct server *s)
{
    struct request q = {.type = OP_CLOSE_SESSION};
    struct session *session;

    while ((session = session_pop_expired(&s->sessions, server_now_ms(s))) != NULL) {
        log_info("Expiring session 0x%" PRIx64 ", timeout of %" PRId32 "ms exceeded",
                 (uint64_t)session->id, session->timeout_ms);
        s->stats.stale_sessions_expired++;
        server_submit(s, NULL, 0, &q, session->id);
    }
}

/* The end, whether or not it has read everything. */
static void drop(struct server *s, struct connection *c)
{
    c->out_at = c->out.len;
    connection_close_after_flush(s, c);
}

/* Connections that never opened a session, and those that do not read what they are sent. */
static void show_out(struct server *s)
{
    const struct limit_options *o = &s->options.limits;
    struct list *item;

    list_for_each (item, &s->connections) {
        struct connection *c = container_of(item, struct connection, link);

        if (c->state == CONNECTION_FRESH && s->now_us - c->opened_us > o->sessionless_ms * 1000) {
            s->stats.sessionless_connections_expired++;
            connection_close_after_flush(s, c);
        }
        if ((int64_t)(c->out.len - c->out_at) > o->output_limit_bytes) {
            log_limited(LOG_WARN,
                        "client /%s:%u does not read its answers: %zu bytes wait for it, "
                        "the connection is dropped",
                        c->peer.ip, c->peer.port, c->out.len - c->out_at);
            drop(s, c);
        }
        if (c->state == CONNECTION_CLOSING && s->now_us - c->closing_us > FLUSH_TIME_US) {
            drop(s, c);
        }
        if (c->out.len == 0) {
            strbuf_trim(&c->out, 0);
        }
        if (c->parked.len == 0) {
            strbuf_trim(&c->parked, 0);
        }
    }
}

void server_tick(struct server *s)
{
    expire_sessions(s);
    reaper_tick(s);
    show_out(s);
    server_resume(s);
}
