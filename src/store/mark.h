/* SPDX-License-Identifier: Apache-2.0 */
/* mark.h - what a member has to know of its files in its next life: that they are not to be used.
 *
 * "pawl.diverged": the tree was found to differ from the leader's. The log is as good as anybody's,
 * but what this member would make of it is not: it must neither be shown to clients nor, should it
 * be elected, be made everybody's. A member stops when it finds that, and a start would find
 * nothing: the next transaction to be compared may be far. So it leaves a mark before it stops.
 *
 * "pawl.damaged": a part of the log or the snapshots is lost, so that what is left may be less than
 * what this member has acknowledged (recovery.h). A start finds that by itself, but perhaps not the
 * next one, if the disk is of two minds. Who has this mark counts for nothing among the others.
 *
 * As long as a mark is there the member leads nobody and takes nothing of a leader but its whole
 * tree. With that in its place (received.h) the marks are gone; or an operator removes them, who
 * knows better.
 *
 * The files are beside the snapshots, with names that ZooKeeper does not look at: one line, for a
 * person, of what was found. That it is there is the mark, whatever it holds. */
#ifndef PAWL_STORE_MARK_H
#define PAWL_STORE_MARK_H

#include <stdbool.h>

#include "base/disk.h"

#define DIVERGED_FILE "pawl.diverged"
#define DAMAGED_FILE  "pawl.damaged"

enum { MARK_TEXT_BYTES = 1024 };

struct mark {
    bool is_there;
    char text[MARK_TEXT_BYTES]; /* its line, as far as it can be printed */
};

/* `name` is one of the two. */
int mark_load(struct disk *disk, const char *folder, const char *name, struct mark *out);

/* On disk when it returns. One that is there stays: it tells of what was found first. */
int mark_save(struct disk *disk, const char *folder, const char *name, const char *text);

/* None there: fine. That it is gone is on disk when it returns. */
int mark_forget(struct disk *disk, const char *folder, const char *name);

#endif
