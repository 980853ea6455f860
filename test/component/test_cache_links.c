/* SPDX-License-Identifier: Apache-2.0 */
/* The cache over links that are cut, sessions that end, and other people's nerves. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/engine.h"
#include "client/handle.h"
#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/test.h"
#include "pawl/cache.h"
#include "recipes/cache/cache.h"

enum { LARGE = 5000 };

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

static void clear(struct pawl_client *c, const char *path)
{
    int rc;

    do { /* thousands of nodes may take longer than one call has */
        rc = pawl_delete(c, PAWL_DELETE(.path = path, .flags = PAWL_OP_CHILDREN_TOO), NULL);
    } while (rc == PAWL_ERR_OPERATION_TIMEOUT);
    assert_true(rc == 0 || rc == PAWL_ERR_NO_NODE);
}

/* ---- what the server knows ---- */

static void until_watches_on_server(int n)
{
    wait_until(watches_on_server() == n);
}

static size_t watchers_here(struct pawl_client *c)
{
    size_t n;

    engine_lock(c->e);
    n = c->e->core->watches.n_watchers;
    engine_unlock(c->e);
    return n;
}

/* ---- reconnects ---- */

struct counts {
    _Atomic int get, exists, list, multi;
};

static void count(const struct pawl_metric *m, void *arg)
{
    struct counts *n = arg;

    n->get += strcmp(m->op, "getData") == 0;
    n->exists += strcmp(m->op, "exists") == 0;
    n->list += strncmp(m->op, "getChildren", 11) == 0;
    n->multi += strcmp(m->op, "multiRead") == 0;
}

static void tree_with_large_data(struct pawl_client *c, const char *root)
{
    char *large = calloc(1, LARGE + 1), path[64];

    memset(large, 'x', LARGE);
    clear(c, root);
    make(c, root, "r");
    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof(path), "%s/%d", root, i);
        make(c, path, large);
        snprintf(path, sizeof(path), "%s/%d/below", root, i);
        make(c, path, "b");
    }
    free(large);
}

