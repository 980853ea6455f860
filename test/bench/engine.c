/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { MAX_EVENTS = 256, IN_BYTES = 65536, TICK_MS = 10 };

static uint64_t seconds_to_ns(double s)
{
    return (uint64_t)(s * 1e9);
}

static void snapshot_watch_open(struct load *l)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    const char *dir = l->options->snapshot_dir;

    l->snapshot.fd = -1;
    if (dir == NULL) {
        return;
    }
    l->snapshot.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (l->snapshot.fd < 0 ||
        inotify_add_watch(l->snapshot.fd, dir, IN_CREATE | IN_CLOSE_WRITE) < 0) {
        die("cannot watch %s: %s", dir, strerror(errno));
    }
    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->snapshot.fd, &event);
}

/* A snapshot is being written from the moment its file (under a temporary name or not) appears
 * until that file is closed. */
static void snapshot_watch_event(struct load *l, const struct inotify_event *event)
{
    struct snapshot_watch *w = &l->snapshot;

    if (event->len == 0 || strstr(event->name, "snapshot") == NULL) {
        return;
    }
    if (event->mask & IN_CREATE && !w->active) {
        w->active = 1;
        w->began_ns = clock_ns();
    } else if (event->mask & IN_CLOSE_WRITE && w->active) {
        w->active = 0;
        w->ended_ns = clock_ns();
        if (l->phase == PHASE_MEASURE && w->began_ns >= l->window_ns) {
            w->busy_ns += w->ended_ns - w->began_ns;
            w->n_done++;
        }
    }
}

static void snapshot_watch_read(struct load *l)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t len = read(l->snapshot.fd, buffer, sizeof(buffer));
    ssize_t at = 0;

    while (at < len) {
        const struct inotify_event *event = (const void *)(buffer + at);

        snapshot_watch_event(l, event);
        at += (ssize_t)(sizeof(*event) + event->len);
    }
}

static void handle_reply(struct load *l, struct conn *c, const struct reply *r)
{
    if (r->xid == XID_EVENT) {
        if (l->mode->event == NULL) {
            die("a watch event that nobody asked for");
        }
        l->mode->event(l, c);
        return;
    }
    if (r->xid != c->expected_xid) {
        die("connection %d: reply %d where %d was due", c->index, r->xid, c->expected_xid);
    }
    c->expected_xid++;
    l->mode->reply(l, c, r);
}

static void handle_conn(struct load *l, struct conn *c, uint32_t events)
{
    struct reply r;
    size_t at = 0;

    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        conn_read(c);
        l->now_ns = clock_ns();
        while (conn_next_reply(c, &at, &r)) {
            handle_reply(l, c, &r);
        }
        conn_consume(c, at);
    }
    conn_flush(c, l->epoll_fd);
}

static uint64_t servers_cpu_ns(const struct options *o)
{
    uint64_t sum_ns = 0;
    int i;

    for (i = 0; i < o->n_pids; i++) {
        sum_ns += process_cpu_ns(o->pids[i]);
    }
    return sum_ns;
}

static int window_is_over(const struct load *l)
{
    const struct options *o = l->options;
    uint64_t elapsed_ns = l->now_ns - l->window_ns;

    if (o->ops > 0) {
        return l->ops >= (uint64_t)o->ops || elapsed_ns >= seconds_to_ns(o->max_seconds);
    }
    if (elapsed_ns < seconds_to_ns(o->seconds)) {
        return 0;
    }
    return l->snapshot.n_done >= o->snapshots || elapsed_ns >= seconds_to_ns(o->max_seconds);
}

/* WARMUP -> MEASURE -> DONE, by the clock; a mode may also set DONE itself. */
static void advance_phase(struct load *l)
{
    l->now_ns = clock_ns();
    if (l->phase == PHASE_WARMUP &&
        l->now_ns - l->begin_ns >= seconds_to_ns(l->options->warmup_s)) {
        l->phase = PHASE_MEASURE;
        l->window_ns = l->now_ns;
        l->server_cpu_ns = servers_cpu_ns(l->options);
        l->own_cpu_ns = own_cpu_ns();
    } else if (l->phase == PHASE_MEASURE && window_is_over(l)) {
        l->phase = PHASE_DONE;
    }
}

