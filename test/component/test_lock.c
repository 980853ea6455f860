/* SPDX-License-Identifier: Apache-2.0 */
/* The lock and its grant, against a real server, over a link that can be cut. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "lib/test.h"

#include "lib/recipe_helpers.h"
#include "pawl/lock.h"

static struct pawl_lock *new_lock(struct pawl_client *c, const char *path,
                                  const struct pawl_lock_options *options)
{
    struct pawl_lock *l = NULL;

    assert_int_equal(pawl_lock_new(c, path, options, &l), 0);
    return l;
}

/* ---- one holder ---- */

static void what_is_acquired_is_held_until_released(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = new_lock(c, "/locks/a", NULL);
    uint64_t first;

    (void)state;
    assert_false(pawl_lock_held(l));
    assert_int_equal(pawl_lock_token(l), 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    assert_true(pawl_lock_held(l));
    assert_true(pawl_grant_certain_ms(pawl_lock_grant(l)) > 0);
    first = pawl_lock_token(l);
    assert_true(first > 0);
    assert_int_equal(pawl_lock_acquire(l, 0), 0);
    assert_int_equal(pawl_lock_depth(l), 2);
    assert_int_equal(pawl_lock_release(l), 0);
    assert_true(pawl_lock_held(l));
    assert_int_equal(pawl_lock_release(l), 0);
    assert_false(pawl_lock_held(l));
    assert_int_equal(n_nodes(c, "/locks/a"), 0);
    assert_int_equal(pawl_lock_release(l), PAWL_ERR_NOT_HELD);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    assert_true(pawl_lock_token(l) > first);
    pawl_lock_free(l);
    until_nodes(c, "/locks/a", 0);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l;

    (void)state;
    assert_int_equal(pawl_lock_new(c, "no/slash", NULL, &l), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_lock_new(NULL, "/a", NULL, &l), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_lock_acquire(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_lock_release(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_false(pawl_lock_held(NULL));
    assert_int_equal(pawl_grant_certain_ms(NULL), 0);
    pawl_lock_free(NULL);
    pawl_client_close(c);
}

/* ---- contention ---- */

static void a_try_on_a_lock_that_is_held_changes_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/try", NULL), *b = new_lock(c, "/locks/try", NULL);
    struct pawl_reply *before, *after;

    (void)state;
    assert_int_equal(pawl_lock_acquire(a, 0), 0);
    assert_int_equal(pawl_exists(c, "/locks/try", NULL, &before), 0);
    assert_int_equal(pawl_lock_acquire(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_exists(c, "/locks/try", NULL, &after), 0);
    assert_int_equal(before->stat.cversion, after->stat.cversion);
    pawl_reply_free(before);
    pawl_reply_free(after);
    pawl_lock_free(a);
    pawl_lock_free(b);
    pawl_client_close(c);
}

static void who_gives_up_leaves_no_node_behind(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/b", NULL), *b = new_lock(c, "/locks/b", NULL);

    (void)state;
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire(b, 100), PAWL_ERR_OPERATION_TIMEOUT);
    until_nodes(c, "/locks/b", 1);
    assert_int_equal(pawl_lock_release(a), 0);
    assert_int_equal(pawl_lock_acquire(b, SOON_MS), 0);
    pawl_lock_free(a);
    pawl_lock_free(b);
    pawl_client_close(c);
}

static void a_release_hands_over_to_the_next_in_line(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/c", NULL), *b = new_lock(d, "/locks/c", NULL);
    struct told t = {.err = 1};
    uint64_t first;

    (void)state;
    sem_init(&t.done, 0, 0);
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    first = pawl_lock_token(a);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    until_nodes(c, "/locks/c", 2);
    assert_int_equal(t.err, 1);
    assert_int_equal(pawl_lock_release(a), 0);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, 0);
    assert_true(pawl_lock_held(b));
    assert_true(pawl_lock_token(b) > first);
    assert_int_equal(pawl_lock_release_async(b, tell_lock, &t), 0);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, 0);
    pawl_lock_free(a);
    pawl_lock_free(b);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void cancel_and_free_end_those_who_wait(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/d", NULL), *b = new_lock(c, "/locks/d", NULL);
    struct told t;

    (void)state;
    sem_init(&t.done, 0, 0);
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    pawl_lock_cancel(b);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, PAWL_ERR_CANCELLED);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    until_nodes(c, "/locks/d", 2);
    pawl_lock_free(b);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, PAWL_ERR_CANCELLED);
    until_nodes(c, "/locks/d", 1);
    pawl_lock_free(a);
    pawl_client_close(c);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 50 };

struct shared {
    struct pawl_lock *l;
    int inside, total;
    uint64_t last_token;
};

