/* SPDX-License-Identifier: Apache-2.0 */
#include "server/expiry.h"

#include "base/prng.h"
#include "lib/test.h"

/* No clock of a test begins at zero: an uptime is never that. */
enum { START_MS = 1000000, TICK_MS = 2000 };

static void a_deadline_is_the_next_whole_bucket(void **state)
{
    struct expiry_item item = {0};
    struct expiry x;

    (void)state;
    expiry_init(&x, TICK_MS, START_MS);
    expiry_touch(&x, &item, START_MS, 4000);
    assert_int_equal(item.deadline_ms, START_MS + 6000);
    expiry_touch(&x, &item, START_MS + 1999, 4000);
    assert_int_equal(item.deadline_ms, START_MS + 6000);
    expiry_touch(&x, &item, START_MS + 2000, 4000);
    assert_int_equal(item.deadline_ms, START_MS + 8000);
    assert_null(expiry_pop_due(&x, START_MS + 7999));
    assert_ptr_equal(expiry_pop_due(&x, START_MS + 8000), &item);
    assert_int_equal(item.deadline_ms, 0);
    assert_null(expiry_pop_due(&x, START_MS + 100000));
    expiry_fini(&x);
}

static void whoever_is_removed_does_not_expire(void **state)
{
    struct expiry_item item = {0};
    struct expiry x;

    (void)state;
    expiry_init(&x, TICK_MS, START_MS);
    expiry_remove(&x, &item);
    expiry_touch(&x, &item, START_MS, 4000);
    expiry_remove(&x, &item);
    expiry_remove(&x, &item);
    assert_null(expiry_pop_due(&x, START_MS + 100000));
    assert_int_equal(x.buckets.count, 0);
    expiry_fini(&x);
}

static void a_shorter_timeout_brings_the_deadline_forward(void **state)
{
    struct expiry_item item = {0};
    struct expiry x;

    (void)state;
    expiry_init(&x, TICK_MS, START_MS);
    expiry_touch(&x, &item, START_MS, 40000);
    assert_null(expiry_pop_due(&x, START_MS + 20000));
    expiry_touch(&x, &item, START_MS + 20000, 4000);
    assert_ptr_equal(expiry_pop_due(&x, START_MS + 26000), &item);
    expiry_fini(&x);
}

static void late_buckets_come_in_order(void **state)
{
    struct expiry_item items[3] = {{{0}, 0}};
    struct expiry x;

    (void)state;
    expiry_init(&x, TICK_MS, START_MS);
    expiry_touch(&x, &items[2], START_MS, 30000);
    expiry_touch(&x, &items[0], START_MS, 4000);
    expiry_touch(&x, &items[1], START_MS, 10000);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(expiry_pop_due(&x, START_MS + 1000000), &items[i]);
    }
    assert_null(expiry_pop_due(&x, START_MS + 1000000));
    /* Time goes on from there. */
    expiry_touch(&x, &items[0], START_MS + 1000000, 4000);
    assert_null(expiry_pop_due(&x, START_MS + 1005999));
    assert_ptr_equal(expiry_pop_due(&x, START_MS + 1006000), &items[0]);
    expiry_fini(&x);
}

static void note_bucket(int64_t deadline_ms, const struct list *items, void *arg)
{
    int64_t *last = arg;

    assert_true(deadline_ms > *last);
    assert_false(list_empty(items));
    *last = deadline_ms;
}

/* Each lives at least its timeout after the last touch, and at most one bucket longer. */
static void nobody_expires_too_early_or_much_too_late(void **state)
{
    enum { N = 60 };
    struct expiry_item items[N], *due;
    int64_t touched[N], timeout[N], now = START_MS, last;
    struct expiry x;
    struct prng r;

    (void)state;
    memset(items, 0, sizeof(items));
    prng_seed(&r, 3);
    expiry_init(&x, TICK_MS, now);
    for (int step = 0; step < 20000; step++) {
        int i = (int)prng_below(&r, N);

        now += (int64_t)prng_below(&r, 200);
        while ((due = expiry_pop_due(&x, now)) != NULL) {
            int k = (int)(due - items);

            assert_true(now >= touched[k] + timeout[k]);
            assert_true(now <= touched[k] + timeout[k] + TICK_MS + 200);
        }
        if (prng_below(&r, 20) == 0) {
            expiry_remove(&x, &items[i]);
        } else {
            touched[i] = now;
            timeout[i] = 4000 + (int64_t)prng_below(&r, 36000);
            expiry_touch(&x, &items[i], now, timeout[i]);
        }
        last = 0;
        expiry_each(&x, note_bucket, &last);
    }
    expiry_fini(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_is_the_next_whole_bucket),
        cmocka_unit_test(whoever_is_removed_does_not_expire),
        cmocka_unit_test(a_shorter_timeout_brings_the_deadline_forward),
        cmocka_unit_test(late_buckets_come_in_order),
        cmocka_unit_test(nobody_expires_too_early_or_much_too_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
