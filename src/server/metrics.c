/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

static void forget_sizes(struct metrics *m)
{
    m->last_response_size = -1;
    m->min_response_size = -1;
    m->max_response_size = -1;
    m->last_proposal_size = -1;
    m->min_proposal_size = -1;
    m->max_proposal_size = -1;
}

void metrics_init(struct metrics *m, uint64_t seed)
{
    *m = (struct metrics){.dice = seed};
    for (int i = 0; i < N_SUMMARIES; i++) {
        summary_init(&m->summaries[i]);
    }
    namespaces_init(&m->namespaces);
    forget_sizes(m);
}

void metrics_fini(struct metrics *m)
{
    for (int i = 0; i < N_SUMMARIES; i++) {
        summary_fini(&m->summaries[i]);
    }
    namespaces_fini(&m->namespaces);
}

void metrics_reset(struct metrics *m)
{
    for (int i = 0; i < N_COUNTERS; i++) {
        m->counters[i] = 0;
    }
    for (int i = 0; i < N_SUMMARIES; i++) {
        summary_reset(&m->summaries[i]);
    }
    namespaces_reset(&m->namespaces);
    m->packets_received = 0;
    m->packets_sent = 0;
    forget_sizes(m);
}

struct summary metrics_latency(const struct metrics *m)
{
    const struct summary *reads = &m->summaries[SUMMARY_READ_LATENCY];
    const struct summary *writes = &m->summaries[SUMMARY_UPDATE_LATENCY];

    return (struct summary){
        .min = reads->min < writes->min ? reads->min : writes->min,
        .max = reads->max > writes->max ? reads->max : writes->max,
        .sum = reads->sum + writes->sum,
        .count = reads->count + writes->count,
    };
}
