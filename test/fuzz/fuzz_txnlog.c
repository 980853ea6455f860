/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction log file, as recovery reads it. */
#include "fuzz.h"
#include "memory_disk.h"
#include "store/txnlog_read.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_disk disk;
    struct txn txn;
    int64_t zxid;
    size_t needed;

    txnlog_look_at(bytes_of(data, size), 1 << 20, &txn, &needed);
    memory_disk_init(&disk, "version-2", "log.1", bytes_of(data, size));
    txnlog_first_zxid(&disk.disk, "version-2/log.1", &zxid);
    read_all(&disk.disk, size);
    return 0;
}
