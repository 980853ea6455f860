/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_ensemble.c - servers that are killed, restarted and paused under a working client.
 *
 * Workers count: each makes nodes with numbers and remembers what it was told about every one.
 * Whatever happens to the servers, in the end every acknowledged node is there, no refused or
 * unsent one is, no protected create has made two, and each session is the one it was. */
#include "client_suite.h"

enum { N_PLAIN = 2, N_PROTECTED = 2, N_WORKERS = N_PLAIN + N_PROTECTED, MOST_NODES = 20000 };
enum { PROGRESS_MS = 120000, SESSION_MS = 30000 };

struct worker {
    struct pawl_client *c;
    pthread_t thread;
    int number;
    bool is_protected;
    int64_t session, zxid;
    struct states states;
    uint8_t outcome[MOST_NODES]; /* enum pawl_outcome */
    atomic_int n, n_acked;
};

struct crew {
    struct worker workers[N_WORKERS];
    atomic_bool stop;
};

static struct crew crew;

/* ---- workers ---- */

static void remember(struct worker *w, const struct pawl_reply *r)
{
    int n = atomic_load(&w->n);

    EXPECT(n < MOST_NODES);
    w->outcome[n] = (uint8_t)r->outcome;
    atomic_store(&w->n, n + 1);
    if (r->err == PAWL_OK) {
        EXPECT(r->zxid >= w->zxid); /* never back in time, whichever server answers */
        w->zxid = r->zxid;
        pthread_mutex_lock(&happened_lock);
        atomic_fetch_add(&w->n_acked, 1);
        happened();
        pthread_mutex_unlock(&happened_lock);
    } else if (r->err != PAWL_ERR_CONNECTION_LOSS && r->err != PAWL_ERR_OPERATION_TIMEOUT) {
        fail_at(__FILE__, __LINE__, "worker %d got %s", w->number, pawl_error_name(r->err));
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    char path[128];

    while (!atomic_load(&crew.stop)) {
        struct pawl_reply *r = NULL;
        int k = atomic_load(&w->n);

        if (w->is_protected) {
            snprintf(path, sizeof(path), "/%s/p%d/n-", suite.test, w->number);
            pawl_create(w->c,
                        PAWL_CREATE(.path = path, .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                    .flags = PAWL_OP_PROTECTED),
                        &r);
        } else {
            snprintf(path, sizeof(path), "/%s/w%d/%d", suite.test, w->number, k);
            pawl_create(w->c, PAWL_CREATE(.path = path), &r);
        }
        EXPECT(r != NULL);
        remember(w, r);
        pawl_reply_free(r);
        r = NULL;
        if (k % 8 == 0 && pawl_get(w->c, at(""), NULL, &r) == PAWL_OK) {
            EXPECT(r->zxid >= w->zxid);
            w->zxid = r->zxid;
        }
        pawl_reply_free(r);
        sleep_ms(1); /* the machine is needed for elections as well */
    }
    return NULL;
}

static void start_worker(struct worker *w, int number, struct pawl_client *other)
{
    struct pawl_client_options options;

    w->number = number;
    w->is_protected = number >= N_PLAIN;
    options_for_test(&options);
    options.session_timeout_ms = SESSION_MS;
    options.timeout_ms = LONG_MS;
    options.on_state = on_state;
    options.on_state_arg = &w->states;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 50};
    w->c = open_with(&options);
    w->session = pawl_client_session_id(w->c);
    EXPECT_OK(DO(create, other,
                 PAWL_CREATE(.path = at(text("%s%d", w->is_protected ? "p" : "w", number)))));
    EXPECT_INT(pthread_create(&w->thread, NULL, worker_main, w), 0);
}

static struct pawl_client *start_crew(void)
{
    struct pawl_client_options options;
    struct pawl_client *c;

    options_for_test(&options);
    options.session_timeout_ms = SESSION_MS;
    options.timeout_ms = LONG_MS;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 50};
    c = open_main_with(&options);
    for (int i = 0; i < N_WORKERS; i++) {
        start_worker(&crew.workers[i], i, c);
    }
    return c;
}

struct progress {
    int goal[N_WORKERS];
};

static bool has_progressed(void *arg)
{
    struct progress *p = arg;

    for (int i = 0; i < N_WORKERS; i++) {
        if (atomic_load(&crew.workers[i].n_acked) < p->goal[i]) {
            return false;
        }
    }
    return true;
}

