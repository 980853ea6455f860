/* SPDX-License-Identifier: Apache-2.0 */
/* client_epoll.c - a client inside a loop around epoll_wait(), beside a timer of the program's own.
 *
 *   cc -std=c99 client_epoll.c $(pkg-config --cflags --libs pawl)
 *   ./a.out [127.0.0.1:2181]        without an address: a server in memory, inside this program
 *
 * The client has no threads. The timer writes a counter every few milliseconds, a watch that stays
 * sees the changes, and everything happens on this one thread: no lock anywhere. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <pawl/adapters/epoll.h>
#include <pawl/pawl.h>

#include "usage.h"

enum { TICK_MS = 20, N_CHANGES = 3 };

struct program {
    struct pawl_client *client;
    struct pawl_epoll adapter;
    int timer_fd;
    int running;
    int count;  /* what the timer has written */
    int n_seen; /* changes that the watch was told of, and read */
};

static struct pawl_server *start_server(void)
{
    struct pawl_server_options options;
    struct pawl_server *server = NULL;
    char why[256] = "";

    pawl_server_options_init(&options);
    options.in_memory = 1;
    if (pawl_server_start(&options, &server, why, sizeof(why)) != PAWL_OK) {
        fprintf(stderr, "no server: %s\n", why);
        exit(1);
    }
    return server;
}

static void must(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        fprintf(stderr, "%s: %s\n", what, pawl_strerror(rc));
        exit(1);
    }
}

/* ---- the end ---- */

/* From a callback: the loop sees it afterwards. */
static void finish(struct program *p)
{
    p->running = 0;
}

/* ---- callbacks of the client, run by the loop ---- */

static void on_read(const struct pawl_reply *reply, void *arg)
{
    struct program *p = arg;

    if (p->n_seen == N_CHANGES) {
        return; /* one more was under way when we had seen enough */
    }
    must(reply->err, "get");
    printf("/counter: %.*s\n", (int)reply->data.len, (const char *)reply->data.data);
    p->n_seen++;
    if (p->n_seen == N_CHANGES) {
        finish(p);
    }
}

static void on_change(const struct pawl_event *event, void *arg)
{
    struct program *p = arg;

    if (event->type == PAWL_EVENT_DATA_CHANGED && p->n_seen < N_CHANGES) {
        must(pawl_get_async(p->client, "/counter", NULL, on_read, p), "get");
    }
}

static void on_answer(const struct pawl_reply *reply, void *arg)
{
    if (reply->err != PAWL_ERR_CLOSING) { /* under way when we closed */
        must(reply->err, arg);
    }
}

/* ---- the program's own timer ---- */

/* The next number, once the last one has been seen. */
static void write_counter(struct program *p)
{
    char text[16];
    int len;

    if (p->count > p->n_seen) {
        return;
    }
    len = snprintf(text, sizeof(text), "%d", ++p->count);
    must(pawl_set_async(p->client, PAWL_SET(.path = "/counter", .data = {text, (size_t)len}),
                        on_answer, "set"),
         "set");
}

static void on_timer(struct program *p)
{
    unsigned long long expirations;

    if (read(p->timer_fd, &expirations, sizeof(expirations)) == (ssize_t)sizeof(expirations)) {
        write_counter(p);
    }
}

static void add_timer(struct program *p, int epoll_fd)
{
    struct itimerspec every;
    struct epoll_event event;

    memset(&every, 0, sizeof(every));
    every.it_value.tv_nsec = every.it_interval.tv_nsec = TICK_MS * 1000000L;
    p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    timerfd_settime(p->timer_fd, 0, &every, NULL);
    event.events = EPOLLIN;
    event.data.ptr = &p->timer_fd;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, p->timer_fd, &event);
}

/* ---- setting up ---- */

/* Calls can be made at once: they wait for the link, and are answered in this order. */
static void open_client(struct program *p, const char *servers)
{
    struct pawl_client_options options;
    struct pawl_watch watch;

    pawl_client_options_init(&options);
    options.servers = servers;
    options.dispatch = PAWL_DISPATCH_EXTERNAL;
    must(pawl_client_open(&options, &p->client), "open");
    watch.fn = on_change;
    watch.arg = p;
    must(pawl_create_async(p->client, PAWL_CREATE(.path = "/counter", .mode = PAWL_MODE_EPHEMERAL),
                           on_answer, "create"),
         "create");
    must(pawl_watch_async(p->client, "/counter", PAWL_WATCH_PERSISTENT, &watch, on_answer, "watch"),
         "watch");
}

static void run(struct program *p, int epoll_fd)
{
    struct epoll_event events[8];
    int i, n;

    while (p->running) {
        n = epoll_wait(epoll_fd, events, 8, pawl_epoll_timeout(&p->adapter, -1));
        for (i = 0; i < n; i++) {
            if (events[i].data.ptr == &p->timer_fd) {
                on_timer(p);
            }
        }
        must(pawl_epoll_process(&p->adapter, events, n), "process");
    }
}

int main(int argc, char **argv)
{
    struct pawl_server *server;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct program p;

    check_arguments(argc, argv, 1, "client_epoll" USAGE_SERVERS);
    server = argc > 1 ? NULL : start_server();
    memset(&p, 0, sizeof(p));
    p.running = 1;
    open_client(&p, argc > 1 ? argv[1] : pawl_server_address(server));
    must(pawl_epoll_start(&p.adapter, epoll_fd, p.client), "epoll");
    add_timer(&p, epoll_fd);
    run(&p, epoll_fd);
    pawl_epoll_stop(&p.adapter);
    pawl_client_close(p.client);
    close(p.timer_fd);
    close(epoll_fd);
    printf("%d changes seen\n", p.n_seen);
    pawl_server_stop(server);
    return 0;
}
