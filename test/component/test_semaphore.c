/* SPDX-License-Identifier: Apache-2.0 */
/* The semaphore, the mutex made of it, and the old semaphore, against a real server. */
#define _GNU_SOURCE
#include <pthread.h>

#include "lib/test.h"

#include "lib/curator_shape.h"
#include "lib/recipe_helpers.h"

static struct pawl_semaphore *new_semaphore(struct pawl_client *c, const char *path, int max)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = max};
    struct pawl_semaphore *s = NULL;

    assert_int_equal(pawl_semaphore_new(c, path, &o, &s), 0);
    return s;
}

static struct pawl_lease *take(struct pawl_semaphore *s)
{
    struct pawl_lease *lease = NULL;

    assert_int_equal(pawl_semaphore_acquire(s, SOON_MS, &lease), 0);
    assert_true(pawl_grant_held(pawl_lease_grant(lease)));
    return lease;
}

static void give(struct pawl_lease *lease)
{
    assert_int_equal(pawl_lease_release(lease), 0);
}

/* An acquire in the background. */
struct taken {
    struct told told;
    struct pawl_lease *lease;
    size_t n;
};

static void got(struct pawl_semaphore *s, int err, struct pawl_lease *const *leases, size_t n,
                void *arg)
{
    struct taken *t = arg;

    (void)s;
    t->n = n;
    t->lease = n > 0 ? leases[0] : NULL;
    told_end(&t->told, err);
}

static void want(struct pawl_semaphore *s, size_t n, int timeout_ms, struct taken *t)
{
    told_init(&t->told);
    assert_int_equal(pawl_semaphore_acquire_async(s, n, timeout_ms, got, t), 0);
}

static void expect_shape(struct pawl_client *const *clients, size_t n, const char *root,
                         const char *file, const char *heading)
{
    struct curator_shape seen, recorded;

    curator_shape_seen(&seen, clients[0], root, clients, n);
    curator_shape_recorded(&recorded, VECTORS, file, heading);
    curator_shape_compare(&seen, &recorded);
}

static void set_count(struct pawl_client *c, const char *path, uint8_t n)
{
    const uint8_t data[] = {0, 0, 0, n};

    assert_int_equal(pawl_set(c, PAWL_SET(.path = path, .data = {data, sizeof(data)}), NULL), 0);
}

/* ---- Curator's ---- */

static void nodes_are_those_of_curator(void **state)
{
    static const char file[] = "interprocesssemaphorev2.txt", path[] = "/v/sem";
    struct pawl_semaphore *s[4];
    struct pawl_client *c[4];
    struct taken third, fourth;
    struct pawl_lease *a, *b;
    uint64_t tokens[2];

    (void)state;
    for (int i = 0; i < 4; i++) {
        c[i] = client_fixture_open(NULL);
        s[i] = new_semaphore(c[i], path, 2);
    }
    assert_int_equal(pawl_semaphore_set_data(s[0], text_bytes("nodeA")), 0);
    a = take(s[0]);
    until_nodes(c[0], "/v/sem/locks", 0);
    b = take(s[1]);
    tokens[0] = pawl_grant_token(pawl_lease_grant(a));
    tokens[1] = pawl_grant_token(pawl_lease_grant(b));
    assert_true(tokens[0] < tokens[1]);
    want(s[2], 1, -1, &third);
    until_nodes(c[0], "/v/sem/leases", 3);
    want(s[3], 1, -1, &fourth);
    until_nodes(c[0], "/v/sem/locks", 2);
    expect_shape(c, 4, path, file, "2 of 2 leases out, C waiting for a lease, D waiting");
    assert_int_equal(third.told.err, 1);
    give(a);
    assert_int_equal(told_wait(&third.told), 0);
    until_nodes(c[0], "/v/sem/leases", 3);
    expect_shape(c, 4, path, file, "after A returned");
    assert_int_equal(fourth.told.err, 1);
    give(third.lease);
    assert_int_equal(told_wait(&fourth.told), 0);
    until_nodes(c[0], "/v/sem/locks", 0);
    expect_shape(c, 4, path, file, "end");
    give(b);
    for (int i = 0; i < 4; i++) {
        pawl_semaphore_free(s[i]);
    }
    until_nodes(c[0], "/v/sem/leases", 0);
    for (int i = 0; i < 4; i++) {
        pawl_client_close(c[i]);
    }
}

