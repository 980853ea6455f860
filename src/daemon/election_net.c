/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/election_net.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/dialler.h"
#include "daemon/election_net_internal.h"
#include "daemon/member_auth.h"
#include "daemon/peer_stream.h"
#include "os/clock.h"
#include "os/socket.h"
#include "wire/vote.h"

static void election_dial(struct election_peer *p);

/* --- life and death of parts --- */

void election_net_unref(struct election_net *net)
{
    ASSERT(net->n_handles > 0);
    if (--net->n_handles == 0) {
        ASSERT(net->closing);
        strbuf_fini(&net->hello);
        quorum_config_fini(&net->active);
        quorum_config_fini(&net->next);
        free(net);
    }
}

/* Where it is to be found from now on, or until then; NULL: it is in no list. */
static const struct quorum_member *election_member(const struct election_net *net, int64_t id)
{
    int active = quorum_config_find(&net->active, id), next = quorum_config_find(&net->next, id);

    return active >= 0 ? &net->active.member[active] : next >= 0 ? &net->next.member[next] : NULL;
}

static struct election_peer *election_find_peer(struct election_net *net, int64_t id)
{
    struct list *item;

    list_for_each (item, &net->peers) {
        struct election_peer *p = container_of(item, struct election_peer, node);

        if (p->id == id) {
            return p;
        }
    }
    return NULL;
}

static void election_dialled(void *arg, int fd, const char *host, int error);

static struct election_peer *election_add_peer(struct election_net *net, int64_t id)
{
    struct election_peer *p = must_zalloc(sizeof(*p));

    ASSERT(id != net->options.id);
    p->net = net;
    p->id = id;
    p->is_listed = election_member(net, id) != NULL;
    p->dialler = dialler_new(net->options.loop, election_dialled, p);
    strbuf_init(&p->waiting, STRBUF_NO_LIMIT);
    strbuf_init(&p->last, STRBUF_NO_LIMIT);
    list_push_back(&net->peers, &p->node);
    net->n_strangers += !p->is_listed;
    return p;
}

static void election_drop_peer(struct election_peer *p)
{
    ASSERT(p->link == NULL && p->shaking == NULL);
    p->net->n_strangers -= !p->is_listed;
    list_remove(&p->node);
    dialler_free(p->dialler);
    strbuf_fini(&p->waiting);
    strbuf_fini(&p->last);
    free(p->told);
    free(p);
}

/* Who is in no list is known only as long as it is connected or called back. */
static void election_forget_stranger(struct election_peer *p)
{
    if (!p->is_listed && p->link == NULL && p->shaking == NULL && !dialler_is_busy(p->dialler)) {
        election_drop_peer(p);
    }
}

static void election_link_closed(uv_handle_t *handle)
{
    struct election_link *l = handle->data;
    struct election_net *net = l->net;

    strbuf_fini(&l->in);
    strbuf_fini(&l->out);
    member_auth_free(l->auth);
    free(l->host);
    free(l);
    election_net_unref(net);
}

void election_close_link(struct election_link *l)
{
    if (l->closed) {
        return;
    }
    l->closed = true;
    list_remove(&l->node);
    l->net->n_nameless -= l->peer == NULL;
    if (l->peer != NULL) {
        ASSERT(l->peer->link == l);
        l->peer->link = NULL;
    }
    if (l->dialled != NULL) {
        ASSERT(l->dialled->shaking == l);
        l->dialled->shaking = NULL;
    }
    uv_poll_stop(&l->poll);
    uv_close((uv_handle_t *)&l->poll, election_link_closed);
    peer_stream_close(&l->stream);
}

static bool election_may_redial(struct election_peer *p)
{
    int64_t now_ms = clock_monotonic_ms();

    if (now_ms - p->redials_ms >= REDIALS_WINDOW_MS) {
        p->redials_ms = now_ms;
        p->n_redials = 0;
    }
    return p->n_redials++ < REDIALS;
}

