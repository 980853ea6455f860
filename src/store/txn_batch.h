/* SPDX-License-Identifier: Apache-2.0 */
/* txn_batch.h - transactions on their way to the log.
 *
 * The core lays records out in blocks that never move; the log writes the blocks as they are, and
 * whoever still needs a transaction (to apply it, to check later ones against it) holds its block.
 */
#ifndef PAWL_STORE_TXN_BATCH_H
#define PAWL_STORE_TXN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/list.h"

struct txn_block {
    struct list link; /* in its batch */
    _Atomic uint32_t refs;
    bool roll_before; /* the log begins a new file with this block */
    int64_t first_zxid;
    int64_t last_zxid;
    uint32_t n_records;
    size_t len;
    size_t capacity;
    uint8_t data[];
};

struct txn_block *txn_block_ref(struct txn_block *b);
void txn_block_unref(struct txn_block *b); /* NULL is allowed */

struct txn_batch {
    struct list blocks;
    size_t bytes;
};

void txn_batch_init(struct txn_batch *b);
void txn_batch_fini(struct txn_batch *b);

static inline bool txn_batch_empty(const struct txn_batch *b)
{
    return list_empty(&b->blocks);
}

/* Lays `payload` out as the next record. Returns where it now lies, good while `*block`, of which
 * the caller gets a reference, is held. With `roll`, a new log file begins with it. */
struct bytes txn_batch_add(struct txn_batch *b, struct bytes payload, int64_t zxid, bool roll,
                           struct txn_block **block);

/* Moves all blocks of `from` behind those of `to`. */
void txn_batch_move(struct txn_batch *to, struct txn_batch *from);

/* Moves the first blocks of `from` behind those of `to`, as long as `to` stays within
 * `limit_bytes`; the first one in any case. */
void txn_batch_take(struct txn_batch *to, struct txn_batch *from, size_t limit_bytes);

#endif
