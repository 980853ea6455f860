/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_files.c - logs and snapshots: whether a start would find them good, and what is near its
 * end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/files/doctor.h"
#include "cli/files/trees.h"
#include "cli/files/view.h"
#include "store/mark.h"
#include "store/recovery.h"

/* A zxid has 32 bits for an epoch, a sequence number 31 for a parent. */
#define ZXID_NEAR_END     INT64_C(0xf0000000)
#define SEQUENCE_NEAR_END (INT32_MAX / 10 * 9)

enum { MANY_FILES = 30 };

static void look_at_counters(struct doctor *d, const char *folder, const struct tree *tree,
                             int64_t zxid)
{
    struct stat_persisted s;
    struct tree_walk w;

    if ((zxid & 0xffffffff) > ZXID_NEAR_END) {
        doctor_tell(d, FINDING_RISK, folder, "nothing: the leader steps down then, for a moment",
                    "zxid 0x%" PRIx64 " is near the end of its epoch", (uint64_t)zxid);
    }
    tree_walk_from(&w, tree, "/");
    while (tree_walk_next(&w)) {
        tree_persisted(tree, w.id, &s);
        if (s.cversion > SEQUENCE_NEAR_END) {
            doctor_tell(d, FINDING_RISK, folder,
                        "make a new parent before that: numbers become negative",
                        "%" PRId32 " nodes have been made below %s; sequence numbers end at %d",
                        s.cversion, strbuf_cstr(&w.path), INT32_MAX);
        }
    }
    tree_walk_fini(&w);
}

static void look_at_count(struct doctor *d, const char *folder, const struct view *v,
                          const char *prefix)
{
    struct file_list list;

    if (file_list_load(v->disk, STORE_FOLDER, prefix, &list) != 0) {
        return;
    }
    if (list.count > MANY_FILES) {
        doctor_tell(d, FINDING_RISK, folder, "set autopurge.purgeInterval=1",
                    "%zu files %s.*: nobody removes old ones", list.count, prefix);
    }
    file_list_fini(&list);
}

/* What a former life of the server has found. */
static void look_at_marks(struct doctor *d, const char *folder, const struct view *v)
{
    struct mark mark;

    if (mark_load(v->disk, STORE_FOLDER, DAMAGED_FILE, &mark) == 0 && mark.is_there) {
        doctor_tell(d, FINDING_WRONG, folder,
                    "in an ensemble, start it: it fetches the others' data",
                    STORE_FOLDER "/" DAMAGED_FILE ": %s", mark.text);
    }
    if (mark_load(v->disk, STORE_FOLDER, DIVERGED_FILE, &mark) == 0 && mark.is_there) {
        doctor_tell(d, FINDING_WRONG, folder,
                    "in an ensemble, start it: it fetches the others' data",
                    STORE_FOLDER "/" DIVERGED_FILE ": %s", mark.text);
    }
}

/* As a start of a server reads it, and changes nothing. */
static void look_at_data(struct doctor *d, const char *folder, struct view *snapshots,
                         struct view *logs, const struct recovery_options *given)
{
    struct recovery_options options = *given;
    struct recovery_report report;
    struct tree *tree;

    options.read_only = true;
    options.no_autocreate = true;
    options.accept_loss = false;
    if (recovery_load(snapshots->disk, logs->disk, &options, &tree, &report) != 0) {
        doctor_tell(d, FINDING_WRONG, folder, "see pawl log -c and pawl snapshot -c", "%s",
                    report.error);
        return;
    }
    if (report.last_zxid < 0) {
        doctor_tell(d, FINDING_NOTE, folder, NULL, "there are no data yet");
    } else {
        doctor_tell(d, FINDING_GOOD, folder, NULL,
                    "%" PRId64 " nodes up to zxid 0x%" PRIx64 ", %" PRIu64 " transactions replayed",
                    tree_count(tree), (uint64_t)report.last_zxid, report.n_replayed);
    }
    if (report.n_bad_snapshots > 0) {
        doctor_tell(d, FINDING_RISK, folder, "see pawl snapshot -c",
                    "%" PRIu64 " snapshots are damaged; an older one was used",
                    report.n_bad_snapshots);
    }
    if (report.differs_zxid != 0) {
        doctor_tell(d, FINDING_WRONG, folder,
                    "in an ensemble, start it: it fetches the others' data",
                    "after 0x%" PRIx64 " the tree is not what the log says it was",
                    (uint64_t)report.differs_zxid);
    }
    look_at_counters(d, folder, tree, report.last_zxid);
    tree_free(tree);
}

/* Why it cannot has been reported. */
static bool can_open(struct doctor *d, const char *folder, struct view *v)
{
    if (view_open_data(v, d->cli, folder) == EXIT_OK) {
        return true;
    }
    doctor_tell(d, FINDING_WRONG, folder, "correct dataDir, or who may read it",
                "it cannot be opened");
    return false;
}

void doctor_files(struct doctor *d, const char *data_dir, const char *log_dir,
                  const struct recovery_options *options)
{
    struct view snapshots = {0}, own_logs = {0}, *logs = &snapshots;
    bool is_open = can_open(d, data_dir, &snapshots);

    if (is_open && strcmp(data_dir, log_dir) != 0) {
        logs = &own_logs;
        is_open = can_open(d, log_dir, &own_logs);
    }
    if (is_open) {
        look_at_marks(d, data_dir, &snapshots);
        look_at_data(d, data_dir, &snapshots, logs, options);
        look_at_count(d, data_dir, &snapshots, SNAPSHOT_PREFIX);
        look_at_count(d, log_dir, logs, "log");
    }
    view_close(&snapshots);
    view_close(&own_logs);
}
