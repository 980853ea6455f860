/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_link.c - one link of the quorum port: its life, what comes in, what goes out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/quorum_net_internal.h"
#include "os/socket.h"

static const uint8_t may_follow[N_STATES] = {
    [GREETING] = 1 << OPEN | 1 << CLOSED,
    [SHAKING] = 1 << OPEN | 1 << CLOSED,
    [OPEN] = 1 << ENDING | 1 << CLOSED,
    [ENDING] = 1 << CLOSED,
};

static struct net_link *find_link(const struct quorum_net *n, link_id id)
{
    struct list *item;

    list_for_each (item, &n->links) {
        struct net_link *l = container_of(item, struct net_link, link);

        if (l->id == id) {
            return l->state == OPEN ? l : NULL;
        }
    }
    return NULL;
}

/* ---- the life of a link ---- */

static void link_check(const struct net_link *l)
{
    ASSERT((l->stream.fd < 0) == (l->state == CLOSED));
    ASSERT(l->state == CLOSED || !l->is_untold);
    ASSERT(l->state == OPEN || !l->is_diverted);
}

void quorum_link_move(struct net_link *l, enum link_state next)
{
    ASSERT((may_follow[l->state] & 1 << next) != 0);
    l->state = next;
    l->since_ms = quorum_net_now(l->net);
}

static void part_free(struct out_part *p)
{
    list_remove(&p->link);
    strbuf_fini(&p->bytes);
    free(p);
}

static void link_free(struct net_link *l)
{
    ASSERT(l->state == CLOSED && l->stream.fd < 0);
    list_remove(&l->link);
    while (!list_empty(&l->parts)) {
        part_free(container_of(l->parts.next, struct out_part, link));
    }
    strbuf_fini(&l->input);
    member_auth_free(l->auth);
    free(l);
}

static void on_link_closed(uv_handle_t *handle)
{
    struct net_link *l = handle->data;
    struct quorum_net *n = l->net;

    handle->data = NULL;
    if (!l->is_untold) {
        link_free(l);
    }
    quorum_net_unref(n);
}

/* The owner is told of it later, unless it ended the link itself or never knew of it. */
void quorum_link_shut(struct net_link *l, bool tell)
{
    ASSERT(l->state != CLOSED);
    uv_poll_stop(&l->poll);
    peer_stream_close(&l->stream);
    l->is_held = false;
    l->is_diverted = false;
    quorum_link_move(l, CLOSED);
    l->is_untold = tell;
    uv_close((uv_handle_t *)&l->poll, on_link_closed);
    link_check(l);
    if (tell) {
        quorum_net_wake(l->net);
    }
}

void quorum_link_lost(struct net_link *l, const char *reason)
{
    bool is_known = l->state == OPEN, was_dialled = l->state == SHAKING;

    reason = peer_stream_why(&l->stream, reason);
    if (is_known) {
        log_info("the quorum link %" PRIu64 " with %s ends: %s", l->id, l->peer, reason);
    } else if (l->state == GREETING) {
        log_limited(LOG_WARN, "a connection of %s to the quorum port is closed: %s", l->peer,
                    reason);
    }
    quorum_link_shut(l, is_known);
    if (was_dialled) {
        quorum_net_not_dialled(l->net, l->sid, reason);
    }
}

static void link_up(struct net_link *l)
{
    const struct quorum_net_events *events = &l->net->options.events;

    quorum_link_move(l, OPEN);
    events->up(events->arg, l->id, l->sid);
}

static void on_link_ready(uv_poll_t *poll, int status, int events);

static bool link_is_written(const struct net_link *l)
{
    return l->state == OPEN || l->state == ENDING || l->auth != NULL;
}

static bool link_is_read(const struct net_link *l)
{
    return (l->state == OPEN && !l->is_held) || l->state == GREETING || l->state == SHAKING;
}

void quorum_link_wait(struct net_link *l)
{
    int events = UV_DISCONNECT;

    if (link_is_read(l)) {
        events |= UV_READABLE;
    }
    if ((l->is_full && link_is_written(l)) || peer_stream_has_output(&l->stream)) {
        events |= UV_WRITABLE;
    }
    if (events != l->events) {
        l->events = events;
        uv_poll_start(&l->poll, events, on_link_ready);
    }
}

