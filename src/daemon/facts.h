/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what only the machine can tell, for the words: sizes of folders, the host's name, open
 * files, memory.
 *
 * Looking takes time (a disk may hang), so the loop never does it: every second the snapshot thread
 * is asked to, and what it found goes to the member as an input. A word tells the last ones. A
 * server without a folder has no such thread and looks itself, at no disk. */
#ifndef PAWL_DAEMON_FACTS_H
#define PAWL_DAEMON_FACTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "server/server.h"

struct host;

struct facts_measured {
    int64_t data_bytes, log_bytes;
    int64_t n_open_files, max_open_files;
    int64_t memory_free_mb;
};

struct facts {
    struct server_facts known; /* the loop's; what does not change is filled in once */
    struct utsname system;     /* what strings of it point to, like the four below */
    char work_dir[512], data_dir[512], log_dir[512];
    struct strbuf membership;
    bool asked;      /* the thread has not answered yet */
    uint64_t n_seen; /* of n_measured */

    pthread_mutex_t lock; /* guards all below */
    struct facts_measured measured;
    uint64_t n_measured;
};

/* When all else of the host is open: tells the member, and goes on telling it. */
void facts_start(struct host *h);

/* The members, or where clients connect, are others now. Not from within a step. */
void facts_changed(struct host *h);

/* When the member is gone. */
void facts_fini(struct facts *f);

/* The snapshot thread has reported something, perhaps this. */
void facts_look(struct host *h);

#endif
