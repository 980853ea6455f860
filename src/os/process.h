/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - which process, and whether it still runs.
 *
 * A process id alone is given out again. With the time at which the process started, the pid
 * namespace in which the id counts and the boot of the machine it names one process for ever. */
#ifndef PAWL_OS_PROCESS_H
#define PAWL_OS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { BOOT_ID_BYTES = 37 };

struct process_id {
    char boot[BOOT_ID_BYTES]; /* "-": not known */
    uint64_t pid_namespace;   /* inode; 0: not known */
    int64_t pid;              /* 0: not known */
    uint64_t start;           /* clock ticks since the boot; 0: may not be seen */
};

enum process_fate {
    PROCESS_RUNS,
    PROCESS_ENDED,
    PROCESS_HIDDEN, /* another namespace, or no /proc: cannot be told from here */
};

/* The calling process, and the one that has this id in our namespace. */
void process_self(struct process_id *out);
void process_find(int64_t pid, struct process_id *out);

/* Whether its times and ours are of one clock. */
bool process_is_of_this_boot(const struct process_id *p);

/* One that waits to be reaped has ended. */
enum process_fate process_look(const struct process_id *p);

#endif
