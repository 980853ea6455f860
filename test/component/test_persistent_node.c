/* SPDX-License-Identifier: Apache-2.0 */
/* A node that stays, whatever is done to it. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/test.h"
#include "pawl/group.h"

static struct pawl_persistent_node *new_node(struct pawl_client *c, const char *path,
                                             const struct pawl_persistent_options *options)
{
    struct pawl_persistent_node *n;

    assert_int_equal(pawl_persistent_node_new(c, path, options, &n), 0);
    return n;
}

static struct pawl_persistent_node *made(struct pawl_client *c, const char *path,
                                         enum pawl_mode mode, bool is_protected, char *name,
                                         size_t size)
{
    struct pawl_persistent_options o = {
        .size = sizeof(o), .mode = mode, .is_protected = is_protected, .data = text_bytes("d")};
    struct pawl_persistent_node *n = new_node(c, path, &o);

    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), 0);
    pawl_persistent_node_path(n, name, size);
    return n;
}

/* Data, or "-" when it is not there; czxid if asked for. */
static void look(struct pawl_client *c, const char *path, char *out, size_t size, int64_t *czxid)
{
    struct pawl_reply *reply;
    int rc = pawl_get(c, path, NULL, &reply);

    snprintf(out, size, "%.*s", rc != 0 ? 1 : (int)reply->data.len,
             rc != 0 ? "-" : (const char *)reply->data.data);
    if (czxid != NULL) {
        *czxid = reply->stat.czxid;
    }
    pawl_reply_free(reply);
}

static void until(struct pawl_client *c, const char *path, const char *data)
{
    char now[64];

    for (int64_t end = now_ms() + SOON_MS;;) {
        look(c, path, now, sizeof(now), NULL);
        if (strcmp(now, data) == 0) {
            return;
        }
        assert_true(now_ms() < end);
    }
}

static void until_made_again(struct pawl_client *c, const char *path, int64_t not_czxid)
{
    char now[64];
    int64_t czxid = 0;

    for (int64_t end = now_ms() + SOON_MS;;) {
        look(c, path, now, sizeof(now), &czxid);
        if (czxid != 0 && czxid != not_czxid) {
            return;
        }
        assert_true(now_ms() < end);
    }
}

static int children_of(struct pawl_client *c, const char *path)
{
    struct pawl_reply *reply;
    int n = pawl_children(c, path, NULL, &reply) == 0 ? (int)reply->children.n : -1;

    pawl_reply_free(reply);
    return n;
}

/* ---- persistentnode.txt ---- */

static void it_is_made_again_under_the_same_name_in_every_mode(void **state)
{
    static const struct {
        enum pawl_mode mode;
        bool is_protected;
    } kinds[] = {{PAWL_MODE_EPHEMERAL, false}, {PAWL_MODE_EPHEMERAL_SEQUENTIAL, true},
                 {PAWL_MODE_EPHEMERAL, true},  {PAWL_MODE_PERSISTENT, false},
                 {PAWL_MODE_SEQUENTIAL, true}, {PAWL_MODE_CONTAINER, false}};
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_persistent_node *nodes[TEST_COUNT(kinds)];
    char base[32], path[TEST_COUNT(kinds)][128], again[128], data[8];
    int64_t czxid;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(kinds); i++) {
        snprintf(base, sizeof(base), "/pn/modes/n%d-", (int)i);
        nodes[i] = made(c, base, kinds[i].mode, kinds[i].is_protected, path[i], sizeof(path[i]));
        look(other, path[i], data, sizeof(data), &czxid);
        assert_string_equal(data, "d");
        assert_int_equal(pawl_delete(other, PAWL_DELETE(.path = path[i]), NULL), 0);
        until_made_again(other, path[i], czxid);
        pawl_persistent_node_path(nodes[i], again, sizeof(again));
        assert_string_equal(again, path[i]);
        assert_int_equal(children_of(other, "/pn/modes"), (int)i + 1);
    }
    for (size_t i = 0; i < TEST_COUNT(kinds); i++) {
        pawl_persistent_node_free(nodes[i]);
        until(other, path[i], "-");
    }
    pawl_client_close(c);
    pawl_client_close(other);
}

