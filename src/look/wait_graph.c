/* SPDX-License-Identifier: Apache-2.0 */
#include "look/wait_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

/* ---- edges ---- */

static void add_edge(struct wait_graph *g, const char *lock, int64_t from, int64_t to)
{
    if (g->n == g->capacity) {
        g->capacity = 2 * g->capacity + 16;
        g->edges = must_realloc(g->edges, g->capacity * sizeof(*g->edges));
    }
    g->edges[g->n++] = (struct wait_edge){.from = from, .to = to, .lock = lock};
}

/* From the nearest one ahead to the first that shares with nobody; a node without a session is
 * nobody's, and no part of a circle. */
static void add_edges_of(struct wait_graph *g, const char *lock, const struct lock_queue *q,
                         size_t i)
{
    int64_t from = q->items[i]->session_id;

    for (size_t ahead = i; ahead-- > 0;) {
        int64_t to = q->items[ahead]->session_id;

        if (lock_queue_excludes(q, ahead, i)) {
            if (from != to && from != 0 && to != 0) {
                add_edge(g, lock, from, to);
            }
            if (!lock_queue_is_reader(q, ahead)) {
                return;
            }
        }
    }
}

void wait_graph_add(struct wait_graph *g, const char *lock, const struct lock_queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        add_edges_of(g, lock, q, i);
    }
}

void wait_graph_fini(struct wait_graph *g)
{
    free(g->edges);
}

/* ---- circles: the strongly connected parts, by Tarjan, without recursion ---- */

enum { NONE = -1 };

struct node {
    int64_t session;
    size_t first, n; /* its edges, in `order` */
    size_t next;     /* the one that is looked at */
    int32_t number, low;
    int32_t part; /* NONE: not known yet */
    size_t way;   /* an edge to another one of its part */
};

struct search {
    struct wait_graph *g;
    size_t *order; /* edges by the session that waits */
    struct node *nodes;
    size_t n_nodes;
    size_t *open, n_open;   /* nodes whose part is not known */
    size_t *trail, n_trail; /* from the first node to the one that is looked at */
    int32_t n_numbers, n_parts;
};

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_session(const void *a, const void *b)
{
    return by_number(((const struct node *)a)->session, ((const struct node *)b)->session);
}

static struct node *find(const struct search *s, int64_t session)
{
    struct node key = {.session = session};

    return bsearch(&key, s->nodes, s->n_nodes, sizeof(key), by_session);
}

static void make_nodes(struct search *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->g->n; i++) {
        s->nodes[n++] = (struct node){.session = s->g->edges[i].from};
        s->nodes[n++] = (struct node){.session = s->g->edges[i].to};
    }
    qsort(s->nodes, n, sizeof(*s->nodes), by_session);
    for (size_t i = 0; i < n; i++) {
        if (s->n_nodes == 0 || s->nodes[s->n_nodes - 1].session != s->nodes[i].session) {
            s->nodes[s->n_nodes] = s->nodes[i];
            s->nodes[s->n_nodes].number = s->nodes[s->n_nodes].part = NONE;
            s->n_nodes++;
        }
    }
}

/* Each node's edges in a row. */
static void make_order(struct search *s)
{
    size_t at = 0;

    for (size_t i = 0; i < s->g->n; i++) {
        find(s, s->g->edges[i].from)->n++;
    }
    for (size_t i = 0; i < s->n_nodes; i++) {
        s->nodes[i].first = at;
        at += s->nodes[i].n;
        s->nodes[i].n = 0;
    }
    for (size_t i = 0; i < s->g->n; i++) {
        struct node *from = find(s, s->g->edges[i].from);

        s->order[from->first + from->n++] = i;
    }
}

static void enter(struct search *s, struct node *at)
{
    at->number = at->low = s->n_numbers++;
    s->open[s->n_open++] = s->trail[s->n_trail++] = (size_t)(at - s->nodes);
}