/* Everybody counts on: with whatever servers there are now. */
static void expect_progress(const char *after)
{
    struct progress p;
    int64_t began = now_ms();

    for (int i = 0; i < N_WORKERS; i++) {
        p.goal[i] = atomic_load(&crew.workers[i].n_acked) + 10;
    }
    if (!wait_until(NULL, has_progressed, &p, PROGRESS_MS)) {
        fail_at(__FILE__, __LINE__, "no progress in %d ms after \"%s\"", PROGRESS_MS, after);
    }
    printf("    %s: all count on after %lld ms\n", after, (long long)(now_ms() - began));
}

/* "kill mine": the server that the first worker is linked to. */
static void fault(const char *order)
{
    char here[64];

    if (strstr(order, " mine") != NULL) {
        pawl_client_server(crew.workers[0].c, here, sizeof(here));
        order = text("%.*s %s", (int)strcspn(order, " "), order, here);
    }
    control(order);
    expect_progress(order);
}

/* ---- the reckoning ---- */

static bool *numbers_present(struct pawl_client *c, const struct worker *w)
{
    bool *present = scratch(MOST_NODES * sizeof(*present));
    struct pawl_reply *r = DO(children, c, at(text("w%d", w->number)), NULL);

    EXPECT_OK(r);
    for (size_t i = 0; i < r->children.n; i++) {
        int k = atoi(r->children.items[i]);

        EXPECT(k >= 0 && k < atomic_load(&w->n) && !present[k]);
        present[k] = true;
    }
    return present;
}

static void check_plain(struct pawl_client *c, const struct worker *w)
{
    bool *present = numbers_present(c, w);

    for (int k = 0; k < atomic_load(&w->n); k++) {
        if (w->outcome[k] == PAWL_OUTCOME_DONE && !present[k]) {
            fail_at(__FILE__, __LINE__, "acknowledged node %d of worker %d is lost", k, w->number);
        }
        if (w->outcome[k] != PAWL_OUTCOME_DONE && w->outcome[k] != PAWL_OUTCOME_UNKNOWN &&
            present[k]) {
            fail_at(__FILE__, __LINE__, "node %d of worker %d exists against its outcome", k,
                    w->number);
        }
    }
}

static void check_protected(struct pawl_client *c, const struct worker *w)
{
    struct pawl_reply *r = DO(children, c, at(text("p%d", w->number)), NULL);

    EXPECT_INT(atomic_load(&w->n), atomic_load(&w->n_acked)); /* retried until it was known */
    EXPECT_OK(r);
    EXPECT_INT(r->children.n, atomic_load(&w->n_acked));
}

static void stop_crew(struct pawl_client *c)
{
    int acked = 0, unknown = 0;

    atomic_store(&crew.stop, true);
    for (int i = 0; i < N_WORKERS; i++) {
        struct worker *w = &crew.workers[i];

        pthread_join(w->thread, NULL);
        acked += atomic_load(&w->n_acked);
        unknown += atomic_load(&w->n) - atomic_load(&w->n_acked);
    }
    EXPECT_OK(DO(sync, c, "/"));
    for (int i = 0; i < N_WORKERS; i++) {
        struct worker *w = &crew.workers[i];

        if (w->is_protected) {
            check_protected(c, w);
        } else {
            check_plain(c, w);
        }
        EXPECT_INT(pawl_client_session_id(w->c), w->session);
        for (int s = 0; s < w->states.n; s++) {
            EXPECT(w->states.items[s] != PAWL_STATE_LOST);
        }
        pawl_client_close(w->c);
    }
    printf("    %d acknowledged, %d of unknown outcome\n", acked, unknown);
    pawl_client_close(c);
}

/* ---- tests ---- */

/* The watches are those of the test's own client, which does nothing else meanwhile. */
static void count_through(const char *const *orders)
{
    struct pawl_client *c = start_crew(), *other;
    struct events *once = scratch(sizeof(*once)), *stays = scratch(sizeof(*stays));
    struct pawl_watch on_once = watch_into(once), on_stays = watch_into(stays);
    int64_t session = pawl_client_session_id(c);

    EXPECT_OK(DO(get, c, at(""), &on_once));
    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_PERSISTENT, &on_stays));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    expect_events(c, stays, 1); /* the child */
    expect_progress("nothing");
    for (; *orders != NULL; orders++) {
        fault(*orders);
    }
    EXPECT_OK(DO(sync, c, "/"));
    EXPECT_INT(pawl_client_session_id(c), session);
    EXPECT_INT(DO(exists, c, at("e"), NULL)->stat.ephemeral_owner, session);
    other = open_other();
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at(""))));
    pawl_client_close(other);
    expect_events(c, once, 1);
    expect_event(once, 0, PAWL_EVENT_DATA_CHANGED, at(""));
    expect_events(c, stays, 2);
    stop_crew(c);
}

#define COUNT_THROUGH(...) count_through((const char *const[]){__VA_ARGS__, NULL})

