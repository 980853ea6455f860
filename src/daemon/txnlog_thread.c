/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/txnlog_thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "os/clock.h"
#include "os/thread.h"
#include "pawl/error.h"
#include "store/txnlog_format.h"

struct txnlog_thread {
    struct txnlog_thread_options options;
    _Atomic int64_t warn_above_ms;
    struct txnlog *log; /* the thread's alone */
    const struct log_target *log_target;
    bool is_closed; /* the loop's alone */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct txn_batch waiting; /* behind all jobs */
    struct list jobs;
    struct list done;
    bool sleeping;
    bool stopping;
    struct txnlog_progress progress;
    size_t backlog; /* bytes of records, waiting or being written */
};

static int write_blocks(struct txnlog_thread *t, struct txn_batch *batch)
{
    struct list *item;

    list_for_each (item, &batch->blocks) {
        struct txn_block *b = container_of(item, struct txn_block, link);
        int rc;

        if (b->roll_before) {
            txnlog_roll(t->log);
        }
        rc = txnlog_append(t->log, b->data, b->len, b->first_zxid);
        if (rc != PAWL_OK) {
            return rc;
        }
    }
    return txnlog_sync(t->log);
}

static void warn_if_slow(struct txnlog_thread *t, int64_t took_ms, int64_t log_bytes)
{
    if (took_ms > atomic_load(&t->warn_above_ms)) {
        log_limited(LOG_WARN,
                    "fsync-ing the write ahead log in the log thread took %" PRId64
                    "ms which will adversely effect operation latency. File size is %" PRId64
                    " bytes. See the ZooKeeper troubleshooting guide",
                    took_ms, log_bytes);
    }
}

static void txnlog_thread_report(struct txnlog_thread *t, int rc, int64_t zxid, size_t bytes,
                                 int64_t took_ms)
{
    int64_t log_bytes = (int64_t)txnlog_size(t->log);

    pthread_mutex_lock(&t->lock);
    ASSERT(t->backlog >= bytes);
    t->backlog -= bytes;
    if (rc == PAWL_OK) {
        t->progress.durable_zxid = zxid;
        t->progress.log_bytes = log_bytes;
        t->progress.n_syncs++;
        t->progress.n_slow_syncs += took_ms > atomic_load(&t->warn_above_ms) ? 1 : 0;
        t->progress.sync_ms_last = took_ms;
        t->progress.sync_ms_total += took_ms;
        if (took_ms > t->progress.sync_ms_max) {
            t->progress.sync_ms_max = took_ms;
        }
    } else {
        t->progress.err = rc;
        snprintf(t->progress.error, sizeof(t->progress.error), "%s",
                 disk_last_error(t->options.disk));
    }
    pthread_mutex_unlock(&t->lock);
    t->options.wake(t->options.arg);
    warn_if_slow(t, took_ms, log_bytes);
}

/* What comes next: transactions, or the job behind them. */
struct log_work {
    struct txn_batch batch;
    struct log_job *job; /* NULL: the batch */
};

static bool has_work(const struct txnlog_thread *t)
{
    return !txn_batch_empty(&t->waiting) || !list_empty(&t->jobs);
}

static void pick_work(struct txnlog_thread *t, struct log_work *w)
{
    struct log_job *first =
        list_empty(&t->jobs) ? NULL : container_of(t->jobs.next, struct log_job, link);

    if (first == NULL) {
        txn_batch_take(&w->batch, &t->waiting, TXNLOG_WRITE_BYTES);
    } else if (!txn_batch_empty(&first->before)) {
        txn_batch_take(&w->batch, &first->before, TXNLOG_WRITE_BYTES);
    } else {
        list_remove(&first->link);
        w->job = first;
    }
}

/* Waits for work. False: stopping, and there is none. */
static bool txnlog_thread_take(struct txnlog_thread *t, struct log_work *w)
{
    bool any;

    txn_batch_init(&w->batch);
    w->job = NULL;
    pthread_mutex_lock(&t->lock);
    while (!has_work(t) && !t->stopping) {
        t->sleeping = true;
        pthread_cond_wait(&t->changed, &t->lock);
    }
    t->sleeping = false;
    any = has_work(t);
    if (any) {
        pick_work(t, w);
    }
    pthread_mutex_unlock(&t->lock);
    return any;
}

static int write_batch(struct txnlog_thread *t, struct txn_batch *batch)
{
    int64_t zxid = container_of(batch->blocks.prev, struct txn_block, link)->last_zxid;
    int64_t began_us = clock_monotonic_us();
    size_t bytes = batch->bytes;
    int rc = write_blocks(t, batch);

    txn_batch_fini(batch);
    txnlog_thread_report(t, rc, zxid, bytes, (clock_monotonic_us() - began_us) / 1000);
    return rc;
}