struct net_link *quorum_link_new(struct quorum_net *n, const struct peer_stream *stream,
                                 enum link_state state)
{
    struct net_link *l = must_zalloc(sizeof(*l));

    l->net = n;
    l->id = ++n->last_link;
    l->stream = *stream;
    l->sid = SID_NOBODY;
    l->state = state;
    l->since_ms = quorum_net_now(n);
    strbuf_init(&l->input, STRBUF_NO_LIMIT);
    list_init(&l->parts);
    list_push_back(&n->links, &l->link);
    uv_poll_init(n->options.loop, &l->poll, l->stream.fd);
    l->poll.data = l;
    n->n_handles++;
    quorum_link_wait(l);
    link_check(l);
    return l;
}

/* ---- authenticating ---- */

static struct out_part *part_new(struct net_link *l)
{
    struct out_part *p = must_zalloc(sizeof(*p));

    strbuf_init(&p->bytes, STRBUF_NO_LIMIT);
    list_push_back(&l->parts, &p->link);
    return p;
}

static struct out_part *last_part(struct net_link *l)
{
    struct out_part *p =
        list_empty(&l->parts) ? NULL : container_of(l->parts.prev, struct out_part, link);

    return p != NULL && p->stream == 0 ? p : part_new(l);
}

static void link_flush(struct net_link *l);

/* Who has come may be greeted now; who was dialled is there. */
static void link_authenticated(struct net_link *l)
{
    member_auth_free(l->auth);
    l->auth = NULL;
    if (l->state == SHAKING) {
        link_up(l);
    }
}

void quorum_link_shaken(struct net_link *l)
{
    struct out_part *p = last_part(l);

    l->auth = member_auth_dial(l->net->options.sasl, l->host, &p->bytes);
    ASSERT(!p->bytes.failed); /* out of memory */
    if (l->auth == NULL) {
        link_up(l);
        return;
    }
    l->n_packets += p->bytes.len;
    l->is_dirty = true; /* leaves at the end of the turn: who is called here may not end the link */
}

/* ---- coming in ---- */

/* The first packet of who has been accepted says who it is; false: this is none. */
static bool link_greet(struct net_link *l, const struct packet *p)
{
    struct quorum_net *n = l->net;
    struct learner_info info = {0};

    if (p->type != PACKET_FOLLOWER_INFO && p->type != PACKET_OBSERVER_INFO) {
        return false;
    }
    learner_info_read(p->data, &info);
    if (!peer_stream_may_be(&l->stream, info.has_server_id ? info.server_id : SID_NOBODY)) {
        return false; /* the stream knows why */
    }
    quorum_link_move(l, OPEN);
    n->options.events.up(n->options.events.arg, l->id, SID_NOBODY);
    return true;
}

/* An ack of a proposal is for all before it, too. */
static bool says_it_all(const struct packet *p, const struct packet *earlier)
{
    return p->type == PACKET_ACK && earlier->type == PACKET_ACK &&
           zxid_epoch(p->zxid) == zxid_epoch(earlier->zxid) && zxid_counter(earlier->zxid) > 0 &&
           p->zxid > earlier->zxid;
}

/* Of the acks that stand behind each other only the last one is told: they come one by one for each
 * proposal, and a leader that looked at each would commit one by one. */
static void link_skip_acks(struct bytes bytes, size_t limit, struct packet *packet, size_t *used)
{
    struct packet next;
    size_t len;

    while (packet->type == PACKET_ACK && *used < bytes.len) {
        struct bytes rest = bytes_of(bytes.data + *used, bytes.len - *used);

        if (packet_read(rest, limit, &next, &len) != STREAM_WHOLE || !says_it_all(&next, packet)) {
            return;
        }
        *packet = next;
        *used += len;
    }
}

/* How much of it was used; all that is left is the beginning of a packet, or is held back. */
static size_t link_take_packet(struct net_link *l, struct bytes bytes)
{
    struct quorum_net *n = l->net;
    size_t limit = l->state == GREETING ? GREETING_BYTES : n->options.packet_bytes;
    enum stream_read found;
    struct packet packet;
    size_t used = 0;

    found = packet_read(bytes, limit, &packet, &used);
    if (found == STREAM_BAD) {
        quorum_link_lost(l, "what came is no packet, or longer than one may be");
        return 0;
    }
    if (found == STREAM_SHORT) {
        return 0;
    }
    if (l->state == GREETING && !link_greet(l, &packet)) {
        quorum_link_lost(l, "it does not begin with FOLLOWERINFO or OBSERVERINFO");
        return 0;
    }
    if (l->state == OPEN) { /* still, after the greeting was told */
        link_skip_acks(bytes, limit, &packet, &used);
        n->options.events.packet(n->options.events.arg, l->id, &packet);
    }
    return used;
}

