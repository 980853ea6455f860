/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_net.c - listening, dialling, and the life of it all. */
#include "daemon/quorum_net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/dialler.h"
#include "daemon/quorum_net_internal.h"
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
    struct peer_stream stream;

    if (count_links(n, OPEN, &oldest) >= LINKS_MAX) {
        log_limited(LOG_WARN, "there are %d links to the quorum port already; %s is refused",
                    LINKS_MAX, from->ip);
        close(fd);
        return;
    }
    if (count_links(n, GREETING, &oldest) >= GREETING_MAX) {
        quorum_link_lost(oldest, "too many connect and do not say who they are");
    }
    peer_stream_accepted(&stream, fd, n->options.tls);
    l = quorum_link_new(n, &stream, GREETING);
    l->auth = member_auth_accept(n->options.sasl);
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

void quorum_net_listen(struct quorum_net *n, const int *fds, size_t count)
{
    ASSERT(n->n_listeners == 0);
    for (size_t i = 0; i < count; i++) {
        listener_start(n, fds[i]);
    }
}

void quorum_net_unlisten(struct quorum_net *n)
{
    struct list *item, *next;

    for (size_t i = 0; i < n->n_listeners; i++) {
        uv_poll_stop(&n->listeners[i]->poll);
        uv_close((uv_handle_t *)&n->listeners[i]->poll, on_listener_closed);
    }
    n->n_listeners = 0;
    for (item = n->links.next; item != &n->links; item = next) {
        struct net_link *l = container_of(item, struct net_link, link);

        next = item->next;
        if (l->state == GREETING) {
            quorum_link_shut(l, false);
        }
    }
}

/* ---- dialling ---- */

void quorum_net_not_dialled(struct quorum_net *n, int64_t sid, const char *why)
{
    const struct quorum_net_events *events = &n->options.events;

    if (strncmp(why, "TLS", 3) == 0 || strncmp(why, "SASL", 4) == 0) {
        log_limited(LOG_WARN, "server %" PRId64 " cannot be dialled: %s", sid, why);
    } else {
        log_debug("server %" PRId64 " cannot be dialled: %s", sid, why);
    }
    events->dial_failed(events->arg, sid);
}

static void on_quorum_dialled(void *arg, int fd, const char *host, int error)
{
    struct quorum_net *n = arg;
    struct peer_stream stream;
    struct socket_peer peer;
    struct net_link *l;

    if (fd < 0) {
        quorum_net_not_dialled(n, n->dialled_sid, dialler_strerror(error));
        return;
    }
    socket_prepare(fd, n->options.keepalive);
    socket_peer_of(fd, &peer);
    if (!peer_stream_dialled(&stream, fd, n->options.tls, host)) {
        peer_stream_close(&stream);
        quorum_net_not_dialled(n, n->dialled_sid, "TLS: no memory");
        return;
    }
    l = quorum_link_new(n, &stream, SHAKING);
    l->sid = n->dialled_sid;
    snprintf(l->peer, sizeof(l->peer), "%s:%d", peer.ip, peer.port);
    snprintf(l->host, sizeof(l->host), "%s", host);
    if (peer_stream_is_open(&l->stream)) {
        quorum_link_shaken(l);
    }
}

static void drop_shaking(struct quorum_net *n)
{
    struct net_link *l = NULL;

    while (count_links(n, SHAKING, &l) > 0) {
        quorum_link_shut(l, false);
    }
}

void quorum_net_dial(struct quorum_net *n, int64_t sid, const struct net_address *addresses,
                     size_t count)
{
    dialler_cancel(n->dialler);
    drop_shaking(n);
    n->dialled_sid = sid;
    dialler_start(n->dialler, addresses, count, (int)n->options.dial_ms);
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
}

/* Why it is not waited for any longer; NULL: it is. */
static const char *overdue(const struct net_link *l)
{
    const struct quorum_net_options *o = &l->net->options;
    uint64_t now_ms = quorum_net_now(l->net), age = now_ms - l->since_ms;

    if (l->state == GREETING && age > (uint64_t)o->greeting_ms) {
        return "it does not say who it is";
    }
    if (l->state == SHAKING && age > (uint64_t)o->dial_ms) {
        return l->auth != NULL ? "SASL: the exchange does not go on"
                               : "TLS: the handshake does not go on";
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
}

/* ---- life ---- */

struct quorum_net *quorum_net_new(const struct quorum_net_options *options)
{
    struct quorum_net *n = must_zalloc(sizeof(*n));

    n->options = *options;
    n->buffer = must_alloc(READ_BYTES);
    list_init(&n->links);
    n->dialler = dialler_new(options->loop, on_quorum_dialled, n);
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
    dialler_free(n->dialler);
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
