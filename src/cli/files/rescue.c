/* SPDX-License-Identifier: Apache-2.0 */
/* rescue.c - `pawl ensemble rescue`: a folder to begin a new ensemble with, when the quorum of the
 * old one is lost for good.
 *
 * The folders of those that are left are compared as an election would: the later currentEpoch,
 * then the larger zxid. What may be missing is said first, and without --yes that is all. The new
 * folder has one snapshot, of the tree of the one with the most, and both epochs far behind every
 * epoch of the old ensemble:
 *
 *   - in an election whoever has it beats everybody who has only old files, however long their log;
 *   - who has it has promised to follow no leader of an earlier epoch: no old quorum gets it back;
 *   - every zxid from then on is larger than those of old members that go on without the others, so
 *     that these refuse clients who have seen the new ensemble.
 *
 * An old member that comes back into the new list gets a leader's tree. The old folders are only
 * looked at. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/server_config.h"
#include "cli/files/view.h"
#include "cli/json.h"
#include "cli/text.h"
#include "os/disk_posix.h"
#include "os/open_files.h"
#include "pawl/error.h"
#include "store/epoch.h"
#include "store/mark.h"
#include "store/recovery.h"
#include "store/snapshot_write.h"

enum {
    SURVIVORS_MAX = 64,
    /* An ensemble that lives on in secret needs as many elections to come so far. A leader refuses
     * claims that are 2^20 ahead of it (zab.h). */
    EPOCH_LEAP = 1000,
};

struct survivor {
    const char *given;
    char *data_dir, *log_dir;
    int64_t accepted, current;
    int64_t zxid, time_ms, n_nodes;
    bool is_whole; /* neither damaged nor marked */
    bool differs;  /* its tree is known to be wrong */
    char why[640]; /* it is not whole */
};

struct rescue {
    struct cli *cli;
    struct survivor of[SURVIVORS_MAX];
    int n;
    int64_t n_voters; /* of the old ensemble; 0: not known */
    struct recovery_options options;
};

/* ---- looking ---- */

/* A folder, or the configuration that names it. */
static int find_folders(struct rescue *r, struct survivor *s)
{
    struct server_config c = {0};
    struct stat st;
    int status = EXIT_OK;

    if (stat(s->given, &st) != 0) {
        cli_error(r->cli, "%s: %s", s->given, strerror(errno));
        return EXIT_SYSTEM;
    }
    if (S_ISDIR(st.st_mode)) {
        s->data_dir = must_strdup(s->given);
        s->log_dir = must_strdup(s->given);
        return EXIT_OK;
    }
    if (server_config_read(&c, s->given) == 0) {
        s->data_dir = must_strdup(c.config.store.data_dir);
        s->log_dir = must_strdup(c.config.store.log_dir);
        if (r->n_voters == 0) {
            r->n_voters = (int64_t)c.config.ensemble.quorum.n_voters;
        }
    } else {
        cli_error(r->cli, "%s: %s", s->given, c.errors.n > 0 ? c.errors.line[0] : "cannot be read");
        status = EXIT_USAGE;
    }
    server_config_fini(&c);
    return status;
}

/* What it has may change under our eyes. */
static int check_is_stopped(struct rescue *r, const char *folder)
{
    char who[512], inside[4096];

    snprintf(inside, sizeof(inside), "%s/" STORE_FOLDER, folder);
    if (open_files_find_writer(folder, who, sizeof(who)) ||
        open_files_find_writer(inside, who, sizeof(who)) ||
        open_files_find_zookeeper(folder, who, sizeof(who))) {
        cli_error(r->cli, "%s is in use by a server: %s. Stop it first", folder, who);
        return EXIT_CONFLICT;
    }
    return EXIT_OK;
}

