/* SPDX-License-Identifier: Apache-2.0 */
/* remove.h - a node with everything below it, however much that is. */
#ifndef PAWL_CLI_REMOVE_H
#define PAWL_CLI_REMOVE_H

#include "cli/cli.h"

/* Each node is a write of its own, children before their parents. What others add meanwhile is
 * removed as well, within reason. A failure is reported, with how many are gone. */
int remove_subtree(struct cli *cli, const char *top, struct pawl_condition only_if);

#endif
