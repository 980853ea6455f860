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

/* The lists of members that count: zab_members.c. */
enum list_kind {
    LIST_ACTIVE, /* always there */
    LIST_NEXT,   /* proposed, or told by a leader, and not active yet */
    LIST_OLD, /* an active leader's: was active when something was proposed that is not committed */
    N_LISTS,
};

/* A server's index in each list, where it is a voter there; else -1. */
struct seats {
    int at[N_LISTS];
};

struct tally {
    struct quorum_set set[N_LISTS];
};

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
    struct seats seats;
    bool observer;          /* it acks nothing that is proposed; what it says before that counts */
    int64_t config_version; /* of its active list, as it was when it came */
    int64_t accepted_epoch;
    int64_t current_epoch; /* -1: its promise does not count */
    int64_t last_zxid;     /* its own, as told with ACKEPOCH */
    bool turns;            /* it has said that it can go on in a later epoch, see zab_turn.c */
    int64_t promised;      /* the last one that it has promised since it is served */
    int64_t united;        /* the last one whose NEWLEADER it has acked then */
    bool turn_due;         /* an observer that has still to hear of the new epoch */
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

/* NONE --near the end--> NAMING --accepted saved--> PROMISING --ACKEPOCH of all--> PROMISED
 *  --the member has heard--> UNITING --quorum of NEWLEADER acks, our own too--> NONE */
enum leader_turn { TURN_NONE, TURN_NAMING, TURN_PROMISING, TURN_PROMISED, TURN_UNITING };

struct leader {
    enum leader_phase phase;
    int64_t epoch;       /* from NAMING on */
    int64_t first_epoch; /* the one in which we became ACTIVE */
    enum leader_turn turn;
    int64_t next_epoch; /* of the turn; 0: none */
    int64_t turn_deadline_us;
    int64_t turn_last;   /* UNITING: the last of the old epoch */
    bool turn_saving;    /* ... and currentEpoch was asked for */
    int64_t deadline_us; /* of the phase; INT64_MAX: none */
    int64_t next_ping_us;
    bool reached; /* a voter has connected */
    struct list peers;
    size_t n_peers;
    int64_t last_assigned;    /* ids for learners without one: -1, -2, ... */
    struct strbuf activation; /* what packets under way point to */

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
    int64_t list_version;   /* of NEWLEADER's list, which UPTODATE makes the active one; 0: none */
    uint8_t info_bytes[20]; /* what packets under way point to */
    uint8_t epoch_bytes[4 + sizeof(TURN_MARK) - 1];
    int64_t next_epoch; /* SERVING: the leader is about to go on in it; 0: none */
    bool is_turning;    /* ... has told NEWLEADER; `settling` is the last of the old epoch */
    bool is_pledging;   /* ... currentEpoch was asked for */
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
    struct quorum_config *list[N_LISTS];
    size_t n_saving;           /* changes of LIST_NEXT that are not on disk yet ... */
    int64_t first_unsaved;     /* ... and the least version among them */
    int64_t old_last;          /* the last zxid for which LIST_OLD counts */
    struct strbuf config_text; /* as NEWLEADER carries it */
    struct seats seats;        /* our own */
    int64_t designated;        /* whom to follow, without an election, when this role has ended;
                                  SID_NOBODY: whoever is elected */
    struct election *election;
    struct election_effects elected;

