/* SPDX-License-Identifier: Apache-2.0 */
/* zab.h - what quorum.c, zab_leader.c, zab_learner.c and their helpers share; nobody else but
 * tests includes it.
 *
 * ZAB, the protocol behind the election, has three phases. *Discovery*: a quorum promises the
 * elected leader a new epoch (acceptedEpoch) and tells it where its logs end. *Synchronisation*:
 * each learner gets the leader's history, and says so when it is on disk (NEWLEADER is acked,
 * currentEpoch). *Broadcast*: proposals, acks, commits. */
#ifndef PAWL_QUORUM_ZAB_H
#define PAWL_QUORUM_ZAB_H

#include "base/broken.h"
#include "base/list.h"
#include "base/prng.h"
#include "quorum/config.h"
#include "quorum/election.h"
#include "quorum/quorum.h"
#include "quorum/recent.h"

/* A learner as its leader sees it.
 *
 *   GREETING --INFO--> INFORMED --(epoch saved)--> INVITED --ACKEPOCH--> JOINING
 *     --(quorum of ACKEPOCH)--> SYNCING --ACK of NEWLEADER--> READY --(quorum of those)--> SERVED
 */
enum peer_state {
    PEER_GREETING, /* connected: nothing is known of it */
    PEER_INFORMED, /* has told who it is; waits for LEADERINFO */
    PEER_INVITED,  /* has LEADERINFO; is to answer with ACKEPOCH */
    PEER_JOINING,  /* has promised the epoch; waits until a quorum has */
    PEER_SYNCING,  /* has what it lacked, and NEWLEADER; is to ack that */
    PEER_READY,    /* has our history on disk; waits for UPTODATE */
    PEER_SERVED,   /* takes part in the broadcast */
    N_PEER_STATES,
};

struct peer {
    struct list link; /* leader.peers */
    link_id id;
    enum peer_state state;
    int64_t sid;
    int index; /* in the configuration, if it is a voter there; else -1 and it never counts */
    bool observer;
    int64_t accepted_epoch;
    int64_t current_epoch; /* -1: its promise does not count */
    int64_t last_zxid;     /* its own, as told with ACKEPOCH */
    int64_t began_us;      /* its synchronisation */

    int64_t sent;          /* it has been sent, or had before, everything up to here */
    int64_t acked;         /* it has this and everything before it on disk */
    int64_t awaited;       /* a proposal whose ack is overdue at some time; 0: none */
    int64_t awaited_us;    /* when it was sent */
    int64_t sent_us;       /* when the last proposal was sent */
    int64_t heard_us;      /* the last packet; in other states since when one is awaited */
    bool sending_snapshot; /* it cannot have heard anything behind it */
    bool sending_log;      /* nor behind this */

    uint64_t pings_sent; /* since UPTODATE: it answers each of those, in order */
    uint64_t pings_answered;
    uint64_t confirming_ping; /* this one's answer confirms the round */
    bool confirmed;           /* in this round */
};

/* Somebody who waits for a sync. */
struct wish {
    link_id link; /* 0: a client of our own */
    int64_t zxid; /* committed first */
    uint64_t round;
    bool marked;
};

/*  DISCOVERY --quorum of INFO--> NAMING --accepted saved--> PROMISING --quorum of ACKEPOCH-->
 *  UNITING --quorum of NEWLEADER acks, our own when current is saved--> ACTIVE */
enum leader_phase {
    LEADER_DISCOVERY,
    LEADER_NAMING,
    LEADER_PROMISING,
    LEADER_UNITING,
    LEADER_ACTIVE,
    N_LEADER_PHASES,
};

struct leader {
    enum leader_phase phase;
    int64_t epoch;       /* from NAMING on */
    int64_t deadline_us; /* of the phase; INT64_MAX: none */
    int64_t next_ping_us;
    struct list peers;
    size_t n_peers;
    int64_t last_assigned; /* ids for learners without one: -1, -2, ... */

    /* Confirmation that we still lead, for syncs: one round at a time, any number of wishes. */
    struct wish *wishes; /* a ring, oldest first */
    size_t wishes_first;
    size_t n_wishes;
    size_t wishes_capacity;
    bool round_open;
    uint64_t round;     /* the last one that was begun */
    int64_t round_zxid; /* an ack of this or a later proposal is a confirmation, too */
};

