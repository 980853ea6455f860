/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/data_dirs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/files/when.h"
#include "cli/text.h"
#include "store/recovery.h"

int data_dirs_open_at(struct data_dirs *d, struct cli *cli, const struct args *args,
                      const char *data, const char *logs)
{
    int64_t limit = 0;
    int status;

    *d = (struct data_dirs){.cli = cli, .logs = &d->snapshots};
    if (!args_number(args, cli, 'm', 1, INT32_MAX, &limit)) {
        return EXIT_USAGE;
    }
    d->limit_bytes = (size_t)limit;
    view_tell_warnings(cli);
    status = view_open_data(&d->snapshots, cli, data);
    if (status == EXIT_OK && logs != NULL) {
        d->logs = &d->own_logs;
        status = view_open_data(&d->own_logs, cli, logs);
    }
    return status;
}

int data_dirs_open(struct data_dirs *d, struct cli *cli, const struct args *args)
{
    const char *data = args_text(args, 'D');

    if (data == NULL) {
        *d = (struct data_dirs){0};
        cli_error(cli, "whose files? --data-dir FOLDER");
        return EXIT_USAGE;
    }
    return data_dirs_open_at(d, cli, args, data, args_text(args, 'L'));
}

void data_dirs_close(struct data_dirs *d)
{
    view_close(&d->snapshots);
    view_close(&d->own_logs);
}

/* ---- which transaction ---- */

static int disk_failed(const struct data_dirs *d, const struct view *v)
{
    cli_error(d->cli, "%s", disk_last_error(v->disk));
    return EXIT_SYSTEM;
}

/* The newest snapshot at or before `zxid`; -1: there is none. */
static int newest_snapshot(const struct data_dirs *d, int64_t zxid, int64_t *out)
{
    struct file_list list;

    *out = -1;
    if (file_list_load(d->snapshots.disk, STORE_FOLDER, SNAPSHOT_PREFIX, &list) != 0) {
        return disk_failed(d, &d->snapshots);
    }
    for (size_t i = 0; i < list.count && list.files[i].zxid <= zxid; i++) {
        *out = list.files[i].zxid;
    }
    file_list_fini(&list);
    return EXIT_OK;
}

/* The last transaction from `from` on that is not above `zxid` and not later than `time_ms`, if
 * there is one. Damage is nothing to complain about here: whoever wants what is behind it will
 * meet it. */
static int last_until(const struct data_dirs *d, int64_t from, int64_t zxid, int64_t time_ms,
                      int64_t *out)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER, .limit_bytes = d->limit_bytes};
    struct txnlog_reader *reader;
    struct txnlog_record record;

    if (txnlog_reader_open(d->logs->disk, &options, from, &reader) != 0) {
        return disk_failed(d, d->logs);
    }
    while (txnlog_reader_next(reader, &record) == TXNLOG_RECORD && record.txn.header.zxid <= zxid &&
           record.txn.header.time_ms <= time_ms) {
        *out = record.txn.header.zxid;
    }
    txnlog_reader_close(reader);
    return EXIT_OK;
}

static int at_time(const struct data_dirs *d, const char *text, int64_t *zxid)
{
    struct span span;
    int status;

    if (!time_parse(text, &span)) {
        cli_error(d->cli, "'%s' is no time such as 2026-11-16T14:30:05", text);
        return EXIT_USAGE;
    }
    *zxid = -1;
    status = last_until(d, 0, INT64_MAX, span.from, zxid);
    if (status == EXIT_OK && *zxid < 0) {
        cli_error(d->cli, "%s: the logs have nothing as old as that", text);
        return EXIT_NO;
    }
    return status;
}

static int at_zxid(const struct data_dirs *d, int64_t wanted, int64_t *zxid)
{
    int status = newest_snapshot(d, wanted, zxid);

    if (status == EXIT_OK) {
        status = last_until(d, *zxid + 1, wanted, INT64_MAX, zxid);
    }
    if (status == EXIT_OK && *zxid < 0) {
        cli_error(d->cli, "0x%" PRIx64 ": no snapshot is as old as that", (uint64_t)wanted);
        return EXIT_NO;
    }
    return status;
}

int data_dirs_when(struct data_dirs *d, const char *when, int64_t *zxid)
{
    int64_t wanted = INT64_MAX;

    if (looks_like_time(when)) {
        return at_time(d, when, zxid);
    }
    if (strcmp(when, "end") != 0 && !zxid_parse(when, &wanted)) {
        cli_error(d->cli,
                  "'%s' is no moment: a zxid as 0x1f, a time as 2026-11-16T14:30:05, or end", when);
        return EXIT_USAGE;
    }
    return at_zxid(d, wanted, zxid);
}

/* ---- the tree ---- */

static int report_failure(const struct data_dirs *d, const struct recovery_report *report)
{
    const struct txnlog_place *place = &report->place;
    struct strbuf name;

    if (place->reason[0] == '\0') {
        cli_error(d->cli, "%s", report->error);
        return EXIT_DAMAGED;
    }
    strbuf_init(&name, STRBUF_NO_LIMIT);
    view_name(d->logs, place->file, &name);
    cli_error(d->cli,
              "%s: damaged at offset %" PRIu64 ": %s; the last good transaction before it is "
              "0x%" PRIx64,
              strbuf_cstr(&name), place->offset, place->reason,
              (uint64_t)(report->last_zxid < 0 ? 0 : report->last_zxid));
    strbuf_fini(&name);
    return EXIT_DAMAGED;
}

/* A snapshot of Apache's that was written while transactions went on has some that are later than
 * its name. An older one leads to the same place exactly. */
int data_dirs_tree(struct data_dirs *d, int64_t zxid, struct tree **out)
{
    struct recovery_options options = {.tree = {.extended_types = true},
                                       .limit_bytes = d->limit_bytes,
                                       .read_only = true,
                                       .no_autocreate = true,
                                       .is_cut = true,
                                       .cut_zxid = zxid};
    struct recovery_report first, report;
    int rc = recovery_load(d->snapshots.disk, d->logs->disk, &options, out, &first);

    report = first;
    while (rc != 0 && report.snapshot_zxid > 0 && report.place.reason[0] == '\0') {
        d->snapshots.newest_snapshot = report.snapshot_zxid - 1;
        rc = recovery_load(d->snapshots.disk, d->logs->disk, &options, out, &report);
    }
    d->snapshots.newest_snapshot = INT64_MAX;
    if (rc != 0) {
        return report_failure(d, &first);
    }
    d->differs_zxid = report.differs_zxid;
    if (report.differs_zxid != 0) {
        cli_error(d->cli,
                  "after transaction 0x%" PRIx64 " the tree differs from what its server had: its "
                  "digest is another",
                  (uint64_t)report.differs_zxid);
    }
    return EXIT_OK;
}
