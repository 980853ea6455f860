/* SPDX-License-Identifier: Apache-2.0 */
/* Several locks as one, against a real server. */
#define _GNU_SOURCE
#include <pthread.h>

#include "lib/test.h"

#include "lib/curator_shape.h"
#include "lib/recipe_helpers.h"

/* Two locks and the two as one. */
struct pair {
    struct pawl_client *c;
    struct pawl_lock *l[2];
    struct pawl_multilock *m;
};

static void pair_open(struct pair *p, struct pawl_client *c, const char *one, const char *two,
                      const struct pawl_lock_options *options)
{
    p->c = c;
    assert_int_equal(pawl_lock_new(p->c, one, options, &p->l[0]), 0);
    assert_int_equal(pawl_lock_new(p->c, two, options, &p->l[1]), 0);
    assert_int_equal(pawl_multilock_new(p->l, 2, &p->m), 0);
}

static void pair_close(struct pair *p)
{
    pawl_multilock_free(p->m);
    pawl_lock_free(p->l[0]);
    pawl_lock_free(p->l[1]);
}

static void tell(struct pawl_multilock *m, int err, void *told)
{
    (void)m;
    told_end(told, err);
}

static void expect_shape(struct pawl_client *const *clients, const char *heading)
{
    struct curator_shape seen, recorded;

    curator_shape_seen(&seen, clients[0], "/v/ml", clients, 2);
    curator_shape_recorded(&recorded, VECTORS, "interprocessmultilock.txt", heading);
    curator_shape_compare(&seen, &recorded);
}

static void nodes_are_those_of_curator(void **state)
{
    struct pawl_client *c[2] = {client_fixture_open(NULL), client_fixture_open(NULL)};
    struct pawl_lock *other;
    struct pair p;

    (void)state;
    pair_open(&p, c[0], "/v/ml/one", "/v/ml/two", NULL);
    assert_int_equal(pawl_lock_new(c[1], "/v/ml/two", NULL, &other), 0);
    assert_int_equal(pawl_multilock_acquire(p.m, SOON_MS), 0);
    assert_true(pawl_multilock_held(p.m));
    expect_shape(c, "held");
    assert_int_equal(pawl_multilock_release(p.m), 0);
    assert_false(pawl_multilock_held(p.m));
    assert_int_equal(pawl_lock_acquire(other, SOON_MS), 0);
    assert_int_equal(pawl_multilock_acquire(p.m, 200), PAWL_ERR_OPERATION_TIMEOUT);
    assert_false(pawl_lock_held(p.l[0]));
    until_nodes(c[0], "/v/ml/one", 0);
    until_nodes(c[0], "/v/ml/two", 1);
    expect_shape(c, "after");
    pawl_lock_free(other);
    pair_close(&p);
    pawl_client_close(c[0]);
    pawl_client_close(c[1]);
}

static void they_are_taken_in_order_and_given_back_in_reverse(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *one, *two;
    struct pair p;

    (void)state;
    pair_open(&p, c, "/ml/a/one", "/ml/a/two", NULL);
    assert_int_equal(pawl_multilock_acquire(p.m, SOON_MS), 0);
    assert_true(pawl_lock_token(p.l[1]) > pawl_lock_token(p.l[0]));
    assert_int_equal(pawl_multilock_acquire(p.m, 0), 0); /* re-entrant, as they are */
    assert_int_equal(pawl_multilock_release(p.m), 0);
    assert_true(pawl_multilock_held(p.m));
    assert_int_equal(pawl_multilock_release(p.m), 0);
    assert_int_equal(pawl_exists(c, "/ml/a/one", NULL, &one), 0);
    assert_int_equal(pawl_exists(c, "/ml/a/two", NULL, &two), 0);
    assert_true(one->stat.pzxid > two->stat.pzxid); /* the last change of children */
    pawl_reply_free(one);
    pawl_reply_free(two);
    assert_int_equal(pawl_multilock_release(p.m), PAWL_ERR_NOT_HELD);
    pair_close(&p);
    pawl_client_close(c);
}

