/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_mesh.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { CONNECT_TIMEOUT_US = 5000000 };

/* Without data: the end of the wire. */
struct parcel {
    struct parcel *next;
    int64_t due_us;
    bool is_end;
    size_t len;
    uint8_t data[];
};

/* Between member[0], who dialled, and member[1]. An end is open from the moment it knows of the
 * wire until it closes it or hears of its end. */
struct wire {
    struct wire *next;
    bool is_election;
    bool made;
    bool is_lost; /* a stranger has its other end */
    int member[2];
    bool open[2];
    uint64_t link[2];
    bool held[2];
    struct mesh_pipe to[2];
};

void mesh_init(struct mesh *m, void *cluster, const struct mesh_host *host,
               struct sim_queue *events, const int64_t *now_us, uint64_t seed, int n_members)
{
    ASSERT(n_members > 0 && n_members <= MESH_MEMBERS);
    *m = (struct mesh){.cluster = cluster, .host = host, .events = events, .now_us = now_us};
    m->n_members = n_members;
    prng_seed(&m->random, seed);
    for (int a = 0; a < MESH_MEMBERS; a++) {
        for (int b = 0; b < MESH_MEMBERS; b++) {
            strbuf_init(&m->last_message[a][b], STRBUF_NO_LIMIT);
        }
    }
}

static void pipe_drop(struct mesh_pipe *p)
{
    struct parcel *x;

    while ((x = p->first) != NULL) {
        p->first = x->next;
        free(x);
    }
    p->last = &p->first;
}

static void free_wires(struct wire *w)
{
    struct wire *next;

    for (; w != NULL; w = next) {
        next = w->next;
        pipe_drop(&w->to[0]);
        pipe_drop(&w->to[1]);
        free(w);
    }
}

void mesh_fini(struct mesh *m)
{
    free_wires(m->wires);
    free_wires(m->ended);
    for (int a = 0; a < MESH_MEMBERS; a++) {
        for (int b = 0; b < MESH_MEMBERS; b++) {
            strbuf_fini(&m->last_message[a][b]);
        }
    }
}

static int64_t latency(struct mesh *m)
{
    if (m->one_in_slow > 0 && prng_below(&m->random, (uint64_t)m->one_in_slow) == 0) {
        return (int64_t)prng_below(&m->random, (uint64_t)m->slow_us);
    }
    return m->latency_us + (int64_t)prng_below(&m->random, (uint64_t)m->jitter_us);
}

static bool may_pass(const struct mesh *m, int from, int to)
{
    return m->blocked[from][to] == 0;
}

/* ---- pipes ---- */

static void pipe_arrived(void *cluster, const struct sim_event *e);

static void pipe_await(struct mesh *m, struct mesh_pipe *p)
{
    int64_t due;

    if (p->is_awaited || p->first == NULL) {
        return;
    }
    due = p->first->due_us > *m->now_us ? p->first->due_us : *m->now_us;
    sim_queue_put(m->events, (struct sim_event){.due_us = due,
                                                .happen = pipe_arrived,
                                                .subject = p,
                                                .detail = (uint64_t)(uintptr_t)m});
    p->is_awaited = true;
}

static void pipe_put(struct mesh *m, struct mesh_pipe *p, struct bytes data, bool is_end,
                     int64_t delay_us)
{
    struct parcel *x = must_alloc(sizeof(*x) + data.len);
    int64_t due = *m->now_us + latency(m) + delay_us;

    due = due < p->last_due_us ? p->last_due_us : due;
    *x = (struct parcel){.due_us = due, .is_end = is_end, .len = data.len};
    if (data.len > 0) {
        memcpy(x->data, data.data, data.len);
    }
    p->last_due_us = due;
    *p->last = x;
    p->last = &x->next;
    m->n_parcels++;
    pipe_await(m, p);
}

static struct parcel *pipe_take(struct mesh_pipe *p)
{
    struct parcel *x = p->first;

    p->first = x->next;
    p->last = p->first == NULL ? &p->first : p->last;
    return x;
}

/* Some of what is under way is lost, from the end. */
static void pipe_lose(struct mesh *m, struct mesh_pipe *p)
{
    struct parcel **at = &p->first, *x;

    while (*at != NULL && prng_below(&m->random, 3) > 0) {
        at = &(*at)->next;
    }
    while ((x = *at) != NULL) {
        *at = x->next;
        free(x);
    }
    for (p->last = &p->first; *p->last != NULL;) {
        p->last = &(*p->last)->next;
    }
}

