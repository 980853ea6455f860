/* SPDX-License-Identifier: Apache-2.0 */
/* log_record.h - lays a record of a transaction log out around a payload that is encoded in place:
 *
 *   size_t mark = log_record_begin(batch);
 *   ... append the payload ...
 *   log_record_end(batch, mark);
 *
 * The sum is left 0, see txnlog_fill_sums(). */
#ifndef PAWL_TEST_LOG_RECORD_H
#define PAWL_TEST_LOG_RECORD_H

#include "base/strbuf.h"
#include "store/txnlog_format.h"

static inline size_t log_record_begin(struct strbuf *b)
{
    static const uint8_t zeroes[TXNLOG_PAYLOAD_AT];
    size_t mark = b->len;

    strbuf_append(b, zeroes, sizeof(zeroes));
    return mark;
}

static inline void log_record_end(struct strbuf *b, size_t mark)
{
    static const uint8_t end = TXNLOG_MARK;

    jute_patch_int(b, mark + TXNLOG_SUM_BYTES, (int32_t)(b->len - mark - TXNLOG_PAYLOAD_AT));
    strbuf_append(b, &end, 1);
}

#endif
