/* SPDX-License-Identifier: Apache-2.0 */
/* subtree.h - a node and everything below it, read whole: data and ACLs. */
#ifndef PAWL_CLI_SUBTREE_H
#define PAWL_CLI_SUBTREE_H

#include "cli/cli.h"

struct subtree_node {
    char *below; /* "" for the top, "/a/b" for what is below it */
    struct pawl_bytes data;
    struct pawl_stat stat;
    struct pawl_reply *acls; /* the answer that has them; NULL if they were not asked for */
};

struct subtree {
    char *top;
    struct subtree_node *nodes; /* parents before their children */
    size_t n, capacity;
};

/* Ephemeral nodes are their sessions': who makes copies cannot make those. */
enum ephemerals { EPHEMERALS_REFUSED, EPHEMERALS_LEFT_OUT, EPHEMERALS_TOO };

/* EXIT_OK, or why not all of it can be read, which was reported; subtree_fini() in either case.
 * ACLs that the server shows to administrators only are refused, with the advice `without_acls` on
 * how to do without; NULL: ACLs are not asked for. */
int subtree_read(struct subtree *t, struct cli *cli, const char *top, enum ephemerals ephemerals,
                 const char *without_acls);
void subtree_fini(struct subtree *t);

/* Who may not administer a node is shown "user:x" in place of its digests; an ACL made of that
 * would let nobody in. */
bool acls_are_masked(const struct pawl_acls *acls);

/* The path of a node when the top is called `top`; to be freed. */
char *subtree_path(const struct subtree_node *node, const char *top);

/* Paths below a top, in the order of a walk: what is below a node comes before its next sister,
 * whatever she is called. */
int subtree_order(const char *a, const char *b);
bool subtree_same_data(const struct subtree_node *a, const struct subtree_node *b);

#endif
