/* SPDX-License-Identifier: Apache-2.0 */
/* The shared value and the shared count, against a real server, over links that can be cut. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"
#include "recipes/counter/cas.h"

static struct pawl_shared_value *new_value(struct pawl_client *c, const char *path,
                                           const char *seed)
{
    struct pawl_shared_value *v = NULL;

    assert_int_equal(pawl_shared_value_new(c, path, text_bytes(seed), &v), 0);
    return v;
}

static struct pawl_shared_value *started(struct pawl_client *c, const char *path, const char *seed)
{
    struct pawl_shared_value *v = new_value(c, path, seed);

    assert_int_equal(pawl_shared_value_start(v), 0);
    return v;
}

static bool is(const struct pawl_shared_value *v, const char *text, bool exists)
{
    struct pawl_versioned *value;
    bool same;

    assert_int_equal(pawl_shared_value_get(v, &value), 0);
    same = value->exists == exists && value->data.len == strlen(text) &&
           memcmp(value->data.data, text, value->data.len) == 0;
    pawl_versioned_free(value);
    return same;
}

static void until(const struct pawl_shared_value *v, const char *text, bool exists)
{
    wait_until(is(v, text, exists));
}

static void set_node(struct pawl_client *c, const char *path, const char *text)
{
    assert_int_equal(pawl_set(c, PAWL_SET(.path = path, .data = text_bytes(text)), NULL), 0);
}

/* What a listener heard last, and how often. */
struct heard {
    sem_t some;
    _Atomic int n;
    _Atomic bool exists;
    char last[32];
};

static void listen(struct pawl_shared_value *v, const struct pawl_versioned *value, void *arg)
{
    struct heard *h = arg;

    (void)v;
    snprintf(h->last, sizeof(h->last), "%.*s", (int)value->data.len,
             (const char *)value->data.data);
    h->exists = value->exists;
    h->n++;
    sem_post(&h->some);
}

struct told {
    sem_t done;
    _Atomic int err;
};

static void tell(struct pawl_shared_value *v, int err, void *arg)
{
    struct told *t = arg;

    (void)v;
    t->err = err;
    sem_post(&t->done);
}

/* ---- value ---- */

static void the_first_to_start_makes_the_node_and_all_see_it(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_shared_value *a = new_value(c, "/s/v", "seed"), *b;
    struct pawl_versioned *value;
    struct pawl_reply *reply;

    (void)state;
    assert_int_equal(pawl_shared_value_get(a, &value), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_shared_value_set(a, text_bytes("x")), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_shared_value_start(a), 0);
    assert_int_equal(pawl_shared_value_start(a), PAWL_ERR_INVALID_STATE);
    b = started(d, "/s/v", "other");
    assert_true(is(b, "seed", true)); /* version 0 is a value like any other */
    assert_int_equal(pawl_shared_value_set(a, text_bytes("one")), 0);
    assert_true(is(a, "one", true));
    until(b, "one", true);
    assert_int_equal(pawl_get(c, "/s/v", NULL, &reply), 0);
    assert_int_equal(reply->stat.version, 1);
    assert_int_equal(reply->stat.ephemeral_owner, 0);
    assert_int_equal(reply->data.len, 3);
    pawl_reply_free(reply);
    pawl_shared_value_free(a);
    pawl_shared_value_free(b);
    assert_int_equal(pawl_exists(c, "/s/v", NULL, NULL), 0);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void a_try_with_a_stale_value_is_refused_without_a_request(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_shared_value *a = started(c, "/s/try", "0"), *b = started(d, "/s/try", "0");
    struct pawl_versioned *stale, *fresh;

    (void)state;
    assert_int_equal(pawl_shared_value_get(b, &stale), 0);
    assert_int_equal(pawl_shared_value_set(a, text_bytes("one")), 0);
    until(b, "one", true);
    assert_int_equal(pawl_shared_value_try_set(b, stale, text_bytes("x")), PAWL_ERR_BAD_VERSION);
    assert_int_equal(pawl_shared_value_get(b, &fresh), 0);
    assert_true(fresh->zxid > stale->zxid);
    assert_int_equal(pawl_shared_value_try_set(b, fresh, text_bytes("two")), 0);
    assert_true(is(b, "two", true));
    until(a, "two", true);
    pawl_versioned_free(stale);
    pawl_versioned_free(fresh);
    pawl_shared_value_free(a);
    pawl_shared_value_free(b);
    pawl_client_close(c);
    pawl_client_close(d);
}

enum { THREADS = 4, ROUNDS = 50 };

static void *count_up(void *arg)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_count *s;
    struct pawl_versioned_count n;

    (void)arg;
    assert_int_equal(pawl_shared_count_new(c, "/s/many", 7, NULL, NULL, &s), 0);
    assert_int_equal(pawl_shared_count_start(s), 0);
    for (int i = 0; i < ROUNDS;) {
        int rc;

        assert_int_equal(pawl_shared_count_get(s, &n), 0);
        rc = pawl_shared_count_try_set(s, &n, n.count + 1);
        assert_true(rc == 0 || rc == PAWL_ERR_BAD_VERSION);
        i += rc == 0;
    }
    pawl_shared_count_free(s);
    pawl_client_close(c);
    return NULL;
}

