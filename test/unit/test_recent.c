/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/recent.h"

#include "lib/test.h"

static void append(struct recent *r, int64_t zxid, size_t len)
{
    uint8_t payload[100 * 1024];

    memset(payload, (int)zxid & 0xff, len);
    recent_append(r, zxid, bytes_of(payload, len));
}

static void check(const struct recent *r, size_t i, int64_t zxid, size_t len)
{
    const struct recent_entry *entry = recent_at(r, i);

    assert_int_equal(entry->zxid, zxid);
    assert_int_equal(entry->payload.len, len);
    for (size_t k = 0; k < len; k++) {
        assert_int_equal(entry->payload.data[k], zxid & 0xff);
    }
}

static void payloads_are_kept_and_found(void **state)
{
    struct recent r;

    (void)state;
    recent_init(&r, 1000);
    for (int64_t z = 1; z <= 200; z++) {
        append(&r, 10 * z, (size_t)z);
    }
    assert_int_equal(r.count, 200);
    for (int64_t z = 1; z <= 200; z++) {
        assert_int_equal(recent_behind(&r, 10 * z), z);
        assert_int_equal(recent_behind(&r, 10 * z - 1), z - 1);
        check(&r, (size_t)z - 1, 10 * z, (size_t)z);
    }
    recent_fini(&r);
}

static void the_oldest_leave_above_the_limit_but_only_as_far_as_allowed(void **state)
{
    struct recent r;

    (void)state;
    recent_init(&r, 100);
    for (int64_t z = 1; z <= 10; z++) {
        append(&r, z, 30);
    }
    recent_shrink(&r, 4);
    assert_int_equal(r.count, 6);
    check(&r, 0, 5, 30);
    recent_shrink(&r, 10);
    assert_int_equal(r.count, 3);
    check(&r, 0, 8, 30);
    recent_shrink(&r, 10);
    assert_int_equal(r.count, 3);
    recent_fini(&r);
}

static void large_ones_and_empty_ones_and_many_turns_of_the_ring(void **state)
{
    struct recent r;

    (void)state;
    recent_init(&r, 200 * 1024);
    for (int64_t z = 1; z <= 3000; z++) {
        size_t len = z % 50 == 0 ? 90 * 1024 : z % 7 == 0 ? 0 : (size_t)(z % 300);

        append(&r, z, len);
        recent_shrink(&r, z);
        assert_true(r.bytes <= 200 * 1024);
        check(&r, r.count - 1, z, len);
    }
    recent_clear(&r);
    assert_int_equal(r.count, 0);
    append(&r, 1, 5); /* earlier ones may come again after that */
    check(&r, 0, 1, 5);
    recent_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_are_kept_and_found),
        cmocka_unit_test(the_oldest_leave_above_the_limit_but_only_as_far_as_allowed),
        cmocka_unit_test(large_ones_and_empty_ones_and_many_turns_of_the_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
