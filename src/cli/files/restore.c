/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c - `pawl restore`: a data folder with the tree of a moment, from a backup or from the
 * files of a server.
 *
 * One snapshot is all that is written: the tree of exactly that transaction. A server starts from
 * it as from any other. The history before it stays in the backup. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/data_dirs.h"
#include "cli/files/when.h"
#include "cli/json.h"
#include "cli/text.h"
#include "os/clock.h"
#include "os/disk_posix.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/snapshot_write.h"

#define LOCK_FILE "pawl.lock"

/* One folder that a server will be started on. */
struct target {
    struct cli *cli;
    const char *path;
    bool is_replaced; /* what is there may be put aside */
    struct disk *disk;
    struct disk_lock *lock;
    char aside[64]; /* "": nothing was there */
};

static int disk_failed(const struct target *t)
{
    cli_error(t->cli, "%s", disk_last_error(t->disk));
    return EXIT_SYSTEM;
}

static void count_name(const char *name, void *arg)
{
    (void)name;
    ++*(size_t *)arg;
}

/* Whether there are files of a server. */
static int look(struct target *t, bool *has_data)
{
    size_t n = 0;
    int rc = disk_list(t->disk, STORE_FOLDER, count_name, &n);

    *has_data = n > 0;
    return rc == PAWL_OK || rc == PAWL_ERR_NOT_FOUND ? EXIT_OK : disk_failed(t);
}

static int check_target(struct target *t)
{
    bool has_data = false;
    int status = look(t, &has_data);

    if (status == EXIT_OK && has_data && !t->is_replaced) {
        cli_error(t->cli,
                  "%s/" STORE_FOLDER " has data in it; with --replace they are put aside first",
                  t->path);
        return EXIT_CONFLICT;
    }
    if (status == EXIT_OK && has_data) {
        snprintf(t->aside, sizeof(t->aside), STORE_FOLDER ".replaced.%" PRId64, clock_wall_ms());
    }
    return status;
}

/* No server may run there, or be started there meanwhile. */
static int open_target(struct target *t)
{
    if (mkdir(t->path, 0700) != 0 && errno != EEXIST) { /* it will have what is in the nodes */
        cli_error(t->cli, "%s: %s", t->path, strerror(errno));
        return EXIT_SYSTEM;
    }
    if (disk_posix_open(t->path, false, &t->disk) != PAWL_OK) {
        cli_error(t->cli, "%s", disk_posix_open_error());
        return EXIT_SYSTEM;
    }
    if (disk_posix_lock(t->disk, LOCK_FILE, &t->lock) != PAWL_OK) {
        return disk_failed(t);
    }
    return check_target(t);
}

static void close_target(struct target *t)
{
    if (t->lock != NULL) {
        disk_posix_unlock(t->lock);
    }
    disk_posix_close(t->disk);
}

static int put_aside(struct target *t)
{
    if (t->aside[0] != '\0' && (disk_rename(t->disk, STORE_FOLDER, t->aside) != PAWL_OK ||
                                disk_sync_folder(t->disk, ".") != PAWL_OK)) {
        return disk_failed(t);
    }
    return EXIT_OK;
}

/* ---- writing ---- */

struct restoring {
    struct cli *cli;
    const struct args *args;
    struct data_dirs from;
    struct target data, logs;
    struct tree *tree;
    int64_t zxid;
};

/* A folder that no server looks at, until it is whole. */
#define TEMPORARY "tmp.restoring"

static void remove_name(const char *name, void *arg)
{
    struct target *t = arg;
    char path[FILE_PATH_BYTES];

    snprintf(path, sizeof(path), TEMPORARY "/%.200s", name);
    disk_remove(t->disk, path);
}

/* Also what somebody who was interrupted has left. */
static void remove_written(struct target *t)
{
    struct strbuf path;

    disk_list(t->disk, TEMPORARY, remove_name, t);
    strbuf_init(&path, STRBUF_NO_LIMIT);
    strbuf_printf(&path, "%s/" TEMPORARY, t->path);
    rmdir(strbuf_cstr(&path));
    strbuf_fini(&path);
}

static int write_tree(struct restoring *r)
{
    struct snapshot_file_options options = {.folder = TEMPORARY};
    struct target *t = &r->data;

    remove_written(t);
    if (disk_make_folder(t->disk, options.folder) != PAWL_OK ||
        snapshot_save(t->disk, &options, r->tree, r->zxid) != PAWL_OK) {
        return disk_failed(t);
    }
    return EXIT_OK;
}