/* Gives a lock back some time after the multilock waits for it. */
enum { TIME_MS = 1000, LATE_MS = 700 };

struct late {
    struct pawl_client *c;
    struct pawl_lock *l;
    const char *path;
};

static void *release_when_two(void *arg)
{
    struct late *late = arg;

    until_nodes(late->c, late->path, 2);
    nanosleep(&(struct timespec){.tv_nsec = LATE_MS * 1000000L}, NULL);
    assert_int_equal(pawl_lock_release(late->l), 0);
    return NULL;
}

/* How long it takes to fail when the first of two comes late and the second never. */
static int64_t fails_after_ms(struct pair *mine, struct pair *other, struct pawl_client *d)
{
    struct late late = {.c = d, .l = other->l[0], .path = "/ml/b/one"};
    pthread_t thread;
    int64_t began, took;

    assert_int_equal(pawl_multilock_acquire(other->m, SOON_MS), 0);
    pthread_create(&thread, NULL, release_when_two, &late);
    began = now_ms();
    assert_int_equal(pawl_multilock_acquire(mine->m, TIME_MS), PAWL_ERR_OPERATION_TIMEOUT);
    took = now_ms() - began;
    assert_true(took >= TIME_MS);
    pthread_join(thread, NULL);
    until_nodes(d, "/ml/b/one", 0);
    until_nodes(d, "/ml/b/two", 1);
    return took;
}

/* One that gave each lock the whole time would never be done sooner than LATE_MS + TIME_MS; ours
 * is, as often as the machine lets it. */
static void one_time_is_for_all(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pair mine, other;
    int tries = 0;

    (void)state;
    pair_open(&mine, c, "/ml/b/one", "/ml/b/two", NULL);
    pair_open(&other, d, "/ml/b/one", "/ml/b/two", NULL);
    while (fails_after_ms(&mine, &other, d) >= LATE_MS + TIME_MS) {
        assert_true(++tries < 20);
        assert_int_equal(pawl_lock_release(other.l[1]), 0);
    }
    assert_int_equal(pawl_multilock_acquire(mine.m, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_lock_depth(mine.l[0]), 0);
    assert_int_equal(pawl_lock_release(other.l[1]), 0);
    assert_int_equal(pawl_multilock_acquire(mine.m, SOON_MS), 0);
    pair_close(&mine);
    pair_close(&other);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void callbacks_are_told_once_whatever_happens(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pair mine, other;
    struct told t;

    (void)state;
    told_init(&t);
    pair_open(&mine, c, "/ml/c/one", "/ml/c/two", NULL);
    pair_open(&other, d, "/ml/c/one", "/ml/c/two", NULL);
    assert_int_equal(pawl_multilock_acquire_async(mine.m, -1, tell, &t), 0);
    assert_int_equal(told_wait(&t), 0);
    assert_int_equal(pawl_multilock_release_async(mine.m, tell, &t), 0);
    assert_int_equal(told_wait(&t), 0);

    assert_int_equal(pawl_lock_acquire(other.l[1], SOON_MS), 0);
    assert_int_equal(pawl_multilock_acquire_async(mine.m, -1, tell, &t), 0);
    until_nodes(d, "/ml/c/two", 2);
    pawl_multilock_cancel(mine.m);
    assert_int_equal(told_wait(&t), PAWL_ERR_CANCELLED);
    until_nodes(d, "/ml/c/one", 0);
    until_nodes(d, "/ml/c/two", 1);

    assert_int_equal(pawl_multilock_acquire_async(mine.m, 100, tell, &t), 0);
    assert_int_equal(told_wait(&t), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_multilock_acquire_async(mine.m, -1, tell, &t), 0);
    until_nodes(d, "/ml/c/two", 2);
    pair_close(&mine);
    assert_int_equal(told_wait(&t), PAWL_ERR_CANCELLED);
    until_nodes(d, "/ml/c/one", 0);
    pair_close(&other);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* Whether the acquire had ended or not when it was freed. */
static void who_is_told_cancelled_holds_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int i = 0; i < 30; i++) {
        struct pair p;
        struct told t;

        told_init(&t);
        pair_open(&p, c, "/ml/d/one", "/ml/d/two", NULL);
        assert_int_equal(pawl_multilock_acquire_async(p.m, -1, tell, &t), 0);
        for (int k = 0; k < i % 6; k++) {
            assert_int_equal(pawl_sync(c, "/", NULL), 0);
        }
        pawl_multilock_free(p.m);
        if (told_wait(&t) == PAWL_ERR_CANCELLED) {
            until_nodes(c, "/ml/d/one", 0);
            until_nodes(c, "/ml/d/two", 0);
            assert_int_equal(pawl_lock_depth(p.l[0]), 0);
        }
        pawl_lock_free(p.l[0]);
        pawl_lock_free(p.l[1]);
        until_nodes(c, "/ml/d/one", 0);
    }
    pawl_client_close(c);
}

static void *take_both(void *arg)
{
    struct pair *p = arg;

    for (int i = 0; i < 20; i++) {
        assert_int_equal(pawl_multilock_acquire(p->m, -1), 0);
        assert_true(pawl_multilock_held(p->m));
        assert_int_equal(pawl_multilock_release(p->m), 0);
    }
    return NULL;
}

static void threads_can_own_them(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .owner = PAWL_OWNER_THREAD};
    struct pawl_client *c = client_fixture_open(NULL);
    pthread_t threads[3];
    struct pair p;
    struct told t;

    (void)state;
    pair_open(&p, c, "/ml/e/one", "/ml/e/two", &o);
    assert_int_equal(pawl_multilock_acquire_async(p.m, 0, tell, &t), PAWL_ERR_BAD_ARGUMENTS);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, take_both, &p);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(n_nodes(c, "/ml/e/one"), 0);
    pair_close(&p);
    pawl_client_close(c);
}