static void read_marks(struct survivor *s, struct disk *disk)
{
    struct mark damaged = {0}, diverged = {0};

    mark_load(disk, STORE_FOLDER, DAMAGED_FILE, &damaged);
    mark_load(disk, STORE_FOLDER, DIVERGED_FILE, &diverged);
    if (diverged.is_there) {
        s->differs = true;
        snprintf(s->why, sizeof(s->why), "%.*s", (int)sizeof(s->why) - 1, diverged.text);
    } else if (damaged.is_there) {
        snprintf(s->why, sizeof(s->why), "%.*s", (int)sizeof(s->why) - 1, damaged.text);
    }
    s->is_whole = s->is_whole && !damaged.is_there && !diverged.is_there;
}

static int64_t epoch_of(struct disk *disk, const char *name, int64_t least)
{
    int64_t epoch;

    return epoch_load(disk, STORE_FOLDER, name, &epoch) == 0 && epoch > least ? epoch : least;
}

static void note_what_was_read(struct survivor *s, struct disk *disk,
                               const struct recovery_report *report, int64_t n_nodes)
{
    s->zxid = report->last_zxid < 0 ? 0 : report->last_zxid;
    s->time_ms = report->seen.time_ms;
    s->n_nodes = n_nodes;
    s->is_whole = !report->damaged && report->differs_zxid == 0;
    s->differs = report->differs_zxid != 0;
    snprintf(s->why, sizeof(s->why), "%s",
             report->damaged ? report->damage : "the tree is not what its log says it was");
    s->accepted = epoch_of(disk, EPOCH_ACCEPTED_FILE, s->zxid >> 32);
    s->current = epoch_of(disk, EPOCH_CURRENT_FILE, s->zxid >> 32);
    if (report->damaged) { /* what it once had counts for nothing here, only what is left */
        s->current = s->zxid >> 32;
    }
    read_marks(s, disk);
}

/* The tree is the caller's, unless `out` is NULL. */
static int load(struct rescue *r, struct survivor *s, struct tree **out)
{
    struct view snapshots = {0}, logs = {0};
    struct recovery_report report;
    struct tree *tree;
    int status = view_open_data(&snapshots, r->cli, s->data_dir);

    if (status == EXIT_OK) {
        status = view_open_data(&logs, r->cli, s->log_dir);
    }
    if (status == EXIT_OK) {
        bool is_one = strcmp(s->data_dir, s->log_dir) == 0;

        if (recovery_load(snapshots.disk, is_one ? snapshots.disk : logs.disk, &r->options, &tree,
                          &report) != 0) {
            cli_error(r->cli, "%s: %s", s->given, report.error);
            status = EXIT_DAMAGED;
        } else {
            note_what_was_read(s, snapshots.disk, &report, tree_count(tree));
            if (out != NULL) {
                *out = tree;
            } else {
                tree_free(tree);
            }
        }
    }
    view_close(&snapshots);
    view_close(&logs);
    return status;
}

static int look(struct rescue *r, struct survivor *s)
{
    int status = find_folders(r, s);

    if (status == EXIT_OK) {
        status = check_is_stopped(r, s->data_dir);
    }
    if (status == EXIT_OK) {
        status = check_is_stopped(r, s->log_dir);
    }
    return status == EXIT_OK ? load(r, s, NULL) : status;
}

/* ---- choosing ---- */

static bool has_more(const struct survivor *a, const struct survivor *b)
{
    if (a->differs != b->differs) {
        return b->differs;
    }
    if (a->current != b->current) {
        return a->current > b->current;
    }
    return a->zxid != b->zxid ? a->zxid > b->zxid : a->is_whole && !b->is_whole;
}

static struct survivor *choose(struct rescue *r)
{
    struct survivor *best = &r->of[0];

    for (int i = 1; i < r->n; i++) {
        best = has_more(&r->of[i], best) ? &r->of[i] : best;
    }
    return best;
}

static int64_t new_epoch(const struct rescue *r)
{
    int64_t last = 0;

    for (int i = 0; i < r->n; i++) {
        last = r->of[i].accepted > last ? r->of[i].accepted : last;
        last = r->of[i].current > last ? r->of[i].current : last;
    }
    return last + EPOCH_LEAP;
}

static int n_whole(const struct rescue *r)
{
    int n = 0;

    for (int i = 0; i < r->n; i++) {
        n += r->of[i].is_whole;
    }
    return n;
}

