/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - the inside of <pawl/queue.h>: what its three files share.
 *
 * queue.c           the folder, its listing, and which node comes next
 * queue_consume.c   one node: locked, read, taken, consumed, deleted or put again
 * queue_put.c       puts, room for them, removal by id */
#ifndef PAWL_RECIPES_QUEUE_QUEUE_H
#define PAWL_RECIPES_QUEUE_QUEUE_H

#include "pawl/queue.h"
#include "recipes/core/recipe.h"
#include "recipes/queue/queue_names.h"
#include "recipes/queue/queue_refused.h"

enum { QUEUE_OWNER_BYTES = 320, QUEUE_PAUSE_MS = 1000 };

/* The node that is being consumed.
 *
 *   without locks          +------ gone, or it failed ------+
 *                          |               |                |
 *   NONE ---> READING ---> TAKING ---> CONSUMING ---> ENDING ---> NONE
 *
 *   with locks       the item may still be there: its lock must be known to be gone
 *             +------------+---------------------------+------> UNLOCKING ---> NONE
 *             |            |                           |
 *   NONE ---> LOCKING ---> READING ---> CONSUMING ---> ENDING ---> NONE
 *
 * ENDING: what was consumed is deleted, what was refused is put again. */
enum job_state {
    JOB_NONE,
    JOB_LOCKING,
    JOB_READING,
    JOB_TAKING,
    JOB_CONSUMING,
    JOB_ENDING,
    JOB_UNLOCKING,
    N_JOB_STATES
};

struct job {
    enum job_state state;
    char *path, *lock;  /* lock NULL: there is none to release */
    const char *name;   /* the last part of path */
    int64_t session_id; /* that the lock belongs to */
    struct strbuf data;
    size_t done;       /* the data before this were consumed */
    bool then_goes_on; /* UNLOCKING: the next one at once, and not after a pause */
    struct note note;
};

/* Puts wait in `waiting` for the folder and for room, then for their answer in `sent`. */
struct pawl_queue {
    struct recipe r;
    struct pawl_queue_options o;
    char *base, *lock_base;
    char owner[QUEUE_OWNER_BYTES]; /* data of our nodes; nobody else's are the same */
    bool ready;                    /* the folders are there */
    bool making;                   /* ... are being made */

    /* the listing */
    struct step_watch watch;
    bool listing, listed;
    bool dirty; /* it has changed since */
    struct queue_entry *entries;
    size_t n_entries, next, n_children;
    int n_since_listing;
    struct timer timer; /* the next one is due, or something failed and is tried again */

    /* nodes that others work on */
    size_t n_taken;
    size_t n_stuck; /* ... that could not be had */

    /* nodes that we have refused */
    struct refused refused;
    int64_t rest_ms; /* some were passed over that will be looked at then; 0: none */
    struct step_watch lock_watch;
    bool asking_locks;

    struct job job;

    struct list waiting, sent; /* struct put */
    size_t n_waiting, n_sent;
    uint64_t n_puts;
    struct list flushes; /* struct ask, of a struct flush */
};

/* ---- queue.c ---- */

void queue_next(struct pawl_queue *q); /* whatever there is to do now */
void queue_make(struct pawl_queue *q); /* the folders, again */

/* Something failed: everything again in a while, unless the client closes. */
void queue_failed(struct pawl_queue *q, int err);

/* ---- queue_consume.c ---- */

void job_init(struct pawl_queue *q);
void job_fini(struct pawl_queue *q);
void job_begin(struct pawl_queue *q, const char *name);

/* ---- queue_put.c ---- */

void puts_send(struct pawl_queue *q);            /* those there is room for */
void puts_cancel(struct pawl_queue *q, int err); /* those that wait */

#endif
