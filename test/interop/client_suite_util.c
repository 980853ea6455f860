/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_util.c - clients, replies, events and expectations for the tests. */
#include "client_suite.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_MS = 60 };

/* ---- expectations ---- */

/* Not exit(): threads of the library may be anywhere, and the leak checker would only add noise. */
_Noreturn void fail_at(const char *file, int line, const char *format, ...)
{
    const char *name = strrchr(file, '/');
    va_list args;

    printf("    %s:%d: ", name == NULL ? file : name + 1, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    _exit(1);
}

void expect_int(const char *file, int line, const char *what, int64_t got, int64_t wanted)
{
    if (got != wanted) {
        fail_at(file, line, "%s is %lld, expected %lld", what, (long long)got, (long long)wanted);
    }
}

void expect_str(const char *file, int line, const char *what, const char *got, const char *wanted)
{
    if (got == NULL || strcmp(got, wanted) != 0) {
        fail_at(file, line, "%s is \"%s\", expected \"%s\"", what, got == NULL ? "(null)" : got,
                wanted);
    }
}

void expect_data(const char *file, int line, const struct pawl_reply *reply, const char *wanted)
{
    size_t len = strlen(wanted);

    if (reply->data.len != len || memcmp(reply->data.data, wanted, len) != 0) {
        fail_at(file, line, "the data are \"%.*s\", expected \"%s\"", (int)reply->data.len,
                reply->data.data == NULL ? "" : (const char *)reply->data.data, wanted);
    }
}

static const char *outcome_name(enum pawl_outcome outcome)
{
    static const char *const names[] = {"DONE", "REFUSED", "NOT_SENT", "UNKNOWN"};

    return names[outcome];
}

void expect_reply(const char *file, int line, const char *what, const struct pawl_reply *reply,
                  int err, enum pawl_outcome outcome)
{
    if (reply->err != err || reply->outcome != outcome) {
        fail_at(file, line, "%s: %s %s, expected %s %s", what,
                reply->err == 0 ? "OK" : pawl_error_name(reply->err), outcome_name(reply->outcome),
                err == 0 ? "OK" : pawl_error_name(err), outcome_name(outcome));
    }
}

/* ---- memory ---- */

struct piece {
    struct piece *next;
    max_align_t data[];
};

static struct piece *pieces;
static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_pieces(void)
{
    while (pieces != NULL) {
        struct piece *next = pieces->next;

        free(pieces);
        pieces = next;
    }
}

void *scratch(size_t size)
{
    struct piece *p = calloc(1, sizeof(*p) + size + 1);

    EXPECT(p != NULL);
    pthread_mutex_lock(&pieces_lock);
    if (pieces == NULL) {
        atexit(free_pieces);
    }
    p->next = pieces;
    pieces = p;
    pthread_mutex_unlock(&pieces_lock);
    return p->data;
}

char *text(const char *format, ...)
{
    va_list args;
    char *out;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    out = scratch((size_t)len + 1);
    va_start(args, format);
    vsnprintf(out, (size_t)len + 1, format, args);
    va_end(args);
    return out;
}

char *at(const char *name)
{
    static const char *const faces[] = {"", ".a", ".p", ".x"};

    return text("/%s%s%s%s", suite.test, faces[suite.face], *name == '\0' ? "" : "/", name);
}

struct pawl_bytes bytes(const char *string)
{
    return (struct pawl_bytes){.data = string, .len = strlen(string)};
}

static const char *copy_string(const char *s)
{
    return s == NULL ? NULL : text("%s", s);
}

static struct pawl_bytes copy_bytes(struct pawl_bytes b)
{
    void *data;

    if (b.data == NULL) {
        EXPECT_INT(b.len, 0);
        return b;
    }
    data = scratch(b.len);
    if (b.len > 0) {
        memcpy(data, b.data, b.len);
    }
    return (struct pawl_bytes){.data = data, .len = b.len};
}

static void copy_lists(struct pawl_reply *to, const struct pawl_reply *from)
{
    const char **names = scratch(from->children.n * sizeof(*names));
    struct pawl_acl *acls = scratch(from->acls.n * sizeof(*acls));
    struct pawl_id *ids = scratch(from->ids.n * sizeof(*ids));
    const struct pawl_reply **results = scratch(from->n_results * sizeof(*results));

    for (size_t i = 0; i < from->children.n; i++) {
        names[i] = copy_string(from->children.items[i]);
    }
    for (size_t i = 0; i < from->acls.n; i++) {
        acls[i].perms = from->acls.items[i].perms;
        acls[i].scheme = copy_string(from->acls.items[i].scheme);
        acls[i].id = copy_string(from->acls.items[i].id);
    }
    for (size_t i = 0; i < from->ids.n; i++) {
        ids[i].scheme = copy_string(from->ids.items[i].scheme);
        ids[i].id = copy_string(from->ids.items[i].id);
    }
    for (size_t i = 0; i < from->n_results; i++) {
        results[i] = reply_copy(from->results[i]);
    }
    to->children.items = names;
    to->acls.items = acls;
    to->ids.items = ids;
    to->results = results;
}

struct pawl_reply *reply_copy(const struct pawl_reply *reply)
{
    struct pawl_reply *copy = scratch(sizeof(*copy));

    *copy = *reply;
    copy->path = copy_string(reply->path);
    copy->data = copy_bytes(reply->data);
    copy_lists(copy, reply);
    return copy;
}

/* ---- time ---- */

int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

/* ---- clients ---- */

/* CLIENT_SUITE_LOG=1 shows what the library says of itself. */
static void log_line(enum pawl_log_level level, const char *line, void *arg)
{
    (void)arg;
    fprintf(stderr, "    %lld [%d] %s\n", (long long)now_ms(), (int)level, line);
}

void options_for_test(struct pawl_client_options *options)
{
    static const enum pawl_dispatch dispatch[N_FACES] = {
        PAWL_DISPATCH_THREAD, PAWL_DISPATCH_THREAD, PAWL_DISPATCH_POLLED, PAWL_DISPATCH_EXTERNAL};

    pawl_client_options_init(options);
    options->servers = suite.servers;
    options->session_timeout_ms = USUAL_SESSION_MS;
    options->timeout_ms = LONG_MS;
    options->dispatch = dispatch[suite.face];
    if (getenv("CLIENT_SUITE_LOG") != NULL) {
        options->log = log_line;
        options->log_level = PAWL_LOG_DEBUG;
    }
}

struct pawl_client *open_with(const struct pawl_client_options *options)
{
    struct pawl_client *c = NULL;

    EXPECT_INT(pawl_client_open(options, &c), PAWL_OK);
    EXPECT_INT(pawl_client_wait_connected(c, LONG_MS), PAWL_OK);
    return c;
}

struct pawl_client *open_other(void)
{
    struct pawl_client_options options;

    options_for_test(&options);
    options.dispatch = PAWL_DISPATCH_THREAD;
    return open_with(&options);
}

struct pawl_client *open_main_with(const struct pawl_client_options *options)
{
    struct pawl_client *c = open_other();
    struct pawl_reply *r = taken(pawl_create(c, PAWL_CREATE(.path = at("")), reply_slot()));

    EXPECT_OK(r);
    pawl_client_close(c);
    suite.main_client = open_with(options);
    return suite.main_client;
}

struct pawl_client *open_main(void)
{
    struct pawl_client_options options;

    options_for_test(&options);
    return open_main_with(&options);
}

/* ---- waiting ---- */

pthread_mutex_t happened_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t happened_cond = PTHREAD_COND_INITIALIZER;

void happened(void)
{
    pthread_cond_broadcast(&happened_cond);
}

static void wait_for_threads(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&happened_cond, &happened_lock, &t);
}

