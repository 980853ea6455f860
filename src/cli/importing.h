/* SPDX-License-Identifier: Apache-2.0 */
/* importing.h - nodes on their way into a tree.
 *
 * Each node is a write of its own, and many of them are on their way at a time: a session's writes
 * are done in order, so a parent is there before its children. Answers are looked at in the same
 * order. After the first failure nothing more is sent, and what was sent before that is waited for
 * and counted. */
#ifndef PAWL_CLI_IMPORTING_H
#define PAWL_CLI_IMPORTING_H

#include "cli/counters.h"
#include "cli/import_line.h"

enum { IMPORTING_MAX = 256, IMPORTING_BYTES = 1024 * 1024 };

struct importing {
    struct cli *cli;
    const char *top;
    bool keeps, overwrites; /* what exists already; neither: it is an error */
    bool makes_parents, is_plain, is_dry;
    int64_t n_made, n_changed, n_kept, n_ephemeral;
    int64_t n_unknown; /* sent, and not answered */
    struct counters counters;
    struct answers *answers;
    bool has_begun;
    struct sent_node {
        struct imported node;
        int line; /* in the file; 0: it has none */
        struct answer *answer;
    } sent[IMPORTING_MAX]; /* a ring, the oldest at `first` */
    size_t first, n, n_bytes;
};

void importing_begin(struct importing *im);

/* Takes the node, which is emptied. EXIT_OK, or why no more can be done, which was reported: of
 * this node, or of one before it. */
int importing_add(struct importing *im, struct imported *n);

/* Waits for what was sent; `status` is what has failed until now. */
int importing_end(struct importing *im, int status);

#endif
