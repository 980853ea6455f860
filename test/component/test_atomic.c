/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic numbers, values and cached numbers, against a real server, over links that can be cut. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static struct pawl_atomic *new_atomic(struct pawl_client *c, const char *path,
                                      const struct pawl_atomic_options *options)
{
    struct pawl_atomic *a = NULL;

    assert_int_equal(pawl_atomic_new(c, path, options, &a), 0);
    return a;
}

static void expect_node(struct pawl_client *c, const char *path, const void *data, size_t len,
                        int32_t version)
{
    struct pawl_reply *reply;

    assert_int_equal(pawl_get(c, path, NULL, &reply), 0);
    assert_bytes_equal(bytes_of(reply->data.data, reply->data.len), bytes_of(data, len));
    assert_int_equal(reply->stat.version, version);
    assert_int_equal(reply->stat.ephemeral_owner, 0);
    pawl_reply_free(reply);
}

static void expect(const struct pawl_atomic_result *r, int64_t before, int64_t after)
{
    assert_true(r->succeeded);
    assert_int_equal(r->outcome, PAWL_OUTCOME_DONE);
    assert_int_equal(r->before, before);
    assert_int_equal(r->after, after);
}

/* ---- numbers ---- */

/* Step by step what Curator's distributedatomic.txt shows. */
static void a_number_is_eight_bytes_the_highest_first(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/long", NULL);
    struct pawl_atomic_result r;

    (void)state;
    assert_int_equal(pawl_atomic_get(a, &r), 0);
    expect(&r, 0, 0);
    assert_int_equal(pawl_atomic_compare_and_set(a, 0, 1, &r), 0);
    assert_false(r.succeeded); /* no node */
    assert_int_equal(r.outcome, PAWL_OUTCOME_REFUSED);
    assert_int_equal(pawl_atomic_increment(a, &r), 0);
    expect(&r, 0, 1);
    assert_int_equal(r.stats.optimistic_tries, 1);
    expect_node(c, "/a/long", "\0\0\0\0\0\0\0\1", 8, 0);
    assert_int_equal(pawl_atomic_add(a, 10, &r), 0);
    expect(&r, 1, 11);
    assert_int_equal(pawl_atomic_compare_and_set(a, 12, 5, &r), 0);
    assert_false(r.succeeded);
    assert_int_equal(r.before, 11);
    assert_int_equal(pawl_atomic_compare_and_set(a, 11, -1, &r), 0);
    expect(&r, 11, -1);
    expect_node(c, "/a/long", "\377\377\377\377\377\377\377\377", 8, 2);
    assert_int_equal(pawl_atomic_initialise(a, 5, &r), 0);
    assert_false(r.succeeded);
    assert_int_equal(pawl_atomic_force_set(a, 100, &r), 0);
    assert_true(r.succeeded);
    assert_int_equal(r.after, 100);
    expect_node(c, "/a/long", "\0\0\0\0\0\0\0\144", 8, 3);
    assert_int_equal(pawl_atomic_subtract(a, 101, &r), 0);
    expect(&r, 100, -1);
    assert_int_equal(pawl_atomic_decrement(a, &r), 0);
    expect(&r, -1, -2);
    assert_int_equal(pawl_atomic_try_set(a, INT64_MAX, &r), 0);
    assert_int_equal(pawl_atomic_increment(a, &r), 0);
    expect(&r, INT64_MAX, INT64_MIN);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

static void a_small_number_is_four_bytes_and_wraps(void **state)
{
    struct pawl_atomic_options o = {.size = sizeof(o), .bits = 32};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/int", &o);
    struct pawl_atomic_result r;

    (void)state;
    assert_int_equal(pawl_atomic_initialise(a, 2, &r), 0);
    assert_true(r.succeeded);
    assert_int_equal(r.after, 2);
    expect_node(c, "/a/int", "\0\0\0\2", 4, 0);
    assert_int_equal(pawl_atomic_try_set(a, INT32_MAX, &r), 0);
    expect(&r, 2, INT32_MAX);
    assert_int_equal(pawl_atomic_increment(a, &r), 0);
    expect(&r, INT32_MAX, INT32_MIN);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

static void data_of_another_length_are_read_as_curator_reads_them(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/odd", NULL);
    struct pawl_atomic_result r;

    (void)state;
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/a/odd", .data = {"", 0}), NULL), 0);
    assert_int_equal(pawl_atomic_get(a, &r), 0);
    expect(&r, 0, 0);
    assert_int_equal(pawl_set(c, PAWL_SET(.path = "/a/odd", .data = {"\0\0\1", 3}), NULL), 0);
    assert_int_equal(pawl_atomic_get(a, &r), PAWL_ERR_DATA_INCONSISTENCY);
    assert_int_equal(pawl_atomic_increment(a, &r), PAWL_ERR_DATA_INCONSISTENCY);
    assert_false(r.succeeded);
    assert_int_equal(r.outcome, PAWL_OUTCOME_REFUSED);
    assert_int_equal(
        pawl_set(c, PAWL_SET(.path = "/a/odd", .data = {"\0\0\0\0\0\0\0\7more", 12}), NULL), 0);
    assert_int_equal(pawl_atomic_increment(a, &r), 0);
    expect(&r, 7, 8);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

static void a_forced_value_needs_no_node(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/deep/er/force", NULL);
    struct pawl_atomic_result r;

    (void)state;
    assert_int_equal(pawl_atomic_force_set(a, 3, &r), 0);
    assert_true(r.succeeded);
    expect_node(c, "/a/deep/er/force", "\0\0\0\0\0\0\0\3", 8, 0);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_atomic_options bits = {.size = sizeof(bits), .bits = 16};
    struct pawl_atomic_options lock = {.size = sizeof(lock), .lock_path = "no"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_cached_atomic *x;
    struct pawl_atomic *a;

    (void)state;
    assert_int_equal(pawl_atomic_new(c, "/a", &bits, &a), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_atomic_new(c, "/a", &lock, &a), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_atomic_new(c, "a", NULL, &a), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_atomic_get(NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_cached_atomic_new(NULL, 1, &x), PAWL_ERR_BAD_ARGUMENTS);
    pawl_atomic_free(NULL);
    pawl_atomic_value_free(NULL);
    pawl_cached_atomic_free(NULL);
    pawl_client_close(c);
}

/* ---- contention ---- */

enum { THREADS = 4, ROUNDS = 60 };

struct worker {
    pthread_t thread;
    struct pawl_atomic *a;
    struct pawl_cached_atomic *x;
    int64_t numbers[ROUNDS];
    int n_promoted;
    _Atomic bool stop;
};

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Each number was handed out once. */
static void expect_distinct(const struct worker *w, int64_t first, bool gapless)
{
    int64_t all[THREADS * ROUNDS];

    for (int i = 0; i < THREADS; i++) {
        memcpy(all + i * ROUNDS, w[i].numbers, sizeof(w[i].numbers));
    }
    qsort(all, TEST_COUNT(all), sizeof(all[0]), compare_numbers);
    assert_int_equal(all[0], first);
    for (size_t i = 1; i < TEST_COUNT(all); i++) {
        assert_true(gapless ? all[i] == all[i - 1] + 1 : all[i] > all[i - 1]);
    }
}

static void *increment(void *arg)
{
    struct worker *w = arg;
    struct pawl_atomic_result r;

    for (int i = 0; i < ROUNDS;) {
        assert_int_equal(pawl_atomic_increment(w->a, &r), 0);
        w->n_promoted += r.stats.promoted_tries;
        if (r.succeeded) {
            w->numbers[i++] = r.after;
        }
    }
    return NULL;
}

static void run_workers(const struct pawl_atomic_options *o, const char *path, struct worker *w)
{
    struct pawl_client *c[THREADS];

    for (int i = 0; i < THREADS; i++) {
        c[i] = client_fixture_open(NULL);
        w[i].a = new_atomic(c[i], path, o);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&w[i].thread, NULL, increment, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        pawl_atomic_free(w[i].a);
        pawl_client_close(c[i]);
    }
}

static void many_who_count_get_different_numbers(void **state)
{
    struct worker w[THREADS] = {{.n_promoted = 0}};

    (void)state;
    run_workers(NULL, "/a/many", w);
    expect_distinct(w, 1, true);
}

static void who_is_too_slow_takes_the_lock(void **state)
{
    struct pawl_atomic_options o = {.size = sizeof(o),
                                    .retry = {.kind = PAWL_RETRY_N_TIMES, .n = 0},
                                    .lock_path = "/a/lock",
                                    .lock_retry = {.kind = PAWL_RETRY_N_TIMES, .n = 1000}};
    struct pawl_client *c = client_fixture_open(NULL);
    struct worker w[THREADS] = {{.n_promoted = 0}};
    struct pawl_reply *reply;
    int promoted = 0;

    (void)state;
    run_workers(&o, "/a/locked", w);
    expect_distinct(w, 1, true);
    for (int i = 0; i < THREADS; i++) {
        promoted += w[i].n_promoted;
    }
    assert_true(promoted > 0);
    assert_int_equal(pawl_children(c, "/a/lock", NULL, &reply), 0);
    assert_int_equal(reply->children.n, 0); /* each session has ended: nothing is left */
    pawl_reply_free(reply);
    pawl_client_close(c);
}

/* Somebody writes between our read and our write, always. */
static void *disturb(void *arg)
{
    struct worker *w = arg;
    struct pawl_client *c = client_fixture_open(NULL);

    while (!w->stop) {
        assert_int_equal(
            pawl_set(c, PAWL_SET(.path = "/a/busy", .data = {"\0\0\0\0\0\0\0\0", 8}), NULL), 0);
    }
    pawl_client_close(c);
    return NULL;
}

static void who_never_succeeds_says_so(void **state)
{
    struct pawl_atomic_options o = {.size = sizeof(o),
                                    .retry = {.kind = PAWL_RETRY_N_TIMES, .n = 0}};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/busy", &o);
    struct pawl_atomic_result r;
    struct worker w = {.n_promoted = 0};
    int refused = 0;

    (void)state;
    assert_int_equal(pawl_atomic_initialise(a, 0, &r), 0);
    pthread_create(&w.thread, NULL, disturb, &w);
    for (int64_t end = now_ms() + SOON_MS; refused == 0;) {
        assert_int_equal(pawl_atomic_increment(a, &r), 0);
        if (!r.succeeded) {
            refused++;
            assert_int_equal(r.outcome, PAWL_OUTCOME_REFUSED);
            assert_int_equal(r.stats.optimistic_tries, 1);
        }
        assert_true(now_ms() < end);
    }
    w.stop = true;
    pthread_join(w.thread, NULL);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

/* ---- lost answers: R-41 ---- */

struct told {
    sem_t done;
    _Atomic int err;
    struct pawl_atomic_result r;
};

static void tell(struct pawl_atomic *a, int err, const struct pawl_atomic_result *r, void *arg)
{
    struct told *t = arg;

    (void)a;
    t->err = err;
    t->r = *r;
    sem_post(&t->done);
}

static void until_version(struct pawl_client *c, const char *path, int32_t version)
{
    struct pawl_reply *reply;
    bool there = false;

    for (int64_t end = now_ms() + SOON_MS; !there;) {
        there = pawl_exists(c, path, NULL, &reply) == 0 && reply->stat.version == version;
        pawl_reply_free(reply);
        assert_true(now_ms() < end);
    }
}

/* How the write behind the next read gets lost. */
enum loss { LOSE_ANSWER, LOSE_REQUEST };

struct trap {
    struct behind_proxy p;
    enum loss loss;
    _Atomic bool armed;
};

/* Runs when the answer to the read is there, and before the write is made. */
static void spring(const struct pawl_metric *metric, void *arg)
{
    struct trap *t = arg;

    if (strcmp(metric->op, "getData") == 0 && atomic_exchange(&t->armed, false)) {
        if (t->loss == LOSE_ANSWER) {
            tcp_proxy_swallow_replies(t->p.proxy, true);
        } else {
            tcp_proxy_freeze(t->p.proxy, true);
        }
    }
}

typedef void (*between_fn)(struct pawl_client *c, const char *path);

/* One more; `between` happens when the write has been made, or lost, and not been answered.
 * `before` NULL: there is no node. */
static void add_one_in_a_trap(const char *path, bool mark, enum loss loss, const int64_t *before,
                              between_fn between, struct told *t)
{
    struct pawl_atomic_options o = {.size = sizeof(o), .mark = mark};
    struct trap trap = {.loss = loss, .armed = false};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic_result r;
    struct pawl_atomic *a;

    sem_init(&t->done, 0, 0);
    co.metric = spring;
    co.metric_arg = &trap;
    behind_proxy_open(&trap.p, &co);
    a = new_atomic(trap.p.c, path, &o);
    if (before != NULL) {
        assert_int_equal(pawl_atomic_initialise(a, *before, &r), 0);
        assert_true(r.succeeded);
    }
    trap.armed = true;
    assert_int_equal(pawl_atomic_add_async(a, 1, tell, t), 0);
    wait_until(!trap.armed);
    if (loss == LOSE_ANSWER) {
        until_version(c, path, before != NULL);
    }
    between(c, path);
    tcp_proxy_cut(trap.p.proxy);
    tcp_proxy_swallow_replies(trap.p.proxy, false);
    tcp_proxy_freeze(trap.p.proxy, false);
    wait_semaphore(&t->done);
    pawl_atomic_free(a);
    behind_proxy_close(&trap.p);
    pawl_client_close(c);
}

static void add_in_a_trap(const char *path, bool mark, enum loss loss, between_fn between,
                          struct told *t)
{
    static const int64_t before = 41;

    add_one_in_a_trap(path, mark, loss, &before, between, t);
}

static void add_from_nothing_in_a_trap(const char *path, enum loss loss, between_fn between,
                                       struct told *t)
{
    add_one_in_a_trap(path, true, loss, NULL, between, t);
}

static void nothing(struct pawl_client *c, const char *path)
{
    (void)c;
    (void)path;
}

static void add_ten(struct pawl_client *c, const char *path)
{
    struct pawl_atomic *a = new_atomic(c, path, NULL);
    struct pawl_atomic_result r;

    assert_int_equal(pawl_atomic_add(a, 10, &r), 0);
    assert_true(r.succeeded);
    pawl_atomic_free(a);
}

static void add_one(struct pawl_client *c, const char *path)
{
    struct pawl_atomic *a = new_atomic(c, path, NULL);

    assert_int_equal(pawl_atomic_increment(a, NULL), 0);
    pawl_atomic_free(a);
}

static int64_t value_at(const char *path)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, path, NULL);
    struct pawl_atomic_result r;

    assert_int_equal(pawl_atomic_get(a, &r), 0);
    pawl_atomic_free(a);
    pawl_client_close(c);
    return r.after;
}

static void expect_unknown(const struct told *t)
{
    assert_int_equal(t->err, PAWL_ERR_CONNECTION_LOSS);
    assert_false(t->r.succeeded);
    assert_int_equal(t->r.outcome, PAWL_OUTCOME_UNKNOWN);
}

static void a_change_without_an_answer_is_made_once_and_known_by_its_mark(void **state)
{
    struct told t;

    (void)state;
    add_in_a_trap("/a/mark", true, LOSE_ANSWER, nothing, &t);
    assert_int_equal(t.err, 0);
    expect(&t.r, 41, 42);
    assert_int_equal(value_at("/a/mark"), 42);
}

static void without_a_mark_the_same_change_may_be_another_ones(void **state)
{
    struct told t;

    (void)state;
    add_in_a_trap("/a/unmarked", false, LOSE_ANSWER, nothing, &t);
    expect_unknown(&t);
    assert_int_equal(value_at("/a/unmarked"), 42); /* once */
}

static void a_change_that_was_written_over_is_unknown(void **state)
{
    struct told t;

    (void)state;
    add_in_a_trap("/a/over", true, LOSE_ANSWER, add_ten, &t);
    expect_unknown(&t);
    assert_int_equal(value_at("/a/over"), 52);
}

static void a_change_that_did_not_arrive_is_made_again(void **state)
{
    struct told t;

    (void)state;
    add_in_a_trap("/a/request", false, LOSE_REQUEST, nothing, &t);
    assert_int_equal(t.err, 0);
    expect(&t.r, 41, 42);
    assert_int_equal(value_at("/a/request"), 42);
}

static void a_change_of_another_is_not_taken_for_ours(void **state)
{
    struct told t;

    (void)state;
    add_in_a_trap("/a/other", false, LOSE_REQUEST, add_ten, &t);
    assert_int_equal(t.err, 0);
    expect(&t.r, 51, 52);
    assert_int_equal(value_at("/a/other"), 52);
    add_in_a_trap("/a/same", true, LOSE_REQUEST, add_one, &t);
    assert_int_equal(t.err, 0);
    expect(&t.r, 42, 43);
    add_in_a_trap("/a/twin", false, LOSE_REQUEST, add_one, &t);
    expect_unknown(&t); /* 42, and nobody can tell whose */
    assert_int_equal(value_at("/a/twin"), 42);
}

static void take_away(struct pawl_client *c, const char *path)
{
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = path), NULL), 0);
}

static void take_away_and_make_again(struct pawl_client *c, const char *path)
{
    take_away(c, path);
    add_ten(c, path);
}

/* Whoever deleted it may have deleted what we made: to make it again would be to count twice, and
 * that it was refused a lie. */
static void a_number_made_and_deleted_in_between_is_unknown(void **state)
{
    struct told t;

    (void)state;
    add_from_nothing_in_a_trap("/a/made", LOSE_ANSWER, take_away, &t);
    expect_unknown(&t);
    add_from_nothing_in_a_trap("/a/madebyother", LOSE_ANSWER, take_away_and_make_again, &t);
    expect_unknown(&t);
    assert_int_equal(value_at("/a/madebyother"), 10);
}

static void a_number_that_was_not_made_is_made_again(void **state)
{
    struct told t;

    (void)state;
    add_from_nothing_in_a_trap("/a/from/request", LOSE_REQUEST, nothing, &t);
    assert_int_equal(t.err, 0);
    expect(&t.r, 0, 1);
    add_from_nothing_in_a_trap("/a/quite/far/down", LOSE_REQUEST, nothing, &t);
    assert_int_equal(t.err, 0);
    expect(&t.r, 0, 1);
}

static void who_cannot_reach_the_server_in_time_has_changed_nothing(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_atomic_result r;
    struct pawl_atomic *a;
    struct behind_proxy p;

    (void)state;
    co.timeout_ms = 300;
    behind_proxy_open(&p, &co);
    a = new_atomic(p.c, "/a/down", NULL);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 1, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_atomic_increment(a, &r), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(r.outcome, PAWL_OUTCOME_NOT_SENT);
    assert_int_equal(pawl_atomic_force_set(a, 9, &r), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(r.outcome, PAWL_OUTCOME_NOT_SENT);
    tcp_proxy_accept(p.proxy, true);
    assert_int_equal(pawl_client_wait_connected(p.c, SOON_MS), 0);
    expect_next_state(&p, 2, PAWL_STATE_RECONNECTED);
    wait_until(pawl_exists(p.c, "/a/down", NULL, NULL) == PAWL_ERR_NO_NODE);
    pawl_atomic_free(a);
    behind_proxy_close(&p);
}

static void free_and_close_end_what_is_on_its_way(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_atomic *a;
    struct behind_proxy p;
    struct told t;

    (void)state;
    sem_init(&t.done, 0, 0);
    behind_proxy_open(&p, &co);
    tcp_proxy_freeze(p.proxy, true);
    a = new_atomic(p.c, "/a/end", NULL);
    assert_int_equal(pawl_atomic_add_async(a, 1, tell, &t), 0);
    pawl_atomic_free(a);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, PAWL_ERR_CANCELLED);
    a = new_atomic(p.c, "/a/end", NULL);
    assert_int_equal(pawl_atomic_initialise_async(a, 1, tell, &t), 0);
    pawl_client_close_within(p.c, 100);
    wait_semaphore(&t.done);
    assert_int_equal(t.err, PAWL_ERR_CLOSING);
    pawl_atomic_free(a);
    behind_proxy_free(&p);
}

/* ---- values ---- */

static void a_value_is_the_bytes_themselves(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic_value_result *r;
    struct pawl_atomic_value *a;

    (void)state;
    assert_int_equal(pawl_atomic_value_new(c, "/a/value", NULL, &a), 0);
    assert_int_equal(pawl_atomic_value_get(a, &r), 0);
    assert_true(r->succeeded);
    assert_null(r->before.data);
    assert_null(r->after.data);
    pawl_atomic_value_result_free(r);
    assert_int_equal(pawl_atomic_value_try_set(a, text_bytes("hello"), &r), 0);
    assert_true(r->succeeded);
    assert_str_view(bytes_of(r->after.data, r->after.len), "hello");
    pawl_atomic_value_result_free(r);
    expect_node(c, "/a/value", "hello", 5, 0);
    assert_int_equal(pawl_atomic_value_compare_and_set(a, text_bytes("hell"), text_bytes("x"), &r),
                     0);
    assert_false(r->succeeded);
    assert_str_view(bytes_of(r->before.data, r->before.len), "hello");
    pawl_atomic_value_result_free(r);
    assert_int_equal(
        pawl_atomic_value_compare_and_set(a, text_bytes("hello"), text_bytes("bye"), &r), 0);
    assert_true(r->succeeded);
    pawl_atomic_value_result_free(r);
    assert_int_equal(pawl_atomic_value_initialise(a, text_bytes("x"), &r), 0);
    assert_false(r->succeeded);
    pawl_atomic_value_result_free(r);
    assert_int_equal(pawl_atomic_value_force_set(a, text_bytes("forced"), NULL), 0);
    expect_node(c, "/a/value", "forced", 6, 2);
    pawl_atomic_value_free(a);
    pawl_client_close(c);
}

/* ---- cached numbers ---- */

static void *take_numbers(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(pawl_cached_atomic_next(w->x, &w->numbers[i]), 0);
    }
    return NULL;
}

