/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/snapshot_thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "os/clock.h"
#include "os/thread.h"
#include "pawl/error.h"
#include "store/purge.h"
#include "store/recovery.h"
#include "store/snapshot_walk.h"

enum { PAUSE_FACTOR = 2, PAUSE_MAX_US = 100000 };

enum job_kind { JOB_BEGIN, JOB_CHUNK, JOB_FINISH, JOB_PURGE, JOB_CALL };

struct job {
    struct list link;
    enum job_kind kind;
    int64_t zxid;
    uint64_t digest;
    struct snapshot_chunk *chunk;
    void (*call)(void *arg);
    void *arg;
};

struct snapshot_thread {
    struct snapshot_thread_options options;
    struct snapshot_file *file; /* the thread's while it is busy, like the next two */
    int64_t zxid;
    int64_t began_ms;
    _Atomic bool is_urgent;
    const struct log_target *log_target;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    pthread_cond_t idle; /* no job runs any more */
    bool busy;           /* one does; `file` is the thread's then */
    bool giving_up;
    struct list jobs;
    size_t backlog;
    bool walk_waits; /* until there is less of it */
    bool stopping;
    struct snapshot_progress progress;
};

static void snapshot_thread_push(struct snapshot_thread *t, struct job job)
{
    struct job *copy = must_alloc(sizeof(*copy));

    *copy = job;
    pthread_mutex_lock(&t->lock);
    list_push_back(&t->jobs, &copy->link);
    t->backlog += job.chunk == NULL ? 0 : job.chunk->len;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void snapshot_thread_begin(struct snapshot_thread *t, int64_t zxid)
{
    snapshot_thread_push(t, (struct job){.kind = JOB_BEGIN, .zxid = zxid});
}

void snapshot_thread_write(struct snapshot_thread *t, struct list *chunks)
{
    struct list *item;

    while ((item = list_pop_front(chunks)) != NULL) {
        snapshot_thread_push(
            t, (struct job){.kind = JOB_CHUNK,
                            .chunk = container_of(item, struct snapshot_chunk, link)});
    }
}

void snapshot_thread_finish(struct snapshot_thread *t, uint64_t digest)
{
    snapshot_thread_push(t, (struct job){.kind = JOB_FINISH, .digest = digest});
}

void snapshot_thread_purge(struct snapshot_thread *t)
{
    snapshot_thread_push(t, (struct job){.kind = JOB_PURGE});
}

void snapshot_thread_hurry(struct snapshot_thread *t, bool hurry)
{
    atomic_store_explicit(&t->is_urgent, hurry, memory_order_relaxed);
}

void snapshot_thread_call(struct snapshot_thread *t, void (*fn)(void *arg), void *arg)
{
    snapshot_thread_push(t, (struct job){.kind = JOB_CALL, .call = fn, .arg = arg});
}

static void snapshot_thread_report(struct snapshot_thread *t, int rc)
{
    pthread_mutex_lock(&t->lock);
    t->progress.n_finished++;
    t->progress.took_ms = clock_monotonic_ms() - t->began_ms;
    t->progress.err = rc;
    if (rc != PAWL_OK) {
        snprintf(t->progress.error, sizeof(t->progress.error), "%s",
                 disk_last_error(t->options.snapshot_disk));
    }
    pthread_mutex_unlock(&t->lock);
    t->options.wake(t->options.arg);
}

static void snapshot_thread_failed(struct snapshot_thread *t, int rc)
{
    snapshot_file_abort(t->file);
    t->file = NULL;
    snapshot_thread_report(t, rc);
}

static void snapshot_thread_do_begin(struct snapshot_thread *t, int64_t zxid)
{
    int rc;

    ASSERT(t->file == NULL);
    pthread_mutex_lock(&t->lock); /* whoever gives it up reports the time it took */
    t->began_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&t->lock);
    t->zxid = zxid;
    log_info("Snapshotting: 0x%" PRIx64 " to %s/snapshot.%" PRIx64, (uint64_t)zxid, STORE_FOLDER,
             (uint64_t)zxid);
    rc = snapshot_file_begin(t->options.snapshot_disk, &t->options.file, zxid, &t->file);
    if (rc != PAWL_OK) {
        t->file = NULL;
        snapshot_thread_report(t, rc);
    }
}

