/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_net.c - listening, dialling, and the life of it all. */
#include "daemon/quorum_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/quorum_net_internal.h"
#include "os/dial.h"
#include "os/socket.h"
#include "pawl/error.h"

/* ---- small things ---- */

uint64_t quorum_net_now(const struct quorum_net *n)
{
    return uv_now(n->options.loop);
}

void quorum_net_wake(struct quorum_net *n)
{
    uv_async_send(&n->wake);
}

void quorum_net_unref(struct quorum_net *n)
{
    if (--n->n_handles == 0 && n->is_freed) {
        free(n->buffer);
        free(n);
    }
}

/* ---- listening ---- */

static size_t count_links(const struct quorum_net *n, enum link_state state,
                          struct net_link **first)
{
    struct list *item;
    size_t count = 0;

    list_for_each (item, &n->links) {
        struct net_link *l = container_of(item, struct net_link, link);

        if (l->state == state) {
            *first = count++ == 0 ? l : *first;
        }
    }
    return count;
}

static void net_accept(struct quorum_net *n, int fd, const struct socket_peer *from)
{
    struct net_link *l, *oldest = NULL;

    if (count_links(n, OPEN, &oldest) >= LINKS_MAX) {
        log_limited(LOG_WARN, "there are %d links to the quorum port already; %s is refused",
                    LINKS_MAX, from->ip);
        close(fd);
        return;
    }
    if (count_links(n, GREETING, &oldest) >= GREETING_MAX) {
        quorum_link_lost(oldest, "too many connect and do not say who they are");
    }
    l = quorum_link_new(n, fd, GREETING);
    snprintf(l->peer, sizeof(l->peer), "%s:%d", from->ip, from->port);
}

static void on_listener_ready(uv_poll_t *poll, int status, int events)
{
    struct net_listener *listener = poll->data;
    struct socket_peer peer;
    int error, fd;

    (void)status;
    (void)events;
    fd = socket_accept(listener->fd, listener->net->options.keepalive, &peer, &error);
    if (fd >= 0) {
        net_accept(listener->net, fd, &peer);
    } else if (error != 0) {
        log_limited(LOG_WARN, "a connection to the quorum port cannot be accepted: %s",
                    strerror(error));
    }
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct net_listener *listener = handle->data;

    quorum_net_unref(listener->net);
    free(listener);
}

static void listener_start(struct quorum_net *n, int fd)
{
    struct net_listener *listener = must_zalloc(sizeof(*listener));

    ASSERT(n->n_listeners < LISTENERS_MAX);
    listener->net = n;
    listener->fd = fd;
    uv_poll_init(n->options.loop, &listener->poll, fd);
    listener->poll.data = listener;
    n->n_handles++;
    n->listeners[n->n_listeners++] = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_listener_ready);
}

int quorum_net_listen(struct quorum_net *n, const struct net_address *addresses, size_t count)
{
    int rc = PAWL_ERR_ADDRESS, fd = -1;

    ASSERT(n->n_listeners == 0);
    for (size_t i = 0; i < count && i < LISTENERS_MAX; i++) {
        int port = -1;
        int one = socket_listen_tcp(addresses[i].host, addresses[i].port, 0, &fd, &port);

        if (one == PAWL_OK) {
            listener_start(n, fd);
            n->port = port;
            rc = PAWL_OK;
        } else {
            log_error("the quorum port cannot be listened on: %s", socket_last_error());
        }
    }
    return rc;
}

void quorum_net_unlisten(struct quorum_net *n)
{
    struct list *item, *next;

    for (size_t i = 0; i < n->n_listeners; i++) {
        uv_poll_stop(&n->listeners[i]->poll);
        close(n->listeners[i]->fd);
        uv_close((uv_handle_t *)&n->listeners[i]->poll, on_listener_closed);
    }
    n->n_listeners = 0;
    n->port = -1;
    for (item = n->links.next; item != &n->links; item = next) {
        struct net_link *l = container_of(item, struct net_link, link);

        next = item->next;
        if (l->state == GREETING) {
            quorum_link_shut(l, false);
        }
    }
}

