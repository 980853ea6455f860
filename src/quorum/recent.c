/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/recent.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct recent_block {
    size_t n_entries; /* that lie in it */
    size_t used;
    size_t capacity;
    uint8_t data[];
};

void recent_init(struct recent *r, size_t limit_bytes)
{
    *r = (struct recent){.limit = limit_bytes};
}

static void block_unref(struct recent *r, struct recent_block *block)
{
    ASSERT(block->n_entries > 0);
    block->n_entries--;
    if (block->n_entries == 0) {
        if (block == r->tail) {
            r->tail = NULL;
        }
        free(block);
    }
}

static void drop_first(struct recent *r)
{
    struct recent_entry *entry = &r->ring[r->first];

    ASSERT(r->count > 0);
    r->bytes -= entry->payload.len;
    block_unref(r, entry->block);
    r->first = (r->first + 1) & (r->capacity - 1);
    r->count--;
}

void recent_clear(struct recent *r)
{
    while (r->count > 0) {
        drop_first(r);
    }
    ASSERT(r->bytes == 0);
    ASSERT(r->tail == NULL);
}

void recent_fini(struct recent *r)
{
    recent_clear(r);
    free(r->ring);
    recent_init(r, 0);
}

static void grow_ring(struct recent *r)
{
    size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
    struct recent_entry *ring = must_alloc(capacity * sizeof *ring);

    for (size_t i = 0; i < r->count; i++) {
        ring[i] = *recent_at(r, i);
    }
    free(r->ring);
    r->ring = ring;
    r->capacity = capacity;
    r->first = 0;
}

static struct recent_block *block_with_room(struct recent *r, size_t len)
{
    struct recent_block *block = r->tail;
    size_t capacity = len > BLOCK_BYTES ? len : BLOCK_BYTES;

    if (block == NULL || block->capacity - block->used < len) {
        block = must_alloc(sizeof *block + capacity);
        *block = (struct recent_block){.capacity = capacity};
        r->tail = block;
    }
    return block;
}

void recent_append(struct recent *r, int64_t zxid, struct bytes payload)
{
    struct recent_block *block = block_with_room(r, payload.len);
    uint8_t *at = block->data + block->used;

    ASSERT(r->count == 0 || recent_at(r, r->count - 1)->zxid < zxid);
    if (r->count == r->capacity) {
        grow_ring(r);
    }
    if (payload.len > 0) {
        memcpy(at, payload.data, payload.len);
    }
    block->used += payload.len;
    block->n_entries++;
    r->ring[(r->first + r->count) & (r->capacity - 1)] =
        (struct recent_entry){zxid, bytes_of(at, payload.len), block};
    r->count++;
    r->bytes += payload.len;
}

void recent_shrink(struct recent *r, int64_t zxid)
{
    while (r->count > 0 && r->bytes > r->limit && recent_at(r, 0)->zxid <= zxid) {
        drop_first(r);
    }
}

size_t recent_behind(const struct recent *r, int64_t zxid)
{
    size_t low = 0;
    size_t high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (recent_at(r, middle)->zxid > zxid) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}
