/* SPDX-License-Identifier: Apache-2.0 */
#include "member/member.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "member/member_internal.h"
#include "server/pipeline.h"
#include "store/snapshot_taker.h"

void member_effects_init(struct member_effects *e)
{
    *e = (struct member_effects){0};
    txn_batch_init(&e->append);
    list_init(&e->chunks);
}

void member_effects_fini(struct member_effects *e)
{
    struct list *item;

    txn_batch_fini(&e->append);
    while ((item = list_pop_front(&e->chunks)) != NULL) {
        snapshot_chunk_free(container_of(item, struct snapshot_chunk, link));
    }
}

/* ---- writes ---- */

/* Behind a snapshot the log goes on in a new file. */
static void take_snapshot(struct member *m)
{
    snapshots_put_off(&m->snapshots);
    journal_roll(&m->journal);
    snapshots_begin(&m->snapshots, m->server->tree, m->server->applied_zxid, m->effects);
}

void member_append(struct member *m, int64_t zxid, struct bytes payload)
{
    journal_append(&m->journal, &m->effects->append, zxid, payload, m->server->now_us);
    if (snapshots_count(&m->snapshots)) {
        take_snapshot(m);
    }
}

/* Alone a sync is done when what was in flight is. */
static void release_syncs(struct member *m)
{
    struct server *s = m->server;

    while (m->role.kind == ROLE_ALONE && server_sync_zxid(s) <= s->applied_zxid) {
        server_synced(s);
    }
}

static void commit_first(struct member *m)
{
    struct bytes payload = journal_first(&m->journal)->payload;

    stages_agreed(m->server, payload);
    server_commit(m->server, payload); /* whom it sets free may append more */
    journal_pop(&m->journal);
    release_syncs(m);
    if (m->server->diverged_zxid != 0) {
        member_diverge(m, m->server->diverged_zxid);
    }
}

void member_diverge(struct member *m, int64_t zxid)
{
    ASSERT(zxid > 0);
    m->diverged = true;
    m->effects->diverged_zxid = zxid;
}

void member_commit(struct member *m, int64_t zxid)
{
    const struct journal_entry *e;

    ASSERT(!m->committing); /* nothing is committed by what a commit sets free */
    m->committing = true;
    while (!m->diverged && (e = journal_first(&m->journal)) != NULL && e->zxid <= zxid) {
        commit_first(m);
    }
    m->committing = false;
}

/* A batch has gone to the log: for the statistics, before it is applied. */
static void observe_batch(struct member *m, const struct member_input *in)
{
    const struct journal_entry *oldest = journal_first(&m->journal);
    struct server *s = m->server;

    if (in->log_bytes == 0 || oldest == NULL || oldest->zxid > in->zxid) {
        return; /* nothing is kept, or nothing new */
    }
    server_observe(s, SUMMARY_FSYNC_TIME, in->took_ms);
    server_observe(s, SUMMARY_SYNC_FLUSH_TIME, in->took_ms);
    server_observe(s, SUMMARY_SYNC_PROCESSOR_BATCH_SIZE, in->zxid - oldest->zxid + 1);
    server_observe(s, SUMMARY_SYNC_QUEUE_AND_FLUSH_TIME, (s->now_us - oldest->when_us) / 1000);
}

static void durable(struct member *m, const struct member_input *in)
{
    observe_batch(m, in);
    if (m->ensemble == NULL) { /* else that is for the quorum to judge */
        role_alone_durable(m, in->zxid);
    } else {
        stages_durable(&m->ensemble->stages, m->server, in->zxid);
    }
    server_resume(m->server);
    if (snapshots_measure(&m->snapshots, in->log_bytes) && !m->journal.roll_next &&
        in->zxid >= m->journal.file_zxid) { /* or it is the size of the file before */
        take_snapshot(m);
    }
}

/* ---- the dead ---- */

struct dead {
    const struct tree *tree;
    struct strbuf ids;
};

static void note_dead(int64_t session_id, void *arg)
{
    struct dead *dead = arg;

    if (!tree_session_get(dead->tree, session_id, NULL)) {
        strbuf_append(&dead->ids, &session_id, sizeof(session_id));
    }
}

/* A damaged or a foreign database may have ephemeral nodes without a session. They go by
 * transaction, as everything does: a replica that did not hear of it would be another tree. */
void member_bury_the_dead(struct member *m)
{
    struct request q = {.type = OP_CLOSE_SESSION};
    struct dead dead = {.tree = m->server->tree};
    int64_t id;

    m->has_dead = false;
    strbuf_init(&dead.ids, STRBUF_NO_LIMIT);
    tree_each_ephemeral_owner(dead.tree, note_dead, &dead);
    for (size_t at = 0; at < dead.ids.len; at += sizeof(id)) {
        memcpy(&id, dead.ids.data + at, sizeof(id));
        server_submit_own(m->server, &q, id);
    }
    if (dead.ids.len > 0) {
        log_info("removing the ephemeral nodes of %zu sessions that are gone",
                 dead.ids.len / sizeof(id));
        m->buried_zxid = m->server->proposer->zxid;
    }
    strbuf_fini(&dead.ids);
}

/* They would see what should not be there; others come in by a transaction of their own, behind
 * those. */
bool member_is_burying(const struct member *m)
{
    return m->server->applied_zxid < m->buried_zxid;
}

/* ---- an ensemble ---- */

void role_none_init(struct role *r)
{
    *r = (struct role){.kind = ROLE_NONE};
}