static void a_mutex_has_the_nodes_of_curators(void **state)
{
    static const char file[] = "interprocesssemaphoremutex.txt", path[] = "/v/semmutex";
    struct pawl_client *c[2] = {client_fixture_open(NULL), client_fixture_open(NULL)};
    struct pawl_mutex *a, *b;
    struct pawl_semaphore *waiting;
    struct taken t;

    (void)state;
    assert_int_equal(pawl_mutex_new(c[0], path, NULL, &a), 0);
    assert_int_equal(pawl_mutex_new(c[1], path, NULL, &b), 0);
    waiting = new_semaphore(c[1], path, 1); /* it is the same thing */
    assert_int_equal(pawl_mutex_acquire(a, SOON_MS), 0);
    want(waiting, 1, -1, &t);
    until_nodes(c[0], "/v/semmutex/leases", 2);
    expect_shape(c, 2, path, file, "A holds, B waits");
    assert_int_equal(pawl_mutex_acquire(a, 200), PAWL_ERR_OPERATION_TIMEOUT);
    assert_true(pawl_mutex_held(a)); /* a failed acquire forgets nothing */
    assert_int_equal(pawl_mutex_release(a), 0);
    assert_int_equal(pawl_mutex_release(a), PAWL_ERR_NOT_HELD);
    assert_int_equal(told_wait(&t.told), 0);
    until_nodes(c[0], "/v/semmutex/locks", 0);
    expect_shape(c, 2, path, file, "B holds");
    give(t.lease);
    assert_int_equal(pawl_mutex_acquire(b, SOON_MS), 0);
    assert_true(pawl_mutex_token(b) > 0);
    pawl_mutex_free(a);
    pawl_mutex_free(b);
    pawl_semaphore_free(waiting);
    until_nodes(c[0], "/v/semmutex/leases", 0);
    pawl_client_close(c[0]);
    pawl_client_close(c[1]);
}

/* The older or the younger of two goes, by itself or by its session: who waits does not care. */
static void whichever_holder_goes_the_next_in_line_is_woken(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .permits = 2};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_lock *l[5] = {NULL};
    struct told t[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        told_init(&t[i]);
        assert_int_equal(pawl_lock_new(c, "/permits", &o, &l[i]), 0);
        assert_int_equal(pawl_lock_acquire_async(l[i], -1, tell_lock, &t[i]), 0);
        until_nodes(c, "/permits", i + 1);
    }
    assert_int_equal(told_wait(&t[0]), 0);
    assert_int_equal(told_wait(&t[1]), 0);
    assert_int_equal(pawl_lock_release(l[1]), 0); /* the younger */
    assert_int_equal(told_wait(&t[2]), 0);
    assert_int_equal(pawl_lock_release(l[0]), 0); /* the older */
    assert_int_equal(told_wait(&t[3]), 0);
    assert_false(pawl_lock_held(l[4]));
    grant_delete(c, pawl_lock_grant(l[3])); /* the younger, and not by itself */
    assert_int_equal(told_wait(&t[4]), 0);
    assert_true(pawl_lock_held(l[2]) && pawl_lock_held(l[4]));
    for (int i = 0; i < 5; i++) {
        pawl_lock_free(l[i]);
    }
    until_nodes(c, "/permits", 0);
    until_no_watches();
    pawl_client_close(c);
}

/* It is told apart from a death, whichever of the two it was. The watches: of the holders on their
 * own nodes, and of each who waits on two ahead. */
static void a_release_among_several_needs_no_delay(void **state)
{
    static const char path[] = "/permits/delay";
    struct pawl_lock_options o = {.size = sizeof(o), .permits = 2, .delay_ms = 1000 * SOON_MS};
    struct pawl_client *c[4];
    struct pawl_lock *l[4] = {NULL};
    struct told t[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        c[i] = client_fixture_open(NULL);
        told_init(&t[i]);
        assert_int_equal(pawl_lock_new(c[i], path, &o, &l[i]), 0);
        assert_int_equal(pawl_lock_acquire_async(l[i], -1, tell_lock, &t[i]), 0);
        until_nodes(c[0], path, i + 1);
    }
    until_watches(2 + 4);
    assert_int_equal(pawl_lock_release(l[1]), 0);
    assert_int_equal(told_wait(&t[2]), 0);
    until_watches(2 + 2);
    assert_int_equal(pawl_lock_release(l[0]), 0);
    assert_int_equal(told_wait(&t[3]), 0);
    for (int i = 0; i < 4; i++) {
        pawl_lock_free(l[i]);
        pawl_client_close(c[i]);
    }
}

