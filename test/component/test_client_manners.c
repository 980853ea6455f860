/* SPDX-License-Identifier: Apache-2.0 */
/* What a new user does wrong is refused and told in words; what he wants to do is short. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

/* ---- arguments ---- */

static void a_condition_is_said_whole_or_not_at_all(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_set half = {.size = sizeof(half), .path = "/cond", .only_if = {.version = 77}};

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/cond"), NULL), PAWL_OK);
    assert_int_equal(pawl_set(c, &half, NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/cond", .only_if = pawl_version(77)), NULL),
                     PAWL_ERR_BAD_VERSION);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/cond", .only_if = pawl_version(0)), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/cond", .only_if = pawl_version(0)), NULL),
                     PAWL_ERR_BAD_VERSION);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/cond", .only_if = pawl_version(-1)), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/cond"), NULL), PAWL_OK);
    assert_int_equal(
        pawl_set(c, PAWL_SET(.path = "/cond", .only_if = pawl_version(INT64_MAX)), NULL),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/cond", .only_if = pawl_version(0)), NULL),
                     PAWL_ERR_BAD_VERSION);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/cond", .only_if = pawl_version(3)), NULL),
                     PAWL_OK);
    pawl_client_close(c);
}

static void what_makes_no_sense_is_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .flags = 1 << 20), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .flags = PAWL_OP_GUARANTEED), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/f", .flags = PAWL_OP_PARENTS), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/f", .flags = PAWL_OP_PROTECTED), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .data = {NULL, 5}), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .acls = {NULL, 1}), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    pawl_client_close(c);
}

static void a_time_to_live_belongs_to_its_mode(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .ttl_ms = 1000), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .mode = PAWL_MODE_TTL), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    pawl_client_close(c);
}

static void an_acl_is_whole(void **state)
{
    const struct pawl_acl nobody = {PAWL_PERM_ALL, "world", NULL}, nothing = {1, NULL, "anyone"};
    const struct pawl_acls bad[] = {{NULL, 1}, {&nobody, 1}, {&nothing, 1}};
    struct pawl_client *c = client_fixture_open(NULL), *other;
    struct pawl_persistent_node *node;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/f", .acls = bad[i]), NULL),
                         PAWL_ERR_BAD_ARGUMENTS);
        assert_int_equal(pawl_set_acl(c, PAWL_SET_ACL(.path = "/", .acls = bad[i]), NULL),
                         PAWL_ERR_BAD_ARGUMENTS);
        assert_int_equal(
            pawl_client_open(PAWL_CLIENT_OPTIONS(.servers = "a", .acls = bad[i]), &other),
            PAWL_ERR_BAD_ARGUMENTS);
        assert_non_null(strstr(pawl_open_error(), "acls"));
        assert_int_equal(
            pawl_persistent_node_new(c, "/f", PAWL_PERSISTENT_OPTIONS(.acls = bad[i]), &node),
            PAWL_ERR_BAD_ARGUMENTS);
    }
    pawl_client_close(c);
}

