/* SPDX-License-Identifier: Apache-2.0 */
/* backup_copy.h - brings an archive up to what a server's folders have now, while it runs.
 *
 * Snapshots come first and the logs behind them, because a snapshot needs the transactions behind
 * it and not the other way round. A server that purges its folder takes files away meanwhile, and
 * one that writes shows half of what it is writing: either is looked at again.
 *
 * The archive goes on behind its last transaction, if the logs still have that, with the same sum.
 * Logs that begin later have been purged too early: a snapshot bridges the gap, and no moment in it
 * can be restored. If they have another one in its place, what the archive has behind the last that
 * both have is cut off. */
#ifndef PAWL_CLI_FILES_BACKUP_COPY_H
#define PAWL_CLI_FILES_BACKUP_COPY_H

#include "cli/files/archive.h"
#include "cli/files/data_dirs.h"

/* EXIT_OK: the archive is on disk up to `into->list.zxid`. Otherwise the failure was reported. */
int backup_copy(struct data_dirs *from, struct archive *into);

/* Which snapshot of theirs is the newest; EXIT_NO: there is none, which was reported. Names that
 * end in other words than a codec's are nobody's snapshots. */
int backup_newest(const struct data_dirs *from, int64_t before, struct file_name *out);

#endif
