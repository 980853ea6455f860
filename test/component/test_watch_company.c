/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of several kinds at one path. A server before 3.9 has room for one per path and session:
 * the last one asked for counts, and removing one removes all. None of that is seen here. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/test.h"

#include "lib/patience.h"

static void count_event(const struct pawl_event *e, void *arg)
{
    if (e->type != PAWL_EVENT_WATCH_REMOVED && e->type != PAWL_EVENT_SESSION) {
        sem_post(arg);
    }
}

static int times(sem_t *s)
{
    int n;

    sem_getvalue(s, &n);
    return n;
}

/* One of each, on a node of their own. */
struct company {
    struct pawl_client *c, *other;
    char path[32];
    sem_t stays_told, once_told;
    struct pawl_watch stays, once;
};

static void company_open(struct company *x, const char *path, enum pawl_watch_mode mode)
{
    x->c = client_fixture_open(NULL);
    x->other = client_fixture_open(NULL);
    strcpy(x->path, path);
    sem_init(&x->stays_told, 0, 0);
    sem_init(&x->once_told, 0, 0);
    x->stays = (struct pawl_watch){count_event, &x->stays_told};
    x->once = (struct pawl_watch){count_event, &x->once_told};
    assert_int_equal(pawl_create(x->c, PAWL_CREATE(.path = path), NULL), 0);
    assert_int_equal(pawl_watch(x->c, path, mode, &x->stays, NULL), 0);
}

static void company_close(struct company *x)
{
    pawl_client_close(x->c);
    pawl_client_close(x->other);
}

static void change(struct company *x)
{
    assert_int_equal(pawl_set(x->other, PAWL_SET(.path = x->path), NULL), 0);
}

/* What was on its way has come. */
static void settle(struct company *x)
{
    assert_int_equal(pawl_sync(x->c, "/", NULL), 0);
}

static const enum pawl_watch_mode flat = PAWL_WATCH_PERSISTENT, deep = PAWL_WATCH_RECURSIVE;

static void one_that_fires_leaves_the_one_that_stays(void **state)
{
    struct company x;

    company_open(&x, "/company-fires", *(const enum pawl_watch_mode *)*state);
    assert_int_equal(pawl_get(x.c, x.path, &x.once, NULL), 0);
    for (int i = 0; i < 3; i++) {
        change(&x);
        wait_semaphore(&x.stays_told);
    }
    settle(&x);
    assert_int_equal(times(&x.once_told), 1);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

static void one_that_is_removed_leaves_the_one_that_stays(void **state)
{
    struct company x;

    company_open(&x, "/company-removed", *(const enum pawl_watch_mode *)*state);
    assert_int_equal(pawl_get(x.c, x.path, &x.once, NULL), 0);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_DATA, &x.once, NULL), 0);
    change(&x);
    wait_semaphore(&x.stays_told);
    assert_int_equal(pawl_get(x.c, x.path, &x.once, NULL), 0);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_DATA, NULL, NULL),
                     0); /* all of those */
    change(&x);
    wait_semaphore(&x.stays_told);
    assert_int_equal(times(&x.once_told), 0);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

/* It was there first, so the server knows it. */
static void an_older_one_is_removed_beside_the_one_that_stays(void **state)
{
    struct company x;

    company_open(&x, "/company-older", *(const enum pawl_watch_mode *)*state);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_ANY, &x.stays, NULL), 0);
    assert_int_equal(pawl_get(x.c, x.path, &x.once, NULL), 0);
    assert_int_equal(pawl_watch(x.c, x.path, *(const enum pawl_watch_mode *)*state, &x.stays, NULL),
                     0);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_DATA, &x.once, NULL), 0);
    for (int i = 0; i < 2; i++) {
        change(&x);
        wait_semaphore(&x.stays_told);
    }
    assert_int_equal(times(&x.once_told), 0);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

/* Who goes last sees to it that nothing is left on the server. */
static void the_one_that_stays_is_removed_and_the_other_fires(void **state)
{
    struct company x;
    int before = watches_on_server();

    company_open(&x, "/company-last", *(const enum pawl_watch_mode *)*state);
    assert_int_equal(pawl_get(x.c, x.path, &x.once, NULL), 0);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_ANY, &x.stays, NULL), 0);
    change(&x);
    wait_semaphore(&x.once_told);
    wait_until(watches_on_server() == before);
    change(&x);
    settle(&x);
    assert_int_equal(times(&x.once_told), 0);
    assert_int_equal(times(&x.stays_told), 0);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

