/* SPDX-License-Identifier: Apache-2.0 */
/* item.h - something to tell the application: an answer, an event, a change of state.
 *
 * The core lines them up in the order in which the server sent them; the I/O half hands each to
 * whoever waits for it. */
#ifndef PAWL_CLIENT_ITEM_H
#define PAWL_CLIENT_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "pawl/types.h"

struct step_watch;

enum item_kind { ITEM_CALL, ITEM_EVENT, ITEM_STATE, ITEM_NOTE };

struct item {
    struct list link;
    enum item_kind kind;
};

struct event_target {
    pawl_event_fn fn;
    void *arg;
    uint32_t strip;          /* this many bytes of the path are our chroot and namespace */
    struct step_watch *step; /* a recipe's: told inside the engine; NULL: the application's */
    unsigned n_ended;        /* in an event: how many of the recipe's watches end with it */
};

/* One event for all that watch. */
struct event_item {
    struct item item;
    enum pawl_event_type type;
    enum pawl_state state;
    int64_t zxid;
    char *path; /* behind the targets */
    size_t n_targets;
    struct event_target targets[];
};

struct state_item {
    struct item item;
    enum pawl_state state;
};

#endif