/* The connection has failed. What was said last may not have arrived, and whether the server still
 * runs is to be known soon, so it is dialled again. */
static void election_lose_link(struct election_link *l)
{
    struct election_peer *p = l->peer;

    election_close_link(l);
    if (p == NULL) {
        return;
    }
    if (l->stream.why[0] != '\0') {
        log_limited(LOG_WARN, "the election connection to server %" PRId64 " is gone: %s", p->id,
                    l->stream.why);
    } else {
        log_debug("the election connection to server %" PRId64 " is gone", p->id);
    }
    if (election_may_redial(p)) {
        election_dial(p);
    }
    election_forget_stranger(p);
}

/* --- sending --- */

/* Takes the next frame up when the last one has left. False: there is none. */
static bool election_fill(struct election_link *l)
{
    struct election_peer *p = l->peer;

    if (l->out_at < l->out.len) {
        return true;
    }
    strbuf_clear(&l->out);
    l->out_at = 0;
    if (p == NULL || p->waiting.len == 0) {
        return false;
    }
    strbuf_append_bytes(&l->out, strbuf_bytes(&p->waiting));
    strbuf_clear(&p->last);
    strbuf_append_bytes(&p->last, strbuf_bytes(&p->waiting));
    strbuf_clear(&p->waiting);
    return true;
}

static void election_wait(struct election_link *l)
{
    bool has_more = l->out_at < l->out.len || peer_stream_has_output(&l->stream);

    uv_poll_start(&l->poll, UV_READABLE | (has_more ? UV_WRITABLE : 0), election_link_ready);
}

static void election_flush(struct election_link *l)
{
    long n = 1;

    while (n > 0 && election_fill(l)) {
        n = peer_stream_write(&l->stream, l->out.data + l->out_at, l->out.len - l->out_at);
        if (n < 0) {
            election_lose_link(l);
            return;
        }
        l->out_at += (size_t)n;
    }
    election_wait(l);
}

void election_net_send(struct election_net *net, int64_t id, struct bytes frame)
{
    struct election_peer *p = election_find_peer(net, id);

    ASSERT(!net->closing);
    if (p == NULL) {
        return;
    }
    strbuf_clear(&p->waiting);
    strbuf_append_bytes(&p->waiting, frame);
    if (p->link != NULL) {
        election_flush(p->link);
    } else {
        election_dial(p);
    }
}

/* --- connections --- */

struct election_link *election_add_link(struct election_net *net, const struct peer_stream *stream)
{
    struct election_link *l = must_zalloc(sizeof(*l));

    l->net = net;
    l->stream = *stream;
    l->knocked_at = -1;
    strbuf_init(&l->in, INPUT_BYTES);
    strbuf_init(&l->out, STRBUF_NO_LIMIT);
    uv_poll_init(net->options.loop, &l->poll, stream->fd);
    l->poll.data = l;
    net->n_handles++;
    net->n_nameless++;
    list_push_back(&net->links, &l->node);
    return l;
}

/* The connection is that server's from now on. */
static void election_keep(struct election_peer *p, struct election_link *l)
{
    struct election_link *old = p->link;

    if (old != NULL && strcmp(old->ip, l->ip) != 0) {
        log_limited(LOG_WARN,
                    "server %" PRId64 " connects from %s while it is connected from %s: if these "
                    "are two servers, they have the same myid",
                    p->id, l->ip, old->ip);
    }
    if (old != NULL) {
        election_close_link(old);
    }
    dialler_cancel(p->dialler);
    if (p->shaking != NULL) {
        election_close_link(p->shaking);
    }
    p->knock_again_ms = 0;
    l->peer = p;
    l->net->n_nameless--;
    p->link = l;
    if (p->waiting.len == 0) {
        strbuf_append_bytes(&p->waiting, strbuf_bytes(&p->last));
    }
    election_flush(l);
}

