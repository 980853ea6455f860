/* SPDX-License-Identifier: Apache-2.0 */
/* epoll.h - a client inside a loop of your own around epoll_wait().
 *
 * For a client opened with PAWL_DISPATCH_EXTERNAL: it has no threads, its callbacks run inside
 * pawl_epoll_process(), on the thread of your loop.
 *
 *     struct epoll_event events[16];
 *     struct pawl_epoll pawl;
 *     int i, n;
 *
 *     check(pawl_epoll_start(&pawl, epoll_fd, client), "start");
 *     while (running) {
 *         n = epoll_wait(epoll_fd, events, 16, pawl_epoll_timeout(&pawl, my_timeout_ms));
 *         for (i = 0; i < n; i++) {
 *             if (events[i].data.ptr != &pawl) {
 *                 mine(&events[i]);
 *             }
 *         }
 *         check(pawl_epoll_process(&pawl, events, n), "process");
 *     }
 *     pawl_epoll_stop(&pawl);
 *     pawl_client_close(client);
 *
 * Stopping and closing from inside a callback is allowed; the struct has to live until
 * pawl_epoll_process() has returned. */
#ifndef PAWL_ADAPTERS_EPOLL_H
#define PAWL_ADAPTERS_EPOLL_H

#include <sys/epoll.h>

#include <pawl/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Yours to allocate, ours to fill. Its address is what epoll gives back as data.ptr. */
struct pawl_epoll {
    struct pawl_client *client; /* NULL: stopped */
    int epoll_fd;
    int fd;
    unsigned events;
};

static inline int pawl_epoll_control(struct pawl_epoll *a, int operation, unsigned events)
{
    struct epoll_event event;

    /* The bits of poll() and epoll that are used here have the same values. */
    event.events = events;
    event.data.ptr = a;
    a->events = events;
    return epoll_ctl(a->epoll_fd, operation, a->fd, &event) == 0 ? PAWL_OK : PAWL_ERR_SYSTEM;
}

/* Adds `c` to the loop. INVALID_STATE if it was not opened with PAWL_DISPATCH_EXTERNAL, SYSTEM (see
 * errno) if epoll does not take it. */
static inline int pawl_epoll_start(struct pawl_epoll *a, int epoll_fd, struct pawl_client *c)
{
    short events;
    int timeout_ms;
    int rc = pawl_client_interest(c, &a->fd, &events, &timeout_ms);

    a->client = NULL;
    a->epoll_fd = epoll_fd;
    if (rc != PAWL_OK) {
        return rc;
    }
    rc = pawl_epoll_control(a, EPOLL_CTL_ADD, (unsigned)events);
    if (rc == PAWL_OK) {
        a->client = c;
    }
    return rc;
}

/* How long epoll_wait() may sleep: `timeout_ms` (-1: for ever), or less if the client has something
 * to do before. */
static inline int pawl_epoll_timeout(struct pawl_epoll *a, int timeout_ms)
{
    short events;
    int fd, wait_ms;

    if (a->client == NULL || pawl_client_interest(a->client, &fd, &events, &wait_ms) != PAWL_OK) {
        return timeout_ms;
    }
    if ((unsigned)events != a->events) {
        (void)pawl_epoll_control(a, EPOLL_CTL_MOD, (unsigned)events);
    }
    if (wait_ms < 0 || (timeout_ms >= 0 && timeout_ms < wait_ms)) {
        return timeout_ms;
    }
    return wait_ms;
}

/* After every epoll_wait(), with what it gave: does the client's work if there is any, and runs its
 * callbacks. Returns what pawl_client_process() does. */
static inline int pawl_epoll_process(struct pawl_epoll *a, const struct epoll_event *events, int n)
{
    unsigned ready = 0;
    int i;

    for (i = 0; i < n; i++) {
        if (events[i].data.ptr == a) {
            ready = events[i].events;
        }
    }
    if (a->client == NULL || (ready == 0 && pawl_epoll_timeout(a, -1) != 0)) {
        return PAWL_OK;
    }
    return pawl_client_process(a->client, (short)ready);
}

/* Takes the client out of the loop; to be done before it is closed. */
static inline void pawl_epoll_stop(struct pawl_epoll *a)
{
    if (a->client != NULL) {
        (void)pawl_epoll_control(a, EPOLL_CTL_DEL, 0);
        a->client = NULL;
    }
}

#ifdef __cplusplus
}
#endif

#endif
