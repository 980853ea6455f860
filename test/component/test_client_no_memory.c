/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out under a client with its threads: at the first allocation of an operation, at the
 * second, and so on until none fails any more; each operation blocking and with a callback.
 *
 * It ends, once, with its answer or with an error that says why; nothing aborts, hangs or leaks
 * (the build with sanitizers looks), and the handle works afterwards. The server is another
 * process, so that memory fails the client only. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/certificate.h"
#include "lib/client_fixture.h"
#include "lib/failing_memory.h"
#include "lib/test.h"

enum { MOST_ALLOCATIONS = 400 };

/* ---- a callback that counts ---- */

struct told {
    sem_t done;
    _Atomic int n;
    int err;
};

static void tell(const struct pawl_reply *reply, void *arg)
{
    struct told *t = arg;

    t->err = reply->err;
    atomic_fetch_add(&t->n, 1);
    sem_post(&t->done);
}

static void on_event(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static void on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    (void)c;
    (void)state;
    (void)arg;
}

/* ---- the operations; `t` NULL: blocking ---- */

static const struct pawl_watch a_watch = {on_event, NULL};
static const struct pawl_acl everybody = {PAWL_PERM_ALL, "world", "anyone"};

#define EITHER(name, ...) (t == NULL ? name(__VA_ARGS__, NULL) : name##_async(__VA_ARGS__, tell, t))

static int create(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_create, c, PAWL_CREATE(.path = "/made", .data = text_bytes("x")));
}

static int create_deep(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_create, c,
                  PAWL_CREATE(.path = "/made/a/b", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                              .acls = {&everybody, 1},
                              .flags = PAWL_OP_PARENTS | PAWL_OP_PROTECTED));
}

static int create_or_set(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_create, c, PAWL_CREATE(.path = "/node", .flags = PAWL_OP_OR_SET));
}

static int create_again(struct pawl_client *c, struct told *t)
{
    return EITHER(
        pawl_create, c,
        PAWL_CREATE(.path = "/same", .data = text_bytes("s"), .flags = PAWL_OP_IDEMPOTENT));
}

static int get(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_get, c, "/node", &a_watch);
}

static int get_compressed(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_get_compressed, c, "/packed", NULL);
}

static int exists(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_exists, c, "/node", &a_watch);
}

static int children(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_children, c, "/", &a_watch);
}

static int set(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_set, c, PAWL_SET(.path = "/node", .data = text_bytes("y")));
}

static int set_packed(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_set, c,
                  PAWL_SET(.path = "/packed", .data = text_bytes("y"),
                           .flags = PAWL_OP_COMPRESS | PAWL_OP_IDEMPOTENT));
}

static int delete_tree(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_delete, c,
                  PAWL_DELETE(.path = "/tree", .flags = PAWL_OP_CHILDREN_TOO | PAWL_OP_GUARANTEED |
                                                        PAWL_OP_IDEMPOTENT));
}

static int get_acl(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_get_acl, c, "/node");
}

static int set_acl(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_set_acl, c, PAWL_SET_ACL(.path = "/node", .acls = {&everybody, 1}));
}

static int sync_up(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_sync, c, "/node");
}

static int ephemerals(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_ephemerals, c, "/");
}

static int count(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_count_all_children, c, "/");
}

static int whoami(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_whoami, c);
}

static int add_auth(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_add_auth, c, (&(struct pawl_auth){"digest", text_bytes("a:b")}));
}

static int watch(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_watch, c, "/node", PAWL_WATCH_RECURSIVE, &a_watch);
}

static int unwatch(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_unwatch, c, "/node", PAWL_WATCHES_ANY | PAWL_WATCHES_LOCAL, &a_watch);
}

static int config(struct pawl_client *c, struct told *t)
{
    return EITHER(pawl_config, c, &a_watch);
}

