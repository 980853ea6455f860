/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_life.c - closing, forking, and handing a session over. */
#include <sys/wait.h>
#include <unistd.h>

#include "client_suite.h"

/* ---- close ---- */

struct closed_calls {
    int n, n_closing;
};

static void closing_done(const struct pawl_reply *reply, void *arg)
{
    struct closed_calls *calls = arg;

    calls->n++;
    calls->n_closing += reply->err == PAWL_ERR_CLOSING;
}

/* True: it returned because everything had ended, and not because its time was over. */
static bool close_ends_the_calls(const struct pawl_client_options *options, struct tcp_proxy *relay)
{
    struct pawl_client *c = suite.main_client = open_with(options);
    struct closed_calls *calls = scratch(sizeof(*calls)); /* callbacks may outlive the close */
    int64_t began;

    tcp_proxy_hold_replies(relay, true);
    for (int i = 0; i < 100; i++) {
        EXPECT_INT(pawl_get_async(c, "/", NULL, closing_done, calls), PAWL_OK);
    }
    began = now_ms();
    pawl_client_close(c);
    tcp_proxy_up(relay);
    if (now_ms() - began >= options->close_timeout_ms) {
        return false;
    }
    EXPECT_INT(calls->n, 100); /* before close returned */
    EXPECT_INT(calls->n_closing, 100);
    return true;
}

/* The callbacks have a quarter of the time, and on a busy machine that may be too short. */
static void close_ends_every_open_call(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    options.close_timeout_ms = 300;
    while (!close_ends_the_calls(&options, relay)) {
        options.close_timeout_ms *= 4;
        EXPECT(options.close_timeout_ms < LONG_MS);
    }
}

static void close_returns_without_a_server(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct pawl_client *c;
    int64_t began;

    options_for_test(&options);
    tcp_proxy_down(relay); /* takes nobody */
    options.servers = tcp_proxy_address(relay);
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_OK);
    began = now_ms();
    pawl_client_close_within(c, 2000);
    EXPECT(now_ms() - began < LONG_MS);
}

enum { OUTSIDE, INSIDE, LET_GO, DONE };

/* Hangs until it is let go. */
static void hang(const struct pawl_reply *reply, void *arg)
{
    atomic_int *where = arg;

    (void)reply;
    *where = INSIDE;
    while (*where != LET_GO) {
        sleep_ms(1);
    }
    *where = DONE;
}

static void until_it_is(atomic_int *where, int there)
{
    for (int64_t end = now_ms() + LONG_MS; *where != there && now_ms() < end;) {
        sleep_ms(1);
    }
    EXPECT_INT(*where, there);
}

static void close_does_not_wait_for_a_callback_that_hangs(void)
{
    static atomic_int where;
    struct pawl_client *c = open_main();

    EXPECT_INT(pawl_get_async(c, "/", NULL, hang, &where), PAWL_OK);
    until_it_is(&where, INSIDE);
    pawl_client_close_within(c, 500);
    EXPECT_INT(where, INSIDE);
    where = LET_GO; /* the library must survive its return */
    until_it_is(&where, DONE);
}

struct closer {
    struct pawl_client *c;
    atomic_int n, n_after;
    atomic_bool closed, ready;
};

static void count_after(const struct pawl_reply *reply, void *arg)
{
    struct closer *k = arg;

    (void)reply;
    pthread_mutex_lock(&happened_lock);
    k->n_after++;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static void close_inside(const struct pawl_reply *reply, void *arg)
{
    struct closer *k = arg;

    (void)reply;
    while (!atomic_load(&k->ready)) { /* the calls behind this one must have been made */
        sleep_ms(1);
    }
    pawl_client_close(k->c);
    pthread_mutex_lock(&happened_lock);
    k->closed = true;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static bool three_after(void *arg)
{
    struct closer *k = arg;

    return k->closed && k->n_after >= 3;
}

/* The calls behind it end, too. Whoever drives it by hand must not touch it again. */
static void closing_inside_a_callback_is_allowed(void)
{
    struct closer k = {.c = open_main()};
    struct pawl_client *other = open_other();
    struct pawl_reply *r;
    int64_t end = now_ms() + LONG_MS;

    r = DO(create, k.c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL));
    EXPECT_OK(r);
    EXPECT_INT(pawl_get_async(k.c, "/", NULL, close_inside, &k), PAWL_OK);
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(pawl_get_async(k.c, "/", NULL, count_after, &k), PAWL_OK);
    }
    atomic_store(&k.ready, true);
    if (suite.face == FACE_BLOCKING || suite.face == FACE_ASYNC) {
        EXPECT(wait_until(NULL, three_after, &k, LONG_MS));
    } else {
        while (!k.closed && now_ms() < end) {
            wait_until(k.c, three_after, &k, 20);
        }
        EXPECT(k.closed);
        EXPECT_INT(k.n_after, 3);
    }
    do {
        EXPECT_OK(DO(sync, other, "/"));
        r = DO(exists, other, at("e"), NULL);
    } while (r->err == PAWL_OK && now_ms() < end);
    EXPECT_REFUSED(r, PAWL_ERR_NO_NODE);
    pawl_client_close(other);
}