/* Whether every majority of the old ensemble had one of these. */
static bool has_all(const struct rescue *r)
{
    return r->n_voters > 0 && r->n_voters - n_whole(r) < r->n_voters / 2 + 1;
}

/* ---- telling ---- */

static void tell_survivor(const struct rescue *r, const struct survivor *s)
{
    char time[64] = "";

    if (s->time_ms > 0) {
        text_time(s->time_ms, time, sizeof(time));
    }
    if (r->cli->json) {
        json_open(NULL, '{');
        json_text("folder", s->given);
        json_hex("zxid", (uint64_t)s->zxid);
        json_number("current_epoch", s->current);
        json_number("accepted_epoch", s->accepted);
        json_number("nodes", s->n_nodes);
        json_bool("whole", s->is_whole);
        json_close('{');
        return;
    }
    printf("%s: epoch %" PRId64 ", %" PRId64 " nodes, up to transaction 0x%" PRIx64 "%s%s\n",
           s->given, s->current, s->n_nodes, (uint64_t)s->zxid, time[0] != '\0' ? " of " : "",
           time);
    if (!s->is_whole) {
        printf("%s: not whole: %s\n", s->given, s->why);
    }
}

static void tell_missing(const struct rescue *r, const struct survivor *best)
{
    if (has_all(r)) {
        printf("missing: nothing that was acknowledged. Every majority of %" PRId64
               " voters had one of these %d, and %s has the most of them.\n",
               r->n_voters, n_whole(r), best->given);
        return;
    }
    printf("missing: whatever was acknowledged and is on the disks of lost members only. That is "
           "everything after transaction 0x%" PRIx64 ", and nobody can say how much that is%s.\n",
           (uint64_t)best->zxid, best->is_whole ? "" : "; the chosen folder is not whole itself");
    printf("perhaps too much: transactions at the end that no client was told of.\n");
}

static void tell_plan(const struct rescue *r, const struct survivor *best, const char *into,
                      bool is_sure)
{
    if (r->cli->json) {
        json_open(NULL, '{');
        json_text("chosen", best->given);
        json_hex("zxid", (uint64_t)best->zxid);
        json_number("epoch", new_epoch(r));
        json_bool("may_lack", !has_all(r));
        json_close('{');
        return;
    }
    printf("the most has: %s\n", best->given);
    tell_missing(r, best);
    printf("%s %s the tree of 0x%" PRIx64 " and epoch %" PRId64
           ": who has the old files cannot lead those who have it.\n",
           into, is_sure ? "gets" : "would get", (uint64_t)best->zxid, new_epoch(r));
}

/* ---- writing ---- */

static int disk_failed(const struct rescue *r, struct disk *disk)
{
    cli_error(r->cli, "%s", disk_last_error(disk));
    return EXIT_SYSTEM;
}

/* The snapshot last: a folder without it is refused as one of a member that has lost everything. */
static int write_folder(const struct rescue *r, struct disk *disk, struct tree *tree, int64_t zxid)
{
    struct snapshot_file_options file = {.folder = STORE_FOLDER};
    int64_t epoch = new_epoch(r);

    if (disk_make_folder(disk, STORE_FOLDER) != 0 || disk_sync_folder(disk, "") != 0 ||
        epoch_save(disk, STORE_FOLDER, EPOCH_ACCEPTED_FILE, epoch) != 0 ||
        epoch_save(disk, STORE_FOLDER, EPOCH_CURRENT_FILE, epoch) != 0 ||
        snapshot_save(disk, &file, tree, zxid) != 0) {
        return disk_failed(r, disk);
    }
    return EXIT_OK;
}

