/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.h - a contender that does not give up: what is under latch and selector.
 *
 *            enter                 elected()
 *   OUT ------------> IN ( queueing --------> held )
 *    ^                |        failed() |  ^
 *    |     leave      |                 v  | a second later
 *    +----------------+-------------- ( pauses )
 *
 * Links that come and go are the contender's business; what fails here is an ACL, memory, or the
 * client itself, and after the last there is nothing to try again: it is over. */
#ifndef PAWL_RECIPES_ELECTION_CANDIDATE_H
#define PAWL_RECIPES_ELECTION_CANDIDATE_H

#include "recipes/core/contender.h"

struct candidate {
    struct contender contender;
    struct timer again;
    bool in;
    int over;                             /* why it is not tried again, or 0 */
    void (*elected)(struct candidate *c); /* steps */
    void (*failed)(struct candidate *c, int err);
};

void candidate_init(struct candidate *c, struct recipe *r, const struct contender_options *o,
                    enum pawl_doubt doubt);
void candidate_fini(struct candidate *c);

int candidate_enter(struct candidate *c); /* an error: it is not in */
void candidate_leave(struct candidate *c);

/* Held, or it was: gives it back and queues again. */
void candidate_begin_again(struct candidate *c);

/* What went wrong with it although it was elected: gives it back, and tries again later. */
void candidate_postpone(struct candidate *c, int err);

/* The node's data, to be freed: `id`, or who we are if it is NULL. NULL: no memory. */
char *candidate_id(const char *id);

#endif
