/* SPDX-License-Identifier: Apache-2.0 */
/* backup.c - `pawl backup`: a copy of a server's folders, while it runs, that goes on from where it
 * ended the last time. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/archive.h"
#include "cli/files/backup_admin.h"
#include "cli/files/backup_copy.h"
#include "cli/files/backup_stream.h"
#include "cli/json.h"
#include "cli/text.h"
#include "os/clock.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/txnlog_format.h"

static void tell_json(const char *into, const struct backup_list *list, int64_t n_records)
{
    uint64_t snapshot_bytes, log_bytes;

    json_open(NULL, '{');
    json_text("backup", into);
    json_hex("zxid", (uint64_t)list->zxid);
    json_hex("snapshot", (uint64_t)backup_list_snapshot(list, &snapshot_bytes, &log_bytes));
    json_number("transactions", n_records);
    json_number("files", (int64_t)list->n);
    json_number("bytes", (int64_t)backup_list_bytes(list));
    json_close('{');
}

static void tell_text(FILE *to, const char *into, const struct backup_list *list, int64_t n_records)
{
    uint64_t snapshot_bytes, log_bytes;
    int64_t snapshot = backup_list_snapshot(list, &snapshot_bytes, &log_bytes);

    fprintf(to,
            "%s: up to 0x%" PRIx64 ", from snapshot 0x%" PRIx64 " on; %" PRId64
            " new transaction%s; %zu files, %" PRIu64 " bytes\n",
            into, (uint64_t)list->zxid, (uint64_t)snapshot, n_records, n_records == 1 ? "" : "s",
            list->n, backup_list_bytes(list));
}

/* ---- to standard output ---- */

static int run_stream(struct cli *cli, struct data_dirs *from)
{
    struct backup_list list;
    int64_t n = 0;
    int status;

    if (isatty(STDOUT_FILENO)) {
        cli_error(cli, "a backup is no text: send it to a file or a program");
        return EXIT_USAGE;
    }
    backup_list_init(&list);
    status = backup_stream(from, &list, &n);
    if (status == EXIT_OK) {
        tell_text(stderr, "standard output", &list, n);
    }
    backup_list_fini(&list);
    return status;
}

/* ---- into a folder ---- */

static void tell(const struct archive *a)
{
    if (a->cli->json) {
        tell_json(a->path, &a->list, a->n_records);
    } else {
        tell_text(stdout, a->path, &a->list, a->n_records);
    }
    fflush(stdout);
}

/* What changes with every write to the logs: the newest of them, how long it is and when it was
 * written to. That has the grain of a clock that ticks some hundred times a second, so what was
 * written to a moment ago may have been once more. */
enum { SETTLED_S = 1 };

struct stamp {
    int64_t zxid, bytes; /* zxid -1: nothing can be told */
    struct timespec written;
};

static struct stamp stamp_of(const struct data_dirs *from)
{
    struct stamp stamp = {.zxid = -1};
    struct file_list logs;
    struct strbuf path;
    struct stat st;

    if (file_list_load(from->logs->disk, STORE_FOLDER, TXNLOG_PREFIX, &logs) != PAWL_OK) {
        return stamp;
    }
    strbuf_init(&path, STRBUF_NO_LIMIT);
    if (logs.count > 0) {
        view_name(from->logs, logs.files[logs.count - 1].name, &path);
        if (stat(strbuf_cstr(&path), &st) == 0 &&
            clock_wall_ms() / 1000 - st.st_mtim.tv_sec > SETTLED_S) {
            stamp = (struct stamp){logs.files[logs.count - 1].zxid, st.st_size, st.st_mtim};
        }
    }
    strbuf_fini(&path);
    file_list_fini(&logs);
    return stamp;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
    return a->zxid >= 0 && a->zxid == b->zxid && a->bytes == b->bytes &&
           a->written.tv_sec == b->written.tv_sec && a->written.tv_nsec == b->written.tv_nsec;
}

/* Until something has been written to the logs, or a signal has come. */
static void wait_for_more(const struct data_dirs *from, const struct stamp *seen, int pause_ms)
{
    struct stamp now;

    do {
        poll(&(struct pollfd){.fd = cli_signal_fd(), .events = POLLIN}, 1, pause_ms);
        now = stamp_of(from);
    } while (cli_signal() == 0 && is_same(&now, seen));
}