static void *count(void *arg)
{
    struct shared *s = arg;

    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(pawl_lock_acquire(s->l, -1), 0);
        assert_int_equal(s->inside++, 0);
        assert_true(pawl_lock_token(s->l) > s->last_token);
        s->last_token = pawl_lock_token(s->l);
        s->total++;
        s->inside--;
        assert_int_equal(pawl_lock_release(s->l), 0);
    }
    assert_int_equal(pawl_lock_release(s->l), PAWL_ERR_NOT_HELD);
    return NULL;
}

static void threads_of_one_handle_contend_when_they_own_it(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .owner = PAWL_OWNER_THREAD};
    struct pawl_client *c = client_fixture_open(NULL);
    struct shared s = {.l = new_lock(c, "/locks/e", &o)};
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, count, &s);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(s.total, THREADS * ROUNDS);
    assert_int_equal(n_nodes(c, "/locks/e"), 0);
    pawl_lock_free(s.l);
    pawl_client_close(c);
}

struct churn {
    struct pawl_lock *l;
    _Atomic bool over;
    _Atomic int n_asked; /* rounds of questions */
};

/* Holds now and then, and asks at any time. What a thread leaves behind when it has released,
 * others clear away. */
static void *hold_and_ask(void *arg)
{
    struct churn *x = arg;

    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(pawl_lock_acquire(x->l, -1), 0);
        assert_true(pawl_lock_held(x->l) && pawl_lock_token(x->l) > 0);
        assert_int_equal(pawl_lock_depth(x->l), 1);
        assert_int_equal(pawl_lock_release(x->l), 0);
        for (int k = 0; k < ROUNDS; k++) {
            assert_false(pawl_lock_held(x->l));
            assert_int_equal(pawl_lock_token(x->l), 0);
            assert_int_equal(pawl_lock_depth(x->l), 0);
        }
    }
    return NULL;
}

static void *only_ask(void *arg)
{
    struct churn *x = arg;

    while (!x->over) {
        assert_false(pawl_lock_held(x->l));
        assert_int_equal(pawl_lock_token(x->l), 0);
        x->n_asked++;
    }
    return NULL;
}

/* The thread sanitizer looks on. */
static void whether_it_is_held_may_be_asked_while_others_release(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .owner = PAWL_OWNER_THREAD};
    struct pawl_client *c = client_fixture_open(NULL);
    struct churn x = {.l = new_lock(c, "/locks/asked", &o)};
    pthread_t threads[THREADS], asker;

    (void)state;
    pthread_create(&asker, NULL, only_ask, &x);
    wait_until(x.n_asked > 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, hold_and_ask, &x);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    x.over = true;
    pthread_join(asker, NULL);
    assert_int_equal(n_nodes(c, "/locks/asked"), 0);
    pawl_lock_free(x.l);
    pawl_client_close(c);
}

/* ---- the grant tells the truth ---- */

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static void a_cut_link_is_doubt_and_the_same_session_removes_it(void **state)
{
    struct grant_log log = {.last = -1};
    struct pawl_lock_options o = {.size = sizeof(o), .on_grant = log_grant, .on_grant_arg = &log};
    struct pawl_client_options co = client_fixture_options();
    struct behind_proxy b;
    struct pawl_lock *l;
    int fd;

    (void)state;
    sem_init(&log.some, 0, 0);
    behind_proxy_open(&b, &co);
    l = new_lock(b.c, "/locks/f", &o);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    fd = pawl_grant_fd(pawl_lock_grant(l));
    assert_true(fd >= 0);
    assert_false(is_readable(fd));
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    wait_semaphore(&log.some);
    assert_int_equal(log.last, PAWL_GRANT_IN_DOUBT);
    assert_false(pawl_lock_held(l));
    assert_true(is_readable(fd));
    tcp_proxy_accept(b.proxy, true);
    wait_semaphore(&log.some);
    assert_int_equal(log.last, PAWL_GRANT_CERTAIN);
    assert_true(pawl_lock_held(l));
    assert_false(is_readable(fd));
    assert_int_equal(pawl_lock_release(l), 0);
    pawl_lock_free(l);
    behind_proxy_close(&b);
}

