/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/dialler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/memory.h"
#include "os/dial.h"

enum {
    DIALLER_TARGETS = 32,
    DIALLER_ADDRESSES = 64, /* of all names together */
    DIALLER_MOMENT_MS = 250,
};

/* A name that is being looked up, or a socket that is being connected. */
struct effort {
    struct list link;
    struct dialler *dialler;
    uint64_t deadline_ms;
    struct lookup *lookup; /* NULL: a socket, and */
    int fd;
    size_t target;  /* whose name or address it is */
    uv_poll_t poll; /* outlives the effort by a turn of the loop */
};

enum dialler_state { RESTING, DIALLING };

struct dialler {
    uv_loop_t *loop;
    dialled_fn done;
    void *arg;
    enum dialler_state state;
    uv_timer_t timer;    /* whichever is first: the next one's turn, the end of one's time */
    uv_async_t resolved; /* from a thread that looks up */
    int n_open;          /* of these two handles */

    char *host[DIALLER_TARGETS];
    int port[DIALLER_TARGETS];
    size_t n_targets, next_target;
    struct address addresses[DIALLER_ADDRESSES];
    size_t targets[DIALLER_ADDRESSES]; /* whose they are */
    size_t n_addresses, next_address;
    struct list efforts; /* that are under way */
    int timeout_ms;
    int error; /* ECONNREFUSED as long as nobody came to anything else */
};

static void dialler_move(struct dialler *d, enum dialler_state next)
{
    ASSERT(d->state != next);
    d->state = next;
    ASSERT(list_empty(&d->efforts));
}

static void dialler_next(struct dialler *d);

/* --- ending things --- */

static void effort_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* The socket, if it is one, is the caller's from here on. */
static int effort_end(struct effort *e)
{
    int fd = e->fd;

    list_remove(&e->link);
    if (e->lookup != NULL) {
        lookup_free(e->lookup);
        free(e);
        return -1;
    }
    uv_poll_stop(&e->poll);
    uv_close((uv_handle_t *)&e->poll, effort_closed);
    return fd;
}

static void effort_drop(struct effort *e)
{
    int fd = effort_end(e);

    if (fd >= 0) {
        close(fd);
    }
}

static void dialler_end_all(struct dialler *d)
{
    uv_timer_stop(&d->timer);
    while (!list_empty(&d->efforts)) {
        effort_drop(container_of(d->efforts.next, struct effort, link));
    }
    for (size_t i = 0; i < d->n_targets; i++) {
        free(d->host[i]);
    }
    d->n_targets = 0;
}

static void dialler_finish(struct dialler *d, int fd, size_t target)
{
    char *host = fd >= 0 ? must_strdup(d->host[target]) : NULL;
    int error = d->error;

    dialler_end_all(d);
    dialler_move(d, RESTING);
    d->done(d->arg, fd, host, fd >= 0 ? 0 : error);
    free(host);
}

/* A refusal means that nobody is there, which one address cannot say for the others: it never
 * takes the place of a silence, whichever came last. */
static void dialler_note(struct dialler *d, int error)
{
    if (error != ECONNREFUSED) {
        d->error = error;
    }
}

/* --- what efforts come to --- */

static void effort_decided(uv_poll_t *poll, int status, int events)
{
    struct effort *e = poll->data;
    struct dialler *d = e->dialler;
    int error = dial_result(e->fd); /* libuv reports whatever it was as EBADF */

    (void)events;
    error = error == 0 && status < 0 ? EIO : error;
    if (error == 0) {
        size_t target = e->target;

        dialler_finish(d, effort_end(e), target);
        return;
    }
    effort_drop(e);
    dialler_note(d, error);
    dialler_next(d);
}

static void effort_found(struct effort *e)
{
    struct dialler *d = e->dialler;
    size_t n = lookup_addresses(e->lookup, d->addresses + d->n_addresses,
                                DIALLER_ADDRESSES - d->n_addresses);

    for (size_t i = 0; i < n; i++) {
        d->targets[d->n_addresses + i] = e->target;
    }
    d->n_addresses += n;
    if (n == 0) {
        dialler_note(d, ENOENT);
    }
    effort_drop(e);
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
    struct list *item, *next;
    bool found = false;

    for (item = d->efforts.next; item != &d->efforts; item = next) {
        struct effort *e = container_of(item, struct effort, link);

        next = item->next;
        if (e->lookup != NULL && lookup_is_done(e->lookup)) {
            effort_found(e);
            found = true;
        }
    }
    if (found) {
        dialler_next(d);
    }
}

