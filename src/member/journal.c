/* SPDX-License-Identifier: Apache-2.0 */
#include "member/journal.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "store/txn_batch.h"

enum { FIRST_CAPACITY = 64 };

void journal_init(struct journal *j, int64_t zxid)
{
    *j = (struct journal){.last_zxid = zxid};
}

void journal_fini(struct journal *j)
{
    while (j->n > 0) {
        journal_pop(j);
    }
    free(j->ring);
}

static struct journal_entry *journal_at(const struct journal *j, size_t i)
{
    return &j->ring[(j->first + i) & (j->capacity - 1)];
}

static void journal_grow(struct journal *j)
{
    size_t capacity = j->capacity == 0 ? FIRST_CAPACITY : 2 * j->capacity;
    struct journal_entry *ring = must_alloc(capacity * sizeof(*ring));

    for (size_t i = 0; i < j->n; i++) {
        ring[i] = *journal_at(j, i);
    }
    free(j->ring);
    j->ring = ring;
    j->capacity = capacity;
    j->first = 0;
}

void journal_append(struct journal *j, struct txn_batch *log, int64_t zxid, struct bytes payload,
                    int64_t now_us)
{
    struct journal_entry *e;

    ASSERT(zxid > j->last_zxid);
    if (j->n == j->capacity) {
        journal_grow(j);
    }
    e = journal_at(j, j->n);
    e->zxid = zxid;
    e->when_us = now_us;
    e->payload = txn_batch_add(log, payload, zxid, j->roll_next, &e->block);
    ASSERT(e->payload.len == payload.len);
    if (j->roll_next) {
        j->roll_next = false;
        j->file_zxid = zxid;
    }
    j->last_zxid = zxid;
    j->n++;
}

const struct journal_entry *journal_first(const struct journal *j)
{
    return j->n == 0 ? NULL : journal_at(j, 0);
}

void journal_pop(struct journal *j)
{
    ASSERT(j->n > 0);
    txn_block_unref(journal_at(j, 0)->block);
    j->first = (j->first + 1) & (j->capacity - 1);
    j->n--;
}

void journal_roll(struct journal *j)
{
    j->roll_next = true;
}
