/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_link.c - what a bad link does: states, outcomes, retries, other servers. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_suite.h"

static struct pawl_client *open_through(struct tcp_proxy *relay, struct states *states,
                                        struct pawl_client_options *options)
{
    options->servers = tcp_proxy_address(relay);
    options->on_state = on_state;
    options->on_state_arg = states;
    return open_main_with(options);
}

static struct pawl_client *open_simply(struct tcp_proxy *relay, struct states *states)
{
    struct pawl_client_options options;

    options_for_test(&options);
    return open_through(relay, states, &options);
}

static struct pawl_client *open_retrying(struct tcp_proxy *relay, struct states *states)
{
    struct pawl_client_options options;

    options_for_test(&options);
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_EXPONENTIAL, .n = 10, .pause_ms = 20};
    return open_through(relay, states, &options);
}

/* ---- states ---- */

static void states_follow_curator(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_simply(relay, &states);
    int64_t session = pawl_client_session_id(c);

    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    EXPECT_INT(pawl_client_state(c), PAWL_STATE_CONNECTED);
    EXPECT(pawl_client_certain_ms(c) > 5000 && pawl_client_certain_ms(c) <= USUAL_SESSION_MS);
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    EXPECT_INT(pawl_client_state(c), PAWL_STATE_SUSPENDED);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT_INT(pawl_client_session_id(c), session);
    tcp_proxy_cut(relay);
    EXPECT(states_count(c, &states, 5, LONG_MS)); /* SUSPENDED may be over before anybody looks */
    EXPECT_OK(DO(sync, c, "/"));
    pawl_client_close(c);
    expect_states(NULL, &states, "CONNECTED SUSPENDED RECONNECTED SUSPENDED RECONNECTED CLOSED");
}

static void silence_suspends_after_two_thirds(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    int64_t began, took;

    options_for_test(&options);
    options.session_timeout_ms = 4500; /* others may have to wait for their turn, but not so long */
    c = open_through(relay, &states, &options);
    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    began = now_ms();
    EXPECT_OK(DO(sync, c, "/"));
    tcp_proxy_hold_replies(relay, true);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    took = now_ms() - began;
    EXPECT(took > 2900);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    pawl_client_close(c);
}

static void lost_is_decided_by_our_own_clock(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct states states = {0};
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct pawl_client *c;
    int64_t session, began, took;

    options_for_test(&options);
    options.session_timeout_ms = 4000;
    c = open_through(relay, &states, &options);
    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    session = pawl_client_session_id(c);
    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_PERSISTENT, &watch));
    began = now_ms();
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_LOST, LONG_MS));
    took = now_ms() - began;
    EXPECT(took >= 600);
    EXPECT_INT(pawl_client_certain_ms(c), 0);
    expect_events(c, e, 1); /* the watch has ended with its session */
    expect_event(e, 0, PAWL_EVENT_SESSION, at(""));
    EXPECT_INT(e->items[0].state, PAWL_STATE_LOST);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT(pawl_client_session_id(c) != session && pawl_client_session_id(c) != 0);
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""))));
    expect_events(c, e, 1);
    expect_states(c, &states, "CONNECTED SUSPENDED LOST RECONNECTED");
    pawl_client_close(c);
}

static void one_session_stays_lost(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;

    options_for_test(&options);
    options.session_timeout_ms = 2000;
    options.flags = PAWL_CLIENT_ONE_SESSION;
    c = open_through(relay, &states, &options);
    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_LOST, LONG_MS));
    tcp_proxy_up(relay);
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(DO(get, c, at(""), NULL)->err, PAWL_ERR_SESSION_EXPIRED);
        EXPECT_INT(DO(set, c, PAWL_SET(.path = at("")))->err, PAWL_ERR_SESSION_EXPIRED);
    }
    expect_states(c, &states, "CONNECTED SUSPENDED LOST");
    EXPECT_INT(tcp_proxy_open_links(relay), 0);
    pawl_client_close(c);
}

