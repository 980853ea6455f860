/* SPDX-License-Identifier: Apache-2.0 */
/* The queues, against a real server, over a link that can be cut. */
#define _GNU_SOURCE
#include "pawl/queue.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What a consumer was given, in order, as one text: "one,a,bb,". */
struct eaten {
    sem_t some;
    pthread_mutex_t lock;
    char text[4096];
    char name[128], id[64];
    int32_t priority;
    _Atomic int refuse; /* so many are refused */
    sem_t *hold;        /* waited for in each call */
};

static void eaten_init(struct eaten *e)
{
    memset(e, 0, sizeof(*e));
    sem_init(&e->some, 0, 0);
    pthread_mutex_init(&e->lock, NULL);
}

static int eat(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    struct eaten *e = arg;
    bool refused;

    (void)q;
    pthread_mutex_lock(&e->lock);
    strncat(e->text, item->data.data, item->data.len);
    refused = e->refuse > 0;
    e->refuse -= refused;
    strcat(e->text, refused ? "!," : ",");
    snprintf(e->name, sizeof(e->name), "%s", item->name);
    snprintf(e->id, sizeof(e->id), "%s", item->id == NULL ? "(none)" : item->id);
    e->priority = item->priority;
    pthread_mutex_unlock(&e->lock);
    sem_post(&e->some);
    if (e->hold != NULL) {
        wait_semaphore(e->hold);
    }
    return refused ? -1 : 0;
}

static void wait_eaten(struct eaten *e, int n)
{
    for (int i = 0; i < n; i++) {
        wait_semaphore(&e->some);
    }
}

static void assert_eaten(struct eaten *e, const char *expected)
{
    pthread_mutex_lock(&e->lock);
    assert_string_equal(e->text, expected);
    pthread_mutex_unlock(&e->lock);
}

/* Counts how often each of "0,", "1," ... was eaten. */
static void count_eaten(struct eaten *e, int *seen, int n)
{
    char *save = NULL;

    pthread_mutex_lock(&e->lock);
    for (char *t = strtok_r(e->text, ",", &save); t != NULL; t = strtok_r(NULL, ",", &save)) {
        assert_in_range(atoi(t), 0, n - 1);
        seen[atoi(t)]++;
    }
    pthread_mutex_unlock(&e->lock);
}

static struct pawl_queue *new_queue(struct pawl_client *c, const char *path,
                                    const struct pawl_queue_options *o)
{
    struct pawl_queue *q = NULL;

    assert_int_equal(pawl_queue_new(c, path, o, &q), 0);
    return q;
}

static void put(struct pawl_queue *q, const char *text)
{
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = text_bytes(text)), SOON_MS), 0);
}

static int n_nodes(struct pawl_client *c, const char *path)
{
    struct pawl_reply *reply;
    int n = pawl_children(c, path, NULL, &reply) == 0 ? (int)reply->children.n : -1;

    pawl_reply_free(reply);
    return n;
}

static void until_nodes(struct pawl_client *c, const char *path, int n)
{
    int64_t end = clock_ms(CLOCK_MONOTONIC) + SOON_MS;

    while (n_nodes(c, path) != n) {
        assert_true(clock_ms(CLOCK_MONOTONIC) < end);
    }
}

static void assert_data(struct pawl_client *c, const char *path, const char *bytes, size_t len)
{
    struct pawl_reply *reply;

    assert_int_equal(pawl_get(c, path, NULL, &reply), 0);
    assert_int_equal(reply->data.len, len);
    assert_memory_equal(reply->data.data, bytes, len);
    assert_int_equal(reply->stat.ephemeral_owner, 0);
    pawl_reply_free(reply);
}

/* ---- putting ---- */

/* test/vectors/curator/distributedqueue.txt */
static void nodes_have_curators_names_and_bytes(void **state)
{
    struct pawl_bytes many[] = {{"a", 1}, {"bb", 2}, {"", 0}};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/a", NULL);

    (void)state;
    put(q, "one");
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.items = many, .n_items = 3), SOON_MS), 0);
    assert_data(c, "/q/a/queue-0000000000", "\0\1\0\1\1\0\0\0\3one\2", 13);
    assert_data(c, "/q/a/queue-0000000001",
                "\0\1\0\1"
                "\1\0\0\0\1a"
                "\1\0\0\0\2bb"
                "\1\0\0\0\0\2",
                23);
    pawl_queue_free(q);
    pawl_client_close(c);
}

struct put_log {
    sem_t some;
    _Atomic int err;
    char path[256];
};

static void log_put(struct pawl_queue *q, int err, const char *path, void *arg)
{
    struct put_log *log = arg;

    (void)q;
    log->err = err;
    snprintf(log->path, sizeof(log->path), "%s", path == NULL ? "" : path);
    sem_post(&log->some);
}

static void listeners_and_callbacks_are_told_of_puts(void **state)
{
    struct put_log all = {.err = 1}, one = {.err = 1};
    struct pawl_queue_options o = {.size = sizeof(o), .on_put = log_put, .on_put_arg = &all};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/b", &o);

    (void)state;
    sem_init(&all.some, 0, 0);
    sem_init(&one.some, 0, 0);
    assert_int_equal(pawl_queue_put_async(q, PAWL_PUT(.item = {"x", 1}), log_put, &one), 0);
    wait_semaphore(&all.some);
    wait_semaphore(&one.some);
    assert_int_equal(one.err, 0);
    assert_string_equal(one.path, "/q/b/queue-0000000000");
    assert_string_equal(all.path, one.path);
    put(q, "y");
    wait_semaphore(&all.some);
    assert_string_equal(all.path, "/q/b/queue-0000000001");
    pawl_queue_free(q);
    pawl_client_close(c);
}

