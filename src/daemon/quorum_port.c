/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/quorum_port.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "os/dial.h"
#include "os/socket.h"
#include "pawl/error.h"

enum { AGAIN_MS = 1000, KNOWN_MAX = 16 };

/* One of the server's own addresses. */
struct own_place {
    char *host; /* NULL: all */
    int port;
    struct address known[KNOWN_MAX]; /* what the name stands for */
    size_t n_known;
    struct lookup *lookup; /* that is under way */
    int fd;                /* -1: it is not ours */
    bool is_taken;         /* somebody has it */
    bool is_reported;
};

struct quorum_port {
    quorum_port_held_fn held;
    void *arg;
    struct own_place places[QUORUM_PORT_ADDRESSES];
    size_t n_places;
    int number;
    bool was_held;
    uv_timer_t again;
    uv_async_t found; /* from a thread that looks up */
    int n_handles;
};

/* ---- one address ---- */

static void place_report(struct own_place *l)
{
    if (!l->is_reported) {
        l->is_reported = true;
        log_error("the quorum port: %s. Without it this server can follow, but must not lead: it "
                  "votes for another one, and tries again every second",
                  l->n_known > 0 ? socket_last_error() : "its name has no address");
    }
}

/* Learners try all addresses of a name: it is not enough that one of them is free. */
static void place_try(struct quorum_port *p, struct own_place *l)
{
    int rc = PAWL_ERR_ADDRESS;

    l->is_taken = false;
    for (size_t i = 0; i < l->n_known && rc != PAWL_OK && !l->is_taken; i++) {
        rc = socket_hold(&l->known[i], &l->fd, &p->number);
        l->is_taken = rc == PAWL_ERR_BUSY;
    }
    if (rc != PAWL_OK) {
        place_report(l);
    } else if (l->is_reported) {
        l->is_reported = false;
        log_info("the quorum port %d is this server's now", p->number);
    }
}

static void place_give_up(struct own_place *l)
{
    close(l->fd);
    l->fd = -1;
}

static void wake_up(void *arg)
{
    struct quorum_port *p = arg;

    uv_async_send(&p->found);
}

/* What is taken is so under the address that is known. Else it may have become another one. */
static void place_try_again(struct quorum_port *p, struct own_place *l)
{
    struct address plain;

    if (l->is_taken || l->host == NULL || address_plain(l->host, l->port, &plain) == 1) {
        place_try(p, l);
    } else if (l->lookup == NULL) {
        l->lookup = lookup_start(l->host, l->port, wake_up, p);
    }
}

static void place_found(struct quorum_port *p, struct own_place *l)
{
    l->n_known = lookup_addresses(l->lookup, l->known, KNOWN_MAX);
    socket_sort_own(l->known, l->n_known);
    lookup_free(l->lookup);
    l->lookup = NULL;
    place_try(p, l);
}

/* ---- all of them ---- */

bool quorum_port_is_held(const struct quorum_port *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_places; i++) {
        if (p->places[i].is_taken) {
            return false;
        }
        n += p->places[i].fd >= 0;
    }
    return n > 0;
}

static void try_all_again(uv_timer_t *timer);

/* After every attempt. */
static void plan_next(struct quorum_port *p)
{
    for (size_t i = 0; i < p->n_places; i++) {
        if (p->places[i].fd < 0) {
            uv_timer_start(&p->again, try_all_again, AGAIN_MS, 0);
        }
    }
}

static void tell_if_held(struct quorum_port *p)
{
    bool was_held = p->was_held;

    p->was_held = quorum_port_is_held(p);
    if (p->was_held && !was_held) {
        p->held(p->arg);
    }
}

static void try_all_again(uv_timer_t *timer)
{
    struct quorum_port *p = timer->data;

    for (size_t i = 0; i < p->n_places; i++) {
        if (p->places[i].fd < 0) {
            place_try_again(p, &p->places[i]);
        }
    }
    plan_next(p);
    tell_if_held(p);
}

static void on_found(uv_async_t *async)
{
    struct quorum_port *p = async->data;

    for (size_t i = 0; i < p->n_places; i++) {
        struct own_place *l = &p->places[i];

        if (l->lookup != NULL && lookup_is_done(l->lookup)) {
            place_found(p, l);
        }
    }
    tell_if_held(p);
}

/* ---- listening ---- */

int quorum_port_number(const struct quorum_port *p)
{
    return quorum_port_is_held(p) ? p->number : -1;
}

size_t quorum_port_listen(struct quorum_port *p, int fds[QUORUM_PORT_ADDRESSES])
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_places; i++) {
        struct own_place *l = &p->places[i];

        if (l->fd >= 0 && socket_held_listen(l->fd) != PAWL_OK) {
            place_give_up(l);
            l->is_taken = true;
        } else if (l->fd >= 0) {
            fds[n++] = l->fd;
        }
    }
    p->was_held = quorum_port_is_held(p);
    if (!p->was_held) {
        quorum_port_unlisten(p);
        plan_next(p);
        return 0;
    }
    return n;
}

void quorum_port_unlisten(struct quorum_port *p)
{
    for (size_t i = 0; i < p->n_places; i++) {
        struct own_place *l = &p->places[i];

        if (l->fd >= 0 && !socket_held_unlisten(l->fd)) {
            place_give_up(l);
            place_try(p, l);
        }
    }
    plan_next(p);
}

/* ---- life ---- */

static void place_init(struct own_place *l, const struct net_address *a)
{
    l->host = a->host == NULL ? NULL : must_strdup(a->host);
    l->port = a->port;
    l->fd = -1;
    l->n_known = socket_own_addresses(a->host, a->port, l->known, KNOWN_MAX);
}

struct quorum_port *quorum_port_new(uv_loop_t *loop, const struct net_address *addresses,
                                    size_t count, quorum_port_held_fn held, void *arg)
{
    struct quorum_port *p = must_zalloc(sizeof(*p));

    ASSERT(count > 0);
    p->held = held;
    p->arg = arg;
    uv_timer_init(loop, &p->again);
    uv_async_init(loop, &p->found, on_found);
    p->again.data = p->found.data = p;
    p->n_handles = 2;
    for (; p->n_places < count && p->n_places < QUORUM_PORT_ADDRESSES; p->n_places++) {
        struct own_place *l = &p->places[p->n_places];

        place_init(l, &addresses[p->n_places]);
        place_try(p, l);
    }
    p->was_held = quorum_port_is_held(p);
    plan_next(p);
    return p;
}

static void on_port_closed(uv_handle_t *handle)
{
    struct quorum_port *p = handle->data;

    if (--p->n_handles == 0) {
        free(p);
    }
}

void quorum_port_free(struct quorum_port *p)
{
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->n_places; i++) {
        struct own_place *l = &p->places[i];

        lookup_free(l->lookup);
        free(l->host);
        if (l->fd >= 0) {
            close(l->fd);
        }
    }
    uv_close((uv_handle_t *)&p->again, on_port_closed);
    uv_close((uv_handle_t *)&p->found, on_port_closed);
}
