/* SPDX-License-Identifier: Apache-2.0 */
/* snapshots.h - when a snapshot is due, and the walk that takes it. */
#ifndef PAWL_MEMBER_SNAPSHOTS_H
#define PAWL_MEMBER_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

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
    struct snapshot_taker *file; /* who writes it */
    bool writing;                /* its file is not finished yet */
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

/* Goes on with it. */
void snapshots_slice(struct snapshots *s, struct member_effects *out);

#endif
