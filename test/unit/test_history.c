/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/history.h"

#include "lib/test.h"

#define Z(epoch, counter) zxid_make(epoch, counter)

/* base 1:4, records 1:5..1:9, 3:1..3:2 */
static struct history some_history(void)
{
    struct history h;

    history_begin(&h, Z(1, 4));
    for (int64_t i = 5; i <= 9; i++) {
        history_append(&h, Z(1, i));
    }
    history_append(&h, Z(3, 1));
    history_append(&h, Z(3, 2));
    return h;
}

static void zxids_are_consecutive_or_the_first_of_a_later_epoch(void **state)
{
    struct history h = some_history();

    (void)state;
    assert_int_equal(h.n_runs, 2);
    assert_int_equal(history_last(&h), Z(3, 2));
    assert_true(history_may_follow(&h, Z(3, 3)));
    assert_true(history_may_follow(&h, Z(4, 1)));
    assert_false(history_may_follow(&h, Z(3, 2)));
    assert_false(history_may_follow(&h, Z(3, 4)));
    assert_false(history_may_follow(&h, Z(4, 2)));
    assert_false(history_may_follow(&h, Z(4, 0)));
    assert_false(history_may_follow(&h, Z(2, 1)));
    assert_false(history_may_follow(&h, -1));
    history_fini(&h);
}

static void behind_an_epoch_without_transactions_comes_its_first(void **state)
{
    struct history h;

    (void)state;
    history_begin(&h, Z(2, 0));
    assert_true(history_may_follow(&h, Z(2, 1)));
    assert_false(history_may_follow(&h, Z(2, 2)));
    history_fini(&h);
}

static void neighbours_are_found_across_epochs(void **state)
{
    struct history h = some_history();

    (void)state;
    assert_int_equal(history_next(&h, 0), Z(1, 5));
    assert_int_equal(history_next(&h, Z(1, 4)), Z(1, 5));
    assert_int_equal(history_next(&h, Z(1, 9)), Z(3, 1));
    assert_int_equal(history_next(&h, Z(2, 7)), Z(3, 1));
    assert_int_equal(history_next(&h, Z(3, 2)), 0);
    assert_int_equal(history_before(&h, Z(3, 1)), Z(1, 9));
    assert_int_equal(history_before(&h, Z(3, 2)), Z(3, 1));
    assert_int_equal(history_before(&h, Z(9, 9)), Z(3, 2));
    assert_int_equal(history_before(&h, Z(1, 5)), 0);
    assert_true(history_has(&h, Z(1, 5)));
    assert_false(history_has(&h, Z(1, 4)));
    assert_false(history_has(&h, Z(1, 10)));
    history_fini(&h);
}

static void a_cut_takes_the_end_and_a_trim_the_beginning(void **state)
{
    struct history h = some_history();

    (void)state;
    history_cut(&h, Z(3, 1));
    assert_int_equal(history_last(&h), Z(3, 1));
    history_cut(&h, Z(1, 7));
    assert_int_equal(history_last(&h), Z(1, 7));
    history_trim(&h, Z(1, 5));
    assert_int_equal(h.base, Z(1, 5));
    assert_int_equal(history_next(&h, 0), Z(1, 6));
    history_trim(&h, Z(1, 2)); /* gone already */
    assert_int_equal(h.base, Z(1, 5));
    history_cut(&h, Z(1, 3)); /* before the base */
    assert_int_equal(h.base, Z(1, 3));
    assert_int_equal(history_last(&h), Z(1, 3));
    history_fini(&h);

    h = some_history();
    history_trim(&h, Z(1, 9));
    assert_int_equal(history_next(&h, 0), Z(3, 1));
    history_trim(&h, Z(9, 9)); /* at most all of it */
    assert_int_equal(h.base, Z(3, 2));
    assert_int_equal(h.n_runs, 0);
    history_fini(&h);
}

static void what_a_log_has_behind_a_hole_is_all_that_counts(void **state)
{
    struct history h;

    (void)state;
    history_begin(&h, 0);
    history_found(&h, Z(1, 1));
    history_found(&h, Z(1, 2));
    history_found(&h, Z(1, 7));
    assert_int_equal(h.base, Z(1, 6));
    assert_int_equal(h.n_runs, 1);
    history_found(&h, Z(2, 1));
    assert_int_equal(h.n_runs, 2);
    history_fini(&h);
}

static void a_copy_is_its_own(void **state)
{
    struct history h = some_history();
    struct history copy;

    (void)state;
    history_copy(&copy, &h);
    history_append(&copy, Z(3, 3));
    assert_int_equal(history_last(&h), Z(3, 2));
    assert_int_equal(history_last(&copy), Z(3, 3));
    history_fini(&h);
    history_fini(&copy);
}

/* --- DIFF, TRUNC or SNAP --- */

struct row {
    const char *why;
    int64_t p;
    int64_t last;
    int64_t tree;
    struct sync_plan plan;
};

#define DIFF(z)            \
    {                      \
        SYNC_DIFF, z, 0, 0 \
    }
#define DIFF_FROM(z, first)    \
    {                          \
        SYNC_DIFF, z, first, z \
    }
#define TRUNC(z)            \
    {                       \
        SYNC_TRUNC, z, 0, 0 \
    }
