/* SPDX-License-Identifier: Apache-2.0 */
/* backup_stream.c - a tar has the length of each file in front of it, so the logs are read twice:
 * once to see how far they go, once to that place. A server only adds to them meanwhile. */
#include "cli/files/backup_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "cli/files/backup_copy.h"
#include "cli/tar.h"
#include "os/clock.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/snapshot_check.h"
#include "store/txnlog_format.h"
#include "store/txnlog_read.h"

enum { COPY_BYTES = 1 << 20, TRIES = 30, PAUSE_MS = 100 };

struct stream {
    struct cli *cli;
    struct data_dirs *from;
    struct backup_list *list;
    int64_t base; /* of the snapshot */
    struct backup_file *file;
    struct strbuf record;
};

static int write_failed(const struct stream *s)
{
    cli_error(s->cli, "standard output: %s", strerror(errno));
    return EXIT_SYSTEM;
}

static int put(struct stream *s, const void *data, size_t len)
{
    s->file->crc = checksum_crc32(s->file->crc, data, len);
    return fwrite(data, 1, len, stdout) == len ? EXIT_OK : write_failed(s);
}

static void begin_file(struct stream *s, const char *name, uint64_t bytes)
{
    char path[FILE_PATH_BYTES];

    s->file = backup_list_add(s->list, name);
    s->file->bytes = bytes;
    file_path(path, STORE_FOLDER, name);
    tar_write_begin(stdout, path, bytes, clock_wall_ms() / 1000);
}

/* ---- the snapshot ---- */

static int put_file(struct stream *s, struct disk_file *file)
{
    uint8_t *buffer = must_alloc(COPY_BYTES);
    int status = EXIT_OK;
    size_t n;

    for (uint64_t at = 0; status == EXIT_OK && at < s->file->bytes; at += n) {
        n = 0;
        if (cli_signal() != 0) {
            status = EXIT_SIGNAL + cli_signal();
        } else if (disk_read(file, at, buffer, COPY_BYTES, &n) != PAWL_OK || n == 0 ||
                   n > s->file->bytes - at) {
            cli_error(s->cli, "%s: it has changed while it was read", s->file->name);
            status = EXIT_SYSTEM;
        } else {
            status = put(s, buffer, n);
        }
    }
    free(buffer);
    tar_write_rest(stdout, s->file->bytes);
    return status;
}

/* The newest that is whole. */
static int choose_snapshot(struct stream *s, struct file_name *out, char *path)
{
    struct disk *disk = s->from->snapshots.disk;
    int64_t before = INT64_MAX;
    const char *reason;
    int status, rc;

    do {
        status = backup_newest(s->from, before, out);
        if (status != EXIT_OK) {
            cli_error(s->cli, "%s: there is no snapshot in it that can be copied",
                      s->from->snapshots.given);
            return status;
        }
        before = out->zxid;
        file_path(path, STORE_FOLDER, out->name);
        rc = snapshot_check(disk, path, s->from->limit_bytes, &reason);
        if (rc == PAWL_ERR_CORRUPT) {
            cli_error(s->cli, "%s: it is damaged: %s. An older one is taken", path, reason);
        }
    } while (rc == PAWL_ERR_CORRUPT || rc == PAWL_ERR_NOT_FOUND);
    return EXIT_OK;
}

static int put_snapshot(struct stream *s)
{
    struct disk_file *file;
    struct file_name name;
    char path[FILE_PATH_BYTES];
    uint64_t size = 0;
    int status = choose_snapshot(s, &name, path);

    if (status != EXIT_OK) {
        return status;
    }
    if (disk_open(s->from->snapshots.disk, path, DISK_READ, &file) != PAWL_OK ||
        disk_size(file, &size) != PAWL_OK) {
        cli_error(s->cli, "%s", disk_last_error(s->from->snapshots.disk));
        return EXIT_SYSTEM;
    }
    s->base = s->list->zxid = name.zxid;
    begin_file(s, name.name, size);
    status = put_file(s, file);
    disk_close(file);
    return status;
}

/* ---- the log ---- */

struct extent {
    int64_t first, last, n;
    uint64_t bytes; /* of the log that they make */
    bool has_gap;
    enum txnlog_found found;
};

static int put_record(struct stream *s, const struct txnlog_record *record)
{
    size_t size = record->payload.len + TXNLOG_FRAME_BYTES;

    strbuf_clear(&s->record);
    if (!strbuf_reserve(&s->record, size)) {
        cli_error(s->cli, "there is no memory for a record of %zu bytes", size);
        return EXIT_SYSTEM;
    }
    txnlog_lay_out(s->record.data, record->payload);
    s->list->sum = checksum_adler32(1, record->payload.data, record->payload.len);
    store_u64(s->record.data, s->list->sum);
    return put(s, s->record.data, size);
}

