/* SPDX-License-Identifier: Apache-2.0 */
/* snapshots.h - when a snapshot is due, and the walk that takes it.
 *
 * There is one walk of the tree at a time. Whoever wants the tree, the file or a learner, joins it
 * before its first step, or waits for the next one. */
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
    uint64_t *wanted;            /* links of learners that wait for the next walk */
    size_t n_wanted, room;
};

void snapshots_init(struct snapshots *s, const struct member_options *options, struct prng *prng);
void snapshots_fini(struct snapshots *s);

/* One more transaction is logged; whether a snapshot is due. */
bool snapshots_count(struct snapshots *s);

/* The same of a log that has grown to so many bytes. */
bool snapshots_measure(const struct snapshots *s, int64_t log_bytes);

/* The next one is due so much later. */
void snapshots_put_off(struct snapshots *s);

/* Takes one of the tree as it is now, unless one is being taken or written. */
void snapshots_begin(struct snapshots *s, struct tree *tree, int64_t zxid,
                     struct member_effects *out);

/* The tree goes: what is being taken of it is not finished. */
void snapshots_give_up(struct snapshots *s, struct member_effects *out);

/* A learner wants the tree; ensemble.h's snapshot() follows as soon as a walk can begin. */
void snapshots_want(struct member *m, uint64_t link);

/* Goes on with it, unless some learner has too much still to take. */
void snapshots_slice(struct member *m);

/* Whether a slice has anything to do. */
bool snapshots_is_busy(const struct snapshots *s);

#endif
