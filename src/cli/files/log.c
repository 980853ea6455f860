/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - `pawl log`: what transaction logs hold, and whether they are whole.
 *
 * The files are only looked at. --repair writes what is good of one into a file that did not exist
 * before. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/filter.h"
#include "cli/files/id_set.h"
#include "cli/files/log_compare.h"
#include "cli/files/log_repair.h"
#include "cli/files/log_source.h"
#include "cli/files/record_text.h"
#include "cli/json.h"
#include "cli/text.h"

/* Of so many sessions half are counted surely, in 64 MiB. */
enum { TYPES_MAX = 16, SESSIONS_MAX = 8 << 20 };

struct type_count {
    int32_t type;
    int64_t n;
};

/* What is counted for --summary. */
struct tally {
    struct type_count types[TYPES_MAX];
    size_t n_types;
    struct id_set sessions;
    uint64_t largest;
    int64_t largest_zxid;
};

struct log_job {
    struct cli *cli;
    struct filter filter;
    bool with_data, is_check, is_summary;
    size_t limit_bytes;
};

/* ---- the summary ---- */

static void count_type(struct tally *t, int32_t type)
{
    size_t i = 0;

    while (i < t->n_types && t->types[i].type != type) {
        i++;
    }
    if (i == t->n_types && i < TYPES_MAX) {
        t->types[t->n_types++].type = type;
    }
    if (i < TYPES_MAX) {
        t->types[i].n++;
    }
}

static void count_record(struct tally *t, const struct txnlog_record *record)
{
    uint64_t bytes = record->end - record->offset;

    count_type(t, record->txn.op.type);
    id_set_add(&t->sessions, record->txn.header.client_id);
    if (bytes > t->largest) {
        t->largest = bytes;
        t->largest_zxid = record->txn.header.zxid;
    }
}

static int compare_types(const void *a, const void *b)
{
    const struct type_count *x = a, *y = b;

    return (x->n < y->n) - (x->n > y->n);
}

static void print_tally(struct tally *t)
{
    size_t n_sessions;

    qsort(t->types, t->n_types, sizeof(t->types[0]), compare_types);
    for (size_t i = 0; i < t->n_types; i++) {
        printf("  %-16s %" PRId64 "\n", txn_type_name(t->types[i].type), t->types[i].n);
    }
    n_sessions = id_set_count(&t->sessions);
    printf("  %-16s %s%zu\n", "sessions", t->sessions.is_full ? "at least " : "", n_sessions);
    printf("  %-16s %" PRIu64 " bytes, 0x%" PRIx64 "\n", "largest", t->largest,
           (uint64_t)t->largest_zxid);
}

static void json_tally(struct tally *t)
{
    json_open("types", '{');
    for (size_t i = 0; i < t->n_types; i++) {
        json_number(txn_type_name(t->types[i].type), t->types[i].n);
    }
    json_close('{');
    json_number("sessions", (int64_t)id_set_count(&t->sessions));
    if (t->sessions.is_full) {
        json_bool("more_sessions", true);
    }
    json_number("largest_bytes", (int64_t)t->largest);
    json_hex("largest_zxid", (uint64_t)t->largest_zxid);
}

/* ---- the verdict ---- */

static void json_verdict(const struct log_source *s, const char *path)
{
    json_text("file", path);
    json_text("state", log_source_state(s));
    json_number("transactions", s->n_records);
    if (s->n_records > 0) {
        json_hex("first", (uint64_t)s->first_zxid);
        json_hex("last", (uint64_t)s->last_zxid);
        json_number("first_time", s->first_ms);
        json_number("last_time", s->last_ms);
    }
    json_number("bytes", (int64_t)s->record_bytes);
    json_number("gaps", s->n_gaps);
    if (s->found == TXNLOG_TORN || s->found == TXNLOG_DAMAGED) {
        const struct txnlog_place *place = txnlog_reader_place(s->reader);

        json_number("offset", (int64_t)place->offset);
        json_text("reason", place->reason);
    }
}

static void print_verdict(const struct log_source *s, const char *path)
{
    char first[40], last[40];

    text_escaped(pawl_str(path));
    printf(": %s, %" PRId64 " transaction%s", log_source_state(s), s->n_records,
           s->n_records == 1 ? "" : "s");
    if (s->n_records > 0) {
        text_time(s->first_ms, first, sizeof(first));
        text_time(s->last_ms, last, sizeof(last));
        printf(", 0x%" PRIx64 " to 0x%" PRIx64 ", %s to %s, %" PRIu64 " bytes",
               (uint64_t)s->first_zxid, (uint64_t)s->last_zxid, first, last, s->record_bytes);
    }
    putchar('\n');
}

