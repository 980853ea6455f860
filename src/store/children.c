/* SPDX-License-Identifier: Apache-2.0 */
/* children.c - the index that finds a child by (parent, name).
 *
 * Open addressing with linear probing over pairs (hash, id); the hash beside the id lets the table
 * grow without touching the nodes, and rules out nearly all wrong candidates. Removal shifts the
 * run back, so there are no tombstones. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "store/znode.h"

enum { FIRST_INDEX_SLOTS = 1024 };

static uint32_t hash_child(znode_id parent, const uint8_t *name, size_t len)
{
    return (uint32_t)hash_bytes(name, len, parent);
}

static uint32_t child_hash_of(const struct znode *n)
{
    return hash_child(n->parent, n->bytes, n->name_len);
}

void index_init(struct tree *t)
{
    t->index = must_zalloc(FIRST_INDEX_SLOTS * sizeof(*t->index));
    t->index_mask = FIRST_INDEX_SLOTS - 1;
}

void index_fini(struct tree *t)
{
    free(t->index);
}

static void child_place(struct index_slot *index, uint32_t mask, struct index_slot slot)
{
    uint32_t at = slot.hash & mask;

    while (index[at].id != 0) {
        at = (at + 1) & mask;
    }
    index[at] = slot;
}

static void grow(struct tree *t)
{
    uint32_t mask = t->index_mask * 2 + 1;
    struct index_slot *index = must_zalloc(((size_t)mask + 1) * sizeof(*index));

    for (size_t i = 0; i <= t->index_mask; i++) {
        if (t->index[i].id != 0) {
            child_place(index, mask, t->index[i]);
        }
    }
    free(t->index);
    t->index = index;
    t->index_mask = mask;
}

void index_insert(struct tree *t, znode_id id)
{
    if ((uint64_t)t->count * 4 > (uint64_t)t->index_mask * 3) {
        grow(t);
    }
    child_place(t->index, t->index_mask, (struct index_slot){child_hash_of(node_at(t, id)), id});
}

void index_remove(struct tree *t, znode_id id)
{
    uint32_t mask = t->index_mask;
    uint32_t hole = child_hash_of(node_at(t, id)) & mask;
    uint32_t at;

    while (t->index[hole].id != id) {
        ASSERT(t->index[hole].id != 0);
        hole = (hole + 1) & mask;
    }
    for (at = (hole + 1) & mask; t->index[at].id != 0; at = (at + 1) & mask) {
        uint32_t home = t->index[at].hash & mask;

        /* May move into the hole only if that is not before its home. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            t->index[hole] = t->index[at];
            hole = at;
        }
    }
    t->index[hole].id = 0;
}

znode_id index_find(const struct tree *t, znode_id parent, const uint8_t *name, size_t len)
{
    uint32_t hash = hash_child(parent, name, len);
    uint32_t at = hash & t->index_mask;
    const struct znode *n;

    for (; t->index[at].id != 0; at = (at + 1) & t->index_mask) {
        if (t->index[at].hash != hash) {
            continue;
        }
        n = node_at(t, t->index[at].id);
        if (n->parent == parent && n->name_len == len && memcmp(n->bytes, name, len) == 0) {
            return t->index[at].id;
        }
    }
    return 0;
}
