/* SPDX-License-Identifier: Apache-2.0 */
/* Service discovery, against a real server, over a link that can be cut. */
#define _GNU_SOURCE
#include "pawl/discovery.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static struct pawl_discovery *new_discovery(struct pawl_client *c, const char *base)
{
    struct pawl_discovery *d = NULL;

    assert_int_equal(pawl_discovery_new(c, base, &d), 0);
    return d;
}

static struct pawl_stat stat_of(struct pawl_client *c, const char *path)
{
    struct pawl_reply *reply;
    struct pawl_stat stat;

    assert_int_equal(pawl_exists(c, path, NULL, &reply), 0);
    stat = reply->stat;
    pawl_reply_free(reply);
    return stat;
}

static bool exists(struct pawl_client *c, const char *path)
{
    return pawl_exists(c, path, NULL, NULL) == 0;
}

static void until_exists(struct pawl_client *c, const char *path, bool yes)
{
    wait_until(exists(c, path) == yes);
}

static void assert_data(struct pawl_client *c, const char *path, const char *text)
{
    struct pawl_reply *reply;

    assert_int_equal(pawl_get(c, path, NULL, &reply), 0);
    assert_int_equal(reply->data.len, strlen(text));
    assert_memory_equal(reply->data.data, text, reply->data.len);
    pawl_reply_free(reply);
}

#define FIXED .address = "10.1.2.3", .registered_ms = 1600000000000
#define REST(port, ssl, type)                                                         \
    "\"address\":\"10.1.2.3\",\"port\":" port ",\"sslPort\":" ssl                     \
    ",\"payload\":null,\"registrationTimeUTC\":1600000000000,\"serviceType\":\"" type \
    "\",\"uriSpec\":null}"

/* ---- registering ---- */

/* test/vectors/curator/servicediscovery.txt; the JSON itself is in test_discovery_json.c */
static void nodes_have_curators_paths_modes_and_bytes(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/a");
    int64_t session = pawl_client_session_id(c);

    (void)state;
    assert_int_equal(pawl_discovery_register(
                         d, PAWL_INSTANCE(.name = "web", .id = "id-1", .port = 80, FIXED), SOON_MS),
                     0);
    assert_int_equal(
        pawl_discovery_register(d,
                                PAWL_INSTANCE(.name = "web", .id = "id-2", .ssl_port = 8443,
                                              .type = PAWL_SERVICE_STATIC, FIXED),
                                SOON_MS),
        0);
    assert_int_equal(
        pawl_discovery_register(d,
                                PAWL_INSTANCE(.name = "db", .id = "id-3",
                                              .type = PAWL_SERVICE_DYNAMIC_SEQUENTIAL, FIXED),
                                SOON_MS),
        0);
    assert_data(c, "/d/a/web/id-1",
                "{\"name\":\"web\",\"id\":\"id-1\"," REST("80", "null", "DYNAMIC"));
    assert_data(c, "/d/a/web/id-2",
                "{\"name\":\"web\",\"id\":\"id-2\"," REST("null", "8443", "STATIC"));
    assert_data(c, "/d/a/db/id-30000000000",
                "{\"name\":\"db\",\"id\":\"id-3\"," REST("null", "null", "DYNAMIC_SEQUENTIAL"));
    assert_int_equal(stat_of(c, "/d/a/web/id-1").ephemeral_owner, session);
    assert_int_equal(stat_of(c, "/d/a/web/id-2").ephemeral_owner, 0);
    assert_int_equal(stat_of(c, "/d/a/db/id-30000000000").ephemeral_owner, session);
    pawl_discovery_free(d);
    until_exists(c, "/d/a/web/id-1", false);
    until_exists(c, "/d/a/web/id-2", false);
    until_exists(c, "/d/a/db/id-30000000000", false); /* Curator leaves it */
    pawl_client_close(c);
}

