/* SPDX-License-Identifier: Apache-2.0 */
/* sync.c - waiting for an answer; the caller who waits first reads for all. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client/internal.h"

enum { DRIVER_BYTES = 4096, SLICE_MS = 1000, LOOP_MS = 10 };

void waiter_init(struct waiter *w)
{
    pthread_condattr_t attr;

    *w = (struct waiter){.doomed_fd = -1};
    list_init(&w->link);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->cond, &attr);
    pthread_condattr_destroy(&attr);
}

void waiter_fini(struct waiter *w)
{
    pthread_cond_destroy(&w->cond);
}

static int64_t left_ms(int64_t deadline_ms)
{
    return deadline_ms == 0 ? INT32_MAX : deadline_ms - engine_now_ms();
}

/* Receives without the lock: into memory of our own, since the core's may go with its link. */
static ssize_t receive(struct engine *e, struct waiter *w, int64_t left, uint8_t *data, size_t len)
{
    struct pollfd p[2] = {{.fd = e->fd, .events = POLLIN}, {.fd = e->kick_fd, .events = POLLIN}};
    uint64_t kicks;
    ssize_t n;
    int error;

    w->receiving = true;
    w->fd = e->fd;
    pthread_mutex_unlock(&e->lock);
    if (left >= SLICE_MS && !w->kickable) {
        n = recv(p[0].fd, data, len, 0);
    } else {
        left = left < 0 ? 0 : left > SLICE_MS ? SLICE_MS : left;
        poll(p, w->kickable ? 2 : 1, (int)left);
        if ((p[1].revents & POLLIN) != 0) {
            (void)!read(p[1].fd, &kicks, sizeof(kicks));
        }
        n = recv(p[0].fd, data, len, MSG_DONTWAIT);
    }
    error = errno;
    pthread_mutex_lock(&e->lock);
    w->receiving = false;
    if (w->doomed_fd >= 0) {
        close(w->doomed_fd);
        w->doomed_fd = -1;
    }
    errno = error;
    return n;
}

static void drive(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    uint64_t link = e->link_number;
    uint8_t data[DRIVER_BYTES];

    e->driver = w;
    link_arm(e);
    while (!w->done && e->link_number == link) {
        int64_t left = left_ms(deadline_ms), now;
        ssize_t n;
        int error;

        if (left <= 0) {
            break;
        }
        n = receive(e, w, left, data, sizeof(data));
        error = errno;
        now = engine_now_ms();

        if (e->link_number != link) {
            break;
        }
        if (n > 0) {
            engine_feed(e, now, data, (size_t)n);
            if ((size_t)n == sizeof(data)) {
                engine_read(e, now);
            }
        } else if (n == 0 || (error != EAGAIN && error != EWOULDBLOCK && error != EINTR)) {
            engine_link_failed(e, now);
        }
        engine_settle(e, now);
    }
}

/* Another caller who still waits goes on reading; without one the I/O thread does. */
static void pass_on(struct engine *e, struct waiter *w)
{
    struct list *item;

    if (e->driver != w) {
        return;
    }
    e->driver = NULL;
    list_for_each (item, &e->waiters) {
        struct waiter *next = container_of(item, struct waiter, link);

        if (next != w && !next->done) {
            e->driver = next;
            pthread_cond_signal(&next->cond);
            break;
        }
    }
    link_arm(e);
}

static bool can_drive(const struct engine *e, const struct waiter *w)
{
    return (e->driver == NULL || e->driver == w) && e->fd >= 0 && !e->dialing &&
           e->core->link == LINK_READY;
}

void waiter_claim(struct engine *e, struct waiter *w)
{
    if (e->mode != PAWL_DISPATCH_EXTERNAL && e->driver == NULL && can_drive(e, w)) {
        e->driver = w;
    }
}

static void sleep_until(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    struct timespec t = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};

    if (deadline_ms == 0) {
        pthread_cond_wait(&w->cond, &e->lock);
    } else {
        pthread_cond_timedwait(&w->cond, &e->lock, &t);
    }
}

/* Without threads of ours: a turn, but one thread at a time, since he who waits in epoll does not
 * notice that somebody else has taken his answer. Callbacks are the loop's: it is given a moment to
 * see that there are some before our turn takes the wake-up away from it. */
