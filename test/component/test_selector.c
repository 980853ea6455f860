/* SPDX-License-Identifier: Apache-2.0 */
/* The leader selector against a real server, over a link that can be cut. R-xx: known bugs of
 * Curator that must not be ours. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"
#include "pawl/election.h"

enum { SESSION_MS = SHORT_SESSION_MS };

struct signals {
    sigset_t *set;
    sem_t done;
};

/* ---- a function that leads ---- */

struct reign {
    sem_t began, ended; /* posted */
    sem_t leave;        /* waited for, unless it is asked to stop */
    _Atomic int n, inside, most_inside;
    _Atomic uint64_t token;
    _Atomic int err;
    _Atomic bool stopped; /* the last one was asked to */
    bool deaf;            /* leaves only when told to */
    bool frees, requeues;
};

static bool wait_for_end(struct pawl_selector *s, struct reign *x)
{
    struct pollfd p = {.fd = pawl_grant_fd(pawl_selector_grant(s)), .events = POLLIN};

    for (;;) {
        if (sem_trywait(&x->leave) == 0) {
            return false;
        }
        if (!x->deaf && pawl_selector_should_stop(s)) {
            return true;
        }
        poll(&p, x->deaf ? 0 : 1, 2);
    }
}

static void lead(struct pawl_selector *s, uint64_t token, void *arg)
{
    struct reign *x = arg;
    int inside = ++x->inside;

    x->most_inside = inside > x->most_inside ? inside : x->most_inside;
    assert_true(token > x->token);
    x->token = token;
    x->n++;
    sem_post(&x->began);
    x->stopped = wait_for_end(s, x);
    if (x->requeues) {
        assert_int_equal(pawl_selector_requeue(s), 0);
        assert_int_equal(pawl_selector_requeue(s), PAWL_ERR_INVALID_STATE);
    }
    x->inside--;
    if (x->frees) {
        pawl_selector_free(s);
    }
    sem_post(&x->ended);
}

static void on_error(struct pawl_selector *s, int err, void *arg)
{
    (void)s;
    ((struct reign *)arg)->err = err;
    sem_post(&((struct reign *)arg)->ended);
}

static struct pawl_selector_options options_of(struct reign *x, const char *id)
{
    memset(x, 0, sizeof(*x));
    sem_init(&x->began, 0, 0);
    sem_init(&x->ended, 0, 0);
    sem_init(&x->leave, 0, 0);
    return (struct pawl_selector_options){.size = sizeof(struct pawl_selector_options),
                                          .id = id,
                                          .lead = lead,
                                          .on_error = on_error,
                                          .arg = x};
}

static struct pawl_selector *start(struct pawl_client *c, const char *path,
                                   const struct pawl_selector_options *o)
{
    struct pawl_selector *s = NULL;

    assert_int_equal(pawl_selector_new(c, path, o, &s), 0);
    assert_int_equal(pawl_selector_start(s), 0);
    return s;
}

/* The end of `lead` and the end of the leadership are not the same moment. */
static void until_resting(struct pawl_selector *s)
{
    for (int64_t end = now_ms() + SOON_MS;
         pawl_selector_interrupt(s) == 0 || pawl_selector_is_queued(s);) {
        assert_true(now_ms() < end);
    }
}

/* ---- one ---- */

static void lead_and_look(struct pawl_selector *s, uint64_t token, void *signals)
{
    (void)s;
    (void)token;
    pthread_sigmask(SIG_BLOCK, NULL, ((struct signals *)signals)->set);
    sem_post(&((struct signals *)signals)->done);
}

/* A program that `lead` starts, and its own handlers, would not see any signal otherwise. */
static void lead_has_the_signals_of_who_started_it(void **state)
{
    sigset_t mine, its;
    struct signals x = {.set = &its};
    struct pawl_selector_options o = {.size = sizeof(o), .lead = lead_and_look, .arg = &x};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_selector *s;

    (void)state;
    sem_init(&x.done, 0, 0);
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &mine, NULL);
    s = start(c, "/selector/signals", &o);
    wait_semaphore(&x.done);
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
    assert_int_equal(sigismember(&its, SIGTERM), 0);
    assert_int_equal(sigismember(&its, SIGINT), 0);
    assert_int_equal(sigismember(&its, SIGUSR2), 1);
    pawl_selector_free(s);
    pawl_client_close(c);
}

