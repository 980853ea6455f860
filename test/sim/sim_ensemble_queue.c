/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_queue.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

void sim_queue_fini(struct sim_queue *q)
{
    free(q->events);
    *q = (struct sim_queue){0};
}

static bool happens_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

void sim_queue_put(struct sim_queue *q, struct sim_event e)
{
    size_t at = q->n++, parent;

    ASSERT(e.happen != NULL);
    e.order = q->n_ever++;
    if (q->n > q->capacity) {
        q->capacity = q->capacity == 0 ? 64 : 2 * q->capacity;
        q->events = must_realloc(q->events, q->capacity * sizeof(e));
    }
    while (at > 0 && happens_before(&e, &q->events[parent = (at - 1) / 2])) {
        q->events[at] = q->events[parent];
        at = parent;
    }
    q->events[at] = e;
}

bool sim_queue_take(struct sim_queue *q, struct sim_event *out)
{
    struct sim_event last;
    size_t at = 0, child;

    if (q->n == 0) {
        return false;
    }
    *out = q->events[0];
    last = q->events[--q->n];
    while ((child = 2 * at + 1) < q->n) {
        if (child + 1 < q->n && happens_before(&q->events[child + 1], &q->events[child])) {
            child++;
        }
        if (!happens_before(&q->events[child], &last)) {
            break;
        }
        q->events[at] = q->events[child];
        at = child;
    }
    q->events[at] = last;
    return true;
}
