/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - which transactions a log has, and what a learner needs to have the same.
 *
 * A history is what lies at its base (a snapshot; 0: nothing) and the records behind it, without a
 * hole. Within an epoch zxids are consecutive, so one run per epoch tells them all:
 *
 *     base 0x100000004 | 0x100000005..0x100000009 | 0x300000001..0x300000002
 *
 * Only records that are known to follow the base without a hole are in it: what a log has from
 * before a snapshot was received from a leader is not (it may never have been committed). */
#ifndef PAWL_QUORUM_HISTORY_H
#define PAWL_QUORUM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Records of one epoch. */
struct history_run {
    int64_t first;
    int64_t last;
};

struct history {
    int64_t base;
    struct history_run *runs; /* ascending; each of a later epoch than the one before */
    size_t n_runs;
    size_t capacity;
};

static inline int64_t zxid_epoch(int64_t zxid)
{
    return (int64_t)((uint64_t)zxid >> 32);
}

static inline int64_t zxid_counter(int64_t zxid)
{
    return zxid & INT64_C(0xffffffff);
}

static inline int64_t zxid_make(int64_t epoch, int64_t counter)
{
    return (int64_t)((uint64_t)epoch << 32) | counter;
}

/* Ends with `base`, no records. */
void history_begin(struct history *h, int64_t base);
void history_fini(struct history *h);
void history_copy(struct history *to, const struct history *from);

/* The zxid of the last record; the base if there is none. */
int64_t history_last(const struct history *h);

/* Whether `zxid` may come next: the last one + 1, or the first of a later epoch. */
bool history_may_follow(const struct history *h, int64_t zxid);

/* Only what may follow. */
void history_append(struct history *h, int64_t zxid);

/* As history_append() where it may follow, else all that was before is forgotten and `zxid` - 1 is
 * the base: for recovery, which reads a log from its beginning. */
void history_found(struct history *h, int64_t zxid);

/* Forgets the records behind `zxid`. If it is before the base, the base is `zxid` and there are no
 * records. */
void history_cut(struct history *h, int64_t zxid);

/* Forgets the records up to `zxid`, which becomes the base unless the base is later. */
void history_trim(struct history *h, int64_t zxid);

bool history_has(const struct history *h, int64_t zxid);

/* The first record behind `zxid`, and the last one before it; 0 if there is none. */
int64_t history_next(const struct history *h, int64_t zxid);
int64_t history_before(const struct history *h, int64_t zxid);

/* How to bring a learner that ends with `p` to `last`, a record of ours or what is below them. */
enum sync_kind {
    SYNC_DIFF,  /* records behind p */
    SYNC_TRUNC, /* the learner forgets what is behind `zxid`, then records */
    SYNC_SNAP,
};

struct sync_plan {
    enum sync_kind kind;
    int64_t zxid; /* of the DIFF, TRUNC or SNAP packet */
    int64_t from; /* first record to send; 0: none */
    int64_t to;   /* the last one */
};

/* `last`: the last committed transaction (while no quorum has acked NEWLEADER: all of the
 * history). `tree`: what the tree calls itself: `last`, or the new epoch's zxid with counter 0. */
struct sync_plan history_plan(const struct history *h, int64_t p, int64_t last, int64_t tree);

#endif
