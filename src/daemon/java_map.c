/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/java_map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_BUCKETS = 16 };

struct java_node {
    struct java_node *next;
    uint32_t hash;
    char *key;
    char *value;
};

struct java_map {
    struct java_node **bucket;
    size_t n_buckets; /* a power of two */
    size_t n;
};

/* String.hashCode(), spread. Keys of a configuration are ASCII; others have a place, too. */
static uint32_t java_hash(const char *key)
{
    uint32_t h = 0;

    for (; *key != '\0'; key++) {
        h = 31 * h + (uint8_t)*key;
    }
    return (h ^ h >> 16) & 0x7fffffff;
}

/* The last nodes that stay together keep their order, those before them are turned round. */
static void java_split(struct java_node *first, uint32_t bit, struct java_node **low,
                       struct java_node **high)
{
    struct java_node *run = first, *next;

    for (struct java_node *p = first; p != NULL; p = p->next) {
        if ((p->hash & bit) != (run->hash & bit)) {
            run = p;
        }
    }
    *low = *high = NULL;
    if (run != NULL) {
        *((run->hash & bit) == 0 ? low : high) = run;
    }
    for (struct java_node *p = first; p != run; p = next) {
        struct java_node **side = (p->hash & bit) == 0 ? low : high;

        next = p->next;
        p->next = *side;
        *side = p;
    }
}

static void java_double(struct java_map *m)
{
    struct java_node **old = m->bucket;
    size_t n = m->n_buckets;

    m->bucket = must_zalloc(2 * n * sizeof(*m->bucket));
    m->n_buckets = 2 * n;
    for (size_t i = 0; i < n; i++) {
        java_split(old[i], (uint32_t)n, &m->bucket[i], &m->bucket[i + n]);
    }
    free(old);
}

struct java_map *java_map_new(void)
{
    struct java_map *m = must_zalloc(sizeof(*m));

    m->n_buckets = FIRST_BUCKETS;
    m->bucket = must_zalloc(m->n_buckets * sizeof(*m->bucket));
    return m;
}

void java_map_free(struct java_map *m)
{
    for (size_t i = 0; i < m->n_buckets; i++) {
        for (struct java_node *p = m->bucket[i], *next; p != NULL; p = next) {
            next = p->next;
            free(p->key);
            free(p->value);
            free(p);
        }
    }
    free(m->bucket);
    free(m);
}

void java_map_put(struct java_map *m, const char *key, const char *value)
{
    uint32_t hash = java_hash(key);
    struct java_node **at = &m->bucket[hash & (m->n_buckets - 1)];

    while (*at != NULL && strcmp((*at)->key, key) != 0) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        free((*at)->value);
        (*at)->value = must_strdup(value);
        return;
    }
    *at = must_zalloc(sizeof(**at));
    (*at)->hash = hash;
    (*at)->key = must_strdup(key);
    (*at)->value = must_strdup(value);
    m->n++;
    if (m->n >= m->n_buckets - m->n_buckets / 4) {
        java_double(m);
    }
}

void java_map_each(const struct java_map *m, java_map_fn each, void *arg)
{
    for (size_t i = 0; i < m->n_buckets; i++) {
        for (const struct java_node *p = m->bucket[i]; p != NULL; p = p->next) {
            each(arg, p->key, p->value);
        }
    }
}
