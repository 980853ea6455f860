/* SPDX-License-Identifier: Apache-2.0 */
/* The cache, on persistent and on one-shot watches, against a real server. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/test.h"
#include "pawl/cache.h"

static int persistent = 0, one_shot = PAWL_CACHE_ONE_SHOT;

static void make(struct pawl_client *c, const char *path, const char *data)
{
    assert_int_equal(
        pawl_create(
            c, PAWL_CREATE(.path = path, .data = text_bytes(data), .flags = PAWL_OP_PARENTS), NULL),
        0);
}

static void set(struct pawl_client *c, const char *path, const char *data)
{
    assert_int_equal(pawl_set(c, PAWL_SET(.path = path, .data = text_bytes(data)), NULL), 0);
}

static void del(struct pawl_client *c, const char *path)
{
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = path, .flags = PAWL_OP_CHILDREN_TOO), NULL),
                     0);
}

/* Nothing of an earlier run of the same test is left. */
static void clear(struct pawl_client *c, const char *path)
{
    int rc;

    do { /* thousands of nodes may take longer than one call has */
        rc = pawl_delete(c, PAWL_DELETE(.path = path, .flags = PAWL_OP_CHILDREN_TOO), NULL);
    } while (rc == PAWL_ERR_OPERATION_TIMEOUT);
    assert_true(rc == 0 || rc == PAWL_ERR_NO_NODE);
}

static void small_tree(struct pawl_client *c, const char *root)
{
    char path[64];

    clear(c, root);
    make(c, root, "r");
    snprintf(path, sizeof(path), "%s/a", root);
    make(c, path, "1");
    snprintf(path, sizeof(path), "%s/a/x", root);
    make(c, path, "x");
    snprintf(path, sizeof(path), "%s/b", root);
    make(c, path, "2");
}

/* ---- Curator's scripts: the same events for the same changes ---- */