static void pipe_end(struct mesh *m, struct mesh_pipe *p)
{
    pipe_put(m, p, BYTES_NULL, true, 0);
}

/* ---- wires ---- */

static struct wire *wire_new(struct mesh *m, int from, int to, bool is_election)
{
    struct wire *w = must_zalloc(sizeof(*w));

    w->is_election = is_election;
    w->member[0] = from;
    w->member[1] = to;
    w->open[0] = true;
    w->link[0] = ++m->n_links;
    for (int side = 0; side < 2; side++) {
        w->to[side].wire = w;
        w->to[side].side = side;
        w->to[side].last = &w->to[side].first;
    }
    w->next = m->wires;
    m->wires = w;
    return w;
}

static void forget_election(struct mesh *m, const struct wire *w, int side)
{
    int a = w->member[side], b = w->member[1 - side];

    if (w->is_election && m->elections[a][b] == w) {
        m->elections[a][b] = NULL;
    }
}

/* The end at `side` is over; its member knows. */
static void wire_closed(struct mesh *m, struct wire *w, int side)
{
    w->open[side] = false;
    pipe_drop(&w->to[side]);
    forget_election(m, w, side);
}

/* Wires that nobody has any more go to the others of their kind, now and then. */
static void bury(struct mesh *m)
{
    struct wire **at = &m->wires, *w;

    while ((w = *at) != NULL) {
        if (w->open[0] || w->open[1] || w->to[0].first != NULL || w->to[1].first != NULL) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = m->ended;
        m->ended = w;
    }
}

static void wire_ended(struct mesh *m, struct wire *w, int side)
{
    int member = w->member[side];

    wire_closed(m, w, side);
    if (!w->is_election) {
        m->host->link_down(m->cluster, member, w->link[side]);
    }
}

static void wire_delivers(struct mesh *m, struct wire *w, int side, const struct parcel *x)
{
    struct bytes data = bytes_of(x->data, x->len);

    if (x->is_end) {
        wire_ended(m, w, side);
    } else if (w->is_election) {
        m->host->notification(m->cluster, w->member[side], w->member[1 - side], data);
    } else {
        m->host->packet(m->cluster, w->member[side], w->link[side], data);
    }
}

/* Something came to where nobody has this wire: who has sent it hears so. */
static void wire_refuses(struct mesh *m, struct wire *w, int side, const struct parcel *x)
{
    if (!x->is_end && w->open[1 - side] && m->powered[w->member[side]] && !w->is_lost) {
        pipe_end(m, &w->to[1 - side]);
    }
}

/* What waits for a paused member or behind a block is looked at again by wake(). */
static bool must_wait(const struct mesh *m, const struct wire *w, int side)
{
    int to = w->member[side];

    return !may_pass(m, w->member[1 - side], to) || (m->runs[to] && m->paused[to]) ||
           (w->open[side] && w->held[side]);
}

static void pipe_arrived(void *cluster, const struct sim_event *e)
{
    struct mesh *m = (struct mesh *)(uintptr_t)e->detail;
    struct mesh_pipe *p = e->subject;
    struct wire *w = p->wire;
    struct parcel *x;

    (void)cluster;
    p->is_awaited = false;
    if (p->first == NULL || must_wait(m, w, p->side)) {
        return;
    }
    if (p->first->due_us <= *m->now_us) {
        x = pipe_take(p);
        if (w->open[p->side]) {
            wire_delivers(m, w, p->side, x);
        } else {
            wire_refuses(m, w, p->side, x);
        }
        free(x);
    }
    pipe_await(m, p);
}

static void wake(struct mesh *m)
{
    for (struct wire *w = m->wires; w != NULL; w = w->next) {
        pipe_await(m, &w->to[0]);
        pipe_await(m, &w->to[1]);
    }
}

/* ---- making one ---- */

static void send_last(struct mesh *m, struct wire *w, int side)
{
    struct strbuf *last = &m->last_message[w->member[side]][w->member[1 - side]];

    if (last->len > 0) {
        pipe_put(m, &w->to[1 - side], strbuf_bytes(last), false, 0);
    }
}

static void election_made(struct mesh *m, struct wire *w)
{
    for (int side = 0; side < 2; side++) {
        struct wire **mine = &m->elections[w->member[side]][w->member[1 - side]];

        if (*mine != NULL && *mine != w) {
            struct wire *old = *mine;
            int its_side = old->member[0] == w->member[side] ? 0 : 1;

            wire_closed(m, old, its_side);
            pipe_end(m, &old->to[1 - its_side]);
        }
        *mine = w;
    }
    send_last(m, w, 0);
    send_last(m, w, 1);
}

