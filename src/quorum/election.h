/* SPDX-License-Identifier: Apache-2.0 */
/* election.h - fast leader election, without I/O: state, time and one input give effects.
 *
 *            START                 ELECTED
 *   IDLE ------------> LOOKING ----------------> FOLLOWING | LEADING | OBSERVING
 *     ^                   ^                            |         |          |
 *     +------ LEAVE ------|----------------------------+---------+----------+
 *                         +------ START (again) -------+
 *
 * Everybody proposes itself, takes over every better proposal, and says so to all; what a quorum
 * proposes in the same round is elected. Better is: the larger current epoch, then the larger
 * last zxid, then the larger id; so the elected one lacks nothing that a quorum has.
 *
 * How long it takes. When a quorum agrees there may still be somebody better who was not heard
 * yet, so Java waits until 200 ms have passed without a message. Here the wait ends
 *
 *   - at once, when every voter with weight has spoken in this round and agrees: votes only
 *     become better, so nobody is left who could bring a better one;
 *   - at once, when that is so of all voters but those that refused a connection since this
 *     election began, and this process has been in a role before: who refuses does not run, and
 *     after a role was lost nobody is about to start. In the first election of a process others
 *     are likely to be starting too, and it waits for them;
 *   - else 200 ms after a quorum agreed, or after the last message that was better but did not
 *     count.
 *
 * Java's members wait their 200 ms in any case: who follows one of them finds its quorum port
 * closed for so long, and has to try again.
 *
 * Unanswered, a proposal is repeated in growing intervals; who has not been heard in this round is
 * *asked* instead: it gets the same message with a round before all. Everybody who looks for a
 * leader answers a message of an earlier round with its vote and leaves it at that, Java's members
 * too; but they do not answer a worse vote of their own round, and may have told their vote when
 * this server was still in a role. It would have to wait for their next interval, which grows up
 * to a minute. What is asked need not be told: the answer is a better vote, which is taken over and
 * told to all, or a worse one, which is answered.
 *
 * While not LOOKING the vote of the last election is told to whoever asks, for ever.
 *
 * Who cannot listen for learners is *deaf*, and abstains: it must not be elected, for its learners
 * would wait at a closed port, or with whoever else has it. It votes for the best one that has at
 * least its own history, and for nobody while it has heard of none: then those who lack something
 * need a quorum without it, and two of three may stay without a leader rather than lose what only
 * the deaf one has. To vote for nobody is to tell each of the others a vote for itself with a
 * history that nobody can have. Java's members, too, answer that and come into its round, and it
 * helps to elect nobody: votes are counted with the history that they name. Who has a tree that is
 * known to be wrong (quorum.h) abstains in the same way, as if it were deaf. Who has lost a part of
 * its history votes for nobody at all: it does not know what a leader would have to have. It takes
 * up whom a quorum of others follows. */
#ifndef PAWL_QUORUM_ELECTION_H
#define PAWL_QUORUM_ELECTION_H

#include "quorum/config.h"
#include "wire/vote.h"

struct election;

struct election_options {
    int64_t id;                         /* of this server */
    bool observer;                      /* of a server in no list: whether it would vote */
    const struct quorum_config *config; /* stays the caller's, and as it is */
    bool lists_change;       /* a newer list that somebody tells is taken over: NEWER_LIST */
    int64_t min_interval_ms; /* 0: 200. Unanswered, a proposal is sent again after this */
    int64_t max_interval_ms; /* 0: 60000. The interval doubles up to this */
};

enum election_input_kind {
    ELECTION_START,        /* zxid, epoch: look for a leader. Last zxid logged, currentEpoch.
                              deaf: as one that abstains, until HEARS; damaged: as one that votes
                              for nobody */
    ELECTION_NOTIFICATION, /* id, bytes: payload of a frame from that server */
    ELECTION_TICK,         /* time has passed; at the latest at election_next_us() */
    ELECTION_SYNCED,       /* epoch: the role is taken up; the vote has this epoch from now on */
    ELECTION_LEAVE,        /* the role is over. Nothing is sent until START */
    ELECTION_REFUSED,      /* id: nobody listens where that server should */
    ELECTION_DESIGNATED,   /* id, zxid, epoch: the role is over, and that server leads; instead of
                              START */
    ELECTION_HEARS,        /* this server can listen now: it stands, if it is LOOKING */
};

struct election_input {
    enum election_input_kind kind;
    int64_t id;
    struct bytes bytes;
    int64_t zxid;
    int64_t epoch;
    bool deaf;
    bool damaged; /* then it is deaf, too */
};

enum election_effect_kind {
    ELECTION_NOTIFY,     /* id, bytes: a whole frame for that server, which is never this one */
    ELECTION_ELECTED,    /* id, state: the leader, and what this server is now */
    ELECTION_NEWER_LIST, /* list: somebody has told a list of a later version. Who does not serve is
                            to follow it: LEAVE, election_take_config(), START */
};

struct election_effect {
    enum election_effect_kind kind;
    int64_t id;
    struct bytes bytes; /* lent until the effects are cleared or added to */
    enum member_state state;
    struct bytes list; /* points into the input */
    size_t offset;     /* private */
};

/* In order. The caller carries them out and clears them. */
struct election_effects {
    struct election_effect *effect;
    size_t n;
    size_t capacity;
    struct strbuf bytes;
};

void election_effects_init(struct election_effects *e);
void election_effects_fini(struct election_effects *e);
void election_effects_clear(struct election_effects *e);

struct election *election_new(const struct election_options *options);
void election_free(struct election *e);

/* Another list of members, while it is IDLE, or in a role that the list allows. */
void election_take_config(struct election *e, const struct quorum_config *config);

/* The list that may follow; NULL: none. Its voters are told, too: they may know that it does. */
void election_take_next(struct election *e, const struct quorum_config *next);

void election_step(struct election *e, int64_t now_us, const struct election_input *in,
                   struct election_effects *out);

/* When TICK has something to do; INT64_MAX: not before another input. */
int64_t election_next_us(const struct election *e);

/* For reports and traces. */
bool election_is_idle(const struct election *e);
enum member_state election_state(const struct election *e); /* LOOKING while idle */
/* What this server proposes or has elected: leader, zxid, round, epoch. */
struct notification election_vote(const struct election *e);

#endif