/* curatorcache.txt, treecache.txt */
static void a_tree_is_followed_as_curator_does(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    small_tree(c, "/tree");
    cache_log_open(&log, c, "/tree", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_expect(&log, "CREATED /tree=r v0");
    cache_log_expect_both(&log, "CREATED /tree/a=1 v0", "CREATED /tree/b=2 v0");
    cache_log_expect(&log, "CREATED /tree/a/x=x v0");
    cache_log_expect(&log, "INITIALISED");
    make(c, "/tree/c", "3");
    cache_log_expect(&log, "CREATED /tree/c=3 v0");
    set(c, "/tree/a", "1b");
    cache_log_expect(&log, "CHANGED /tree/a=1 v0 -> /tree/a=1b v1");
    del(c, "/tree/a/x");
    cache_log_expect(&log, "DELETED /tree/a/x=x v0");
    set(c, "/tree", "r2");
    cache_log_expect(&log, "CHANGED /tree=r v0 -> /tree=r2 v1");
    del(c, "/tree/c");
    cache_log_expect(&log, "DELETED /tree/c=3 v0");
    del(c, "/tree/b");
    cache_log_expect(&log, "DELETED /tree/b=2 v0");
    del(c, "/tree");
    cache_log_expect(&log, "DELETED /tree/a=1b v1");
    cache_log_expect(&log, "DELETED /tree=r2 v1");
    make(c, "/tree", "again");
    cache_log_expect(&log, "CREATED /tree=again v0");
    cache_log_close(&log);
    pawl_client_close(c);
}

/* pathchildrencache.txt */
static void children_are_followed_without_their_parent(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    small_tree(c, "/kids");
    cache_log_open(&log, c, "/kids", PAWL_DEPTH_CHILDREN, *(int *)*state | PAWL_CACHE_NO_ROOT,
                   NULL);
    cache_log_expect_both(&log, "CREATED /kids/a=1 v0", "CREATED /kids/b=2 v0");
    cache_log_expect(&log, "INITIALISED");
    make(c, "/kids/c", "3");
    cache_log_expect(&log, "CREATED /kids/c=3 v0");
    set(c, "/kids/a", "1b");
    cache_log_expect(&log, "CHANGED /kids/a=1 v0 -> /kids/a=1b v1");
    del(c, "/kids/a/x");
    set(c, "/kids", "r2");
    del(c, "/kids/c");
    cache_log_expect(&log, "DELETED /kids/c=3 v0");
    assert_int_equal(pawl_cache_size(log.cache), 2);
    assert_null(pawl_cache_get(log.cache, "/kids"));

    /* the parent goes and comes back */
    del(c, "/kids/b");
    cache_log_expect(&log, "DELETED /kids/b=2 v0");
    del(c, "/kids");
    cache_log_expect(&log, "DELETED /kids/a=1b v1");
    make(c, "/kids", "");
    make(c, "/kids/new", "n");
    cache_log_expect(&log, "CREATED /kids/new=n v0");
    cache_log_close(&log);
    pawl_client_close(c);
}

/* curatorcache-singlenode.txt, nodecache.txt; R-46 */
static void a_node_that_is_not_there_yet_is_waited_for(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    clear(c, "/one");
    cache_log_open(&log, c, "/one", PAWL_DEPTH_NODE, *(int *)*state, NULL);
    cache_log_expect(&log, "INITIALISED");
    make(c, "/one", "1");
    cache_log_expect(&log, "CREATED /one=1 v0");
    set(c, "/one", "1"); /* the same bytes are a change, too */
    cache_log_expect(&log, "CHANGED /one=1 v0 -> /one=1 v1");
    make(c, "/one/child", "no event");
    del(c, "/one/child");
    del(c, "/one");
    cache_log_expect(&log, "DELETED /one=1 v1");
    make(c, "/one", "2");
    cache_log_expect(&log, "CREATED /one=2 v0");
    cache_log_close(&log);
    pawl_client_close(c);
}

/* ---- what is handed out ---- */

static void nodes_are_found_listed_and_outlive_the_cache(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_nodes *all, *kids;
    const struct pawl_node *n;
    struct cache_log log;

    small_tree(c, "/list");
    cache_log_open(&log, c, "/list", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    assert_int_equal(pawl_cache_wait(log.cache, SOON_MS), 0);
    assert_int_equal(pawl_cache_size(log.cache), 4);
    assert_int_equal(pawl_cache_bytes(log.cache), 4);
    assert_int_equal(pawl_cache_nodes(log.cache, &all), 0);
    assert_int_equal(all->n, 4);
    assert_string_equal(all->items[0]->path, "/list");
    assert_int_equal(pawl_cache_children(log.cache, "/list", &kids), 0);
    assert_int_equal(kids->n, 2);
    assert_string_equal(kids->items[0]->name, "a");
    assert_string_equal(kids->items[1]->name, "b");
    n = pawl_cache_get(log.cache, "/list/a/x");
    assert_non_null(n);
    assert_null(pawl_cache_get(log.cache, "/list/a/y"));
    assert_null(pawl_cache_get(log.cache, "/elsewhere"));
    assert_null(pawl_cache_get(log.cache, "/listing"));
    cache_log_close(&log);
    assert_true(n->has_data);
    assert_string_equal(n->data.data, "x");
    assert_string_equal(n->path, "/list/a/x");
    assert_true(n->stat.czxid > 0);
    pawl_node_unref(n);
    pawl_nodes_free(all);
    pawl_nodes_free(kids);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    const struct pawl_cache_options unknown = {.size = sizeof(unknown), .flags = 1 << 20};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_cache *cache;

    (void)state;
    assert_int_equal(pawl_cache_new(c, "no/slash", 0, NULL, &cache), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_cache_new(NULL, "/a", 0, NULL, &cache), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_cache_new(c, "/a", -7, NULL, &cache), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_cache_new(c, "/a", 0, &unknown, &cache), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_cache_wait(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_null(pawl_cache_get(NULL, "/a"));
    assert_int_equal(pawl_cache_size(NULL), 0);
    pawl_node_unref(NULL);
    pawl_nodes_free(NULL);
    pawl_cache_free(NULL);
    pawl_client_close(c);
}

/* ---- options ---- */

static void what_does_not_fit_is_not_kept_but_told(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .max_bytes = 3};
    struct pawl_client *c = client_fixture_open(NULL);
    const struct pawl_node *n;
    struct cache_log log;
    int with_data = 0;

    small_tree(c, "/bytes");
    cache_log_open(&log, c, "/bytes", PAWL_DEPTH_TREE, *(int *)*state, &o);
    cache_log_expect(&log, "CREATED /bytes=r v0");
    cache_log_expect_both(&log, "CREATED /bytes/a=1 v0", "CREATED /bytes/b=2 v0");
    cache_log_expect(&log, "CREATED /bytes/a/x=x v0");
    cache_log_expect(&log, "INITIALISED");
    assert_int_equal(pawl_cache_bytes(log.cache), 3);
    n = pawl_cache_get(log.cache, "/bytes/a/x");
    with_data = n->has_data;
    pawl_node_unref(n);
    assert_false(with_data);
    del(c, "/bytes/b");
    cache_log_expect(&log, "DELETED /bytes/b=2 v0");
    set(c, "/bytes/a/x", "y");
    cache_log_expect(&log, "CHANGED /bytes/a/x=? v0 -> /bytes/a/x=y v1");
    assert_int_equal(pawl_cache_bytes(log.cache), 3);
    cache_log_close(&log);
    pawl_client_close(c);
}

static void too_many_nodes_are_told_and_taken_when_there_is_room(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .max_nodes = 8};
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;
    char path[32];

    clear(c, "/many");
    for (int i = 0; i < 9; i++) {
        snprintf(path, sizeof(path), "/many/%d", i);
        make(c, path, "");
    }
    cache_log_open(&log, c, "/many", PAWL_DEPTH_CHILDREN, *(int *)*state, &o);
    assert_int_equal(pawl_cache_wait(log.cache, SOON_MS), 0);
    assert_int_equal(pawl_cache_size(log.cache), 8);
    cache_log_until(&log, "ERROR /many TOO_LARGE");
    cache_log_until(&log, "INITIALISED");
    for (int i = 0; i < 9; i++) {
        const struct pawl_node *n;

        snprintf(path, sizeof(path), "/many/%d", i);
        n = pawl_cache_get(log.cache, path);
        pawl_node_unref(n);
        if (n != NULL && i < 7) {
            del(c, path);
            cache_log_until(&log, "DELETED");
        }
    }
    for (int64_t end = now_ms() + SOON_MS;;) { /* what was left out has come in */
        struct pawl_reply *reply;
        size_t n;

        assert_int_equal(pawl_children(c, "/many", NULL, &reply), 0);
        n = reply->children.n;
        pawl_reply_free(reply);
        if (pawl_cache_size(log.cache) == n + 1) {
            break;
        }
        assert_true(now_ms() < end);
    }
    cache_log_close(&log);
    pawl_client_close(c);
}

static size_t n_cached_below(struct pawl_cache *c, const char *path)
{
    struct pawl_nodes *nodes;
    size_t n;

    assert_int_equal(pawl_cache_children(c, path, &nodes), 0);
    n = nodes->n;
    pawl_nodes_free(nodes);
    return n;
}

/* What is left out is below one parent, and the room comes from below another one. */
static void room_below_one_parent_lets_in_what_is_below_another(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .max_nodes = 13};
    struct pawl_client *c = client_fixture_open(NULL);
    const char *full;
    struct cache_log log;
    char path[32];

    clear(c, "/two");
    for (int i = 0; i < 12; i++) {
        snprintf(path, sizeof(path), "/two/%c/%d", i < 6 ? 'a' : 'b', i);
        make(c, path, "");
    }
    cache_log_open(&log, c, "/two", PAWL_DEPTH_TREE, *(int *)*state, &o);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_cache_size(log.cache), 13);
    full = n_cached_below(log.cache, "/two/a") == 6 ? "/two/a" : "/two/b";
    assert_int_equal(n_cached_below(log.cache, full), 6);
    del(c, full);
    wait_until(pawl_cache_size(log.cache) == 8);
    cache_log_close(&log);
    pawl_client_close(c);
}