/* Curator deletes the node and makes it again. */
static void registered_twice_is_an_update(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/b");
    struct pawl_stat before, after;

    (void)state;
    assert_int_equal(pawl_discovery_update(d, PAWL_INSTANCE(.name = "web", .id = "1"), SOON_MS),
                     PAWL_ERR_NO_NODE);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), SOON_MS), 0);
    before = stat_of(c, "/d/b/web/1");
    assert_int_equal(pawl_discovery_register(
                         d, PAWL_INSTANCE(.name = "web", .id = "1", .port = 7, FIXED), SOON_MS),
                     0);
    assert_int_equal(pawl_discovery_update(
                         d, PAWL_INSTANCE(.name = "web", .id = "1", .port = 8, FIXED), SOON_MS),
                     0);
    after = stat_of(c, "/d/b/web/1");
    assert_int_equal(after.czxid, before.czxid);
    assert_int_equal(after.version, 2);
    assert_data(c, "/d/b/web/1", "{\"name\":\"web\",\"id\":\"1\"," REST("8", "null", "DYNAMIC"));
    assert_int_equal(
        pawl_discovery_register(
            d, PAWL_INSTANCE(.name = "web", .id = "1", .type = PAWL_SERVICE_STATIC), SOON_MS),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_discovery_unregister(d, "web", "1", SOON_MS), 0);
    assert_false(exists(c, "/d/b/web/1"));
    assert_int_equal(pawl_discovery_unregister(d, "web", "1", SOON_MS), PAWL_ERR_NO_NODE);
    pawl_discovery_free(d);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/c");
    struct pawl_service_cache *s;

    (void)state;
    assert_int_equal(pawl_discovery_register(d, PAWL_INSTANCE(.id = "1"), 0),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_discovery_register(d, PAWL_INSTANCE(.name = "a/b", .id = "1"), 0),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_discovery_register(d, PAWL_INSTANCE(.name = "a", .id = ".."), 0),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "a", .id = "1", .payload = "{"), 0),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_discovery_register(NULL, PAWL_INSTANCE(.name = "a"), 0),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_service_cache_new(c, "/d/c", "a/b", NULL, NULL, &s),
                     PAWL_ERR_BAD_ARGUMENTS);
    pawl_discovery_free(d);
    pawl_discovery_free(NULL);
    pawl_service_cache_free(NULL);
    pawl_provider_free(NULL);
    pawl_instance_free(NULL);
    pawl_instances_free(NULL);
    pawl_client_close(c);
}

static void a_node_of_another_session_is_taken_over(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/e");

    (void)state;
    assert_int_equal(pawl_create(other,
                                 PAWL_CREATE(.path = "/d/e/web/1", .mode = PAWL_MODE_EPHEMERAL,
                                             .flags = PAWL_OP_CONTAINER_PARENTS),
                                 NULL),
                     0);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), SOON_MS), 0);
    assert_int_equal(stat_of(c, "/d/e/web/1").ephemeral_owner, pawl_client_session_id(c));
    pawl_client_close(other);
    assert_true(exists(c, "/d/e/web/1"));
    pawl_discovery_free(d);
    pawl_client_close(c);
}

/* ---- trouble ---- */

static void cut_for_a_moment(struct behind_proxy *b, int *seen)
{
    tcp_proxy_accept(b->proxy, false);
    tcp_proxy_cut(b->proxy);
    expect_next_state(b, ++*seen, PAWL_STATE_SUSPENDED);
    tcp_proxy_accept(b->proxy, true);
    expect_next_state(b, ++*seen, PAWL_STATE_RECONNECTED);
}

static void cut_until_the_session_is_lost(struct behind_proxy *b, int *seen)
{
    tcp_proxy_accept(b->proxy, false);
    tcp_proxy_cut(b->proxy);
    expect_next_state(b, ++*seen, PAWL_STATE_SUSPENDED);
    expect_next_state(b, ++*seen, PAWL_STATE_LOST);
    tcp_proxy_accept(b->proxy, true);
    expect_next_state(b, ++*seen, PAWL_STATE_RECONNECTED);
}

