/* SPDX-License-Identifier: Apache-2.0 */
/* local:DIR, from several processes: hosting, take-over, and what a folder can be wrong about. */
#define _GNU_SOURCE
#include <pawl/pawl.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/local_host.h"
#include "lib/test.h"

#include "lib/patience.h"

enum { N_PROCESSES = 8, READER = N_PROCESSES - 1, N_KILLS = 20 };

/* Who noticed a dead host by its silence would take two thirds of it: longer than is waited for. */
enum { SESSION_MS = 3 * SOON_MS };

/* What ends in a quarter of it has not waited for the timeout, nor for a silence. */
enum { LONG_SESSION_MS = 4 * SOON_MS };

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    local_host_register();
    strcpy(dir, "/tmp/pawl-local-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static struct pawl_client *open_local(const char *folder, int session_ms, int *rc)
{
    struct pawl_client_options o;
    struct pawl_client *c = NULL;
    char servers[256];

    snprintf(servers, sizeof(servers), "local:%s", folder);
    pawl_client_options_init(&o);
    o.servers = servers;
    o.session_timeout_ms = session_ms;
    o.timeout_ms = SOON_S * 1000;
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 50};
    *rc = pawl_client_open(&o, &c);
    return c;
}

/* ---- one process ---- */

static void one_process_needs_no_server(void **state)
{
    struct pawl_reply *r;
    int rc;
    struct pawl_client *c = open_local(dir, 10000, &rc), *again;

    (void)state;
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/kept", .data = {"x", 1}), NULL), PAWL_OK);
    again = open_local(dir, 10000, &rc); /* shares the host */
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_get(again, "/kept", NULL, NULL), PAWL_OK);
    pawl_client_close(c);
    assert_int_equal(pawl_get(again, "/kept", NULL, NULL), PAWL_OK);
    pawl_client_close(again);
    c = open_local(dir, 10000, &rc); /* and from its files */
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_get(c, "/kept", NULL, &r), PAWL_OK);
    assert_int_equal(r->data.len, 1);
    pawl_reply_free(r);
    pawl_client_close(c);
}

static void a_stale_socket_is_replaced(void **state)
{
    char path[128];
    struct pawl_client *c;
    int rc;

    (void)state;
    snprintf(path, sizeof(path), "%s/socket", dir);
    unlink(path);
    assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
    c = open_local(dir, 10000, &rc);
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    pawl_client_close(c);
}