static int select_some(const char *path, void *arg)
{
    (void)arg;
    if (strcmp(path, "/some/a") == 0) {
        return PAWL_SELECT_BELOW;
    }
    return strcmp(path, "/some/b") == 0 ? 0 : PAWL_SELECT_NODE | PAWL_SELECT_BELOW;
}

static void only_what_is_selected_is_kept(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .select = select_some};
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    small_tree(c, "/some");
    cache_log_open(&log, c, "/some", PAWL_DEPTH_TREE, *(int *)*state, &o);
    cache_log_expect(&log, "CREATED /some=r v0");
    cache_log_expect(&log, "CREATED /some/a/x=x v0");
    cache_log_expect(&log, "INITIALISED");
    set(c, "/some/a", "hidden");
    set(c, "/some/b", "hidden");
    set(c, "/some/a/x", "y");
    cache_log_expect(&log, "CHANGED /some/a/x=x v0 -> /some/a/x=y v1");
    make(c, "/some/a/z", "z");
    cache_log_expect(&log, "CREATED /some/a/z=z v0");
    del(c, "/some/a");
    cache_log_until(&log, "DELETED /some/a/");
    cache_log_until(&log, "DELETED /some/a/");
    make(c, "/some/a", "");
    make(c, "/some/a/w", "w");
    cache_log_expect(&log, "CREATED /some/a/w=w v0");
    cache_log_close(&log);
    pawl_client_close(c);
}

