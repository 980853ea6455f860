/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out under the cache and the node that stays: at the first allocation, at the second,
 * and so on until none fails any more. Either the call says so, or they come right in the end. */
#define _GNU_SOURCE
#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/failing_memory.h"
#include "lib/forked_server.h"
#include "lib/test.h"
#include "pawl/group.h"

enum { MOST_ALLOCATIONS = 600, N_NODES = 6 };

static int persistent = 0, one_shot = PAWL_CACHE_ONE_SHOT;

static void ignore(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg)
{
    (void)c;
    (void)event;
    (void)arg;
}

static void make(struct pawl_client *c, const char *path)
{
    int rc = pawl_create(c, PAWL_CREATE(.path = path, .data = text_bytes("1")), NULL);

    assert_true(rc == 0 || rc == PAWL_ERR_NODE_EXISTS);
}

static void make_tree(struct pawl_client *c)
{
    static const char *const paths[] = {"/t", "/t/a", "/t/a/x", "/t/a/y", "/t/b", "/t/c"};

    for (size_t i = 0; i < TEST_COUNT(paths); i++) {
        make(c, paths[i]);
    }
}

static void until_value(const struct pawl_cache *cache, const char *path, const char *value)
{
    for (int64_t end = now_ms() + SOON_MS;;) {
        const struct pawl_node *n = pawl_cache_get(cache, path);
        bool there = n != NULL && strcmp(n->data.data, value) == 0;

        pawl_node_unref(n);
        if (there) {
            return;
        }
        assert_true(now_ms() < end);
    }
}

/* True: it has failed somewhere. */
static bool load(struct pawl_client *c, struct pawl_client *other, int flags, long at)
{
    struct pawl_cache_options o = {.size = sizeof(o), .flags = flags, .on_event = ignore};
    struct pawl_cache *cache;
    bool failed;
    int rc;

    (void)other;
    failing_memory_arm(at, 1);
    rc = pawl_cache_new(c, "/t", PAWL_DEPTH_TREE, &o, &cache);
    if (rc == 0) {
        assert_int_equal(pawl_cache_wait(cache, SOON_MS), 0);
        assert_int_equal(pawl_cache_size(cache), N_NODES);
        pawl_cache_free(cache);
    }
    failed = failing_memory_disarm();
    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
    return failed;
}

static bool follow(struct pawl_client *c, struct pawl_client *other, int flags, long at)
{
    struct pawl_cache_options o = {.size = sizeof(o), .flags = flags, .on_event = ignore};
    struct pawl_cache *cache;
    char value[24];
    bool failed;

    snprintf(value, sizeof(value), "v%ld", at);
    assert_int_equal(pawl_cache_new(c, "/t", PAWL_DEPTH_TREE, &o, &cache), 0);
    assert_int_equal(pawl_cache_wait(cache, SOON_MS), 0);
    (void)pawl_delete(other, PAWL_DELETE(.path = "/t/a/x"), NULL);
    failing_memory_arm(at, 1);
    while (pawl_create(other, PAWL_CREATE(.path = "/t/a/x", .data = text_bytes(value)), NULL) ==
           PAWL_ERR_NO_MEMORY) {
    }
    until_value(cache, "/t/a/x", value);
    failed = failing_memory_disarm();
    pawl_cache_free(cache);
    return failed;
}

typedef bool (*once_fn)(struct pawl_client *c, struct pawl_client *other, int flags, long at);

static void run(once_fn once, int flags)
{
    struct pawl_client *other = client_fixture_open(NULL), *c = client_fixture_open(NULL);
    long at = 0;

    make_tree(other);
    while (once(c, other, flags, at)) {
        at++;
        assert_true(at < MOST_ALLOCATIONS);
    }
    assert_true(at > 5);
    pawl_client_close(c);
    pawl_client_close(other);
}

static void it_loads_in_the_end(void **state)
{
    run(load, *(int *)*state);
}

static void it_follows_in_the_end(void **state)
{
    run(follow, *(int *)*state);
}

static bool stay(struct pawl_client *c, struct pawl_client *other, int flags, long at)
{
    struct pawl_persistent_options o = {
        .size = sizeof(o), .mode = PAWL_MODE_EPHEMERAL, .data = text_bytes("d")};
    struct pawl_persistent_node *n;
    bool failed;
    int rc;

    (void)flags;
    failing_memory_arm(at, 1);
    rc = pawl_persistent_node_new(c, "/stays", &o, &n);
    if (rc == 0) {
        assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), 0);
    }
    failed = failing_memory_disarm();
    assert_true(rc == 0 || (failed && rc == PAWL_ERR_NO_MEMORY));
    if (rc == 0) {
        /* The delete of the round before may have been repeated, for want of memory for its answer,
         * and have hit this one: then it is made again. */
        for (int64_t end = now_ms() + SOON_MS; pawl_exists(other, "/stays", NULL, NULL) != 0;) {
            assert_true(now_ms() < end);
        }
        pawl_persistent_node_free(n);
        for (int64_t end = now_ms() + SOON_MS; pawl_exists(other, "/stays", NULL, NULL) == 0;) {
            assert_true(now_ms() < end);
        }
    }
    return failed;
}

static void a_node_stays_in_the_end(void **state)
{
    (void)state;
    run(stay, 0);
}

#define BOTH(test) \
    cmocka_unit_test_prestate(test, &persistent), cmocka_unit_test_prestate(test, &one_shot)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(it_loads_in_the_end),
        BOTH(it_follows_in_the_end),
        cmocka_unit_test(a_node_stays_in_the_end),
    };

    if (!forked_server_start()) {
        return 1;
    }
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