static void foreign_data_stay_and_own_data_are_written(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    char path[128], data[16];
    struct pawl_persistent_node *n =
        made(c, "/pn/data", PAWL_MODE_EPHEMERAL, false, path, sizeof(path));
    int64_t czxid;

    (void)state;
    assert_int_equal(pawl_set(other, PAWL_SET(.path = path, .data = text_bytes("foreign")), NULL),
                     0);
    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), 0);
    assert_int_equal(pawl_sync(c, "/", NULL), 0);
    look(other, path, data, sizeof(data), &czxid);
    assert_string_equal(data, "foreign");
    assert_int_equal(pawl_persistent_node_set(n, text_bytes("new")), 0);
    until(other, path, "new");
    assert_int_equal(pawl_delete(other, PAWL_DELETE(.path = path), NULL), 0);
    until(other, path, "new"); /* also when it is made again */
    pawl_persistent_node_free(n);
    until(other, path, "-");
    pawl_client_close(c);
    pawl_client_close(other);
}

/* it exists already */
static void a_node_that_exists_is_taken_over_with_our_data(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    char path[128];
    struct pawl_persistent_node *n;

    (void)state;
    assert_int_equal(pawl_create(other,
                                 PAWL_CREATE(.path = "/pn-there", .data = text_bytes("old"),
                                             .mode = PAWL_MODE_EPHEMERAL),
                                 NULL),
                     0);
    n = made(c, "/pn-there", PAWL_MODE_EPHEMERAL, false, path, sizeof(path));
    until(c, "/pn-there", "d");
    pawl_client_close(other); /* its session takes it along: ours follows */
    other = client_fixture_open(NULL);
    for (int64_t end = now_ms() + SOON_MS, owner = 0; owner != pawl_client_session_id(c);) {
        struct pawl_reply *reply;

        (void)pawl_exists(other, "/pn-there", NULL, &reply);
        owner = reply->stat.ephemeral_owner;
        pawl_reply_free(reply);
        assert_true(now_ms() < end);
    }
    pawl_persistent_node_free(n);
    until(other, "/pn-there", "-");
    pawl_client_close(c);
    pawl_client_close(other);
}

struct told {
    sem_t some;
    _Atomic int state, err, n;
};

static void note_change(struct pawl_persistent_node *n, enum pawl_persistent_state state, int err,
                        void *arg)
{
    struct told *t = arg;

    (void)n;
    t->state = (int)state;
    t->err = err;
    t->n++;
    sem_post(&t->some);
}

/* no permission, or no parent: flagged, no spinning */
static void what_cannot_be_made_is_told_once(void **state)
{
    static const struct pawl_acl read_only = {PAWL_PERM_READ | PAWL_PERM_DELETE, "world", "anyone"};
    struct told t = {.n = 0};
    struct pawl_persistent_options o = {
        .size = sizeof(o), .on_change = note_change, .on_change_arg = &t};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_persistent_node *n;
    int err;

    (void)state;
    sem_init(&t.some, 0, 0);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/pn-refused", .acls = {&read_only, 1}), NULL), 0);
    n = new_node(c, "/pn-refused/a", &o);
    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), PAWL_ERR_NO_AUTH);
    assert_int_equal(pawl_persistent_node_state(n, &err), PAWL_PERSISTENT_FAILED);
    assert_int_equal(err, PAWL_ERR_NO_AUTH);
    wait_semaphore(&t.some);
    assert_int_equal(t.err, PAWL_ERR_NO_AUTH);
    assert_int_equal(t.n, 1);
    pawl_persistent_node_free(n);
    o.no_parents = true;
    n = new_node(c, "/pn-nowhere/a/b", &o);
    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), PAWL_ERR_NO_NODE);
    pawl_persistent_node_free(n);
    pawl_client_close(c);
}

