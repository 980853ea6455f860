/* SPDX-License-Identifier: Apache-2.0 */
/* The barrier and the double barrier, against a real server, over links that can be cut. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static bool exists(struct pawl_client *c, const char *path)
{
    return pawl_exists(c, path, NULL, NULL) == 0;
}

static int n_nodes(struct pawl_client *c, const char *path)
{
    struct pawl_reply *reply;
    int n = pawl_children(c, path, NULL, &reply) == 0 ? (int)reply->children.n : 0;

    pawl_reply_free(reply);
    return n;
}

static void until_nodes(struct pawl_client *c, const char *path, int n)
{
    wait_until(n_nodes(c, path) == n);
}

struct told {
    sem_t done;
    _Atomic int err, n;
};

static void told_init(struct told *t)
{
    sem_init(&t->done, 0, 0);
    t->err = 1;
    t->n = 0;
}

static void told(struct told *t, int err)
{
    t->err = err;
    t->n++;
    sem_post(&t->done);
}

static void expect_told(struct told *t, int err)
{
    wait_semaphore(&t->done);
    assert_int_equal(t->err, err);
}

static void tell(struct pawl_barrier *b, int err, void *arg)
{
    (void)b;
    told(arg, err);
}

static void tell_double(struct pawl_double_barrier *b, int err, void *arg)
{
    (void)b;
    told(arg, err);
}

static struct pawl_barrier *new_barrier(struct pawl_client *c, const char *path)
{
    struct pawl_barrier *b = NULL;

    assert_int_equal(pawl_barrier_new(c, path, &b), 0);
    return b;
}

static struct pawl_double_barrier *new_double(struct pawl_client *c, const char *path, int n)
{
    struct pawl_double_barrier *b = NULL;

    assert_int_equal(pawl_double_barrier_new(c, path, n, &b), 0);
    return b;
}

/* ---- the barrier ---- */

static void a_barrier_holds_while_its_node_is_there(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_barrier *a = new_barrier(c, "/b/plain"), *b = new_barrier(d, "/b/plain");
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_barrier_wait(b, -1), 0); /* never raised */
    assert_int_equal(pawl_barrier_raise(a), 0);
    assert_int_equal(pawl_barrier_raise(a), 0); /* again: NODE_EXISTS is ignored */
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_barrier_wait(b, 50), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell, &t), 0);
    assert_int_equal(pawl_barrier_wait(b, 50), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(t.n, 0);
    assert_int_equal(pawl_barrier_lift(a), 0);
    expect_told(&t, 0);
    assert_int_equal(pawl_barrier_lift(a), 0); /* again: NO_NODE is ignored */
    assert_int_equal(pawl_barrier_wait(b, 0), 0);
    pawl_barrier_free(a);
    pawl_barrier_free(b);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void a_barrier_is_a_persistent_node_that_says_who_raised_it(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_barrier *b = new_barrier(c, "/b/shape");
    struct pawl_reply *reply;

    (void)state;
    assert_int_equal(pawl_barrier_raise(b), 0);
    assert_int_equal(pawl_get(c, "/b/shape", NULL, &reply), 0);
    assert_true(reply->data.len > 0);
    assert_int_equal(reply->stat.ephemeral_owner, 0);
    assert_int_equal(reply->stat.version, 0);
    pawl_reply_free(reply);
    pawl_barrier_free(b);
    assert_true(exists(c, "/b/shape"));
    pawl_client_close(c);
}

static void a_new_session_does_not_lift_a_barrier(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_barrier *a = new_barrier(c, "/b/session"), *b;
    struct behind_proxy p;
    struct told t;

    (void)state;
    told_init(&t);
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&p, &co);
    b = new_barrier(p.c, "/b/session");
    assert_int_equal(pawl_barrier_raise(a), 0);
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell, &t), 0);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&p, 2, PAWL_STATE_LOST);
    tcp_proxy_accept(p.proxy, true);
    expect_next_state(&p, 3, PAWL_STATE_RECONNECTED);
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(t.n, 0);
    assert_int_equal(pawl_barrier_lift(a), 0);
    expect_told(&t, 0);
    pawl_barrier_free(a);
    pawl_barrier_free(b);
    behind_proxy_close(&p);
    pawl_client_close(c);
}

