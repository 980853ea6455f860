/* SPDX-License-Identifier: Apache-2.0 */
/* lock_worker.c - one of several processes that want the same lock; lock_referee.py watches them.
 *
 *   lock_worker SERVERS SESSION_MS REFEREE_PORT NAME stop|go-on KIND
 *
 * until its standard input ends. KIND is lock, write (of a read/write lock), mutex (a semaphore of
 * one) or latch: whatever gives a grant.
 *
 * Inside it says so to the referee and writes to him while the grant says that it holds, each time
 * with its token and the time (of the clock all processes share) before it asked the grant. When
 * the grant is over before its work is, it tells that, too, and then, like a program that does not
 * look, writes once more: to the referee with its old token, and to the tree with its old guard.
 * Neither may be accepted.
 *
 *   enter NAME TOKEN TIME  -> go: write three times; hold: until it is lost; refused
 *   write NAME TOKEN TIME  -> ok, refused
 *   leave NAME TOKEN       -> ok
 *   lost NAME TOKEN        -> late: when somebody with a larger token has entered
 *   late NAME TOKEN GUARD  -> ok, refused; GUARD: what became of the guarded write */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <pawl/election.h>
#include <pawl/lock.h>
#include <pawl/rwlock.h>
#include <pawl/semaphore.h>

enum { ACQUIRE_MS = 60000, WRITES = 3 };

static const char lock_path[] = "/referee/lock", data_path[] = "/referee/data";
static const char *name;
static FILE *referee;

static _Noreturn void give_up(const char *where, int err)
{
    fprintf(stderr, "%s: %s: %s\n", name, where, pawl_error_name(err));
    exit(3);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void reach_referee(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        give_up("no referee", PAWL_ERR_ADDRESS);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    referee = fdopen(fd, "r+");
}

/* The referee's answer; valid until the next. */
static const char *ask(const char *what, uint64_t token, const char *more)
{
    static char answer[64];

    fprintf(referee, "%s %s %" PRIu64 " %s\n", what, name, token, more);
    fflush(referee);
    if (fgets(answer, sizeof(answer), referee) == NULL) {
        exit(0); /* the test is over */
    }
    answer[strcspn(answer, "\n")] = '\0';
    return answer;
}

static const char *ask_at(const char *what, uint64_t token, int64_t at)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, at);
    return ask(what, token, text);
}

/* ---- the grant ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void on_grant(struct pawl_grant *g, enum pawl_grant_state state, void *arg)
{
    (void)g;
    (void)state;
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- what gives it ---- */

static enum pawl_doubt doubt;
static struct pawl_client *client;
static struct pawl_lock *plain;
static struct pawl_rwlock *rwlock;
static struct pawl_mutex *mutex;
static struct pawl_latch *latch;

static int open_plain(void)
{
    struct pawl_lock_options o = {.size = sizeof(o), .on_grant = on_grant, .doubt = doubt};

    return pawl_lock_new(client, lock_path, &o, &plain);
}

static int open_write(void)
{
    struct pawl_lock_options o = {.size = sizeof(o), .on_grant = on_grant, .doubt = doubt};
    int rc = pawl_rwlock_new(client, lock_path, &o, &rwlock);

    plain = rc == PAWL_OK ? pawl_rwlock_writer(rwlock) : NULL;
    return rc;
}

static int acquire_plain(void)
{
    return pawl_lock_acquire(plain, ACQUIRE_MS);
}

static struct pawl_grant *grant_plain(void)
{
    return pawl_lock_grant(plain);
}

static int release_plain(void)
{
    return pawl_lock_release(plain);
}

static int open_mutex(void)
{
    struct pawl_semaphore_options o = {.size = sizeof(o), .on_grant = on_grant, .doubt = doubt};

    return pawl_mutex_new(client, lock_path, &o, &mutex);
}

static int acquire_mutex(void)
{
    return pawl_mutex_acquire(mutex, ACQUIRE_MS);
}

static struct pawl_grant *grant_mutex(void)
{
    return pawl_mutex_grant(mutex);
}

static int release_mutex(void)
{
    return pawl_mutex_release(mutex);
}

static void on_leader(struct pawl_latch *l, uint64_t token, void *arg)
{
    (void)l;
    (void)token;
    on_grant(NULL, PAWL_GRANT_CERTAIN, arg);
}

static void on_lost(struct pawl_latch *l, void *arg)
{
    (void)l;
    on_grant(NULL, PAWL_GRANT_LOST, arg);
}

static int open_nothing(void)
{
    return PAWL_OK;
}

static int start_latch(void)
{
    struct pawl_latch_options o = {
        .size = sizeof(o), .doubt = doubt, .on_leader = on_leader, .on_lost = on_lost};
    int rc = pawl_latch_new(client, lock_path, &o, &latch);

    if (rc == PAWL_OK) {
        rc = pawl_latch_start(latch);
    }
    return rc != PAWL_OK ? rc : pawl_latch_wait(latch, ACQUIRE_MS);
}

static struct pawl_grant *grant_latch(void)
{
    return pawl_latch_grant(latch);
}

static int close_latch(void)
{
    int rc = pawl_latch_close(latch, PAWL_LATCH_CLOSE_SILENT);

    pawl_latch_free(latch);
    latch = NULL;
    return rc;
}

