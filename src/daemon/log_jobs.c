/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "daemon/dynamic_files.h"
#include "daemon/snapshot_thread.h"
#include "daemon/txnlog_thread.h"
#include "pawl/error.h"
#include "store/epoch.h"
#include "store/log_range.h"
#include "store/received.h"
#include "store/txnlog_truncate.h"
#include "wire/packet.h"

static int log_failed(struct log_result *result, struct disk *disk, int rc)
{
    if (rc != PAWL_OK && result->error[0] == '\0') {
        snprintf(result->error, sizeof(result->error), "%s", disk_last_error(disk));
    }
    return rc;
}

/* ---- in one go ---- */

struct log_task {
    struct log_job job;
    struct log_jobs *jobs;
    const char *file;
    int64_t number; /* an epoch or a zxid */
    struct quorum_config list;
    bool has_list;
    log_done_fn done;
    void *arg;
    struct log_result result;
};

static void log_task_done(struct log_job *job)
{
    struct log_task *task = container_of(job, struct log_task, job);

    task->result.rc = job->rc;
    task->done(task->arg, &task->result);
    quorum_config_fini(&task->list);
    free(task);
}

static void log_task_start(struct log_jobs *jobs, const struct log_task *task,
                           int (*run)(struct log_job *job, struct txnlog *log))
{
    struct log_task *copy = must_alloc(sizeof(*copy));

    *copy = *task;
    copy->jobs = jobs;
    copy->job.run = run;
    copy->job.done = log_task_done;
    txnlog_thread_do(jobs->thread, &copy->job);
}

/* What it waits for is done before it. */
static int run_flush(struct log_job *job, struct txnlog *log)
{
    (void)job;
    (void)log;
    return PAWL_OK;
}

void log_flush(struct log_jobs *jobs, log_done_fn done, void *arg)
{
    log_task_start(jobs, &(struct log_task){.done = done, .arg = arg}, run_flush);
}

static int run_epoch(struct log_job *job, struct txnlog *log)
{
    struct log_task *task = container_of(job, struct log_task, job);
    struct disk *disk = task->jobs->data_disk;

    (void)log;
    return log_failed(&task->result, disk,
                      epoch_save(disk, STORE_FOLDER, task->file, task->number));
}

void log_save_epoch(struct log_jobs *jobs, const char *file, int64_t epoch, log_done_fn done,
                    void *arg)
{
    log_task_start(jobs,
                   &(struct log_task){.file = file, .number = epoch, .done = done, .arg = arg},
                   run_epoch);
}

static int lists_failed(struct log_task *task, int rc)
{
    if (rc != PAWL_OK) {
        snprintf(task->result.error, sizeof(task->result.error), "%s",
                 dynamic_files_error(task->jobs->lists));
    }
    return rc;
}

static int run_next_list(struct log_job *job, struct txnlog *log)
{
    struct log_task *task = container_of(job, struct log_task, job);
    struct dynamic_files *files = task->jobs->lists;

    (void)log;
    return lists_failed(task, task->has_list ? dynamic_files_propose(files, &task->list)
                                             : dynamic_files_forget(files));
}

static int run_active_list(struct log_job *job, struct txnlog *log)
{
    struct log_task *task = container_of(job, struct log_task, job);

    (void)log;
    return lists_failed(task,
                        dynamic_files_activate(task->jobs->lists, &task->list, task->jobs->self));
}

void log_save_next_list(struct log_jobs *jobs, const struct quorum_config *next, log_done_fn done,
                        void *arg)
{
    struct log_task task = {.has_list = next != NULL, .done = done, .arg = arg};

    if (next != NULL) {
        quorum_config_copy(&task.list, next);
    }
    log_task_start(jobs, &task, run_next_list);
}

void log_save_active_list(struct log_jobs *jobs, const struct quorum_config *list, log_done_fn done,
                          void *arg)
{
    struct log_task task = {.has_list = true, .done = done, .arg = arg};

    quorum_config_copy(&task.list, list);
    log_task_start(jobs, &task, run_active_list);
}

/* A snapshot of what is to be dropped must not come to be afterwards. */
static void keep_snapshots_away(struct log_jobs *jobs)
{
    if (jobs->snapshots != NULL) {
        snapshot_thread_give_up(jobs->snapshots);
    }
}

/* What would be left: only where that is a tree is anything cut. */
static int load_until(struct log_task *task)
{
    struct log_jobs *jobs = task->jobs;
    struct recovery_options options = jobs->recovery;
    struct log_result *result = &task->result;
    int rc;

    options.accept_loss = false; /* that was for the start */
    options.read_only = true;
    options.is_cut = true;
    options.cut_zxid = task->number;
    rc = recovery_load(jobs->data_disk, jobs->log_disk, &options, &result->tree, &result->report);
    if (rc != PAWL_OK) {
        snprintf(result->error, sizeof(result->error), "%s", result->report.error);
    }
    return rc;
}