static void returning_gives_leadership_up_and_requeue_takes_it_again(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s = start(c, "/selector/a", &o);

    (void)state;
    wait_semaphore(&x.began);
    assert_true(pawl_selector_is_leader(s));
    assert_false(pawl_selector_is_queued(s));
    assert_int_equal(pawl_grant_token(pawl_selector_grant(s)), x.token);
    sem_post(&x.leave);
    wait_semaphore(&x.ended);
    until_nodes(c, "/selector/a", 0);
    until_resting(s);
    assert_false(pawl_selector_is_leader(s));
    assert_int_equal(x.n, 1);
    for (int i = 0; i < 5; i++) { /* right after it was seen not to lead (CURATOR-671) */
        assert_int_equal(pawl_selector_requeue(s), 0);
        wait_semaphore(&x.began);
        sem_post(&x.leave);
        until_resting(s);
    }
    assert_int_equal(x.n, 6);
    pawl_selector_free(s);
    until_nodes(c, "/selector/a", 0);
    pawl_client_close(c);
}

static void what_makes_no_sense_is_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x"), none = o;
    struct pawl_selector *s = NULL;

    (void)state;
    none.lead = NULL;
    assert_int_equal(pawl_selector_new(c, "/a", &none, &s), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_selector_new(c, "/a", NULL, &s), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_selector_new(c, "a", &o, &s), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_selector_start(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_true(pawl_selector_should_stop(NULL));
    pawl_selector_free(NULL);
    assert_int_equal(pawl_selector_new(c, "/selector/b", &o, &s), 0);
    assert_int_equal(pawl_selector_requeue(s), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_selector_interrupt(s), PAWL_ERR_NOT_HELD);
    assert_int_equal(pawl_selector_close(s), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_selector_start(s), 0);
    assert_int_equal(pawl_selector_start(s), PAWL_ERR_INVALID_STATE);
    wait_semaphore(&x.began);
    assert_int_equal(pawl_selector_close(s), 0);
    assert_int_equal(pawl_selector_close(s), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_selector_requeue(s), PAWL_ERR_INVALID_STATE);
    pawl_selector_free(s);
    pawl_client_close(c);
}

static void an_interrupt_asks_and_the_node_goes_when_lead_returns(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s;
    struct pollfd p = {.events = POLLIN};

    (void)state;
    x.deaf = true;
    s = start(c, "/selector/c", &o);
    wait_semaphore(&x.began);
    p.fd = pawl_grant_fd(pawl_selector_grant(s));
    assert_false(pawl_selector_should_stop(s));
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(pawl_selector_interrupt(s), 0);
    assert_true(pawl_selector_should_stop(s));
    assert_int_equal(poll(&p, 1, 0), 1);
    assert_true(pawl_selector_is_leader(s)); /* until it has returned */
    assert_int_equal(n_nodes(c, "/selector/c"), 1);
    sem_post(&x.leave);
    until_nodes(c, "/selector/c", 0);
    until_resting(s);
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(pawl_selector_requeue(s), 0);
    wait_semaphore(&x.began);
    assert_false(pawl_selector_should_stop(s)); /* the interrupt was for the last one */
    assert_int_equal(poll(&p, 1, 0), 0);
    sem_post(&x.leave);
    pawl_selector_free(s);
    pawl_client_close(c);
}

static void lead_may_requeue_and_free_its_selector(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");

    (void)state;
    x.requeues = true;
    start(c, "/selector/d", &o);
    wait_semaphore(&x.began);
    sem_post(&x.leave);
    wait_semaphore(&x.ended);
    wait_semaphore(&x.began);
    x.frees = true;
    x.requeues = false;
    sem_post(&x.leave);
    wait_semaphore(&x.ended);
    until_nodes(c, "/selector/d", 0);
    pawl_client_close(c);
}

static void free_waits_for_lead_and_the_node_stays_until_then(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s;

    (void)state;
    o.auto_requeue = 1;
    x.deaf = true;
    s = start(c, "/selector/e", &o);
    wait_semaphore(&x.began);
    assert_int_equal(pawl_selector_close(s), 0);
    assert_true(pawl_selector_should_stop(s));
    assert_int_equal(n_nodes(c, "/selector/e"), 1);
    sem_post(&x.leave);
    pawl_selector_free(s);
    assert_int_equal(x.inside, 0);
    assert_int_equal(x.n, 1); /* it was not queued again */
    until_nodes(c, "/selector/e", 0);
    pawl_client_close(c);
}

/* ---- several: vectors/curator/leaderselector.txt ---- */

static void expect_ids(struct pawl_selector *s, const char *first, const char *second)
{
    const char *ids[2] = {first, second};
    struct pawl_participants *p = NULL;

    assert_int_equal(pawl_selector_participants(s, &p), 0);
    assert_int_equal(p->n, 2);
    for (size_t i = 0; i < 2; i++) {
        const char *name = strrchr(p->items[i]->path, '/') + 1;

        assert_memory_equal(name, "_c_", 3);
        assert_memory_equal(name + 39, "-lock-00000000", 14);
        if (*ids[i] != '\0') {
            assert_int_equal(p->items[i]->data.len, strlen(ids[i]));
            assert_memory_equal(p->items[i]->data.data, ids[i], strlen(ids[i]));
        } else { /* our default data, which is never empty */
            assert_non_null(memmem(p->items[i]->data.data, p->items[i]->data.len, " pid=", 5));
        }
    }
    pawl_participants_free(p);
}

static void nodes_and_succession_are_those_of_curator(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct reign x, y;
    struct pawl_selector_options o = options_of(&x, "idA"), q = options_of(&y, "");
    struct pawl_selector *a, *b;

    (void)state;
    o.auto_requeue = 1;
    a = start(c, "/selector/f", &o);
    wait_semaphore(&x.began);
    b = start(d, "/selector/f", &q);
    until_nodes(c, "/selector/f", 2);
    expect_ids(a, "idA", "");
    assert_int_equal(pawl_selector_interrupt(b), PAWL_ERR_NOT_HELD);
    assert_true(pawl_selector_is_queued(b));
    assert_int_equal(pawl_selector_interrupt(a), 0);
    wait_semaphore(&x.ended);
    assert_true(x.stopped);
    wait_semaphore(&y.began);
    until_nodes(c, "/selector/f", 2);
    expect_ids(a, "", "idA");
    assert_false(pawl_selector_is_leader(a));
    assert_true(y.token > x.token);
    pawl_selector_free(b);
    assert_true(y.stopped);
    wait_semaphore(&x.began);
    pawl_selector_free(a);
    assert_int_equal(x.n, 2);
    pawl_client_close(c);
    pawl_client_close(d);
}

enum { TURNS = 200 };

struct turns {
    sem_t gate; /* of the first: until all are in the queue */
    _Atomic int inside, total, of[4];
    _Atomic uint64_t last;
    sem_t enough;
};

struct turn {
    struct turns *turns;
    int i;
};

static void take_turn(struct pawl_selector *s, uint64_t token, void *arg)
{
    struct turn *t = arg;

    (void)s;
    assert_int_equal(t->turns->inside++, 0);
    assert_true(token > t->turns->last);
    t->turns->last = token;
    if (t->turns->total == 0) {
        wait_semaphore(&t->turns->gate);
    }
    t->turns->of[t->i]++;
    if (++t->turns->total == TURNS) {
        sem_post(&t->turns->enough);
    }
    t->turns->inside--;
}

static void leadership_goes_round_and_is_never_shared(void **state)
{
    enum { N = 4 };
    struct turns turns = {.total = 0};
    struct turn turn[N];
    struct pawl_client *c[N];
    struct pawl_selector *s[N];

    (void)state;
    sem_init(&turns.gate, 0, 0);
    sem_init(&turns.enough, 0, 0);
    for (int i = 0; i < N; i++) {
        struct pawl_selector_options o = {
            .size = sizeof(o), .lead = take_turn, .arg = &turn[i], .auto_requeue = 1};

        turn[i] = (struct turn){&turns, i};
        c[i] = client_fixture_open(NULL);
        s[i] = start(c[i], "/selector/g", &o);
    }
    until_nodes(c[0], "/selector/g", N);
    sem_post(&turns.gate);
    wait_semaphore(&turns.enough);
    for (int i = 0; i < N; i++) {
        pawl_selector_free(s[i]);
        assert_true(turns.of[i] >= TURNS / N);
    }
    until_nodes(c[0], "/selector/g", 0);
    for (int i = 0; i < N; i++) {
        pawl_client_close(c[i]);
    }
}

/* ---- links and sessions ---- */

static void a_cut_link_asks_lead_to_stop_for_good(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s;
    struct behind_proxy b;

    (void)state;
    x.deaf = true;
    o.auto_requeue = 1;
    behind_proxy_open(&b, &co);
    s = start(b.c, "/selector/h", &o);
    wait_semaphore(&x.began);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    assert_true(pawl_selector_is_leader(s)); /* it is ours still ... */
    assert_true(pawl_selector_should_stop(s));
    sem_post(&x.leave);
    wait_semaphore(&x.ended);
    wait_semaphore(&x.began); /* ... and again */
    assert_false(pawl_selector_should_stop(s));
    sem_post(&x.leave);
    pawl_selector_close(s);
    pawl_selector_free(s);
    assert_int_equal(x.most_inside, 1);
    behind_proxy_close(&b);
}

static void who_goes_on_is_not_asked_while_it_is_certain(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s;
    struct behind_proxy b;

    (void)state;
    o.doubt = PAWL_DOUBT_GO_ON;
    behind_proxy_open(&b, &co);
    s = start(b.c, "/selector/i", &o);
    wait_semaphore(&x.began);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_false(pawl_selector_should_stop(s));
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    assert_false(pawl_selector_should_stop(s));
    assert_int_equal(x.inside, 1);
    pawl_selector_free(s);
    assert_int_equal(x.n, 1);
    behind_proxy_close(&b);
}

/* The one who lost it does not lead twice at a time, however long he takes to notice. */
static void a_lost_session_ends_it_before_another_leads(void **state) /* */
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *d = client_fixture_open(NULL);
    struct reign x, y;
    struct pawl_selector_options o = options_of(&x, "x"), q = options_of(&y, "y");
    struct pawl_selector *s, *t;
    struct behind_proxy b;

    (void)state;
    co.session_timeout_ms = SESSION_MS;
    o.auto_requeue = 1;
    o.doubt = PAWL_DOUBT_GO_ON;
    x.deaf = true;
    behind_proxy_open(&b, &co);
    s = start(b.c, "/selector/j", &o);
    wait_semaphore(&x.began);
    t = start(d, "/selector/j", &q);
    until_nodes(d, "/selector/j", 2);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    wait_semaphore(&y.began);
    assert_true(pawl_selector_should_stop(s));
    assert_false(pawl_selector_is_leader(s));
    tcp_proxy_accept(b.proxy, true);
    assert_int_equal(pawl_client_wait_connected(b.c, SOON_MS), 0);
    assert_true(pawl_selector_should_stop(s));
    assert_int_equal(x.n, 1);
    sem_post(&x.leave);
    wait_semaphore(&x.ended);
    until_nodes(d, "/selector/j", 2);
    sem_post(&y.leave);
    wait_semaphore(&x.began);
    assert_true(x.token > y.token);
    assert_int_equal(x.most_inside, 1);
    sem_post(&x.leave);
    pawl_selector_free(s);
    pawl_selector_free(t);
    behind_proxy_close(&b);
    pawl_client_close(d);
}