/* --- dialling --- */

static bool election_is_wildcard(struct bytes host)
{
    return bytes_equal_str(host, "0.0.0.0") || bytes_equal_str(host, "::") ||
           bytes_equal_str(host, "0:0:0:0:0:0:0:0");
}

enum { TARGETS = 32 };

/* Where it says it is, then where it should be. The hosts of the former are the caller's to free:
 * `*n_told` of them. */
static size_t election_targets(const struct election_peer *p, struct net_address *out,
                               size_t *n_told)
{
    struct bytes rest = p->told == NULL ? BYTES_NULL : bytes_str(p->told);
    const struct quorum_member *m = election_member(p->net, p->id);
    struct hello_address address;
    size_t n = 0;

    while (n < TARGETS / 2 && hello_next_address(&rest, &address)) {
        if (!election_is_wildcard(address.host) && address.port > 0) {
            out[n++] = (struct net_address){must_copy_string(address.host), address.port};
        }
    }
    *n_told = n;
    for (size_t i = 0; m != NULL && i < m->n_addresses && n < TARGETS; i++) {
        out[n++] = (struct net_address){m->address[i].host, m->address[i].election_port};
    }
    return n;
}

static void election_dial(struct election_peer *p)
{
    struct net_address targets[TARGETS];
    size_t n, n_told;

    if (dialler_is_busy(p->dialler) || p->shaking != NULL ||
        clock_monotonic_ms() < p->knock_again_ms) {
        return;
    }
    n = election_targets(p, targets, &n_told);
    if (n > 0) {
        dialler_start(p->dialler, targets, n, p->net->options.connect_ms);
    }
    for (size_t i = 0; i < n_told; i++) {
        free((char *)targets[i].host);
    }
    free(p->told);
    p->told = NULL;
}

/* Nothing but the whole hello in one piece is of use. */
static bool election_say_hello(struct election_link *l)
{
    const struct strbuf *hello = &l->net->hello;

    return peer_stream_write(&l->stream, hello->data, hello->len) == (long)hello->len;
}

static void election_not_dialled(struct election_peer *p, int error)
{
    log_limited(LOG_INFO, "server %" PRId64 " cannot be reached for an election: %s", p->id,
                dialler_strerror(error));
    if (error == ECONNREFUSED && p->link == NULL && p->is_listed) {
        p->net->options.refused(p->net->options.arg, p->id);
        return;
    }
    election_forget_stranger(p);
}

/* Who was knocked at hangs up and calls back. This side has nothing more to say but listens until
 * then: a process that is being killed may still take a connection, and resets it. */
static void election_knock(struct election_peer *p, struct election_link *l)
{
    p->knock_again_ms = clock_monotonic_ms() + KNOCK_AGAIN_MS;
    l->knocked_at = p->id;
    l->deadline_ms = clock_monotonic_ms() + p->net->options.hello_ms;
    if (l->stream.state == PEER_PLAIN) {
        shutdown(l->stream.fd, SHUT_WR);
    }
    election_wait(l);
    election_check_soon(p->net);
}

static void election_end_knock(struct election_link *l, bool reset)
{
    struct election_peer *p = election_find_peer(l->net, l->knocked_at);

    election_close_link(l);
    if (reset && p != NULL && p->link == NULL && election_may_redial(p)) {
        p->knock_again_ms = 0;
        election_dial(p);
    }
}

/* Nothing is in the way any more: it is that server's, or was a knock. */
static void election_settle_dialled(struct election_link *l)
{
    struct election_peer *p = l->dialled;

    p->shaking = NULL;
    l->dialled = NULL;
    if (p->id > p->net->options.id) {
        election_knock(p, l);
    } else {
        election_keep(p, l);
    }
}