static void the_old_semaphore_is_a_lock_with_permits(void **state)
{
    static const char path[] = "/v/semv1";
    struct pawl_lock_options o = {.size = sizeof(o), .permits = 2};
    struct pawl_client *c[3];
    struct pawl_lock *l[3];
    struct told t;

    (void)state;
    told_init(&t);
    for (int i = 0; i < 3; i++) {
        c[i] = client_fixture_open(NULL);
        assert_int_equal(pawl_lock_new(c[i], path, &o, &l[i]), 0);
    }
    assert_int_equal(pawl_lock_acquire(l[0], SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire(l[1], SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire(l[2], 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_lock_acquire_async(l[2], -1, tell_lock, &t), 0);
    until_nodes(c[0], path, 3);
    expect_shape(c, 3, path, "interprocesssemaphore-v1.txt", "2 held, 1 queued");
    assert_int_equal(t.err, 1);
    assert_int_equal(pawl_lock_release(l[0]), 0);
    assert_int_equal(told_wait(&t), 0);
    assert_true(pawl_lock_held(l[1]) && pawl_lock_held(l[2]));
    for (int i = 0; i < 3; i++) {
        pawl_lock_free(l[i]);
        pawl_client_close(c[i]);
    }
}

/* ---- never too many ---- */

enum { CLIENTS = 3, THREADS = 6, ROUNDS = 15, LEASES = 2 };

struct crowd {
    struct pawl_semaphore *s[CLIENTS];
    _Atomic int next, inside, most;
};

static void *be_inside(void *arg)
{
    struct crowd *crowd = arg;
    struct pawl_semaphore *s = crowd->s[atomic_fetch_add(&crowd->next, 1) % CLIENTS];

    for (int i = 0; i < ROUNDS; i++) {
        struct pawl_lease *leases[2];
        int n = 1 + i % 2, inside;

        assert_int_equal(pawl_semaphore_acquire_n(s, (size_t)n, -1, leases), 0);
        inside = atomic_fetch_add(&crowd->inside, n) + n;
        assert_true(inside <= LEASES);
        if (inside > crowd->most) {
            crowd->most = inside;
        }
        atomic_fetch_sub(&crowd->inside, n);
        while (n > 0) {
            give(leases[--n]);
        }
    }
    return NULL;
}

static void never_are_more_held_than_there_are(void **state)
{
    static const char path[] = "/sem/crowd";
    struct crowd crowd = {.next = 0};
    struct pawl_client *c[CLIENTS];
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < CLIENTS; i++) {
        c[i] = client_fixture_open(NULL);
        crowd.s[i] = new_semaphore(c[i], path, LEASES);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, be_inside, &crowd);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(crowd.most, LEASES);
    until_nodes(c[0], "/sem/crowd/leases", 0);
    until_nodes(c[0], "/sem/crowd/locks", 0);
    for (int i = 0; i < CLIENTS; i++) {
        pawl_semaphore_free(crowd.s[i]);
        pawl_client_close(c[i]);
    }
}

static void several_come_all_or_none(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_semaphore *s = new_semaphore(c, "/sem/several", 3);
    struct pawl_lease *leases[3], *one = take(s);
    struct pawl_participants *p;
    struct taken t;

    (void)state;
    assert_int_equal(pawl_semaphore_acquire_n(s, 3, 200, leases), PAWL_ERR_OPERATION_TIMEOUT);
    until_nodes(c, "/sem/several/leases", 1);
    assert_int_equal(pawl_semaphore_acquire_n(s, 3, 0, leases), PAWL_ERR_OPERATION_TIMEOUT);
    until_nodes(c, "/sem/several/leases", 1);
    assert_int_equal(pawl_semaphore_acquire_n(s, 2, 0, leases), 0);
    assert_int_equal(pawl_semaphore_participants(s, &p), 0);
    assert_int_equal(p->n, 3);
    assert_int_equal(p->items[0]->token, pawl_grant_token(pawl_lease_grant(one)));
    pawl_participants_free(p);
    want(s, 2, -1, &t);
    until_nodes(c, "/sem/several/leases", 4);
    give(one);
    until_nodes(c, "/sem/several/leases", 4); /* he has one, and wants another */
    assert_int_equal(t.told.err, 1);
    give(leases[0]);
    assert_int_equal(told_wait(&t.told), 0);
    assert_int_equal(t.n, 2);
    assert_int_equal(pawl_semaphore_acquire_n(s, 4, 0, leases), PAWL_ERR_BAD_ARGUMENTS);
    pawl_semaphore_free(s);
    until_nodes(c, "/sem/several/leases", 0);
    pawl_client_close(c);
}

/* ---- the shared count ---- */

/* */
static void a_count_that_grows_wakes_who_waits(void **state)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 1, .count = "/v/semcount"};
    struct pawl_client *c[1] = {client_fixture_open(NULL)};
    struct pawl_semaphore *s, *other;
    struct pawl_lease *first;
    struct taken t;

    (void)state;
    assert_int_equal(pawl_semaphore_new(c[0], "/v/sem2", &o, &s), 0);
    o.max_leases = 7; /* only who comes first says how many */
    assert_int_equal(pawl_semaphore_new(c[0], "/v/sem2", &o, &other), 0);
    first = take(s);
    want(other, 1, -1, &t);
    until_nodes(c[0], "/v/sem2/leases", 2);
    assert_int_equal(t.told.err, 1);
    set_count(c[0], "/v/semcount", 2);
    assert_int_equal(told_wait(&t.told), 0);
    until_nodes(c[0], "/v/sem2/locks", 0);
    expect_shape(c, 1, "/v/semcount", "interprocesssemaphorev2.txt", "count node");

    set_count(c[0], "/v/semcount", 1); /* takes nothing away, but counts from now on */
    give(first);
    assert_true(pawl_grant_held(pawl_lease_grant(t.lease)));
    assert_int_equal(pawl_semaphore_acquire(s, 200, &first), PAWL_ERR_OPERATION_TIMEOUT);
    give(t.lease);
    give(take(s));
    pawl_semaphore_free(s);
    pawl_semaphore_free(other);
    pawl_client_close(c[0]);
}

