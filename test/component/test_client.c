/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a real server: every operation, callbacks, watches, trouble, other faces. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static bool data_is(const struct pawl_reply *r, const char *s)
{
    return r->data.len == strlen(s) && memcmp(r->data.data, s, r->data.len) == 0;
}

/* ---- operations ---- */

static void a_node_is_created_read_changed_and_deleted(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/a", .data = text_bytes("one")), &r),
                     PAWL_OK);
    assert_string_equal(r->path, "/a");
    assert_int_equal(r->outcome, PAWL_OUTCOME_DONE);
    assert_true(r->stat.czxid > 0 && r->stat.czxid == r->stat.mzxid);
    pawl_reply_free(r);
    assert_int_equal(pawl_get(c, "/a", NULL, &r), PAWL_OK);
    assert_true(data_is(r, "one"));
    assert_int_equal(r->stat.version, 0);
    pawl_reply_free(r);
    assert_int_equal(
        pawl_set(c, PAWL_SET(.path = "/a", .data = text_bytes("two"), .only_if = pawl_version(0)),
                 &r),
        PAWL_OK);
    assert_int_equal(r->stat.version, 1);
    pawl_reply_free(r);
    assert_int_equal(
        pawl_set(c, PAWL_SET(.path = "/a", .data = text_bytes("x"), .only_if = pawl_version(0)),
                 &r),
        PAWL_ERR_BAD_VERSION);
    assert_int_equal(r->outcome, PAWL_OUTCOME_REFUSED);
    pawl_reply_free(r);
    assert_int_equal(pawl_exists(c, "/a", NULL, &r), PAWL_OK);
    assert_int_equal(r->stat.data_length, 3);
    pawl_reply_free(r);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/a"), NULL), PAWL_OK);
    assert_int_equal(pawl_get(c, "/a", NULL, NULL), PAWL_ERR_NO_NODE);
    assert_int_equal(pawl_sync(c, "/", NULL), PAWL_OK);
    pawl_client_close(c);
}

static void null_data_and_empty_data_differ(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/null"), NULL), PAWL_OK);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/empty", .data = text_bytes("")), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_get(c, "/null", NULL, &r), PAWL_OK);
    assert_null(r->data.data);
    pawl_reply_free(r);
    assert_int_equal(pawl_get(c, "/empty", NULL, &r), PAWL_OK);
    assert_non_null(r->data.data);
    assert_int_equal(r->data.len, 0);
    pawl_reply_free(r);
    pawl_client_close(c);
}

static void every_mode_of_create_works(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;

    (void)state;
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/m/deep/er/s-", .mode = PAWL_MODE_SEQUENTIAL,
                                             .flags = PAWL_OP_PARENTS),
                                 &r),
                     PAWL_OK);
    assert_string_equal(r->path, "/m/deep/er/s-0000000000");
    pawl_reply_free(r);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/m/box/e", .mode = PAWL_MODE_EPHEMERAL,
                                             .flags = PAWL_OP_CONTAINER_PARENTS),
                                 &r),
                     PAWL_OK);
    assert_true(r->stat.ephemeral_owner == pawl_client_session_id(c));
    pawl_reply_free(r);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/m/q-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL), &r),
        PAWL_OK);
    assert_string_equal(r->path, "/m/q-0000000002");
    pawl_reply_free(r);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/m/c", .mode = PAWL_MODE_CONTAINER), NULL),
                     PAWL_OK);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/m/t", .mode = PAWL_MODE_TTL, .ttl_ms = 60000), NULL),
        PAWL_OK);
    assert_int_equal(
        pawl_create(
            c, PAWL_CREATE(.path = "/m/t-", .mode = PAWL_MODE_TTL_SEQUENTIAL, .ttl_ms = 60000), &r),
        PAWL_OK);
    assert_string_equal(r->path, "/m/t-0000000005");
    pawl_reply_free(r);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/m/t", .mode = PAWL_MODE_TTL), NULL),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/m/no/such", .flags = 0), NULL),
                     PAWL_ERR_NO_NODE);
    assert_int_equal(
        pawl_create(
            c, PAWL_CREATE(.path = "/m/c", .data = text_bytes("v"), .flags = PAWL_OP_OR_SET), &r),
        PAWL_OK);
    assert_string_equal(r->path, "/m/c");
    pawl_reply_free(r);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/m/i", .data = text_bytes("i"),
                                             .flags = PAWL_OP_IDEMPOTENT),
                                 NULL),
                     PAWL_OK);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/m/i", .data = text_bytes("i"),
                                             .flags = PAWL_OP_IDEMPOTENT),
                                 NULL),
                     PAWL_OK);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/m/i", .data = text_bytes("j"),
                                             .flags = PAWL_OP_IDEMPOTENT),
                                 NULL),
                     PAWL_ERR_NODE_EXISTS);
    pawl_client_close(c);
}