static void check_nothing_is_kept(struct pawl_client *c, struct pawl_bytes none)
{
    struct pawl_persistent_node *node;
    struct pawl_semaphore *semaphore;
    struct pawl_shared_value *value;
    struct pawl_group *group;
    struct pawl_lock *lock;

    assert_int_equal(pawl_lock_new(c, "/n", PAWL_LOCK_OPTIONS(.data = none), &lock),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_semaphore_new(c, "/n",
                                        PAWL_SEMAPHORE_OPTIONS(.max_leases = 1, .data = none),
                                        &semaphore),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(
        pawl_persistent_node_new(c, "/n", PAWL_PERSISTENT_OPTIONS(.data = none), &node),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_group_join(c, "/n", "a", PAWL_GROUP_OPTIONS(.data = none), &group),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_shared_value_new(c, "/n", none, &value), PAWL_ERR_BAD_ARGUMENTS);
}

static void check_nothing_is_written(struct pawl_client *c, struct pawl_bytes none)
{
    struct pawl_atomic_value_result *result = (struct pawl_atomic_value_result *)c;
    struct pawl_atomic_value *atomic;
    struct pawl_simple_queue *simple;
    struct pawl_shared_value *value;
    struct pawl_queue *queue;

    assert_int_equal(pawl_atomic_value_new(c, "/n/a", NULL, &atomic), PAWL_OK);
    assert_int_equal(pawl_atomic_value_force_set(atomic, none, &result), PAWL_ERR_BAD_ARGUMENTS);
    assert_null(result);
    pawl_atomic_value_free(atomic);
    assert_int_equal(pawl_simple_queue_new(c, "/n/s", &simple), PAWL_OK);
    assert_int_equal(pawl_simple_queue_offer(simple, none), PAWL_ERR_BAD_ARGUMENTS);
    pawl_simple_queue_free(simple);
    assert_int_equal(pawl_shared_value_new(c, "/n/v", pawl_str("a"), &value), PAWL_OK);
    assert_int_equal(pawl_shared_value_set(value, none), PAWL_ERR_BAD_ARGUMENTS);
    pawl_shared_value_free(value);
    assert_int_equal(pawl_queue_new(c, "/n/q", NULL, &queue), PAWL_OK);
    assert_int_equal(pawl_queue_put(queue, PAWL_PUT(.item = none), 1000), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_put(queue, PAWL_PUT(.items = &none, .n_items = 1), 1000),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_put(queue, PAWL_PUT(.n_items = 1), 1000), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_put(queue, NULL, 1000), PAWL_ERR_BAD_ARGUMENTS);
    pawl_queue_free(queue);
}

static void a_length_of_nothing_is_refused_by_recipes(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    const struct pawl_bytes none = {NULL, 5};

    (void)state;
    check_nothing_is_kept(c, none);
    check_nothing_is_written(c, none);
    pawl_client_close(c);
}

static void numbers_out_of_range_are_refused(void **state)
{
    const struct pawl_client_options *const bad[] = {
        PAWL_CLIENT_OPTIONS(.servers = "a", .session_timeout_ms = -1),
        PAWL_CLIENT_OPTIONS(.servers = "a", .connect_timeout_ms = -1),
        PAWL_CLIENT_OPTIONS(.servers = "a", .close_timeout_ms = -1),
        PAWL_CLIENT_OPTIONS(.servers = "a", .timeout_ms = -2),
        PAWL_CLIENT_OPTIONS(.servers = "a", .lost_percent = 101),
        PAWL_CLIENT_OPTIONS(.servers = "a", .dispatch = (enum pawl_dispatch)9),
        PAWL_CLIENT_OPTIONS(.servers = "a", .retry = {.kind = (enum pawl_retry_kind)9}),
        PAWL_CLIENT_OPTIONS(.servers = "a", .log_level = (enum pawl_log_level)9),
    };
    struct pawl_client *c;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        c = (struct pawl_client *)(uintptr_t)bad[i];
        assert_int_equal(pawl_client_open(bad[i], &c), PAWL_ERR_BAD_ARGUMENTS);
        assert_null(c);
        assert_non_null(strstr(pawl_open_error(), " is "));
    }
}

