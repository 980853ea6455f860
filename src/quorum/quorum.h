/* SPDX-License-Identifier: Apache-2.0 */
/* quorum.h - a member's part in its ensemble: election, synchronisation, broadcast; without I/O.
 *
 *                   elected                        leader lost, quorum lost, ...
 *     LOOKING ----------------> LEADING   -------------------------------------+
 *        ^    ----------------> FOLLOWING ---------------------------> (stopping)
 *        |    ----------------> OBSERVING -------------------------------------+
 *        +--------------------------------- STOPPED ---------------------------+
 *
 * quorum_step() takes one input at a given time and leaves effects, to be carried out in their
 * order before the next step. It moves opaque payloads and knows neither tree nor client. Every
 * wait is an input: there is no effect "after". What must be on disk before a packet leaves is
 * asked for by one effect, and the packet leaves in the step of its answer.
 *
 * Bytes. What an input points to must stay until its effects are carried out: effects point into
 * it. What effects point to is lent until the next step.
 *
 * Order. The log's jobs (TRUNCATE, LOAD_SNAPSHOT, SAVE_EPOCH, SAVE_CONFIG, APPEND) are done in the
 * order in which they were asked for, and answered in that order. STOPPED comes after all their
 * answers. */
#ifndef PAWL_QUORUM_QUORUM_H
#define PAWL_QUORUM_QUORUM_H

#include "base/strbuf.h"
#include "quorum/history.h"
#include "wire/packet.h"
#include "wire/vote.h"

struct quorum;
struct quorum_config;

/* The one behind it is never used: a new epoch begins before it. */
#define QUORUM_LAST_COUNTER INT64_C(0xfffffffe)

/* What the carrier calls a connection of the quorum port: never 0, never used twice. */
typedef uint64_t link_id;

enum quorum_epoch {
    EPOCH_ACCEPTED, /* file acceptedEpoch: no leader of a smaller epoch is followed any more */
    EPOCH_CURRENT,  /* file currentEpoch: the history is that of this epoch's leader */
};

struct quorum_options {
    int64_t sid;
    bool observer;                      /* peerType=observer */
    const struct quorum_config *config; /* the active one; copied */
    int64_t tick_ms;
    int64_t init_limit;    /* in ticks, as all limits */
    int64_t sync_limit;    /* */
    int64_t connect_limit; /* connectToLearnerMasterLimit; 0: init_limit */
    int64_t min_notification_ms, max_notification_ms; /* of election.h; 0: its own */
    size_t recent_bytes;       /* of committed transactions kept in memory for learners */
    bool always_snapshot;      /* forceSnapshotSync */
    int64_t last_counter;      /* an epoch ends with it; 0: QUORUM_LAST_COUNTER */
    int64_t observer_pause_ms; /* an observer rests for a part of it before it looks again */
    uint64_t seed;             /* of the little that is left to chance */

    /* The text of the list of members that a log payload makes; false: none. NULL: the list is for
     * ever that of `config`, and what others say of it is passed over (reconfigEnabled=false). */
    bool (*config_of)(struct bytes payload, struct bytes *text);

    /* Appends what a PING is answered with, the sessions heard from since the last one (struct
     * session_touch each), and forgets them. Called inside a step; must not step. */
    void (*touches)(void *host, struct strbuf *out);
    void *host;
};

enum quorum_input_kind {
    QUORUM_IN_START,        /* last_zxid, accepted, current, history: once, first: as recovered;
                               deaf: the quorum port cannot be had, nobody could follow us;
                               next: the newest list of members that was saved, or that the tree
                               has, if it is not active; whether it was saved;
                               diverged: the tree is known not to be what the history makes
                               (store/mark.h). We lead nobody, and take only a whole tree;
                               damaged: we have lost a part of what we may have acked, nobody
                               knows which. The same, and we count for nothing until then */
    QUORUM_IN_TICK,         /* time has passed: at least every tick/2 and at quorum_next_us() */
    QUORUM_IN_NOTIFICATION, /* sid, bytes: a notification's payload, without its length */
    QUORUM_IN_REFUSED,      /* sid: nobody listens at its election port */

