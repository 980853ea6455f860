/* SPDX-License-Identifier: Apache-2.0 */
/* The leader latch against a real server, over a link that can be cut. R-xx: known bugs of Curator
 * that must not be ours. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"
#include "pawl/election.h"

enum { SESSION_MS = SHORT_SESSION_MS };

/* ---- a listener that remembers ---- */

struct listener {
    sem_t some;
    char story[64]; /* L: leader, -: lost, !: error */
    _Atomic int n;
    uint64_t tokens[64];
    _Atomic int err;
    bool frees, closes;
};

static void add(struct listener *x, char what, uint64_t token)
{
    x->tokens[x->n] = token;
    x->story[x->n++] = what;
    sem_post(&x->some);
}

static void on_leader(struct pawl_latch *l, uint64_t token, void *arg)
{
    struct listener *x = arg;

    if (x->frees) {
        pawl_latch_free(l);
    } else if (x->closes) {
        assert_int_equal(pawl_latch_close(l, PAWL_LATCH_CLOSE_NOTIFY), 0);
    }
    add(x, 'L', token);
}

static void on_lost(struct pawl_latch *l, void *arg)
{
    assert_false(pawl_latch_is_leader(l) &&
                 pawl_grant_token(pawl_latch_grant(l)) ==
                     ((struct listener *)arg)->tokens[((struct listener *)arg)->n - 1]);
    add(arg, '-', 0);
}

static void on_error(struct pawl_latch *l, int err, void *arg)
{
    (void)l;
    ((struct listener *)arg)->err = err;
    add(arg, '!', 0);
}

static struct pawl_latch_options options_of(struct listener *x, const char *id)
{
    memset(x, 0, sizeof(*x));
    sem_init(&x->some, 0, 0);
    return (struct pawl_latch_options){.size = sizeof(struct pawl_latch_options),
                                       .id = id,
                                       .on_leader = on_leader,
                                       .on_lost = on_lost,
                                       .on_error = on_error,
                                       .arg = x};
}

static struct pawl_latch *new_latch(struct pawl_client *c, const char *path,
                                    const struct pawl_latch_options *o)
{
    struct pawl_latch *l = NULL;

    assert_int_equal(pawl_latch_new(c, path, o, &l), 0);
    return l;
}

static struct pawl_latch *start_latch(struct pawl_client *c, const char *path,
                                      const struct pawl_latch_options *o)
{
    struct pawl_latch *l = new_latch(c, path, o);

    assert_int_equal(pawl_latch_start(l), 0);
    return l;
}

static void delete_node_of(struct pawl_client *c, const char *path, size_t i)
{
    struct pawl_participants *p = NULL;

    assert_int_equal(pawl_participants(c, path, &p), 0);
    assert_true(p->n > i);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = p->items[i]->path), NULL), 0);
    pawl_participants_free(p);
}

/* ---- the same nodes as Curator's: vectors/curator/leaderlatch.txt ---- */

static void expect_ids(struct pawl_latch *l, const char *const *ids, size_t n)
{
    struct pawl_participants *p = NULL;

    assert_int_equal(pawl_latch_participants(l, &p), 0);
    assert_int_equal(p->n, n);
    for (size_t i = 0; i < n; i++) {
        const char *name = strrchr(p->items[i]->path, '/') + 1;

        assert_int_equal(strlen(name),
                         strlen("_c_11412158-3c36-4dd5-aff9-1e5457854477-latch-") + 10);
        assert_memory_equal(name, "_c_", 3);
        assert_memory_equal(name + 39, "-latch-00000000", 15);
        assert_int_equal(p->items[i]->data.len, strlen(ids[i]));
        assert_memory_equal(p->items[i]->data.data, ids[i], strlen(ids[i]));
        assert_true(p->items[i]->session_id != 0);
    }
    pawl_participants_free(p);
}

