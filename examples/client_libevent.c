/* SPDX-License-Identifier: Apache-2.0 */
/* client_libevent.c - a client inside a loop of libevent, beside a timer of the program's own.
 *
 *   cc -std=c99 client_libevent.c $(pkg-config --cflags --libs pawl libevent_core)
 *   ./a.out [127.0.0.1:2181]        without an address: a server in memory, inside this program
 *
 * The client has no threads. The timer writes a counter every few milliseconds, a watch that stays
 * sees the changes, and everything happens on this one thread: no lock anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/adapters/libevent.h>
#include <pawl/pawl.h>

#include "usage.h"

enum { TICK_MS = 20, N_CHANGES = 3 };

struct program {
    struct pawl_client *client;
    struct pawl_libevent adapter;
    struct event *timer;
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

/* From a callback. Nothing keeps the loop busy afterwards, and event_base_dispatch() returns. */
static void finish(struct program *p)
{
    event_free(p->timer);
    pawl_libevent_stop(&p->adapter);
    pawl_client_close(p->client);
    p->client = NULL;
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

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    write_counter(arg);
}

static void add_timer(struct program *p, struct event_base *base)
{
    struct timeval every;

    every.tv_sec = 0;
    every.tv_usec = TICK_MS * 1000;
    p->timer = event_new(base, -1, EV_PERSIST, on_timer, p);
    event_add(p->timer, &every);
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

int main(int argc, char **argv)
{
    struct pawl_server *server;
    struct event_base *base = event_base_new();
    struct program p;

    check_arguments(argc, argv, 1, "client_libevent" USAGE_SERVERS);
    server = argc > 1 ? NULL : start_server();
    memset(&p, 0, sizeof(p));
    open_client(&p, argc > 1 ? argv[1] : pawl_server_address(server));
    must(pawl_libevent_start(&p.adapter, base, p.client), "libevent");
    add_timer(&p, base);
    event_base_dispatch(base);
    event_base_free(base);
    libevent_global_shutdown();
    printf("%d changes seen\n", p.n_seen);
    pawl_server_stop(server);
    return 0;
}