static void folders_that_cannot_be_used_say_why(void **state)
{
    char path[160];
    FILE *f;
    int rc;

    (void)state;
    snprintf(path, sizeof(path), "%s/no/such", dir);
    open_local(path, 10000, &rc);
    assert_int_equal(rc, PAWL_ERR_NOT_FOUND);
    snprintf(path, sizeof(path), "%s/version", dir);
    open_local(path, 10000, &rc); /* a file */
    assert_int_equal(rc, PAWL_ERR_EXISTS);
    snprintf(path, sizeof(path), "%s/other", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/version");
    f = fopen(path, "w");
    fputs("pawl local 99\n", f);
    fclose(f);
    snprintf(path, sizeof(path), "%s/other", dir);
    open_local(path, 10000, &rc);
    assert_int_equal(rc, PAWL_ERR_CONFIG);
}

/* Root may do anything, so another user tries; nobody else has to be asked for that. */
static void a_folder_without_permission_says_so(void **state)
{
    char path[160];
    int rc, status;
    pid_t pid;

    (void)state;
    snprintf(path, sizeof(path), "%s/closed", dir);
    assert_int_equal(mkdir(path, 0500), 0);
    pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(2);
        }
        open_local(path, 10000, &rc);
        _exit(rc == PAWL_ERR_PERMISSION ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_full_disk_is_reported(void **state)
{
    struct rlimit none = {0, 0};
    char path[160];
    int rc, status;
    pid_t pid;

    (void)state;
    snprintf(path, sizeof(path), "%s/full", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    pid = fork();
    if (pid == 0) { /* a file system of its own would need root */
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &none) != 0) {
            _exit(2);
        }
        open_local(path, 10000, &rc);
        _exit(rc == PAWL_ERR_DISK_FULL ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- what strangers left in the directory ---- */

static void plant(const char *folder, const char *name, const char *target)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static long size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void planted_links_are_not_followed(void **state)
{
    static const char *const names[] = {"lock", "version", "data/pawl.lock"};
    char victim[160], path[160], name[64];
    FILE *f;
    int rc;

    (void)state;
    snprintf(victim, sizeof(victim), "%s/victim", dir);
    f = fopen(victim, "w");
    fputs("precious\n", f);
    fclose(f);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/planted%zu", dir, i);
        assert_int_equal(mkdir(path, 0700), 0);
        strcat(path, "/data");
        assert_int_equal(mkdir(path, 0700), 0);
        path[strlen(path) - strlen("/data")] = '\0';
        plant(path, names[i], victim);
        open_local(path, 10000, &rc);
        assert_int_not_equal(rc, PAWL_OK);
        assert_int_equal(size_of(victim), 9);
    }
    /* The name that was guessed before is not used any more. */
    snprintf(path, sizeof(path), "%s/planted-version", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(name, sizeof(name), "version.%d", (int)getpid());
    plant(path, name, victim);
    pawl_client_close(open_local(path, 10000, &rc));
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(size_of(victim), 9);
}

static bool socket_is_there(void)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof(path), "%s/socket", dir);
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void remove_from_dir(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
}

/* In a child: a test that fails leaves no process behind. */
static void end_with_the_test(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* A process that runs `body` with a handle of its own, tells us when it is ready, and then waits
 * until it is killed or `until` is closed. */
struct helper {
    pid_t pid;
    int ready, until;
};

typedef void (*helper_fn)(struct pawl_client *c, int report);

static void run_helper(helper_fn body, int session_ms, int report, int until)
{
    int rc;
    struct pawl_client *c = open_local(dir, session_ms, &rc);

    if (rc != PAWL_OK || pawl_client_wait_connected(c, SOON_S * 1000) != PAWL_OK) {
        _exit(3);
    }
    body(c, report);
    (void)!read(until, &rc, 1);
    _exit(0);
}

/* Of what another process has detached; the helper that attaches it has it from its command line.
 */
static char blob[1024];
static size_t blob_len;

static void blob_to_text(char text[2 * sizeof(blob) + 1])
{
    text[0] = '\0';
    for (size_t i = 0; i < blob_len; i++) {
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)blob[i]);
    }
}

static void blob_from_text(const char *text)
{
    unsigned byte;

    for (blob_len = 0; sscanf(text + 2 * blob_len, "%2x", &byte) == 1; blob_len++) {
        blob[blob_len] = (char)byte;
    }
}

/* It is this program once more (helper_main): a child that only forked would inherit the locks of
 * threads that it does not have, those of the sanitizers among them. */
static struct helper helper_start(const char *body, int session_ms)
{
    char numbers[3][16], text[2 * sizeof(blob) + 1];
    int report[2], until[2];
    struct helper h;

    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    assert_int_equal(pipe2(until, O_CLOEXEC), 0);
    snprintf(numbers[0], sizeof(numbers[0]), "%d", session_ms);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", report[1]);
    snprintf(numbers[2], sizeof(numbers[2]), "%d", until[0]);
    blob_to_text(text);
    h.pid = fork();
    assert_true(h.pid >= 0);
    if (h.pid == 0) {
        end_with_the_test();
        fcntl(report[1], F_SETFD, 0);
        fcntl(until[0], F_SETFD, 0);
        execl("/proc/self/exe", "helper", body, dir, numbers[0], numbers[1], numbers[2], text,
              (char *)NULL);
        _exit(2);
    }
    close(report[1]);
    close(until[0]);
    h.ready = report[0];
    h.until = until[1];
    return h;
}

static void helper_read(const struct helper *h, void *data, size_t len)
{
    ssize_t n = read(h->ready, data, len);
    int status = 0;

    if (n != (ssize_t)len) {
        waitpid(h->pid, &status, 0);
        fail_msg("the helper ended with 0x%x", (unsigned)status);
    }
}

static void helper_kill(struct helper *h)
{
    int status;

    kill(h->pid, SIGKILL);
    assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
    close(h->ready);
    close(h->until);
}

static void make_node(struct pawl_client *c, int report)
{
    struct pawl_reply *r = NULL;
    int64_t id = 0;

    if (pawl_create(c, PAWL_CREATE(.path = "/mine", .mode = PAWL_MODE_EPHEMERAL), NULL) !=
            PAWL_OK ||
        pawl_exists(c, "/mine", NULL, &r) != PAWL_OK) {
        _exit(4);
    }
    id = r->stat.ephemeral_owner;
    pawl_reply_free(r);
    (void)!write(report, &id, sizeof(id));
}

static void make_node_and_fork(struct pawl_client *c, int report)
{
    pid_t child = fork();

    if (child == 0) { /* lives on, with what it inherited, until the report is closed */
        struct pollfd p = {.fd = report, .events = 0};

        poll(&p, 1, -1);
        _exit(0);
    }
    make_node(c, report);
    (void)!write(report, &child, sizeof(child));
}

static void nothing(struct pawl_client *c, int report)
{
    (void)c;
    (void)!write(report, "r", 1);
}

/* How long `path` lasts, as another client sees it, in ms; it must go. */
static int64_t time_to_vanish(struct pawl_client *c, const char *path)
{
    int64_t began = now_ms();

    while (pawl_exists(c, path, NULL, NULL) != PAWL_ERR_NO_NODE) {
        assert_true(now_ms() - began < 3 * SOON_S * 1000);
        usleep(5000);
    }
    return now_ms() - began;
}

/* ---- the host goes, or its files ---- */

static void a_socket_that_was_removed_is_made_again(void **state)
{
    int rc;
    char ready;
    struct pawl_client *c = open_local(dir, 10000, &rc);
    struct helper other;

    (void)state;
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    remove_from_dir("socket");
    wait_until(socket_is_there());
    other = helper_start("nothing", 10000); /* it can connect */
    helper_read(&other, &ready, 1);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    helper_kill(&other);
    pawl_client_close(c);
    assert_false(socket_is_there());
}

static void a_lock_that_was_removed_does_not_make_two_hosts(void **state)
{
    char ready;
    int rc;
    struct helper first = helper_start("nothing", 10000), second;
    struct pawl_client *c;

    (void)state;
    helper_read(&first, &ready, 1);
    remove_from_dir("lock");
    second = helper_start("nothing", 10000);
    helper_read(&second, &ready, 1);
    c = open_local(dir, 10000, &rc);
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    helper_kill(&first);
    helper_kill(&second);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    pawl_client_close(c);
}

/* The child has copies of the socket, of the connections and of the locks. */
static void a_forked_child_keeps_nothing(void **state)
{
    struct helper host = helper_start("make_node_and_fork", LONG_SESSION_MS), client;
    struct pawl_client *c;
    int64_t id, began;
    pid_t child;
    char ready;
    int rc;

    (void)state;
    helper_read(&host, &id, sizeof(id));
    helper_read(&host, &child, sizeof(child));
    client =
        helper_start("nothing", LONG_SESSION_MS); /* connected to the host that is about to go */
    helper_read(&client, &ready, 1);
    c = open_local(dir, LONG_SESSION_MS, &rc);
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    began = now_ms();
    kill(host.pid, SIGKILL);
    waitpid(host.pid, NULL, 0);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    time_to_vanish(c, "/mine");
    /* Much less; two thirds, had the child kept the connection. */
    assert_true(now_ms() - began < LONG_SESSION_MS / 4);
    assert_int_equal(kill(child, 0), 0);
    pawl_client_close(c);
    helper_kill(&client);
    c = open_local(dir, 10000, &rc); /* and now we host beside the child */
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
    assert_int_equal(kill(child, 0), 0);
    pawl_client_close(c);
    close(host.ready);
    close(host.until);
}

/* ---- sessions end with their processes ---- */

static void a_killed_holder_is_noticed_by_the_next_host(void **state)
{
    struct helper holder = helper_start("make_node", LONG_SESSION_MS);
    struct pawl_client *c;
    int64_t id;
    int rc;

    (void)state;
    helper_read(&holder, &id, sizeof(id));
    helper_kill(&holder);
    c = open_local(dir, 10000, &rc);
    assert_true(time_to_vanish(c, "/mine") < LONG_SESSION_MS / 4);
    pawl_client_close(c);
}

static void a_killed_holder_is_noticed_by_the_same_host(void **state)
{
    int rc;
    struct pawl_client *c = open_local(dir, 10000, &rc);
    struct helper holder = helper_start("make_node", LONG_SESSION_MS);
    int64_t id;

    (void)state;
    helper_read(&holder, &id, sizeof(id));
    kill(holder.pid, SIGKILL); /* not reaped: it has ended all the same */
    assert_true(time_to_vanish(c, "/mine") < LONG_SESSION_MS / 4);
    helper_kill(&holder);
    pawl_client_close(c);
}

static void detach_and_report(struct pawl_client *c, int report)
{
    struct pawl_bytes none = {NULL, 0};
    void *detached;
    size_t len;

    make_node(c, report);
    if (pawl_client_detach(c, none, &detached, &len) != PAWL_OK) {
        _exit(5);
    }
    (void)!write(report, &len, sizeof(len));
    (void)!write(report, detached, len);
}

static struct pawl_client *attach(const void *detached, size_t len)
{
    struct pawl_client_options o;
    struct pawl_client *c = NULL;
    char servers[256];

    snprintf(servers, sizeof(servers), "local:%s", dir);
    pawl_client_options_init(&o);
    o.servers = servers;
    o.session_timeout_ms = LONG_SESSION_MS;
    o.timeout_ms = SOON_S * 1000;
    o.attach = (struct pawl_bytes){detached, len};
    if (pawl_client_open(&o, &c) != PAWL_OK ||
        pawl_client_wait_connected(c, SOON_S * 1000) != PAWL_OK) {
        return NULL;
    }
    return c;
}

static void detached_by_a_process_that_ended(void)
{
    struct helper holder = helper_start("detach_and_report", LONG_SESSION_MS);
    int64_t id;

    helper_read(&holder, &id, sizeof(id));
    helper_read(&holder, &blob_len, sizeof(blob_len));
    assert_true(blob_len <= sizeof(blob));
    helper_read(&holder, blob, blob_len);
    helper_kill(&holder);
}

static void attach_and_report(struct pawl_client *c, int report)
{
    pawl_client_close(c);
    c = attach(blob, blob_len);
    if (c == NULL || pawl_exists(c, "/mine", NULL, NULL) != PAWL_OK) {
        _exit(6);
    }
    (void)!write(report, "r", 1);
}

static void a_detached_session_outlives_its_process(void **state)
{
    struct helper next;
    struct pawl_client *c;
    char ready;
    int rc;

    (void)state;
    detached_by_a_process_that_ended();
    c = open_local(dir, 10000, &rc); /* a host that finds no process for the session */
    assert_int_equal(pawl_exists(c, "/mine", NULL, NULL), PAWL_OK);
    usleep(1500000); /* it has looked at all processes more than once */
    assert_int_equal(pawl_exists(c, "/mine", NULL, NULL), PAWL_OK);
    next = helper_start("attach_and_report", LONG_SESSION_MS);
    helper_read(&next, &ready, 1);
    assert_int_equal(pawl_exists(c, "/mine", NULL, NULL), PAWL_OK);
    helper_kill(&next); /* and from now on it is that process's */
    assert_true(time_to_vanish(c, "/mine") < LONG_SESSION_MS / 4);
    pawl_client_close(c);
}

/* The owner cannot be seen, as from another pid namespace: only time can tell. No host lasts as
 * long as the session does, but together they do. */
static void time_counts_across_hosts(void **state)
{
    enum { SHORT_SESSION_MS = 3000, HOST_MS = 300, MOST_HOSTS = 100 };
    struct helper holder = helper_start("make_node", SHORT_SESSION_MS);
    char path[160];
    int64_t id;
    int rc = PAWL_OK, hosts = 0;
    int64_t heard_ms;
    FILE *f;

    (void)state;
    helper_read(&holder, &id, sizeof(id));
    heard_ms = now_ms();
    helper_kill(&holder);
    snprintf(path, sizeof(path), "%s/sessions/%016" PRIx64, dir, (uint64_t)id);
    f = fopen(path, "w");
    fprintf(f, "pawl session 1 - 0 0 0 0\n");
    fclose(f);
    for (; rc == PAWL_OK && hosts < MOST_HOSTS; hosts++) {
        struct pawl_client *c = open_local(dir, 10000, &rc);

        assert_int_equal(rc, PAWL_OK);
        rc = pawl_exists(c, "/mine", NULL, NULL);
        usleep(HOST_MS * 1000);
        pawl_client_close(c);
    }
    assert_int_equal(rc, PAWL_ERR_NO_NODE);
    assert_true(now_ms() - heard_ms >= SHORT_SESSION_MS / 2); /* and it was not ended at once */
}

static void sessions_leave_no_files(void **state)
{
    char path[160];
    struct dirent *e;
    struct pawl_client *c;
    int rc, n = 1;
    DIR *d;

    (void)state;
    snprintf(path, sizeof(path), "%s/sessions", dir);
    for (int tries = 0; tries < 100 && n > 0; tries++) {
        c = open_local(dir, 10000, &rc);
        assert_int_equal(pawl_exists(c, "/", NULL, NULL), PAWL_OK);
        usleep(200000);
        pawl_client_close(c);
        n = 0;
        d = opendir(path);
        while ((e = readdir(d)) != NULL) {
            n += strlen(e->d_name) == 16;
        }
        closedir(d);
        n = n <= 1 ? 0 : n; /* ours, closed a moment ago */
    }
    assert_int_equal(n, 0);
}

/* ---- eight processes, and one that kills ---- */

struct shared {
    _Atomic long acked[N_PROCESSES];
    _Atomic long n_wrong;
    _Atomic long longest_read_ms; /* over a take-over, that is how long nobody was served */
    _Atomic long n_reads, n_suspended, n_lost;
    _Atomic bool stop;
};

static struct shared *shared;

static void post(const struct pawl_event *event, void *arg)
{
    (void)event;
    sem_post(arg);
}

static void wait_a_while(sem_t *s)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 1;
    sem_timedwait(s, &t);
}

static int sequence_of(const char *name)
{
    return atoi(name + strlen(name) - 10);
}

/* The name next ahead of ours; 0: none, we hold it; -1: ours is not there. */
static int ahead_of(const struct pawl_reply *children, const char *mine, char *ahead)
{
    int best = -1;
    bool there = false;

    for (size_t i = 0; i < children->children.n; i++) {
        const char *name = children->children.items[i];

        there = there || strcmp(name, mine) == 0;
        if (sequence_of(name) < sequence_of(mine) && sequence_of(name) > best) {
            best = sequence_of(name);
            snprintf(ahead, 128, "/lock/%s", name);
        }
    }
    return !there ? -1 : best >= 0;
}

/* True when held; `path` is our node. */
static bool acquire(struct pawl_client *c, char *path, int64_t *token, sem_t *wake)
{
    struct pawl_watch watch = {post, wake};
    struct pawl_reply *r = NULL;
    char ahead[128];
    int rc = pawl_create(c,
                         PAWL_CREATE(.path = "/lock/n-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                     .flags = PAWL_OP_PROTECTED | PAWL_OP_PARENTS),
                         &r);

    if (rc != PAWL_OK) {
        pawl_reply_free(r);
        return false;
    }
    snprintf(path, 128, "%s", r->path);
    *token = r->stat.czxid;
    pawl_reply_free(r);
    for (;;) {
        int place = pawl_children(c, "/lock", NULL, &r) == PAWL_OK
                        ? ahead_of(r, path + strlen("/lock/"), ahead)
                        : -1;

        pawl_reply_free(r);
        if (place <= 0) {
            return place == 0;
        }
        if (pawl_exists(c, ahead, &watch, NULL) == PAWL_OK) {
            wait_a_while(wake);
        }
    }
}

struct value {
    int64_t count, token;
};

/* One more, if the value is still the one we read; the token may only grow. */
static bool count_up(struct pawl_client *c, int64_t token)
{
    struct pawl_reply *r;
    struct value v = {0};
    bool good;
    int32_t version;

    if (pawl_get(c, "/count", NULL, &r) != PAWL_OK) {
        pawl_reply_free(r);
        return false;
    }
    memcpy(&v, r->data.data, sizeof(v));
    version = r->stat.version;
    pawl_reply_free(r);
    if (v.token > token) {
        return false; /* we are not the holder any more */
    }
    v.count++;
    v.token = token;
    good = pawl_set(c,
                    PAWL_SET(.path = "/count", .data = {&v, sizeof(v)},
                             .only_if = pawl_version(version), .flags = PAWL_OP_IDEMPOTENT),
                    NULL) == PAWL_OK;
    return good;
}

static void note_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    (void)c;
    (void)arg;
    shared->n_suspended += state == PAWL_STATE_SUSPENDED;
    shared->n_lost += state == PAWL_STATE_LOST;
}

/* Reads on and on beside the lock; no read may fail, none may take long. */
static void *read_on(void *client)
{
    while (!atomic_load(&shared->stop)) {
        int64_t began = now_ms();
        long took;

        atomic_fetch_add(&shared->n_wrong, pawl_exists(client, "/count", NULL, NULL) != PAWL_OK);
        took = (long)(now_ms() - began);
        if (took > shared->longest_read_ms) {
            shared->longest_read_ms = took;
        }
        shared->n_reads++;
        usleep(1000); /* leave the machine to the others */
    }
    return NULL;
}

static void run_process(int i)
{
    pthread_t reader;
    struct pawl_client *c;
    sem_t wake;
    int rc;

    sem_init(&wake, 0, 0);
    c = open_local(dir, SESSION_MS, &rc);
    if (rc != PAWL_OK) {
        atomic_fetch_add(&shared->n_wrong, 1);
        _exit(1);
    }
    if (i == READER) {
        pawl_client_add_listener(c, note_state, NULL);
        if (pthread_create(&reader, NULL, read_on, c) != 0) {
            _exit(1);
        }
    }
    while (!atomic_load(&shared->stop)) {
        char path[128];
        int64_t token;

        if (acquire(c, path, &token, &wake) && count_up(c, token)) {
            atomic_fetch_add(&shared->acked[i], 1);
        }
        pawl_delete(c, PAWL_DELETE(.path = path, .flags = PAWL_OP_IDEMPOTENT), NULL);
    }
    if (i == READER) {
        pthread_join(reader, NULL);
    }
    pawl_client_close(c);
    _exit(0);
}

static pid_t spawn(int i)
{
    pid_t pid = fork();

    if (pid == 0) {
        end_with_the_test();
        run_process(i);
    }
    return pid;
}

/* Who holds the lock file; 0: nobody. */
static pid_t find_host(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/lock", dir);
    fd = open(path, O_RDWR);
    if (fd < 0 || fcntl(fd, F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK) {
        whole.l_pid = 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return whole.l_pid;
}

static long total(void)
{
    long sum = 0;

    for (int i = 0; i < N_PROCESSES; i++) {
        sum += atomic_load(&shared->acked[i]);
    }
    return sum;
}

/* Polling other processes: there is nothing to wait on. */
static bool becomes(bool (*true_now)(long), long arg)
{
    int64_t deadline = now_ms() + SOON_S * 1000;

    while (now_ms() < deadline) {
        if (true_now(arg)) {
            return true;
        }
        usleep(2000);
    }
    return false;
}

static bool counted_to(long n)
{
    return total() >= n;
}

static bool another_hosts(long old)
{
    pid_t host = find_host();

    return host != 0 && host != (pid_t)old;
}

static int64_t kill_the_host(pid_t *pids)
{
    pid_t host = find_host();
    int64_t killed_at;
    int status;

    assert_int_not_equal(host, 0);
    for (int i = 0; i < N_PROCESSES; i++) {
        if (pids[i] == host) {
            killed_at = now_ms();
            kill(host, SIGKILL);
            assert_int_equal(waitpid(host, &status, 0), host);
            assert_true(becomes(another_hosts, host));
            killed_at = now_ms() - killed_at;
            pids[i] = spawn(i);
            return killed_at;
        }
    }
    fail_msg("the host %d is none of ours", (int)host);
    return 0;
}

static void the_host_may_be_killed_at_any_moment(void **state)
{
    struct value v = {0, 0};
    struct pawl_client *c;
    struct pawl_reply *r;
    pid_t pids[N_PROCESSES];
    int64_t took, longest = 0;
    long acked;
    int rc, status;

    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    c = open_local(dir, 10000, &rc);
    assert_int_equal(rc, PAWL_OK);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/count", .data = {&v, sizeof(v)}), NULL),
                     PAWL_OK);
    pawl_client_close(c);
    for (int i = 0; i < N_PROCESSES; i++) {
        pids[i] = spawn(i);
    }
    for (int i = 0; i < N_KILLS; i++) {
        assert_true(becomes(counted_to, total() + 20));
        took = kill_the_host(pids);
        longest = took > longest ? took : longest;
    }
    assert_true(becomes(counted_to, total() + 20));
    atomic_store(&shared->stop, true);
    for (int i = 0; i < N_PROCESSES; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    c = open_local(dir, 10000, &rc);
    assert_int_equal(pawl_get(c, "/count", NULL, &r), PAWL_OK);
    memcpy(&v, r->data.data, sizeof(v));
    pawl_reply_free(r);
    pawl_client_close(c);
    acked = total();
    print_message("%ld counted, %" PRId64 " in the node; slowest take-over %" PRId64
                  " ms; %ld reads, "
                  "the slowest %ld ms, suspended %ld times\n",
                  acked, v.count, longest, (long)shared->n_reads, (long)shared->longest_read_ms,
                  (long)shared->n_suspended);
    assert_int_equal(shared->n_wrong, 0);
    assert_true(v.count >= acked && v.count <= acked + N_KILLS);
    assert_true(shared->n_suspended > 0);
    assert_int_equal(shared->n_lost, 0);
    munmap(shared, sizeof(*shared));
}

static int helper_main(char **argv)
{
    static const struct {
        const char *name;
        helper_fn body;
    } bodies[] = {
        {"nothing", nothing},
        {"make_node", make_node},
        {"make_node_and_fork", make_node_and_fork},
        {"detach_and_report", detach_and_report},
        {"attach_and_report", attach_and_report},
    };

    snprintf(dir, sizeof(dir), "%s", argv[2]);
    blob_from_text(argv[6]);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        if (strcmp(bodies[i].name, argv[1]) == 0) {
            run_helper(bodies[i].body, atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
        }
    }
    return 2;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_needs_no_server),
        cmocka_unit_test(a_stale_socket_is_replaced),
        cmocka_unit_test(folders_that_cannot_be_used_say_why),
        cmocka_unit_test(a_folder_without_permission_says_so),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(planted_links_are_not_followed),
        cmocka_unit_test(a_socket_that_was_removed_is_made_again),
        cmocka_unit_test(a_lock_that_was_removed_does_not_make_two_hosts),
        cmocka_unit_test(a_killed_holder_is_noticed_by_the_next_host),
        cmocka_unit_test(a_killed_holder_is_noticed_by_the_same_host),
        cmocka_unit_test(a_forked_child_keeps_nothing),
        cmocka_unit_test(a_detached_session_outlives_its_process),
        cmocka_unit_test(time_counts_across_hosts),
        cmocka_unit_test(sessions_leave_no_files),
        cmocka_unit_test(the_host_may_be_killed_at_any_moment),
    };

    if (argc == 7) {
        return helper_main(argv);
    }
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
