/* SPDX-License-Identifier: Apache-2.0 */
/* Bugs that Curator's lock had once, by their numbers in the list of them; the others are tested
 * beside the recipe they belong to, and in the simulator's scenarios. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "lib/test.h"

#include "lib/recipe_helpers.h"

static struct pawl_lock *new_lock(struct pawl_client *c, const char *path)
{
    struct pawl_lock *l = NULL;

    assert_int_equal(pawl_lock_new(c, path, NULL, &l), 0);
    return l;
}

/* One who may look into the folders that others may not. */
static struct pawl_client *open_overseer(void)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_auth auth = {.scheme = "digest", .auth = text_bytes("overseer:secret")};

    assert_int_equal(pawl_add_auth(c, &auth, NULL), 0);
    return c;
}

static void make_folder(struct pawl_client *overseer, const char *path, int perms)
{
    struct pawl_acl acls[] = {{.perms = perms, .scheme = "world", .id = "anyone"},
                              {.perms = PAWL_PERM_ALL, .scheme = "auth", .id = ""}};

    (void)pawl_create(overseer, PAWL_CREATE(.path = "/bugs"), NULL);
    assert_int_equal(pawl_create(overseer, PAWL_CREATE(.path = path, .acls = {acls, 2}), NULL), 0);
}

/* */
static void names_do_not_grow_with_their_use(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l = new_lock(c, "/bugs/names");
    char path[256], *id;
    size_t len = 0;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
        pawl_grant_path(pawl_lock_grant(l), path, sizeof(path));
        id = strstr(path, "_c_");
        assert_non_null(id);
        assert_null(strstr(id + 1, "_c_"));
        assert_true(len == 0 || strlen(path) == len);
        len = strlen(path);
        assert_int_equal(pawl_lock_release(l), 0);
    }
    pawl_lock_free(l);
    pawl_client_close(c);
}

/* */
static void who_may_not_list_leaves_no_node_behind(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = open_overseer();
    struct pawl_lock *l = new_lock(c, "/bugs/unlisted");

    (void)state;
    make_folder(other, "/bugs/unlisted", PAWL_PERM_CREATE | PAWL_PERM_DELETE);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_ERR_NO_AUTH);
    until_nodes(other, "/bugs/unlisted", 0);
    pawl_lock_free(l);
    pawl_client_close(c);
    pawl_client_close(other);
}

/* neither the listing nor the delete behind it is allowed; the first error is told, and the
 * node goes with the session. */
static void a_clean_up_that_fails_hides_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = open_overseer();
    struct pawl_lock *l = new_lock(c, "/bugs/stuck");

    (void)state;
    make_folder(other, "/bugs/stuck", PAWL_PERM_CREATE);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_ERR_NO_AUTH);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_ERR_NO_AUTH);
    assert_int_equal(n_nodes(other, "/bugs/stuck"), 2);
    pawl_lock_free(l);
    pawl_client_close(c);
    until_nodes(other, "/bugs/stuck", 0);
    pawl_client_close(other);
}

/* */
static void a_release_that_is_not_answered_goes_on(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;
    struct pawl_lock *l;

    (void)state;
    o.timeout_ms = SENT_MS;
    behind_proxy_open(&b, &o);
    l = new_lock(b.c, "/bugs/release");
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    tcp_proxy_freeze(b.proxy, true);
    assert_int_equal(pawl_lock_release(l), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(n_nodes(other, "/bugs/release"), 1);
    assert_false(pawl_lock_held(l));
    tcp_proxy_freeze(b.proxy, false);
    until_nodes(other, "/bugs/release", 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    pawl_lock_free(l);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void *acquire(void *lock)
{
    assert_int_equal(pawl_lock_acquire(lock, -1), 0);
    return NULL;
}

/* */
static void a_blocked_caller_does_not_keep_the_link_down(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_lock *holds = new_lock(other, "/bugs/blocked"), *l;
    struct behind_proxy b;
    pthread_t thread;

    (void)state;
    assert_int_equal(pawl_lock_acquire(holds, SOON_MS), 0);
    behind_proxy_open(&b, &o);
    l = new_lock(b.c, "/bugs/blocked");
    pthread_create(&thread, NULL, acquire, l);
    until_nodes(other, "/bugs/blocked", 2);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    assert_int_equal(pawl_lock_release(holds), 0);
    pthread_join(thread, NULL);
    assert_true(pawl_lock_held(l));
    pawl_lock_free(l);
    pawl_lock_free(holds);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* */
static void a_guaranteed_delete_of_nothing_ends_at_once(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    assert_int_equal(
        pawl_delete(c, PAWL_DELETE(.path = "/none", .flags = PAWL_OP_GUARANTEED), NULL),
        PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_do_not_grow_with_their_use),
        cmocka_unit_test(who_may_not_list_leaves_no_node_behind),
        cmocka_unit_test(a_clean_up_that_fails_hides_nothing),
        cmocka_unit_test(a_release_that_is_not_answered_goes_on),
        cmocka_unit_test(a_blocked_caller_does_not_keep_the_link_down),
        cmocka_unit_test(a_guaranteed_delete_of_nothing_ends_at_once),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