/* the session is lost, data change meanwhile, exactly one node is there afterwards */
static void a_new_session_gets_the_node_with_the_new_data(void **state)
{
    struct told t = {.n = 0};
    struct pawl_persistent_options o = {.size = sizeof(o),
                                        .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                        .is_protected = true,
                                        .data = text_bytes("before"),
                                        .on_change = note_change,
                                        .on_change_arg = &t};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_persistent_node *n;
    struct behind_proxy b;
    char path[128];

    (void)state;
    sem_init(&t.some, 0, 0);
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    n = new_node(b.c, "/pn/lost/n-", &o);
    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), 0);
    pawl_persistent_node_path(n, path, sizeof(path));
    wait_semaphore(&t.some);
    assert_int_equal(t.state, PAWL_PERSISTENT_THERE);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    until(other, path, "-");
    wait_semaphore(&t.some);
    assert_int_equal(t.state, PAWL_PERSISTENT_ABSENT);
    assert_int_equal(pawl_persistent_node_set(n, text_bytes("after")), 0);
    tcp_proxy_accept(b.proxy, true);
    until(other, path, "after");
    assert_int_equal(children_of(other, "/pn/lost"), 1);
    pawl_persistent_node_free(n);
    until(other, path, "-");
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* Too much for a node is refused; what fits is taken, and that is told. */
static void after_a_refusal_new_data_bring_it_back(void **state)
{
    static char large[2 << 20];
    struct told t = {.n = 0};
    struct pawl_persistent_options o = {.size = sizeof(o),
                                        .mode = PAWL_MODE_EPHEMERAL,
                                        .data = {"1", 1},
                                        .on_change = note_change,
                                        .on_change_arg = &t};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_persistent_node *n;

    (void)state;
    sem_init(&t.some, 0, 0);
    n = new_node(c, "/pn-large", &o);
    wait_semaphore(&t.some);
    assert_int_equal(t.state, PAWL_PERSISTENT_THERE);
    until(c, "/pn-large", "1");
    assert_int_equal(pawl_persistent_node_set(n, (struct pawl_bytes){large, sizeof(large)}), 0);
    wait_semaphore(&t.some);
    assert_int_equal(t.state, PAWL_PERSISTENT_FAILED);
    assert_int_equal(t.err, PAWL_ERR_TOO_LARGE);
    assert_int_equal(pawl_persistent_node_set(n, text_bytes("2")), 0);
    wait_semaphore(&t.some);
    assert_int_equal(t.state, PAWL_PERSISTENT_THERE);
    until(c, "/pn-large", "2");
    pawl_persistent_node_free(n);
    pawl_client_close(c);
}

/* The answer to its creation was lost, and it is freed before it has been asked for again. */
static void freed_when_it_is_not_known_to_be_there_it_goes_all_the_same(void **state)
{
    struct pawl_persistent_options o = {.size = sizeof(o), .no_parents = true};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_persistent_node *n;
    struct behind_proxy b;

    (void)state;
    behind_proxy_open(&b, &co);
    tcp_proxy_swallow_replies(b.proxy, true);
    n = new_node(b.c, "/pn-lost-answer", &o);
    while (pawl_exists(other, "/pn-lost-answer", NULL, NULL) != 0) {
    }
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    tcp_proxy_swallow_replies(b.proxy, false);
    pawl_persistent_node_free(n);
    tcp_proxy_accept(b.proxy, true);
    until(other, "/pn-lost-answer", "-");
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void nobody_waits_for_the_only_session_when_it_is_over(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_persistent_node *n;
    struct behind_proxy b;

    (void)state;
    co.flags |= PAWL_CLIENT_ONE_SESSION;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    n = new_node(b.c, "/pn-only", NULL);
    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), PAWL_ERR_SESSION_EXPIRED);
    pawl_persistent_node_free(n);
    behind_proxy_close(&b);
}

/* Half of it is no time at all: no timer may then be due for ever. */
static void a_ttl_of_a_millisecond_does_not_hang(void **state)
{
    struct pawl_persistent_options o = {.size = sizeof(o), .mode = PAWL_MODE_TTL, .ttl_ms = 1};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_persistent_node *n;
    struct behind_proxy b;

    (void)state;
    behind_proxy_open(&b, &co);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    n = new_node(b.c, "/pn-brief", &o);
    assert_int_equal(pawl_persistent_node_wait(n, 50), PAWL_ERR_OPERATION_TIMEOUT);
    pawl_persistent_node_free(n);
    behind_proxy_close(&b);
}

