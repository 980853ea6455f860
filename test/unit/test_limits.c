/* SPDX-License-Identifier: Apache-2.0 */
#include "server/limits.h"

#include "lib/test.h"

static struct limit_options bucket(int64_t tokens, int64_t fill_ms, int64_t fill_count)
{
    return (struct limit_options){.throttle_tokens = tokens,
                                  .throttle_fill_ms = fill_ms,
                                  .throttle_fill_count = fill_count,
                                  .throttle_freeze_ms = -1};
}

static int admitted(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms,
                    enum throttle_kind kind, int tries)
{
    struct prng prng;
    int n = 0;

    prng_seed(&prng, (uint64_t)now_ms);
    for (int i = 0; i < tries; i++) {
        n += throttle_admit(t, o, now_ms, kind, &prng) ? 1 : 0;
    }
    return n;
}

static void without_tokens_set_everybody_is_admitted(void **state)
{
    struct limit_options o = bucket(0, 1, 1);
    struct connection_throttle t;

    (void)state;
    throttle_init(&t, &o, 0);
    assert_int_equal(admitted(&t, &o, 0, false, 1000), 1000);
}

static void as_many_are_admitted_as_there_are_tokens(void **state)
{
    struct limit_options o = bucket(10, 100, 2);
    struct connection_throttle t;

    (void)state;
    throttle_init(&t, &o, 5000);
    assert_int_equal(admitted(&t, &o, 5000, false, 100), 10);
    assert_int_equal(admitted(&t, &o, 5099, false, 100), 0);
    assert_int_equal(admitted(&t, &o, 5100, false, 100), 2);
    assert_int_equal(admitted(&t, &o, 5350, false, 100), 4);
    assert_int_equal(admitted(&t, &o, 5400, false, 100), 2); /* the 50 ms were not lost */
    assert_int_equal(admitted(&t, &o, INT64_MAX / 2, false, 100), 10);
}

static void a_renewal_may_cost_less_than_a_new_session(void **state)
{
    struct limit_options o = bucket(12, 1000, 1);
    struct connection_throttle t;

    (void)state;
    o.throttle_weighted = true;
    o.weight_global = 3;
    o.weight_renew = 2;
    throttle_init(&t, &o, 0);
    assert_int_equal(admitted(&t, &o, 0, false, 100), 12); /* tokens are for new sessions */
    assert_int_equal(throttle_deficit(&t, &o), 36);
    assert_int_equal(admitted(&t, &o, 2000, false, 100), 2);
    throttle_init(&t, &o, 0);
    assert_int_equal(admitted(&t, &o, 0, true, 100), 18);
}

static void an_empty_bucket_makes_refusals_likelier_and_a_full_one_rarer(void **state)
{
    struct limit_options o = bucket(100, 1, 1);
    struct connection_throttle t;

    (void)state;
    o.throttle_freeze_ms = 10;
    o.throttle_drop_increase = 0.1;
    o.throttle_drop_decrease = 0.05;
    throttle_init(&t, &o, 0);
    t.tokens = 0;
    o.throttle_fill_count = 0;
    for (int64_t now = 100; now <= 500; now += 100) {
        admitted(&t, &o, now, false, 1);
    }
    assert_true(t.drop_probability > 0.49 && t.drop_probability < 0.51);
    for (int64_t now = 600; now <= 1500; now += 100) {
        admitted(&t, &o, now, false, 1);
    }
    assert_true(t.drop_probability == 1.0);
    t.tokens = 100;
    for (int64_t now = 1600; now < 3600; now += 100) {
        t.tokens = 100;
        admitted(&t, &o, now, false, 1);
    }
    assert_true(t.drop_probability < 0.001);
}

/* With a ratio of 0 it falls only while nothing at all is taken out. */
static void the_ratio_says_how_empty_the_bucket_may_be_when_it_falls(void **state)
{
    static const struct {
        double ratio;
        int64_t tokens;
        bool falls;
    } rows[] = {{0, 100, true}, {0, 99, false}, {0.3, 70, true}, {0.3, 69, false}, {1, 1, true}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        struct limit_options o = bucket(100, 1, 0);
        struct connection_throttle t;

        o.throttle_freeze_ms = 10;
        o.throttle_drop_decrease = 0.05;
        o.throttle_decrease_ratio = rows[i].ratio;
        throttle_init(&t, &o, 0);
        t.tokens = rows[i].tokens;
        t.drop_probability = 0.5;
        admitted(&t, &o, 100, false, 1);
        assert_int_equal(t.drop_probability < 0.5, rows[i].falls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_tokens_set_everybody_is_admitted),
        cmocka_unit_test(as_many_are_admitted_as_there_are_tokens),
        cmocka_unit_test(a_renewal_may_cost_less_than_a_new_session),
        cmocka_unit_test(an_empty_bucket_makes_refusals_likelier_and_a_full_one_rarer),
        cmocka_unit_test(the_ratio_says_how_empty_the_bucket_may_be_when_it_falls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
