/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_toy.h - a member that is no more than a quorum: its tree is a list of numbers.
 *
 * What has been applied is always a first part of the history on its disk. Clients write numbers
 * that nobody else writes, ask for a sync, or have a session revalidated; a member that does not
 * lead forwards all of that. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_TOY_H
#define PAWL_TEST_SIM_ENSEMBLE_TOY_H

#include "quorum/quorum.h"
#include "sim_ensemble_disk.h"

struct sim_member;

enum toy_ask { ASK_WRITE, ASK_SYNC, ASK_REVALIDATE, N_ASKS };

/* What a client waits for; those of one kind are answered in their order. */
struct toy_call {
    struct toy_call *next;
    uint64_t number;
    size_t n_acknowledged; /* writes, by anybody, when it was made: a sync has to show them */
};

struct toy_calls {
    struct toy_call *first, **last;
};

/* A snapshot for a learner. The tree is walked a little later than the quorum
 * asks for it, as it is then; what is sent meanwhile waits behind it. */
struct toy_stream {
    struct toy_stream *next;
    uint64_t link;
    int64_t zxid;
    bool is_sent;
    struct strbuf behind; /* packets, each with its length in front */
};

/* What the effects of a step ask for, done when all of them are carried out. */
struct toy_wish {
    enum quorum_input_kind kind; /* PROPOSE, SYNC, ANSWER */
    uint64_t link;
    uint64_t number;
};

struct toy {
    struct toy_disk disk;
    struct quorum *quorum; /* NULL: it does not run */
    struct quorum_effects effects;
    size_t n_applied; /* records of the history */
    bool serves, leads;
    int64_t epoch, next_zxid; /* leading */
    uint64_t loading;         /* the link whose next bytes are a snapshot */
    int64_t loading_zxid, loading_until_us;
    uint64_t held; /* the link that waits until a truncation or a snapshot is done */
    uint64_t link; /* to the leader */
    bool is_stopping;
    struct toy_calls calls[N_ASKS];
    struct toy_stream *streams;
    struct toy_wish *wishes;
    size_t n_wishes, wishes_capacity;
};

void toy_init(struct sim_member *m);
void toy_fini(struct sim_member *m);

/* The process starts, with what is on the disk, and ends. */
void toy_start(struct sim_member *m);
void toy_crash(struct sim_member *m);

void toy_wake(struct sim_member *m);
void toy_job_done(struct sim_member *m, struct toy_job *j); /* which is freed */
void toy_notification(struct sim_member *m, int64_t from, struct bytes message);
void toy_link_up(struct sim_member *m, uint64_t link, int64_t sid, bool dialled);
void toy_link_down(struct sim_member *m, uint64_t link);
void toy_dial_failed(struct sim_member *m, int64_t sid);
void toy_refused(struct sim_member *m, int64_t sid);
void toy_snapshot_due(struct sim_member *m, uint64_t link);  /* the walk can begin */
void toy_snapshot_sent(struct sim_member *m, uint64_t link); /* the last byte has left */
void toy_packet(struct sim_member *m, uint64_t link, struct bytes bytes);

/* A client asks. Whoever does not serve does not answer. */
void toy_ask(struct sim_member *m, enum toy_ask ask);
void toy_purge(struct sim_member *m);  /* a snapshot, and the log before it goes */
void toy_resign(struct sim_member *m); /* the operator's, or the last zxid of the epoch */

/* ---- between its files ---- */

enum { VALUE_BYTES = 8, OP_OF_A_WRITE = 1, OP_OF_A_SYNC = 9 };
void toy_number_write(uint64_t number, uint8_t out[VALUE_BYTES]);
uint64_t toy_number_read(struct bytes b);
struct packet toy_packet_of(int32_t type, int64_t zxid, struct bytes data);
struct toy_history toy_snapshot_read(struct bytes b);

void toy_calls_put(struct sim_member *m, enum toy_ask ask, uint64_t number);
/* The oldest of that kind is answered; nothing happens if there is none. */
void toy_calls_answer(struct sim_member *m, enum toy_ask ask);
void toy_calls_fail(struct sim_member *m);

void toy_carry_out(struct sim_member *m, const struct quorum_effect *e);
void toy_wish_for(struct toy *t, enum quorum_input_kind kind, uint64_t link, uint64_t number);
struct toy_stream *toy_stream_of(struct toy *t, uint64_t link); /* NULL: none */
void toy_stream_end(struct toy *t, uint64_t link);
/* Nothing of the link comes until it is let go on. */
void toy_hold(struct sim_member *m, uint64_t link, bool held);

#endif
