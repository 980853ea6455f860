/* SPDX-License-Identifier: Apache-2.0 */
#include "server/proposer.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/server.h"

/* A payload may be long once; that much is kept for the next. */
enum { PAYLOAD_KEPT_BYTES = 65536 };

struct proposer *proposer_new(struct server *s, int64_t zxid)
{
    struct proposer *p = must_zalloc(sizeof(*p));
    struct prepare *prepare = &p->prepare;

    p->server = s;
    p->zxid = zxid;
    strbuf_init(&p->payload, STRBUF_NO_LIMIT);
    prepare_init(prepare, s->tree);
    pending_init(&prepare->pending, s->tree, zxid, s->options.with_digest);
    prepare->quota = s->quota;
    prepare->namespaces = &s->stats.namespaces;
    prepare->auth = &s->options.auth;
    prepare->limits = &s->options.limits;
    prepare->sessions = &s->sessions;
    prepare->extended_types = s->options.extended_types;
    prepare->enforce_quota = s->options.enforce_quota;
    prepare->role = s->role;
    prepare->reconfig_enabled = s->options.reconfig_enabled;
    prepare->close_session_txn = s->options.close_session_txn;
    prepare->reap_never_used_ms = s->options.reap_never_used_ms;
    return p;
}

void proposer_free(struct proposer *p)
{
    if (p == NULL) {
        return;
    }
    prepare_fini(&p->prepare);
    strbuf_fini(&p->payload);
    free(p);
}

void proposer_turn(struct proposer *p, int64_t epoch)
{
    ASSERT(epoch > p->zxid >> 32);
    p->zxid = epoch << 32;
}

/* Nodes that go with their session need one that everybody knows. */
static int refuse_ephemerals(const struct session *session)
{
    if (session == NULL) {
        return PAWL_ERR_SESSION_EXPIRED; /* or a learner's local one: it is not told apart */
    }
    return session->local ? PAWL_ERR_EPHEMERAL_ON_LOCAL_SESSION : PAWL_OK;
}

static struct author next_author(struct proposer *p, const struct submission *q)
{
    strbuf_clear(&p->payload);
    strbuf_trim(&p->payload, PAYLOAD_KEPT_BYTES);
    p->server->stats.prep_processor_request_queued++;
    p->server->stats.sync_processor_request_queued++;
    p->n_in_flight++;
    return (struct author){.identity = q->identity,
                           .session_id = q->session_id,
                           .xid = q->xid,
                           .zxid = ++p->zxid,
                           .ephemerals_refused = refuse_ephemerals(q->session)};
}

static struct bytes proposer_payload(const struct proposer *p)
{
    ASSERT(!p->payload.failed);
    ASSERT(p->payload.len >= TXN_HEADER_BYTES);
    return strbuf_bytes(&p->payload);
}

struct bytes proposer_prepare(struct proposer *p, const struct submission *q)
{
    struct author who = next_author(p, q);

    if (q->refusal == PAWL_OK) {
        prepare_txn(&p->prepare, &who, q->request, p->server->wall_ms, &p->payload);
    } else {
        prepare_error(&who, q->refusal, p->server->wall_ms, &p->payload);
    }
    if (who.n_ephemerals > 0 && q->session != NULL) {
        q->session->ephemeral_zxid = who.zxid;
    }
    return proposer_payload(p);
}

/* A multi or the end of a session may change several nodes with paths of one length. */
static bool changes_one_node(const struct txn *txn)
{
    switch (txn->op.type) {
    case TXN_CREATE:
    case TXN_CREATE2:
    case TXN_CREATE_CONTAINER:
    case TXN_CREATE_TTL:
    case TXN_DELETE:
    case TXN_DELETE_CONTAINER:
    case TXN_SET_DATA:
    case TXN_SET_ACL:
        return true;
    default:
        return false;
    }
}

void proposer_apply(struct proposer *p, const struct txn *txn)
{
    if (changes_one_node(txn)) {
        pending_apply(&p->prepare.pending, txn->header.zxid);
    }
}

void proposer_applied(struct proposer *p, int64_t zxid)
{
    ASSERT(zxid <= p->zxid);
    ASSERT(p->n_in_flight > 0);
    p->n_in_flight--;
    pending_applied(&p->prepare.pending, zxid);
}