static void a_count_that_is_deleted_or_garbage_stays_what_it_was(void **state)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 1, .count = "/sem/number"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_semaphore *s, *late;
    struct pawl_lease *first;
    struct taken t;

    (void)state;
    assert_int_equal(pawl_semaphore_new(c, "/sem/deleted", &o, &s), 0);
    first = take(s);
    want(s, 1, -1, &t);
    until_nodes(c, "/sem/deleted/leases", 2);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/sem/number"), NULL), 0);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/sem/number", .data = text_bytes("?")), NULL), 0);
    assert_int_equal(pawl_semaphore_new(c, "/sem/deleted", &o, &late), 0);
    assert_int_equal(pawl_semaphore_acquire(late, SOON_MS, &first), PAWL_ERR_DATA_INCONSISTENCY);
    assert_int_equal(t.told.err, 1);
    set_count(c, "/sem/number", 2);
    assert_int_equal(told_wait(&t.told), 0);
    pawl_semaphore_free(late);
    pawl_semaphore_free(s);
    pawl_client_close(c);
}

/* ---- nothing is left behind ---- */

/* */
static void who_gives_up_leaves_nothing_behind(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_semaphore *s = new_semaphore(c, "/sem/up", 1), *w = new_semaphore(d, "/sem/up", 1);
    struct pawl_lease *held = take(s), *none;
    struct taken t;

    (void)state;
    assert_int_equal(pawl_semaphore_acquire(w, 0, &none), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_semaphore_acquire(w, 100, &none), PAWL_ERR_OPERATION_TIMEOUT);
    until_nodes(c, "/sem/up/leases", 1);
    until_nodes(c, "/sem/up/locks", 0);
    want(w, 1, -1, &t);
    until_nodes(c, "/sem/up/leases", 2);
    pawl_semaphore_cancel(w);
    assert_int_equal(told_wait(&t.told), PAWL_ERR_CANCELLED);
    until_nodes(c, "/sem/up/leases", 1);
    until_nodes(c, "/sem/up/locks", 0);
    want(w, 1, -1, &t);
    until_nodes(c, "/sem/up/leases", 2);
    pawl_semaphore_free(w);
    assert_int_equal(told_wait(&t.told), PAWL_ERR_CANCELLED);
    assert_int_equal(t.n, 0);
    until_nodes(c, "/sem/up/leases", 1);
    until_nodes(c, "/sem/up/locks", 0);
    give(held);
    give(take(s));
    pawl_semaphore_free(s);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* R-16, at whatever point the acquire is when the semaphore goes. */
static void freeing_in_the_middle_leaves_nothing_behind(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct pawl_semaphore *s = new_semaphore(c, "/sem/middle", 2);
        struct taken t;

        want(s, 2, -1, &t);
        for (int k = 0; k < i % 8; k++) {
            assert_int_equal(pawl_sync(c, "/", NULL), 0);
        }
        pawl_semaphore_free(s);
        told_wait(&t.told);
        until_nodes(c, "/sem/middle/leases", 0);
        until_nodes(c, "/sem/middle/locks", 0);
    }
    pawl_client_close(c);
}