/* Curator deletes and makes them again, and everybody sees the services vanish. */
static void what_is_there_and_ours_survives_a_reconnect_untouched(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_stat before, after;
    struct pawl_discovery *d;
    struct behind_proxy b;
    int seen = 0;

    (void)state;
    behind_proxy_open(&b, &co);
    d = new_discovery(b.c, "/d/f");
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), SOON_MS), 0);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "2", FIXED), SOON_MS), 0);
    before = stat_of(c, "/d/f/web/1");
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, ++seen, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/d/f/web/2"), NULL), 0);
    tcp_proxy_accept(b.proxy, true);
    until_exists(c, "/d/f/web/2", true); /* which somebody had deleted */
    after = stat_of(c, "/d/f/web/1");
    assert_int_equal(after.czxid, before.czxid);
    assert_int_equal(after.version, 0);
    pawl_discovery_free(d);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

static void a_new_session_registers_again(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d;
    struct pawl_reply *reply;
    struct behind_proxy b;
    int64_t fixed_czxid;
    int seen = 0;

    (void)state;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    d = new_discovery(b.c, "/d/g");
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), SOON_MS), 0);
    assert_int_equal(pawl_discovery_register(d,
                                             PAWL_INSTANCE(.name = "web", .id = "fixed",
                                                           .type = PAWL_SERVICE_STATIC, FIXED),
                                             SOON_MS),
                     0);
    assert_int_equal(
        pawl_discovery_register(
            d,
            PAWL_INSTANCE(.name = "seq", .id = "s", .type = PAWL_SERVICE_DYNAMIC_SEQUENTIAL, FIXED),
            SOON_MS),
        0);
    fixed_czxid = stat_of(c, "/d/g/web/fixed").czxid;
    cut_until_the_session_is_lost(&b, &seen);
    for (int64_t end = now_ms() + SOON_MS; now_ms() < end;) {
        if (exists(c, "/d/g/web/1") && exists(c, "/d/g/seq/s0000000001") &&
            stat_of(c, "/d/g/web/1").ephemeral_owner == pawl_client_session_id(b.c)) {
            break;
        }
    }
    assert_int_equal(stat_of(c, "/d/g/web/1").ephemeral_owner, pawl_client_session_id(b.c));
    assert_int_equal(stat_of(c, "/d/g/web/fixed").czxid, fixed_czxid);
    until_exists(c, "/d/g/seq/s0000000000", false);
    assert_int_equal(pawl_children(c, "/d/g/seq", NULL, &reply), 0);
    assert_int_equal(reply->children.n, 1);
    pawl_reply_free(reply);
    pawl_discovery_free(d);
    until_exists(c, "/d/g/web/1", false);
    until_exists(c, "/d/g/web/fixed", false);
    until_exists(c, "/d/g/seq/s0000000001", false);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

static void ignore(struct pawl_discovery *d, int err, void *arg)
{
    (void)d;
    (void)err;
    sem_post(arg);
}

/* */
static void unregistered_stays_unregistered_through_reconnects(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d;
    struct behind_proxy b;
    int seen = 0, rc;
    sem_t told;

    (void)state;
    sem_init(&told, 0, 0);
    behind_proxy_open(&b, &co);
    d = new_discovery(b.c, "/d/h");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(pawl_discovery_register_async(
                             d, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), ignore, &told),
                         0);
        if (i % 2 == 1) {
            wait_semaphore(&told);
        }
        tcp_proxy_swallow_replies(b.proxy, true);
        assert_int_equal(pawl_discovery_unregister_async(d, "web", "1", ignore, &told), 0);
        tcp_proxy_accept(b.proxy, false);
        tcp_proxy_cut(b.proxy);
        expect_next_state(&b, ++seen, PAWL_STATE_SUSPENDED);
        tcp_proxy_swallow_replies(b.proxy, false);
        tcp_proxy_accept(b.proxy, true);
        expect_next_state(&b, ++seen, PAWL_STATE_RECONNECTED);
        wait_semaphore(&told);
        if (i % 2 == 0) {
            wait_semaphore(&told);
        }
        assert_false(exists(c, "/d/h/web/1"));
        cut_for_a_moment(&b, &seen);
        rc = pawl_discovery_unregister(d, "web", "1", SOON_MS);
        assert_int_equal(rc, PAWL_ERR_NO_NODE);
        assert_false(exists(c, "/d/h/web/1"));
    }
    pawl_discovery_free(d);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

