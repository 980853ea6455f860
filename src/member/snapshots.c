/* SPDX-License-Identifier: Apache-2.0 */
#include "member/snapshots.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "member/member_internal.h"
#include "store/snapshot_walk.h"

/* A slice keeps the loop busy for at most a millisecond or so, and leaves no more than this (and
 * one node) for the writer to catch up with. */
enum { SLICE_NODES = 500, SLICE_BYTES = 1 << 20 };

/* The walk waits for a learner that has so much still to take; one that does not take anything any
 * more is given up by the quorum. Changes of nodes go on meanwhile: past the limit it is dropped.
 */
enum { LAG_BYTES = 4 << 20, LEARNER_BYTES = 64 << 20 };

/* What one that the walk waits for, or may have waited for a moment ago, has to take while others
 * wait for the next walk. */
enum { LOOK_MS = 10000, LEAST_BYTES = 10 << 20 };

/* Not all servers of an ensemble shall do it at the same time: half the count, and a random part
 * of the other half. */
void snapshots_put_off(struct snapshots *s)
{
    int64_t half = s->count_limit / 2;
    int64_t half_size = s->size_limit / 2;

    s->n_logged = 0;
    s->count_at = half + (int64_t)prng_below(s->prng, (uint64_t)half);
    s->size_at = half_size + (int64_t)prng_below(s->prng, (uint64_t)half_size);
}

void snapshots_init(struct snapshots *s, const struct member_options *options, struct prng *prng)
{
    *s = (struct snapshots){
        .count_limit = options->snap_count, .size_limit = options->snap_size_bytes, .prng = prng};
    snapshots_put_off(s);
    s->n_logged = options->n_replayed;
}

static void end_walk(struct snapshots *s)
{
    snapshot_walk_free(s->walk);
    snapshot_taker_free(s->file);
    s->walk = NULL;
    s->file = NULL;
    s->walking = false;
    s->n_joined = 0;
}

void snapshots_fini(struct snapshots *s)
{
    end_walk(s);
    free(s->wanted);
}

void snapshots_give_up(struct snapshots *s, struct member_effects *out)
{
    s->n_wanted = 0; /* their links are gone with the role */
    s->file_wanted = false;
    if (s->file != NULL) { /* else a whole one is written to its end */
        s->writing = false;
        out->snapshot_given_up = true;
    }
    end_walk(s);
}

bool snapshots_count(struct snapshots *s)
{
    s->n_logged++;
    return s->count_limit > 0 && s->n_logged > s->count_at;
}

bool snapshots_measure(const struct snapshots *s, int64_t log_bytes)
{
    return s->size_limit > 0 && log_bytes > s->size_at;
}

static void join_file(struct snapshots *s, struct member_effects *out)
{
    s->file = snapshot_walk_join(s->walk, SIZE_MAX);
    s->file_wanted = false;
    s->writing = true;
    out->snapshot_begun = true;
    out->snapshot_zxid = snapshot_walk_zxid(s->walk);
}

void snapshots_begin(struct snapshots *s, struct tree *tree, int64_t zxid,
                     struct member_effects *out)
{
    if (s->walking && s->file == NULL && !s->writing) {
        s->file_wanted = true;
        return;
    }
    if (s->file != NULL || s->writing) {
        log_limited(LOG_WARN, "Too busy to snap, skipping: the previous snapshot is still being "
                              "written");
        return;
    }
    ASSERT(out != NULL);
    if (s->walk != NULL && snapshot_walk_zxid(s->walk) != zxid) {
        s->file_wanted = true; /* a learner's is about to begin */
        return;
    }
    if (s->walk == NULL) {
        s->walk = snapshot_walk_begin(tree, zxid);
    }
    join_file(s, out);
}

/* ---- learners ---- */

static void join_learner(struct member *m, uint64_t link)
{
    struct snapshots *s = &m->snapshots;

    s->n_joined++;
    m->ensemble->to.snapshot(m->ensemble->to.host, link, snapshot_walk_join(s->walk, LEARNER_BYTES),
                             snapshot_walk_zxid(s->walk));
}

/* Those who have waited share the walk that begins now. */
static void begin_for_all(struct member *m)
{
    struct snapshots *s = &m->snapshots;

    ASSERT(s->walk == NULL);
    s->walk = snapshot_walk_begin(m->server->tree, m->server->applied_zxid);
    if (s->file_wanted) {
        join_file(s, m->effects);
    }
    for (size_t i = 0; i < s->n_wanted; i++) {
        join_learner(m, s->wanted[i]);
    }
    s->n_wanted = 0;
}

void snapshots_want(struct member *m, uint64_t link)
{
    struct snapshots *s = &m->snapshots;

    ASSERT(m->ensemble != NULL);
    if (s->walk != NULL && !s->walking && snapshot_walk_zxid(s->walk) == m->server->applied_zxid) {
        join_learner(m, link);
        return;
    }
    if (s->n_wanted == s->room) {
        s->room = s->room == 0 ? 8 : 2 * s->room;
        s->wanted = must_realloc(s->wanted, s->room * sizeof(*s->wanted));
    }
    s->wanted[s->n_wanted++] = link;
    if (s->walk == NULL) {
        begin_for_all(m);
    }
}

static bool somebody_waits(const struct snapshots *s)
{
    return s->walking && (s->n_wanted > 0 || s->file_wanted);
}

void snapshots_tick(struct member *m)
{
    struct snapshots *s = &m->snapshots;
    int64_t now_ms = server_now_ms(m->server);
    bool is_first = s->looked_ms == 0;

    if (!somebody_waits(s)) {
        s->looked_ms = 0;
    } else if (is_first || now_ms - s->looked_ms >= LOOK_MS) {
        size_t n = snapshot_walk_drop_slow(s->walk, LAG_BYTES / 2, is_first ? 0 : LEAST_BYTES);

        s->looked_ms = now_ms;
        if (n > 0) {
            log_warn(
                "%zu learners take less than 1 MiB/s of a snapshot for which others wait; they "
                "have to begin again",
                n);
        }
    }
}

/* ---- slices ---- */

bool snapshots_is_urgent(const struct snapshots *s)
{
    return s->n_wanted > 0 || s->n_joined > 0;
}

bool snapshots_is_busy(const struct snapshots *s)
{
    return s->walk != NULL &&
           (!snapshot_walk_is_wanted(s->walk) || snapshot_walk_lag(s->walk) < LAG_BYTES);
}

static void take_chunks(struct snapshots *s, struct member_effects *out)
{
    struct snapshot_chunk *chunk;

    while (s->file != NULL && (chunk = snapshot_taker_take(s->file)) != NULL) {
        list_push_back(&out->chunks, &chunk->link);
    }
}

static void finish_walk(struct member *m)
{
    struct snapshots *s = &m->snapshots;

    if (s->file != NULL && snapshot_walk_is_done(s->walk)) {
        m->effects->snapshot_complete = true;
        m->effects->snapshot_digest = snapshot_walk_digest(s->walk);
    }
    end_walk(s);
    if (s->n_wanted > 0 || s->file_wanted) {
        begin_for_all(m);
    }
}

void snapshots_slice(struct member *m)
{
    struct snapshots *s = &m->snapshots;

    if (!snapshots_is_busy(s)) {
        return;
    }
    if (snapshot_walk_is_wanted(s->walk)) {
        s->walking = true;
        snapshot_walk_step(s->walk, SLICE_NODES, SLICE_BYTES);
        take_chunks(s, m->effects);
    }
    if (snapshot_walk_is_done(s->walk) || !snapshot_walk_is_wanted(s->walk)) {
        finish_walk(m);
    }
}
