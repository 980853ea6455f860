/* SPDX-License-Identifier: Apache-2.0 */
/* sim_witness.h - reads along what clients and servers tell each other, and holds it against the
 * truth (world_truth()): what no recipe would notice by itself.
 *
 *   order     a link's answers come in the order of its requests; a session's transactions happen
 *             in the order in which it has asked for them, over whatever links
 *   write     an acknowledged write is in the truth, as this session's, where the answer puts it
 *   read      no answer shows what nobody has delivered
 *   back      the zxid that a session is shown never goes back, wherever it connects
 *   sync      its answer shows everything that anybody had been shown when it was sent
 *   event     a change of data that is watched is shown behind its event
 *   dead      nothing is done, and no ephemeral node made, for a session that has ended
 *
 * It listens at the clients' ends: what a client has never received it was never told. */
#ifndef PAWL_TEST_SIM_WITNESS_H
#define PAWL_TEST_SIM_WITNESS_H

#include "base/bytes.h"
#include "base/strbuf.h"

struct machine;
struct txn;
struct world;

enum { WITNESS_CALLS = 4096, WITNESS_WATCHES = 64, WITNESS_PATH_BYTES = 96 };

/* A request that is not answered yet. */
struct witness_call {
    int32_t xid, op;
    bool watch;
    char path[WITNESS_PATH_BYTES];
    int64_t truth_zxid; /* when it was sent */
};

/* Data that a client watches, as it has seen it last. */
struct witness_watch {
    char path[WITNESS_PATH_BYTES]; /* "": none */
    int64_t mzxid;
    bool is_set; /* on this link */
};

/* Of one client. */
struct witness {
    struct strbuf sent, heard; /* beginnings of frames */
    bool has_greeted, is_greeted;
    struct witness_call *calls; /* a ring */
    size_t first, n;
    int64_t session;
    struct witness_watch watches[WITNESS_WATCHES];
};

void witness_init(struct witness *w);
void witness_fini(struct witness *w);
void witness_dials(struct machine *m); /* what was said on its last link is over */
void witness_sends(struct machine *m, struct bytes b);
void witness_hears(struct machine *m, struct bytes b);

/* Another client goes on with it, and counts from the beginning. */
void witness_hands_over(struct world *w, int64_t session);

/* A transaction is part of the truth. */
void witness_wrote(struct world *w, const struct txn *txn);

#endif
