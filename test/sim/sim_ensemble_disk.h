/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_disk.h - a member's disk: a history (snapshot and log), two epoch files, and what a
 * crash leaves of them.
 *
 * A record that is appended is in the page cache; it is on the disk when a sync that began after it
 * has ended. A crash of the process keeps the page cache, a loss of power keeps only some first
 * part of what was not synced, the last record of it perhaps torn. The other jobs (an epoch file,
 * a truncation, a snapshot that takes the place of everything) are renames in the end: a crash in
 * the middle leaves all or nothing of them.
 *
 * There are two lanes. In each, one job is under way at a time; the log's syncs, truncations and
 * snapshots keep their order, and so do the epoch files, but nothing orders the one lane against
 * the other: who needs an order has to wait. Records carry the digest of everything up to them, so
 * that two histories are equal if their lengths and last digests are. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_DISK_H
#define PAWL_TEST_SIM_ENSEMBLE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prng;

struct toy_record {
    int64_t zxid;
    uint64_t value;
    uint64_t digest; /* of all records up to this one */
};

struct toy_history {
    struct toy_record *records;
    size_t n, capacity;
    int64_t zxid; /* of the last record, or of a snapshot that is newer: its epoch's begin */
};

void toy_history_fini(struct toy_history *h);
void toy_history_add(struct toy_history *h, int64_t zxid, uint64_t value);
void toy_history_copy(struct toy_history *to, const struct toy_history *from, size_t n);
/* What is newer than `zxid` goes, and that is the last one from now on. */
void toy_history_cut(struct toy_history *h, int64_t zxid);
/* How many records are not newer than `zxid`. */
size_t toy_history_upto(const struct toy_history *h, int64_t zxid);
uint64_t toy_history_digest(const struct toy_history *h, size_t n);

enum toy_epoch { TOY_ACCEPTED, TOY_CURRENT, N_TOY_EPOCHS };
enum toy_lane { LANE_LOG, LANE_EPOCH, N_LANES };
enum toy_job_kind { JOB_SYNC, JOB_TRUNCATE, JOB_INSTALL, JOB_EPOCH, JOB_NEXT_LIST, JOB_LIST };

struct toy_job {
    struct toy_job *next;
    enum toy_job_kind kind;
    int64_t number;              /* the zxid, or the epoch */
    enum toy_epoch which;        /* JOB_EPOCH */
    size_t n;                    /* JOB_SYNC: of so many records */
    uint64_t list;               /* JOB_NEXT_LIST, JOB_LIST; 0: none */
    struct toy_history snapshot; /* JOB_INSTALL */
};

struct toy_lane_state {
    struct toy_job *first, **last;
    bool under_way; /* the first one */
};

struct toy_disk {
    struct toy_history history; /* as the process reads it back */
    size_t n_base;              /* so many of its records are in a snapshot, not in the log ... */
    int64_t base_zxid;          /* ... which is of this zxid */
    size_t n_synced;
    size_t n_old_files; /* so many are in log files that were rolled over */
    int64_t epochs[N_TOY_EPOCHS];
    uint64_t list, next_list; /* of members (sim_ensemble_list.h); 0: the one it began with, none */
    bool diverged; /* the mark: the tree was not what the history makes, until another is installed
                    */
    bool damaged;  /* the history is what is left of one; until another is installed, too */
    struct toy_lane_state lanes[N_LANES];

    /* Trouble. */
    int64_t slow_until_us;
    bool sync_fails; /* the next one */
    bool is_full;
    bool is_held; /* nothing is done */

    /* Broken on purpose. */
    struct toy_history stale; /* what a truncation or a snapshot was to end is still on the disk */
    bool is_stale;
    size_t n_hole; /* nothing behind so many is safe: they are the end of an old file */
};

void toy_disk_init(struct toy_disk *d);
void toy_disk_fini(struct toy_disk *d);

/* False: it is full. */
bool toy_disk_append(struct toy_disk *d, int64_t zxid, uint64_t value);
/* There is a snapshot of that zxid; the log before it goes. */
void toy_disk_purge(struct toy_disk *d, int64_t zxid);

void toy_disk_save_epoch(struct toy_disk *d, enum toy_epoch which, int64_t epoch);
/* The next list of members, or the active one: then there is no next one. */
void toy_disk_save_list(struct toy_disk *d, uint64_t list, bool active);
/* True: it is to be taken for done at once (that is P6 or P7 broken). */
bool toy_disk_truncate(struct toy_disk *d, int64_t zxid);
bool toy_disk_install(struct toy_disk *d, struct toy_history *snapshot); /* which is taken over */

/* Whether something is to be done in that lane and nothing is under way; it is then. */
bool toy_disk_begin(struct toy_disk *d, enum toy_lane lane);
struct toy_job *toy_disk_end(struct toy_disk *d, enum toy_lane lane); /* the caller's to free */
bool toy_disk_is_idle(const struct toy_disk *d);
void toy_job_free(struct toy_job *j);

/* The last zxid that would be found if the power went now. */
int64_t toy_disk_safe_zxid(const struct toy_disk *d);

/* No process uses it. Of its records so many are left at most, and it can be seen that there were
 * more. The epochs and the lists are files of their own. */
void toy_disk_damage(struct toy_disk *d, size_t n_left);

/* The process is gone, or the machine. What is left is what will be found. `random` NULL: no more
 * than what is certain. */
void toy_disk_crash(struct toy_disk *d, struct prng *random, bool power);

#endif
