/* SPDX-License-Identifier: Apache-2.0 */
/* txnlog_thread.h - the thread that writes the transaction log.
 *
 * Group commit: while one fdatasync runs, what arrives gathers, and goes out together in the next
 * one. Nothing waits for a timer. */
#ifndef PAWL_DAEMON_TXNLOG_THREAD_H
#define PAWL_DAEMON_TXNLOG_THREAD_H

#include <stdint.h>

#include "store/txn_batch.h"
#include "store/txnlog_write.h"

struct txnlog_thread;

struct txnlog_thread_options {
    struct disk *disk;
    struct txnlog_options log;
    int64_t fsync_warning_ms;
    /* Called from the thread after each sync, and after a failure: look at the progress. */
    void (*wake)(void *arg);
    void *arg;
};

struct txnlog_progress {
    int64_t durable_zxid; /* on disk up to here; 0: nothing yet */
    int64_t log_bytes;    /* of log files since the last roll */
    int64_t n_syncs;
    int64_t sync_ms_last, sync_ms_max, sync_ms_total;
    int err;         /* PAWL_OK, or the log has failed for good */
    char error[512]; /* why */
};

int txnlog_thread_start(const struct txnlog_thread_options *options, struct txnlog_thread **out);

/* Hands over the batch; it is empty afterwards. */
void txnlog_thread_append(struct txnlog_thread *t, struct txn_batch *batch);

void txnlog_thread_progress(struct txnlog_thread *t, struct txnlog_progress *out);

/* Writes what it was given, then ends. NULL is allowed. */
void txnlog_thread_stop(struct txnlog_thread *t);

/* A sync that takes longer is a warning from now on. */
void txnlog_thread_warn_above(struct txnlog_thread *t, int64_t ms);

#endif
