/* SPDX-License-Identifier: Apache-2.0 */
/* log_repair.h - what is good of a log, as a new file. */
#ifndef PAWL_CLI_FILES_LOG_REPAIR_H
#define PAWL_CLI_FILES_LOG_REPAIR_H

#include "cli/files/filter.h"

/* Copies the records up to the first that is not sound, or up to the end of the filter's zxids.
 * What lies behind damage is left out, though some of it be sound: a log with a hole in it is worse
 * than one that ends, as no server can tell. EXIT_OK: `into` is on disk, and what was left out has
 * been told. Otherwise there is no such file. */
int log_repair(struct cli *cli, const struct filter *filter, const char *path, const char *into,
               size_t limit_bytes);

#endif