static void flush_waits_for_all_puts_before_it(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/c", NULL);

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(pawl_queue_put_async(q, PAWL_PUT(.item = {"x", 1}), NULL, NULL), 0);
    }
    assert_int_equal(pawl_queue_flush(q, SOON_MS), 0);
    assert_int_equal(n_nodes(c, "/q/c"), 100);
    assert_int_equal(pawl_queue_flush(q, 0), 0);
    pawl_queue_free(q);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_queue_options o = {.size = sizeof(o), .kind = PAWL_QUEUE_ID, .lock_path = "bad"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = NULL;

    (void)state;
    assert_int_equal(pawl_queue_new(c, "bad", NULL, &q), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_new(c, "/q/x", &o, &q), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_new(NULL, "/q/x", NULL, &q), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(
        pawl_queue_new(c, "/q/x", &(struct pawl_queue_options){.size = sizeof(o), .max_items = -1},
                       &q),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(
        pawl_queue_new(c, "/q/x", &(struct pawl_queue_options){.size = sizeof(o), .kind = 9}, &q),
        PAWL_ERR_BAD_ARGUMENTS);
    o.lock_path = NULL;
    q = new_queue(c, "/q/x", &o);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"x", 1}), 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_put(q, NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_put(NULL, PAWL_PUT(.id = "x"), 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_queue_flush(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    pawl_queue_free(q);
    pawl_queue_free(NULL);
    pawl_client_close(c);
}

/* ---- consuming ---- */

static void what_is_put_is_consumed_in_order(void **state)
{
    struct pawl_bytes many[] = {{"a", 1}, {"bb", 2}, {"", 0}};
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/d", NULL), *r;

    (void)state;
    eaten_init(&e);
    put(q, "one");
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.items = many, .n_items = 3), SOON_MS), 0);
    r = new_queue(d, "/q/d", &o);
    wait_eaten(&e, 4);
    assert_eaten(&e, "one,a,bb,,");
    put(q, "two");
    wait_eaten(&e, 1);
    assert_eaten(&e, "one,a,bb,,two,");
    until_nodes(c, "/q/d", 0);
    pawl_queue_free(q);
    pawl_queue_free(r);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void several_consumers_share_and_nothing_is_done_twice(void **state)
{
    enum { ITEMS = 60 };
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_queue *q, *r, *s;
    int seen[ITEMS] = {0};
    char text[16];

    (void)state;
    eaten_init(&e);
    for (int locks = 0; locks < 2; locks++) {
        o.lock_path = locks ? "/q/e-locks" : NULL;
        e.text[0] = '\0';
        memset(seen, 0, sizeof(seen));
        q = new_queue(c, locks ? "/q/e1" : "/q/e0", &o);
        r = new_queue(d, locks ? "/q/e1" : "/q/e0", &o);
        s = new_queue(d, locks ? "/q/e1" : "/q/e0", &o);
        for (int i = 0; i < ITEMS; i++) {
            snprintf(text, sizeof(text), "%d", i);
            assert_int_equal(
                pawl_queue_put_async(q, PAWL_PUT(.item = text_bytes(text)), NULL, NULL), 0);
        }
        wait_eaten(&e, ITEMS);
        until_nodes(c, locks ? "/q/e1" : "/q/e0", 0);
        pawl_queue_free(q);
        pawl_queue_free(r);
        pawl_queue_free(s);
        count_eaten(&e, seen, ITEMS);
        for (int i = 0; i < ITEMS; i++) {
            assert_int_equal(seen[i], 1);
        }
    }
    until_nodes(c, "/q/e-locks", 0);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void foreign_nodes_are_left_alone_and_damaged_ones_dropped(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/f", NULL);

    (void)state;
    eaten_init(&e);
    put(q, "first");
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/q/f/other", .data = {"x", 1}), NULL), 0);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = "/q/f/queue-", .data = {"bad", 3},
                                             .mode = PAWL_MODE_SEQUENTIAL),
                                 NULL),
                     0);
    put(q, "last");
    pawl_queue_free(q);
    q = new_queue(c, "/q/f", &o);
    wait_eaten(&e, 2);
    assert_eaten(&e, "first,last,");
    until_nodes(c, "/q/f", 1);
    pawl_queue_free(q);
    pawl_client_close(c);
}

/* ---- failure ---- */

/* distributedqueue-locksafety.txt; R-51 */
static void what_is_refused_comes_again_under_a_name_that_does_not_grow(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {
        .size = sizeof(o), .consumer = eat, .consumer_arg = &e, .lock_path = "/q/g-locks"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q;

    (void)state;
    eaten_init(&e);
    e.refuse = 3;
    o.kind = PAWL_QUEUE_ID;
    q = new_queue(c, "/q/g1", &o);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"job", 3}, .id = "no/7"), SOON_MS), 0);
    wait_eaten(&e, 4);
    assert_eaten(&e, "job!,job!,job!,job,");
    assert_string_equal(e.name, "queue-|no_7|0000000003");
    assert_string_equal(e.id, "no_7");
    until_nodes(c, "/q/g1", 0);
    pawl_queue_free(q);

    e.refuse = 1;
    e.text[0] = '\0';
    o.kind = PAWL_QUEUE_PRIORITY;
    q = new_queue(c, "/q/g2", &o);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"p", 1}, .priority = -5), SOON_MS), 0);
    wait_eaten(&e, 2);
    assert_int_equal(e.priority, -5);
    assert_string_equal(e.name, "queue-0FFFFFFFB0000000001");
    until_nodes(c, "/q/g2", 0);
    until_nodes(c, "/q/g-locks", 0);
    pawl_queue_free(q);
    pawl_client_close(c);
}

