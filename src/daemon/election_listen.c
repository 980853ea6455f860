/* SPDX-License-Identifier: Apache-2.0 */
/* election_listen.c - the election port: who comes to it, before it is known who that is. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/election_net_internal.h"
#include "daemon/member_auth.h"
#include "os/clock.h"
#include "os/socket.h"

/* Who has been silent for longest makes room. */
static void election_make_room(struct election_net *net)
{
    struct list *item;

    if (net->n_nameless < NAMELESS_MAX) {
        return;
    }
    list_for_each (item, &net->links) {
        struct election_link *l = container_of(item, struct election_link, node);

        if (l->peer == NULL && l->dialled == NULL) {
            election_close_link(l);
            return;
        }
    }
}

static void election_accept(uv_poll_t *poll, int status, int events)
{
    struct election_listener *listener = poll->data;
    struct election_net *net = listener->net;
    struct socket_peer from;
    struct peer_stream stream;
    struct election_link *l;
    int error, fd = socket_accept(listener->fd, net->options.keepalive, &from, &error);

    (void)status;
    (void)events;
    if (fd < 0 && error != 0) { /* descriptors or memory: asking again at once would not help */
        log_limited(LOG_WARN, "the election port cannot accept: %s", strerror(error));
        listener->paused = true;
        uv_poll_stop(poll);
        election_check_soon(net);
    }
    if (fd < 0) {
        return;
    }
    election_make_room(net);
    peer_stream_accepted(&stream, fd, net->options.tls);
    l = election_add_link(net, &stream);
    strcpy(l->ip, from.ip);
    l->auth = member_auth_accept(net->options.sasl);
    l->deadline_ms = clock_monotonic_ms() + net->options.hello_ms;
    uv_poll_start(&l->poll, UV_READABLE, election_link_ready);
    election_check_soon(net);
}

void election_listen_again(struct election_net *net)
{
    for (size_t i = 0; i < net->n_listeners; i++) {
        struct election_listener *l = net->listener[i];

        if (l->paused) {
            l->paused = false;
            uv_poll_start(&l->poll, UV_READABLE, election_accept);
        }
    }
}

static void election_listener_closed(uv_handle_t *handle)
{
    struct election_listener *l = handle->data;
    struct election_net *net = l->net;

    free(l);
    election_net_unref(net);
}

void election_unlisten(struct election_net *net)
{
    for (size_t i = 0; i < net->n_listeners; i++) {
        uv_poll_stop(&net->listener[i]->poll);
        uv_close((uv_handle_t *)&net->listener[i]->poll, election_listener_closed);
        close(net->listener[i]->fd);
    }
    net->n_listeners = 0;
}

void election_net_listen(struct election_net *net, const int *fds, size_t n)
{
    ASSERT(n <= ELECTION_LISTENERS_MAX);
    election_unlisten(net);
    for (size_t i = 0; i < n; i++) {
        struct election_listener *l = must_zalloc(sizeof(*l));

        l->net = net;
        l->fd = fds[i];
        uv_poll_init(net->options.loop, &l->poll, fds[i]);
        l->poll.data = l;
        uv_poll_start(&l->poll, UV_READABLE, election_accept);
        net->listener[net->n_listeners++] = l;
        net->n_handles++;
    }
}