static void close_on_lost(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct closer *k = arg;

    if (state == PAWL_STATE_SUSPENDED) {
        pawl_client_close(c);
    }
    pthread_mutex_lock(&happened_lock);
    k->closed = k->closed || state == PAWL_STATE_CLOSED;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static bool is_closed(void *arg)
{
    return ((struct closer *)arg)->closed;
}

static void closing_inside_a_listener_is_allowed(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct closer k = {0};

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    options.close_timeout_ms = 300;
    options.on_state = close_on_lost;
    options.on_state_arg = &k;
    (void)open_main_with(&options);
    tcp_proxy_down(relay);
    EXPECT(wait_until(NULL, is_closed, &k, LONG_MS));
}

static void a_hundred_handles_come_and_go(void)
{
    for (int i = 0; i < 100; i++) {
        struct pawl_client *c = i == 0 ? open_main() : open_other();

        EXPECT_OK(taken(pawl_exists(c, at(""), NULL, reply_slot())));
        pawl_client_close(c);
    }
    /* Threads end a moment after close at the latest, and no descriptor is left. */
    for (int64_t end = now_ms() + LONG_MS; now_ms() < end;) {
        int copy = dup(0);

        close(copy);
        if (copy < 20) {
            return;
        }
        sleep_ms(10);
    }
    fail_at(__FILE__, __LINE__, "descriptors are left open");
}

/* ---- fork ---- */

static int in_the_child(struct pawl_client *inherited, struct pawl_client *view)
{
    struct pawl_client *c = NULL;
    struct pawl_client_options options;
    struct pawl_reply *r = NULL;
    void *blob;
    size_t len;

    if (pawl_get(inherited, "/", NULL, &r) != PAWL_ERR_FORKED ||
        pawl_get_async(inherited, "/", NULL, NULL, NULL) != PAWL_ERR_FORKED ||
        pawl_set(view, PAWL_SET(.path = "/"), NULL) != PAWL_ERR_FORKED ||
        pawl_client_wait_connected(inherited, 100) != PAWL_ERR_FORKED ||
        pawl_client_set_servers(inherited, "a:1") != PAWL_ERR_FORKED ||
        pawl_client_detach(inherited, bytes(""), &blob, &len) != PAWL_ERR_FORKED) {
        return 1;
    }
    pawl_reply_free(r);
    pawl_client_close(view);
    pawl_client_close(inherited);
    options_for_test(&options);
    options.dispatch = PAWL_DISPATCH_THREAD;
    if (pawl_client_open(&options, &c) != PAWL_OK) {
        return 2;
    }
    if (pawl_create(c, PAWL_CREATE(.path = at("child")), NULL) != PAWL_OK) {
        return 3;
    }
    pawl_client_close(c);
    return 0;
}

static void a_child_gets_an_error_and_can_open_its_own(void)
{
    struct pawl_client_options options;
    struct pawl_view_options view_options = {.size = sizeof(view_options), .name_space = "x"};
    struct states states = {0};
    struct pawl_client *c, *view;
    int status;
    pid_t pid;

    options_for_test(&options);
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    EXPECT_INT(pawl_client_view(c, &view_options, &view), PAWL_OK);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(LONG_MS / 1000);
        _exit(in_the_child(c, view));
    }
    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status));
    EXPECT_INT(WEXITSTATUS(status), 0);
    EXPECT_OK(DO(exists, c, at("child"), NULL)); /* and the parent's goes on */
    expect_states(c, &states, "CONNECTED");
    pawl_client_close(view);
    pawl_client_close(c);
}

/* A fork while other threads are in the middle of calls. */
static void *call_all_the_time(void *arg)
{
    struct closer *k = arg;

    while (!k->closed) {
        struct pawl_reply *r = NULL;

        EXPECT_INT(pawl_get(k->c, "/", NULL, &r), PAWL_OK);
        pawl_reply_free(r);
        k->n++;
    }
    return NULL;
}

static void a_child_of_a_busy_parent_does_not_hang(void)
{
    struct closer k = {.c = open_main()};
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        EXPECT_INT(pthread_create(&threads[i], NULL, call_all_the_time, &k), 0);
    }
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            alarm(LONG_MS / 1000);
            _exit(pawl_get(k.c, "/", NULL, NULL) == PAWL_ERR_FORKED ? 0 : 1);
        }
        EXPECT(waitpid(pid, &status, 0) == pid);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    k.closed = true;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    pawl_client_close(k.c);
}

/* ---- hand-over ---- */