static void a_protected_name_carries_an_id(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;

    (void)state;
    assert_int_equal(
        pawl_create(c,
                    PAWL_CREATE(.path = "/locks/lock-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                .flags = PAWL_OP_PROTECTED | PAWL_OP_CONTAINER_PARENTS),
                    &r),
        PAWL_OK);
    assert_int_equal(strlen(r->path), strlen("/locks/") + 40 + strlen("lock-0000000000"));
    assert_memory_equal(r->path, "/locks/_c_", 10);
    assert_string_equal(r->path + strlen("/locks/") + 39, "-lock-0000000000");
    pawl_reply_free(r);
    pawl_client_close(c);
}

static void a_delete_takes_the_children_along(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;
    char path[64];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof(path), "/tree/%d/%d/x", i % 4, i);
        assert_int_equal(pawl_create(c, PAWL_CREATE(.path = path, .flags = PAWL_OP_PARENTS), NULL),
                         PAWL_OK);
    }
    assert_int_equal(pawl_count_all_children(c, "/tree", &r), PAWL_OK);
    assert_int_equal(r->number, 4 + 20 + 20);
    pawl_reply_free(r);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/tree"), NULL), PAWL_ERR_NOT_EMPTY);
    assert_int_equal(
        pawl_delete(c, PAWL_DELETE(.path = "/tree", .flags = PAWL_OP_CHILDREN_TOO), NULL), PAWL_OK);
    assert_int_equal(pawl_exists(c, "/tree", NULL, NULL), PAWL_ERR_NO_NODE);
    assert_int_equal(
        pawl_delete(c, PAWL_DELETE(.path = "/tree", .flags = PAWL_OP_CHILDREN_TOO), NULL),
        PAWL_ERR_NO_NODE);
    assert_int_equal(
        pawl_delete(c, PAWL_DELETE(.path = "/tree", .flags = PAWL_OP_IDEMPOTENT), NULL), PAWL_OK);
    pawl_client_close(c);
}