static void snapshot_thread_do_finish(struct snapshot_thread *t, uint64_t digest)
{
    int rc;

    if (t->file == NULL) { /* failed earlier, and said so */
        return;
    }
    rc = snapshot_file_finish(t->file, digest);
    t->file = NULL;
    if (rc == PAWL_OK) {
        log_info("Snapshot taken in %" PRId64 " ms", clock_monotonic_ms() - t->began_ms);
        pthread_mutex_lock(&t->lock);
        t->progress.zxid = t->zxid;
        t->progress.written_s = clock_wall_ms() / 1000;
        pthread_mutex_unlock(&t->lock);
    }
    snapshot_thread_report(t, rc);
}

/* Before they are: who looks for something in them gets it in another way from now on. */
static void report_purged(struct snapshot_thread *t, int64_t first_log)
{
    pthread_mutex_lock(&t->lock);
    t->progress.first_log = first_log;
    pthread_mutex_unlock(&t->lock);
    t->options.wake(t->options.arg);
}

static int find_and_purge(struct snapshot_thread *t, struct purge_report *r)
{
    struct disk *snapshots = t->options.snapshot_disk, *logs = t->options.log_disk;
    struct purge_plan plan;
    int rc = purge_find(snapshots, logs, STORE_FOLDER, t->options.purge_keep, &plan);

    if (rc == PAWL_OK) {
        report_purged(t, plan.log);
        rc = purge_run(snapshots, logs, STORE_FOLDER, &plan, r);
    }
    return rc;
}

static void purge(struct snapshot_thread *t)
{
    struct purge_report r = {0};
    int rc;

    log_info("Purge task started.");
    rc = find_and_purge(t, &r);
    if (rc != PAWL_OK) {
        log_warn("Purge task failed: %s", disk_last_error(t->options.snapshot_disk));
        return;
    }
    log_info("Purge task completed. Removed %zu snapshots and %zu logs.", r.snapshots, r.logs);
}

static void do_job(struct snapshot_thread *t, const struct job *job)
{
    int rc;

    switch (job->kind) {
    case JOB_BEGIN:
        snapshot_thread_do_begin(t, job->zxid);
        break;
    case JOB_CHUNK:
        if (t->file != NULL) {
            rc = snapshot_file_write(t->file, job->chunk->data, job->chunk->len);
            if (rc != PAWL_OK) {
                snapshot_thread_failed(t, rc);
            }
        }
        break;
    case JOB_FINISH:
        snapshot_thread_do_finish(t, job->digest);
        break;
    case JOB_PURGE:
        purge(t);
        break;
    case JOB_CALL:
        job->call(job->arg);
        t->options.wake(t->options.arg);
        break;
    }
}

/* After each chunk as long again as it took, and once more: the log shares the disk, and a client
 * waits for the log but nobody for a snapshot. */
static void give_way(struct snapshot_thread *t, int64_t took_us)
{
    int64_t pause_us =
        took_us * PAUSE_FACTOR > PAUSE_MAX_US ? PAUSE_MAX_US : took_us * PAUSE_FACTOR;
    struct timespec until;

    if (atomic_load_explicit(&t->is_urgent, memory_order_relaxed)) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(pause_us * 1000);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&t->lock);
    while (!t->stopping && !t->giving_up &&
           pthread_cond_timedwait(&t->changed, &t->lock, &until) == 0) {
    }
    pthread_mutex_unlock(&t->lock);
}

static struct job *next_job(struct snapshot_thread *t)
{
    struct list *item;

    pthread_mutex_lock(&t->lock);
    while (list_empty(&t->jobs) && !t->stopping) {
        pthread_cond_wait(&t->changed, &t->lock);
    }
    item = t->stopping ? NULL : list_pop_front(&t->jobs);
    t->busy = item != NULL;
    pthread_mutex_unlock(&t->lock);
    return item == NULL ? NULL : container_of(item, struct job, link);
}

