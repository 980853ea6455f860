/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "daemon/local_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pawl/server.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/logging.h"
#include "daemon/embed.h"
#include "os/fork_guard.h"
#include "os/local_hosting.h"
#include "os/session_file.h"
#include "os/thread.h"

enum { LOOK_MS = 50, AFTER_FAILURE_MS = 1000, BUSY_TRIES = 20, VERSION_BYTES = 64 };

static const char version_line[] = "pawl local 1\n";

/* One per folder and process, shared by its handles. */
struct local_host {
    struct list link;
    pid_t pid; /* a forked child's copy is nobody's */
    int refs;
    dev_t device; /* of the folder: two ways to write its name are one folder */
    ino_t inode;
    int lock_fd;
    char *session_dir;
    struct pawl_server *server; /* NULL: another process hosts */
    bool stop;
    pthread_t thread;
    pthread_cond_t wake;
    char dir[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `hosts` and what is in them */
static struct list hosts = {&hosts, &hosts};
static pthread_cond_t host_gone = PTHREAD_COND_INITIALIZER;

static int local_host_code(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
        return PAWL_ERR_PERMISSION;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return PAWL_ERR_DISK_FULL;
    case ENOENT:
        return PAWL_ERR_NOT_FOUND;
    case ENOTDIR:
        return PAWL_ERR_EXISTS;
    case ENOMEM:
        return PAWL_ERR_NO_MEMORY;
    default:
        return PAWL_ERR_IO;
    }
}

static char *path_in(const char *dir, const char *name)
{
    char *path = malloc(strlen(dir) + strlen(name) + 2);

    if (path != NULL) {
        sprintf(path, "%s/%s", dir, name);
    }
    return path;
}

/* ---- the folder ---- */

static int write_version(int fd)
{
    ssize_t n = write(fd, version_line, strlen(version_line));

    if (n != (ssize_t)strlen(version_line)) {
        return n < 0 ? local_host_code(errno) : PAWL_ERR_DISK_FULL;
    }
    return 0;
}

/* Written under a name that nobody can have planted, and then linked, so nobody ever reads half. */
static int make_version(const char *path)
{
    char fresh[PATH_MAX];
    int fd, rc;

    if (snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= (int)sizeof(fresh)) {
        return PAWL_ERR_ADDRESS;
    }
    fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0) {
        return local_host_code(errno);
    }
    rc = write_version(fd);
    if (rc == 0 && fchmod(fd, 0644) != 0) {
        rc = local_host_code(errno);
    }
    if (close(fd) != 0 && rc == 0) {
        rc = local_host_code(errno);
    }
    if (rc == 0 && link(fresh, path) != 0 && errno != EEXIST) {
        rc = local_host_code(errno);
    }
    unlink(fresh);
    return rc;
}

static int check_version(const char *dir)
{
    char *path = path_in(dir, "version");
    char line[VERSION_BYTES] = "";
    int fd, rc = 0;

    if (path == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        rc = make_version(path);
        fd = rc == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    }
    if (fd < 0) {
        rc = rc != 0 ? rc : local_host_code(errno);
    } else {
        ssize_t n = read(fd, line, sizeof(line) - 1);

        rc = n < 0 ? local_host_code(errno) : strcmp(line, version_line) != 0 ? PAWL_ERR_CONFIG : 0;
        close(fd);
    }
    free(path);
    return rc;
}

/* Made if it is missing; its permissions decide who may use it. */
static int check_folder(const char *dir, struct stat *st)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        return local_host_code(errno);
    }
    if (stat(dir, st) != 0) {
        return local_host_code(errno);
    }
    if (!S_ISDIR(st->st_mode)) {
        return PAWL_ERR_EXISTS;
    }
    if (access(dir, R_OK | W_OK | X_OK) != 0) {
        return local_host_code(errno);
    }
    return check_version(dir);
}

