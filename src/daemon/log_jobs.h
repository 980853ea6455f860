/* SPDX-License-Identifier: Apache-2.0 */
/* log_jobs.h - what a member of an ensemble does to its history, on the thread of the log.
 *
 *   flush      all that was appended is on disk
 *   epoch      a number of epoch.h is on disk
 *   lists      of members are on disk
 *   truncate   what is left without what is behind a zxid is loaded, then the rest goes
 *   reading    a range of transactions, in pieces, as packets for a learner
 *   spool      a leader's snapshot comes in, replaces everything and is loaded
 *
 * Each is done in order with the appends (txnlog_thread.h) and answered on the loop. */
#ifndef PAWL_DAEMON_LOG_JOBS_H
#define PAWL_DAEMON_LOG_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "store/recovery.h"

struct dynamic_files;
struct quorum_config;
struct snapshot_thread;
struct txnlog_thread;

/* Outlives all jobs. */
struct log_jobs {
    struct dynamic_files *lists; /* of members; NULL: theirs does not change */
    int64_t self;                /* who we are in them */
    struct txnlog_thread *thread;
    struct snapshot_thread *snapshots; /* is kept from writing what is to be dropped; NULL: none */
    struct disk *data_disk;
    struct disk *log_disk;
    struct recovery_options recovery;
};

enum { LOG_ERROR_BYTES = 1024 };

/* PAWL_ERR_CLOSING: the log has failed, or the server stops. */
struct log_result {
    int rc;
    struct tree *tree;             /* truncate and spool: the callee's from now on */
    struct recovery_report report; /* truncate */
    bool is_untouched;             /* truncate, spool: it cannot be done, and all is as it was */
    char error[LOG_ERROR_BYTES];   /* why, for a person */
};
typedef void (*log_done_fn)(void *arg, struct log_result *result);

/* ---- in one go ---- */

void log_flush(struct log_jobs *jobs, log_done_fn done, void *arg);

/* `file` is a name of epoch.h, and stays. */
void log_save_epoch(struct log_jobs *jobs, const char *file, int64_t epoch, log_done_fn done,
                    void *arg);

/* The next list of members, or none; the active one (dynamic_files.h). Copied. */
void log_save_next_list(struct log_jobs *jobs, const struct quorum_config *next, log_done_fn done,
                        void *arg);
void log_save_active_list(struct log_jobs *jobs, const struct quorum_config *list, log_done_fn done,
                          void *arg);

void log_truncate(struct log_jobs *jobs, int64_t zxid, log_done_fn done, void *arg);

/* ---- reading: piece by piece, as fast as they are asked for ---- */

struct log_reading;

/* PROPOSAL and COMMIT of each; lent. `is_last`: there is nothing more. An error is the end, too. A
 * piece may be empty: so much is read at once and no more, because what is appended waits for it.
 */
typedef void (*log_piece_fn)(void *arg, struct bytes packets, bool is_last,
                             const struct log_result *result);

enum { LOG_PIECE_BYTES = 256 << 10 };

struct log_reading *log_reading_start(struct log_jobs *jobs, int64_t first, int64_t last,
                                      log_piece_fn piece, void *arg);
/* After a piece that was not the last: the next one. */
void log_reading_next(struct log_reading *r);
/* Frees it; at any time, also from within a piece. No piece comes any more. */
void log_reading_stop(struct log_reading *r);

/* ---- a spool ---- */

struct log_spool;

struct log_spool *log_spool_start(struct log_jobs *jobs, int64_t zxid);
/* The stream's body; copied. */
void log_spool_write(struct log_spool *s, struct bytes body);
/* Given and not written yet: the sender can wait. */
size_t log_spool_backlog(const struct log_spool *s);
/* Some of it cannot be written. Finishing it tells why. */
bool log_spool_has_failed(const struct log_spool *s);
/* All of it was given, or it has failed: `done` has the tree, or why not. `s` is gone. */
void log_spool_finish(struct log_spool *s, log_done_fn done, void *arg);
/* Gives it up: nothing was changed. `s` is gone. NULL is allowed. */
void log_spool_stop(struct log_spool *s);

#endif
