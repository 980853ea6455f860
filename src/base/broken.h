/* SPDX-License-Identifier: Apache-2.0 */
/* broken.h - rules that a test build can break on purpose, one at a time.
 *
 * A test that finds nothing wrong proves little unless it finds something when a rule is missing.
 * In a build with PAWL_BREAKABLE, `broken_rule` names the rule that does not hold; everywhere else
 * BROKEN() is false when the compiler sees it. */
#ifndef PAWL_BASE_BROKEN_H
#define PAWL_BASE_BROKEN_H

/* P1 to P9 are persistence points: what must be on disk before what. The member keeps P5 to P9
 * (files of the log, truncation, snapshots, votes), the server SESSION_OWNER and MISSED_EVENTS, the
 * client CERTAIN_BY_LEADER, all others the quorum. */
#define BROKEN_RULES(RULE)                                                                  \
    RULE(P1)                  /* acceptedEpoch before ACKEPOCH or LEADERINFO leaves */      \
    RULE(P2)                  /* the synced history before currentEpoch */                  \
    RULE(P3)                  /* currentEpoch before NEWLEADER is acked or counted */       \
    RULE(P4)                  /* the record before its ACK leaves or counts */              \
    RULE(P5)                  /* a rolled file before an ACK of the next one */             \
    RULE(P6)                  /* the truncated log before NEWLEADER is acked */             \
    RULE(P7)                  /* the received snapshot before NEWLEADER is acked */         \
    RULE(P8)                  /* no append after the tree was fast-forwarded for a vote */  \
    RULE(P9)                  /* a vote is not behind anything ever acked */                \
    RULE(P10)                 /* the next list before its proposal or NEWLEADER is acked */ \
    RULE(QUORUM_COUNT)        /* a quorum is more than half */                              \
    RULE(NEWLEADER_ACK)       /* a leader serves when a quorum has its history */           \
    RULE(TRUNC_ACROSS_EPOCHS) /* no TRUNC across epochs */                                  \
    RULE(BOTH_QUORUMS)        /* of the list of members and of the next one */              \
    RULE(OLD_QUORUM)          /* what two lists were asked for is committed by both */      \
    RULE(DAMAGED_COUNTS)      /* who has lost what it may have acked is in no quorum */     \
    RULE(SYNC_CONFIRMATION)   /* a sync is answered by who still leads */                   \
    RULE(SESSION_OWNER)       /* a write of a session comes from its owner */               \
    RULE(CERTAIN_BY_LEADER)   /* a session is certain by what its leader has answered */    \
    RULE(TURN_PROMISED)       /* the next epoch is a leader's by the promise of a quorum */ \
    RULE(MISSED_EVENTS)       /* who comes back is told what its watches missed */

enum broken_rule {
    BROKEN_NONE,
#define RULE(name) BROKEN_##name,
    BROKEN_RULES(RULE)
#undef RULE
        N_BROKEN_RULES,
};

#ifdef PAWL_BREAKABLE
extern enum broken_rule broken_rule;
#define BROKEN(name) (broken_rule == BROKEN_##name)
#else
#define BROKEN(name) 0
#endif

#endif
