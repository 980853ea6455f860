/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - what the server counts of itself, as metrics.def lists it.
 *
 * Everything is plain numbers of one thread: a request costs a handful of additions. Percentiles
 * come from a random sample of 4096 values; its dice are seeded, so two runs over the same input
 * print the same. */
#ifndef PAWL_SERVER_METRICS_H
#define PAWL_SERVER_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/namespaces.h"
#include "server/summary.h"
#include "wire/ops.h"

enum summary_id {
#define BASIC(NAME, name, help) SUMMARY_##NAME,
#include "server/metrics.def"
    N_BASIC_SUMMARIES, /* those from here on have all of their percentiles shown */
    SUMMARY_BEFORE_FULL_ = N_BASIC_SUMMARIES - 1,
#define FULL(NAME, name, help) SUMMARY_##NAME,
#include "server/metrics.def"
    N_SUMMARIES
};

enum counter_id {
#define COUNTER(name, help) COUNTER_##name,
#include "server/metrics.def"
    N_COUNTERS
};

struct metrics {
    union { /* by name where they are counted, by number where they are printed */
        struct {
#define COUNTER(name, help) uint64_t name;
#include "server/metrics.def"
        };
        uint64_t counters[N_COUNTERS];
    };
    struct summary summaries[N_SUMMARIES];
    struct namespaces namespaces;
    uint64_t dice;

    uint64_t packets_received, packets_sent;
    int64_t last_response_size, min_response_size, max_response_size; /* -1: none yet */
    int64_t last_proposal_size, min_proposal_size, max_proposal_size; /* -1: none yet */
    uint64_t auth_failed;
    uint64_t ops[N_OPS];
};

void metrics_init(struct metrics *m, uint64_t seed);
void metrics_fini(struct metrics *m);

/* srst: everything begins anew, but for the counts of operations and of failed authentications. */
void metrics_reset(struct metrics *m);

static inline void metrics_observe(struct metrics *m, enum summary_id id, int64_t value)
{
    struct summary *x = &m->summaries[id];

    summary_add(x, value);
    summary_sample(x, value, &m->dice);
}

/* A reply of so many bytes, without the length in front of it. */
static inline void metrics_response(struct metrics *m, int64_t bytes)
{
    m->packets_sent++;
    m->response_bytes += (uint64_t)bytes;
    m->last_response_size = bytes;
    if (bytes > m->max_response_size) {
        m->max_response_size = bytes;
    }
    if (bytes < m->min_response_size || m->min_response_size < 0) {
        m->min_response_size = bytes;
    }
}

/* A leader has proposed a transaction of so many bytes. */
static inline void metrics_proposal(struct metrics *m, int64_t bytes)
{
    m->proposal_count++;
    m->last_proposal_size = bytes;
    if (bytes > m->max_proposal_size) {
        m->max_proposal_size = bytes;
    }
    if (bytes < m->min_proposal_size || m->min_proposal_size < 0) {
        m->min_proposal_size = bytes;
    }
}

/* Reads and writes together. */
struct summary metrics_latency(const struct metrics *m);

#endif