static int cut_log(struct log_task *task, struct txnlog *log)
{
    struct log_jobs *jobs = task->jobs;
    int rc = txnlog_truncate(jobs->log_disk, jobs->data_disk, STORE_FOLDER,
                             jobs->recovery.limit_bytes, task->number);

    if (rc == PAWL_OK) {
        txnlog_forget(log, task->number);
        return rc;
    }
    tree_free(task->result.tree);
    task->result.tree = NULL;
    if (rc == PAWL_ERR_NOT_FOUND) {
        task->result.is_untouched = true;
        snprintf(task->result.error, sizeof(task->result.error),
                 "neither a log nor a snapshot ends with the transaction asked for");
    }
    return log_failed(&task->result, jobs->log_disk, rc);
}

static int run_truncate(struct log_job *job, struct txnlog *log)
{
    struct log_task *task = container_of(job, struct log_task, job);
    int rc;

    keep_snapshots_away(task->jobs);
    rc = load_until(task);
    task->result.is_untouched = rc != PAWL_OK;
    return rc == PAWL_OK ? cut_log(task, log) : rc;
}

void log_truncate(struct log_jobs *jobs, int64_t zxid, log_done_fn done, void *arg)
{
    log_task_start(jobs, &(struct log_task){.number = zxid, .done = done, .arg = arg},
                   run_truncate);
}

/* ---- reading ---- */

struct log_reading {
    struct log_job job;
    struct log_jobs *jobs;
    int64_t first, last;
    struct log_range *range; /* the thread's, like the next three while the job is under way */
    struct strbuf packets;
    bool is_last;
    struct log_result result;
    log_piece_fn piece;
    void *arg;
    bool is_under_way;
    bool is_stopped;
};

static void put_packets(int64_t zxid, struct bytes payload, void *arg)
{
    struct strbuf *out = arg;
    struct packet proposal = {
        .type = PACKET_PROPOSAL, .zxid = zxid, .data = payload, .auth.count = -1};
    struct packet commit = {.type = PACKET_COMMIT, .zxid = zxid, .auth.count = -1};

    packet_write(out, &proposal);
    packet_write(out, &commit);
}

static int run_reading(struct log_job *job, struct txnlog *log)
{
    struct log_reading *r = container_of(job, struct log_reading, job);
    struct txnlog_reader_options options = {.folder = STORE_FOLDER,
                                            .limit_bytes = r->jobs->recovery.limit_bytes};
    int rc = PAWL_OK;

    (void)log;
    strbuf_clear(&r->packets);
    if (r->range == NULL) {
        rc = log_range_open(r->jobs->log_disk, &options, r->first, r->last, &r->range);
    }
    if (rc == PAWL_OK) {
        rc = log_range_read(r->range, LOG_PIECE_BYTES, put_packets, &r->packets, &r->is_last);
    }
    if (rc == PAWL_ERR_CORRUPT) {
        snprintf(r->result.error, sizeof(r->result.error), "%s", log_range_reason(r->range));
    }
    ASSERT(!r->packets.failed); /* out of memory */
    return log_failed(&r->result, r->jobs->log_disk, rc);
}

static void log_reading_free(struct log_reading *r)
{
    log_range_close(r->range);
    strbuf_fini(&r->packets);
    free(r);
}

static void log_reading_done(struct log_job *job)
{
    struct log_reading *r = container_of(job, struct log_reading, job);

    r->is_under_way = false;
    if (r->is_stopped) {
        log_reading_free(r);
        return;
    }
    r->result.rc = job->rc;
    r->piece(r->arg, strbuf_bytes(&r->packets), r->is_last || job->rc != PAWL_OK, &r->result);
}

struct log_reading *log_reading_start(struct log_jobs *jobs, int64_t first, int64_t last,
                                      log_piece_fn piece, void *arg)
{
    struct log_reading *r = must_zalloc(sizeof(*r));

    r->jobs = jobs;
    r->first = first;
    r->last = last;
    r->piece = piece;
    r->arg = arg;
    strbuf_init(&r->packets, STRBUF_NO_LIMIT);
    r->job.run = run_reading;
    r->job.done = log_reading_done;
    log_reading_next(r);
    return r;
}

void log_reading_next(struct log_reading *r)
{
    ASSERT(!r->is_under_way && !r->is_last && !r->is_stopped);
    r->is_under_way = true;
    txnlog_thread_do(r->jobs->thread, &r->job);
}

/* The files are closed on the thread that reads them. */
static int run_nothing(struct log_job *job, struct txnlog *log)
{
    (void)job;
    (void)log;
    return PAWL_OK;
}

void log_reading_stop(struct log_reading *r)
{
    ASSERT(!r->is_stopped);
    r->is_stopped = true;
    if (!r->is_under_way) {
        r->job.run = run_nothing; /* from within a piece its bytes are still lent */
        txnlog_thread_do(r->jobs->thread, &r->job);
    }
}

/* ---- a spool ---- */