static void many_who_try_do_not_lose_a_change(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_count *s;
    struct pawl_versioned_count n;
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, count_up, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(pawl_shared_count_new(c, "/s/many", 0, NULL, NULL, &s), 0);
    assert_int_equal(pawl_shared_count_start(s), 0);
    assert_int_equal(pawl_shared_count_get(s, &n), 0);
    assert_int_equal(n.count, 7 + THREADS * ROUNDS);
    pawl_shared_count_free(s);
    pawl_client_close(c);
}

/* */
static void a_listener_hears_of_changes_until_it_is_removed(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v = started(c, "/s/listen", "0");
    struct heard gone = {.n = 0}, stays = {.n = 0};

    (void)state;
    sem_init(&gone.some, 0, 0);
    sem_init(&stays.some, 0, 0);
    assert_int_equal(pawl_shared_value_add_listener(v, listen, &gone), 0);
    assert_int_equal(pawl_shared_value_add_listener(v, listen, &stays), 0);
    set_node(c, "/s/listen", "1");
    wait_semaphore(&gone.some);
    wait_semaphore(&stays.some);
    assert_string_equal(gone.last, "1");
    pawl_shared_value_remove_listener(v, listen, &gone);
    set_node(c, "/s/listen", "2");
    wait_semaphore(&stays.some);
    assert_string_equal(stays.last, "2");
    assert_int_equal(gone.n, 1);
    assert_int_equal(stays.n, 2);
    pawl_shared_value_free(v);
    pawl_client_close(c);
}

static void a_deleted_node_is_noticed_and_so_is_its_return(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v = started(c, "/s/del", "seed");
    struct heard h = {.n = 0};

    (void)state;
    sem_init(&h.some, 0, 0);
    assert_int_equal(pawl_shared_value_add_listener(v, listen, &h), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/s/del"), NULL), 0);
        wait_semaphore(&h.some);
        assert_false(h.exists);
        assert_int_equal(pawl_shared_value_set(v, text_bytes("x")), PAWL_ERR_NO_NODE);
        assert_int_equal(
            pawl_create(c, PAWL_CREATE(.path = "/s/del", .data = text_bytes("back")), NULL), 0);
        wait_semaphore(&h.some);
        assert_true(h.exists);
        assert_true(is(v, "back", true));
    }
    pawl_shared_value_free(v);
    pawl_client_close(c);
}

