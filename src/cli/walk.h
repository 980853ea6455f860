/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - every node of a subtree, parents before their children, children by name.
 *
 * A tree changes while it is walked, and parts of it may be closed to us. A node that is deleted on
 * the way is left out; one that may not be read is reported and visited as such, and the walk goes
 * on beside it and ends with EXIT_REFUSED. Both hold below the top only: there they are errors.
 *
 * The nodes that come next are asked for before it is their turn, so that a large tree does not
 * take a round trip for each. */
#ifndef PAWL_CLI_WALK_H
#define PAWL_CLI_WALK_H

#include "cli/cli.h"

/* Lent until the visit is over. */
struct walk_node {
    const char *path;
    const char *name; /* the last part of it; of the top the whole path */
    int depth;        /* 0: the top */
    bool is_readable;
    bool has_stat;
    struct pawl_stat stat;  /* also of a node that is not readable, if the server lets us */
    struct pawl_bytes data; /* if they were asked for, and the node is readable */
    struct pawl_acls acls;  /* the same */
};

/* EXIT_OK: go on. Anything else ends the walk, which returns it. */
typedef int (*visit_fn)(const struct walk_node *node, void *arg);

struct walk {
    struct cli *cli;
    visit_fn visit;
    void *arg;
    bool with_data, with_acls;
    bool is_limited; /* to `max_depth` */
    int64_t max_depth;
};

/* Ends early when nobody takes what is printed. */
int walk_tree(const struct walk *w, const char *top);

/* The parent's path, a slash and the name; to be freed. */
char *path_joined(const char *parent, const char *name);

#endif