/* A line for each time that something was new. A signal is how this ends. */
static int follow(struct data_dirs *from, struct archive *into, int pause_ms)
{
    struct stamp seen = stamp_of(from);
    int64_t told = -1;
    int status;

    while ((status = backup_copy(from, into)) == EXIT_OK && cli_signal() == 0) {
        if (into->list.zxid != told) {
            progress_hide();
            tell(into);
            told = into->list.zxid;
            into->n_records = 0;
        }
        wait_for_more(from, &seen, pause_ms);
        seen = stamp_of(from); /* before it is read: what comes behind that is seen the next time */
    }
    return cli_signal() != 0 ? EXIT_OK : status;
}

static int run_folder(struct cli *cli, const struct args *args, struct data_dirs *from)
{
    int pause_ms = 1000, status;
    struct archive into;

    if (!args_duration(args, cli, 'e', &pause_ms)) {
        return EXIT_USAGE;
    }
    status = archive_open(&into, cli, args->words[0]);
    progress_begin(&into.progress, true);
    into.progress.unit = "transactions";
    if (status == EXIT_OK && args_has(args, 'f')) {
        status = follow(from, &into, pause_ms);
    } else if (status == EXIT_OK) {
        status = backup_copy(from, &into);
        progress_end(&into.progress);
        if (status == EXIT_OK) {
            tell(&into);
        }
    }
    progress_end(&into.progress);
    archive_close(&into);
    return status;
}

/* ---- from another machine ---- */

static int run_admin(struct cli *cli, const struct args *args)
{
    struct archive into;
    int64_t limit = 0;
    int status;

    if (args_has(args, 'D') || args_has(args, 'L') || args_has(args, 'f') || args_has(args, 'e') ||
        strcmp(args->words[0], "-") == 0) {
        cli_error(cli, "an admin server sends a snapshot, into a folder: -A HOST:PORT INTO");
        return EXIT_USAGE;
    }
    if (!args_number(args, cli, 'm', 1, INT32_MAX, &limit)) {
        return EXIT_USAGE;
    }
    status = archive_open(&into, cli, args->words[0]);
    progress_begin(&into.progress, true);
    into.progress.unit = "bytes";
    if (status == EXIT_OK) {
        status = backup_admin(&into, args_text(args, 'A'), (size_t)limit);
    }
    progress_end(&into.progress);
    if (status == EXIT_OK) {
        tell(&into);
    }
    archive_close(&into);
    return status;
}

/* ---- the command ---- */

static int run_backup(struct cli *cli, const struct args *args)
{
    bool is_stream = strcmp(args->words[0], "-") == 0;
    struct data_dirs from;
    int status;

    if (args_has(args, 'A')) {
        cli_catch_signals();
        return run_admin(cli, args);
    }
    if (is_stream && (args_has(args, 'f') || args_has(args, 'e'))) {
        cli_error(cli, "--follow goes into a folder");
        return EXIT_USAGE;
    }
    cli_catch_signals();
    status = data_dirs_open(&from, cli, args);
    if (status == EXIT_OK) {
        status = is_stream ? run_stream(cli, &from) : run_folder(cli, args, &from);
    }
    data_dirs_close(&from);
    return status;
}

static const struct option_spec backup_options[] = {
    DATA_DIR_OPTIONS,
    {'A', "admin", "HOST:PORT", "a snapshot from the admin server there, in place of files"},
    {'f', "follow", NULL, "go on: what is new is copied as it comes, until a signal ends it"},
    {'e', "every", "DURATION", "how often --follow looks; 1s if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_backup = {
    .name = "backup",
    .synopsis = "-D FOLDER [-L FOLDER] [-f [-e DURATION]] INTO|-, or -A HOST:PORT INTO",
    .summary = "copy the files of a server that may run: a new backup, or what is new into one; "
               "-: a tar",
    .options = backup_options,
    .min_words = 1,
    .max_words = 1,
    .opens_itself = true,
    .run = run_backup};
