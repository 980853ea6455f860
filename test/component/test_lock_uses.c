/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to use a lock, and to leave it: threads that end, handles freed by others, callbacks, loops
 * of the caller's, views, rules of the caller's. */
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>

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

/* ---- threads ---- */

struct visitor {
    struct pawl_lock *l;
    bool stays; /* ends without giving it back */
    int acquired, released;
};

static void *visit(void *arg)
{
    struct visitor *v = arg;

    v->acquired = pawl_lock_acquire(v->l, v->stays ? SOON_MS : 0);
    v->released = v->stays ? 0 : pawl_lock_release(v->l);
    return NULL;
}

/* On the same stack, so that the second thread gets the identifier of the first. */
static pthread_t run_visitor(struct visitor *v)
{
    static _Alignas(4096) char stack[1 << 20];
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstack(&attr, stack, sizeof(stack)), 0);
    assert_int_equal(pthread_create(&thread, &attr, visit, v), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    return thread;
}

static void a_thread_that_ended_leaves_its_lock_to_nobody(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .owner = PAWL_OWNER_THREAD};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = new_lock(c, "/locks/ended", &o);
    struct visitor first = {.l = l, .stays = true}, second = {.l = l};
    pthread_t one, two;

    (void)state;
    one = run_visitor(&first);
    two = run_visitor(&second);
    assert_true(pthread_equal(one, two) != 0);
    assert_int_equal(first.acquired, 0);
    assert_int_equal(second.acquired, PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(second.released, PAWL_ERR_NOT_HELD);
    pawl_lock_free(l);
    until_nodes(c, "/locks/ended", 0);
    pawl_client_close(c);
}

struct blocked {
    struct pawl_lock *l;
    int err;
    pthread_t thread;
};

static void *block(void *arg)
{
    struct blocked *b = arg;

    b->err = pawl_lock_acquire(b->l, -1);
    return NULL;
}

static void free_ends_a_thread_that_waits(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/blocked", NULL);
    struct blocked b = {.l = new_lock(c, "/locks/blocked", NULL), .err = 1};

    (void)state;
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    pthread_create(&b.thread, NULL, block, &b);
    until_nodes(c, "/locks/blocked", 2);
    pawl_lock_free(b.l);
    pthread_join(b.thread, NULL);
    assert_int_equal(b.err, PAWL_ERR_CANCELLED);
    pawl_lock_free(a);
    until_nodes(c, "/locks/blocked", 0);
    pawl_client_close(c);
}

/* ---- drivers ---- */

/* The youngest holds; the others wait for the one behind them. */
static bool is_last(const struct pawl_strings *names, size_t own, size_t *watch, void *calls)
{
    ++*(int *)calls;
    *watch = own + 1;
    return own + 1 == names->n;
}

static void a_driver_decides_and_is_copied(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    int calls = 0;
    struct pawl_lock_driver driver = {.holds = is_last, .arg = &calls};
    struct pawl_lock_options o = {.size = sizeof(o), .driver = &driver};
    struct pawl_lock *a = new_lock(c, "/locks/driver", &o), *b = new_lock(c, "/locks/driver", &o);

    (void)state;
    memset(&driver, 0, sizeof(driver));
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire(b, SOON_MS), 0); /* of a rule that lets two hold */
    assert_true(calls >= 2);
    assert_int_equal(pawl_lock_release(a), 0);
    assert_int_equal(pawl_lock_release(b), 0);
    pawl_lock_free(a);
    pawl_lock_free(b);
    pawl_client_close(c);
}

/* ---- callbacks that end it all ---- */

struct leaver {
    struct pawl_client *c;
    int err;
    bool left;
};

static void leave(struct pawl_lock *l, int err, void *arg)
{
    struct leaver *x = arg;

    x->err = err;
    x->left = true;
    assert_int_equal(pawl_lock_depth(l), 1);
    pawl_lock_free(l);
    pawl_client_close(x->c);
}

static void run_callbacks(struct pawl_client *c, enum pawl_dispatch mode)
{
    struct pollfd p;
    int timeout;

    if (mode == PAWL_DISPATCH_POLLED) {
        pawl_client_dispatch(c, 100);
        return;
    }
    assert_int_equal(pawl_client_interest(c, &p.fd, &p.events, &timeout), 0);
    poll(&p, 1, timeout);
    pawl_client_process(c, p.revents);
}