static void of_several_items_only_those_not_done_come_again(void **state)
{
    struct pawl_bytes many[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    struct eaten e;
    struct pawl_queue_options o = {
        .size = sizeof(o), .consumer = eat, .consumer_arg = &e, .lock_path = "/q/h-locks"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q;
    sem_t hold;

    (void)state;
    eaten_init(&e);
    sem_init(&hold, 0, 0);
    e.hold = &hold;
    q = new_queue(c, "/q/h", &o);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.items = many, .n_items = 3), SOON_MS), 0);
    wait_eaten(&e, 1);
    e.refuse = 1; /* the second */
    for (int i = 0; i < 4; i++) {
        sem_post(&hold);
    }
    until_nodes(c, "/q/h", 0);
    assert_eaten(&e, "a,b!,b,c,");
    pawl_queue_free(q);
    pawl_client_close(c);
}

static void what_is_refused_is_dropped_if_so_wished_or_without_locks(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o),
                                   .consumer = eat,
                                   .consumer_arg = &e,
                                   .lock_path = "/q/i-locks",
                                   .on_failure = PAWL_ON_FAILURE_DROP};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q;

    (void)state;
    eaten_init(&e);
    e.refuse = 1;
    q = new_queue(c, "/q/i1", &o);
    put(q, "x");
    put(q, "y");
    wait_eaten(&e, 2);
    until_nodes(c, "/q/i1", 0);
    assert_eaten(&e, "x!,y,");
    pawl_queue_free(q);
    e.refuse = 1;
    o.lock_path = NULL;
    o.on_failure = PAWL_ON_FAILURE_REQUEUE;
    q = new_queue(c, "/q/i2", &o);
    put(q, "z");
    wait_eaten(&e, 1);
    until_nodes(c, "/q/i2", 0);
    assert_eaten(&e, "x!,y,z!,");
    pawl_queue_free(q);
    pawl_client_close(c);
}

/* The consumer's process dies in the middle: its lock goes with its session, and no change of the
 * queue's folder tells that. */
static void an_item_whose_consumer_died_is_done_by_another(void **state)
{
    struct eaten e, f;
    struct pawl_queue_options o = {
        .size = sizeof(o), .consumer = eat, .consumer_arg = &f, .lock_path = "/q/j-locks"};
    struct pawl_client *c = client_fixture_open(NULL), *dead = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/j", NULL), *r;

    (void)state;
    eaten_init(&e);
    eaten_init(&f);
    put(q, "job");
    assert_int_equal(pawl_create(dead,
                                 PAWL_CREATE(.path = "/q/j-locks/queue-0000000000",
                                             .mode = PAWL_MODE_EPHEMERAL, .flags = PAWL_OP_PARENTS),
                                 NULL),
                     0);
    r = new_queue(c, "/q/j", &o);
    put(q, "next");
    wait_eaten(&f, 1);
    assert_eaten(&f, "next,");
    until_nodes(c, "/q/j", 1);
    pawl_client_close(dead);
    wait_eaten(&f, 1);
    assert_eaten(&f, "next,job,");
    until_nodes(c, "/q/j", 0);
    until_nodes(c, "/q/j-locks", 0);
    pawl_queue_free(q);
    pawl_queue_free(r);
    pawl_client_close(c);
}

/* ---- kinds ---- */

static void the_urgent_overtake(void **state)
{
    static const int32_t priorities[] = {5, 0, -1, INT32_MAX, INT32_MIN};
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .kind = PAWL_QUEUE_PRIORITY};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/k", &o), *r;
    char text[32];
    sem_t hold;

    (void)state;
    eaten_init(&e);
    sem_init(&hold, 0, 0);
    e.hold = &hold;
    for (size_t i = 0; i < TEST_COUNT(priorities); i++) {
        snprintf(text, sizeof(text), "p%d", (int)priorities[i]);
        assert_int_equal(
            pawl_queue_put(q, PAWL_PUT(.item = text_bytes(text), .priority = priorities[i]),
                           SOON_MS),
            0);
    }
    o.consumer = eat;
    o.consumer_arg = &e;
    r = new_queue(d, "/q/k", &o);
    wait_eaten(&e, 1); /* one that comes while others wait still comes before them */
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"late", 4}, .priority = -7), SOON_MS), 0);
    assert_int_equal(pawl_sync(d, "/q/k", NULL), 0); /* its consumer has heard of it */
    for (size_t i = 0; i < 6; i++) {
        sem_post(&hold);
    }
    wait_eaten(&e, 5);
    assert_eaten(&e, "p-2147483648,late,p-1,p0,p5,p2147483647,");
    pawl_queue_free(q);
    pawl_queue_free(r);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void put_due(struct pawl_queue *q, const char *text, int64_t due_ms)
{
    assert_int_equal(
        pawl_queue_put(q, PAWL_PUT(.item = text_bytes(text), .due_ms = due_ms), SOON_MS), 0);
}

