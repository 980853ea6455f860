/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/dialler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "os/dial.h"

enum { DIALLER_TARGETS = 32, DIALLER_ADDRESSES = 32 };

/* A socket that is being connected: its poll handle outlives it by a turn of the loop. */
struct attempt {
    uv_poll_t poll;
    struct dialler *dialler;
    int fd;
};

enum dialler_state { RESTING, RESOLVING, CONNECTING };

struct dialler {
    uv_loop_t *loop;
    dialled_fn done;
    void *arg;
    enum dialler_state state;
    uv_timer_t timer;    /* the time of an address, or of a name */
    uv_async_t resolved; /* from the thread that looks up */
    int n_open;          /* of these two handles */

    char *host[DIALLER_TARGETS];
    int port[DIALLER_TARGETS];
    size_t n_targets, next_target;
    struct address addresses[DIALLER_ADDRESSES];
    size_t n_addresses, next_address;
    int timeout_ms;
    struct lookup *lookup;
    struct attempt *attempt;
    int error;
    bool all_refused;
};

static const uint8_t dialler_may_follow[] = {
    [RESTING] = 1 << RESOLVING,
    [RESOLVING] = 1 << RESOLVING | 1 << CONNECTING | 1 << RESTING,
    [CONNECTING] = 1 << RESOLVING | 1 << RESTING,
};

static void dialler_move(struct dialler *d, enum dialler_state next)
{
    ASSERT(dialler_may_follow[d->state] & 1 << next);
    d->state = next;
    ASSERT((d->attempt != NULL) == (next == CONNECTING));
    ASSERT(d->lookup == NULL || next == RESOLVING);
}

static void dialler_next(struct dialler *d);

/* --- ending things --- */

static void dialler_attempt_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* The socket is the caller's from here on. */
static int dialler_end_attempt(struct dialler *d)
{
    struct attempt *a = d->attempt;
    int fd = a->fd;

    d->attempt = NULL;
    uv_poll_stop(&a->poll);
    uv_close((uv_handle_t *)&a->poll, dialler_attempt_closed);
    return fd;
}

static void dialler_end_all(struct dialler *d)
{
    uv_timer_stop(&d->timer);
    lookup_free(d->lookup);
    d->lookup = NULL;
    if (d->attempt != NULL) {
        close(dialler_end_attempt(d));
    }
    for (size_t i = 0; i < d->n_targets; i++) {
        free(d->host[i]);
    }
    d->n_targets = 0;
}

static void dialler_finish(struct dialler *d, int fd)
{
    int error = d->all_refused ? ECONNREFUSED : d->error;

    dialler_end_all(d);
    dialler_move(d, RESTING);
    d->done(d->arg, fd, fd >= 0 ? 0 : error);
}

static void dialler_note(struct dialler *d, int error)
{
    d->error = error;
    d->all_refused = d->all_refused && error == ECONNREFUSED;
}

/* --- one after the other --- */

static void dialler_decided(uv_poll_t *poll, int status, int events)
{
    struct attempt *a = poll->data;
    struct dialler *d = a->dialler;
    int error = dial_result(a->fd); /* libuv reports whatever it was as EBADF */
    int fd = dialler_end_attempt(d);

    (void)events;
    error = error == 0 && status < 0 ? EIO : error;
    if (error == 0) {
        dialler_finish(d, fd);
        return;
    }
    close(fd);
    dialler_note(d, error);
    dialler_move(d, RESOLVING);
    dialler_next(d);
}

static void dialler_too_late(uv_timer_t *timer)
{
    struct dialler *d = timer->data;

    dialler_note(d, ETIMEDOUT);
    if (d->attempt != NULL) {
        close(dialler_end_attempt(d));
    }
    lookup_free(d->lookup);
    d->lookup = NULL;
    dialler_move(d, RESOLVING);
    dialler_next(d);
}

static void dialler_begin(uv_timer_t *timer)
{
    dialler_next(timer->data);
}

/* Called on the thread that looks up. */
static void dialler_wake(void *arg)
{
    struct dialler *d = arg;

    uv_async_send(&d->resolved);
}

