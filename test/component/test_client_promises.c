/* SPDX-License-Identifier: Apache-2.0 */
/* What client.h promises, sentence by sentence, where a reading of the sources found it broken. */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

enum { STREAM_SESSION_MS = SHORT_SESSION_MS };

/* ---- small helpers ---- */

struct outcome {
    sem_t done;
    int err;
    enum pawl_outcome outcome;
    char path[128];
};

static void keep(const struct pawl_reply *reply, void *arg)
{
    struct outcome *o = arg;

    o->err = reply->err;
    o->outcome = reply->outcome;
    snprintf(o->path, sizeof(o->path), "%s", reply->path == NULL ? "" : reply->path);
    sem_post(&o->done);
}

static void post(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    sem_post(arg);
}

static void until_version(struct pawl_client *c, const char *path, int version)
{
    struct pawl_reply *r;
    int seen = -1;

    for (int64_t end = now_ms() + SOON_MS; seen != version && now_ms() < end;) {
        assert_int_equal(pawl_exists(c, path, NULL, &r), PAWL_OK);
        seen = r->stat.version;
        pawl_reply_free(r);
    }
    assert_int_equal(seen, version);
}

static void lose_link(struct behind_proxy *b)
{
    tcp_proxy_accept(b->proxy, false);
    tcp_proxy_cut(b->proxy);
    expect_next_state(b, 1, PAWL_STATE_SUSPENDED);
}

/* ---- failed writes, retries, deadlines ---- */

/* The first attempt was executed, and then somebody else wrote: the second is refused, but that
 * does not undo the first. */
static void a_refusal_after_an_unknown_attempt_is_unknown(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;
    struct outcome w;

    (void)state;
    sem_init(&w.done, 0, 0);
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 50, .pause_ms = 20};
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_create(b.c, PAWL_CREATE(.path = "/unsure"), NULL), PAWL_OK);
    tcp_proxy_swallow_replies(b.proxy, true);
    pawl_set_async(b.c,
                   PAWL_SET(.path = "/unsure", .data = text_bytes("ours"),
                            .only_if = pawl_version(0), .flags = PAWL_OP_IDEMPOTENT),
                   keep, &w);
    until_version(other, "/unsure", 1);
    assert_int_equal(
        pawl_set(other, PAWL_SET(.path = "/unsure", .data = text_bytes("theirs")), NULL), PAWL_OK);
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    wait_semaphore(&w.done);
    assert_int_equal(w.err, PAWL_ERR_BAD_VERSION);
    assert_int_equal(w.outcome, PAWL_OUTCOME_UNKNOWN);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* Also while it pauses before another attempt. */
static void a_pausing_call_ends_at_its_deadline(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    struct outcome w;

    (void)state;
    sem_init(&w.done, 0, 0);
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 600000};
    o.timeout_ms = 500;
    behind_proxy_open(&b, &o);
    tcp_proxy_swallow_replies(b.proxy, true);
    pawl_exists_async(b.c, "/", NULL, keep, &w);
    lose_link(&b);
    wait_semaphore(&w.done);
    assert_int_equal(w.err, PAWL_ERR_OPERATION_TIMEOUT);
    behind_proxy_close(&b);
}

/* No other session will come: neither a retried call nor a waiter hangs. */
static void with_one_session_everything_ends_with_it(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct outcome paused, queued;
    struct behind_proxy b;

    (void)state;
    sem_init(&paused.done, 0, 0);
    sem_init(&queued.done, 0, 0);
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 600000};
    o.timeout_ms = -1;
    o.session_timeout_ms = SHORT_SESSION_MS;
    o.flags = PAWL_CLIENT_ONE_SESSION;
    behind_proxy_open(&b, &o);
    tcp_proxy_swallow_replies(b.proxy, true);
    pawl_exists_async(b.c, "/", NULL, keep, &paused);
    lose_link(&b);
    pawl_exists_async(b.c, "/", NULL, keep, &queued);
    assert_int_equal(pawl_client_wait_connected(b.c, SOON_MS), PAWL_ERR_SESSION_EXPIRED);
    wait_semaphore(&queued.done);
    assert_int_equal(queued.err, PAWL_ERR_SESSION_EXPIRED);
    wait_semaphore(&paused.done);
    assert_int_equal(paused.err, PAWL_ERR_SESSION_EXPIRED);
    behind_proxy_close(&b);
}