/* False: the last was not put before the first was due, and nothing is shown. */
static bool comes_in_time(struct pawl_client *c, int64_t delay_ms)
{
    struct eaten e;
    struct pawl_queue_options o = {
        .size = sizeof(o), .kind = PAWL_QUEUE_DELAY, .consumer = eat, .consumer_arg = &e};
    struct pawl_queue *q;
    int64_t due = clock_ms(CLOCK_REALTIME) + delay_ms, at[3];
    bool shown;

    eaten_init(&e);
    q = new_queue(c, "/q/l", &o);
    put_due(q, "later", due + 400);
    put_due(q, "soon", due);
    put_due(q, "past", 1700000000000);
    shown = clock_ms(CLOCK_REALTIME) < due;
    for (int i = 0; i < 3; i++) {
        wait_eaten(&e, 1);
        at[i] = clock_ms(CLOCK_REALTIME);
    }
    if (shown) {
        assert_eaten(&e, "past,soon,later,");
        assert_true(at[1] >= due);
        assert_true(at[2] >= due + 400);
    }
    pawl_queue_free(q);
    return shown;
}

static void nothing_comes_before_its_time(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    int64_t delay_ms = 500;

    (void)state;
    while (!comes_in_time(c, delay_ms)) {
        delay_ms *= 2;
        assert_true(delay_ms < SOON_MS);
    }
    pawl_client_close(c);
}

/* Refused, it comes again: with its time, which has come, and without waiting for it anew. */
static void what_is_refused_keeps_its_time(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o),
                                   .kind = PAWL_QUEUE_DELAY,
                                   .lock_path = "/q/again-locks",
                                   .consumer = eat,
                                   .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL);
    int64_t due = clock_ms(CLOCK_REALTIME) + 300;
    struct pawl_queue *q;
    char stem[64];

    (void)state;
    eaten_init(&e);
    e.refuse = 2;
    snprintf(stem, sizeof(stem), "queue-|%08llX|", (unsigned long long)due);
    q = new_queue(c, "/q/again", &o);
    assert_int_equal(
        pawl_queue_put(q, PAWL_PUT(.item = {"late", 4}, .due_ms = due + 60000), SOON_MS), 0);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"x", 1}, .due_ms = due), SOON_MS), 0);
    for (int i = 0; i < 3; i++) {
        wait_eaten(&e, 1);
        assert_true(clock_ms(CLOCK_REALTIME) >= due);
        pthread_mutex_lock(&e.lock);
        assert_memory_equal(e.name, stem, strlen(stem));
        assert_int_equal(strlen(e.name), strlen(stem) + 10);
        pthread_mutex_unlock(&e.lock);
    }
    assert_eaten(&e, "x!,x!,x,");
    assert_true(clock_ms(CLOCK_REALTIME) < due + SOON_MS);
    pawl_queue_free(q);
    assert_int_equal(n_nodes(c, "/q/again"), 1);
    pawl_client_close(c);
}

/* Curator compares with the id before its '/' and '|' were replaced, and never finds those. */
static void items_are_removed_by_their_id(void **state)
{
    struct pawl_queue_options o = {.size = sizeof(o), .kind = PAWL_QUEUE_ID};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q;
    int n = -1;

    (void)state;
    for (int locks = 0; locks < 2; locks++) {
        o.lock_path = locks ? "/q/m-locks" : NULL;
        q = new_queue(c, locks ? "/q/m1" : "/q/m0", &o);
        assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"x", 1}, .id = "id/1"), SOON_MS), 0);
        assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"y", 1}, .id = "id/1"), SOON_MS), 0);
        assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"z", 1}, .id = "id-2"), SOON_MS), 0);
        if (locks) { /* somebody works on the second */
            assert_int_equal(
                pawl_create(c, PAWL_CREATE(.path = "/q/m-locks/queue-|id_1|0000000001"), NULL), 0);
        }
        assert_int_equal(pawl_queue_remove(q, "id/1", SOON_MS, &n), 0);
        assert_int_equal(n, locks ? 1 : 2);
        assert_int_equal(n_nodes(c, locks ? "/q/m1" : "/q/m0"), locks ? 2 : 1);
        assert_int_equal(pawl_queue_remove(q, "none", 0, &n), 0);
        assert_int_equal(n, 0);
        pawl_queue_free(q);
    }
    assert_int_equal(n_nodes(c, "/q/m-locks"), 1);
    pawl_client_close(c);
}

static void *remove_all(void *queue)
{
    int n, rc = pawl_queue_remove(queue, "1", SOON_MS, &n);

    assert_true(rc == 0 || rc == PAWL_ERR_CONNECTION_LOSS);
    return NULL;
}

/* The link is cut again and again while items are removed: whatever the server has done, no lock is
 * left that keeps consumers away. */
