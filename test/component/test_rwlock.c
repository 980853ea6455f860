/* SPDX-License-Identifier: Apache-2.0 */
/* The read/write lock, against a real server, over a link that can be cut. */
#define _GNU_SOURCE
#include <pthread.h>

#include "lib/test.h"

#include "lib/curator_shape.h"
#include "lib/recipe_helpers.h"

static struct pawl_rwlock *new_rwlock(struct pawl_client *c, const char *path,
                                      const struct pawl_lock_options *options)
{
    struct pawl_rwlock *rw = NULL;

    assert_int_equal(pawl_rwlock_new(c, path, options, &rw), 0);
    return rw;
}

static int read_lock(struct pawl_rwlock *rw, int timeout_ms)
{
    return pawl_lock_acquire(pawl_rwlock_reader(rw), timeout_ms);
}

static int write_lock(struct pawl_rwlock *rw, int timeout_ms)
{
    return pawl_lock_acquire(pawl_rwlock_writer(rw), timeout_ms);
}

static void read_unlock(struct pawl_rwlock *rw)
{
    assert_int_equal(pawl_lock_release(pawl_rwlock_reader(rw)), 0);
}

static void write_unlock(struct pawl_rwlock *rw)
{
    assert_int_equal(pawl_lock_release(pawl_rwlock_writer(rw)), 0);
}

/* Queues, and returns when the node is there, which makes it the `n`th. */
static void queue_for(struct pawl_client *c, struct pawl_lock *l, const char *path, int n,
                      struct told *t)
{
    told_init(t);
    assert_int_equal(pawl_lock_acquire_async(l, -1, tell_lock, t), 0);
    until_nodes(c, path, n);
}

static void expect_shape(struct pawl_client *const *clients, size_t n, const char *root,
                         const char *file, const char *heading)
{
    struct curator_shape seen, recorded;

    curator_shape_seen(&seen, clients[0], root, clients, n);
    curator_shape_recorded(&recorded, VECTORS, file, heading);
    curator_shape_compare(&seen, &recorded);
}

/* ---- Curator's ---- */

static void nodes_are_those_of_curator(void **state)
{
    static const char file[] = "interprocessreadwritelock.txt", path[] = "/v/rw";
    struct pawl_lock_options o = {.size = sizeof(o), .data = text_bytes("D")};
    struct pawl_client *c[4];
    struct pawl_rwlock *rw[4];
    struct told writer, reader;

    (void)state;
    for (int i = 0; i < 4; i++) {
        c[i] = client_fixture_open(NULL);
        rw[i] = new_rwlock(c[i], path, &o);
    }
    assert_int_equal(read_lock(rw[0], SOON_MS), 0);
    assert_int_equal(read_lock(rw[1], SOON_MS), 0);
    queue_for(c[0], pawl_rwlock_writer(rw[2]), path, 3, &writer);
    queue_for(c[0], pawl_rwlock_reader(rw[3]), path, 4, &reader);
    expect_shape(c, 4, path, file, "two readers hold, C (write) and D (read) queued");
    read_unlock(rw[1]);
    assert_int_equal(writer.err, 1);
    read_unlock(rw[0]);
    assert_int_equal(told_wait(&writer), 0);
    assert_int_equal(reader.err, 1);
    expect_shape(c, 4, path, file, "C holds write");
    write_unlock(rw[2]);
    assert_int_equal(told_wait(&reader), 0);
    assert_true(pawl_lock_token(pawl_rwlock_reader(rw[3])) >
                pawl_lock_token(pawl_rwlock_writer(rw[2])));
    for (int i = 0; i < 4; i++) {
        pawl_rwlock_free(rw[i]);
        pawl_client_close(c[i]);
    }
}

