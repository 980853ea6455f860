/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_thread.h - the thread that writes the transaction log, and does whatever else must happen
 * to the history in order with that.
 *
 * Group commit: while one fdatasync runs, what arrives gathers, and goes out together in the next
 * one. Nothing waits for a timer.
 *
 * Jobs: each is done after all that was handed over before it is on disk, and before anything that
 * is handed over after it; then it is answered on the loop. What there are: log_jobs.h. */
#ifndef PAWL_DAEMON_TXNLOG_THREAD_H
#define PAWL_DAEMON_TXNLOG_THREAD_H

#include <stdint.h>

#include "base/list.h"
#include "store/txn_batch.h"
#include "store/txnlog_write.h"

struct txnlog_thread;

struct txnlog_thread_options {
    struct disk *disk;
    struct txnlog_options log;
    int64_t fsync_warning_ms;
    /* Called from the thread after each sync, each job and after a failure: look at the progress,
     * and settle. */
    void (*wake)(void *arg);
    void *arg;
};

struct txnlog_progress {
    int64_t durable_zxid; /* on disk up to here; 0: nothing yet */
    int64_t log_bytes;    /* of log files since the last roll */
    int64_t n_syncs;
    int64_t n_slow_syncs; /* that took longer than is warned of */
    int64_t sync_ms_last, sync_ms_max, sync_ms_total;
    int err;         /* PAWL_OK, or the log has failed for good */
    char error[512]; /* why */
};

int txnlog_thread_start(const struct txnlog_thread_options *options, struct txnlog_thread **out);

/* Hands over the batch; it is empty afterwards. Not while it is closed. */
void txnlog_thread_append(struct txnlog_thread *t, struct txn_batch *batch);

void txnlog_thread_progress(struct txnlog_thread *t, struct txnlog_progress *out);

/* Bytes that were handed over and are not on disk. */
size_t txnlog_thread_backlog(struct txnlog_thread *t);

/* ---- jobs ---- */

struct log_job {
    struct list link;
    struct txn_batch before; /* the thread's: goes to disk first */
    /* On the thread, with its log; what it returns becomes `rc`. */
    int (*run)(struct log_job *job, struct txnlog *log);
    /* On the loop, once, in the order of the jobs; the job is the caller's again. PAWL_ERR_CLOSING:
     * it was not run, and never will be. */
    void (*done)(struct log_job *job);
    int rc;
};

void txnlog_thread_do(struct txnlog_thread *t, struct log_job *job);

/* From the caller of txnlog_thread_do(), when woken: calls what is done. */
void txnlog_thread_settle(struct txnlog_thread *t);

/* Between these two nothing may be appended: a role has ended, its log has been flushed, and what
 * is in it has been counted (P8: nothing comes behind a vote). */
void txnlog_thread_close_log(struct txnlog_thread *t);
void txnlog_thread_open_log(struct txnlog_thread *t);

/* Writes and does what it was given, settles, then ends. NULL is allowed. */
void txnlog_thread_stop(struct txnlog_thread *t);

/* A sync that takes longer is a warning from now on. */
void txnlog_thread_warn_above(struct txnlog_thread *t, int64_t ms);

#endif
