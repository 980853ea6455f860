/* SPDX-License-Identifier: Apache-2.0 */
/* sim_net.c - links between simulated processes and servers, and what happens to them. */
#include <stdlib.h>

#include "base/memory.h"
#include "sim/sim_world.h"

/* ---- pipes ---- */

static void pipe_init(struct pipe *p)
{
    *p = (struct pipe){0};
    list_init(&p->pieces);
}

static void pipe_clear(struct pipe *p)
{
    struct list *item;

    while ((item = list_pop_front(&p->pieces)) != NULL) {
        free(container_of(item, struct piece, link));
    }
}

static void append(struct pipe *p, int64_t due_ms, struct bytes b, bool eof)
{
    struct piece *piece;

    if (p->ended) {
        return;
    }
    p->ended = eof;
    piece = must_alloc(sizeof(*piece) + b.len);
    *piece = (struct piece){.due_ms = due_ms, .len = b.len, .eof = eof};
    if (b.len > 0) {
        memcpy(piece->data, b.data, b.len);
    }
    piece->due_ms = due_ms < p->last_due_ms ? p->last_due_ms : due_ms;
    p->last_due_ms = piece->due_ms;
    list_push_back(&p->pieces, &piece->link);
}

static int64_t latency(struct world *w)
{
    if (w->trouble && world_chance(w, (uint64_t)w->slow_link_one_in)) {
        return world_below(w, 900);
    }
    return world_below(w, w->latency_ms);
}

/* In odd parts now and then, as TCP may. */
static void put(struct world *w, struct pipe *p, struct bytes b)
{
    if (b.len > 1 && w->trouble && world_chance(w, 8)) {
        size_t n = 1 + (size_t)world_below(w, (int64_t)b.len - 1);

        append(p, world_now_ms(w) + latency(w), bytes_of(b.data, n), false);
        b = bytes_of((const uint8_t *)b.data + n, b.len - n);
    }
    append(p, world_now_ms(w) + latency(w), b, false);
}

static size_t pending(const struct pipe *p)
{
    struct list *item;
    size_t n = 0;

    list_for_each (item, &p->pieces) {
        const struct piece *piece = container_of(item, struct piece, link);

        n += piece->len - piece->at;
    }
    return n;
}

/* Only so many bytes arrive, at once, and then the end. */
static void truncate_to(struct world *w, struct pipe *p, size_t most)
{
    struct list all, *item;

    list_init(&all);
    list_splice(&all, &p->pieces);
    p->frozen_until_ms = 0;
    p->last_due_ms = 0;
    p->ended = false;
    while ((item = list_pop_front(&all)) != NULL) {
        struct piece *piece = container_of(item, struct piece, link);
        size_t n = piece->len - piece->at < most ? piece->len - piece->at : most;

        if (n > 0) {
            append(p, world_now_ms(w), bytes_of(piece->data + piece->at, n), false);
        }
        most -= n;
        free(piece);
    }
    append(p, world_now_ms(w), bytes_of("", 0), true);
}

static void cut_pipe(struct world *w, struct pipe *p)
{
    size_t n = pending(p);

    truncate_to(w, p, world_chance(w, 3) ? n : (size_t)world_below(w, (int64_t)n + 1));
}

int64_t net_next_ms(const struct pipe *p)
{
    const struct piece *first;

    if (list_empty(&p->pieces)) {
        return INT64_MAX;
    }
    first = container_of(p->pieces.next, struct piece, link);
    return first->due_ms < p->frozen_until_ms ? p->frozen_until_ms : first->due_ms;
}

struct piece *net_arrived(struct world *w, struct pipe *p)
{
    return net_next_ms(p) > world_now_ms(w) ? NULL
                                            : container_of(p->pieces.next, struct piece, link);
}

void net_taken(struct piece *p)
{
    list_remove(&p->link);
    free(p);
}

/* ---- links ---- */

