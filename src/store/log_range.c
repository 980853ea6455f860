/* SPDX-License-Identifier: Apache-2.0 */
#include "store/log_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "pawl/error.h"

struct log_range {
    struct txnlog_reader *reader;
    int64_t first, last;
    int64_t previous; /* given to the caller, -1: none yet */
    char reason[256];
};

int log_range_open(struct disk *disk, const struct txnlog_reader_options *options, int64_t first,
                   int64_t last, struct log_range **out)
{
    struct txnlog_reader_options whole = *options;
    struct log_range *r = must_zalloc(sizeof(*r));
    int rc;

    ASSERT(first > 0 && first <= last);
    r->first = first;
    r->last = last;
    r->previous = -1;
    whole.whole_files = true; /* what comes before the first one counts as read, too */
    rc = txnlog_reader_open(disk, &whole, first, &r->reader);
    if (rc != 0) {
        free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void log_range_close(struct log_range *r)
{
    if (r != NULL) {
        txnlog_reader_close(r->reader);
        free(r);
    }
}

/* What the file has before the range; or a repeat, which stands for the same transaction: whoever
 * is behind it is told only once. */
static bool is_passed_over(const struct log_range *r, int64_t zxid)
{
    return r->previous < 0 ? zxid < r->first : zxid <= r->previous;
}

static bool is_next(const struct log_range *r, int64_t zxid)
{
    return r->previous < 0 ? zxid == r->first
                           : zxid <= r->last && zxid_may_follow(zxid, r->previous);
}

static int range_broken(struct log_range *r, const char *what, int64_t zxid)
{
    snprintf(r->reason, sizeof(r->reason),
             "of the transactions 0x%" PRIx64 " to 0x%" PRIx64
             " the log has none, or not all, behind 0x%" PRIx64 ": %s 0x%" PRIx64,
             (uint64_t)r->first, (uint64_t)r->last,
             (uint64_t)(r->previous < 0 ? r->first - 1 : r->previous), what, (uint64_t)zxid);
    return PAWL_ERR_CORRUPT;
}

static int range_end(struct log_range *r, enum txnlog_found found)
{
    if (found == TXNLOG_FAILED) {
        return txnlog_reader_error(r->reader);
    }
    return range_broken(r, "it ends there, asked for up to", r->last);
}

int log_range_read(struct log_range *r, size_t budget_bytes, log_range_fn fn, void *arg, bool *done)
{
    struct txnlog_record record;
    enum txnlog_found found;
    size_t n_bytes = 0;

    *done = r->previous == r->last;
    while (!*done && n_bytes < budget_bytes) {
        int64_t zxid;

        found = txnlog_reader_next(r->reader, &record);
        if (found != TXNLOG_RECORD) {
            return range_end(r, found);
        }
        zxid = record.txn.header.zxid;
        n_bytes += record.payload.len;
        if (is_passed_over(r, zxid)) {
            continue;
        }
        if (!is_next(r, zxid)) {
            return range_broken(r, "it goes on with", zxid);
        }
        fn(zxid, record.payload, arg);
        r->previous = zxid;
        *done = zxid == r->last;
    }
    return 0;
}

const char *log_range_reason(const struct log_range *r)
{
    return r->reason;
}