static int open_lock(const char *dir, int *fd)
{
    char *path = path_in(dir, "lock");

    if (path == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    free(path);
    return *fd < 0 ? local_host_code(errno) : 0;
}

/* A lock of the process, not of the descriptor: a forked child does not keep it alive. */
static bool take_lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_SETLK, &whole) == 0;
}

static void give_lock(int fd)
{
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    fcntl(fd, F_SETLK, &whole);
}

/* False: the file was removed. Whoever comes next would lock another one of that name. */
static bool lock_is_in_place(const struct local_host *h)
{
    char *path = path_in(h->dir, "lock");
    struct stat named, ours;
    bool same = path != NULL && stat(path, &named) == 0 && fstat(h->lock_fd, &ours) == 0 &&
                named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;

    free(path);
    return same;
}

/* The directory as it is now: it may have been emptied, or removed and made again. */
static int renew_lock(struct local_host *h)
{
    struct stat st;
    int fd, rc = check_folder(h->dir, &st);

    rc = rc != 0 ? rc : open_lock(h->dir, &fd);
    if (rc == 0) {
        close(h->lock_fd);
        h->lock_fd = fd;
        h->device = st.st_dev;
        h->inode = st.st_ino;
    }
    return rc;
}

/* ---- hosting ---- */

static int start_server(struct local_host *h)
{
    static const char *const properties[] = {
        "tickTime=500",
        "minSessionTimeout=1000",
        "maxSessionTimeout=3600000",
        "maxClientCnxns=0",
        "extendedTypesEnabled=true",
        "globalOutstandingLimit=10000",
        "4lw.commands.whitelist=*",
    };
    char *data = path_in(h->dir, "data"), *path = path_in(h->dir, "socket");
    struct pawl_server_options o;
    char why[512] = "";
    int rc = PAWL_ERR_NO_MEMORY;

    if (data != NULL && path != NULL) {
        pawl_server_options_init(&o);
        o.folder = data;
        o.port = -1;
        o.unix_socket = path;
        o.properties = properties;
        o.n_properties = sizeof(properties) / sizeof(properties[0]);
        rc = embed_start(&o, &(struct embed_place){.session_dir = h->session_dir}, &h->server, why,
                         sizeof(why));
    }
    if (rc != 0) {
        h->server = NULL;
        log_limited(LOG_ERROR, "%s cannot be hosted: %s", h->dir, why);
    }
    free(data);
    free(path);
    return rc;
}

/* 0 also when another process hosts. */
static int try_to_host(struct local_host *h)
{
    int rc;

    if (!take_lock(h->lock_fd)) {
        return errno == EAGAIN || errno == EACCES ? 0 : local_host_code(errno);
    }
    rc = lock_is_in_place(h) ? start_server(h) : PAWL_ERR_BUSY;
    if (rc != 0) {
        give_lock(h->lock_fd);
    }
    return rc;
}

static void stop_server(struct local_host *h)
{
    struct pawl_server *server = h->server;

    h->server = NULL;
    if (server != NULL) {
        pthread_mutex_unlock(&lock);
        pawl_server_stop(server);
        pthread_mutex_lock(&lock);
        give_lock(h->lock_fd);
    }
}

static void sleep_ms(struct local_host *h, int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&h->wake, &lock, &t);
}

/* Returns after how long to look again. */
static int64_t look_after_hosting(struct local_host *h)
{
    if (!lock_is_in_place(h)) {
        log_limited(LOG_WARN, "%s/lock was removed; it is made again", h->dir);
        stop_server(h);
        if (renew_lock(h) != 0) {
            return AFTER_FAILURE_MS;
        }
    }
    if (h->server == NULL) {
        return try_to_host(h) == 0 ? LOOK_MS : AFTER_FAILURE_MS;
    }
    if (pawl_server_error(h->server, NULL, 0) != PAWL_OK) {
        log_error("the host of %s has stopped", h->dir);
        stop_server(h);
        return AFTER_FAILURE_MS; /* perhaps another process fares better */
    }
    return LOOK_MS;
}