static int multi(struct pawl_client *c, struct told *t)
{
    struct pawl_multi *m = pawl_multi_new(c);
    int rc;

    pawl_multi_create(m, PAWL_CREATE(.path = "/node/m-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL));
    pawl_multi_set(m, PAWL_SET(.path = "/node"));
    pawl_multi_check(m, "/node", -1);
    rc = m == NULL ? PAWL_ERR_NO_MEMORY : EITHER(pawl_multi_run, c, m);
    pawl_multi_free(m);
    return rc;
}

static int multi_read(struct pawl_client *c, struct told *t)
{
    struct pawl_multi *m = pawl_multi_new(c);
    int rc;

    pawl_multi_get(m, "/node");
    pawl_multi_children(m, "/");
    rc = m == NULL ? PAWL_ERR_NO_MEMORY : EITHER(pawl_multi_run, c, m);
    pawl_multi_free(m);
    return rc;
}

static int through_view(struct pawl_client *c, struct told *t)
{
    struct pawl_client *view;
    int rc = pawl_client_view(c, NULL, &view);

    if (rc == 0) {
        rc = EITHER(pawl_get, view, "/node", NULL);
        pawl_client_close(view);
    }
    return rc;
}

struct operation {
    const char *name;
    int (*run)(struct pawl_client *c, struct told *t);
};

static const struct operation operations[] = {
    {"create", create},
    {"create with parents, protected", create_deep},
    {"create or set", create_or_set},
    {"create, idempotent", create_again},
    {"get", get},
    {"get compressed", get_compressed},
    {"exists", exists},
    {"children", children},
    {"set", set},
    {"set compressed, idempotent", set_packed},
    {"delete with children", delete_tree},
    {"get acl", get_acl},
    {"set acl", set_acl},
    {"sync", sync_up},
    {"ephemerals", ephemerals},
    {"count", count},
    {"whoami", whoami},
    {"add auth", add_auth},
    {"watch", watch},
    {"unwatch", unwatch},
    {"config", config},
    {"multi", multi},
    {"multi-read", multi_read},
    {"through a view", through_view},
};

/* ---- one operation, memory failing at the n-th allocation ---- */

/* The link may have gone for want of memory: again, then. */
static int until_done(int (*run)(struct pawl_client *c), struct pawl_client *c)
{
    int rc;

    do {
        rc = run(c);
    } while (rc == PAWL_ERR_CONNECTION_LOSS);
    return rc;
}

/* Everything as it was before the operation. */
static int restore(struct pawl_client *c)
{
    static const int may_be[] = {PAWL_OK, PAWL_ERR_NO_NODE, PAWL_ERR_NODE_EXISTS};
    int rcs[6];

    rcs[0] = pawl_delete(c, PAWL_DELETE(.path = "/made", .flags = PAWL_OP_CHILDREN_TOO), NULL);
    rcs[1] = pawl_delete(c, PAWL_DELETE(.path = "/same"), NULL);
    rcs[2] = pawl_create(c, PAWL_CREATE(.path = "/node", .data = text_bytes("n")), NULL);
    rcs[3] = pawl_create(
        c, PAWL_CREATE(.path = "/packed", .data = text_bytes("p"), .flags = PAWL_OP_COMPRESS),
        NULL);
    rcs[4] = pawl_create(c, PAWL_CREATE(.path = "/tree/a/b", .flags = PAWL_OP_PARENTS), NULL);
    rcs[5] = pawl_watch(c, "/node", PAWL_WATCH_RECURSIVE, &a_watch, NULL);
    for (size_t i = 0; i < TEST_COUNT(rcs); i++) {
        if (rcs[i] != may_be[0] && rcs[i] != may_be[1] && rcs[i] != may_be[2]) {
            return rcs[i];
        }
    }
    return 0;
}

static bool is_honest(int rc, bool failed)
{
    return rc == PAWL_OK ||
           (failed && (rc == PAWL_ERR_NO_MEMORY || rc == PAWL_ERR_CONNECTION_LOSS));
}

static void expect_honest(const struct operation *op, long n, bool async, int rc, bool failed)
{
    if (!is_honest(rc, failed)) {
        fail_msg("%s%s, allocation %ld: %s", op->name, async ? ", asynchronous" : "", n,
                 pawl_strerror(rc));
    }
}

/* False: nothing failed any more. */
static bool try_one(struct pawl_client *c, const struct operation *op, long n, long many,
                    bool async)
{
    struct told t = {.n = 0};
    bool failed;
    int rc;

    sem_init(&t.done, 0, 0);
    assert_int_equal(until_done(restore, c), 0);
    failing_memory_arm(n, many);
    rc = op->run(c, async ? &t : NULL);
    if (async && rc == 0) {
        wait_semaphore(&t.done);
        rc = t.err;
        failed = failing_memory_disarm();
        assert_int_equal(atomic_load(&t.n), 1);
    } else {
        failed = failing_memory_disarm();
        assert_int_equal(atomic_load(&t.n), 0);
    }
    expect_honest(op, n, async, rc, failed);
    return failed;
}

static void every_operation(struct pawl_client *c, long many)
{
    for (size_t i = 0; i < TEST_COUNT(operations); i++) {
        for (int async = 0; async < 2; async++) {
            long n = 0;

            while (try_one(c, &operations[i], n, many, async != 0)) {
                assert_true(++n < MOST_ALLOCATIONS);
            }
            assert_true(n > 1); /* or it is not looked at */
        }
    }
}

static void each_allocation_of_an_operation_may_fail(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    every_operation(c, 1);
    every_operation(c, 3);
    pawl_client_close(c);
}

static void the_same_with_retries(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;

    (void)state;
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 5, .pause_ms = 1};
    c = client_fixture_open(&o);
    every_operation(c, 1);
    pawl_client_close(c);
}

/* ---- the life of a handle ---- */

static struct pawl_client_options rich_options(char *servers, size_t size)
{
    static const struct pawl_auth auth = {"digest", {"a:b", 3}};
    struct pawl_client_options o = client_fixture_options();

    snprintf(servers, size, "127.0.0.1:%d,localhost:%d/chroot", client_fixture_port(),
             client_fixture_port());
    o.servers = servers;
    o.auths = &auth;
    o.n_auths = 1;
    o.acls = (struct pawl_acls){&everybody, 1};
    o.on_state = on_state;
    o.flags = PAWL_CLIENT_FOLLOW_CONFIG;
    return o;
}

/* Opened, used and closed with memory failing once on the way; false: it did not. */
static bool live(enum pawl_dispatch mode, long n)
{
    char servers[64];
    struct pawl_client_options o = rich_options(servers, sizeof(servers));
    struct pawl_client *c;
    int rc;

    o.dispatch = mode;
    failing_memory_arm(n, 1);
    rc = pawl_client_open(&o, &c);
    if (rc == 0) {
        assert_int_equal(pawl_client_wait_connected(c, SOON_MS), PAWL_OK);
        if (pawl_client_add_listener(c, on_state, c) == 0) {
            pawl_client_remove_listener(c, on_state, c);
        }
        pawl_client_set_servers(c, "127.0.0.1:1,localhost:1");
        pawl_exists_async(c, "/", &a_watch, NULL, NULL);
        pawl_client_close(c);
    } else {
        assert_int_equal(rc, PAWL_ERR_NO_MEMORY);
    }
    return failing_memory_disarm();
}

static void a_handle_may_be_opened_and_closed_without_memory(void **state)
{
    (void)state;
    for (int mode = PAWL_DISPATCH_THREAD; mode <= PAWL_DISPATCH_EXTERNAL; mode++) {
        long n = 0;

        while (live((enum pawl_dispatch)mode, n)) {
            assert_true(++n < MOST_ALLOCATIONS);
        }
        assert_true(n > 10);
    }
}

/* False: nothing failed any more. */
static bool open_with_tls(const struct pawl_client_options *o, long n)
{
    struct pawl_client *c;
    bool failed;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_client_open(o, &c);
    if (rc == 0) {
        pawl_client_close(c);
    }
    failed = failing_memory_disarm();
    assert_true(rc == PAWL_OK || (failed && rc == PAWL_ERR_NO_MEMORY));
    return failed;
}

static void a_handle_with_tls_may_be_opened_without_memory(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_tls_options tls = *PAWL_TLS_OPTIONS(.server_name = "example.org");
    struct certificate own;
    char address[32], servers[64];
    long n = 0;

    (void)state;
    certificate_make(&own, NULL, "own", NULL);
    tls.ca_file = tls.certificate_file = own.path;
    address_that_refuses(address, sizeof(address));
    snprintf(servers, sizeof(servers), "zks://%s", address);
    o.servers = servers;
    o.tls = &tls;
    while (open_with_tls(&o, n)) {
        assert_true(++n < MOST_ALLOCATIONS);
    }
    assert_true(n > 10);
    certificate_unmake(&own);
}

/* False: nothing failed any more. */
static bool hand_over(long n)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c = client_fixture_open(&o), *next = NULL;
    int64_t id = pawl_client_session_id(c);
    void *blob = NULL;
    size_t len = 0;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_client_detach(c, text_bytes("extra"), &blob, &len);
    if (rc == 0) {
        o.attach = (struct pawl_bytes){blob, len};
        rc = pawl_client_open(&o, &next);
    } else {
        pawl_client_close(c); /* with an error nothing has been closed */
    }
    if (rc == 0) {
        assert_int_equal(pawl_client_wait_connected(next, SOON_MS), PAWL_OK);
        assert_true(pawl_client_session_id(next) == id);
        pawl_client_close(next);
    } else {
        assert_int_equal(rc, PAWL_ERR_NO_MEMORY);
    }
    free(blob);
    return failing_memory_disarm();
}

