/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_read.c - the iterator over the logs, and its judgement.
 *
 * What one unfinished write can leave. Between two syncs a server writes whole records behind each
 * other, no more than TXNLOG_WRITE_BYTES of them (or one, if it is larger). If the process dies the
 * file holds the first part of them. If the power goes it holds any subset of their 512-byte
 * sectors, and a lost sector reads as what was there before, which is zeroes behind the old end.
 * So the first record that is not sound is torn, and only torn, if all of these hold:
 *
 *   1. Its sum is wrong, its mark or some of its bytes are zero or missing: no sound record of
 *      another length, no impossible length, no unknown type.
 *   2. A lost sector explains it: one that holds nothing but zeroes from the record's start, or
 *      its own, to its end. Or nothing at all follows it: the write ended inside the record.
 *   3. No sound record begins between it and that sector, or at all if there is none.
 *   4. All that is not zero behind it is within the reach of one write.
 *   5. The sound records that follow, which would be of the same write, are at most WRITE_RECORDS
 *      and were made within WRITE_SPAN_MS of each other.
 *   6. In the newest log there are none of those, unless durable.h knows this log as ours: then it
 *      knows what was acknowledged, too, but for the last seconds before a power cut. Of the log of
 *      another program nobody knows, and a sound record may be an acknowledged one. (In an older
 *      log whoever began the next one has decided that already, see below.)
 *
 * Anything else is damage: acknowledged transactions may be in it or behind it. And whatever looks
 * torn but leaves less than durable.h knows of is damage, too; recovery.c sees to that, and to
 * zxids that do not follow each other.
 *
 * Beside ZooKeeper:
 *
 *   found                                    ZooKeeper              here
 *   ---------------------------------------  ---------------------  ------------------------------
 *   bytes missing, length 0, no mark         end of this file       torn, or damage as above
 *   ends before its transaction does         end of this file       damage
 *   wrong checksum, mark in place            refuses                torn, or damage as above
 *   impossible length, unknown type          refuses                damage
 *   torn, but not in the newest log          goes on silently       damage, unless the next log
 *                                                                   goes on where this one stopped
 *   newest log without a header, all zero    refuses, or (3.9.3)    torn
 *                                            removes it
 *   anything, in a log of which the          the same as ever       said and passed over
 *   snapshot has every transaction
 */
#include "store/txnlog_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/logging.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/txnlog_format.h"

enum {
    BLOCK_BYTES = 1 << 20,
    SECTOR_BYTES = 512,
    /* The records of one write gather while the sync before it runs, on a slow disk for seconds;
     * they are no more than a server lets be in flight (globalOutstandingLimit, and Java's batch).
     */
    WRITE_RECORDS = 1000,
    WRITE_SPAN_MS = 10000,
};

struct txnlog_reader {
    struct disk *disk;
    char *folder;
    size_t limit;
    int64_t own_log;
    int64_t from;
    bool skipping; /* no record with at least `from` has been met */
    struct file_list files;
    size_t at; /* number of the current file */
    struct disk_file *file;
    uint64_t file_size;
    uint8_t *block; /* a stretch of the file */
    size_t capacity;
    size_t filled;
    size_t used;
    uint64_t block_offset; /* where it begins in the file */
    int64_t last_zxid;
    struct txnlog_seen seen;
    enum txnlog_found found;
    struct txnlog_place place;
    int error;
};

/* ---- one record ---- */

enum txnlog_look txnlog_look_at(struct bytes bytes, size_t limit_bytes, struct txn *out,
                                size_t *size)
{
    const uint8_t *p = bytes.data;
    struct bytes payload;
    uint32_t len;

    *size = TXNLOG_PAYLOAD_AT;
    if (bytes.len < TXNLOG_PAYLOAD_AT) {
        return LOOK_MORE;
    }
    len = load_u32(p + TXNLOG_SUM_BYTES);
    if (len == 0) {
        return LOOK_ZERO;
    }
    if (len > limit_bytes) { /* negative ones are, too */
        return LOOK_BAD_LENGTH;
    }
    *size = TXNLOG_FRAME_BYTES + (size_t)len;
    if (bytes.len < *size) {
        return LOOK_MORE;
    }
    if (p[TXNLOG_PAYLOAD_AT + len] != TXNLOG_MARK) {
        return LOOK_NO_MARK;
    }
    payload = bytes_of(p + TXNLOG_PAYLOAD_AT, len);
    if (load_u64(p) != checksum_adler32(1, payload.data, (size_t)len)) {
        return LOOK_BAD_SUM;
    }
    switch (txn_read(payload, out)) {
    case TXN_OK:
        return LOOK_RECORD;
    case TXN_UNKNOWN:
        return LOOK_UNKNOWN;
    default:
        return LOOK_SHORT;
    }
}

