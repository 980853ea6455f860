/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.h - from the files of a folder to the tree they stand for.
 *
 * The newest snapshot that passes every check, plus every logged transaction after it, without a
 * gap, at least up to what is known to have been acknowledged (durable.h). A torn tail of the
 * newest log is kept aside (aside.h) and cut. Damage stops the start, with a sentence that names
 * the file, the offset, the last good transaction and what to do.
 *
 * A member of an ensemble need not stop there: the others have what it lost. With `heals` what
 * could be read is given, the report tells what is damaged, and nothing is changed: whoever goes on
 * from there must not count as one that has what it once acknowledged (quorum.h), and shows the
 * tree to nobody.
 *
 * First everything is read and judged, then things are changed: a start that is refused leaves the
 * folder as it was. Only a leader's snapshot that was about to replace everything (received.h) is
 * put in its place before. */
#ifndef PAWL_STORE_RECOVERY_H
#define PAWL_STORE_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/disk.h"
#include "store/snapshot_format.h"
#include "store/tree.h"
#include "store/txnlog_read.h"

#define STORE_FOLDER "version-2"

struct recovery_options {
    struct tree_options tree;
    size_t limit_bytes;        /* of one record, string or buffer; 0: ZooKeeper's default */
    bool trust_empty;          /* snapshot.trust.empty: logs without a snapshot are enough */
    bool no_autocreate;        /* db.autocreate=false: an empty folder is no database */
    bool no_make_folders;      /* datadir.autocreate=false */
    bool read_only;            /* look, but change nothing */
    bool accept_loss;          /* go on from the last good transaction, keep the rest aside */
    bool heals;                /* damage is reported, and does not fail */
    bool is_cut;               /* as if what is behind `cut_zxid` were gone (TRUNC): the tree of */
    int64_t cut_zxid;          /* ... exactly that zxid, or it fails */
    enum snapshot_codec codec; /* of the first snapshot of a new folder */
    /* Told of each transaction replayed, after it was applied; may be NULL. */
    void (*on_txn)(const struct txnlog_record *record, void *arg);
    void *arg;
};

struct recovery_report {
    int64_t last_zxid;     /* -1: an empty folder that must not be taken for a database */
    int64_t snapshot_zxid; /* -1: none */
    uint64_t n_replayed;
    uint64_t n_digest_mismatches;
    int64_t
        differs_zxid; /* the last one compared, if the tree after it had another digest; 0: none */
    uint64_t n_bad_snapshots; /* newer than the one taken */
    bool is_new;              /* nothing was there; snapshot.0 has been written */
    bool torn;                /* the newest log had a torn tail, see `place` */
    bool lost;                /* transactions were given up, as accept_loss allows */
    struct txnlog_seen seen;  /* in the logs: sessions and times that have been */
    int64_t durable_zxid;     /* what durable.h knows of, -1: nothing */
    struct txnlog_place place;
    bool damaged;     /* with `heals`: the tree is what is left, and `damage` says of what */
    char damage[600]; /* what is damaged, for a person: file, offset, what may be lost */
    char error[1024]; /* why it failed, for a person */
};

/* Both disks may be the same one: dataDir and dataLogDir. On success the tree is the caller's, and
 * every transaction in it is on disk, also one that a killed server wrote but did not sync. It
 * still has the ephemeral nodes of dead sessions (a member deletes them), and its quota usage
 * is as stored (quota_new counts afresh). On failure `report->error` has the sentence. */
int recovery_load(struct disk *snapshot_disk, struct disk *log_disk,
                  const struct recovery_options *options, struct tree **out,
                  struct recovery_report *report);

#endif