/* After a cut within the session: what was missed is told, and nothing else is fetched. */
static void a_cut_link_costs_only_what_has_changed(void **state)
{
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct counts n = {0};
    struct cache_log log;
    struct behind_proxy b;

    tree_with_large_data(other, "/cut");
    co.metric = count;
    co.metric_arg = &n;
    behind_proxy_open(&b, &co);
    cache_log_open(&log, b.c, "/cut", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_cache_size(log.cache), 21);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    cache_log_expect(&log, "STALE");
    n.get = n.exists = n.list = n.multi = 0;
    set(other, "/cut/3", "new");
    del(other, "/cut/5/below");
    make(other, "/cut/7/more", "m");
    tcp_proxy_accept(b.proxy, true);
    for (int left = 3; left > 0; left--) { /* in any order: they are of different nodes */
        const char *line = cache_log_next(&log);

        assert_true(strncmp(line, "CHANGED /cut/3=xxx", 18) == 0 ||
                    strcmp(line, "DELETED /cut/5/below=b v0") == 0 ||
                    strcmp(line, "CREATED /cut/7/more=m v0") == 0);
    }
    cache_log_expect(&log, "RESYNCED");
    cache_log_is_quiet(&log);
    assert_true(n.list <= 3);    /* the lists that say so */
    assert_true(n.get <= 3);     /* the root, what is new, what has changed */
    assert_true(n.exists <= 10); /* large data are compared first */
    assert_true(n.multi <= 2);
    /* Our server has told which; Apache's does not. */
    if (*(int *)*state == persistent && getenv("PAWL_TEST_SERVER") == NULL) {
        assert_int_equal(n.list + n.exists, 0);
        assert_true(n.get + n.multi <= 2);
    }
    cache_log_close(&log);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void lose_session(struct behind_proxy *b)
{
    tcp_proxy_accept(b->proxy, false);
    tcp_proxy_cut(b->proxy);
    expect_next_state(b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(b, 2, PAWL_STATE_LOST);
}

/* deleted and made again, with the same version. */
static void a_new_session_tells_the_differences_and_no_more(void **state)
{
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct cache_log log;
    struct behind_proxy b;

    clear(other, "/lost");
    make(other, "/lost/same", "s");
    make(other, "/lost/again/deep", "d");
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    cache_log_open(&log, b.c, "/lost", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_until(&log, "INITIALISED");
    lose_session(&b);
    cache_log_expect(&log, "STALE");
    del(other, "/lost/again");
    make(other, "/lost/again/deep", "d");
    tcp_proxy_accept(b.proxy, true);
    cache_log_expect(&log, "DELETED /lost/again/deep=d v0");
    cache_log_expect(&log, "DELETED /lost/again= v0");
    cache_log_expect(&log, "CREATED /lost/again= v0");
    cache_log_expect(&log, "CREATED /lost/again/deep=d v0");
    cache_log_expect(&log, "RESYNCED");
    set(other, "/lost/same", "t"); /* watched again */
    cache_log_expect(&log, "CHANGED /lost/same=s v0 -> /lost/same=t v1");
    make(other, "/lost/more", "");
    cache_log_expect(&log, "CREATED /lost/more= v0");
    cache_log_close(&log);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void a_cache_that_starts_without_a_link_initialises_later(void **state)
{
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct cache_log log;
    struct behind_proxy b;

    clear(other, "/late");
    make(other, "/late", "l");
    behind_proxy_open(&b, &co);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    cache_log_open(&log, b.c, "/late", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    assert_int_equal(pawl_cache_wait(log.cache, 50), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_accept(b.proxy, true);
    cache_log_expect(&log, "CREATED /late=l v0");
    cache_log_expect(&log, "INITIALISED");
    cache_log_close(&log);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* ---- whatever happens, it converges ---- */

enum { NAMES = 4, CHANGES = 1500 };

static void random_path(unsigned *seed, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "/wild");

    for (int depth = 1 + rand_r(seed) % 3; depth > 0; depth--) {
        n += (size_t)snprintf(out + n, size - n, "/%c", 'a' + rand_r(seed) % NAMES);
    }
}

static void change_something(struct pawl_client *c, unsigned *seed)
{
    char path[64], data[16];

    random_path(seed, path, sizeof(path));
    snprintf(data, sizeof(data), "%d", rand_r(seed));
    switch (rand_r(seed) % 4) {
    case 0:
        (void)pawl_delete(c, PAWL_DELETE(.path = path, .flags = PAWL_OP_CHILDREN_TOO), NULL);
        break;
    case 1:
        (void)pawl_set(c, PAWL_SET(.path = path, .data = text_bytes(data)), NULL);
        break;
    default:
        (void)pawl_create(c, PAWL_CREATE(.path = path, .data = text_bytes(data)), NULL);
        break;
    }
}

static size_t compare_below(struct pawl_client *c, const struct pawl_cache *cache, const char *path,
                            bool *same)
{
    const struct pawl_node *n = pawl_cache_get(cache, path);
    struct pawl_reply *data, *kids;
    size_t count = 1;

    assert_int_equal(pawl_get(c, path, NULL, &data), 0);
    assert_int_equal(pawl_children(c, path, NULL, &kids), 0);
    *same = *same && n != NULL && n->stat.mzxid == data->stat.mzxid &&
            n->data.len == data->data.len &&
            (n->data.len == 0 || memcmp(n->data.data, data->data.data, n->data.len) == 0);
    pawl_node_unref(n);
    for (size_t i = 0; i < kids->children.n; i++) {
        char child[128];

        snprintf(child, sizeof(child), "%s/%s", path, kids->children.items[i]);
        count += compare_below(c, cache, child, same);
    }
    pawl_reply_free(data);
    pawl_reply_free(kids);
    return count;
}

static void until_equal(struct pawl_client *c, const struct pawl_cache *cache, const char *path)
{
    for (int64_t end = now_ms() + SOON_MS;;) {
        bool same = true;
        size_t n = compare_below(c, cache, path, &same);

        if (same && pawl_cache_size(cache) == n) {
            return;
        }
        assert_true(now_ms() < end);
    }
}

/* Replays the events: each must fit what was told before. */
static void events_add_up(const struct cache_log *log, size_t n_left)
{
    char(*there)[CACHE_LOG_LINE] = calloc(256, CACHE_LOG_LINE);
    size_t n = 0;

    for (int i = 0; i < log->n; i++) {
        char type[16], path[96];
        size_t at;

        if (sscanf(log->lines[i], "%15s %95[^=]=", type, path) != 2) {
            continue;
        }
        for (at = 0; at < n && strcmp(there[at], path) != 0; at++) {
        }
        if (strcmp(type, "CREATED") == 0) {
            assert_int_equal(at, n);
            assert_true(n < 256);
            strcpy(there[n++], path);
        } else {
            assert_true(at < n);
        }
        if (strcmp(type, "DELETED") == 0) {
            memmove(there[at], there[--n], CACHE_LOG_LINE);
        }
    }
    assert_int_equal(n, n_left);
    free(there);
}

/* Nothing is being read, and no event is on its way. */
static void until_all_is_told(struct pawl_cache *cache)
{
    for (int64_t end = now_ms() + SOON_MS;;) {
        bool done;

        engine_lock(cache->r.e);
        done = cache->initialised && !cache->resyncing && cache->n_tells == 0 && !cache->telling;
        engine_unlock(cache->r.e);
        if (done) {
            return;
        }
        assert_true(now_ms() < end);
    }
}

static void it_converges_under_changes_and_cuts(void **state)
{
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    unsigned seed = 7;
    struct cache_log log;
    struct behind_proxy b;

    clear(other, "/wild");
    make(other, "/wild", "");
    behind_proxy_open(&b, &co);
    cache_log_open(&log, b.c, "/wild", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    for (int i = 0; i < CHANGES; i++) {
        change_something(other, &seed);
        if (i % 300 == 299) {
            tcp_proxy_cut(b.proxy);
        }
    }
    until_equal(other, log.cache, "/wild");
    pawl_cache_refresh(log.cache);
    until_all_is_told(log.cache);
    cache_log_until_last(&log, "RESYNCED");
    events_add_up(&log, pawl_cache_size(log.cache));
    cache_log_close(&log);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* ---- nothing is left ---- */

/* freed at any moment of its load, thousands of times if need be. */
static void no_watch_is_left_behind(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .flags = *(int *)*state};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_cache *cache;
    int before;

    tree_with_large_data(c, "/left");
    before = watches_on_server();
    for (int i = 0; i < 200; i++) {
        assert_int_equal(pawl_cache_new(c, "/left", PAWL_DEPTH_TREE, &o, &cache), 0);
        for (int k = i % 20; k > 0; k--) {
            assert_int_equal(pawl_exists(c, "/", NULL, NULL), 0);
        }
        pawl_cache_free(cache);
    }
    assert_int_equal(pawl_cache_new(c, "/left", PAWL_DEPTH_TREE, &o, &cache), 0);
    assert_int_equal(pawl_cache_wait(cache, SOON_MS), 0);
    assert_true(watches_on_server() > before);
    pawl_cache_free(cache);
    until_watches_on_server(before);
    wait_until(watchers_here(c) <= 0);
    pawl_client_close(c);
}

/* */
static void a_client_closed_under_it_leaves_it_as_it_was(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    const struct pawl_node *n;
    struct cache_log log;

    clear(c, "/closed");
    make(c, "/closed", "x");
    cache_log_open(&log, c, "/closed", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_until(&log, "INITIALISED");
    pawl_client_close(c);
    n = pawl_cache_get(log.cache, "/closed");
    assert_non_null(n);
    pawl_node_unref(n);
    assert_int_equal(pawl_cache_wait(log.cache, 0), 0);
    cache_log_close(&log);
}

/* Somebody removes all watches at a path, ours among them. */
static void watches_taken_away_are_set_again(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct cache_log log;

    clear(c, "/taken");
    make(c, "/taken", "1");
    cache_log_open(&log, c, "/taken", PAWL_DEPTH_CHILDREN, *(int *)*state, NULL);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_unwatch(c, "/taken", PAWL_WATCHES_ANY, NULL, NULL), 0);
    set(other, "/taken", "2");
    make(other, "/taken/a", "a");
    cache_log_until(&log, "CHANGED /taken=1 v0 -> /taken=2 v1");
    cache_log_until(&log, "CREATED /taken/a=a v0");
    cache_log_close(&log);
    pawl_client_close(c);
    pawl_client_close(other);
}

struct freeing {
    sem_t done;
    _Atomic int n;
};

static void free_it(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg)
{
    struct freeing *f = arg;

    f->n++;
    if (event->type == PAWL_CACHE_EVENT_INITIALISED) {
        pawl_cache_free(c);
        sem_post(&f->done);
    }
}

static void it_may_be_freed_by_its_listener(void **state)
{
    struct freeing f = {.n = 0};
    struct pawl_cache_options o = {
        .size = sizeof(o), .flags = *(int *)*state, .on_event = free_it, .on_event_arg = &f};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_cache *cache;

    sem_init(&f.done, 0, 0);
    clear(c, "/freed");
    make(c, "/freed/a", "");
    assert_int_equal(pawl_cache_new(c, "/freed", PAWL_DEPTH_TREE, &o, &cache), 0);
    wait_semaphore(&f.done);
    set(c, "/freed/a", "not told");
    assert_int_equal(f.n, 3);
    pawl_client_close(c);
}

/* ---- listeners who are slow ---- */

struct slow {
    sem_t told, go;
    _Atomic int stale, resynced, last;
};

static void hear_slowly(struct pawl_cache *c, const struct pawl_cache_event *event, void *arg)
{
    struct slow *s = arg;

    (void)c;
    s->stale += event->type == PAWL_CACHE_EVENT_STALE;
    s->resynced += event->type == PAWL_CACHE_EVENT_RESYNCED;
    s->last = (int)event->type;
    sem_post(&s->told);
    if (event->type == PAWL_CACHE_EVENT_STALE) {
        wait_semaphore(&s->go);
    }
}

/* While he hears of the first cut there are a reconnect and a second cut. */
static void the_last_a_slow_listener_hears_is_how_things_stand(void **state)
{
    struct slow s = {.last = 0};
    struct pawl_cache_options o = {
        .size = sizeof(o), .flags = *(int *)*state, .on_event = hear_slowly, .on_event_arg = &s};
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct pawl_cache *cache;
    struct behind_proxy b;

    sem_init(&s.told, 0, 0);
    sem_init(&s.go, 0, 0);
    clear(other, "/slowly");
    behind_proxy_open(&b, &co);
    assert_int_equal(pawl_cache_new(b.c, "/slowly", PAWL_DEPTH_TREE, &o, &cache), 0);
    wait_semaphore(&s.told);
    assert_int_equal(s.last, PAWL_CACHE_EVENT_INITIALISED);
    tcp_proxy_cut(b.proxy);
    wait_semaphore(&s.told);
    assert_int_equal(s.last, PAWL_CACHE_EVENT_STALE);
    make(other, "/slowly", "");
    for (const struct pawl_node *n = NULL; n == NULL; pawl_node_unref(n)) {
        n = pawl_cache_get(cache, "/slowly"); /* the link is back */
    }
    assert_int_equal(pawl_sync(b.c, "/", NULL), 0);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    while (pawl_client_state(b.c) != PAWL_STATE_SUSPENDED) {
        assert_true(pawl_client_state(b.c) != PAWL_STATE_LOST);
    }
    sem_post(&s.go);
    sem_post(&s.go);
    while (s.stale < 2) {
        wait_semaphore(&s.told);
    }
    assert_int_equal(s.last, PAWL_CACHE_EVENT_STALE);
    tcp_proxy_accept(b.proxy, true);
    while (s.resynced < 2) {
        wait_semaphore(&s.told);
    }
    pawl_cache_free(cache);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void *wait_for_cache(void *cache)
{
    return (void *)(intptr_t)pawl_cache_wait(cache, SOON_MS);
}

static bool somebody_waits(struct pawl_cache *cache)
{
    bool yes;

    engine_lock(cache->r.e);
    yes = !list_empty(&cache->waiting);
    engine_unlock(cache->r.e);
    return yes;
}

static void who_waits_is_woken_when_it_is_freed(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .flags = *(int *)*state};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_cache *cache;
    struct behind_proxy b;
    pthread_t thread;
    void *rc;

    behind_proxy_open(&b, &co);
    tcp_proxy_freeze(b.proxy, true);
    assert_int_equal(pawl_cache_new(b.c, "/frozen", PAWL_DEPTH_TREE, &o, &cache), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_cache, cache), 0);
    while (!somebody_waits(cache)) {
    }
    pawl_cache_free(cache);
    pthread_join(thread, &rc);
    assert_int_equal((intptr_t)rc, PAWL_ERR_CANCELLED);
    tcp_proxy_freeze(b.proxy, false);
    behind_proxy_close(&b);
}

/* Whoever waits, and whoever comes to wait later, is told that there is nothing to wait for. */
static void nobody_waits_for_the_only_session_when_it_is_over(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .flags = *(int *)*state};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_cache *cache;
    struct behind_proxy b;

    co.flags |= PAWL_CLIENT_ONE_SESSION;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_cache_new(b.c, "/only", PAWL_DEPTH_TREE, &o, &cache), 0);
    assert_int_equal(pawl_cache_wait(cache, SOON_MS), PAWL_ERR_SESSION_EXPIRED);
    assert_int_equal(pawl_cache_wait(cache, -1), PAWL_ERR_SESSION_EXPIRED);
    pawl_cache_free(cache);
    behind_proxy_close(&b);
}

/* ---- hidden nodes ---- */

static int hide_middle(const char *path, void *arg)
{
    (void)arg;
    return strcmp(path, "/veil/mid") == 0 ? PAWL_SELECT_BELOW
                                          : PAWL_SELECT_NODE | PAWL_SELECT_BELOW;
}

static void ignore_event(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

/* Somebody else's one-shot watch tells after a reconnect that a node has come: its children came
 * with it, and nobody tells of them. */
static void what_came_below_a_hidden_node_during_a_cut_is_found(void **state)
{
    struct pawl_cache_options o = {.size = sizeof(o), .select = hide_middle};
    struct pawl_watch watch = {ignore_event, NULL};
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct cache_log log;
    struct behind_proxy b;

    clear(other, "/veil");
    make(other, "/veil", "r");
    behind_proxy_open(&b, &co);
    cache_log_open(&log, b.c, "/veil", PAWL_DEPTH_TREE, *(int *)*state, &o);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_exists(b.c, "/veil/mid", &watch, NULL), PAWL_ERR_NO_NODE);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    cache_log_until(&log, "STALE");
    make(other, "/veil/mid/x", "x");
    tcp_proxy_accept(b.proxy, true);
    cache_log_until(&log, "CREATED /veil/mid/x=x v0");
    cache_log_close(&log);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* A server before 3.9 keeps one mode per path and session: a one-shot watch that the same client
 * sets at the cache's path ends the cache's. */
static void a_one_shot_watch_at_its_path_does_not_blind_it(void **state)
{
    struct pawl_watch watch = {ignore_event, NULL};
    struct pawl_client *c = client_fixture_open(NULL), *other = client_fixture_open(NULL);
    struct cache_log log;

    clear(c, "/blind");
    make(c, "/blind/a", "1");
    cache_log_open(&log, c, "/blind", PAWL_DEPTH_TREE, *(int *)*state, NULL);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_get(c, "/blind", &watch, NULL), 0);
    set(other, "/blind/a", "2");
    cache_log_until(&log, "CHANGED /blind/a=1 v0 -> /blind/a=2 v1");
    set(other, "/blind", "fires it");
    cache_log_until(&log, "CHANGED /blind=");
    set(other, "/blind/a", "3");
    cache_log_until(&log, "CHANGED /blind/a=2 v1 -> /blind/a=3 v2");
    cache_log_close(&log);
    pawl_client_close(c);
    pawl_client_close(other);
}

#define BOTH(test) \
    cmocka_unit_test_prestate(test, &persistent), cmocka_unit_test_prestate(test, &one_shot)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_cut_link_costs_only_what_has_changed),
        BOTH(a_new_session_tells_the_differences_and_no_more),
        BOTH(a_cache_that_starts_without_a_link_initialises_later),
        BOTH(it_converges_under_changes_and_cuts),
        BOTH(no_watch_is_left_behind),
        BOTH(a_client_closed_under_it_leaves_it_as_it_was),
        BOTH(watches_taken_away_are_set_again),
        BOTH(it_may_be_freed_by_its_listener),
        BOTH(the_last_a_slow_listener_hears_is_how_things_stand),
        BOTH(who_waits_is_woken_when_it_is_freed),
        BOTH(nobody_waits_for_the_only_session_when_it_is_over),
        BOTH(what_came_below_a_hidden_node_during_a_cut_is_found),
        BOTH(a_one_shot_watch_at_its_path_does_not_blind_it),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