static void nodes_and_succession_are_those_of_curator(void **state)
{
    struct pawl_client *c[3] = {client_fixture_open(NULL), client_fixture_open(NULL),
                                client_fixture_open(NULL)};
    struct listener x[3];
    struct pawl_latch_options oa = options_of(&x[0], "idA"), ob = options_of(&x[1], "idB"),
                              oc = options_of(&x[2], "");
    struct pawl_latch *a = start_latch(c[0], "/latch/a", &oa), *b, *d;

    (void)state;
    wait_semaphore(&x[0].some);
    b = start_latch(c[1], "/latch/a", &ob);
    until_nodes(c[0], "/latch/a", 2);
    d = start_latch(c[2], "/latch/a", &oc);
    until_nodes(c[0], "/latch/a", 3);
    expect_ids(b, (const char *const[]){"idA", "idB", ""}, 3);
    assert_true(pawl_latch_is_leader(a));
    assert_false(pawl_latch_is_leader(b));

    assert_int_equal(pawl_latch_close(b, PAWL_LATCH_CLOSE_NOTIFY), 0); /* not the leader */
    until_nodes(c[0], "/latch/a", 2);
    assert_false(pawl_latch_is_leader(d));
    assert_int_equal(pawl_latch_close(a, PAWL_LATCH_CLOSE_NOTIFY), 0);
    assert_string_equal(x[0].story, "L-"); /* told before close returned */
    assert_int_equal(pawl_latch_wait(d, SOON_MS), 0);
    wait_semaphore(&x[2].some);
    expect_ids(d, (const char *const[]){""}, 1);
    assert_int_equal(pawl_latch_close(d, PAWL_LATCH_CLOSE_SILENT), 0);
    until_nodes(c[0], "/latch/a", 0);
    pawl_latch_free(a);
    pawl_latch_free(b);
    pawl_latch_free(d);
    assert_string_equal(x[1].story, "");
    assert_string_equal(x[2].story, "L");
    assert_true(x[2].tokens[0] > x[0].tokens[0]);
    for (int i = 0; i < 3; i++) {
        pawl_client_close(c[i]);
    }
}

static void without_an_id_the_node_says_who_we_are(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_latch *l = start_latch(c, "/latch/who", NULL);
    struct pawl_participants *p = NULL;

    (void)state;
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    assert_int_equal(pawl_latch_participants(l, &p), 0);
    assert_int_equal(p->n, 1);
    assert_non_null(memmem(p->items[0]->data.data, p->items[0]->data.len, " host=", 6));
    pawl_participants_free(p);
    pawl_latch_free(l);
    pawl_client_close(c);
}

/* ---- starting and closing ---- */

static void what_makes_no_sense_is_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_latch *l = NULL;

    (void)state;
    assert_int_equal(pawl_latch_new(c, "relative", NULL, &l), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_latch_new(NULL, "/a", NULL, &l), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_latch_start(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_false(pawl_latch_is_leader(NULL));
    pawl_latch_free(NULL);
    l = new_latch(c, "/latch/b", NULL);
    assert_int_equal(pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_latch_start(l), 0);
    assert_int_equal(pawl_latch_start(l), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_latch_close(l, (enum pawl_latch_close)7),
                     PAWL_ERR_BAD_ARGUMENTS); /* */
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    assert_int_equal(pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT), 0);
    assert_int_equal(pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_latch_start(l), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_latch_wait(l, 0), PAWL_ERR_CANCELLED);
    pawl_latch_free(l);
    pawl_client_close(c);
}

static void started_before_the_first_connection_it_leads_after_it(void **state) /* */
{
    struct pawl_client_options co = client_fixture_options();
    struct tcp_proxy *proxy = tcp_proxy_new(client_fixture_port());
    struct pawl_client *c = NULL;
    struct pawl_latch *l;
    char servers[32];

    (void)state;
    tcp_proxy_accept(proxy, false);
    snprintf(servers, sizeof(servers), "127.0.0.1:%d", tcp_proxy_port(proxy));
    co.servers = servers;
    assert_int_equal(pawl_client_open(&co, &c), 0);
    l = start_latch(c, "/latch/c", NULL);
    assert_int_equal(pawl_latch_wait(l, 50), PAWL_ERR_OPERATION_TIMEOUT);
    assert_false(pawl_latch_is_leader(l));
    tcp_proxy_accept(proxy, true);
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    assert_true(pawl_latch_is_leader(l));
    pawl_latch_free(l);
    pawl_client_close(c);
    tcp_proxy_free(proxy);
}

