/* SPDX-License-Identifier: Apache-2.0 */
/* shared_value.h - a copy of a node's data, kept up to date by a watch: the inside of the shared
 * value.
 *
 *   LATENT --start--> STARTING (make the node, read it) --> STARTED
 *
 * The node is read with a watch; when that fires, or ends with its session, it is read again. While
 * there is no node the watch is one for its creation. The link's own recovery sets watches again
 * and tells of what changed meanwhile, so a reconnect needs nothing here. */
#ifndef PAWL_RECIPES_COUNTER_SHARED_VALUE_H
#define PAWL_RECIPES_COUNTER_SHARED_VALUE_H

#include "pawl/counter.h"
#include "recipes/core/ask.h"

enum value_state { VALUE_LATENT, VALUE_STARTING, VALUE_STARTED };

struct value_listener {
    struct list link;
    pawl_shared_value_fn fn;
    void *arg;
    uint64_t told; /* the serial number of what it knows */
    bool removed;  /* while it ran */
};

struct pawl_shared_value {
    struct recipe r;
    char *path;
    uint8_t *seed;
    size_t seed_len;
    enum value_state state;
    struct ask *starting;

    uint8_t *data;
    size_t len;
    bool exists;
    int64_t zxid, czxid;
    int32_t version;

    struct step_watch watch;
    bool reading, again;
    struct timer retry; /* it could not be read, or there was no memory for it */
    struct list listeners;
    struct value_listener *running;
    uint64_t serial; /* of the copy */
    struct note note;
};

/* ---- shared_value.c ---- */

void value_changed(struct pawl_shared_value *v); /* listeners are to be told */

/* ---- shared_value_read.c ---- */

struct pawl_shared_value *value_of_ask(const struct ask *a);
int value_start(struct ask *a); /* an ask of its own: makes the node and reads it */
void value_end_start(struct pawl_shared_value *v, int err);

/* Only what is newer counts. Without memory the node is read again later. */
void value_take(struct pawl_shared_value *v, struct pawl_bytes data, const struct pawl_stat *stat);
void value_finish_read(struct pawl_shared_value *v, const struct pawl_reply *reply);
void value_read_again(void *value);
void value_event(const struct pawl_event *event, void *value); /* of its watch */
void value_unwatch(struct pawl_shared_value *v);

#endif