/* */
static void a_writer_in_line_does_not_get_between_a_downgrade(void **state)
{
    static const char file[] = "head-readwritelock-downgrade.txt", path[] = "/h/rwdn";
    struct pawl_client *c[2] = {client_fixture_open(NULL), client_fixture_open(NULL)};
    struct pawl_rwlock *a = new_rwlock(c[0], path, NULL), *b = new_rwlock(c[1], path, NULL);
    struct told writer;
    uint64_t token;

    (void)state;
    assert_int_equal(write_lock(a, SOON_MS), 0);
    token = pawl_lock_token(pawl_rwlock_writer(a));
    queue_for(c[0], pawl_rwlock_writer(b), path, 2, &writer);
    assert_int_equal(read_lock(a, SOON_MS), 0);
    expect_shape(c, 2, path, file, "A holds write+read, B waits");
    write_unlock(a);
    expect_shape(c, 2, path, file, "after downgrade");
    assert_true(pawl_lock_held(pawl_rwlock_reader(a)));
    assert_int_equal(pawl_lock_token(pawl_rwlock_reader(a)), token);
    assert_int_equal(read_lock(a, 0), 0); /* and again, which costs nothing */
    read_unlock(a);
    assert_int_equal(pawl_sync(c[1], "/", NULL), 0);
    assert_int_equal(writer.err, 1);
    read_unlock(a);
    assert_int_equal(told_wait(&writer), 0);
    assert_true(pawl_lock_token(pawl_rwlock_writer(b)) > token);
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    pawl_client_close(c[0]);
    pawl_client_close(c[1]);
}

/* ---- who may ---- */

/* */
static void an_upgrade_is_refused_at_once(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *rw = new_rwlock(c, "/rw/up", NULL);
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(read_lock(rw, SOON_MS), 0);
    assert_int_equal(write_lock(rw, -1), PAWL_ERR_WOULD_DEADLOCK);
    assert_int_equal(write_lock(rw, 0), PAWL_ERR_WOULD_DEADLOCK);
    assert_int_equal(pawl_lock_acquire_async(pawl_rwlock_writer(rw), -1, tell_lock, &t),
                     PAWL_ERR_WOULD_DEADLOCK);
    assert_int_equal(n_nodes(c, "/rw/up"), 1);
    read_unlock(rw);
    assert_int_equal(write_lock(rw, SOON_MS), 0);
    assert_int_equal(read_lock(rw, 0), 0);
    assert_int_equal(write_lock(rw, 0), 0); /* held already: no upgrade */
    pawl_rwlock_free(rw);
    until_nodes(c, "/rw/up", 0);
    pawl_client_close(c);
}

static void *write_in_time(void *rw)
{
    int rc = write_lock(rw, 100);

    assert_int_equal(rc, PAWL_ERR_OPERATION_TIMEOUT);
    return NULL;
}

static void *write_after(void *rw)
{
    assert_int_equal(write_lock(rw, SOON_MS), 0);
    write_unlock(rw);
    return NULL;
}

static void threads_that_own_are_told_apart(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .owner = PAWL_OWNER_THREAD};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *rw = new_rwlock(c, "/rw/threads", &o);
    pthread_t other;

    (void)state;
    assert_int_equal(read_lock(rw, SOON_MS), 0);
    assert_int_equal(write_lock(rw, -1), PAWL_ERR_WOULD_DEADLOCK);
    pthread_create(&other, NULL, write_in_time, rw);
    pthread_join(other, NULL);
    pthread_create(&other, NULL, write_after, rw);
    until_nodes(c, "/rw/threads", 2);
    read_unlock(rw);
    pthread_join(other, NULL);

    assert_int_equal(write_lock(rw, SOON_MS), 0);
    pthread_create(&other, NULL, write_after, rw);
    until_nodes(c, "/rw/threads", 2);
    assert_int_equal(read_lock(rw, SOON_MS), 0);
    write_unlock(rw);
    until_nodes(c, "/rw/threads", 2);
    read_unlock(rw);
    pthread_join(other, NULL);
    assert_int_equal(n_nodes(c, "/rw/threads"), 0);
    pawl_rwlock_free(rw);
    pawl_client_close(c);
}

