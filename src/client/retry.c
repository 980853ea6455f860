/* SPDX-License-Identifier: Apache-2.0 */
/* retry.c - how long to pause before trying again: Curator's policies. */
#include "pawl/client.h"

enum { MOST_DOUBLINGS = 29 };

static int64_t exponential(const struct pawl_retry *r, int attempt, uint64_t random)
{
    int doublings = (attempt > MOST_DOUBLINGS ? MOST_DOUBLINGS : attempt) + 1;
    int64_t factor = (int64_t)(random & (((uint64_t)1 << doublings) - 1));

    return r->pause_ms * (factor < 1 ? 1 : factor);
}

int64_t pawl_retry_pause(const struct pawl_retry *r, int attempt, int64_t elapsed_ms,
                         uint64_t random)
{
    int64_t pause;

    switch (r->kind) {
    case PAWL_RETRY_N_TIMES:
        return attempt < r->n ? r->pause_ms : -1;
    case PAWL_RETRY_EXPONENTIAL:
    case PAWL_RETRY_BOUNDED:
        if (attempt >= (r->n > MOST_DOUBLINGS ? MOST_DOUBLINGS : r->n)) {
            return -1;
        }
        pause = exponential(r, attempt, random);
        return r->kind == PAWL_RETRY_BOUNDED && pause > r->max_pause_ms ? r->max_pause_ms : pause;
    case PAWL_RETRY_UNTIL:
        return elapsed_ms < r->elapsed_ms ? r->pause_ms : -1;
    case PAWL_RETRY_FOREVER:
        return r->pause_ms;
    case PAWL_RETRY_NONE:
        break;
    }
    return -1;
}
