/* SPDX-License-Identifier: Apache-2.0 */
/* floor.c - pawl-floor, a server that only answers: how fast could any server be on this machine?
 *
 * It keeps no tree and no sessions; every answer is a constant with the right xid in it. With
 * --data DIR writes are answered only once an fdatasync has covered them: one thread reads and
 * answers, a second one syncs, and whatever arrives during a sync goes into the next. Of watches it
 * knows one: the next setData, of whatever node, tells every connection that asked for any.
 *
 * Order within a connection is kept: what stands behind an unsynced write in its output waits with
 * it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util.h"
#include "wire.h"

enum {
    IN_BYTES = 65536,
    MAX_EVENTS = 256,
    DATA_BYTES = 100,
    BATCH_BYTES = 4 << 20,
    LOG_BYTES = 64 << 20,
    BACKLOG = 4096
};

#define NO_HOLD SIZE_MAX

struct client {
    int fd;
    int index;
    int has_session;
    int has_watch;
    uint8_t *in;
    size_t in_len;
    uint8_t *out;
    size_t out_len, out_sent, out_cap;
    /* Where in `out` the first answer stands that waits for the batch being synced, and for the one
     * being collected. */
    size_t hold_syncing, hold_collecting;
};

/* Writes on their way to the disk. */
struct group_commit {
    int log_fd; /* -1: writes are not durable */
    int done_fd;
    off_t at;
    uint8_t *collecting;
    size_t collecting_len;

    pthread_mutex_t lock; /* guards syncing, syncing_len */
    pthread_cond_t work;
    uint8_t *syncing;
    size_t syncing_len; /* 0: idle */
};

static struct client **clients;
static int n_clients, cap_clients;
static int epoll_fd, listen_fd;
static struct group_commit commit = {.log_fd = -1,
                                     .lock = PTHREAD_MUTEX_INITIALIZER,
                                     .work = PTHREAD_COND_INITIALIZER};
static int is_syncing; /* the main thread's view */

static void *sync_thread(void *unused)
{
    uint64_t one = 1;

    (void)unused;
    for (;;) {
        pthread_mutex_lock(&commit.lock);
        while (commit.syncing_len == 0) {
            pthread_cond_wait(&commit.work, &commit.lock);
        }
        pthread_mutex_unlock(&commit.lock);
        if (commit.at + (off_t)commit.syncing_len > LOG_BYTES) {
            commit.at = 0;
        }
        if (pwrite(commit.log_fd, commit.syncing, commit.syncing_len, commit.at) !=
                (ssize_t)commit.syncing_len ||
            fdatasync(commit.log_fd) != 0) {
            die("log: %s", strerror(errno));
        }
        commit.at += (off_t)commit.syncing_len;
        pthread_mutex_lock(&commit.lock);
        commit.syncing_len = 0;
        pthread_mutex_unlock(&commit.lock);
        if (write(commit.done_fd, &one, sizeof(one)) != sizeof(one)) {
            die("eventfd: %s", strerror(errno));
        }
    }
    return NULL;
}

/* The log is written full beforehand and then overwritten in a circle: no block is ever allocated,
 * no size ever changed, so a sync costs what the device costs and nothing else. */
static void log_open(const char *dir)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &commit};
    pthread_t thread;
    char path[4096];
    off_t at;

    commit.collecting = must_calloc(1, BATCH_BYTES);
    commit.syncing = must_calloc(1, BATCH_BYTES);
    snprintf(path, sizeof(path), "%s/floor.log", dir);
    commit.log_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (at = 0; commit.log_fd >= 0 && at < LOG_BYTES; at += BATCH_BYTES) {
        if (pwrite(commit.log_fd, commit.syncing, BATCH_BYTES, at) != BATCH_BYTES) {
            break;
        }
    }
    if (commit.log_fd < 0 || at < LOG_BYTES || fsync(commit.log_fd) != 0) {
        die("%s: %s", path, strerror(errno));
    }
    commit.done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, commit.done_fd, &event);
    if (pthread_create(&thread, NULL, sync_thread, NULL) != 0) {
        die("no thread");
    }
}

static uint8_t *reserve(struct client *c, size_t len)
{
    if (c->out_len + len > c->out_cap) {
        c->out_cap = (c->out_len + len) * 2;
        c->out = realloc(c->out, c->out_cap);
        if (c->out == NULL) {
            die("out of memory");
        }
    }
    return c->out + c->out_len;
}

