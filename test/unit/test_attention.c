/* SPDX-License-Identifier: Apache-2.0 */
#include "server/attention.h"

#include "lib/test.h"

enum { LIMIT_US = 250000 };

static void time_passes_with_the_clock_while_somebody_looks(void **state)
{
    struct attention a;

    (void)state;
    attention_init(&a, LIMIT_US, 1000);
    for (int64_t t = 1000; t < 10000000; t += 100000) {
        assert_int_equal(attention_at(&a, t + 50000), t + 50000);
        attention_looked(&a, t);
        assert_int_equal(a.heard_us, t);
    }
}

static void of_a_long_absence_only_the_limit_counts(void **state)
{
    struct attention a;

    (void)state;
    attention_init(&a, LIMIT_US, 0);
    attention_looked(&a, 100000);
    assert_int_equal(attention_at(&a, 7100000), 100000 + LIMIT_US); /* the first step after it */
    assert_int_equal(a.heard_us, 100000);                           /* nobody has been heard yet */
    attention_looked(&a, 7100000);
    assert_int_equal(a.heard_us, 100000 + LIMIT_US);
    assert_int_equal(attention_at(&a, 7200000), 200000 + LIMIT_US);
}

static void it_never_goes_back(void **state)
{
    struct attention a;
    int64_t last = 0;

    (void)state;
    attention_init(&a, LIMIT_US, 0);
    for (int64_t t = 0; t < 20000000; t += 70000 + (t % 3) * 300000) {
        int64_t now = attention_at(&a, t);

        assert_true(now >= last);
        assert_true(now <= t);
        last = now;
        if (t % 2 == 0) {
            attention_looked(&a, t - 20000);
            assert_true(a.heard_us <= last);
            assert_true(attention_at(&a, t) >= last);
        }
    }
}

static void without_a_promise_all_time_counts(void **state)
{
    struct attention a;

    (void)state;
    attention_init(&a, 0, 5);
    assert_int_equal(attention_at(&a, 1000000000), 1000000000);
    attention_looked(&a, 1000000000);
    assert_int_equal(a.heard_us, 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes_with_the_clock_while_somebody_looks),
        cmocka_unit_test(of_a_long_absence_only_the_limit_counts),
        cmocka_unit_test(it_never_goes_back),
        cmocka_unit_test(without_a_promise_all_time_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