static void what_somebody_deletes_is_registered_again_at_once(void **state)
{
    static const enum pawl_service_type types[] = {PAWL_SERVICE_DYNAMIC, PAWL_SERVICE_STATIC};
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/own");
    int64_t czxid;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(types); i++) {
        assert_int_equal(
            pawl_discovery_register(
                d, PAWL_INSTANCE(.name = "web", .id = "1", .type = types[i], FIXED), SOON_MS),
            0);
        for (int k = 0; k < 3; k++) {
            czxid = stat_of(other, "/d/own/web/1").czxid;
            assert_int_equal(pawl_delete(other, PAWL_DELETE(.path = "/d/own/web/1"), NULL), 0);
            until_exists(other, "/d/own/web/1", true);
            assert_int_not_equal(stat_of(other, "/d/own/web/1").czxid, czxid);
        }
        assert_int_equal(pawl_discovery_unregister(d, "web", "1", SOON_MS), 0);
        assert_false(exists(c, "/d/own/web/1"));
    }
    assert_int_equal(pawl_unwatch(c, "/d/own/web/1", PAWL_WATCHES_ANY, NULL, NULL),
                     PAWL_ERR_NO_WATCHER);
    pawl_discovery_free(d);
    pawl_client_close(c);
    pawl_client_close(other);
}

/* The only child of a folder. */
static void until_only_child_is_another(struct pawl_client *c, const char *folder, char *name,
                                        size_t size)
{
    for (int64_t end = now_ms() + SOON_MS;;) {
        struct pawl_reply *reply;
        bool found;

        assert_int_equal(pawl_children(c, folder, NULL, &reply), 0);
        found = reply->children.n == 1 && strcmp(reply->children.items[0], name) != 0;
        if (found) {
            snprintf(name, size, "%s", reply->children.items[0]);
        }
        pawl_reply_free(reply);
        if (found) {
            return;
        }
        assert_true(now_ms() < end);
    }
}

static void a_numbered_one_comes_back_under_another_number(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/num");
    char name[64] = "", path[128];

    (void)state;
    assert_int_equal(
        pawl_discovery_register(
            d,
            PAWL_INSTANCE(.name = "web", .id = "s", .type = PAWL_SERVICE_DYNAMIC_SEQUENTIAL, FIXED),
            SOON_MS),
        0);
    for (int i = 0; i < 3; i++) {
        until_only_child_is_another(other, "/d/num/web", name, sizeof(name));
        snprintf(path, sizeof(path), "/d/num/web/%s", name);
        assert_int_equal(pawl_delete(other, PAWL_DELETE(.path = path), NULL), 0);
    }
    until_only_child_is_another(other, "/d/num/web", name, sizeof(name));
    assert_int_equal(pawl_discovery_unregister(d, "web", "s", SOON_MS), 0);
    snprintf(path, sizeof(path), "/d/num/web/%s", name);
    assert_false(exists(c, path));
    pawl_discovery_free(d);
    pawl_client_close(c);
    pawl_client_close(other);
}

/* Two with one id: the second takes its place, the first has it again when the second goes, and
 * they do not fight. */
static void who_takes_our_id_keeps_it_until_he_goes(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_discovery *first = new_discovery(c, "/d/id"),
                          *second = new_discovery(other, "/d/id");
    struct pawl_stat stat;

    (void)state;
    assert_int_equal(
        pawl_discovery_register(first, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), SOON_MS), 0);
    assert_int_equal(
        pawl_discovery_register(second, PAWL_INSTANCE(.name = "web", .id = "1", FIXED), SOON_MS),
        0);
    stat = stat_of(c, "/d/id/web/1");
    assert_int_equal(stat.ephemeral_owner, pawl_client_session_id(other));
    for (int i = 0; i < 50; i++) { /* time enough for a fight */
        assert_int_equal(pawl_sync(c, "/d", NULL), 0);
        assert_int_equal(stat_of(c, "/d/id/web/1").czxid, stat.czxid);
    }
    pawl_discovery_free(second);
    for (int64_t end = now_ms() + SOON_MS;;) {
        struct pawl_reply *reply;
        int64_t owner =
            pawl_exists(other, "/d/id/web/1", NULL, &reply) == 0 ? reply->stat.ephemeral_owner : 0;

        pawl_reply_free(reply);
        if (owner == pawl_client_session_id(c)) {
            break;
        }
        assert_true(now_ms() < end);
    }
    pawl_discovery_free(first);
    until_exists(other, "/d/id/web/1", false);
    pawl_client_close(c);
    pawl_client_close(other);
}