static void closed_while_its_create_is_under_way_it_leaves_no_node(void **state) /* */
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;
    struct pawl_latch *l;

    (void)state;
    behind_proxy_open(&b, &co);
    tcp_proxy_swallow_replies(b.proxy, true);
    l = start_latch(b.c, "/latch/d", NULL);
    for (int64_t end = now_ms() + SOON_MS; n_nodes(other, "/latch") == 0;) {
        assert_true(now_ms() < end); /* the create has arrived, of its parents at least */
    }
    assert_int_equal(pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT), 0);
    pawl_latch_free(l);
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    /* behind whatever the latch has still to do there */
    until_nodes(b.c, "/latch/d", 0);
    l = start_latch(other, "/latch/d", NULL);
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    until_nodes(other, "/latch/d", 1);
    pawl_latch_free(l);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

static void an_answer_that_was_lost_leaves_no_second_node(void **state) /* */
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;
    struct pawl_latch *l;

    (void)state;
    assert_int_equal(
        pawl_create(other, PAWL_CREATE(.path = "/latch/e", .flags = PAWL_OP_PARENTS), NULL), 0);
    for (int close_it = 0; close_it < 2; close_it++) {
        behind_proxy_open(&b, &co);
        tcp_proxy_swallow_replies(b.proxy, true);
        l = start_latch(b.c, "/latch/e", NULL);
        until_nodes(other, "/latch/e", 1);
        if (close_it) {
            pawl_latch_free(l);
        }
        tcp_proxy_down(b.proxy); /* before anything late gets through */
        tcp_proxy_swallow_replies(b.proxy, false);
        tcp_proxy_up(b.proxy);
        if (!close_it) {
            assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
            assert_int_equal(n_nodes(other, "/latch/e"), 1);
            pawl_latch_free(l);
        }
        until_nodes(other, "/latch/e", 0);
        behind_proxy_close(&b);
    }
    pawl_client_close(other);
}

static void it_can_be_freed_and_closed_in_its_own_callback(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct listener x, y;
    struct pawl_latch_options o = options_of(&x, "x"), p = options_of(&y, "y");
    struct pawl_latch *l;

    (void)state;
    x.frees = true;
    start_latch(c, "/latch/f", &o);
    wait_semaphore(&x.some);
    until_nodes(c, "/latch/f", 0);
    assert_string_equal(x.story, "L");
    y.closes = true;
    l = start_latch(c, "/latch/f", &p);
    wait_semaphore(&y.some);
    wait_semaphore(&y.some);
    assert_string_equal(y.story, "L-");
    pawl_latch_free(l);
    pawl_client_close(c);
}

/* ---- waiting ---- */

struct awaiting {
    pthread_t thread;
    struct pawl_latch *l;
    int rc;
};

static void *await(void *arg)
{
    struct awaiting *a = arg;

    a->rc = pawl_latch_wait(a->l, SOON_MS);
    return NULL;
}

static void start_await(struct awaiting *a, struct pawl_latch *l)
{
    a->l = l;
    a->rc = 1;
    pthread_create(&a->thread, NULL, await, a);
}

static int end_of(struct awaiting *a)
{
    pthread_join(a->thread, NULL);
    return a->rc;
}

struct slow_loser {
    sem_t leads, entered, may_go;
    _Atomic bool gone;
    bool frees;
};

static void slow_leader(struct pawl_latch *l, uint64_t token, void *arg)
{
    (void)l;
    (void)token;
    sem_post(&((struct slow_loser *)arg)->leads);
}

static void slow_lost(struct pawl_latch *l, void *arg)
{
    struct slow_loser *x = arg;

    sem_post(&x->entered);
    wait_semaphore(&x->may_go);
    if (x->frees) {
        pawl_latch_free(l);
    }
    x->gone = true;
}

struct closer {
    struct pawl_latch *l;
    struct slow_loser *x;
    sem_t returned;
    int err;
    bool told_before;
};

static void *close_with_notice(void *arg)
{
    struct closer *c = arg;

    c->err = pawl_latch_close(c->l, PAWL_LATCH_CLOSE_NOTIFY);
    c->told_before = c->x->gone;
    sem_post(&c->returned);
    return NULL;
}