static void a_leader_whose_node_is_deleted_is_asked_to_stop(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s = start(c, "/selector/k", &o);
    char path[256];

    (void)state;
    wait_semaphore(&x.began);
    pawl_grant_path(pawl_selector_grant(s), path, sizeof(path));
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = path), NULL), 0);
    wait_semaphore(&x.ended);
    assert_true(x.stopped);
    pawl_selector_free(s);
    pawl_client_close(c);
}

static void a_create_whose_answer_is_lost_leaves_no_orphan(void **state) /* */
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *d = client_fixture_open(NULL);
    struct reign x, y;
    struct pawl_selector_options o = options_of(&x, "x"), q = options_of(&y, "y");
    struct pawl_selector *s, *t;
    struct behind_proxy b;

    (void)state;
    assert_int_equal(
        pawl_create(d, PAWL_CREATE(.path = "/selector/l", .flags = PAWL_OP_PARENTS), NULL), 0);
    behind_proxy_open(&b, &co);
    tcp_proxy_swallow_replies(b.proxy, true);
    s = start(b.c, "/selector/l", &o);
    until_nodes(d, "/selector/l", 1);
    t = start(d, "/selector/l", &q);
    until_nodes(d, "/selector/l", 2);
    pawl_selector_free(s);
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    wait_semaphore(&y.began);
    assert_int_equal(x.n, 0);
    assert_int_equal(n_nodes(d, "/selector/l"), 1);
    pawl_selector_free(t);
    behind_proxy_close(&b);
    pawl_client_close(d);
}