/* What goes on in the background is what was asked for, and no more. */
static void a_guaranteed_delete_keeps_its_conditions(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;

    (void)state;
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/sure2/tree/x/y", .flags = PAWL_OP_PARENTS), NULL);
    pawl_create(b.c, PAWL_CREATE(.path = "/sure2/other"), NULL);
    lose_link(&b);
    assert_int_equal(pawl_delete(b.c,
                                 PAWL_DELETE(.path = "/sure2/other", .only_if = pawl_version(7),
                                             .flags = PAWL_OP_GUARANTEED, .timeout_ms = 50),
                                 NULL),
                     PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_delete(b.c,
                                 PAWL_DELETE(.path = "/sure2/tree",
                                             .flags = PAWL_OP_GUARANTEED | PAWL_OP_CHILDREN_TOO,
                                             .timeout_ms = 50),
                                 NULL),
                     PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_accept(b.proxy, true);
    for (int64_t end = now_ms() + SOON_MS;
         pawl_exists(b.c, "/sure2/tree", NULL, NULL) == PAWL_OK && now_ms() < end;) {
    }
    assert_int_equal(pawl_exists(b.c, "/sure2/tree", NULL, NULL), PAWL_ERR_NO_NODE);
    assert_int_equal(pawl_exists(b.c, "/sure2/other", NULL, NULL), PAWL_OK);
    behind_proxy_close(&b);
}

/* The line that tells of a new session is written before anything is sent in it: from here on
 * answers get lost. */
struct trap {
    struct tcp_proxy *proxy;
    _Atomic bool set;
};

static void on_line(enum pawl_log_level level, const char *line, void *arg)
{
    struct trap *t = arg;

    (void)level;
    if (strncmp(line, "session 0x", 10) == 0 && strstr(line, " on ") != NULL &&
        atomic_exchange(&t->set, false)) {
        tcp_proxy_swallow_replies(t->proxy, true);
    }
}

static void until_child(struct pawl_client *c, const char *path, char *name, size_t size)
{
    struct pawl_reply *r;

    name[0] = '\0';
    for (int64_t end = now_ms() + SOON_MS; name[0] == '\0' && now_ms() < end;) {
        assert_int_equal(pawl_children(c, path, NULL, &r), PAWL_OK);
        snprintf(name, size, "%s", r->children.n == 0 ? "" : r->children.items[0]);
        pawl_reply_free(r);
    }
}

/* Asked for without a session, made in the one that came: it is ours, and no second one is made. */
static void a_protected_ephemeral_asked_for_without_a_session_is_found_again(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;
    struct trap trap = {0};
    struct outcome w;
    char name[100];

    (void)state;
    sem_init(&w.done, 0, 0);
    o.session_timeout_ms = SHORT_SESSION_MS;
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 20};
    o.log = on_line;
    o.log_arg = &trap;
    o.log_level = PAWL_LOG_INFO;
    behind_proxy_open(&b, &o);
    trap.proxy = b.proxy;
    assert_int_equal(pawl_create(b.c, PAWL_CREATE(.path = "/early"), NULL), PAWL_OK);
    lose_link(&b);
    expect_next_state(&b, 2, PAWL_STATE_LOST);
    pawl_create_async(b.c,
                      PAWL_CREATE(.path = "/early/n-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                  .flags = PAWL_OP_PROTECTED),
                      keep, &w);
    atomic_store(&trap.set, true);
    tcp_proxy_accept(b.proxy, true);
    until_child(other, "/early", name, sizeof(name));
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    wait_semaphore(&w.done);
    assert_int_equal(w.err, PAWL_OK);
    assert_string_equal(w.path + strlen("/early/"), name);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* ---- threads ---- */

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n;
}

/* A thread that was joined stays in /proc for a moment: the kernel clears its id first. */
static void expect_threads(int n)
{
    wait_until(count_threads() == n);
}

static void after_close_no_thread_is_left(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    int before;

    (void)state;
    pawl_client_close(client_fixture_open(NULL)); /* what is made once is made now */
    before = count_threads();
    for (int i = 0; i < 30; i++) {
        o.dispatch = i % 2 == 0 ? PAWL_DISPATCH_THREAD : PAWL_DISPATCH_POLLED;
        pawl_client_close(client_fixture_open(&o));
        expect_threads(before);
    }
}

struct slow {
    sem_t begun, go;
    struct pawl_client *c;
    _Atomic bool ended;
    int rc;
};

static void slow_callback(const struct pawl_reply *reply, void *arg)
{
    struct slow *s = arg;

    (void)reply;
    sem_post(&s->begun);
    wait_semaphore(&s->go);
    atomic_store(&s->ended, true);
}

static void *poll_once(void *arg)
{
    struct slow *s = arg;

    while (pawl_client_dispatch(s->c, 100) >= 0 && !atomic_load(&s->ended)) {
    }
    return NULL;
}

struct let_go {
    struct slow *s;
    struct pawl_client *view; /* of the connection that is being closed, but not closed itself */
};

static void *let_go_when_closing(void *arg)
{
    struct let_go *l = arg;

    while (pawl_exists(l->view, "/", NULL, NULL) != PAWL_ERR_CLOSING) {
    }
    sem_post(&l->s->go);
    return NULL;
}

/* Callbacks run on a thread of the application: close waits for them all the same. */
static void close_waits_for_a_callback_that_is_polled(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct slow s = {0};
    struct let_go l = {.s = &s};
    pthread_t poller, other;

    (void)state;
    o.dispatch = PAWL_DISPATCH_POLLED;
    sem_init(&s.begun, 0, 0);
    sem_init(&s.go, 0, 0);
    s.c = client_fixture_open(&o);
    assert_int_equal(pawl_client_view(s.c, NULL, &l.view), PAWL_OK);
    pawl_exists_async(s.c, "/", NULL, slow_callback, &s);
    pthread_create(&poller, NULL, poll_once, &s);
    wait_semaphore(&s.begun);
    pthread_create(&other, NULL, let_go_when_closing, &l);
    pawl_client_close(s.c);
    assert_true(atomic_load(&s.ended));
    pthread_join(poller, NULL);
    pthread_join(other, NULL);
    assert_int_equal(pawl_client_set_servers(l.view, "127.0.0.1:1"), PAWL_ERR_CLOSING);
    pawl_client_close(l.view);
}

struct poller {
    struct pawl_client *c;
    _Atomic bool stop;
    _Atomic int n_left; /* threads that have ended */
};

static void *poll_on(void *arg)
{
    struct poller *p = arg;

    while (!atomic_load(&p->stop)) {
        pawl_client_dispatch(p->c, 10 * SOON_MS);
    }
    atomic_fetch_add(&p->n_left, 1);
    return NULL;
}

static int forgotten_of_200(struct pawl_client *c)
{
    int n_forgotten = 0;
    sem_t done;

    sem_init(&done, 0, 0);
    for (int i = 0; i < 200; i++) {
        int64_t began = now_ms();

        pawl_exists_async(c, "/", NULL, post, &done);
        wait_semaphore(&done);
        n_forgotten += was_forgotten(began);
    }
    return n_forgotten;
}

/* Whichever of them sleeps is woken: no callback waits for a timeout to pass. */
static void several_threads_may_poll(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct poller p = {0};
    pthread_t threads[3];

    (void)state;
    o.dispatch = PAWL_DISPATCH_POLLED;
    p.c = client_fixture_open(&o);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, poll_on, &p);
    }
    wait_until(forgotten_of_200(p.c) < 10);
    atomic_store(&p.stop, true);
    while (atomic_load(&p.n_left) < 3) { /* who sleeps leaves after one more */
        assert_int_equal(pawl_exists_async(p.c, "/", NULL, NULL, NULL), PAWL_OK);
        rest();
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    pawl_client_close(p.c);
}