static void both_are_removed_one_after_the_other(void **state)
{
    struct company x;
    int before = watches_on_server();

    company_open(&x, "/company-both", *(const enum pawl_watch_mode *)*state);
    assert_int_equal(pawl_get(x.c, x.path, &x.once, NULL), 0);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_ANY, &x.stays, NULL), 0);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_DATA, &x.once, NULL), 0);
    wait_until(watches_on_server() == before);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

static void add_and_remove_child(struct company *x)
{
    char child[48];

    snprintf(child, sizeof(child), "%s/c", x->path);
    assert_int_equal(pawl_create(x->other, PAWL_CREATE(.path = child), NULL), 0);
    assert_int_equal(pawl_delete(x->other, PAWL_DELETE(.path = child), NULL), 0);
}

static void one_for_children_hears_beside_one_that_came_later(void **state)
{
    struct company x;

    company_open(&x, "/company-children", *(const enum pawl_watch_mode *)*state);
    assert_int_equal(pawl_unwatch(x.c, x.path, PAWL_WATCHES_ANY, &x.stays, NULL), 0);
    assert_int_equal(pawl_children(x.c, x.path, &x.once, NULL), 0);
    assert_int_equal(pawl_watch(x.c, x.path, *(const enum pawl_watch_mode *)*state, &x.stays, NULL),
                     0);
    settle(&x);
    add_and_remove_child(&x);
    wait_semaphore(&x.once_told);
    wait_semaphore(&x.stays_told);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

static void a_deep_and_a_flat_one_both_hear(void **state)
{
    enum pawl_watch_mode first = *(const enum pawl_watch_mode *)*state;
    struct company x;

    company_open(&x, "/company-modes", first);
    assert_int_equal(pawl_watch(x.c, x.path, first == flat ? deep : flat, &x.once, NULL), 0);
    settle(&x);
    for (int i = 0; i < 3; i++) {
        add_and_remove_child(&x);
        wait_semaphore(&x.stays_told);
        wait_semaphore(&x.once_told);
        settle(&x);
    }
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

static void drain(sem_t *s)
{
    while (sem_trywait(s) == 0) {
    }
}

static void both_hear_on_when_the_node_comes_back(void **state)
{
    enum pawl_watch_mode first = *(const enum pawl_watch_mode *)*state;
    struct company x;

    company_open(&x, "/company-back", first);
    assert_int_equal(pawl_watch(x.c, x.path, first == flat ? deep : flat, &x.once, NULL), 0);
    assert_int_equal(pawl_delete(x.other, PAWL_DELETE(.path = x.path), NULL), 0);
    settle(&x);
    assert_int_equal(pawl_create(x.other, PAWL_CREATE(.path = x.path), NULL), 0);
    settle(&x);
    settle(&x);
    drain(&x.stays_told);
    drain(&x.once_told);
    add_and_remove_child(&x);
    wait_semaphore(&x.stays_told);
    wait_semaphore(&x.once_told);
    pawl_delete(x.c, PAWL_DELETE(.path = x.path), NULL);
    company_close(&x);
}

static void a_cache_hears_on_when_one_beside_it_is_removed(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;
    sem_t told;
    struct pawl_watch once = {count_event, &told};

    (void)state;
    sem_init(&told, 0, 0);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/company-cache"), NULL), 0);
    cache_log_open(&log, c, "/company-cache", PAWL_DEPTH_TREE, 0, NULL);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_get(c, "/company-cache", &once, NULL), 0);
    assert_int_equal(pawl_unwatch(c, "/company-cache", PAWL_WATCHES_DATA, &once, NULL), 0);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/company-cache/a"), NULL), 0);
    cache_log_expect(&log, "CREATED /company-cache/a= v0");
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/company-cache/a"), NULL), 0);
    cache_log_expect(&log, "DELETED /company-cache/a= v0");
    cache_log_close(&log);
    pawl_delete(c, PAWL_DELETE(.path = "/company-cache"), NULL);
    pawl_client_close(c);
}

#define BOTH(test)                                             \
    cmocka_unit_test_prestate(test, (void *)(uintptr_t)&flat), \
        cmocka_unit_test_prestate(test, (void *)(uintptr_t)&deep)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(one_that_fires_leaves_the_one_that_stays),
        BOTH(one_that_is_removed_leaves_the_one_that_stays),
        BOTH(an_older_one_is_removed_beside_the_one_that_stays),
        BOTH(the_one_that_stays_is_removed_and_the_other_fires),
        BOTH(both_are_removed_one_after_the_other),
        BOTH(one_for_children_hears_beside_one_that_came_later),
        BOTH(a_deep_and_a_flat_one_both_hear),
        BOTH(both_hear_on_when_the_node_comes_back),
        cmocka_unit_test(a_cache_hears_on_when_one_beside_it_is_removed),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
