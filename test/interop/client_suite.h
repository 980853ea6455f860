/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite.h - what the tests of libpawl's client against real servers share.
 *
 * One program, a table of tests, one process per test: a test that hangs or crashes fails alone.
 * Every test of FACES_ALL runs four times, once per way to use the library; DO() hides which. */
#ifndef TEST_CLIENT_SUITE_H
#define TEST_CLIENT_SUITE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/client.h>

#include "lib/tcp_proxy.h"

enum face {
    FACE_BLOCKING, /* blocking calls, callbacks on the library's thread */
    FACE_ASYNC,    /* asynchronous calls, callbacks on the library's thread */
    FACE_POLLED,   /* asynchronous calls, callbacks in pawl_client_dispatch() */
    FACE_EXTERNAL, /* asynchronous calls, everything in pawl_client_process() */
    N_FACES
};

enum test_flags {
    FACES_ALL = 1,
    NEEDS_ENSEMBLE = 2,
    NEEDS_CONTROL = 4,         /* somebody who stops and starts servers when told to */
    SLOW = 8,                  /* not with --quick */
    NEEDS_LOCAL_SESSIONS = 16, /* and no test without this flag can do with them */
    NEEDS_RECONFIG = 32
};

struct test {
    const char *name; /* the fact it proves */
    void (*run)(void);
    int flags;
    int seconds; /* 0: the usual limit, which is for one that hangs */
};

extern const struct test tests_data[], tests_create[], tests_acl[], tests_multi[], tests_watch[],
    tests_names[], tests_calls[], tests_link[], tests_life[], tests_ensemble[];

struct suite {
    const char *servers; /* where the server or the ensemble is */
    const char *test;
    enum face face;
    bool control;
    struct pawl_client *main_client; /* the one whose calls go through the face */
};

extern struct suite suite;

/* ---- expectations: a failed one ends the test ---- */

_Noreturn void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define EXPECT(condition)                                  \
    do {                                                   \
        if (!(condition)) {                                \
            fail_at(__FILE__, __LINE__, "%s", #condition); \
        }                                                  \
    } while (0)
#define EXPECT_INT(got, wanted) \
    expect_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(wanted))
#define EXPECT_STR(got, wanted)  expect_str(__FILE__, __LINE__, #got, (got), (wanted))
#define EXPECT_DATA(reply, text) expect_data(__FILE__, __LINE__, (reply), (text))

/* The reply's err and outcome. */
#define EXPECT_REPLY(reply, err, outcome) \
    expect_reply(__FILE__, __LINE__, #reply, (reply), (err), (outcome))
#define EXPECT_OK(reply)           EXPECT_REPLY(reply, PAWL_OK, PAWL_OUTCOME_DONE)
#define EXPECT_REFUSED(reply, err) EXPECT_REPLY(reply, err, PAWL_OUTCOME_REFUSED)

void expect_int(const char *file, int line, const char *what, int64_t got, int64_t wanted);
void expect_str(const char *file, int line, const char *what, const char *got, const char *wanted);
void expect_data(const char *file, int line, const struct pawl_reply *reply, const char *text);
void expect_reply(const char *file, int line, const char *what, const struct pawl_reply *reply,
                  int err, enum pawl_outcome outcome);

/* ---- memory that lives as long as the test ---- */

void *scratch(size_t size); /* zeroed */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *at(const char *name); /* "/TEST/name", "/TEST" for "" */
struct pawl_bytes bytes(const char *string);
struct pawl_reply *reply_copy(const struct pawl_reply *reply);

/* ---- time ---- */

int64_t now_ms(void);
void sleep_ms(int ms);

/* ---- clients ---- */

void options_for_test(struct pawl_client_options *options); /* the face's dispatch, the servers */
struct pawl_client *open_with(const struct pawl_client_options *options); /* and waits */

/* Opens the client whose calls go through the face, and makes the node "/TEST". */
struct pawl_client *open_main(void);
struct pawl_client *open_main_with(const struct pawl_client_options *options);

/* One more, always blocking: the world outside. */
struct pawl_client *open_other(void);

/* ---- calls through the face ---- */

struct answer {
    struct pawl_reply *reply; /* a copy */
    int n_calls;
};

void answer_done(const struct pawl_reply *reply, void *answer);
struct pawl_reply *answer_wait(struct pawl_client *c, struct answer *a);

/* DO(get, c, "/a", NULL): the reply, a copy in scratch memory, never NULL. */
#define DO(op, c, ...)                                                                            \
    (is_async(c) ? answered((c), pawl_##op##_async((c), __VA_ARGS__, answer_done, answer_slot())) \
                 : taken(pawl_##op((c), __VA_ARGS__, reply_slot())))
#define DO_WHOAMI(c)                                                                 \
    (is_async(c) ? answered((c), pawl_whoami_async((c), answer_done, answer_slot())) \
                 : taken(pawl_whoami((c), reply_slot())))

bool is_async(const struct pawl_client *c);
struct answer *answer_slot(void);
struct pawl_reply **reply_slot(void);
struct pawl_reply *answered(struct pawl_client *c, int rc);
struct pawl_reply *taken(int rc);

/* ---- what callbacks leave behind; all of it under one lock ---- */

extern pthread_mutex_t happened_lock;
void happened(void); /* something changed: lock held */

/* Waits for `condition`, called with the lock held; drives `c` (may be NULL) meanwhile if that is
 * the caller's business. */
bool wait_until(struct pawl_client *c, bool (*condition)(void *), void *arg, int timeout_ms);

enum { MAX_RECORDED = 256 };

/* Longer than anything takes on a machine that has other things to do. */
enum { LONG_MS = 60000 };

/* Long enough that nobody is taken for dead who only has to wait for its turn. */
enum { USUAL_SESSION_MS = 30000 };

struct recorded_event {
    enum pawl_event_type type;
    enum pawl_state state;
    char path[256];
    int64_t zxid;
};

/* Without PAWL_EVENT_GAP, which depends on whom the client came back to. */
struct events {
    atomic_int n; /* also read without the lock */
    struct recorded_event items[MAX_RECORDED];
};

void on_event(const struct pawl_event *event, void *events);
struct pawl_watch watch_into(struct events *events);
void expect_events(struct pawl_client *c, struct events *events, int n); /* that many, no more */
void expect_event(const struct events *events, int i, enum pawl_event_type type, const char *path);

struct states {
    atomic_int n;
    enum pawl_state items[MAX_RECORDED];
    int64_t at_ms[MAX_RECORDED];
};

void on_state(struct pawl_client *c, enum pawl_state state, void *states);
/* Whether the last state becomes `last`: for one that stays. */
bool states_reach(struct pawl_client *c, struct states *s, enum pawl_state last, int timeout_ms);
/* Whether there come to be `n` of them: for those that pass. */
bool states_count(struct pawl_client *c, struct states *s, int n, int timeout_ms);
void expect_states(struct pawl_client *c, const struct states *s,
                   const char *wanted); /* "CONNECTED SUSPENDED" */
const char *state_name(enum pawl_state state);
bool counter_is(void *counter_and_goal); /* int[2], for wait_until() */

int suite_port(void); /* of one of the servers, for a proxy in front of it */

/* ---- whoever runs the servers ---- */

const char *control(const char *order); /* "kill leader"; what it says */

#endif
