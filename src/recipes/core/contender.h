/* SPDX-License-Identifier: Apache-2.0 */
/* contender.h - one place in a queue of ephemeral sequential nodes: what is under lock, read/write
 * lock, semaphore, latch and selector.
 *
 *   IDLE ----- start ------> QUEUEING -- created, listed --> (rule) -- not yet --> WAITING
 *    ^ |                      ^  ^ ^                          |  ^                    |
 *    | |      nobody holds it |  | |                 our turn |  +--- one has gone ---+
 *    | +-- a try --> PROBING -+  | |                          v
 *    |                  |        | |                     [ DELAYED ]  one ahead died, and a
 *    +-- it is held ----+        | |                          |       delay is wanted
 *    |                           | |                     [ UNSURE ]   whether the session lives;
 *    |                           | |                          |       listed again when it does
 *    |                           | |                          v
 *    +--- release ---------------|-|------------------------ HELD     the grant says the rest
 *    |                           | |
 *    |                           | +-- our node or its session is gone while we queue: a new node
 *    +--- stop, or it failed     +---- the server is read-only: listed again when it is not
 *         (any but IDLE)
 *
 * Who waits watches the one ahead; with several permits as many as those; or, if the rule is one
 * that counts, the whole list.
 *
 * The create and the first listing are sent together: without contention one round trip. A claim
 * counts only if the node belongs to the session that we have now, and that is certain to live, and
 * never on a read-only server. From the start to the end the session is kept certain.
 *
 * Each time it queues is an attempt, an object of its own: one that was given up lives on until
 * the answer about its node has come, and deletes it. So nothing is left behind, and the contender
 * can begin again at once. */
#ifndef PAWL_RECIPES_CORE_CONTENDER_H
#define PAWL_RECIPES_CORE_CONTENDER_H

#include "recipes/core/grant.h"

struct contender;
struct attempt;

enum contender_state {
    CONTENDER_IDLE,
    CONTENDER_PROBING, /* a try looks before it queues */
    CONTENDER_QUEUEING,
    CONTENDER_WAITING,
    CONTENDER_DELAYED,
    CONTENDER_UNSURE,
    CONTENDER_HELD,
};

/* Who holds. `names` are in order. NULL: the first `permits`. */
struct contender_rule {
    bool (*holds)(const struct contender *c, const struct pawl_strings *names, size_t own,
                  size_t *watch);
    /* Whether one who came now would hold, as far as a try can tell; NULL: it is not asked. */
    bool (*is_free)(const struct contender *c, const struct pawl_strings *names);
    const char *(*order_key)(const struct contender *c, const char *name);
    /* What stands behind the marker if our node is to share the place, and the token, of another
     * node of ours, and then is not sequential; NULL: an own place, at the end. */
    const char *(*place)(struct contender *c, int64_t *token);
    /* Whether that other node is there: without it the place is not ours, and is left. */
    bool (*place_is_ours)(struct contender *c, const struct pawl_strings *names);
};

struct contender_options {
    const char *base;   /* the folder */
    const char *marker; /* "lock-" */
    const char *also;   /* a second marker of the same length with a place in the order, or NULL */
    struct pawl_bytes data; /* borrowed, like the others */
    bool revocable;         /* our node is watched from the beginning */
    bool watch_list;        /* who waits watches the whole list, not one ahead */
    bool once;              /* a place that is lost is not taken again: `settled` says LOST */
    int permits;
    int delay_ms;
    int watch_own_after_ms; /* when it is held so long its node is watched */
    const struct contender_rule *rule;
    void *rule_arg;
};

struct contender {
    struct recipe *r;
    struct contender_options o;
    enum contender_state state;
    bool is_try;
    struct attempt *attempt;
    struct pawl_grant grant; /* CERTAIN, IN_DOUBT or LOST while HELD */
    struct timer delay, own;
    struct observer observer;
    void (*settled)(struct contender *c, int err); /* a step: 0 is HELD, otherwise IDLE */
    void (*revoked)(struct contender *c);          /* a step, or NULL */
};

void contender_init(struct contender *c, struct recipe *r, const struct contender_options *o);
void contender_fini(struct contender *c); /* only when IDLE */

/* From IDLE; `settled` comes later, unless this returns an error. With `is_try` it does not wait:
 * `settled` says OPERATION_TIMEOUT. */
int contender_start(struct contender *c, bool is_try);

/* To IDLE, whatever it is; `settled` does not come. A node that exists is deleted. */
void contender_stop(struct contender *c);

/* HELD to IDLE. `done` (NULL: nobody asks) is told, in a step, when the server has confirmed that
 * our node is gone, or why it cannot any more. */
void contender_release(struct contender *c, void (*done)(void *arg, int err), void *arg);

/* What the rule decides by has changed: who waits looks again. */
void contender_poke(struct contender *c);

/* ---- contender_order.c ---- */

/* What is behind the last `marker` (or `also`) in `name`, or the whole name. */
const char *contender_key(const char *name, const char *marker, const char *also);

/* Whether `a` comes before `b` in the queue: by the number behind the marker, which wraps from
 * 2147483647 to negative, and by text where there is none. */
bool contender_before(const struct contender *c, const char *a, const char *b);

/* In the order of the queue, stable; `spare` is as long as `names`. */
void contender_sort(const struct contender *c, const char **names, const char **spare, size_t n);

/* Of the node to make, with what stands behind the marker (NULL: nothing). The caller frees it. */
char *contender_own_path(const struct contender *c, const char *place);

bool contender_find(const struct pawl_strings *names, const char *name, size_t *at);

/* Whether `own` holds; otherwise `*watch` is the one to wait for, or the first of `n_watch`. The
 * rule of most in one pass, without sorting; and any rule, with names in order. */
bool contender_is_first(const struct contender *c, const struct pawl_strings *names, size_t own,
                        size_t *watch);
bool contender_may_hold(const struct contender *c, const struct pawl_strings *sorted, size_t own,
                        size_t *watch, size_t *n_watch);

/* Whether ours is not the only one with the last number there is. */
bool contender_number_is_shared(const struct contender *c, const struct pawl_strings *names,
                                size_t own);

#endif