/* The leader has cut our history, or replaced it. */
static void replace_tree(struct member *m, struct tree *tree, int64_t zxid)
{
    role_read_only_end(m);
    ASSERT(m->role.kind == ROLE_NONE);
    ASSERT(tree != NULL);
    snapshots_give_up(&m->snapshots, m->effects);
    journal_fini(&m->journal);
    journal_init(&m->journal, zxid);
    journal_roll(&m->journal);
    m->had_diverged = false;
    server_change(m->server, tree, zxid);
}

/* A tree that is not the leader's is shown to nobody. */
static void stop_serving(struct member *m)
{
    if (role_serves(&m->role)) {
        role_none_init(&m->role);
        server_change(m->server, m->server->tree, m->server->applied_zxid);
    }
}

/* ---- life ---- */

struct member *member_new(const struct member_options *options, struct tree *tree, int64_t zxid,
                          int64_t now_us, int64_t wall_ms)
{
    struct member *m = must_zalloc(sizeof(*m));

    m->options = *options;
    m->had_diverged = options->has_diverged;
    prng_seed(&m->prng, options->seed);
    snapshots_init(&m->snapshots, options, &m->prng);
    journal_init(&m->journal, zxid);
    if (options->ensemble != NULL) {
        role_none_init(&m->role);
        m->ensemble = ensemble_new(options->ensemble);
    } else {
        role_alone_init(&m->role);
        m->has_dead = true;
    }
    m->server =
        server_new(&options->server, &m->role, tree, zxid, now_us, wall_ms, prng_next(&m->prng));
    if (m->ensemble != NULL) {
        m->server->stats.looking_count = 1;
        m->ensemble->idle_since_us = now_us;
    }
    return m;
}

void member_free(struct member *m)
{
    if (m == NULL) {
        return;
    }
    snapshots_fini(&m->snapshots);
    server_free(m->server);
    ensemble_free(m->ensemble);
    journal_fini(&m->journal);
    free(m);
}

static void quorum_effect(struct member *m, const struct quorum_effect *e)
{
    if (m->diverged) {
        return;
    }
    role_read_only_end(m);
    ensemble_effect(m, e);
    server_resume(m->server);
}

static void step(struct member *m, const struct member_input *in, struct member_effects *out)
{
    switch (in->kind) {
    case MEMBER_CONNECT:
        out->connected = server_connect(m->server, in->peer, in->subject);
        break;
    case MEMBER_BYTES:
        pipeline_receive(m->server, in->connection, in->bytes);
        break;
    case MEMBER_SENT:
        server_sent(m->server, in->connection);
        break;
    case MEMBER_DISCONNECT:
        server_disconnect(m->server, in->connection);
        break;
    case MEMBER_DURABLE:
        durable(m, in);
        break;
    case MEMBER_TICK:
        server_tick(m->server, in->looked_us == 0 ? m->server->now_us : in->looked_us);
        if (m->ensemble != NULL) {
            snapshots_tick(m);
            role_read_only_tick(m);
        }
        break;
    case MEMBER_TURN:
        server_turn(m->server);
        break;
    case MEMBER_FACTS:
        m->server->facts = *in->facts;
        break;
    case MEMBER_REAP:
        reaper_tick(m->server);
        break;
    case MEMBER_SNAPSHOT:
        take_snapshot(m);
        break;
    case MEMBER_SNAPSHOT_SLICE:
        snapshots_slice(m);
        break;
    case MEMBER_SNAPSHOT_WRITTEN:
        m->snapshots.writing = false;
        server_observe(m->server, SUMMARY_SNAPSHOT_TIME, in->took_ms);
        break;
    case MEMBER_SESSION_LEFT:
        server_session_left(m->server, in->session_id, in->left_ms);
        break;
    case MEMBER_EFFECT:
        quorum_effect(m, in->effect);
        break;
    case MEMBER_CATCH_UP:
        role_read_only_end(m);
        ASSERT(m->role.kind == ROLE_NONE);
        member_commit(m, m->journal.last_zxid);
        break;
    case MEMBER_WANT_SNAPSHOT:
        snapshots_want(m, in->link);
        break;
    case MEMBER_TREE:
        replace_tree(m, in->tree, in->zxid);
        break;
    }
}

/* What could not be done in the middle of it. */
static void end_step(struct member *m)
{
    if (m->diverged) {
        stop_serving(m);
    } else if (m->ensemble != NULL) {
        ensemble_end_step(m);
    }
}

void member_step(struct member *m, int64_t now_us, int64_t wall_ms, const struct member_input *in,
                 struct member_effects *out)
{
    ASSERT(out != NULL);
    if (m->effects != NULL) { /* it has asked the quorum, and the answer comes at once */
        ASSERT(in->kind == MEMBER_EFFECT);
        ASSERT(m->effects == out);
        ensemble_effect(m, in->effect);
        return;
    }
    m->effects = out;
    server_set_time(m->server, now_us, wall_ms);
    if (m->has_dead && m->ensemble == NULL) {
        member_bury_the_dead(m);
    }
    step(m, in, out);
    end_step(m);
    m->effects = NULL;
}

bool member_snapshot_is_coming(const struct member *m)
{
    return m->snapshots.writing || m->snapshots.file_wanted;
}

bool member_snapshot_is_urgent(const struct member *m)
{
    return snapshots_is_urgent(&m->snapshots);
}

bool member_is_snapshotting(const struct member *m)
{
    return snapshots_is_busy(&m->snapshots);
}

int64_t member_reap_us(const struct member *m)
{
    return reaper_next_us(m->server);
}

bool member_wants_turn(const struct member *m)
{
    return m->server->n_want_turn > 0;
}

struct connection *member_next_touched(struct member *m)
{
    return server_next_touched(m->server);
}

struct server *member_server(struct member *m)
{
    return m->server;
}