static void freed_while_it_is_being_made_nothing_is_left(void **state)
{
    struct pawl_persistent_options o = {
        .size = sizeof(o), .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL, .is_protected = true};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct pawl_persistent_node *n = new_node(c, "/pn/short/n-", &o);

        for (int k = i % 5; k > 0; k--) {
            assert_int_equal(pawl_exists(c, "/", NULL, NULL), 0);
        }
        pawl_persistent_node_free(n);
    }
    wait_until(children_of(c, "/pn/short") <= 0);
    pawl_client_close(c);
}

/* ---- persistentttlnode.txt, head-persistentttlnode.txt; R-55 ---- */

/* Waits for that version; a time when it had not come yet, or 0. */
static int64_t until_touched(struct pawl_client *c, const char *path, int version)
{
    int64_t end = now_ms() + SOON_MS, not_yet = 0;

    for (bool there = false; !there;) {
        int64_t before = now_ms();
        struct pawl_reply *reply;

        there = pawl_exists(c, path, NULL, &reply) == 0 && reply->stat.version >= version;
        not_yet = there ? not_yet : before;
        pawl_reply_free(reply);
        assert_true(before < end);
    }
    return not_yet;
}

static void a_ttl_node_lives_by_its_touch_and_ends_by_itself(void **state)
{
    struct pawl_persistent_options o = {
        .size = sizeof(o), .mode = PAWL_MODE_TTL, .ttl_ms = 2000, .data = text_bytes("d")};
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_persistent_node *n = new_node(c, "/pn-ttl", &o);
    struct pawl_reply *reply;
    int64_t touched = 0;

    (void)state;
    assert_int_equal(pawl_persistent_node_wait(n, SOON_MS), 0);
    for (int i = 1; i <= 3; i++) {
        touched = until_touched(other, "/pn-ttl/touch", i);
    }
    assert_int_equal(pawl_exists(other, "/pn-ttl", NULL, &reply), 0);
    assert_int_equal(reply->stat.version, 0); /* its watchers are left in peace */
    pawl_reply_free(reply);
    pawl_persistent_node_free(n);
    until(other, "/pn-ttl", "-");
    assert_true(now_ms() - touched >= o.ttl_ms); /* nobody has deleted it before its time */
    pawl_client_close(c);
    pawl_client_close(other);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_persistent_options o = {.size = sizeof(o), .mode = PAWL_MODE_TTL};
    struct pawl_persistent_node *n;

    (void)state;
    assert_int_equal(pawl_persistent_node_new(c, "/", NULL, &n), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_persistent_node_new(c, NULL, NULL, &n), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_persistent_node_new(c, "/a", &o, &n), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_persistent_node_wait(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    pawl_persistent_node_free(NULL);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_made_again_under_the_same_name_in_every_mode),
        cmocka_unit_test(foreign_data_stay_and_own_data_are_written),
        cmocka_unit_test(a_node_that_exists_is_taken_over_with_our_data),
        cmocka_unit_test(what_cannot_be_made_is_told_once),
        cmocka_unit_test(a_new_session_gets_the_node_with_the_new_data),
        cmocka_unit_test(freed_while_it_is_being_made_nothing_is_left),
        cmocka_unit_test(after_a_refusal_new_data_bring_it_back),
        cmocka_unit_test(nobody_waits_for_the_only_session_when_it_is_over),
        cmocka_unit_test(a_ttl_of_a_millisecond_does_not_hang),
        cmocka_unit_test(freed_when_it_is_not_known_to_be_there_it_goes_all_the_same),
        cmocka_unit_test(a_ttl_node_lives_by_its_touch_and_ends_by_itself),
        cmocka_unit_test(bad_arguments_are_refused),
    };

    client_fixture_properties[0] = "znode.container.checkIntervalMs=300";
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
