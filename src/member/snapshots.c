/* SPDX-License-Identifier: Apache-2.0 */
#include "member/snapshots.h"

#include "base/assert.h"
#include "base/logging.h"
#include "member/member.h"
#include "store/snapshot_walk.h"

/* A slice keeps the loop busy for at most a millisecond or so, and leaves no more than this (and
 * one node) for the writer to catch up with. */
enum { SLICE_NODES = 500, SLICE_BYTES = 1 << 20 };

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

void snapshots_fini(struct snapshots *s)
{
    snapshot_walk_free(s->walk);
    snapshot_taker_free(s->file);
}

void snapshots_give_up(struct snapshots *s, struct member_effects *out)
{
    if (s->walk == NULL) { /* a whole one is written to its end */
        return;
    }
    snapshots_fini(s);
    s->walk = NULL;
    s->file = NULL;
    s->writing = false;
    out->snapshot_given_up = true;
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

void snapshots_begin(struct snapshots *s, struct tree *tree, int64_t zxid,
                     struct member_effects *out)
{
    if (s->walk != NULL || s->writing) {
        log_limited(LOG_WARN, "Too busy to snap, skipping: the previous snapshot is still being "
                              "written");
        return;
    }
    ASSERT(out != NULL);
    s->walk = snapshot_walk_begin(tree, zxid);
    s->file = snapshot_walk_join(s->walk, SIZE_MAX);
    s->writing = true;
    out->snapshot_begun = true;
    out->snapshot_zxid = zxid;
}

static void take_chunks(struct snapshots *s, struct member_effects *out)
{
    struct snapshot_chunk *chunk;

    while ((chunk = snapshot_taker_take(s->file)) != NULL) {
        list_push_back(&out->chunks, &chunk->link);
    }
}

void snapshots_slice(struct snapshots *s, struct member_effects *out)
{
    if (s->walk == NULL) {
        return;
    }
    snapshot_walk_step(s->walk, SLICE_NODES, SLICE_BYTES);
    take_chunks(s, out);
    if (snapshot_walk_is_done(s->walk)) {
        out->snapshot_complete = true;
        out->snapshot_digest = snapshot_walk_digest(s->walk);
        snapshot_walk_free(s->walk);
        snapshot_taker_free(s->file);
        s->walk = NULL;
        s->file = NULL;
    }
}