static void whoever_is_told_may_free_and_close(void **state)
{
    static const enum pawl_dispatch modes[] = {PAWL_DISPATCH_POLLED, PAWL_DISPATCH_EXTERNAL};
    struct pawl_client *witness = client_fixture_open(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct pawl_client_options co = client_fixture_options();
        struct pawl_lock *held = new_lock(witness, "/locks/leave", NULL);
        struct leaver x = {.err = 1};

        co.dispatch = modes[i];
        x.c = client_fixture_open(&co);
        assert_int_equal(pawl_lock_acquire(held, SOON_MS), 0);
        assert_int_equal(
            pawl_lock_acquire_async(new_lock(x.c, "/locks/leave", NULL), -1, leave, &x), 0);
        if (modes[i] == PAWL_DISPATCH_POLLED) {
            until_nodes(witness, "/locks/leave", 2);
        }
        pawl_lock_free(held);
        while (!x.left) {
            run_callbacks(x.c, modes[i]);
        }
        assert_int_equal(x.err, 0);
        until_nodes(witness, "/locks/leave", 0);
    }
    pawl_client_close(witness);
}

/* ---- views ---- */

static void the_guard_works_in_multis_of_other_views(void **state)
{
    struct pawl_view_options vo = {.size = sizeof(vo), .name_space = "/elsewhere"};
    struct pawl_client *c = client_fixture_open(NULL), *view;
    struct pawl_lock *l = new_lock(c, "/locks/view", NULL);
    struct pawl_multi *m;

    (void)state;
    assert_int_equal(pawl_client_view(c, &vo, &view), 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    m = pawl_multi_new(view);
    assert_int_equal(pawl_grant_guard(pawl_lock_grant(l), m), 0);
    assert_int_equal(pawl_multi_run(view, m, NULL), 0);
    grant_delete(c, pawl_lock_grant(l));
    assert_int_equal(pawl_multi_run(view, m, NULL), PAWL_ERR_NO_NODE);
    pawl_multi_free(m);
    pawl_lock_free(l);
    pawl_client_close(view);
    pawl_client_close(c);
}

/* ---- without a link ---- */

static void a_try_ends_also_without_a_link(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct behind_proxy b;
    struct pawl_lock *l;
    struct told t;
    int64_t began;

    (void)state;
    told_init(&t);
    co.timeout_ms = SENT_MS;
    behind_proxy_open(&b, &co);
    l = new_lock(b.c, "/locks/offline", NULL);
    tcp_proxy_freeze(b.proxy, true);
    began = now_ms();
    assert_int_equal(pawl_lock_acquire_async(l, 0, tell_lock, &t), 0);
    assert_int_equal(told_wait(&t), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_lock_acquire(l, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_true(now_ms() - began < SOON_MS);
    tcp_proxy_freeze(b.proxy, false);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    pawl_lock_free(l);
    behind_proxy_close(&b);
}

/* Who waits makes the turns himself, and sleeps in one: he is woken, whatever the link does. */
static void cancel_reaches_a_thread_that_drives_the_client(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *a = new_lock(c, "/locks/drives", NULL);
    struct tcp_proxy *proxy = tcp_proxy_new(client_fixture_port());
    struct pawl_client *d;
    struct blocked b = {.err = 1};
    char servers[32];
    int64_t began;

    (void)state;
    snprintf(servers, sizeof(servers), "127.0.0.1:%d", tcp_proxy_port(proxy));
    co.servers = servers;
    co.dispatch = PAWL_DISPATCH_EXTERNAL;
    d = client_fixture_open(&co);
    b.l = new_lock(d, "/locks/drives", NULL);
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    pthread_create(&b.thread, NULL, block, &b);
    until_nodes(c, "/locks/drives", 2);
    tcp_proxy_freeze(proxy, true);
    began = now_ms();
    pawl_lock_cancel(b.l);
    pthread_join(b.thread, NULL);
    assert_int_equal(b.err, PAWL_ERR_CANCELLED);
    assert_true(now_ms() - began < SOON_MS);
    tcp_proxy_freeze(proxy, false);
    pawl_lock_free(b.l);
    pawl_lock_free(a);
    pawl_client_close(d);
    tcp_proxy_free(proxy);
    pawl_client_close(c);
}

/* ---- the order ---- */

/* As servers before 3.6 write numbers that have wrapped: ten characters, or eleven. */
static void numbers_below_zero_keep_their_order(void **state)
{
    static const char *const names[] = {"lock-2147483647", "lock--2147483648", "lock--1000000000",
                                        "lock--999999999", "lock--999999998",  "lock--000000001",
                                        "lock-0000000000", "lock-0000000001"};
    enum { N = sizeof(names) / sizeof(names[0]) };
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_participants *p;
    char path[64];

    (void)state;
    for (size_t i = 0; i < N; i++) { /* neighbours only: no order spans half of all numbers */
        for (size_t j = 0; j < 2 && i > 0; j++) {
            snprintf(path, sizeof(path), "/locks/wrap%zu/%s", i, names[i - j]);
            assert_int_equal(
                pawl_create(c, PAWL_CREATE(.path = path, .flags = PAWL_OP_PARENTS), NULL), 0);
        }
    }
    for (size_t i = 1; i < N; i++) {
        snprintf(path, sizeof(path), "/locks/wrap%zu", i);
        assert_int_equal(pawl_participants(c, path, &p), 0);
        assert_int_equal(p->n, 2);
        assert_string_equal(strrchr(p->items[0]->path, '/') + 1, names[i - 1]);
        assert_string_equal(strrchr(p->items[1]->path, '/') + 1, names[i]);
        pawl_participants_free(p);
    }
    pawl_client_close(c);
}

/* ---- from one handle to the next ---- */

static struct pawl_client *pass_on(struct pawl_client *c)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *next;
    void *blob;
    size_t len;

    assert_int_equal(pawl_client_detach(c, (struct pawl_bytes){"", 0}, &blob, &len), 0);
    o.attach = (struct pawl_bytes){blob, len};
    next = client_fixture_open(&o);
    free(blob);
    return next;
}

static void what_is_held_is_held_by_the_next_handle(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL), *next;
    struct pawl_lock *l = new_lock(c, "/uses/passed", NULL), *waits, *again;
    struct told t;
    uint64_t token;

    (void)state;
    told_init(&t);
    waits = new_lock(other, "/uses/passed", NULL);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    token = pawl_lock_token(l);
    assert_int_equal(pawl_lock_acquire_async(waits, -1, tell_lock, &t), 0);
    until_nodes(other, "/uses/passed", 2);
    next = pass_on(c);
    pawl_lock_free(l);
    again = new_lock(next, "/uses/passed", NULL);
    assert_int_equal(pawl_lock_acquire(again, 0), 0);
    assert_int_equal(pawl_lock_token(again), token);
    assert_true(pawl_lock_held(again));
    assert_int_equal(t.err, 1);
    assert_int_equal(pawl_lock_release(again), 0);
    assert_int_equal(told_wait(&t), 0);
    assert_int_equal(pawl_lock_acquire(again, 0), PAWL_ERR_OPERATION_TIMEOUT);
    pawl_lock_free(again);
    pawl_lock_free(waits);
    pawl_client_close(next);
    pawl_client_close(other);
}

static void who_waits_keeps_his_place_in_the_next_handle(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL), *next;
    struct pawl_lock *holds = new_lock(other, "/uses/queue", NULL), *late, *l, *again;
    struct told first, second, third;

    (void)state;
    told_init(&first);
    told_init(&second);
    told_init(&third);
    l = new_lock(c, "/uses/queue", NULL);
    late = new_lock(other, "/uses/queue", NULL);
    assert_int_equal(pawl_lock_acquire(holds, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire_async(l, -1, tell_lock, &first), 0);
    until_nodes(other, "/uses/queue", 2);
    assert_int_equal(pawl_lock_acquire_async(late, -1, tell_lock, &second), 0);
    until_nodes(other, "/uses/queue", 3);
    next = pass_on(c);
    assert_int_equal(told_wait(&first), PAWL_ERR_CLOSING);
    pawl_lock_free(l);
    again = new_lock(next, "/uses/queue", NULL);
    assert_int_equal(pawl_lock_acquire_async(again, -1, tell_lock, &third), 0);
    assert_int_equal(pawl_lock_release(holds), 0);
    assert_int_equal(told_wait(&third), 0); /* before him who came later */
    assert_int_equal(second.err, 1);
    assert_int_equal(pawl_lock_release(again), 0);
    assert_int_equal(told_wait(&second), 0);
    pawl_lock_free(again);
    pawl_lock_free(holds);
    pawl_lock_free(late);
    pawl_client_close(next);
    pawl_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_ended_leaves_its_lock_to_nobody),
        cmocka_unit_test(free_ends_a_thread_that_waits),
        cmocka_unit_test(a_driver_decides_and_is_copied),
        cmocka_unit_test(whoever_is_told_may_free_and_close),
        cmocka_unit_test(the_guard_works_in_multis_of_other_views),
        cmocka_unit_test(a_try_ends_also_without_a_link),
        cmocka_unit_test(cancel_reaches_a_thread_that_drives_the_client),
        cmocka_unit_test(numbers_below_zero_keep_their_order),
        cmocka_unit_test(what_is_held_is_held_by_the_next_handle),
        cmocka_unit_test(who_waits_keeps_his_place_in_the_next_handle),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
