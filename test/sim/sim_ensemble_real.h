/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_real.h - a body that is a real member (src/member), with its tree and its clients.
 *
 * The simulated disk knows a transaction by its value, which is the hash of its payload; the
 * payloads themselves are kept here, once for all members. A tree is recovered by applying the
 * history again. (What the files of a real disk go through in a crash is test_crash's.) A snapshot
 * for a learner is walked, sent and read as on a machine, and has to be the tree that the same
 * history makes.
 *
 * The truth is the tree that everything makes which any member has delivered: what a client sees
 * was in it before. Whenever a member has applied something, its tree is compared with the truth of
 * that moment. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_REAL_H
#define PAWL_TEST_SIM_ENSEMBLE_REAL_H

#include "base/map.h"
#include "member/member.h"
#include "sim_ensemble_carrier.h"

struct cluster;
struct sim_member;

/* What the members of a cluster have in common. */
struct real_ensemble {
    struct cluster *cluster;
    struct member_options options; /* without `ensemble`, seed and id */
    struct map payloads;
    struct tree *truth;
    int64_t truth_zxid;
    uint64_t *digests; /* of the truth after each transaction */
    size_t n, capacity;

    /* Who has the clients: connections with something to send or to close; all of a member's are
     * gone with its process; a transaction is part of the truth. */
    void (*touched)(void *arg, struct sim_member *m, struct connection *c);
    void (*ended)(void *arg, struct sim_member *m);
    void (*wrote)(void *arg, const struct txn *txn);
    void *arg;
};

extern const struct sim_body real_body;

/* Behind cluster_init(), which was given real_body. */
void real_ensemble_init(struct real_ensemble *e, struct cluster *c,
                        const struct member_options *options);
void real_ensemble_fini(struct real_ensemble *e); /* behind cluster_fini() */

/* NULL: it does not run. */
struct server *real_server(const struct sim_member *m);

/* Whether it would take up clients. */
bool real_serves(const struct sim_member *m);

/* ---- clients; the process runs and is not paused ---- */

struct connection *real_connect(struct sim_member *m); /* NULL: turned away */
void real_receive(struct sim_member *m, struct connection *c, struct bytes bytes);
void real_sent(struct sim_member *m, struct connection *c, size_t n); /* of what was to be sent */
void real_disconnect(struct sim_member *m, struct connection *c);

#endif
