/* SPDX-License-Identifier: Apache-2.0 */
#include "member/ensemble.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "member/member_internal.h"
#include "quorum/config.h"

struct ensemble *ensemble_new(const struct member_ensemble *to)
{
    struct ensemble *e = must_zalloc(sizeof(*e));

    e->to = *to;
    stages_init(&e->stages);
    strbuf_init(&e->undecided, STRBUF_NO_LIMIT);
    strbuf_init(&e->data, STRBUF_NO_LIMIT);
    strbuf_init(&e->auth, STRBUF_NO_LIMIT);
    return e;
}

void ensemble_free(struct ensemble *e)
{
    if (e == NULL) {
        return;
    }
    stages_fini(&e->stages);
    strbuf_fini(&e->undecided);
    strbuf_fini(&e->data);
    strbuf_fini(&e->auth);
    free(e);
}

bool member_config_of(struct bytes payload, struct bytes *text)
{
    struct txn txn;

    if (txn_read(payload, &txn) != TXN_OK || txn.op.type != TXN_RECONFIG) {
        return false;
    }
    *text = txn.op.data;
    return true;
}

void member_touches(void *member, struct strbuf *out)
{
    struct member *m = member;

    if (role_serves(&m->role) && !role_leads(&m->role)) {
        tracker_take_heard(&m->server->tracker, out);
    }
}

void ensemble_ask(struct member *m, const struct quorum_input *in)
{
    m->ensemble->to.ask(m->ensemble->to.host, in);
}

const struct quorum *ensemble_quorum(const struct member *m)
{
    return m->ensemble->to.quorum(m->ensemble->to.host);
}

void ensemble_standing(struct role *r, struct role_standing *out)
{
    const struct member_ensemble *to = &member_of(r)->ensemble->to;

    *out = (struct role_standing){0};
    if (to->standing != NULL) {
        to->standing(to->host, out);
    }
}

int64_t ensemble_last_counter(const struct member *m)
{
    int64_t limit = m->ensemble->to.last_counter;

    return limit == 0 ? QUORUM_LAST_COUNTER : limit;
}

/* ---- roles ---- */

/* Nobody is served; the tree stays. What is logged and not agreed upon is applied later, when it is
 * durable (MEMBER_CATCH_UP): it is what the vote is about. */
static void leave_role(struct member *m, const char *reason)
{
    if (role_serves(&m->role)) {
        m->ensemble->idle_since_us = m->server->now_us;
        log_info("%s no more: %s; clients are turned away until there is a leader",
                 role_name(m->role.kind), reason);
    } else {
        log_info("the role came to nothing before anybody was served: %s", reason);
    }
    m->server->stats.looking_count++;
    m->ensemble->resigning = false;
    m->ensemble->n_synced = 0;
    stages_forget(&m->ensemble->stages);
    strbuf_clear(&m->ensemble->undecided);
    role_none_init(&m->role);
    server_change(m->server, m->server->tree, m->server->applied_zxid);
}

/* What was not settled yet when the last transaction was compared will not settle by itself: a tree
 * that is not everybody's is neither served nor made everybody's. */
static void check_tree(struct member *m)
{
    int64_t zxid = m->server->differs_zxid;

    ASSERT(!m->had_diverged); /* the quorum takes up no role with it */
    if (zxid != 0) {
        m->server->stats.digest_mismatches_count++;
        log_error("synchronisation has ended, and after transaction 0x%" PRIx64
                  " (%s) the tree differs from the others'",
                  (uint64_t)zxid, strbuf_cstr(&m->server->differs));
        member_diverge(m, zxid);
    }
}

/* Clients find the list of members in the tree. It is this member's own, no transaction, and
 * outside the digest: the tree may have come from a server alone, or from one with another list. */
static void show_config(struct member *m)
{
    const struct quorum_config *config = quorum_active_config(ensemble_quorum(m));
    struct strbuf *text = &m->ensemble->data;

    strbuf_clear(text);
    quorum_config_write(config, text);
    tree_set_config(m->server->tree, strbuf_bytes(text), config->version, m->server->wall_ms);
}

