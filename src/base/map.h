/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - intrusive hash map: the object carries its entry, the caller compares its own keys.
 *
 * Buckets grow by doubling; when memory for that runs out the map goes on with longer chains, so
 * an insertion cannot fail after the first. Hashes of what others may choose come from base/hash.h,
 * so that nobody can choose what falls into one bucket. */
#ifndef PAWL_BASE_MAP_H
#define PAWL_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
    struct map_entry *next;
    uint64_t hash;
};

struct map {
    struct map_entry **buckets;
    size_t mask; /* number of buckets less one */
    size_t count;
};

/* map_init() stops the process when there is no memory for the first buckets, map_try_init() says
 * so. */
void map_init(struct map *m);
bool map_try_init(struct map *m);

/* Frees the buckets, not the objects. */
void map_fini(struct map *m);

void map_insert(struct map *m, struct map_entry *entry, uint64_t hash);
void map_remove(struct map *m, struct map_entry *entry);

/* First candidate with that hash, and the next one after `entry`; NULL at the end. */
static inline struct map_entry *map_skip(struct map_entry *entry, uint64_t hash)
{
    while (entry != NULL && entry->hash != hash) {
        entry = entry->next;
    }
    return entry;
}

static inline struct map_entry *map_first(const struct map *m, uint64_t hash)
{
    return map_skip(m->buckets[hash & m->mask], hash);
}

static inline struct map_entry *map_next(struct map_entry *entry)
{
    return map_skip(entry->next, entry->hash);
}

/* All entries, in no order. The current one must not be removed inside; use map_drain for that. */
#define map_for_each(entry, m)                                \
    for (size_t map_at_ = 0; map_at_ <= (m)->mask; map_at_++) \
        for (entry = (m)->buckets[map_at_]; entry != NULL; entry = entry->next)

/* Takes out any one entry, or returns NULL. Linear over a whole drain. */
struct map_entry *map_drain(struct map *m, size_t *at);

#endif