static void wire_made(struct mesh *m, struct wire *w)
{
    w->made = w->open[1] = true;
    w->link[1] = ++m->n_links;
    if (w->is_election) {
        election_made(m, w);
        return;
    }
    m->host->link_up(m->cluster, w->member[1], w->link[1], w->member[0], false);
    if (w->open[0]) {
        m->host->link_up(m->cluster, w->member[0], w->link[0], w->member[1], true);
    }
}

static bool has_stranger(const struct mesh *m, int member)
{
    return m->strangers[member] > 0 && !m->holds[member];
}

/* Who dials does not see that it is somebody else. */
static void wire_made_to_stranger(struct mesh *m, struct wire *w)
{
    w->made = w->is_lost = true;
    w->link[1] = ++m->n_links;
    m->host->link_up(m->cluster, w->member[0], w->link[0], w->member[1], true);
}

static void dial_failed(struct mesh *m, struct wire *w, bool refused)
{
    int from = w->member[0], to = w->member[1];

    wire_closed(m, w, 0);
    if (!w->is_election) {
        m->host->dial_failed(m->cluster, from, to);
    } else if (refused) {
        m->host->refused(m->cluster, from, to);
    }
}

static bool is_answered(const struct mesh *m, const struct wire *w)
{
    return m->runs[w->member[1]] && (w->is_election || m->listens[w->member[1]]);
}

static void wire_dialled(void *cluster, const struct sim_event *e);

static void dial_again_at(struct mesh *m, struct wire *w, int64_t due_us)
{
    sim_queue_put(m->events, (struct sim_event){.due_us = due_us,
                                                .happen = wire_dialled,
                                                .subject = w,
                                                .detail = (uint64_t)(uintptr_t)m});
}

static bool is_reached(const struct mesh *m, int from, int to)
{
    return may_pass(m, from, to) && may_pass(m, to, from) && m->powered[to];
}

/* A connection is tried for some seconds; `last_due_us` of the first pipe is when that began. */
static void wire_dialled(void *cluster, const struct sim_event *e)
{
    struct mesh *m = (struct mesh *)(uintptr_t)e->detail;
    struct wire *w = e->subject;
    int from = w->member[0], to = w->member[1];

    (void)cluster;
    if (!w->open[0]) {
        return;
    }
    if (m->paused[from] || (m->paused[to] && m->runs[to] && is_answered(m, w))) {
        dial_again_at(m, w, *m->now_us + 50000);
    } else if (!is_reached(m, from, to) || (!w->is_election && m->drops[to] > 0)) {
        if (*m->now_us - w->to[0].last_due_us < CONNECT_TIMEOUT_US) {
            dial_again_at(m, w, *m->now_us + 200000);
        } else {
            dial_failed(m, w, false);
        }
    } else if (!w->is_election && has_stranger(m, to) && m->lets_in[to]) {
        wire_made_to_stranger(m, w);
    } else if (is_answered(m, w)) {
        wire_made(m, w);
    } else {
        dial_failed(m, w, true);
    }
}

static struct wire *wire_dial(struct mesh *m, int from, int to, bool is_election)
{
    struct wire *w;

    ASSERT(from != to);
    bury(m);
    w = wire_new(m, from, to, is_election);
    w->to[0].last_due_us = *m->now_us;
    dial_again_at(m, w, *m->now_us + latency(m) + latency(m));
    return w;
}

void mesh_dial(struct mesh *m, int from, int to)
{
    for (struct wire *w = m->wires; w != NULL; w = w->next) {
        if (w->member[0] == from && !w->is_election && !w->made && w->open[0]) {
            wire_closed(m, w, 0);
        }
    }
    wire_dial(m, from, to, false);
}

/* ---- what members do ---- */

void mesh_notify(struct mesh *m, int from, int to, struct bytes message)
{
    struct strbuf *last = &m->last_message[from][to];
    struct wire *w = m->elections[from][to];

    strbuf_clear(last);
    strbuf_append_bytes(last, message);
    if (w == NULL) {
        m->elections[from][to] = wire_dial(m, from, to, true);
    } else if (w->made) {
        pipe_put(m, &w->to[w->member[0] == from ? 1 : 0], message, false, 0);
    }
}

