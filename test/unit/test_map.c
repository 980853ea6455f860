/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/prng.h"
#include "lib/test.h"

struct item {
    uint64_t key;
    bool inside;
    struct map_entry entry;
};

static struct item *find(const struct map *m, uint64_t key, uint64_t hash)
{
    for (struct map_entry *e = map_first(m, hash); e != NULL; e = map_next(e)) {
        struct item *item = container_of(e, struct item, entry);

        if (item->key == key) {
            return item;
        }
    }
    return NULL;
}

/* A few thousand random insertions and removals, compared with a flag in each object. */
static void what_went_in_is_found_and_nothing_else(void **state)
{
    enum { N = 2000, STEPS = 20000 };
    struct item *items = calloc(N, sizeof(*items));
    struct prng random;
    struct map m;
    size_t count = 0;

    (void)state;
    assert_non_null(items);
    prng_seed(&random, 1);
    map_init(&m);
    for (int step = 0; step < STEPS; step++) {
        struct item *item = &items[prng_below(&random, N)];

        item->key = (uint64_t)(item - items);
        if (item->inside) {
            map_remove(&m, &item->entry);
            count--;
        } else {
            map_insert(&m, &item->entry, hash_u64(item->key));
            count++;
        }
        item->inside = !item->inside;
        assert_int_equal(m.count, count);
    }
    for (uint64_t key = 0; key < N; key++) {
        struct item *expected = items[key].inside ? &items[key] : NULL;

        assert_ptr_equal(find(&m, key, hash_u64(key)), expected);
    }
    map_fini(&m);
    free(items);
}

static void equal_hashes_are_told_apart_by_the_caller(void **state)
{
    struct item items[3] = {{.key = 1}, {.key = 2}, {.key = 3}};
    struct map m;

    (void)state;
    map_init(&m);
    for (int i = 0; i < 3; i++) {
        map_insert(&m, &items[i].entry, 42);
    }
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(find(&m, items[i].key, 42), &items[i]);
    }
    map_remove(&m, &items[1].entry);
    assert_null(find(&m, 2, 42));
    assert_ptr_equal(find(&m, 3, 42), &items[2]);
    assert_null(find(&m, 1, 42 + 16)); /* the same bucket, another hash */
    map_fini(&m);
}

static void iterating_visits_each_once(void **state)
{
    enum { N = 100 };
    struct item items[N];
    int seen[N] = {0};
    struct map_entry *e;
    struct map m;

    (void)state;
    map_init(&m);
    for (uint64_t i = 0; i < N; i++) {
        items[i].key = i;
        map_insert(&m, &items[i].entry, hash_u64(i));
    }
    map_for_each (e, &m) {
        seen[container_of(e, struct item, entry)->key]++;
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(seen[i], 1);
    }
    map_fini(&m);
}

static void draining_empties_it(void **state)
{
    enum { N = 50 };
    struct item items[N];
    struct map m;
    size_t at = 0, n = 0;

    (void)state;
    map_init(&m);
    for (uint64_t i = 0; i < N; i++) {
        map_insert(&m, &items[i].entry, hash_u64(i));
    }
    while (map_drain(&m, &at) != NULL) {
        n++;
    }
    assert_int_equal(n, N);
    assert_int_equal(m.count, 0);
    map_fini(&m);
}

static void different_bytes_have_different_hashes(void **state)
{
    char text[32];
    enum { N = 2000 };
    static uint64_t hashes[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof(text), "/locks/lock-%010d", i);
        hashes[i] = hash_bytes(text, strlen(text), 7);
        for (int k = 0; k < i; k++) {
            assert_true(hashes[k] != hashes[i]);
        }
    }
    assert_true(hash_bytes("a", 1, 1) != hash_bytes("a", 1, 2));
    assert_true(hash_bytes("a\0", 2, 1) != hash_bytes("a", 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_went_in_is_found_and_nothing_else),
        cmocka_unit_test(equal_hashes_are_told_apart_by_the_caller),
        cmocka_unit_test(iterating_visits_each_once),
        cmocka_unit_test(draining_empties_it),
        cmocka_unit_test(different_bytes_have_different_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