/* Stops this process for a while, as a debugger or a frozen machine would. */
static void stop_us_for(int ms)
{
    pid_t us = getpid(), pid = fork();

    if (pid == 0) {
        kill(us, SIGSTOP);
        sleep_ms(ms);
        kill(us, SIGCONT);
        _exit(0);
    }
    EXPECT(waitpid(pid, NULL, 0) == pid);
}

/* How long it takes after the stop until there is another session. */
static int64_t learns_after_a_stop(const struct pawl_client_options *options, struct states *states)
{
    struct pawl_client *c = suite.main_client = open_with(options);
    int64_t session, woken, took;

    EXPECT(states_reach(c, states, PAWL_STATE_CONNECTED, LONG_MS));
    session = pawl_client_session_id(c);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    stop_us_for(2 * options->session_timeout_ms + 500);
    /* Known at once, before anything is heard; a new session may be there already, though. */
    EXPECT(pawl_client_certain_ms(c) == 0 || pawl_client_session_id(c) != session);
    woken = now_ms();
    EXPECT(states_reach(c, states, PAWL_STATE_RECONNECTED, LONG_MS));
    took = now_ms() - woken;
    expect_states(c, states, "CONNECTED SUSPENDED LOST RECONNECTED");
    EXPECT(pawl_client_session_id(c) != session);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    pawl_client_close(c);
    return took;
}

/* The server says so: no need to wait for our clock. Beside a busy machine it takes as long now and
 * then, but not always. */
static void a_stopped_process_learns_that_its_session_is_gone(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    int tries = 1;

    options_for_test(&options);
    options.session_timeout_ms = 2500;
    options.on_state = on_state;
    options.on_state_arg = &states;
    pawl_client_close(open_main());
    while (learns_after_a_stop(&options, &states) >= options.session_timeout_ms) {
        EXPECT(tries++ < 5);
        states.n = 0;
    }
}

/* Servers of Apache that are just starting take connections and forget them. */
static void a_handshake_without_answer_leaves_time_for_another(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    int64_t session;

    options_for_test(&options);
    options.session_timeout_ms = 4000;
    c = open_through(relay, &states, &options);
    session = pawl_client_session_id(c);
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    tcp_proxy_hold_replies(relay, true);
    tcp_proxy_accept(relay, true);
    for (int i = 0; tcp_proxy_open_links(relay) == 0 && i < LONG_MS / 10; i++) {
        wait_until(c, counter_is, (int[]){0, 1}, 10);
    }
    EXPECT_INT(tcp_proxy_open_links(relay), 1);
    tcp_proxy_mute(relay);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT_INT(pawl_client_session_id(c), session);
    expect_states(c, &states, "CONNECTED SUSPENDED RECONNECTED");
    pawl_client_close(c);
}

struct busy {
    struct pawl_client *c;
    atomic_bool stop;
};

static void *call_and_call(void *arg)
{
    struct busy *b = arg;

    while (!atomic_load(&b->stop)) {
        (void)pawl_get(b->c, "/", NULL, NULL);
    }
    return NULL;
}