/* Who we are is said, and shown if that is wanted. */
static void election_introduce_us(struct election_link *l)
{
    struct election_peer *p = l->dialled;

    if (!election_say_hello(l)) {
        election_close_link(l);
        election_forget_stranger(p);
        return;
    }
    l->auth = member_auth_dial(p->net->options.sasl, l->host, &l->out);
    if (l->auth == NULL) {
        election_settle_dialled(l);
    } else {
        election_flush(l);
    }
}

static void election_begin_shaking(struct election_peer *p, struct election_link *l,
                                   const char *host)
{
    p->shaking = l;
    l->dialled = p;
    l->host = must_strdup(host);
    l->deadline_ms = clock_monotonic_ms() + p->net->options.connect_ms;
    election_wait(l);
    election_check_soon(p->net);
}

static void election_auth_failed(struct election_link *l, const char *why);

static void election_shaking_failed(struct election_link *l, const char *why)
{
    struct election_peer *p = l->dialled;

    log_limited(LOG_WARN, "server %" PRId64 " cannot be reached for an election: %s", p->id,
                peer_stream_why(&l->stream, why));
    election_close_link(l);
    election_forget_stranger(p);
}

/* The next step of SASL, with what has come behind the first `skip` bytes. True: the other side is
 * who it says, or may do without showing it. */
static bool election_authenticated(struct election_link *l, size_t skip)
{
    enum member_auth_step step;
    const char *why = "";
    size_t used;

    do {
        struct bytes bytes = bytes_of(l->in.data + skip, l->in.len - skip);

        step = member_auth_take(l->auth, bytes, &used, &l->out, &why);
        if (used > 0) {
            memmove(l->in.data + skip, bytes.data + used, bytes.len - used);
            l->in.len -= used;
        }
    } while (step == MEMBER_AUTH_MORE && used > 0);
    election_flush(l); /* what is said last, too */
    if (l->closed) {
        return false;
    }
    if (step == MEMBER_AUTH_FAILED) {
        election_auth_failed(l, why);
        return false;
    }
    if (step != MEMBER_AUTH_MORE) {
        member_auth_free(l->auth);
        l->auth = NULL;
    }
    return step != MEMBER_AUTH_MORE;
}

/* After each step; true: the link is that server's. */
static bool election_shaken(struct election_link *l)
{
    if (!peer_stream_is_open(&l->stream)) {
        election_wait(l);
    } else if (l->auth == NULL) {
        election_introduce_us(l);
    } else if (election_authenticated(l, 0)) {
        election_settle_dialled(l);
    }
    return !l->closed && l->peer != NULL;
}

static void election_dialled(void *arg, int fd, const char *host, int error)
{
    struct election_peer *p = arg;
    struct election_net *net = p->net;
    struct peer_stream stream;
    struct election_link *l;

    if (fd < 0) {
        election_not_dialled(p, error);
        return;
    }
    socket_prepare(fd, net->options.keepalive);
    if (!peer_stream_dialled(&stream, fd, net->options.tls, host)) {
        peer_stream_close(&stream);
        election_forget_stranger(p);
        return;
    }
    l = election_add_link(net, &stream);
    election_begin_shaking(p, l, host);
    if (peer_stream_is_open(&stream)) {
        election_introduce_us(l);
    }
}

/* --- who has connected --- */

static struct election_peer *election_introduce(struct election_net *net, int64_t id,
                                                const struct election_link *l)
{
    struct election_peer *p = election_find_peer(net, id);

    if (p != NULL) {
        return p;
    }
    if (net->n_strangers >= STRANGERS_MAX) {
        log_limited(LOG_WARN, "server %" PRId64 " at %s is in no list, as are %d others: not now",
                    id, l->ip, (int)STRANGERS_MAX);
        return NULL;
    }
    return election_add_peer(net, id);
}

/* A smaller id has knocked: it is called back. */
static void election_call_back(struct election_link *l, int64_t id, const struct hello *h)
{
    struct election_peer *p = election_introduce(l->net, id, l);

    election_close_link(l);
    if (p == NULL) {
        return;
    }
    if (p->link != NULL) {
        election_close_link(p->link);
    }
    free(p->told);
    p->told = bytes_is_null(h->addresses) ? NULL : must_copy_string(h->addresses);
    election_dial(p);
    election_forget_stranger(p);
}