static void dialler_resolved(uv_async_t *async)
{
    struct dialler *d = async->data;

    if (d->lookup == NULL || !lookup_is_done(d->lookup)) {
        return;
    }
    d->next_address = 0;
    d->n_addresses = lookup_addresses(d->lookup, d->addresses, DIALLER_ADDRESSES);
    lookup_free(d->lookup);
    d->lookup = NULL;
    if (d->n_addresses == 0) {
        dialler_note(d, ENOENT);
    }
    dialler_next(d);
}

/* True when something is under way. */
static bool dialler_connect(struct dialler *d)
{
    int fd = dial_start(&d->addresses[d->next_address++]);

    if (fd < 0) {
        dialler_note(d, errno);
        return false;
    }
    d->attempt = must_zalloc(sizeof(*d->attempt));
    d->attempt->dialler = d;
    d->attempt->fd = fd;
    uv_poll_init(d->loop, &d->attempt->poll, fd);
    d->attempt->poll.data = d->attempt;
    uv_poll_start(&d->attempt->poll, UV_WRITABLE, dialler_decided);
    dialler_move(d, CONNECTING);
    return true;
}

static bool dialler_resolve(struct dialler *d)
{
    size_t i = d->next_target++;

    d->next_address = d->n_addresses = 0;
    if (address_plain(d->host[i], d->port[i], &d->addresses[0]) == 1) {
        d->n_addresses = 1;
        return false;
    }
    d->lookup = lookup_start(d->host[i], d->port[i], dialler_wake, d);
    if (d->lookup == NULL) {
        dialler_note(d, ENOMEM);
    }
    return d->lookup != NULL;
}

static void dialler_next(struct dialler *d)
{
    bool under_way = false;

    while (!under_way && (d->next_address < d->n_addresses || d->next_target < d->n_targets)) {
        under_way = d->next_address < d->n_addresses ? dialler_connect(d) : dialler_resolve(d);
    }
    if (under_way) {
        uv_timer_start(&d->timer, dialler_too_late, (uint64_t)d->timeout_ms, 0);
    } else {
        dialler_finish(d, -1);
    }
}

/* --- life --- */

struct dialler *dialler_new(uv_loop_t *loop, dialled_fn done, void *arg)
{
    struct dialler *d = must_zalloc(sizeof(*d));

    d->loop = loop;
    d->done = done;
    d->arg = arg;
    d->n_open = 2;
    uv_timer_init(loop, &d->timer);
    uv_async_init(loop, &d->resolved, dialler_resolved);
    d->timer.data = d->resolved.data = d;
    return d;
}

static void dialler_handle_closed(uv_handle_t *handle)
{
    struct dialler *d = handle->data;

    if (--d->n_open == 0) {
        free(d);
    }
}

void dialler_free(struct dialler *d)
{
    dialler_end_all(d);
    uv_close((uv_handle_t *)&d->timer, dialler_handle_closed);
    uv_close((uv_handle_t *)&d->resolved, dialler_handle_closed);
}

void dialler_start(struct dialler *d, const struct dialler_target *targets, size_t n,
                   int timeout_ms)
{
    ASSERT(n > 0);
    d->n_targets = n < DIALLER_TARGETS ? n : DIALLER_TARGETS;
    for (size_t i = 0; i < d->n_targets; i++) {
        d->host[i] = must_strdup(targets[i].host);
        d->port[i] = targets[i].port;
    }
    d->next_target = d->next_address = d->n_addresses = 0;
    d->timeout_ms = timeout_ms;
    d->error = 0;
    d->all_refused = true;
    dialler_move(d, RESOLVING);
    uv_timer_start(&d->timer, dialler_begin, 0, 0); /* done() is not to be called from here */
}

bool dialler_is_busy(const struct dialler *d)
{
    return d->state != RESTING;
}

void dialler_cancel(struct dialler *d)
{
    if (dialler_is_busy(d)) {
        dialler_end_all(d);
        dialler_move(d, RESTING);
    }
}

const char *dialler_strerror(int error)
{
    return error == ENOENT ? "its name has no address" : strerror(error);
}
