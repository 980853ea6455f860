/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_queue.h - simulated time: what happens when.
 *
 * Events come out in the order of their time; those of one time in the order in which they were
 * put in. Nothing is ever taken back: who has put in an event looks whether it still concerns
 * anybody when it comes. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_QUEUE_H
#define PAWL_TEST_SIM_ENSEMBLE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_event {
    int64_t due_us;
    uint64_t order;
    void (*happen)(void *cluster, const struct sim_event *e);
    void *subject;
    uint64_t detail;
};

struct sim_queue {
    struct sim_event *events; /* a heap */
    size_t n, capacity;
    uint64_t n_ever;
};

void sim_queue_fini(struct sim_queue *q);
void sim_queue_put(struct sim_queue *q, struct sim_event e);

/* The first one, which goes; false: there is none. */
bool sim_queue_take(struct sim_queue *q, struct sim_event *out);

#endif