static void halves_of_a_read_write_lock_will_do(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *rw;
    struct pawl_multilock *m, *down, *up;

    (void)state;
    assert_int_equal(pawl_rwlock_new(c, "/ml/rw", NULL, &rw), 0);
    {
        struct pawl_lock *r = pawl_rwlock_reader(rw), *w = pawl_rwlock_writer(rw);

        assert_int_equal(pawl_multilock_new((struct pawl_lock *[]){r}, 1, &m), 0);
        assert_int_equal(pawl_multilock_new((struct pawl_lock *[]){w, r}, 2, &down), 0);
        assert_int_equal(pawl_multilock_new((struct pawl_lock *[]){r, w}, 2, &up), 0);
    }
    assert_int_equal(pawl_multilock_acquire(m, SOON_MS), 0);
    assert_int_equal(pawl_multilock_release(m), 0);
    assert_int_equal(pawl_multilock_acquire(down, SOON_MS), 0);
    assert_int_equal(n_nodes(c, "/ml/rw"), 2);
    assert_int_equal(pawl_multilock_release(down), 0);
    assert_int_equal(pawl_multilock_acquire(up, SOON_MS), PAWL_ERR_WOULD_DEADLOCK);
    until_nodes(c, "/ml/rw", 0);
    pawl_multilock_free(m);
    pawl_multilock_free(down);
    pawl_multilock_free(up);
    pawl_rwlock_free(rw);
    pawl_client_close(c);
}