/*  DIALING --> GREETING --LEADERINFO--> PROMISING --accepted saved--> JOINING
 *    --DIFF--> RECEIVING     --TRUNC--> TRUNCATING --> RECEIVING     --SNAP--> LOADING -->
 * RECEIVING
 *    --NEWLEADER--> SETTLING --log durable--> PLEDGING --current saved, ACK--> READY
 *    --UPTODATE--> SERVING
 *  Hung up before LEADERINFO: GREETING --> DIALING, as if the leader had refused.
 *  A TRUNC that cannot be: JOINING or TRUNCATING --> DIALING, to ask for everything. */
enum learner_phase {
    LEARNER_DIALING,
    LEARNER_GREETING,  /* INFO is sent */
    LEARNER_PROMISING, /* acceptedEpoch is being saved */
    LEARNER_JOINING,   /* ACKEPOCH is sent */
    LEARNER_TRUNCATING,
    LEARNER_LOADING,
    LEARNER_RECEIVING, /* what we lacked comes in */
    LEARNER_SETTLING,  /* it has to be on disk */
    LEARNER_PLEDGING,  /* currentEpoch is being saved */
    LEARNER_READY,     /* NEWLEADER is acked */
    LEARNER_SERVING,
    N_LEARNER_PHASES,
};

struct learner {
    enum learner_phase phase;
    link_id link; /* 0: none */
    int64_t epoch;
    int64_t began_us;
    int64_t deadline_us; /* nothing heard until then: the leader is lost */
    int64_t dial_us;     /* when to dial again; INT64_MAX: an attempt is under way */
    int64_t dial_wait_us;
    int64_t refused_us;     /* give up when it is still refused then */
    int64_t acked;          /* of the proposals */
    int64_t settling;       /* what has to be on disk before currentEpoch */
    int64_t snapshot_zxid;  /* what comes up to here is in the snapshot already */
    int64_t unwanted_epoch; /* what its leader sent was of no use, its whole tree is asked for; 0:
                               none. Outlasts roles */
    uint8_t info_bytes[20]; /* what packets under way point to */
    uint8_t epoch_bytes[4];
    struct strbuf touches;
};

/* Epochs that a voter may be ahead of what is accepted here.
 *
 * Who is elected has the latest currentEpoch of a quorum, so what it does not know of are epochs
 * in which nobody came to serve. An ensemble that fails once a second needs twelve days for as
 * many as this. Whoever claims more has a damaged file, or is no member; and if it counted, a few
 * claims would use up all epochs there are (31 bits). */
enum { EPOCH_LEAP_MAX = 1 << 20 };

/* A leader starts over for a voter that has accepted a later epoch, but not all the time: anybody
 * who reaches the port can claim to be one. From initLimit on each wait is twice the one before.
 */
struct yielding {
    int64_t not_before_us;
    int64_t wait_us;
};

enum quorum_phase {
    QUORUM_NEW,     /* before START */
    QUORUM_MENDING, /* epoch files that are behind the log are being saved */
    QUORUM_LOOKING,
    QUORUM_LEADING,
    QUORUM_LEARNING,
    QUORUM_STOPPING, /* until STOPPED */
    QUORUM_RESTING,  /* several roles came to nothing: not at once again */
    N_QUORUM_PHASES,
};

struct quorum {
    struct quorum_options options;
    const struct quorum_config *config;
    struct strbuf config_text; /* as NEWLEADER carries it */
    int self;                  /* index of a voter, or -1 */
    struct election *election;
    struct election_effects elected;

    enum quorum_phase phase;
    enum member_state role; /* MEMBER_LOOKING while nobody is elected */
    int n_in_vain;          /* roles in a row that ended before we served */
    int64_t rest_us;        /* RESTING until then */
    int64_t least_rest_us;  /* after this role; 0: none, unless it is one of several in vain */
    bool deaf;              /* nobody could follow us: we vote for another (election.h) */
    int64_t shy_until_us;   /* too few came when we were elected: so do we until then. 0: no */
    int n_unloaded;         /* snapshots in a row that could not be taken over */
    struct prng prng;
    int64_t looking_since_us;
    int64_t elected_us; /* since when there is somebody to follow, or to be followed by */
    uint64_t n_diffs, n_snapshots; /* that learners were synchronised by */
    int64_t leader_sid;
    int64_t now_us;
    struct quorum_effects *out; /* of the step under way */

    int64_t accepted_epoch; /* as saved */
    int64_t current_epoch;
    int64_t seen_epoch; /* the largest that a voter said it had accepted */
    struct yielding yielding;
    struct history history;
    struct recent recent;
    int64_t durable;   /* the log, on disk */
    int64_t committed; /* the tree */
    bool diverged;     /* the tree is not what the history makes: until a leader's is loaded */

    struct leader leader;
    struct learner learner;
};

static inline int64_t ticks_us(const struct quorum *q, int64_t ticks)
{
    return ticks * q->options.tick_ms * 1000;
}

