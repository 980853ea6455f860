/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in a queue: order, what is said of each, nodes that go while they are read. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"

#define ID "_c_00000000-0000-0000-0000-00000000000"

static void make(struct pawl_client *c, const char *base, const char *name, const char *data)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = path, .data = text_bytes(data),
                                             .mode = PAWL_MODE_EPHEMERAL, .flags = PAWL_OP_PARENTS),
                                 NULL),
                     0);
}

static void expect_order(struct pawl_client *c, const char *base, const char *const *names,
                         size_t n)
{
    struct pawl_participants *p = NULL;

    assert_int_equal(pawl_participants(c, base, &p), 0);
    assert_int_equal(p->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(strrchr(p->items[i]->path, '/') + 1, names[i]);
    }
    pawl_participants_free(p);
}

static void nobody_is_no_error(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    expect_order(c, "/queue/absent", NULL, 0);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/queue/empty", .flags = PAWL_OP_PARENTS), NULL), 0);
    expect_order(c, "/queue/empty", NULL, 0);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_participants *p = NULL;

    (void)state;
    assert_int_equal(pawl_participants(NULL, "/a", &p), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_participants(c, "a", &p), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_participants(c, "/a", NULL), PAWL_ERR_BAD_ARGUMENTS);
    pawl_participants_free(NULL);
    pawl_client_close(c);
}

static void the_random_id_does_not_matter_and_the_number_does(void **state)
{
    static const char *const order[] = {ID "9-lock-0000000003", ID "1-lock-0000000007",
                                        ID "5-lock-0000000010"};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    make(c, "/queue/lock", order[2], "c");
    make(c, "/queue/lock", order[0], "a");
    make(c, "/queue/lock", order[1], "b");
    expect_order(c, "/queue/lock", order, 3);
    pawl_client_close(c);
}

static void numbers_that_wrap_stay_in_order(void **state)
{
    static const char *const order[] = {ID "9-latch-2147483646", ID "2-latch-2147483647",
                                        ID "3-latch--2147483648", ID "1-latch--2147483647"};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int i = 3; i >= 0; i--) {
        make(c, "/queue/wrap", order[i], "");
    }
    expect_order(c, "/queue/wrap", order, 4);
    pawl_client_close(c);
}

/* The third reader is its writer's own, with the writer's number: it came later. */
static void readers_writers_leases_and_others_have_one_order(void **state)
{
    static const char *const rw[] = {ID "4-__READ__0000000000", ID "8-__WRIT__0000000001",
                                     ID "1-__READ__0000000001", ID "0-__WRIT__0000000002"};
    static const char *const leases[] = {ID "7-lease-0000000004", ID "3-lease-0000000005"};
    static const char *const kazoo[] = {"f00d__lock__0000000000", "beef__lock__0000000001"};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int i = 0; i < 4; i++) {
        make(c, "/queue/rw", rw[i], "");
    }
    expect_order(c, "/queue/rw", rw, 4);
    make(c, "/queue/leases", leases[1], "");
    make(c, "/queue/leases", leases[0], "");
    expect_order(c, "/queue/leases", leases, 2);
    make(c, "/queue/kazoo", kazoo[1], "");
    make(c, "/queue/kazoo", kazoo[0], "");
    expect_order(c, "/queue/kazoo", kazoo, 2);
    pawl_client_close(c);
}

static void each_is_described(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_lock_options o = {.size = sizeof(o), .data = {"second", 6}};
    struct pawl_participants *p = NULL;
    struct pawl_lock *a, *b;
    char path[256];

    (void)state;
    assert_int_equal(pawl_lock_new(c, "/queue/two", NULL, &a), 0);
    assert_int_equal(pawl_lock_new(d, "/queue/two", &o, &b), 0);
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_participants(c, "/queue/two", &p), 0);
    assert_int_equal(p->n, 1);
    pawl_grant_path(pawl_lock_grant(a), path, sizeof(path));
    assert_string_equal(p->items[0]->path, path);
    assert_int_equal(p->items[0]->token, pawl_lock_token(a));
    assert_int_equal(p->items[0]->session_id, pawl_client_session_id(c));
    assert_true(p->items[0]->since_ms > 1500000000000);
    assert_true(p->items[0]->data.len > 0);
    assert_non_null(memmem(p->items[0]->data.data, p->items[0]->data.len, " pid=", 5));
    pawl_participants_free(p);
    pawl_lock_free(a);
    assert_int_equal(pawl_lock_acquire(b, SOON_MS), 0);
    assert_int_equal(pawl_participants(c, "/queue/two", &p), 0);
    assert_int_equal(p->n, 1);
    assert_int_equal(p->items[0]->data.len, 6);
    assert_memory_equal(p->items[0]->data.data, "second", 6);
    assert_int_equal(p->items[0]->session_id, pawl_client_session_id(d));
    pawl_participants_free(p);
    pawl_lock_free(b);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* ---- while things change (R-28) ---- */