static struct pawl_latch *leading_slow_loser(struct pawl_client *c, struct slow_loser *x)
{
    struct pawl_latch_options o = {
        .size = sizeof(o), .on_leader = slow_leader, .on_lost = slow_lost, .arg = x};
    struct pawl_latch *l = new_latch(c, "/latch/slow", &o);

    sem_init(&x->leads, 0, 0);
    sem_init(&x->entered, 0, 0);
    sem_init(&x->may_go, 0, 0);
    assert_int_equal(pawl_latch_start(l), 0);
    wait_semaphore(&x->leads);
    return l;
}

static void a_close_with_notice_survives_a_free_in_on_lost(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct slow_loser x = {.frees = true};
    struct closer closer = {.l = leading_slow_loser(c, &x), .x = &x};
    pthread_t thread;

    (void)state;
    sem_init(&closer.returned, 0, 0);
    pthread_create(&thread, NULL, close_with_notice, &closer);
    wait_semaphore(&x.entered);
    sem_post(&x.may_go);
    pthread_join(thread, NULL);
    assert_int_equal(closer.err, 0);
    assert_true(closer.told_before);
    pawl_client_close(c);
}

static bool returns_within(struct closer *c, int ms)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return sem_timedwait(&c->returned, &t) == 0;
}

/* It was lost before: on_lost runs already when it is closed. */
static void a_close_with_notice_waits_for_an_on_lost_that_runs(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct slow_loser x = {.frees = false};
    struct closer closer = {.l = leading_slow_loser(c, &x), .x = &x};
    int64_t end = now_ms() + SOON_MS;
    pthread_t thread;
    char path[512];

    (void)state;
    sem_init(&closer.returned, 0, 0);
    pawl_grant_path(pawl_latch_grant(closer.l), path, sizeof(path));
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = path), NULL), 0);
    wait_semaphore(&x.entered);
    pthread_create(&thread, NULL, close_with_notice, &closer);
    while (pawl_latch_wait(closer.l, 0) != PAWL_ERR_CANCELLED) { /* until it has begun */
        assert_true(now_ms() < end);
    }
    assert_false(returns_within(&closer, 100));
    sem_post(&x.may_go);
    pthread_join(thread, NULL);
    assert_int_equal(closer.err, 0);
    assert_true(closer.told_before);
    pawl_latch_free(closer.l);
    pawl_client_close(c);
}

static void who_waits_is_told_how_it_ended(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL),
                       *e = client_fixture_open(NULL);
    struct pawl_latch *leader = start_latch(c, "/latch/g", NULL), *l, *m, *n;
    struct awaiting a, b, z;

    (void)state;
    assert_int_equal(pawl_latch_wait(leader, SOON_MS), 0);
    l = start_latch(d, "/latch/g", NULL);
    m = start_latch(e, "/latch/g", NULL);
    n = new_latch(c, "/latch/g", NULL); /* not started */
    assert_int_equal(pawl_latch_wait(l, 20), PAWL_ERR_OPERATION_TIMEOUT);
    start_await(&a, l);
    start_await(&b, m);
    start_await(&z, n);
    until_nodes(c, "/latch/g", 3);
    wait_until(somebody_is_blocked(c)); /* for what is freed below */
    assert_int_equal(pawl_latch_wait(l, 20), PAWL_ERR_OPERATION_TIMEOUT);
    pawl_client_close(e); /* under him who waits */
    assert_int_equal(end_of(&b), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_latch_wait(m, -1), PAWL_ERR_CLOSING);
    pawl_latch_free(n);
    assert_int_equal(end_of(&z), PAWL_ERR_CANCELLED);
    pawl_latch_free(leader);
    assert_int_equal(end_of(&a), 0);
    pawl_latch_free(l);
    pawl_latch_free(m);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void a_closed_client_ends_the_leadership(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct listener x;
    struct pawl_latch_options o = options_of(&x, "x");
    struct pawl_latch *l = start_latch(c, "/latch/h", &o);

    (void)state;
    wait_semaphore(&x.some);
    pawl_client_close(c);
    assert_false(pawl_latch_is_leader(l));
    assert_int_equal(pawl_latch_wait(l, SOON_MS), PAWL_ERR_CLOSING);
    pawl_latch_free(l);
    assert_int_equal(x.story[0], 'L');
    assert_int_equal(x.story[1], '-');
}

