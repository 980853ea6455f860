/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lib/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_LINKS = 256, ROOM = 65536 };

struct pair {
    int client, server; /* server: -1 when it hung up and the client must not hear of it */
    char *held;         /* what the server has said meanwhile */
    size_t held_len;
    bool muted;
};

struct tcp_proxy {
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    int target_port, port, listener, wake;
    bool stop, cut, mute; /* wanted of the thread */
    bool accepting, frozen, swallow, hold;
    int n_accepted;
    int64_t n_to_server; /* bytes */
    char address[32];
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
    if (p->pairs[i].server >= 0) {
        close(p->pairs[i].server);
    }
    free(p->pairs[i].held);
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
    p->pairs[p->n_pairs++] = (struct pair){.client = fd, .server = server};
    p->n_accepted++;
}

static void keep(struct pair *l, const char *data, size_t len)
{
    l->held = realloc(l->held, l->held_len + len);
    if (l->held == NULL) {
        abort();
    }
    memcpy(l->held + l->held_len, data, len);
    l->held_len += len;
}

static bool send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* False: that end is closed. */
static bool from_client(struct tcp_proxy *p, struct pair *l)
{
    char data[ROOM];
    ssize_t n = recv(l->client, data, sizeof(data), MSG_DONTWAIT);

    if (n <= 0) {
        return false;
    }
    p->n_to_server += n;
    return l->server < 0 || send_all(l->server, data, (size_t)n);
}

/* The same; while its replies are held or muted, a server that hangs up is not heard doing that. */
static bool from_server(struct tcp_proxy *p, struct pair *l)
{
    char data[ROOM];
    ssize_t n = recv(l->server, data, sizeof(data), MSG_DONTWAIT);

    if (n <= 0 && (p->hold || l->muted)) {
        close(l->server);
        l->server = -1;
        return true;
    }
    if (n <= 0) {
        return false;
    }
    if (p->hold && !l->muted) {
        keep(l, data, (size_t)n);
        return true;
    }
    return p->swallow || l->muted || send_all(l->client, data, (size_t)n);
}

/* Replies are held no longer: the client has them now, and hears of an end that it missed. */
static void hand_over(struct tcp_proxy *p)
{
    for (int i = p->n_pairs - 1; i >= 0; i--) {
        struct pair *l = &p->pairs[i];

        send_all(l->client, l->held, l->held_len);
        l->held_len = 0;
        if (l->server < 0 && !l->muted) {
            drop(p, i);
        }
    }
}

static void mute_all(struct tcp_proxy *p)
{
    for (int i = 0; i < p->n_pairs; i++) {
        p->pairs[i].muted = true;
        p->pairs[i].held_len = 0;
    }
    p->mute = false;
}

static void serve(struct tcp_proxy *p, const struct pollfd *fds, int n_polled)
{
    for (int i = p->n_pairs - 1; i >= 0; i--) {
        bool good = true;

        if (i >= n_polled || fds[2 + 2 * i].fd != p->pairs[i].client) {
            continue; /* taken meanwhile, or moved here */
        }
        if (fds[2 + 2 * i].revents != 0) {
            good = from_client(p, &p->pairs[i]);
        }
        if (good && fds[3 + 2 * i].revents != 0) {
            good = from_server(p, &p->pairs[i]);
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
        }
        if (p->mute) {
            mute_all(p);
        }
        if (!p->hold) {
            hand_over(p);
        }
        if (!p->frozen) {
            serve(p, fds, n);
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
    if (bind(p->listener, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(p->listener, 64) != 0 ||
        getsockname(p->listener, (struct sockaddr *)&a, &len) != 0) {
        abort();
    }
    p->port = ntohs(a.sin_port);
    snprintf(p->address, sizeof(p->address), "127.0.0.1:%d", p->port);
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

const char *tcp_proxy_address(const struct tcp_proxy *p)
{
    return p->address;
}

/* Changes one setting, and returns when the thread goes by it. */
static void order(struct tcp_proxy *p, bool *setting, bool yes)
{
    pthread_mutex_lock(&p->lock);
    *setting = yes;
    poke(p);
    pthread_mutex_unlock(&p->lock);
}

void tcp_proxy_cut(struct tcp_proxy *p)
{
    order(p, &p->cut, true);
}

void tcp_proxy_accept(struct tcp_proxy *p, bool yes)
{
    order(p, &p->accepting, yes);
}

void tcp_proxy_freeze(struct tcp_proxy *p, bool yes)
{
    order(p, &p->frozen, yes);
}

void tcp_proxy_swallow_replies(struct tcp_proxy *p, bool yes)
{
    order(p, &p->swallow, yes);
}

void tcp_proxy_hold_replies(struct tcp_proxy *p, bool yes)
{
    order(p, &p->hold, yes);
}

void tcp_proxy_mute(struct tcp_proxy *p)
{
    order(p, &p->mute, true);
}

void tcp_proxy_down(struct tcp_proxy *p)
{
    tcp_proxy_accept(p, false);
    tcp_proxy_cut(p);
}

void tcp_proxy_up(struct tcp_proxy *p)
{
    tcp_proxy_accept(p, true);
    tcp_proxy_hold_replies(p, false);
}

int tcp_proxy_links(struct tcp_proxy *p)
{
    int n;

    pthread_mutex_lock(&p->lock);
    n = p->n_accepted;
    pthread_mutex_unlock(&p->lock);
    return n;
}

int tcp_proxy_open_links(struct tcp_proxy *p)
{
    int n;

    pthread_mutex_lock(&p->lock);
    n = p->n_pairs;
    pthread_mutex_unlock(&p->lock);
    return n;
}

int64_t tcp_proxy_bytes_to_server(struct tcp_proxy *p)
{
    int64_t n;

    pthread_mutex_lock(&p->lock);
    n = p->n_to_server;
    pthread_mutex_unlock(&p->lock);
    return n;
}
