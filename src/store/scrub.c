/* SPDX-License-Identifier: Apache-2.0 */
#include "store/scrub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pawl/error.h"
#include "store/aside.h"
#include "store/snapshot_format.h"
#include "store/snapshot_read.h"
#include "store/snapshot_source.h"
#include "store/txnlog_format.h"
#include "store/txnlog_read.h"

enum { BLOCK_BYTES = 256 << 10, SEAL_BYTES = 13 };

enum verdict { GOES_ON, IS_GOOD, IS_BAD };

/* A log while it is read. */
struct log_check {
    struct disk_file *file;
    uint8_t *block;
    size_t capacity;
    uint64_t offset;
    int64_t last_zxid;
    bool is_newest;
    int64_t known;  /* all up to here is on disk, behind it the newest one is being written */
    int64_t needed; /* it has to reach this; 0: it need not */
    bool in_zeroes; /* nothing but zeroes may follow */
};

struct scrub {
    struct scrub_options options;
    size_t limit;
    struct file_list snapshots, logs;
    size_t at; /* the file that is looked at, snapshots first */
    bool is_in_round, is_open, is_second;
    struct snapshot_source source;
    struct log_check log;
    uint64_t n_bytes;
    struct scrub_damage found;
};

struct scrub *scrub_new(const struct scrub_options *options)
{
    struct scrub *s = must_zalloc(sizeof(*s));

    s->options = *options;
    s->limit = options->limit_bytes != 0 ? options->limit_bytes : TXNLOG_DEFAULT_LIMIT;
    return s;
}

static bool is_at_log(const struct scrub *s)
{
    return s->at >= s->snapshots.count;
}

static const struct file_name *file_at(const struct scrub *s)
{
    return is_at_log(s) ? &s->logs.files[s->at - s->snapshots.count] : &s->snapshots.files[s->at];
}

static void close_one(struct scrub *s)
{
    if (s->is_open && is_at_log(s)) {
        disk_close(s->log.file);
        free(s->log.block);
        s->log = (struct log_check){0};
    } else if (s->is_open) {
        source_fini(&s->source);
    }
    s->is_open = false;
}

static void end_round(struct scrub *s)
{
    file_list_fini(&s->snapshots);
    file_list_fini(&s->logs);
    s->snapshots = s->logs = (struct file_list){0};
    s->at = 0;
    s->is_in_round = false;
}

void scrub_free(struct scrub *s)
{
    if (s == NULL) {
        return;
    }
    close_one(s);
    end_round(s);
    free(s);
}

uint64_t scrub_bytes(const struct scrub *s)
{
    return s->n_bytes;
}

/* ---- a verdict ---- */

static enum verdict bad(struct scrub *s, const char *reason)
{
    struct scrub_damage *d = &s->found;

    *d = (struct scrub_damage){.is_log = is_at_log(s), .file = *file_at(s), .last_zxid = -1};
    if (d->is_log) {
        d->offset = s->log.offset;
        d->last_zxid = s->log.last_zxid;
    }
    snprintf(d->reason, sizeof(d->reason), "%s", reason);
    return IS_BAD;
}

/* ---- snapshots ---- */

/* Everything but the seal at the end, as far as it is in memory. */
static enum verdict look_at_seal(struct scrub *s)
{
    struct snapshot_source *source = &s->source;
    uint32_t sum;

    if (source->error != 0) {
        return bad(s, disk_last_error(s->options.snapshot_disk));
    }
    if (source->bad || (size_t)(source->end - source->at) != SEAL_BYTES) {
        return bad(s, source->bad ? "its compressed form is broken" : "it is too short");
    }
    sum = source_sum(source);
    if (load_u64(source->at) != sum || memcmp(source->at + 8, "\0\0\0\1/", 5) != 0) {
        return bad(s, "the checksum does not match");
    }
    return IS_GOOD;
}

static enum verdict check_snapshot(struct scrub *s, int64_t *budget)
{
    struct snapshot_source *source = &s->source;
    uint64_t before = source_offset(source);
    bool goes_on = source_peek(source, SEAL_BYTES + 1) != NULL;

    if (goes_on) {
        source->at = source->end - SEAL_BYTES;
    }
    s->n_bytes += source_offset(source) - before;
    *budget -= (int64_t)(source_offset(source) - before);
    return goes_on ? GOES_ON : look_at_seal(s);
}

/* ---- logs ---- */

/* Nothing follows, or nothing that is a record: fine where the next log goes on, as a crash leaves
 * it. */
static enum verdict log_ends(struct scrub *s, const char *reason, bool is_clean)
{
    const struct log_check *c = &s->log;
    size_t next = s->at - s->snapshots.count + 1;
    int64_t last = c->last_zxid >= 0 ? c->last_zxid : file_at(s)->zxid - 1;
    int64_t newest = s->snapshots.count > 0 ? s->snapshots.files[s->snapshots.count - 1].zxid : -1;
    char path[FILE_PATH_BYTES];
    int64_t first = -1;

