/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wake a loop: each of their changes is seen, however they meet. */
#define _GNU_SOURCE
#include "daemon/waker.h"

#include <pthread.h>

#include "lib/test.h"

enum { THREADS = 4, CHANGES = 20000 };

static uv_loop_t loop;
static struct waker waker;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n_changes; /* under the lock */
static int n_seen, n_looks;

static void *change(void *arg)
{
    (void)arg;
    for (int i = 0; i < CHANGES; i++) {
        pthread_mutex_lock(&lock);
        n_changes++;
        pthread_mutex_unlock(&lock);
        waker_wake(&waker);
    }
    return NULL;
}

static void look(void *arg)
{
    assert_ptr_equal(arg, &n_seen);
    pthread_mutex_lock(&lock);
    n_seen = n_changes;
    pthread_mutex_unlock(&lock);
    n_looks++;
}

static void end(void)
{
    uv_close((uv_handle_t *)&waker.poll, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    waker_close(&waker);
}

/* If one were lost the loop would sleep for ever: there are no timers. */
static void the_last_change_is_seen(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    uv_loop_init(&loop);
    assert_true(waker_open(&waker, &loop, look, &n_seen));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, change, NULL), 0);
    }
    while (n_seen < THREADS * CHANGES) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    end();
}

static void calls_that_come_together_are_one_look(void **state)
{
    (void)state;
    uv_loop_init(&loop);
    assert_true(waker_open(&waker, &loop, look, &n_seen));
    n_looks = 0;
    for (int i = 0; i < 10; i++) {
        waker_wake(&waker);
    }
    uv_run(&loop, UV_RUN_ONCE);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(n_looks, 1);
    waker_wake(&waker);
    uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(n_looks, 2);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_change_is_seen),
        cmocka_unit_test(calls_that_come_together_are_one_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