int quorum_net_port(const struct quorum_net *n)
{
    return n->port;
}

/* ---- dialling ---- */

static void lookup_drop(struct net_lookup *lookup)
{
    list_remove(&lookup->link);
    lookup_free(lookup->lookup);
    free(lookup);
}

/* Those that are on their way and have not won. */
static void dial_drop(struct quorum_net *n)
{
    struct list *item, *next;

    n->dial.is_under_way = false;
    while (!list_empty(&n->dial.lookups)) {
        lookup_drop(container_of(n->dial.lookups.next, struct net_lookup, link));
    }
    for (item = n->links.next; item != &n->links; item = next) {
        struct net_link *l = container_of(item, struct net_link, link);

        next = item->next;
        if (l->state == DIALLING) {
            quorum_link_shut(l, false);
        }
    }
}

static void dial_address(struct quorum_net *n, const struct address *address, const char *name)
{
    int fd = dial_start(address);
    struct net_link *l;

    if (fd < 0) {
        return;
    }
    l = quorum_link_new(n, fd, DIALLING);
    l->sid = n->dial.sid;
    snprintf(l->peer, sizeof(l->peer), "%s", name);
}

static void on_lookup_done(void *arg)
{
    quorum_net_wake(arg); /* from another thread */
}

static void dial_name(struct quorum_net *n, const struct net_address *a)
{
    struct net_lookup *lookup = must_zalloc(sizeof(*lookup));

    list_push_back(&n->dial.lookups, &lookup->link);
    snprintf(lookup->name, sizeof(lookup->name), "%s:%d", a->host, a->port);
    lookup->lookup = lookup_start(a->host, a->port, on_lookup_done, n);
    if (lookup->lookup == NULL) {
        lookup_drop(lookup);
    }
}

void quorum_net_dial(struct quorum_net *n, int64_t sid, const struct net_address *addresses,
                     size_t count)
{
    struct address plain;
    char name[64];

    dial_drop(n);
    n->dial.is_under_way = true;
    n->dial.sid = sid;
    n->dial.began_ms = quorum_net_now(n);
    for (size_t i = 0; i < count; i++) {
        if (address_plain(addresses[i].host, addresses[i].port, &plain) == 1) {
            snprintf(name, sizeof(name), "%s:%d", addresses[i].host, addresses[i].port);
            dial_address(n, &plain, name);
        } else {
            dial_name(n, &addresses[i]);
        }
    }
    quorum_net_wake(n); /* perhaps none of them came to anything */
}

static void dial_found(struct quorum_net *n, struct net_lookup *lookup)
{
    struct address found[ADDRESSES_MAX];
    size_t count = lookup_addresses(lookup->lookup, found, ADDRESSES_MAX);

    for (size_t i = 0; i < count; i++) {
        dial_address(n, &found[i], lookup->name);
    }
    lookup_drop(lookup);
}

static void dial_look(struct quorum_net *n)
{
    const struct quorum_net_events *events = &n->options.events;
    struct list *item, *next;
    struct net_link *first = NULL;

    if (!n->dial.is_under_way) {
        return;
    }
    for (item = n->dial.lookups.next; item != &n->dial.lookups; item = next) {
        struct net_lookup *lookup = container_of(item, struct net_lookup, link);

        next = item->next;
        if (lookup_is_done(lookup->lookup)) {
            dial_found(n, lookup);
        }
    }
    if (quorum_net_now(n) - n->dial.began_ms > (uint64_t)n->options.dial_ms) {
        dial_drop(n);
        n->dial.is_under_way = true;
    }
    if (list_empty(&n->dial.lookups) && count_links(n, DIALLING, &first) == 0) {
        n->dial.is_under_way = false;
        events->dial_failed(events->arg, n->dial.sid);
    }
}

