/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - a process beside `pawl` that runs the command, and ends it while that is still ours
 * to decide.
 *
 *   pawl (holds the lock)  --- orders: run, certain until, signal --->  watchdog  --- fork, exec
 * ---> command
 *                          <-- reports: started, ended -------------- and what it starts
 *
 * It is told again and again until when the lock is certainly ours, and needs nobody for what
 * follows: when that time comes near the command gets SIGTERM, and before it is over everything
 * that the command has started gets SIGKILL. That pawl was killed, stopped or cut off makes no
 * difference: the time just comes near. If the watchdog is killed, the command gets SIGKILL from
 * the kernel, and pawl ends what is left of it; if it is stopped, pawl kills it in time.
 *
 *         run               time comes near         time is nearly over
 *   IDLE -----> RUNNING ----------------> WARNED ----------------------> ENDED
 *                  |                        |     (or all have ended)      ^
 *                  +------------------------+------------------------------+ */
#ifndef PAWL_CLI_WATCHDOG_H
#define PAWL_CLI_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli;

enum { WATCHDOG_NODE_BYTES = 256 };

enum watchdog_order_kind { ORDER_RUN = 1, ORDER_UNTIL, ORDER_SIGNAL };

struct watchdog_order {
    enum watchdog_order_kind kind;
    int signal_number;
    int64_t until_ms;               /* by clock_boot_ms(): the lock is ours until then */
    int64_t warn_ms, end_ms;        /* so long before it SIGTERM and SIGKILL are sent */
    uint64_t token;                 /* ORDER_RUN: for the command's environment */
    char node[WATCHDOG_NODE_BYTES]; /* what follows the lock's path in its node's */
};

enum watchdog_report_kind {
    REPORT_STARTED = 1,
    REPORT_NOT_STARTED,
    REPORT_TOO_LATE, /* the time of ORDER_RUN was nearly over: nothing was run */
    REPORT_LEFT,
    REPORT_ENDED
};

struct watchdog_report {
    enum watchdog_report_kind kind;
    int number;   /* pid; errno; ...; status as waitpid() gives it */
    bool by_time; /* REPORT_ENDED: the watchdog has ended it */
};

struct watchdog {
    pid_t pid;
    int orders_fd, reports_fd;
};

struct watchdog_options {
    char **command;
    const char *lock_path; /* for its environment */
    const struct cli *cli; /* for its environment, too */
    bool waits_for_all;    /* not only for the command, also for what it leaves behind */
};

/* Forks: while there are no threads yet. False: errno. */
bool watchdog_start(struct watchdog *w, const struct watchdog_options *options);

/* Does not block. False: it was not taken, because it is gone, or stopped and has many unread. */
bool watchdog_order(const struct watchdog *w, const struct watchdog_order *order);
bool watchdog_report(const struct watchdog *w, struct watchdog_report *out);

/* Ends it with SIGKILL, and with it the command if that still runs. */
void watchdog_stop(struct watchdog *w);

#endif