/* Who may not read it gets no watch either, and must not wait for one. */
static void a_node_that_was_forbidden_for_a_while_is_followed_again(void **state)
{
    static const struct pawl_acl no_read = {
        .perms = PAWL_PERM_ALL & ~PAWL_PERM_READ, .scheme = "world", .id = "anyone"};
    static const struct pawl_acl open_to_all = {
        .perms = PAWL_PERM_ALL, .scheme = "world", .id = "anyone"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v = started(c, "/s/acl", "seed");
    struct pawl_multi *m = pawl_multi_new(c);

    (void)state;
    pawl_multi_delete(m, PAWL_DELETE(.path = "/s/acl"));
    pawl_multi_create(m, PAWL_CREATE(.path = "/s/acl", .data = text_bytes("hidden"),
                                     .acls = {.items = &no_read, .n = 1}));
    assert_int_equal(pawl_multi_run(c, m, NULL), 0);
    pawl_multi_free(m);
    assert_int_equal(pawl_sync(c, "/s/acl", NULL), 0); /* it has been read, in vain */
    assert_true(is(v, "seed", true));
    assert_int_equal(
        pawl_set_acl(c, PAWL_SET_ACL(.path = "/s/acl", .acls = {.items = &open_to_all, .n = 1}),
                     NULL),
        0);
    until(v, "hidden", true);
    set_node(c, "/s/acl", "shown");
    until(v, "shown", true);
    pawl_shared_value_free(v);
    pawl_client_close(c);
}

/* R-37, and Curator's test: a reconnect alone is no change. */
static void what_changed_behind_our_back_is_seen_after_a_reconnect(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v;
    struct heard h = {.n = 0};
    struct behind_proxy p;

    (void)state;
    sem_init(&h.some, 0, 0);
    behind_proxy_open(&p, &co);
    v = started(p.c, "/s/back", "seed");
    assert_int_equal(pawl_shared_value_add_listener(v, listen, &h), 0);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&p, 2, PAWL_STATE_RECONNECTED);
    assert_int_equal(pawl_sync(p.c, "/s/back", NULL), 0);
    assert_int_equal(h.n, 0);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 3, PAWL_STATE_SUSPENDED);
    set_node(c, "/s/back", "new");
    tcp_proxy_accept(p.proxy, true);
    wait_semaphore(&h.some);
    assert_string_equal(h.last, "new");
    assert_int_equal(h.n, 1);
    pawl_shared_value_free(v);
    behind_proxy_close(&p);
    pawl_client_close(c);
}

static void it_goes_on_in_a_new_session(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v;
    struct behind_proxy p;

    (void)state;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&p, &co);
    v = started(p.c, "/s/session", "seed");
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&p, 2, PAWL_STATE_LOST);
    set_node(c, "/s/session", "a");
    tcp_proxy_accept(p.proxy, true);
    until(v, "a", true);
    set_node(c, "/s/session", "b");
    until(v, "b", true);
    pawl_shared_value_free(v);
    behind_proxy_close(&p);
    pawl_client_close(c);
}

static void a_try_whose_answer_is_lost_is_not_claimed_and_not_repeated(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v;
    struct pawl_versioned *was;
    struct pawl_reply *reply;
    struct behind_proxy p;
    struct told t;

    (void)state;
    sem_init(&t.done, 0, 0);
    behind_proxy_open(&p, &co);
    v = started(p.c, "/s/lost", "seed");
    assert_int_equal(pawl_shared_value_get(v, &was), 0);
    tcp_proxy_swallow_replies(p.proxy, true);
    assert_int_equal(pawl_shared_value_try_set_async(v, was, text_bytes("ours"), tell, &t), 0);
    for (int64_t end = now_ms() + SOON_MS;;) {
        assert_int_equal(pawl_get(c, "/s/lost", NULL, &reply), 0);
        if (reply->stat.version == 1) {
            break;
        }
        pawl_reply_free(reply);
        assert_true(now_ms() < end);
    }
    pawl_reply_free(reply);
    tcp_proxy_down(p.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(p.proxy, false);
    tcp_proxy_up(p.proxy);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, PAWL_ERR_CONNECTION_LOSS); /* another may have written the same */
    until(v, "ours", true);
    assert_int_equal(pawl_get(c, "/s/lost", NULL, &reply), 0);
    assert_int_equal(reply->stat.version, 1);
    pawl_reply_free(reply);
    pawl_versioned_free(was);
    pawl_shared_value_free(v);
    behind_proxy_close(&p);
    pawl_client_close(c);
}