struct sim_link *net_dial(struct world *w, struct machine *m, int host)
{
    struct sim_link *l = must_zalloc(sizeof(*l));
    bool lost = world_now_ms(w) < m->cut_off_until_ms ||
                (world_now_ms(w) < m->stranded_until_ms && host != m->stranded_with) ||
                (w->trouble && world_chance(w, 20)); /* the packet: nobody answers */

    l->host = host;
    l->client = m;
    l->up_at_ms = world_now_ms(w) + (lost ? FOR_EVER : 1 + world_below(w, w->latency_ms));
    l->refused = w->trouble && world_chance(w, 10);
    pipe_init(&l->to_server);
    pipe_init(&l->to_client);
    strbuf_init(&l->partial, STRBUF_NO_LIMIT);
    profile_init(&l->old);
    list_push_back(&w->links, &l->link);
    return l;
}

bool net_dialed(struct world *w, struct sim_link *l)
{
    if (l->refused || !servers_connect(w, l)) {
        return false;
    }
    l->up_at_ms = 0;
    return true;
}

void net_send(struct world *w, struct sim_link *l, struct bytes b)
{
    put(w, &l->to_server, b);
}

/* What was sent arrives before the end of the link does; or, after a reset, not all of it. */
void net_hang_up(struct world *w, struct sim_link *l)
{
    l->client = NULL;
    pipe_clear(&l->to_client);
    if (w->trouble && world_chance(w, 3)) {
        cut_pipe(w, &l->to_server);
    } else {
        append(&l->to_server, world_now_ms(w) + latency(w), bytes_of("", 0), true);
    }
}

static void free_link(struct sim_link *l)
{
    list_remove(&l->link);
    pipe_clear(&l->to_server);
    pipe_clear(&l->to_client);
    strbuf_fini(&l->partial);
    profile_fini(&l->old);
    free(l);
}

/* ---- the server's end ---- */

static void server_hangs_up(struct world *w, struct sim_link *l)
{
    servers_disconnect(w, l);
    pipe_clear(&l->to_server);
    append(&l->to_client, world_now_ms(w) + latency(w), bytes_of("", 0), true);
}

static void to_client(struct world *w, struct sim_link *l, struct bytes b)
{
    struct strbuf older;

    if (w->profile == 0) {
        put(w, &l->to_client, b);
        return;
    }
    strbuf_init(&older, STRBUF_NO_LIMIT);
    profile_sent(w, l, b, &older);
    if (older.len > 0) {
        put(w, &l->to_client, strbuf_bytes(&older));
    }
    strbuf_fini(&older);
}

void net_touched(struct world *w, struct connection *c)
{
    struct sim_link *l = c->owner;
    size_t n = c->out.len - c->out_at;

    if (l->is_stranger) {
        return; /* it looks by itself */
    }
    if (n > 0 && l->client != NULL) {
        to_client(w, l, bytes_of(c->out.data + c->out_at, n));
    }
    if (n > 0) {
        servers_sent(w, l, n);
    }
    if (l->server_side == c && c->state == CONNECTION_CLOSING) {
        server_hangs_up(w, l);
    }
}

/* With its length; the first of a link is the handshake. */
static void deliver_frame(struct world *w, struct sim_link *l, struct bytes b)
{
    struct bytes frame = bytes_of((const uint8_t *)b.data + 4, b.len - 4);
    struct strbuf reply;

    strbuf_init(&reply, STRBUF_NO_LIMIT);
    if (w->intercept != NULL && w->intercept(l, frame, &reply)) {
        if (reply.len > 0) {
            put(w, &l->to_client, strbuf_bytes(&reply));
        }
    } else {
        if (w->profile != 0 && l->greeted) {
            profile_request(w, l, (uint8_t *)frame.data, frame.len);
        }
        servers_receive(w, l, b);
    }
    l->greeted = true;
    strbuf_fini(&reply);
    servers_settle(w);
}

