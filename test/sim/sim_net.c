/* SPDX-License-Identifier: Apache-2.0 */
/* sim_net.c - links between simulated processes and the server, and what happens to them. */
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

struct sim_link *net_dial(struct world *w, struct machine *m)
{
    struct sim_link *l = must_zalloc(sizeof(*l));
    bool lost = world_now_ms(w) < m->cut_off_until_ms ||
                (w->trouble && world_chance(w, 20)); /* the packet: nobody answers */

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
    if (l->refused || w->server_is_down) {
        return false;
    }
    l->up_at_ms = 0;
    l->server_side = member_fixture_connect(&w->server);
    if (l->server_side != NULL) {
        l->server_side->owner = l;
    }
    return l->server_side != NULL;
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
    member_fixture_disconnect(&w->server, l->server_side);
    l->server_side = NULL;
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

static void flush(struct world *w, struct connection *c)
{
    struct sim_link *l = c->owner;
    size_t n = c->out.len - c->out_at;

    if (l == NULL) {
        return; /* one of ours, see ask() */
    }
    if (n > 0 && l->client != NULL) {
        to_client(w, l, bytes_of(c->out.data + c->out_at, n));
    }
    if (n > 0) {
        member_fixture_read(&w->server, c, n);
    }
    if (c->state == CONNECTION_CLOSING) {
        server_hangs_up(w, l);
    }
}

static void settle(struct world *w)
{
    struct connection *c;

    while ((c = member_next_touched(w->server.member)) != NULL) {
        flush(w, c);
    }
    if (w->server.appended_zxid > w->server.durable_zxid && w->durable_at_ms == INT64_MAX) {
        bool slow = world_now_ms(w) < w->slow_disk_until_ms;

        w->durable_at_ms = world_now_ms(w) + world_below(w, slow ? 700 : 3);
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
        member_fixture_send(&w->server, l->server_side, b);
    }
    l->greeted = true;
    strbuf_fini(&reply);
    settle(w);
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

    while (l->server_side != NULL && (p = net_arrived(w, &l->to_server)) != NULL) {
        if (p->eof) {
            net_taken(p);
            member_fixture_disconnect(&w->server, l->server_side);
            l->server_side = NULL;
        } else {
            struct bytes b = bytes_of(p->data, p->len);

            list_remove(&p->link);
            if (w->intercept != NULL || w->profile != 0 || l->partial.len > 0) {
                deliver_frames(w, l, b);
            } else {
                member_fixture_send(&w->server, l->server_side, b);
                l->greeted = true;
            }
            free(p);
        }
        settle(w);
    }
}

static void run_disk(struct world *w)
{
    if (world_now_ms(w) >= w->durable_at_ms) {
        w->durable_at_ms = INT64_MAX;
        member_fixture_durable(&w->server, w->server.appended_zxid);
        settle(w);
    }
}

static void come_back(struct world *w)
{
    w->server.now_us -= 1000000; /* which the fixture adds */
    w->server.wall_ms += w->wall_jump_ms - 1000;
    w->wall_jump_ms = 0;
    member_fixture_restart(&w->server, &w->options);
    w->server_is_down = false;
    w->n_restarts++;
    w->restart_zxid = w->server.durable_zxid;
    w->tick_ms = world_now_ms(w);
    world_note(-1, "server up", 0);
}

/* Whatever of the server is due now. */
void net_serve(struct world *w)
{
    struct list *item, *next;

    if (w->server_is_down && world_now_ms(w) >= w->up_again_ms) {
        come_back(w);
    }
    if (w->server_is_down) {
        return;
    }
    run_disk(w);
    if (world_now_ms(w) >= w->tick_ms) {
        w->tick_ms = world_now_ms(w) + 50;
        member_fixture_tick(&w->server, 0);
        settle(w);
    }
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
    int64_t t = w->server_is_down               ? w->up_again_ms
                : w->tick_ms < w->durable_at_ms ? w->tick_ms
                                                : w->durable_at_ms;
    struct list *item;

    list_for_each (item, &w->links) {
        const struct sim_link *l = container_of(item, struct sim_link, link);
        int64_t due = l->server_side == NULL ? INT64_MAX : net_next_ms(&l->to_server);

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

/* Some of what was not yet durable may have reached the disk. Clients are told that their links are
 * gone, or not. */
void world_crash(struct world *w, int64_t down_ms)
{
    struct list *item;
    int64_t more;

    if (w->server_is_down) {
        return;
    }
    world_note(-1, "crash", down_ms);
    more = w->server.appended_zxid - w->server.durable_zxid;
    w->server.durable_zxid += world_below(w, more + 1);
    w->durable_at_ms = INT64_MAX;
    w->server_is_down = true;
    w->up_again_ms = world_now_ms(w) + down_ms;
    list_for_each (item, &w->links) {
        struct sim_link *l = container_of(item, struct sim_link, link);

        l->server_side = NULL;
        pipe_clear(&l->to_server);
        if (l->up_at_ms != 0) {
            continue;
        }
        if (!world_chance(w, 4)) {
            cut_pipe(w, &l->to_client);
        } else {
            l->to_client.frozen_until_ms = INT64_MAX;
        }
    }
}

void world_slow_disk(struct world *w, int64_t ms)
{
    world_note(-1, "slow disk", ms);
    w->slow_disk_until_ms = world_now_ms(w) + ms;
}
