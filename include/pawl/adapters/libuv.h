/* SPDX-License-Identifier: Apache-2.0 */
/* libuv.h - a client inside a loop of libuv.
 *
 * For a client opened with PAWL_DISPATCH_EXTERNAL: it has no threads, its callbacks run on the
 * thread of the loop. While it is in the loop, uv_run() does not end.
 *
 *     struct pawl_uv pawl;
 *
 *     check(pawl_uv_start(&pawl, uv_default_loop(), client), "start");
 *     uv_run(uv_default_loop(), UV_RUN_DEFAULT);
 *
 * and, when it is no longer needed, from a callback or anywhere else on that thread:
 *
 *     pawl_uv_stop(&pawl, NULL);
 *     pawl_client_close(client);
 *
 * Other threads may use the client, too; pawl_uv_start() and pawl_uv_stop() are for the loop's. */
#ifndef PAWL_ADAPTERS_LIBUV_H
#define PAWL_ADAPTERS_LIBUV_H

#include <uv.h>

#include <pawl/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_uv;
typedef void (*pawl_uv_stopped_fn)(struct pawl_uv *a);

/* Yours to allocate, ours to fill. It has to live until `stopped`, as handles of libuv do. */
struct pawl_uv {
    struct pawl_client *client; /* NULL: stopped */
    uv_poll_t poll;
    uv_timer_t timer;
    uv_prepare_t prepare;
    int n_handles; /* of these three, not yet closed */
    int events;
    pawl_uv_stopped_fn stopped;
    void *data; /* yours */
};

static inline int pawl_uv_events(short wanted)
{
    /* Ours are the bits of poll(): POLLIN and POLLOUT are 1 and 4 wherever it is. */
    return ((wanted & 1) != 0 ? UV_READABLE : 0) | ((wanted & 4) != 0 ? UV_WRITABLE : 0);
}

static inline void pawl_uv_on_poll(uv_poll_t *handle, int status, int events)
{
    struct pawl_uv *a = (struct pawl_uv *)handle->data;
    int revents = ((events & UV_READABLE) != 0 ? 1 : 0) | ((events & UV_WRITABLE) != 0 ? 4 : 0);

    /* After an error the client finds out by itself what is wrong. */
    if (a->client != NULL) {
        (void)pawl_client_process(a->client, (short)(status < 0 ? 0 : revents));
    }
}

static inline void pawl_uv_on_timer(uv_timer_t *handle)
{
    struct pawl_uv *a = (struct pawl_uv *)handle->data;

    if (a->client != NULL) {
        (void)pawl_client_process(a->client, 0);
    }
}

static inline void pawl_uv_on_prepare(uv_prepare_t *handle)
{
    struct pawl_uv *a = (struct pawl_uv *)handle->data;
    short wanted;
    int fd, timeout_ms, events;

    /* Just before the loop sleeps, so that whatever was called since the last time counts. */
    if (a->client == NULL || pawl_client_interest(a->client, &fd, &wanted, &timeout_ms) != 0) {
        return;
    }
    events = pawl_uv_events(wanted);
    if (events != a->events && uv_poll_start(&a->poll, events, pawl_uv_on_poll) == 0) {
        a->events = events;
    }
    if (timeout_ms < 0) {
        uv_timer_stop(&a->timer);
    } else {
        uv_update_time(a->timer.loop);
        uv_timer_start(&a->timer, pawl_uv_on_timer, (uint64_t)timeout_ms, 0);
    }
}

static inline void pawl_uv_on_close(uv_handle_t *handle)
{
    struct pawl_uv *a = (struct pawl_uv *)handle->data;

    a->n_handles--;
    if (a->n_handles == 0 && a->stopped != NULL) {
        a->stopped(a);
    }
}

/* Adds `c` to the loop. INVALID_STATE if it was not opened with PAWL_DISPATCH_EXTERNAL, SYSTEM if
 * libuv does not take its descriptor; then there is nothing to stop. */
static inline int pawl_uv_start(struct pawl_uv *a, uv_loop_t *loop, struct pawl_client *c)
{
    short wanted;
    int fd, timeout_ms;
    int rc = pawl_client_interest(c, &fd, &wanted, &timeout_ms);

    a->client = NULL;
    if (rc != PAWL_OK) {
        return rc;
    }
    if (uv_poll_init(loop, &a->poll, fd) != 0) {
        return PAWL_ERR_SYSTEM;
    }
    /* These two cannot fail. They serve the client, and do not keep the loop alive by themselves.
     */
    uv_timer_init(loop, &a->timer);
    uv_prepare_init(loop, &a->prepare);
    uv_unref((uv_handle_t *)&a->timer);
    uv_unref((uv_handle_t *)&a->prepare);
    a->poll.data = a->timer.data = a->prepare.data = a;
    a->n_handles = 3;
    a->events = 0;
    a->stopped = NULL;
    a->client = c;
    uv_prepare_start(&a->prepare, pawl_uv_on_prepare);
    pawl_uv_on_prepare(&a->prepare);
    return PAWL_OK;
}

/* Takes the client out of the loop; to be done before it is closed. `stopped` (may be NULL) is
 * called by the loop when the struct is not in use any more. */
static inline void pawl_uv_stop(struct pawl_uv *a, pawl_uv_stopped_fn stopped)
{
    if (a->client == NULL) {
        return;
    }
    a->client = NULL;
    a->stopped = stopped;
    uv_close((uv_handle_t *)&a->poll, pawl_uv_on_close);
    uv_close((uv_handle_t *)&a->timer, pawl_uv_on_close);
    uv_close((uv_handle_t *)&a->prepare, pawl_uv_on_close);
}

#ifdef __cplusplus
}
#endif

#endif