static void loop(struct load *l)
{
    struct epoll_event events[MAX_EVENTS];

    l->begin_ns = clock_ns();
    l->now_ns = l->begin_ns;
    advance_phase(l);
    l->mode->start(l);
    while (l->phase != PHASE_DONE) {
        int n = epoll_wait(l->epoll_fd, events, MAX_EVENTS, TICK_MS);
        int i;

        for (i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL) {
                snapshot_watch_read(l);
            } else {
                handle_conn(l, events[i].data.ptr, events[i].events);
            }
        }
        advance_phase(l);
    }
    l->end_ns = clock_ns();
    l->server_cpu_ns = servers_cpu_ns(l->options) - l->server_cpu_ns;
    l->own_cpu_ns = own_cpu_ns() - l->own_cpu_ns;
}

static void print_latency(const char *suffix, const struct hist *h)
{
    printf(" p50%s_us=%.1f p99%s_us=%.1f p999%s_us=%.1f max%s_us=%.1f", suffix,
           (double)hist_quantile_ns(h, 0.5) / 1e3, suffix, (double)hist_quantile_ns(h, 0.99) / 1e3,
           suffix, (double)hist_quantile_ns(h, 0.999) / 1e3, suffix, (double)h->max_ns / 1e3);
}

static void report(const struct load *l)
{
    uint64_t span_ns = l->end_ns - l->window_ns;
    double ops = (double)l->ops;

    printf("mode=%s connections=%d outstanding=%d seconds=%.3f ops=%llu rate=%.1f", l->mode->name,
           l->n_conns, l->options->outstanding, (double)span_ns / 1e9, (unsigned long long)l->ops,
           ops * 1e9 / (double)(l->busy_ns > 0 ? l->busy_ns : span_ns));
    print_latency("", &l->latency);
    printf(" rate_window=%.1f load_cpu=%.3f", ops * 1e9 / (double)span_ns,
           (double)l->own_cpu_ns / (double)span_ns);
    if (l->options->n_pids > 0) {
        printf(" server_cpu=%.3f cpu_ms_per_100k=%.2f", (double)l->server_cpu_ns / (double)span_ns,
               l->ops > 0 ? (double)l->server_cpu_ns / 1e6 / ops * 1e5 : 0.0);
    }
    if (l->options->snapshot_dir != NULL) {
        printf(" snapshots=%d snapshot_seconds=%.3f snapshot_ops=%llu", l->snapshot.n_done,
               (double)l->snapshot.busy_ns / 1e9, (unsigned long long)l->latency_snapshot.count);
        print_latency("_snapshot", &l->latency_snapshot);
    }
    printf("\n");
}

int load_run(const struct mode *mode, const struct options *options, int n_conns)
{
    struct load *l = must_calloc(1, sizeof(*l));
    size_t out_cap =
        (size_t)options->outstanding * (FRAME_OVERHEAD_MAX + (size_t)options->data_bytes) +
        FRAME_OVERHEAD_MAX;
    int i;

    l->options = options;
    l->mode = mode;
    l->n_conns = n_conns;
    l->conns = must_calloc((size_t)n_conns, sizeof(*l->conns));
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    conn_open_all(l->conns, n_conns, &options->to, IN_BYTES, out_cap);
    mode->setup(l);
    for (i = 0; i < n_conns; i++) {
        if (options->to.n > 1) { /* the nodes were made through one of them */
            conn_sync(&l->conns[i]);
        }
        conn_go_async(&l->conns[i], l->epoll_fd);
    }
    snapshot_watch_open(l);
    loop(l);
    conn_close_all(l->conns, n_conns);
    report(l);
    free(l->state);
    free(l->conns);
    free(l);
    return 0;
}