static void free_job(struct snapshot_thread *t, struct job *job)
{
    bool may_go_on = false;

    if (job->chunk != NULL) {
        pthread_mutex_lock(&t->lock);
        ASSERT(t->backlog >= job->chunk->len);
        t->backlog -= job->chunk->len;
        may_go_on = t->walk_waits && t->backlog <= t->options.backlog_bytes / 2;
        t->walk_waits = t->walk_waits && !may_go_on;
        pthread_mutex_unlock(&t->lock);
        snapshot_chunk_free(job->chunk);
    }
    free(job);
    if (may_go_on) {
        t->options.wake(t->options.arg);
    }
}

static void end_job(struct snapshot_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->busy = false;
    pthread_cond_broadcast(&t->idle);
    pthread_mutex_unlock(&t->lock);
}

static void *snapshot_thread_run(void *arg)
{
    struct snapshot_thread *t = arg;
    struct job *job;

    thread_set_name("pawl-snapshot");
    logging_use(t->log_target);
    while ((job = next_job(t)) != NULL) {
        int64_t began_us = clock_monotonic_us();
        bool is_chunk = job->kind == JOB_CHUNK;

        do_job(t, job);
        free_job(t, job);
        if (is_chunk) {
            give_way(t, clock_monotonic_us() - began_us);
        }
        end_job(t);
    }
    return NULL;
}

struct snapshot_thread *snapshot_thread_start(const struct snapshot_thread_options *options)
{
    struct snapshot_thread *t = must_zalloc(sizeof(*t));
    pthread_condattr_t monotonic;
    int rc;

    ASSERT(options->backlog_bytes > 0);
    t->options = *options;
    t->log_target = logging_used();
    list_init(&t->jobs);
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&t->idle, NULL);
    rc = pthread_create(&t->thread, NULL, snapshot_thread_run, t);
    ASSERT(rc == 0);
    return t;
}

/* With the lock held: takes what concerns a file out of the queue. */
static void take_file_jobs(struct snapshot_thread *t, struct list *out)
{
    struct list *item, *next;

    for (item = t->jobs.next; item != &t->jobs; item = next) {
        enum job_kind kind = container_of(item, struct job, link)->kind;

        next = item->next;
        if (kind == JOB_BEGIN || kind == JOB_CHUNK || kind == JOB_FINISH) {
            list_remove(item);
            list_push_back(out, item);
        }
    }
}

void snapshot_thread_give_up(struct snapshot_thread *t)
{
    struct list dropped, *item;
    bool any;

    list_init(&dropped);
    pthread_mutex_lock(&t->lock);
    t->giving_up = true;
    pthread_cond_signal(&t->changed);
    take_file_jobs(t, &dropped);
    while (t->busy) {
        pthread_cond_wait(&t->idle, &t->lock);
    }
    take_file_jobs(t, &dropped);
    any = t->file != NULL || !list_empty(&dropped);
    snapshot_file_abort(t->file);
    t->file = NULL;
    t->giving_up = false;
    pthread_mutex_unlock(&t->lock);
    while ((item = list_pop_front(&dropped)) != NULL) {
        free_job(t, container_of(item, struct job, link));
    }
    if (any) {
        snapshot_thread_report(t, PAWL_OK);
    }
}

bool snapshot_thread_keeps_up(struct snapshot_thread *t)
{
    bool keeps_up;

    pthread_mutex_lock(&t->lock);
    keeps_up = t->backlog < t->options.backlog_bytes;
    t->walk_waits = !keeps_up;
    pthread_mutex_unlock(&t->lock);
    return keeps_up;
}

void snapshot_thread_progress(struct snapshot_thread *t, struct snapshot_progress *out)
{
    pthread_mutex_lock(&t->lock);
    *out = t->progress;
    pthread_mutex_unlock(&t->lock);
}

void snapshot_thread_stop(struct snapshot_thread *t)
{
    struct list *item;

    if (t == NULL) {
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    while ((item = list_pop_front(&t->jobs)) != NULL) {
        free_job(t, container_of(item, struct job, link));
    }
    snapshot_file_abort(t->file);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    pthread_cond_destroy(&t->idle);
    free(t);
}
