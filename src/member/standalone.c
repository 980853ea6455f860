/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - a member that is an ensemble of one: what is durable here is committed. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "member/member.h"
#include "server/pipeline.h"
#include "store/quota.h"
#include "store/snapshot_walk.h"

/* A slice keeps the loop busy for at most a millisecond or so, and leaves no more than this (and
 * one node) for the writer to catch up with. */
enum { SLICE_NODES = 500, SLICE_BYTES = 1 << 20 };

struct member {
    struct server_host host; /* first: the server knows us by it */
    struct member_options options;
    struct server *server;
    struct member_effects *effects; /* of the step that is running */
    struct prng prng;

    bool roll_next;       /* the next transaction begins a new log file */
    int64_t file_zxid;    /* the first of the newest log file */
    int64_t n_logged;     /* since the last snapshot was triggered */
    int64_t snap_at;      /* trigger when n_logged passes this */
    int64_t snap_size_at; /* or the log this */

    struct snapshot_walk *walk;   /* NULL: no snapshot is being taken */
    struct snapshot_taker *taker; /* its file */
    bool writing_snapshot;        /* its file is not finished yet */
};

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

/* ---- snapshots ---- */

/* Not all servers of an ensemble shall do it at the same time: half the count, and a random part
 * of the other half. */
static void draw_snapshot_triggers(struct member *m)
{
    int64_t half = m->options.snap_count / 2;
    int64_t half_size = m->options.snap_size_bytes / 2;

    m->n_logged = 0;
    m->snap_at = half + (int64_t)prng_below(&m->prng, (uint64_t)half);
    m->snap_size_at = half_size + (int64_t)prng_below(&m->prng, (uint64_t)half_size);
}

static void begin_snapshot(struct member *m)
{
    if (m->walk != NULL || m->writing_snapshot) {
        log_limited(LOG_WARN, "Too busy to snap, skipping: the previous snapshot is still being "
                              "written");
        return;
    }
    ASSERT(m->effects != NULL);
    m->walk = snapshot_walk_begin(m->server->tree, m->server->applied_zxid);
    m->taker = snapshot_walk_join(m->walk, SIZE_MAX);
    m->writing_snapshot = true;
    m->effects->snapshot_begun = true;
    m->effects->snapshot_zxid = m->server->applied_zxid;
}

static void trigger_snapshot(struct member *m)
{
    draw_snapshot_triggers(m);
    m->roll_next = true;
    begin_snapshot(m);
}

static void take_chunks(struct member *m)
{
    struct snapshot_chunk *chunk;

    while ((chunk = snapshot_taker_take(m->taker)) != NULL) {
        list_push_back(&m->effects->chunks, &chunk->link);
    }
}

static void snapshot_slice(struct member *m)
{
    if (m->walk == NULL) {
        return;
    }
    snapshot_walk_step(m->walk, SLICE_NODES, SLICE_BYTES);
    take_chunks(m);
    if (snapshot_walk_is_done(m->walk)) {
        m->effects->snapshot_complete = true;
        m->effects->snapshot_digest = snapshot_walk_digest(m->walk);
        snapshot_walk_free(m->walk);
        snapshot_taker_free(m->taker);
        m->walk = NULL;
        m->taker = NULL;
    }
}

bool member_is_snapshotting(const struct member *m)
{
    return m->walk != NULL;
}

/* ---- writes ---- */

static void propose(struct server_host *host, struct proposal *p, struct bytes payload)
{
    struct member *m = container_of(host, struct member, host);

    p->payload = txn_batch_add(&m->effects->append, payload, p->zxid, m->roll_next, &p->block);
    if (m->roll_next) {
        m->roll_next = false;
        m->file_zxid = p->zxid;
    }
    m->n_logged++;
    if (m->options.snap_count > 0 && m->n_logged > m->snap_at) {
        trigger_snapshot(m);
    }
}

/* A batch has gone to the log: for the statistics, before it is applied. */
static void observe_batch(struct server *s, const struct member_input *in)
{
    const struct proposal *oldest = container_of(s->in_flight.next, struct proposal, link);

    if (in->log_bytes == 0 || list_empty(&s->in_flight) || oldest->zxid > in->zxid) {
        return; /* nothing is kept, or nothing new */
    }
    server_observe(s, SUMMARY_FSYNC_TIME, in->took_ms);
    server_observe(s, SUMMARY_SYNC_FLUSH_TIME, in->took_ms);
    server_observe(s, SUMMARY_SYNC_PROCESSOR_BATCH_SIZE, in->zxid - oldest->zxid + 1);
    server_observe(s, SUMMARY_SYNC_QUEUE_AND_FLUSH_TIME, (s->now_us - oldest->received_us) / 1000);
}

static void durable(struct member *m, const struct member_input *in)
{
    struct server *s = m->server;

    ASSERT(in->zxid <= s->proposed_zxid);
    observe_batch(s, in);
    while (!list_empty(&s->in_flight)) {
        struct proposal *p = container_of(s->in_flight.next, struct proposal, link);

        if (p->zxid > in->zxid) {
            break;
        }
        server_commit(s, p);
    }
    ASSERT(s->applied_zxid >= in->zxid);
    server_resume(s);
    if (m->options.snap_size_bytes > 0 && in->log_bytes > m->snap_size_at && !m->roll_next &&
        in->zxid >= m->file_zxid) { /* or it is the size of the file before */
        trigger_snapshot(m);
    }
}

/* ---- life ---- */

struct member *member_new(const struct member_options *options, struct tree *tree, int64_t zxid,
                          int64_t now_us, int64_t wall_ms)
{
    struct member *m = must_zalloc(sizeof(*m));
    struct apply apply = {.tree = tree};
    size_t dropped = apply_drop_dead_ephemerals(&apply, zxid);

    if (dropped > 0) {
        log_info("removed %zu ephemeral nodes whose sessions are gone", dropped);
    }
    m->options = *options;
    m->host = (struct server_host){.propose = propose};
    prng_seed(&m->prng, options->seed);
    draw_snapshot_triggers(m);
    m->n_logged = options->n_replayed;
    if (dropped > 0) {
        /* No transaction says that they are gone: the first one from here on must find a snapshot
         * without them, or its digest would not be that of a tree recovered from the log. */
        m->n_logged = m->snap_at;
    }
    m->server =
        server_new(&options->server, &m->host, tree, zxid, now_us, wall_ms, prng_next(&m->prng));
    return m;
}

void member_free(struct member *m)
{
    if (m == NULL) {
        return;
    }
    snapshot_walk_free(m->walk);
    snapshot_taker_free(m->taker);
    server_free(m->server);
    free(m);
}

void member_step(struct member *m, int64_t now_us, int64_t wall_ms, const struct member_input *in,
                 struct member_effects *out)
{
    ASSERT(m->effects == NULL); /* never a step within a step */
    ASSERT(out != NULL);
    m->effects = out;
    server_set_time(m->server, now_us, wall_ms);
    switch (in->kind) {
    case MEMBER_CONNECT:
        out->connected = server_connect(m->server, in->peer);
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
        server_tick(m->server, in->looked_us == 0 ? now_us : in->looked_us);
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
        begin_snapshot(m);
        break;
    case MEMBER_SNAPSHOT_SLICE:
        snapshot_slice(m);
        break;
    case MEMBER_SNAPSHOT_WRITTEN:
        m->writing_snapshot = false;
        server_observe(m->server, SUMMARY_SNAPSHOT_TIME, in->took_ms);
        break;
    case MEMBER_SESSION_LEFT:
        server_session_left(m->server, in->session_id, in->left_ms);
        break;
    }
    m->effects = NULL;
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