static void no_watch_is_left_behind(void **state)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 1, .count = "/sem/w/count"};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_semaphore *a, *b;
    struct pawl_lease *held, *none;
    struct taken first, second;

    (void)state;
    until_no_watches(); /* of others, before */
    assert_int_equal(pawl_semaphore_new(c, "/sem/w", &o, &a), 0);
    assert_int_equal(pawl_semaphore_new(c, "/sem/w", &o, &b), 0);
    held = take(a);
    want(b, 1, -1, &first);
    until_nodes(c, "/sem/w/leases", 2);
    want(b, 1, -1, &second);
    assert_int_equal(pawl_semaphore_acquire(a, 200, &none), PAWL_ERR_OPERATION_TIMEOUT);
    assert_true(n_watches() > 0);
    give(held);
    assert_int_equal(told_wait(&first.told), 0);
    pawl_semaphore_cancel(b);
    assert_int_equal(told_wait(&second.told), PAWL_ERR_CANCELLED);
    give(first.lease);
    want(a, 1, -1, &first);
    pawl_semaphore_free(a);
    pawl_semaphore_free(b);
    told_wait(&first.told);
    until_no_watches();
    until_nodes(c, "/sem/w/leases", 0);
    pawl_client_close(c);
}

/* ---- trouble ---- */

/* the session goes while one waits for a lease, and while one waits for the lock. */
static void an_acquire_begins_again_in_a_new_session(void **state)
{
    static const char path[] = "/sem/again";
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_semaphore *s, *o = new_semaphore(other, path, 1);
    struct pawl_lease *held = take(o);
    struct taken first, second;
    struct behind_proxy p;
    int64_t session;

    (void)state;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&p, &co);
    session = pawl_client_session_id(p.c);
    s = new_semaphore(p.c, path, 1);
    want(s, 1, -1, &first);
    until_nodes(other, "/sem/again/leases", 2);
    want(s, 1, -1, &second);
    until_nodes(other, "/sem/again/locks", 2);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    until_nodes(other, "/sem/again/locks", 0);
    until_nodes(other, "/sem/again/leases", 1);
    tcp_proxy_accept(p.proxy, true);
    until_nodes(other, "/sem/again/locks", 2);
    until_nodes(other, "/sem/again/leases", 2);
    assert_int_equal(first.told.err, 1);
    assert_int_equal(second.told.err, 1);
    give(held);
    wait_until(first.told.err != 1 || second.told.err != 1);
    assert_true(pawl_client_session_id(p.c) != session);
    until_nodes(other, "/sem/again/leases", 2); /* the other waits for his */
    give(first.told.err == 0 ? first.lease : second.lease);
    assert_int_equal(told_wait(&first.told), 0);
    assert_int_equal(told_wait(&second.told), 0);
    pawl_semaphore_free(s);
    pawl_semaphore_free(o);
    behind_proxy_close(&p);
    pawl_client_close(other);
}

/* */
static void a_holder_cut_off_knows_before_his_lease_is_given_away(void **state)
{
    static const char path[] = "/sem/cut";
    struct grant_log log = {.last = -1};
    struct pawl_semaphore_options so = {.size = sizeof(so),
                                        .max_leases = 1,
                                        .doubt = PAWL_DOUBT_GO_ON,
                                        .on_grant = log_grant,
                                        .on_grant_arg = &log};
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_semaphore *s, *o = new_semaphore(other, path, 1);
    struct pawl_lease *mine, *his;
    struct behind_proxy p;

    (void)state;
    sem_init(&log.some, 0, 0);
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&p, &co);
    assert_int_equal(pawl_semaphore_new(p.c, path, &so, &s), 0);
    mine = take(s);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    his = take(o);
    assert_false(pawl_grant_held(pawl_lease_grant(mine)));
    assert_true(pawl_grant_token(pawl_lease_grant(his)) > pawl_grant_token(pawl_lease_grant(mine)));
    until_grant(&log, PAWL_GRANT_LOST);
    assert_int_equal(pawl_lease_release(mine), PAWL_ERR_LOST);
    tcp_proxy_accept(p.proxy, true);
    assert_int_equal(pawl_semaphore_acquire(s, 200, &mine), PAWL_ERR_OPERATION_TIMEOUT);
    give(his);
    give(take(s));
    pawl_semaphore_free(s);
    pawl_semaphore_free(o);
    behind_proxy_close(&p);
    pawl_client_close(other);
}

