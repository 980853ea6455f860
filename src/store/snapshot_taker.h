/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_taker.h - somebody to whom a walk's bytes go: the file of a snapshot, or a learner.
 *
 * The bytes are made once and shared; each taker has a queue of its own over them. One that lags
 * behind costs the memory of what it has not taken yet, so each is given its limit at birth: past
 * it the taker is late, gets nothing more and holds nothing, and the others go on without it.
 *
 *             the walk ends
 *   WALKING ----------------> WHOLE      all bytes are in the queue or taken
 *      |  `- limit or slow -> LATE       dropped
 *      `-- the walk is freed > LEFT      the rest will never come
 *
 * Takers belong to the thread of the walk. Chunks may be read and freed on any thread. */
#ifndef PAWL_STORE_SNAPSHOT_TAKER_H
#define PAWL_STORE_SNAPSHOT_TAKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct snapshot_bytes; /* shared by the chunks of several takers */

/* A stretch of the stream. Whoever takes it frees it. */
struct snapshot_chunk {
    struct list link;
    size_t len;
    const uint8_t *data;
    struct snapshot_bytes *shared;
};
void snapshot_chunk_free(struct snapshot_chunk *chunk); /* NULL is allowed */

enum snapshot_taker_state { TAKER_WALKING, TAKER_WHOLE, TAKER_LATE, TAKER_LEFT };

struct snapshot_taker {
    struct list link; /* among the walk's, while WALKING */
    struct list chunks;
    size_t pending; /* bytes in `chunks` */
    uint64_t taken; /* bytes so far */
    uint64_t noted; /* of them at the last look (snapshot_takers_drop_slow()) */
    size_t limit_bytes;
    enum snapshot_taker_state state;
};

/* The next chunk that is full (or, once WHOLE, what is left), or NULL. */
struct snapshot_chunk *snapshot_taker_take(struct snapshot_taker *t);

/* Leaves the walk, if there still is one. NULL is allowed. */
void snapshot_taker_free(struct snapshot_taker *t);

/* ---- for snapshot_walk.c ---- */

struct snapshot_taker *snapshot_taker_new(struct list *takers, size_t limit_bytes);

/* Hands `data`, from malloc(), to all of them; it is freed with its last chunk. */
void snapshot_takers_give(struct list *takers, uint8_t *data, size_t len);

/* No more is to come: they are WHOLE, or LEFT. `takers` is empty afterwards. */
void snapshot_takers_end(struct list *takers, enum snapshot_taker_state state);

/* What the one that is furthest behind has not taken yet. */
size_t snapshot_takers_lag(const struct list *takers);

/* Those that have `lag_bytes` to take, have a limit, and have taken less than `least_bytes` since
 * the last look are LATE; how many. */
size_t snapshot_takers_drop_slow(struct list *takers, size_t lag_bytes, uint64_t least_bytes);

#endif