static void a_removal_that_was_cut_off_leaves_no_lock(void **state)
{
    struct pawl_queue_options o = {
        .size = sizeof(o), .kind = PAWL_QUEUE_ID, .lock_path = "/q/cut-locks"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct pawl_queue *q, *maker = new_queue(c, "/q/cut", &o);
    struct behind_proxy b;
    pthread_t thread;

    (void)state;
    behind_proxy_open(&b, &co);
    q = new_queue(b.c, "/q/cut", &o);
    for (int round = 0; round < 10; round++) {
        int before;

        for (int i = 0; i < 100; i++) {
            assert_int_equal(
                pawl_queue_put_async(maker, PAWL_PUT(.item = {"x", 1}, .id = "1"), NULL, NULL), 0);
        }
        assert_int_equal(pawl_queue_flush(maker, SOON_MS), 0);
        before = n_nodes(c, "/q/cut");
        assert_int_equal(pthread_create(&thread, NULL, remove_all, q), 0);
        while (n_nodes(c, "/q/cut") > before - 5 * round) {
        }
        tcp_proxy_cut(b.proxy);
        pthread_join(thread, NULL);
    }
    until_nodes(c, "/q/cut-locks", 0);
    pawl_queue_free(q);
    pawl_queue_free(maker);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

/* ---- room ---- */

static void a_full_queue_makes_putters_wait(void **state)
{
    struct put_log log = {.err = 1};
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .max_items = 2};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/n", &o), *r;

    (void)state;
    sem_init(&log.some, 0, 0);
    eaten_init(&e);
    put(q, "1");
    put(q, "2");
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = {"no", 2}), 50),
                     PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(n_nodes(c, "/q/n"), 2);
    assert_int_equal(pawl_queue_put_async(q, PAWL_PUT(.item = {"3", 1}), log_put, &log), 0);
    assert_int_equal(pawl_queue_put_async(q, PAWL_PUT(.item = {"4", 1}), log_put, &log), 0);
    assert_int_equal(pawl_queue_flush(q, 50), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(n_nodes(c, "/q/n"), 2);
    r = new_queue(
        d, "/q/n",
        &(struct pawl_queue_options){.size = sizeof(o), .consumer = eat, .consumer_arg = &e});
    assert_int_equal(pawl_queue_flush(q, SOON_MS), 0);
    wait_eaten(&e, 4);
    assert_eaten(&e, "1,2,3,4,");
    wait_semaphore(&log.some);
    wait_semaphore(&log.some);
    assert_int_equal(log.err, 0);
    pawl_queue_free(r);
    put(q, "5");
    put(q, "6");
    assert_int_equal(pawl_queue_put_async(q, PAWL_PUT(.item = {"7", 1}), log_put, &log), 0);
    pawl_queue_free(q);
    wait_semaphore(&log.some);
    assert_int_equal(log.err, PAWL_ERR_CANCELLED);
    pawl_client_close(c);
    pawl_client_close(d);
}

struct feeder {
    struct pawl_client *other; /* who makes room */
    struct eaten eaten;
    _Atomic int rc;
};

/* For the first item it puts another, for which there is no room yet. */
static int feed(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    struct feeder *f = arg;
    struct pawl_reply *reply;

    if (memcmp(item->data.data, "1", 1) == 0) {
        assert_int_equal(pawl_children(f->other, "/q/feed", NULL, &reply), 0);
        for (size_t i = 0; i < reply->children.n; i++) {
            char path[64];

            snprintf(path, sizeof(path), "/q/feed/%s", reply->children.items[i]);
            assert_int_equal(pawl_delete(f->other, PAWL_DELETE(.path = path), NULL), 0);
        }
        pawl_reply_free(reply);
        f->rc = pawl_queue_put(q, PAWL_PUT(.item = {"3", 1}), SOON_MS);
    }
    return eat(q, item, &f->eaten);
}

/* The consumer waits for the room that somebody else makes. */
static void a_consumer_may_wait_for_room(void **state)
{
    struct feeder f = {.other = client_fixture_open(NULL), .rc = -1};
    struct pawl_queue_options o = {
        .size = sizeof(o), .max_items = 1, .consumer = feed, .consumer_arg = &f};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *maker = new_queue(f.other, "/q/feed", NULL), *q;

    (void)state;
    eaten_init(&f.eaten);
    put(maker, "1");
    put(maker, "2");
    q = new_queue(c, "/q/feed", &o);
    wait_eaten(&f.eaten, 2);
    assert_int_equal(f.rc, 0);
    assert_eaten(&f.eaten, "1,3,");
    pawl_queue_free(q);
    pawl_queue_free(maker);
    pawl_client_close(c);
    pawl_client_close(f.other);
}

/* ---- trouble ---- */

/* One that may not be read keeps nobody from the others, and is tried again. */
static void an_item_that_cannot_be_read_does_not_block_the_others(void **state)
{
    static const struct pawl_acl blind = {PAWL_PERM_ALL & ~PAWL_PERM_READ, "world", "anyone"};
    static const struct pawl_acl all = {PAWL_PERM_ALL, "world", "anyone"};
    static const char bytes[] = {0, 1, 0, 1, 1, 0, 0, 0, 1, 'b', 2};
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q, *maker;
    const char *path;
    char name[64];

    (void)state;
    for (int locks = 0; locks < 2; locks++) {
        eaten_init(&e);
        path = locks ? "/q/blind1" : "/q/blind0";
        o.lock_path = locks ? "/q/blind-locks" : NULL;
        maker = new_queue(c, path, NULL);
        put(maker, "a");
        snprintf(name, sizeof(name), "%s/queue-0000000001", path);
        assert_int_equal(pawl_create(c,
                                     PAWL_CREATE(.path = name, .data = {bytes, sizeof(bytes)},
                                                 .acls = {&blind, 1}),
                                     NULL),
                         0);
        put(maker, "c");
        q = new_queue(c, path, &o);
        wait_eaten(&e, 2);
        assert_eaten(&e, "a,c,");
        assert_int_equal(pawl_set_acl(c, PAWL_SET_ACL(.path = name, .acls = {&all, 1}), NULL), 0);
        wait_eaten(&e, 1);
        assert_eaten(&e, "a,c,b,");
        pawl_queue_free(q);
        pawl_queue_free(maker);
    }
    pawl_client_close(c);
}

