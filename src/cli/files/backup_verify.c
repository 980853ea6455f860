/* SPDX-License-Identifier: Apache-2.0 */
/* backup_verify.c - `pawl backup verify`: whether all that a backup should have can be restored.
 *
 * First the files against the list: nothing is missing or was changed. Then what is in them: each
 * snapshot makes a tree, the transactions up to the next one follow each other and lead there, and
 * the tree has the digest that the server had. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/backup_list.h"
#include "cli/files/data_dirs.h"
#include "cli/files/log_source.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/snapshot_format.h"
#include "store/tree.h"

struct verifying {
    struct cli *cli;
    const char *path;
    struct data_dirs dirs;
    struct backup_list list;
    struct progress progress;
    uint64_t checked_bytes;
    int64_t n_records, n_nodes;
    int status; /* the worst so far */
};

static void note(struct verifying *v, int status)
{
    v->status = status != EXIT_OK && v->status != EXIT_SYSTEM ? status : v->status;
}

/* ---- the list ---- */

static int load_list(struct verifying *v)
{
    const char *reason;
    int rc = backup_list_load(v->dirs.snapshots.disk, &v->list, &reason);

    if (rc == PAWL_ERR_NOT_FOUND) {
        cli_error(v->cli, "%s is no backup: there is no " BACKUP_LIST " in it", v->path);
        return EXIT_NO;
    }
    if (rc == PAWL_ERR_CORRUPT) {
        cli_error(v->cli, "%s/" BACKUP_LIST ": %s", v->path, reason);
        return EXIT_DAMAGED;
    }
    if (rc == PAWL_OK && v->list.zxid < 0) {
        cli_error(v->cli, "%s: nothing has been copied into it yet", v->path);
        return EXIT_NO;
    }
    if (rc != PAWL_OK) {
        cli_error(v->cli, "%s", disk_last_error(v->dirs.snapshots.disk));
    }
    return rc == PAWL_OK ? EXIT_OK : EXIT_SYSTEM;
}

static void check_file(struct verifying *v, const struct backup_file *f)
{
    uint32_t crc = 0;
    int rc = backup_file_sum(v->dirs.snapshots.disk, f, &crc);

    v->checked_bytes += f->bytes;
    progress_step(&v->progress, (int64_t)v->checked_bytes, (int64_t)v->checked_bytes,
                  (int64_t)backup_list_bytes(&v->list));
    if (rc == PAWL_OK && crc == f->crc) {
        return;
    }
    note(v, rc == PAWL_ERR_SYSTEM ? EXIT_SYSTEM : EXIT_DAMAGED);
    if (rc == PAWL_OK) {
        cli_error(v->cli, "%s/version-2/%s: it was changed: its sum is not that of the list",
                  v->path, f->name);
    } else if (rc == PAWL_ERR_CORRUPT) {
        cli_error(v->cli, "%s/version-2/%s: it is shorter than the %" PRIu64 " bytes of the list",
                  v->path, f->name, f->bytes);
    } else {
        cli_error(v->cli, "%s", disk_last_error(v->dirs.snapshots.disk));
    }
}

static void check_files(struct verifying *v)
{
    progress_begin(&v->progress, true);
    v->progress.unit = "bytes";
    for (size_t i = 0; i < v->list.n && cli_signal() == 0; i++) {
        check_file(v, &v->list.files[i]);
    }
    progress_end(&v->progress);
}

/* ---- what is in them ---- */

static void check_logs(struct verifying *v)
{
    struct txnlog_record record;
    struct log_source s;
    int status = log_source_open_dirs(&s, &v->dirs);

    while (status == EXIT_OK && log_source_next(&s, &record)) {
    }
    if (status == EXIT_OK) {
        v->n_records = s.n_records;
        status = log_source_judge(&s);
    }
    if (status == EXIT_OK && v->list.has_sum && s.last_zxid < v->list.zxid) {
        cli_error(v->cli, "%s: its logs end with 0x%" PRIx64 ", and the list with 0x%" PRIx64,
                  v->path, (uint64_t)(s.last_zxid < 0 ? 0 : s.last_zxid), (uint64_t)v->list.zxid);
        status = EXIT_DAMAGED;
    }
    log_source_close(&s);
    note(v, status);
}

