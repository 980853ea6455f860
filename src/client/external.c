/* SPDX-License-Identifier: Apache-2.0 */
/* external.c - driven by somebody else's loop, or with callbacks run by the caller. */
#include <poll.h>

#include "client/internal.h"

int pawl_client_interest(struct pawl_client *c, int *fd, short *events, int *timeout_ms)
{
    int rc = client_check(c);
    struct engine *e;
    int64_t wait;

    if (rc != 0 || c->e->mode != PAWL_DISPATCH_EXTERNAL) {
        return rc != 0 ? rc : PAWL_ERR_INVALID_STATE;
    }
    e = c->e;
    pthread_mutex_lock(&e->lock);
    wait = list_empty(&e->inbox) ? engine_wait_ms(e, engine_now_ms()) : 0;
    *fd = e->epoll_fd;
    *events = POLLIN;
    *timeout_ms = wait > INT32_MAX ? INT32_MAX : (int)wait;
    pthread_mutex_unlock(&e->lock);
    return 0;
}

/* The turn itself never blocks; the descriptor has said what there is, and epoll says it again. */
int pawl_client_process(struct pawl_client *c, short revents)
{
    int rc = client_check(c);
    struct engine *e;

    (void)revents;
    if (rc != 0 || c->e->mode != PAWL_DISPATCH_EXTERNAL) {
        return rc != 0 ? rc : PAWL_ERR_INVALID_STATE;
    }
    e = c->e;
    engine_ref(e);
    pthread_mutex_lock(&e->lock);
    if (engine_is_dispatcher(e)) {
        rc = PAWL_ERR_WOULD_DEADLOCK;
    } else {
        e->has_loop = true;
        e->loop = pthread_self();
        if (!e->in_turn) { /* else a thread that waits for its answer does what there is */
            engine_turn(e, 0);
        }
        dispatch_run(e);
        if (!e->stop) {
            engine_settle(e, engine_now_ms());
        }
    }
    pthread_mutex_unlock(&e->lock);
    engine_unref(e);
    return rc;
}

int pawl_client_dispatch(struct pawl_client *c, int timeout_ms)
{
    int64_t deadline = engine_now_ms() + (timeout_ms < 0 ? INT32_MAX : timeout_ms);
    int rc = client_check(c);
    struct engine *e;

    if (rc != 0 || c->e->mode != PAWL_DISPATCH_POLLED) {
        return rc != 0 ? rc : PAWL_ERR_INVALID_STATE;
    }
    e = c->e;
    engine_ref(e);
    pthread_mutex_lock(&e->lock);
    e->n_pollers++;
    while (list_empty(&e->inbox) && !e->stop && !e->dispatching && engine_now_ms() < deadline) {
        struct timespec t = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

        e->dispatch_asleep = true;
        pthread_cond_timedwait(&e->inbox_filled, &e->lock, &t);
    }
    e->dispatch_asleep = --e->n_pollers > 0; /* another one may still sleep */
    rc = dispatch_run(e);
    pthread_mutex_unlock(&e->lock);
    engine_unref(e);
    return rc;
}
