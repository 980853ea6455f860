/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that slept, or was stopped from outside: who held a lock is not certain any more.
 *
 * The library notices by itself and asks the server again, so its link is frozen while the test
 * looks. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "lib/client_fixture.h"
#include "lib/test.h"
#include "os/clock.h"

enum { LONG_SESSION_MS = 600000, JUMP_MS = 60000 };

/* What the wall clock was set by, and how long the machine slept, which both clocks count: one
 * number each, so that nobody sees half a sleep. */
static _Atomic int64_t set_by_ms, slept_ms;

int64_t __real_clock_wall_ms(void);
int64_t __real_clock_boot_ms(void);
int64_t __wrap_clock_wall_ms(void);
int64_t __wrap_clock_boot_ms(void);

int64_t __wrap_clock_wall_ms(void)
{
    return __real_clock_wall_ms() + atomic_load(&set_by_ms) + atomic_load(&slept_ms);
}

int64_t __wrap_clock_boot_ms(void)
{
    return __real_clock_boot_ms() + atomic_load(&slept_ms);
}

struct holder {
    struct behind_proxy link;
    struct pawl_lock *lock;
};

/* Holds a lock, and from then on hears nothing from the server. */
static void hold(struct holder *h, const char *path, int session_timeout_ms)
{
    struct pawl_client_options o = client_fixture_options();

    o.session_timeout_ms = session_timeout_ms;
    behind_proxy_open(&h->link, &o);
    assert_int_equal(pawl_lock_new(h->link.c, path, NULL, &h->lock), PAWL_OK);
    assert_int_equal(pawl_lock_acquire(h->lock, SOON_MS), PAWL_OK);
    assert_true(pawl_grant_certain_ms(pawl_lock_grant(h->lock)) > 0);
    tcp_proxy_freeze(h->link.proxy, true);
}

static void let_go(struct holder *h)
{
    pawl_lock_free(h->lock);
    behind_proxy_close(&h->link);
}

static void is_doubtful_until_the_server_answers(struct holder *h)
{
    struct pawl_grant *g = pawl_lock_grant(h->lock);

    assert_int_equal(pawl_grant_certain_ms(g), 0);
    assert_int_equal(pawl_client_certain_ms(h->link.c), 0);
    assert_false(pawl_lock_held(h->lock));
    tcp_proxy_freeze(h->link.proxy, false);
    wait_until(pawl_grant_certain_ms(g) > 0); /* the server still knows us */
    wait_until(pawl_lock_held(h->lock));
}

static void is_on_its_first_link(struct holder *h)
{
    tcp_proxy_freeze(h->link.proxy, false);
    assert_int_equal(pawl_sync(h->link.c, "/", NULL), PAWL_OK);
    assert_int_equal(pawl_client_state(h->link.c), PAWL_STATE_CONNECTED);
    assert_int_equal(tcp_proxy_links(h->link.proxy), 1);
}

static void who_slept_is_not_certain(void **state)
{
    struct holder h;

    (void)state;
    hold(&h, "/slept", JUMP_MS / 2);
    atomic_fetch_add(&slept_ms, JUMP_MS);
    is_doubtful_until_the_server_answers(&h);
    let_go(&h);
}

static void who_was_stopped_from_outside_is_not_certain(void **state)
{
    struct holder h;

    (void)state;
    hold(&h, "/stopped", JUMP_MS / 2);
    atomic_fetch_add(&set_by_ms, JUMP_MS); /* nothing else tells */
    is_doubtful_until_the_server_answers(&h);
    let_go(&h);
}

/* What the session can bear is taken off, and the link stays. */
static void a_small_jump_counts_as_time(void **state)
{
    struct holder h;
    int64_t after;

    (void)state;
    hold(&h, "/small", LONG_SESSION_MS);
    assert_true(pawl_grant_certain_ms(pawl_lock_grant(h.lock)) > LONG_SESSION_MS - JUMP_MS);
    atomic_fetch_add(&set_by_ms, JUMP_MS);
    after = pawl_grant_certain_ms(pawl_lock_grant(h.lock));
    assert_true(after <= LONG_SESSION_MS - JUMP_MS);
    assert_true(after > 0);
    is_on_its_first_link(&h);
    let_go(&h);
}

static void a_clock_set_back_is_nothing(void **state)
{
    struct holder h;

    (void)state;
    hold(&h, "/back", LONG_SESSION_MS);
    atomic_fetch_sub(&set_by_ms, 3600000);
    assert_true(pawl_grant_certain_ms(pawl_lock_grant(h.lock)) > 0);
    is_on_its_first_link(&h);
    let_go(&h);
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