/* Up to `to`; `is_put` false: they are only measured. */
static int read_records(struct stream *s, struct txnlog_reader *reader, int64_t to, bool is_put,
                        struct extent *out)
{
    struct txnlog_record record;
    int status = EXIT_OK;

    while (status == EXIT_OK &&
           (out->found = txnlog_reader_next(reader, &record)) == TXNLOG_RECORD &&
           record.txn.header.zxid <= to) {
        out->has_gap = out->has_gap || !zxid_may_follow(record.txn.header.zxid, out->last);
        out->first = out->n++ == 0 ? record.txn.header.zxid : out->first;
        out->last = record.txn.header.zxid;
        out->bytes += record.payload.len + TXNLOG_FRAME_BYTES;
        if (is_put && out->bytes <= s->file->bytes) {
            status = put_record(s, &record);
        }
        status = cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : status;
    }
    return status;
}

static int read_logs(struct stream *s, int64_t to, bool is_put, struct extent *out)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = s->from->limit_bytes};
    struct txnlog_reader *reader;
    int status;

    *out = (struct extent){.first = -1, .last = s->base, .bytes = TXNLOG_HEADER_BYTES};
    if (txnlog_reader_open(s->from->logs->disk, &options, s->base + 1, &reader) != PAWL_OK) {
        cli_error(s->cli, "%s", disk_last_error(s->from->logs->disk));
        return EXIT_SYSTEM;
    }
    status = read_records(s, reader, to, is_put, out);
    txnlog_reader_close(reader);
    return status;
}

/* A server that writes shows half of what it is writing: then it is looked at again. */
static int measure_logs(struct stream *s, struct extent *out)
{
    int status = EXIT_OK;

    for (int i = 0; i < TRIES && status == EXIT_OK; i++) {
        status = read_logs(s, INT64_MAX, false, out);
        if (out->found != TXNLOG_DAMAGED && out->found != TXNLOG_FAILED) {
            break;
        }
        poll(NULL, 0, PAUSE_MS);
    }
    if (status == EXIT_OK &&
        (out->has_gap || out->found == TXNLOG_DAMAGED || out->found == TXNLOG_FAILED)) {
        cli_error(s->cli, "the logs are %s behind 0x%" PRIx64 "; pawl log --check says where",
                  out->has_gap ? "incomplete" : "damaged", (uint64_t)out->last);
        return EXIT_DAMAGED;
    }
    return status;
}

static int put_records(struct stream *s, const struct extent *seen)
{
    uint8_t header[TXNLOG_HEADER_BYTES] = {0};
    char name[FILE_NAME_BYTES];
    struct extent now;
    int status;

    snprintf(name, sizeof(name), TXNLOG_PREFIX ".%" PRIx64, (uint64_t)seen->first);
    begin_file(s, name, seen->bytes);
    store_u32(header, TXNLOG_MAGIC);
    store_u32(header + 4, TXNLOG_VERSION);
    status = put(s, header, sizeof(header));
    if (status == EXIT_OK) {
        status = read_logs(s, seen->last, true, &now);
    }
    if (status == EXIT_OK && (now.bytes != seen->bytes || now.last != seen->last)) {
        cli_error(s->cli, "the logs have changed while they were read; begin again");
        return EXIT_CONFLICT;
    }
    tar_write_rest(stdout, seen->bytes);
    s->list->zxid = seen->last;
    s->list->has_sum = true;
    return status;
}

/* ---- all of it ---- */

static int put_list(struct stream *s)
{
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    backup_list_write(s->list, &text);
    tar_write(stdout, &(struct tar_entry){.name = BACKUP_LIST,
                                          .data = {text.data, text.len},
                                          .mtime_s = clock_wall_ms() / 1000});
    tar_write_end(stdout);
    strbuf_fini(&text);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_OK : write_failed(s);
}

int backup_stream(struct data_dirs *from, struct backup_list *list, int64_t *n_records)
{
    struct stream s = {.cli = from->cli, .from = from, .list = list};
    struct extent seen = {0};
    int status;

    strbuf_init(&s.record, STRBUF_NO_LIMIT);
    status = put_snapshot(&s);
    if (status == EXIT_OK) {
        status = measure_logs(&s, &seen);
    }
    if (status == EXIT_OK && seen.n > 0) {
        status = put_records(&s, &seen);
    }
    *n_records = seen.n;
    strbuf_fini(&s.record);
    return status == EXIT_OK ? put_list(&s) : status;
}
