/* SPDX-License-Identifier: Apache-2.0 */
/* member.h - one server, whole, without I/O: a step takes an input and leaves effects.
 *
 *     prepare -> propose -> append -> durable -> commit -> apply
 *
 * An answer to a write means: on disk. There is no effect "send this after that is on disk": the
 * member asks for the append, is later told DURABLE, and only then applies and answers. The daemon
 * and the simulator are two ways to carry effects out. Inside there is no clock, file, socket,
 * thread or rand(). */
#ifndef PAWL_MEMBER_MEMBER_H
#define PAWL_MEMBER_MEMBER_H

#include "server/server.h"
#include "store/txn_batch.h"

struct member;
struct member_ensemble;
struct quorum_effect;
struct snapshot_chunk;

struct member_options {
    struct server_options server;
    const struct member_ensemble *ensemble; /* see ensemble.h; NULL: it stands alone. Copied */
    int64_t snap_count;      /* a snapshot after about this many transactions; 0: never */
    int64_t snap_size_bytes; /* or after so many bytes of log; 0: never */
    int64_t n_replayed;      /* transactions since the last snapshot: they count, too */
    bool has_diverged;       /* `tree` is known not to be the others': shown to nobody, and never
                                lead with; until MEMBER_TREE */
    uint64_t seed;
};

enum member_input_kind {
    MEMBER_CONNECT,          /* peer, subject: somebody has connected; effects->connected answers */
    MEMBER_BYTES,            /* connection, bytes: received */
    MEMBER_SENT,             /* connection: out_at has moved */
    MEMBER_DISCONNECT,       /* connection: gone, and freed by this step */
    MEMBER_DURABLE,          /* zxid, log_bytes, took_ms: the log is on disk up to here */
    MEMBER_TICK,             /* looked_us: time has passed; 0: all that has arrived was told */
    MEMBER_REAP,             /* the time of member_reap_us() has come */
    MEMBER_TURN,             /* a turn of the loop: clients that had their share go on */
    MEMBER_FACTS,            /* facts: what the words tell of the machine from now on */
    MEMBER_SNAPSHOT,         /* take a snapshot now, if none is being taken */
    MEMBER_SNAPSHOT_SLICE,   /* go on with it; effects->chunks grows */
    MEMBER_SNAPSHOT_WRITTEN, /* took_ms: the file is in place */
    MEMBER_EFFECT,           /* effect: of the quorum, APPEND, COMMIT, LEAD, SERVE, STOP, RECEIVED,
                                SYNCED, LINK_GONE. Also within a step that has asked for it */
    MEMBER_CATCH_UP,         /* behind STOP: what was appended is durable. All of it is applied */
    MEMBER_WANT_SNAPSHOT,    /* link: a learner is to get the tree; see ensemble.h */
    MEMBER_TREE,             /* behind STOP: tree, zxid: what the member has from now on */
    MEMBER_SESSION_LEFT,     /* session_id, left_ms: what is left of its time; 0: none */
};

struct member_input {
    enum member_input_kind kind;
    struct connection *connection;
    const struct peer *peer;
    const char *subject; /* of the certificate that it has shown, as Java prints it; NULL: none */
    const struct server_facts *facts; /* its strings stay with the caller as long as the member */
    struct bytes bytes;
    int64_t zxid;
    int64_t log_bytes; /* of log files since the last roll */
    int64_t took_ms;
    int64_t looked_us; /* what had arrived from clients by then has been told */
    int64_t session_id;
    int64_t left_ms;
    uint64_t link; /* of a learner */
    const struct quorum_effect *effect;
    struct tree *tree; /* taken over */
};

/* The caller carries these out and leaves them empty. */
struct member_effects {
    struct connection *connected;
    struct txn_batch append; /* write and sync, then tell MEMBER_DURABLE */
    struct list chunks;      /* struct snapshot_chunk, in order, for the snapshot's file */
    bool snapshot_begun;     /* the file of snapshot_zxid is to be opened before the chunks */
    bool snapshot_complete;  /* and finished behind them, with snapshot_digest */
    bool snapshot_given_up;  /* it will not be: what was written of it is of no use */
    int64_t snapshot_zxid;
    uint64_t snapshot_digest;
    int64_t
        diverged_zxid; /* not 0: since this transaction the tree is not the leader's (the log has
                          the details); the member serves nobody any more, and is to be ended */
};

void member_effects_init(struct member_effects *e);
void member_effects_fini(struct member_effects *e);

/* Takes over `tree`, recovered up to `zxid`. Ephemeral nodes of dead sessions in it are deleted by
 * the first transactions. */
struct member *member_new(const struct member_options *options, struct tree *tree, int64_t zxid,
                          int64_t now_us, int64_t wall_ms);
void member_free(struct member *m);

void member_step(struct member *m, int64_t now_us, int64_t wall_ms, const struct member_input *in,
                 struct member_effects *out);

/* Connections with something to send or to close; taken off the list one by one. */
struct connection *member_next_touched(struct member *m);

/* When MEMBER_REAP has something to do, which may be sooner than the next tick; INT64_MAX: not as
 * long as no node is made. */
int64_t member_reap_us(const struct member *m);

/* Whether some client waits for the next MEMBER_TURN. */
bool member_wants_turn(const struct member *m);

/* Whether MEMBER_SNAPSHOT_SLICE has anything to do. */
bool member_is_snapshotting(const struct member *m);
/* Whether a file is being written, or will be by itself. */
bool member_snapshot_is_coming(const struct member *m);
/* ... and whether learners wait for a walk. */
bool member_snapshot_is_urgent(const struct member *m);

/* For statistics and tests; read only. */
struct server *member_server(struct member *m);

#endif