static void *watch(void *arg)
{
    struct local_host *h = arg;

    thread_set_name("pawl-local");
    pthread_mutex_lock(&lock);
    while (!h->stop) {
        int64_t pause = look_after_hosting(h);

        if (!h->stop) {
            sleep_ms(h, pause);
        }
    }
    stop_server(h);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- handles ---- */

static struct local_host *local_host_find(const struct stat *st)
{
    struct list *item;

    list_for_each (item, &hosts) {
        struct local_host *h = container_of(item, struct local_host, link);

        if (h->pid == getpid() && h->device == st->st_dev && h->inode == st->st_ino) {
            return h;
        }
    }
    return NULL;
}

static int start_thread(struct local_host *h)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&h->thread, NULL, watch, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 ? 0 : PAWL_ERR_SYSTEM;
}

static int new_host(const char *dir, const struct stat *st, struct local_host **out)
{
    struct local_host *h = calloc(1, sizeof(*h) + strlen(dir) + 1);
    pthread_condattr_t attr;
    int rc;

    if (h == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    strcpy(h->dir, dir);
    h->pid = getpid();
    h->refs = 1;
    h->device = st->st_dev;
    h->inode = st->st_ino;
    h->session_dir = path_in(dir, SESSION_FOLDER);
    rc = h->session_dir == NULL ? PAWL_ERR_NO_MEMORY : open_lock(dir, &h->lock_fd);
    if (rc != 0) {
        free(h->session_dir);
        free(h);
        return rc;
    }
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&h->wake, &attr);
    pthread_condattr_destroy(&attr);
    for (int tries = 0; (rc = try_to_host(h)) == PAWL_ERR_BUSY && tries < BUSY_TRIES; tries++) {
        usleep(LOOK_MS * 1000); /* a host that is just ending, or whose lock file was removed */
    }
    rc = rc != 0 ? rc : start_thread(h);
    if (rc != 0) {
        stop_server(h);
        close(h->lock_fd);
        pthread_cond_destroy(&h->wake);
        free(h->session_dir);
        free(h);
        return rc;
    }
    list_push_back(&hosts, &h->link);
    *out = h;
    return 0;
}

static int local_host_open(const char *dir, void **out)
{
    struct local_host *h = NULL;
    struct stat st;
    int rc;

    pthread_mutex_lock(&lock);
    rc = check_folder(dir, &st);
    if (rc == 0) {
        /* One that is just stopping still has the lock, which is the process's. */
        while ((h = local_host_find(&st)) != NULL && h->stop) {
            pthread_cond_wait(&host_gone, &lock);
        }
        if (h != NULL) {
            h->refs++;
        } else {
            rc = new_host(dir, &st, &h);
        }
    }
    pthread_mutex_unlock(&lock);
    if (rc == 0) {
        *out = h;
    }
    return rc;
}

static void local_host_close(void *host)
{
    struct local_host *h = host;
    bool last;

    if (h->pid != getpid()) {
        return;
    }
    pthread_mutex_lock(&lock);
    last = --h->refs == 0;
    if (last) {
        h->stop = true;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&lock);
    if (!last) {
        return;
    }
    pthread_join(h->thread, NULL);
    pthread_mutex_lock(&lock);
    list_remove(&h->link);
    close(h->lock_fd);
    pthread_cond_broadcast(&host_gone);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&h->wake);
    free(h->session_dir);
    free(h);
}

static const struct local_hosting hosting = {local_host_open, local_host_close};

/* A child must not inherit the mutex locked by a thread it does not have. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void register_once(void)
{
    fork_guard_init(); /* its lock is taken under ours */
    pthread_atfork(before_fork, after_fork, after_fork);
    local_hosting_set(&hosting);
}

__attribute__((constructor)) void local_host_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_once);
}
