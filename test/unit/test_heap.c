/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include "base/prng.h"
#include "lib/test.h"

enum { N = 300 };

/* The smallest key among those that are in. */
static int64_t smallest(const struct heap_node *nodes)
{
    int64_t key = INT64_MAX;

    for (int i = 0; i < N; i++) {
        if (heap_has(&nodes[i]) && nodes[i].key < key) {
            key = nodes[i].key;
        }
    }
    return key;
}

static void the_root_is_always_the_smallest(void **state)
{
    static struct heap_node nodes[N];
    struct heap h = {0};
    struct prng prng;

    (void)state;
    prng_seed(&prng, 1);
    for (int i = 0; i < N; i++) {
        heap_node_init(&nodes[i]);
    }
    for (int i = 0; i < 20000; i++) {
        struct heap_node *n = &nodes[prng_below(&prng, N)];

        if (heap_has(n)) {
            heap_remove(&h, n);
            assert_false(heap_has(n));
        } else {
            heap_insert(&h, n, (int64_t)prng_below(&prng, 1000) - 500);
            assert_true(heap_has(n));
        }
        assert_int_equal(h.root == NULL ? INT64_MAX : h.root->key, smallest(nodes));
    }
}

static void removing_what_is_not_in_does_nothing(void **state)
{
    struct heap h = {0};
    struct heap_node a, b;

    (void)state;
    heap_node_init(&a);
    heap_node_init(&b);
    heap_insert(&h, &a, 1);
    heap_remove(&h, &b);
    assert_ptr_equal(h.root, &a);
    heap_remove(&h, &a);
    heap_remove(&h, &a);
    assert_null(h.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_is_always_the_smallest),
        cmocka_unit_test(removing_what_is_not_in_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
