/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for a recipe: that he does not wait for ever when the client closes, and that a recipe
 * lives as long as the events of its watches are to come. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

/* ---- closing ---- */

/* A client in whose way the server is: that it was refused something is counted. */
struct refused {
    struct pawl_client *c;
    sem_t some;
};

static void measure(const struct pawl_metric *m, void *arg)
{
    struct refused *x = arg;

    if (m->err == PAWL_ERR_NO_AUTH) {
        sem_post(&x->some);
    }
}

static void refused_open(struct refused *x)
{
    struct pawl_client_options o = client_fixture_options();

    sem_init(&x->some, 0, 0);
    o.metric = measure;
    o.metric_arg = x;
    x->c = client_fixture_open(&o);
}

/* A node under which nobody may do anything but `perms`. */
static void make_node(struct pawl_client *c, const char *path, int perms)
{
    struct pawl_acl acl = {.perms = perms, .scheme = "world", .id = "anyone"};

    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = path, .data = text_bytes("plain"),
                                             .acls = {&acl, 1}, .flags = PAWL_OP_PARENTS),
                                 NULL),
                     0);
}

struct waits {
    pthread_t thread;
    int (*wait)(void *recipe);
    void *recipe;
    int rc;
};

static void *run_wait(void *waits)
{
    struct waits *w = waits;

    w->rc = w->wait(w->recipe);
    return NULL;
}

/* The recipe has been refused what it needs, and pauses; the client closes; the wait ends. */
static void expect_end_at_close(struct refused *x, int (*wait)(void *recipe), void *recipe)
{
    struct waits w = {.wait = wait, .recipe = recipe};
    struct timespec end;

    assert_int_equal(pthread_create(&w.thread, NULL, run_wait, &w), 0);
    wait_semaphore(&x->some);
    pawl_client_close(x->c);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SOON_S;
    assert_int_equal(pthread_timedjoin_np(w.thread, NULL, &end), 0);
    assert_int_equal(w.rc, PAWL_ERR_CLOSING);
}

static int wait_latch(void *latch)
{
    int rc;

    do { /* it is told of each refusal */
        rc = pawl_latch_wait(latch, -1);
    } while (rc == PAWL_ERR_NO_AUTH);
    return rc;
}

static void a_latch_is_not_awaited_for_ever(void **state)
{
    struct pawl_latch *l;
    struct refused x;

    (void)state;
    refused_open(&x);
    make_node(x.c, "/close-latch", PAWL_PERM_READ);
    assert_int_equal(pawl_latch_new(x.c, "/close-latch/l", NULL, &l), 0);
    assert_int_equal(pawl_latch_start(l), 0);
    expect_end_at_close(&x, wait_latch, l);
    pawl_latch_free(l);
}

static int wait_put(void *queue)
{
    struct pawl_put put = {.size = sizeof(put), .item = text_bytes("x")};

    return pawl_queue_put(queue, &put, -1);
}

static void told_of_put(struct pawl_queue *q, int err, const char *path, void *arg)
{
    (void)q;
    (void)path;
    *(_Atomic int *)arg = err;
}

static void a_put_does_not_wait_for_ever(void **state)
{
    struct pawl_put put = {.size = sizeof(put), .item = text_bytes("x")};
    _Atomic int err = 1;
    struct pawl_queue *q;
    struct refused x;

    (void)state;
    refused_open(&x);
    make_node(x.c, "/close-queue", PAWL_PERM_READ);
    assert_int_equal(pawl_queue_new(x.c, "/close-queue/q", NULL, &q), 0);
    assert_int_equal(pawl_queue_put_async(q, &put, told_of_put, &err), 0);
    expect_end_at_close(&x, wait_put, q);
    assert_int_equal(err, PAWL_ERR_CLOSING); /* and the other had its callback */
    assert_int_equal(pawl_queue_put_async(q, &put, told_of_put, &err), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_queue_put(q, &put, -1), PAWL_ERR_CLOSING);
    pawl_queue_free(q);
}

static int wait_service(void *cache)
{
    return pawl_service_cache_wait(cache, -1);
}

