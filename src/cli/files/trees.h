/* SPDX-License-Identifier: Apache-2.0 */
/* trees.h - trees that were read from files: their nodes in order, and what differs between two. */
#ifndef PAWL_CLI_FILES_TREES_H
#define PAWL_CLI_FILES_TREES_H

#include "base/strbuf.h"
#include "cli/cli.h"
#include "store/tree.h"

/* Every node of a subtree, parents before their children, children by name. However deep the tree
 * is, nothing here is recursive. */
struct tree_walk {
    const struct tree *tree;
    znode_id *stack; /* those to come, the next one last */
    size_t n, capacity;
    znode_id id; /* where the walk is */
    struct strbuf path;
};

/* False: there is no such node. tree_walk_fini() in either case. */
bool tree_walk_from(struct tree_walk *w, const struct tree *tree, const char *top);
bool tree_walk_next(struct tree_walk *w); /* false: there is no more */
void tree_walk_fini(struct tree_walk *w);

/* Prints what differs below `top`. EXIT_OK: nothing does. EXIT_NO: something does. */
int trees_compare(const struct cli *cli, const struct tree *left, const struct tree *right,
                  const char *top);

/* As servers show it to clients. */
void tree_client_stat(const struct tree *tree, znode_id id, struct pawl_stat *out);

/* The node with data, ACL and stat, as members of an object that is open already. */
void tree_node_json(const struct tree *tree, znode_id id, struct strbuf *path);

#endif