static void election_take_hello(struct election_link *l, const struct hello *h)
{
    struct election_net *net = l->net;
    int64_t id = h->server_id == SERVER_ID_ANONYMOUS ? --net->last_anonymous : h->server_id;
    struct election_peer *p;

    if (id == net->options.id) {
        log_limited(LOG_ERROR,
                    "%s (%.*s) says that it is server %" PRId64
                    ", as this one is: two servers have the same myid",
                    l->ip, (int)h->addresses.len, (const char *)h->addresses.data, id);
        election_close_link(l);
        return;
    }
    if (h->server_id < 0) {
        log_limited(LOG_WARN, "%s says that it is server %" PRId64 ", which cannot be", l->ip, id);
        election_close_link(l);
        return;
    }
    if (!peer_stream_may_be(&l->stream, id)) {
        log_limited(LOG_WARN, "%s connected to the election port: %s; closed", l->ip,
                    l->stream.why);
        election_close_link(l);
        return;
    }
    if (h->server_id < net->options.id) {
        election_call_back(l, id, h);
        return;
    }
    p = election_introduce(net, id, l);
    if (p == NULL) {
        election_close_link(l);
    } else {
        election_keep(p, l);
    }
}

/* --- receiving --- */

static void election_consume(struct strbuf *in, size_t used)
{
    if (used > 0) {
        memmove(in->data, in->data + used, in->len - used);
        in->len -= used;
    }
}

static void election_auth_failed(struct election_link *l, const char *why)
{
    if (l->dialled != NULL) {
        election_shaking_failed(l, why);
    } else {
        log_limited(LOG_WARN, "%s connected to the election port: %s; closed", l->ip, why);
        election_close_link(l);
    }
}

/* True when it is known who this is. The hello stays where it is until that is shown. */
static bool election_read_hello(struct election_link *l)
{
    struct hello h = {0};
    size_t used = 0;
    enum stream_read rc = hello_read(strbuf_bytes(&l->in), &h, &used);

    if (rc == STREAM_BAD) {
        log_limited(LOG_WARN, "%s connected to the election port with something else", l->ip);
        election_close_link(l);
    } else if (rc == STREAM_WHOLE && l->auth != NULL && !election_authenticated(l, used)) {
        return false;
    } else if (rc == STREAM_WHOLE) {
        election_take_hello(l, &h);
    }
    if (l->closed || rc != STREAM_WHOLE) {
        return false;
    }
    election_consume(&l->in, used);
    return true;
}

static void election_read_frames(struct election_link *l)
{
    struct bytes rest = strbuf_bytes(&l->in), payload;
    enum stream_read rc = STREAM_WHOLE;
    size_t used;

    while (!l->closed && (rc = notification_frame(rest, &payload, &used)) == STREAM_WHOLE) {
        rest = bytes_of(rest.data + used, rest.len - used);
        l->net->options.heard(l->net->options.arg, l->peer->id, payload);
    }
    if (!l->closed && rc == STREAM_BAD) {
        log_limited(LOG_WARN, "server %" PRId64 " sent an election message of no length",
                    l->peer->id);
        election_lose_link(l);
    } else if (!l->closed) {
        election_consume(&l->in, l->in.len - rest.len);
    }
}

/* Of one who has said who it is, shows nothing, and says no more: whether that is allowed. Then it
 * has knocked, or has nothing to say yet. */
static bool election_is_plain(struct election_link *l)
{
    struct hello h = {0};
    size_t used = 0;

    if (l->auth == NULL || l->dialled != NULL ||
        hello_read(strbuf_bytes(&l->in), &h, &used) != STREAM_WHOLE ||
        !member_auth_is_plain(l->auth, bytes_of(l->in.data + used, l->in.len - used))) {
        return false;
    }
    member_auth_free(l->auth);
    l->auth = NULL;
    if (election_read_hello(l)) {
        election_read_frames(l);
    }
    return true;
}

