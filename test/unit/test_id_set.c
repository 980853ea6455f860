/* SPDX-License-Identifier: Apache-2.0 */
/* How many different ids there are, in memory that does not grow with how often they come. */
#include "cli/files/id_set.h"

#include "lib/test.h"

static void repeats_count_once(void **state)
{
    struct id_set s;

    (void)state;
    id_set_init(&s, 4096);
    assert_int_equal(id_set_count(&s), 0);
    for (int64_t i = 0; i < 100; i++) {
        id_set_add(&s, i % 7 - 3);
        id_set_add(&s, INT64_MIN);
    }
    assert_int_equal(id_set_count(&s), 8);
    assert_int_equal(id_set_count(&s), 8);
    assert_false(s.is_full);
    id_set_fini(&s);
}

static void repeats_take_no_memory(void **state)
{
    struct id_set s;

    (void)state;
    id_set_init(&s, 1 << 20);
    for (int64_t i = 0; i < 200000; i++) {
        id_set_add(&s, i % 100);
    }
    assert_int_equal(id_set_count(&s), 100);
    assert_in_range(s.capacity, 100, 1024);
    id_set_fini(&s);
}

static void it_grows_to_its_limit(void **state)
{
    struct id_set s;

    (void)state;
    id_set_init(&s, 5000);
    for (int64_t i = 0; i < 5000; i++) {
        id_set_add(&s, i * 1000003 % 5000);
    }
    assert_int_equal(id_set_count(&s), 5000);
    assert_false(s.is_full);
    id_set_fini(&s);
}

static void past_its_limit_it_says_so(void **state)
{
    struct id_set s;

    (void)state;
    id_set_init(&s, 5000);
    for (int64_t i = 0; i < 100000; i++) {
        id_set_add(&s, i);
    }
    assert_true(s.is_full);
    assert_int_equal(id_set_count(&s), 5000);
    assert_int_equal(s.capacity, 5000);
    id_set_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_count_once),
        cmocka_unit_test(repeats_take_no_memory),
        cmocka_unit_test(it_grows_to_its_limit),
        cmocka_unit_test(past_its_limit_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
