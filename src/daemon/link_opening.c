/* SPDX-License-Identifier: Apache-2.0 */
/* link_opening.c - a client before anybody knows who it is: which protocol it speaks, and the
 * handshake of TLS.
 *
 * What strangers can cost is bounded: a link has so much time for all of it; when too many are
 * under way the one that has taken longest is given up, since those who mean it need milliseconds;
 * and in one turn of the loop no more than so many steps of handshakes are made, each of which may
 * be a signature, so that those who are served already do not wait. The rest is still to be read in
 * the next turn. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/link.h"
#include "os/clock.h"
#include "os/socket.h"
#include "tls/tls.h"

enum { STEPS_PER_TURN = 16, TLS_HANDSHAKE_BYTE = 0x16, HELLO_BYTES = 16384 };

static void count_openings(struct host *h)
{
    member_server(h->member)->tls.n_handshakes = (int64_t)h->openings.n;
}

static void opening_give_up(struct link_opening *o, const char *why)
{
    log_limited(LOG_WARN, "client /%s:%u: %s; closed", o->peer.ip, o->peer.port, why);
    member_server(o->owner->host->member)->stats.unsuccessful_handshake++;
    link_shut(o->owner);
}

static void make_room(struct host *h)
{
    int most = h->config->max_handshakes;

    if (most > 0 && h->openings.n >= (size_t)most) {
        member_server(h->member)->stats.tls_handshake_exceeded++;
        opening_give_up(container_of(h->openings.list.next, struct link_opening, link),
                        "its TLS handshake has taken longest, and too many are under way "
                        "(netty.server.outstandingHandshake.limit)");
    }
}

void opening_begin(struct link *l, const struct peer *peer, enum link_kind kind)
{
    struct host *h = l->host;
    struct link_opening *o = must_zalloc(sizeof(*o));

    make_room(h);
    o->owner = l;
    o->peer = *peer;
    o->kind = kind;
    o->since_ms = clock_monotonic_ms();
    l->opening = o;
    list_push_back(&h->openings.list, &o->link);
    h->openings.n++;
    count_openings(h);
    link_wait_for(l, UV_READABLE);
}

void opening_end(struct link *l)
{
    struct link_opening *o = l->opening;

    if (o != NULL) {
        l->opening = NULL;
        list_remove(&o->link);
        l->host->openings.n--;
        count_openings(l->host);
        free(o);
    }
}

/* False: it is not known yet, or it is plain and has gone on, or it is gone. */
static bool is_tls(struct link *l)
{
    struct peer peer = l->opening->peer;
    int first = socket_peek(l->fd);

    if (first == TLS_HANDSHAKE_BYTE) {
        l->opening->kind = LINK_TLS;
        return true;
    }
    if (first == -2) {
        link_shut(l);
    } else if (first >= 0) {
        opening_end(l);
        link_serve(l, &peer, NULL);
        link_receive(l);
    }
    return false;
}

/* Who it is, is known: the rest is the member's. */
static void opening_done(struct link *l)
{
    const struct config *c = l->host->config;
    struct peer peer = l->opening->peer;
    char *subject = tls_peer_subject(l->tls);

    if (subject != NULL && c->tls.check_client_address && !tls_peer_has_address(l->tls, peer.ip)) {
        log_limited(LOG_WARN,
                    "client /%s:%u comes from an address that its certificate (%s) does "
                    "not name; closed",
                    peer.ip, peer.port, subject);
        member_server(l->host->member)->stats.unsuccessful_handshake++;
        link_shut(l);
    } else {
        opening_end(l);
        l->is_nameless = subject == NULL;
        link_serve(l, &peer, subject);
        link_receive_plain(l);
    }
    free(subject);
}

static void opening_step(struct link *l)
{
    int rc = tls_handshake(l->tls);
    bool is_there = link_send_tls(l);

    if (rc < 0) {
        opening_give_up(l->opening, tls_error(l->tls));
    } else if (!is_there) {
        link_shut(l);
    } else if (rc > 0) {
        opening_done(l);
    } else {
        link_wait_for(l, tls_output(l->tls).len > 0 ? UV_WRITABLE : UV_READABLE);
    }
}

static void opening_receive(struct link *l)
{
    struct host *h = l->host;
    long n = socket_read(l->fd, h->openings.buffer, HELLO_BYTES);

    if (n < 0) {
        link_shut(l);
        return;
    }
    if (l->tls == NULL) {
        l->tls = tls_new(h->secure.context, NULL);
    }
    if (l->tls == NULL || !tls_put(l->tls, h->openings.buffer, (size_t)n)) {
        opening_give_up(l->opening, "no memory for its TLS handshake");
        return;
    }
    opening_step(l);
}

void opening_on_ready(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;

    if (status < 0) {
        link_shut(l);
    } else if ((events & UV_WRITABLE) != 0) {
        opening_step(l);
    } else if ((l->opening->kind == LINK_TLS || is_tls(l)) &&
               l->host->openings.n_steps < STEPS_PER_TURN) {
        l->host->openings.n_steps++;
        opening_receive(l);
    }
}

void link_end_late_openings(struct host *h)
{
    int64_t now_ms = clock_monotonic_ms();
    struct list *item = h->openings.list.next;

    while (item != &h->openings.list) {
        struct link_opening *o = container_of(item, struct link_opening, link);
        int64_t limit_ms =
            o->kind == LINK_EITHER ? h->config->tls.detect_ms : h->config->net.sessionless_ms;

        item = item->next;
        if (now_ms - o->since_ms >= limit_ms) {
            opening_give_up(o, o->kind == LINK_EITHER ? "it has sent nothing"
                                                      : "its TLS handshake has not ended in time");
        }
    }
}