/* Read again: it has been looked at, but nothing of it was kept. */
static int write_rescued(struct rescue *r, struct survivor *best, const char *into)
{
    struct tree *tree = NULL;
    struct disk *disk = NULL;
    int status = load(r, best, &tree);

    if (status == EXIT_OK && mkdir(into, 0755) != 0) {
        cli_error(r->cli, "%s: %s", into, strerror(errno));
        status = errno == EEXIST ? EXIT_CONFLICT : EXIT_SYSTEM;
    }
    if (status == EXIT_OK && disk_posix_open(into, false, &disk) != 0) {
        cli_error(r->cli, "%s", disk_posix_open_error());
        status = EXIT_SYSTEM;
    }
    if (status == EXIT_OK) {
        status = write_folder(r, disk, tree, best->zxid);
    }
    disk_posix_close(disk);
    tree_free(tree);
    return status;
}

static void tell_done(const struct rescue *r, const char *into)
{
    if (r->cli->json) {
        return;
    }
    printf("%s is written. Copy it to every member of the new ensemble as its dataDir, each with "
           "its own number in myid, and start them. The old folders are as they were; do not start "
           "lost members with their old configuration.\n",
           into);
}

/* ---- the command ---- */

static int decide(struct rescue *r, const char *into, bool is_sure)
{
    struct survivor *best = choose(r);
    int status;

    if (r->n_voters > 0 && n_whole(r) > r->n_voters / 2) {
        cli_error(r->cli,
                  "these are %d of %" PRId64
                  " voters, which is a quorum: start them, and nothing is lost",
                  n_whole(r), r->n_voters);
        return EXIT_REFUSED;
    }
    if (best->differs) {
        cli_error(r->cli, "%s is known to be wrong, and there is no other: %s", best->given,
                  best->why);
        return EXIT_DAMAGED;
    }
    tell_plan(r, best, into, is_sure);
    if (!is_sure) {
        cli_error(r->cli, "nothing was written; with --yes it is");
        return EXIT_NO;
    }
    status = write_rescued(r, best, into);
    if (status == EXIT_OK) {
        tell_done(r, into);
    }
    return status;
}

static int run_rescue(struct cli *cli, const struct args *args)
{
    struct rescue r = {.cli = cli,
                       .options = {.tree = {.extended_types = true},
                                   .read_only = true,
                                   .no_autocreate = true,
                                   .heals = true}};
    const char *into = args->words[0];
    int status = EXIT_OK;
    int64_t limit = 0;
    struct stat st;

    if (!args_number(args, cli, 'n', 1, 255, &r.n_voters) ||
        !args_number(args, cli, 'm', 1, INT32_MAX, &limit)) {
        return EXIT_USAGE;
    }
    if (args->n_words - 1 > SURVIVORS_MAX) {
        cli_error(cli, "at most %d folders", SURVIVORS_MAX);
        return EXIT_USAGE;
    }
    if (lstat(into, &st) == 0) {
        cli_error(cli, "%s exists; the new folder is made", into);
        return EXIT_CONFLICT;
    }
    r.options.limit_bytes = (size_t)limit;
    view_tell_warnings(cli);
    for (int i = 1; i < args->n_words && status == EXIT_OK; i++) {
        r.of[r.n].given = args->words[i];
        status = look(&r, &r.of[r.n]);
        r.n++;
    }
    for (int i = 0; i < r.n && status == EXIT_OK; i++) {
        tell_survivor(&r, &r.of[i]);
    }
    if (status == EXIT_OK) {
        status = decide(&r, into, args_has(args, 'y'));
    }
    for (int i = 0; i < r.n; i++) {
        free(r.of[i].data_dir);
        free(r.of[i].log_dir);
    }
    return status;
}

static const struct option_spec rescue_options[] = {
    {'n', "voters", "NUMBER", "of the lost ensemble, if no configuration tells"},
    {'m', "max-record", "BYTES", "the longest data there may be; 2097150 if not given"},
    {'y', "yes", NULL, "write it; without it only what may be missing is told"},
    {0, NULL, NULL, NULL}};

const struct command command_ensemble_rescue = {
    .name = "ensemble rescue",
    .synopsis = "[-n NUMBER] [-m BYTES] [-y] INTO FOLDER|CONFIG...",
    .summary = "when a quorum is lost for good: a new folder from the old member with the most",
    .options = rescue_options,
    .min_words = 2,
    .max_words = -1,
    .opens_itself = true,
    .run = run_rescue};
