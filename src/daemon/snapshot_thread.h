/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_thread.h - the thread that writes snapshots, purges old files, and looks at the disk for
 * the loop. */
#ifndef PAWL_DAEMON_SNAPSHOT_THREAD_H
#define PAWL_DAEMON_SNAPSHOT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "store/snapshot_write.h"

struct snapshot_thread;

struct snapshot_thread_options {
    struct disk *snapshot_disk;
    struct disk *log_disk;
    struct snapshot_file_options file;
    size_t purge_keep;
    size_t backlog_bytes; /* from here on the walk waits */
    /* Called from the thread when a snapshot has been finished or has failed, when the walk may go
     * on, before logs are purged, and after a call. */
    void (*wake)(void *arg);
    void *arg;
};

struct snapshot_progress {
    uint64_t n_finished; /* grows by one with each snapshot */
    int64_t took_ms;     /* the last one */
    int64_t zxid;        /* of the last one that was written whole */
    int64_t written_s;   /* when, since 1970; 0: none was */
    int64_t first_log;   /* logs from before this zxid are purged, or about to be; 0: none */
    int err;             /* PAWL_OK, or a snapshot could not be written */
    char error[512];
};

struct snapshot_thread *snapshot_thread_start(const struct snapshot_thread_options *options);

void snapshot_thread_begin(struct snapshot_thread *t, int64_t zxid);
/* Takes all struct snapshot_chunk of `chunks`. */
void snapshot_thread_write(struct snapshot_thread *t, struct list *chunks);
void snapshot_thread_finish(struct snapshot_thread *t, uint64_t digest);
void snapshot_thread_purge(struct snapshot_thread *t);

/* Whether somebody waits for the end of the snapshot that is being written: then it does not give
 * way to the log. */
void snapshot_thread_hurry(struct snapshot_thread *t, bool hurry);

/* Something else that may take its time: called on the thread, then `wake`. */
void snapshot_thread_call(struct snapshot_thread *t, void (*fn)(void *arg), void *arg);

/* False: so much was handed over and is not written yet that the walk has to wait. It is woken when
 * half of that is written. */
bool snapshot_thread_keeps_up(struct snapshot_thread *t);
void snapshot_thread_progress(struct snapshot_thread *t, struct snapshot_progress *out);

/* From any thread: a snapshot that is not finished is given up; when this returns nothing of it
 * will come to be. It counts as finished, and nothing is wrong with it. */
void snapshot_thread_give_up(struct snapshot_thread *t);

/* Gives up a snapshot that is not finished. NULL is allowed. */
void snapshot_thread_stop(struct snapshot_thread *t);

#endif
