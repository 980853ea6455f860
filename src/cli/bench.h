/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - whether a server may be put under load. */
#ifndef PAWL_CLI_BENCH_H
#define PAWL_CLI_BENCH_H

#include "cli/cli.h"

/* Nobody else is connected, or the user does not mind. With a session of our own open. EXIT_OK, or
 * it was reported why not. */
int bench_may_run(struct cli *cli);

#endif
