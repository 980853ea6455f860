/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot_taker.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

struct snapshot_bytes {
    _Atomic uint32_t refs;
    uint8_t *data;
};

/* ---- chunks ---- */

static void snapshot_bytes_unref(struct snapshot_bytes *shared)
{
    if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) == 1) {
        free(shared->data);
        free(shared);
    }
}

static struct snapshot_chunk *snapshot_chunk_of(struct snapshot_bytes *shared, size_t len)
{
    struct snapshot_chunk *chunk = must_alloc(sizeof(*chunk));

    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    *chunk = (struct snapshot_chunk){.len = len, .data = shared->data, .shared = shared};
    return chunk;
}

void snapshot_chunk_free(struct snapshot_chunk *chunk)
{
    if (chunk != NULL) {
        snapshot_bytes_unref(chunk->shared);
        free(chunk);
    }
}

/* ---- one taker ---- */

static void snapshot_taker_check(const struct snapshot_taker *t)
{
    ASSERT(t->state == TAKER_WALKING || list_empty(&t->link));
    ASSERT(t->state != TAKER_LATE || t->pending == 0);
    ASSERT((t->pending == 0) == list_empty(&t->chunks));
}

/* All moves start at WALKING, and none leads back. */
static void snapshot_taker_move(struct snapshot_taker *t, enum snapshot_taker_state next)
{
    ASSERT(t->state == TAKER_WALKING && next != TAKER_WALKING);
    t->state = next;
    list_remove(&t->link);
    snapshot_taker_check(t);
}

struct snapshot_chunk *snapshot_taker_take(struct snapshot_taker *t)
{
    struct list *link = list_pop_front(&t->chunks);
    struct snapshot_chunk *chunk;

    if (link == NULL) {
        return NULL;
    }
    chunk = container_of(link, struct snapshot_chunk, link);
    ASSERT(t->pending >= chunk->len);
    t->pending -= chunk->len;
    t->taken += chunk->len;
    snapshot_taker_check(t);
    return chunk;
}

static void snapshot_taker_clear(struct snapshot_taker *t)
{
    struct snapshot_chunk *chunk;

    while ((chunk = snapshot_taker_take(t)) != NULL) {
        snapshot_chunk_free(chunk);
    }
}

static void snapshot_taker_drop(struct snapshot_taker *t)
{
    snapshot_taker_clear(t);
    snapshot_taker_move(t, TAKER_LATE);
}

static void snapshot_taker_give(struct snapshot_taker *t, struct snapshot_bytes *shared, size_t len)
{
    struct snapshot_chunk *chunk;

    if (len > t->limit_bytes - t->pending) {
        snapshot_taker_drop(t);
        return;
    }
    chunk = snapshot_chunk_of(shared, len);
    list_push_back(&t->chunks, &chunk->link);
    t->pending += len;
    snapshot_taker_check(t);
}

struct snapshot_taker *snapshot_taker_new(struct list *takers, size_t limit_bytes)
{
    struct snapshot_taker *t = must_zalloc(sizeof(*t));

    list_init(&t->chunks);
    t->limit_bytes = limit_bytes;
    t->state = TAKER_WALKING;
    list_push_back(takers, &t->link);
    return t;
}

void snapshot_taker_free(struct snapshot_taker *t)
{
    if (t == NULL) {
        return;
    }
    snapshot_taker_clear(t);
    list_remove(&t->link);
    free(t);
}

/* ---- all of a walk ---- */

void snapshot_takers_give(struct list *takers, uint8_t *data, size_t len)
{
    struct snapshot_bytes *shared = must_alloc(sizeof(*shared));
    struct list *item, *next;

    ASSERT(len > 0);
    shared->data = data;
    atomic_init(&shared->refs, 1);
    for (item = takers->next; item != takers; item = next) {
        next = item->next;
        snapshot_taker_give(container_of(item, struct snapshot_taker, link), shared, len);
    }
    snapshot_bytes_unref(shared);
}

void snapshot_takers_end(struct list *takers, enum snapshot_taker_state state)
{
    while (!list_empty(takers)) {
        snapshot_taker_move(container_of(takers->next, struct snapshot_taker, link), state);
    }
}

size_t snapshot_takers_lag(const struct list *takers)
{
    const struct list *item;
    size_t most = 0;

    list_for_each (item, takers) {
        const struct snapshot_taker *t = container_of(item, struct snapshot_taker, link);

        most = t->pending > most ? t->pending : most;
    }
    return most;
}

size_t snapshot_takers_drop_slow(struct list *takers, size_t lag_bytes, uint64_t least_bytes)
{
    struct list *item, *next;
    size_t n = 0;

    for (item = takers->next; item != takers; item = next) {
        struct snapshot_taker *t = container_of(item, struct snapshot_taker, link);
        uint64_t since = t->taken - t->noted;

        next = item->next;
        t->noted = t->taken;
        if (t->limit_bytes != SIZE_MAX && t->pending >= lag_bytes && since < least_bytes) {
            snapshot_taker_drop(t);
            n++;
        }
    }
    return n;
}
