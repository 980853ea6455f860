/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_calls.c - what every call promises: callbacks once and in order, a deadline, limits
 * of size as errors of the call, metrics. */
#include "client_suite.h"

/* ---- order ---- */

enum { N_ORDERED = 3000 };

struct ordered {
    int next;  /* the number the next callback must have */
    int wrong; /* callbacks out of turn */
};

struct ordered_call {
    struct ordered *all;
    int number;
};

static void ordered_done(const struct pawl_reply *reply, void *arg)
{
    struct ordered_call *call = arg;

    (void)reply;
    pthread_mutex_lock(&happened_lock);
    if (call->number != call->all->next) {
        call->all->wrong++;
    }
    call->all->next++;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static int start_ordered(struct pawl_client *c, struct ordered_call *call)
{
    switch (call->number % 5) {
    case 0:
        return pawl_set_async(c, PAWL_SET(.path = at("")), ordered_done, call);
    case 1:
        return pawl_get_async(c, at(""), NULL, ordered_done, call);
    case 2:
        return pawl_exists_async(c, at("none"), NULL, ordered_done, call);
    case 3:
        return pawl_sync_async(c, "/", ordered_done, call);
    default:
        return pawl_create_async(c, PAWL_CREATE(.path = at("n-"), .mode = PAWL_MODE_SEQUENTIAL),
                                 ordered_done, call);
    }
}

static bool all_ordered(void *arg)
{
    return ((struct ordered *)arg)->next >= N_ORDERED;
}

static void callbacks_come_once_and_in_order(void)
{
    struct pawl_client *c = open_main();
    struct ordered all = {0};
    struct ordered_call *calls = scratch(N_ORDERED * sizeof(*calls));

    for (int i = 0; i < N_ORDERED; i++) {
        calls[i] = (struct ordered_call){&all, i};
        EXPECT_INT(start_ordered(c, &calls[i]), PAWL_OK);
    }
    EXPECT(wait_until(c, all_ordered, &all, LONG_MS));
    EXPECT_INT(all.wrong, 0);
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, N_ORDERED / 5);
    EXPECT_INT(all.next, N_ORDERED);
    pawl_client_close(c);
}

/* The same with the link cut again and again: still once each, still in order. */
static void a_cut_loses_and_doubles_no_callback(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct ordered all = {0};
    struct ordered_call *calls = scratch(N_ORDERED * sizeof(*calls));
    struct pawl_client *c;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    c = open_main_with(&options);
    for (int i = 0; i < N_ORDERED; i++) {
        calls[i] = (struct ordered_call){&all, i};
        EXPECT_INT(start_ordered(c, &calls[i]), PAWL_OK);
        if (i % 700 == 350) {
            tcp_proxy_cut(relay);
        }
    }
    EXPECT(wait_until(c, all_ordered, &all, LONG_MS));
    EXPECT_INT(all.wrong, 0);
    EXPECT_OK(DO(sync, c, "/"));
    EXPECT_INT(all.next, N_ORDERED);
    pawl_client_close(c);
}

/* ---- callbacks and calls ---- */

struct nested {
    struct pawl_client *c;
    bool inside, ran_inside;
    atomic_int n;
};

