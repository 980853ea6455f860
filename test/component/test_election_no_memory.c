/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out under elections: at the first allocation, at the second, and so on until none
 * fails any more. Whoever asked is told, nothing aborts, hangs or leaks. A node whose creation
 * could not be reported to us goes with our session: each round has its own. */
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

/* ---- latch ---- */

static bool lead_a_latch(struct pawl_client *c, struct pawl_client *witness, long n)
{
    struct pawl_latch *l = NULL;
    bool failed;
    int rc;

    (void)witness;
    failing_memory_arm(n, 1);
    rc = pawl_latch_new(c, "/latch/a", NULL, &l);
    rc = rc != 0 ? rc : pawl_latch_start(l);
    rc = rc != 0 ? rc : pawl_latch_wait(l, SOON_MS);
    pawl_latch_free(l);
    failed = failing_memory_disarm();
    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
    return failed;
}

/* The one ahead goes, and so does memory. */
static bool succeed_a_latch(struct pawl_client *c, struct pawl_client *witness, long n)
{
    struct pawl_latch *l = NULL, *first = NULL;
    bool failed;
    int rc;

    assert_int_equal(pawl_latch_new(witness, "/latch/b", NULL, &first), 0);
    assert_int_equal(pawl_latch_start(first), 0);
    assert_int_equal(pawl_latch_wait(first, SOON_MS), 0);
    assert_int_equal(pawl_latch_new(c, "/latch/b", NULL, &l), 0);
    assert_int_equal(pawl_latch_start(l), 0);
    until_nodes(witness, "/latch/b", 2);
    failing_memory_arm(n, 1);
    pawl_latch_free(first);
    do { /* it may have been told before it was asked */
        rc = pawl_latch_wait(l, SOON_MS);
    } while (rc == PAWL_ERR_NO_MEMORY);
    failed = failing_memory_disarm();
    assert_int_equal(rc, 0);
    pawl_latch_free(l);
    return failed;
}

static void run(bool (*once)(struct pawl_client *c, struct pawl_client *witness, long n), long step,
                const char *path, int n_left)
{
    long n = 0;
    bool failed;

    do {
        struct pawl_client *c = open_client(), *witness = open_client();

        failed = once(c, witness, n);
        n += step;
        assert_true(n < MOST_ALLOCATIONS);
        pawl_client_close(c);
        until_nodes(witness, path, n_left);
        pawl_client_close(witness);
    } while (failed);
    assert_true(n > 5); /* or it is not looked at */
}

static void a_latch_that_cannot_start_says_so(void **state)
{
    (void)state;
    run(lead_a_latch, 1, "/latch/a", 0);
}

static void a_latch_leads_in_the_end(void **state)
{
    (void)state;
    run(succeed_a_latch, 3, "/latch/b", 0);
}

/* ---- selector ---- */

static void lead(struct pawl_selector *s, uint64_t token, void *arg)
{
    (void)s;
    (void)token;
    sem_post(arg);
}

static void on_error(struct pawl_selector *s, int err, void *arg)
{
    (void)s;
    assert_int_equal(err, PAWL_ERR_NO_MEMORY);
    sem_post(arg);
}

static bool lead_a_selector(struct pawl_client *c, struct pawl_client *witness, long n)
{
    sem_t some;
    struct pawl_selector_options o = {
        .size = sizeof(o), .lead = lead, .on_error = on_error, .arg = &some};
    struct pawl_selector *s = NULL;
    bool failed;
    int rc;

    (void)witness;
    sem_init(&some, 0, 0);
    failing_memory_arm(n, 1);
    rc = pawl_selector_new(c, "/selector/a", &o, &s);
    rc = rc != 0 ? rc : pawl_selector_start(s);
    if (rc == 0) {
        wait_semaphore(&some);
    }
    pawl_selector_free(s);
    failed = failing_memory_disarm();
    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
    return failed;
}

static void a_selector_leads_or_says_why_not(void **state)
{
    (void)state;
    run(lead_a_selector, 1, "/selector/a", 0);
}

/* ---- participants ---- */

static bool call_the_roll(struct pawl_client *c, struct pawl_client *witness, long n)
{
    struct pawl_participants *p = NULL;
    bool failed;
    int rc;

    (void)witness;
    failing_memory_arm(n, 1);
    rc = pawl_participants(c, "/queue", &p);
    failed = failing_memory_disarm();
    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
    assert_true(rc != 0 || p->n == 3);
    pawl_participants_free(p);
    return failed;
}

static void participants_are_all_there_or_an_error(void **state)
{
    struct pawl_client *c = open_client();

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/queue", .flags = PAWL_OP_PARENTS), NULL),
                     0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            pawl_create(c, PAWL_CREATE(.path = "/queue/lock-", .mode = PAWL_MODE_SEQUENTIAL), NULL),
            0);
    }
    run(call_the_roll, 1, "/queue", 3);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_latch_that_cannot_start_says_so),
        cmocka_unit_test(a_latch_leads_in_the_end),
        cmocka_unit_test(a_selector_leads_or_says_why_not),
        cmocka_unit_test(participants_are_all_there_or_an_error),
    };

    if (!forked_server_start()) {
        return 1;
    }
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