static void leave(struct search *s, struct node *at)
{
    struct node *last;

    if (at->low == at->number) {
        do {
            last = &s->nodes[s->open[--s->n_open]];
            last->part = s->n_parts;
        } while (last != at);
        s->n_parts++;
    }
    s->n_trail--;
    if (s->n_trail > 0) {
        struct node *before = &s->nodes[s->trail[s->n_trail - 1]];

        before->low = at->low < before->low ? at->low : before->low;
    }
}

static void visit(struct search *s, struct node *from)
{
    enter(s, from);
    while (s->n_trail > 0) {
        struct node *at = &s->nodes[s->trail[s->n_trail - 1]], *to;

        if (at->next == at->n) {
            leave(s, at);
            continue;
        }
        to = find(s, s->g->edges[s->order[at->first + at->next++]].to);
        if (to->number == NONE) {
            enter(s, to);
        } else if (to->part == NONE) {
            at->low = to->number < at->low ? to->number : at->low;
        }
    }
}

static size_t mark(struct search *s)
{
    size_t n = 0;

    for (size_t i = s->g->n; i-- > 0;) { /* the first of a node's edges stays its way */
        struct wait_edge *e = &s->g->edges[i];
        struct node *from = find(s, e->from);

        e->is_in_circle = from->part == find(s, e->to)->part;
        if (e->is_in_circle) {
            from->way = i;
            n++;
        }
    }
    for (size_t i = 0; i < s->g->n; i++) {
        s->g->edges[i].next = find(s, s->g->edges[i].to)->way;
    }
    return n;
}

size_t wait_graph_find_circles(struct wait_graph *g)
{
    size_t most = 2 * g->n + 1, n;
    struct search s = {.g = g,
                       .order = must_zalloc(most * sizeof(*s.order)),
                       .nodes = must_zalloc(most * sizeof(*s.nodes)),
                       .open = must_zalloc(most * sizeof(*s.open)),
                       .trail = must_zalloc(most * sizeof(*s.trail))};

    make_nodes(&s);
    make_order(&s);
    for (size_t i = 0; i < s.n_nodes; i++) {
        if (s.nodes[i].number == NONE) {
            visit(&s, &s.nodes[i]);
        }
    }
    n = mark(&s);
    free(s.order);
    free(s.nodes);
    free(s.open);
    free(s.trail);
    return n;
}

/* ---- sentences ---- */

static void put_who(const struct pawl_participant *p, struct strbuf *out)
{
    if (p->session_id == 0) {
        strbuf_append_str(out, "a node that belongs to no session");
        return;
    }
    strbuf_printf(out, "0x%" PRIx64, (uint64_t)p->session_id);
    if (p->data.len > 0) {
        strbuf_append_str(out, " (");
        strbuf_append(out, p->data.data, p->data.len);
        strbuf_append_str(out, ")");
    }
}

static void put_time(int64_t ms, struct strbuf *out)
{
    time_t seconds = (time_t)(ms / 1000);
    char text[40];
    struct tm tm;

    localtime_r(&seconds, &tm);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    strbuf_printf(out, "%s.%03d", text, (int)(ms % 1000));
}

void wait_explain(const struct lock_queue *q, size_t i, struct strbuf *out)
{
    bool holds = lock_queue_holds(q, i);
    size_t ahead;

    put_who(q->items[i], out);
    strbuf_append_str(out, !holds ? " waits" : q->is_semaphore ? " has a lease" : " holds it");
    strbuf_append_str(out, " since ");
    put_time(q->items[i]->since_ms, out);
    if (holds) {
        return;
    }
    if (lock_queue_behind(q, i, &ahead)) {
        strbuf_append_str(out, " for ");
        put_who(q->items[ahead], out);
        strbuf_append_str(out,
                          lock_queue_holds(q, ahead) ? ", which holds it" : ", which waits itself");
    } else {
        strbuf_printf(out, " for one of %zu leases", q->n_leases);
    }
}
