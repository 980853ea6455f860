/* SPDX-License-Identifier: Apache-2.0 */
/* backup_admin.h - a backup of a server of another machine: a snapshot that its admin server sends,
 * of Apache's 3.9 or ours. */
#ifndef PAWL_CLI_FILES_BACKUP_ADMIN_H
#define PAWL_CLI_FILES_BACKUP_ADMIN_H

#include "cli/files/archive.h"

/* EXIT_OK: the archive is on disk and ends with that snapshot. Otherwise the failure was reported.
 */
int backup_admin(struct archive *into, const char *place, size_t limit_bytes);

#endif
