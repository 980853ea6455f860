/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/commit.h"
#include "server/pipeline.h"
#include "store/quota.h"

/* ---- life ---- */

struct session *server_add_session(struct server *s, int64_t id, int32_t timeout_ms)
{
    struct session *session = session_add(&s->sessions, id, timeout_ms);

    tracker_add(&s->tracker, session, server_now_ms(s));
    return session;
}

struct session *server_add_local_session(struct server *s, int64_t id, int32_t timeout_ms)
{
    struct session *session = session_add(&s->sessions, id, timeout_ms);

    session_set_local(&s->sessions, session, true);
    tracker_add(&s->tracker, session, server_now_ms(s));
    return session;
}

void server_make_global(struct server *s, struct session *session)
{
    ASSERT(session->local);
    tracker_remove(&s->tracker, session);
    session_set_local(&s->sessions, session, false);
    tracker_add(&s->tracker, session, server_now_ms(s));
}

void server_end_session(struct server *s, struct session *session)
{
    struct connection *c = session->connection;

    if (c != NULL) {
        c->session = NULL;
        session->connection = NULL;
        connection_close_after_flush(s, c);
    }
    if (session->newest != NULL) { /* they will be refused by who closed it */
        waiting_forget_session(&s->waiting, session);
        session->newest = NULL;
    }
    tracker_remove(&s->tracker, session);
    session_remove(&s->sessions, session);
}

static void adopt_session(int64_t id, int32_t timeout_ms, void *arg)
{
    server_add_session(arg, id, timeout_ms);
}

static bool may_see(struct server *s, struct connection *c, uint32_t acl)
{
    return auth_allows(&c->identity, &s->options.auth, tree_acls(s->tree), acl, PERM_READ);
}

/* ---- what lasts as long as a role and its tree ---- */

static void begin_tree(struct server *s, struct tree *tree, int64_t zxid)
{
    s->tree = tree;
    changes_begin(&s->changes, tree_acls(tree), zxid);
    s->quota = quota_new(tree);
    s->apply.tree = tree;
    s->apply.quota = s->quota;
    s->differs_zxid = 0;
}

static void end_tree(struct server *s)
{
    changes_clear(&s->changes);
    quota_free(s->quota);
    tree_free(s->tree);
}

static void begin_role(struct server *s, int64_t zxid)
{
    bool leads = role_leads(s->role);

    s->applied_zxid = zxid;
    s->clocks_told = false;
    s->descendants = (struct descendants){0};
    tracker_init(&s->tracker, leads, s->options.tick_ms, server_now_ms(s));
    tree_each_session(s->tree, adopt_session, s);
    waiting_init(&s->waiting);
    s->proposer = leads ? proposer_new(s, zxid) : NULL;
    reaper_init(s);
}

static void end_role(struct server *s)
{
    pipeline_fini(s);
    waiting_fini(&s->waiting);
    proposer_free(s->proposer);
    session_table_clear(&s->sessions);
    tracker_fini(&s->tracker);
    reaper_fini(s);
}

/* What it has asked for will not be answered; what it was answered it may read. */
static void turn_away(struct server *s, struct connection *c)
{
    connection_close_after_flush(s, c);
    waiting_forget_connection(c);
    watch_remove_all(&s->watches, c);
    c->session = NULL;
    c->in_flight_bytes = 0;
    s->n_parked -= c->parked.n_requests;
    parked_fini(&c->parked);
    parked_init(&c->parked);
    s->large_bytes -= c->large_bytes;
    c->large_bytes = 0;
}

void server_change(struct server *s, struct tree *tree, int64_t zxid)
{
    struct list *item;

    list_for_each (item, &s->connections) {
        turn_away(s, container_of(item, struct connection, link));
    }
    ASSERT(s->n_parked == 0 && s->large_bytes == 0);
    ASSERT(list_empty(&s->joining));
    end_role(s);
    if (tree != s->tree) {
        end_tree(s);
        begin_tree(s, tree, zxid);
    }
    s->role_since_us = s->now_us;
    begin_role(s, zxid);
}

/* ---- life ---- */