/* It has failed, or the other side has ended it. */
static void election_ended(struct election_link *l, bool reset)
{
    if (election_is_plain(l) && l->closed) {
        return;
    }
    if (l->knocked_at >= 0) {
        if (l->stream.why[0] != '\0') {
            log_limited(LOG_WARN, "server %" PRId64 " cannot be reached for an election: %s",
                        l->knocked_at, l->stream.why);
        }
        election_end_knock(l, reset);
    } else if (l->dialled != NULL) {
        election_shaking_failed(l, l->auth != NULL ? "SASL: it was closed during the exchange"
                                                   : "TLS: it was closed during the handshake");
    } else {
        if (l->peer == NULL && l->stream.why[0] != '\0') {
            log_limited(LOG_WARN, "%s connected to the election port: %s; closed", l->ip,
                        l->stream.why);
        }
        election_lose_link(l);
    }
}

static void election_receive(struct election_link *l)
{
    long n;

    errno = 0;
    n = peer_stream_read(&l->stream, l->net->buffer, sizeof(l->net->buffer));
    if (n < 0) {
        election_ended(l, errno == ECONNRESET);
        return;
    }
    if (l->knocked_at >= 0) {
        return;
    }
    strbuf_append(&l->in, l->net->buffer, (size_t)n);
    ASSERT(!l->in.failed);
    if (l->dialled != NULL && !election_shaken(l)) {
        return;
    }
    if (l->peer != NULL || election_read_hello(l)) {
        election_read_frames(l);
    }
}

void election_link_ready(uv_poll_t *poll, int status, int events)
{
    struct election_link *l = poll->data;

    if (status < 0) {
        election_ended(l, true);
        return;
    }
    if ((events & UV_READABLE) != 0) {
        election_receive(l);
    }
    if ((events & UV_WRITABLE) != 0 && !l->closed) {
        election_flush(l);
    } else if (!l->closed && l->stream.tls != NULL) {
        election_wait(l); /* an answer of the handshake may not have left */
    }
}

/* --- deadlines --- */

static void election_check_links(struct election_net *net)
{
    int64_t now_ms = clock_monotonic_ms();
    struct list *item, *next;

    for (item = net->links.next; item != &net->links; item = next) {
        struct election_link *l = container_of(item, struct election_link, node);

        next = item->next;
        if (l->dialled != NULL && now_ms >= l->deadline_ms) {
            election_shaking_failed(l, l->auth != NULL ? "SASL: the exchange does not go on"
                                                       : "TLS: the handshake does not go on");
        } else if (l->peer == NULL && now_ms >= l->deadline_ms && !election_is_plain(l)) {
            if (l->knocked_at < 0) {
                log_limited(LOG_WARN, "%s connected to the election port and did not say who it is",
                            l->ip);
            }
            election_close_link(l);
        }
    }
}

static void election_check_all(uv_timer_t *timer)
{
    struct election_net *net = timer->data;

    election_listen_again(net);
    election_check_links(net);
    if (net->n_nameless > 0) {
        election_check_soon(net);
    }
}

void election_check_soon(struct election_net *net)
{
    if (!uv_is_active((uv_handle_t *)&net->check)) {
        uv_timer_start(&net->check, election_check_all, CHECK_MS, 0);
    }
}

/* --- who we are, and where --- */

