/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out under read/write locks, multilocks and semaphores: at the first allocation, at
 * the second, and so on until none fails any more. Whoever asked is told, nothing aborts, hangs or
 * leaks. A node whose creation could not be reported to us goes with our session: each round has
 * its own. */
#define _GNU_SOURCE
#include "lib/client_fixture.h"
#include "lib/failing_memory.h"
#include "lib/forked_server.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"

enum { MOST_ALLOCATIONS = 600 };

static struct pawl_client *open_client(void)
{
    struct pawl_client_options o = client_fixture_options();

    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 5, .pause_ms = 1};
    return client_fixture_open(&o);
}

static void check(int rc, bool failed)
{
    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
}

static bool downgrade(struct pawl_client *c, long n)
{
    struct pawl_rwlock *rw = NULL;
    bool failed;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_rwlock_new(c, "/rw", NULL, &rw);
    rc = rc != 0 ? rc : pawl_lock_acquire(pawl_rwlock_writer(rw), SOON_MS);
    rc = rc != 0 ? rc : pawl_lock_acquire(pawl_rwlock_reader(rw), SOON_MS);
    rc = rc != 0 ? rc : pawl_lock_release(pawl_rwlock_writer(rw));
    rc = rc != 0 ? rc : pawl_lock_release(pawl_rwlock_reader(rw));
    pawl_rwlock_free(rw);
    failed = failing_memory_disarm();
    check(rc, failed);
    return failed;
}

static bool take_two_locks(struct pawl_client *c, long n)
{
    struct pawl_lock *locks[2] = {NULL, NULL};
    struct pawl_multilock *m = NULL;
    bool failed;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_lock_new(c, "/ml/one", NULL, &locks[0]);
    rc = rc != 0 ? rc : pawl_lock_new(c, "/ml/two", NULL, &locks[1]);
    rc = rc != 0 ? rc : pawl_multilock_new(locks, 2, &m);
    rc = rc != 0 ? rc : pawl_multilock_acquire(m, SOON_MS);
    rc = rc != 0 ? rc : pawl_multilock_release(m);
    failed = failing_memory_disarm();
    check(rc, failed);
    pawl_multilock_free(m);
    pawl_lock_free(locks[0]);
    pawl_lock_free(locks[1]);
    return failed;
}

static bool take_two_leases(struct pawl_client *c, long n)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 2, .count = "/sem/count"};
    struct pawl_lease *leases[2];
    struct pawl_semaphore *s = NULL;
    bool failed;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_semaphore_new(c, "/sem", &o, &s);
    rc = rc != 0 ? rc : pawl_semaphore_acquire_n(s, 2, SOON_MS, leases);
    rc = rc != 0 ? rc : pawl_lease_release(leases[0]);
    pawl_semaphore_free(s); /* the other one goes with it */
    failed = failing_memory_disarm();
    check(rc, failed);
    return failed;
}

/* Which is there already, and watched when memory goes. */
static bool follow_a_count(struct pawl_client *c, long n)
{
    const uint8_t two[4] = {0, 0, 0, 2};
    int rc = pawl_create(
        c, PAWL_CREATE(.path = "/sem/count", .data = {two, 4}, .flags = PAWL_OP_PARENTS), NULL);

    assert_true(rc == 0 || rc == PAWL_ERR_NODE_EXISTS);
    return take_two_leases(c, n);
}

static void got(struct pawl_semaphore *s, int err, struct pawl_lease *const *leases, size_t n,
                void *told)
{
    (void)s;
    (void)leases;
    (void)n;
    told_end(told, err);
}

/* It waits when memory goes, and a lease comes back. */
static bool wait_for_a_lease(struct pawl_client *c, long n)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 1};
    struct pawl_lease *held;
    struct pawl_semaphore *s;
    struct told t;
    bool failed;
    int rc;

    told_init(&t);
    assert_int_equal(pawl_semaphore_new(c, "/sem", &o, &s), 0);
    assert_int_equal(pawl_semaphore_acquire(s, SOON_MS, &held), 0);
    assert_int_equal(pawl_semaphore_acquire_async(s, 1, -1, got, &t), 0);
    until_nodes(c, "/sem/leases", 2);
    failing_memory_arm(n, 1);
    rc = pawl_lease_release(held);
    if (rc == 0) {
        rc = told_wait(&t);
    } else { /* nothing was done, or the answer to it had no room */
        pawl_semaphore_cancel(s);
        told_wait(&t);
    }
    pawl_semaphore_free(s);
    failed = failing_memory_disarm();
    check(rc, failed);
    return failed;
}

static void run(bool (*once)(struct pawl_client *c, long n), const char *path, const char *other)
{
    struct pawl_client *witness = open_client();
    long n = 0;
    bool failed;

    do {
        struct pawl_client *c = open_client();

        failed = once(c, n++);
        assert_true(n < MOST_ALLOCATIONS);
        pawl_client_close(c);
        until_nodes(witness, path, 0);
        until_nodes(witness, other, 0);
    } while (failed);
    assert_true(n > 5); /* or it is not looked at */
    pawl_client_close(witness);
}

static void a_read_write_lock_says_so(void **state)
{
    (void)state;
    run(downgrade, "/rw", "/rw");
}

static void a_multilock_says_so(void **state)
{
    (void)state;
    run(take_two_locks, "/ml/one", "/ml/two");
}

static void a_semaphore_says_so(void **state)
{
    (void)state;
    run(take_two_leases, "/sem/leases", "/sem/locks");
}

static void a_semaphore_that_follows_a_count_says_so(void **state)
{
    (void)state;
    run(follow_a_count, "/sem/leases", "/sem/locks");
}

static void who_waits_for_a_lease_is_told(void **state)
{
    (void)state;
    run(wait_for_a_lease, "/sem/leases", "/sem/locks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_write_lock_says_so),
        cmocka_unit_test(a_multilock_says_so),
        cmocka_unit_test(a_semaphore_says_so),
        cmocka_unit_test(a_semaphore_that_follows_a_count_says_so),
        cmocka_unit_test(who_waits_for_a_lease_is_told),
    };

    if (!forked_server_start()) {
        return 1;
    }
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