/* The answer to the create is lost: the node is found again, and not made twice. */
static void a_lost_answer_leaves_no_second_node(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d;
    struct pawl_reply *reply;
    struct behind_proxy b;
    sem_t told;

    (void)state;
    sem_init(&told, 0, 0);
    behind_proxy_open(&b, &co);
    d = new_discovery(b.c, "/d/i");
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/d/i/seq", .flags = PAWL_OP_PARENTS), NULL), 0);
    tcp_proxy_swallow_replies(b.proxy, true);
    assert_int_equal(
        pawl_discovery_register_async(
            d,
            PAWL_INSTANCE(.name = "seq", .id = "s", .type = PAWL_SERVICE_DYNAMIC_SEQUENTIAL, FIXED),
            ignore, &told),
        0);
    until_exists(c, "/d/i/seq/s0000000000", true);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_accept(b.proxy, true);
    wait_semaphore(&told);
    assert_int_equal(pawl_children(c, "/d/i/seq", NULL, &reply), 0);
    assert_int_equal(reply->children.n, 1);
    pawl_reply_free(reply);
    assert_int_equal(pawl_discovery_unregister(d, "seq", "s", SOON_MS), 0);
    assert_int_equal(pawl_children(c, "/d/i/seq", NULL, &reply), 0);
    assert_int_equal(reply->children.n, 0);
    pawl_reply_free(reply);
    pawl_discovery_free(d);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

/* ---- asking ---- */

static void queries_find_what_is_registered(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/j");
    struct pawl_instances *list;
    struct pawl_instance *one;
    struct pawl_reply *reply;

    (void)state;
    assert_int_equal(pawl_discovery_names(d, &reply), PAWL_ERR_NO_NODE);
    pawl_reply_free(reply);
    assert_int_equal(pawl_discovery_instances(d, "web", &list), 0);
    assert_int_equal(list->n, 0);
    pawl_instances_free(list);
    assert_int_equal(pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "2"), SOON_MS),
                     0);
    assert_int_equal(pawl_discovery_register(d,
                                             PAWL_INSTANCE(.name = "web", .id = "1", .port = 5,
                                                           .payload = "{\"k\":[1,2]}"),
                                             SOON_MS),
                     0);
    assert_int_equal(pawl_discovery_register(d, PAWL_INSTANCE(.name = "db"), SOON_MS), 0);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/d/j/web/bad", .data = {"x", 1}), NULL),
                     0);
    assert_int_equal(pawl_discovery_names(d, &reply), 0);
    assert_int_equal(reply->children.n, 2);
    pawl_reply_free(reply);
    assert_int_equal(pawl_discovery_instances(d, "web", &list), 0);
    assert_int_equal(list->n, 2);
    assert_string_equal(list->items[0]->id, "1");
    assert_string_equal(list->items[0]->payload, "{\"k\":[1,2]}");
    assert_non_null(list->items[0]->address);
    assert_true(list->items[0]->registered_ms > 1600000000000);
    assert_string_equal(list->items[1]->id, "2");
    pawl_instances_free(list);
    assert_int_equal(pawl_discovery_instance(d, "web", "1", &one), 0);
    assert_int_equal(one->port, 5);
    pawl_instance_free(one);
    assert_int_equal(pawl_discovery_instance(d, "web", "none", &one), PAWL_ERR_NO_NODE);
    assert_int_equal(pawl_discovery_instance(d, "web", "bad", &one), PAWL_ERR_CORRUPT);
    pawl_discovery_free(d);
    pawl_client_close(c);
}

/* ---- following ---- */

static void wake(struct pawl_service_cache *s, void *arg)
{
    (void)s;
    sem_post(arg);
}