/* Who is in no list any more says what it said before. */
static void election_make_hello(struct election_net *net)
{
    const struct quorum_member *me = election_member(net, net->options.id);
    struct hello h = {.version = HELLO_ONE_ADDRESS, .server_id = net->options.id};
    struct strbuf address;

    if (me == NULL && net->hello.len > 0) {
        return;
    }
    strbuf_init(&address, STRBUF_NO_LIMIT);
    if (me != NULL) {
        const char *host = me->address[0].host;

        strbuf_printf(&address, strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host,
                      me->address[0].election_port);
    } else {
        strbuf_append_str(&address, "0.0.0.0:0"); /* is to be ignored */
    }
    h.addresses = strbuf_bytes(&address);
    strbuf_clear(&net->hello);
    hello_write(&net->hello, &h);
    strbuf_fini(&address);
}

/* --- the lists --- */

static void election_add_members(struct election_net *net, const struct quorum_config *c)
{
    for (size_t i = 0; i < c->n_members; i++) {
        int64_t id = c->member[i].id;

        if (id != net->options.id && election_find_peer(net, id) == NULL) {
            election_add_peer(net, id);
        }
    }
}

/* Who it is now, and whether what is connected is still at its place. */
static void election_look_at_peer(struct election_peer *p, bool was_elsewhere)
{
    bool is_listed = election_member(p->net, p->id) != NULL;

    p->net->n_strangers += (size_t)p->is_listed - (size_t)is_listed;
    p->is_listed = is_listed;
    if (was_elsewhere && is_listed) {
        if (p->link != NULL) {
            election_close_link(p->link);
        }
        dialler_cancel(p->dialler);
        p->knock_again_ms = 0;
    }
    election_forget_stranger(p);
}

static bool election_is_elsewhere(const struct quorum_member *was, const struct quorum_member *is)
{
    if (was == NULL || is == NULL || was->n_addresses != is->n_addresses) {
        return was != NULL && is != NULL;
    }
    for (size_t i = 0; i < is->n_addresses; i++) {
        if (strcmp(was->address[i].host, is->address[i].host) != 0 ||
            was->address[i].election_port != is->address[i].election_port) {
            return true;
        }
    }
    return false;
}

void election_net_follow(struct election_net *net, const struct quorum_config *active,
                         const struct quorum_config *next)
{
    struct quorum_config before = net->active;
    struct list *item, *following;

    ASSERT(!net->closing);
    quorum_config_fini(&net->next);
    quorum_config_copy(&net->active, active);
    if (next != NULL) {
        quorum_config_copy(&net->next, next);
    }
    election_make_hello(net);
    for (item = net->peers.next; item != &net->peers; item = following) {
        struct election_peer *p = container_of(item, struct election_peer, node);
        int was = quorum_config_find(&before, p->id);

        following = item->next;
        election_look_at_peer(p, election_is_elsewhere(was < 0 ? NULL : &before.member[was],
                                                       election_member(net, p->id)));
    }
    quorum_config_fini(&before);
    election_add_members(net, &net->active);
    election_add_members(net, &net->next);
}

/* --- the whole --- */

struct election_net *election_net_new(const struct election_net_options *options)
{
    struct election_net *net = must_zalloc(sizeof(*net));

    ASSERT(options->connect_ms > 0 && options->hello_ms > 0);
    net->options = *options;
    list_init(&net->peers);
    list_init(&net->links);
    strbuf_init(&net->hello, STRBUF_NO_LIMIT);
    uv_timer_init(options->loop, &net->check);
    net->check.data = net;
    net->n_handles = 1;
    election_net_follow(net, options->config, NULL);
    election_net_listen(net, options->listeners, options->n_listeners);
    return net;
}

static void election_check_closed(uv_handle_t *handle)
{
    election_net_unref(handle->data);
}

void election_net_free(struct election_net *net)
{
    net->closing = true;
    while (!list_empty(&net->links)) {
        election_close_link(container_of(net->links.next, struct election_link, node));
    }
    while (!list_empty(&net->peers)) {
        election_drop_peer(container_of(net->peers.next, struct election_peer, node));
    }
    election_unlisten(net);
    uv_close((uv_handle_t *)&net->check, election_check_closed);
}