static void a_try_for_read_fails_only_because_of_writers(void **state)
{
    static const char path[] = "/rw/try";
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *a = new_rwlock(c, path, NULL), *b = new_rwlock(c, path, NULL),
                       *w = new_rwlock(c, path, NULL);
    struct told writer;

    (void)state;
    assert_int_equal(read_lock(a, 0), 0);
    assert_int_equal(read_lock(b, 0), 0);
    assert_int_equal(write_lock(w, 0), PAWL_ERR_OPERATION_TIMEOUT);
    read_unlock(b);
    queue_for(c, pawl_rwlock_writer(w), path, 2, &writer);
    assert_int_equal(read_lock(b, 0), PAWL_ERR_OPERATION_TIMEOUT); /* one who waits, too */
    read_unlock(a);
    assert_int_equal(told_wait(&writer), 0);
    assert_int_equal(read_lock(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(read_lock(w, 0), 0);
    write_unlock(w);
    assert_int_equal(read_lock(b, 0), 0);
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    pawl_rwlock_free(w);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .permits = 2};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *rw = NULL;

    (void)state;
    assert_int_equal(pawl_rwlock_new(c, "/rw/bad", &o, &rw), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_rwlock_new(c, "no/slash", NULL, &rw), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_rwlock_new(NULL, "/rw/bad", NULL, &rw), PAWL_ERR_BAD_ARGUMENTS);
    assert_null(pawl_rwlock_reader(NULL));
    pawl_rwlock_free(NULL);
    pawl_client_close(c);
}

/* ---- waking ---- */

static void count_listings(const struct pawl_metric *metric, void *n)
{
    if (strncmp(metric->op, "getChildren", 11) == 0) {
        atomic_fetch_add((_Atomic int *)n, 1);
    }
}

static void a_reader_sleeps_until_the_last_writer_ahead_goes(void **state)
{
    static const char path[] = "/rw/near";
    _Atomic int listings = 0;
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c = client_fixture_open(NULL), *d;
    struct pawl_rwlock *a, *b, *r;
    struct told writer, reader;
    int before;

    (void)state;
    o.metric = count_listings;
    o.metric_arg = &listings;
    d = client_fixture_open(&o);
    a = new_rwlock(c, path, NULL);
    b = new_rwlock(c, path, NULL);
    r = new_rwlock(d, path, NULL);
    assert_int_equal(write_lock(a, SOON_MS), 0);
    queue_for(c, pawl_rwlock_writer(b), path, 2, &writer);
    queue_for(c, pawl_rwlock_reader(r), path, 3, &reader);
    assert_int_equal(pawl_sync(d, "/", NULL), 0);
    before = listings;
    write_unlock(a);
    assert_int_equal(told_wait(&writer), 0);
    assert_int_equal(pawl_sync(d, "/", NULL), 0);
    assert_int_equal(listings, before);
    write_unlock(b);
    assert_int_equal(told_wait(&reader), 0);
    assert_int_equal(listings, before + 1);
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    pawl_rwlock_free(r);
    pawl_client_close(c);
    pawl_client_close(d);
}

enum { THREADS = 4, ROUNDS = 30 };

struct shared {
    struct pawl_rwlock *rw;
    _Atomic int readers, writers;
    uint64_t last_write;
};

static void *mix(void *arg)
{
    struct shared *s = arg;
    struct pawl_lock *w = pawl_rwlock_writer(s->rw);

    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(read_lock(s->rw, -1), 0);
        assert_int_equal(s->writers, 0);
        s->readers++;
        s->readers--;
        read_unlock(s->rw);

        assert_int_equal(write_lock(s->rw, -1), 0);
        assert_int_equal(s->writers++, 0);
        assert_int_equal(s->readers, 0);
        assert_true(pawl_lock_token(w) > s->last_write);
        s->last_write = pawl_lock_token(w);
        s->writers--;
        if (i % 2 == 0) { /* down to reading */
            assert_int_equal(read_lock(s->rw, -1), 0);
            s->readers++;
            write_unlock(s->rw);
            assert_int_equal(s->writers, 0);
            s->readers--;
            read_unlock(s->rw);
        } else {
            write_unlock(s->rw);
        }
    }
    return NULL;
}

static void writers_are_alone(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .owner = PAWL_OWNER_THREAD};
    struct pawl_client *c = client_fixture_open(NULL);
    struct shared s = {.rw = new_rwlock(c, "/rw/mix", &o)};
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, mix, &s);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(n_nodes(c, "/rw/mix"), 0);
    pawl_rwlock_free(s.rw);
    pawl_client_close(c);
}

static void no_watch_is_left_behind(void **state)
{
    static const char path[] = "/rw/watch";
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *a = new_rwlock(c, path, NULL), *b = new_rwlock(c, path, NULL);
    struct told t;

    (void)state;
    until_no_watches();
    assert_int_equal(write_lock(a, SOON_MS), 0);
    assert_int_equal(read_lock(a, SOON_MS), 0);
    assert_int_equal(read_lock(b, 100), PAWL_ERR_OPERATION_TIMEOUT);
    queue_for(c, pawl_rwlock_writer(b), path, 3, &t);
    pawl_lock_cancel(pawl_rwlock_writer(b));
    assert_int_equal(told_wait(&t), PAWL_ERR_CANCELLED);
    queue_for(c, pawl_rwlock_reader(b), path, 3, &t);
    write_unlock(a);
    assert_int_equal(told_wait(&t), 0);
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    until_no_watches();
    assert_int_equal(n_nodes(c, path), 0);
    pawl_client_close(c);
}

