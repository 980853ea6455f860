/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_read.h - reads transactions back, and tells a torn tail from damage.
 *
 * A torn tail is what one unfinished write can leave, and no more; it may be cut. Damage is
 * everything else: acknowledged transactions may be in it or behind it, so the reader stops and
 * says where, and changes nothing. The rule is in txnlog_read.c. */
#ifndef PAWL_STORE_TXNLOG_READ_H
#define PAWL_STORE_TXNLOG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "store/file_names.h"
#include "wire/txn.h"

struct txnlog_reader;

struct txnlog_reader_options {
    bool whole_files;   /* also what the first file has before `from` */
    const char *folder; /* inside the disk, "version-2" */
    size_t limit_bytes; /* of one record; 0: ZooKeeper's default */
    int64_t own_log;    /* the log that durable.h knows to be ours, by its zxid; 0: none */
};

enum txnlog_found {
    TXNLOG_RECORD,
    TXNLOG_END,     /* nothing follows */
    TXNLOG_TORN,    /* the newest log ends in something that was never acknowledged */
    TXNLOG_DAMAGED, /* acknowledged transactions may be lost */
    TXNLOG_FAILED,  /* the disk could not be read; txnlog_reader_error() */
};

struct txnlog_record {
    struct bytes payload; /* lent until the next call */
    struct txn txn;       /* views into it */
    size_t file;          /* number of the log among txnlog_reader_files() */
    uint64_t offset;      /* of the record, and of what follows it */
    uint64_t end;
};

/* Where something is wrong. */
struct txnlog_place {
    char file[FILE_PATH_BYTES]; /* as the disk names it */
    uint64_t offset;
    int64_t last_zxid; /* of the last good record, -1: none was read */
    bool no_header;    /* the file holds nothing at all, not even a header */
    char reason[192];
};

/* Stands before the first record with a zxid of at least `from`. Logs that cannot hold one are not
 * opened: all that start at `from` or later are read, and the newest that starts before it. */
int txnlog_reader_open(struct disk *disk, const struct txnlog_reader_options *options, int64_t from,
                       struct txnlog_reader **out);
void txnlog_reader_close(struct txnlog_reader *r);

/* After anything but TXNLOG_RECORD the same is returned for ever. */
enum txnlog_found txnlog_reader_next(struct txnlog_reader *r, struct txnlog_record *out);

/* After TXNLOG_TORN and TXNLOG_DAMAGED. */
const struct txnlog_place *txnlog_reader_place(const struct txnlog_reader *r);
int txnlog_reader_error(const struct txnlog_reader *r);

/* The latest time and the largest session id in any record read, skipped ones included; 0: none. */
struct txnlog_seen {
    int64_t time_ms;
    int64_t session_id;
};
struct txnlog_seen txnlog_reader_seen(const struct txnlog_reader *r);

/* The logs it reads, oldest first. */
const struct file_list *txnlog_reader_files(const struct txnlog_reader *r);

/* The zxid of the first record in one log file, -1 if there is none. PAWL_ERR_CORRUPT if it is no
 * log at all. */
int txnlog_first_zxid(struct disk *disk, const char *path, int64_t *out);

/* Does it hold nothing: no byte, or only zeroes, or a header with nothing but zeroes behind it? */
int txnlog_is_blank(struct disk *disk, const char *path, bool *out);

/* May a record of `zxid` stand behind one of `previous`, with nothing missing in between? Every
 * zxid of an epoch is logged, failed requests as error records, so the next one is one more, or the
 * first of a later epoch. Repeats are fine: a server that crashed uses a zxid again. */
bool zxid_may_follow(int64_t zxid, int64_t previous);

/* The number of the oldest log that may hold a transaction of at least `from`: the newest that
 * starts before it. One without any record is passed over, as a crash can leave it behind with a
 * name too new for what was written afterwards. */
int txnlog_find_first(struct disk *disk, const char *folder, const struct file_list *logs,
                      int64_t from, size_t *out);

/* ---- one record, as a function of bytes; also what the fuzzer drives ---- */

enum txnlog_look {
    LOOK_RECORD,
    LOOK_MORE,       /* goes on behind the bytes given */
    LOOK_ZERO,       /* length 0: the normal end in padded space */
    LOOK_NO_MARK,    /* complete, but its last byte is not the mark */
    LOOK_BAD_SUM,    /* complete, but the checksum differs */
    LOOK_BAD_LENGTH, /* no record is that long */
    LOOK_UNKNOWN,    /* sound, but of a type that does not exist */
    LOOK_SHORT,      /* sound, but ends before its transaction does */
};

/* `*size` is the whole record's length when known, else what is needed to know it. */
enum txnlog_look txnlog_look_at(struct bytes bytes, size_t limit_bytes, struct txn *out,
                                size_t *size);

#endif
