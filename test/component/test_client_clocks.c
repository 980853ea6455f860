/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that slept, or was stopped from outside: who held a lock is not certain any more. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "lib/client_fixture.h"
#include "lib/test.h"
#include "os/clock.h"

static _Atomic int64_t wall_jump_ms, boot_jump_ms;

int64_t __real_clock_wall_ms(void);
int64_t __real_clock_boot_ms(void);
int64_t __wrap_clock_wall_ms(void);
int64_t __wrap_clock_boot_ms(void);

int64_t __wrap_clock_wall_ms(void)
{
    return __real_clock_wall_ms() + atomic_load(&wall_jump_ms);
}

int64_t __wrap_clock_boot_ms(void)
{
    return __real_clock_boot_ms() + atomic_load(&boot_jump_ms);
}

static struct pawl_lock *hold(struct pawl_client *c, const char *path)
{
    struct pawl_lock *l;

    assert_int_equal(pawl_lock_new(c, path, NULL, &l), PAWL_OK);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_OK);
    assert_true(pawl_grant_certain_ms(pawl_lock_grant(l)) > 0);
    return l;
}

static void is_doubtful_then_certain_again(struct pawl_lock *l)
{
    assert_int_equal(pawl_grant_certain_ms(pawl_lock_grant(l)), 0);
    wait_until(pawl_grant_certain_ms(pawl_lock_grant(l)) > 0); /* the server still knows us */
}

static void who_slept_is_not_certain(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = hold(c, "/slept");

    (void)state;
    atomic_fetch_add(&wall_jump_ms, 60000); /* both go on while the machine sleeps */
    atomic_fetch_add(&boot_jump_ms, 60000);
    assert_int_equal(pawl_grant_certain_ms(pawl_lock_grant(l)), 0);
    assert_int_equal(pawl_client_certain_ms(c), 0);
    pawl_lock_free(l);
    pawl_client_close(c);
}

static void who_was_stopped_from_outside_is_not_certain(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = hold(c, "/stopped");

    (void)state;
    atomic_fetch_add(&wall_jump_ms, 60000); /* nothing else tells */
    is_doubtful_then_certain_again(l);
    assert_true(pawl_lock_held(l));
    pawl_lock_free(l);
    pawl_client_close(c);
}

/* What the session can bear is taken off, and the link stays. */
static void a_small_jump_counts_as_time(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = hold(c, "/small");
    int64_t before = pawl_grant_certain_ms(pawl_lock_grant(l)), after;

    (void)state;
    atomic_fetch_add(&wall_jump_ms, 5000);
    after = pawl_grant_certain_ms(pawl_lock_grant(l));
    assert_true(after <= before - 5000);
    assert_true(after > 0);
    assert_int_equal(pawl_client_state(c), PAWL_STATE_CONNECTED);
    pawl_lock_free(l);
    pawl_client_close(c);
}

static void a_clock_set_back_is_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = hold(c, "/back");

    (void)state;
    atomic_fetch_sub(&wall_jump_ms, 3600000);
    assert_true(pawl_grant_certain_ms(pawl_lock_grant(l)) > 0);
    assert_int_equal(pawl_client_state(c), PAWL_STATE_CONNECTED);
    pawl_lock_free(l);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_jump_counts_as_time),
        cmocka_unit_test(a_clock_set_back_is_nothing),
        cmocka_unit_test(who_was_stopped_from_outside_is_not_certain),
        cmocka_unit_test(who_slept_is_not_certain),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