struct server *server_new(const struct server_options *options, struct role *role,
                          struct tree *tree, int64_t zxid, int64_t now_us, int64_t wall_ms,
                          uint64_t seed)
{
    struct server *s = must_zalloc(sizeof(*s));

    s->options = *options;
    s->role = role;
    s->now_us = now_us;
    s->wall_ms = wall_ms;
    s->started_us = now_us;
    s->attended_us = now_us;
    attention_init(&s->attention, options->attention_ms * 1000, now_us);
    prng_seed(&s->prng, seed);
    list_init(&s->connections);
    list_init(&s->touched);
    list_init(&s->paused);
    list_init(&s->syncs);
    list_init(&s->joining);
    strbuf_init(&s->repaired, STRBUF_NO_LIMIT);
    strbuf_init(&s->differs, STRBUF_NO_LIMIT);
    metrics_init(&s->stats, prng_next(&s->prng));
    talkers_init(&s->talkers, seed, now_us / 1000);
    s->trace_mask = 306;
    s->facts = (struct server_facts){.secure_client_port = -1, .listen_backlog = -1};
    identity_init_server(&s->self);
    watch_table_init(&s->watches);
    s->watches.may_see = may_see;
    s->watches.server = s;
    session_table_init(&s->sessions,
                       wall_ms > options->last_time_ms ? wall_ms : options->last_time_ms + 1,
                       options->server_id);
    session_skip_to(&s->sessions, options->last_session_id);
    throttle_init(&s->throttle, &s->options.limits, server_now_ms(s));
    commit_init(s);
    changes_init(&s->changes, (size_t)options->limits.changes_bytes);
    begin_tree(s, tree, zxid);
    begin_role(s, zxid);
    return s;
}

void server_free(struct server *s)
{
    if (s == NULL) {
        return;
    }
    while (!list_empty(&s->connections)) {
        server_disconnect(s, container_of(s->connections.next, struct connection, link));
    }
    end_role(s);
    end_tree(s);
    session_table_fini(&s->sessions);
    watch_table_fini(&s->watches);
    identity_fini(&s->self);
    metrics_fini(&s->stats);
    strbuf_fini(&s->repaired);
    strbuf_fini(&s->differs);
    free(s->results);
    free(s);
}

void server_set_time(struct server *s, int64_t now_us, int64_t wall_ms)
{
    s->now_us = now_us;
    s->wall_ms = wall_ms;
    s->attended_us = attention_at(&s->attention, now_us);
}

/* ---- writes ---- */

/* Behind the end of a session nothing more is heard of it. */
static void submit_closes(struct server *s, const struct submission *q)
{
    if (q->request->type == OP_CLOSE_SESSION && q->session != NULL && !q->session->closing) {
        tracker_close(&s->tracker, q->session);
    }
}

/* On the leader the session may be a learner's by now. */
static int claim(const struct server *s, struct session *session)
{
    return s->role->kind == ROLE_LEADER && session != NULL &&
                   !tracker_claim(session, OWNER_OURSELVES)
               ? PAWL_ERR_SESSION_MOVED
               : PAWL_OK;
}

void server_submit(struct server *s, struct connection *c, int32_t xid, const struct request *q,
                   struct bytes body)
{
    struct waiting *w = waiting_push(&s->waiting, c, xid, q, s->now_us);
    struct submission submission = {.identity = &c->identity,
                                    .session = c->session,
                                    .session_id = c->session_id,
                                    .xid = xid,
                                    .request = q,
                                    .body = body,
                                    .refusal = claim(s, c->session)};

    ASSERT(c->session == NULL || !c->session->closing);
    w->audit = s->audit.line != NULL ? audit_note_new(c, q) : NULL;
    w->bytes = s->role->submit(s->role, &submission);
    c->in_flight_bytes += w->bytes;
    if (c->session != NULL) {
        c->session->newest = w;
    }
    submit_closes(s, &submission);
}

void server_upgrade(struct server *s, struct connection *c)
{
    struct session *session = c->session;
    struct request q = {.type = OP_CREATE_SESSION, .timeout_ms = session->timeout_ms};

    log_info("Upgrading session 0x%" PRIx64, (uint64_t)session->id);
    server_make_global(s, session);
    s->role->submit(s->role, &(struct submission){.identity = &c->identity,
                                                  .session = session,
                                                  .session_id = session->id,
                                                  .request = &q,
                                                  .body = BYTES_NULL});
}

void server_propose(struct server *s, const struct submission *q)
{
    ASSERT(role_leads(s->role));
    s->role->submit(s->role, q);
    submit_closes(s, q);
}

void server_submit_own(struct server *s, const struct request *q, int64_t session_id)
{
    server_propose(s, &(struct submission){.identity = &s->self,
                                           .session = session_find(&s->sessions, session_id),
                                           .session_id = session_id,
                                           .request = q,
                                           .body = BYTES_NULL});
}
