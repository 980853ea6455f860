/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_node.h - the inside of a node that stays (<pawl/group.h>).
 *
 *   persistent_node.c    its life, and what the user calls
 *   persistent_drive.c   how it is made again whenever it is gone
 *   persistent_touch.c   what keeps a node of PAWL_MODE_TTL alive */
#ifndef PAWL_RECIPES_NODE_PERSISTENT_NODE_H
#define PAWL_RECIPES_NODE_PERSISTENT_NODE_H

#include "client/beacon.h"
#include "pawl/group.h"
#include "recipes/core/ask.h"

struct pawl_persistent_node {
    struct recipe r;
    struct pawl_persistent_options o;
    char *base, *data;
    size_t data_len;
    char *acl_store;
    char *path;     /* as the server named it; NULL: never made */
    char *touch;    /* of PAWL_MODE_TTL */
    bool there;     /* made or found, and nothing to the contrary heard since */
    bool unwritten; /* the node does not have our data yet */
    bool busy;      /* a request is under way */
    bool uncertain; /* not `there`, but a creation whose answer was lost may have made it */
    bool touching;
    int closed; /* why nothing is tried any more */
    int failed; /* why it cannot be made */
    enum pawl_persistent_state told;
    int told_err;
    struct note note;
    struct timer again, touch_timer;
    struct observer observer;
    struct list waiting; /* struct ask */
    struct step_watch watch;
};

/* ---- modes ---- */

static inline enum pawl_mode persistent_without_sequence(enum pawl_mode mode)
{
    return mode == PAWL_MODE_SEQUENTIAL             ? PAWL_MODE_PERSISTENT
           : mode == PAWL_MODE_EPHEMERAL_SEQUENTIAL ? PAWL_MODE_EPHEMERAL
           : mode == PAWL_MODE_TTL_SEQUENTIAL       ? PAWL_MODE_TTL
                                                    : mode;
}

static inline bool persistent_is_sequential(enum pawl_mode mode)
{
    return persistent_without_sequence(mode) != mode;
}

static inline bool persistent_is_ephemeral(enum pawl_mode mode)
{
    return persistent_without_sequence(mode) == PAWL_MODE_EPHEMERAL;
}

static inline bool persistent_is_ttl(enum pawl_mode mode)
{
    return persistent_without_sequence(mode) == PAWL_MODE_TTL;
}

/* ---- persistent_drive.c ---- */

/* Does what is to be done next, if nothing is under way. A step. */
void persistent_go_on(void *node);
void persistent_state_changed(enum pawl_state state, void *node);

enum pawl_persistent_state persistent_state(const struct pawl_persistent_node *n);
void persistent_tell(struct pawl_persistent_node *n); /* the state may have changed */
void persistent_run_note(void *node);
void persistent_event(const struct pawl_event *event, void *node); /* of its watch */

/* Freed: the watch and the node go. */
void persistent_let_go(struct pawl_persistent_node *n);

/* ---- persistent_touch.c ---- */

void persistent_touch(void *node);
void persistent_touch_later(struct pawl_persistent_node *n);

#endif