static const char *describe_look(enum txnlog_look look)
{
    switch (look) {
    case LOOK_MORE:
        return "the record is cut short";
    case LOOK_ZERO:
        return "bytes follow the end of the records";
    case LOOK_NO_MARK:
        return "the record has no end mark";
    case LOOK_BAD_SUM:
        return "the record's checksum does not match";
    case LOOK_BAD_LENGTH:
        return "the record's length is impossible";
    case LOOK_UNKNOWN:
        return "the record's transaction type is unknown";
    default:
        return "the record ends before its transaction does";
    }
}

bool zxid_may_follow(int64_t zxid, int64_t previous)
{
    bool in_new_epoch = zxid >> 32 > previous >> 32;

    return in_new_epoch ? (zxid & 0xffffffff) <= 1 : zxid <= previous + 1;
}

/* ---- the block ---- */

/* Has at least `need` bytes in the block, unless the file ends before. */
static int reader_fill(struct txnlog_reader *r, size_t need)
{
    size_t have = r->filled - r->used, n = 0;
    uint64_t left = r->file_size - (r->block_offset + r->used);
    int rc;

    need = need < left ? need : (size_t)left;
    if (have >= need) {
        return 0;
    }
    memmove(r->block, r->block + r->used, have);
    r->block_offset += r->used;
    r->used = 0;
    r->filled = have;
    if (need > r->capacity) {
        r->capacity = need;
        r->block = must_realloc(r->block, r->capacity);
    }
    rc = disk_read(r->file, r->block_offset + have, r->block + have, r->capacity - have, &n);
    ASSERT(rc != 0 || n <= r->capacity - have);
    r->filled += n;
    return rc;
}

static struct bytes unread(const struct txnlog_reader *r)
{
    return bytes_of(r->block + r->used, r->filled - r->used);
}

static uint64_t offset_of(const struct txnlog_reader *r)
{
    return r->block_offset + r->used;
}