static size_t link_take_diverted(struct net_link *l, struct bytes bytes)
{
    const struct quorum_net_events *events = &l->net->options.events;
    const char *reason = "a bad stream";
    size_t used = 0;
    enum stream_read found = events->diverted(events->arg, l->id, bytes, &used, &reason);

    if (found == STREAM_WHOLE) {
        l->is_diverted = false;
    } else if (found == STREAM_BAD && l->state == OPEN) {
        quorum_link_lost(l, reason);
    }
    return used;
}

/* How much was used. What is to be said leaves at once: the link may end with it. */
static size_t link_take_auth(struct net_link *l, struct bytes bytes)
{
    struct out_part *p = last_part(l);
    size_t before = p->bytes.len, used = 0;
    const char *why = "";
    enum member_auth_step step = member_auth_take(l->auth, bytes, &used, &p->bytes, &why);

    ASSERT(!p->bytes.failed); /* out of memory */
    l->n_packets += p->bytes.len - before;
    link_flush(l);
    if (l->state == CLOSED) {
        return 0;
    }
    if (step == MEMBER_AUTH_FAILED) {
        quorum_link_lost(l, why);
        return 0;
    }
    if (step != MEMBER_AUTH_MORE) {
        link_authenticated(l);
    }
    return step == MEMBER_AUTH_PLAIN ? link_take_packet(l, bytes) : used;
}

/* How much was used. */
static size_t link_take(struct net_link *l, struct bytes bytes)
{
    size_t at = 0, used = 1;

    while (used > 0 && at < bytes.len && link_is_read(l)) {
        struct bytes rest = bytes_of(bytes.data + at, bytes.len - at);

        used = l->auth != NULL  ? link_take_auth(l, rest)
               : l->is_diverted ? link_take_diverted(l, rest)
                                : link_take_packet(l, rest);
        at += used;
    }
    return at;
}

static void link_drop_input(struct net_link *l, size_t used)
{
    ASSERT(used <= l->input.len);
    memmove(l->input.data, l->input.data + used, l->input.len - used);
    l->input.len -= used;
    if (l->input.len == 0) {
        strbuf_trim(&l->input, KEEP_BYTES);
    }
}

static void link_receive(struct net_link *l)
{
    struct quorum_net *n = l->net;
    long got = peer_stream_read(&l->stream, n->buffer, READ_BYTES);
    struct bytes bytes = bytes_of(n->buffer, got > 0 ? (size_t)got : 0);
    size_t used;

    if (got < 0) {
        quorum_link_lost(l, "the other side closed it, or cannot be reached");
        return;
    }
    if (l->state == SHAKING && l->auth == NULL && peer_stream_is_open(&l->stream)) {
        quorum_link_shaken(l);
    }
    l->heard_ms = quorum_net_now(n);
    if (l->input.len > 0) {
        strbuf_append_bytes(&l->input, bytes);
        ASSERT(!l->input.failed); /* out of memory */
        used = link_take(l, strbuf_bytes(&l->input));
        if (l->state != CLOSED) {
            link_drop_input(l, used);
        }
        return;
    }
    used = link_take(l, bytes);
    if (l->state != CLOSED) {
        strbuf_append(&l->input, bytes.data + used, bytes.len - used);
        ASSERT(!l->input.failed);
    }
}

/* ---- going out ---- */

static struct out_part *find_part(const struct quorum_net *n, stream_id stream,
                                  struct net_link **link)
{
    struct list *item, *part;

    list_for_each (item, &n->links) {
        struct net_link *l = container_of(item, struct net_link, link);

        list_for_each (part, &l->parts) {
            struct out_part *p = container_of(part, struct out_part, link);

            if (p->stream == stream && l->state == OPEN) {
                *link = l;
                return p;
            }
        }
    }
    return NULL;
}