static void a_barrier_lifted_behind_our_back_lets_us_through_afterwards(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_barrier *a = new_barrier(c, "/b/back"), *b;
    struct behind_proxy p;
    struct told t;

    (void)state;
    told_init(&t);
    behind_proxy_open(&p, &co);
    b = new_barrier(p.c, "/b/back");
    assert_int_equal(pawl_barrier_raise(a), 0);
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell, &t), 0);
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 1, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_barrier_lift(a), 0);
    assert_int_equal(t.n, 0);
    tcp_proxy_accept(p.proxy, true);
    expect_told(&t, 0);
    pawl_barrier_free(a);
    pawl_barrier_free(b);
    behind_proxy_close(&p);
    pawl_client_close(c);
}

static void who_waits_is_cancelled_by_free_and_told_of_the_close(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_barrier *a = new_barrier(c, "/b/end"), *b = new_barrier(c, "/b/end");
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_barrier_raise(a), 0);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell, &t), 0);
    pawl_barrier_free(b);
    expect_told(&t, PAWL_ERR_CANCELLED);
    assert_int_equal(pawl_barrier_wait_async(a, -1, tell, &t), 0);
    pawl_client_close(c);
    expect_told(&t, PAWL_ERR_CLOSING);
    pawl_barrier_free(a);
    assert_int_equal(t.n, 2);
}