static void run_job(struct txnlog_thread *t, struct log_job *job)
{
    job->rc = job->run(job, t->log);
    pthread_mutex_lock(&t->lock);
    list_push_back(&t->done, &job->link);
    pthread_mutex_unlock(&t->lock);
    t->options.wake(t->options.arg);
}

static void *txnlog_thread_run(void *arg)
{
    struct txnlog_thread *t = arg;
    struct log_work work;
    int rc = PAWL_OK;

    thread_set_name("pawl-log");
    logging_use(t->log_target);
    while (rc == PAWL_OK && txnlog_thread_take(t, &work)) {
        if (work.job != NULL) {
            run_job(t, work.job);
        } else {
            rc = write_batch(t, &work.batch);
        }
    }
    return NULL;
}

int txnlog_thread_start(const struct txnlog_thread_options *options, struct txnlog_thread **out)
{
    struct txnlog_thread *t = must_zalloc(sizeof(*t));
    int rc = txnlog_open(options->disk, &options->log, &t->log);

    if (rc != PAWL_OK) {
        free(t);
        return rc;
    }
    t->options = *options;
    atomic_init(&t->warn_above_ms, options->fsync_warning_ms);
    t->log_target = logging_used();
    txn_batch_init(&t->waiting);
    list_init(&t->jobs);
    list_init(&t->done);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    rc = pthread_create(&t->thread, NULL, txnlog_thread_run, t);
    ASSERT(rc == 0);
    *out = t;
    return PAWL_OK;
}

/* With the lock held; gives it back. */
static void unlock_and_wake(struct txnlog_thread *t)
{
    bool wake = t->sleeping;

    t->sleeping = false;
    pthread_mutex_unlock(&t->lock);
    if (wake) {
        pthread_cond_signal(&t->changed);
    }
}

void txnlog_thread_append(struct txnlog_thread *t, struct txn_batch *batch)
{
    ASSERT(!t->is_closed);
    pthread_mutex_lock(&t->lock);
    t->backlog += batch->bytes;
    txn_batch_move(&t->waiting, batch);
    unlock_and_wake(t);
}

void txnlog_thread_do(struct txnlog_thread *t, struct log_job *job)
{
    ASSERT(job->run != NULL && job->done != NULL);
    txn_batch_init(&job->before);
    job->rc = PAWL_ERR_CLOSING;
    pthread_mutex_lock(&t->lock);
    txn_batch_move(&job->before, &t->waiting);
    list_push_back(&t->jobs, &job->link);
    unlock_and_wake(t);
}

void txnlog_thread_settle(struct txnlog_thread *t)
{
    struct list done, *item;

    list_init(&done);
    pthread_mutex_lock(&t->lock);
    list_splice(&done, &t->done);
    pthread_mutex_unlock(&t->lock);
    while ((item = list_pop_front(&done)) != NULL) {
        struct log_job *job = container_of(item, struct log_job, link);

        job->done(job);
    }
}

void txnlog_thread_close_log(struct txnlog_thread *t)
{
    ASSERT(!t->is_closed);
    t->is_closed = true;
}

void txnlog_thread_open_log(struct txnlog_thread *t)
{
    ASSERT(t->is_closed);
    t->is_closed = false;
}

void txnlog_thread_progress(struct txnlog_thread *t, struct txnlog_progress *out)
{
    pthread_mutex_lock(&t->lock);
    *out = t->progress;
    pthread_mutex_unlock(&t->lock);
}

size_t txnlog_thread_backlog(struct txnlog_thread *t)
{
    size_t bytes;

    pthread_mutex_lock(&t->lock);
    bytes = t->backlog;
    pthread_mutex_unlock(&t->lock);
    return bytes;
}

/* The log failed: what waited behind it is not done. */
static void leave_jobs(struct txnlog_thread *t)
{
    struct list *item;

    list_for_each (item, &t->jobs) {
        txn_batch_fini(&container_of(item, struct log_job, link)->before);
    }
    list_splice(&t->done, &t->jobs);
}

void txnlog_thread_stop(struct txnlog_thread *t)
{
    if (t == NULL) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    leave_jobs(t);
    txnlog_thread_settle(t);
    txnlog_close(t->log);
    txn_batch_fini(&t->waiting);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    free(t);
}

void txnlog_thread_warn_above(struct txnlog_thread *t, int64_t ms)
{
    atomic_store(&t->warn_above_ms, ms);
}
