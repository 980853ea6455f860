/* SPDX-License-Identifier: Apache-2.0 */
/* recent.h - the newest payloads of the log, in memory, for learners.
 *
 * What is proposed comes in at the end; what is committed and on disk leaves at the beginning when
 * there is more than the limit. Payloads lie one behind the other in blocks, so a proposal costs a
 * copy and, once in a while, one block. */
#ifndef PAWL_QUORUM_RECENT_H
#define PAWL_QUORUM_RECENT_H

#include <stdint.h>

#include "base/bytes.h"

struct recent_entry {
    int64_t zxid;
    struct bytes payload;
    struct recent_block *block;
};

struct recent {
    struct recent_entry *ring; /* ascending zxids, from `first` on */
    size_t capacity;           /* a power of two, or 0 */
    size_t first;
    size_t count;
    struct recent_block *tail; /* the block that is being filled */
    size_t bytes;              /* of all payloads */
    size_t limit;
};

void recent_init(struct recent *r, size_t limit_bytes);
void recent_fini(struct recent *r);

/* A zxid larger than all that are here. */
void recent_append(struct recent *r, int64_t zxid, struct bytes payload);

/* Drops the oldest ones up to `zxid` as long as there is more than the limit. */
void recent_shrink(struct recent *r, int64_t zxid);

void recent_clear(struct recent *r);

/* The first one behind `zxid`, or r->count: a place for recent_at(). */
size_t recent_behind(const struct recent *r, int64_t zxid);

static inline const struct recent_entry *recent_at(const struct recent *r, size_t i)
{
    return &r->ring[(r->first + i) & (r->capacity - 1)];
}

#endif
