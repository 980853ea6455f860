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

#include <string.h>

#include "base/bytes.h"
#include "wire/jute.h"

#define TXNLOG_MAGIC  0x5A4B4C47u
#define TXNLOG_PREFIX "log"

enum {
    TXNLOG_VERSION = 2,
    TXNLOG_HEADER_BYTES = 16,
    TXNLOG_SUM_BYTES = 8,
    TXNLOG_FRAME_BYTES = 13, /* sum, length and mark: what a record adds to its payload */
    TXNLOG_PAYLOAD_AT = 12,
    TXNLOG_ZXID_AT = TXNLOG_PAYLOAD_AT + 12, /* behind clientId and cxid */
    TXNLOG_TIME_AT = TXNLOG_ZXID_AT + 8,
    TXNLOG_MARK = 0x42,
    /* jute.maxbuffer (1048575) plus as much again: ZooKeeper's default ceiling of a record. */
    TXNLOG_DEFAULT_LIMIT = 2097150,
    /* What may be written between two syncs, unless a single record is larger. A crash can tear no
     * more than that, so what lies further behind a tear speaks against it. */
    TXNLOG_WRITE_BYTES = 1 << 20,
};

/* Lays `payload` out as a record at `at`, which has room for TXNLOG_FRAME_BYTES more. The sum is
 * left 0: the log's thread fills it in, see txnlog_append(). */
static inline void txnlog_lay_out(uint8_t *at, struct bytes payload)
{
    store_u64(at, 0);
    store_u32(at + TXNLOG_SUM_BYTES, (uint32_t)payload.len);
    memcpy(at + TXNLOG_PAYLOAD_AT, payload.data, payload.len);
    at[TXNLOG_PAYLOAD_AT + payload.len] = TXNLOG_MARK;
}

#endif
