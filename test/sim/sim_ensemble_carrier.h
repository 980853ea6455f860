/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_carrier.h - carries out what one member's quorum asks for: links, disk, snapshots.
 *
 * What src/daemon/carrier.h is on a machine. On top of it stands a body, which has the tree and the
 * clients: a toy (sim_ensemble_toy.h), or a real member (sim_ensemble_real.h). To the carrier a
 * transaction is a number, its value: the disk keeps it, and the judge compares it. What has been
 * applied is always a first part of the history on the disk. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_CARRIER_H
#define PAWL_TEST_SIM_ENSEMBLE_CARRIER_H

#include "quorum/quorum.h"
#include "sim_ensemble_disk.h"

struct cluster;
struct sim_member;
struct sim_wish;

struct sim_body {
    /* The process starts, with the history that its disk has; it ends, perhaps within one of these
     * calls. */
    void (*start)(struct sim_member *m);
    void (*end)(struct sim_member *m);

    /* APPEND, COMMIT, LEAD, SERVE, STOP, RECEIVED, SYNCED, LINK_GONE. Disk and n_applied are right
     * already. */
    void (*effect)(struct sim_member *m, const struct quorum_effect *e);
    void (*durable)(struct sim_member *m, int64_t zxid);
    void (*caught_up)(struct sim_member *m); /* behind STOP: all of the history is applied */
    void (*replaced)(struct sim_member *m);  /* the history is another one, and applied */

    /* sim_carrier_send_snapshot() is to follow, at some time. */
    void (*want_snapshot)(struct sim_member *m, uint64_t link);

    int64_t (*next_us)(const struct sim_member *m); /* by its clock; INT64_MAX: not by itself */
    void (*wake)(struct sim_member *m);
    bool (*is_idle)(const struct sim_member *m); /* no client waits for anything */

    uint64_t (*value)(struct cluster *c, struct bytes payload);
    struct bytes (*payload)(struct cluster *c, uint64_t value); /* good until the next call */
    void (*touches)(void *m, struct strbuf *out);
};

/* A snapshot for a learner. The tree is walked a little later than the quorum
 * asks for it, as it is then; what is sent meanwhile waits behind it. */
struct sim_stream {
    struct sim_stream *next;
    uint64_t link;
    int64_t zxid;
    bool is_sent;
    struct strbuf behind; /* packets, each with its length in front */
};

/* What the effects of a step ask for, done when all of them are carried out. */
struct sim_wish {
    bool (*grant)(struct sim_member *m, const struct sim_wish *w); /* false: it has crashed */
    uint64_t link;
    uint64_t number;
    struct kept_input *kept; /* what the body has asked of the quorum; or NULL */
};

struct sim_carrier {
    struct toy_disk disk;
    struct quorum *quorum; /* NULL: it does not run */
    struct quorum_effects effects;
    bool is_stepping;
    bool is_settling; /* what a step has left is being done */
    int body_depth;   /* of its steps within each other: what needs a body at rest waits */
    size_t n_applied; /* records of the history */
    bool serves, leads;
    int64_t epoch;
    uint64_t loading; /* the link whose next bytes are a snapshot */
    int64_t loading_zxid, loading_until_us;
    struct strbuf loaded; /* what the body has sent of it */
    uint64_t held;        /* the link that waits until a truncation or a snapshot is done */
    uint64_t link;        /* to the leader */
    bool is_stopping;
    int64_t try_port_us; /* its quorum port, again; INT64_MAX: it has it */
    struct sim_stream *streams;
    struct sim_wish *wishes;
    size_t n_wishes, wishes_capacity;
};

void sim_carrier_init(struct sim_member *m);
void sim_carrier_fini(struct sim_member *m);

/* The process starts, with what is on the disk, and ends. */
void sim_carrier_start(struct sim_member *m);
void sim_carrier_crash(struct sim_member *m);

void sim_carrier_wake(struct sim_member *m);
void sim_carrier_job_done(struct sim_member *m, struct toy_job *j); /* which is freed */
void sim_carrier_notification(struct sim_member *m, int64_t from, struct bytes message);
void sim_carrier_link_up(struct sim_member *m, uint64_t link, int64_t sid, bool dialled);
void sim_carrier_link_down(struct sim_member *m, uint64_t link);
void sim_carrier_dial_failed(struct sim_member *m, int64_t sid);
void sim_carrier_refused(struct sim_member *m, int64_t sid);
void sim_carrier_snapshot_due(struct sim_member *m, uint64_t link);  /* the walk can begin */
void sim_carrier_snapshot_sent(struct sim_member *m, uint64_t link); /* the last byte has left */
void sim_carrier_packet(struct sim_member *m, uint64_t link, struct bytes bytes);

void sim_carrier_purge(struct sim_member *m);  /* a snapshot, and the log before it goes */
void sim_carrier_resign(struct sim_member *m); /* the operator's, or the last zxid of the epoch */

/* ---- for bodies ---- */

/* An input, and whatever follows from it at once; what the body asks for in the middle of effects
 * is kept until they are carried out. */
void sim_carrier_do(struct sim_member *m, const struct quorum_input *in);

/* The body is at rest again: what has waited for that. */
void sim_carrier_settle(struct sim_member *m);

/* An input alone, out of a wish; false: it has crashed, perhaps in the middle. */
bool sim_carrier_step(struct sim_member *m, const struct quorum_input *in);
void sim_carrier_wish_for(struct sim_member *m, struct sim_wish wish);

/* The snapshot that `link` waits for: the first `n` records of the history, which are a tree of
 * `zxid`, and what the body adds. */
void sim_carrier_send_snapshot(struct sim_member *m, uint64_t link, int64_t zxid, size_t n,
                               struct bytes added);
struct packet sim_carrier_packet_of(int32_t type, int64_t zxid, struct bytes data);

/* ---- between its files ---- */

void sim_carrier_carry_out(struct sim_member *m, const struct quorum_effect *e);
struct sim_stream *sim_carrier_stream_of(struct sim_carrier *t, uint64_t link); /* NULL: none */
void sim_carrier_stream_end(struct sim_carrier *t, uint64_t link);
/* Nothing of the link comes until it is let go on. */
void sim_carrier_hold(struct sim_member *m, uint64_t link, bool held);
/* The history of a snapshot; what the body has added stays in `b`. */
struct toy_history sim_carrier_snapshot_read(struct bytes *b);
bool sim_carrier_loaded(struct sim_member *m, const struct sim_wish *w);
bool sim_carrier_truncated(struct sim_member *m, const struct sim_wish *w);

#endif
