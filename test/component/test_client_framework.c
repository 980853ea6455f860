/* SPDX-License-Identifier: Apache-2.0 */
/* What Curator's framework adds to a client: retries that do no harm, guaranteed deletes, ACL
 * providers, hooks; and what has to be there again after a link was lost. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static const struct pawl_retry often = {.kind = PAWL_RETRY_N_TIMES, .n = 50, .pause_ms = 20};

/* ---- small helpers ---- */

struct outcome {
    sem_t done;
    int err;
    enum pawl_outcome outcome;
    char path[128];
};

static void keep(const struct pawl_reply *reply, void *arg)
{
    struct outcome *o = arg;

    o->err = reply->err;
    o->outcome = reply->outcome;
    snprintf(o->path, sizeof(o->path), "%s", reply->path == NULL ? "" : reply->path);
    sem_post(&o->done);
}

static size_t count_children(struct pawl_client *c, const char *path)
{
    struct pawl_reply *r;
    size_t n;

    assert_int_equal(pawl_children(c, path, NULL, &r), PAWL_OK);
    n = r->children.n;
    pawl_reply_free(r);
    return n;
}

/* Another client looks until it is so: there is no event for "the server has got it". */
static void until_children(struct pawl_client *c, const char *path, size_t n)
{
    for (int i = 0; i < SOON_MS && count_children(c, path) != n; i++) {
        usleep(1000);
    }
    assert_int_equal(count_children(c, path), n);
}

static void until_data(struct pawl_client *c, const char *path, const char *data)
{
    struct pawl_reply *r;
    bool same = false;

    for (int i = 0; i < SOON_MS && !same; i++) {
        assert_int_equal(pawl_get(c, path, NULL, &r), PAWL_OK);
        same = r->data.len == strlen(data) && memcmp(r->data.data, data, r->data.len) == 0;
        pawl_reply_free(r);
    }
    assert_true(same);
}

/* ---- retries ---- */

/* The answer to a write is lost: an idempotent one is repeated, another is reported. */
static void only_what_does_no_harm_is_repeated(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct outcome plain, idempotent;
    struct behind_proxy b;

    (void)state;
    sem_init(&plain.done, 0, 0);
    sem_init(&idempotent.done, 0, 0);
    o.retry = often;
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_create(b.c, PAWL_CREATE(.path = "/repeat"), NULL), PAWL_OK);
    tcp_proxy_swallow_replies(b.proxy, true);
    pawl_set_async(b.c, PAWL_SET(.path = "/repeat", .data = text_bytes("one")), keep, &plain);
    pawl_set_async(b.c,
                   PAWL_SET(.path = "/repeat", .data = text_bytes("two"),
                            .only_if = pawl_version(1), .flags = PAWL_OP_IDEMPOTENT),
                   keep, &idempotent);
    until_data(other, "/repeat", "two");
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    wait_semaphore(&plain.done);
    assert_int_equal(plain.err, PAWL_ERR_CONNECTION_LOSS);
    assert_int_equal(plain.outcome, PAWL_OUTCOME_UNKNOWN);
    wait_semaphore(&idempotent.done);
    assert_int_equal(idempotent.err, PAWL_OK);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void what_was_not_sent_is_sent_when_the_link_is_back(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    struct outcome w;

    (void)state;
    sem_init(&w.done, 0, 0);
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_create(b.c, PAWL_CREATE(.path = "/later"), NULL), PAWL_OK);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_set_async(b.c, PAWL_SET(.path = "/later"), keep, &w), PAWL_OK);
    tcp_proxy_accept(b.proxy, true);
    wait_semaphore(&w.done);
    assert_int_equal(w.err, PAWL_OK);
    behind_proxy_close(&b);
}