static void a_session_is_handed_over_without_memory(void **state)
{
    long n = 0;

    (void)state;
    while (hand_over(n)) {
        assert_true(++n < MOST_ALLOCATIONS);
    }
    assert_true(n > 10);
}

/* ---- no threads, no descriptors ---- */

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*f)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*f)(void *), void *arg);

static _Atomic int threads_left = INT_MAX;

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*f)(void *), void *arg)
{
    return atomic_fetch_sub(&threads_left, 1) > 0 ? __real_pthread_create(t, attr, f, arg) : EAGAIN;
}

static void without_threads_there_is_no_handle(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;

    (void)state;
    o.on_state = on_state;
    for (int n = 0; n < 2; n++) {
        atomic_store(&threads_left, n);
        assert_int_equal(pawl_client_open(&o, &c), PAWL_ERR_SYSTEM);
        atomic_store(&threads_left, INT_MAX);
    }
    pawl_client_close(client_fixture_open(&o));
}

/* The first descriptor that there is none for, the second, and so on. */
static void without_descriptors_there_is_no_handle(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct rlimit usual, few;
    struct pawl_client *c;
    int next = dup(0), rc = PAWL_ERR_SYSTEM;

    (void)state;
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    for (int n = 0; rc != PAWL_OK && n < 20; n++) {
        few = (struct rlimit){(rlim_t)(next + n), usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        rc = pawl_client_open(&o, &c);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_true(n > 0 || rc == PAWL_ERR_SYSTEM);
        assert_true(rc == PAWL_OK || rc == PAWL_ERR_SYSTEM);
    }
    assert_int_equal(pawl_client_wait_connected(c, SOON_MS), PAWL_OK); /* now there are enough */
    pawl_client_close(c);
    assert_int_equal(dup(0), next); /* none was lost on the way */
    close(next);
}

/* ---- the server's process ---- */

static int serve(int report, int until)
{
    char text[16];

    if (client_fixture_start(NULL) != 0) {
        return 1;
    }
    snprintf(text, sizeof(text), "%d", client_fixture_port());
    if (write(report, text, sizeof(text)) != (ssize_t)sizeof(text)) {
        return 1;
    }
    (void)!read(until, text, 1); /* until the test has ended, however */
    return client_fixture_stop(NULL) == 0 ? 0 : 1;
}

static bool find_server(int report)
{
    char port[16], address[32];

    if (read(report, port, sizeof(port)) != (ssize_t)sizeof(port)) {
        return false;
    }
    snprintf(address, sizeof(address), "127.0.0.1:%s", port);
    return setenv("PAWL_TEST_SERVER", address, 1) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_an_operation_may_fail),
        cmocka_unit_test(the_same_with_retries),
        cmocka_unit_test(a_handle_may_be_opened_and_closed_without_memory),
        cmocka_unit_test(a_handle_with_tls_may_be_opened_without_memory),
        cmocka_unit_test(a_session_is_handed_over_without_memory),
        cmocka_unit_test(without_threads_there_is_no_handle),
        cmocka_unit_test(without_descriptors_there_is_no_handle),
    };
    int report[2], until[2];
    pid_t pid;

    if (pipe(report) != 0 || pipe(until) != 0 || (pid = fork()) < 0) {
        return 1;
    }
    if (pid == 0) {
        close(until[1]);
        _exit(serve(report[1], until[0]));
    }
    close(until[0]);
    if (!find_server(report[0])) {
        return 1;
    }
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