static void compressed_data_are_unpacked_and_others_reported(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    clear(c, "/zip");
    make(c, "/zip", "plain");
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/zip/a", .data = text_bytes("packed"),
                                             .flags = PAWL_OP_COMPRESS),
                                 NULL),
                     0);
    cache_log_open(&log, c, "/zip", PAWL_DEPTH_TREE, *(int *)*state | PAWL_CACHE_COMPRESSED, NULL);
    cache_log_expect(&log, "ERROR /zip DATA_INCONSISTENCY");
    cache_log_expect(&log, "CREATED /zip=? v0");
    cache_log_expect(&log, "CREATED /zip/a=packed v0");
    cache_log_expect(&log, "INITIALISED");
    cache_log_close(&log);
    pawl_client_close(c);
}

static void without_data_events_carry_them_and_the_cache_does_not(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    clear(c, "/nodata");
    make(c, "/nodata", "1");
    cache_log_open(&log, c, "/nodata", PAWL_DEPTH_NODE, *(int *)*state | PAWL_CACHE_NO_DATA, NULL);
    cache_log_expect(&log, "CREATED /nodata=1 v0");
    cache_log_expect(&log, "INITIALISED");
    set(c, "/nodata", "2");
    cache_log_expect(&log, "CHANGED /nodata=? v0 -> /nodata=2 v1");
    assert_int_equal(pawl_cache_bytes(log.cache), 0);
    cache_log_close(&log);
    pawl_client_close(c);
}