static void inner_done(const struct pawl_reply *reply, void *arg)
{
    struct nested *n = arg;

    (void)reply;
    pthread_mutex_lock(&happened_lock);
    n->ran_inside = n->ran_inside || n->inside;
    n->n++;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static void outer_done(const struct pawl_reply *reply, void *arg)
{
    struct nested *n = arg;

    (void)reply;
    n->inside = true;
    EXPECT_INT(pawl_get_async(n->c, "/", NULL, inner_done, n), PAWL_OK);
    EXPECT_INT(pawl_get_async(n->c, "/", NULL, inner_done, n), PAWL_OK);
    sleep_ms(50); /* time enough for the answers to come */
    n->inside = false;
}

static bool two_inner(void *arg)
{
    return ((struct nested *)arg)->n >= 2;
}

static void callbacks_never_run_inside_a_call_or_another(void)
{
    struct nested n = {.c = open_main()};

    EXPECT_INT(pawl_get_async(n.c, "/", NULL, outer_done, &n), PAWL_OK);
    EXPECT(wait_until(n.c, two_inner, &n, LONG_MS));
    EXPECT(!n.ran_inside);
    pawl_client_close(n.c);
}

static void blocking_inside(const struct pawl_reply *reply, void *arg)
{
    struct nested *n = arg;
    struct pawl_reply *r = NULL;
    int rc;

    (void)reply;
    rc = pawl_get(n->c, at(""), NULL, &r);
    EXPECT(r != NULL && r->err == rc);
    pawl_reply_free(r);
    EXPECT_INT(rc, suite.face == FACE_EXTERNAL ? PAWL_ERR_WOULD_DEADLOCK : PAWL_OK);
    pthread_mutex_lock(&happened_lock);
    n->n += 2;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static void a_blocking_call_inside_a_callback_works_or_says_why(void)
{
    struct nested n = {.c = open_main()};

    EXPECT_INT(pawl_get_async(n.c, "/", NULL, blocking_inside, &n), PAWL_OK);
    EXPECT(wait_until(n.c, two_inner, &n, LONG_MS));
    pawl_client_close(n.c);
}

static void blocking_calls_work_without_threads(void)
{
    struct pawl_client *c = open_main();

    for (int i = 0; i < 20; i++) {
        EXPECT_OK(taken(pawl_set(c, PAWL_SET(.path = at("")), reply_slot())));
    }
    EXPECT_INT(taken(pawl_exists(c, at(""), NULL, reply_slot()))->stat.version, 20);
    pawl_client_close(c);
}

enum { SESSION_MS = 8000 };

static void sleepy(const struct pawl_reply *reply, void *arg)
{
    struct nested *n = arg;

    (void)reply;
    sleep_ms(3 * SESSION_MS / 2); /* time is what has to pass */
    pthread_mutex_lock(&happened_lock);
    n->n = 2;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static void a_slow_callback_stops_no_heartbeat(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    struct nested n = {0};
    int64_t session;

    options_for_test(&options);
    options.session_timeout_ms = SESSION_MS;
    options.on_state = on_state;
    options.on_state_arg = &states;
    n.c = open_main_with(&options);
    session = pawl_client_session_id(n.c);
    EXPECT_INT(pawl_client_session_timeout_ms(n.c), SESSION_MS);
    EXPECT_INT(pawl_get_async(n.c, "/", NULL, sleepy, &n), PAWL_OK);
    sleep_ms(5 * SESSION_MS / 4);
    EXPECT_OK(taken(pawl_get(n.c, at(""), NULL, reply_slot()))); /* nor other threads' calls */
    EXPECT(wait_until(n.c, two_inner, &n, LONG_MS));
    EXPECT_INT(pawl_client_session_id(n.c), session);
    EXPECT_INT(pawl_client_state(n.c), PAWL_STATE_CONNECTED);
    expect_states(n.c, &states, "CONNECTED");
    pawl_client_close(n.c);
}

struct storm {
    struct pawl_client *c;
    atomic_int n_bad;
};

static void *storm_thread(void *arg)
{
    struct storm *s = arg;

    for (int i = 0; i < 200; i++) {
        struct pawl_reply *r = NULL;
        int rc = i % 4 == 0 ? pawl_set(s->c, PAWL_SET(.path = at("")), &r)
                            : pawl_get(s->c, at(""), NULL, &r);

        if (rc != PAWL_OK || r == NULL) {
            atomic_fetch_add(&s->n_bad, 1);
        }
        pawl_reply_free(r);
    }
    return NULL;
}

static void eight_threads_share_a_handle(void)
{
    struct storm s = {.c = open_main()};
    pthread_t threads[8];

    for (int i = 0; i < 8; i++) {
        EXPECT_INT(pthread_create(&threads[i], NULL, storm_thread, &s), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    EXPECT_INT(atomic_load(&s.n_bad), 0);
    EXPECT_INT(DO(exists, s.c, at(""), NULL)->stat.version, 8 * 50);
    pawl_client_close(s.c);
}

/* ---- deadlines ---- */

enum { DEADLINE_MS = 200, LATE_MS = 60000 };

#define EXPECT_TIMEOUT(call, result)                          \
    do {                                                      \
        int64_t began_ = now_ms(), took_;                     \
        struct pawl_reply *r_ = (call);                       \
                                                              \
        took_ = now_ms() - began_;                            \
        EXPECT_REPLY(r_, PAWL_ERR_OPERATION_TIMEOUT, result); \
        EXPECT(took_ >= DEADLINE_MS - 5 && took_ < LATE_MS);  \
    } while (0)

/* Every operation there is, through a view with a short timeout, on a server that is silent. */
static void every_call_times_out(struct pawl_client *c, enum pawl_outcome outcome)
{
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct pawl_acl acl = {PAWL_PERM_ALL, "world", "anyone"};
    struct pawl_auth auth = {.scheme = "digest", .auth = bytes("a:b")};
    struct pawl_multi *m = pawl_multi_new(c), *reads = pawl_multi_new(c);
    struct pawl_reconfig reconfig = {.size = sizeof(reconfig), .leaving = "9"};

    pawl_multi_set(m, PAWL_SET(.path = at("")));
    pawl_multi_get(reads, at(""));
    EXPECT_TIMEOUT(DO(create, c, PAWL_CREATE(.path = at("a"))), outcome);
    EXPECT_TIMEOUT(DO(create, c, PAWL_CREATE(.path = at("p-"), .flags = PAWL_OP_PROTECTED)),
                   outcome);
    EXPECT_TIMEOUT(DO(get, c, at(""), &watch), outcome);
    EXPECT_TIMEOUT(DO(get_compressed, c, at(""), NULL), outcome);
    EXPECT_TIMEOUT(DO(exists, c, at(""), NULL), outcome);
    EXPECT_TIMEOUT(DO(children, c, at(""), NULL), outcome);
    EXPECT_TIMEOUT(DO(set, c, PAWL_SET(.path = at(""))), outcome);
    EXPECT_TIMEOUT(DO(delete, c, PAWL_DELETE(.path = at("b"))), outcome);
    EXPECT_TIMEOUT(DO(delete, c, PAWL_DELETE(.path = at("b"), .flags = PAWL_OP_CHILDREN_TOO)),
                   outcome);
    EXPECT_TIMEOUT(DO(get_acl, c, at("")), outcome);
    EXPECT_TIMEOUT(DO(set_acl, c, PAWL_SET_ACL(.path = at(""), .acls = {&acl, 1})), outcome);
    EXPECT_TIMEOUT(DO(sync, c, at("")), outcome);
    EXPECT_TIMEOUT(DO(ephemerals, c, "/"), outcome);
    EXPECT_TIMEOUT(DO(count_all_children, c, "/"), outcome);
    EXPECT_TIMEOUT(DO_WHOAMI(c), outcome);
    EXPECT_TIMEOUT(DO(watch, c, at(""), PAWL_WATCH_RECURSIVE, &watch), outcome);
    EXPECT_TIMEOUT(DO(multi_run, c, m), outcome);
    EXPECT_TIMEOUT(DO(multi_run, c, reads), outcome);
    EXPECT_TIMEOUT(DO(config, c, NULL), outcome);
    EXPECT_TIMEOUT(DO(reconfig, c, &reconfig), outcome);
    EXPECT_TIMEOUT(DO(add_auth, c, &auth), outcome);
    pawl_multi_free(m);
    pawl_multi_free(reads);
}

static struct pawl_client *open_hasty(struct tcp_proxy *relay, struct states *states)
{
    struct pawl_client_options options;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    options.session_timeout_ms = 30000; /* the silence must not be taken for a dead link */
    options.timeout_ms = DEADLINE_MS;
    options.on_state = on_state;
    options.on_state_arg = states;
    return open_main_with(&options);
}

/* It has little time for each call, and a busy machine needs more now and then. */
static struct pawl_reply *exists_in_time(struct pawl_client *c, const char *path)
{
    struct pawl_reply *r;

    do {
        r = DO(exists, c, path, NULL);
    } while (r->err == PAWL_ERR_OPERATION_TIMEOUT);
    return r;
}

static void every_call_ends_when_the_server_is_silent(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_hasty(relay, &states);

    tcp_proxy_hold_replies(relay, true);
    every_call_times_out(c, PAWL_OUTCOME_UNKNOWN);
    tcp_proxy_up(relay); /* late answers find nobody, and later calls their own */
    EXPECT_OK(exists_in_time(c, at("")));
    EXPECT_OK(exists_in_time(c, at("a"))); /* it had happened */
    expect_states(c, &states, "CONNECTED");
    pawl_client_close(c);
}

static void every_call_ends_when_there_is_no_link(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_hasty(relay, &states);

    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    every_call_times_out(c, PAWL_OUTCOME_NOT_SENT);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT_REFUSED(exists_in_time(c, at("a")), PAWL_ERR_NO_NODE);
    expect_states(c, &states, "CONNECTED SUSPENDED RECONNECTED");
    pawl_client_close(c);
}

static void a_calls_own_timeout_comes_first(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct pawl_client *c;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    c = open_main_with(&options);
    tcp_proxy_hold_replies(relay, true);
    EXPECT_TIMEOUT(DO(create, c, PAWL_CREATE(.path = at("a"), .timeout_ms = DEADLINE_MS)),
                   PAWL_OUTCOME_UNKNOWN);
    EXPECT_TIMEOUT(DO(set, c, PAWL_SET(.path = at(""), .timeout_ms = DEADLINE_MS)),
                   PAWL_OUTCOME_UNKNOWN);
    EXPECT_TIMEOUT(DO(delete, c, PAWL_DELETE(.path = at("a"), .timeout_ms = DEADLINE_MS)),
                   PAWL_OUTCOME_UNKNOWN);
    tcp_proxy_up(relay);
    EXPECT_REFUSED(DO(exists, c, at("a"), NULL), PAWL_ERR_NO_NODE);
    EXPECT_INT(DO(exists, c, at(""), NULL)->stat.version, 1);
    pawl_client_close(c);
}

static void waiting_for_a_connection_ends_too(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct pawl_client *c;
    int64_t began = now_ms();

    tcp_proxy_down(relay);
    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_OK);
    EXPECT(now_ms() - began < LONG_MS);
    EXPECT_INT(pawl_client_wait_connected(c, 200), PAWL_ERR_OPERATION_TIMEOUT);
    EXPECT_INT(pawl_client_state(c), PAWL_STATE_CONNECTING);
    EXPECT_INT(pawl_client_session_id(c), 0);
    tcp_proxy_up(relay);
    EXPECT_INT(pawl_client_wait_connected(c, LONG_MS), PAWL_OK);
    pawl_client_close(c);
}

/* ---- sizes ---- */

static void an_oversized_request_is_an_error_of_the_call(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_bytes large = {.data = scratch(2 << 20), .len = 2 << 20};
    struct pawl_client *c;
    struct pawl_reply *r;

    options_for_test(&options);
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    r = DO(set, c, PAWL_SET(.path = at(""), .data = large));
    EXPECT_INT(r->err, PAWL_ERR_TOO_LARGE);
    EXPECT(r->outcome == PAWL_OUTCOME_NOT_SENT || r->outcome == PAWL_OUTCOME_REFUSED);
    large.len = (1 << 20) - 1; /* the data alone reach the server's limit */
    EXPECT_INT(DO(set, c, PAWL_SET(.path = at(""), .data = large))->err, PAWL_ERR_TOO_LARGE);
    EXPECT_OK(DO(get, c, at(""), NULL));
    expect_states(c, &states, "CONNECTED");
    pawl_client_close(c);
}

static void an_oversized_reply_is_an_error_of_the_call(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_bytes large = {.data = scratch(300000), .len = 300000};
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct pawl_client *c;

    options_for_test(&options);
    options.max_reply_bytes = 10000;
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("large"), .data = large)));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("small"), .data = bytes("x"))));
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(DO(get, c, at("large"), &watch)->err, PAWL_ERR_TOO_LARGE);
        EXPECT_DATA(DO(get, c, at("small"), NULL), "x");
    }
    expect_states(c, &states, "CONNECTED");
    pawl_client_close(c);
}

