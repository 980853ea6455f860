/* SPDX-License-Identifier: Apache-2.0 */
/* backup_stream.h - a backup as a tar on standard output: a snapshot, one log and their list, as a
 * folder of archive.h has them. */
#ifndef PAWL_CLI_FILES_BACKUP_STREAM_H
#define PAWL_CLI_FILES_BACKUP_STREAM_H

#include "cli/files/backup_list.h"
#include "cli/files/data_dirs.h"

/* EXIT_OK: all of it is written, and `list` is that of it. Otherwise the failure was reported, and
 * the tar has no end. */
int backup_stream(struct data_dirs *from, struct backup_list *list, int64_t *n_records);

#endif