/* "id:port," of each. */
static void describe(struct pawl_service_cache *s, char *out, size_t size)
{
    struct pawl_instances *list;
    size_t at = 0;

    out[0] = '\0';
    assert_int_equal(pawl_service_cache_instances(s, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s:%d,", list->items[i]->id,
                               list->items[i]->port);
    }
    pawl_instances_free(list);
}

static void until_described(struct pawl_service_cache *s, sem_t *some, const char *expected)
{
    char text[256];

    for (;;) {
        describe(s, text, sizeof(text));
        if (strcmp(text, expected) == 0) {
            return;
        }
        wait_semaphore(some);
    }
}

/* a node without data, or with something else in it */
static void the_cache_follows_its_service(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(other, "/d/k");
    struct pawl_service_cache *s;
    sem_t some;

    (void)state;
    sem_init(&some, 0, 0);
    assert_int_equal(pawl_service_cache_new(c, "/d/k", "web", wake, &some, &s), 0);
    assert_int_equal(pawl_service_cache_wait(s, SOON_MS), 0);
    until_described(s, &some, "");
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "b", .port = 1), SOON_MS), 0);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "a", .port = 2), SOON_MS), 0);
    until_described(s, &some, "a:2,b:1,");
    assert_int_equal(
        pawl_discovery_update(d, PAWL_INSTANCE(.name = "web", .id = "b", .port = 3), SOON_MS), 0);
    until_described(s, &some, "a:2,b:3,");
    assert_int_equal(pawl_create(other, PAWL_CREATE(.path = "/d/k/web/aa"), NULL), 0);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "c", .port = 4), SOON_MS), 0);
    until_described(s, &some, "a:2,b:3,c:4,");
    assert_int_equal(pawl_delete(other, PAWL_DELETE(.path = "/d/k/web/aa"), NULL), 0);
    pawl_discovery_free(d);
    until_described(s, &some, "");
    assert_int_equal(pawl_delete(other, PAWL_DELETE(.path = "/d/k/web"), NULL), 0);
    d = new_discovery(other, "/d/k");
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "z", .port = 9), SOON_MS), 0);
    until_described(s, &some, "z:9,");
    pawl_service_cache_free(s);
    assert_int_equal(pawl_sync(c, "/d/k", NULL), 0);
    assert_int_equal(pawl_unwatch(c, "/d/k/web", PAWL_WATCHES_ANY, NULL, NULL),
                     PAWL_ERR_NO_WATCHER);
    assert_int_equal(pawl_unwatch(c, "/d/k/web/z", PAWL_WATCHES_ANY, NULL, NULL),
                     PAWL_ERR_NO_WATCHER);
    pawl_discovery_free(d);
    pawl_client_close(c);
    pawl_client_close(other);
}

/* There is no folder, and we may not make one: that is a service without instances. */
static void a_service_that_is_not_there_is_complete(void **state)
{
    static const struct pawl_acl read_only = {PAWL_PERM_READ | PAWL_PERM_DELETE, "world", "anyone"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_service_cache *s;
    sem_t some;

    (void)state;
    sem_init(&some, 0, 0);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/d/closed", .acls = {&read_only, 1},
                                             .flags = PAWL_OP_PARENTS),
                                 NULL),
                     0);
    assert_int_equal(pawl_service_cache_new(c, "/d/closed", "web", wake, &some, &s), 0);
    assert_int_equal(pawl_service_cache_wait(s, SOON_MS), 0);
    wait_semaphore(&some);
    until_described(s, &some, "");
    pawl_service_cache_free(s);
    pawl_client_close(c);
}

/* Somebody removes all watches at an instance's path, ours among them. */
static void an_instance_whose_watch_was_taken_away_is_followed_on(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(other, "/d/taken");
    struct pawl_service_cache *s;
    sem_t some;

    (void)state;
    sem_init(&some, 0, 0);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "a", .port = 1), SOON_MS), 0);
    assert_int_equal(pawl_service_cache_new(c, "/d/taken", "web", wake, &some, &s), 0);
    until_described(s, &some, "a:1,");
    assert_int_equal(pawl_unwatch(c, "/d/taken/web/a", PAWL_WATCHES_ANY, NULL, NULL), 0);
    assert_int_equal(
        pawl_discovery_update(d, PAWL_INSTANCE(.name = "web", .id = "a", .port = 2), SOON_MS), 0);
    until_described(s, &some, "a:2,");
    pawl_service_cache_free(s);
    pawl_discovery_free(d);
    pawl_client_close(c);
    pawl_client_close(other);
}