/* ---- what is told about calls ---- */

struct seen_metrics {
    atomic_int n, n_get, n_failed, n_lines;
};

static void on_metric(const struct pawl_metric *m, void *arg)
{
    struct seen_metrics *seen = arg;

    atomic_fetch_add(&seen->n, 1);
    if (strcmp(m->op, "getData") == 0) {
        atomic_fetch_add(&seen->n_get, 1);
        atomic_fetch_add(&seen->n_failed, m->err != 0);
        EXPECT(m->took_us >= 0 && m->attempts == 1);
        EXPECT((m->err == 0) == (m->outcome == PAWL_OUTCOME_DONE));
    }
}

static void on_log(enum pawl_log_level level, const char *line, void *arg)
{
    struct seen_metrics *seen = arg;

    EXPECT(level <= PAWL_LOG_DEBUG && strchr(line, '\n') == NULL);
    atomic_fetch_add(&seen->n_lines, 1);
}

static void metrics_and_log_are_told(void)
{
    struct pawl_client_options options;
    struct seen_metrics seen = {0};
    struct pawl_client *c;

    options_for_test(&options);
    options.metric = on_metric;
    options.metric_arg = &seen;
    options.log = on_log;
    options.log_arg = &seen;
    options.log_level = PAWL_LOG_DEBUG;
    c = open_main_with(&options);
    for (int i = 0; i < 5; i++) {
        EXPECT_OK(DO(get, c, at(""), NULL));
    }
    EXPECT_REFUSED(DO(get, c, at("none"), NULL), PAWL_ERR_NO_NODE);
    EXPECT_INT(atomic_load(&seen.n_get), 6);
    EXPECT_INT(atomic_load(&seen.n_failed), 1);
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""))));
    EXPECT_INT(atomic_load(&seen.n), 7);
    pawl_client_close(c);
    EXPECT(atomic_load(&seen.n_lines) > 0);
}

