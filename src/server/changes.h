/* SPDX-License-Identifier: Apache-2.0 */
/* changes.h - what the latest transactions changed, in memory, for clients that come back.
 *
 * A client whose link broke says which zxid it has seen and what it watches; what it missed is read
 * from here (missed.h). The transactions themselves would not do: they do not say which ACL a
 * deleted node had, and nobody may hear later what he would not have heard at once. A change is
 * its kind, its path and the ACLs at that time, without data. When there is more than the limit the
 * oldest go, a block at a time. */
#ifndef PAWL_SERVER_CHANGES_H
#define PAWL_SERVER_CHANGES_H

#include "base/list.h"
#include "store/apply.h"

struct acl_table;

struct changes {
    struct list blocks;     /* the oldest first */
    struct acl_table *acls; /* whose lists are held as long as a change needs them */
    int64_t base;           /* every change behind this zxid is here */
    size_t bytes;
    size_t limit;
    uint64_t last_serial; /* of the blocks */
};

struct changes_cursor {
    struct changes_block *block; /* NULL: before the first one */
    uint64_t serial;             /* of the block, or of the one before the first */
    size_t at;
};

struct past_change {
    int64_t zxid;
    enum change_kind kind;
    uint32_t acl, parent_acl;
    struct bytes path;
};

void changes_init(struct changes *ch, size_t limit_bytes);

/* Forgets all there is: the tree of these ACLs, which is at `zxid`, is what there is now. */
void changes_begin(struct changes *ch, struct acl_table *acls, int64_t zxid);

/* Before its ACLs go. */
void changes_clear(struct changes *ch);

/* Behind all others, of a transaction that is not older. */
void changes_add(struct changes *ch, int64_t zxid, const struct change *change);

/* Goes to the first change behind `zxid`. False: some of those are here no more. */
bool changes_seek(const struct changes *ch, int64_t zxid, struct changes_cursor *out);

enum changes_step { CHANGES_ONE, CHANGES_END, CHANGES_GONE };

/* The next one, good until the next change is added; END: there is none yet; GONE: it had to make
 * room for newer ones meanwhile. */
enum changes_step changes_next(const struct changes *ch, struct changes_cursor *c,
                               struct past_change *out);

#endif
