/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/fork_guard.h"
#include "os/thread.h"
#include "pawl/error.h"

enum { MAX_ADDRESSES = 32, LOOKUP_STACK = 256 * 1024 };

_Static_assert(sizeof(struct sockaddr_storage) <= ADDRESS_BYTES, "room for every family");

static int unix_address(const char *path, struct address *out)
{
    struct sockaddr_un *a = (struct sockaddr_un *)out->bytes;

    if (strlen(path) >= sizeof(a->sun_path)) {
        return PAWL_ERR_ADDRESS;
    }
    a->sun_family = AF_UNIX;
    strcpy(a->sun_path, path);
    out->len = sizeof(*a);
    return 1;
}

int address_plain(const char *name, int port, struct address *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out->bytes;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out->bytes;

    memset(out, 0, sizeof(*out));
    if (port == 0) {
        return unix_address(name, out);
    }
    if (inet_pton(AF_INET, name, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        out->len = sizeof(*v4);
        return 1;
    }
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET6, name, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        out->len = sizeof(*v6);
        return 1;
    }
    return 0;
}

/* ---- looking up ---- */

struct lookup {
    pthread_mutex_t lock; /* guards what follows */
    int refs;
    bool done, cancelled, writes;
    size_t n;
    struct address addresses[MAX_ADDRESSES];
    void (*tell)(void *arg);
    void *arg;

    bool probe;
    struct probe_asker asker; /* no `ask`: in plain text */
    int timeout_ms;
    int port;
    char name[];
};

static void unref(struct lookup *l)
{
    int refs;

    pthread_mutex_lock(&l->lock);
    refs = --l->refs;
    pthread_mutex_unlock(&l->lock);
    if (refs == 0) {
        if (l->asker.done_with != NULL) {
            l->asker.done_with(l->asker.arg);
        }
        pthread_mutex_destroy(&l->lock);
        free(l);
    }
}

static size_t dial_resolve(const char *name, int port, struct address *out)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list, *a;
    char service[16];
    size_t n = 0;

    if (address_plain(name, port, out) == 1) {
        return 1;
    }
    snprintf(service, sizeof(service), "%d", port);
    if (getaddrinfo(name, service, &hints, &list) != 0) {
        return 0;
    }
    for (a = list; a != NULL && n < MAX_ADDRESSES; a = a->ai_next) {
        if (a->ai_addrlen <= ADDRESS_BYTES) {
            memset(&out[n], 0, sizeof(out[n]));
            out[n].len = a->ai_addrlen;
            memcpy(out[n++].bytes, a->ai_addr, a->ai_addrlen);
        }
    }
    freeaddrinfo(list);
    return n;
}

static bool wait_for(int fd, short events, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = events};

    return poll(&p, 1, timeout_ms) == 1;
}

static bool ask_plain(int fd, int timeout_ms)
{
    char answer[8] = {0};
    size_t n = 0;

    if (send(fd, "isro", 4, MSG_NOSIGNAL) != 4) {
        return false;
    }
    while (n < 2 && wait_for(fd, POLLIN, timeout_ms)) {
        ssize_t got = recv(fd, answer + n, 2 - n, 0);

        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    return strcmp(answer, "rw") == 0;
}

/* What one address answers to `isro`. */
static bool ask_isro(const struct lookup *l, const struct address *a)
{
    int fd = dial_start(a);
    bool writes = false;

    if (fd < 0) {
        return false;
    }
    if (wait_for(fd, POLLOUT, l->timeout_ms) && dial_result(fd) == 0) {
        writes = l->asker.ask != NULL ? l->asker.ask(l->asker.arg, fd, l->timeout_ms)
                                      : ask_plain(fd, l->timeout_ms);
    }
    close(fd);
    return writes;
}

static void *lookup_run(void *arg)
{
    struct lookup *l = arg;
    struct address *found = calloc(MAX_ADDRESSES, sizeof(*found));
    bool writes = false;
    size_t n;

    thread_set_name("pawl-lookup");
    n = found == NULL ? 0 : dial_resolve(l->name, l->port, found);
    for (size_t i = 0; l->probe && i < n && !writes; i++) {
        writes = ask_isro(l, &found[i]);
    }
    pthread_mutex_lock(&l->lock);
    l->n = n;
    if (n > 0) {
        memcpy(l->addresses, found, n * sizeof(*found));
    }
    l->writes = writes;
    l->done = true;
    if (!l->cancelled) {
        l->tell(l->arg);
    }
    pthread_mutex_unlock(&l->lock);
    free(found);
    unref(l);
    return NULL;
}

static struct lookup *lookup_begin(const char *name, int port, int probe_ms,
                                   const struct probe_asker *asker, void (*done)(void *arg),
                                   void *arg)
{
    struct lookup *l = calloc(1, sizeof(*l) + strlen(name) + 1);
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    if (l == NULL) {
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    l->refs = 2;
    l->tell = done;
    l->arg = arg;
    l->probe = probe_ms > 0;
    l->asker = asker == NULL ? (struct probe_asker){0} : *asker;
    l->timeout_ms = probe_ms;
    l->port = port;
    strcpy(l->name, name);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, LOOKUP_STACK);
    rc = pthread_create(&thread, &attr, lookup_run, l);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        pthread_mutex_destroy(&l->lock);
        free(l);
        return NULL;
    }
    return l;
}

struct lookup *lookup_start(const char *name, int port, void (*done)(void *arg), void *arg)
{
    return lookup_begin(name, port, 0, NULL, done, arg);
}

struct lookup *lookup_start_probe(const char *name, int port, int timeout_ms,
                                  const struct probe_asker *asker, void (*done)(void *arg),
                                  void *arg)
{
    return lookup_begin(name, port, timeout_ms, asker, done, arg);
}

bool lookup_is_done(struct lookup *l)
{
    bool done;

    pthread_mutex_lock(&l->lock);
    done = l->done;
    pthread_mutex_unlock(&l->lock);
    return done;
}

size_t lookup_addresses(struct lookup *l, struct address *out, size_t max)
{
    size_t n;

    pthread_mutex_lock(&l->lock);
    n = l->n < max ? l->n : max;
    memcpy(out, l->addresses, n * sizeof(*out));
    pthread_mutex_unlock(&l->lock);
    return n;
}

bool lookup_writes(struct lookup *l)
{
    bool writes;

    pthread_mutex_lock(&l->lock);
    writes = l->writes;
    pthread_mutex_unlock(&l->lock);
    return writes;
}

void lookup_free(struct lookup *l)
{
    if (l == NULL) {
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->cancelled = true;
    pthread_mutex_unlock(&l->lock);
    unref(l);
}

/* ---- links ---- */

int dial_start(const struct address *a)
{
    const struct sockaddr *to = (const struct sockaddr *)a->bytes;
    int on = 1, fd, error;

    fork_guard_begin();
    fd = fork_guard_add(socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    fork_guard_end();
    if (fd < 0) {
        return -1;
    }
    if (to->sa_family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (connect(fd, to, a->len) != 0 && errno != EINPROGRESS && errno != EINTR) {
        error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int dial_result(int fd)
{
    int error = 0, flags;
    socklen_t len = sizeof(error);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        return errno;
    }
    flags = fcntl(fd, F_GETFL);
    if (error == 0 && flags >= 0) {
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    }
    return error;
}