static void delete_last(struct pawl_client *c, const char *path)
{
    struct pawl_participants *p;

    assert_int_equal(pawl_participants(c, path, &p), 0);
    assert_true(p->n > 0);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = p->items[p->n - 1]->path), NULL), 0);
    pawl_participants_free(p);
}

static void nodes_deleted_by_others_are_made_again_or_noticed(void **state)
{
    struct grant_log log = {.last = -1};
    struct pawl_semaphore_options o = {
        .size = sizeof(o), .max_leases = 1, .on_grant = log_grant, .on_grant_arg = &log};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_semaphore *s;
    struct pawl_lease *held;
    struct taken t;

    (void)state;
    sem_init(&log.some, 0, 0);
    assert_int_equal(pawl_semaphore_new(c, "/sem/hand", &o, &s), 0);
    held = take(s);
    want(s, 1, -1, &t);
    until_nodes(c, "/sem/hand/leases", 2);
    delete_last(c, "/sem/hand/leases");
    until_nodes(c, "/sem/hand/leases", 2);
    assert_int_equal(t.told.err, 1);
    grant_delete(c, pawl_lease_grant(held));
    until_grant(&log, PAWL_GRANT_LOST);
    assert_int_equal(told_wait(&t.told), 0);
    assert_int_equal(pawl_lease_release(held), PAWL_ERR_LOST);
    assert_true(pawl_grant_held(pawl_lease_grant(t.lease)));

    want(s, 1, -1, &t); /* the one before stays out, and goes with the semaphore */
    until_nodes(c, "/sem/hand/leases", 2);
    delete_last(c, "/sem/hand/locks");
    until_nodes(c, "/sem/hand/locks", 1);
    pawl_semaphore_free(s);
    assert_int_equal(told_wait(&t.told), PAWL_ERR_CANCELLED);
    until_nodes(c, "/sem/hand/leases", 0);
    until_nodes(c, "/sem/hand/locks", 0);
    pawl_client_close(c);
}

/* ---- the mutex ---- */

static void *release_mutex(void *mutex)
{
    assert_int_equal(pawl_mutex_release(mutex), 0);
    return NULL;
}

static void *use_mutex(void *mutex)
{
    for (int i = 0; i < 30; i++) {
        assert_int_equal(pawl_mutex_acquire(mutex, -1), 0);
        assert_true(pawl_mutex_held(mutex));
        assert_int_equal(pawl_mutex_release(mutex), 0);
    }
    return NULL;
}

/* a release forgets its own lease, not that of a thread that has just acquired. */
static void any_thread_may_release_and_forgets_nobody_elses(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_mutex *m;
    pthread_t threads[3];

    (void)state;
    assert_int_equal(pawl_mutex_new(c, "/sem/mutex", NULL, &m), 0);
    assert_int_equal(pawl_mutex_acquire(m, SOON_MS), 0);
    pthread_create(&threads[0], NULL, release_mutex, m);
    pthread_join(threads[0], NULL);
    assert_false(pawl_mutex_held(m));
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, use_mutex, m);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(n_nodes(c, "/sem/mutex/leases"), 0);
    pawl_mutex_free(m);
    pawl_client_close(c);
}

static void tell_mutex(struct pawl_mutex *m, int err, void *told)
{
    (void)m;
    told_end(told, err);
}

