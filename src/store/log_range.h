/* SPDX-License-Identifier: Apache-2.0 */
/* log_range.h - the transactions of a range, read back from the log in pieces, for a learner.
 *
 * All of them or an error: the range begins with the first zxid asked for, goes on without a hole
 * and ends with the last. For one thread, that of the log, which may append between two pieces. */
#ifndef PAWL_STORE_LOG_RANGE_H
#define PAWL_STORE_LOG_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/disk.h"
#include "store/txnlog_read.h"

struct log_range;

/* Both ends are included. All of it is on disk already. */
int log_range_open(struct disk *disk, const struct txnlog_reader_options *options, int64_t first,
                   int64_t last, struct log_range **out);
void log_range_close(struct log_range *r); /* NULL is allowed */

typedef void (*log_range_fn)(int64_t zxid, struct bytes payload, void *arg);

/* Calls `fn` for the next ones, until payloads of `budget_bytes` have been read or the range is at
 * its end, which `*done` tells. What the first file has before the range is read as well: a call
 * may come to nothing. PAWL_ERR_CORRUPT: the log does not have it so; `reason` says why.
 */
int log_range_read(struct log_range *r, size_t budget_bytes, log_range_fn fn, void *arg,
                   bool *done);
const char *log_range_reason(const struct log_range *r);

#endif
