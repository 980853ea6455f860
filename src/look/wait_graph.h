/* SPDX-License-Identifier: Apache-2.0 */
/* wait_graph.h - which session waits for which, over the queues of several locks, and whether they
 * wait in a circle.
 *
 * Who is ahead of somebody in the queue of a lock keeps it waiting: that is an edge from one
 * session to another. A circle of edges over several locks is a deadlock, unless threads of one
 * session do what looks like it. Edges that follow from others are left out: whoever is ahead of
 * the nearest one that shares with nobody keeps that one waiting, too. */
#ifndef PAWL_LOOK_WAIT_GRAPH_H
#define PAWL_LOOK_WAIT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "look/lock_queue.h"

struct wait_edge {
    int64_t from, to; /* sessions: the first waits for the second */
    const char *lock; /* as it was given */
    bool is_in_circle;
    size_t next; /* index of the next edge of the same circle; valid if it is in one */
};

struct wait_graph {
    struct wait_edge *edges;
    size_t n, capacity;
};

/* `lock` must live as long as the graph. */
void wait_graph_add(struct wait_graph *g, const char *lock, const struct lock_queue *q);

/* After all have been added. The number of edges that are in a circle. */
size_t wait_graph_find_circles(struct wait_graph *g);
void wait_graph_fini(struct wait_graph *g);

/* "0x100 (host=a) waits since 2026-... for 0x200 (host=b), which holds it": one sentence, without
 * its end, and with what others wrote as they wrote it. */
void wait_explain(const struct lock_queue *q, size_t i, struct strbuf *out);

#endif