static void who_goes_on_holds_until_his_time_is_over(void **state)
{
    struct grant_log log = {.last = -1};
    struct pawl_lock_options o = {
        .size = sizeof(o), .doubt = PAWL_DOUBT_GO_ON, .on_grant = log_grant, .on_grant_arg = &log};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_lock *l, *next = new_lock(other, "/locks/g", NULL);
    struct behind_proxy b;

    (void)state;
    sem_init(&log.some, 0, 0);
    co.session_timeout_ms = 2 * SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    l = new_lock(b.c, "/locks/g", &o);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_true(pawl_lock_held(l));
    assert_int_equal(pawl_lock_acquire(next, SOON_MS), 0);
    assert_false(pawl_lock_held(l)); /* he knew before the server gave it away */
    wait_semaphore(&log.some);
    assert_true(log.last == PAWL_GRANT_IN_DOUBT || log.last == PAWL_GRANT_LOST);
    while (log.last != PAWL_GRANT_LOST) {
        wait_semaphore(&log.some);
    }
    assert_int_equal(pawl_lock_acquire(l, 0), PAWL_ERR_LOST);
    assert_int_equal(pawl_lock_release(l), PAWL_ERR_LOST);
    tcp_proxy_accept(b.proxy, true);
    assert_int_equal(pawl_lock_release(next), 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    pawl_lock_free(l);
    pawl_lock_free(next);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void a_node_deleted_by_others_is_noticed_and_guarded(void **state)
{
    struct grant_log log = {.last = -1};
    struct pawl_lock_options o = {.size = sizeof(o), .on_grant = log_grant, .on_grant_arg = &log};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = new_lock(c, "/locks/h", &o);
    struct pawl_multi *m = pawl_multi_new(c);
    char path[256];

    (void)state;
    sem_init(&log.some, 0, 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    assert_int_equal(pawl_grant_guard(pawl_lock_grant(l), m), 0);
    pawl_multi_create(m, PAWL_CREATE(.path = "/locks/guarded", .mode = PAWL_MODE_SEQUENTIAL));
    assert_int_equal(pawl_multi_run(c, m, NULL), 0);
    pawl_grant_path(pawl_lock_grant(l), path, sizeof(path));
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = path), NULL), 0);
    wait_semaphore(&log.some);
    assert_int_equal(log.last, PAWL_GRANT_LOST);
    assert_int_equal(pawl_multi_run(c, m, NULL), PAWL_ERR_NO_NODE);
    assert_int_equal(pawl_grant_guard(pawl_lock_grant(l), m), PAWL_ERR_NOT_HELD);
    assert_int_equal(pawl_lock_release(l), PAWL_ERR_LOST);
    pawl_multi_free(m);
    pawl_lock_free(l);
    pawl_client_close(c);
}

/* ---- revocation, delay ---- */

static void asked(struct pawl_lock *l, void *arg)
{
    assert_int_equal(pawl_lock_release(l), 0); /* a blocking call inside a callback works */
    sem_post(arg);
}

static void a_holder_can_be_asked_to_give_up(void **state)
{
    sem_t revoked;
    struct pawl_lock_options o = {.size = sizeof(o), .on_revoke = asked, .on_revoke_arg = &revoked};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = new_lock(c, "/locks/i", &o);
    char path[256];

    (void)state;
    sem_init(&revoked, 0, 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    pawl_grant_path(pawl_lock_grant(l), path, sizeof(path));
    assert_int_equal(pawl_lock_revoke(c, path), 0);
    wait_semaphore(&revoked);
    assert_false(pawl_lock_held(l));
    pawl_lock_free(l);
    pawl_client_close(c);
}

static void the_delay_follows_a_death_and_not_a_release(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .delay_ms = 1500};
    struct pawl_lock_options never = {.size = sizeof(never), .delay_ms = 1000 * SOON_MS};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/j", &o), *b = new_lock(d, "/locks/j", &never);
    struct told t;
    int64_t began;

    (void)state;
    sem_init(&t.done, 0, 0);
    until_watches(0); /* of the tests before */
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    until_watches(2); /* the holder's own, and that of him who waits */
    assert_int_equal(pawl_lock_release(a), 0);
    wait_semaphore(&t.done); /* which it would not be for hours */
    assert_int_equal(t.err, 0);
    assert_int_equal(pawl_lock_release(b), 0);
    pawl_lock_free(b);
    b = new_lock(d, "/locks/j", &o);

    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    until_watches(2); /* the holder's own, and that of him who waits */
    began = now_ms();
    pawl_client_close(c); /* with it goes the session */
    wait_semaphore(&t.done);
    assert_int_equal(t.err, 0);
    assert_true(now_ms() - began >= 1500);
    pawl_lock_free(a);
    pawl_lock_free(b);
    pawl_client_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acquired_is_held_until_released),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_try_on_a_lock_that_is_held_changes_nothing),
        cmocka_unit_test(who_gives_up_leaves_no_node_behind),
        cmocka_unit_test(a_release_hands_over_to_the_next_in_line),
        cmocka_unit_test(cancel_and_free_end_those_who_wait),
        cmocka_unit_test(threads_of_one_handle_contend_when_they_own_it),
        cmocka_unit_test(whether_it_is_held_may_be_asked_while_others_release),
        cmocka_unit_test(a_cut_link_is_doubt_and_the_same_session_removes_it),
        cmocka_unit_test(who_goes_on_holds_until_his_time_is_over),
        cmocka_unit_test(a_node_deleted_by_others_is_noticed_and_guarded),
        cmocka_unit_test(a_holder_can_be_asked_to_give_up),
        cmocka_unit_test(the_delay_follows_a_death_and_not_a_release),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