static void process_once(struct pawl_client *c, int64_t ms)
{
    struct pollfd p = {.fd = -1};
    int timeout;

    EXPECT_INT(pawl_client_interest(c, &p.fd, &p.events, &timeout), PAWL_OK);
    if (timeout < 0 || timeout > ms) {
        timeout = (int)ms;
    }
    poll(&p, 1, timeout);
    EXPECT(pawl_client_process(c, p.revents) >= 0);
}

/* Other threads may change what is waited for, so nobody sleeps for long. */
static void drive(struct pawl_client *c, int64_t ms)
{
    enum face face = c != NULL && c == suite.main_client ? suite.face : FACE_BLOCKING;

    if (face == FACE_POLLED || face == FACE_EXTERNAL) {
        ms = ms > 20 ? 20 : ms;
        pthread_mutex_unlock(&happened_lock);
        if (face == FACE_POLLED) {
            EXPECT(pawl_client_dispatch(c, (int)ms) >= 0);
        } else {
            process_once(c, ms);
        }
        pthread_mutex_lock(&happened_lock);
    } else {
        wait_for_threads(ms);
    }
}

bool wait_until(struct pawl_client *c, bool (*condition)(void *), void *arg, int timeout_ms)
{
    int64_t end = now_ms() + timeout_ms, left;
    bool met;

    pthread_mutex_lock(&happened_lock);
    while (!(met = condition(arg)) && (left = end - now_ms()) > 0) {
        drive(c, left);
    }
    pthread_mutex_unlock(&happened_lock);
    return met;
}

