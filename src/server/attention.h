/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - time as the deadlines of clients see it: it passes only while the server listens.
 *
 * A client is silent when the server has listened and heard nothing. While the process was stopped,
 * the machine slept or one turn took long, nobody listened, and what clients sent meanwhile may
 * still lie in the sockets, or wait to be accepted. So between two looks at all clients at most
 * `limit_us` passes, whatever the clock says; the rest is given back to all deadlines at once. And
 * whoever is judged is judged as of the last look, not as of now. */
#ifndef PAWL_SERVER_ATTENTION_H
#define PAWL_SERVER_ATTENTION_H

#include <stdint.h>

struct attention {
    int64_t limit_us;  /* 0: all time counts */
    int64_t looked_us; /* by the clock: all that had arrived by then has been read */
    int64_t heard_us;  /* the same moment in attended time */
};

void attention_init(struct attention *a, int64_t limit_us, int64_t now_us);

/* What the clock's `now_us` is in attended time. Never goes back, nor ahead of the clock. */
int64_t attention_at(const struct attention *a, int64_t now_us);

/* All that had arrived at `then_us` has been read. */
void attention_looked(struct attention *a, int64_t then_us);

#endif