static void a_node_that_may_not_be_read_is_reported(void **state)
{
    static const struct pawl_acl nobody = {PAWL_PERM_ALL & ~PAWL_PERM_READ, "world", "anyone"};
    static const struct pawl_acl all = {PAWL_PERM_ALL, "world", "anyone"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;

    clear(c, "/secret");
    make(c, "/secret", "r");
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/secret/a", .acls = {&nobody, 1}), NULL),
                     0);
    cache_log_open(&log, c, "/secret", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_expect(&log, "CREATED /secret=r v0");
    cache_log_expect(&log, "ERROR /secret/a NO_AUTH");
    cache_log_expect(&log, "INITIALISED");
    if (*(int *)*state == persistent) { /* a change tells that it may be read by now */
        assert_int_equal(
            pawl_set_acl(c, PAWL_SET_ACL(.path = "/secret/a", .acls = {&all, 1}), NULL), 0);
        set(c, "/secret/a", "open");
        cache_log_expect(&log, "CREATED /secret/a=open v1");
    }
    cache_log_close(&log);
    del(c, "/secret");
    pawl_client_close(c);
}

/* ---- many ---- */

enum { MANY = 3000 };

static void many(struct pawl_client *c, const char *root, int n)
{
    char path[64];

    clear(c, root);
    make(c, root, "r");
    for (int i = 0; i < n;) {
        struct pawl_multi *m = pawl_multi_new(c);

        for (int end = i + 500; i < end && i < n; i++) {
            snprintf(path, sizeof(path), "%s/%06d", root, i);
            pawl_multi_create(m, PAWL_CREATE(.path = path, .data = text_bytes(path)));
        }
        assert_int_equal(pawl_multi_run(c, m, NULL), 0);
        pawl_multi_free(m);
    }
}

static void thousands_of_children_are_loaded_and_followed(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;
    char path[64];

    many(c, "/thousands", MANY);
    cache_log_open(&log, c, "/thousands", PAWL_DEPTH_CHILDREN, *(int *)*state, NULL);
    assert_int_equal(pawl_cache_wait(log.cache, SOON_MS), 0);
    assert_int_equal(pawl_cache_size(log.cache), MANY + 1);
    cache_log_until(&log, "INITIALISED");
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "/thousands/%06d", i);
        assert_int_equal(
            pawl_set_async(c, PAWL_SET(.path = path, .data = text_bytes("new")), NULL, NULL), 0);
    }
    for (int i = 0; i < MANY; i++) {
        cache_log_until(&log, "CHANGED");
    }
    cache_log_close(&log);
    pawl_client_close(c);
}

/* children go while they are being read. */
static void children_deleted_during_the_load_do_not_hold_it_up(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct cache_log log;
    char path[64];

    many(c, "/going", 1000);
    cache_log_open(&log, c, "/going", PAWL_DEPTH_CHILDREN, *(int *)*state, NULL);
    for (int i = 999; i >= 0; i--) {
        snprintf(path, sizeof(path), "/going/%06d", i);
        assert_int_equal(pawl_delete_async(d, PAWL_DELETE(.path = path), NULL, NULL), 0);
    }
    cache_log_until(&log, "INITIALISED");
    wait_until(pawl_cache_size(log.cache) == 1);
    cache_log_close(&log);
    pawl_client_close(c);
    pawl_client_close(d);
}

struct slow {
    sem_t go, initialised;
    _Atomic int n;
};

static void wait_then_count(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg)
{
    struct slow *s = arg;

    (void)c;
    if (s->n++ == 0) {
        wait_semaphore(&s->go);
    }
    if (event->type == PAWL_CACHE_EVENT_INITIALISED) {
        sem_post(&s->initialised);
    }
}

/* more than 65,536 of them. */
static void a_slow_listener_holds_up_the_load_and_not_memory(void **state)
{
    enum { HUGE_NUMBER = 66000 };
    struct slow s = {.n = 0};
    struct pawl_cache_options o = {
        .size = sizeof(o), .on_event = wait_then_count, .on_event_arg = &s};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_cache *cache;
    size_t size = 0, before = 1;

    (void)state;
    sem_init(&s.go, 0, 0);
    sem_init(&s.initialised, 0, 0);
    many(d, "/huge", HUGE_NUMBER);
    assert_int_equal(pawl_cache_new(c, "/huge", PAWL_DEPTH_CHILDREN, &o, &cache), 0);
    while (size != before || size < 1000) { /* until it does not grow any more */
        before = size;
        for (int i = 0; i < 100; i++) {
            assert_int_equal(pawl_exists(c, "/", NULL, NULL), 0);
        }
        size = pawl_cache_size(cache);
    }
    assert_true(size < HUGE_NUMBER / 2);
    sem_post(&s.go);
    wait_semaphore(&s.initialised);
    assert_int_equal(s.n, HUGE_NUMBER + 2);
    assert_int_equal(pawl_cache_size(cache), HUGE_NUMBER + 1);
    pawl_cache_free(cache);
    clear(d, "/huge");
    pawl_client_close(c);
    pawl_client_close(d);
}