/* ---- calls through the face ---- */

static _Thread_local struct answer *last_answer;
static _Thread_local struct pawl_reply *last_reply;

void answer_done(const struct pawl_reply *reply, void *answer)
{
    struct answer *a = answer;

    pthread_mutex_lock(&happened_lock);
    a->reply = reply_copy(reply);
    a->n_calls++;
    happened();
    pthread_mutex_unlock(&happened_lock);
}

static bool has_answer(void *answer)
{
    return ((struct answer *)answer)->n_calls > 0;
}

struct pawl_reply *answer_wait(struct pawl_client *c, struct answer *a)
{
    if (!wait_until(c, has_answer, a, LONG_MS)) {
        fail_at(__FILE__, __LINE__, "no answer in %d ms", LONG_MS);
    }
    EXPECT_INT(a->n_calls, 1);
    return a->reply;
}

bool is_async(const struct pawl_client *c)
{
    return suite.face != FACE_BLOCKING && c == suite.main_client;
}

struct answer *answer_slot(void)
{
    last_answer = scratch(sizeof(*last_answer));
    return last_answer;
}

struct pawl_reply **reply_slot(void)
{
    last_reply = NULL;
    return &last_reply;
}

struct pawl_reply *answered(struct pawl_client *c, int rc)
{
    struct answer *a = last_answer;

    if (rc != 0) {
        struct pawl_reply *r = scratch(sizeof(*r));

        EXPECT_INT(a->n_calls, 0);
        r->err = rc;
        r->outcome = PAWL_OUTCOME_NOT_SENT;
        return r;
    }
    return answer_wait(c, a);
}

struct pawl_reply *taken(int rc)
{
    struct pawl_reply *given = last_reply, *r;

    if (given == NULL) {
        r = scratch(sizeof(*r));
        r->err = rc;
        r->outcome = PAWL_OUTCOME_NOT_SENT;
        EXPECT(rc != 0);
        return r;
    }
    r = reply_copy(given);
    pawl_reply_free(given);
    EXPECT_INT(rc, r->err);
    return r;
}

/* ---- events and states ---- */

void on_event(const struct pawl_event *event, void *events)
{
    struct events *e = events;

    pthread_mutex_lock(&happened_lock);
    if (event->type != PAWL_EVENT_GAP && e->n < MAX_RECORDED) {
        struct recorded_event *r = &e->items[e->n++];

        r->type = event->type;
        r->state = event->state;
        r->zxid = event->zxid;
        snprintf(r->path, sizeof(r->path), "%s", event->path == NULL ? "(null)" : event->path);
    }
    happened();
    pthread_mutex_unlock(&happened_lock);
}

struct pawl_watch watch_into(struct events *events)
{
    return (struct pawl_watch){.fn = on_event, .arg = events};
}

