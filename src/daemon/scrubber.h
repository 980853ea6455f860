/* SPDX-License-Identifier: Apache-2.0 */
/* scrubber.h - logs and snapshots are read again while the server runs, slowly, on the snapshot
 * thread (store/scrub.h).
 *
 *   RESTING --scrub.interval--> READING --the round is over--> RESTING
 *                               |     ^
 *                        damage |     | the damaged file is aside, or no start needs it
 *                               v     |
 *                               MENDING
 *
 * Damage is healed from memory: the server has the tree that the files stand for, so it takes a
 * snapshot, and a new log begins behind it. Then the file is put aside, and learners get nothing
 * from it any more. */
#ifndef PAWL_DAEMON_SCRUBBER_H
#define PAWL_DAEMON_SCRUBBER_H

#include <pthread.h>
#include <uv.h>

#include "store/scrub.h"

struct host;

enum scrubber_state { SCRUBBER_RESTING, SCRUBBER_READING, SCRUBBER_MENDING };

/* What the thread has found, or done. */
struct scrubber_answer {
    bool is_there;
    bool is_of_mending;
    enum scrub_found found;
    struct scrub_damage damage;
    uint64_t round_bytes;
    int rc; /* of the mending */
    bool is_aside;
    char kept[FILE_NAME_BYTES];
};

struct scrubber {
    struct scrub_options options;
    struct scrub *scrub; /* the thread's; NULL: nothing is scrubbed */
    uv_timer_t timer;
    size_t slice_bytes;
    enum scrubber_state state;
    bool is_asked; /* the thread has not answered yet */
    int64_t began_ms;
    uint64_t n_damages; /* in this round */
    struct scrub_damage damage;
    uint64_t n_snapshots;  /* finished ones when it was found */
    int64_t wanted_ms;     /* when a snapshot was asked for */
    int64_t known_zxid;    /* for the thread, before it is asked */
    int64_t snapshot_zxid; /* the same, when mending */

    pthread_mutex_t lock; /* guards answer */
    struct scrubber_answer answer;
};

/* When the threads run. Does nothing where there are no folders. */
void scrubber_start(struct host *h);

/* The snapshot thread has reported something, perhaps to us. */
void scrubber_look(struct host *h);

/* When the thread has ended. */
void scrubber_fini(struct scrubber *s);

#endif
