/* SPDX-License-Identifier: Apache-2.0 */
/* double_barrier.h - all in at once, all out at once: the inside of the double barrier.
 *
 *          enter          node made, ready looked for       not enough yet
 *   IDLE ---------> JOINING ------------------> DECIDING ------------------> WAITING
 *    ^    (ours of before   ^                    |  ^  |                        |
 *    |     is gone: first   |     node or        |  |  |   enough: make ready   |
 *    |     wait for that)   +- session lost -----+  |  |                        |
 *    |                                   event -----+--|------------------------+
 *    |                                                 v
 *    +-------- LEAVING <---------- leave ----------- INSIDE
 *
 * A member is let in by `ready` that was made while its own node was there, and by nothing else:
 * not by an event of the session, nor by a count alone. `ready` is made in one transaction with a
 * check of as many members as are needed. A `ready` that is older than our node counts if a member
 * is there that is older still, which means that the barrier is open; otherwise all of its members
 * died, and it is removed (Curator lets everybody through such a one).
 *
 * Our node has the same name each time, so that we cannot be counted twice. Hence a new one is made
 * only when the one before is known to be gone. */
#ifndef PAWL_RECIPES_BARRIER_DOUBLE_BARRIER_H
#define PAWL_RECIPES_BARRIER_DOUBLE_BARRIER_H

#include "client/beacon.h"
#include "pawl/barrier.h"
#include "recipes/core/ask.h"

enum { UUID_BYTES = 37 };

enum room_state { ROOM_IDLE, ROOM_JOINING, ROOM_DECIDING, ROOM_WAITING, ROOM_INSIDE, ROOM_LEAVING };

struct pawl_double_barrier {
    struct recipe r;
    char *base, *ready, *own;
    char name[UUID_BYTES], data[IDENTITY_BYTES];
    size_t members;
    enum room_state state;
    struct stay *stay;
    struct ask *ask; /* the enter or leave that waits; NULL: none */
    int n_loose;     /* nodes of former stays that may still be there */
};

/* One node of ours, from the wish to enter until it is gone. Answers and events of one that is over
 * clean up after themselves. */
struct stay {
    struct pawl_double_barrier *b; /* a reference */
    bool over;
    int refs;
    int64_t czxid, session_id; /* of our node; 0: not made yet */
    bool left;                 /* our node has been deleted, by us */
    bool closing;              /* ... or perhaps */
    bool lost;                 /* ... not by us */
    bool ready_known;
    int64_t ready_czxid; /* 0: there is none */
    bool busy, again;    /* a request about the others is on its way; and its answer is too old */
    struct step_watch watch_ready, watch_own, watch_other;
    char *other;         /* whom we watch while we leave ... */
    int64_t listed_zxid; /* ... and when he was seen */
    char **late;         /* who may be older than `ready` ... */
    size_t n_late, next_late;
};

/* ---- double_barrier.c ---- */

void stay_unref(struct stay *s);
void stay_free_late(struct stay *s);
bool stay_is_ours(const struct stay *s); /* its node, and in the session that we have now */
void stay_delete_own(struct stay *s);
/* Two steps to remove a `ready` of which only the path tells which one it is: it is written to,
 * which says which one it is now, and deleted with the version that it has got by that. The one of
 * a later round, which others may have made meanwhile, has another. An error: nothing was asked. */
int stay_mark_ready(struct stay *s, pawl_reply_fn done);
int stay_delete_ready(struct stay *s, int32_t version, pawl_reply_fn done);

struct stay *stay_new(struct pawl_double_barrier *b); /* NULL: no memory */
void stay_unwatch_all(struct stay *s);

void barrier_settled(struct pawl_double_barrier *b); /* a node that was loose is not any more */
void barrier_move(struct pawl_double_barrier *b, enum room_state next);
void barrier_let_go(struct pawl_double_barrier *b);
void barrier_finish(struct pawl_double_barrier *b, enum room_state next, int err);

bool barrier_is_member(const char *name);
size_t barrier_count(const struct pawl_strings *names, const char *own, bool *own_is_there,
                     bool *ready_is_there);

/* ---- double_barrier_enter.c ---- */

void barrier_join(struct pawl_double_barrier *b);
void stay_ready_event(const struct pawl_event *event, void *stay);
void stay_own_event(const struct pawl_event *event, void *stay);

/* ---- double_barrier_leave.c ---- */

void barrier_leave(struct stay *s);
void stay_other_event(const struct pawl_event *event, void *stay);

#endif