static void every_error_has_a_name_and_a_sentence(void)
{
    struct pawl_client *c = open_main();

    EXPECT_STR(pawl_error_name(DO(get, c, at("x"), NULL)->err), "NO_NODE");
    EXPECT_STR(pawl_strerror(PAWL_ERR_FORKED), "the handle belongs to the parent process");
    pawl_client_close(c);
}

const struct test tests_calls[] = {
    {"callbacks_come_once_and_in_order", callbacks_come_once_and_in_order, FACES_ALL, 0},
    {"a_cut_loses_and_doubles_no_callback", a_cut_loses_and_doubles_no_callback, FACES_ALL, 0},
    {"callbacks_never_run_inside_a_call_or_another", callbacks_never_run_inside_a_call_or_another,
     FACES_ALL, 0},
    {"a_blocking_call_inside_a_callback_works_or_says_why",
     a_blocking_call_inside_a_callback_works_or_says_why, FACES_ALL, 0},
    {"blocking_calls_work_without_threads", blocking_calls_work_without_threads, FACES_ALL, 0},
    {"a_slow_callback_stops_no_heartbeat", a_slow_callback_stops_no_heartbeat, 0, 0},
    {"eight_threads_share_a_handle", eight_threads_share_a_handle, 0, 0},
    {"every_call_ends_when_the_server_is_silent", every_call_ends_when_the_server_is_silent,
     FACES_ALL, 0},
    {"every_call_ends_when_there_is_no_link", every_call_ends_when_there_is_no_link, FACES_ALL, 0},
    {"a_calls_own_timeout_comes_first", a_calls_own_timeout_comes_first, FACES_ALL, 0},
    {"waiting_for_a_connection_ends_too", waiting_for_a_connection_ends_too, FACES_ALL, 0},
    {"an_oversized_request_is_an_error_of_the_call", an_oversized_request_is_an_error_of_the_call,
     FACES_ALL, 0},
    {"an_oversized_reply_is_an_error_of_the_call", an_oversized_reply_is_an_error_of_the_call,
     FACES_ALL, 0},
    {"metrics_and_log_are_told", metrics_and_log_are_told, FACES_ALL, 0},
    {"every_error_has_a_name_and_a_sentence", every_error_has_a_name_and_a_sentence, 0, 0},
    {0},
};