/* Each options struct, all zero: the size was forgotten. */
static void a_forgotten_size_is_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *client = c;
    struct pawl_client_options client_options = {.servers = "localhost"};
    struct pawl_lock *lock = (struct pawl_lock *)c;
    struct pawl_latch *latch = (struct pawl_latch *)c;
    struct pawl_selector *selector = (struct pawl_selector *)c;
    struct pawl_semaphore *semaphore = (struct pawl_semaphore *)c;
    struct pawl_cache *cache = (struct pawl_cache *)c;
    struct pawl_queue *queue = (struct pawl_queue *)c;

    (void)state;
    assert_int_equal(pawl_client_open(&client_options, &client), PAWL_ERR_BAD_ARGUMENTS);
    assert_null(client);
    assert_int_equal(pawl_client_view(c, &(struct pawl_view_options){.name_space = "x"}, &client),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_null(client);
    assert_int_equal(pawl_create(c, &(struct pawl_create){.path = "/s"}, NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_set(c, &(struct pawl_set){.path = "/s"}, NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_delete(c, &(struct pawl_delete){.path = "/s"}, NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_lock_new(c, "/s", &(struct pawl_lock_options){.permits = 2}, &lock),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_null(lock);
    assert_int_equal(pawl_latch_new(c, "/s", &(struct pawl_latch_options){.id = "x"}, &latch),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_null(latch);
    assert_int_equal(
        pawl_selector_new(c, "/s", &(struct pawl_selector_options){.id = "x"}, &selector),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_null(selector);
    assert_int_equal(
        pawl_semaphore_new(c, "/s", &(struct pawl_semaphore_options){.max_leases = 2}, &semaphore),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_null(semaphore);
    assert_int_equal(pawl_cache_new(c, "/s", 0, &(struct pawl_cache_options){.flags = 0}, &cache),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_null(cache);
    assert_int_equal(pawl_queue_new(c, "/s", &(struct pawl_queue_options){.max_items = 1}, &queue),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_null(queue);
    pawl_client_close(c);
}

/* ---- servers ---- */

static void a_bad_list_of_servers_is_explained(void **state)
{
    static const char *const bad[][2] = {
        {"", "an empty entry"}, {",", "an empty entry"},  {"a:1,,b:2", "an empty entry"},
        {"a:0", "the port"},    {"a:65536", "the port"},  {"a:", "the port"},
        {"a:x", "the port"},    {"a:-1", "the port"},     {":2181", "no name"},
        {"[::1", "no ]"},       {"[::1]x", "behind ]"},   {"[]:1", "no name"},
        {"a b:1", "a blank"},   {"a:1:2x", "two colons"}, {"a:1//", "chroot"},
        {"a:1/b/", "chroot"},   {"unix:", "socket"},      {"local:", "local:"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct pawl_client *c = (struct pawl_client *)state;

        assert_int_equal(pawl_client_open(PAWL_CLIENT_OPTIONS(.servers = bad[i][0]), &c),
                         PAWL_ERR_BAD_ARGUMENTS);
        assert_null(c);
        if (strstr(pawl_open_error(), bad[i][1]) == NULL) {
            fail_msg("\"%s\": \"%s\"", bad[i][0], pawl_open_error());
        }
    }
}

struct lines {
    _Atomic int n;
};

static void count_line(enum pawl_log_level level, const char *line, void *arg)
{
    if (level <= PAWL_LOG_WARN && strstr(line, "Connection refused") != NULL) {
        atomic_fetch_add(&((struct lines *)arg)->n, 1);
    }
}

static void the_reason_for_no_link_is_known_and_logged_once(void **state)
{
    struct pawl_client_options o;
    struct lines lines = {0};
    struct pawl_client *c;
    char servers[32], why[100] = "";

    (void)state;
    address_that_refuses(servers, sizeof(servers));
    pawl_client_options_init(&o);
    o.servers = servers;
    o.log = count_line;
    o.log_arg = &lines;
    o.log_level = PAWL_LOG_DEBUG;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    wait_until((pawl_client_last_error(c, why, sizeof(why)), *why != '\0'));
    assert_non_null(strstr(why, "Connection refused"));
    assert_non_null(strstr(why, servers));
    assert_int_equal(pawl_client_wait_connected(c, 300), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(atomic_load(&lines.n), 1); /* of many attempts */
    pawl_client_close(c);
}

static void the_short_way_opens_and_connects(void **state)
{
    struct pawl_client *c;
    char servers[32];

    (void)state;
    snprintf(servers, sizeof(servers), "127.0.0.1:%d", client_fixture_port());
    assert_int_equal(pawl_open(servers, &c), PAWL_OK);
    assert_string_equal(pawl_state_name(pawl_client_state(c)), "CONNECTED");
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/short", .data = pawl_str("x")), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/short"), NULL), PAWL_OK);
    pawl_client_close(c);
    assert_int_equal(pawl_open(":1", &c), PAWL_ERR_BAD_ARGUMENTS);
    assert_null(c);
    assert_string_equal(pawl_state_name((enum pawl_state)99), "UNKNOWN");
}

/* ---- Ctrl-C ---- */

static struct pawl_client *_Atomic interrupted;

static void on_signal(int number)
{
    (void)number;
    pawl_client_interrupt(atomic_load(&interrupted));
}

static void *raise_later(void *thread)
{
    rest();
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

static void a_signal_ends_a_blocking_acquire(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct pawl_lock *held, *l;
    pthread_t self = pthread_self(), thread;

    (void)state;
    sigaction(SIGUSR1, &action, NULL);
    atomic_store(&interrupted, c);
    assert_int_equal(pawl_lock_new(other, "/ctrl", NULL, &held), PAWL_OK);
    assert_int_equal(pawl_lock_acquire(held, SOON_MS), PAWL_OK);
    assert_int_equal(pawl_lock_new(c, "/ctrl", NULL, &l), PAWL_OK);
    assert_int_equal(pthread_create(&thread, NULL, raise_later, &self), 0);
    assert_int_equal(pawl_lock_acquire(l, -1), PAWL_ERR_CANCELLED);
    pthread_join(thread, NULL);
    assert_int_equal(pawl_get(c, "/", NULL, NULL), PAWL_ERR_CANCELLED);
    pawl_client_resume(c);
    assert_int_equal(pawl_exists(c, "/ctrl", NULL, NULL), PAWL_OK);
    assert_int_equal(pawl_lock_release(held), PAWL_OK);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_OK); /* nobody is in its way */
    pawl_lock_free(l);
    pawl_lock_free(held);
    pawl_client_close(c);
    pawl_client_close(other);
}

/* ---- threads ---- */

static void lead_until_named(struct pawl_selector *s, uint64_t token, void *arg)
{
    char name[16] = "";

    (void)s;
    (void)token;
    pthread_getname_np(pthread_self(), name, sizeof(name));
    atomic_store((_Atomic int *)arg, strcmp(name, "pawl-lead") == 0 ? 1 : -1);
}

/* ps and debuggers show whose it is; one that leads is started by another of the library. */
static void a_thread_that_leads_has_a_name_of_its_own(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_selector *s;
    _Atomic int named = 0;

    (void)state;
    assert_int_equal(
        pawl_selector_new(c, "/named",
                          PAWL_SELECTOR_OPTIONS(.lead = lead_until_named, .arg = (void *)&named),
                          &s),
        PAWL_OK);
    assert_int_equal(pawl_selector_start(s), PAWL_OK);
    wait_until(atomic_load(&named) != 0);
    assert_int_equal(atomic_load(&named), 1);
    pawl_selector_free(s);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_is_said_whole_or_not_at_all),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_time_to_live_belongs_to_its_mode),
        cmocka_unit_test(an_acl_is_whole),
        cmocka_unit_test(a_length_of_nothing_is_refused_by_recipes),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(a_thread_that_leads_has_a_name_of_its_own),
        cmocka_unit_test(a_forgotten_size_is_refused),
        cmocka_unit_test(a_bad_list_of_servers_is_explained),
        cmocka_unit_test(the_reason_for_no_link_is_known_and_logged_once),
        cmocka_unit_test(the_short_way_opens_and_connects),
        cmocka_unit_test(a_signal_ends_a_blocking_acquire),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
