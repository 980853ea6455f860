/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/commit.h"
#include "store/quota.h"
#include "store/txn_batch.h"

/* ---- life ---- */

static void adopt_session(int64_t id, int32_t timeout_ms, void *arg)
{
    struct server *s = arg;

    session_add(&s->sessions, id, timeout_ms, server_now_ms(s));
}

static bool may_see(struct server *s, struct connection *c, uint32_t acl)
{
    return auth_allows(&c->identity, &s->options.auth, tree_acls(s->tree), acl, PERM_READ);
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
    s->attended_us = now_us;
    attention_init(&s->attention, options->attention_ms * 1000, now_us);
    prng_seed(&s->prng, seed);
    list_init(&s->connections);
    list_init(&s->touched);
    list_init(&s->paused);
    list_init(&s->in_flight);
    strbuf_init(&s->payload, STRBUF_NO_LIMIT);
    strbuf_init(&s->repaired, STRBUF_NO_LIMIT);
    metrics_init(&s->stats, prng_next(&s->prng));
    s->trace_mask = 306;
    s->facts = (struct server_facts){.secure_client_port = -1, .listen_backlog = -1};
    s->quota = quota_new(tree);
    s->apply = (struct apply){.tree = tree, .quota = s->quota};
    identity_init_server(&s->self);
    watch_table_init(&s->watches);
    s->watches.may_see = may_see;
    s->watches.server = s;
    session_table_init(&s->sessions, options->tick_ms, server_now_ms(s),
                       wall_ms > options->last_time_ms ? wall_ms : options->last_time_ms + 1,
                       options->server_id);
    session_skip_to(&s->sessions, options->last_session_id);
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
    identity_fini(&s->self);
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
    s->attended_us = attention_at(&s->attention, now_us);
}

/* ---- writes ---- */

void proposal_free(struct proposal *p)
{
    ASSERT(list_empty(&p->waits));
    txn_block_unref(p->block);
    free(p->is_create2);
    free(p);
}

static struct proposal *proposal_new(struct server *s, struct connection *c, int32_t xid,
                                     int32_t type, int64_t session_id)
{
    struct proposal *p = must_zalloc(sizeof(*p));

    p->connection = c;
    p->identity = c != NULL ? &c->identity : &s->self;
    p->xid = xid;
    p->type = type;
    p->session_id = session_id;
    p->session = c != NULL ? c->session : session_find(&s->sessions, session_id);
    p->zxid = ++s->proposed_zxid;
    p->received_us = s->now_us;
    list_init(&p->pending);
    list_init(&p->of_connection);
    list_init(&p->waits);
    if (c != NULL) {
        list_push_back(&c->proposals, &p->of_connection);
    }
    return p;
}

static void note_in_session(struct server *s, struct proposal *p)
{
    struct session *session = p->session;

    if (session == NULL) {
        return;
    }
    ASSERT(session->id == p->session_id);
    ASSERT(!session->closing);
    session->newest = p;
    session->n_pending_ephemerals += p->n_ephemerals;
    if (p->type == OP_CLOSE_SESSION) {
        session_set_closing(&s->sessions, session);
    }
}

void server_submit(struct server *s, struct connection *c, int32_t xid, const struct request *q,
                   int64_t session_id)
{
    struct proposal *p = proposal_new(s, c, xid, q->type, session_id);

    strbuf_clear(&s->payload);
    if (q->type == OP_CREATE_SESSION) {
        prepare_create_session(&s->prepare, p, q->timeout_ms, s->wall_ms, &s->payload);
    } else {
        prepare_txn(&s->prepare, p, q, s->wall_ms, &s->payload);
    }
    ASSERT(!s->payload.failed);
    ASSERT(s->payload.len >= TXN_HEADER_BYTES);
    p->identity = NULL;
    note_in_session(s, p);
    p->bytes = (int64_t)s->payload.len;
    if (c != NULL) {
        c->in_flight_bytes += p->bytes;
    }
    s->stats.prep_processor_request_queued++;
    s->stats.sync_processor_request_queued++;
    s->n_outstanding++;
    list_push_back(&s->in_flight, &p->link);
    s->host->propose(s->host, p, strbuf_bytes(&s->payload));
    ASSERT(p->payload.len == s->payload.len); /* kept by the host, until it is committed */
    strbuf_clear(&s->payload);
    strbuf_trim(&s->payload, 65536);
}