static const struct kind {
    const char *name;
    int (*open)(void);
    int (*acquire)(void);
    struct pawl_grant *(*grant)(void);
    int (*release)(void);
} kinds[] = {{"lock", open_plain, acquire_plain, grant_plain, release_plain},
             {"write", open_write, acquire_plain, grant_plain, release_plain},
             {"mutex", open_mutex, acquire_mutex, grant_mutex, release_mutex},
             {"latch", open_nothing, start_latch, grant_latch, close_latch}};

static const struct kind *kind;

/* ---- inside ---- */

/* The time just before the grant said that we hold with `token`, or -1: that is over. Waits while
 * it is in doubt. */
static int64_t held_at(uint64_t token)
{
    struct pawl_grant *g = kind->grant();
    int64_t before = now_us();

    pthread_mutex_lock(&lock);
    while (!pawl_grant_held(g) || pawl_grant_token(g) != token) {
        struct timespec end;

        if (pawl_grant_state(g) == PAWL_GRANT_LOST || pawl_grant_token(g) != token) {
            before = -1;
            break;
        }
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec++; /* a change may be told while we look: look again then */
        pthread_cond_timedwait(&changed, &lock, &end);
        before = now_us();
    }
    pthread_mutex_unlock(&lock);
    return before;
}

/* Writes our token into the tree if our node is there. */
static int write_guarded(uint64_t token)
{
    struct pawl_grant *g = kind->grant();
    struct pawl_multi *m = pawl_multi_new(client);
    char text[32];
    int rc = pawl_grant_token(g) == token ? pawl_grant_guard(g, m) : PAWL_ERR_NOT_HELD;

    snprintf(text, sizeof(text), "%" PRIu64, token);
    if (rc == PAWL_OK) {
        pawl_multi_set(m, PAWL_SET(.path = data_path, .data = {text, strlen(text)}));
        rc = pawl_multi_run(client, m, NULL);
    }
    pawl_multi_free(m);
    return rc;
}

/* True when the work was done while we held; `for_ever`: it is never done. */
static bool work(uint64_t token, bool for_ever)
{
    struct pollfd lost = {.fd = pawl_grant_fd(kind->grant()), .events = POLLIN};
    int rc;

    for (int i = 0; for_ever || i < WRITES; i++) {
        int64_t at = held_at(token);

        if (at < 0) {
            return false;
        }
        ask_at("write", token, at); /* the referee knows by the time whether it is a mistake */
        if (for_ever) {
            poll(&lost, 1, 20);
            continue;
        }
        rc = write_guarded(token); /* CONNECTION_LOSS: perhaps written */
        if (rc != PAWL_OK && rc != PAWL_ERR_CONNECTION_LOSS && held_at(token) >= 0) {
            give_up("a guarded write failed, and the lock is ours", rc);
        }
    }
    return true;
}

static void careless(uint64_t token)
{
    int rc;

    ask("lost", token, "-");
    rc = write_guarded(token);
    if (strcmp(ask("late", token, pawl_error_name(rc)), "refused") != 0) {
        give_up("a late write was accepted", PAWL_ERR_LOST);
    }
}

static void one_turn(void)
{
    const char *answer;
    uint64_t token;
    int rc = kind->acquire();
    int64_t at = now_us();

    if (rc != PAWL_OK) {
        give_up("acquire", rc);
    }
    token = pawl_grant_token(kind->grant());
    answer = ask_at("enter", token, at);
    if (strcmp(answer, "refused") != 0) {
        if (work(token, strcmp(answer, "hold") == 0)) {
            ask("leave", token, "-");
        } else {
            careless(token);
        }
    }
    rc = kind->release();
    if (rc != PAWL_OK && rc != PAWL_ERR_LOST) {
        give_up("release", rc);
    }
}

static bool is_told_to_stop(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

static const struct kind *find_kind(const char *wanted)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, wanted) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void open_all(const char *servers, int session_ms)
{
    struct pawl_client_options options;
    int rc;

    pawl_client_options_init(&options);
    options.servers = servers;
    options.session_timeout_ms = session_ms;
    options.timeout_ms = ACQUIRE_MS;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 20};
    rc = pawl_client_open(&options, &client);
    if (rc == PAWL_OK) {
        rc = kind->open();
    }
    if (rc == PAWL_OK) {
        rc = pawl_create(client, PAWL_CREATE(.path = data_path, .flags = PAWL_OP_PARENTS), NULL);
    }
    if (rc != PAWL_OK && rc != PAWL_ERR_NODE_EXISTS) {
        give_up("start", rc);
    }
}

int main(int argc, char **argv)
{
    kind = argc == 7 ? find_kind(argv[6]) : NULL;
    if (kind == NULL) {
        fprintf(stderr,
                "usage: lock_worker SERVERS SESSION_MS REFEREE_PORT NAME stop|go-on KIND\n");
        return 2;
    }
    name = argv[4];
    doubt = strcmp(argv[5], "go-on") == 0 ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP;
    reach_referee(atoi(argv[3]));
    open_all(argv[1], atoi(argv[2]));
    while (!is_told_to_stop()) {
        one_turn();
    }
    pawl_mutex_free(mutex);
    if (rwlock != NULL) {
        pawl_rwlock_free(rwlock);
    } else {
        pawl_lock_free(plain);
    }
    pawl_client_close(client);
    return 0;
}