static void what_is_asked_of_a_closed_client_is_refused_or_told(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_barrier *b = new_barrier(c, "/b/closed");
    struct pawl_double_barrier *d = NULL;
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_double_barrier_new(c, "/b/closed2", 1, &d), 0);
    pawl_client_close(c);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell, &t), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_barrier_raise_async(b, tell, &t), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_barrier_wait(b, -1), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_double_barrier_enter_async(d, -1, tell_double, &t), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_double_barrier_enter(d, -1), PAWL_ERR_CLOSING);
    pawl_barrier_free(b);
    pawl_double_barrier_free(d);
    assert_int_equal(t.n, 0);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_double_barrier *d;
    struct pawl_barrier *b;

    (void)state;
    assert_int_equal(pawl_barrier_new(c, "x", &b), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_barrier_new(NULL, "/x", &b), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_barrier_wait(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_barrier_raise(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_double_barrier_new(c, "/x", 0, &d), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_double_barrier_enter(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    pawl_barrier_free(NULL);
    pawl_double_barrier_free(NULL);
    pawl_client_close(c);
}

/* ---- the double barrier ---- */

enum { THREE = 3 };

struct member {
    struct pawl_client *c;
    struct pawl_double_barrier *b;
    struct told t;
};

static void members_open(struct member *m, int n, const char *path, int needed)
{
    for (int i = 0; i < n; i++) {
        m[i].c = client_fixture_open(NULL);
        m[i].b = new_double(m[i].c, path, needed);
        told_init(&m[i].t);
    }
}

static void members_close(struct member *m, int n)
{
    for (int i = 0; i < n; i++) {
        pawl_double_barrier_free(m[i].b);
        pawl_client_close(m[i].c);
    }
}

static void start_enter(struct member *m)
{
    assert_int_equal(pawl_double_barrier_enter_async(m->b, -1, tell_double, &m->t), 0);
}

static void start_leave(struct member *m)
{
    assert_int_equal(pawl_double_barrier_leave_async(m->b, -1, tell_double, &m->t), 0);
}

static void all_enter_together_and_leave_together(void **state)
{
    struct member m[THREE];

    (void)state;
    members_open(m, THREE, "/d/all", THREE);
    for (int round = 0; round < 5; round++) {
        start_enter(&m[0]);
        start_enter(&m[1]);
        until_nodes(m[0].c, "/d/all", 2);
        assert_int_equal(m[0].t.n + m[1].t.n, round * 4);
        start_enter(&m[2]);
        for (int i = 0; i < THREE; i++) {
            expect_told(&m[i].t, 0);
        }
        assert_int_equal(n_nodes(m[0].c, "/d/all"), 4);
        assert_true(exists(m[0].c, "/d/all/ready"));
        start_leave(&m[0]);
        start_leave(&m[1]);
        assert_int_equal(pawl_double_barrier_enter(m[0].b, 0), PAWL_ERR_INVALID_STATE);
        assert_int_equal(m[0].t.n + m[1].t.n, round * 4 + 2);
        start_leave(&m[2]);
        for (int i = 0; i < THREE; i++) {
            expect_told(&m[i].t, 0);
        }
        assert_int_equal(n_nodes(m[0].c, "/d/all"), 0);
    }
    members_close(m, THREE);
}

/* Each as fast as it can: nobody gets through without the others, and nobody hangs because another
 * one is a round ahead. */
enum { RUNS = 30, BREAKS = 200 };

struct rounds {
    const char *path;
    _Atomic int arrived, leaving, finished;
};

struct runner {
    struct rounds *rounds;
    struct pawl_client *c;
    pthread_t thread;
    int n; /* rounds gone through */
    int enter_err, leave_err;
    bool early;
};

/* No assertions on other threads: what went wrong is kept for the test's. */
static void *run(void *arg)
{
    struct runner *r = arg;
    struct pawl_double_barrier *b = NULL;

    pawl_double_barrier_new(r->c, r->rounds->path, THREE, &b);
    while (r->n < RUNS && r->enter_err == 0 && r->leave_err == 0 && !r->early) {
        r->n++;
        r->rounds->arrived++;
        r->enter_err = pawl_double_barrier_enter(b, SOON_MS);
        r->early = r->enter_err == 0 && r->rounds->arrived < r->n * THREE;
        r->rounds->leaving++;
        r->leave_err = r->enter_err == 0 ? pawl_double_barrier_leave(b, SOON_MS) : 0;
        r->early |= r->leave_err == 0 && r->rounds->leaving < r->n * THREE;
    }
    pawl_double_barrier_free(b);
    r->rounds->finished++;
    return NULL;
}

static void expect_all_rounds(struct runner *r)
{
    pthread_join(r->thread, NULL);
    assert_int_equal(r->enter_err, 0);
    assert_int_equal(r->leave_err, 0);
    assert_false(r->early);
    assert_int_equal(r->n, RUNS);
}

static void rounds_follow_each_other_without_a_pause(void **state)
{
    struct rounds rounds = {.path = "/d/rounds"};
    struct runner r[THREE];

    (void)state;
    for (int i = 0; i < THREE; i++) {
        r[i] = (struct runner){.rounds = &rounds, .c = client_fixture_open(NULL)};
        pthread_create(&r[i].thread, NULL, run, &r[i]);
    }
    for (int i = 0; i < THREE; i++) {
        expect_all_rounds(&r[i]);
        pawl_client_close(r[i].c);
    }
}

/* No answer is safe: what was asked is found out again. */
static void rounds_go_on_over_links_that_break(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct timespec pause = {.tv_nsec = 7 * 1000 * 1000};
    struct rounds rounds = {.path = "/d/breaks"};
    struct behind_proxy p[THREE];
    struct runner r[THREE];

    (void)state;
    for (int i = 0; i < THREE; i++) {
        behind_proxy_open(&p[i], &co);
        pawl_client_remove_listener(p[i].c, co.on_state, co.on_state_arg); /* too many states */
        r[i] = (struct runner){.rounds = &rounds, .c = p[i].c};
        pthread_create(&r[i].thread, NULL, run, &r[i]);
    }
    /* Not without end: on a slow machine a link may break before it was of any use. */
    for (int i = 0; i < BREAKS && rounds.finished < THREE; i++) {
        nanosleep(&pause, NULL);
        tcp_proxy_cut(p[i % THREE].proxy);
    }
    for (int i = 0; i < THREE; i++) {
        expect_all_rounds(&r[i]);
        assert_int_equal(p[i].states.n, 1);
        behind_proxy_close(&p[i]);
    }
}

/* R-34, and: Curator's member leaves its node behind, which then counts without being there. */
static void who_gives_up_does_not_count_any_more(void **state)
{
    struct member m[2];

    (void)state;
    members_open(m, 2, "/d/late", 2);
    assert_int_equal(pawl_double_barrier_enter(m[0].b, 100), PAWL_ERR_OPERATION_TIMEOUT);
    until_nodes(m[0].c, "/d/late", 0);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    start_enter(&m[0]);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    assert_int_equal(pawl_double_barrier_leave(m[0].b, 100), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_double_barrier_leave(m[0].b, 100), PAWL_ERR_INVALID_STATE);
    assert_true(exists(m[0].c, "/d/late/ready")); /* the other one is inside still */
    assert_int_equal(pawl_double_barrier_leave(m[1].b, SOON_MS), 0);
    assert_int_equal(n_nodes(m[0].c, "/d/late"), 0);
    members_close(m, 2);
}

/* */
static void a_broken_link_lets_nobody_in(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct behind_proxy p;
    struct member m[2];

    (void)state;
    behind_proxy_open(&p, &co);
    m[0].c = p.c;
    m[0].b = new_double(p.c, "/d/link", 2);
    told_init(&m[0].t);
    members_open(&m[1], 1, "/d/link", 2);
    start_enter(&m[0]);
    until_nodes(m[1].c, "/d/link", 1);
    for (int i = 0; i < 3; i++) {
        tcp_proxy_cut(p.proxy);
        expect_next_state(&p, 1 + 2 * i, PAWL_STATE_SUSPENDED);
        expect_next_state(&p, 2 + 2 * i, PAWL_STATE_RECONNECTED);
    }
    assert_int_equal(pawl_sync(p.c, "/d/link", NULL), 0);
    assert_int_equal(m[0].t.n, 0);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    expect_next_state(&p, 7, PAWL_STATE_SUSPENDED);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0); /* opened behind his back */
    tcp_proxy_accept(p.proxy, true);
    expect_told(&m[0].t, 0);
    start_leave(&m[0]);
    assert_int_equal(pawl_double_barrier_leave(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    pawl_double_barrier_free(m[0].b);
    behind_proxy_close(&p);
    members_close(&m[1], 1);
}

static void who_loses_his_session_while_entering_comes_again(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct behind_proxy p;
    struct member m[2];

    (void)state;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&p, &co);
    m[0].c = p.c;
    m[0].b = new_double(p.c, "/d/again", 2);
    told_init(&m[0].t);
    members_open(&m[1], 1, "/d/again", 2);
    start_enter(&m[0]);
    until_nodes(m[1].c, "/d/again", 1);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    until_nodes(m[1].c, "/d/again", 0);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_accept(p.proxy, true);
    until_nodes(m[1].c, "/d/again", 1);
    assert_int_equal(m[0].t.n, 0);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    pawl_double_barrier_free(m[0].b);
    behind_proxy_close(&p);
    members_close(&m[1], 1);
}

static void a_node_deleted_by_others_is_made_again(void **state)
{
    struct member m[2];
    struct pawl_reply *reply;
    char path[128];

    (void)state;
    members_open(m, 2, "/d/deleted", 2);
    start_enter(&m[0]);
    until_nodes(m[1].c, "/d/deleted", 1);
    assert_int_equal(pawl_children(m[1].c, "/d/deleted", NULL, &reply), 0);
    snprintf(path, sizeof(path), "/d/deleted/%s", reply->children.items[0]);
    pawl_reply_free(reply);
    assert_int_equal(pawl_delete(m[1].c, PAWL_DELETE(.path = path), NULL), 0);
    until_nodes(m[1].c, "/d/deleted", 1);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    assert_int_equal(pawl_delete(m[1].c, PAWL_DELETE(.path = path), NULL), 0);
    start_leave(&m[0]);
    assert_int_equal(pawl_double_barrier_leave(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, PAWL_ERR_LOST);
    members_close(m, 2);
}

/* S is woken only when two of the others have left: on Curator's HEAD all hang. */
static void a_slow_member_enters_though_the_others_leave(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct behind_proxy p;
    struct member m[4];

    (void)state;
    behind_proxy_open(&p, &co);
    m[0].c = p.c;
    m[0].b = new_double(p.c, "/d/slow", 4);
    told_init(&m[0].t);
    members_open(&m[1], 3, "/d/slow", 4);
    for (int i = 0; i < 3; i++) {
        start_enter(&m[i]);
    }
    until_nodes(m[1].c, "/d/slow", 3);
    assert_int_equal(pawl_sync(p.c, "/", NULL), 0);
    tcp_proxy_freeze(p.proxy, true);
    start_enter(&m[3]);
    for (int i = 1; i < 4; i++) {
        expect_told(&m[i].t, 0);
        start_leave(&m[i]);
    }
    wait_until(n_nodes(m[1].c, "/d/slow") <= 3);
    assert_int_equal(m[0].t.n, 0);
    tcp_proxy_freeze(p.proxy, false);
    expect_told(&m[0].t, 0);
    assert_int_equal(pawl_double_barrier_leave(m[0].b, SOON_MS), 0);
    for (int i = 1; i < 4; i++) {
        expect_told(&m[i].t, 0);
    }
    assert_int_equal(n_nodes(m[1].c, "/d/slow"), 0);
    pawl_double_barrier_free(m[0].b);
    behind_proxy_close(&p);
    members_close(&m[1], 3);
}

static void more_than_needed_are_let_in_while_it_is_open(void **state)
{
    struct member m[THREE];

    (void)state;
    members_open(m, THREE, "/d/more", 2);
    start_enter(&m[0]);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    assert_int_equal(pawl_double_barrier_enter(m[2].b, SOON_MS), 0);
    for (int i = 0; i < THREE; i++) {
        start_leave(&m[i]);
    }
    for (int i = 0; i < THREE; i++) {
        expect_told(&m[i].t, 0);
    }
    members_close(m, THREE);
}

/* Curator lets everybody through: all of its members have died, and nobody removed it. */
static void what_a_dead_round_left_behind_lets_nobody_through(void **state)
{
    struct member m[THREE];

    (void)state;
    members_open(m, THREE, "/d/stale", THREE);
    assert_int_equal(
        pawl_create(m[0].c, PAWL_CREATE(.path = "/d/stale/ready", .flags = PAWL_OP_PARENTS), NULL),
        0);
    start_enter(&m[0]);
    start_enter(&m[1]);
    wait_until(!exists(m[0].c, "/d/stale/ready"));
    until_nodes(m[0].c, "/d/stale", 2);
    assert_int_equal(m[0].t.n + m[1].t.n, 0);
    start_enter(&m[2]);
    for (int i = 0; i < THREE; i++) {
        expect_told(&m[i].t, 0);
    }
    members_close(m, THREE);
}

struct trap {
    struct behind_proxy p;
    _Atomic bool armed;
};

/* Runs when the answer to the listing is there, and before anything is made of it. */
static void spring(const struct pawl_metric *metric, void *arg)
{
    struct trap *t = arg;

    if (strncmp(metric->op, "getChildren", 11) == 0 && atomic_exchange(&t->armed, false)) {
        tcp_proxy_freeze(t->p.proxy, true);
    }
}

/* His delete of what was left behind is lost, and the barrier opened before he is back: a second
 * try would shut it again, and who leaves would not wait for the others. */
static void what_is_removed_late_is_not_the_next_round(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_client_options co = client_fixture_options();
    struct pawl_double_barrier *b = NULL;
    struct trap trap = {.armed = false};
    struct told t;

    (void)state;
    told_init(&t);
    co.metric = spring;
    co.metric_arg = &trap;
    behind_proxy_open(&trap.p, &co);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/d/late/ready", .flags = PAWL_OP_PARENTS), NULL), 0);
    assert_int_equal(pawl_double_barrier_new(trap.p.c, "/d/late", 2, &b), 0);
    trap.armed = true;
    assert_int_equal(pawl_double_barrier_enter_async(b, -1, tell_double, &t), 0);
    wait_until(!trap.armed);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/d/late/ready"), NULL), 0);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/d/late/ready"), NULL), 0);
    tcp_proxy_cut(trap.p.proxy);
    tcp_proxy_freeze(trap.p.proxy, false);
    expect_told(&t, 0);
    assert_true(exists(c, "/d/late/ready"));
    assert_int_equal(pawl_sync(trap.p.c, "/d/late", NULL), 0);
    assert_true(exists(c, "/d/late/ready"));
    pawl_double_barrier_free(b);
    behind_proxy_close(&trap.p);
    pawl_client_close(c);
}

static void who_dies_inside_does_not_hold_the_others(void **state)
{
    struct member m[2];

    (void)state;
    members_open(m, 2, "/d/dies", 2);
    start_enter(&m[0]);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    start_leave(&m[0]);
    pawl_client_close(m[1].c);
    expect_told(&m[0].t, 0);
    assert_int_equal(n_nodes(m[0].c, "/d/dies"), 0);
    assert_int_equal(pawl_double_barrier_leave(m[1].b, 100), PAWL_ERR_CLOSING);
    pawl_double_barrier_free(m[1].b);
    members_close(m, 1);
}

static void free_takes_a_member_away(void **state)
{
    struct member m[2];

    (void)state;
    members_open(m, 2, "/d/free", 2);
    start_enter(&m[0]);
    until_nodes(m[1].c, "/d/free", 1);
    pawl_double_barrier_free(m[0].b);
    expect_told(&m[0].t, PAWL_ERR_CANCELLED);
    until_nodes(m[1].c, "/d/free", 0);
    m[0].b = new_double(m[0].c, "/d/free", 2);
    start_enter(&m[0]);
    assert_int_equal(pawl_double_barrier_enter(m[1].b, SOON_MS), 0);
    expect_told(&m[0].t, 0);
    members_close(m, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_holds_while_its_node_is_there),
        cmocka_unit_test(a_barrier_is_a_persistent_node_that_says_who_raised_it),
        cmocka_unit_test(a_new_session_does_not_lift_a_barrier),
        cmocka_unit_test(a_barrier_lifted_behind_our_back_lets_us_through_afterwards),
        cmocka_unit_test(who_waits_is_cancelled_by_free_and_told_of_the_close),
        cmocka_unit_test(what_is_asked_of_a_closed_client_is_refused_or_told),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(all_enter_together_and_leave_together),
        cmocka_unit_test(rounds_follow_each_other_without_a_pause),
        cmocka_unit_test(rounds_go_on_over_links_that_break),
        cmocka_unit_test(who_gives_up_does_not_count_any_more),
        cmocka_unit_test(a_broken_link_lets_nobody_in),
        cmocka_unit_test(who_loses_his_session_while_entering_comes_again),
        cmocka_unit_test(a_node_deleted_by_others_is_made_again),
        cmocka_unit_test(a_slow_member_enters_though_the_others_leave),
        cmocka_unit_test(more_than_needed_are_let_in_while_it_is_open),
        cmocka_unit_test(what_a_dead_round_left_behind_lets_nobody_through),
        cmocka_unit_test(what_is_removed_late_is_not_the_next_round),
        cmocka_unit_test(who_dies_inside_does_not_hold_the_others),
        cmocka_unit_test(free_takes_a_member_away),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