static void one_that_is_lost_is_all_that_is_lost(void **state)
{
    struct grant_log log = {.last = -1};
    struct pawl_lock_options o = {.size = sizeof(o), .on_grant = log_grant, .on_grant_arg = &log};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pair p;

    (void)state;
    sem_init(&log.some, 0, 0);
    pair_open(&p, c, "/ml/f/one", "/ml/f/two", &o);
    assert_int_equal(pawl_multilock_acquire(p.m, SOON_MS), 0);
    grant_delete(c, pawl_lock_grant(p.l[1]));
    until_grant(&log, PAWL_GRANT_LOST);
    assert_false(pawl_multilock_held(p.m));
    assert_true(pawl_lock_held(p.l[0]));
    assert_int_equal(pawl_multilock_acquire(p.m, SOON_MS), PAWL_ERR_LOST);
    assert_int_equal(pawl_lock_depth(p.l[0]), 1); /* what that call had taken it has given back */
    assert_int_equal(pawl_multilock_release(p.m), PAWL_ERR_LOST);
    assert_int_equal(n_nodes(c, "/ml/f/one"), 0);
    pair_close(&p);
    pawl_client_close(c);
}

/* The first lock is granted to two at once, and the one who cannot have the second gives it back
 * before the other is told. */
static void who_gives_back_does_not_take_it_from_who_shares_the_handle(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_lock *other;
    struct told all, one;
    struct pair p;

    (void)state;
    told_init(&all);
    told_init(&one);
    pair_open(&p, c, "/ml/i/one", "/ml/i/two", NULL);
    assert_int_equal(pawl_lock_new(d, "/ml/i/one", NULL, &other), 0);
    assert_int_equal(pawl_lock_acquire(other, SOON_MS), 0);
    assert_int_equal(pawl_multilock_acquire_async(p.m, -1, tell, &all), 0);
    assert_int_equal(pawl_lock_acquire_async(p.l[0], -1, tell_lock, &one), 0);
    pawl_lock_free(p.l[1]);
    p.l[1] = NULL;
    assert_int_equal(pawl_lock_release(other), 0);
    assert_int_equal(told_wait(&all), PAWL_ERR_CANCELLED);
    assert_int_equal(told_wait(&one), 0);
    assert_int_equal(pawl_lock_depth(p.l[0]), 1);
    assert_true(pawl_lock_held(p.l[0]));
    assert_int_equal(pawl_lock_acquire(other, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_lock_release(p.l[0]), 0);
    assert_int_equal(n_nodes(c, "/ml/i/one"), 0);
    pawl_lock_free(other);
    pair_close(&p);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_lock *locks[2];
    struct pawl_multilock *m;

    (void)state;
    assert_int_equal(pawl_lock_new(c, "/ml/g", NULL, &locks[0]), 0);
    assert_int_equal(pawl_lock_new(d, "/ml/h", NULL, &locks[1]), 0);
    assert_int_equal(pawl_multilock_new(locks, 2, &m), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_multilock_new(locks, 0, &m), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_multilock_acquire(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_multilock_release(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_false(pawl_multilock_held(NULL));
    pawl_multilock_free(NULL);
    assert_int_equal(pawl_multilock_new(locks, 1, &m), 0);
    pawl_lock_free(locks[0]);
    assert_int_equal(pawl_multilock_acquire(m, SOON_MS), PAWL_ERR_CANCELLED);
    pawl_multilock_free(m);
    pawl_lock_free(locks[1]);
    pawl_client_close(c);
    pawl_client_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_of_curator),
        cmocka_unit_test(they_are_taken_in_order_and_given_back_in_reverse),
        cmocka_unit_test(one_time_is_for_all),
        cmocka_unit_test(callbacks_are_told_once_whatever_happens),
        cmocka_unit_test(who_is_told_cancelled_holds_nothing),
        cmocka_unit_test(threads_can_own_them),
        cmocka_unit_test(halves_of_a_read_write_lock_will_do),
        cmocka_unit_test(one_that_is_lost_is_all_that_is_lost),
        cmocka_unit_test(who_gives_back_does_not_take_it_from_who_shares_the_handle),
        cmocka_unit_test(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