static void a_session_is_handed_over(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct pawl_client_options options;
    struct pawl_bytes extra;
    int64_t session = pawl_client_session_id(c);
    void *blob = NULL;
    size_t len = 0;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_INT(pawl_client_detach(c, bytes("my own notes"), &blob, &len), PAWL_OK);
    EXPECT(len < 1000);
    EXPECT_OK(DO(exists, other, at("e"), NULL));
    EXPECT_INT(pawl_blob_extra((struct pawl_bytes){blob, len}, &extra), PAWL_OK);
    EXPECT(extra.len == 12 && memcmp(extra.data, "my own notes", 12) == 0);
    options_for_test(&options);
    options.attach = (struct pawl_bytes){blob, len};
    c = suite.main_client = open_with(&options);
    EXPECT_INT(pawl_client_session_id(c), session);
    EXPECT_INT(DO(exists, c, at("e"), NULL)->stat.ephemeral_owner, session);
    free(blob);
    pawl_client_close(c);
    EXPECT_OK(DO(sync, other, "/"));
    EXPECT_REFUSED(DO(exists, other, at("e"), NULL), PAWL_ERR_NO_NODE);
    pawl_client_close(other);
}

static int continue_in_child(struct pawl_bytes blob, int64_t session)
{
    struct pawl_client_options options;
    struct pawl_client *c;

    options_for_test(&options);
    options.dispatch = PAWL_DISPATCH_THREAD;
    options.attach = blob;
    if (pawl_client_open(&options, &c) != PAWL_OK ||
        pawl_client_wait_connected(c, LONG_MS) != PAWL_OK) {
        return 1;
    }
    if (pawl_client_session_id(c) != session) {
        return 2;
    }
    return pawl_set(c, PAWL_SET(.path = at("e")), NULL) == PAWL_OK ? 0 : 3; /* no close */
}

static void another_process_takes_a_session_over(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    int64_t session = pawl_client_session_id(c);
    void *blob = NULL;
    size_t len = 0;
    int status;
    pid_t pid;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_INT(pawl_client_detach(c, (struct pawl_bytes){0}, &blob, &len), PAWL_OK);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(LONG_MS / 1000);
        _exit(continue_in_child((struct pawl_bytes){blob, len}, session));
    }
    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status));
    EXPECT_INT(WEXITSTATUS(status), 0);
    EXPECT_INT(DO(exists, other, at("e"), NULL)->stat.version, 1);
    free(blob);
    pawl_client_close(other);
}

static void detach_ends_open_calls(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct closed_calls calls = {0};
    struct pawl_client *c;
    void *blob = NULL;
    size_t len;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    options.close_timeout_ms = 500;
    c = open_main_with(&options);
    tcp_proxy_hold_replies(relay, true);
    EXPECT_INT(pawl_get_async(c, at(""), NULL, closing_done, &calls), PAWL_OK);
    EXPECT_INT(pawl_client_detach(c, (struct pawl_bytes){0}, &blob, &len), PAWL_OK);
    EXPECT_INT(calls.n, 1);
    EXPECT_INT(calls.n_closing, 1);
    free(blob);
}

static void an_expired_blob_leads_to_a_new_session(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c, *other = open_other();
    int64_t session, end;
    void *blob = NULL;
    size_t len;

    options_for_test(&options);
    options.session_timeout_ms = 2000;
    c = open_main_with(&options);
    session = pawl_client_session_id(c);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_INT(pawl_client_detach(c, (struct pawl_bytes){0}, &blob, &len), PAWL_OK);
    for (end = now_ms() + LONG_MS; DO(exists, other, at("e"), NULL)->err == PAWL_OK;) {
        EXPECT(now_ms() < end); /* it is the server's clock that counts */
        sleep_ms(20);
    }
    pawl_client_close(other);
    options.attach = (struct pawl_bytes){blob, len};
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = suite.main_client = open_with(&options);
    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    EXPECT(pawl_client_session_id(c) != session && pawl_client_session_id(c) != 0);
    expect_states(c, &states, "LOST CONNECTED");
    free(blob);
    pawl_client_close(c);
}

const struct test tests_life[] = {
    {"close_ends_every_open_call", close_ends_every_open_call, FACES_ALL, 0},
    {"close_returns_without_a_server", close_returns_without_a_server, FACES_ALL, 0},
    {"close_does_not_wait_for_a_callback_that_hangs", close_does_not_wait_for_a_callback_that_hangs,
     0, 0},
    {"closing_inside_a_callback_is_allowed", closing_inside_a_callback_is_allowed, FACES_ALL, 0},
    {"closing_inside_a_listener_is_allowed", closing_inside_a_listener_is_allowed, 0, 0},
    {"a_hundred_handles_come_and_go", a_hundred_handles_come_and_go, 0, 0},
    {"a_child_gets_an_error_and_can_open_its_own", a_child_gets_an_error_and_can_open_its_own,
     FACES_ALL, 0},
    {"a_child_of_a_busy_parent_does_not_hang", a_child_of_a_busy_parent_does_not_hang, 0, 0},
    {"a_session_is_handed_over", a_session_is_handed_over, FACES_ALL, 0},
    {"another_process_takes_a_session_over", another_process_takes_a_session_over, FACES_ALL, 0},
    {"detach_ends_open_calls", detach_ends_open_calls, FACES_ALL, 0},
    {"an_expired_blob_leads_to_a_new_session", an_expired_blob_leads_to_a_new_session, 0, 0},
    {0},
};