static void detach_in_callback(const struct pawl_reply *reply, void *arg)
{
    struct slow *s = arg;
    size_t len;
    void *blob;

    (void)reply;
    sem_post(&s->begun);
    wait_semaphore(&s->go);
    s->rc = pawl_client_detach(s->c, (struct pawl_bytes){0}, &blob, &len);
    atomic_store(&s->ended, true);
}

/* Two want to end it at the same time, which a callback cannot know. A view tells when the closing
 * has begun. */
static void what_is_being_closed_cannot_be_detached(void **state)
{
    struct slow s = {.c = client_fixture_open(NULL)};
    struct let_go l = {.s = &s};
    pthread_t thread;

    (void)state;
    sem_init(&s.begun, 0, 0);
    sem_init(&s.go, 0, 0);
    assert_int_equal(pawl_client_view(s.c, NULL, &l.view), PAWL_OK);
    pawl_exists_async(s.c, "/", NULL, detach_in_callback, &s);
    wait_semaphore(&s.begun);
    pthread_create(&thread, NULL, let_go_when_closing, &l);
    pawl_client_close(s.c);
    assert_true(atomic_load(&s.ended));
    assert_int_equal(s.rc, PAWL_ERR_CLOSING);
    pthread_join(thread, NULL);
    pawl_client_close(l.view);
}