    QUORUM_IN_LINK_UP,       /* link, sid: dialled to sid; or accepted, and sid is SID_NOBODY */
    QUORUM_IN_LINK_DOWN,     /* link: gone, whoever ended it */
    QUORUM_IN_DIAL_FAILED,   /* sid: no link came of the last DIAL */
    QUORUM_IN_PACKET,        /* link, packet */
    QUORUM_IN_LISTEN_FAILED, /* LISTEN came to nothing: we are deaf */
    QUORUM_IN_HEARS,         /* the quorum port is ours: deaf no longer. It stays ours */

    QUORUM_IN_LOG_DURABLE,     /* zxid: the log is on disk up to here */
    QUORUM_IN_EPOCH_SAVED,     /* which, epoch */
    QUORUM_IN_CONFIG_SAVED,    /* the oldest SAVE_CONFIG is on disk */
    QUORUM_IN_TRUNCATED,       /* zxid: the log ends there, later snapshots are gone, tree reloaded.
                                  The last one as before: it cannot be cut there, all is as it was */
    QUORUM_IN_SNAPSHOT_LOADED, /* zxid: on disk, older logs out of use, and the tree is this */
    QUORUM_IN_LOAD_FAILED,   /* instead of it: it is no tree, or cannot be kept; all is as it was */
    QUORUM_IN_SNAPSHOT_SENT, /* link, zxid: the last byte of the stream has left. It may be of a
                                later moment than it was asked for; 0: it is not */
    QUORUM_IN_LOG_SENT,      /* link: the last record of SEND_LOG has left */
    QUORUM_IN_LOG_TRIMMED,   /* zxid: the log's files up to here are gone (purged) */
    QUORUM_IN_STOPPED,       /* last_zxid: STOP is done: nothing of the old role is under way,
                                the tree has all that is logged */

    /* These are dropped when the role was left meanwhile. */
    QUORUM_IN_PROPOSE, /* leading: zxid (the previous one + 1), bytes: a log payload */
    QUORUM_IN_FORWARD, /* learning: packet (REQUEST, REVALIDATE), to the leader */
    QUORUM_IN_ANSWER,  /* leading: link, packet (REVALIDATE); dropped if the link is gone */
    QUORUM_IN_SYNC,    /* leading: link, or 0 for a client of our own: answer when it is certain;
                          marked: with SYNC_MARK */
    QUORUM_IN_TURN,   /* leading: epoch: what is proposed from here on is of that epoch, see TURN */
    QUORUM_IN_RESIGN, /* leave the role, whatever it is, and look for a leader */
};

#define SID_NOBODY INT64_MIN

/* The fields that a kind does not name are not read. */
struct quorum_input {
    enum quorum_input_kind kind;
    int64_t sid;
    link_id link;
    int64_t zxid;
    int64_t epoch;
    enum quorum_epoch which;
    struct bytes bytes;
    const struct packet *packet;
    bool marked;

    /* START */
    int64_t accepted_epoch;
    int64_t current_epoch;
    const struct history *history; /* copied; ends with `zxid`. NULL: nothing but `zxid` is known */
    const struct quorum_config *next; /* copied; NULL: none */
    bool next_is_saved;
    bool deaf;
    bool diverged;
    bool damaged;
};

enum quorum_effect_kind {
    QUORUM_DO_NOTIFY, /* sid, bytes: a whole frame; one-message queue per peer, the last one sent
                         again on a new connection: the election transport's business */

    QUORUM_DO_LISTEN,   /* on the quorum port; LINK_UP for each that comes */
    QUORUM_DO_UNLISTEN, /* and no LINK_UP any more */
    QUORUM_DO_DIAL,     /* sid: one attempt; LINK_UP or DIAL_FAILED. A later DIAL replaces it */
    QUORUM_DO_CLOSE,    /* link, reason: when what was sent before has left; no LINK_DOWN, no
                           PACKET of it any more */

    QUORUM_DO_SEND,          /* link, packet */
    QUORUM_DO_SEND_LOG,      /* link, from, zxid: all records from..zxid, each as PROPOSAL and
                                COMMIT; they are durable here. Later packets wait behind them;
                                then LOG_SENT */
    QUORUM_DO_SEND_SNAPSHOT, /* link, zxid: the stream of the tree as it is now, behind the SNAP
                                packet; later packets wait behind it; then SNAPSHOT_SENT */

