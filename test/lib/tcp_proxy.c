/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_LINKS = 64 };

struct pair {
    int client, server;
};

struct tcp_proxy {
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    int target_port, port, listener, wake;
    bool stop, cut, accepting, frozen, swallow;
    int n_accepted;
    uint64_t n_turns; /* how often the thread has looked at all this */
    pthread_cond_t turned;
    struct pair pairs[MAX_LINKS];
    int n_pairs;
};

static struct sockaddr_in local(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static int dial(int port)
{
    struct sockaddr_in a = local(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void drop(struct tcp_proxy *p, int i)
{
    close(p->pairs[i].client);
    close(p->pairs[i].server);
    p->pairs[i] = p->pairs[--p->n_pairs];
}

static void take(struct tcp_proxy *p)
{
    int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    int on = 1, server;

    if (fd < 0) {
        return;
    }
    server = p->accepting && p->n_pairs < MAX_LINKS ? dial(p->target_port) : -1;
    if (server < 0) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    p->pairs[p->n_pairs++] = (struct pair){fd, server};
    p->n_accepted++;
}

static bool move_bytes(int from, int to, bool swallow)
{
    char data[65536];
    ssize_t n = recv(from, data, sizeof(data), MSG_DONTWAIT);

    if (n <= 0) {
        return false;
    }
    return swallow || send(to, data, (size_t)n, MSG_NOSIGNAL) == n;
}

static void serve(struct tcp_proxy *p, const struct pollfd *fds)
{
    for (int i = p->n_pairs - 1; i >= 0; i--) {
        bool good = true;

        if (fds[2 + 2 * i].fd != p->pairs[i].client) {
            continue; /* taken meanwhile */
        }
        if (fds[2 + 2 * i].revents != 0) {
            good = move_bytes(p->pairs[i].client, p->pairs[i].server, false);
        }
        if (good && fds[3 + 2 * i].revents != 0) {
            good = move_bytes(p->pairs[i].server, p->pairs[i].client, p->swallow);
        }
        if (!good) {
            drop(p, i);
        }
    }
}

static void *run(void *arg)
{
    struct tcp_proxy *p = arg;
    struct pollfd fds[2 + 2 * MAX_LINKS];
    uint64_t count;

    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        int n = p->n_pairs;
        bool frozen = p->frozen;

        fds[0] = (struct pollfd){.fd = p->wake, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = p->listener, .events = POLLIN};
        for (int i = 0; i < n; i++) {
            fds[2 + 2 * i] = (struct pollfd){.fd = p->pairs[i].client, .events = POLLIN};
            fds[3 + 2 * i] = (struct pollfd){.fd = p->pairs[i].server, .events = POLLIN};
        }
        p->n_turns++;
        pthread_cond_broadcast(&p->turned);
        pthread_mutex_unlock(&p->lock);
        poll(fds, frozen ? 1 : (nfds_t)(2 + 2 * n), -1);
        pthread_mutex_lock(&p->lock);
        if (fds[0].revents != 0) {
            (void)!read(p->wake, &count, sizeof(count));
        }
        if (p->cut) {
            while (p->n_pairs > 0) {
                drop(p, 0);
            }
            p->cut = false;
        } else if (!p->frozen) {
            serve(p, fds);
            if (fds[1].revents != 0) {
                take(p);
            }
        }
    }
    while (p->n_pairs > 0) {
        drop(p, 0);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Returns when the thread has taken notice. */
static void poke(struct tcp_proxy *p)
{
    uint64_t one = 1, seen = p->n_turns;

    (void)!write(p->wake, &one, sizeof(one));
    while (p->n_turns == seen && !p->stop) {
        pthread_cond_wait(&p->turned, &p->lock);
    }
}

struct tcp_proxy *tcp_proxy_new(int target_port)
{
    struct tcp_proxy *p = calloc(1, sizeof(*p));
    struct sockaddr_in a = local(0);
    socklen_t len = sizeof(a);

    p->target_port = target_port;
    p->accepting = true;
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    p->wake = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->turned, NULL);
    if (bind(p->listener, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(p->listener, 16) != 0 ||
        getsockname(p->listener, (struct sockaddr *)&a, &len) != 0) {
        abort();
    }
    p->port = ntohs(a.sin_port);
    if (pthread_create(&p->thread, NULL, run, p) != 0) {
        abort();
    }
    return p;
}

void tcp_proxy_free(struct tcp_proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    poke(p);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    close(p->listener);
    close(p->wake);
    free(p);
}

int tcp_proxy_port(const struct tcp_proxy *p)
{
    return p->port;
}

void tcp_proxy_cut(struct tcp_proxy *p)
{
    pthread_mutex_lock(&p->lock);
    p->cut = true;
    poke(p);
    pthread_mutex_unlock(&p->lock);
}

void tcp_proxy_accept(struct tcp_proxy *p, bool yes)
{
    pthread_mutex_lock(&p->lock);
    p->accepting = yes;
    pthread_mutex_unlock(&p->lock);
}

void tcp_proxy_freeze(struct tcp_proxy *p, bool yes)
{
    pthread_mutex_lock(&p->lock);
    p->frozen = yes;
    poke(p);
    pthread_mutex_unlock(&p->lock);
}

void tcp_proxy_swallow_replies(struct tcp_proxy *p, bool yes)
{
    pthread_mutex_lock(&p->lock);
    p->swallow = yes;
    pthread_mutex_unlock(&p->lock);
}

int tcp_proxy_links(struct tcp_proxy *p)
{
    int n;

    pthread_mutex_lock(&p->lock);
    n = p->n_accepted;
    pthread_mutex_unlock(&p->lock);
    return n;
}