/* --- one after the other --- */

static struct effort *effort_new(struct dialler *d)
{
    struct effort *e = must_zalloc(sizeof(*e));

    e->dialler = d;
    e->fd = -1;
    e->deadline_ms = uv_now(d->loop) + (uint64_t)d->timeout_ms;
    list_push_back(&d->efforts, &e->link);
    return e;
}

/* True when something is under way. */
static bool dialler_connect(struct dialler *d)
{
    size_t i = d->next_address++;
    int fd = dial_start(&d->addresses[i]);
    struct effort *e;

    if (fd < 0) {
        dialler_note(d, errno);
        return false;
    }
    e = effort_new(d);
    e->fd = fd;
    e->target = d->targets[i];
    uv_poll_init(d->loop, &e->poll, fd);
    e->poll.data = e;
    uv_poll_start(&e->poll, UV_WRITABLE, effort_decided);
    return true;
}

static bool dialler_resolve(struct dialler *d)
{
    size_t i = d->next_target++;
    struct lookup *lookup;
    struct effort *e;

    if (d->n_addresses < DIALLER_ADDRESSES &&
        address_plain(d->host[i], d->port[i], &d->addresses[d->n_addresses]) == 1) {
        d->targets[d->n_addresses++] = i;
        return false;
    }
    lookup = lookup_start(d->host[i], d->port[i], dialler_wake, d);
    if (lookup == NULL) {
        dialler_note(d, ENOMEM);
        return false;
    }
    e = effort_new(d);
    e->lookup = lookup;
    e->target = i;
    return true;
}

static bool dialler_has_next(const struct dialler *d)
{
    return d->next_address < d->n_addresses || d->next_target < d->n_targets;
}

static void dialler_too_late(struct dialler *d)
{
    struct list *item, *next;

    for (item = d->efforts.next; item != &d->efforts; item = next) {
        struct effort *e = container_of(item, struct effort, link);

        next = item->next;
        if (uv_now(d->loop) >= e->deadline_ms) {
            effort_drop(e);
            dialler_note(d, ETIMEDOUT);
        }
    }
}

static void dialler_on_timer(uv_timer_t *timer)
{
    struct dialler *d = timer->data;

    dialler_too_late(d);
    dialler_next(d);
}

/* Efforts have all the same time, so the oldest ends first. */
static void dialler_plan(struct dialler *d)
{
    struct effort *oldest = container_of(d->efforts.next, struct effort, link);
    uint64_t now_ms = uv_now(d->loop);
    uint64_t left_ms = oldest->deadline_ms > now_ms ? oldest->deadline_ms - now_ms : 0;

    if (dialler_has_next(d) && left_ms > DIALLER_MOMENT_MS) {
        left_ms = DIALLER_MOMENT_MS;
    }
    uv_timer_start(&d->timer, dialler_on_timer, left_ms, 0);
}

static void dialler_next(struct dialler *d)
{
    bool begun = false;

    while (!begun && dialler_has_next(d)) {
        begun = d->next_address < d->n_addresses ? dialler_connect(d) : dialler_resolve(d);
    }
    if (list_empty(&d->efforts)) {
        dialler_finish(d, -1, 0);
    } else {
        dialler_plan(d);
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
    list_init(&d->efforts);
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

void dialler_start(struct dialler *d, const struct net_address *addresses, size_t n, int timeout_ms)
{
    d->n_targets = n < DIALLER_TARGETS ? n : DIALLER_TARGETS;
    for (size_t i = 0; i < d->n_targets; i++) {
        d->host[i] = must_strdup(addresses[i].host);
        d->port[i] = addresses[i].port;
    }
    d->next_target = d->next_address = d->n_addresses = 0;
    d->timeout_ms = timeout_ms;
    d->error = n > 0 && n == d->n_targets ? ECONNREFUSED : ENOENT;
    dialler_move(d, DIALLING);
    uv_timer_start(&d->timer, dialler_on_timer, 0, 0); /* done() is not to be called from here */
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