static struct wire *find_link(struct mesh *m, int member, uint64_t link, int *side)
{
    for (struct wire *w = m->wires; w != NULL; w = w->next) {
        for (*side = 0; *side < 2; ++*side) {
            if (!w->is_election && w->open[*side] && w->link[*side] == link) {
                ASSERT(w->member[*side] == member);
                return w;
            }
        }
    }
    return NULL;
}

bool mesh_is_open(struct mesh *m, int member, uint64_t link)
{
    int side;

    return find_link(m, member, link, &side) != NULL;
}

int mesh_peer(const struct mesh *m, uint64_t link)
{
    const struct wire *const lists[] = {m->wires, m->ended};

    for (int i = 0; i < 2; i++) {
        for (const struct wire *w = lists[i]; w != NULL; w = w->next) {
            if (w->link[0] == link || w->link[1] == link) {
                return w->member[w->link[0] == link ? 1 : 0];
            }
        }
    }
    return -1;
}

void mesh_send(struct mesh *m, int from, uint64_t link, struct bytes bytes, int64_t delay_us)
{
    int side;
    struct wire *w = find_link(m, from, link, &side);

    if (w != NULL) {
        ASSERT(w->made);
        pipe_put(m, &w->to[1 - side], bytes, false, delay_us);
    }
}

void mesh_hold(struct mesh *m, int member, uint64_t link, bool held)
{
    int side;
    struct wire *w = find_link(m, member, link, &side);

    if (w != NULL) {
        w->held[side] = held;
        pipe_await(m, &w->to[side]);
    }
}

void mesh_close(struct mesh *m, int from, uint64_t link)
{
    int side;
    struct wire *w = find_link(m, from, link, &side);

    if (w != NULL) {
        wire_closed(m, w, side);
        if (w->made) {
            pipe_end(m, &w->to[1 - side]);
        }
    }
}

/* ---- trouble ---- */

void mesh_block(struct mesh *m, int from, int to, bool blocked)
{
    m->blocked[from][to] += blocked ? 1 : -1;
    ASSERT(m->blocked[from][to] >= 0);
    if (!blocked) {
        wake(m);
    }
}

void mesh_pause(struct mesh *m, int member, bool paused)
{
    m->paused[member] = paused;
    if (!paused) {
        wake(m);
    }
}

void mesh_reset(struct mesh *m, int a, int b)
{
    for (struct wire *w = m->wires; w != NULL; w = w->next) {
        bool between =
            (w->member[0] == a && w->member[1] == b) || (w->member[0] == b && w->member[1] == a);

        for (int side = 0; between && w->made && side < 2; side++) {
            if (w->open[side]) {
                pipe_lose(m, &w->to[side]);
                pipe_end(m, &w->to[side]);
            }
        }
    }
}

static void end_lost(struct mesh *m, int member)
{
    for (struct wire *w = m->wires; w != NULL; w = w->next) {
        if (w->is_lost && w->member[1] == member && w->open[0]) {
            pipe_end(m, &w->to[0]);
        }
    }
}

void mesh_stranger(struct mesh *m, int member, bool there, bool lets_in)
{
    m->strangers[member] += there ? 1 : -1;
    ASSERT(m->strangers[member] >= 0);
    m->lets_in[member] = there && lets_in;
    if (!there) {
        end_lost(m, member);
    }
}

bool mesh_hold_port(struct mesh *m, int member)
{
    m->holds[member] = m->holds[member] || m->strangers[member] == 0;
    return m->holds[member];
}

void mesh_started(struct mesh *m, int member)
{
    m->runs[member] = m->powered[member] = true;
    m->listens[member] = m->paused[member] = false;
    for (int other = 0; other < m->n_members; other++) {
        strbuf_clear(&m->last_message[member][other]);
    }
}

/* The kernel of a machine that goes on ends the wires of a process; what it had sent may be lost.
 */
static void process_gone(struct mesh *m, struct wire *w, int side, bool power)
{
    wire_closed(m, w, side);
    if (w->made && !power) {
        pipe_lose(m, &w->to[1 - side]);
        pipe_end(m, &w->to[1 - side]);
    }
}

void mesh_stopped(struct mesh *m, int member, bool power)
{
    m->runs[member] = m->holds[member] = m->listens[member] = m->paused[member] = false;
    m->powered[member] = !power;
    for (struct wire *w = m->wires; w != NULL; w = w->next) {
        for (int side = 0; side < 2; side++) {
            if (w->member[side] == member && w->open[side]) {
                process_gone(m, w, side, power);
            }
        }
    }
    wake(m);
}