static void turn_for(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    bool is_loop = !e->has_loop || pthread_equal(e->loop, pthread_self()) != 0;
    int64_t left = left_ms(deadline_ms);

    if (e->in_turn) {
        sleep_until(e, w, deadline_ms);
        return;
    }
    if (!is_loop && !list_empty(&e->inbox)) {
        engine_wake(e);
        sleep_until(e, w, engine_now_ms() + (left < LOOP_MS ? left : LOOP_MS));
    }
    if (!w->done && !e->in_turn) {
        engine_turn(e, left < 0 ? 0 : left);
    }
}

bool waiter_wait(struct engine *e, struct waiter *w, int64_t deadline_ms)
{
    const struct log_target *before = logging_used();

    logging_use(&e->log_target);
    list_push_back(&e->waiters, &w->link);
    for (bool first = true; !w->done && (first || left_ms(deadline_ms) > 0); first = false) {
        if (e->mode == PAWL_DISPATCH_EXTERNAL) {
            turn_for(e, w, deadline_ms);
        } else if (can_drive(e, w)) {
            drive(e, w, deadline_ms);
        } else {
            if (e->driver == w) {
                e->driver = NULL; /* there is no link to read from */
                link_arm(e);
            }
            sleep_until(e, w, deadline_ms);
        }
    }
    list_remove(&w->link);
    pass_on(e, w);
    engine_tell_loop(e);
    logging_use(before);
    return w->done;
}

/* ---- the dispatch thread ---- */

/* A blocked caller reads faster for himself, and without answers to come there is nothing to read.
 */
static bool may_read(const struct engine *e)
{
    return !e->stop && e->core->n_calls > 0 && list_empty(&e->waiters) && can_drive(e, &e->reader);
}

bool reader_read(struct engine *e)
{
    int64_t now = engine_now_ms();

    if (!may_read(e)) {
        if (e->own_reads) {
            e->own_reads = false;
            engine_settle(e, now);
        }
        return !list_empty(&e->inbox);
    }
    if (!e->own_reads) {
        e->own_reads = true;
        e->watch_ms = now + OWN_READS_MS;
    }
    e->driver = &e->reader;
    e->reader.done = false;
    engine_settle(e, now); /* sends what the callbacks asked for */
    if (!e->reader.done) {
        drive(e, &e->reader, 0);
    }
    pass_on(e, &e->reader);
    return true;
}

void reader_tell(struct engine *e)
{
    if (e->driver == &e->reader && (!list_empty(&e->inbox) || e->core->n_calls == 0)) {
        e->reader.done = true;
        if (e->reader.receiving) {
            engine_kick(e);
        }
    }
}

struct barrier {
    struct engine *e;
    struct waiter w;
    int refs; /* guarded by the engine's lock: he who waits and the callback */
};

static void barrier_passed(const struct pawl_reply *reply, void *arg)
{
    struct barrier *b = arg;
    struct engine *e = b->e;
    bool last;

    (void)reply;
    pthread_mutex_lock(&e->lock);
    b->w.done = true;
    pthread_cond_signal(&b->w.cond);
    last = --b->refs == 0;
    pthread_mutex_unlock(&e->lock);
    if (last) {
        waiter_fini(&b->w);
        free(b);
    }
}

void engine_barrier(struct engine *e, int64_t deadline_ms)
{
    struct barrier *b;
    struct call *call;
    bool last;

    if (e->mode != PAWL_DISPATCH_THREAD || engine_is_dispatcher(e) || e->stop) {
        return;
    }
    b = calloc(1, sizeof(*b));
    call = call_new(0);
    if (b == NULL || call == NULL) {
        free(b);
        free(call);
        return;
    }
    waiter_init(&b->w);
    b->e = e;
    b->refs = 2;
    call->err = PAWL_ERR_NOTHING;
    call->done = barrier_passed;
    call->arg = b;
    list_push_back(&e->inbox, &call->item.link);
    if (e->dispatch_asleep) {
        e->dispatch_asleep = false;
        pthread_cond_signal(&e->inbox_filled);
    }
    reader_tell(e);
    while (!b->w.done && left_ms(deadline_ms) > 0) {
        sleep_until(e, &b->w, deadline_ms);
    }
    last = --b->refs == 0;
    if (last) {
        waiter_fini(&b->w);
        free(b);
    }
}