    if (c->is_newest) {
        int64_t reach = is_clean ? c->needed : c->known;

        return reach == 0 || c->last_zxid >= reach ? IS_GOOD : bad(s, reason);
    }
    for (; next < s->logs.count && first < 0; next++) {
        file_path(path, s->options.folder, s->logs.files[next].name);
        if (txnlog_first_zxid(s->options.log_disk, path, &first) != 0) {
            return IS_GOOD; /* nothing can be said of where it goes on */
        }
    }
    if (first < 0 || zxid_may_follow(first, last) || (is_clean && first <= newest)) {
        return IS_GOOD;
    }
    return bad(s, reason);
}

/* The rest of a log that is not written any more. */
static enum verdict check_zeroes(struct scrub *s, const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (data[i] != 0) {
            return bad(s, "zeroes stand where a record should, and more follows");
        }
    }
    return GOES_ON;
}

static const char *what_is_wrong(enum txnlog_look look)
{
    switch (look) {
    case LOOK_BAD_SUM:
        return "the checksum of a record does not match";
    case LOOK_NO_MARK:
        return "a record has no end mark";
    case LOOK_BAD_LENGTH:
        return "a record has an impossible length";
    case LOOK_UNKNOWN:
        return "a record is of an unknown type";
    case LOOK_SHORT:
        return "a record ends before its transaction does";
    default:
        return "a record is cut short";
    }
}

/* The records in `n` bytes; `*used` of them are done with. */
static enum verdict check_records(struct scrub *s, size_t n, bool is_end, size_t *used)
{
    struct log_check *c = &s->log;
    enum txnlog_look look = LOOK_RECORD;
    struct txn txn;
    size_t size;

    while (*used < n) {
        look = txnlog_look_at(bytes_of(c->block + *used, n - *used), s->limit, &txn, &size);
        if (look != LOOK_RECORD) {
            break;
        }
        *used += size;
        c->last_zxid = txn.header.zxid;
        if (c->is_newest && c->last_zxid >= c->known) {
            return IS_GOOD; /* what follows is being written */
        }
    }
    if (*used == n) {
        return is_end ? log_ends(s, "it ends too early", true) : GOES_ON;
    }
    c->offset += *used;
    n -= *used;
    memmove(c->block, c->block + *used, n);
    *used = 0;
    if (look == LOOK_MORE && !is_end) {
        if (size > c->capacity) {
            c->capacity = size;
            c->block = must_realloc(c->block, size);
        }
        return GOES_ON;
    }
    if (look == LOOK_ZERO || (look == LOOK_MORE && n < TXNLOG_PAYLOAD_AT)) {
        c->in_zeroes = true;
        return c->is_newest ? log_ends(s, "it ends too early", true) : GOES_ON;
    }
    return log_ends(s, what_is_wrong(look), false);
}

static enum verdict check_log(struct scrub *s, int64_t *budget)
{
    struct log_check *c = &s->log;
    uint64_t from = c->in_zeroes ? disk_data_after(c->file, c->offset) : c->offset;
    enum verdict v;
    size_t n = 0, used = 0;

    if (disk_read(c->file, from, c->block, c->capacity, &n) != 0) {
        return bad(s, disk_last_error(s->options.log_disk));
    }
    s->n_bytes += n;
    *budget -= (int64_t)n;
    if (c->in_zeroes) {
        v = n == 0 ? log_ends(s, "it ends too early", true) : check_zeroes(s, c->block, n);
        c->offset = from + n;
        return v;
    }
    v = n == 0 ? log_ends(s, "it ends too early", true)
               : check_records(s, n, n < c->capacity, &used);
    c->offset += used;
    return v;
}

/* ---- opening ---- */

/* The newest log has to reach what is known to be on disk, unless a snapshot has that. An epoch's
 * begin is no transaction. */
static int64_t needed_of_newest(const struct scrub *s, int64_t known_zxid)
{
    bool has_it =
        s->snapshots.count > 0 && s->snapshots.files[s->snapshots.count - 1].zxid >= known_zxid;

    return has_it || (known_zxid & UINT32_MAX) == 0 ? 0 : known_zxid;
}

static enum verdict open_log(struct scrub *s, struct disk_file *file, int64_t known_zxid)
{
    bool is_newest = s->at + 1 == s->snapshots.count + s->logs.count, is_blank = false;
    char path[FILE_PATH_BYTES];
    uint8_t header[TXNLOG_HEADER_BYTES];
    size_t n = 0;

    s->is_open = true;
    s->log = (struct log_check){.file = file,
                                .block = must_alloc(BLOCK_BYTES),
                                .capacity = BLOCK_BYTES,
                                .last_zxid = -1,
                                .is_newest = is_newest,
                                .known = known_zxid,
                                .needed = needed_of_newest(s, known_zxid)};
    if (disk_read(file, 0, header, sizeof(header), &n) != 0) {
        return bad(s, disk_last_error(s->options.log_disk));
    }
    if (n == sizeof(header) && load_u32(header) == TXNLOG_MAGIC) {
        s->log.offset = sizeof(header);
        return GOES_ON;
    }
    file_path(path, s->options.folder, file_at(s)->name);
    if (txnlog_is_blank(s->options.log_disk, path, &is_blank) == 0 && is_blank) {
        return log_ends(s, "it is empty", true);
    }
    return bad(s, "it has no header");
}

