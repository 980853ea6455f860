/* SPDX-License-Identifier: Apache-2.0 */
#include "store/acl_table.h"

#include "base/prng.h"
#include "base/strbuf.h"
#include "lib/test.h"

/* One entry: perms for "ip" and some number. */
static struct bytes list_of(struct strbuf *b, int32_t perms, int number)
{
    char id[32];

    snprintf(id, sizeof(id), "10.0.0.%d", number);
    strbuf_clear(b);
    jute_write_int(b, 1);
    acl_entry_write(b, &(struct acl_entry){perms, bytes_str("ip"), bytes_str(id)});
    return strbuf_bytes(b);
}

static void the_open_list_is_number_zero_and_stays(void **state)
{
    struct acl_table *t = acl_table_new();

    (void)state;
    assert_int_equal(ACL_OPEN, 0);
    assert_int_equal(acl_table_world_perms(t, ACL_OPEN), PERM_ALL);
    acl_table_ref(t, ACL_OPEN);
    acl_table_release(t, ACL_OPEN);
    acl_table_release(t, ACL_OPEN);
    assert_true(acl_table_known(t, ACL_OPEN));
    assert_int_equal(acl_table_count(t), 0);
    acl_table_free(t);
}

/* ZooKeeper gives an open list that somebody asked for a number of its own. */
static void an_open_list_that_was_asked_for_has_its_own_number(void **state)
{
    struct acl_table *t = acl_table_new();
    uint32_t id = acl_table_take(t, acl_table_get(t, ACL_OPEN));

    (void)state;
    assert_int_equal(id, 1);
    assert_int_equal(acl_table_world_perms(t, id), PERM_ALL);
    acl_table_free(t);
}

static void equal_lists_share_a_number(void **state)
{
    struct acl_table *t = acl_table_new();
    struct strbuf b;
    uint32_t one, other;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    one = acl_table_take(t, list_of(&b, 1, 1));
    other = acl_table_take(t, list_of(&b, 2, 1));
    assert_int_not_equal(one, other);
    assert_int_equal(acl_table_take(t, list_of(&b, 1, 1)), one);
    assert_int_equal(acl_table_count(t), 2);
    assert_bytes_equal(acl_table_get(t, one), list_of(&b, 1, 1));
    strbuf_fini(&b);
    acl_table_free(t);
}

static void a_list_goes_with_its_last_use_and_its_number_is_free_again(void **state)
{
    struct acl_table *t = acl_table_new();
    struct strbuf b;
    uint32_t id;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    id = acl_table_take(t, list_of(&b, 1, 1));
    acl_table_ref(t, id);
    acl_table_release(t, id);
    assert_true(acl_table_known(t, id));
    acl_table_release(t, id);
    assert_false(acl_table_known(t, id));
    assert_int_equal(acl_table_count(t), 0);
    assert_int_equal(acl_table_take(t, list_of(&b, 9, 9)), id);
    strbuf_fini(&b);
    acl_table_free(t);
}

/* A fuzzy snapshot may name a number that its table does not have. */
static void an_unknown_number_stands_for_an_empty_list(void **state)
{
    struct acl_table *t = acl_table_new();

    (void)state;
    assert_false(acl_table_known(t, 77));
    assert_bytes_equal(acl_table_get(t, 77), bytes_of("\0\0\0\0", 4));
    assert_int_equal(acl_table_world_perms(t, 77), 0);
    acl_table_ref(t, 77);
    acl_table_release(t, 77);
    acl_table_free(t);
}

static void the_permissions_of_the_world_are_those_of_all_its_entries(void **state)
{
    struct acl_entry entries[] = {
        {PERM_READ, bytes_str("world"), bytes_str("anyone")},
        {PERM_ADMIN, bytes_str("world"), bytes_str("nobody")},
        {PERM_DELETE, bytes_str("ip"), bytes_str("anyone")},
        {PERM_WRITE, bytes_str("world"), bytes_str("anyone")},
    };
    struct acl_table *t = acl_table_new();
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, 4);
    for (int i = 0; i < 4; i++) {
        acl_entry_write(&b, &entries[i]);
    }
    assert_int_equal(acl_table_world_perms(t, acl_table_take(t, strbuf_bytes(&b))),
                     PERM_READ | PERM_WRITE);
    strbuf_fini(&b);
    acl_table_free(t);
}

static void count_one(uint32_t id, struct bytes encoded, void *arg)
{
    (void)id;
    (void)encoded;
    ++*(size_t *)arg;
}

static void random_uses_are_counted_right(void **state)
{
    enum { N = 50 };
    struct acl_table *t = acl_table_new();
    uint32_t ids[N] = {0};
    int uses[N] = {0};
    struct strbuf b;
    struct prng r;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    prng_seed(&r, 1);
    for (int step = 0; step < 20000; step++) {
        int i = (int)prng_below(&r, N);
        size_t expected = 0, seen = 0;

        if (uses[i] == 0 || prng_below(&r, 2) == 0) {
            uint32_t id = acl_table_take(t, list_of(&b, 1, i));

            assert_true(uses[i] == 0 || id == ids[i]);
            ids[i] = id;
            uses[i]++;
        } else {
            assert_bytes_equal(acl_table_get(t, ids[i]), list_of(&b, 1, i));
            acl_table_release(t, ids[i]);
            uses[i]--;
        }
        for (int k = 0; k < N; k++) {
            expected += uses[k] > 0 ? 1 : 0;
        }
        assert_int_equal(acl_table_count(t), expected);
        if (step % 100 == 0) {
            acl_table_each(t, count_one, &seen);
            assert_int_equal(seen, expected);
        }
    }
    strbuf_fini(&b);
    acl_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_open_list_is_number_zero_and_stays),
        cmocka_unit_test(an_open_list_that_was_asked_for_has_its_own_number),
        cmocka_unit_test(equal_lists_share_a_number),
        cmocka_unit_test(a_list_goes_with_its_last_use_and_its_number_is_free_again),
        cmocka_unit_test(an_unknown_number_stands_for_an_empty_list),
        cmocka_unit_test(the_permissions_of_the_world_are_those_of_all_its_entries),
        cmocka_unit_test(random_uses_are_counted_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