/* Servers before 3.9 keep one kind of watch per path and session. */
static void caches_of_several_depths_on_one_path_live_together(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log tree, node, more;

    clear(c, "/shared");
    make(c, "/shared", "1");
    cache_log_open(&tree, c, "/shared", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_until(&tree, "INITIALISED");
    cache_log_open(&node, c, "/shared", PAWL_DEPTH_NODE, *(int *)*state, NULL);
    cache_log_until(&node, "INITIALISED");
    make(c, "/shared/a", "a");
    cache_log_expect(&tree, "CREATED /shared/a=a v0");
    cache_log_open(&more, c, "/shared", PAWL_DEPTH_CHILDREN, *(int *)*state, NULL);
    cache_log_until(&more, "INITIALISED");
    cache_log_close(&tree);
    set(c, "/shared", "2");
    cache_log_expect(&node, "CHANGED /shared=1 v0 -> /shared=2 v1");
    cache_log_expect(&more, "CHANGED /shared=1 v0 -> /shared=2 v1");
    del(c, "/shared/a");
    cache_log_expect(&more, "DELETED /shared/a=a v0");
    cache_log_close(&node);
    make(c, "/shared/b", "b");
    cache_log_expect(&more, "CREATED /shared/b=b v0");
    cache_log_close(&more);
    pawl_client_close(c);
}

/* ---- listeners ---- */

static void count_event(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg)
{
    (void)c;
    (void)event;
    sem_post(arg);
}

static void listeners_come_and_go(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;
    sem_t told;
    int n;

    sem_init(&told, 0, 0);
    clear(c, "/ears");
    make(c, "/ears", "1");
    cache_log_open(&log, c, "/ears", PAWL_DEPTH_NODE, *(int *)*state, NULL);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_cache_add_listener(log.cache, count_event, &told), 0);
    set(c, "/ears", "2");
    wait_semaphore(&told);
    pawl_cache_remove_listener(log.cache, count_event, &told);
    set(c, "/ears", "3");
    cache_log_until(&log, "CHANGED /ears=2");
    sem_getvalue(&told, &n);
    assert_int_equal(n, 0);
    cache_log_close(&log);
    pawl_client_close(c);
}

#define BOTH(test) \
    cmocka_unit_test_prestate(test, &persistent), cmocka_unit_test_prestate(test, &one_shot)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_tree_is_followed_as_curator_does),
        BOTH(children_are_followed_without_their_parent),
        BOTH(a_node_that_is_not_there_yet_is_waited_for),
        BOTH(nodes_are_found_listed_and_outlive_the_cache),
        cmocka_unit_test(bad_arguments_are_refused),
        BOTH(what_does_not_fit_is_not_kept_but_told),
        BOTH(too_many_nodes_are_told_and_taken_when_there_is_room),
        BOTH(room_below_one_parent_lets_in_what_is_below_another),
        BOTH(only_what_is_selected_is_kept),
        BOTH(compressed_data_are_unpacked_and_others_reported),
        BOTH(without_data_events_carry_them_and_the_cache_does_not),
        BOTH(a_node_that_may_not_be_read_is_reported),
        BOTH(thousands_of_children_are_loaded_and_followed),
        BOTH(children_deleted_during_the_load_do_not_hold_it_up),
        cmocka_unit_test(a_slow_listener_holds_up_the_load_and_not_memory),
        BOTH(caches_of_several_depths_on_one_path_live_together),
        BOTH(listeners_come_and_go),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
