/* SPDX-License-Identifier: Apache-2.0 */
/* diverged.h - the mark of a member whose tree was found to differ from its leader's.
 *
 * Its log is as good as anybody's, but what it would make of it is not: it must neither be shown to
 * clients nor, should this member be elected, be made everybody's. A member stops when it finds
 * that, and a start would find nothing: the next transaction to be compared may be far. So it
 * leaves a mark before it stops, and as long as that is there it leads nobody and takes nothing of
 * a leader but its whole tree. With that in its place (received.h) the mark is gone; or an operator
 * removes it, who knows better.
 *
 * The file is "pawl.diverged" beside the snapshots, a name that ZooKeeper does not look at: one
 * line, for a person, of what was different. That it is there is the mark, whatever it holds. */
#ifndef PAWL_STORE_DIVERGED_H
#define PAWL_STORE_DIVERGED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/disk.h"

#define DIVERGED_FILE "pawl.diverged"

enum { DIVERGED_TEXT_BYTES = 512 };

struct diverged_mark {
    bool is_there;
    char text[DIVERGED_TEXT_BYTES]; /* its line, as far as it can be printed */
};

int diverged_load(struct disk *disk, const char *folder, struct diverged_mark *out);

/* On disk when it returns. `what` describes the transaction after which the tree differed. One that
 * is there stays: it tells of the first difference. */
int diverged_save(struct disk *disk, const char *folder, int64_t zxid, const char *what);

/* None there: fine. That it is gone is on disk when it returns. */
int diverged_forget(struct disk *disk, const char *folder);

#endif