static void a_mutex_that_was_lost_can_be_acquired_again(void **state)
{
    struct grant_log log = {.last = -1};
    struct pawl_semaphore_options o = {
        .size = sizeof(o), .on_grant = log_grant, .on_grant_arg = &log};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_mutex *m;
    struct told t;
    uint64_t token;

    (void)state;
    sem_init(&log.some, 0, 0);
    told_init(&t);
    assert_int_equal(pawl_mutex_new(c, "/sem/lost", &o, &m), 0);
    assert_null(pawl_mutex_grant(m));
    assert_int_equal(pawl_mutex_acquire_async(m, -1, tell_mutex, &t), 0);
    assert_int_equal(told_wait(&t), 0);
    token = pawl_mutex_token(m);
    grant_delete(c, pawl_mutex_grant(m));
    until_grant(&log, PAWL_GRANT_LOST);
    assert_int_equal(pawl_mutex_acquire(m, SOON_MS), 0);
    assert_true(pawl_mutex_token(m) > token);
    assert_int_equal(pawl_mutex_release_async(m, tell_mutex, &t), 0);
    assert_int_equal(told_wait(&t), 0);
    pawl_mutex_free(m);
    pawl_client_close(c);
}

static void tell_given(int err, void *told)
{
    told_end(told, err);
}

/* Nobody is left to run callbacks: the call itself says so, and what was asked for is done. */
static void a_closed_client_is_said_at_once(void **state)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .max_leases = 1};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_semaphore *s;
    struct pawl_lease *lease;
    struct pawl_mutex *m;
    struct told t;
    struct taken taken;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_semaphore_new(c, "/sem/closed", &o, &s), 0);
    assert_int_equal(pawl_mutex_new(c, "/sem/closed-m", NULL, &m), 0);
    assert_int_equal(pawl_semaphore_acquire(s, SOON_MS, &lease), 0);
    pawl_client_close(c);
    assert_int_equal(pawl_lease_release_async(lease, tell_given, &t), PAWL_ERR_LOST);
    assert_int_equal(pawl_semaphore_acquire_async(s, 1, -1, got, &taken), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_semaphore_acquire(s, -1, &lease), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_mutex_acquire(m, -1), PAWL_ERR_CLOSING);
    assert_int_equal(pawl_mutex_release_async(m, tell_mutex, &t), PAWL_ERR_NOT_HELD);
    assert_int_equal(t.err, 1);
    pawl_semaphore_free(s);
    pawl_mutex_free(m);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_semaphore_options o = {.size = sizeof(o)};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_semaphore *s;
    struct pawl_lease *lease;

    (void)state;
    assert_int_equal(pawl_semaphore_new(c, "/sem/bad", &o, &s), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_semaphore_new(c, "/sem/bad", NULL, &s), PAWL_ERR_BAD_ARGUMENTS);
    o.max_leases = 1;
    assert_int_equal(pawl_semaphore_new(c, "bad", &o, &s), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_semaphore_new(NULL, "/sem/bad", &o, &s), PAWL_ERR_BAD_ARGUMENTS);
    o.count = "bad";
    assert_int_equal(pawl_semaphore_new(c, "/sem/bad", &o, &s), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_semaphore_acquire(NULL, 0, &lease), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_lease_release(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_mutex_acquire(NULL, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_mutex_release(NULL), PAWL_ERR_BAD_ARGUMENTS);
    assert_null(pawl_lease_grant(NULL));
    pawl_semaphore_free(NULL);
    pawl_mutex_free(NULL);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_of_curator),
        cmocka_unit_test(a_mutex_has_the_nodes_of_curators),
        cmocka_unit_test(the_old_semaphore_is_a_lock_with_permits),
        cmocka_unit_test(whichever_holder_goes_the_next_in_line_is_woken),
        cmocka_unit_test(a_release_among_several_needs_no_delay),
        cmocka_unit_test(never_are_more_held_than_there_are),
        cmocka_unit_test(several_come_all_or_none),
        cmocka_unit_test(a_count_that_grows_wakes_who_waits),
        cmocka_unit_test(a_count_that_is_deleted_or_garbage_stays_what_it_was),
        cmocka_unit_test(who_gives_up_leaves_nothing_behind),
        cmocka_unit_test(freeing_in_the_middle_leaves_nothing_behind),
        cmocka_unit_test(no_watch_is_left_behind),
        cmocka_unit_test(an_acquire_begins_again_in_a_new_session),
        cmocka_unit_test(a_holder_cut_off_knows_before_his_lease_is_given_away),
        cmocka_unit_test(nodes_deleted_by_others_are_made_again_or_noticed),
        cmocka_unit_test(any_thread_may_release_and_forgets_nobody_elses),
        cmocka_unit_test(a_mutex_that_was_lost_can_be_acquired_again),
        cmocka_unit_test(a_closed_client_is_said_at_once),
        cmocka_unit_test(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