/* ---- trouble ---- */

/* */
static void a_reader_whose_node_is_gone_queues_again(void **state)
{
    static const char path[] = "/rw/gone";
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_rwlock *a = new_rwlock(c, path, NULL), *b = new_rwlock(c, path, NULL);
    struct pawl_participants *p;
    struct told reader;

    (void)state;
    assert_int_equal(write_lock(a, SOON_MS), 0);
    queue_for(c, pawl_rwlock_reader(b), path, 2, &reader);
    assert_int_equal(pawl_participants(c, path, &p), 0);
    assert_int_equal(p->n, 2);
    assert_non_null(strstr(p->items[1]->path, "__READ__"));
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = p->items[1]->path), NULL), 0);
    pawl_participants_free(p);
    write_unlock(a);
    assert_int_equal(told_wait(&reader), 0);
    assert_true(pawl_lock_held(pawl_rwlock_reader(b)));
    assert_int_equal(n_nodes(c, path), 1);
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    pawl_client_close(c);
}

static void a_write_lock_that_was_deleted_is_no_place_to_read_from(void **state)
{
    static const char path[] = "/rw/deleted";
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    struct pawl_rwlock *a = new_rwlock(c, path, NULL), *b = new_rwlock(d, path, NULL);

    (void)state;
    assert_int_equal(write_lock(a, SOON_MS), 0);
    grant_delete(d, pawl_lock_grant(pawl_rwlock_writer(a)));
    assert_int_equal(write_lock(b, SOON_MS), 0);
    assert_int_equal(read_lock(a, 200), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_grant_state(pawl_lock_grant(pawl_rwlock_writer(a))), PAWL_GRANT_LOST);
    until_nodes(c, path, 1);
    write_unlock(b);
    assert_int_equal(read_lock(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_release(pawl_rwlock_writer(a)), PAWL_ERR_LOST);
    assert_true(pawl_lock_held(pawl_rwlock_reader(a)));
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    pawl_client_close(c);
    pawl_client_close(d);
}

/* The read node was asked for in a session that died with the write lock. */
static void a_downgrade_does_not_survive_its_session(void **state)
{
    static const char path[] = "/rw/session";
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_rwlock *a, *b = new_rwlock(other, path, NULL);
    struct behind_proxy p;
    struct told writer, reader;

    (void)state;
    told_init(&reader);
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&p, &co);
    a = new_rwlock(p.c, path, NULL);
    assert_int_equal(write_lock(a, SOON_MS), 0);
    queue_for(other, pawl_rwlock_writer(b), path, 2, &writer);
    tcp_proxy_accept(p.proxy, false);
    tcp_proxy_cut(p.proxy);
    assert_int_equal(pawl_lock_acquire_async(pawl_rwlock_reader(a), -1, tell_lock, &reader), 0);
    assert_int_equal(told_wait(&writer), 0);
    assert_false(pawl_lock_held(pawl_rwlock_writer(a)));
    tcp_proxy_accept(p.proxy, true);
    until_nodes(other, path, 2);
    assert_int_equal(pawl_client_wait_connected(p.c, SOON_MS), 0);
    assert_int_equal(pawl_sync(p.c, "/", NULL), 0);
    assert_int_equal(reader.err, 1);
    write_unlock(b);
    assert_int_equal(told_wait(&reader), 0);
    assert_true(pawl_lock_token(pawl_rwlock_reader(a)) > pawl_lock_token(pawl_rwlock_writer(b)));
    assert_int_equal(pawl_lock_release(pawl_rwlock_writer(a)), PAWL_ERR_LOST);
    read_unlock(a);
    pawl_rwlock_free(a);
    pawl_rwlock_free(b);
    behind_proxy_close(&p);
    pawl_client_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_those_of_curator),
        cmocka_unit_test(a_writer_in_line_does_not_get_between_a_downgrade),
        cmocka_unit_test(an_upgrade_is_refused_at_once),
        cmocka_unit_test(threads_that_own_are_told_apart),
        cmocka_unit_test(a_try_for_read_fails_only_because_of_writers),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_reader_sleeps_until_the_last_writer_ahead_goes),
        cmocka_unit_test(writers_are_alone),
        cmocka_unit_test(no_watch_is_left_behind),
        cmocka_unit_test(a_reader_whose_node_is_gone_queues_again),
        cmocka_unit_test(a_write_lock_that_was_deleted_is_no_place_to_read_from),
        cmocka_unit_test(a_downgrade_does_not_survive_its_session),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
