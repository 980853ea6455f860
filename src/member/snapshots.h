/* SPDX-License-Identifier: Apache-2.0 */
/* snapshots.h - when a snapshot is due, and the walk that takes it.
 *
 * There is one walk of the tree at a time. Whoever wants the tree, the file or a learner, joins it
 * before its first step, or waits for the next one.
 *
 * The walk waits for the learners in it, so a slow one would delay whoever waits for the next walk.
 * While somebody does, a learner has to take 1 MiB/s on an average of ten seconds, or it is
 * dropped, and has to come again. So nobody is delayed by one that is stalled for more than twenty
 * seconds, and by one that reads for longer than the tree takes at that rate. A learner for which
 * nobody waits may take its time. */
#ifndef PAWL_MEMBER_SNAPSHOTS_H
#define PAWL_MEMBER_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"

struct member;
struct member_effects;
struct member_options;
struct tree;

struct snapshots {
    int64_t count_limit; /* snap_count; 0: never */
    int64_t size_limit;  /* snap_size_bytes; 0: never */
    struct prng *prng;
    int64_t n_logged; /* since the last one was due */
    int64_t count_at; /* due when n_logged passes this */
    int64_t size_at;  /* or the log this */

    struct snapshot_walk *walk;  /* NULL: none is being taken */
    bool walking;                /* it has made its first step */
    struct snapshot_taker *file; /* who writes it; NULL: it is for learners only */
    bool writing;                /* the file is not finished yet */
    bool file_wanted;            /* a snapshot was due during a learner's walk */
    int64_t looked_ms;           /* at those who slow it down while others wait; 0: nobody waits */
    uint64_t *wanted;            /* links of learners that wait for the next walk */
    size_t n_wanted, room;
    size_t n_joined; /* learners in this walk, or that were */
};

void snapshots_init(struct snapshots *s, const struct member_options *options, struct prng *prng);
void snapshots_fini(struct snapshots *s);

/* One more transaction is logged; whether a snapshot is due. */
bool snapshots_count(struct snapshots *s);

/* The same of a log that has grown to so many bytes. */
bool snapshots_measure(const struct snapshots *s, int64_t log_bytes);

/* The next one is due so much later. */
void snapshots_put_off(struct snapshots *s);

/* Takes one of the tree as it is now, unless one is being taken or written; after the walk, if that
 * is for learners. */
void snapshots_begin(struct snapshots *s, struct tree *tree, int64_t zxid,
                     struct member_effects *out);

/* The tree goes: what is being taken of it is not finished. */
void snapshots_give_up(struct snapshots *s, struct member_effects *out);

/* A learner wants the tree; ensemble.h's snapshot() follows as soon as a walk can begin. */
void snapshots_want(struct member *m, uint64_t link);

/* Time has passed: a learner that slows others down is dropped. */
void snapshots_tick(struct member *m);

/* Goes on with it, unless some learner has too much still to take. */
void snapshots_slice(struct member *m);

/* Whether learners wait for what is being taken, or for the end of it. */
bool snapshots_is_urgent(const struct snapshots *s);

/* Whether a slice has anything to do. */
bool snapshots_is_busy(const struct snapshots *s);

#endif
