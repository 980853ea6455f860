/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out under barriers, shared values and counters: at the first allocation, at the
 * second, and so on until none fails any more. Whoever asked is told, nothing aborts, hangs or
 * leaks, and no change is made twice. */
#define _GNU_SOURCE
#include "lib/client_fixture.h"
#include "lib/failing_memory.h"
#include "lib/forked_server.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"

enum { MOST_ALLOCATIONS = 400 };

static struct pawl_client *open_client(void)
{
    struct pawl_client_options o = client_fixture_options();

    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 5, .pause_ms = 1};
    return client_fixture_open(&o);
}

/* `once` arms memory to fail at the n-th allocation and says whether it did. */
static void run(bool (*once)(struct pawl_client *c, long n))
{
    long n = 0;
    bool failed;

    do {
        struct pawl_client *c = open_client();

        failed = once(c, n++);
        assert_true(n < MOST_ALLOCATIONS);
        pawl_client_close(c);
    } while (failed);
    assert_true(n > 5); /* or it is not looked at */
}

static bool expect(int rc)
{
    bool failed = failing_memory_disarm();

    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
    return failed;
}

static bool raise_and_lift(struct pawl_client *c, long n)
{
    struct pawl_barrier *b = NULL;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_barrier_new(c, "/m/barrier", &b);
    rc = rc != 0 ? rc : pawl_barrier_raise(b);
    rc = rc != 0 ? rc : pawl_barrier_lift(b);
    rc = rc != 0 ? rc : pawl_barrier_wait(b, SOON_MS);
    pawl_barrier_free(b);
    return expect(rc);
}

static void a_barrier_works_or_says_why_not(void **state)
{
    (void)state;
    run(raise_and_lift);
}

static bool enter_and_leave(struct pawl_client *c, long n)
{
    struct pawl_double_barrier *b = NULL;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_double_barrier_new(c, "/m/double", 1, &b);
    rc = rc != 0 ? rc : pawl_double_barrier_enter(b, SOON_MS);
    rc = rc != 0 ? rc : pawl_double_barrier_leave(b, SOON_MS);
    pawl_double_barrier_free(b);
    return expect(rc);
}

static void a_double_barrier_works_or_says_why_not(void **state)
{
    (void)state;
    run(enter_and_leave);
}

static bool share(struct pawl_client *c, long n)
{
    struct pawl_shared_count *s = NULL;
    struct pawl_versioned_count value;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_shared_count_new(c, "/m/count", 1, NULL, NULL, &s);
    rc = rc != 0 ? rc : pawl_shared_count_start(s);
    rc = rc != 0 ? rc : pawl_shared_count_set(s, 2);
    rc = rc != 0 ? rc : pawl_shared_count_get(s, &value);
    pawl_shared_count_free(s);
    return expect(rc);
}

static void a_shared_count_works_or_says_why_not(void **state)
{
    (void)state;
    run(share);
}

/* What it says it has done it has done, and nothing else. */
static int64_t counted;

static bool count(struct pawl_client *c, long n)
{
    struct pawl_atomic_options o = {.size = sizeof(o), .lock_path = "/m/lock"};
    struct pawl_atomic_result r = {.succeeded = false};
    struct pawl_atomic *a = NULL;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_atomic_new(c, "/m/atomic", &o, &a);
    rc = rc != 0 ? rc : pawl_atomic_increment(a, &r);
    assert_true(rc == 0 || r.outcome != PAWL_OUTCOME_UNKNOWN);
    counted += r.succeeded;
    pawl_atomic_free(a);
    return expect(rc);
}

static void a_number_is_changed_or_is_not(void **state)
{
    struct pawl_atomic_result r;
    struct pawl_client *c;
    struct pawl_atomic *a;

    (void)state;
    run(count);
    c = open_client();
    assert_int_equal(pawl_atomic_new(c, "/m/atomic", NULL, &a), 0);
    assert_int_equal(pawl_atomic_get(a, &r), 0);
    assert_int_equal(r.after, counted);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_works_or_says_why_not),
        cmocka_unit_test(a_double_barrier_works_or_says_why_not),
        cmocka_unit_test(a_shared_count_works_or_says_why_not),
        cmocka_unit_test(a_number_is_changed_or_is_not),
    };

    if (!forked_server_start()) {
        return 1;
    }
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