struct holder {
    sem_t entered, may_go;
};

static void hold_and_free(struct pawl_shared_value *v, const struct pawl_versioned *value,
                          void *arg)
{
    struct holder *h = arg;

    (void)value;
    sem_post(&h->entered);
    wait_semaphore(&h->may_go);
    pawl_shared_value_free(v);
}

/* CANCELLED would say that nothing was changed. */
static void a_change_made_before_a_free_is_told_as_made(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v = started(c, "/s/told", "seed");
    struct pawl_versioned *value;
    struct holder h;
    struct told t = {.err = 1};

    (void)state;
    sem_init(&h.entered, 0, 0);
    sem_init(&h.may_go, 0, 0);
    sem_init(&t.done, 0, 0);
    assert_int_equal(pawl_shared_value_add_listener(v, hold_and_free, &h), 0);
    set_node(c, "/s/told", "one");
    wait_semaphore(&h.entered); /* callbacks stand still */
    assert_int_equal(pawl_shared_value_get(v, &value), 0);
    assert_int_equal(pawl_shared_value_try_set_async(v, value, text_bytes("two"), tell, &t), 0);
    pawl_versioned_free(value);
    until(v, "two", true);
    sem_post(&h.may_go);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, 0);
    pawl_client_close(c);
}

static void free_and_close_leave_no_watch(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_value *v;

    (void)state;
    for (int i = 0; i < 20; i++) {
        v = started(c, "/s/free", "seed");
        pawl_shared_value_free(v);
    }
    assert_int_equal(pawl_sync(c, "/s/free", NULL), 0);
    assert_int_equal(pawl_unwatch(c, "/s/free", PAWL_WATCHES_ANY, NULL, NULL), PAWL_ERR_NO_WATCHER);
    v = started(c, "/s/free", "seed");
    pawl_client_close(c);
    assert_int_equal(pawl_shared_value_set(v, text_bytes("x")), PAWL_ERR_CLOSING);
    pawl_shared_value_free(v);
}

/* the server takes -1 for "any version", so a version that has wrapped to it is no condition.
 * The copy itself is ordered by mzxid and does not care. */
static void a_condition_on_version_minus_one_is_refused(void **state)
{
    struct cas c = {.path = "/s/wrapped", .version = -1};

    (void)state;
    assert_int_equal(cas_start(&c), PAWL_ERR_INVALID_STATE);
}

/* ---- count ---- */

static void hear_count(struct pawl_shared_count *s, const struct pawl_versioned_count *value,
                       void *arg)
{
    struct heard *h = arg;

    (void)s;
    h->n = value->count;
    sem_post(&h->some);
}

