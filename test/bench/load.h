/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - the load generator's engine: connections, the loop, the measured window.
 *
 * A mode (reads, locks, ...) says what is asked and what a right answer looks like; the engine
 * moves the bytes, checks that replies come in order, and counts what falls into the window. One
 * thread does all of it: a second one would take the server's core on the machines this runs on. */
#ifndef PAWL_BENCH_LOAD_H
#define PAWL_BENCH_LOAD_H

#include <stdint.h>
#include <sys/types.h>

#include "conn.h"
#include "hist.h"
#include "util.h"
#include "wire.h"

struct options {
    struct addresses to;
    int n_pids; /* of the servers, to measure their CPU; 0: do not */
    int pids[SERVERS_MAX];
    int connections, outstanding;
    int write_percent;
    int nodes, data_bytes;
    int locks, contenders;
    long znodes;
    double warmup_s, seconds, max_seconds;
    long ops;                 /* ends after so many; 0: by the clock */
    const char *snapshot_dir; /* tell requests apart that met a snapshot being written there */
    int snapshots;            /* how many of them to wait for */
    const char *path;         /* what first-answer reads */
    int victim, signal;       /* what gap does to whom */
    const char *log;          /* where first-answer sends the server's output */
    char **command;           /* what first-answer starts */
};

enum phase { PHASE_WARMUP, PHASE_MEASURE, PHASE_DONE };

struct load;

struct mode {
    const char *name;
    const char *does;
    /* Blocking, on open connections: creates the nodes it needs. */
    void (*setup)(struct load *l);
    /* Sends the first requests. */
    void (*start)(struct load *l);
    void (*reply)(struct load *l, struct conn *c, const struct reply *r);
    /* A watch event; NULL: none may come. */
    void (*event)(struct load *l, struct conn *c);
    /* For what is not a loop on connections; then nothing else is set. */
    int (*whole)(const struct options *o);
};

/* What the server's folder says about snapshots being written, by inotify. */
struct snapshot_watch {
    int fd;
    int active;
    int n_done;
    uint64_t began_ns, ended_ns, busy_ns;
};

struct load {
    const struct options *options;
    const struct mode *mode;
    struct conn *conns;
    int n_conns;
    int epoll_fd;
    uint64_t now_ns; /* when the batch being handled was read */

    enum phase phase;
    uint64_t begin_ns, window_ns, end_ns;
    uint64_t server_cpu_ns, own_cpu_ns; /* at the start of the window, then of the window */
    uint64_t ops;
    uint64_t busy_ns; /* what `ops` is to be divided by, if not the window */
    struct hist latency;
    struct hist latency_snapshot; /* of those that overlapped a snapshot */
    struct snapshot_watch snapshot;

    void *state; /* the mode's own */
};

extern const struct mode mode_reads, mode_writes, mode_mix, mode_churn, mode_locks, mode_watch,
    mode_znodes, mode_idle, mode_first_answer, mode_gap, mode_first_write;

/* Runs `mode` from connecting to the printed result. 0 or dies. */
int load_run(const struct mode *mode, const struct options *options, int n_conns);

/* One operation that was sent at `sent_ns` is done. Counts only inside the window. */
static inline void load_count(struct load *l, uint64_t sent_ns)
{
    uint64_t took_ns = l->now_ns - sent_ns;

    if (l->phase != PHASE_MEASURE) {
        return;
    }
    l->ops++;
    if (l->snapshot.active || sent_ns < l->snapshot.ended_ns) {
        hist_record(&l->latency_snapshot, took_ns);
    } else {
        hist_record(&l->latency, took_ns);
    }
}

#endif
