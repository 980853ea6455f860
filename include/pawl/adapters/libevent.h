/* SPDX-License-Identifier: Apache-2.0 */
/* libevent.h - a client inside a loop of libevent 2.
 *
 * For a client opened with PAWL_DISPATCH_EXTERNAL: it has no threads, its callbacks run on the
 * thread of the loop. While it is in the loop, event_base_dispatch() does not end.
 *
 *     struct pawl_libevent pawl;
 *
 *     check(pawl_libevent_start(&pawl, base, client), "start");
 *     event_base_dispatch(base);
 *
 * and, when it is no longer needed, from a callback or anywhere else on that thread:
 *
 *     pawl_libevent_stop(&pawl);
 *     pawl_client_close(client);
 *
 * Other threads may use the client, too; pawl_libevent_start() and pawl_libevent_stop() are for the
 * loop's. Of a base with priorities it uses the one in the middle, as events do. */
#ifndef PAWL_ADAPTERS_LIBEVENT_H
#define PAWL_ADAPTERS_LIBEVENT_H

#include <event2/event.h>

#include <pawl/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Yours to allocate, ours to fill. It has to live until the callback in which it was stopped has
 * returned. */
struct pawl_libevent {
    struct pawl_client *client; /* NULL: stopped */
    struct event_base *base;
    struct event *event;
    short events; /* that `event` is for */
};

static inline void pawl_libevent_on_event(evutil_socket_t fd, short what, void *arg);

static inline int pawl_libevent_arm(struct pawl_libevent *a)
{
    /* Waits for what the client wants now. The event does not persist: its timeout is another one
     * each time. */
    struct timeval timeout;
    short wanted, events;
    int fd, timeout_ms;
    int rc = pawl_client_interest(a->client, &fd, &wanted, &timeout_ms);

    if (rc != PAWL_OK) {
        return rc;
    }
    /* POLLIN and POLLOUT, which are 1 and 4 wherever poll() is. */
    events = (short)(((wanted & 1) != 0 ? EV_READ : 0) | ((wanted & 4) != 0 ? EV_WRITE : 0));
    if (a->event == NULL) {
        a->event = event_new(a->base, fd, events, pawl_libevent_on_event, a);
        if (a->event == NULL) {
            return PAWL_ERR_NO_MEMORY;
        }
    } else if (events != a->events) {
        event_del(a->event);
        event_assign(a->event, a->base, fd, events, pawl_libevent_on_event, a);
    }
    a->events = events;
    timeout.tv_sec = timeout_ms / 1000;
    timeout.tv_usec = timeout_ms % 1000 * 1000;
    return event_add(a->event, timeout_ms < 0 ? NULL : &timeout) == 0 ? PAWL_OK : PAWL_ERR_SYSTEM;
}

static inline void pawl_libevent_on_event(evutil_socket_t fd, short what, void *arg)
{
    struct pawl_libevent *a = (struct pawl_libevent *)arg;

    (void)fd;
    if (a->client == NULL) {
        return;
    }
    (void)pawl_client_process(
        a->client, (short)(((what & EV_READ) != 0 ? 1 : 0) | ((what & EV_WRITE) != 0 ? 4 : 0)));
    if (a->client != NULL) { /* a callback may have stopped it */
        (void)pawl_libevent_arm(a);
    }
}

/* Adds `c` to the loop. INVALID_STATE if it was not opened with PAWL_DISPATCH_EXTERNAL, NO_MEMORY
 * or SYSTEM if libevent does not take it; then there is nothing to stop. */
static inline int pawl_libevent_start(struct pawl_libevent *a, struct event_base *base,
                                      struct pawl_client *c)
{
    int rc;

    a->client = c;
    a->base = base;
    a->event = NULL;
    rc = pawl_libevent_arm(a);
    if (rc != PAWL_OK) {
        if (a->event != NULL) {
            event_free(a->event);
        }
        a->client = NULL;
    }
    return rc;
}

/* Takes the client out of the loop; to be done before it is closed. */
static inline void pawl_libevent_stop(struct pawl_libevent *a)
{
    if (a->client != NULL) {
        event_free(a->event);
        a->client = NULL;
    }
}

#ifdef __cplusplus
}
#endif

#endif
