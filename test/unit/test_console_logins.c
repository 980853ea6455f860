/* SPDX-License-Identifier: Apache-2.0 */
#include "console/logins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

static struct login *new_login(const char *token, int64_t used_ms)
{
    struct login *one = calloc(1, sizeof(*one));

    snprintf(one->token, sizeof(one->token), "%s", token);
    one->used_ms = used_ms;
    return one;
}

static void drop(struct login *one)
{
    assert_true(login_unref(one));
    login_free(one, 0);
}

static void found_by_its_whole_token(void **state)
{
    struct logins l = {0};
    struct login *found;

    (void)state;
    assert_null(logins_add(&l, new_login("aa", 0)));
    assert_null(logins_find(&l, "a", 1));
    assert_null(logins_find(&l, "aab", 1));
    assert_null(logins_find(&l, "", 1));
    found = logins_find(&l, "aa", 5);
    assert_non_null(found);
    assert_int_equal(found->used_ms, 5);
    assert_false(login_unref(logins_take(&l, "aa"))); /* who answers for it has it still */
    assert_null(logins_find(&l, "aa", 6));
    drop(found);
}

static void one_that_is_not_used_is_over(void **state)
{
    struct logins l = {0};

    (void)state;
    logins_add(&l, new_login("aa", 0));
    assert_null(logins_take_idle(&l, LOGIN_IDLE_MS - 1));
    assert_null(logins_find(&l, "aa", LOGIN_IDLE_MS));
    drop(logins_take_idle(&l, LOGIN_IDLE_MS));
}

static void the_one_not_used_for_longest_makes_room(void **state)
{
    struct logins l = {0};
    struct login *gone;

    (void)state;
    for (int i = 0; i < LOGINS_MAX; i++) {
        assert_null(logins_add(&l, new_login(i == 7 ? "old" : "new", i == 7 ? 1 : 2)));
    }
    gone = logins_add(&l, new_login("newest", 3));
    assert_string_equal(gone->token, "old");
    drop(gone);
    while ((gone = logins_take_idle(&l, INT64_MAX)) != NULL) {
        drop(gone);
    }
}

static void five_may_fail_in_a_minute(void **state)
{
    struct logins l = {0};

    (void)state;
    for (int i = 0; i < TRIES_PER_ADDRESS; i++) {
        assert_true(logins_may_try(&l, "a", 10));
    }
    assert_false(logins_may_try(&l, "a", 10 + TRY_MS - 1));
    assert_true(logins_may_try(&l, "b", 10));
    assert_true(logins_may_try(&l, "a", 10 + TRY_MS));
}

static void a_try_that_succeeds_does_not_count(void **state)
{
    struct logins l = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(logins_may_try(&l, "a", 1));
        logins_succeeded(&l, "a");
    }
    assert_int_equal(l.n_tries, 0);
}

static void all_together_have_a_limit_too(void **state)
{
    struct logins l = {0};
    char address[32];
    int n = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(address, sizeof(address), "10.0.%d.%d", i / 256, i % 256);
        n += logins_may_try(&l, address, 1);
    }
    assert_int_equal(n, TRIES_OF_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_its_whole_token),
        cmocka_unit_test(one_that_is_not_used_is_over),
        cmocka_unit_test(the_one_not_used_for_longest_makes_room),
        cmocka_unit_test(five_may_fail_in_a_minute),
        cmocka_unit_test(a_try_that_succeeds_does_not_count),
        cmocka_unit_test(all_together_have_a_limit_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