static void cached_numbers_cost_one_change_per_block(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/cached", NULL);
    struct pawl_cached_atomic *x;
    int64_t n;

    (void)state;
    assert_int_equal(pawl_cached_atomic_new(a, 5, &x), 0);
    for (int i = 1; i <= 7; i++) {
        assert_int_equal(pawl_cached_atomic_next(x, &n), 0);
        assert_int_equal(n, i);
    }
    expect_node(c, "/a/cached", "\0\0\0\0\0\0\0\12", 8, 1);
    pawl_cached_atomic_free(x);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

static void cached_numbers_wrap_like_their_number(void **state)
{
    struct pawl_atomic_options o = {.size = sizeof(o), .bits = 32};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_atomic *a = new_atomic(c, "/a/cachedwrap", &o);
    struct pawl_cached_atomic *x;
    int64_t n;

    (void)state;
    assert_int_equal(pawl_atomic_force_set(a, INT32_MAX - 1, NULL), 0);
    assert_int_equal(pawl_cached_atomic_new(a, 10, &x), 0);
    assert_int_equal(pawl_cached_atomic_next(x, &n), 0);
    assert_true(n == INT32_MAX);
    assert_int_equal(pawl_cached_atomic_next(x, &n), 0);
    assert_true(n == INT32_MIN);
    pawl_cached_atomic_free(x);
    pawl_atomic_free(a);
    pawl_client_close(c);
}

static void threads_and_processes_share_no_cached_number(void **state)
{
    struct pawl_client *c[2] = {client_fixture_open(NULL), client_fixture_open(NULL)};
    struct worker w[THREADS] = {{.n_promoted = 0}};
    struct pawl_cached_atomic *x[2];
    struct pawl_atomic *a[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        a[i] = new_atomic(c[i], "/a/shared", NULL);
        assert_int_equal(pawl_cached_atomic_new(a[i], 7, &x[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        w[i].x = x[i % 2];
        pthread_create(&w[i].thread, NULL, take_numbers, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
    }
    expect_distinct(w, 1, false);
    for (int i = 0; i < 2; i++) {
        pawl_cached_atomic_free(x[i]);
        pawl_atomic_free(a[i]);
        pawl_client_close(c[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_eight_bytes_the_highest_first),
        cmocka_unit_test(a_small_number_is_four_bytes_and_wraps),
        cmocka_unit_test(data_of_another_length_are_read_as_curator_reads_them),
        cmocka_unit_test(a_forced_value_needs_no_node),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(many_who_count_get_different_numbers),
        cmocka_unit_test(who_is_too_slow_takes_the_lock),
        cmocka_unit_test(who_never_succeeds_says_so),
        cmocka_unit_test(a_change_without_an_answer_is_made_once_and_known_by_its_mark),
        cmocka_unit_test(without_a_mark_the_same_change_may_be_another_ones),
        cmocka_unit_test(a_change_that_was_written_over_is_unknown),
        cmocka_unit_test(a_change_that_did_not_arrive_is_made_again),
        cmocka_unit_test(a_change_of_another_is_not_taken_for_ours),
        cmocka_unit_test(a_number_made_and_deleted_in_between_is_unknown),
        cmocka_unit_test(a_number_that_was_not_made_is_made_again),
        cmocka_unit_test(who_cannot_reach_the_server_in_time_has_changed_nothing),
        cmocka_unit_test(free_and_close_end_what_is_on_its_way),
        cmocka_unit_test(a_value_is_the_bytes_themselves),
        cmocka_unit_test(cached_numbers_cost_one_change_per_block),
        cmocka_unit_test(cached_numbers_wrap_like_their_number),
        cmocka_unit_test(threads_and_processes_share_no_cached_number),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
