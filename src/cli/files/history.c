/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - `pawl history`: what happened to a node, from the logs of its server.
 *
 * The logs begin somewhere: what was there before is told by the newest snapshot that is older. The
 * end of a session deletes its nodes; if the log does not name them (servers before 3.6), the end
 * itself is shown for those that have made ephemeral nodes there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/data_dirs.h"
#include "cli/files/filter.h"
#include "cli/files/log_source.h"
#include "cli/files/record_text.h"
#include "cli/files/trees.h"
#include "cli/json.h"
#include "cli/shell.h"
#include "cli/text.h"
#include "store/recovery.h"
#include "store/snapshot_read.h"

struct telling {
    struct cli *cli;
    struct data_dirs dirs;
    const char *path;
    bool is_deep; /* what is below it as well */
    bool with_data;
    struct filter filter;
    const struct txn *txn; /* that is being looked at */
    int64_t *owners;       /* sessions with ephemeral nodes here, in order */
    size_t n_owners, capacity;
    int64_t n_told;
};

/* ---- owners ---- */

/* Where `id` is or belongs. */
static size_t place_of(const struct telling *t, int64_t id)
{
    size_t low = 0, high = t->n_owners;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->owners[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_owner(const struct telling *t, int64_t id)
{
    size_t at = place_of(t, id);

    return at < t->n_owners && t->owners[at] == id;
}

static void add_owner(struct telling *t, int64_t id)
{
    size_t at = place_of(t, id);

    if (is_owner(t, id)) {
        return;
    }
    if (t->n_owners == t->capacity) {
        t->capacity = t->capacity * 2 + 16;
        t->owners = must_realloc(t->owners, t->capacity * sizeof(*t->owners));
    }
    memmove(t->owners + at + 1, t->owners + at, (t->n_owners - at) * sizeof(*t->owners));
    t->owners[at] = id;
    t->n_owners++;
}

static void drop_owner(struct telling *t, int64_t id)
{
    size_t at = place_of(t, id);

    t->n_owners--;
    memmove(t->owners + at, t->owners + at + 1, (t->n_owners - at) * sizeof(*t->owners));
}

/* ---- transactions ---- */

static void tell_op(struct telling *t, const struct txn_op *op)
{
    const struct txn_header *h = &t->txn->header;

    if (!filter_has_zxid(&t->filter, h->zxid) || !filter_has_time(&t->filter, h->time_ms) ||
        !filter_has_session(&t->filter, h->client_id)) {
        return;
    }
    t->n_told++;
    if (t->cli->json) {
        json_open(NULL, '{');
        txn_op_json(h, op);
        json_close('{');
    } else {
        txn_op_print(h, op, t->with_data);
    }
}

static bool is_of_interest(const struct telling *t, struct bytes path)
{
    return t->is_deep ? filter_has_path(&t->filter, path) : bytes_equal_str(path, t->path);
}

static bool look_at_op(const struct txn_op *op, struct bytes path, void *arg)
{
    struct telling *t = arg;

    if (is_of_interest(t, path)) {
        if (op->ephemeral) {
            add_owner(t, t->txn->header.client_id);
        }
        tell_op(t, op);
    }
    return true;
}

static void look_at_txn(struct telling *t, const struct txn *txn)
{
    t->txn = txn;
    txn_each_path(txn, look_at_op, t);
    if (txn->op.type == TXN_CLOSE_SESSION && is_owner(t, txn->header.client_id)) {
        drop_owner(t, txn->header.client_id);
        if (txn->op.deleted.count < 0) {
            tell_op(t, &txn->op);
        }
    }
}

/* ---- before the logs ---- */

static void tell_node(struct telling *t, const struct tree_walk *w, int64_t zxid)
{
    struct pawl_stat stat;

    tree_client_stat(w->tree, w->id, &stat);
    if (stat.ephemeral_owner != 0) {
        add_owner(t, stat.ephemeral_owner);
    }
    t->n_told++;
    if (t->cli->json) {
        struct strbuf path = w->path;

        json_open(NULL, '{');
        json_hex("zxid", (uint64_t)zxid);
        json_text("type", "snapshot");
        tree_node_json(w->tree, w->id, &path);
        json_close('{');
        return;
    }
    printf("snapshot 0x%" PRIx64 " has ", (uint64_t)zxid);
    text_escaped(shown(strbuf_bytes(&w->path)));
    printf(", created by 0x%" PRIx64 ", version %" PRId32 " of 0x%" PRIx64 ", ",
           (uint64_t)stat.czxid, stat.version, (uint64_t)stat.mzxid);
    if (t->with_data) {
        data_print(tree_data(w->tree, w->id));
        putchar('\n');
    } else {
        printf("%" PRId32 " bytes\n", stat.data_length);
    }
}

static void tell_tree(struct telling *t, const struct tree *tree, int64_t zxid)
{
    struct tree_walk w;

    tree_walk_from(&w, tree, t->path);
    while (tree_walk_next(&w) && !ferror(stdout)) {
        tell_node(t, &w, zxid);
        if (!t->is_deep) {
            break;
        }
    }
    tree_walk_fini(&w);
}

static void tell_snapshot(struct telling *t, const struct file_name *file)
{
    struct snapshot_read_options options = {.tree = {.extended_types = true},
                                            .limit_bytes = t->dirs.limit_bytes};
    struct snapshot_info info;
    char path[FILE_PATH_BYTES];
    struct tree *tree;

    file_path(path, STORE_FOLDER, file->name);
    if (snapshot_load(t->dirs.snapshots.disk, path, &options, &tree, &info) != 0) {
        cli_error(t->cli, "%s: what was before the logs cannot be told: %s", path,
                  info.reason[0] != '\0' ? info.reason : disk_last_error(t->dirs.snapshots.disk));
        return;
    }
    tell_tree(t, tree, file->zxid);
    tree_free(tree);
}

/* What the newest snapshot from before the transaction `first` knows. */
static int tell_before(struct telling *t, int64_t first)
{
    struct file_list list;
    size_t n = 0;

    if (file_list_load(t->dirs.snapshots.disk, STORE_FOLDER, SNAPSHOT_PREFIX, &list) != 0) {
        cli_error(t->cli, "%s", disk_last_error(t->dirs.snapshots.disk));
        return EXIT_SYSTEM;
    }
    while (n < list.count && list.files[n].zxid < first) {
        n++;
    }
    if (n > 0) {
        tell_snapshot(t, &list.files[n - 1]);
    }
    file_list_fini(&list);
    return EXIT_OK;
}

/* ---- all of it ---- */

/* What is torn never happened. */
static int judge(struct log_source *s)
{
    if (s->found == TXNLOG_TORN && s->n_gaps == 0 && cli_signal() == 0) {
        return EXIT_OK;
    }
    return log_source_judge(s);
}

static int tell_source(struct telling *t, struct log_source *s)
{
    struct txnlog_record record;
    bool is_one = log_source_next(s, &record);
    int status = tell_before(t, is_one ? record.txn.header.zxid : INT64_MAX);

    while (status == EXIT_OK && is_one && !ferror(stdout)) {
        look_at_txn(t, &record.txn);
        is_one = log_source_next(s, &record);
    }
    fflush(stdout);
    return status == EXIT_OK ? judge(s) : status;
}

static int tell_logs(struct telling *t)
{
    struct log_source s;
    int status = log_source_open_dirs(&s, &t->dirs);

    if (status == EXIT_OK) {
        status = tell_source(t, &s);
    }
    log_source_close(&s);
    return status;
}

static bool history_filter(struct telling *t, const struct args *args)
{
    const char *path = args->words[0];

    if (!filter_read_ranges(&t->filter, t->cli, args)) {
        return false;
    }
    if (path[0] != '/') {
        cli_error(t->cli, "'%s' is no path: it begins with /", path);
        return false;
    }
    t->filter.path = path;
    return true;
}

static int node_history(struct cli *cli, const struct args *args)
{
    struct telling t = {.cli = cli,
                        .path = args->words[0],
                        .is_deep = args_has(args, 'R'),
                        .with_data = args_has(args, 'd')};
    int status = history_filter(&t, args) ? EXIT_OK : EXIT_USAGE;

    if (status == EXIT_OK) {
        status = data_dirs_open(&t.dirs, cli, args);
        if (status == EXIT_OK) {
            status = tell_logs(&t);
        }
        data_dirs_close(&t.dirs);
    }
    if (status == EXIT_OK && t.n_told == 0) {
        cli_error(cli, "%s: the files know nothing of it", t.path);
        status = EXIT_NO_NODE;
    }
    free(t.owners);
    return status;
}

static bool has_options(const struct args *args)
{
    for (int i = 0; args->specs[i].letter != 0; i++) {
        if (args->values[i] != NULL) {
            return true;
        }
    }
    return false;
}

/* Alone it is what zkCli.sh has by this name. */
static int run_history(struct cli *cli, const struct args *args)
{
    if (args->n_words == 1) {
        return node_history(cli, args);
    }
    if (has_options(args)) {
        cli_error(cli, "the history of which node?");
        return EXIT_USAGE;
    }
    return shell_print_history(cli->shell);
}

static const struct option_spec history_options[] = {
    DATA_DIR_OPTIONS,
    {'R', "recursive", NULL, "of all that is below it, too"},
    {'d', "data", NULL, "show the data, not only how long they are"},
    FILTER_RANGE_OPTIONS,
    {0, NULL, NULL, NULL}};

const struct command command_history = {
    .name = "history",
    .synopsis = "[-D FOLDER [-L FOLDER] [-R] [-d] [-z RANGE] [-t RANGE] [-S ID] PATH]",
    .summary =
        "what happened to a node, from its server's files; alone: what was typed in the shell",
    .options = history_options,
    .max_words = 1,
    .opens_itself = true,
    .is_of_shell = true,
    .run = run_history};