/* */
static void consumers_go_on_after_a_long_partition_with_session_loss(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/o", NULL), *plain, *safe;
    struct behind_proxy b;

    (void)state;
    eaten_init(&e);
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    plain = new_queue(b.c, "/q/o", &o);
    o.lock_path = "/q/o-locks";
    safe = new_queue(b.c, "/q/o2", &o);
    put(q, "1");
    wait_eaten(&e, 1);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_LOST);
    put(q, "2");
    pawl_queue_free(q);
    q = new_queue(c, "/q/o2", NULL);
    put(q, "3");
    tcp_proxy_accept(b.proxy, true);
    wait_eaten(&e, 2);
    put(q, "4");
    wait_eaten(&e, 1);
    until_nodes(c, "/q/o", 0);
    until_nodes(c, "/q/o2", 0);
    until_nodes(c, "/q/o-locks", 0);
    pawl_queue_free(plain);
    pawl_queue_free(safe);
    pawl_queue_free(q);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

/* The session ends under a consumer: somebody else may do the item, so it is not put again. */
static void who_lost_his_lock_while_he_worked_does_not_requeue(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {
        .size = sizeof(o), .consumer = eat, .consumer_arg = &e, .lock_path = "/q/p-locks"};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/p", NULL), *r;
    struct behind_proxy b;
    struct pawl_reply *reply;
    sem_t hold;

    (void)state;
    eaten_init(&e);
    sem_init(&hold, 0, 0);
    e.hold = &hold;
    e.refuse = 1;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    r = new_queue(b.c, "/q/p", &o);
    put(q, "x");
    wait_eaten(&e, 1);
    assert_int_equal(n_nodes(c, "/q/p-locks"), 1);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    until_nodes(c, "/q/p-locks", 0);
    tcp_proxy_accept(b.proxy, true);
    assert_int_equal(pawl_client_wait_connected(b.c, SOON_MS), 0);
    sem_post(&hold);
    wait_eaten(&e, 1);
    assert_string_equal(e.name, "queue-0000000000"); /* the same node again */
    sem_post(&hold);
    until_nodes(c, "/q/p", 0);
    assert_int_equal(pawl_exists(c, "/q/p", NULL, &reply), 0);
    assert_int_equal(reply->stat.cversion, 2); /* one create, one delete */
    pawl_reply_free(reply);
    pawl_queue_free(q);
    pawl_queue_free(r);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

static void with_locks_nothing_is_lost_and_without_nothing_doubled_when_answers_are(void **state)
{
    enum { ITEMS = 40 };
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int locks = 0; locks < 2; locks++) {
        const char *path = locks ? "/q/u1" : "/q/u0";
        struct pawl_client_options co = client_fixture_options();
        struct pawl_queue *q = new_queue(c, path, NULL), *r;
        int seen[ITEMS] = {0};
        struct behind_proxy b;
        char text[16];

        eaten_init(&e);
        behind_proxy_open(&b, &co);
        o.lock_path = locks ? "/q/u-locks" : NULL;
        r = new_queue(b.c, path, &o);
        for (int i = 0; i < ITEMS; i++) {
            tcp_proxy_swallow_replies(b.proxy, i % 4 == 3);
            snprintf(text, sizeof(text), "%d", i);
            put(q, text);
            if (i % 4 == 3) {
                tcp_proxy_cut(b.proxy);
            }
        }
        tcp_proxy_down(b.proxy); /* before anything late gets through */
        tcp_proxy_swallow_replies(b.proxy, false);
        tcp_proxy_up(b.proxy);
        until_nodes(c, path, 0);
        pawl_queue_free(r); /* no consumer runs any more */
        count_eaten(&e, seen, ITEMS);
        for (int i = 0; i < ITEMS; i++) {
            assert_true(locks ? seen[i] >= 1 : seen[i] <= 1);
        }
        pawl_queue_free(q);
        behind_proxy_close(&b);
    }
    until_nodes(c, "/q/u-locks", 0);
    pawl_client_close(c);
}

static void a_folder_that_was_deleted_is_made_again(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {
        .size = sizeof(o), .consumer = eat, .consumer_arg = &e, .lock_path = "/q/r-locks"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q = new_queue(c, "/q/r", NULL), *r = new_queue(c, "/q/r", &o);

    (void)state;
    eaten_init(&e);
    put(q, "1");
    wait_eaten(&e, 1);
    until_nodes(c, "/q/r", 0);
    until_nodes(c, "/q/r-locks", 0);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/q/r-locks"), NULL), 0);
    put(q, "2");
    wait_eaten(&e, 1);
    until_nodes(c, "/q/r", 0);
    pawl_delete(c, PAWL_DELETE(.path = "/q/r"), NULL);
    put(q, "3");
    wait_eaten(&e, 1);
    assert_eaten(&e, "1,2,3,");
    pawl_queue_free(q);
    pawl_queue_free(r);
    pawl_client_close(c);
}

static int free_it(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    (void)item;
    pawl_queue_free(q);
    sem_post(arg);
    return 0;
}

static void what_was_taken_but_not_consumed_is_put_back(void **state)
{
    struct pawl_bytes many[] = {{"a", 1}, {"b", 1}};
    sem_t freed;
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = free_it, .consumer_arg = &freed};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_queue *q;

    (void)state;
    sem_init(&freed, 0, 0);
    eaten_init(&e);
    for (int locks = 0; locks < 2; locks++) {
        o.lock_path = locks ? "/q/s-locks" : NULL;
        q = new_queue(c, "/q/s", &o);
        assert_int_equal(pawl_queue_put_async(q, PAWL_PUT(.items = many, .n_items = 2), NULL, NULL),
                         0);
        wait_semaphore(&freed); /* the queue was freed by its own consumer, at "a" */
        e.text[0] = '\0';
        q = new_queue(
            c, "/q/s",
            &(struct pawl_queue_options){
                .size = sizeof(o), .consumer = eat, .consumer_arg = &e, .lock_path = o.lock_path});
        wait_eaten(&e, 1);
        assert_eaten(&e, "b,");
        until_nodes(c, "/q/s", 0);
        pawl_queue_free(q);
    }
    until_nodes(c, "/q/s-locks", 0);
    pawl_client_close(c);
}