struct stream {
    struct pawl_client *c, *other;
    _Atomic int n_left;
    sem_t done;
    int n_seen, rc_blocking;
    _Atomic int n_suspended, n_wrong;
};

static void count_suspended(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct stream *s = arg;

    (void)c;
    atomic_fetch_add(&s->n_suspended, state == PAWL_STATE_SUSPENDED ? 1 : 0);
}

/* Asks for something, does not return, and sees from elsewhere that it has happened all the same.
 * Then it goes on for longer than the session would live without its heartbeat. */
static void last_of_stream(struct stream *s)
{
    int64_t long_enough = now_ms() + STREAM_SESSION_MS * 3 / 2;
    struct pawl_reply *r;

    pawl_set_async(s->c, PAWL_SET(.path = "/stream", .data = text_bytes("x")), NULL, NULL);
    for (int64_t end = now_ms() + SOON_MS; s->n_seen == 0 && now_ms() < end;) {
        if (pawl_exists(s->other, "/stream", NULL, &r) == PAWL_OK) {
            s->n_seen = r->stat.data_length;
        }
        pawl_reply_free(r);
    }
    while (now_ms() < long_enough) { /* time is what has to pass */
        usleep(1000);
    }
    s->rc_blocking = pawl_exists(s->c, "/stream", NULL, NULL);
    sem_post(&s->done);
}

static void streamed(const struct pawl_reply *reply, void *arg)
{
    struct stream *s = arg;

    atomic_fetch_add(&s->n_wrong, reply->err != PAWL_OK);
    if (atomic_fetch_sub(&s->n_left, 1) > 1) {
        pawl_exists_async(s->c, "/stream", NULL, streamed, s);
    } else if (atomic_load(&s->n_left) == 0) {
        last_of_stream(s);
    }
}

/* In the middle of a stream of asynchronous calls, when the thread of callbacks does all by itself,
 * one of them takes long: neither what it has asked for nor anybody else waits for its end. */
static void a_slow_callback_in_a_stream_holds_nothing_back(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct stream s = {.other = client_fixture_open(NULL)};

    (void)state;
    sem_init(&s.done, 0, 0);
    o.session_timeout_ms = STREAM_SESSION_MS;
    o.on_state = count_suspended;
    o.on_state_arg = &s;
    s.c = client_fixture_open(&o);
    assert_int_equal(pawl_create(s.c, PAWL_CREATE(.path = "/stream"), NULL), PAWL_OK);
    atomic_store(&s.n_left, INT_MAX);
    for (int i = 0; i < 50; i++) {
        pawl_exists_async(s.c, "/stream", NULL, streamed, &s);
    }
    for (int i = 0; i < 200; i++) { /* blocked callers beside it */
        assert_int_equal(pawl_exists(s.c, "/stream", NULL, NULL), PAWL_OK);
    }
    atomic_store(&s.n_left, 5000); /* now the stream has the link for itself */
    wait_semaphore(&s.done);
    pawl_exists_async(s.c, "/stream", NULL, post, &s.done);
    wait_semaphore(&s.done); /* behind whatever was to be told before */
    assert_int_equal(s.n_seen, 1);
    assert_int_equal(s.rc_blocking, PAWL_OK);
    assert_int_equal(atomic_load(&s.n_suspended), 0);
    assert_int_equal(atomic_load(&s.n_wrong), 0);
    pawl_client_close(s.c);
    pawl_client_close(s.other);
}

static void cut_in_stream(const struct pawl_reply *reply, void *arg)
{
    struct stream *s = arg;

    if (reply->err == PAWL_ERR_CLOSING || atomic_fetch_sub(&s->n_left, 1) <= 0) {
        sem_post(&s->done);
        return;
    }
    pawl_exists_async(s->c, "/", NULL, cut_in_stream, s);
}