static void counting_survives_the_leaders_death(void)
{
    COUNT_THROUGH("kill leader", "start all");
}

static void counting_survives_a_followers_death(void)
{
    COUNT_THROUGH("kill follower", "start all");
}

static void counting_survives_a_paused_leader(void)
{
    COUNT_THROUGH("pause leader", "resume all");
}

static void counting_survives_a_paused_follower(void)
{
    COUNT_THROUGH("pause follower", "resume all");
}

static void counting_survives_the_loss_of_its_own_server(void)
{
    COUNT_THROUGH("kill mine", "start all", "pause mine", "resume all");
}

static void counting_survives_everything_in_turn(void)
{
    COUNT_THROUGH("kill leader", "start all", "kill follower", "start all", "pause leader",
                  "resume all", "pause follower", "resume all", "kill leader", "start all",
                  "kill leader", "start all", "kill follower", "start all", "kill leader",
                  "start all");
}

static void counting_survives_a_restart_of_all(void)
{
    COUNT_THROUGH("restart all", "restart all");
}

static void lost_comes_while_all_servers_are_paused(void)
{
    enum { TIMEOUT_MS = 2000 };
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    int64_t session, began, took;

    options_for_test(&options);
    options.session_timeout_ms = TIMEOUT_MS;
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    session = pawl_client_session_id(c);
    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    began = now_ms();
    control("pause all");
    EXPECT(states_reach(c, &states, PAWL_STATE_LOST, LONG_MS));
    took = now_ms() - began;
    printf("    LOST after %lld ms with a timeout of %d\n", (long long)took, TIMEOUT_MS);
    EXPECT(took >= TIMEOUT_MS / 2);
    EXPECT_INT(pawl_client_certain_ms(c), 0);
    expect_states(c, &states, "CONNECTED SUSPENDED LOST");
    control("resume all");
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT(pawl_client_session_id(c) != session);
    EXPECT_OK(DO(get, c, at(""), NULL));
    pawl_client_close(c);
}

/* ---- an ensemble only ---- */

static void a_session_wanders_from_member_to_member(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    int64_t session = pawl_client_session_id(c);
    char *list = text("%s", suite.servers), *rest = list, *address;
    char here[64];

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    for (int round = 0; round < 2; round++, rest = list = text("%s", suite.servers)) {
        while ((address = strtok_r(rest, ",", &rest)) != NULL) {
            EXPECT_INT(pawl_client_set_servers(c, address), PAWL_OK);
            EXPECT_OK(DO(set, other, PAWL_SET(.path = at(""), .data = bytes(address))));
            EXPECT_OK(DO(sync, c, "/"));
            EXPECT_DATA(DO(get, c, at(""), NULL), address);
            pawl_client_server(c, here, sizeof(here));
            EXPECT_STR(here, address);
            EXPECT_INT(pawl_client_session_id(c), session);
        }
    }
    EXPECT_OK(DO(exists, other, at("e"), NULL));
    pawl_client_close(other);
    pawl_client_close(c);
}

/* A read-only server takes new and local sessions only: one that exists already is refused. */
static void a_read_only_member_serves_reads(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""), .data = bytes("x"))));
    pawl_client_close(c);
    control("kill followers");
    control("wait read-only");
    options_for_test(&options);
    options.flags = PAWL_CLIENT_READ_ONLY;
    options.on_state = on_state;
    options.on_state_arg = &states;
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_OK);
    suite.main_client = c;
    EXPECT(states_reach(c, &states, PAWL_STATE_READ_ONLY, LONG_MS));
    EXPECT_DATA(DO(get, c, at(""), NULL), "x");
    EXPECT_REFUSED(DO(set, c, PAWL_SET(.path = at(""), .data = bytes("y"))),
                   PAWL_ERR_NOT_READ_ONLY);
    control("start all");
    EXPECT(states_reach(c, &states, PAWL_STATE_CONNECTED, LONG_MS));
    expect_states(c, &states, "READ_ONLY SUSPENDED CONNECTED");
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""), .data = bytes("z"))));
    pawl_client_close(c);
}

/* The library reads it in the callbacks: it asks when it hears of CONNECTED, which is before the
 * answer to the first of these calls, and has the answer before that to the second. */
static void until_the_config_is_read(struct pawl_client *c, struct states *states)
{
    EXPECT(states_count(c, states, 1, LONG_MS));
    for (int i = 0; i < 2; i++) {
        struct answer a = {0};

        EXPECT_INT(pawl_exists_async(c, "/", NULL, answer_done, &a), PAWL_OK);
        (void)answer_wait(c, &a); /* an error, perhaps, when it moves */
    }
}

