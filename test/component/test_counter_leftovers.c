/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, shared values and counters that were freed have left nothing on the server: no watch,
 * and no node that was theirs alone; while the session goes on. */
#define _GNU_SOURCE
#include "lib/client_fixture.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"

enum { ROUNDS = 20 };

static void barriers_leave_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_barrier *b;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(pawl_barrier_new(c, "/l/barrier", &b), 0);
        assert_int_equal(pawl_barrier_raise(b), 0);
        assert_int_equal(pawl_barrier_wait(b, i % 3), PAWL_ERR_OPERATION_TIMEOUT);
        pawl_barrier_free(b);
    }
    until_no_watches();
    pawl_client_close(c);
}

static void double_barriers_leave_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_double_barrier *a, *b;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(pawl_double_barrier_new(c, "/l/double", 2, &a), 0);
        assert_int_equal(pawl_double_barrier_new(c, "/l/double", 2, &b), 0);
        assert_int_equal(pawl_double_barrier_enter(a, i % 3), PAWL_ERR_OPERATION_TIMEOUT);
        assert_int_equal(pawl_double_barrier_enter_async(a, -1, NULL, NULL),
                         PAWL_ERR_BAD_ARGUMENTS);
        assert_int_equal(pawl_double_barrier_enter(b, 1), PAWL_ERR_OPERATION_TIMEOUT);
        pawl_double_barrier_free(a);
        pawl_double_barrier_free(b);
    }
    until_no_watches();
    until_nodes(c, "/l/double", 0);
    pawl_client_close(c);
}

static void shared_values_leave_their_node_and_nothing_else(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_count *s;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(pawl_shared_count_new(c, "/l/count", 1, NULL, NULL, &s), 0);
        assert_int_equal(pawl_shared_count_start(s), 0);
        assert_int_equal(pawl_shared_count_set(s, i), 0);
        if (i % 2 == 1) {
            assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/l/count"), NULL), 0);
        }
        pawl_shared_count_free(s);
    }
    until_no_watches();
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_leave_nothing),
        cmocka_unit_test(double_barriers_leave_nothing),
        cmocka_unit_test(shared_values_leave_their_node_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