#define SNAP(z)            \
    {                      \
        SYNC_SNAP, z, 0, 0 \
    }

static void check_rows(const struct history *h, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        struct sync_plan plan = history_plan(h, r->p, r->last, r->tree);

        print_message("    %s\n", r->why);
        assert_int_equal(plan.kind, r->plan.kind);
        assert_int_equal(plan.zxid, r->plan.zxid);
        assert_int_equal(plan.from, r->plan.from);
        assert_int_equal(plan.to, r->plan.to);
    }
}

static void each_row_of_the_decision(void **state)
{
    struct history h = some_history(); /* base 1:4 | 1:5..1:9 | 3:1..3:2 */
    const int64_t L = Z(3, 2);
    const struct row rows[] = {
        {"the same end", Z(3, 2), L, L, DIFF(Z(3, 2))},
        {"the tree's zxid, no transaction in the epoch", Z(4, 0), L, Z(4, 0), DIFF(Z(4, 0))},
        {"our last record, no transaction in the epoch", Z(3, 2), L, Z(4, 0), DIFF(L)},
        {"in our history", Z(3, 1), L, L, DIFF_FROM(L, Z(3, 2))},
        {"in an earlier epoch of it", Z(1, 7), L, L, DIFF_FROM(L, Z(1, 8))},
        {"the last one of an earlier epoch", Z(1, 9), L, L, DIFF_FROM(L, Z(3, 1))},
        {"what lies below it", Z(1, 4), L, L, DIFF_FROM(L, Z(1, 5))},
        {"older than that", Z(1, 3), L, L, SNAP(L)},
        {"nothing", 0, L, L, SNAP(L)},
        {"behind the end, same epoch", Z(3, 7), L, L, TRUNC(L)},
        {"behind the end, same epoch, ours has begun", Z(3, 7), L, Z(4, 0), TRUNC(L)},
        {"behind the end, another epoch", Z(5, 1), L, L, SNAP(L)},
        {"behind the end, counter 0", Z(5, 0), L, L, SNAP(L)},
        {"not in our history: a tail that was skipped", Z(1, 12), L, L, SNAP(L)},
        {"not in our history: an epoch that was skipped", Z(2, 3), L, L, SNAP(L)},
        {"counter 0 inside", Z(3, 0), L, L, DIFF_FROM(L, Z(3, 1))},
        {"counter 0 of an epoch between", Z(2, 0), L, L, DIFF_FROM(L, Z(3, 1))},
        {"counter 0 before all of it", Z(1, 0), L, L, SNAP(L)},
        {"what is proposed but not committed", Z(3, 2), Z(3, 1), Z(3, 1), TRUNC(Z(3, 1))},
        {"only what is committed is sent", Z(1, 9), Z(3, 1), Z(3, 1), DIFF_FROM(Z(3, 1), Z(3, 1))},
        {"nonsense", -5, L, L, SNAP(L)},
        {"more nonsense", INT64_MIN, L, L, SNAP(L)},
        {"and more", INT64_MAX, L, L, SNAP(L)},
    };

    (void)state;
    check_rows(&h, rows, TEST_COUNT(rows));
    history_fini(&h);
}

static void with_nothing_logged(void **state)
{
    struct history h;
    const struct row fresh[] = {
        {"fresh members", 0, 0, 0, DIFF(0)},
        {"a fresh member that comes late", 0, 0, Z(1, 0), SNAP(Z(1, 0))},
        {"a member with data that were skipped", Z(1, 3), 0, Z(2, 0), SNAP(Z(2, 0))},
    };
    const struct row snapshot[] = {
        {"the snapshot's end", Z(1, 8), Z(1, 8), Z(1, 8), DIFF(Z(1, 8))},
        {"the snapshot's end, later", Z(1, 8), Z(1, 8), Z(2, 0), DIFF(Z(1, 8))},
        {"behind it", Z(1, 9), Z(1, 8), Z(2, 0), TRUNC(Z(1, 8))},
        {"before it", Z(1, 7), Z(1, 8), Z(2, 0), SNAP(Z(2, 0))},
    };
    const struct row between[] = {
        /* A snapshot of counter 0 is no record: the learner could not find where to cut. */
        {"behind a snapshot of counter 0", Z(2, 3), Z(2, 0), Z(3, 0), SNAP(Z(3, 0))},
    };

    (void)state;
    history_begin(&h, 0);
    check_rows(&h, fresh, TEST_COUNT(fresh));
    history_begin(&h, Z(1, 8));
    check_rows(&h, snapshot, TEST_COUNT(snapshot));
    history_begin(&h, Z(2, 0));
    check_rows(&h, between, TEST_COUNT(between));
    history_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zxids_are_consecutive_or_the_first_of_a_later_epoch),
        cmocka_unit_test(behind_an_epoch_without_transactions_comes_its_first),
        cmocka_unit_test(neighbours_are_found_across_epochs),
        cmocka_unit_test(a_cut_takes_the_end_and_a_trim_the_beginning),
        cmocka_unit_test(what_a_log_has_behind_a_hole_is_all_that_counts),
        cmocka_unit_test(a_copy_is_its_own),
        cmocka_unit_test(each_row_of_the_decision),
        cmocka_unit_test(with_nothing_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
