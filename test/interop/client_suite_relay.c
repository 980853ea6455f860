/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_relay.c - a relay between client and server, so that a test can cut, stall and
 * refuse their link at the moment it chooses.
 *
 * One thread with poll. What the server says while the relay holds is read and kept, so that the
 * server goes on as if nothing were wrong. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_suite.h"

enum { MAX_LINKS = 256, ROOM = 65536 };

struct link {
    int client, server;
    char *held;
    size_t held_len;
    bool muted;
};

struct relay {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t obeyed;
    enum relay_mode mode;
    bool cut, mute; /* wanted */
    struct link links[MAX_LINKS];
    int n_links;
    int64_t to_server;
    int listener, wake[2];
    struct sockaddr_in target;
    char address[32];
};

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return; /* its end will be read */
        }
        data += n;
        len -= (size_t)n;
    }
}

static void drop(struct relay *r, int i)
{
    close(r->links[i].client);
    if (r->links[i].server >= 0) {
        close(r->links[i].server);
    }
    free(r->links[i].held);
    r->links[i] = r->links[--r->n_links];
}

static void accept_one(struct relay *r)
{
    int client = accept(r->listener, NULL, NULL), server, one = 1;

    if (client < 0) {
        return;
    }
    server = r->mode == RELAY_REFUSE ? -1 : socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || r->n_links == MAX_LINKS ||
        connect(server, (struct sockaddr *)&r->target, sizeof(r->target)) != 0) {
        close(client);
        if (server >= 0) {
            close(server);
        }
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    r->links[r->n_links++] = (struct link){.client = client, .server = server};
}

static void hold(struct link *l, const char *data, size_t len)
{
    char *more = realloc(l->held, l->held_len + len);

    EXPECT(more != NULL);
    memcpy(more + l->held_len, data, len);
    l->held = more;
    l->held_len += len;
}

/* False: that end is closed. While it holds, a server that hangs up is not even heard doing that.
 */
static bool move_bytes(struct relay *r, struct link *l, bool from_client)
{
    char data[ROOM];
    ssize_t n = recv(from_client ? l->client : l->server, data, sizeof(data), 0);

    if (n <= 0 && !from_client && (r->mode == RELAY_HOLD || l->muted)) {
        close(l->server);
        l->server = -1;
        return true;
    }
    if (n <= 0) {
        return false;
    }
    if (from_client) {
        write_all(l->server, data, (size_t)n);
        r->to_server += n;
    } else if (l->muted) {
        return true;
    } else if (r->mode == RELAY_HOLD) {
        hold(l, data, (size_t)n);
    } else {
        write_all(l->client, data, (size_t)n);
    }
    return true;
}

static void obey(struct relay *r)
{
    char byte;

    while (recv(r->wake[0], &byte, 1, MSG_DONTWAIT) == 1) {
    }
    while (r->cut && r->n_links > 0) {
        drop(r, r->n_links - 1);
    }
    r->cut = false;
    for (int i = 0; i < r->n_links && r->mute; i++) {
        r->links[i].muted = true;
        r->links[i].held_len = 0;
    }
    r->mute = false;
    for (int i = 0; i < r->n_links && r->mode == RELAY_PASS; i++) {
        write_all(r->links[i].client, r->links[i].held, r->links[i].held_len);
        free(r->links[i].held);
        r->links[i].held = NULL;
        r->links[i].held_len = 0;
    }
    for (int i = r->n_links - 1; i >= 0 && r->mode == RELAY_PASS; i--) {
        if (r->links[i].server < 0 && !r->links[i].muted) {
            drop(r, i);
        }
    }
    pthread_cond_broadcast(&r->obeyed);
}

static nfds_t gather(const struct relay *r, struct pollfd *p)
{
    nfds_t n = 0;

    p[n++] = (struct pollfd){.fd = r->wake[0], .events = POLLIN};
    p[n++] = (struct pollfd){.fd = r->listener, .events = POLLIN};
    for (int i = 0; i < r->n_links; i++) {
        p[n++] = (struct pollfd){.fd = r->links[i].client, .events = POLLIN};
        p[n++] = (struct pollfd){.fd = r->links[i].server, .events = POLLIN};
    }
    return n;
}

static void *relay_main(void *arg)
{
    static _Thread_local struct pollfd p[2 + 2 * MAX_LINKS];
    struct relay *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        nfds_t n = gather(r, p);

        pthread_mutex_unlock(&r->lock);
        poll(p, n, -1);
        pthread_mutex_lock(&r->lock);
        for (int i = (int)(n - 2) / 2 - 1; i >= 0; i--) { /* backwards, for drop() */
            struct link *l = &r->links[i];

            if ((p[2 + 2 * i].revents != 0 && !move_bytes(r, l, true)) ||
                (p[3 + 2 * i].revents != 0 && !move_bytes(r, l, false))) {
                drop(r, i);
            }
        }
        if (p[1].revents != 0) {
            accept_one(r);
        }
        if (p[0].revents != 0) {
            obey(r);
        }
    }
    return NULL;
}

/* The first of "127.0.0.1:PORT,..." */
static int first_port(const char *servers)
{
    const char *colon = strchr(servers, ':');

    EXPECT(colon != NULL);
    return atoi(colon + 1);
}

struct relay *relay_new(const char *servers)
{
    struct relay *r = calloc(1, sizeof(*r)); /* its thread outlives even exit handlers */
    struct sockaddr_in a = loopback(0);
    socklen_t len = sizeof(a);
    pthread_t thread;

    EXPECT(r != NULL);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->obeyed, NULL);
    r->target = loopback(first_port(servers));
    r->listener = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT(bind(r->listener, (struct sockaddr *)&a, len) == 0 && listen(r->listener, 64) == 0);
    EXPECT(getsockname(r->listener, (struct sockaddr *)&a, &len) == 0);
    snprintf(r->address, sizeof(r->address), "127.0.0.1:%d", ntohs(a.sin_port));
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, r->wake) == 0);
    EXPECT(pthread_create(&thread, NULL, relay_main, r) == 0);
    pthread_detach(thread);
    return r;
}

const char *relay_address(const struct relay *r)
{
    return r->address;
}

/* Returns when the thread has done it. */
static void order(struct relay *r, enum relay_mode mode, bool cut)
{
    pthread_mutex_lock(&r->lock);
    r->mode = mode;
    r->cut = cut;
    EXPECT(write(r->wake[1], "x", 1) == 1);
    pthread_cond_wait(&r->obeyed, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

void relay_set(struct relay *r, enum relay_mode mode)
{
    order(r, mode, false);
}

void relay_mute(struct relay *r)
{
    pthread_mutex_lock(&r->lock);
    r->mute = true;
    pthread_mutex_unlock(&r->lock);
    order(r, RELAY_PASS, false);
}

void relay_cut(struct relay *r)
{
    order(r, r->mode, true);
}

void relay_down(struct relay *r)
{
    order(r, RELAY_REFUSE, true);
}

int relay_links(struct relay *r)
{
    int n;

    pthread_mutex_lock(&r->lock);
    n = r->n_links;
    pthread_mutex_unlock(&r->lock);
    return n;
}

int64_t relay_bytes_to_server(struct relay *r)
{
    int64_t n;

    pthread_mutex_lock(&r->lock);
    n = r->to_server;
    pthread_mutex_unlock(&r->lock);
    return n;
}
