/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_format.h - a transaction log, byte by byte. All numbers big endian.
 *
 *   file   : header | record | record | ... | zeroes to the end
 *   header : int 0x5A4B4C47 "ZKLG" | int 2 | long 0                          16 bytes
 *   record : long Adler-32 of the payload | int length | payload | byte 0x42
 *
 * The file is named after the zxid of its first record. The sum covers the payload only. What the
 * reader thinks of a record that does not look like this is in txnlog_read.c. */
#ifndef PAWL_STORE_TXNLOG_FORMAT_H
#define PAWL_STORE_TXNLOG_FORMAT_H

#include "base/strbuf.h"
#include "wire/jute.h"

#define TXNLOG_MAGIC  0x5A4B4C47u
#define TXNLOG_PREFIX "log"

enum {
    TXNLOG_VERSION = 2,
    TXNLOG_HEADER_BYTES = 16,
    TXNLOG_SUM_BYTES = 8,
    TXNLOG_FRAME_BYTES = 13, /* sum, length and mark: what a record adds to its payload */
    TXNLOG_PAYLOAD_AT = 12,
    TXNLOG_MARK = 0x42,
    /* jute.maxbuffer (1048575) plus as much again: ZooKeeper's default ceiling of a record. */
    TXNLOG_DEFAULT_LIMIT = 2097150,
};

/* Lays out a record around a payload that is encoded straight into the batch:
 *
 *   size_t mark = txnlog_record_begin(batch);
 *   ... append the payload ...
 *   txnlog_record_end(batch, mark);
 *
 * The sum is left 0: the log's thread fills it in, see txnlog_append(). */
static inline size_t txnlog_record_begin(struct strbuf *b)
{
    static const uint8_t zeroes[TXNLOG_PAYLOAD_AT];
    size_t mark = b->len;

    strbuf_append(b, zeroes, sizeof(zeroes));
    return mark;
}

static inline void txnlog_record_end(struct strbuf *b, size_t mark)
{
    static const uint8_t end = TXNLOG_MARK;

    jute_patch_int(b, mark + TXNLOG_SUM_BYTES, (int32_t)(b->len - mark - TXNLOG_PAYLOAD_AT));
    strbuf_append(b, &end, 1);
}

#endif