void quorum_net_connected(struct net_link *l)
{
    struct quorum_net *n = l->net;
    const struct quorum_net_events *events = &n->options.events;

    if (dial_result(l->fd) != 0) {
        quorum_link_shut(l, false);
        quorum_net_wake(n);
        return;
    }
    socket_prepare(l->fd, n->options.keepalive);
    quorum_link_move(l, OPEN);
    dial_drop(n); /* the others */
    quorum_link_wait(l);
    events->up(events->arg, l->id, l->sid);
}

/* ---- the loop ---- */

static void tell_lost(struct quorum_net *n, struct net_link *l)
{
    const struct quorum_net_events *events = &n->options.events;

    events->down(events->arg, l->id);
    quorum_link_told(l);
}

/* What an event does may take any link away: after each the list is looked at from its start. */
static bool look_at_one(struct quorum_net *n)
{
    struct list *item;

    list_for_each (item, &n->links) {
        struct net_link *l = container_of(item, struct net_link, link);

        if (l->is_untold) {
            tell_lost(n, l);
            return true;
        }
        if (l->is_resumed) {
            l->is_resumed = false;
            quorum_link_go_on(l);
            return true;
        }
    }
    return false;
}

static void on_net_wake(uv_async_t *async)
{
    struct quorum_net *n = async->data;

    while (!n->is_freed && look_at_one(n)) {
    }
    if (!n->is_freed) {
        dial_look(n);
    }
}

/* Why it is not waited for any longer; NULL: it is. */
static const char *overdue(const struct net_link *l)
{
    const struct quorum_net_options *o = &l->net->options;
    uint64_t now_ms = quorum_net_now(l->net), age = now_ms - l->since_ms;

    if (l->state == GREETING && age > (uint64_t)o->greeting_ms) {
        return "it does not say who it is";
    }
    if (l->state == ENDING && age > ENDING_MS) {
        return "it does not take what was left for it";
    }
    if (l->state == OPEN && l->is_dirty && age > (uint64_t)o->stall_ms) {
        return "it takes nothing of what waits for it";
    }
    if (l->is_diverted && !l->is_held && now_ms - l->heard_ms > (uint64_t)o->stall_ms) {
        return "its snapshot does not go on";
    }
    return NULL;
}

static void on_net_sweep(uv_timer_t *timer)
{
    struct quorum_net *n = timer->data;
    struct list *item, *next;
    const char *reason;

    for (item = n->links.next; item != &n->links; item = next) {
        struct net_link *l = container_of(item, struct net_link, link);

        next = item->next;
        reason = overdue(l);
        if (reason != NULL) {
            quorum_link_lost(l, reason);
        }
    }
    quorum_net_wake(n);
}

/* ---- life ---- */

struct quorum_net *quorum_net_new(const struct quorum_net_options *options)
{
    struct quorum_net *n = must_zalloc(sizeof(*n));

    n->options = *options;
    n->port = -1;
    n->buffer = must_alloc(READ_BYTES);
    list_init(&n->links);
    list_init(&n->dial.lookups);
    uv_async_init(options->loop, &n->wake, on_net_wake);
    uv_timer_init(options->loop, &n->sweep);
    n->wake.data = n;
    n->sweep.data = n;
    n->n_handles = 2;
    uv_timer_start(&n->sweep, on_net_sweep, SWEEP_MS, SWEEP_MS);
    return n;
}

static void on_own_closed(uv_handle_t *handle)
{
    quorum_net_unref(handle->data);
}

void quorum_net_free(struct quorum_net *n)
{
    struct list *item, *next;

    if (n == NULL) {
        return;
    }
    quorum_net_unlisten(n);
    dial_drop(n);
    n->is_freed = true;
    for (item = n->links.next; item != &n->links; item = next) {
        struct net_link *l = container_of(item, struct net_link, link);

        next = item->next;
        if (l->state != CLOSED) {
            quorum_link_shut(l, false);
        } else if (l->is_untold) {
            quorum_link_told(l);
        }
    }
    uv_close((uv_handle_t *)&n->wake, on_own_closed);
    uv_close((uv_handle_t *)&n->sweep, on_own_closed);
}
