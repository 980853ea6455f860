/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h - the counters behind sequential nodes, when nodes are made again elsewhere.
 *
 * A node counts the children that were ever made below it, and the next sequential one has that
 * number. No request sets it: it is raised by making children and removing them again, in the same
 * transaction, so that nobody sees them. That is done to a node when all below it have been made.
 */
#ifndef PAWL_CLI_COUNTERS_H
#define PAWL_CLI_COUNTERS_H

#include "cli/cli.h"

struct counters {
    struct cli *cli;
    int64_t limit; /* that one may have to be raised by */
    struct counter {
        char *path;
        int64_t next;
    } * items; /* each below the one before it */
    size_t n, capacity;
    int64_t n_raised;
    int status; /* of the first that could not be raised, which was reported */
};

/* What a node's stat tells of its counter. */
int64_t counter_of(const struct pawl_stat *stat);

/* Before the node `path` is made: those that it is not below are raised. Then `next` of it, if that
 * is more than 0, is kept in mind. EXIT_OK, or why no more can be done, which was reported. */
int counters_pass(struct counters *c, const char *path, int64_t next);

/* Raises the rest, unless something has failed. Returns `status`, or what has failed now. */
int counters_end(struct counters *c, int status);

#endif
