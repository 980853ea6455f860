/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - transactions on their way from the log to the tree.
 *
 * What is appended goes to the log's batch, and stands here until it is committed: in an ensemble
 * that may be before or after it is durable here. Nothing is copied: an entry holds the block in
 * which the log's record lies. */
#ifndef PAWL_MEMBER_JOURNAL_H
#define PAWL_MEMBER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct txn_batch;
struct txn_block;

struct journal_entry {
    int64_t zxid;
    int64_t when_us;      /* it was appended */
    struct bytes payload; /* in block */
    struct txn_block *block;
};

struct journal {
    struct journal_entry *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t first;    /* where the oldest stands */
    size_t n;
    int64_t last_zxid; /* the newest that was appended */
    bool roll_next;    /* the next one begins a new log file */
    int64_t file_zxid; /* the first of the newest log file */
};

/* `zxid` is what the log ends with. */
void journal_init(struct journal *j, int64_t zxid);
void journal_fini(struct journal *j);

/* The next transaction of the log. */
void journal_append(struct journal *j, struct txn_batch *log, int64_t zxid, struct bytes payload,
                    int64_t now_us);

/* The oldest that is not committed; NULL: all are. Good until the next append. */
const struct journal_entry *journal_first(const struct journal *j);

/* That one is committed. */
void journal_pop(struct journal *j);

/* The next transaction begins a new log file. */
void journal_roll(struct journal *j);

#endif