struct churn {
    struct pawl_client *c;
    _Atomic bool stop;
};

static void *come_and_go(void *arg)
{
    struct churn *churn = arg;
    struct pawl_lock *l;

    assert_int_equal(pawl_lock_new(churn->c, "/queue/churn", NULL, &l), 0);
    while (!churn->stop) {
        assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
        assert_int_equal(pawl_lock_release(l), 0);
    }
    pawl_lock_free(l);
    return NULL;
}

static void nodes_that_go_while_they_are_read_are_skipped(void **state)
{
    struct churn churn = {.c = client_fixture_open(NULL)};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_participants *p = NULL;
    pthread_t thread;
    int n[2] = {0, 0};

    (void)state;
    pthread_create(&thread, NULL, come_and_go, &churn);
    for (int i = 0; i < 100000 && (n[0] < 20 || n[1] < 20); i++) {
        assert_int_equal(pawl_participants(c, "/queue/churn", &p), 0);
        assert_true(p->n <= 1);
        n[p->n]++;
        pawl_participants_free(p);
    }
    churn.stop = true;
    pthread_join(thread, NULL);
    assert_true(n[0] >= 20 && n[1] >= 20);
    pawl_client_close(c);
    pawl_client_close(churn.c);
}

static void ask_inside(const struct pawl_reply *reply, void *arg)
{
    struct pawl_participants *p = NULL;

    (void)reply;
    assert_int_equal(pawl_participants(*(struct pawl_client **)((void **)arg)[0], "/queue/in", &p),
                     0);
    assert_int_equal(p->n, 1);
    pawl_participants_free(p);
    sem_post(((void **)arg)[1]);
}

static void it_can_be_asked_inside_a_callback(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    sem_t done;
    void *args[] = {&c, &done};

    (void)state;
    sem_init(&done, 0, 0);
    make(c, "/queue/in", "lock-0000000000", "x");
    assert_int_equal(pawl_exists_async(c, "/", NULL, ask_inside, args), 0);
    wait_semaphore(&done);
    pawl_client_close(c);
}

static void it_ends_with_the_clients_timeout(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_participants *p = NULL;
    struct behind_proxy b;

    (void)state;
    co.timeout_ms = 300;
    behind_proxy_open(&b, &co);
    make(c, "/queue/slow", "lock-0000000000", "x");
    tcp_proxy_freeze(b.proxy, true);
    assert_int_equal(pawl_participants(b.c, "/queue/slow", &p), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_freeze(b.proxy, false);
    wait_until(pawl_participants(b.c, "/queue/slow", &p) == 0);
    assert_int_equal(p->n, 1);
    pawl_participants_free(p);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

static void a_long_queue_is_read_whole(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_participants *p = NULL;
    char name[64];

    (void)state;
    for (int i = 499; i >= 0; i--) {
        snprintf(name, sizeof(name), "_c_%d-lock-%010d", 1000 - i, i);
        make(c, "/queue/long", name, name);
    }
    assert_int_equal(pawl_participants(c, "/queue/long", &p), 0);
    assert_int_equal(p->n, 500);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "_c_%d-lock-%010d", 1000 - i, i);
        assert_string_equal(strrchr(p->items[i]->path, '/') + 1, name);
        assert_int_equal(p->items[i]->data.len, strlen(name));
    }
    pawl_participants_free(p);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_no_error),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(the_random_id_does_not_matter_and_the_number_does),
        cmocka_unit_test(numbers_that_wrap_stay_in_order),
        cmocka_unit_test(readers_writers_leases_and_others_have_one_order),
        cmocka_unit_test(each_is_described),
        cmocka_unit_test(nodes_that_go_while_they_are_read_are_skipped),
        cmocka_unit_test(it_can_be_asked_inside_a_callback),
        cmocka_unit_test(it_ends_with_the_clients_timeout),
        cmocka_unit_test(a_long_queue_is_read_whole),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