static void the_list_of_servers_follows_the_config(void)
{
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    char first[64], here[64];
    int64_t session;

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(suite.servers, ","), suite.servers);
    options_for_test(&options);
    options.servers = first;
    options.session_timeout_ms = LONG_MS; /* longer than an election */
    options.flags = PAWL_CLIENT_FOLLOW_CONFIG;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 5, .pause_ms = 50};
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    session = pawl_client_session_id(c);
    until_the_config_is_read(c, &states);
    EXPECT_OK(DO(sync, c, "/")); /* the new list may have made it move */
    pawl_client_server(c, here, sizeof(here));
    if (strcmp(here, first) != 0) {
        EXPECT_INT(pawl_client_session_id(c), session);
        pawl_client_close(c);
        return;
    }
    control(text("kill %s", first));
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    pawl_client_server(c, here, sizeof(here));
    EXPECT(strcmp(here, first) != 0);
    EXPECT_INT(pawl_client_session_id(c), session);
    control("start all");
    pawl_client_close(c);
}

static bool has_event(void *arg)
{
    return ((struct events *)arg)->n > 0;
}

static void a_member_leaves_and_joins_by_reconfig(void)
{
    struct pawl_client *c = open_main();
    struct pawl_auth super = {.scheme = "digest", .auth = bytes("super:test")};
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct pawl_reconfig leave = {.size = sizeof(leave), .leaving = "1"};
    struct pawl_reconfig join = {.size = sizeof(join)};
    struct pawl_reply *r, *before;

    EXPECT_OK(DO(add_auth, c, &super));
    join.joining = text("server.1=%s", control("entry 1"));
    before = DO(config, c, &watch);
    EXPECT_OK(before);
    EXPECT(strstr(before->data.data, "server.1=") != NULL);
    leave.only_if = pawl_version(0x7777);
    EXPECT_REFUSED(DO(reconfig, c, &leave), PAWL_ERR_BAD_VERSION);
    leave.only_if = (struct pawl_condition){0, 0};
    r = DO(reconfig, c, &leave);
    EXPECT_OK(r);
    EXPECT(strstr(r->data.data, "server.1=") == NULL);
    EXPECT(strstr(r->data.data, "server.2=") != NULL);
    EXPECT(r->stat.mzxid > before->stat.mzxid); /* its version is -1, always */
    EXPECT(wait_until(c, has_event, e, LONG_MS));
    expect_event(e, 0, PAWL_EVENT_DATA_CHANGED, "/zookeeper/config");
    r = DO(reconfig, c, &join);
    EXPECT_OK(r);
    EXPECT(strstr(r->data.data, "server.1=") != NULL);
    pawl_client_close(c);
}

const struct test tests_ensemble[] = {
    {"counting_survives_a_restart_of_all", counting_survives_a_restart_of_all, NEEDS_CONTROL, 0},
    {"lost_comes_while_all_servers_are_paused", lost_comes_while_all_servers_are_paused,
     NEEDS_CONTROL, 0},
    {"counting_survives_the_leaders_death", counting_survives_the_leaders_death,
     NEEDS_ENSEMBLE | NEEDS_CONTROL, 0},
    {"counting_survives_a_followers_death", counting_survives_a_followers_death,
     NEEDS_ENSEMBLE | NEEDS_CONTROL, 0},
    {"counting_survives_a_paused_leader", counting_survives_a_paused_leader,
     NEEDS_ENSEMBLE | NEEDS_CONTROL, 0},
    {"counting_survives_a_paused_follower", counting_survives_a_paused_follower,
     NEEDS_ENSEMBLE | NEEDS_CONTROL | SLOW, 0},
    {"counting_survives_the_loss_of_its_own_server", counting_survives_the_loss_of_its_own_server,
     NEEDS_ENSEMBLE | NEEDS_CONTROL, 0},
    {"counting_survives_everything_in_turn", counting_survives_everything_in_turn,
     NEEDS_ENSEMBLE | NEEDS_CONTROL | SLOW, 2000},
    {"a_session_wanders_from_member_to_member", a_session_wanders_from_member_to_member,
     NEEDS_ENSEMBLE | FACES_ALL, 0},
    {"a_read_only_member_serves_reads", a_read_only_member_serves_reads,
     NEEDS_ENSEMBLE | NEEDS_CONTROL | NEEDS_LOCAL_SESSIONS, 0},
    {"the_list_of_servers_follows_the_config", the_list_of_servers_follows_the_config,
     NEEDS_ENSEMBLE | NEEDS_CONTROL, 0},
    {"a_member_leaves_and_joins_by_reconfig", a_member_leaves_and_joins_by_reconfig,
     NEEDS_ENSEMBLE | NEEDS_CONTROL | NEEDS_RECONFIG, 0},
    {0},
};
