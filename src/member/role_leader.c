/* SPDX-License-Identifier: Apache-2.0 */
/* role_leader.c - prepares for everybody, and commits what a quorum has on disk. */
#include <string.h>

#include "base/assert.h"
#include "base/logging.h"
#include "member/member_internal.h"
#include "pawl/error.h"
#include "quorum/config_change.h"
#include "server/forwarded.h"
#include "server/handshake.h"

static int64_t leader_submit(struct role *r, const struct submission *q)
{
    struct member *m = member_of(r);
    struct proposer *p = m->server->proposer;
    struct bytes payload;

    if (m->ensemble->resigning || zxid_counter(p->zxid) >= ensemble_last_counter(m)) {
        m->ensemble->resigning = true; /* and nobody is answered any more */
        return 0;
    }
    payload = proposer_prepare(p, q);
    metrics_proposal(&m->server->stats, (int64_t)payload.len);
    ensemble_ask(
        m, &(struct quorum_input){.kind = QUORUM_IN_PROPOSE, .zxid = p->zxid, .bytes = payload});
    return (int64_t)payload.len;
}

static bool leader_sync(struct role *r, const struct submission *q)
{
    (void)q;
    ensemble_ask(member_of(r), &(struct quorum_input){.kind = QUORUM_IN_SYNC});
    return true;
}

static void leader_revalidate(struct role *r, int64_t session_id, int32_t timeout_ms)
{
    struct member *m = member_of(r);

    (void)timeout_ms;
    if (!member_is_burying(m)) {
        handshake_revalidate(m->server, session_id);
    }
}

/* ---- the list of members ---- */

/* It is proposed only if enough of its voters are there to commit it, and one after the other: who
 * leads needs quorums of both lists until then. */
static int propose_members(const struct quorum *quorum, const struct quorum_config *next,
                           struct strbuf *text)
{
    if (!quorum_could_commit(quorum, next)) {
        log_info("Reconfig failed - there must be a connected and synced quorum in new "
                 "configuration");
        return PAWL_ERR_NEW_CONFIG_NO_QUORUM;
    }
    quorum_config_write(next, text);
    return PAWL_OK;
}

static int change_members(struct member *m, const struct request *q, int64_t zxid,
                          struct strbuf *text)
{
    const struct quorum *quorum = ensemble_quorum(m);
    struct config_change change = {.joining = q->joining,
                                   .leaving = q->leaving,
                                   .members = q->members,
                                   .version = zxid,
                                   .least_voters = m->ensemble->to.least_voters,
                                   .several_addresses = m->ensemble->to.several_addresses};
    struct quorum_config next;
    struct strbuf why;
    int rc;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    rc = quorum_config_change(quorum_active_config(quorum), &change, &next, &why);
    if (rc == PAWL_OK) {
        rc = propose_members(quorum, &next, text);
        quorum_config_fini(&next);
    } else {
        log_info("a list of members that was asked for is refused: %s", strbuf_cstr(&why));
    }
    strbuf_fini(&why);
    return rc;
}

static int leader_change_members(struct role *r, const struct request *q, int64_t zxid,
                                 struct strbuf *text)
{
    struct member *m = member_of(r);
    const struct quorum *quorum = ensemble_quorum(m);

    if (quorum_is_changing(quorum)) {
        return PAWL_ERR_RECONFIG_IN_PROGRESS;
    }
    if (q->config_id != -1 && q->config_id != quorum_active_config(quorum)->version) {
        return PAWL_ERR_BAD_VERSION;
    }
    return change_members(m, q, zxid, text);
}

void role_leader_init(struct role *r)
{
    *r = (struct role){.kind = ROLE_LEADER,
                       .counts_requests = true,
                       .submit = leader_submit,
                       .sync = leader_sync,
                       .revalidate = leader_revalidate,
                       .change_members = leader_change_members,
                       .standing = ensemble_standing};
}

/* ---- what learners send ---- */

static void receive_request(struct member *m, link_id link, const struct packet *p)
{
    struct forwarded_request f;

    if (!forwarded_request_read(p->data, &f)) {
        log_limited(LOG_WARN, "a forwarded request cannot be decoded");
    } else if (f.op == OP_SYNC) {
        ensemble_ask(m, &(struct quorum_input){.kind = QUORUM_IN_SYNC,
                                               .link = link,
                                               .marked = forwarded_sync(m->server, &f)});
    } else {
        forwarded_write(m->server, link, &f, p->auth);
    }
}

/* A learner's client whose session is about to be closed, or created. */
struct undecided {
    link_id link;
    struct session_touch touch;
};

static void answer_revalidate(struct member *m, link_id link, int64_t session_id, bool lives)
{
    struct packet answer = {.type = PACKET_REVALIDATE, .zxid = -1, .auth.count = -1};

    strbuf_clear(&m->ensemble->data);
    revalidation_write(&m->ensemble->data, &(struct revalidation){session_id, lives});
    answer.data = strbuf_bytes(&m->ensemble->data);
    ensemble_ask(m,
                 &(struct quorum_input){.kind = QUORUM_IN_ANSWER, .link = link, .packet = &answer});
}

static bool is_undecided(const struct strbuf *all, const struct undecided *u)
{
    for (size_t at = 0; at < all->len; at += sizeof(*u)) {
        struct undecided other;

        memcpy(&other, all->data + at, sizeof(other));
        if (other.link == u->link && other.touch.session_id == u->touch.session_id) {
            return true;
        }
    }
    return false;
}

static void revalidate(struct member *m, const struct undecided *u)
{
    struct strbuf *all = &m->ensemble->undecided;
    enum session_life life = forwarded_revalidate(m->server, u->link, &u->touch);

    if (life != SESSION_UNDECIDED) {
        answer_revalidate(m, u->link, u->touch.session_id, life == SESSION_LIVES);
    } else if (!is_undecided(all, u)) {
        strbuf_append(all, u, sizeof(*u));
    }
}

void role_leader_decide(struct member *m)
{
    struct strbuf waiting = m->ensemble->undecided;
    struct undecided u;

    if (waiting.len == 0) {
        return;
    }
    strbuf_init(&m->ensemble->undecided, STRBUF_NO_LIMIT);
    for (size_t at = 0; at < waiting.len; at += sizeof(u)) {
        memcpy(&u, waiting.data + at, sizeof(u));
        revalidate(m, &u);
    }
    strbuf_fini(&waiting);
}

static void receive_revalidate(struct member *m, link_id link, const struct packet *p)
{
    struct jute_reader r = jute_reader_of(p->data);
    struct undecided u = {.link = link, .touch = session_touch_read(&r)};

    if (r.failed) {
        log_limited(LOG_WARN, "a revalidation cannot be decoded");
        return;
    }
    m->server->stats.revalidate_count++;
    revalidate(m, &u);
}

void role_leader_receive(struct member *m, link_id link, const struct packet *p)
{
    switch (p->type) {
    case PACKET_REQUEST:
        receive_request(m, link, p);
        break;
    case PACKET_REVALIDATE:
        receive_revalidate(m, link, p);
        break;
    case PACKET_PING:
        forwarded_touches(m->server, p->data);
        break;
    default:
        break;
    }
}