static void closing_the_client_asks_lead_to_stop(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct reign x, y;
    struct pawl_selector_options o = options_of(&x, "x"), q = options_of(&y, "y");
    struct pawl_selector *s, *t;

    (void)state;
    o.auto_requeue = 1;
    s = start(c, "/selector/m", &o);
    wait_semaphore(&x.began);
    t = start(d, "/selector/m", &q);
    until_nodes(c, "/selector/m", 2);
    pawl_client_close(d); /* under one who waits */
    wait_semaphore(&y.ended);
    assert_int_equal(y.err, PAWL_ERR_CLOSING);
    assert_false(pawl_selector_is_queued(t));
    assert_int_equal(pawl_selector_requeue(t), PAWL_ERR_CLOSING);
    pawl_client_close(c); /* ... and under one who leads */
    wait_semaphore(&x.ended);
    assert_true(x.stopped);
    pawl_selector_free(s);
    pawl_selector_free(t);
    assert_int_equal(x.n, 1);
    assert_int_equal(y.n, 0);
}

/* ---- a loop of the user's ---- */

static void turn_until(struct pawl_client *c, sem_t *s)
{
    int64_t end = now_ms() + SOON_MS;

    while (sem_trywait(s) != 0) {
        struct pollfd p;
        int timeout;

        assert_true(now_ms() < end);
        assert_int_equal(pawl_client_interest(c, &p.fd, &p.events, &timeout), 0);
        poll(&p, 1, timeout < 0 || timeout > 5 ? 5 : timeout);
        pawl_client_process(c, p.revents);
    }
}