    QUORUM_DO_LOAD_SNAPSHOT, /* link, zxid: its bytes from here are the stream, on to "BenWasHere":
                                spool, sync, put older logs out of use, load; SNAPSHOT_LOADED.
                                No PACKET of the link before that. A bad stream, or nothing of it
                                for init_limit: LINK_DOWN; nobody else waits for the leader then.
                                It cannot be kept: LOAD_FAILED, at once */
    QUORUM_DO_TRUNCATE,      /* zxid: TRUNCATED. No PACKET of the leader's link before that */
    QUORUM_DO_SAVE_EPOCH,    /* which, epoch: EPOCH_SAVED */
    QUORUM_DO_APPEND,        /* zxid, bytes: to the log; LOG_DURABLE some time */
    QUORUM_DO_SAVE_CONFIG,   /* config: the next list of members, NULL: none; CONFIG_SAVED */
    QUORUM_DO_ACTIVATE,      /* config: the active list from now on, saved as that behind what was
                                saved before; without a next one, unless SAVE_CONFIG follows. No
                                answer */

    QUORUM_DO_COMMIT, /* zxid: apply up to and including; it may not be durable here yet */
    QUORUM_DO_LEAD,   /* epoch: serve as leader; the first zxid is epoch << 32 | 1 */
    QUORUM_DO_SERVE,  /* role, epoch, sid (the leader): serve as a learner */
    QUORUM_DO_TURN, /* leading: epoch: that is ours as well. Answer with QUORUM_IN_TURN, behind all
                       that is proposed of the old one; the next zxid is epoch << 32 | 1 */
    QUORUM_DO_STOP, /* reason: stop serving, drop what is not proposed, flush; then STOPPED.
                       A half loaded snapshot is thrown away */

    QUORUM_DO_RECEIVED,  /* link, sid, packet: for the member. Leading: REQUEST, REVALIDATE, PING
                            (touches); learning: SYNC, REVALIDATE, in order with COMMITs */
    QUORUM_DO_SYNCED,    /* leading: the oldest sync of our own clients is answered now */
    QUORUM_DO_LINK_GONE, /* link, sid: leading: a learner that was served is gone, or closed */
};

struct quorum_effect {
    enum quorum_effect_kind kind;
    int64_t sid;
    link_id link;
    int64_t zxid;
    int64_t from;
    int64_t epoch;
    enum quorum_epoch which;
    enum member_state role;
    struct bytes bytes;
    struct packet packet;
    const struct quorum_config *config;
    const char *reason; /* a constant */
};

/* In order. The caller carries them out; a step begins with none. */
struct quorum_effects {
    struct quorum_effect *items;
    size_t count;
    size_t capacity;
};

void quorum_effects_init(struct quorum_effects *e);
void quorum_effects_fini(struct quorum_effects *e);

struct quorum *quorum_new(const struct quorum_options *options);
void quorum_free(struct quorum *q);

/* Forgets what is in `out` and leaves there what is to be done about `in`. */
void quorum_step(struct quorum *q, int64_t now_us, const struct quorum_input *in,
                 struct quorum_effects *out);

/* When the next TICK has something to do; INT64_MAX: not before another input. */
int64_t quorum_next_us(const struct quorum *q);

/* For reports and tests; read only. */
struct quorum_status {
    enum member_state role;
    bool stopping;          /* between STOP and STOPPED; `role` is what is being left */
    bool serving;           /* between LEAD or SERVE and STOP */
    int64_t leader;         /* SID_NOBODY: none known */
    int64_t accepted_epoch; /* as saved */
    int64_t current_epoch;
    int64_t last_zxid; /* of the log, durable or not */
    int64_t durable_zxid;
    int64_t committed_zxid;
    size_t n_links;    /* leading: learners, synced or not */
    size_t n_learners; /* leading: synced ones */
    size_t n_synced_voters;
    size_t n_synced_observers;
    size_t n_synced_non_voting; /* followers that no voter of the configuration is */
    size_t n_wishes;            /* syncs that wait */
    size_t n_outstanding;
    int64_t election_us;           /* what the last one took; with a role */
    int64_t role_us;               /* since then */
    uint64_t n_diffs, n_snapshots; /* that learners were synchronised by, in all roles */
};
struct quorum_status quorum_status(const struct quorum *q);

/* For a leader's decision about a new list: the active one; whether another change is under way;
 * whether enough of the new one's voters are synchronised to commit it. */
const struct quorum_config *quorum_active_config(const struct quorum *q);
const struct quorum_config *quorum_next_config(const struct quorum *q); /* NULL: none */
bool quorum_is_changing(const struct quorum *q);
bool quorum_could_commit(const struct quorum *q, const struct quorum_config *next);

#endif