/* How long it took until somebody is served, and what of it. */
static void observe_beginning(struct member *m)
{
    int64_t idle_ms = (m->server->now_us - m->ensemble->idle_since_us) / 1000;
    struct role_standing standing;

    ensemble_standing(&m->role, &standing);
    server_observe(m->server, SUMMARY_ELECTION_TIME, standing.election_ms);
    server_observe(m->server, SUMMARY_UNAVAILABLE_TIME, idle_ms);
    if (m->role.kind == ROLE_LEADER) {
        server_observe(m->server, SUMMARY_LEADER_UNAVAILABLE_TIME, idle_ms);
    } else {
        server_observe(m->server,
                       m->role.kind == ROLE_OBSERVER ? SUMMARY_OBSERVER_SYNC_TIME
                                                     : SUMMARY_FOLLOWER_SYNC_TIME,
                       standing.sync_ms);
    }
}

/* Everything that is logged is part of the history that a quorum has. */
static void take_the_lead(struct member *m, int64_t epoch)
{
    ASSERT(m->role.kind == ROLE_NONE);
    ASSERT(journal_first(&m->journal) == NULL);
    log_info("serving: leader of epoch %" PRId64, epoch);
    role_leader_init(&m->role);
    show_config(m);
    server_change(m->server, m->server->tree, zxid_make(epoch, 0));
    observe_beginning(m);
    m->has_dead = true;
    check_tree(m);
}

/* Whatever its clients have seen of this epoch from others, they find it here. */
static void follow(struct member *m, const struct quorum_effect *e)
{
    int64_t applied = m->server->applied_zxid;
    int64_t begin = zxid_make(e->epoch, 0);

    ASSERT(m->role.kind == ROLE_NONE);
    role_learner_init(&m->role, e->role == MEMBER_OBSERVING ? ROLE_OBSERVER : ROLE_FOLLOWER);
    log_info("serving: %s of server %" PRId64 " in epoch %" PRId64, role_name(m->role.kind), e->sid,
             e->epoch);
    show_config(m);
    server_change(m->server, m->server->tree, applied > begin ? applied : begin);
    observe_beginning(m);
    check_tree(m);
}

/* The quorum is asked behind all that was prepared until now. */
static void go_on_in(struct member *m, int64_t epoch)
{
    ASSERT(m->role.kind == ROLE_LEADER);
    proposer_turn(m->server->proposer, epoch);
    ensemble_ask(m, &(struct quorum_input){.kind = QUORUM_IN_TURN, .epoch = epoch});
}

/* ---- effects ---- */

/* A leader's own proposals are counted where they are made. An observer is told of nothing before
 * it is agreed upon. */
static void ensemble_append(struct member *m, const struct quorum_effect *e)
{
    m->server->stats.learner_proposal_received_count += m->role.kind == ROLE_FOLLOWER;
    stages_appended(&m->ensemble->stages, m->server, e->zxid, e->bytes);
    member_append(m, e->zxid, e->bytes);
}

static void ensemble_commit(struct member *m, int64_t zxid)
{
    struct metrics *stats = &m->server->stats;
    uint64_t before = stats->commit_count;

    member_commit(m, zxid);
    if (m->role.kind == ROLE_LEADER) {
        role_leader_decide(m);
    }
    if (!role_leads(&m->role)) {
        stats->learner_commit_received_count += stats->commit_count - before;
    }
}

static void receive(struct member *m, const struct quorum_effect *e)
{
    if (m->role.kind == ROLE_LEADER) {
        role_leader_receive(m, e->link, &e->packet);
    } else if (role_serves(&m->role)) {
        role_learner_receive(m, &e->packet);
    }
}

void ensemble_effect(struct member *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_APPEND:
        ensemble_append(m, e);
        break;
    case QUORUM_DO_COMMIT:
        ensemble_commit(m, e->zxid);
        break;
    case QUORUM_DO_RECEIVED:
        receive(m, e);
        break;
    case QUORUM_DO_SYNCED:
        m->ensemble->n_synced++;
        break;
    case QUORUM_DO_LEAD:
        take_the_lead(m, e->epoch);
        break;
    case QUORUM_DO_SERVE:
        follow(m, e);
        break;
    case QUORUM_DO_TURN:
        go_on_in(m, e->epoch);
        break;
    case QUORUM_DO_STOP:
        leave_role(m, e->reason);
        break;
    default:
        ASSERT(e->kind == QUORUM_DO_LINK_GONE);
        break;
    }
}

void ensemble_end_step(struct member *m)
{
    struct ensemble *e = m->ensemble;

    while (e->n_synced > 0) {
        e->n_synced--;
        if (role_serves(&m->role)) {
            server_synced(m->server);
        }
    }
    if (m->has_dead && m->role.kind == ROLE_LEADER) {
        member_bury_the_dead(m);
    }
    if (e->resigning) {
        e->resigning = false;
        ensemble_ask(m, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
    }
}