/* Starts an answer with room for `body_len` bytes, which the caller fills. */
static uint8_t *answer(struct client *c, int32_t xid, size_t body_len)
{
    uint8_t *p = reserve(c, 4 + REPLY_HEADER_BYTES + body_len);

    c->out_len += 4 + REPLY_HEADER_BYTES + body_len;
    p = put32(p, (int32_t)(REPLY_HEADER_BYTES + body_len));
    p = put32(p, xid);
    p = put64(p, 1);
    return put32(p, ERR_OK);
}

static void answer_connect(struct client *c)
{
    uint8_t *p = reserve(c, 4 + CONNECT_RESPONSE_BYTES);

    c->out_len += 4 + CONNECT_RESPONSE_BYTES;
    p = put32(put32(put32(p, CONNECT_RESPONSE_BYTES), 0), 40000);
    p = put32(put64(p, c->fd), 16);
    memset(p, 0, 17);
    c->has_session = 1;
}

static void hold_for_sync(struct client *c, const uint8_t *frame, size_t len)
{
    if (commit.log_fd < 0) {
        return;
    }
    if (commit.collecting_len + len > BATCH_BYTES) {
        die("more than %d bytes of writes under way", BATCH_BYTES);
    }
    memcpy(commit.collecting + commit.collecting_len, frame, len);
    commit.collecting_len += len;
    if (c->hold_collecting == NO_HOLD) {
        c->hold_collecting = c->out_len;
    }
}

/* Drops what has been sent. A busy client never has an empty output, so this cannot wait for one.
 */
static void compact(struct client *c)
{
    if (c->out_sent < c->out_len && c->out_sent < IN_BYTES) {
        return;
    }
    memmove(c->out, c->out + c->out_sent, c->out_len - c->out_sent);
    c->out_len -= c->out_sent;
    if (c->hold_syncing != NO_HOLD) {
        c->hold_syncing -= c->out_sent;
    }
    if (c->hold_collecting != NO_HOLD) {
        c->hold_collecting -= c->out_sent;
    }
    c->out_sent = 0;
}

static void flush(struct client *c)
{
    size_t end = c->out_len;

    if (c->hold_collecting < end) {
        end = c->hold_collecting;
    }
    if (c->hold_syncing < end) {
        end = c->hold_syncing;
    }
    while (c->out_sent < end) {
        ssize_t n = send(c->fd, c->out + c->out_sent, end - c->out_sent, MSG_NOSIGNAL);

        if (n < 0) {
            struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};

            epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
            return;
        }
        c->out_sent += (size_t)n;
    }
    compact(c);
}

static void tell_watchers(void)
{
    static const char path[] = "/watched";
    uint8_t *p;
    int i;

    for (i = 0; i < n_clients; i++) {
        if (!clients[i]->has_watch) {
            continue;
        }
        clients[i]->has_watch = 0;
        p = answer(clients[i], XID_EVENT, 12 + sizeof(path) - 1);
        p = put32(put32(put32(p, 3), 3), sizeof(path) - 1); /* data changed, connected */
        memcpy(p, path, sizeof(path) - 1);
        flush(clients[i]);
    }
}

static void answer_create(struct client *c, int32_t xid, const uint8_t *path, size_t left)
{
    size_t len = left >= 4 ? (size_t)get32(path) + 4 : 0;

    if (len < 4 || len > left) {
        die("bad create");
    }
    memcpy(answer(c, xid, len), path, len);
}

static void handle_request(struct client *c, const uint8_t *frame, size_t len)
{
    int32_t xid = get32(frame + 4);
    uint8_t *p;

    switch (get32(frame + 8)) {
    case OP_GET_DATA:
        p = put32(answer(c, xid, 4 + DATA_BYTES + STAT_BYTES), DATA_BYTES);
        memset(p, 'x', DATA_BYTES + STAT_BYTES);
        c->has_watch |= frame[len - 1];
        break;
    case OP_SET_DATA:
        hold_for_sync(c, frame, len);
        memset(answer(c, xid, STAT_BYTES), 0, STAT_BYTES);
        tell_watchers();
        break;
    case OP_CREATE:
        hold_for_sync(c, frame, len);
        answer_create(c, xid, frame + 12, len - 12);
        break;
    case OP_DELETE:
        hold_for_sync(c, frame, len);
        answer(c, xid, 0);
        break;
    case OP_EXISTS:
        memset(answer(c, xid, STAT_BYTES), 0, STAT_BYTES);
        break;
    case OP_GET_CHILDREN:
        put32(answer(c, xid, 4), 0);
        break;
    default:
        answer(c, xid, 0);
        break;
    }
}

