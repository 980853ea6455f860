/* SPDX-License-Identifier: Apache-2.0 */
/* cas.h - one conditional write that happens at most once, also when its answer is lost.
 *
 *   create, or set with the version that we read
 *     done, refused      that is the answer
 *     no answer          sync, read, and compare with what we had read and written:
 *       nothing changed    it did not happen: the same write again, of which the condition lets
 *                          only one happen, should the first be on its way still
 *       one change, not of our bytes    somebody else's: refused
 *       one change, of our bytes        ours, if nobody else can have written them (`unique`)
 *       anything else                   unknown, and reported as that
 *
 * A node that was to be created and is not there, or is another one's, may have been ours in
 * between, and deleted. That it was not is known only where nothing has come or gone since in the
 * folder that it was to be in. */
#ifndef PAWL_RECIPES_COUNTER_CAS_H
#define PAWL_RECIPES_COUNTER_CAS_H

#include "recipes/core/recipe.h"

struct cas {
    struct recipe *r;
    const char *path;
    struct pawl_bytes data; /* both borrowed until it ends */
    bool unique;            /* nobody else writes these bytes */
    bool create;            /* the node was not there */
    int64_t czxid;          /* otherwise: of the node that we read ... */
    int32_t version;        /* ... and its version */
    int64_t deadline_ms;    /* 0: none; nothing is written after it */
    bool unsure;            /* an attempt of ours was not answered; set here, like these: */
    int64_t since_zxid;     /* what we had seen when we began */
    char *ancestor;         /* that we look at */
    /* A step. `stat` of the node when it is DONE, NULL if there was no memory for it. REFUSED:
     * NODE_EXISTS, BAD_VERSION, NO_NODE, or an error that will not go away; UNKNOWN:
     * CONNECTION_LOSS, OPERATION_TIMEOUT, CLOSING. */
    void (*ended)(struct cas *c, int err, enum pawl_outcome outcome, const struct pawl_stat *stat);
};

/* An error: it has not begun. INVALID_STATE: the version is -1, which the server takes for "any"; a
 * condition on it would be none. */
int cas_start(struct cas *c);

#endif
