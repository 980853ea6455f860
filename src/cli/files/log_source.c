/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/log_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/files/data_dirs.h"
#include "store/snapshot_format.h"
#include "store/txnlog_format.h"

static void init(struct log_source *s, struct cli *cli, size_t limit_bytes)
{
    *s = (struct log_source){.cli = cli,
                             .to = INT64_MAX,
                             .first_zxid = -1,
                             .last_zxid = -1,
                             .limit_bytes = limit_bytes,
                             .found = TXNLOG_RECORD};
}

static int open_reader(struct log_source *s, int64_t from)
{
    struct txnlog_reader_options options = {.folder = s->view->folder,
                                            .limit_bytes = s->limit_bytes};

    if (txnlog_reader_open(s->view->disk, &options, from > 0 ? from : 0, &s->reader) != 0) {
        cli_error(s->cli, "%s", disk_last_error(s->view->disk));
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

int log_source_open_dirs(struct log_source *s, const struct data_dirs *dirs)
{
    init(s, dirs->cli, dirs->limit_bytes);
    s->view = dirs->logs;
    s->snapshots = &dirs->snapshots;
    return open_reader(s, 0);
}

int log_source_open(struct log_source *s, struct cli *cli, const char *path,
                    const struct span *zxids, size_t limit_bytes)
{
    int status;

    init(s, cli, limit_bytes);
    s->to = zxids->to;
    s->view = s->snapshots = &s->own;
    status = view_open(&s->own, cli, path, TXNLOG_PREFIX);
    if (status == EXIT_OK) {
        status = open_reader(s, zxids->from);
    }
    if (status == EXIT_OK && txnlog_reader_files(s->reader)->count == 0) {
        cli_error(cli, "%s: there is no log in it: a log is called log.<zxid>", path);
        return EXIT_SYSTEM;
    }
    return status;
}

void log_source_close(struct log_source *s)
{
    txnlog_reader_close(s->reader);
    s->reader = NULL;
    if (s->own.real != NULL) {
        view_close(&s->own);
    }
}

void log_source_name(const struct log_source *s, const struct txnlog_record *record,
                     struct strbuf *out)
{
    view_name(s->view, txnlog_reader_files(s->reader)->files[record->file].name, out);
}

static void report_gap(struct log_source *s, const struct txnlog_record *record)
{
    struct strbuf name;

    strbuf_init(&name, STRBUF_NO_LIMIT);
    log_source_name(s, record, &name);
    cli_error(s->cli,
              "%s: at offset %" PRIu64 " it goes on with transaction 0x%" PRIx64
              ", and those after 0x%" PRIx64 " are missing",
              strbuf_cstr(&name), record->offset, (uint64_t)record->txn.header.zxid,
              (uint64_t)s->last_zxid);
    strbuf_fini(&name);
}

/* A member that was sent a snapshot goes on from there: what its logs have not, that snapshot has.
 */
static bool is_in_snapshot(const struct log_source *s, int64_t zxid)
{
    struct file_list list;
    bool is_there = false;

    if (s->snapshots->is_file ||
        file_list_load(s->snapshots->disk, s->snapshots->folder, SNAPSHOT_PREFIX, &list) != 0) {
        return false;
    }
    for (size_t i = 0; i < list.count; i++) {
        is_there = is_there || (list.files[i].zxid > s->last_zxid && list.files[i].zxid < zxid &&
                                zxid_may_follow(zxid, list.files[i].zxid));
    }
    file_list_fini(&list);
    return is_there;
}

static void note_record(struct log_source *s, const struct txnlog_record *record)
{
    const struct txn_header *h = &record->txn.header;

    if (s->n_records == 0) {
        s->first_zxid = h->zxid;
        s->first_ms = h->time_ms;
    } else if (!zxid_may_follow(h->zxid, s->last_zxid) && !is_in_snapshot(s, h->zxid)) {
        s->n_gaps++;
        report_gap(s, record);
    }
    s->n_records++;
    s->last_zxid = h->zxid;
    s->last_ms = h->time_ms;
    s->record_bytes += record->end - record->offset;
}

bool log_source_next(struct log_source *s, struct txnlog_record *out)
{
    if (s->found != TXNLOG_RECORD || cli_signal() != 0) {
        return false;
    }
    s->found = txnlog_reader_next(s->reader, out);
    if (s->found == TXNLOG_RECORD && out->txn.header.zxid > s->to) {
        s->found = TXNLOG_END;
    }
    if (s->found != TXNLOG_RECORD) {
        return false;
    }
    note_record(s, out);
    return true;
}

const char *log_source_state(const struct log_source *s)
{
    switch (s->found) {
    case TXNLOG_TORN:
        return "torn";
    case TXNLOG_DAMAGED:
        return "damaged";
    case TXNLOG_FAILED:
        return "unreadable";
    default:
        return s->n_gaps > 0 ? "incomplete" : "whole";
    }
}

/* ---- what is wrong ---- */

/* "the last good transaction is 0x1f" */
static void append_last(const struct txnlog_place *place, struct strbuf *out)
{
    if (place->last_zxid >= 0) {
        strbuf_printf(out, "the last good transaction before it is 0x%" PRIx64,
                      (uint64_t)place->last_zxid);
    } else {
        strbuf_append_str(out, "there is no good transaction before it");
    }
}

static void append_behind(struct log_source *s, struct strbuf *out)
{
    struct log_behind behind = log_source_behind(s);

    if (behind.n_sound > 0) {
        strbuf_printf(out,
                      "; behind it, from offset %" PRIu64 " on, %" PRId64 " sound ones, 0x%" PRIx64
                      " to 0x%" PRIx64,
                      behind.first_offset, behind.n_sound, (uint64_t)behind.first_zxid,
                      (uint64_t)behind.last_zxid);
    } else {
        strbuf_append_str(out, "; no sound one is behind it");
    }
}

static int report_place(struct log_source *s)
{
    const struct txnlog_place *place = txnlog_reader_place(s->reader);
    bool is_torn = s->found == TXNLOG_TORN;
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    view_name(s->view, place->file, &text);
    strbuf_printf(&text,
                  is_torn ? ": ends at offset %" PRIu64 " in an unfinished write (%s); "
                          : ": damaged at offset %" PRIu64 ": %s; ",
                  place->offset, place->reason);
    append_last(place, &text);
    if (is_torn) {
        strbuf_append_str(&text, ". A server cuts that off when it starts");
    } else {
        append_behind(s, &text);
    }
    cli_error(s->cli, "%s", strbuf_cstr(&text));
    strbuf_fini(&text);
    return is_torn && s->n_gaps == 0 ? EXIT_OK : EXIT_DAMAGED;
}

int log_source_judge(struct log_source *s)
{
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    switch (s->found) {
    case TXNLOG_FAILED:
        cli_error(s->cli, "%s", disk_last_error(s->view->disk));
        return EXIT_SYSTEM;
    case TXNLOG_TORN:
    case TXNLOG_DAMAGED:
        return report_place(s);
    default:
        return s->n_gaps > 0 ? EXIT_DAMAGED : EXIT_OK;
    }
}

/* ---- behind the damage ---- */

enum { STEP_BYTES = 1 << 20 };

/* A window that slides over the rest of a file: STEP_BYTES in which records may begin, and as much
 * as the longest one may have behind that. */
struct window {
    struct disk_file *file;
    uint8_t *bytes;
    size_t capacity, len;
    uint64_t offset;
};

static bool window_fill(struct window *w, uint64_t offset)
{
    w->offset = disk_data_after(w->file, offset);
    w->len = 0;
    return disk_read(w->file, w->offset, w->bytes, w->capacity, &w->len) == 0 && w->len > 0;
}

static void note_sound(struct log_behind *b, const struct txn *txn, uint64_t offset)
{
    if (b->n_sound++ == 0) {
        b->first_zxid = txn->header.zxid;
        b->first_offset = offset;
    }
    b->last_zxid = txn->header.zxid;
}

/* Where the next window begins: behind the last record that was found, or behind the step. */
static uint64_t scan_window(const struct window *w, size_t limit, struct log_behind *b)
{
    size_t at = 0, size;
    struct txn txn;

    while (at < STEP_BYTES && at + TXNLOG_FRAME_BYTES + TXN_HEADER_BYTES <= w->len) {
        const uint8_t *p = w->bytes + at;

        if (load_u32(p) == 0 && load_u32(p + TXNLOG_SUM_BYTES) != 0 &&
            txnlog_look_at(bytes_of(p, w->len - at), limit, &txn, &size) == LOOK_RECORD) {
            note_sound(b, &txn, w->offset + at);
            at += size;
        } else {
            at++;
        }
    }
    return w->offset + (at > 0 ? at : w->len);
}

static void scan_rest(struct disk_file *file, uint64_t from, size_t limit, struct log_behind *b)
{
    struct window w = {.file = file, .capacity = STEP_BYTES + limit + TXNLOG_FRAME_BYTES};
    uint64_t at = from;

    w.bytes = must_alloc(w.capacity);
    while (cli_signal() == 0 && window_fill(&w, at) &&
           w.len >= TXNLOG_FRAME_BYTES + TXN_HEADER_BYTES) {
        at = scan_window(&w, limit, b);
    }
    free(w.bytes);
}

struct log_behind log_source_behind(struct log_source *s)
{
    const struct txnlog_place *place = txnlog_reader_place(s->reader);
    size_t limit = s->limit_bytes != 0 ? s->limit_bytes : TXNLOG_DEFAULT_LIMIT;
    struct log_behind behind = {0};
    struct disk_file *file;

    if (disk_open(s->view->disk, place->file, DISK_READ, &file) == 0) {
        scan_rest(file, place->offset + 1, limit, &behind);
        disk_close(file);
    }
    return behind;
}