static void lead_has_its_thread_also_where_the_client_has_none(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = NULL;
    struct reign x;
    struct pawl_selector_options o = options_of(&x, "x");
    struct pawl_selector *s;

    (void)state;
    co.dispatch = PAWL_DISPATCH_EXTERNAL;
    o.auto_requeue = 1;
    assert_int_equal(pawl_client_open(&co, &c), 0);
    s = start(c, "/selector/n", &o);
    for (int i = 0; i < 5; i++) {
        turn_until(c, &x.began);
        assert_true(pawl_selector_is_leader(s));
        sem_post(&x.leave);
        turn_until(c, &x.ended);
    }
    turn_until(c, &x.began);
    pawl_selector_free(s); /* without the loop's help */
    assert_int_equal(x.inside, 0);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lead_has_the_signals_of_who_started_it),
        cmocka_unit_test(returning_gives_leadership_up_and_requeue_takes_it_again),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(an_interrupt_asks_and_the_node_goes_when_lead_returns),
        cmocka_unit_test(lead_may_requeue_and_free_its_selector),
        cmocka_unit_test(free_waits_for_lead_and_the_node_stays_until_then),
        cmocka_unit_test(nodes_and_succession_are_those_of_curator),
        cmocka_unit_test(leadership_goes_round_and_is_never_shared),
        cmocka_unit_test(a_cut_link_asks_lead_to_stop_for_good),
        cmocka_unit_test(who_goes_on_is_not_asked_while_it_is_certain),
        cmocka_unit_test(a_lost_session_ends_it_before_another_leads),
        cmocka_unit_test(a_leader_whose_node_is_deleted_is_asked_to_stop),
        cmocka_unit_test(a_create_whose_answer_is_lost_leaves_no_orphan),
        cmocka_unit_test(closing_the_client_asks_lead_to_stop),
        cmocka_unit_test(lead_has_its_thread_also_where_the_client_has_none),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
