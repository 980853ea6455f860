/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"

enum { FIRST_BUCKETS = 16 };

bool map_try_init(struct map *m)
{
    hash_fix_key();
    m->buckets = calloc(FIRST_BUCKETS, sizeof(*m->buckets));
    m->mask = FIRST_BUCKETS - 1;
    m->count = 0;
    return m->buckets != NULL;
}

void map_init(struct map *m)
{
    bool made = map_try_init(m);

    ASSERT(made);
}

void map_fini(struct map *m)
{
    free(m->buckets);
    m->buckets = NULL;
    m->count = 0;
}

static void map_grow(struct map *m)
{
    size_t n = (m->mask + 1) * 2;
    struct map_entry **buckets = calloc(n, sizeof(*buckets));
    struct map_entry *entry, *next;

    if (buckets == NULL) {
        return;
    }
    for (size_t i = 0; i <= m->mask; i++) {
        for (entry = m->buckets[i]; entry != NULL; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash & (n - 1)];
            buckets[entry->hash & (n - 1)] = entry;
        }
    }
    free(m->buckets);
    m->buckets = buckets;
    m->mask = n - 1;
}

void map_insert(struct map *m, struct map_entry *entry, uint64_t hash)
{
    if (m->count > m->mask) {
        map_grow(m);
    }
    entry->hash = hash;
    entry->next = m->buckets[hash & m->mask];
    m->buckets[hash & m->mask] = entry;
    m->count++;
}

void map_remove(struct map *m, struct map_entry *entry)
{
    struct map_entry **link = &m->buckets[entry->hash & m->mask];

    while (*link != entry) {
        ASSERT(*link != NULL);
        link = &(*link)->next;
    }
    *link = entry->next;
    entry->next = NULL;
    m->count--;
}

struct map_entry *map_drain(struct map *m, size_t *at)
{
    struct map_entry *entry;

    for (; *at <= m->mask; (*at)++) {
        entry = m->buckets[*at];
        if (entry != NULL) {
            m->buckets[*at] = entry->next;
            m->count--;
            return entry;
        }
    }
    return NULL;
}