static void a_multi_is_all_or_nothing(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r;

    (void)state;
    pawl_multi_create(m, PAWL_CREATE(.path = "/multi", .data = text_bytes("a")));
    pawl_multi_set(m,
                   PAWL_SET(.path = "/multi", .data = text_bytes("b"), .only_if = pawl_version(0)));
    pawl_multi_check(m, "/multi", 1);
    pawl_multi_create(m, PAWL_CREATE(.path = "/multi/k"));
    pawl_multi_delete(m, PAWL_DELETE(.path = "/multi/k"));
    assert_int_equal(pawl_multi_run(c, m, &r), PAWL_OK);
    assert_int_equal(r->n_results, 5);
    assert_string_equal(r->results[0]->path, "/multi");
    assert_int_equal(r->results[1]->stat.version, 1);
    pawl_reply_free(r);
    assert_int_equal(pawl_multi_run(c, m, &r), PAWL_ERR_NODE_EXISTS);
    assert_int_equal(r->outcome, PAWL_OUTCOME_REFUSED);
    assert_int_equal(r->results[0]->err, PAWL_ERR_NODE_EXISTS);
    assert_int_equal(r->results[1]->err, PAWL_ERR_RUNTIME_INCONSISTENCY);
    pawl_reply_free(r);
    pawl_multi_free(m);

    m = pawl_multi_new(c);
    pawl_multi_get(m, "/multi");
    pawl_multi_get(m, "/nowhere");
    pawl_multi_children(m, "/");
    assert_int_equal(pawl_multi_run(c, m, &r), PAWL_OK);
    assert_int_equal(r->n_results, 3);
    assert_true(data_is(r->results[0], "b"));
    assert_int_equal(r->results[1]->err, PAWL_ERR_NO_NODE);
    assert_true(r->results[2]->children.n > 0);
    pawl_reply_free(r);
    pawl_multi_delete(m, PAWL_DELETE(.path = "/multi"));
    assert_int_equal(pawl_multi_run(c, m, NULL), PAWL_ERR_BAD_ARGUMENTS);
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void acls_credentials_and_questions(void **state)
{
    static const struct pawl_acl mine = {PAWL_PERM_ALL, "auth", ""};
    struct pawl_auth bob = {"digest", {"bob:pw", 6}}, bad = {"nonsense", {"x", 1}};
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_reply *r;
    bool known = false;

    (void)state;
    assert_int_equal(pawl_add_auth(c, &bob, NULL), PAWL_OK);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/mine", .acls = {&mine, 1}), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_get_acl(c, "/mine", &r), PAWL_OK);
    assert_int_equal(r->acls.n, 1);
    assert_string_equal(r->acls.items[0].scheme, "digest");
    assert_string_equal(r->acls.items[0].id, "bob:ikIaKsbtGweaHnb/jKn7OHqbunM=");
    pawl_reply_free(r);
    assert_int_equal(pawl_get(other, "/mine", NULL, NULL), PAWL_ERR_NO_AUTH);
    assert_int_equal(pawl_whoami(c, &r), PAWL_OK);
    for (size_t i = 0; i < r->ids.n; i++) {
        known = known || (strcmp(r->ids.items[i].scheme, "digest") == 0 &&
                          strncmp(r->ids.items[i].id, "bob", 3) == 0);
    }
    assert_true(known);
    pawl_reply_free(r);
    assert_int_equal(
        pawl_set_acl(
            c,
            PAWL_SET_ACL(.path = "/mine", .acls = {&(struct pawl_acl){31, "world", "anyone"}, 1}),
            NULL),
        PAWL_OK);
    assert_int_equal(pawl_get(other, "/mine", NULL, NULL), PAWL_OK);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/eph", .mode = PAWL_MODE_EPHEMERAL), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_ephemerals(c, "/", &r), PAWL_OK);
    assert_int_equal(r->children.n, 1);
    assert_string_equal(strrchr(r->children.items[0], '/'), "/eph");
    pawl_reply_free(r);
    assert_int_equal(pawl_add_auth(other, &bad, NULL), PAWL_ERR_AUTH_FAILED);
    assert_int_equal(pawl_get(other, "/mine", NULL, NULL), PAWL_OK); /* after a new link */
    assert_int_equal(pawl_config(c, NULL, NULL), PAWL_OK);
    assert_int_not_equal(
        pawl_reconfig(
            c, &(struct pawl_reconfig){.size = sizeof(struct pawl_reconfig), .leaving = "7"}, NULL),
        PAWL_OK);
    pawl_client_close(c);
    pawl_client_close(other);
}

static void bad_paths_are_refused_here(void **state)
{
    static const char *const bad[] = {"", "a", "/a/", "//a", "/a/./b", "/..", NULL};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int i = 0; bad[i] != NULL; i++) {
        assert_int_equal(pawl_get(c, bad[i], NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
        assert_int_equal(pawl_get_async(c, bad[i], NULL, NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    }
    assert_int_equal(pawl_get(c, NULL, NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_get(NULL, "/a", NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    pawl_client_close(c);
}

static void data_travel_compressed(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_reply *r;

    (void)state;
    assert_int_equal(
        pawl_create(c,
                    PAWL_CREATE(.path = "/gz", .data = text_bytes("hello hello hello hello"),
                                .flags = PAWL_OP_COMPRESS),
                    NULL),
        PAWL_OK);
    assert_int_equal(pawl_get(c, "/gz", NULL, &r), PAWL_OK);
    assert_memory_equal(r->data.data, "\x1f\x8b\x08", 3);
    pawl_reply_free(r);
    assert_int_equal(pawl_get_compressed(c, "/gz", NULL, &r), PAWL_OK);
    assert_true(data_is(r, "hello hello hello hello"));
    pawl_reply_free(r);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/gz", .data = text_bytes("plain")), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_get_compressed(c, "/gz", NULL, NULL), PAWL_ERR_DATA_INCONSISTENCY);
    pawl_client_close(c);
}

static void what_is_too_large_fails_alone(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    char *big = calloc(1, 900000);
    struct pawl_client *c, *small;
    struct pawl_reply *r;

    (void)state;
    c = client_fixture_open(&o);
    o.max_reply_bytes = 10000;
    o.max_request_bytes = 20000;
    small = client_fixture_open(&o);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/big", .data = {big, 900000}), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_get(small, "/big", NULL, NULL), PAWL_ERR_TOO_LARGE);
    assert_int_equal(pawl_exists(small, "/big", NULL, &r), PAWL_OK);
    assert_int_equal(r->stat.data_length, 900000);
    pawl_reply_free(r);
    assert_int_equal(pawl_set(small, PAWL_SET(.path = "/big", .data = {big, 30000}), &r),
                     PAWL_ERR_TOO_LARGE);
    assert_int_equal(r->outcome, PAWL_OUTCOME_REFUSED);
    pawl_reply_free(r);
    assert_int_equal(pawl_client_state(small), PAWL_STATE_CONNECTED);
    assert_int_equal(pawl_get(c, "/big", NULL, &r), PAWL_OK);
    assert_int_equal(r->data.len, 900000);
    assert_memory_equal(r->data.data, big, 900000);
    pawl_reply_free(r);
    pawl_client_close(c);
    pawl_client_close(small);
    free(big);
}

static void a_view_has_a_namespace_of_its_own(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *view, *whole;
    struct pawl_view_options o = {.size = sizeof(o), .name_space = "views/one", .timeout_ms = 5000};
    struct pawl_reply *r;
    char path[128];

    (void)state;
    assert_int_equal(pawl_client_view(c, &o, &view), PAWL_OK);
    o.name_space = "";
    assert_int_equal(pawl_client_view(c, &o, &whole), PAWL_OK);
    pawl_delete(whole, PAWL_DELETE(.path = "/views", .flags = PAWL_OP_CHILDREN_TOO), NULL);
    assert_int_equal(pawl_create(view, PAWL_CREATE(.path = "/n", .data = text_bytes("v")), &r),
                     PAWL_OK);
    assert_string_equal(r->path, "/n");
    pawl_reply_free(r);
    assert_int_equal(pawl_get(whole, "/views/one/n", NULL, NULL), PAWL_OK);
    assert_int_equal(pawl_exists(view, "/", NULL, NULL), PAWL_OK);
    snprintf(path, sizeof(path), "%s/a", client_fixture_options().name_space);
    assert_int_equal(pawl_exists(view, path, NULL, NULL), PAWL_ERR_NO_NODE);
    pawl_client_close(view);
    pawl_client_close(whole);
    pawl_client_close(c);
}

/* ---- callbacks ---- */

struct order {
    struct pawl_client *c;
    sem_t begin, done;
    int next, n;
    pthread_t caller;
    bool wrong;
};

struct one {
    struct order *order;
    int i;
};

static void in_order(const struct pawl_reply *reply, void *arg)
{
    struct one *x = arg;
    struct order *o = x->order;

    o->wrong = o->wrong || reply->err != PAWL_OK || x->i != o->next ||
               pthread_equal(pthread_self(), o->caller);
    o->next++;
    if (o->next == o->n) {
        sem_post(&o->done);
    }
    free(x);
}

static void callbacks_run_once_each_and_in_order(void **state)
{
    struct order o = {.c = client_fixture_open(NULL), .n = 5000, .caller = pthread_self()};

    (void)state;
    sem_init(&o.done, 0, 0);
    pawl_create(o.c, PAWL_CREATE(.path = "/order"), NULL);
    for (int i = 0; i < o.n; i++) {
        struct one *x = malloc(sizeof(*x));

        *x = (struct one){&o, i};
        if (i % 3 == 0) {
            assert_int_equal(pawl_set_async(o.c,
                                            PAWL_SET(.path = "/order", .data = text_bytes("d")),
                                            in_order, x),
                             PAWL_OK);
        } else {
            assert_int_equal(pawl_get_async(o.c, "/order", NULL, in_order, x), PAWL_OK);
        }
    }
    wait_semaphore(&o.done);
    assert_false(o.wrong);
    assert_int_equal(o.next, o.n);
    pawl_client_close(o.c);
}

static void blocks_inside(const struct pawl_reply *reply, void *arg)
{
    struct order *o = arg;

    o->wrong = reply->err != PAWL_OK ||
               pawl_set(o->c, PAWL_SET(.path = "/inside"), NULL) != PAWL_OK ||
               pawl_create(o->c, PAWL_CREATE(.path = "/inside/x/y", .flags = PAWL_OP_PARENTS),
                           NULL) != PAWL_OK;
    sem_post(&o->done);
}

static void a_blocking_call_inside_a_callback_works(void **state)
{
    struct order o = {.c = client_fixture_open(NULL)};

    (void)state;
    sem_init(&o.done, 0, 0);
    assert_int_equal(pawl_create_async(o.c, PAWL_CREATE(.path = "/inside"), blocks_inside, &o),
                     PAWL_OK);
    wait_semaphore(&o.done);
    assert_false(o.wrong);
    pawl_client_close(o.c);
}

static void closes_inside(const struct pawl_reply *reply, void *arg)
{
    struct order *o = arg;

    (void)reply;
    wait_semaphore(&o->begin); /* nobody may use a handle that is being closed */
    pawl_client_close(o->c);
    o->next++;
}

static void counts_closing(const struct pawl_reply *reply, void *arg)
{
    struct order *o = arg;

    o->wrong =
        o->wrong || o->next != 1 || (reply->err != PAWL_ERR_CLOSING && reply->err != PAWL_OK);
    sem_post(&o->done);
}

static void closing_inside_a_callback_is_legal(void **state)
{
    struct order o = {.c = client_fixture_open(NULL)};

    (void)state;
    sem_init(&o.done, 0, 0);
    sem_init(&o.begin, 0, 0);
    assert_int_equal(pawl_sync_async(o.c, "/", closes_inside, &o), PAWL_OK);
    assert_int_equal(pawl_get_async(o.c, "/", NULL, counts_closing, &o), PAWL_OK);
    sem_post(&o.begin);
    wait_semaphore(&o.done);
    assert_false(o.wrong);
}

static void sleeps_long(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    usleep(SHORT_SESSION_MS * 3 / 2 * 1000); /* is the thing under test: longer than the session */
    sem_post(arg);
}

/* Whether the session has seen no trouble meanwhile. */
static bool outlives_a_slow_callback(void)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;
    sem_t done;
    int64_t id;
    bool untroubled;

    o.session_timeout_ms = SHORT_SESSION_MS;
    c = client_fixture_open(&o);
    id = pawl_client_session_id(c);
    sem_init(&done, 0, 0);
    assert_int_equal(pawl_sync_async(c, "/", sleeps_long, &done), PAWL_OK);
    wait_semaphore(&done);
    untroubled = pawl_client_state(c) == PAWL_STATE_CONNECTED && pawl_client_session_id(c) == id;
    assert_true(pawl_exists(c, "/", NULL, NULL) == PAWL_OK || !untroubled);
    pawl_client_close(c);
    return untroubled;
}

/* Without its heartbeat it never does. */
static void a_slow_callback_does_not_stop_the_heartbeat(void **state)
{
    (void)state;
    wait_until(outlives_a_slow_callback());
}

/* ---- watches ---- */

struct seen {
    sem_t some;
    pthread_mutex_t lock;
    struct {
        enum pawl_event_type type;
        char path[64];
    } events[64];
    int n;
};

static void seen_init(struct seen *s)
{
    memset(s, 0, sizeof(*s));
    sem_init(&s->some, 0, 0);
    pthread_mutex_init(&s->lock, NULL);
}

static void note_event(const struct pawl_event *e, void *arg)
{
    struct seen *s = arg;

    pthread_mutex_lock(&s->lock);
    s->events[s->n].type = e->type;
    snprintf(s->events[s->n++].path, 64, "%s", e->path);
    pthread_mutex_unlock(&s->lock);
    sem_post(&s->some);
}

static void expect_event(struct seen *s, int i, enum pawl_event_type type, const char *path)
{
    wait_semaphore(&s->some);
    assert_int_equal(s->events[i].type, type);
    assert_string_equal(s->events[i].path, path);
}

static void one_shot_watches_fire_once(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct seen s;
    struct pawl_watch w = {note_event, &s};

    (void)state;
    seen_init(&s);
    assert_int_equal(pawl_exists(c, "/w", &w, NULL), PAWL_ERR_NO_NODE);
    pawl_create(other, PAWL_CREATE(.path = "/w"), NULL);
    expect_event(&s, 0, PAWL_EVENT_CREATED, "/w");
    assert_int_equal(pawl_get(c, "/w", &w, NULL), PAWL_OK);
    assert_int_equal(pawl_get(c, "/w", &w, NULL), PAWL_OK); /* the same twice is one */
    assert_int_equal(pawl_children(c, "/w", &w, NULL), PAWL_OK);
    pawl_set(other, PAWL_SET(.path = "/w"), NULL);
    expect_event(&s, 1, PAWL_EVENT_DATA_CHANGED, "/w");
    pawl_set(other, PAWL_SET(.path = "/w"), NULL);
    pawl_create(other, PAWL_CREATE(.path = "/w/k"), NULL);
    expect_event(&s, 2, PAWL_EVENT_CHILDREN_CHANGED, "/w");
    pawl_delete(other, PAWL_DELETE(.path = "/w", .flags = PAWL_OP_CHILDREN_TOO), NULL);
    pawl_sync(c, "/", NULL);
    assert_int_equal(s.n, 3);
    pawl_client_close(c);
    pawl_client_close(other);
    assert_int_equal(s.n, 3);
}

static void watches_that_stay(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct seen deep, flat;
    struct pawl_watch w = {note_event, &deep}, f = {note_event, &flat};

    (void)state;
    seen_init(&deep);
    seen_init(&flat);
    pawl_create(c, PAWL_CREATE(.path = "/p"), NULL);
    assert_int_equal(pawl_watch(c, "/p", PAWL_WATCH_RECURSIVE, &w, NULL), PAWL_OK);
    pawl_create(other, PAWL_CREATE(.path = "/p/a/b", .flags = PAWL_OP_PARENTS), NULL);
    expect_event(&deep, 0, PAWL_EVENT_CREATED, "/p/a");
    expect_event(&deep, 1, PAWL_EVENT_CREATED, "/p/a/b");
    pawl_set(other, PAWL_SET(.path = "/p/a/b"), NULL);
    expect_event(&deep, 2, PAWL_EVENT_DATA_CHANGED, "/p/a/b");
    assert_int_equal(pawl_unwatch(c, "/p", PAWL_WATCHES_ANY, &w, NULL), PAWL_OK);
    expect_event(&deep, 3, PAWL_EVENT_WATCH_REMOVED, "/p");
    assert_int_equal(pawl_unwatch(c, "/p", PAWL_WATCHES_ANY, &w, NULL), PAWL_ERR_NO_WATCHER);
    assert_int_equal(pawl_watch(c, "/p", PAWL_WATCH_PERSISTENT, &f, NULL), PAWL_OK);
    pawl_create(other, PAWL_CREATE(.path = "/p/c"), NULL);
    expect_event(&flat, 0, PAWL_EVENT_CHILDREN_CHANGED, "/p");
    pawl_set(other, PAWL_SET(.path = "/p"), NULL);
    expect_event(&flat, 1, PAWL_EVENT_DATA_CHANGED, "/p");
    pawl_client_close(c);
    expect_event(&flat, 2, PAWL_EVENT_SESSION, "/p"); /* its end */
    pawl_client_close(other);
    assert_int_equal(deep.n, 4);
}

/* ---- trouble ---- */

static void a_cut_link_is_suspended_then_reconnected(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy t;
    struct seen s;
    struct pawl_watch w = {note_event, &s};
    struct pawl_client *other = client_fixture_open(NULL);
    int64_t id;

    (void)state;
    seen_init(&s);
    behind_proxy_open(&t, &o);
    id = pawl_client_session_id(t.c);
    pawl_create(t.c, PAWL_CREATE(.path = "/cut"), NULL);
    assert_int_equal(pawl_get(t.c, "/cut", &w, NULL), PAWL_OK);
    assert_int_equal(pawl_children(t.c, "/cut", &w, NULL), PAWL_OK);
    tcp_proxy_accept(t.proxy, false);
    tcp_proxy_cut(t.proxy);
    expect_next_state(&t, 1, PAWL_STATE_SUSPENDED);
    pawl_set(other, PAWL_SET(.path = "/cut"), NULL); /* while nobody listens */
    tcp_proxy_accept(t.proxy, true);
    expect_next_state(&t, 2, PAWL_STATE_RECONNECTED);
    expect_event(&s, 0, PAWL_EVENT_DATA_CHANGED, "/cut"); /* caught up */
    assert_true(pawl_client_session_id(t.c) == id);
    pawl_create(other, PAWL_CREATE(.path = "/cut/k"), NULL);
    expect_event(&s, 1, PAWL_EVENT_CHILDREN_CHANGED, "/cut"); /* set again */
    behind_proxy_close(&t);
    pawl_client_close(other);
    assert_int_equal(t.states.list[t.states.n - 1], PAWL_STATE_CLOSED);
}

static void a_frozen_link_is_lost_by_our_own_clock(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy t;
    int64_t id;

    (void)state;
    o.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&t, &o);
    id = pawl_client_session_id(t.c);
    assert_int_equal(
        pawl_create(t.c, PAWL_CREATE(.path = "/frozen", .mode = PAWL_MODE_EPHEMERAL), NULL),
        PAWL_OK);
    assert_true(pawl_client_certain_ms(t.c) > 0);
    tcp_proxy_freeze(t.proxy, true);
    expect_next_state(&t, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&t, 2, PAWL_STATE_LOST);
    assert_int_equal(pawl_client_certain_ms(t.c), 0);
    tcp_proxy_cut(t.proxy);
    tcp_proxy_freeze(t.proxy, false);
    expect_next_state(&t, 3, PAWL_STATE_RECONNECTED);
    assert_true(pawl_client_session_id(t.c) != id);
    wait_until(pawl_exists(t.c, "/frozen", NULL, NULL) == PAWL_ERR_NO_NODE); /* by the server's */
    behind_proxy_close(&t);
}

static void a_write_says_what_became_of_it(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy t;
    struct pawl_reply *r;

    (void)state;
    behind_proxy_open(&t, &o);
    tcp_proxy_swallow_replies(t.proxy, true);
    assert_int_equal(pawl_create(t.c, PAWL_CREATE(.path = "/unknown", .timeout_ms = SENT_MS), &r),
                     PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(r->outcome, PAWL_OUTCOME_UNKNOWN);
    pawl_reply_free(r);
    wait_until(pawl_exists(other, "/unknown", NULL, NULL) == PAWL_OK);
    tcp_proxy_accept(t.proxy, false);
    tcp_proxy_cut(t.proxy);
    expect_next_state(&t, 1, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_create(t.c, PAWL_CREATE(.path = "/unsent", .timeout_ms = 100), &r),
                     PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(r->outcome, PAWL_OUTCOME_NOT_SENT);
    pawl_reply_free(r);
    tcp_proxy_swallow_replies(t.proxy, false);
    tcp_proxy_accept(t.proxy, true);
    assert_int_equal(pawl_exists(t.c, "/unknown", NULL, NULL), PAWL_OK);
    assert_int_equal(pawl_exists(t.c, "/unsent", NULL, NULL), PAWL_ERR_NO_NODE);
    behind_proxy_close(&t);
    pawl_client_close(other);
}

static void keep_reply(const struct pawl_reply *reply, void *arg)
{
    struct pawl_reply *to = ((struct pawl_reply **)arg)[0];

    to->err = reply->err;
    to->outcome = reply->outcome;
    sem_post(((sem_t **)arg)[1]);
}

static void what_is_in_flight_fails_with_its_link(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_reply got = {0};
    struct behind_proxy t;
    sem_t done;
    void *arg[2] = {&got, &done};

    (void)state;
    sem_init(&done, 0, 0);
    o.timeout_ms = SENT_MS;
    behind_proxy_open(&t, &o);
    tcp_proxy_swallow_replies(t.proxy, true);
    assert_int_equal(pawl_create_async(t.c, PAWL_CREATE(.path = "/flight", .timeout_ms = SOON_MS),
                                       keep_reply, arg),
                     PAWL_OK);
    /* A call that follows it out, so that both have been sent. */
    assert_int_equal(pawl_sync(t.c, "/", NULL), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_down(t.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(t.proxy, false);
    tcp_proxy_up(t.proxy);
    wait_semaphore(&done);
    assert_int_equal(got.err, PAWL_ERR_CONNECTION_LOSS);
    assert_int_equal(got.outcome, PAWL_OUTCOME_UNKNOWN);
    behind_proxy_close(&t);
}

static void a_protected_create_finds_its_node_again(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_reply got = {0};
    struct pawl_reply *r;
    struct behind_proxy t;
    sem_t done;
    void *arg[2] = {&got, &done};

    (void)state;
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 20, .pause_ms = 50};
    behind_proxy_open(&t, &o);
    sem_init(&done, 0, 0);
    pawl_create(t.c, PAWL_CREATE(.path = "/prot"), NULL);
    tcp_proxy_swallow_replies(t.proxy, true);
    assert_int_equal(
        pawl_create_async(t.c,
                          PAWL_CREATE(.path = "/prot/n-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                      .flags = PAWL_OP_PROTECTED),
                          keep_reply, arg),
        PAWL_OK);
    { /* it has arrived when another client sees it */
        struct pawl_client *other = client_fixture_open(NULL);
        size_t n = 0;

        while (n == 0) {
            assert_int_equal(pawl_children(other, "/prot", NULL, &r), PAWL_OK);
            n = r->children.n;
            pawl_reply_free(r);
        }
        pawl_client_close(other);
    }
    tcp_proxy_down(t.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(t.proxy, false);
    tcp_proxy_up(t.proxy);
    wait_semaphore(&done);
    assert_int_equal(got.err, PAWL_OK);
    assert_int_equal(pawl_children(t.c, "/prot", NULL, &r), PAWL_OK);
    assert_int_equal(r->children.n, 1);
    pawl_reply_free(r);
    behind_proxy_close(&t);
}

static void reads_are_retried_over_a_cut(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy t;

    (void)state;
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_EXPONENTIAL, .n = 10, .pause_ms = 10};
    behind_proxy_open(&t, &o);
    pawl_create(t.c, PAWL_CREATE(.path = "/retry"), NULL);
    for (int i = 0; i < 5; i++) {
        tcp_proxy_cut(t.proxy);
        assert_int_equal(pawl_get(t.c, "/retry", NULL, NULL), PAWL_OK);
    }
    behind_proxy_close(&t);
}

static void close_returns_when_nobody_answers(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy t;
    int64_t began;

    (void)state;
    o.close_timeout_ms = 10 * SOON_MS; /* of another way to close */
    o.session_timeout_ms = 10 * SOON_MS;
    behind_proxy_open(&t, &o);
    tcp_proxy_freeze(t.proxy, true);
    began = now_ms();
    pawl_client_close_within(t.c, 300);
    assert_true(now_ms() - began < SOON_MS);
    tcp_proxy_freeze(t.proxy, false);
    behind_proxy_free(&t);
}

static void without_a_server_calls_end_at_their_deadline(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    char nobody[32], servers[128];
    struct pawl_client *c;
    struct pawl_reply *r;

    (void)state;
    address_that_refuses(nobody, sizeof(nobody));
    snprintf(servers, sizeof(servers), "%s,no-such-host.invalid:2181", nobody);
    o.servers = servers;
    o.timeout_ms = 200;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    assert_int_equal(pawl_client_wait_connected(c, 50), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/x"), &r), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(r->outcome, PAWL_OUTCOME_NOT_SENT);
    pawl_reply_free(r);
    pawl_client_close(c);
}

static void one_bad_name_is_harmless(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    char nobody[32], servers[128];
    struct pawl_client *c;

    (void)state;
    address_that_refuses(nobody, sizeof(nobody));
    snprintf(servers, sizeof(servers), "no-such-host.invalid:1,%s,localhost:%d", nobody,
             client_fixture_port());
    o.servers = servers;
    c = client_fixture_open(&o);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    pawl_client_close(c);
}

static void a_session_is_handed_over(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c = client_fixture_open(&o);
    int64_t id = pawl_client_session_id(c);
    struct pawl_bytes extra;
    void *blob;
    size_t len;

    (void)state;
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/handed", .mode = PAWL_MODE_EPHEMERAL), NULL), PAWL_OK);
    assert_int_equal(pawl_client_detach(c, text_bytes("grants"), &blob, &len), PAWL_OK);
    o.attach = (struct pawl_bytes){blob, len};
    assert_int_equal(pawl_blob_extra(o.attach, &extra), PAWL_OK);
    assert_memory_equal(extra.data, "grants", 6);
    c = client_fixture_open(&o);
    assert_true(pawl_client_session_id(c) == id);
    assert_int_equal(pawl_exists(c, "/handed", NULL, NULL), PAWL_OK);
    pawl_client_close(c);
    free(blob);
}

static void a_forked_child_gets_an_error(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        int rc = pawl_get(c, "/", NULL, NULL);

        pawl_client_close(c);
        _exit(rc == PAWL_ERR_FORKED ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    pawl_client_close(c);
}

/* ---- other faces ---- */

static void post_ok(const struct pawl_reply *reply, void *arg)
{
    *(int *)arg = reply->err == PAWL_OK ? 1 : -1;
}

static void a_foreign_loop_drives_it(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;
    int done = 0, fd, timeout;
    short events;

    (void)state;
    o.dispatch = PAWL_DISPATCH_EXTERNAL;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    assert_int_equal(pawl_exists_async(c, "/", NULL, post_ok, &done), PAWL_OK);
    while (done == 0) {
        struct pollfd p;

        assert_int_equal(pawl_client_interest(c, &fd, &events, &timeout), PAWL_OK);
        p = (struct pollfd){.fd = fd, .events = events};
        assert_true(poll(&p, 1, timeout) >= 0);
        assert_int_equal(pawl_client_process(c, p.revents), PAWL_OK);
    }
    assert_int_equal(done, 1);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/"), NULL), PAWL_OK); /* blocking, outside */
    pawl_client_close(c);
}

static void tries_to_block(const struct pawl_reply *reply, void *arg)
{
    void **a = arg;

    (void)reply;
    *(int *)a[1] = pawl_sync(a[0], "/", NULL);
}

static void blocking_in_a_callback_without_threads_is_an_error(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;
    int rc = 0;
    void *arg[2];

    (void)state;
    o.dispatch = PAWL_DISPATCH_EXTERNAL;
    c = client_fixture_open(&o);
    arg[0] = c;
    arg[1] = &rc;
    assert_int_equal(pawl_sync_async(c, "/", tries_to_block, arg), PAWL_OK);
    while (rc == 0) {
        int fd, timeout;
        short events;

        pawl_client_interest(c, &fd, &events, &timeout);
        poll(&(struct pollfd){.fd = fd, .events = events}, 1, timeout);
        pawl_client_process(c, events);
    }
    assert_int_equal(rc, PAWL_ERR_WOULD_DEADLOCK);
    pawl_client_close(c);
}

static void callbacks_can_be_polled(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;
    int done = 0;

    (void)state;
    o.dispatch = PAWL_DISPATCH_POLLED;
    c = client_fixture_open(&o);
    assert_int_equal(pawl_exists_async(c, "/", NULL, post_ok, &done), PAWL_OK);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK); /* behind it, and answered */
    assert_int_equal(done, 0);
    while (done == 0) {
        assert_true(pawl_client_dispatch(c, SOON_S * 1000) > 0);
    }
    assert_int_equal(done, 1);
    pawl_client_close(c);
}

/* ---- many ---- */

struct many {
    struct pawl_client *c;
    int n_wrong;
};

static void *work(void *arg)
{
    struct many *m = arg;
    struct pawl_reply *r;
    int wrong = 0;

    for (int i = 0; i < 300; i++) {
        wrong += pawl_get(m->c, "/many", NULL, &r) != PAWL_OK || !data_is(r, "many");
        pawl_reply_free(r);
        wrong +=
            i % 10 == 0 &&
            pawl_set(m->c, PAWL_SET(.path = "/many", .data = text_bytes("many")), NULL) != PAWL_OK;
    }
    __atomic_fetch_add(&m->n_wrong, wrong, __ATOMIC_SEQ_CST);
    return NULL;
}

static void threads_share_a_handle(void **state)
{
    struct many m = {.c = client_fixture_open(NULL)};
    pthread_t threads[8];

    (void)state;
    pawl_create(m.c, PAWL_CREATE(.path = "/many", .data = text_bytes("many")), NULL);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &m), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(m.n_wrong, 0);
    pawl_client_close(m.c);
}

static void handles_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct pawl_client *c = NULL;
        struct pawl_client_options o = client_fixture_options();

        if (i % 2 == 0) {
            c = client_fixture_open(NULL);
            assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
        } else {
            assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
        }
        pawl_client_close(c);
    }
}

static void opening_nonsense_is_an_error(void **state)
{
    static const char *const bad[] = {"",     ":2181", "a:b",  "a:0",    "a:99999",
                                      "a,,b", "a/x/",  "[::1", "local:", NULL};
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;

    (void)state;
    for (int i = 0; bad[i] != NULL; i++) {
        o.servers = bad[i];
        assert_int_equal(pawl_client_open(&o, &c), PAWL_ERR_BAD_ARGUMENTS);
    }
    pawl_client_close(NULL);
    pawl_reply_free(NULL);
    pawl_multi_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_created_read_changed_and_deleted),
        cmocka_unit_test(null_data_and_empty_data_differ),
        cmocka_unit_test(every_mode_of_create_works),
        cmocka_unit_test(a_protected_name_carries_an_id),
        cmocka_unit_test(a_delete_takes_the_children_along),
        cmocka_unit_test(a_multi_is_all_or_nothing),
        cmocka_unit_test(acls_credentials_and_questions),
        cmocka_unit_test(bad_paths_are_refused_here),
        cmocka_unit_test(data_travel_compressed),
        cmocka_unit_test(what_is_too_large_fails_alone),
        cmocka_unit_test(a_view_has_a_namespace_of_its_own),
        cmocka_unit_test(callbacks_run_once_each_and_in_order),
        cmocka_unit_test(a_blocking_call_inside_a_callback_works),
        cmocka_unit_test(closing_inside_a_callback_is_legal),
        cmocka_unit_test(a_slow_callback_does_not_stop_the_heartbeat),
        cmocka_unit_test(one_shot_watches_fire_once),
        cmocka_unit_test(watches_that_stay),
        cmocka_unit_test(a_cut_link_is_suspended_then_reconnected),
        cmocka_unit_test(a_frozen_link_is_lost_by_our_own_clock),
        cmocka_unit_test(a_write_says_what_became_of_it),
        cmocka_unit_test(what_is_in_flight_fails_with_its_link),
        cmocka_unit_test(a_protected_create_finds_its_node_again),
        cmocka_unit_test(reads_are_retried_over_a_cut),
        cmocka_unit_test(close_returns_when_nobody_answers),
        cmocka_unit_test(without_a_server_calls_end_at_their_deadline),
        cmocka_unit_test(one_bad_name_is_harmless),
        cmocka_unit_test(a_session_is_handed_over),
        cmocka_unit_test(a_forked_child_gets_an_error),
        cmocka_unit_test(a_foreign_loop_drives_it),
        cmocka_unit_test(blocking_in_a_callback_without_threads_is_an_error),
        cmocka_unit_test(callbacks_can_be_polled),
        cmocka_unit_test(threads_share_a_handle),
        cmocka_unit_test(handles_come_and_go),
        cmocka_unit_test(opening_nonsense_is_an_error),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