static void no_watch_is_left_behind(void **state)
{
    struct eaten e;
    struct pawl_queue_options o = {.size = sizeof(o), .consumer = eat, .consumer_arg = &e};
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    eaten_init(&e);
    for (int i = 0; i < 50; i++) {
        struct pawl_queue *q = new_queue(c, "/q/t", &o);

        if (i % 2 == 0) {
            put(q, "x");
            wait_eaten(&e, 1);
        }
        pawl_queue_free(q);
    }
    assert_int_equal(pawl_sync(c, "/q/t", NULL), 0);
    assert_int_equal(pawl_unwatch(c, "/q/t", PAWL_WATCHES_ANY, NULL, NULL), PAWL_ERR_NO_WATCHER);
    pawl_client_close(c);
}

/* ---- the simple queue ---- */

static struct pawl_simple_queue *new_simple(struct pawl_client *c, const char *path)
{
    struct pawl_simple_queue *q = NULL;

    assert_int_equal(pawl_simple_queue_new(c, path, &q), 0);
    return q;
}

static void assert_takes(struct pawl_simple_queue *q, const char *expected)
{
    void *data;
    size_t len;

    assert_int_equal(pawl_simple_queue_take(q, 0, &data, &len), 0);
    assert_int_equal(len, strlen(expected));
    assert_string_equal((char *)data, expected);
    free(data);
}

/* simpledistributedqueue.txt */
static void the_simple_queue_gives_what_was_offered_in_order(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_simple_queue *q = new_simple(c, "/q/sq");
    void *data;
    size_t len;

    (void)state;
    assert_int_equal(pawl_simple_queue_take(q, 0, &data, &len), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_simple_queue_peek(q, &data, &len), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_simple_queue_offer(q, text_bytes("x")), 0);
    assert_int_equal(pawl_simple_queue_offer(q, text_bytes("")), 0);
    assert_data(c, "/q/sq/qn-0000000000", "x", 1);
    assert_data(c, "/q/sq/qn-0000000001", "", 0);
    assert_int_equal(pawl_simple_queue_peek(q, &data, &len), 0);
    assert_string_equal((char *)data, "x");
    free(data);
    assert_takes(q, "x");
    assert_takes(q, "");
    assert_int_equal(pawl_simple_queue_take(q, 50, &data, &len), PAWL_ERR_OPERATION_TIMEOUT);
    pawl_simple_queue_free(q);
    pawl_simple_queue_free(NULL);
    pawl_client_close(c);
}

struct took {
    sem_t some;
    _Atomic int err;
    char text[64];
};

static void log_take(struct pawl_simple_queue *q, int err, struct pawl_bytes data, void *arg)
{
    struct took *t = arg;

    (void)q;
    t->err = err;
    snprintf(t->text, sizeof(t->text), "%.*s", (int)data.len, (const char *)data.data);
    sem_post(&t->some);
}