static void the_cache_goes_on_after_the_session_was_lost(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/l");
    struct pawl_service_cache *s;
    struct behind_proxy b;
    sem_t some;
    int seen = 0;

    (void)state;
    sem_init(&some, 0, 0);
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "a", .port = 1), SOON_MS), 0);
    assert_int_equal(
        pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "b", .port = 1), SOON_MS), 0);
    assert_int_equal(pawl_service_cache_new(b.c, "/d/l", "web", wake, &some, &s), 0);
    assert_int_equal(pawl_service_cache_wait(s, SOON_MS), 0);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, ++seen, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, ++seen, PAWL_STATE_LOST);
    assert_int_equal(
        pawl_discovery_update(d, PAWL_INSTANCE(.name = "web", .id = "a", .port = 2), SOON_MS), 0);
    assert_int_equal(pawl_discovery_unregister(d, "web", "b", SOON_MS), 0);
    tcp_proxy_accept(b.proxy, true);
    until_described(s, &some, "a:2,");
    assert_int_equal(
        pawl_discovery_update(d, PAWL_INSTANCE(.name = "web", .id = "a", .port = 3), SOON_MS), 0);
    until_described(s, &some, "a:3,");
    pawl_service_cache_free(s);
    pawl_discovery_free(d);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

/* ---- choosing ---- */

static struct pawl_provider *new_provider(struct pawl_client *c, const char *base,
                                          const struct pawl_provider_options *o)
{
    struct pawl_provider *p = NULL;

    assert_int_equal(pawl_provider_new(c, base, "web", o, &p), 0);
    assert_int_equal(pawl_provider_wait(p, SOON_MS), 0);
    return p;
}

static void register_four(struct pawl_discovery *d)
{
    static const char *const ids[] = {"a", "b", "c", "off"};

    for (size_t i = 0; i < TEST_COUNT(ids); i++) {
        assert_int_equal(
            pawl_discovery_register(
                d,
                PAWL_INSTANCE(.name = "web", .id = ids[i], .disabled = i == 3, .registered_ms = 1),
                SOON_MS),
            0);
    }
}

/* The ids of the next `n`, one letter each. */
static void pick(struct pawl_provider *p, int n, char *out)
{
    for (int i = 0; i < n; i++) {
        struct pawl_instance *one;

        assert_int_equal(pawl_provider_get(p, &one), 0);
        out[i] = one->id[0];
        pawl_instance_free(one);
    }
    out[n] = '\0';
}

static int not_b(const struct pawl_instance *i, void *arg)
{
    (void)arg;
    return strcmp(i->id, "b") != 0;
}

static void providers_choose_by_their_strategy(void **state)
{
    struct pawl_provider_options o = {.size = sizeof(o)};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/m");
    struct pawl_instances *list;
    struct pawl_provider *p;
    struct pawl_instance *one;
    char text[64];

    (void)state;
    p = new_provider(c, "/d/m", NULL);
    assert_int_equal(pawl_provider_get(p, &one), PAWL_ERR_NO_NODE);
    pawl_provider_free(p);
    register_four(d);
    p = new_provider(c, "/d/m", NULL);
    pick(p, 7, text);
    assert_string_equal(text, "abcabca");
    assert_int_equal(pawl_provider_all(p, &list), 0);
    assert_int_equal(list->n, 3); /* one is disabled */
    pawl_instances_free(list);
    pawl_provider_free(p);

    o.filter = not_b;
    p = new_provider(c, "/d/m", &o);
    pick(p, 4, text);
    assert_string_equal(text, "acac");
    pawl_provider_free(p);

    o = (struct pawl_provider_options){.size = sizeof(o), .strategy = PAWL_STRATEGY_RANDOM};
    p = new_provider(c, "/d/m", &o);
    pick(p, 60, text);
    assert_non_null(strchr(text, 'a'));
    assert_non_null(strchr(text, 'b'));
    assert_non_null(strchr(text, 'c'));
    pawl_provider_free(p);
    pawl_discovery_free(d);
    pawl_client_close(c);
}

