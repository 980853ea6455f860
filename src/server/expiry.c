/* SPDX-License-Identifier: Apache-2.0 */
#include "server/expiry.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"

struct bucket {
    struct map_entry entry;
    int64_t deadline_ms;
    struct list items;
};

void expiry_init(struct expiry *x, int64_t bucket_ms, int64_t now_ms)
{
    ASSERT(bucket_ms > 0);
    x->bucket_ms = bucket_ms;
    x->next_ms = now_ms / bucket_ms * bucket_ms;
    map_init(&x->buckets);
}

void expiry_fini(struct expiry *x)
{
    struct map_entry *e;
    size_t at = 0;

    while ((e = map_drain(&x->buckets, &at)) != NULL) {
        free(container_of(e, struct bucket, entry));
    }
    map_fini(&x->buckets);
}

static struct bucket *find_bucket(const struct expiry *x, int64_t deadline_ms)
{
    struct map_entry *e = map_first(&x->buckets, hash_u64((uint64_t)deadline_ms));

    while (e != NULL && container_of(e, struct bucket, entry)->deadline_ms != deadline_ms) {
        e = map_next(e);
    }
    return e == NULL ? NULL : container_of(e, struct bucket, entry);
}

static struct bucket *need_bucket(struct expiry *x, int64_t deadline_ms)
{
    struct bucket *b = find_bucket(x, deadline_ms);

    if (b == NULL) {
        b = must_zalloc(sizeof(*b));
        b->deadline_ms = deadline_ms;
        list_init(&b->items);
        map_insert(&x->buckets, &b->entry, hash_u64((uint64_t)deadline_ms));
        if (deadline_ms < x->next_ms) {
            x->next_ms = deadline_ms;
        }
    }
    return b;
}

void expiry_touch(struct expiry *x, struct expiry_item *item, int64_t now_ms, int64_t timeout_ms)
{
    int64_t deadline = ((now_ms + timeout_ms) / x->bucket_ms + 1) * x->bucket_ms;

    if (item->deadline_ms == deadline) {
        return;
    }
    expiry_remove(x, item);
    item->deadline_ms = deadline;
    list_push_back(&need_bucket(x, deadline)->items, &item->link);
}

static void bucket_drop_if_empty(struct expiry *x, struct bucket *b)
{
    ASSERT(b != NULL);
    if (list_empty(&b->items)) {
        map_remove(&x->buckets, &b->entry);
        free(b);
    }
}

void expiry_remove(struct expiry *x, struct expiry_item *item)
{
    if (item->deadline_ms == 0) {
        return;
    }
    list_remove(&item->link);
    bucket_drop_if_empty(x, find_bucket(x, item->deadline_ms));
    item->deadline_ms = 0;
}

struct expiry_item *expiry_pop_due(struct expiry *x, int64_t now_ms)
{
    struct expiry_item *item;
    struct bucket *b;

    for (; x->next_ms <= now_ms; x->next_ms += x->bucket_ms) {
        b = find_bucket(x, x->next_ms);
        if (b != NULL) {
            item = container_of(b->items.next, struct expiry_item, link);
            ASSERT(item->deadline_ms <= now_ms);
            expiry_remove(x, item);
            return item;
        }
    }
    return NULL;
}

static int buckets_by_deadline(const void *a, const void *b)
{
    const struct bucket *x = *(struct bucket *const *)a;
    const struct bucket *y = *(struct bucket *const *)b;

    return (x->deadline_ms > y->deadline_ms) - (x->deadline_ms < y->deadline_ms);
}

void expiry_each(const struct expiry *x, expiry_bucket_fn fn, void *arg)
{
    struct bucket **sorted = must_alloc((x->buckets.count + 1) * sizeof(*sorted));
    struct map_entry *e;
    size_t n = 0;

    map_for_each (e, &x->buckets) {
        sorted[n++] = container_of(e, struct bucket, entry);
    }
    qsort(sorted, n, sizeof(*sorted), buckets_by_deadline);
    for (size_t i = 0; i < n; i++) {
        fn(sorted[i]->deadline_ms, &sorted[i]->items, arg);
    }
    free(sorted);
}