bool counter_is(void *counter_and_goal)
{
    const int *pair = counter_and_goal;

    return pair[0] >= pair[1];
}

struct goal {
    const atomic_int *n;
    int wanted;
};

static bool reached(void *arg)
{
    const struct goal *g = arg;

    return *g->n >= g->wanted;
}

void expect_events(struct pawl_client *c, struct events *events, int n)
{
    struct goal goal = {&events->n, n}, more = {&events->n, n + 1};

    if (!wait_until(c, reached, &goal, LONG_MS)) {
        fail_at(__FILE__, __LINE__, "%d events instead of %d", events->n, n);
    }
    if (wait_until(c, reached, &more, QUIET_MS)) {
        fail_at(__FILE__, __LINE__, "more than %d events, the last of type %d at %s", n,
                events->items[n].type, events->items[n].path);
    }
}

void expect_event(const struct events *events, int i, enum pawl_event_type type, const char *path)
{
    const struct recorded_event *e = &events->items[i];

    EXPECT(i < events->n);
    if (e->type != type || strcmp(e->path, path) != 0) {
        fail_at(__FILE__, __LINE__, "event %d is of type %d at %s, expected %d at %s", i, e->type,
                e->path, type, path);
    }
}

void on_state(struct pawl_client *c, enum pawl_state state, void *states)
{
    struct states *s = states;

    (void)c;
    pthread_mutex_lock(&happened_lock);
    if (s->n < MAX_RECORDED) {
        s->at_ms[s->n] = now_ms();
        s->items[s->n++] = state;
    }
    happened();
    pthread_mutex_unlock(&happened_lock);
}

struct last_state {
    const struct states *s;
    enum pawl_state wanted;
};

static bool last_is(void *arg)
{
    const struct last_state *l = arg;

    return l->s->n > 0 && l->s->items[l->s->n - 1] == l->wanted;
}

bool states_reach(struct pawl_client *c, struct states *s, enum pawl_state last, int timeout_ms)
{
    struct last_state l = {s, last};

    return wait_until(c, last_is, &l, timeout_ms);
}

bool states_count(struct pawl_client *c, struct states *s, int n, int timeout_ms)
{
    struct goal goal = {&s->n, n};

    return wait_until(c, reached, &goal, timeout_ms);
}

const char *state_name(enum pawl_state state)
{
    static const char *const names[] = {"CONNECTING", "CONNECTED", "SUSPENDED", "RECONNECTED",
                                        "LOST",       "READ_ONLY", "CLOSED"};

    return names[state];
}

/* Callbacks may still be on their way: that many are waited for. */
void expect_states(struct pawl_client *c, const struct states *s, const char *wanted)
{
    char seen[2048] = "";
    struct goal goal = {&s->n, 1};

    for (const char *space = wanted; (space = strchr(space, ' ')) != NULL; space++) {
        goal.wanted++;
    }
    wait_until(c, reached, &goal, LONG_MS);

    pthread_mutex_lock(&happened_lock);
    for (int i = 0; i < s->n; i++) {
        size_t len = strlen(seen);

        snprintf(seen + len, sizeof(seen) - len, "%s%s", i == 0 ? "" : " ",
                 state_name(s->items[i]));
    }
    pthread_mutex_unlock(&happened_lock);
    EXPECT_STR(seen, wanted);
}

/* ---- whoever runs the servers ---- */

const char *control(const char *order)
{
    static char line[512];
    size_t n = 0;

    EXPECT(suite.control);
    printf("!%s\n", order);
    fflush(stdout);
    while (n < sizeof(line) - 1 && read(STDIN_FILENO, line + n, 1) == 1 && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    if (strncmp(line, "error", 5) == 0 || n == 0) {
        fail_at(__FILE__, __LINE__, "\"%s\": %s", order, line);
    }
    return line;
}

int suite_port(void)
{
    const char *colon = strchr(suite.servers, ':');

    EXPECT(colon != NULL);
    return atoi(colon + 1);
}