static void everybody_leads_in_turn(void **state)
{
    enum { N = 8 };
    struct pawl_client *c[N];
    struct pawl_latch *l[N];
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        c[i] = client_fixture_open(NULL);
        l[i] = start_latch(c[i], "/latch/i", NULL);
        until_nodes(c[0], "/latch/i", i + 1);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pawl_latch_wait(l[i], SOON_MS), 0);
        for (int k = 0; k < N; k++) {
            assert_int_equal(pawl_latch_is_leader(l[k]), k == i);
        }
        assert_true(pawl_grant_token(pawl_latch_grant(l[i])) > last);
        last = pawl_grant_token(pawl_latch_grant(l[i]));
        pawl_latch_free(l[i]);
        l[i] = NULL;
    }
    for (int i = 0; i < N; i++) {
        pawl_client_close(c[i]);
    }
}

/* ---- links and sessions: leaderlatch-policies.txt, leaderlatch-sessionloss.txt ---- */

static void a_cut_link_ends_leadership_until_it_is_back(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct listener x;
    struct pawl_latch_options o = options_of(&x, "x");
    struct behind_proxy b;
    struct pawl_latch *l;

    (void)state;
    behind_proxy_open(&b, &co);
    l = start_latch(b.c, "/latch/j", &o);
    wait_semaphore(&x.some);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    wait_semaphore(&x.some);
    assert_false(pawl_latch_is_leader(l));
    assert_int_equal(pawl_latch_wait(l, 10), PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_accept(b.proxy, true);
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    wait_semaphore(&x.some);
    assert_string_equal(x.story, "L-L");
    assert_int_equal(x.tokens[0], x.tokens[2]);
    assert_true(pawl_latch_is_leader(l));
    pawl_latch_free(l);
    behind_proxy_close(&b);
}

static void who_goes_on_does_not_even_notice_a_short_cut(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct listener x;
    struct pawl_latch_options o = options_of(&x, "x");
    struct behind_proxy b;
    struct pawl_latch *l;

    (void)state;
    o.doubt = PAWL_DOUBT_GO_ON;
    behind_proxy_open(&b, &co);
    l = start_latch(b.c, "/latch/k", &o);
    wait_semaphore(&x.some);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_true(pawl_latch_is_leader(l));
    tcp_proxy_accept(b.proxy, true);
    expect_next_state(&b, 2, PAWL_STATE_RECONNECTED);
    assert_true(pawl_latch_is_leader(l));
    pawl_latch_free(l);
    assert_string_equal(x.story, "L");
    behind_proxy_close(&b);
}

/* he knows before another leads, comes back at the end of the queue, and his old node,
 * be it still there, is not his. */
static void a_lost_session_is_a_new_place_at_the_end(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct listener x, y;
    struct pawl_latch_options o = options_of(&x, "idA"), p = options_of(&y, "idB");
    struct behind_proxy b;
    struct pawl_latch *l, *m;

    (void)state;
    o.doubt = PAWL_DOUBT_GO_ON;
    co.session_timeout_ms = SESSION_MS;
    behind_proxy_open(&b, &co);
    l = start_latch(b.c, "/latch/l", &o);
    wait_semaphore(&x.some);
    m = start_latch(c, "/latch/l", &p);
    until_nodes(c, "/latch/l", 2);
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    assert_int_equal(pawl_latch_wait(m, SOON_MS), 0);
    assert_false(pawl_latch_is_leader(l));
    wait_semaphore(&y.some);
    tcp_proxy_accept(b.proxy, true);
    until_nodes(c, "/latch/l", 2);
    expect_ids(m, (const char *const[]){"idB", "idA"}, 2);
    assert_false(pawl_latch_is_leader(l));
    assert_true(pawl_latch_is_leader(m));
    pawl_latch_free(m);
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    wait_semaphore(&x.some);
    wait_semaphore(&x.some);
    assert_string_equal(x.story, "L-L");
    assert_true(x.tokens[2] > y.tokens[0] && y.tokens[0] > x.tokens[0]);
    pawl_latch_free(l);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

/* We gave it up before the server did: the old node is still listed, first, when we come with a new
 * session. */
static void the_node_of_a_session_given_up_for_lost_does_not_count(void **state) /* */
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_participants *p = NULL;
    struct listener x;
    struct pawl_latch_options o = options_of(&x, "x");
    struct behind_proxy b;
    struct pawl_latch *l;

    (void)state;
    co.session_timeout_ms = 3 * SESSION_MS;
    co.lost_percent = 20; /* long before the server */
    behind_proxy_open(&b, &co);
    l = start_latch(b.c, "/latch/t", &o);
    wait_semaphore(&x.some);
    tcp_proxy_swallow_replies(b.proxy, true);
    tcp_proxy_cut(b.proxy);
    expect_next_state(&b, 1, PAWL_STATE_SUSPENDED);
    assert_false(pawl_latch_is_leader(l));
    expect_next_state(&b, 2, PAWL_STATE_LOST);
    assert_int_equal(n_nodes(c, "/latch/t"), 1);
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    assert_true(pawl_grant_token(pawl_latch_grant(l)) > x.tokens[0]);
    assert_int_equal(pawl_participants(c, "/latch/t", &p), 0);
    assert_int_equal(p->n, 1);
    assert_int_equal(p->items[0]->session_id, pawl_client_session_id(b.c));
    assert_int_equal(p->items[0]->token, pawl_grant_token(pawl_latch_grant(l)));
    pawl_participants_free(p);
    pawl_latch_free(l);
    behind_proxy_close(&b);
    pawl_client_close(c);
}

/* ---- nodes that others delete ---- */

static void a_leader_whose_node_is_deleted_learns_it_at_once(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct listener x, y;
    struct pawl_latch_options o = options_of(&x, "idA"), p = options_of(&y, "idB");
    struct pawl_latch *l = start_latch(c, "/latch/m", &o), *m;

    (void)state;
    wait_semaphore(&x.some);
    m = start_latch(d, "/latch/m", &p);
    until_nodes(c, "/latch/m", 2);
    delete_node_of(d, "/latch/m", 0);
    wait_semaphore(&x.some);
    assert_string_equal(x.story, "L-");
    assert_int_equal(pawl_latch_wait(m, SOON_MS), 0);
    until_nodes(c, "/latch/m", 2);
    expect_ids(l, (const char *const[]){"idB", "idA"}, 2);
    assert_false(pawl_latch_is_leader(l));
    pawl_latch_free(l);
    pawl_latch_free(m);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* The new leadership may be there before anything could be told. */
static void a_new_leadership_is_told_as_lost_and_leader_again(void **state)
{
    enum { TIMES = 10 };
    struct pawl_client *c = client_fixture_open(NULL);
    struct listener x;
    struct pawl_latch_options o = options_of(&x, "x");
    struct pawl_latch *l = start_latch(c, "/latch/n", &o);

    (void)state;
    wait_semaphore(&x.some);
    for (int i = 0; i < TIMES; i++) {
        uint64_t token = x.tokens[2 * i];

        delete_node_of(c, "/latch/n", 0);
        wait_semaphore(&x.some);
        wait_semaphore(&x.some);
        assert_int_equal(x.story[2 * i + 1], '-');
        assert_int_equal(x.story[2 * i + 2], 'L');
        assert_true(x.tokens[2 * i + 2] > token);
    }
    assert_true(pawl_latch_is_leader(l));
    assert_int_equal(n_nodes(c, "/latch/n"), 1);
    pawl_latch_free(l);
    pawl_client_close(c);
}

static void latches_that_lose_all_nodes_at_once_elect_one_of_them(void **state) /* */
{
    enum { N = 4, TIMES = 10 };
    struct pawl_client *c[N], *other = client_fixture_open(NULL);
    struct pawl_latch *l[N];
    struct pawl_reply *before, *after;
    int leaders = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        c[i] = client_fixture_open(NULL);
        l[i] = start_latch(c[i], "/latch/o", NULL);
    }
    until_nodes(other, "/latch/o", N);
    for (int t = 0; t < TIMES; t++) {
        struct pawl_participants *p = NULL;

        assert_int_equal(pawl_participants(other, "/latch/o", &p), 0);
        for (size_t i = p->n; i > 0; i--) {
            pawl_delete(other, PAWL_DELETE(.path = p->items[i - 1]->path), NULL);
        }
        pawl_participants_free(p);
        until_nodes(other, "/latch/o", N);
    }
    for (int64_t end = now_ms() + SOON_MS; leaders != 1;) {
        assert_true(now_ms() < end);
        leaders = 0;
        for (int i = 0; i < N; i++) {
            leaders += pawl_latch_is_leader(l[i]);
        }
    }
    assert_int_equal(pawl_exists(other, "/latch/o", NULL, &before), 0);
    for (int i = 0; i < N; i++) { /* whatever they still have to say has been said then */
        assert_int_equal(pawl_sync(c[i], "/latch/o", NULL), 0);
    }
    assert_int_equal(pawl_exists(other, "/latch/o", NULL, &after), 0);
    assert_int_equal(before->stat.cversion, after->stat.cversion);
    pawl_reply_free(before);
    pawl_reply_free(after);
    for (int i = 0; i < N; i++) {
        pawl_latch_free(l[i]);
        pawl_client_close(c[i]);
    }
    pawl_client_close(other);
}

static void a_base_that_is_gone_is_made_again(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_latch *l = start_latch(c, "/latch/p/q", NULL);

    (void)state;
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    while (pawl_delete(d, PAWL_DELETE(.path = "/latch/p", .flags = PAWL_OP_CHILDREN_TOO), NULL) !=
           0) {
        /* it came back in between */
    }
    until_nodes(d, "/latch/p/q", 1);
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    pawl_latch_free(l);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* ---- nothing stays behind ---- */

static void who_leaves_takes_his_watches_along(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_latch *l = start_latch(c, "/latch/u", NULL), *m;
    char path[256];

    (void)state;
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    pawl_grant_path(pawl_latch_grant(l), path, sizeof(path));
    m = start_latch(d, "/latch/u", NULL);
    until_nodes(c, "/latch/u", 2);
    assert_int_equal(pawl_sync(d, "/latch/u", NULL), 0); /* it has set its watch, or ... */
    pawl_latch_free(m);
    until_nodes(c, "/latch/u", 1);
    assert_int_equal(pawl_sync(d, "/latch/u", NULL), 0); /* ... this is behind its removal */
    assert_int_equal(pawl_unwatch(d, path, PAWL_WATCHES_ANY, NULL, NULL), PAWL_ERR_NO_WATCHER);
    assert_int_equal(pawl_unwatch(d, "/latch/u", PAWL_WATCHES_ANY, NULL, NULL),
                     PAWL_ERR_NO_WATCHER);
    pawl_latch_free(l);
    until_nodes(c, "/latch/u", 0);
    assert_int_equal(pawl_unwatch(c, path, PAWL_WATCHES_ANY, NULL, NULL), PAWL_ERR_NO_WATCHER);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* ---- proof, participants, errors ---- */

static void only_a_leader_has_a_path_and_a_guard(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_latch *l = start_latch(c, "/latch/r", NULL), *m;
    struct pawl_multi *multi = pawl_multi_new(c);
    char path[256];

    (void)state;
    assert_int_equal(pawl_latch_wait(l, SOON_MS), 0);
    m = start_latch(d, "/latch/r", NULL);
    until_nodes(c, "/latch/r", 2);
    pawl_grant_path(pawl_latch_grant(m), path, sizeof(path));
    assert_string_equal(path, "");
    assert_int_equal(pawl_grant_token(pawl_latch_grant(m)), 0);
    assert_int_equal(pawl_grant_guard(pawl_latch_grant(m), multi), PAWL_ERR_NOT_HELD);
    pawl_grant_path(pawl_latch_grant(l), path, sizeof(path));
    assert_memory_equal(path, "/latch/r/_c_", 12);
    assert_int_equal(pawl_grant_guard(pawl_latch_grant(l), multi), 0);
    assert_int_equal(pawl_multi_run(c, multi, NULL), 0);
    assert_int_equal(pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT), 0);
    assert_int_equal(pawl_latch_wait(m, SOON_MS), 0);
    assert_int_equal(pawl_multi_run(c, multi, NULL), PAWL_ERR_NO_NODE);
    pawl_grant_path(pawl_latch_grant(l), path, sizeof(path));
    assert_string_equal(path, "");
    pawl_multi_free(multi);
    pawl_latch_free(l);
    pawl_latch_free(m);
    pawl_client_close(c);
    pawl_client_close(d);
}

static void participants_of_nothing_are_none(void **state) /* */
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_latch *l = new_latch(c, "/latch/none", NULL);

    (void)state;
    expect_ids(l, NULL, 0);
    pawl_latch_free(l);
    pawl_client_close(c);
}

static void who_may_not_take_part_is_told_and_tries_again(void **state)
{
    static const struct pawl_acl closed = {PAWL_PERM_READ | PAWL_PERM_ADMIN, "world", "anyone"},
                                 open = {PAWL_PERM_ALL, "world", "anyone"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct listener x;
    struct pawl_latch_options o = options_of(&x, "x");
    struct pawl_latch *l = new_latch(c, "/latch/s", &o);
    struct awaiting a;

    (void)state;
    assert_int_equal(
        pawl_create(c,
                    PAWL_CREATE(.path = "/latch/s", .acls = {&closed, 1}, .flags = PAWL_OP_PARENTS),
                    NULL),
        0);
    start_await(&a, l);
    assert_int_equal(pawl_latch_start(l), 0);
    wait_semaphore(&x.some);
    assert_int_equal(x.story[0], '!'); /* the next may come at any time */
    assert_int_equal(x.err, PAWL_ERR_NO_AUTH);
    assert_true(end_of(&a) == PAWL_ERR_NO_AUTH);
    assert_int_equal(pawl_set_acl(c,
                                  &(struct pawl_set_acl){.size = sizeof(struct pawl_set_acl),
                                                         .path = "/latch/s",
                                                         .acls = {&open, 1}},
                                  NULL),
                     0);
    while (pawl_latch_wait(l, SOON_MS) == PAWL_ERR_NO_AUTH) {
    }
    assert_true(pawl_latch_is_leader(l));
    pawl_latch_free(l);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_succession_are_those_of_curator),
        cmocka_unit_test(without_an_id_the_node_says_who_we_are),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(started_before_the_first_connection_it_leads_after_it),
        cmocka_unit_test(closed_while_its_create_is_under_way_it_leaves_no_node),
        cmocka_unit_test(an_answer_that_was_lost_leaves_no_second_node),
        cmocka_unit_test(it_can_be_freed_and_closed_in_its_own_callback),
        cmocka_unit_test(a_close_with_notice_survives_a_free_in_on_lost),
        cmocka_unit_test(a_close_with_notice_waits_for_an_on_lost_that_runs),
        cmocka_unit_test(who_waits_is_told_how_it_ended),
        cmocka_unit_test(a_closed_client_ends_the_leadership),
        cmocka_unit_test(everybody_leads_in_turn),
        cmocka_unit_test(a_cut_link_ends_leadership_until_it_is_back),
        cmocka_unit_test(who_goes_on_does_not_even_notice_a_short_cut),
        cmocka_unit_test(a_lost_session_is_a_new_place_at_the_end),
        cmocka_unit_test(the_node_of_a_session_given_up_for_lost_does_not_count),
        cmocka_unit_test(a_leader_whose_node_is_deleted_learns_it_at_once),
        cmocka_unit_test(a_new_leadership_is_told_as_lost_and_leader_again),
        cmocka_unit_test(latches_that_lose_all_nodes_at_once_elect_one_of_them),
        cmocka_unit_test(a_base_that_is_gone_is_made_again),
        cmocka_unit_test(who_leaves_takes_his_watches_along),
        cmocka_unit_test(only_a_leader_has_a_path_and_a_guard),
        cmocka_unit_test(participants_of_nothing_are_none),
        cmocka_unit_test(who_may_not_take_part_is_told_and_tries_again),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