static bool all_zero(const uint8_t *p, size_t len)
{
    return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* ---- judgement ---- */

#define NOT_LOST SIZE_MAX

/* Where, counted from the record's start, the first sector begins that the record reaches into and
 * that holds only zeroes from there on. The first four bytes of a record are always zero and prove
 * nothing. */
static size_t first_lost_sector(struct bytes window, uint64_t offset, size_t size)
{
    size_t end = size < window.len ? size : window.len;
    size_t from = 0;

    while (from < end) {
        size_t to = from + SECTOR_BYTES - (size_t)((offset + from) % SECTOR_BYTES);

        if (to > window.len) {
            to = window.len;
        }
        if (to > 4 && all_zero(window.data + from, to - from)) {
            return from;
        }
        from = to;
    }
    return NOT_LOST;
}

/* For bytes that only may be a record: no such zxid would be made in any epoch near. */
static bool may_follow(int64_t zxid, int64_t last)
{
    return zxid > last && (last < 0 || (zxid >> 32) - (last >> 32) < 1 << 20);
}

static bool is_sound_at(const struct txnlog_reader *r, struct bytes window, size_t at, size_t *size)
{
    const uint8_t *p = window.data + at;
    struct txn txn;

    return load_u32(p) == 0 && load_u32(p + TXNLOG_SUM_BYTES) != 0 &&
           may_follow((int64_t)load_u64(p + TXNLOG_ZXID_AT), r->last_zxid) &&
           txnlog_look_at(bytes_of(p, window.len - at), r->limit, &txn, size) == LOOK_RECORD;
}

/* The first sound record that begins at `from` or later and before `to`; `to` if there is none. */
static size_t next_sound(const struct txnlog_reader *r, struct bytes window, size_t from, size_t to,
                         size_t *size)
{
    for (size_t i = from; i < to && i + TXNLOG_FRAME_BYTES + TXN_HEADER_BYTES <= window.len; i++) {
        if (is_sound_at(r, window, i, size)) {
            return i;
        }
    }
    return to;
}

static bool is_newest(const struct txnlog_reader *r)
{
    return r->at + 1 == r->files.count;
}

/* Why the sound records of the window cannot be of one unfinished write, or NULL: they can. */
static const char *against_one_write(const struct txnlog_reader *r, struct bytes window)
{
    int64_t first = INT64_MAX, last = INT64_MIN, time;
    size_t size = 0, n = 0;

    for (size_t at = next_sound(r, window, 1, window.len, &size); at < window.len;
         at = next_sound(r, window, at + size, window.len, &size)) {
        time = (int64_t)load_u64(window.data + at + TXNLOG_TIME_AT);
        first = time < first ? time : first;
        last = time > last ? time : last;
        n++;
    }
    if (n == 0) {
        return NULL;
    }
    if (n > WRITE_RECORDS || last - first > WRITE_SPAN_MS) {
        return "more records follow, or over a longer time, than one unfinished write can have "
               "left";
    }
    if (is_newest(r) && r->files.files[r->at].zxid != r->own_log) {
        return "sound records follow, and nothing tells whether they were acknowledged";
    }
    return NULL;
}

/* What lies behind the place in question. */
struct aftermath {
    struct bytes window; /* from there on, as far as one write reaches */
    bool nothing_beyond; /* behind the window are only zeroes */
    size_t end;          /* of the window, its last zeroes left out */
};

/* Why the record here cannot be what an unfinished write left, or NULL: it can. The numbers are
 * those of the rule above. */
static const char *against_tear(const struct txnlog_reader *r, enum txnlog_look look, size_t size,
                                const struct aftermath *after)
{
    size_t lost = first_lost_sector(after->window, offset_of(r), size), until, sound;

    if (look == LOOK_BAD_LENGTH || look == LOOK_UNKNOWN || look == LOOK_SHORT) {
        return describe_look(look);
    }
    if (lost == NOT_LOST &&
        (look == LOOK_BAD_SUM || after->end >= size || !after->nothing_beyond)) {
        return describe_look(look);
    }
    until = lost == NOT_LOST ? after->window.len : lost;
    if (next_sound(r, after->window, 1, until, &sound) < until) {
        return describe_look(look);
    }
    if (!after->nothing_beyond) {
        return "more follows than one unfinished write can have left";
    }
    return against_one_write(r, after->window);
}

static void note_place(struct txnlog_reader *r, const char *reason)
{
    struct txnlog_place *p = &r->place;

    file_path(p->file, r->folder, r->files.files[r->at].name);
    p->offset = offset_of(r);
    p->last_zxid = r->last_zxid;
    p->no_header = offset_of(r) == 0;
    snprintf(p->reason, sizeof(p->reason), "%s", reason);
}

/* All that the caller wants begins in the next log. */
static bool is_passed_over(const struct txnlog_reader *r)
{
    return r->at + 1 < r->files.count && r->files.files[r->at + 1].zxid <= r->from;
}

static enum txnlog_found reader_damaged(struct txnlog_reader *r, const char *reason)
{
    if (is_passed_over(r)) {
        log_warn("%s/%s is damaged at offset %" PRIu64 " (%s); the snapshot has what it held",
                 r->folder, r->files.files[r->at].name, offset_of(r), reason);
        return TXNLOG_END;
    }
    note_place(r, reason);
    return TXNLOG_DAMAGED;
}

/* Does the next log go on where this one was torn? A server that crashed there went on with the
 * zxid after the last good one, or joined a new epoch. */
static bool next_log_continues(const struct txnlog_reader *r)
{
    int64_t next = r->files.files[r->at + 1].zxid;
    int64_t last = r->last_zxid >= 0 ? r->last_zxid : r->files.files[r->at].zxid - 1;

    return is_passed_over(r) || zxid_may_follow(next, last);
}

/* The current file ends here, torn. TXNLOG_END: it is done, the next one goes on. */
static enum txnlog_found reader_torn(struct txnlog_reader *r, const char *reason)
{
    char longer[sizeof(r->place.reason)];

    if (is_newest(r)) {
        note_place(r, reason);
        return TXNLOG_TORN;
    }
    if (!next_log_continues(r)) {
        snprintf(longer, sizeof(longer), "%s, and the next log, %.64s, does not go on from there",
                 reason, r->files.files[r->at + 1].name);
        return reader_damaged(r, longer);
    }
    log_warn("%s/%s is torn at offset %" PRIu64 " (%s); the next log goes on from there", r->folder,
             r->files.files[r->at].name, offset_of(r), reason);
    return TXNLOG_END;
}

static enum txnlog_found reader_failed(struct txnlog_reader *r, int rc)
{
    r->error = rc;
    return TXNLOG_FAILED;
}

/* Is the file all zeroes from `offset` on? */
static int only_zeroes(struct disk_file *file, uint64_t offset, bool *out)
{
    uint8_t *block = must_alloc(BLOCK_BYTES);
    size_t n = 0;
    int rc = 0;

    *out = true;
    do {
        offset = disk_data_after(file, offset);
        rc = disk_read(file, offset, block, BLOCK_BYTES, &n);
        *out = rc == 0 && all_zero(block, n);
        offset += n;
    } while (*out && n > 0);
    free(block);
    return rc;
}

static size_t reach_of_one_write(const struct txnlog_reader *r)
{
    size_t largest = r->limit + TXNLOG_FRAME_BYTES;

    return largest > TXNLOG_WRITE_BYTES ? largest : TXNLOG_WRITE_BYTES;
}

static int look_behind(struct txnlog_reader *r, struct aftermath *out)
{
    int rc = reader_fill(r, reach_of_one_write(r));

    if (rc != 0) {
        return rc;
    }
    out->window = unread(r);
    out->end = out->window.len;
    while (out->end > 0 && out->window.data[out->end - 1] == 0) {
        out->end--;
    }
    return only_zeroes(r->file, offset_of(r) + out->window.len, &out->nothing_beyond);
}

/* No sound record here: why? TXNLOG_END: because this file is done. */
static enum txnlog_found reader_judge(struct txnlog_reader *r, enum txnlog_look look, size_t size)
{
    struct aftermath after;
    const char *damage;
    bool is_end = false;
    int rc = only_zeroes(r->file, offset_of(r), &is_end);

    if (rc == 0 && is_end) {
        return TXNLOG_END;
    }
    if (rc == 0) {
        rc = look_behind(r, &after);
    }
    if (rc != 0) {
        return reader_failed(r, rc);
    }
    damage = against_tear(r, look, size, &after);
    return damage == NULL ? reader_torn(r, describe_look(look)) : reader_damaged(r, damage);
}

/* ---- files ---- */

/* What stands where the header should be; TXNLOG_RECORD if it is one. */
static enum txnlog_found check_header(struct txnlog_reader *r)
{
    struct bytes window;
    bool is_blank;
    int rc = reader_fill(r, TXNLOG_HEADER_BYTES);

    if (rc != 0) {
        return reader_failed(r, rc);
    }
    window = unread(r);
    if (window.len >= TXNLOG_HEADER_BYTES && load_u32(window.data) == TXNLOG_MAGIC) {
        r->used += TXNLOG_HEADER_BYTES;
        return TXNLOG_RECORD;
    }
    rc = only_zeroes(r->file, 0, &is_blank);
    if (rc != 0) {
        return reader_failed(r, rc);
    }
    if (is_blank) {
        return reader_torn(r, "the file is empty");
    }
    return reader_damaged(r, window.len < TXNLOG_HEADER_BYTES ? "the file's header is cut short"
                                                              : "this is not a transaction log");
}

static void make_block(struct txnlog_reader *r)
{
    size_t wanted = r->file_size < BLOCK_BYTES ? (size_t)r->file_size + 1 : BLOCK_BYTES;

    if (r->capacity < wanted) {
        r->capacity = wanted;
        r->block = must_realloc(r->block, r->capacity);
    }
}

static enum txnlog_found open_file(struct txnlog_reader *r)
{
    char path[FILE_PATH_BYTES];
    int rc;

    file_path(path, r->folder, r->files.files[r->at].name);
    rc = disk_open(r->disk, path, DISK_READ, &r->file);
    if (rc == 0) {
        rc = disk_size(r->file, &r->file_size);
    }
    if (rc != 0) {
        return reader_failed(r, rc);
    }
    make_block(r);
    r->filled = 0;
    r->used = 0;
    r->block_offset = 0;
    return check_header(r);
}

static void leave_file(struct txnlog_reader *r)
{
    disk_close(r->file);
    r->file = NULL;
    r->at++;
}

static int reader_look(struct txnlog_reader *r, struct txn *txn, enum txnlog_look *out,
                       size_t *size)
{
    int rc = reader_fill(r, TXNLOG_PAYLOAD_AT);

    if (rc != 0) {
        return rc;
    }
    *out = txnlog_look_at(unread(r), r->limit, txn, size);
    if (*out != LOOK_MORE) {
        return 0;
    }
    rc = reader_fill(r, *size);
    if (rc == 0) {
        *out = txnlog_look_at(unread(r), r->limit, txn, size);
    }
    return rc;
}

static void note_seen(struct txnlog_seen *seen, const struct txn_header *h)
{
    seen->time_ms = h->time_ms > seen->time_ms ? h->time_ms : seen->time_ms;
    seen->session_id = h->client_id > seen->session_id ? h->client_id : seen->session_id;
}

/* One record of the current file; TXNLOG_END: it has no more. */
static enum txnlog_found next_in_file(struct txnlog_reader *r, struct txnlog_record *out)
{
    enum txnlog_look what;
    size_t size;
    int rc = reader_look(r, &out->txn, &what, &size);

    if (rc != 0) {
        return reader_failed(r, rc);
    }
    if (what != LOOK_RECORD) {
        return reader_judge(r, what, size);
    }
    out->payload = bytes_of(unread(r).data + TXNLOG_PAYLOAD_AT, size - TXNLOG_FRAME_BYTES);
    out->file = r->at;
    out->offset = offset_of(r);
    out->end = out->offset + size;
    ASSERT(out->end <= r->file_size);
    r->used += size;
    r->last_zxid = out->txn.header.zxid;
    note_seen(&r->seen, &out->txn.header);
    return TXNLOG_RECORD;
}

static enum txnlog_found next_record(struct txnlog_reader *r, struct txnlog_record *out)
{
    enum txnlog_found found;

    while (r->at < r->files.count) {
        found = r->file != NULL ? TXNLOG_RECORD : open_file(r);
        if (found == TXNLOG_RECORD) {
            found = next_in_file(r, out);
        }
        if (found != TXNLOG_END) {
            return found;
        }
        leave_file(r);
    }
    return TXNLOG_END;
}

enum txnlog_found txnlog_reader_next(struct txnlog_reader *r, struct txnlog_record *out)
{
    if (r->found != TXNLOG_RECORD) {
        return r->found;
    }
    do {
        r->found = next_record(r, out);
    } while (r->found == TXNLOG_RECORD && r->skipping && out->txn.header.zxid < r->from);
    r->skipping = false;
    return r->found;
}

/* ---- life ---- */

int txnlog_find_first(struct disk *disk, const char *folder, const struct file_list *l,
                      int64_t from, size_t *out)
{
    char path[FILE_PATH_BYTES];
    int64_t zxid = -1;
    size_t first = 0;
    int rc = 0;

    while (first + 1 < l->count && l->files[first + 1].zxid < from) {
        first++;
    }
    while (first > 0 && rc == 0 && zxid < 0) {
        file_path(path, folder, l->files[first].name);
        rc = txnlog_first_zxid(disk, path, &zxid);
        if (rc == PAWL_ERR_CORRUPT) { /* to be met, and told of, when it is read */
            rc = 0;
            break;
        }
        first -= zxid < 0;
    }
    *out = first;
    return rc;
}

/* Leaves out the logs that hold nothing of interest. */
static int drop_older(struct disk *disk, const char *folder, struct file_list *l, int64_t from)
{
    size_t first;
    int rc = txnlog_find_first(disk, folder, l, from, &first);

    if (rc == 0 && first > 0) {
        l->count -= first;
        memmove(l->files, l->files + first, l->count * sizeof(*l->files));
    }
    return rc;
}

int txnlog_reader_open(struct disk *disk, const struct txnlog_reader_options *options, int64_t from,
                       struct txnlog_reader **out)
{
    struct txnlog_reader *r;
    struct file_list files;
    int rc = file_list_load(disk, options->folder, TXNLOG_PREFIX, &files);

    if (rc != 0) {
        return rc;
    }
    rc = drop_older(disk, options->folder, &files, from);
    if (rc != 0) {
        file_list_fini(&files);
        return rc;
    }
    r = must_zalloc(sizeof(*r));
    r->disk = disk;
    r->folder = must_strdup(options->folder);
    r->limit = options->limit_bytes != 0 ? options->limit_bytes : TXNLOG_DEFAULT_LIMIT;
    r->own_log = options->own_log;
    r->from = from;
    r->skipping = !options->whole_files;
    r->files = files;
    r->last_zxid = -1;
    r->found = TXNLOG_RECORD;
    *out = r;
    return 0;
}

void txnlog_reader_close(struct txnlog_reader *r)
{
    if (r == NULL) {
        return;
    }
    disk_close(r->file);
    file_list_fini(&r->files);
    free(r->block);
    free(r->folder);
    free(r);
}

const struct txnlog_place *txnlog_reader_place(const struct txnlog_reader *r)
{
    return &r->place;
}

struct txnlog_seen txnlog_reader_seen(const struct txnlog_reader *r)
{
    return r->seen;
}

int txnlog_reader_error(const struct txnlog_reader *r)
{
    return r->error;
}

const struct file_list *txnlog_reader_files(const struct txnlog_reader *r)
{
    return &r->files;
}

/* The zxid of the record right behind the header, -1: there is none. */
static int read_first(struct disk_file *file, int64_t *out)
{
    size_t capacity = 4096, n, size = 0;
    uint8_t *bytes = NULL;
    enum txnlog_look what;
    struct txn txn;
    int rc;

    do { /* a second time if the record is longer than that */
        capacity = size > capacity ? size : capacity;
        bytes = must_realloc(bytes, capacity);
        rc = disk_read(file, TXNLOG_HEADER_BYTES, bytes, capacity, &n);
        if (rc != 0) {
            break;
        }
        what = txnlog_look_at(bytes_of(bytes, n), TXNLOG_DEFAULT_LIMIT, &txn, &size);
        *out = what == LOOK_RECORD ? txn.header.zxid : -1;
    } while (what == LOOK_MORE && n == capacity && size > capacity);
    free(bytes);
    return rc;
}

int txnlog_is_blank(struct disk *disk, const char *path, bool *out)
{
    struct disk_file *file;
    uint8_t magic[4];
    size_t n;
    int rc = disk_open(disk, path, DISK_READ, &file);

    if (rc != 0) {
        return rc;
    }
    rc = disk_read(file, 0, magic, sizeof(magic), &n);
    if (rc == 0) {
        bool has_header = n == sizeof(magic) && load_u32(magic) == TXNLOG_MAGIC;

        rc = only_zeroes(file, has_header ? TXNLOG_HEADER_BYTES : 0, out);
    }
    disk_close(file);
    return rc;
}

int txnlog_first_zxid(struct disk *disk, const char *path, int64_t *out)
{
    uint8_t header[TXNLOG_HEADER_BYTES];
    struct disk_file *file;
    size_t n;
    int rc = disk_open(disk, path, DISK_READ, &file);

    if (rc != 0) {
        return rc;
    }
    rc = disk_read(file, 0, header, sizeof(header), &n);
    if (rc == 0 && n == sizeof(header) && load_u32(header) == TXNLOG_MAGIC) {
        rc = read_first(file, out);
    } else if (rc == 0) {
        rc = all_zero(header, n) ? 0 : PAWL_ERR_CORRUPT;
        *out = -1;
    }
    disk_close(file);
    return rc;
}