static void a_service_cache_is_not_waited_for_for_ever(void **state)
{
    struct pawl_service_cache *s;
    struct refused x;

    (void)state;
    refused_open(&x);
    make_node(x.c, "/close-services/s", PAWL_PERM_CREATE);
    assert_int_equal(pawl_service_cache_new(x.c, "/close-services", "s", NULL, NULL, &s), 0);
    expect_end_at_close(&x, wait_service, s);
    assert_int_equal(pawl_service_cache_wait(s, -1), PAWL_ERR_CLOSING);
    pawl_service_cache_free(s);
}

/* ---- events ---- */

static struct pawl_client *open_compressing(void)
{
    struct pawl_client_options o = client_fixture_options();

    o.flags |= PAWL_CLIENT_COMPRESS;
    return client_fixture_open(&o);
}

static void set_plain(struct pawl_client *plain, const char *path)
{
    assert_int_equal(
        pawl_set(plain, PAWL_SET(.path = path, .data = text_bytes("still plain")), NULL), 0);
}

/* The answer carries an error, since it cannot be unpacked; its watch is set nevertheless. */
static void a_barrier_of_plain_data_is_up_also_for_who_compresses(void **state)
{
    struct pawl_client *plain = client_fixture_open(NULL), *packs = open_compressing();
    struct pawl_barrier *freed, *b;

    (void)state;
    make_node(plain, "/events-barrier", PAWL_PERM_ALL);
    assert_int_equal(pawl_barrier_new(packs, "/events-barrier", &freed), 0);
    assert_int_equal(pawl_barrier_new(packs, "/events-barrier", &b), 0);
    assert_int_equal(pawl_barrier_wait(freed, 20), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    pawl_barrier_free(freed);
    set_plain(plain, "/events-barrier");
    assert_int_equal(pawl_barrier_wait(b, 20), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_delete(plain, PAWL_DELETE(.path = "/events-barrier"), NULL), 0);
    assert_int_equal(pawl_barrier_wait(b, SOON_MS), 0);
    pawl_barrier_free(b);
    pawl_client_close(packs);
    pawl_client_close(plain);
}

/* What was asked before has been answered, and its events told. */
static void settle(struct pawl_client *c)
{
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), 0);
}

static void a_value_that_cannot_be_unpacked_is_left_behind_safely(void **state)
{
    struct pawl_client *plain = client_fixture_open(NULL), *packs = open_compressing();
    struct pawl_shared_value *v;

    (void)state;
    make_node(plain, "/events-value", PAWL_PERM_ALL);
    assert_int_equal(pawl_shared_value_new(packs, "/events-value", text_bytes("seed"), &v), 0);
    assert_int_equal(pawl_shared_value_start(v), PAWL_ERR_DATA_INCONSISTENCY);
    pawl_shared_value_free(v);
    set_plain(plain, "/events-value");
    settle(packs);
    pawl_client_close(packs);
    pawl_client_close(plain);
}

static void a_plain_holder_is_waited_for_also_by_who_compresses(void **state)
{
    struct pawl_client *plain = client_fixture_open(NULL), *packs = open_compressing();
    struct pawl_lock *holds, *waits;

    (void)state;
    assert_int_equal(pawl_lock_new(plain, "/events-lock", NULL, &holds), 0);
    assert_int_equal(pawl_lock_new(packs, "/events-lock", NULL, &waits), 0);
    assert_int_equal(pawl_lock_acquire(holds, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire(waits, 20), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_lock_release(holds), 0);
    assert_int_equal(pawl_lock_acquire(waits, SOON_MS), 0);
    pawl_lock_free(waits);
    pawl_lock_free(holds);
    pawl_client_close(packs);
    pawl_client_close(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_latch_is_not_awaited_for_ever),
        cmocka_unit_test(a_put_does_not_wait_for_ever),
        cmocka_unit_test(a_service_cache_is_not_waited_for_for_ever),
        cmocka_unit_test(a_barrier_of_plain_data_is_up_also_for_who_compresses),
        cmocka_unit_test(a_value_that_cannot_be_unpacked_is_left_behind_safely),
        cmocka_unit_test(a_plain_holder_is_waited_for_also_by_who_compresses),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