static void a_count_is_four_bytes_the_highest_first(void **state)
{
    static const uint8_t seven[] = {0, 0, 0, 7}, minus_two[] = {0xff, 0xff, 0xff, 0xfe};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_shared_count *s;
    struct pawl_versioned_count n;
    struct pawl_reply *reply;
    struct heard h = {.n = 0};

    (void)state;
    sem_init(&h.some, 0, 0);
    assert_int_equal(pawl_shared_count_new(c, "/s/count", 7, hear_count, &h, &s), 0);
    assert_int_equal(pawl_shared_count_start(s), 0);
    assert_int_equal(pawl_get(c, "/s/count", NULL, &reply), 0);
    assert_int_equal(reply->data.len, 4);
    assert_memory_equal(reply->data.data, seven, 4);
    pawl_reply_free(reply);
    assert_int_equal(pawl_shared_count_set(s, -2), 0);
    wait_semaphore(&h.some);
    assert_int_equal(h.n, -2);
    assert_int_equal(pawl_shared_count_get(s, &n), 0);
    assert_int_equal(n.count, -2);
    assert_int_equal(n.version, 1);
    assert_int_equal(pawl_get(c, "/s/count", NULL, &reply), 0);
    assert_memory_equal(reply->data.data, minus_two, 4);
    pawl_reply_free(reply);
    set_node(c, "/s/count", "abc");
    for (int64_t end = now_ms() + SOON_MS;
         pawl_shared_count_get(s, &n) != PAWL_ERR_DATA_INCONSISTENCY;) {
        assert_true(now_ms() < end);
    }
    pawl_shared_count_free(s);
    pawl_client_close(c);
}

struct counted {
    sem_t some;
    _Atomic int n, last;
    bool leaves;
};

static void count_heard(struct pawl_shared_count *s, const struct pawl_versioned_count *value,
                        void *arg)
{
    struct counted *h = arg;

    h->last = value->count;
    h->n++;
    if (h->leaves) {
        pawl_shared_count_remove_listener(s, count_heard, h);
    }
    sem_post(&h->some);
}

/* */
static void a_count_has_listeners_that_come_and_go(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct counted first = {.n = 0}, once = {.leaves = true}, later = {.n = 0};
    struct pawl_shared_count *s;

    (void)state;
    sem_init(&first.some, 0, 0);
    sem_init(&once.some, 0, 0);
    sem_init(&later.some, 0, 0);
    assert_int_equal(pawl_shared_count_new(c, "/s/heard", 1, count_heard, &first, &s), 0);
    assert_int_equal(pawl_shared_count_add_listener(s, NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_shared_count_start(s), 0);
    assert_int_equal(pawl_shared_count_add_listener(s, count_heard, &once), 0);
    assert_int_equal(pawl_shared_count_add_listener(s, count_heard, &later), 0);
    assert_int_equal(pawl_shared_count_set(s, 2), 0);
    wait_semaphore(&first.some);
    wait_semaphore(&once.some);
    wait_semaphore(&later.some);
    pawl_shared_count_remove_listener(s, count_heard, &first);
    pawl_shared_count_remove_listener(s, count_heard, &first); /* there is none */
    assert_int_equal(pawl_shared_count_set(s, 3), 0);
    wait_semaphore(&later.some);
    assert_int_equal(later.last, 3);
    assert_int_equal(first.n, 1);
    assert_int_equal(once.n, 1);
    pawl_shared_count_free(s);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_to_start_makes_the_node_and_all_see_it),
        cmocka_unit_test(a_try_with_a_stale_value_is_refused_without_a_request),
        cmocka_unit_test(many_who_try_do_not_lose_a_change),
        cmocka_unit_test(a_listener_hears_of_changes_until_it_is_removed),
        cmocka_unit_test(a_node_that_was_forbidden_for_a_while_is_followed_again),
        cmocka_unit_test(a_deleted_node_is_noticed_and_so_is_its_return),
        cmocka_unit_test(what_changed_behind_our_back_is_seen_after_a_reconnect),
        cmocka_unit_test(it_goes_on_in_a_new_session),
        cmocka_unit_test(a_try_whose_answer_is_lost_is_not_claimed_and_not_repeated),
        cmocka_unit_test(a_change_made_before_a_free_is_told_as_made),
        cmocka_unit_test(free_and_close_leave_no_watch),
        cmocka_unit_test(a_condition_on_version_minus_one_is_refused),
        cmocka_unit_test(a_count_is_four_bytes_the_highest_first),
        cmocka_unit_test(a_count_has_listeners_that_come_and_go),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
