/* SPDX-License-Identifier: Apache-2.0 */
/* lock_worker.c - one of several processes that want the same lock; lock_referee.py watches them.
 *
 *   lock_worker SERVERS SESSION_MS REFEREE_PORT NAME stop|go-on    until its standard input ends
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

#include <pawl/lock.h>

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

/* The time just before the grant said that we hold, or -1: it is lost. Waits while it is in doubt.
 */
static int64_t held_at(struct pawl_lock *l)
{
    struct pawl_grant *g = pawl_lock_grant(l);
    int64_t before = now_us();

    pthread_mutex_lock(&lock);
    while (!pawl_grant_held(g)) {
        struct timespec end;

        if (pawl_grant_state(g) == PAWL_GRANT_LOST) {
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
static int write_guarded(struct pawl_client *c, struct pawl_lock *l)
{
    struct pawl_multi *m = pawl_multi_new(c);
    char text[32];
    int rc;

    snprintf(text, sizeof(text), "%" PRIu64, pawl_lock_token(l));
    rc = pawl_grant_guard(pawl_lock_grant(l), m);
    if (rc == PAWL_OK) {
        pawl_multi_set(m, PAWL_SET(.path = data_path, .data = {text, strlen(text)}));
        rc = pawl_multi_run(c, m, NULL);
    }
    pawl_multi_free(m);
    return rc;
}

/* True when the work was done while we held; `for_ever`: it is never done. */
static bool work(struct pawl_client *c, struct pawl_lock *l, uint64_t token, bool for_ever)
{
    struct pollfd lost = {.fd = pawl_grant_fd(pawl_lock_grant(l)), .events = POLLIN};
    int rc;

    for (int i = 0; for_ever || i < WRITES; i++) {
        int64_t at = held_at(l);

        if (at < 0) {
            return false;
        }
        ask_at("write", token, at); /* the referee knows by the time whether it is a mistake */
        if (for_ever) {
            poll(&lost, 1, 20);
            continue;
        }
        rc = write_guarded(c, l); /* CONNECTION_LOSS: perhaps written */
        if (rc != PAWL_OK && rc != PAWL_ERR_CONNECTION_LOSS && held_at(l) >= 0) {
            give_up("a guarded write failed, and the lock is ours", rc);
        }
    }
    return true;
}

static void careless(struct pawl_client *c, struct pawl_lock *l, uint64_t token)
{
    int rc;

    ask("lost", token, "-");
    rc = write_guarded(c, l);
    if (strcmp(ask("late", token, pawl_error_name(rc)), "refused") != 0) {
        give_up("a late write was accepted", PAWL_ERR_LOST);
    }
}

static void one_turn(struct pawl_client *c, struct pawl_lock *l)
{
    const char *answer;
    uint64_t token;
    int rc = pawl_lock_acquire(l, ACQUIRE_MS);
    int64_t at = now_us();

    if (rc != PAWL_OK) {
        give_up("acquire", rc);
    }
    token = pawl_lock_token(l);
    answer = ask_at("enter", token, at);
    if (strcmp(answer, "refused") != 0) {
        if (work(c, l, token, strcmp(answer, "hold") == 0)) {
            ask("leave", token, "-");
        } else {
            careless(c, l, token);
        }
    }
    rc = pawl_lock_release(l);
    if (rc != PAWL_OK && rc != PAWL_ERR_LOST) {
        give_up("release", rc);
    }
}

static bool is_told_to_stop(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

int main(int argc, char **argv)
{
    struct pawl_lock_options how = {.size = sizeof(how), .on_grant = on_grant};
    struct pawl_client_options options;
    struct pawl_client *c;
    struct pawl_lock *l;
    int rc;

    if (argc != 6) {
        fprintf(stderr, "usage: lock_worker SERVERS SESSION_MS REFEREE_PORT NAME stop|go-on\n");
        return 2;
    }
    name = argv[4];
    reach_referee(atoi(argv[3]));
    pawl_client_options_init(&options);
    options.servers = argv[1];
    options.session_timeout_ms = atoi(argv[2]);
    options.timeout_ms = ACQUIRE_MS;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 20};
    how.doubt = strcmp(argv[5], "go-on") == 0 ? PAWL_DOUBT_GO_ON : PAWL_DOUBT_STOP;
    rc = pawl_client_open(&options, &c);
    if (rc == PAWL_OK) {
        rc = pawl_lock_new(c, lock_path, &how, &l);
    }
    if (rc == PAWL_OK) {
        rc = pawl_create(c, PAWL_CREATE(.path = data_path, .flags = PAWL_PARENTS), NULL);
    }
    if (rc != PAWL_OK && rc != PAWL_ERR_NODE_EXISTS) {
        give_up("start", rc);
    }
    while (!is_told_to_stop()) {
        one_turn(c, l);
    }
    pawl_lock_free(l);
    pawl_client_close(c);
    return 0;
}
