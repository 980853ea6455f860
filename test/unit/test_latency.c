/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles of times, to a sixteenth. */
#include "cli/latency.h"

#include "lib/test.h"

static void none_is_zero(void **state)
{
    struct latency l = {0};

    (void)state;
    assert_true(latency_at(&l, 0.5) == 0);
    assert_true(latency_at(&l, 1) == 0);
}

static void one_is_all_of_them(void **state)
{
    struct latency l = {0};

    (void)state;
    latency_add(&l, 1234567);
    for (int percent = 0; percent <= 100; percent++) {
        assert_true(latency_at(&l, percent / 100.0) == 1234567);
    }
    assert_true(l.n == 1 && l.sum_us == 1234567 && l.max_us == 1234567);
}

/* Of times from 1 to n each percentile is known: it may be told too long, by a sixteenth. */
static void percentiles_are_near(void **state)
{
    const uint64_t n = 100000;
    struct latency l = {0};

    (void)state;
    for (uint64_t us = 1; us <= n; us++) {
        latency_add(&l, us);
    }
    for (int percent = 1; percent <= 100; percent++) {
        uint64_t exact = n * (uint64_t)percent / 100, told = latency_at(&l, percent / 100.0);

        assert_true(told >= exact);
        assert_true(told <= exact + exact / LATENCY_PARTS + 1);
    }
    assert_true(latency_at(&l, 1) == n);
    assert_true(l.sum_us == n * (n + 1) / 2);
}

static void small_ones_are_exact(void **state)
{
    struct latency l = {0};

    (void)state;
    for (uint64_t us = 0; us < 10; us++) {
        latency_add(&l, us);
    }
    assert_true(latency_at(&l, 0) == 0);
    assert_true(latency_at(&l, 0.5) == 5);
    assert_true(latency_at(&l, 0.9) == 9);
}

/* Each power of two, its neighbours, and what is longer than the array reaches. */
static void every_time_has_a_place(void **state)
{
    (void)state;
    for (unsigned power = 0; power < 64; power++) {
        for (int step = -1; step <= 1; step++) {
            uint64_t us = ((uint64_t)1 << power) + (uint64_t)step;
            struct latency l = {0};
            uint64_t n = 0;

            latency_add(&l, us);
            for (unsigned i = 0; i < LATENCY_SLOTS; i++) {
                n += l.slots[i];
            }
            assert_true(n == 1);
            assert_true(latency_at(&l, 0.5) == us);
        }
    }
}

static void two_add_up(void **state)
{
    struct latency a = {0}, b = {0};

    (void)state;
    latency_add(&a, 5);
    latency_add(&b, 7);
    latency_add(&b, 1000);
    latency_merge(&a, &b);
    assert_true(a.n == 3 && a.sum_us == 1012 && a.max_us == 1000);
    assert_true(latency_at(&a, 0) == 5);
    assert_true(latency_at(&a, 0.5) == 7);
    assert_true(latency_at(&a, 1) == 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_zero),           cmocka_unit_test(one_is_all_of_them),
        cmocka_unit_test(percentiles_are_near),   cmocka_unit_test(small_ones_are_exact),
        cmocka_unit_test(every_time_has_a_place), cmocka_unit_test(two_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