/* A part is at its end: the next one. A stream's owner hears of it when nothing else runs. */
static void part_done(struct net_link *l, struct out_part *p)
{
    const struct quorum_net_events *events = &l->net->options.events;
    stream_id stream = p->stream;

    part_free(p);
    if (stream != 0 && l->state == OPEN) {
        events->sent(events->arg, stream);
    }
}

/* What one write took. False: the link is lost, or it takes no more. */
static bool link_write_part(struct net_link *l, struct out_part *p)
{
    size_t left = p->bytes.len - p->at;
    long n = peer_stream_write(&l->stream, p->bytes.data + p->at, left);

    if (n < 0) {
        quorum_link_lost(l, "it cannot be written to");
        return false;
    }
    if (n > 0) {
        l->since_ms = quorum_net_now(l->net);
    }
    p->at += (size_t)n;
    l->n_packets -= p->stream == 0 ? (size_t)n : 0;
    if (p->at == p->bytes.len) {
        p->at = 0;
        strbuf_clear(&p->bytes);
        strbuf_trim(&p->bytes, KEEP_BYTES);
    }
    return (size_t)n == left;
}

static void part_tell_room(struct net_link *l, struct out_part *p)
{
    const struct quorum_net_events *events = &l->net->options.events;

    if (p->is_open && p->wants_room && p->bytes.len - p->at < STREAM_ROOM_BYTES / 2) {
        p->wants_room = false;
        events->room(events->arg, p->stream);
    }
}

/* True: nothing is left to send. What the end of a stream sets off may end the link as well. */
static bool link_write(struct net_link *l)
{
    while (l->state != CLOSED && !list_empty(&l->parts)) {
        struct out_part *p = container_of(l->parts.next, struct out_part, link);

        if (p->bytes.len > p->at && !link_write_part(l, p)) {
            if (l->state == OPEN) {
                part_tell_room(l, p);
            }
            return false;
        }
        if (p->is_open) {
            part_tell_room(l, p);
            return p->bytes.len == p->at; /* unless that has brought more */
        }
        if (p->stream == 0 && l->parts.prev == &p->link) {
            return true; /* its memory is for the next packets */
        }
        part_done(l, p);
    }
    return true;
}

static void link_flush(struct net_link *l)
{
    bool is_all = link_write(l);

    if (l->state == CLOSED) {
        return;
    }
    if (!peer_stream_flush(&l->stream)) {
        quorum_link_lost(l, "it cannot be written to");
        return;
    }
    is_all = is_all && !peer_stream_has_output(&l->stream);
    l->is_dirty = !is_all;
    l->is_full = !is_all;
    if (l->state == ENDING && is_all) {
        quorum_link_shut(l, false);
        return;
    }
    quorum_link_wait(l);
}

void quorum_net_flush(struct quorum_net *n)
{
    struct list *item, *next;

    for (item = n->links.next; item != &n->links; item = next) {
        struct net_link *l = container_of(item, struct net_link, link);

        next = item->next;
        if (l->is_dirty && !l->is_full && link_is_written(l)) {
            link_flush(l);
        }
    }
}

void quorum_net_send(struct quorum_net *n, link_id link, const struct packet *packet)
{
    struct net_link *l = find_link(n, link);
    struct out_part *p;
    size_t before;

    if (l == NULL) {
        return;
    }
    p = last_part(l);
    if (l->n_packets == 0) {
        l->since_ms = quorum_net_now(n);
    }
    before = p->bytes.len;
    packet_write(&p->bytes, packet);
    ASSERT(!p->bytes.failed); /* out of memory */
    l->n_packets += p->bytes.len - before;
    l->is_dirty = true;
    if (l->n_packets > n->options.output_bytes) {
        log_warn("%zu bytes wait for %s, which does not read them: the quorum link %" PRIu64
                 " is ended, and it has to be synchronised again",
                 l->n_packets, l->peer, l->id);
        quorum_link_lost(l, "too much waits for it");
    }
}

/* ---- streams ---- */

stream_id quorum_net_stream(struct quorum_net *n, link_id link)
{
    struct net_link *l = find_link(n, link);
    struct out_part *p;

    if (l == NULL) {
        return 0;
    }
    p = part_new(l);
    p->stream = ++n->last_stream;
    p->is_open = true;
    return p->stream;
}

