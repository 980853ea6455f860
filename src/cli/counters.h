/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h - the counters behind sequential nodes, when nodes are made again elsewhere.
 *
 * A node counts the children that were ever made below it, and the next sequential one has that
 * number. No request sets it: it is raised by making children and removing them again, in the same
 * transaction, so that nobody sees them. That is done to a node when all below it have been made,
 * to many at a time. */
#ifndef PAWL_CLI_COUNTERS_H
#define PAWL_CLI_COUNTERS_H

#include "cli/cli.h"

struct counter_list {
    struct counter {
        char *path;
        int64_t next;
    } * items;
    size_t n, capacity;
};

struct counters {
    struct cli *cli;
    int64_t limit;              /* that one may have to be raised by */
    struct counter_list chain;  /* each below the one before it */
    struct counter_list passed; /* nothing is to come below them */
    int status;                 /* of the first that could not be raised, which was reported */
};

/* What a node's stat tells of its counter. */
int64_t counter_of(const struct pawl_stat *stat);

/* `path` is the next node: those that it is not below are passed. Then `next` of it, if that is
 * more than 0, is kept in mind. */
void counters_pass(struct counters *c, const char *path, int64_t next);

/* Whether it is time to raise those that were passed, when all that is below them has been made. */
bool counters_are_many(const struct counters *c);

/* EXIT_OK, or why no more can be done, which was reported. */
int counters_raise(struct counters *c);

/* Raises the rest, unless something has failed. Returns `status`, or what has failed now. */
int counters_end(struct counters *c, int status);

#endif