/* The link goes under the thread that reads it; it comes back, and the stream goes on. */
static void a_stream_survives_its_link(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    struct stream s = {0};

    (void)state;
    sem_init(&s.done, 0, 0);
    behind_proxy_open(&b, &o);
    s.c = b.c;
    atomic_store(&s.n_left, 20000);
    for (int i = 0; i < 20; i++) {
        pawl_exists_async(s.c, "/", NULL, cut_in_stream, &s);
    }
    for (int i = 0; i < 5; i++) {
        int before = atomic_load(&s.n_left);

        while (atomic_load(&s.n_left) > before - 100 && atomic_load(&s.n_left) > 0) {
            sched_yield();
        }
        tcp_proxy_cut(b.proxy);
    }
    for (int i = 0; i < 20; i++) {
        wait_semaphore(&s.done);
    }
    behind_proxy_close(&b);
}

/* ---- without threads of the library ---- */

struct loop {
    struct pawl_client *c;
    _Atomic bool stop;
};

static void *run_loop(void *arg)
{
    struct loop *l = arg;

    while (!atomic_load(&l->stop)) {
        struct pollfd p = {0};
        int timeout;

        if (pawl_client_interest(l->c, &p.fd, &p.events, &timeout) != PAWL_OK) {
            break;
        }
        poll(&p, 1, timeout);
        pawl_client_process(l->c, p.revents);
    }
    return NULL;
}

static void *block_often(void *arg)
{
    struct pawl_client *c = arg;
    intptr_t n_forgotten = 0;

    for (int i = 0; i < 500; i++) {
        int64_t began = now_ms();

        if (pawl_exists(c, "/", NULL, NULL) != PAWL_OK) {
            return (void *)(intptr_t)-1;
        }
        n_forgotten += was_forgotten(began);
    }
    return (void *)n_forgotten;
}

/* By whoever of the three was forgotten most often. */
static intptr_t forgotten_of_500(struct pawl_client *c)
{
    intptr_t most = 0;
    pthread_t threads[2];
    sem_t done;

    sem_init(&done, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, block_often, c);
    }
    for (int i = 0; i < 500; i++) {
        int64_t began = now_ms();

        pawl_exists_async(c, "/", NULL, post, &done);
        wait_semaphore(&done);
        most += was_forgotten(began);
    }
    for (int i = 0; i < 2; i++) {
        void *forgotten;

        pthread_join(threads[i], &forgotten);
        assert_true((intptr_t)forgotten >= 0);
        most = (intptr_t)forgotten > most ? (intptr_t)forgotten : most;
    }
    return most;
}

/* The loop and two blocked callers share the socket; whoever takes an answer, he who waits for it
 * goes on at once. */
static void other_threads_may_block_beside_a_foreign_loop(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct loop l = {0};
    pthread_t loop;

    (void)state;
    o.dispatch = PAWL_DISPATCH_EXTERNAL;
    l.c = client_fixture_open(&o);
    pthread_create(&loop, NULL, run_loop, &l);
    wait_until(forgotten_of_500(l.c) < 25);
    atomic_store(&l.stop, true);
    pawl_exists_async(l.c, "/", NULL, NULL, NULL);
    pthread_join(loop, NULL);
    pawl_client_close(l.c);
}

/* ---- opening ---- */

static void options_must_be_initialised(void **state)
{
    struct pawl_client_options o = {.servers = "127.0.0.1:1"};
    struct pawl_auth nameless = {0};
    struct pawl_client *c;

    (void)state;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_ERR_BAD_ARGUMENTS);
    o = client_fixture_options();
    o.auths = &nameless;
    o.n_auths = 1;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_ERR_BAD_ARGUMENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_after_an_unknown_attempt_is_unknown),
        cmocka_unit_test(a_pausing_call_ends_at_its_deadline),
        cmocka_unit_test(with_one_session_everything_ends_with_it),
        cmocka_unit_test(a_guaranteed_delete_keeps_its_conditions),
        cmocka_unit_test(a_protected_ephemeral_asked_for_without_a_session_is_found_again),
        cmocka_unit_test(after_close_no_thread_is_left),
        cmocka_unit_test(close_waits_for_a_callback_that_is_polled),
        cmocka_unit_test(several_threads_may_poll),
        cmocka_unit_test(what_is_being_closed_cannot_be_detached),
        cmocka_unit_test(a_slow_callback_in_a_stream_holds_nothing_back),
        cmocka_unit_test(a_stream_survives_its_link),
        cmocka_unit_test(other_threads_may_block_beside_a_foreign_loop),
        cmocka_unit_test(options_must_be_initialised),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
