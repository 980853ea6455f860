/* SPDX-License-Identifier: Apache-2.0 */
/* atomic.h - the inside of the atomic values and numbers of <pawl/counter.h>: read, compute, write
 * on condition, again when somebody else was faster, and at last under a lock.
 *
 *             done, refused for good                        done, refused for good
 *   OPTIMISTIC --------------------> end      PROMOTED ------------------------------> end
 *     |   ^  faster: a pause                    ^ |  ^ faster: a pause
 *     |   +---+                                 | +--+
 *     +--- the policy gives up --> LOCKING -----+ */
#ifndef PAWL_RECIPES_COUNTER_ATOMIC_H
#define PAWL_RECIPES_COUNTER_ATOMIC_H

#include "client/beacon.h"
#include "pawl/counter.h"
#include "recipes/core/ask.h"
#include "recipes/core/contender.h"
#include "recipes/counter/cas.h"

struct atomic {
    struct recipe r;
    struct pawl_atomic_options o; /* its lock_path is not to be used */
    char *path, *lock_path;
    struct list ops;           /* struct ask: that have not ended */
    char data[IDENTITY_BYTES]; /* of our nodes in the lock's queue */
};

struct pawl_atomic {
    struct atomic a;
};

struct pawl_atomic_value {
    struct atomic a;
};

enum atomic_kind { ATOMIC_GET, ATOMIC_CHANGE, ATOMIC_COMPARE, ATOMIC_FORCE, ATOMIC_INITIALISE };

struct atomic_buf {
    uint8_t *data; /* NULL: none */
    size_t len;
};

/* One call of the user's. */
struct atomic_op {
    struct ask ask;
    enum atomic_kind kind;

    /* Fills `after` from `before` (data NULL: no node). 0, NO_MEMORY or DATA_INCONSISTENCY; or
     * BAD_VERSION: it must not be changed. A step, like `told`. */
    int (*compute)(struct atomic_op *op);
    void (*told)(struct atomic_op *op, void *arg); /* or NULL */
    void *told_arg;
    int64_t number, expected;
    struct atomic_buf value, wanted; /* the same for bytes */
    bool adds;                       /* the number is a difference */

    bool succeeded;
    enum pawl_outcome outcome;
    bool exists; /* what was read: `before` is the node's */
    struct atomic_buf before, after;
    struct pawl_atomic_stats stats;

    /* the user's */
    union {
        pawl_atomic_fn number;
        pawl_atomic_value_fn value;
    } done;
    void *arg;

    bool promoted, writing, has_contender;
    int attempt;
    int64_t phase_ms; /* when it began */
    struct timer pause;
    bool pausing;        /* nothing is under way that would end when the client closes ... */
    struct observer end; /* ... so this does */
    struct cas cas;
    struct contender contender;
};

/* Both: NULL or an error when memory runs out. */
struct atomic_op *atomic_op_new(enum atomic_kind kind, int (*compute)(struct atomic_op *op));
bool atomic_buf_set(struct atomic_buf *b, const void *data, size_t len);

/* Numbers and values are nothing else. */
int atomic_new(struct pawl_client *c, const char *path, const struct pawl_atomic_options *options,
               struct atomic **out);
void atomic_free(struct atomic *a);

/* Of numbers. */
struct atomic_op *atomic_number_op(enum atomic_kind kind, int64_t number);
int64_t atomic_number(const struct atomic *a, const struct atomic_buf *b);

#endif