static void a_sticky_provider_changes_only_when_it_must(void **state)
{
    struct pawl_provider_options o = {.size = sizeof(o), .sticky = 1};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/n");
    struct pawl_provider *p;
    char text[8];

    (void)state;
    register_four(d);
    p = new_provider(c, "/d/n", &o);
    pick(p, 4, text);
    assert_string_equal(text, "aaaa");
    assert_int_equal(pawl_discovery_unregister(d, "web", "a", SOON_MS), 0);
    for (int64_t end = now_ms() + SOON_MS; text[0] == 'a'; pick(p, 1, text)) {
        assert_true(now_ms() < end);
    }
    pick(p, 3, text);
    assert_true(strcmp(text, "bbb") == 0 || strcmp(text, "ccc") == 0);
    pawl_provider_free(p);
    pawl_discovery_free(d);
    pawl_client_close(c);
}

static void an_instance_with_errors_is_left_out(void **state)
{
    struct pawl_provider_options o = {.size = sizeof(o), .down_ms = 10 * SOON_MS};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/o");
    struct pawl_instance *one;
    struct pawl_provider *p;
    char text[8];

    (void)state;
    register_four(d);
    p = new_provider(c, "/d/o", &o);
    assert_int_equal(pawl_provider_get(p, &one), 0);
    assert_string_equal(one->id, "a");
    pawl_provider_note_error(p, one);
    pick(p, 3, text);
    assert_non_null(strchr(text, 'a')); /* once is not enough */
    pawl_provider_note_error(p, PAWL_INSTANCE(.name = "web", .id = "a", .registered_ms = 1));
    pick(p, 4, text);
    assert_null(strchr(text, 'a'));
    pawl_instance_free(one);
    pawl_provider_free(p);
    pawl_discovery_free(d);
    pawl_client_close(c);
}

static void an_instance_with_errors_comes_back_when_its_time_is_over(void **state)
{
    struct pawl_provider_options o = {.size = sizeof(o), .down_ms = 300};
    const struct pawl_instance *a = PAWL_INSTANCE(.name = "web", .id = "a", .registered_ms = 1);
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_discovery *d = new_discovery(c, "/d/p");
    struct pawl_provider *p;
    int64_t began;
    char text[8];

    (void)state;
    register_four(d);
    p = new_provider(c, "/d/p", &o);
    began = now_ms();
    pawl_provider_note_error(p, a);
    pawl_provider_note_error(p, a);
    wait_until((pick(p, 4, text), strchr(text, 'a') != NULL));
    assert_true(now_ms() - began >= 300);
    pawl_provider_free(p);
    pawl_discovery_free(d);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_curators_paths_modes_and_bytes),
        cmocka_unit_test(registered_twice_is_an_update),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_node_of_another_session_is_taken_over),
        cmocka_unit_test(what_is_there_and_ours_survives_a_reconnect_untouched),
        cmocka_unit_test(a_new_session_registers_again),
        cmocka_unit_test(unregistered_stays_unregistered_through_reconnects),
        cmocka_unit_test(a_lost_answer_leaves_no_second_node),
        cmocka_unit_test(what_somebody_deletes_is_registered_again_at_once),
        cmocka_unit_test(a_numbered_one_comes_back_under_another_number),
        cmocka_unit_test(who_takes_our_id_keeps_it_until_he_goes),
        cmocka_unit_test(queries_find_what_is_registered),
        cmocka_unit_test(the_cache_follows_its_service),
        cmocka_unit_test(a_service_that_is_not_there_is_complete),
        cmocka_unit_test(an_instance_whose_watch_was_taken_away_is_followed_on),
        cmocka_unit_test(the_cache_goes_on_after_the_session_was_lost),
        cmocka_unit_test(providers_choose_by_their_strategy),
        cmocka_unit_test(a_sticky_provider_changes_only_when_it_must),
        cmocka_unit_test(an_instance_with_errors_is_left_out),
        cmocka_unit_test(an_instance_with_errors_comes_back_when_its_time_is_over),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
