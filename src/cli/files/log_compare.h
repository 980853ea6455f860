/* SPDX-License-Identifier: Apache-2.0 */
/* log_compare.h - what differs between two logs, transaction by transaction. */
#ifndef PAWL_CLI_FILES_LOG_COMPARE_H
#define PAWL_CLI_FILES_LOG_COMPARE_H

#include "cli/files/filter.h"

/* EXIT_OK: the same. EXIT_NO: not. Each may be a file or a folder. */
int log_compare(struct cli *cli, const struct filter *filter, const char *left, const char *right,
                size_t limit_bytes);

#endif