struct log_spool {
    struct log_job begin;
    struct log_job end;
    struct log_jobs *jobs;
    int64_t zxid;
    size_t backlog;
    bool has_failed;
    struct received *received; /* the thread's, like the next one until the end is done */
    int rc;
    log_done_fn done; /* NULL: given up */
    void *arg;
    struct log_result result;
};

struct spool_piece {
    struct log_job job;
    struct log_spool *spool;
    size_t len;
    uint8_t data[];
};

static int run_spool_begin(struct log_job *job, struct txnlog *log)
{
    struct log_spool *s = container_of(job, struct log_spool, begin);
    struct received_options options = {
        .snapshot_disk = s->jobs->data_disk,
        .log_disk = s->jobs->log_disk,
        .folder = STORE_FOLDER,
        .reading = {.tree = s->jobs->recovery.tree, .limit_bytes = s->jobs->recovery.limit_bytes}};

    (void)log;
    keep_snapshots_away(s->jobs);
    s->rc = received_begin(&options, s->zxid, &s->received);
    return log_failed(&s->result, s->jobs->data_disk, s->rc);
}

static void spool_begin_done(struct log_job *job)
{
    container_of(job, struct log_spool, begin)->has_failed = job->rc != PAWL_OK;
}

struct log_spool *log_spool_start(struct log_jobs *jobs, int64_t zxid)
{
    struct log_spool *s = must_zalloc(sizeof(*s));

    s->jobs = jobs;
    s->zxid = zxid;
    s->begin.run = run_spool_begin;
    s->begin.done = spool_begin_done;
    txnlog_thread_do(jobs->thread, &s->begin);
    return s;
}

static int run_spool_piece(struct log_job *job, struct txnlog *log)
{
    struct spool_piece *piece = container_of(job, struct spool_piece, job);
    struct log_spool *s = piece->spool;

    (void)log;
    if (s->rc == PAWL_OK) {
        s->rc = received_write(s->received, piece->data, piece->len);
    }
    return log_failed(&s->result, s->jobs->data_disk, s->rc);
}

static void spool_piece_done(struct log_job *job)
{
    struct spool_piece *piece = container_of(job, struct spool_piece, job);

    ASSERT(piece->spool->backlog >= piece->len);
    piece->spool->backlog -= piece->len;
    piece->spool->has_failed = job->rc != PAWL_OK;
    free(piece);
}

void log_spool_write(struct log_spool *s, struct bytes body)
{
    struct spool_piece *piece = must_alloc(sizeof(*piece) + body.len);

    memset(piece, 0, sizeof(*piece));
    piece->spool = s;
    piece->len = body.len;
    memcpy(piece->data, body.data, body.len);
    piece->job.run = run_spool_piece;
    piece->job.done = spool_piece_done;
    s->backlog += body.len;
    txnlog_thread_do(s->jobs->thread, &piece->job);
}

size_t log_spool_backlog(const struct log_spool *s)
{
    return s->backlog;
}

bool log_spool_has_failed(const struct log_spool *s)
{
    return s->has_failed;
}

static int spool_install(struct log_spool *s, struct txnlog *log)
{
    int rc = received_finish(s->received, &s->result.tree);

    s->received = NULL;
    if (rc == PAWL_OK) {
        txnlog_forget(log, s->zxid);
    }
    return log_failed(&s->result, s->jobs->data_disk, rc);
}

/* Until it is known to be a tree, and on disk, nothing is changed. */
static int spool_check(struct log_spool *s)
{
    struct snapshot_info info;
    int rc = s->rc == PAWL_OK ? received_check(s->received, &info) : s->rc;

    if (rc == PAWL_ERR_CORRUPT) {
        snprintf(s->result.error, sizeof(s->result.error), "%s", info.reason);
    }
    s->result.is_untouched = rc != PAWL_OK;
    return log_failed(&s->result, s->jobs->data_disk, rc);
}

static int run_spool_end(struct log_job *job, struct txnlog *log)
{
    struct log_spool *s = container_of(job, struct log_spool, end);
    int rc = s->done == NULL ? PAWL_OK : spool_check(s);

    if (rc == PAWL_OK && s->done != NULL) {
        rc = spool_install(s, log);
    }
    received_abort(s->received);
    s->received = NULL;
    return rc;
}

static void spool_end_done(struct log_job *job)
{
    struct log_spool *s = container_of(job, struct log_spool, end);

    ASSERT(s->backlog == 0);
    received_abort(s->received); /* it was never run */
    s->result.rc = job->rc;
    if (s->done != NULL) {
        s->done(s->arg, &s->result);
    }
    free(s);
}

void log_spool_finish(struct log_spool *s, log_done_fn done, void *arg)
{
    s->done = done;
    s->arg = arg;
    s->end.run = run_spool_end;
    s->end.done = spool_end_done;
    txnlog_thread_do(s->jobs->thread, &s->end);
}

void log_spool_stop(struct log_spool *s)
{
    if (s != NULL) {
        log_spool_finish(s, NULL, NULL);
    }
}