static enum verdict open_snapshot(struct scrub *s, struct disk_file *file, const char *path)
{
    bool is_whole = false;

    s->is_open = true;
    source_init(&s->source, file, snapshot_codec_of(path));
    if (snapshot_looks_whole(s->options.snapshot_disk, path, &is_whole) != 0) {
        return bad(s, disk_last_error(s->options.snapshot_disk));
    }
    return is_whole ? GOES_ON : bad(s, "it is not a whole snapshot");
}

static enum verdict open_one(struct scrub *s, int64_t known_zxid)
{
    struct disk *disk = is_at_log(s) ? s->options.log_disk : s->options.snapshot_disk;
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    int rc;

    file_path(path, s->options.folder, file_at(s)->name);
    rc = disk_open(disk, path, DISK_READ, &file);
    if (rc == PAWL_ERR_NOT_FOUND) {
        return IS_GOOD; /* purged or replaced meanwhile */
    }
    if (rc != 0) {
        return bad(s, disk_last_error(disk));
    }
    disk_drop_cached(file);
    return is_at_log(s) ? open_log(s, file, known_zxid) : open_snapshot(s, file, path);
}

/* ---- rounds ---- */

static bool begin_round(struct scrub *s)
{
    s->n_bytes = 0;
    if (file_list_load(s->options.snapshot_disk, s->options.folder, SNAPSHOT_PREFIX,
                       &s->snapshots) != 0) {
        s->snapshots = (struct file_list){0};
        return false;
    }
    if (file_list_load(s->options.log_disk, s->options.folder, TXNLOG_PREFIX, &s->logs) != 0) {
        s->logs = (struct file_list){0};
        return false;
    }
    s->is_in_round = true;
    return true;
}

static enum verdict look_at_one(struct scrub *s, int64_t known_zxid, int64_t *budget)
{
    *budget -= 1; /* a file with nothing in it is work, too */
    if (!s->is_open) {
        return open_one(s, known_zxid);
    }
    return is_at_log(s) ? check_log(s, budget) : check_snapshot(s, budget);
}

enum scrub_found scrub_step(struct scrub *s, size_t bytes, int64_t known_zxid,
                            struct scrub_damage *out)
{
    int64_t budget = (int64_t)bytes;

    if (!s->is_in_round && !begin_round(s)) {
        end_round(s);
        return SCRUB_ROUND;
    }
    while (budget > 0 && s->at < s->snapshots.count + s->logs.count) {
        enum verdict v = look_at_one(s, known_zxid, &budget);

        if (v == GOES_ON) {
            continue;
        }
        close_one(s);
        if (v == IS_BAD && !s->is_second) {
            s->is_second = true; /* not at once: it may be written just now */
            return SCRUB_MORE;
        }
        s->is_second = false;
        s->at++;
        if (v == IS_BAD) {
            *out = s->found;
            return SCRUB_DAMAGED;
        }
    }
    if (s->at < s->snapshots.count + s->logs.count) {
        return SCRUB_MORE;
    }
    end_round(s);
    return SCRUB_ROUND;
}

/* ---- putting aside ---- */

/* Whether that log may have something that a snapshot of `zxid` has not: unless the next one begins
 * there, or before. */
static int is_log_needed(const struct scrub_options *o, int64_t log, int64_t zxid, bool *out)
{
    struct file_list logs;
    int rc = file_list_load(o->log_disk, o->folder, TXNLOG_PREFIX, &logs);

    if (rc != 0) {
        return rc;
    }
    *out = true;
    for (size_t i = 0; i < logs.count; i++) {
        if (logs.files[i].zxid > log && logs.files[i].zxid <= zxid + 1) {
            *out = false;
        }
    }
    file_list_fini(&logs);
    return 0;
}

int scrub_put_aside(const struct scrub_options *o, const struct scrub_damage *damage, int64_t zxid,
                    bool *done, char kept[FILE_NAME_BYTES])
{
    struct disk *disk = damage->is_log ? o->log_disk : o->snapshot_disk;
    bool is_needed = damage->file.zxid >= zxid;
    int rc = 0;

    kept[0] = '\0';
    if (damage->is_log) {
        rc = is_log_needed(o, damage->file.zxid, zxid, &is_needed);
    }
    *done = rc == 0 && !is_needed;
    if (!*done) {
        return rc;
    }
    rc = aside_file(disk, o->folder, damage->file.name, kept);
    if (rc == PAWL_ERR_NOT_FOUND) {
        kept[0] = '\0';
        return 0;
    }
    return rc == 0 ? disk_sync_folder(disk, o->folder) : rc;
}