static void tell_verdict(const struct log_job *job, const struct log_source *s, const char *path,
                         struct tally *tally)
{
    if (job->cli->json) {
        json_open(NULL, '{');
        json_verdict(s, path);
        if (job->is_summary) {
            json_tally(tally);
        }
        json_close('{');
        return;
    }
    print_verdict(s, path);
    if (job->is_summary && s->n_records > 0) {
        print_tally(tally);
    }
}

/* ---- the list ---- */

static void list_record(const struct log_job *job, const struct log_source *s,
                        const struct txnlog_record *record)
{
    struct strbuf name;

    if (!job->cli->json) {
        txn_print(&record->txn, job->with_data);
        return;
    }
    strbuf_init(&name, STRBUF_NO_LIMIT);
    log_source_name(s, record, &name);
    json_open(NULL, '{');
    txn_json(&record->txn);
    json_text("file", strbuf_cstr(&name));
    json_number("offset", (int64_t)record->offset);
    json_close('{');
    strbuf_fini(&name);
}

static int read_source(const struct log_job *job, const char *path)
{
    bool is_listed = !job->is_check && !job->is_summary;
    struct tally tally = {0};
    struct txnlog_record record;
    struct log_source s;
    int status = log_source_open(&s, job->cli, path, &job->filter.zxids, job->limit_bytes);

    id_set_init(&tally.sessions, SESSIONS_MAX);
    while (status == EXIT_OK && !ferror(stdout) && log_source_next(&s, &record)) {
        if (job->is_summary && filter_has_txn(&job->filter, &record.txn)) {
            count_record(&tally, &record);
        }
        if (is_listed && filter_has_txn(&job->filter, &record.txn)) {
            list_record(job, &s, &record);
        }
    }
    if (status == EXIT_OK && !is_listed) {
        tell_verdict(job, &s, path, &tally);
    }
    if (status == EXIT_OK) {
        fflush(stdout); /* what was found wrong comes behind what was found */
        status = log_source_judge(&s);
    }
    id_set_fini(&tally.sessions);
    log_source_close(&s);
    return status;
}

/* ---- the command ---- */

static bool modes_are_clear(const struct cli *cli, const struct args *args)
{
    int n = args_has(args, 'c') + args_has(args, 'u') + args_has(args, 'C') + args_has(args, 'R');

    if (n > 1) {
        cli_error(cli, "of --check, --summary, --compare and --repair one can be asked for");
        return false;
    }
    if (args_has(args, 'R') != args_has(args, 'i')) {
        cli_error(cli, "--repair writes a new file: --repair --into NEWFILE");
        return false;
    }
    if ((args_has(args, 'R') || args_has(args, 'C')) && args->n_words != 1) {
        cli_error(cli, "one file at a time is compared or repaired");
        return false;
    }
    return true;
}

static int run_log(struct cli *cli, const struct args *args)
{
    struct log_job job = {.cli = cli,
                          .with_data = args_has(args, 'd'),
                          .is_check = args_has(args, 'c'),
                          .is_summary = args_has(args, 'u')};
    int64_t limit = 0;
    int status = EXIT_OK;

    if (!modes_are_clear(cli, args) || !filter_read(&job.filter, cli, args) ||
        !args_number(args, cli, 'm', 1, INT32_MAX, &limit)) {
        return EXIT_USAGE;
    }
    view_tell_warnings(cli);
    job.limit_bytes = (size_t)limit;
    if (args_has(args, 'C')) {
        return log_compare(cli, &job.filter, args->words[0], args_text(args, 'C'), job.limit_bytes);
    }
    if (args_has(args, 'R')) {
        return log_repair(cli, &job.filter, args->words[0], args_text(args, 'i'), job.limit_bytes);
    }
    for (int i = 0; i < args->n_words; i++) {
        int one = read_source(&job, args->words[i]);

        status = one != EXIT_OK ? one : status;
    }
    return status;
}

static const struct option_spec log_options[] = {
    FILTER_OPTIONS,
    {'d', "data", NULL, "show the data, not only how long they are"},
    {'c', "check", NULL, "only say whether it is whole, and what is wrong where"},
    {'u', "summary", NULL, "count what is in it"},
    {'C', "compare", "OTHER", "what differs from this log or folder: - + !"},
    {'R', "repair", NULL, "copy what is good, up to the first damage or the end of --zxid"},
    {'i', "into", "NEWFILE", "where --repair writes; must not exist"},
    {'m', "max-record", "BYTES", "the longest record there may be; 2097150 if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_log = {
    .name = "log",
    .synopsis = "[-z RANGE] [-t RANGE] [-p PATH] [-S ID] [-d | -c | -u | -C OTHER | -R -i NEWFILE] "
                "FILE|FOLDER...",
    .summary = "show, check, compare or repair transaction logs of Apache's server or ours",
    .options = log_options,
    .min_words = 1,
    .max_words = -1,
    .opens_itself = true,
    .run = run_log};
