/* SPDX-License-Identifier: Apache-2.0 */
#include "store/txn_batch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "store/txnlog_format.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct txn_block *txn_block_ref(struct txn_block *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void txn_block_unref(struct txn_block *b)
{
    if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
        free(b);
    }
}

void txn_batch_init(struct txn_batch *b)
{
    list_init(&b->blocks);
    b->bytes = 0;
}

void txn_batch_fini(struct txn_batch *b)
{
    struct list *item;

    while ((item = list_pop_front(&b->blocks)) != NULL) {
        txn_block_unref(container_of(item, struct txn_block, link));
    }
}

static struct txn_block *add_block(struct txn_batch *b, size_t needed, int64_t zxid, bool roll)
{
    size_t capacity = needed > BLOCK_BYTES ? needed : BLOCK_BYTES;
    struct txn_block *block = must_alloc(sizeof(*block) + capacity);

    *block = (struct txn_block){.first_zxid = zxid, .capacity = capacity, .roll_before = roll};
    atomic_init(&block->refs, 1);
    list_push_back(&b->blocks, &block->link);
    return block;
}

struct bytes txn_batch_add(struct txn_batch *b, struct bytes payload, int64_t zxid, bool roll,
                           struct txn_block **out)
{
    struct list *last = b->blocks.prev;
    struct txn_block *block =
        last == &b->blocks ? NULL : container_of(last, struct txn_block, link);
    size_t needed = payload.len + TXNLOG_FRAME_BYTES;
    uint8_t *at;

    if (block == NULL || roll || block->capacity - block->len < needed) {
        block = add_block(b, needed, zxid, roll);
    }
    ASSERT(zxid > block->last_zxid);
    at = block->data + block->len;
    txnlog_lay_out(at, payload);
    block->len += needed;
    ASSERT(block->len <= block->capacity);
    block->last_zxid = zxid;
    block->n_records++;
    b->bytes += needed;
    *out = txn_block_ref(block);
    return bytes_of(at + TXNLOG_PAYLOAD_AT, payload.len);
}

void txn_batch_move(struct txn_batch *to, struct txn_batch *from)
{
    list_splice(&to->blocks, &from->blocks);
    to->bytes += from->bytes;
    from->bytes = 0;
}

void txn_batch_take(struct txn_batch *to, struct txn_batch *from, size_t limit_bytes)
{
    while (!txn_batch_empty(from)) {
        struct list *item = from->blocks.next;
        size_t len = container_of(item, struct txn_block, link)->len;

        if (!txn_batch_empty(to) && to->bytes + len > limit_bytes) {
            break;
        }
        ASSERT(from->bytes >= len);
        list_remove(item);
        list_push_back(&to->blocks, item);
        to->bytes += len;
        from->bytes -= len;
    }
}