/* From the snapshot `from` to what the logs have before `to`. */
static void check_tree(struct verifying *v, int64_t from, int64_t to)
{
    char when[32] = "end";
    struct tree *tree = NULL;
    int64_t zxid;
    int status;

    if (to >= 0) {
        snprintf(when, sizeof(when), "0x%" PRIx64, (uint64_t)to);
    }
    v->dirs.snapshots.newest_snapshot = from;
    status = data_dirs_when(&v->dirs, when, &zxid);
    if (status == EXIT_OK) {
        status = data_dirs_tree(&v->dirs, zxid, &tree);
    }
    v->dirs.snapshots.newest_snapshot = INT64_MAX;
    if (status == EXIT_OK) {
        v->n_nodes = tree_count(tree);
        tree_free(tree);
        status = v->dirs.differs_zxid != 0 ? EXIT_DAMAGED : EXIT_OK;
    }
    note(v, status);
}

static int64_t next_snapshot(const struct backup_list *l, int64_t after)
{
    int64_t next = -1;

    for (size_t i = 0; i < l->n; i++) {
        int64_t zxid = file_name_zxid(l->files[i].name, SNAPSHOT_PREFIX);

        next = zxid > after && (next < 0 || zxid < next) ? zxid : next;
    }
    return next;
}

static void check_trees(struct verifying *v)
{
    int64_t from = next_snapshot(&v->list, -1);

    while (from >= 0 && cli_signal() == 0) {
        int64_t to = next_snapshot(&v->list, from);

        check_tree(v, from, to);
        from = to;
    }
}

/* ---- the command ---- */

static void tell(const struct verifying *v)
{
    if (v->cli->json) {
        json_open(NULL, '{');
        json_text("backup", v->path);
        json_text("state", v->status == EXIT_OK ? "whole" : "damaged");
        json_hex("zxid", (uint64_t)v->list.zxid);
        json_number("transactions", v->n_records);
        json_number("nodes", v->n_nodes);
        json_number("files", (int64_t)v->list.n);
        json_number("bytes", (int64_t)backup_list_bytes(&v->list));
        json_close('{');
    } else if (v->status == EXIT_OK) {
        printf("%s: whole, up to 0x%" PRIx64 "; %" PRId64 " transactions, %" PRId64
               " nodes at the end; %zu files, %" PRIu64 " bytes\n",
               v->path, (uint64_t)v->list.zxid, v->n_records, v->n_nodes, v->list.n,
               backup_list_bytes(&v->list));
    }
}

static int verify(struct verifying *v)
{
    int status = load_list(v);

    if (status != EXIT_OK) {
        return status;
    }
    check_files(v);
    if (v->status == EXIT_OK) { /* else what is wrong in them has been told in a better way */
        check_logs(v);
        check_trees(v);
    }
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    tell(v);
    return v->status;
}

static int run_verify(struct cli *cli, const struct args *args)
{
    struct verifying v = {.cli = cli, .path = args->words[0], .status = EXIT_OK};
    int status;

    cli_catch_signals();
    backup_list_init(&v.list);
    status = data_dirs_open_at(&v.dirs, cli, args, v.path, NULL);
    if (status == EXIT_OK) {
        status = verify(&v);
    }
    data_dirs_close(&v.dirs);
    backup_list_fini(&v.list);
    return status;
}

static const struct option_spec verify_options[] = {
    {'m', "max-record", "BYTES", "the longest data there may be; 2097150 if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_backup_verify = {
    .name = "backup verify",
    .synopsis = "FOLDER",
    .summary = "whether a backup is whole: every file, checksum, zxid and digest",
    .options = verify_options,
    .min_words = 1,
    .max_words = 1,
    .opens_itself = true,
    .run = run_verify};