/* --- quorum.c --- */

/* A new effect at the end, all zero but its kind; to be filled in before the next one. */
struct quorum_effect *quorum_emit(struct quorum *q, enum quorum_effect_kind kind);
void quorum_send(struct quorum *q, link_id link, int32_t type, int64_t zxid, struct bytes data);
void quorum_close(struct quorum *q, link_id link, const char *reason);
void quorum_save_epoch(struct quorum *q, enum quorum_epoch which, int64_t epoch);

/* To the log and to what is kept in memory. */
void quorum_append(struct quorum *q, int64_t zxid, struct bytes payload);
void quorum_commit(struct quorum *q, int64_t zxid);

/* The role is taken up: the vote that others are told has this epoch now. */
void quorum_synced(struct quorum *q, int64_t epoch);

/* Leaves the role: STOP, and a new election after STOPPED. */
void quorum_leave(struct quorum *q, const char *reason);

bool quorum_is_enough(const struct quorum *q, const struct quorum_set *set);

/* --- zab_leader.c --- */

void leader_begin(struct quorum *q);
void leader_end(struct quorum *q); /* closes all links */
void leader_check(const struct quorum *q);
void leader_step(struct quorum *q, const struct quorum_input *in);
int64_t leader_next_us(const struct quorum *q);

/* --- zab_peers.c --- */

void peers_add(struct quorum *q, link_id id);
struct peer *peers_find(const struct quorum *q, link_id id);             /* or NULL */
void peers_drop(struct quorum *q, struct peer *p);                       /* its link is gone */
void peers_refuse(struct quorum *q, struct peer *p, const char *reason); /* closes the link, too */
/* One link per learner. Who is served keeps its place, and is pinged: if it is dead its link ends
 * soon, and the newcomer, turned away until then, comes again. Before that nothing can tell which
 * of two is the member: the newer one takes the place. False: the newcomer was refused. */
bool peers_make_room(struct quorum *q, struct peer *newer);
void peer_move(struct peer *p, enum peer_state next);
void peer_check(const struct peer *p);

/* Ourselves, and the voters among the learners that are at least there. */
struct quorum_set peers_at(const struct quorum *q, enum peer_state state);

/* Every half tick: ends the links of those who are silent, leaves the role when too few are left,
 * and pings the others. */
void peers_look_after(struct quorum *q);

/* All of them; the one at hand may be dropped inside. */
#define peers_for_each(p, q)                                                           \
    for (struct list *at_ = (q)->leader.peers.next, *next_ = at_->next;                \
         at_ != &(q)->leader.peers && ((p) = container_of(at_, struct peer, link), 1); \
         at_ = next_, next_ = at_->next)

/* --- zab_sync.c --- */

/* What a learner needs to have our history, and NEWLEADER behind it. */
void sync_begin(struct quorum *q, struct peer *p);
/* What was committed meanwhile, UPTODATE, and what is proposed: it is part of the broadcast. If
 * some of it has to come from the files, that first; it goes on when it has left. */
void sync_finish(struct quorum *q, struct peer *p);
void sync_log_sent(struct quorum *q, struct peer *p);

/* --- zab_broadcast.c --- */

void broadcast_propose(struct quorum *q, int64_t zxid, struct bytes payload);
void broadcast_propose_to(struct quorum *q, struct peer *p, int64_t zxid, struct bytes payload);
void broadcast_ack(struct quorum *q, struct peer *p, int64_t zxid);
/* Commits what a quorum has on disk. */
void broadcast_advance(struct quorum *q);

/* --- zab_confirm.c --- */

void confirm_wish(struct quorum *q, link_id link, bool marked);
void confirm_ping(struct quorum *q, struct peer *p); /* sends one */
void confirm_pong(struct quorum *q, struct peer *p); /* one was answered */
void confirm_ack(struct quorum *q, struct peer *p, int64_t zxid);
/* Answers what can be answered. */
void confirm_release(struct quorum *q);
/* Whether a sync came before `zxid` was proposed; a quorum has acked it: answers those. */
bool confirm_is_due(const struct quorum *q, int64_t zxid);
void confirm_before(struct quorum *q, int64_t zxid);
void confirm_clear(struct quorum *q);

/* --- zab_learner.c --- */

void learner_init(struct quorum *q);
void learner_fini(struct quorum *q);
void learner_begin(struct quorum *q);
void learner_end(struct quorum *q); /* closes the link */
void learner_check(const struct quorum *q);
void learner_step(struct quorum *q, const struct quorum_input *in);
int64_t learner_next_us(const struct quorum *q);

#endif