/* Frame by frame, for who intercepts, and for older servers. */
static void deliver_frames(struct world *w, struct sim_link *l, struct bytes b)
{
    size_t at = 0, n;

    strbuf_append_bytes(&l->partial, b);
    while (l->server_side != NULL && l->partial.len - at >= 4 &&
           l->partial.len - at >= (n = 4 + (size_t)load_u32(l->partial.data + at))) {
        deliver_frame(w, l, bytes_of(l->partial.data + at, n));
        at += n;
    }
    memmove(l->partial.data, l->partial.data + at, l->partial.len - at);
    l->partial.len -= at;
}

static void receive(struct world *w, struct sim_link *l)
{
    struct piece *p;

    while (servers_listen(w, l) && (p = net_arrived(w, &l->to_server)) != NULL) {
        struct bytes b = bytes_of(p->data, p->len);

        list_remove(&p->link);
        if (p->eof) {
            servers_disconnect(w, l);
        } else if (w->intercept != NULL || w->profile != 0 || l->partial.len > 0) {
            deliver_frames(w, l, b);
        } else {
            l->greeted = true;
            servers_receive(w, l, b);
        }
        free(p);
        servers_settle(w);
    }
}

/* Whatever of the servers is due now. */
void net_serve(struct world *w)
{
    struct list *item, *next;

    servers_run(w);
    for (item = w->links.next; item != &w->links; item = next) {
        struct sim_link *l = container_of(item, struct sim_link, link);

        next = item->next;
        receive(w, l);
        if (l->client == NULL && l->server_side == NULL) {
            free_link(l);
        }
    }
}

int64_t net_soon_ms(const struct world *w)
{
    int64_t t = servers_soon_ms(w);
    struct list *item;

    list_for_each (item, &w->links) {
        const struct sim_link *l = container_of(item, struct sim_link, link);
        int64_t due = servers_listen(w, l) ? net_next_ms(&l->to_server) : INT64_MAX;

        t = due < t ? due : t;
    }
    return t;
}

void net_free(struct world *w)
{
    while (!list_empty(&w->links)) {
        free_link(container_of(w->links.next, struct sim_link, link));
    }
}

/* ---- trouble ---- */

void world_cut(struct machine *m, int ways)
{
    struct world *w = the_world;
    struct sim_link *l = m->socket;

    if (l == NULL || l->up_at_ms != 0) {
        return;
    }
    world_note(m->id, "cut", ways);
    if ((ways & TO_CLIENT) != 0) {
        cut_pipe(w, &l->to_client);
    } else {
        l->to_client.frozen_until_ms = INT64_MAX;
    }
    if ((ways & TO_SERVER) != 0) {
        cut_pipe(w, &l->to_server);
    } else {
        l->to_server.frozen_until_ms = INT64_MAX;
    }
}

void world_freeze(struct machine *m, int ways, int64_t ms)
{
    struct sim_link *l = m->socket;
    int64_t until = ms == FOR_EVER ? INT64_MAX : world_now_ms(the_world) + ms;

    if (l == NULL) {
        return;
    }
    world_note(m->id, "freeze", ways);
    if ((ways & TO_SERVER) != 0) {
        l->to_server.frozen_until_ms = until;
    }
    if ((ways & TO_CLIENT) != 0) {
        l->to_client.frozen_until_ms = until;
    }
}

void world_cut_off(struct machine *m, int64_t ms, int64_t late_ms)
{
    world_note(m->id, "cut off", ms);
    m->cut_off_until_ms = world_now_ms(the_world) + ms;
    world_freeze(m, TO_SERVER, FOR_EVER);
    world_freeze(m, TO_CLIENT, late_ms);
}

/* Clients are told that their links are gone, or not. */
void net_server_gone(struct world *w, int host)
{
    struct list *item;

    list_for_each (item, &w->links) {
        struct sim_link *l = container_of(item, struct sim_link, link);

        if (l->host != host) {
            continue;
        }
        l->server_side = NULL;
        pipe_clear(&l->to_server);
        if (l->up_at_ms != 0 || l->is_stranger) {
            continue;
        }
        if (!world_chance(w, 4)) {
            cut_pipe(w, &l->to_client);
        } else {
            l->to_client.frozen_until_ms = INT64_MAX;
        }
    }
}
