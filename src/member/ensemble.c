/* SPDX-License-Identifier: Apache-2.0 */
#include "member/ensemble.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "member/member_internal.h"
#include "server/forwarded.h"

/* ---- life ---- */

/* What a PING is answered with. */
static void write_touches(void *host, struct strbuf *out)
{
    struct member *m = host;

    if (role_serves(&m->role) && !role_leads(&m->role)) {
        tracker_take_heard(&m->server->tracker, out);
    }
}

struct ensemble *ensemble_new(const struct member_ensemble *options, struct member *m, int64_t zxid)
{
    struct ensemble *e = must_zalloc(sizeof(*e));
    struct quorum_options quorum = options->quorum;

    quorum.touches = write_touches;
    quorum.host = m;
    e->quorum = quorum_new(&quorum);
    e->carry = options->carry;
    e->host = options->host;
    e->accepted_epoch = options->accepted_epoch;
    e->current_epoch = options->current_epoch;
    e->durable_zxid = zxid;
    history_init(&e->history, zxid);
    if (options->history != NULL) {
        history_copy(&e->history, options->history);
    }
    for (int i = 0; i < ENSEMBLE_DEPTH; i++) {
        quorum_effects_init(&e->effects[i]);
    }
    strbuf_init(&e->data, STRBUF_NO_LIMIT);
    strbuf_init(&e->auth, STRBUF_NO_LIMIT);
    return e;
}

void ensemble_free(struct ensemble *e)
{
    if (e == NULL) {
        return;
    }
    for (int i = 0; i < ENSEMBLE_DEPTH; i++) {
        quorum_effects_fini(&e->effects[i]);
    }
    history_fini(&e->history);
    quorum_free(e->quorum);
    strbuf_fini(&e->data);
    strbuf_fini(&e->auth);
    free(e);
}

/* ---- roles ---- */

/* Clients are gone, what is logged is on disk, and the tree has all of it, agreed upon or not: it
 * is what the vote is about. */
static void stop_if_done(struct member *m)
{
    struct ensemble *e = m->ensemble;

    if (!e->stopping || e->n_jobs > 0 || e->durable_zxid < m->journal.last_zxid) {
        return;
    }
    member_commit(m, m->journal.last_zxid);
    e->stopping = false;
    ensemble_step(m,
                  &(struct quorum_input){.kind = QUORUM_IN_STOPPED, .zxid = m->journal.last_zxid});
}

static void leave_role(struct member *m, const char *reason)
{
    struct ensemble *e = m->ensemble;

    ASSERT(e->depth == 1);
    log_info("%s no more: %s", role_name(m->role.kind), reason);
    e->stopping = true;
    e->resigning = false;
    role_none_init(&m->role);
    server_change(m->server, m->server->tree, m->server->applied_zxid);
}

/* Everything that is logged is part of the history that a quorum has. */
static void take_the_lead(struct member *m, int64_t epoch)
{
    ASSERT(m->ensemble->depth == 1);
    ASSERT(journal_first(&m->journal) == NULL);
    log_info("serving: leader of epoch %lld", (long long)epoch);
    role_leader_init(&m->role);
    server_change(m->server, m->server->tree, zxid_make(epoch, 0));
    m->has_dead = true;
}

/* Whatever its clients have seen of this epoch from others, they find it here. */
static void follow(struct member *m, const struct quorum_effect *e)
{
    int64_t zxid = zxid_make(e->epoch, 0);

    ASSERT(m->ensemble->depth == 1);
    log_info("serving: %s of server %lld in epoch %lld",
             e->role == MEMBER_OBSERVING ? "observer" : "follower", (long long)e->sid,
             (long long)e->epoch);
    role_learner_init(&m->role, e->role == MEMBER_OBSERVING ? ROLE_OBSERVER : ROLE_FOLLOWER);
    server_change(m->server, m->server->tree,
                  m->server->applied_zxid > zxid ? m->server->applied_zxid : zxid);
}

/* ---- effects ---- */

/* False: it is the member's own. */
static bool carry_out(struct member *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_APPEND:
        member_append(m, e->zxid, e->bytes);
        return true;
    case QUORUM_DO_COMMIT:
    case QUORUM_DO_RECEIVED:
    case QUORUM_DO_SYNCED:
    case QUORUM_DO_LINK_GONE:
        return false;
    case QUORUM_DO_SAVE_EPOCH:
    case QUORUM_DO_TRUNCATE:
        m->ensemble->n_jobs++;
        break;
    default:
        break;
    }
    m->ensemble->carry(m->ensemble->host, e);
    return e->kind != QUORUM_DO_LEAD && e->kind != QUORUM_DO_SERVE && e->kind != QUORUM_DO_STOP;
}

static void receive(struct member *m, const struct quorum_effect *e)
{
    if (m->role.kind == ROLE_LEADER) {
        role_leader_receive(m, e->link, &e->packet);
    } else if (role_serves(&m->role)) {
        role_learner_receive(m, &e->packet);
    }
}

static void do_own_part(struct member *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_COMMIT:
        member_commit(m, e->zxid);
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
    case QUORUM_DO_STOP:
        leave_role(m, e->reason);
        break;
    default:
        ASSERT(e->kind == QUORUM_DO_LINK_GONE);
        break;
    }
}

static void end_of_step(struct member *m)
{
    struct ensemble *e = m->ensemble;

    if (!role_serves(&m->role)) {
        e->n_synced = 0;
    }
    while (e->n_synced > 0) { /* whom it sets free may ask for more */
        e->n_synced--;
        server_synced(m->server);
    }
    if (m->has_dead && m->role.kind == ROLE_LEADER) {
        member_bury_the_dead(m);
    }
    if (e->resigning) {
        e->resigning = false;
        ensemble_step(m, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
    }
    stop_if_done(m);
}

void ensemble_step(struct member *m, const struct quorum_input *in)
{
    struct ensemble *e = m->ensemble;
    struct quorum_effects *out = &e->effects[e->depth];
    size_t n_own = 0;

    if (m->diverged) {
        return;
    }
    ASSERT(e->depth < ENSEMBLE_DEPTH);
    e->depth++;
    quorum_step(e->quorum, m->server->now_us, in, out);
    for (size_t i = 0; i < out->count; i++) {
        if (!carry_out(m, &out->items[i])) {
            out->items[n_own++] = out->items[i];
        }
    }
    for (size_t i = 0; i < n_own; i++) {
        do_own_part(m, &out->items[i]);
    }
    e->depth--;
    if (e->depth == 0) {
        end_of_step(m);
    }
}

/* ---- inputs ---- */

void ensemble_start(struct member *m)
{
    struct ensemble *e = m->ensemble;

    ASSERT(!e->started);
    e->started = true;
    ensemble_step(m, &(struct quorum_input){.kind = QUORUM_IN_START,
                                            .zxid = m->journal.last_zxid,
                                            .accepted_epoch = e->accepted_epoch,
                                            .current_epoch = e->current_epoch,
                                            .history = &e->history});
}

void ensemble_input(struct member *m, const struct quorum_input *in)
{
    if (in->kind == QUORUM_IN_EPOCH_SAVED || in->kind == QUORUM_IN_TRUNCATED) {
        ASSERT(m->ensemble->n_jobs > 0);
        m->ensemble->n_jobs--;
    }
    ensemble_step(m, in);
}

void ensemble_durable(struct member *m, int64_t zxid)
{
    ASSERT(zxid <= m->journal.last_zxid);
    m->ensemble->durable_zxid = zxid;
    ensemble_step(m, &(struct quorum_input){.kind = QUORUM_IN_LOG_DURABLE, .zxid = zxid});
}
