/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_judge.h - what must be true, held against every input and effect of every member.
 *
 * The names are those of the safety properties (S1 to S8) and of the rules for a harness (T1 to T8)
 * of the quorum protocol:
 *
 *   S1  what is delivered was proposed by the leader of its epoch, with these bytes
 *   S2  all deliver the same sequence; S4 S5 in the order of zxids, without a hole
 *   S3  what was delivered anywhere is in the history of every later leader
 *   S6  who leads has delivered all that was committed before
 *   S7  what was skipped is not delivered (it has no place in the sequence)
 *   S8  one leader per epoch
 *   T1  an ACK leaves when the record is on disk
 *   T2  ACKEPOCH and the ack of NEWLEADER leave when the epoch and the history are
 *   T3  PROPOSALs and COMMITs on a link are in order, a COMMIT behind its PROPOSAL
 *   T4  nothing of a learner lies between ACKEPOCH and the ack of NEWLEADER
 *   T5  no crash leaves an epoch behind what it belongs to
 *   T6  a COMMIT needs a quorum of ACKs; who leads, a quorum of acks of NEWLEADER
 *   T7  equal zxid, equal digest
 *   T8  a vote does not go back, is on disk (P8), and is not behind what was acked (P9)
 *   TRUNC goes back within an epoch only
 *   diverged  who has a wrong tree neither leads nor serves before it has got another
 *   damaged  nor does who has lost a part of its history; and nobody leads if a majority has
 *   sync  shows every write that was acknowledged before it was asked for
 *   calls of one member are answered in their order, each once
 *
 * The judge counts quorums by itself. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_JUDGE_H
#define PAWL_TEST_SIM_ENSEMBLE_JUDGE_H

#include "base/map.h"
#include "quorum/quorum.h"
#include "sim_ensemble_disk.h"
#include "sim_ensemble_mesh.h"
#include "sim_ensemble_toy.h"

struct sim_member;
struct cluster;

/* A learner's link to its leader, as seen from the learner. */
struct judged_link {
    uint64_t link;
    int64_t last_proposal, last_commit, snapshot;
    int64_t epoch; /* of NEWLEADER */
    bool ack_epoch_sent, acked;
    int64_t settled; /* a NEWLEADER while it serves: what was proposed before it */
};

struct judged_member {
    struct judged_link leader;
    int64_t vote_epoch, vote_zxid; /* of the last vote for itself */
    int64_t acked_zxid;            /* the newest it has ever acked, and still has to have */
    int64_t acks[MESH_MEMBERS];    /* of each since it was elected: the newest ACK to it */
};

struct judge {
    struct toy_history committed; /* what somebody has delivered: there is one sequence */
    size_t n_acknowledged;        /* so many of them at least were told to a client */
    struct map proposals;
    struct judged_member members[MESH_MEMBERS];
    int64_t leader_epochs[4096]; /* of which somebody was leader */
    size_t n_leader_epochs;
    uint64_t n_asked, n_answered, n_failed;
    uint64_t n_turns; /* epochs that began in place */
};

void judge_init(struct judge *j);
void judge_fini(struct judge *j);

/* It was proposed before the cluster began. */
void judge_knows(struct judge *j, int64_t zxid, uint64_t value);

void judge_link_up(struct sim_member *m, uint64_t link, int64_t sid, bool dialled);
void judge_input(struct sim_member *m, const struct quorum_input *in);
void judge_effect(struct sim_member *m, const struct quorum_effect *effect); /* before it is done */
void judge_delivered(struct sim_member *m); /* more was applied where clients are served */
void judge_recovered(struct sim_member *m); /* after a crash */
void judge_step(struct sim_member *m);      /* after every step */
void judge_answered(struct sim_member *m, enum toy_ask ask, const struct toy_call *call);

#endif