    enum quorum_phase phase;
    enum member_state role; /* MEMBER_LOOKING while nobody is elected */
    int n_in_vain;          /* roles in a row that ended before we served */
    int64_t rest_us;        /* RESTING until then */
    int64_t least_rest_us;  /* after this role; 0: none, unless it is one of several in vain */
    bool deaf;              /* nobody could follow us: we vote for another (election.h) */
    bool unreached;         /* we were elected, and no voter came */
    int64_t shy_until_us;   /* then we abstain until then. 0: no */
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
    bool damaged;      /* a part of the history is lost, see zab_learner.c: until then, too */

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

/* The same, but with the next one known already: the one who was to lead this role's followers. */
void quorum_hand_over(struct quorum *q, int64_t leader, const char *reason);

/* --- zab_members.c --- */

void members_init(struct quorum *q, const struct quorum_config *config);
void members_fini(struct quorum *q);
void members_check(const struct quorum *q);

struct seats members_seats(const struct quorum *q, int64_t sid, bool observes);
void tally_add(struct tally *t, const struct seats *s);

/* Whether they are a quorum of the active list and of the next one, if there is one. */
bool members_are_enough(const struct quorum *q, const struct tally *t);
/* Whether those who are with us can ack for all lists that count. */
bool members_can_commit(const struct quorum *q,
                        bool (*is_with_us)(const struct quorum *q, const struct peer *p));
/* The last zxid that enough of them have on disk. */
int64_t members_committable(const struct quorum *q);

/* The next list: as recovered; in a proposal, if it has one; as text of a leader's NEWLEADER, and
 * then a later one is forgotten. Older ones change nothing. False: it cannot be read. */
void members_recover(struct quorum *q, const struct quorum_config *next, bool is_saved);
bool members_see_proposal(struct quorum *q, struct bytes payload);
bool members_hear_leader(struct quorum *q, struct bytes text);
/* P10: what is on disk and may be acked: a new list counts when it is in its own file, too. */
int64_t members_ackable(const struct quorum *q, int64_t durable);
bool members_are_saved(const struct quorum *q);
void members_saved(struct quorum *q); /* the oldest of them is */
/* The history ends with `zxid` now. */
void members_forget_after(struct quorum *q, int64_t zxid);
/* An elected leader is about to tell its list with NEWLEADER. */
void members_unite(struct quorum *q, int64_t epoch);

/* Whether this server is what it is in the next list as well, with the same leader. */
bool members_keep_role(const struct quorum *q);
/* Who leads when the next list is active. */
int64_t members_designate(const struct quorum *q);
/* The next list becomes the active one. If the role does not go on it was left before. */
void members_activate(struct quorum *q);
/* So does `told`, a later one that others have active. The role was left. */
void members_adopt(struct quorum *q, const struct quorum_config *told);
bool members_read(struct bytes text,
                  struct quorum_config *out); /* false: it was reported why not */
void members_drop_old(struct quorum *q);      /* if it is not needed any more */

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

/* Ourselves, and the learners that are at least there. */
struct tally peers_at(const struct quorum *q, enum peer_state state);

/* Whether its word counts in any of the lists. */
static inline bool peer_counts(const struct peer *p)
{
    return p->seats.at[LIST_ACTIVE] >= 0 || p->seats.at[LIST_NEXT] >= 0 ||
           p->seats.at[LIST_OLD] >= 0;
}

static inline bool quorum_votes(const struct quorum *q)
{
    return q->seats.at[LIST_ACTIVE] >= 0;
}

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

/* --- zab_turn.c --- */

int64_t turn_last_counter(const struct quorum *q);

/* The leader's side: every half tick; an epoch was saved; the log is durable, or something was
 * committed; a learner's ACKEPOCH and its ACK of NEWLEADER; the member has no more of the old
 * epoch. */
void turn_tick(struct quorum *q);
void turn_epoch_saved(struct quorum *q, enum quorum_epoch which);
void turn_go_on(struct quorum *q);
void turn_promise(struct quorum *q, struct peer *p, const struct packet *packet);
void turn_acked(struct quorum *q, struct peer *p, int64_t zxid);
void turn_now(struct quorum *q, int64_t epoch);
void turn_before_inform(struct quorum *q, struct peer *p, int64_t zxid);
/* How much of what is on our disk counts. */
int64_t turn_on_disk(const struct quorum *q, int64_t on_disk);

/* The learner's, while it serves. */
void turn_leader_info(struct quorum *q, const struct packet *packet);
void turn_new_leader(struct quorum *q, int64_t zxid);
void turn_learner_durable(struct quorum *q);
bool turn_learner_saved(struct quorum *q, enum quorum_epoch which); /* true: acks may go on */
int64_t turn_ackable(const struct quorum *q, int64_t on_disk);

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
void learner_end(struct quorum *q);                      /* closes the link */
void learner_promise(struct quorum *q, int32_t current); /* ACKEPOCH */
void learner_check(const struct quorum *q);
void learner_step(struct quorum *q, const struct quorum_input *in);
int64_t learner_next_us(const struct quorum *q);

#endif