static void drop(struct client *c)
{
    close(c->fd);
    clients[c->index] = clients[--n_clients];
    clients[c->index]->index = c->index;
    free(c->in);
    free(c->out);
    free(c);
}

/* 0, or -1 when the client has left or asked to be let go. */
static int handle_frames(struct client *c)
{
    size_t at = 0;

    while (c->in_len - at >= 12) {
        int32_t len = get32(c->in + at);

        if (len < 8 || len > IN_BYTES - 4) {
            return -1;
        }
        if (c->in_len - at - 4 < (size_t)len) {
            break;
        }
        if (!c->has_session) {
            answer_connect(c);
        } else if (get32(c->in + at + 8) == OP_CLOSE) {
            return -1;
        } else {
            handle_request(c, c->in + at, (size_t)len + 4);
        }
        at += (size_t)len + 4;
    }
    c->in_len -= at;
    memmove(c->in, c->in + at, c->in_len);
    flush(c);
    return 0;
}

static void handle_client(struct client *c, uint32_t events)
{
    ssize_t n;

    if (events & EPOLLOUT) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
        flush(c);
    }
    if (!(events & ~(uint32_t)EPOLLOUT)) {
        return;
    }
    n = recv(c->fd, c->in + c->in_len, IN_BYTES - c->in_len, 0);
    if (n < 0 && errno == EAGAIN) {
        return;
    }
    if (n > 0) {
        c->in_len += (size_t)n;
    }
    if (n <= 0 || handle_frames(c) != 0) {
        drop(c);
    }
}

static void accept_clients(void)
{
    int one = 1;
    int fd;

    while ((fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct client *c = must_calloc(1, sizeof(*c));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        c->fd = fd;
        c->in = must_calloc(1, IN_BYTES);
        c->hold_syncing = c->hold_collecting = NO_HOLD;
        if (n_clients == cap_clients) {
            cap_clients = cap_clients * 2 + 64;
            clients = realloc(clients, (size_t)cap_clients * sizeof(struct client *));
            if (clients == NULL) {
                die("out of memory");
            }
        }
        c->index = n_clients;
        clients[n_clients++] = c;
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static void sync_start_if_due(void)
{
    uint8_t *full = commit.collecting;
    int i;

    if (is_syncing || commit.collecting_len == 0) {
        return;
    }
    for (i = 0; i < n_clients; i++) {
        clients[i]->hold_syncing = clients[i]->hold_collecting;
        clients[i]->hold_collecting = NO_HOLD;
    }
    is_syncing = 1;
    pthread_mutex_lock(&commit.lock);
    commit.collecting = commit.syncing;
    commit.syncing = full;
    commit.syncing_len = commit.collecting_len;
    pthread_cond_signal(&commit.work);
    pthread_mutex_unlock(&commit.lock);
    commit.collecting_len = 0;
}

static void sync_finished(void)
{
    uint64_t n;
    int i;

    if (read(commit.done_fd, &n, sizeof(n)) != sizeof(n)) {
        return;
    }
    is_syncing = 0;
    /* The next batch first: the disk should not wait for the answers to be sent. */
    for (i = 0; i < n_clients; i++) {
        clients[i]->hold_syncing = NO_HOLD;
    }
    sync_start_if_due();
    for (i = 0; i < n_clients; i++) {
        flush(clients[i]);
    }
}

static void listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    socklen_t len = sizeof(address);
    int one = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listen_fd, BACKLOG) != 0 ||
        getsockname(listen_fd, (struct sockaddr *)&address, &len) != 0) {
        die("port %d: %s", port, strerror(errno));
    }
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &event);
    printf("port=%d\n", ntohs(address.sin_port));
    fflush(stdout);
}

static void serve(void)
{
    struct epoll_event events[MAX_EVENTS];
    int i, n;

    for (;;) {
        n = epoll_wait(epoll_fd, events, MAX_EVENTS, -1);
        for (i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL) {
                accept_clients();
            } else if (events[i].data.ptr == &commit) {
                sync_finished();
            } else {
                handle_client(events[i].data.ptr, events[i].events);
            }
        }
        sync_start_if_due();
    }
}

int main(int argc, char **argv)
{
    struct rlimit limit;
    const char *dir = NULL;
    int port = 0;
    int i;

    for (i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0) {
            port = atoi(argv[i + 1]);
        } else if (strcmp(argv[i], "--data") == 0) {
            dir = argv[i + 1];
        } else {
            break;
        }
    }
    if (i != argc) {
        fprintf(stderr, "usage: pawl-floor [--port N] [--data DIR]\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (dir != NULL) {
        log_open(dir);
    }
    listen_on(port);
    serve();
}