void quorum_net_stream_write(struct quorum_net *n, stream_id stream, struct bytes bytes)
{
    struct net_link *l;
    struct out_part *p = find_part(n, stream, &l);

    if (p == NULL) {
        return;
    }
    ASSERT(p->is_open);
    if (p->bytes.len == 0) {
        l->since_ms = quorum_net_now(n);
    }
    strbuf_append_bytes(&p->bytes, bytes);
    ASSERT(!p->bytes.failed); /* out of memory */
    p->wants_room = p->bytes.len - p->at >= STREAM_ROOM_BYTES;
    l->is_dirty = true;
}

void quorum_net_stream_end(struct quorum_net *n, stream_id stream)
{
    struct net_link *l;
    struct out_part *p = find_part(n, stream, &l);

    if (p != NULL) {
        ASSERT(p->is_open);
        p->is_open = false;
        l->is_dirty = true;
    }
}

size_t quorum_net_stream_pending(const struct quorum_net *n, stream_id stream)
{
    struct net_link *l;
    struct out_part *p = find_part(n, stream, &l);

    return p == NULL ? 0 : p->bytes.len - p->at;
}

/* ---- holding, diverting, closing ---- */

void quorum_net_hold(struct quorum_net *n, link_id link)
{
    struct net_link *l = find_link(n, link);

    if (l != NULL) {
        l->is_held = true;
        quorum_link_wait(l);
    }
}

void quorum_net_resume(struct quorum_net *n, link_id link)
{
    struct net_link *l = find_link(n, link);

    if (l != NULL && l->is_held) {
        l->is_held = false;
        l->is_resumed = true;
        l->heard_ms = quorum_net_now(n);
        quorum_link_wait(l);
        quorum_net_wake(n);
    }
}

void quorum_net_divert(struct quorum_net *n, link_id link)
{
    struct net_link *l = find_link(n, link);

    if (l != NULL) {
        ASSERT(!l->is_diverted);
        l->is_diverted = true;
        l->heard_ms = quorum_net_now(n);
    }
}

/* A stream that is not at its end never will be: what is behind it cannot be sent. */
static void link_forget_streams(struct net_link *l)
{
    struct list *item;

    list_for_each (item, &l->parts) {
        struct out_part *p = container_of(item, struct out_part, link);

        if (p->is_open) {
            while (l->parts.prev != item) {
                part_free(container_of(l->parts.prev, struct out_part, link));
            }
            p->is_open = false;
            return;
        }
    }
}

void quorum_net_close(struct quorum_net *n, link_id link)
{
    struct net_link *l = find_link(n, link);

    if (l == NULL) {
        return;
    }
    l->is_diverted = false;
    link_forget_streams(l);
    quorum_link_move(l, ENDING);
    l->is_dirty = true; /* if only to find that nothing is left */
    quorum_link_wait(l);
}

/* ---- the loop ---- */

static void on_link_ready(uv_poll_t *poll, int status, int events)
{
    struct net_link *l = poll->data;

    if ((events & UV_READABLE) != 0 && link_is_read(l)) {
        link_receive(l);
    }
    if (l->state != CLOSED && (events & UV_WRITABLE) != 0) {
        link_flush(l);
    }
    /* What it sent before it left has been read first, unless it is held back. */
    if (l->state != CLOSED && (status < 0 || ((events & UV_DISCONNECT) != 0 && !link_is_read(l)))) {
        quorum_link_lost(l, "the other side closed it");
    }
    if (l->state != CLOSED) {
        quorum_link_wait(l);
    }
}

void quorum_link_go_on(struct net_link *l)
{
    size_t used;

    if (!link_is_read(l) || l->input.len == 0) {
        return;
    }
    used = link_take(l, strbuf_bytes(&l->input));
    if (l->state != CLOSED) {
        link_drop_input(l, used);
        quorum_link_wait(l);
    }
}

void quorum_link_told(struct net_link *l)
{
    l->is_untold = false;
    if (l->poll.data == NULL) {
        link_free(l); /* its handle is closed already */
    }
}

void quorum_net_drop(struct quorum_net *n, link_id link, const char *reason)
{
    struct net_link *l = find_link(n, link);

    if (l != NULL) {
        quorum_link_lost(l, reason);
    }
}

const char *quorum_net_peer(const struct quorum_net *n, link_id link)
{
    const struct net_link *l = find_link(n, link);

    return l == NULL ? "" : l->peer;
}