/* Whoever reads from the link when it breaks, the next one is made without delay. */
static void a_cut_under_blocking_calls_is_repaired_at_once(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct busy busy = {.c = open_simply(relay, &states)};
    pthread_t threads[2];
    int64_t began;

    for (int i = 0; i < 2; i++) {
        EXPECT_INT(pthread_create(&threads[i], NULL, call_and_call, &busy), 0);
    }
    EXPECT(states_reach(busy.c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    for (int i = 0; i < 10; i++) {
        sleep_ms(20);
        pthread_mutex_lock(&happened_lock);
        states.n = 0;
        pthread_mutex_unlock(&happened_lock);
        began = now_ms();
        tcp_proxy_cut(relay);
        EXPECT(states_reach(busy.c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
        EXPECT(now_ms() - began < LONG_MS);
    }
    atomic_store(&busy.stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    pawl_client_close(busy.c);
}

static void listeners_come_and_go(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states first = {0}, second = {0};
    struct pawl_client *c = open_simply(relay, &first);

    EXPECT(states_reach(c, &first, PAWL_STATE_CONNECTED, LONG_MS));
    EXPECT_INT(pawl_client_add_listener(c, on_state, &second), PAWL_OK);
    tcp_proxy_cut(relay);
    EXPECT(states_reach(c, &second, PAWL_STATE_RECONNECTED, LONG_MS));
    expect_states(c, &second, "SUSPENDED RECONNECTED");
    pawl_client_remove_listener(c, on_state, &second);
    first.n = 0;
    tcp_proxy_cut(relay);
    EXPECT(states_reach(c, &first, PAWL_STATE_RECONNECTED, LONG_MS));
    expect_states(c, &second, "SUSPENDED RECONNECTED");
    pawl_client_close(c);
    expect_states(NULL, &second, "SUSPENDED RECONNECTED");
}

/* False: the server was silent for two seconds, and nothing is shown. */
static bool lives_on(const struct pawl_client_options *options, struct states *states)
{
    struct pawl_client *c = suite.main_client = open_with(options);
    int64_t session = pawl_client_session_id(c);
    bool is_heard = !states_reach(c, states, PAWL_STATE_SUSPENDED, 5000); /* drives it meanwhile */

    if (is_heard) {
        EXPECT_OK(DO(sync, c, "/"));
        EXPECT_INT(pawl_client_session_id(c), session);
    }
    pawl_client_close(c);
    return is_heard;
}

/* Without its heartbeat it never does; beside a server that has no time for it, now and then. */
static void an_idle_session_lives_on(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    int tries = 1;

    options_for_test(&options);
    options.session_timeout_ms = 3000;
    options.on_state = on_state;
    options.on_state_arg = &states;
    while (!lives_on(&options, &states) && tries < 5) {
        states.n = 0;
        tries++;
    }
    expect_states(NULL, &states, "CONNECTED CLOSED");
}

/* ---- outcomes ---- */

/* Sends a create whose answer is held, and cuts the link when the node exists. */
static struct pawl_reply *create_and_cut(struct pawl_client *c, struct tcp_proxy *relay,
                                         const struct pawl_create *req)
{
    struct pawl_client *other = open_other();
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct answer a = {0};

    EXPECT_OK(DO(children, other, at(""), &watch));
    tcp_proxy_hold_replies(relay, true);
    EXPECT_INT(pawl_create_async(c, req, answer_done, &a), PAWL_OK);
    for (int i = 0; e->n == 0 && i < LONG_MS / 10; i++) { /* c may need driving to send at all */
        wait_until(c, counter_is, (int[]){0, 1}, 10);
    }
    EXPECT_INT(e->n, 1);
    tcp_proxy_cut(relay);
    tcp_proxy_up(relay);
    pawl_client_close(other);
    return answer_wait(c, &a);
}

static void a_write_in_flight_is_unknown(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_simply(relay, &states);
    struct pawl_reply *r = create_and_cut(c, relay, PAWL_CREATE(.path = at("a")));

    EXPECT_REPLY(r, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    EXPECT_OK(DO(exists, c, at("a"), NULL));
    pawl_client_close(c);
}

/* A policy does not make a plain write repeatable. */
static void an_unknown_write_is_not_repeated(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_retrying(relay, &states);
    struct pawl_reply *r;

    r = create_and_cut(c, relay, PAWL_CREATE(.path = at("n-"), .mode = PAWL_MODE_SEQUENTIAL));
    EXPECT_REPLY(r, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 1);
    pawl_client_close(c);
}

static void a_write_without_a_link_waits_for_it(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_simply(relay, &states);
    struct answer a = {0};

    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    EXPECT_INT(pawl_create_async(c, PAWL_CREATE(.path = at("a")), answer_done, &a), PAWL_OK);
    EXPECT(!wait_until(c, counter_is, (int[]){0, 1}, 100));
    EXPECT_INT(a.n_calls, 0);
    tcp_proxy_up(relay);
    EXPECT_OK(answer_wait(c, &a));
    pawl_client_close(c);
}

/* ---- retry ---- */

static void protected_creates_find_their_node_again(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_retrying(relay, &states);
    struct pawl_reply *r, *list;

    r = create_and_cut(c, relay,
                       PAWL_CREATE(.path = at("n-"), .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                   .flags = PAWL_OP_PROTECTED, .data = bytes("x")));
    EXPECT_OK(r);
    list = DO(children, c, at(""), NULL);
    EXPECT_INT(list->children.n, 1);
    EXPECT_STR(r->path, at(list->children.items[0]));
    EXPECT_INT(r->stat.czxid, DO(exists, c, r->path, NULL)->stat.czxid);
    pawl_client_close(c);
}

static void idempotent_creates_are_repeated(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_retrying(relay, &states);
    struct pawl_reply *r;

    r = create_and_cut(
        c, relay, PAWL_CREATE(.path = at("a"), .data = bytes("x"), .flags = PAWL_OP_IDEMPOTENT));
    EXPECT_OK(r);
    EXPECT_STR(r->path, at("a"));
    EXPECT_INT(DO(exists, c, at("a"), NULL)->stat.version, 0);
    pawl_client_close(c);
}

/* Waits until what was asked for after `bytes_before` has left; how many bytes have, then. */
static int64_t until_sent(struct pawl_client *c, struct tcp_proxy *relay, int64_t bytes_before)
{
    for (int i = 0; tcp_proxy_bytes_to_server(relay) == bytes_before && i < LONG_MS / 10; i++) {
        wait_until(c, counter_is, (int[]){0, 1}, 10);
    }
    EXPECT(tcp_proxy_bytes_to_server(relay) > bytes_before);
    return tcp_proxy_bytes_to_server(relay);
}

/* The answers are lost, and the next link is as usual. */
static void cut(struct tcp_proxy *relay)
{
    tcp_proxy_cut(relay);
    tcp_proxy_up(relay);
}

static void reads_are_repeated_by_policy_only(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_retrying(relay, &states), *plain;
    struct pawl_retry none = {.kind = PAWL_RETRY_NONE};
    struct pawl_view_options options = {.size = sizeof(options), .retry = &none};
    struct answer a = {0}, b = {0};
    int64_t sent;

    EXPECT_INT(pawl_client_view(c, &options, &plain), PAWL_OK);
    tcp_proxy_hold_replies(relay, true);
    sent = tcp_proxy_bytes_to_server(relay);
    EXPECT_INT(pawl_get_async(c, at(""), NULL, answer_done, &a), PAWL_OK);
    sent = until_sent(c, relay, sent);
    EXPECT_INT(pawl_get_async(plain, at(""), NULL, answer_done, &b), PAWL_OK);
    until_sent(c, relay, sent);
    cut(relay);
    EXPECT_OK(answer_wait(c, &a));
    EXPECT_REPLY(answer_wait(c, &b), PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    pawl_client_close(plain);
    pawl_client_close(c);
}

static void idempotent_sets_and_deletes_are_repeated(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_retrying(relay, &states);
    struct answer set = {0}, gone = {0};
    int64_t sent;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("b"))));
    tcp_proxy_hold_replies(relay, true);
    sent = tcp_proxy_bytes_to_server(relay);
    EXPECT_INT(pawl_set_async(c,
                              PAWL_SET(.path = at("a"), .data = bytes("x"),
                                       .only_if = pawl_version(0), .flags = PAWL_OP_IDEMPOTENT),
                              answer_done, &set),
               PAWL_OK);
    sent = until_sent(c, relay, sent);
    EXPECT_INT(pawl_delete_async(c, PAWL_DELETE(.path = at("b"), .flags = PAWL_OP_IDEMPOTENT),
                                 answer_done, &gone),
               PAWL_OK);
    until_sent(c, relay, sent);
    cut(relay);
    EXPECT_OK(answer_wait(c, &set));
    EXPECT_OK(answer_wait(c, &gone));
    EXPECT_INT(DO(exists, c, at("a"), NULL)->stat.version, 1);
    EXPECT_REFUSED(DO(exists, c, at("b"), NULL), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void a_guaranteed_delete_goes_on_in_the_background(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_simply(relay, &states), *other = open_other();
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(exists, other, at("a"), &watch));
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    r = DO(delete, c, PAWL_DELETE(.path = at("a"), .flags = PAWL_OP_GUARANTEED, .timeout_ms = 100));
    EXPECT_INT(r->err, PAWL_ERR_OPERATION_TIMEOUT);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    expect_events(c, e, 1);
    expect_event(e, 0, PAWL_EVENT_DELETED, at("a"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void pauses_follow_their_policy(void)
{
    struct pawl_retry none = {.kind = PAWL_RETRY_NONE};
    struct pawl_retry n = {.kind = PAWL_RETRY_N_TIMES, .n = 2, .pause_ms = 7};
    struct pawl_retry exponential = {.kind = PAWL_RETRY_EXPONENTIAL, .n = 29, .pause_ms = 10};
    struct pawl_retry bounded = {
        .kind = PAWL_RETRY_BOUNDED, .n = 29, .pause_ms = 10, .max_pause_ms = 100};
    struct pawl_retry until = {.kind = PAWL_RETRY_UNTIL, .elapsed_ms = 1000, .pause_ms = 9};
    struct pawl_retry forever = {.kind = PAWL_RETRY_FOREVER, .pause_ms = 8};

    EXPECT_INT(pawl_retry_pause(&none, 0, 0, 1), -1);
    EXPECT_INT(pawl_retry_pause(&n, 0, 0, 1), 7);
    EXPECT_INT(pawl_retry_pause(&n, 1, 1 << 30, 1), 7);
    EXPECT_INT(pawl_retry_pause(&n, 2, 0, 1), -1);
    for (uint64_t random = 0; random < 1000; random++) {
        int attempt = (int)(random % 29);
        int64_t pause = pawl_retry_pause(&exponential, attempt, 0, random * 7919);

        EXPECT(pause >= 10 && pause <= 10 * ((int64_t)2 << attempt));
        pause = pawl_retry_pause(&bounded, attempt, 0, random * 7919);
        EXPECT(pause >= 10 && pause <= 100);
    }
    EXPECT_INT(pawl_retry_pause(&exponential, 29, 0, 1), -1);
    EXPECT_INT(pawl_retry_pause(&until, 500, 999, 1), 9);
    EXPECT_INT(pawl_retry_pause(&until, 0, 1001, 1), -1);
    EXPECT_INT(pawl_retry_pause(&forever, 1 << 30, INT64_MAX / 2, 1), 8);
}

static void retrying_ends_with_the_calls_timeout(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    int64_t began;

    options_for_test(&options);
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 10};
    options.timeout_ms = 300;
    c = open_through(relay, &states, &options);
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    began = now_ms();
    EXPECT_INT(DO(get, c, at(""), NULL)->err, PAWL_ERR_OPERATION_TIMEOUT);
    EXPECT(now_ms() - began < LONG_MS);
    pawl_client_close(c);
}

/* ---- servers ---- */

static void one_bad_name_is_harmless(void)
{
    struct pawl_client_options options;
    struct pawl_client *c;

    options_for_test(&options);
    options.connect_timeout_ms = 1000;
    options.servers = text("no-such-host.invalid:2181,127.0.0.1:1,%s", suite.servers);
    for (int i = 0; i < 4; i++) { /* whatever the order after shuffling */
        options.seed = (uint64_t)i + 1;
        c = i == 0 ? open_main_with(&options) : open_with(&options);
        suite.main_client = c;
        EXPECT_OK(DO(exists, c, at(""), NULL));
        pawl_client_close(c);
    }
}

static void the_servers_address_is_told(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_simply(relay, &states);
    char address[64];

    pawl_client_server(c, address, sizeof(address));
    EXPECT_STR(address, tcp_proxy_address(relay));
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    pawl_client_server(c, address, sizeof(address));
    EXPECT_STR(address, "");
    pawl_client_close(c);
}

static void the_next_server_keeps_the_session(void)
{
    struct tcp_proxy *a = tcp_proxy_new(suite_port()), *b = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    int64_t session;

    options_for_test(&options);
    options.servers = text("%s,%s", tcp_proxy_address(a), tcp_proxy_address(b));
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    session = pawl_client_session_id(c);
    for (int i = 0; i < 4; i++) {
        struct tcp_proxy *here = tcp_proxy_open_links(a) > 0 ? a : b;

        EXPECT(states_reach(c, &states, i == 0 ? PAWL_STATE_CONNECTED : PAWL_STATE_RECONNECTED,
                            LONG_MS));
        states.n = 0;
        tcp_proxy_down(here);
        EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
        EXPECT_INT(tcp_proxy_open_links(here == a ? b : a), 1);
        tcp_proxy_up(here);
    }
    EXPECT_INT(pawl_client_session_id(c), session);
    pawl_client_close(c);
}

static void another_list_moves_us(void)
{
    struct tcp_proxy *a = tcp_proxy_new(suite_port()), *b = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct pawl_client *c = open_simply(a, &states);
    int64_t session = pawl_client_session_id(c);
    char address[64];

    EXPECT_INT(pawl_client_set_servers(c, "a:1/with-chroot"), PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(pawl_client_set_servers(c, ""), PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(pawl_client_set_servers(c, tcp_proxy_address(b)), PAWL_OK);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    pawl_client_server(c, address, sizeof(address));
    EXPECT_STR(address, tcp_proxy_address(b));
    EXPECT_INT(pawl_client_session_id(c), session);
    EXPECT_OK(DO(get, c, at(""), NULL));
    EXPECT_INT(
        pawl_client_set_servers(c, text("%s,%s", tcp_proxy_address(a), tcp_proxy_address(b))),
        PAWL_OK);
    EXPECT_OK(DO(get, c, at(""), NULL));
    EXPECT_INT(pawl_client_session_id(c), session);
    pawl_client_close(c);
}

/* 1 - S/M of the clients move when S servers become M: half of them here. */
static void a_second_server_gets_its_share(void)
{
    enum { N = 40 };
    struct tcp_proxy *a = tcp_proxy_new(suite_port()), *b = tcp_proxy_new(suite_port());
    struct pawl_client_options options;
    struct pawl_client *c[N];
    int moved;

    options_for_test(&options);
    options.servers = tcp_proxy_address(a);
    for (int i = 0; i < N; i++) {
        options.seed = (uint64_t)i + 1;
        c[i] = open_with(&options);
    }
    for (int i = 0; i < N; i++) {
        EXPECT_INT(pawl_client_set_servers(
                       c[i], text("%s,%s", tcp_proxy_address(a), tcp_proxy_address(b))),
                   PAWL_OK);
    }
    for (int i = 0; i < N; i++) {
        EXPECT_OK(taken(pawl_exists(c[i], "/", NULL, reply_slot())));
    }
    for (int64_t end = now_ms() + LONG_MS; /* who moved has closed its old link, and soon ... */
         tcp_proxy_open_links(a) + tcp_proxy_open_links(b) != N && now_ms() < end;) {
        sleep_ms(1);
    }
    moved = tcp_proxy_open_links(b);
    EXPECT_INT(tcp_proxy_open_links(a) + moved, N); /* ... the proxy hears of it */
    EXPECT(moved >= N / 4 && moved <= N * 3 / 4);
    for (int i = 0; i < N; i++) {
        pawl_client_close(c[i]);
    }
}

/* A server that accepts and closes is not stormed. */
static void attempts_are_spaced(void)
{
    struct pawl_client_options options;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), n = 0;
    struct timeval limit = {.tv_sec = 0, .tv_usec = 100000};
    struct pawl_client *c;
    int64_t began, took;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT(bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 64) == 0);
    EXPECT(getsockname(listener, (struct sockaddr *)&address, &len) == 0);
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    options_for_test(&options);
    options.servers = text("127.0.0.1:%d", ntohs(address.sin_port));
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_OK);
    began = now_ms();
    while ((took = now_ms() - began) < 2000 || (n < 2 && took < LONG_MS)) {
        int fd = accept(listener, NULL, NULL);

        if (fd >= 0) {
            close(fd);
            n++;
        }
    }
    EXPECT(n >= 2 && n <= took / 50);
    pawl_client_close_within(c, 100);
    close(listener);
}

const struct test tests_link[] = {
    {"states_follow_curator", states_follow_curator, FACES_ALL, 0},
    {"silence_suspends_after_two_thirds", silence_suspends_after_two_thirds, FACES_ALL, 0},
    {"lost_is_decided_by_our_own_clock", lost_is_decided_by_our_own_clock, FACES_ALL, 0},
    {"one_session_stays_lost", one_session_stays_lost, FACES_ALL, 0},
    {"a_stopped_process_learns_that_its_session_is_gone",
     a_stopped_process_learns_that_its_session_is_gone, FACES_ALL, 0},
    {"a_handshake_without_answer_leaves_time_for_another",
     a_handshake_without_answer_leaves_time_for_another, FACES_ALL, 0},
    {"a_cut_under_blocking_calls_is_repaired_at_once",
     a_cut_under_blocking_calls_is_repaired_at_once, 0, 0},
    {"listeners_come_and_go", listeners_come_and_go, FACES_ALL, 0},
    {"an_idle_session_lives_on", an_idle_session_lives_on, FACES_ALL, 0},
    {"a_write_in_flight_is_unknown", a_write_in_flight_is_unknown, FACES_ALL, 0},
    {"an_unknown_write_is_not_repeated", an_unknown_write_is_not_repeated, FACES_ALL, 0},
    {"a_write_without_a_link_waits_for_it", a_write_without_a_link_waits_for_it, FACES_ALL, 0},
    {"protected_creates_find_their_node_again", protected_creates_find_their_node_again, FACES_ALL,
     0},
    {"idempotent_creates_are_repeated", idempotent_creates_are_repeated, FACES_ALL, 0},
    {"reads_are_repeated_by_policy_only", reads_are_repeated_by_policy_only, FACES_ALL, 0},
    {"idempotent_sets_and_deletes_are_repeated", idempotent_sets_and_deletes_are_repeated,
     FACES_ALL, 0},
    {"a_guaranteed_delete_goes_on_in_the_background", a_guaranteed_delete_goes_on_in_the_background,
     FACES_ALL, 0},
    {"pauses_follow_their_policy", pauses_follow_their_policy, 0, 0},
    {"retrying_ends_with_the_calls_timeout", retrying_ends_with_the_calls_timeout, FACES_ALL, 0},
    {"one_bad_name_is_harmless", one_bad_name_is_harmless, FACES_ALL, 0},
    {"the_servers_address_is_told", the_servers_address_is_told, FACES_ALL, 0},
    {"the_next_server_keeps_the_session", the_next_server_keeps_the_session, FACES_ALL, 0},
    {"another_list_moves_us", another_list_moves_us, FACES_ALL, 0},
    {"a_second_server_gets_its_share", a_second_server_gets_its_share, 0, 0},
    {"attempts_are_spaced", attempts_are_spaced, 0, 0},
    {0},
};
