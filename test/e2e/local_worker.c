/* SPDX-License-Identifier: Apache-2.0 */
/* local_worker.c - one of several processes that count together in a local:DIR.
 *
 *   local_worker DIR FENCE    counts until its standard input ends
 *   local_worker DIR --read   prints the counter and its version
 *
 * A count is: take the lock, read the counter, write it plus one, give the lock back. The lock is
 * written out here with plain calls, as a program without the recipes would. FENCE is a file that
 * the system locks for us while we are inside: finding it locked means that two are. Each line of
 * output begins with the time: what was counted, and every change of state. Any error at all ends
 * the program: when the host of DIR dies, reads and repeatable writes are to go on without one. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <pawl/client.h>

/* Who noticed a dead host by its silence would take two thirds of SESSION_MS: longer than anybody
 * waits. */
enum { SESSION_MS = 300000, CALL_MS = 120000, WAIT_MS = 120000 };

static const char counter_path[] = "/counter", lock_path[] = "/lock";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `n_events` */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_events;

/* ---- telling ---- */

static long long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One write() per line: the reader must see whole lines when we are killed. */
static void say(const char *what, const char *detail)
{
    char line[512];
    int len = snprintf(line, sizeof(line), "%lld %s %s\n", now_ms(), what, detail);

    if (write(STDOUT_FILENO, line, (size_t)len) != len) {
        _exit(4);
    }
}

static _Noreturn void give_up(const char *where, int err)
{
    char detail[256];

    snprintf(detail, sizeof(detail), "%s: %s", where, pawl_error_name(err));
    say("error", detail);
    _exit(3);
}

static void on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    static const char *const names[] = {"CONNECTING", "CONNECTED", "SUSPENDED", "RECONNECTED",
                                        "LOST",       "READ_ONLY", "CLOSED"};

    (void)c;
    (void)arg;
    say("state", names[state]);
}

/* ---- the lock ---- */

static void on_event(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
    pthread_mutex_lock(&lock);
    n_events++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for_event(int seen)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&lock);
    while (n_events == seen && pthread_cond_timedwait(&changed, &lock, &end) == 0) {
    }
    if (n_events == seen) {
        give_up("waiting for the lock", PAWL_ERR_OPERATION_TIMEOUT);
    }
    pthread_mutex_unlock(&lock);
}

/* The ten digits that the server appended. */
static int sequence_of(const char *name)
{
    return atoi(name + strlen(name) - 10);
}

/* The contender just before ours, as a path; NULL: we are the first. */
static char *node_ahead(struct pawl_client *c, const char *mine)
{
    struct pawl_reply *r = NULL;
    const char *ahead = NULL;
    char *path = NULL;
    bool found = false;
    int rc = pawl_children(c, lock_path, NULL, &r);

    if (rc != PAWL_OK) {
        give_up("children", rc);
    }
    for (size_t i = 0; i < r->children.n; i++) {
        const char *name = r->children.items[i];

        found = found || strcmp(name, strrchr(mine, '/') + 1) == 0;
        if (sequence_of(name) < sequence_of(mine) &&
            (ahead == NULL || sequence_of(name) > sequence_of(ahead))) {
            ahead = name;
        }
    }
    if (!found) {
        give_up("our node is gone", PAWL_ERR_NO_NODE);
    }
    if (ahead != NULL) {
        path = malloc(sizeof(lock_path) + strlen(ahead) + 1);
        sprintf(path, "%s/%s", lock_path, ahead);
    }
    pawl_reply_free(r);
    return path;
}

static char *acquire(struct pawl_client *c)
{
    struct pawl_watch watch = {.fn = on_event};
    struct pawl_reply *r = NULL;
    char *mine, *ahead;
    int rc = pawl_create(c,
                         PAWL_CREATE(.path = "/lock/n-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                     .flags = PAWL_OP_PROTECTED | PAWL_OP_PARENTS),
                         &r);

    if (rc != PAWL_OK) {
        give_up("create", rc);
    }
    mine = strdup(r->path);
    pawl_reply_free(r);
    while ((ahead = node_ahead(c, mine)) != NULL) {
        int seen;

        pthread_mutex_lock(&lock);
        seen = n_events;
        pthread_mutex_unlock(&lock);
        rc = pawl_exists(c, ahead, &watch, NULL);
        free(ahead);
        if (rc == PAWL_OK) {
            wait_for_event(seen);
        } else if (rc != PAWL_ERR_NO_NODE) {
            give_up("exists", rc);
        }
    }
    return mine;
}

static void release(struct pawl_client *c, char *mine)
{
    int rc = pawl_delete(c, PAWL_DELETE(.path = mine, .flags = PAWL_OP_IDEMPOTENT), NULL);

    if (rc != PAWL_OK) {
        give_up("delete", rc);
    }
    free(mine);
}

/* ---- counting ---- */

static int read_counter(struct pawl_client *c, int32_t *version)
{
    struct pawl_reply *r = NULL;
    char digits[32] = "";
    int rc = pawl_get(c, counter_path, NULL, &r);

    if (rc != PAWL_OK || r->data.len >= sizeof(digits)) {
        give_up("get", rc);
    }
    if (r->data.len > 0) {
        memcpy(digits, r->data.data, r->data.len);
    }
    *version = r->stat.version;
    pawl_reply_free(r);
    return atoi(digits);
}

static void count_once(struct pawl_client *c, int fence)
{
    char *mine = acquire(c), digits[32];
    int32_t version;
    int n, rc;

    if (flock(fence, LOCK_EX | LOCK_NB) != 0) {
        give_up("another process is inside", PAWL_ERR_BUSY);
    }
    n = read_counter(c, &version) + 1;
    snprintf(digits, sizeof(digits), "%d", n);
    rc = pawl_set(c,
                  PAWL_SET(.path = counter_path, .data = {digits, strlen(digits)},
                           .only_if = pawl_version(version), .flags = PAWL_OP_IDEMPOTENT),
                  NULL);
    if (rc != PAWL_OK) {
        give_up("set", rc);
    }
    say("count", digits);
    flock(fence, LOCK_UN);
    release(c, mine);
}

static bool is_told_to_stop(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

static struct pawl_client *open_dir(const char *dir)
{
    struct pawl_client_options options;
    struct pawl_client *c;
    char servers[4096];
    int rc;

    snprintf(servers, sizeof(servers), "local:%s", dir);
    pawl_client_options_init(&options);
    options.servers = servers;
    options.session_timeout_ms = SESSION_MS;
    options.timeout_ms = CALL_MS;
    options.on_state = on_state;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 20};
    rc = pawl_client_open(&options, &c);
    if (rc != PAWL_OK) {
        give_up("open", rc);
    }
    return c;
}

int main(int argc, char **argv)
{
    struct pawl_client *c;
    int32_t version;
    int fence, rc;

    if (argc != 3) {
        fprintf(stderr, "usage: local_worker DIR FENCE|--read\n");
        return 2;
    }
    c = open_dir(argv[1]);
    if (strcmp(argv[2], "--read") == 0) {
        int n = read_counter(c, &version);

        printf("counter %d version %d\n", n, version);
        pawl_client_close(c);
        return 0;
    }
    fence = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    rc = pawl_create(c, PAWL_CREATE(.path = counter_path), NULL);
    if (fence < 0 || (rc != PAWL_OK && rc != PAWL_ERR_NODE_EXISTS)) {
        give_up("start", rc);
    }
    while (!is_told_to_stop()) {
        count_once(c, fence);
    }
    pawl_client_close(c);
    return 0;
}
