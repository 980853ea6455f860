/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction log file, as recovery reads it. Half of the inputs get their checksums mended, or
 * hardly a change would be seen by what lies behind that check. */
#include <zlib.h>

#include "fuzz.h"
#include "memory_disk.h"
#include "store/txnlog_read.h"

enum { FILE_HEADER_BYTES = 16, SUM_AND_LENGTH_BYTES = 12 };

static void mend_sums(uint8_t *data, size_t size)
{
    size_t at = FILE_HEADER_BYTES, len;

    while (size > at && size - at > SUM_AND_LENGTH_BYTES) {
        len = load_u32(data + at + 8);
        if (len == 0 || len > size - at - SUM_AND_LENGTH_BYTES) {
            return;
        }
        store_u64(data + at, adler32(1, data + at + SUM_AND_LENGTH_BYTES, (uInt)len));
        at += SUM_AND_LENGTH_BYTES + len + 1;
    }
}

static void read_all(struct disk *disk, size_t size)
{
    struct txnlog_reader_options options = {.folder = "version-2"};
    struct txnlog_reader *r;
    struct txnlog_record record;
    enum txnlog_found found, again;
    uint64_t end = 0;

    if (txnlog_reader_open(disk, &options, 0, &r) != 0) {
        return;
    }
    while ((found = txnlog_reader_next(r, &record)) == TXNLOG_RECORD) {
        MUST(record.offset >= end && record.end > record.offset && record.end <= size);
        end = record.end;
    }
    if (found == TXNLOG_TORN || found == TXNLOG_DAMAGED) {
        MUST(txnlog_reader_place(r)->offset <= size);
        MUST(txnlog_reader_place(r)->reason[0] != '\0');
    }
    again = txnlog_reader_next(r, &record);
    MUST(again == found);
    txnlog_reader_close(r);
}

static void read_file(struct bytes content)
{
    struct memory_disk disk;
    struct txn txn;
    int64_t zxid;
    size_t needed;

    txnlog_look_at(content, 1 << 20, &txn, &needed);
    memory_disk_init(&disk, "version-2", "log.1", content);
    txnlog_first_zxid(&disk.disk, "version-2/log.1", &zxid);
    read_all(&disk.disk, content.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int mended = take_choice(&data, &size, 2);
    uint8_t *copy = malloc(size > 0 ? size : 1);

    MUST(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (mended) {
        mend_sums(copy, size);
    }
    read_file(bytes_of(copy, size));
    free(copy);
    return 0;
}
