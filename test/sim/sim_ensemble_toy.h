/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_toy.h - a body whose tree is a list of numbers.
 *
 * Clients write numbers that nobody else writes, ask for a sync, or have a session revalidated; a
 * member that does not lead forwards all of that. It stands beside the real member because it costs
 * nothing: thousands of seeds, and every crash of a life before every effect, in some seconds; and
 * because a story with numbers instead of transactions can be read. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_TOY_H
#define PAWL_TEST_SIM_ENSEMBLE_TOY_H

#include "base/bytes.h"
#include "sim_ensemble_carrier.h"

struct sim_member;

enum toy_ask { ASK_WRITE, ASK_SYNC, ASK_REVALIDATE, N_ASKS };

/* What a client waits for; those of one kind are answered in their order. */
struct toy_call {
    struct toy_call *next;
    uint64_t number;
    size_t n_acknowledged; /* writes, by anybody, when it was made: a sync has to show them */
};

struct toy_calls {
    struct toy_call *first, **last;
};

struct toy {
    struct toy_calls calls[N_ASKS];
    int64_t next_zxid; /* leading */
    size_t n_seen;     /* records whose clients have been answered */
};

extern const struct sim_body toy_body;

/* A client asks. Whoever does not serve does not answer. */
void toy_ask(struct sim_member *m, enum toy_ask ask);

/* An operator asks for another list of members; only a leader whose quorum can have it begins. */
void toy_change_list(struct sim_member *m, uint32_t voters, uint32_t observers);

enum { VALUE_BYTES = 8 };
void toy_number_write(uint64_t number, uint8_t out[VALUE_BYTES]);
uint64_t toy_number_read(struct bytes b);

#endif