static void an_asynchronous_call_ends_at_its_deadline(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    struct outcome unsent, sent;

    (void)state;
    sem_init(&unsent.done, 0, 0);
    sem_init(&sent.done, 0, 0);
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/deadline"), NULL);
    tcp_proxy_swallow_replies(b.proxy, true);
    pawl_set_async(b.c, PAWL_SET(.path = "/deadline", .timeout_ms = SENT_MS), keep, &sent);
    wait_semaphore(&sent.done);
    assert_int_equal(sent.err, PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(sent.outcome, PAWL_OUTCOME_UNKNOWN);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    pawl_set_async(b.c, PAWL_SET(.path = "/deadline", .timeout_ms = 100), keep, &unsent);
    wait_semaphore(&unsent.done);
    assert_int_equal(unsent.err, PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(unsent.outcome, PAWL_OUTCOME_NOT_SENT);
    behind_proxy_close(&b);
}

static void a_guaranteed_delete_goes_on_in_the_background(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;

    (void)state;
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/sure/x", .flags = PAWL_OP_PARENTS), NULL);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_int_equal(
        pawl_delete(b.c,
                    PAWL_DELETE(.path = "/sure/x", .flags = PAWL_OP_GUARANTEED, .timeout_ms = 50),
                    NULL),
        PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(count_children(other, "/sure"), 1);
    tcp_proxy_accept(b.proxy, true);
    until_children(other, "/sure", 0);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void a_protected_create_given_up_is_undone(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;
    struct pawl_reply *r;

    (void)state;
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/undone"), NULL);
    tcp_proxy_swallow_replies(b.proxy, true);
    assert_int_equal(pawl_create(b.c,
                                 PAWL_CREATE(.path = "/undone/n-", .mode = PAWL_MODE_SEQUENTIAL,
                                             .flags = PAWL_OP_PROTECTED, .timeout_ms = SENT_MS),
                                 &r),
                     PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(r->outcome, PAWL_OUTCOME_UNKNOWN);
    pawl_reply_free(r);
    until_children(other, "/undone", 1); /* it has happened */
    tcp_proxy_down(b.proxy);             /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    until_children(other, "/undone", 0);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void a_session_lost_is_retried_in_a_new_one(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    struct outcome w;
    int64_t id;

    (void)state;
    sem_init(&w.done, 0, 0);
    o.session_timeout_ms = SHORT_SESSION_MS;
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 50};
    behind_proxy_open(&b, &o);
    id = pawl_client_session_id(b.c);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    pawl_create_async(b.c, PAWL_CREATE(.path = "/again", .mode = PAWL_MODE_EPHEMERAL), keep, &w);
    expect_next_state(&b, 2, PAWL_STATE_LOST);
    tcp_proxy_accept(b.proxy, true);
    expect_next_state(&b, 3, PAWL_STATE_RECONNECTED);
    wait_semaphore(&w.done);
    assert_int_equal(w.err, PAWL_OK);
    assert_true(pawl_client_session_id(b.c) != id);
    behind_proxy_close(&b);
}

struct reader {
    struct pawl_client *c;
    _Atomic bool stop;
    _Atomic int n_wrong;
};

static void *read_on(void *arg)
{
    struct reader *r = arg;

    while (!atomic_load(&r->stop)) {
        atomic_fetch_add(&r->n_wrong, pawl_exists(r->c, "/", NULL, NULL) != PAWL_OK);
    }
    return NULL;
}

static int forgotten_of_20(struct behind_proxy *b, int *n_states)
{
    int n_forgotten = 0;

    for (int i = 0; i < 20; i++) {
        int64_t began = now_ms();

        tcp_proxy_cut(b->proxy);
        expect_next_state(b, ++*n_states, PAWL_STATE_SUSPENDED);
        expect_next_state(b, ++*n_states, PAWL_STATE_RECONNECTED);
        n_forgotten += was_forgotten(began);
    }
    return n_forgotten;
}

/* It is the blocked caller who notices; somebody else has to make the new link. */
static void a_link_lost_under_blocked_callers_is_made_anew_at_once(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct reader reader = {0};
    struct behind_proxy b;
    pthread_t threads[3];
    int n_states = 0;

    (void)state;
    o.retry = often;
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/reader"), NULL);
    reader.c = b.c;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &reader), 0);
    }
    wait_until(forgotten_of_20(&b, &n_states) < 5);
    atomic_store(&reader.stop, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(reader.n_wrong, 0);
    behind_proxy_close(&b);
}

/* ---- there again after a cut ---- */

struct counter {
    _Atomic int n, n_session;
    sem_t all;
    int expected;
};

static void count_event(const struct pawl_event *event, void *arg)
{
    struct counter *k = arg;

    if (event->type == PAWL_EVENT_SESSION) {
        atomic_fetch_add(&k->n_session, 1);
    } else if (atomic_fetch_add(&k->n, 1) + 1 == k->expected) {
        sem_post(&k->all);
    }
}

/* 1500 paths of 200 bytes are more than one request of 128 KiB. */
static void many_watches_are_set_again(void **state)
{
    enum { N = 1500 };
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct counter k = {.expected = N};
    struct behind_proxy b;
    char path[256];

    (void)state;
    sem_init(&k.all, 0, 0);
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/many"), NULL);
    for (int i = 0; i < N; i++) {
        struct pawl_watch w = {count_event, &k};

        snprintf(path, sizeof(path), "/many/%0200d", i);
        assert_int_equal(pawl_create_async(b.c, PAWL_CREATE(.path = path), NULL, NULL), PAWL_OK);
        assert_int_equal(pawl_get_async(b.c, path, &w, NULL, NULL), PAWL_OK);
    }
    assert_int_equal(pawl_sync(b.c, "/", NULL), PAWL_OK);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    assert_int_equal(k.n, 0);
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof(path), "/many/%0200d", i);
        assert_int_equal(pawl_set_async(other, PAWL_SET(.path = path), NULL, NULL), PAWL_OK);
        assert_int_equal(pawl_set_async(other, PAWL_SET(.path = path), NULL, NULL), PAWL_OK);
    }
    wait_semaphore(&k.all);
    assert_int_equal(pawl_sync(other, "/", NULL), PAWL_OK);
    assert_int_equal(pawl_sync(b.c, "/", NULL), PAWL_OK);
    assert_int_equal(k.n, N); /* once each */
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void persistent_watches_and_credentials_are_there_again(void **state)
{
    static const struct pawl_acl mine = {PAWL_PERM_ALL, "auth", ""};
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_auth auth = {"digest", {"amy:pw", 6}};
    struct counter k = {.expected = 1};
    struct pawl_watch w = {count_event, &k};
    struct behind_proxy b;

    (void)state;
    sem_init(&k.all, 0, 0);
    o.auths = &auth;
    o.n_auths = 1;
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/again/x", .flags = PAWL_OP_PARENTS), NULL);
    assert_int_equal(pawl_create(b.c, PAWL_CREATE(.path = "/amy", .acls = {&mine, 1}), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_watch(b.c, "/again", PAWL_WATCH_RECURSIVE, &w, NULL), PAWL_OK);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    assert_int_equal(pawl_get(b.c, "/amy", NULL, NULL), PAWL_OK);
    assert_int_equal(pawl_get(other, "/amy", NULL, NULL), PAWL_ERR_NO_AUTH);
    pawl_set(other, PAWL_SET(.path = "/again/x"), NULL);
    wait_semaphore(&k.all);
    behind_proxy_close(&b);
    assert_int_equal(k.n_session, 1);
    pawl_client_close(other);
}

/* ---- servers ---- */

static void the_list_of_servers_can_be_changed(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct tcp_proxy *second = tcp_proxy_new(client_fixture_port());
    struct behind_proxy b;
    char servers[64], now[64];
    int64_t id;

    (void)state;
    behind_proxy_open(&b, &o);
    id = pawl_client_session_id(b.c);
    snprintf(servers, sizeof(servers), "127.0.0.1:%d", tcp_proxy_port(second));
    assert_int_equal(pawl_client_set_servers(b.c, "a:b"), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_client_set_servers(b.c, "a/x"), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_client_set_servers(b.c, servers), PAWL_OK);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    pawl_client_server(b.c, now, sizeof(now));
    assert_string_equal(now, servers);
    assert_true(pawl_client_session_id(b.c) == id);
    behind_proxy_close(&b);
    tcp_proxy_free(second);
}

static void a_server_that_only_accepts_is_not_stormed(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct tcp_proxy *proxy = tcp_proxy_new(client_fixture_port());
    char servers[64];
    struct pawl_client *c;
    int links;

    (void)state;
    tcp_proxy_freeze(proxy, true); /* the system accepts, nobody answers */
    snprintf(servers, sizeof(servers), "127.0.0.1:%d", tcp_proxy_port(proxy));
    o.servers = servers;
    o.connect_timeout_ms = 50;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    assert_int_equal(pawl_client_wait_connected(c, 1500), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_freeze(proxy, false);
    assert_int_equal(pawl_client_wait_connected(c, SOON_S * 1000), PAWL_OK);
    links = tcp_proxy_links(proxy);
    assert_in_range(links, 2, 20);
    pawl_client_close(c);
    tcp_proxy_free(proxy);
}

/* ---- hooks ---- */

static void provide(const char *path, struct pawl_acls *out, void *arg)
{
    static const struct pawl_acl readable[] = {{PAWL_PERM_ALL, "world", "anyone"},
                                               {PAWL_PERM_READ, "ip", "127.0.0.1"}};

    (void)arg;
    if (strstr(path, "/provided") != NULL) {
        *out = (struct pawl_acls){readable, 2};
    }
}

static void acls_come_from_the_call_the_provider_or_the_default(void **state)
{
    static const struct pawl_acl fallback = {PAWL_PERM_ALL & ~PAWL_PERM_ADMIN, "world", "anyone"};
    static const struct pawl_acl own = {PAWL_PERM_ALL, "ip", "127.0.0.1"};
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;
    struct pawl_reply *r;

    (void)state;
    o.acls = (struct pawl_acls){&fallback, 1};
    o.acl_provider = provide;
    c = client_fixture_open(&o);
    pawl_create(c, PAWL_CREATE(.path = "/provided"), NULL);
    pawl_create(c, PAWL_CREATE(.path = "/default"), NULL);
    pawl_create(c, PAWL_CREATE(.path = "/own", .acls = {&own, 1}), NULL);
    assert_int_equal(pawl_get_acl(c, "/provided", &r), PAWL_OK);
    assert_int_equal(r->acls.n, 2);
    assert_string_equal(r->acls.items[1].scheme, "ip");
    pawl_reply_free(r);
    assert_int_equal(pawl_get_acl(c, "/default", &r), PAWL_OK);
    assert_int_equal(r->acls.items[0].perms, PAWL_PERM_ALL & ~PAWL_PERM_ADMIN);
    pawl_reply_free(r);
    assert_int_equal(pawl_get_acl(c, "/own", &r), PAWL_OK);
    assert_string_equal(r->acls.items[0].id, "127.0.0.1");
    pawl_reply_free(r);
    pawl_client_close(c);
}

struct heard {
    _Atomic int n_get, n_other, n_failed, n_lines, n_attempts;
};

static void on_metric(const struct pawl_metric *m, void *arg)
{
    struct heard *h = arg;

    if (strcmp(m->op, "getData") == 0 && m->took_us > 0) {
        h->n_get++;
    } else {
        h->n_other++;
    }
    h->n_failed += m->err != PAWL_OK;
    h->n_attempts += m->attempts;
}

static void on_log(enum pawl_log_level level, const char *line, void *arg)
{
    struct heard *h = arg;

    if (level <= PAWL_LOG_INFO && strstr(line, "session 0x") != NULL) {
        h->n_lines++;
    }
}

static void metrics_and_lines_are_heard(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct heard h = {0};
    struct pawl_client *c;

    (void)state;
    o.metric = on_metric;
    o.metric_arg = &h;
    o.log = on_log;
    o.log_arg = &h;
    o.log_level = PAWL_LOG_INFO;
    c = client_fixture_open(&o);
    pawl_create(c, PAWL_CREATE(.path = "/metric"), NULL);
    for (int i = 0; i < 5; i++) {
        pawl_get(c, "/metric", NULL, NULL);
    }
    pawl_get(c, "/metric/none", NULL, NULL);
    pawl_client_close(c);
    assert_int_equal(h.n_get, 6);
    assert_int_equal(h.n_failed, 1);
    assert_true(h.n_lines >= 1);
}

struct listening {
    struct pawl_client *c;
    _Atomic int n;
    sem_t some;
};

static void listen_once(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct listening *l = arg;

    (void)state;
    l->n++;
    pawl_client_remove_listener(c, listen_once, l); /* from inside */
    sem_post(&l->some);
}

static void listeners_come_and_go(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct listening l = {0};
    struct behind_proxy b;

    (void)state;
    sem_init(&l.some, 0, 0);
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_client_add_listener(b.c, listen_once, &l), PAWL_OK);
    tcp_proxy_cut(b.proxy);
    wait_semaphore(&l.some);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    behind_proxy_close(&b);
    assert_int_equal(l.n, 1);
}

/* ---- compression of everything ---- */

static void a_client_can_compress_everything(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *plain = client_fixture_open(NULL), *c;
    struct pawl_reply *r;

    (void)state;
    o.flags = PAWL_CLIENT_COMPRESS;
    c = client_fixture_open(&o);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/zip", .data = text_bytes("abcabc")), NULL), PAWL_OK);
    assert_int_equal(pawl_get(c, "/zip", NULL, &r), PAWL_OK);
    assert_memory_equal(r->data.data, "abcabc", 6);
    pawl_reply_free(r);
    assert_int_equal(pawl_get_compressed(plain, "/zip", NULL, &r), PAWL_OK);
    assert_memory_equal(r->data.data, "abcabc", 6);
    pawl_reply_free(r);
    pawl_client_close(c);
    pawl_client_close(plain);
}

/* That of the node would not even let it be made. */
static void parents_have_the_default_acl(void **state)
{
    struct pawl_acl reader = {.perms = PAWL_PERM_READ, .scheme = "world", .id = "anyone"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;

    (void)state;
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/acl-above/b/leaf", .acls = {&reader, 1},
                                             .flags = PAWL_OP_PARENTS),
                                 NULL),
                     PAWL_OK);
    assert_int_equal(pawl_get_acl(c, "/acl-above/b", &r), PAWL_OK);
    assert_int_equal(r->acls.items[0].perms, PAWL_PERM_ALL);
    pawl_reply_free(r);
    assert_int_equal(pawl_get_acl(c, "/acl-above/b/leaf", &r), PAWL_OK);
    assert_int_equal(r->acls.items[0].perms, PAWL_PERM_READ);
    pawl_reply_free(r);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_have_the_default_acl),
        cmocka_unit_test(only_what_does_no_harm_is_repeated),
        cmocka_unit_test(what_was_not_sent_is_sent_when_the_link_is_back),
        cmocka_unit_test(an_asynchronous_call_ends_at_its_deadline),
        cmocka_unit_test(a_guaranteed_delete_goes_on_in_the_background),
        cmocka_unit_test(a_protected_create_given_up_is_undone),
        cmocka_unit_test(a_session_lost_is_retried_in_a_new_one),
        cmocka_unit_test(a_link_lost_under_blocked_callers_is_made_anew_at_once),
        cmocka_unit_test(many_watches_are_set_again),
        cmocka_unit_test(persistent_watches_and_credentials_are_there_again),
        cmocka_unit_test(the_list_of_servers_can_be_changed),
        cmocka_unit_test(a_server_that_only_accepts_is_not_stormed),
        cmocka_unit_test(acls_come_from_the_call_the_provider_or_the_default),
        cmocka_unit_test(metrics_and_lines_are_heard),
        cmocka_unit_test(listeners_come_and_go),
        cmocka_unit_test(a_client_can_compress_everything),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
