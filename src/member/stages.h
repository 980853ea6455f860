/* SPDX-License-Identifier: Apache-2.0 */
/* stages.h - how long transactions take to the stages of agreement, for the statistics.
 *
 *                     leader                      follower                     observer
 *   made              (the time stamp)
 *   received                                      proposal_latency
 *   on disk, acked    proposal_ack_creation_...   proposal_ack_creation_...
 *   a quorum has it   quorum_ack_latency
 *   agreed upon                                   commit_propagation_latency commit_propagation_...
 *
 * As in ZooKeeper each is counted from the time stamp of the transaction, which is the leader's
 * clock: on a learner the difference of the two clocks is part of it, and what would be negative is
 * not counted. Only what is served counts: what was missed is not late. */
#ifndef PAWL_MEMBER_STAGES_H
#define PAWL_MEMBER_STAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct server;

/* Of transactions that are not on disk yet; they may be agreed upon before. As many as the log has
 * in hand. */
struct stage_entry {
    int64_t zxid;
    int64_t time_ms;
};

struct stages {
    struct stage_entry *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t first;
    size_t n;
};

void stages_init(struct stages *t);
void stages_fini(struct stages *t);

/* The member has a role, and a transaction of it goes to the log; is durable up to `zxid`; is about
 * to be applied. */
void stages_appended(struct stages *t, struct server *s, int64_t zxid, struct bytes payload);
void stages_durable(struct stages *t, struct server *s, int64_t zxid);
void stages_agreed(struct server *s, struct bytes payload);

/* The role is over. */
void stages_forget(struct stages *t);

#endif