/* The old files go only when the new ones are on disk. */
static int put_in_place(struct restoring *r)
{
    struct target *t = &r->data;
    int status = write_tree(r);

    if (status == EXIT_OK && r->logs.disk != NULL) {
        status = put_aside(&r->logs);
    }
    if (status == EXIT_OK) {
        status = put_aside(t);
    }
    if (status != EXIT_OK) {
        remove_written(t);
        return status;
    }
    if (disk_rename(t->disk, TEMPORARY, STORE_FOLDER) != PAWL_OK ||
        disk_sync_folder(t->disk, ".") != PAWL_OK) {
        return disk_failed(t);
    }
    return EXIT_OK;
}

/* ---- the command ---- */

static void tell(const struct restoring *r)
{
    if (r->cli->json) {
        json_open(NULL, '{');
        json_text("folder", r->data.path);
        json_hex("zxid", (uint64_t)r->zxid);
        json_number("nodes", tree_count(r->tree));
        if (r->data.aside[0] != '\0') {
            json_text("replaced", r->data.aside);
        }
        json_close('{');
        return;
    }
    printf("%s: as of 0x%" PRIx64 ", %" PRId64 " nodes", r->data.path, (uint64_t)r->zxid,
           tree_count(r->tree));
    if (r->data.aside[0] != '\0') {
        printf("; what was there is %s", r->data.aside);
    }
    putchar('\n');
}

/* Whether transactions right behind the one found are missing: then nobody knows whether they
 * happened before the moment that is wanted. */
static bool is_before_gap(struct restoring *r)
{
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = r->from.limit_bytes};
    struct txnlog_reader *reader;
    struct txnlog_record record;
    bool is_gap;

    if (txnlog_reader_open(r->from.logs->disk, &options, r->zxid + 1, &reader) != PAWL_OK) {
        return false;
    }
    is_gap = txnlog_reader_next(reader, &record) == TXNLOG_RECORD &&
             !zxid_may_follow(record.txn.header.zxid, r->zxid);
    txnlog_reader_close(reader);
    return is_gap;
}

/* A zxid must be there as it is wanted; of a time it is the last before it. */
static int find_moment(struct restoring *r, const char *when)
{
    int status = data_dirs_when(&r->from, when, &r->zxid);
    int64_t wanted = -1;

    if (status != EXIT_OK || strcmp(when, "end") == 0) {
        return status;
    }
    if (zxid_parse(when, &wanted) ? wanted != r->zxid : is_before_gap(r)) {
        cli_error(r->cli, "%s is not in %s; the last before it is 0x%" PRIx64, when,
                  r->from.snapshots.given, (uint64_t)r->zxid);
        return EXIT_NO;
    }
    return EXIT_OK;
}

static int read_tree(struct restoring *r)
{
    const char *when = args_text(r->args, 'a');
    int status = find_moment(r, when != NULL ? when : "end");

    return status == EXIT_OK ? data_dirs_tree(&r->from, r->zxid, &r->tree) : status;
}

static int restore(struct restoring *r)
{
    int status = open_target(&r->data);

    if (status == EXIT_OK && r->logs.path != NULL) {
        status = open_target(&r->logs);
    }
    if (status == EXIT_OK) {
        status = read_tree(r);
    }
    if (status == EXIT_OK && cli_signal() != 0) {
        status = EXIT_SIGNAL + cli_signal();
    }
    if (status == EXIT_OK) {
        status = put_in_place(r);
    }
    if (status == EXIT_OK) {
        tell(r);
    }
    if (r->tree != NULL) {
        tree_free(r->tree);
    }
    return status;
}

static int run_restore(struct cli *cli, const struct args *args)
{
    struct restoring r = {
        .cli = cli,
        .args = args,
        .data = {.cli = cli, .path = args->words[1], .is_replaced = args_has(args, 'r')},
        .logs = {.cli = cli, .path = args_text(args, 'L'), .is_replaced = args_has(args, 'r')}};
    int status;

    cli_catch_signals();
    status = data_dirs_open_at(&r.from, cli, args, args->words[0], args_text(args, 'F'));
    if (status == EXIT_OK) {
        status = restore(&r);
    }
    close_target(&r.data);
    close_target(&r.logs);
    data_dirs_close(&r.from);
    return status;
}

static const struct option_spec restore_options[] = {
    {'a', "at", "ZXID|TIME", "as of then; the last transaction there is if not given"},
    {'r', "replace", NULL, "if there are data already, put them aside; no server may run there"},
    {'L', "log-dir", "FOLDER", "the dataLogDir to restore for, if that is another: it is emptied"},
    {'F', "from-log-dir", "FOLDER", "where the logs of BACKUP are, if elsewhere"},
    {'m', "max-record", "BYTES", "the longest data there may be; 2097150 if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_restore = {
    .name = "restore",
    .synopsis = "[-a ZXID|TIME] [-r] [-L FOLDER] BACKUP INTO",
    .summary = "make a data folder of a backup, or of the files of a server, as of a moment",
    .options = restore_options,
    .min_words = 2,
    .max_words = 2,
    .opens_itself = true,
    .run = run_restore};
