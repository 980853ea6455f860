/* SPDX-License-Identifier: Apache-2.0 */
/* log_source.h - the transactions of a log file, or of all logs of a folder, and what is wrong.
 *
 * The judgement is the store's (store/txnlog_read.h): a torn end was never acknowledged, damage may
 * hide what was. Gaps between zxids are looked for here, as a start of a server does. */
#ifndef PAWL_CLI_FILES_LOG_SOURCE_H
#define PAWL_CLI_FILES_LOG_SOURCE_H

#include "cli/files/view.h"
#include "cli/files/when.h"
#include "store/txnlog_read.h"

struct data_dirs;

struct log_source {
    struct cli *cli;
    struct view own; /* of log_source_open() */
    const struct view *view, *snapshots;
    int64_t to; /* the last zxid that is asked for */
    struct txnlog_reader *reader;
    size_t limit_bytes;
    enum txnlog_found found;
    int64_t n_records, n_gaps;
    int64_t first_zxid, last_zxid; /* -1: none */
    int64_t first_ms, last_ms;
    uint64_t record_bytes;
};

/* What follows a damaged place. */
struct log_behind {
    int64_t n_sound; /* records that are whole */
    int64_t first_zxid, last_zxid;
    uint64_t first_offset;
};

/* The transactions of these zxids. EXIT_OK, or the failure was reported; log_source_close() in
 * either case. */
int log_source_open(struct log_source *s, struct cli *cli, const char *path,
                    const struct span *zxids, size_t limit_bytes);

/* All that are in the logs of a server, which may be none. Its folders are lent. */
int log_source_open_dirs(struct log_source *s, const struct data_dirs *dirs);
void log_source_close(struct log_source *s);

/* The next one, or false at the end. A gap before it is reported when it is met. */
bool log_source_next(struct log_source *s, struct txnlog_record *out);

/* The name of the file that a record stands in. */
void log_source_name(const struct log_source *s, const struct txnlog_record *record,
                     struct strbuf *out);

/* After the end: reports what is wrong there, if anything is. EXIT_OK also for a torn end.
 * EXIT_DAMAGED for gaps as well, which have been reported. */
int log_source_judge(struct log_source *s);

/* "whole", "incomplete" (there are gaps), "torn", "damaged" or "unreadable"; after the end. */
const char *log_source_state(const struct log_source *s);

/* Reads on behind the place where a damaged log was left. */
struct log_behind log_source_behind(struct log_source *s);

#endif