/* the container goes while somebody waits */
static void who_waits_gets_what_comes_also_after_the_container_went(void **state)
{
    struct took t = {.err = 1};
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_simple_queue *q = new_simple(c, "/q/sq2"), *r = new_simple(d, "/q/sq2");

    (void)state;
    sem_init(&t.some, 0, 0);
    assert_int_equal(pawl_simple_queue_take_async(q, -1, log_take, &t), 0);
    until_nodes(c, "/q/sq2", 0);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/q/sq2"), NULL), 0);
    until_nodes(c, "/q/sq2", 0); /* made again */
    assert_int_equal(pawl_simple_queue_offer(r, text_bytes("late")), 0);
    wait_semaphore(&t.some);
    assert_int_equal(t.err, 0);
    assert_string_equal(t.text, "late");
    assert_int_equal(n_nodes(c, "/q/sq2"), 0);
    assert_int_equal(pawl_simple_queue_take_async(q, -1, log_take, &t), 0);
    pawl_simple_queue_free(q);
    wait_semaphore(&t.some);
    assert_int_equal(t.err, PAWL_ERR_CANCELLED);
    assert_int_equal(pawl_sync(c, "/q/sq2", NULL), 0);
    assert_int_equal(pawl_unwatch(c, "/q/sq2", PAWL_WATCHES_ANY, NULL, NULL), PAWL_ERR_NO_WATCHER);
    pawl_simple_queue_free(r);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* Its time is up long before the link counts as dead. */
static void a_take_from_a_silent_server_ends_when_its_time_is_up(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_simple_queue *q;
    struct behind_proxy p;
    struct took t = {.err = 1};
    int64_t began_ms;

    (void)state;
    sem_init(&t.some, 0, 0);
    co.session_timeout_ms = 600000;
    behind_proxy_open(&p, &co);
    q = new_simple(p.c, "/q/silent");
    assert_int_equal(pawl_simple_queue_offer(q, text_bytes("x")), 0);
    tcp_proxy_freeze(p.proxy, true);
    began_ms = clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(pawl_simple_queue_take_async(q, 1500, log_take, &t), 0);
    wait_semaphore(&t.some);
    assert_int_equal(t.err, PAWL_ERR_OPERATION_TIMEOUT);
    assert_true(clock_ms(CLOCK_MONOTONIC) - began_ms >= 1500);
    tcp_proxy_freeze(p.proxy, false);
    assert_takes(q, "x");
    pawl_simple_queue_free(q);
    behind_proxy_close(&p);
}

enum { TAKERS = 3, EACH = 20 };

static void *take_many(void *arg)
{
    intptr_t sum = 0;

    for (int i = 0; i < EACH; i++) {
        void *data;
        size_t len;

        assert_int_equal(pawl_simple_queue_take(arg, SOON_MS, &data, &len), 0);
        sum += atoi(data);
        free(data);
    }
    return (void *)sum;
}

static void takers_share_and_nothing_is_taken_twice(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_simple_queue *q = new_simple(c, "/q/sq3"), *r = new_simple(d, "/q/sq3");
    pthread_t threads[TAKERS];
    intptr_t sum = 0;
    char text[16];

    (void)state;
    for (int i = 0; i < TAKERS; i++) {
        pthread_create(&threads[i], NULL, take_many, i == 0 ? r : q);
    }
    for (int i = 0; i < TAKERS * EACH; i++) {
        snprintf(text, sizeof(text), "%d", 1 + i);
        assert_int_equal(pawl_simple_queue_offer(q, text_bytes(text)), 0);
    }
    for (int i = 0; i < TAKERS; i++) {
        void *part;

        pthread_join(threads[i], &part);
        sum += (intptr_t)part;
    }
    assert_int_equal(sum, TAKERS * EACH * (TAKERS * EACH + 1) / 2);
    assert_int_equal(n_nodes(c, "/q/sq3"), 0);
    pawl_simple_queue_free(q);
    pawl_simple_queue_free(r);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* ---- refusing again and again ---- */

enum { REFUSALS = 4 };

struct refuser {
    sem_t done;
    int n;
    int attempts[REFUSALS + 1];
    int64_t at_ms[REFUSALS + 1];
};

static int refuse_it(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    struct refuser *x = arg;

    (void)q;
    if (item->data.len != 3) {
        return 0; /* the others are done */
    }
    x->attempts[x->n] = item->attempt;
    x->at_ms[x->n++] = now_ms();
    if (x->n <= REFUSALS) {
        return -1;
    }
    sem_post(&x->done);
    return 0;
}

/* It came back a thousand times in two seconds. */
static void what_is_refused_is_left_alone_for_a_while_and_counted(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct refuser x = {.n = 0};
    struct pawl_queue_options o = {.size = sizeof(o),
                                   .lock_path = "/refused-locks",
                                   .consumer = refuse_it,
                                   .consumer_arg = &x};
    struct pawl_queue *q;

    (void)state;
    sem_init(&x.done, 0, 0);
    assert_int_equal(pawl_queue_new(c, "/refused", &o, &q), 0);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = text_bytes("bad")), SOON_MS), 0);
    assert_int_equal(pawl_queue_put(q, PAWL_PUT(.item = text_bytes("good one")), SOON_MS), 0);
    wait_semaphore(&x.done);
    assert_int_equal(x.n, REFUSALS + 1);
    for (int i = 0; i <= REFUSALS; i++) {
        assert_int_equal(x.attempts[i], i + 1);
    }
    for (int i = 0; i < REFUSALS; i++) {
        assert_true(x.at_ms[i + 1] - x.at_ms[i] >= 100 << i);
    }
    pawl_queue_free(q);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_is_left_alone_for_a_while_and_counted),
        cmocka_unit_test(nodes_have_curators_names_and_bytes),
        cmocka_unit_test(listeners_and_callbacks_are_told_of_puts),
        cmocka_unit_test(flush_waits_for_all_puts_before_it),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(what_is_put_is_consumed_in_order),
        cmocka_unit_test(several_consumers_share_and_nothing_is_done_twice),
        cmocka_unit_test(foreign_nodes_are_left_alone_and_damaged_ones_dropped),
        cmocka_unit_test(what_is_refused_comes_again_under_a_name_that_does_not_grow),
        cmocka_unit_test(of_several_items_only_those_not_done_come_again),
        cmocka_unit_test(what_is_refused_is_dropped_if_so_wished_or_without_locks),
        cmocka_unit_test(an_item_whose_consumer_died_is_done_by_another),
        cmocka_unit_test(the_urgent_overtake),
        cmocka_unit_test(nothing_comes_before_its_time),
        cmocka_unit_test(what_is_refused_keeps_its_time),
        cmocka_unit_test(items_are_removed_by_their_id),
        cmocka_unit_test(a_removal_that_was_cut_off_leaves_no_lock),
        cmocka_unit_test(a_full_queue_makes_putters_wait),
        cmocka_unit_test(a_consumer_may_wait_for_room),
        cmocka_unit_test(consumers_go_on_after_a_long_partition_with_session_loss),
        cmocka_unit_test(an_item_that_cannot_be_read_does_not_block_the_others),
        cmocka_unit_test(who_lost_his_lock_while_he_worked_does_not_requeue),
        cmocka_unit_test(with_locks_nothing_is_lost_and_without_nothing_doubled_when_answers_are),
        cmocka_unit_test(a_folder_that_was_deleted_is_made_again),
        cmocka_unit_test(what_was_taken_but_not_consumed_is_put_back),
        cmocka_unit_test(no_watch_is_left_behind),
        cmocka_unit_test(the_simple_queue_gives_what_was_offered_in_order),
        cmocka_unit_test(who_waits_gets_what_comes_also_after_the_container_went),
        cmocka_unit_test(a_take_from_a_silent_server_ends_when_its_time_is_up),
        cmocka_unit_test(takers_share_and_nothing_is_taken_twice),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
